# SPDX-License-Identifier: Apache-2.0
"""Callbacks of training frameworks: as the frameworks call them, without the frameworks; and real
trainings with those that are there, with the callback and without any change.

$STEPSCOPE_TRAINERS may name interpreters (paths, `:` between) that have frameworks,
$STEPSCOPE_COMPOSER_PYTHON one that has Composer, which wants a torch of its own; else .venv-composer."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINERS = ROOT / "tests" / "workloads" / "trainers"
STEPPED = {"data", "forward", "backward", "optimizer"}


@pytest.fixture
def package(stepscope):
    """The package in the build tree, on the path of programs."""
    folder = stepscope.path.parent / "python"
    done = subprocess.run([sys.executable, "-c", "import stepscope._stepscope"],
                          env={**os.environ, "PYTHONPATH": str(folder)}, check=False,
                          capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"the extension in {folder} is of another Python")
    return {"PYTHONPATH": str(folder)}


@functools.lru_cache(maxsize=None)
def interpreter_with(*modules):
    """An interpreter that can import them; None: there is none."""
    named = [path for path in os.environ.get("STEPSCOPE_TRAINERS", "").split(":") if path]
    composer = os.environ.get("STEPSCOPE_COMPOSER_PYTHON") or ROOT / ".venv-composer" / "bin" / "python"
    named += [composer] if "composer" in modules and os.access(composer, os.X_OK) else []
    question = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    for path in [*named, sys.executable]:
        if subprocess.run([path, "-c", question, *modules], check=False).returncode == 0:
            return path
    return None


def record(stepscope, tmp_path, python, program, *words, env=None, options=()):
    """(trace, steps that the program counted)"""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", *options, "-o", trace, "--", python, TRAINERS / program,
                     *words, env=env, timeout=600)
    said = [line for line in done.stdout.splitlines() if line.startswith("steps ")]
    return trace, int(said[-1].split()[1])


def rows(stepscope, trace, by):
    done = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", trace)
    return json.loads(done.stdout)["tables"][0]["rows"]


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns")} - {"other"}


def check(stepscope, trace, steps):
    return check_rows(rows(stepscope, trace, "step"), steps)


def check_rows(found, steps):
    """The steps are the program's, each has its phases; returns all phases."""
    whole = [row for row in found if row["kind"] != "cut"]  # none after the last update
    assert [row["step"] for row in whole] == list(range(steps))
    for row in whole:
        assert STEPPED <= phases_of(row), row
    return set().union(*map(phases_of, found))


@pytest.mark.parametrize("framework,steps", [("lightning", 4), ("transformers", 4),
                                             ("composer", 8), ("deepspeed", 4)])
def test_what_a_framework_emits(stepscope, package, tmp_path, framework, steps):
    trace, counted = record(stepscope, tmp_path, sys.executable, "scripted.py", framework,
                            env=package, options=["--no-torch"])
    assert counted == steps
    check(stepscope, trace, steps)
    entered = {row["name"] for row in rows(stepscope, trace, "range") if row["kind"] == "phase"}
    assert entered == STEPPED | {"evaluation", "checkpoint"}  # behind the last step, too
    if framework == "deepspeed":
        counters = {row["name"]: row for row in rows(stepscope, trace, "counter")}
        assert counters["deepspeed fwd flops per GPU"]["last"] == 4000
        assert counters["deepspeed fwd FLOPS per GPU"]["last"] == 4000000


def test_lightning_profiler_has_ranges(stepscope, package, tmp_path):
    trace, steps = record(stepscope, tmp_path, sys.executable, "scripted.py", "lightning", "profiler",
                          env=package, options=["--no-torch"])
    check(stepscope, trace, steps)
    ranges = {row["path"]: row["count"] for row in rows(stepscope, trace, "range")
              if row["domain"] == "lightning"}
    assert ranges["run_training_batch"] == 8
    assert ranges["run_training_batch;[Strategy]One.backward"] == 8
    assert ranges["save_checkpoint"] == 2


def test_composer_profiler_has_ranges_and_windows(stepscope, package, tmp_path):
    trace, steps = record(stepscope, tmp_path, sys.executable, "scripted.py", "composer", "profiler",
                          env=package, options=["--no-torch"])
    check(stepscope, trace, steps)
    ranges = {}
    for row in rows(stepscope, trace, "range"):
        if row["domain"] == "composer":
            ranges[row["name"]] = ranges.get(row["name"], 0) + row["count"]
    assert ranges["callback/Profiler/event/before_forward"] == 16
    # A window for each batch: what reaches over one is cut at its edge.
    assert ranges["event/epoch"] == 8
    assert ranges["callback/Profiler/event/batch_start"] == 8
    notes = json.loads(stepscope("info", trace, "--format", "json").stdout)["files"][0]["notes"]
    assert sum("record_and_save" in str(note) for note in notes) == 8


def steps_in(path):
    """[(begin, name)] of the steps in a file of Chrome's form."""
    events = json.loads(path.read_text())["traceEvents"]
    return [(event["ts"], event["name"]) for event in events
            if event["ph"] == "X" and event["name"].startswith("step ")]


@pytest.mark.parametrize("closing", [(0, 1), (1, 0), (1,)])
def test_the_last_rank_of_a_node_merges(stepscope, package, tmp_path, closing):
    """Whichever that is; if one never closes, its windows stay apart."""
    folder = tmp_path / "traces"
    for rank in closing:
        subprocess.run([sys.executable, TRAINERS / "scripted.py", "composer", "json", folder], check=True,
                       env={**os.environ, **package, "PATH": f"{stepscope.path.parent}:"
                            f"{os.environ.get('PATH', '')}", "RANK": str(rank), "LOCAL_RANK": str(rank),
                            "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, cwd=tmp_path, timeout=120)
    visible = {path.name for path in folder.iterdir()}
    windows = {f"ep{epoch}-ba{batch}-rank{rank}{ending}" for rank in closing
               for epoch, batch in ((0, 3), (1, 7)) for ending in (".json", ".pftrace")}
    if len(closing) == 2:
        assert visible == windows | {"merged_trace.json"}
        assert len(steps_in(folder / "merged_trace.json")) == 8
    else:
        assert windows <= visible and "merged_trace.json" not in visible


def test_composers_files_are_called_and_read_as_its_own(stepscope, package, tmp_path):
    """Two epochs of 4 batches, of each one that waits, one that warms up and one that is recorded:
    Composer names a file by the batches that are done when it is saved, and has both in it."""
    folder = tmp_path / "composer_profiler"
    subprocess.run([sys.executable, TRAINERS / "scripted.py", "composer", "json", folder], check=True,
                   env={**os.environ, **package, "PATH": f"{stepscope.path.parent}:"
                        f"{os.environ.get('PATH', '')}"}, cwd=tmp_path, timeout=120)
    names = ["ep0-ba3-rank0", "ep1-ba7-rank0"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["merged_trace.json", *(name + ending for name in names for ending in (".json", ".pftrace"))])
    merged = steps_in(folder / "merged_trace.json")
    assert [number for _, number in sorted(merged)] == ["step 1", "step 2", "step 5", "step 6"]
    for name, steps in zip(names, ([1, 2], [5, 6])):
        assert [row["step"] for row in rows(stepscope, folder / f"{name}.pftrace", "step")] == steps
        events = json.loads((folder / f"{name}.json").read_text())["traceEvents"]
        assert {f"step {number}" for number in steps} <= {event.get("name") for event in events}
    assert [row["step"] for row in rows(stepscope, folder, "step")] == [1, 2, 5, 6]
    done = stepscope("report", folder)
    assert "2 files" in done.stdout and "skipped" not in done.stderr
    stepscope("export", folder, "--to", "speedscope", "-o", tmp_path / "all.json")
    stepscope("flame", folder, "-o", tmp_path / "all.svg")


# --- with the frameworks themselves ---

REAL = {"lightning": ("lightning", "torch"), "transformers": ("transformers", "accelerate"),
        "composer": ("composer", "torch"), "deepspeed": ("deepspeed", "torch")}


STEPS = {"lightning": 12, "transformers": 12, "composer": 12, "deepspeed": 6}


def python_of(framework):
    python = interpreter_with(*REAL[framework])
    if python is None:
        pytest.skip(f"{framework} is not installed")
    return python


@pytest.fixture(scope="module")
def unmodified(stepscope, tmp_path_factory):
    """unmodified(FRAMEWORK): a training without any change, which has a process of its own in one recording of all
    that this interpreter has: its pid, what it wrote, and the recording."""
    @functools.lru_cache(maxsize=None)
    def all_of(python):
        folder = tmp_path_factory.mktemp("real")
        frameworks = [name for name in REAL if interpreter_with(*REAL[name]) == python]
        words = [word for name in frameworks for word in (
            "--", f"trainers/{name}_train.py", folder, "unmodified", "zero")]
        done = stepscope("record", "-q", "-o", folder / "t.pftrace", "--", python, TRAINERS.parent / "torch_forked.py",
                         *words[1:], env={"PYTHONPATH": str(stepscope.path.parent / "python")}, timeout=600)
        return folder / "t.pftrace", dict(zip(frameworks, map(json.loads, done.stdout.splitlines())))

    def of(framework):
        trace, programs = all_of(python_of(framework))
        return types.SimpleNamespace(trace=trace, **programs[framework])
    return of


@pytest.mark.slow
@pytest.mark.parametrize("framework", sorted(REAL))
def test_real_training_without_any_change(unmodified, rows_of, framework):
    """With the callback: tests/recorded/test_integrations_recorded.py."""
    one = unmodified(framework)
    assert one.status == 0, one.err
    assert f"steps {STEPS[framework]}" in one.out.splitlines()
    process = "--process", str(one.pid)
    phases = check_rows(rows_of(one.trace, "step", *process), STEPS[framework])
    assert {"evaluation", "checkpoint"} <= phases
    if framework == "deepspeed":
        counters = {row["name"]: row for row in rows_of(one.trace, "counter", *process)}
        assert counters["deepspeed params per GPU"]["last"] == 64 * 512 + 512 + 512 + 1
        assert counters["deepspeed samples/s"]["count"] == 2  # one for each batch of the step


@pytest.mark.slow
def test_composers_torch_profiler_is_in_its_files(stepscope, package, tmp_path):
    """As Composer does, and in files of its own, under Composer's names."""
    subprocess.run([python_of("composer"), TRAINERS / "composer_train.py", tmp_path, "profiler", "torch"], check=True, env={
        **os.environ, **package, "PATH": f"{stepscope.path.parent}:{os.environ.get('PATH', '')}"},
        capture_output=True, timeout=600, cwd=tmp_path)
    assert {path.name for path in (tmp_path / "small").iterdir()} == {
        "merged_trace.json", *(f"ep{epoch}-ba{batch}-rank0{ending}" for epoch, batch in ((0, 4), (1, 10))
                               for ending in (".json", ".pftrace"))}
    for name in ("ep0-ba4-rank0.json", "ep1-ba10-rank0.json", "merged_trace.json"):
        events = json.loads((tmp_path / "small" / name).read_text())["traceEvents"]
        rows = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
                if event["ph"] == "M" and event["name"] == "thread_name"}
        spans = [event for event in events if event["ph"] == "X"]
        shaped = {event["name"] for event in spans if "shapes" in event.get("args", {})}
        assert {"aten::linear", "aten::addmm"} <= shaped
        assert any(event["name"].startswith("event/") for event in spans)
        assert any(rows[event["pid"], event["tid"]].endswith("torch.profiler") for event in spans)
    assert {path.name for path in (tmp_path / "torch_profiler").iterdir()} == {
        "rank0.4.pt.trace.json", "rank0.10.pt.trace.json"}
    theirs = json.loads((tmp_path / "torch_profiler" / "rank0.4.pt.trace.json").read_text())
    assert any("Input Dims" in event.get("args", {}) for event in theirs["traceEvents"])


@pytest.mark.slow
def test_composer_ranges_are_those_of_its_own_profiler(stepscope, package, tmp_path):
    python = python_of("composer")
    program = tmp_path / "both.py"
    text = (TRAINERS / "composer_train.py").read_text()
    program.write_text(text.replace("stepscope.integrations.composer import JSONTraceHandler, "
                                    "Profiler, cyclic_schedule",
                                    "composer.profiler import JSONTraceHandler, Profiler, "
                                    "cyclic_schedule").replace("), print]", ")]"))
    folder = tmp_path / "theirs"
    subprocess.run([python, program, folder, "profiler", "json"], check=True, env={
        **os.environ, **package}, capture_output=True, timeout=600, cwd=tmp_path)
    theirs = set()
    for path in (folder / "traces").glob("ep*.json"):
        for event in json.loads(path.read_text()):
            if event.get("ph") == "B":
                theirs.add(event["name"])
    trace, _ = record(stepscope, tmp_path, python, "composer_train.py", tmp_path / "ours",
                      "profiler", env=package)
    ours = {row["name"] for row in rows(stepscope, trace, "range") if row["domain"] == "composer"}
    wanted = {name for name in theirs if name.startswith(("event/", "algorithm/", "callback/")) and
              "JSONTraceHandler" not in name and "TorchProfiler" not in name and
              "SystemProfiler" not in name}
    assert wanted and wanted <= ours, wanted - ours
