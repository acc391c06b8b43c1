# SPDX-License-Identifier: Apache-2.0
"""A copy of one revision, in which the sampled mutants are written and which is built once."""

import concurrent.futures as futures
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import schemata
import sites

HERE = pathlib.Path(__file__).resolve().parent
JOBS = min(2, os.cpu_count() or 1)
# Warnings that mean that a mutant is not a C program, though GCC translates it.
ERRORS = ["-Werror=int-conversion", "-Werror=incompatible-pointer-types",
          "-Werror=implicit-function-declaration"]


class Tree:
    """`home` has the copy (source/), the sample and the results."""

    def __init__(self, home):
        self.home = pathlib.Path(home).resolve()
        self.source = self.home / "source"
        self.build = self.source / "build" / "dev"

    @property
    def sample(self):
        return json.loads((self.home / "sample.json").read_text())

    def copy(self, root, revision):
        """The files of the revision, below a folder that its tests may write into."""
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.mkdir(parents=True)
        archive = subprocess.Popen(["git", "-C", root, "archive", revision],
                                   stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", self.source], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            raise SystemExit(f"mutate: git has no revision {revision!r} in {root}")
        beside = pathlib.Path(root).resolve().parent / "shared"
        if beside.exists() and not (self.home / "shared").exists():
            (self.home / "shared").symlink_to(beside)

    def configure(self):
        self.run(["cmake", "--preset", "dev", "-DSTEPSCOPE_WERROR=OFF"])

    def run(self, command):
        """Quiet, unless it fails."""
        log = self.home / "build.log"
        with open(log, "wb") as out:
            done = subprocess.run([*command], cwd=self.source, stdout=out,
                                  stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise SystemExit(f"mutate: {shlex.join(command)} failed: see {log}")

    def commands(self):
        """{path: the compiler's command} without its output, for files of src/."""
        found = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = pathlib.Path(entry["file"])
            words = shlex.split(entry["command"])
            if path.is_relative_to(self.source / "src"):
                # The optimiser is to show which mutants are not a different program.
                kept = [word for word in words[:words.index("-o")] if word not in ("-g", "-Og")]
                found[str(path.relative_to(self.source))] = kept
        return found

    def choose(self, folders, count):
        """The sample: of each folder the `count` sites whose hash is lowest, of those whose mutant
        compiles to another program. Adding or changing other lines changes no other choice."""
        commands, chosen, figures = self.commands(), [], {}
        for folder in folders:
            found = sorted(self.sites_of(folder, commands), key=lambda site: site.key)
            taken, counts = self.first_that_differ(found, count, commands)
            chosen += [(folder, site) for site in taken]
            figures[folder] = {"sites": len(found), **counts}
            print(f"{folder}: {len(taken)} of {len(found)} sites", flush=True)
        return self.number(chosen, figures)

    def choose_like(self, other):
        """The mutants of another tree's sample, as far as their lines are here too."""
        commands, chosen, figures = self.commands(), [], {}
        for folder in other["folders"]:
            keys = {one["key"] for one in other["mutants"] if one["folder"] == folder}
            taken = [site for site in self.sites_of(folder, commands) if site.key in keys]
            chosen += [(folder, site) for site in taken]
            figures[folder] = {"absent": len(keys) - len(taken)}
            print(f"{folder}: {len(taken)} of {len(keys)} mutants", flush=True)
        return self.number(chosen, figures)

    def sites_of(self, folder, commands):
        return [site for path in sorted(commands) if path.startswith(f"src/{folder}/")
                for site in sites.find(path, (self.source / path).read_bytes())]

    def number(self, chosen, figures):
        chosen.sort(key=lambda one: (one[1].path, one[1].start, -one[1].end))
        rows = [{"number": number, "folder": folder, "key": site.key, **dataclasses.asdict(site)}
                for number, (folder, site) in enumerate(chosen)]
        (self.home / "sample.json").write_text(json.dumps(
            {"folders": figures, "mutants": rows}, indent=1))
        return rows

    def first_that_differ(self, found, count, commands):
        originals, taken, counts = {}, [], {"invalid": 0, "equivalent": 0}
        with futures.ThreadPoolExecutor(JOBS) as pool:
            begin = 0
            while len(taken) < count and begin < len(found):
                some = found[begin:begin + count - len(taken)]
                begin += len(some)
                for site, verdict in zip(some, pool.map(
                        lambda site: self.judge(site, commands[site.path], originals), some)):
                    if verdict == "differs":
                        taken.append(site)
                    else:
                        counts[verdict] += 1
        return taken, counts

    def judge(self, site, command, originals):
        source = (self.source / site.path).read_bytes()
        if site.path not in originals:
            originals[site.path] = compiled(source, site.path, command, self.build)
        mutant = compiled(schemata.one_mutant(source, site), site.path, command, self.build)
        if mutant is None:
            return "invalid"
        return "differs" if mutant != originals[site.path] else "equivalent"

    def write_mutants(self, rows):
        """Writes all of them into the copy, with what chooses one."""
        names = {field.name for field in dataclasses.fields(sites.Site)}
        by_path = {}
        for row in rows:
            site = sites.Site(**{name: row[name] for name in names})
            by_path.setdefault(site.path, []).append((row["number"], site))
        for path, numbered in by_path.items():
            file = self.source / path
            file.write_bytes(schemata.all_mutants(file.read_bytes(), numbered))
        for name in ("mutants.c", "mutants.h"):
            shutil.copy(HERE / name, self.source / "src" / "base" / name)

    def compile(self):
        self.run(["cmake", "--preset", "dev", "-DSTEPSCOPE_WERROR=OFF"])
        self.run(["cmake", "--build", "build/dev", "-j", str(JOBS)])


def compiled(text, path, command, folder):
    """The object code of a text in the place of the file at `path`; None if it is not a C program."""
    with tempfile.TemporaryDirectory() as temporary:
        # Below the name of the file, so that what it says of itself is the same.
        out = pathlib.Path(temporary) / "out.o"
        file = pathlib.Path(temporary) / pathlib.Path(path).name
        file.write_bytes(text)
        done = subprocess.run([*command, *ERRORS, "-O2", "-g0",
                               f"-ffile-prefix-map={temporary}=", "-o", out, "-c", file], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return out.read_bytes() if done.returncode == 0 else None
