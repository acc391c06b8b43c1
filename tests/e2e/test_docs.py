# SPDX-License-Identifier: Apache-2.0
"""The shell blocks of the pages run as they stand, page by page, in a folder with a train.py.

A block that needs what a test cannot have is preceded by a comment: <!-- not run: why -->."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```sh\n(.*?)^```$", re.M | re.S)
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
         if path.name != "reference.md" and "```sh\n" in path.read_text()]

TRAIN = '''
import time

def load():
    return sum(i * i for i in range(3000))

def step():
    return sum(load() for _ in range(3))

def main():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        step()

if __name__ == "__main__":
    main()
'''


def blocks(page):
    """The blocks that run; one with a hole in it, such as a cluster, does not."""
    return [body for reason, body in BLOCK.findall(page.read_text()) if not reason]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory, stepscope, python):
    """A recording of the program of the pages."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(TRAIN)
    stepscope("record", "-o", folder / "run.pftrace", "--", python, folder / "train.py")
    return folder / "run.pftrace"


@pytest.fixture
def reader(tmp_path, stepscope, python, recorded):
    """A folder, and the environment of a reader who follows a page in it: with a program, and the
    recordings that the pages name."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "stepscope").symlink_to(stepscope.path)
    (tools / "python").symlink_to(python)
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(TRAIN)
    for name in ("run", "before", "after"):
        shutil.copy(recorded, work / f"{name}.pftrace")
    return work, {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_blocks_run(page, reader, stepscope):
    work, env = reader
    if page.name == "attach.md":
        found = json.loads(stepscope("doctor", "--format", "json", status=None).stdout)["checks"]
        attach = next(one for one in found if one["name"] == "attach to a process")
        if attach["verdict"] != "ok":
            pytest.skip(attach["text"])
    for body in blocks(page):
        done = subprocess.run(["bash", "-eu", "-c", body], cwd=work, env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                              check=False)
        assert done.returncode == 0, f"{body}\n{done.stdout}{done.stderr}"


def test_most_pages_have_blocks_that_run():
    assert len([page for page in PAGES if blocks(page)]) >= 5


def test_options_named_in_the_pages_exist(stepscope):
    """Every --option in the prose and the blocks is one of ours, or known to be another's."""
    others = set("""--pause --mpi --cap-add --security-opt --prefix --preset --build --test-dir --nproc-per-node
                    --workers --mp-context --inference --dim --heads --tokens --find-links
                    --extra-index-url --no-install-recommends --cflags --libs --data --log
                    --lengths --compile --dynamic --backend --epochs --passes
                    --restart-workers --trace --log-file --import --type --include-json --csv
                    --include-blobs --page --keep --set
                    --nnodes --ntasks-per-node --no-index --bind --musl""".split())
    ours = set(re.findall(r"--[a-z][a-z-]+", stepscope("help", "--format", "markdown").stdout))
    ours |= {"--version", "--help"}
    for page in PAGES:
        if page.name == "CONTRIBUTING.md":
            continue
        unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text())) - ours - others
        assert not unknown, f"{page.name}: {unknown}"


def test_the_pictures_are_there_and_small():
    shown = {path.parent / name for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
             for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text())}
    assert ROOT / "docs" / "images" / "report-page.png" in shown
    for path in shown:
        assert path.stat().st_size <= 200_000, path
    assert {path.resolve() for path in shown} == set((ROOT / "docs" / "images").resolve().iterdir())


def test_the_demo_ends_with_the_path_of_its_page(tmp_path):
    """With programs that only make the files which they are asked for."""
    for name in ("stepscope", "python"):
        (tmp_path / name).write_text("""#!/bin/sh
for word; do
    case "$before" in -o|--html) : > "$word" ;; esac
    before=$word
done
echo "train: 70.0 ms per step"
""")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(["sh", ROOT / "tools" / "demo", tmp_path / "stepscope", tmp_path / "python"],
                          cwd=tmp_path, text=True, capture_output=True, check=True)
    last = done.stdout.splitlines()[-1]
    page = pathlib.Path(last.split(None, 2)[2])
    assert last.startswith("See it: ") and page.is_absolute() and page.exists()
