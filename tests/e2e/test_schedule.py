# SPDX-License-Identifier: Apache-2.0
"""`stepscope schedule` against the real torch.profiler.schedule and the real cyclic_schedule of
Composer: the tables that they gave once, and the functions themselves where they can be had."""

import csv
import io
import json
import pathlib
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import schedule_peers  # noqa: E402

RANDOM = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
SMALL = st.integers(0, 6)


def options_of(arguments):
    return [word for name, value in arguments.items()
            for word in (f"--{name.replace('_', '-')}", value)]


def rows_of(stepscope, *options):
    done = stepscope("schedule", *options, "--format", "csv")
    return list(csv.reader(io.StringIO(done.stdout)))


def torch_rows(stepscope, arguments, steps):
    header, *rows = rows_of(stepscope, *options_of(arguments), "--steps", steps)
    assert header == ["step", "action"]
    assert [int(step) for step, _ in rows] == list(range(steps))
    return [action for _, action in rows]


def composer_rows(stepscope, arguments, lengths, resume_at, unknown_length):
    header, *rows = rows_of(
        stepscope, *options_of(arguments), "--per-epoch", ",".join(map(str, lengths)),
        *(["--resume-at", resume_at] if resume_at else []),
        *(["--unknown-length"] if unknown_length else []))
    assert header == ["epoch", "batch", "action"]
    return [(int(epoch), int(batch), action) for epoch, batch, action in rows]


def golden(name):
    return json.loads((schedule_peers.GOLDEN / f"{name}.json").read_text())["tables"]


@pytest.mark.parametrize("table", golden("torch"), ids=lambda table: str(table["arguments"]))
def test_equals_the_recorded_torch(stepscope, table):
    assert torch_rows(stepscope, table["arguments"], len(table["actions"])) == table["actions"]


@pytest.mark.parametrize("table", golden("composer"), ids=lambda table: str(table["arguments"]))
def test_equals_the_recorded_composer(stepscope, table):
    rows = composer_rows(stepscope, table["arguments"], table["lengths"], table["resume_at"],
                         table["unknown_length"])
    assert rows == [tuple(row) for row in table["rows"]]


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


@RANDOM
@given(arguments=st.fixed_dictionaries(
    dict(wait=SMALL, warmup=SMALL, active=SMALL),
    optional=dict(repeat=st.integers(0, 4), skip_first=SMALL, skip_first_wait=st.integers(0, 2))),
    steps=st.integers(1, 90))
def test_equals_torch(stepscope, torch_schedule, arguments, steps):
    wanted = torch_schedule(arguments, steps)
    if wanted is None:
        done = stepscope("schedule", *options_of(arguments), "--steps", steps, status=2)
        assert "active is 0" in done.stderr and done.stdout == ""
    else:
        assert torch_rows(stepscope, arguments, steps) == wanted


@RANDOM
@given(arguments=st.fixed_dictionaries({}, optional=dict(
    skip_first=SMALL, wait=SMALL, warmup=SMALL, active=st.integers(1, 6),
    repeat=st.integers(0, 4))),
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=4),
    resume=st.floats(0, 1), unknown_length=st.booleans())
def test_equals_composer(stepscope, cyclic_schedule, arguments, lengths, resume, unknown_length):
    resume_at = int(resume * lengths[0])
    wanted = schedule_peers.composer_actions(cyclic_schedule, arguments, lengths, resume_at,
                                             unknown_length)
    assert composer_rows(stepscope, arguments, lengths, resume_at, unknown_length) == wanted


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


def test_text_form_and_options_agree(stepscope):
    text = rows_of(stepscope, "wait=5,warmup=1,active=3,repeat=2", "--steps", 40)
    options = rows_of(stepscope, "--wait", 5, "--warmup", 1, "--active", 3, "--repeat", 2,
                      "--steps", 40)
    mixed = rows_of(stepscope, "wait=5,warmup=1,active=9", "--active", 3, "--repeat", 2,
                    "--steps", 40)
    assert text == options == mixed
    assert rows_of(stepscope, "per_epoch,active=2", "--per-epoch", "6,6") == rows_of(
        stepscope, "--active", 2, "--per-epoch", "6,6")


def document_of(stepscope, *options):
    return json.loads(stepscope("schedule", *options, "--format", "json").stdout)


def test_json_has_the_windows(stepscope):
    found = document_of(stepscope, "wait=2,warmup=1,active=3", "--steps", 11)
    assert found["windows"] == [{"window": 0, "first": 3, "last": 5, "partial": False},
                                {"window": 1, "first": 9, "last": 10, "partial": True}]
    assert (found["steps"], found["recorded_steps"], found["why_nothing"]) == (11, 5, None)
    assert [row["action"] for row in found["rows"]][:4] == ["skip", "skip", "warmup", "record"]
    assert found["active"] == 3 and found["counts"] == "steps"


@pytest.mark.parametrize("unknown", [[], ["--unknown-length"]])
def test_a_window_cut_by_its_epoch_is_partial(stepscope, unknown):
    found = document_of(stepscope, "--per-epoch", "3,12", *unknown)
    assert found["windows"] == [
        {"window": 0, "epoch": 0, "first": 1, "last": 2, "partial": True},
        {"window": 1, "epoch": 1, "first": 1, "last": 4, "partial": False}]
    assert found["rows"][2] == {"epoch": 0, "batch": 2,
                                "action": "record" if unknown else "record_and_save"}


def test_no_window_has_a_reason(stepscope):
    found = document_of(stepscope, "wait=9,active=3", "--steps", 4)
    assert found["windows"] == []
    assert "the run had 4 steps" in found["why_nothing"]
    assert "number 10" in found["why_nothing"]
    text = stepscope("schedule", "wait=9,active=3", "--steps", 4).stdout
    assert found["why_nothing"] in text
    message = stepscope("schedule", "wait=9,active=3", "--steps", 4, "--format", "csv").stderr
    assert found["why_nothing"] in message


def test_text_shows_lanes_and_runs(stepscope):
    text = stepscope("schedule", "wait=5,warmup=1,active=3,repeat=2", "--steps", 30).stdout
    assert ".....wrrS.....wrrS............" in text
    assert "2 windows, 0 of them partial; 6 of 30 steps recorded" in text
    assert "\033" not in text
    many = stepscope("schedule", "--active", 1, "--steps", 100000).stdout
    assert "more rows; --format csv has them all" in many
    assert len(many.splitlines()) < 300


@pytest.mark.parametrize("options, part", [
    (["--active", "0"], "active is 0"),
    (["--wait", "0", "--warmup", "0", "--active", "0", "--per-epoch", "4"], "active is 0"),
    ([], "active is 0"),
    (["--active", "-1"], "active is -1"),
    (["--active", "1", "--wait", "-1"], "wait is -1"),
    (["--active", "1", "--warmup", "-1"], "warmup is -1"),
    (["--active", "1", "--repeat", "-1"], "repeat is -1"),
    (["--active", "1", "--skip-first", "-1"], "skip_first is -1"),
    (["--active", "x"], "--active takes a whole number"),
    (["--active", "1", "--steps", "-1"], "--steps takes a whole number"),
    (["--active", "1", "--steps", "99999999999"], "--steps takes a whole number"),
    (["--per-epoch", ""], "--per-epoch takes the batches"),
    (["--per-epoch", "12,"], "--per-epoch takes the batches"),
    (["--per-epoch", "12;12"], "--per-epoch takes the batches"),
    (["--per-epoch", "-1"], "--per-epoch takes the batches"),
    (["--per-epoch", "9999999,9999999"], "--per-epoch takes the batches"),
    (["--per-epoch", "12", "--steps", "3"], "give one of them"),
    (["--per-epoch", "12", "--resume-at", "13"], "--resume-at takes a whole number from 0 to 12"),
    (["--active", "1", "--resume-at", "1"], "needs --per-epoch"),
    (["--active", "1", "--unknown-length"], "needs --per-epoch"),
    (["per_epoch"], "needs --per-epoch"),
    (["wait=1"], "active is 0"),
    (["active=1", "active=2"], "takes one schedule"),
    (["active=1", "--format", "xml"], "--format takes one of"),
])
def test_bad_input_is_refused(stepscope, options, part):
    done = stepscope("schedule", *options, status=2)
    assert done.stdout == ""
    assert part in done.stderr.splitlines()[0]
