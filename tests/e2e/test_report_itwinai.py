# SPDX-License-Identifier: Apache-2.0
"""`report --by leaf` against itwinai's own functions: cell for cell, on all inputs that itwinai reads."""

import json
import pathlib
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import itwinai_peer  # noqa: E402

NOT_FOUND = "Not Found"


@pytest.fixture(scope="module")
def itwinai():
    module, why = itwinai_peer.load()
    if module is None:
        pytest.skip(why)
    return module


# What py-spy can write and itwinai can read: no blank in a name, no parenthesis or colon in a path.
LETTERS = "abcxyz_<>.é0"
NAME = st.one_of(
    st.sampled_from(["forward", "_engine_run_backward", "<listcomp>", "<lambda>", "<module>",
                     "thread", "process", "operator()", "f(x"]),
    st.text(alphabet=LETTERS + "()[]:\"", min_size=1, max_size=6))
PATH = st.one_of(
    st.sampled_from(["train.py", "torch/nn/functional.py", "torchvision/ops.py", "itwinai/cli.py",
                     "my itwinai tools/x.py", "<frozen importlib._bootstrap>",
                     "<frozen importlib._bootstrap_external>", "<frozen runpy>", "<string>"]),
    st.text(alphabet=LETTERS + "/ ", min_size=1, max_size=12))
LINE = st.integers(min_value=0, max_value=2**31 - 1)
FRAME = st.builds("{} ({}:{})".format, NAME, PATH, LINE)
LABEL = st.builds('process {}:"{}"'.format, st.integers(0, 2**31 - 1),
                  st.text(alphabet="abc /-.'=", max_size=10))
STACK = st.builds(lambda labels, frames: ";".join(labels + frames),
                  st.lists(LABEL, max_size=2), st.lists(FRAME, max_size=6))
COUNT = st.one_of(st.integers(0, 5), st.integers(0, 2**40))
ROW = st.builds(lambda stack, blanks, count, end: f"{stack}{' ' * blanks}{count}{end}", STACK,
                st.integers(1, 3), COUNT, st.sampled_from(["\n", "\r\n", "\n"]))
FILE = st.lists(ROW, min_size=1, max_size=12).map("".join)
LIBRARY = st.sampled_from(["itwinai", "torch", "", "built", "x", "train.py", "é"])


def rows_of(stepscope, path, library, aggregate):
    options = ["--by", "leaf", "--format", "json", "--num-rows", "all", "--library-substring",
               library, *(["--aggregate-leaf-paths"] if aggregate else [])]
    done = stepscope("report", *options, path, status=None)
    assert done.returncode in (0, 3), done.stderr
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    found = [(r["name"], r["path"], str(r["line"]),
              r["library_function_name"] if r["library_function_name"] is not None else NOT_FOUND,
              r["library_function_path"] if r["library_function_path"] is not None else NOT_FOUND,
              str(r["library_function_line"]) if r["library_function_line"] is not None
              else NOT_FOUND,
              f"{r['percent']:.2f}%", r["samples"]) for r in rows]
    return found


def wanted_rows(itwinai, path, library, aggregate):
    """None where itwinai itself fails."""
    try:
        return itwinai_peer.report(itwinai, path, library, aggregate)
    except (ValueError, ZeroDivisionError):
        return None


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=FILE, library=LIBRARY, aggregate=st.booleans())
def test_equal_cell_for_cell(stepscope, itwinai, tmp_path_factory, text, library, aggregate):
    path = tmp_path_factory.getbasetemp() / "random.txt"
    path.write_bytes(text.encode())
    wanted = wanted_rows(itwinai, path, library, aggregate)
    if wanted is None or has_odd_module_name(text):
        return
    assert rows_of(stepscope, path, library, aggregate) == wanted


def has_odd_module_name(text):
    """itwinai drops every piece that holds "<module>" somewhere; stepscope the frames that are
    called so."""
    pieces = [piece for line in text.splitlines() for piece in line.split(";")]
    return any("<module>" in piece and not piece.startswith("<module> (") for piece in pieces)


def test_most_random_files_are_compared(itwinai, tmp_path):
    """The test above would prove nothing if itwinai refused what is generated."""
    compared = []

    @settings(max_examples=100, deadline=None, database=None)
    @given(text=FILE)
    def count(text):
        path = tmp_path / "random.txt"
        path.write_bytes(text.encode())
        compared.append(wanted_rows(itwinai, path, "torch", False) is not None
                        and not has_odd_module_name(text))

    count()
    assert sum(compared) > len(compared) // 2


def test_text_table_has_the_same_cells(stepscope, itwinai, tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(
        'process 7:"python train.py";<module> (train.py:9);main (train.py:7);'
        "train_step (itwinai/torch/trainer.py:1288);_engine_run_backward (torch/graph.py:769) 7468\n"
        "<module> (train.py:9);<module> (x.py:1) 5\n"
        "main (train.py:7);_call_with_frames_removed (<frozen importlib._bootstrap>:241) 143\n"
        "main (train.py:7);get_data (<frozen importlib._bootstrap>:241) 143\n")
    done = stepscope("report", "--by", "leaf", "--library-substring", "itwinai", path)
    lines = done.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("name "))
    assert re.split(r"  +", lines[start].strip()) == [
        "name", "path", "line", "library_function_name", "library_function_path",
        "library_function_line", "proportion (n)"]
    wanted = itwinai_peer.report(itwinai, path, "itwinai", False)
    shown = [tuple(re.split(r"  +", line.strip())) for line in lines[start + 1:start + 4]]
    assert shown == [(*row[:6], f"{row[6]} ({row[7]})") for row in wanted]


def test_folder_is_the_sum_of_its_files(stepscope, itwinai, tmp_path):
    for node in range(3):
        (tmp_path / f"profile_node{node}.txt").write_text(
            f"main (t.py:1);f (t.py:{node}) 4\nmain (t.py:1);g (torch/x.py:5) {node + 1}\n")
    wanted = itwinai_peer.report(itwinai, tmp_path, "torch", True)
    assert sorted(rows_of(stepscope, tmp_path, "torch", True)) == sorted(wanted)
