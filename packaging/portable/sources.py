# SPDX-License-Identifier: Apache-2.0
"""The sources of the libraries that a portable build links: fetched once, checked, unpacked."""

import csv
import hashlib
import pathlib
import re
import shutil
import subprocess
import tarfile

TABLE = pathlib.Path(__file__).with_name("sources.tsv")
SYSTEM_LISTS = [pathlib.Path("/etc/apt/sources.list"), pathlib.Path("/etc/apt/sources.list.d")]


class Failure(Exception):
    """What failed, why, and the fix, in one line."""


def rows():
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _source_lists(folder):
    """The system's package lists, asked for sources instead of packages."""
    files = [path for path in SYSTEM_LISTS if path.is_file()]
    files += sorted(path for path in SYSTEM_LISTS[1].glob("*") if path.suffix in (".list", ".sources"))
    for path in files:
        text = path.read_text()
        if "debian" not in text and "ubuntu" not in text:
            continue
        text = re.sub(r"^(Types:.*)$", "Types: deb-src", text, flags=re.M)
        text = re.sub(r"^deb(?=\s)", "deb-src", text, flags=re.M)
        (folder / ("list-" + path.name)).write_text(text)


def _apt(work):
    """An apt that knows sources, with lists of its own: the system's are left as they are."""
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    _source_lists(work / "parts")
    options = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": work / "parts",
               "Dir::State::lists": work / "lists", "Dir::Cache": work / "cache", "APT::Sandbox::User": "root"}
    return [part for name, value in options.items() for part in ("-o", f"{name}={value}")]


def _addresses(row, apt):
    """Where the file is: in the package's newest version, and in older ones of the same upstream version."""
    shown = subprocess.run(["apt-cache", *apt, "showsrc", row["package"]], capture_output=True, text=True).stdout
    for version in dict.fromkeys(re.findall(r"^Version: (\S+)", shown, flags=re.M)):
        listed = subprocess.run(["apt-get", *apt, "source", "--print-uris", "--download-only",
                                 f"{row['package']}={version}"], capture_output=True, text=True).stdout
        yield from (address for address, name in re.findall(r"^'([^']+)' (\S+)", listed, flags=re.M)
                    if name == row["file"])


def _fetch(row, target, apt):
    why = f"no source package {row['package']} has it"
    for address in _addresses(row, apt):
        done = subprocess.run(["/usr/lib/apt/apt-helper", *apt, "download-file", address, str(target)],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return
        why = done.stderr.strip().splitlines()[-1]
    raise Failure(f"{row['file']} cannot be fetched ({why}): put that file into {target.parent}")


def _unpack(archive, folder):
    """Without the folder that everything in the archive lies in."""
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as opened:
        opened.extractall(part, filter="data") if hasattr(tarfile, "data_filter") else opened.extractall(part)
    inner = list(part.iterdir())
    (inner[0] if len(inner) == 1 and inner[0].is_dir() else part).rename(folder)
    shutil.rmtree(part, ignore_errors=True)


def prepare(work):
    """{package: its unpacked folder}, below `work`; raises Failure."""
    files, unpacked = work / "files", work / "unpacked"
    files.mkdir(parents=True, exist_ok=True)
    unpacked.mkdir(exist_ok=True)
    apt = None
    for row in rows():
        archive = files / row["file"]
        if not archive.exists():
            if apt is None:
                apt = _apt(work / "apt")
                subprocess.run(["apt-get", "-q", *apt, "update"], capture_output=True, check=False)
            _fetch(row, archive, apt)
        if digest_of(archive) != row["sha256"]:
            raise Failure(f"{archive} is not the file that sources.tsv names (its sha256 differs): "
                          "remove it, so that it is fetched again")
        if not (unpacked / row["package"]).exists():
            _unpack(archive, unpacked / row["package"])
    return {row["package"]: unpacked / row["package"] for row in rows()}
