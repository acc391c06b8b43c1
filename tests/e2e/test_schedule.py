# SPDX-License-Identifier: Apache-2.0
"""Schedules against the real torch.profiler.schedule and the real cyclic_schedule of Composer, where
they can be had; the tables that they gave once: tests/unit/cli/test_cmd_schedule.c."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import schedule_peers  # noqa: E402


def at_random(check, arguments_of):
    """Calls check(**arguments) 200 times. arguments_of(hypothesis.strategies): the strategies of these."""
    # It takes seconds to import: not where tests are collected.
    import hypothesis  # pylint: disable=import-outside-toplevel
    hypothesis.settings(max_examples=200, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))(
        hypothesis.given(**arguments_of(hypothesis.strategies))(check))()


def name_of(action):
    return action.name.lower()


def golden(name):
    return json.loads((schedule_peers.GOLDEN / f"{name}.json").read_text())["tables"]


@pytest.fixture(scope="module")
def torch_schedule():
    try:
        schedule_peers.torch_actions(dict(wait=0, warmup=0, active=1, skip_first_wait=0), 1)
    except ImportError as error:
        pytest.skip(f"torch.profiler.schedule cannot be had: {error}")
    return schedule_peers.torch_actions


@pytest.fixture(scope="module")
def cyclic_schedule():
    try:
        return schedule_peers.load_composer()
    except ImportError as error:
        pytest.skip(f"Composer's cyclic_schedule cannot be had: {error}")


def test_equals_torch(reader, torch_schedule):
    def equal(arguments, steps):
        wanted = torch_schedule(arguments, steps)
        if wanted is None:
            with pytest.raises(ValueError, match="active is 0"):
                reader.schedule(**arguments)
        else:
            ours = reader.schedule(**arguments)
            assert [name_of(ours(step)) for step in range(steps)] == wanted

    at_random(equal, lambda st: {
        "arguments": st.fixed_dictionaries(
            dict.fromkeys(("wait", "warmup", "active"), st.integers(0, 6)),
            optional={"repeat": st.integers(0, 4), "skip_first": st.integers(0, 6),
                      "skip_first_wait": st.integers(0, 2)}),
        "steps": st.integers(1, 90)})


def test_equals_composer(reader, cyclic_schedule):
    def equal(arguments, lengths, resume, unknown_length):
        resume_at = int(resume * lengths[0])
        ours = reader.cyclic_schedule(**arguments)
        rows = [(epoch, batch, name_of(ours(batch, None if unknown_length else length,
                                            0 if epoch else resume_at)))
                for epoch, length in enumerate(lengths) for batch in range(length)]
        assert rows == schedule_peers.composer_actions(cyclic_schedule, arguments, lengths, resume_at,
                                                       unknown_length)

    at_random(equal, lambda st: {
        "arguments": st.fixed_dictionaries({}, optional={
            **dict.fromkeys(("skip_first", "wait", "warmup"), st.integers(0, 6)),
            "active": st.integers(1, 6), "repeat": st.integers(0, 4)}),
        "lengths": st.lists(st.integers(0, 30), min_size=1, max_size=4),
        "resume": st.floats(0, 1), "unknown_length": st.booleans()})


def test_golden_tables_are_what_the_functions_give(torch_schedule, cyclic_schedule):
    for table in golden("torch"):
        assert torch_schedule(table["arguments"], 60) == table["actions"]
    for table in golden("composer"):
        rows = schedule_peers.composer_actions(cyclic_schedule, table["arguments"],
                                               table["lengths"], table["resume_at"],
                                               table["unknown_length"])
        assert rows == [tuple(row) for row in table["rows"]]


def test_composer_shifts_every_epoch_where_stepscope_does_not(cyclic_schedule):
    """The difference that is meant: Composer's function, left alone, moves later epochs too."""
    import types
    function = cyclic_schedule(warmup=0, active=1)
    state = types.SimpleNamespace(timestamp=types.SimpleNamespace(batch_in_epoch=0),
                                  dataloader_len=8,
                                  profiler=types.SimpleNamespace(resumption_batch_idx=4))
    assert function(state).name == "SKIP"
