# SPDX-License-Identifier: Apache-2.0
"""`report --by leaf` against itwinai's own functions: cell for cell, on all inputs that itwinai reads."""

import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import itwinai_peer  # noqa: E402

NOT_FOUND = "Not Found"


@pytest.fixture(scope="module")
def itwinai():
    module, why = itwinai_peer.load()
    if module is None:
        pytest.skip(why)
    return module


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


def at_random(count, check, *names, **options):
    """Calls check(**arguments) so often, with what itwinai_files.py generates for these names."""
    # They take seconds to import: not where tests are collected.
    import hypothesis  # pylint: disable=import-outside-toplevel
    import itwinai_files  # pylint: disable=import-outside-toplevel
    arguments = {name: getattr(itwinai_files, name.upper()) for name in names}
    hypothesis.settings(max_examples=count, deadline=None, **options,
                        suppress_health_check=list(hypothesis.HealthCheck))(
        hypothesis.given(**arguments)(check))()


def test_equal_cell_for_cell(stepscope, itwinai, tmp_path):
    def equal(text, library, aggregate):
        path = tmp_path / "random.txt"
        path.write_bytes(text.encode())
        wanted = wanted_rows(itwinai, path, library, aggregate)
        if wanted is not None and not has_odd_module_name(text):
            assert rows_of(stepscope, path, library, aggregate) == wanted

    at_random(150, equal, "text", "library", "aggregate")


def has_odd_module_name(text):
    """itwinai drops every piece that holds "<module>" somewhere; stepscope the frames that are
    called so."""
    pieces = [piece for line in text.splitlines() for piece in line.split(";")]
    return any("<module>" in piece and not piece.startswith("<module> (") for piece in pieces)


def test_most_random_files_are_compared(itwinai, tmp_path):
    """The test above would prove nothing if itwinai refused what is generated."""
    compared = []

    def count(text):
        path = tmp_path / "random.txt"
        path.write_bytes(text.encode())
        compared.append(wanted_rows(itwinai, path, "torch", False) is not None
                        and not has_odd_module_name(text))

    at_random(100, count, "text", database=None)
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
