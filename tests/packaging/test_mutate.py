# SPDX-License-Identifier: Apache-2.0
"""tools/mutate: its mutants are other programs, and a build of all mutants is each of them."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, run

sys.path.insert(0, str(ROOT / "tools" / "mutate"))
pytest.importorskip("tree_sitter_c")
import report  # noqa: E402
import schemata  # noqa: E402
import sites  # noqa: E402

# One program with every kind of site, which prints what each changes.
PROGRAM = r"""
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum ss_status { SS_OK, SS_E_FORMAT };
static const int table[] = {3, 4, 5};

static int sum(const int *values, int count)
{
    static int calls = 7;
    int total = 0;
    for (int i = 0; i < count; i++) {
        total += values[i] * 2 -
                 i;
    }
    return total + calls;
}

static bool is_between(int value, int low, int high)
{
    return value >= low && value <= high;
}

static enum ss_status check(int value, int *seen)
{
    if (is_between(value, 2, 9)) {
        *seen = *seen + 1;
        return SS_OK;
    }
    (*seen)--;
    return SS_E_FORMAT;
}

static const char *name_of(int value)
{
    static const char *const names[2] = {"few", "many"};
    return names[value > 4 ? 1 : 0];
}

int main(void)
{
    int seen = 10;
    char *memory = malloc(16 + 1);
    for (int value = 1; value < 11; value++) {
        printf("%d %d %s\n", value, check(value, &seen), name_of(value));
    }
    printf("%d %d %d %d\n", sum(table, 3), seen, __LINE__, (7 & 5) | (seen << 2));
    const char *name = name_of(5);
    puts(name ? name : "none");
    free(memory);
    return 0;
}
"""


def compile_program(folder, name, text, *more):
    source, program = folder / f"{name}.c", folder / name
    source.write_bytes(text)
    run(["cc", "-std=gnu11", "-I", folder, source, *more, "-o", program])
    return program


def behaviour(program, **env):
    """What people see of it: a crash too."""
    done = subprocess.run([program], env={**os.environ, **env}, capture_output=True, check=False,
                          timeout=60)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def found():
    return sites.find("a.c", PROGRAM.encode())


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return behaviour(compile_program(tmp_path_factory.mktemp("plain"), "plain", PROGRAM.encode()))


@pytest.fixture(scope="module")
def alone(found, tmp_path_factory):
    """How the program behaves with one mutant, by the number of the site."""
    folder = tmp_path_factory.mktemp("alone")
    return [behaviour(compile_program(folder, "one", schemata.one_mutant(PROGRAM.encode(), site)))
            for site in found]


def build_all(folder, text, found):
    (folder / "base").mkdir()
    for name in ("mutants.c", "mutants.h"):
        (folder / "base" / name).write_text((ROOT / "tools" / "mutate" / name).read_text())
    return compile_program(folder, "all", schemata.all_mutants(text, list(enumerate(found))),
                           folder / "base" / "mutants.c")


def test_each_mutant_is_another_program(found, plain, alone):
    assert plain[0] == 0
    assert [site.change for site, one in zip(found, alone, strict=True) if one == plain] == []
    assert {site.kind for site in found} == {
        "relational", "arithmetic", "logical", "condition", "constant", "return", "statement",
        "assignment"}


def test_a_build_of_all_mutants_is_each_of_them(found, plain, alone, tmp_path):
    program = build_all(tmp_path, PROGRAM.encode(), found)
    assert behaviour(program) == plain
    for number, (site, one) in enumerate(zip(found, alone, strict=True)):
        assert behaviour(program, STEPSCOPE_MUTANT=str(number)) == one, site.change


def test_a_program_says_which_mutants_it_reaches(tmp_path):
    text = PROGRAM.replace("seen << 2", "seen > 99 ? seen << 2 : seen").encode()
    found = sites.find("a.c", text)
    program = build_all(tmp_path, text, found)
    reached = tmp_path / "reached"
    reached.write_bytes(bytes(4096))
    behaviour(program, STEPSCOPE_MUTANTS_REACHED=str(reached))
    missed = {site.change for site, byte in zip(found, reached.read_bytes()) if not byte}
    assert missed == {"seen << 2: << becomes >>", "2 becomes 1"}


def test_what_is_no_mutant(found):
    lines = PROGRAM.splitlines()
    mutated = {lines[site.line - 1].strip() for site in found}
    for line in ("static const int table[] = {3, 4, 5};", "static int calls = 7;",
                 'static const char *const names[2] = {"few", "many"};',
                 "char *memory = malloc(16 + 1);", "free(memory);"):
        assert line in map(str.strip, lines)
        assert line not in mutated


def test_keys_stay_when_other_lines_change(found):
    changed = "/* A comment more. */\n" + PROGRAM.replace("int seen = 10;", "int seen = 12;")
    before = {site.key for site in found}
    after = {site.key for site in sites.find("a.c", changed.encode())}
    assert len(before) == len(found)
    assert {site.text for site in found if site.key not in after} == {"int seen = 10;"}
    assert len(after - before) == 1


def test_the_interval_of_a_share_is_wilsons():
    low, high = report.interval(53, 100)
    assert (round(low, 1), round(high, 1)) == (43.3, 62.5)
    assert report.interval(0, 0) == (0.0, 100.0)
