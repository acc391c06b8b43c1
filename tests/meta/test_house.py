# SPDX-License-Identifier: Apache-2.0
"""The tree keeps the rules of the house. Standard library only: `ctest -L meta` runs it without a
test environment; STEPSCOPE_BUILD_DIR names the build that is checked."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import headers
import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STEPSCOPE_BUILD_DIR", ROOT / "build" / "dev"))
# Bytes for parsers, not text of ours.
DATA = re.compile(r"^(tests/golden/|tests/fuzz/corpus/|LICENSE$)")

LARGEST_FILE_BYTES = 200_000


def tracked_files():
    """What git tracks or would track; every file where this is no git checkout."""
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                           "--exclude-standard"], capture_output=True, check=False)
    if done.returncode == 0 and done.stdout:
        return sorted(path for path in done.stdout.decode().split("\0") if path)
    skipped = {".git", "build", ".venv", "dist", "__pycache__"}
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                  if path.is_file() and not skipped & set(path.relative_to(ROOT).parts))


def read(paths):
    files = {}
    for path in paths:
        try:
            files[path] = (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            pass
    return files


TRACKED = tracked_files()
TEXTS = read(path for path in TRACKED if not DATA.match(path))
SOURCES = {path: text for path, text in TEXTS.items()
           if path.startswith(("src/", "include/")) and path.endswith((".c", ".h", ".def", ".inc"))}
UNIT_TESTS = {path: text for path, text in TEXTS.items()
              if path.startswith("tests/unit/") and path.endswith(".c")}
PAGES = {path: text for path, text in TEXTS.items() if path.endswith(".md")}


class House(unittest.TestCase):
    maxDiff = None

    def none(self, complaints):
        complaints = list(complaints)
        self.assertFalse(complaints, "\n" + "\n".join(complaints))

    def test_no_file_is_large(self):
        """Packages, traces and other downloads do not belong into a commit."""
        sizes = {path: (ROOT / path).stat().st_size for path in TRACKED if (ROOT / path).is_file()}
        self.none(f"{path}: {size} bytes" for path, size in sizes.items() if size > LARGEST_FILE_BYTES)

    def test_layers_include_only_what_they_may(self):
        self.assertGreater(len(SOURCES), 30)
        self.none(rules.check_layers(SOURCES))

    def test_no_include_cycles(self):
        self.none(rules.check_include_cycles(SOURCES))

    def test_no_cycles_of_folders(self):
        self.none(rules.check_folder_cycles(SOURCES))

    def test_rooms_include_only_those_below(self):
        self.none(rules.check_rooms(SOURCES))

    def test_few_files_are_in_cycles_of_classes(self):
        self.none(rules.check_class_cycles(SOURCES))

    def test_files_are_short(self):
        self.none(rules.check_file_sizes(SOURCES))

    def test_searches_are_not_written_by_hand(self):
        self.none(rules.check_searches(SOURCES))

    def test_long_functions_say_why(self):
        self.none(rules.check_long_functions(SOURCES))

    def test_figures(self):
        """Shown by ctest -V and by pytest -s."""
        print("\n" + "\n".join(rules.figures(SOURCES)))

    def test_no_banned_calls(self):
        self.none(rules.check_banned_calls(SOURCES))

    def test_limits_of_rules_are_stated_once(self):
        self.none(rules.check_rule_limits(SOURCES))

    def test_rules_have_their_cases(self):
        self.none(rules.check_rule_cases(TEXTS))

    def test_tables_have_their_cases(self):
        self.none(rules.check_table_cases(TEXTS))

    def test_importers_have_their_cases(self):
        self.none(rules.check_importer_cases(TEXTS))

    def test_shared_names_stand_in_one_table(self):
        self.none(rules.check_shared_names(TEXTS))

    def test_clocks_are_injected(self):
        self.none(rules.check_clocks({path: text for path, text in TEXTS.items()
                                      if path.endswith((".c", ".h"))}))

    def test_environment_is_read_in_one_place(self):
        self.none(rules.check_getenv(SOURCES))

    def test_all_output_is_sanitised(self):
        self.assertEqual([], [path for path in rules.OUTPUT_OWNERS if path not in SOURCES])
        self.none(rules.check_output(SOURCES))

    def test_every_file_names_its_licence(self):
        self.none(rules.check_spdx(TEXTS))

    def test_nothing_speaks_of_how_it_is_made(self):
        self.none(rules.check_forbidden_words(
            {path: text for path, text in TEXTS.items()
             if path not in ("tests/meta/rules.py", ".gitignore")}))

    def test_texts_and_names_use_the_terms_of_the_glossary(self):
        self.none(rules.check_retired_words(TEXTS))

    def test_links_lead_somewhere(self):
        self.assertIn("README.md", PAGES)
        folders = {str(parent) for path in TRACKED for parent in pathlib.PurePath(path).parents}
        self.none(rules.check_links(PAGES, (set(TRACKED) | folders).__contains__))

    def test_files_that_the_architecture_names_are_there(self):
        self.none(rules.check_named_files("ARCHITECTURE.md", PAGES["ARCHITECTURE.md"], TRACKED))

    def test_no_folder_for_leftovers(self):
        parts = {part for path in TRACKED for part in pathlib.PurePath(path).parts[:-1]}
        self.assertFalse(parts & {"utils", "util", "misc", "helpers", "common_utils"})

    def test_every_command_row_has_its_file(self):
        rows = re.findall(r"^SS_COMMAND\((\w+)\)", TEXTS["src/cli/line/commands.def"], re.M)
        files = {path for path in SOURCES if re.match(r"src/cli/commands/cmd_\w+\.c$", path)}
        self.assertEqual({f"src/cli/commands/cmd_{row}.c" for row in rows}, files)


class Headers(unittest.TestCase):
    """Each header compiles alone: as C11, and public ones as C++17 too."""

    def compile(self, compiler, paths):
        if shutil.which(compiler[0]) is None:
            self.skipTest(f"{compiler[0]} is not installed")
        folders = [ROOT / "src", ROOT / "include", BUILD / "generated"]
        complaints = headers.complaints(compiler, folders, ROOT, paths)
        self.assertEqual([], complaints, "\n" + "\n".join(complaints))

    def test_internal_ones_as_c11(self):
        paths = {path for path in SOURCES if path.startswith("src/") and path.endswith(".h")}
        self.compile(["cc", "-x", "c", "-std=gnu11", "-D_GNU_SOURCE"],
                     sorted(paths - headers.proven(ROOT, BUILD, SOURCES | UNIT_TESTS)))

    def test_public_ones_as_c11_and_cplusplus17(self):
        paths = [path for path in SOURCES if path.startswith("include/")]
        self.compile(["cc", "-x", "c", "-std=c11", "-pedantic"], paths)
        self.compile(["g++", "-x", "c++", "-std=c++17", "-pedantic"], paths)


# What the libraries export: their own names, and those by which ITT and NVTX find a collector.
OURS = re.compile(r"stepscope_|__itt_|InitializeInjection|ncclProfiler_v")


class Build(unittest.TestCase):
    """What was built agrees with what is committed."""

    def stepscope(self, *arguments):
        program = pathlib.Path(os.environ.get("STEPSCOPE", BUILD / "stepscope"))
        if not program.exists():
            self.skipTest(f"{program} is not built")
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_committed_reference_is_the_generated_one(self):
        generated = self.stepscope("help", "--format", "markdown")
        self.assertEqual(generated, TEXTS["docs/reference.md"],
                         "docs/reference.md is out of date: run make docs")

    def test_every_status_and_variable_is_documented(self):
        reference = TEXTS["docs/reference.md"]
        for name, code, text in rules.status_rows(TEXTS["src/base/status.def"]):
            self.assertRegex(reference, rf"\| {code} \| .*{re.escape(text)}", name)
        for name in rules.env_rows(TEXTS["src/base/env.def"]):
            self.assertIn(f"`{name}`", reference)

    def test_libraries_export_only_their_own_names(self):
        libraries = sorted([*BUILD.glob("libstepscope*.so"), *BUILD.glob("lib/libstepscope*.so")])
        if not libraries:
            self.skipTest("no shared library is built")
        for library in libraries:
            done = subprocess.run(["nm", "-D", "--defined-only", "-P", library],
                                  capture_output=True, text=True, check=True)
            names = [line.split()[0].split("@")[0] for line in done.stdout.splitlines()
                     if line.split()[1] != "A"]
            self.assertTrue(names, library)
            self.assertEqual([], [name for name in names if not OURS.match(name)])


class Format(unittest.TestCase):
    """clang-format changes nothing. The build's folder keeps which texts it has been asked about."""

    KNOWN = BUILD / "formatted"

    def complaints(self, paths):
        def check(some):
            return subprocess.run(["clang-format", "--dry-run", "-Werror", *some], cwd=ROOT,
                                  capture_output=True, text=True, check=False).stderr

        half = len(paths) // 2
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            text = "".join(pool.map(check, filter(None, (paths[:half], paths[half:]))))
        return set(re.findall(r"^(.+?):\d+:\d+: error", text, re.M))

    def test_clang_format_changes_nothing(self):
        if shutil.which("clang-format") is None:
            self.skipTest("clang-format is not installed")
        version = subprocess.run(["clang-format", "--version"], capture_output=True, check=True).stdout
        asked = version + (ROOT / ".clang-format").read_bytes()
        digests = {path: hashlib.sha256(asked + TEXTS[path].encode()).hexdigest()
                   for path in TEXTS if path.endswith((".c", ".h"))}
        known = set(self.KNOWN.read_text().split()) if self.KNOWN.exists() else set()
        changed = self.complaints([path for path, digest in digests.items() if digest not in known])
        if os.access(BUILD, os.W_OK):
            self.KNOWN.write_text("\n".join(digest for path, digest in digests.items()
                                            if path not in changed))
        self.assertFalse(sorted(changed), "run make format")


if __name__ == "__main__":
    unittest.main()
