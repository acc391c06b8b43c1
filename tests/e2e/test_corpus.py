# SPDX-License-Identifier: Apache-2.0
"""A few trainings of tests/corpus with unmistakable faults, and a healthy one: the first
finding is the planted one, at its line. `make bench` runs the whole corpus."""

import pathlib
import sys

import pytest
from conftest import need_module

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus"
need_module("torch")
need_module("numpy")
sys.path.insert(0, str(CORPUS))
import faults  # noqa: E402
import run  # noqa: E402

sys.path.remove(str(CORPUS))
FAST = {f"{one.program}-{one.name}": one for one in faults.FAULTS if one.fast}
ATTEMPTS = 3


@pytest.fixture
def runner(stepscope, tmp_path):
    return run.Runner(str(stepscope.path), sys.executable, tmp_path)


def attempt(runner, program, flags, right):
    """A second of a machine that others use as well may be unlike the next: what is not right three
    times is wrong."""
    for count in range(ATTEMPTS):
        _, trace = runner.record(program, flags)
        document = runner.report(trace)
        said = run.findings(document)
        if right(said):
            return
    if run.is_busy(document):
        pytest.skip("the machine is busy, as the report says")
    pytest.fail(f"{program} {' '.join(flags)}: {', '.join(map(run.text_of, said)) or 'nothing'}")


@pytest.mark.long
@pytest.mark.parametrize("one", FAST.values(), ids=FAST)
def test_the_planted_fault_comes_first(runner, one):
    attempt(runner, one.program, run.flags_of(one),
            lambda said: run.is_right(one, said[0] if said else None))


@pytest.mark.long
def test_the_healthy_twin_is_not_blamed(runner):
    attempt(runner, "gpt", (), lambda said: all(one["percent"] < run.LEAST_PERCENT for one in said))


@pytest.mark.parametrize("program", faults.PROGRAMS, ids=lambda program: program.name)
def test_every_fault_is_marked_in_its_program(program):
    text = (run.PROGRAMS / f"{program.name}.py").read_text()
    planted = [one for one in faults.FAULTS if one.program == program.name]
    assert planted
    for one in planted:
        assert f'run.fault("{one.name}")' in text
        assert not one.line or run.marked_lines(one.program, one.name)


def test_the_corpus_is_as_large_as_it_says():
    assert len(faults.PROGRAMS) >= 12
    assert len(faults.FAULTS) >= 40
    assert len({(one.program, one.name) for one in faults.FAULTS}) == len(faults.FAULTS)
