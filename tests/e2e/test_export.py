# SPDX-License-Identifier: Apache-2.0
"""The exports: folded lines against py-spy's own, speedscope against its schema, Chrome events
against strict JSON, nesting and (where it runs) Perfetto's importer."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import kineto_files
import pytest
from perfetto_engine import BAD, query_old
from target import prefer

DROPPED = "select value from stats where name = 'slice_drop_overlapping_complete_event'"
# Writes how long its parts took, in seconds: longer than they asked for where others use the CPU.
PROGRAM = """\
import json, threading, time; took = {}
def inner(end):
    while time.time() < end:
        sum(range(2000))
def outer(seconds):
    inner(time.time() + seconds)
def waiter():
    begin = time.monotonic(); time.sleep(1.2); took["asleep"] = time.monotonic() - begin
thread = threading.Thread(target=waiter, name="the waiter")
thread.start()
begin = time.monotonic()
outer(.5)
paused = time.monotonic()
time.sleep(.3)
resumed = time.monotonic()
outer(.4)
took.update(pause=resumed - paused, outer=time.monotonic() - begin - (resumed - paused))
thread.join()
with open(__file__ + ".took", "w") as file:
    json.dump(took, file)
"""


@pytest.fixture(scope="module")
def trace(stepscope, python, tmp_path_factory):
    """A recording with a busy and a waiting thread, and a pause in the busy one."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "program.py").write_text(PROGRAM)
    stepscope("record", "-r", "200", "-o", folder / "t.pftrace", "--", python,
              folder / "program.py")
    return folder / "t.pftrace"


@pytest.fixture(scope="module")
def took(trace):
    """How long the parts of the program took, in seconds."""
    return json.loads((trace.parent / "program.py.took").read_text())


def strict(path):
    """JSON without NaN, Infinity or doubled keys."""
    def no_doubles(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    def no_constants(text):
        raise AssertionError(text)
    return json.loads(pathlib.Path(path).read_bytes().decode("utf-8"),
                      object_pairs_hook=no_doubles, parse_constant=no_constants)


def folded(path):
    lines = collections.Counter()
    for line in pathlib.Path(path).read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        assert stack not in lines
        lines[stack] = int(count)
    return lines


# ---- which format, where -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.folded", "a.txt", "a.svg", "a.speedscope.json", "a.json"])
def test_format_by_ending(stepscope, trace, tmp_path, name):
    done = stepscope("export", trace, "-o", tmp_path / name)
    assert str(tmp_path / name) in done.stderr
    head = (tmp_path / name).read_text()[:400]
    assert {"a.svg": "<svg", "a.speedscope.json": "speedscope.app", "a.json": "displayTimeUnit"}.get(
        name, "") in head


def test_default_name_and_aliases(stepscope, trace, tmp_path):
    copy = tmp_path / "c.pftrace"
    shutil.copy(trace, copy)
    stepscope("export", copy, "--to", "chrometrace")
    stepscope("export", "--to", "collapsed", cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["c.pftrace", "c.pftrace.folded", "c.pftrace.json"]


def test_wrong_usage(stepscope, trace):
    assert "--to takes one of raw," in stepscope("export", trace, "--to", "pdf", status=2).stderr
    assert "names no format" in stepscope("export", trace, "-o", "x.pdf", status=2).stderr
    assert "name a format" in stepscope("export", trace, status=2).stderr


def test_failed_export_leaves_nothing(stepscope, trace, tmp_path):
    (tmp_path / "raw.txt").write_text("f (a.py:1) 2\n")
    (tmp_path / "o.json").write_text("old")
    done = stepscope("export", tmp_path / "raw.txt", "-o", tmp_path / "o.json", status=4)
    assert "no times" in done.stderr
    assert (tmp_path / "o.json").read_text() == "old"
    stepscope("export", trace, "--match", "nowhere", "-o", tmp_path / "o.json", status=3)
    assert (tmp_path / "o.json").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["o.json", "raw.txt"]
    done = stepscope("export", trace, "--to", "chrome", "-o", "/dev/full", status=4)
    assert "No space left" in done.stderr


def test_closed_pipe(stepscope, trace):
    """`| head` ends us with an error, not with a signal."""
    for reader in ("true", "head -c 70000", "sleep .05"):
        command = (f'"{stepscope}" export "{trace}" -i --to chrome -o - 2>&1 >&3 | cat; '
                   "echo ${PIPESTATUS[0]}")
        done = subprocess.run(["bash", "-c", f"({command}) 3> >({reader} > /dev/null)"],
                              capture_output=True, text=True, timeout=60)
        *message, status = done.stdout.splitlines()
        assert (status, "Broken pipe" in str(message)) in {("4", True), ("0", False)}, done.stdout


# ---- raw ---------------------------------------------------------------------------------


def test_raw_leaves_idle_out_as_py_spy_does(stepscope, trace, tmp_path):
    stepscope("export", trace, "-o", tmp_path / "a.txt")
    stepscope("export", trace, "-o", tmp_path / "i.txt", "-i", "-t")
    active, everything = folded(tmp_path / "a.txt"), folded(tmp_path / "i.txt")
    # Its first moments it may be seen running, for longer while it waits for a core.
    seen = [sum(count for stack, count in stacks.items() if "waiter" in stack)
            for stacks in (active, everything)]
    assert seen[0] <= max(5, seen[1] / 4)
    assert any(re.match(r"thread \(\d+\): the waiter;.*waiter \(program\.py:8\)", stack)
               for stack in everything)
    assert sum(everything.values()) > sum(active.values()) + 100


def test_raw_frame_options(stepscope, trace, tmp_path):
    for options, pattern in (([], r"inner \(program\.py:[34]\)$"),
                             (["-F"], r"inner \(program\.py:2\)$"),
                             (["--nolineno"], r"inner \(program\.py\)$"),
                             (["--full-filenames"], r"inner \(/.*/program\.py:[34]\)$")):
        stepscope("export", trace, "-o", tmp_path / "a.txt", *options)
        stacks = [stack for stack in folded(tmp_path / "a.txt") if ";inner (" in stack]
        assert stacks
        assert all(re.search(pattern, stack) for stack in stacks)


def test_raw_round_trip(stepscope, tmp_path):
    lines = ('process 3:"py a;b";thread (3): T;f (<frozen x>:1);<listcomp> (a (1)/b.py:2) 3\n'
             'process 3:"py a;b";process 4:"é";thread (9): U;g (lib.so) 5\n')
    (tmp_path / "in.txt").write_text(lines)
    stepscope("export", tmp_path / "in.txt", "--to", "raw", "-t", "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == lines


def test_raw_is_what_py_spy_writes(stepscope, python, tmp_path):
    """The same steady program under both: the same lines, in the same shares."""
    py_spy = shutil.which("py-spy") or shutil.which("py-spy", path=os.path.dirname(sys.executable))
    if py_spy is None:
        pytest.skip("py-spy is not installed")
    (tmp_path / "s.py").write_text(
        "import time, threading\n"
        "def leaf(n):\n    return sum(range(n))\n"
        "class Worker:\n    def run(self, end):\n        while time.time() < end: leaf(5000)\n"
        "Worker().run(time.time() + 1)\n")
    done = subprocess.run([py_spy, "record", "-f", "raw", "-o", tmp_path / "spy.txt", "--", python,
                           tmp_path / "s.py"], capture_output=True, text=True, timeout=60, preexec_fn=prefer)
    if not (tmp_path / "spy.txt").exists():
        pytest.skip(f"py-spy cannot record here: {done.stderr.strip()[-200:]}")
    stepscope("record", "-f", "raw", "-o", tmp_path / "our.txt", "--", python, tmp_path / "s.py", preexec_fn=prefer)
    ours, theirs = folded(tmp_path / "our.txt"), folded(tmp_path / "spy.txt")
    hot = "<module> (s.py:7);Worker.run (s.py:6);leaf (s.py:3)"
    if sys.version_info < (3, 11):
        hot = hot.replace("Worker.run", "run")
    assert abs(ours[hot] / sum(ours.values()) - theirs[hot] / sum(theirs.values())) < 0.2
    # On a busy machine also what imports do before the program has that many samples.
    large = {stack for stack, count in theirs.items() if count >= 10 and stack.startswith("<module> (s.py")}
    assert large <= set(ours)


# ---- speedscope --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The schema that speedscope publishes, from its npm package."""
    pytest.importorskip("jsonschema")
    named = os.environ.get("STEPSCOPE_SPEEDSCOPE_SCHEMA")
    if named:
        return json.loads(pathlib.Path(named).read_text())
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm, to get speedscope's schema, is not installed")
    folder = tmp_path_factory.mktemp("npm")
    done = subprocess.run([npm, "pack", "--silent", "speedscope@1.25.0"], cwd=folder,
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.skip("speedscope's package cannot be fetched here")
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        member = package.extractfile("package/dist/release/file-format-schema.json")
        return json.load(member)


def profiles(data):
    """Checks what the schema cannot say; returns the profiles by name."""
    frames = len(data["shared"]["frames"])
    for profile in data["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        assert all(weight > 0 for weight in profile["weights"])
        assert all(0 <= frame < frames for stack in profile["samples"] for frame in stack)
    return {profile["name"]: profile for profile in data["profiles"]}


def names_of(data, stack):
    return [data["shared"]["frames"][frame]["name"] for frame in stack]


def test_speedscope(stepscope, trace, took, tmp_path, schema):
    import jsonschema

    stepscope("export", trace, "-o", tmp_path / "a.speedscope.json", "-i")
    data = strict(tmp_path / "a.speedscope.json")
    jsonschema.validate(data, schema)
    by_name = profiles(data)
    assert len(by_name) == 2
    waiter = next(profile for name, profile in by_name.items() if '"the waiter"' in name)
    assert waiter["unit"] == "nanoseconds"
    asleep = sum(weight for stack, weight in zip(waiter["samples"], waiter["weights"])
                 if "waiter" in names_of(data, stack))
    assert asleep / 1e9 == pytest.approx(took["asleep"], abs=0.15)


def test_speedscope_keeps_gaps(stepscope, trace, took, tmp_path, schema):
    """Without idle samples the pause of the main thread is time without a stack."""
    stepscope("export", trace, "-o", tmp_path / "a.speedscope.json", "--idle", "none")
    data = strict(tmp_path / "a.speedscope.json")
    main = max(profiles(data).values(), key=lambda profile: len(profile["samples"]))
    gaps = [weight / 1e9 for stack, weight in zip(main["samples"], main["weights"]) if not stack]
    assert max(gaps) > took["pause"] - 0.1  # longer where the sampler had to wait for a core
    busy = sum(weight for stack, weight in zip(main["samples"], main["weights"])
               if "inner" in names_of(data, stack))
    assert 0.4 < busy / 1e9 < took["outer"] + 0.2


def test_speedscope_of_raw_counts_samples(stepscope, tmp_path, schema):
    import jsonschema

    (tmp_path / "in.txt").write_text("a (x.py:1);b (x.py:2) 3\na (x.py:1) 4\n")
    stepscope("export", tmp_path / "in.txt", "-o", tmp_path / "a.speedscope.json")
    data = strict(tmp_path / "a.speedscope.json")
    jsonschema.validate(data, schema)
    (profile,) = profiles(data).values()
    assert (profile["unit"], profile["endValue"]) == ("none", 7)


# ---- Chrome trace events -----------------------------------------------------------------


def slices(data):
    """(tid, name, start, end, depth) of every call; checks order and nesting on the way."""
    open_calls, last, found = collections.defaultdict(list), {}, []
    for event in data["traceEvents"]:
        if event["ph"] not in "BE":  # of the samples; test_tracks.py checks the others
            continue
        track = (event["pid"], event["tid"])
        time_ns = round(event["ts"] * 1000)
        assert abs(event["ts"] * 1000 - time_ns) < 1e-3
        assert time_ns >= last.get(track, 0)
        last[track] = time_ns
        if event["ph"] == "B":
            open_calls[track].append((event["name"], time_ns))
        else:
            assert event["ph"] == "E"
            name, start = open_calls[track].pop()
            assert time_ns > start
            found.append((track[1], name, start, time_ns, len(open_calls[track])))
    assert not any(open_calls.values())
    return found


def test_chrome(stepscope, trace, took, tmp_path):
    stepscope("export", trace, "-o", tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    data = strict(tmp_path / "a.json")
    assert not re.search(r'"ts":[0-9.]*e', text)
    assert all(re.fullmatch(r"0|\d+\.\d{3}", ts) for ts in re.findall(r'"ts":([^,}]*)', text))
    calls = slices(data)
    stepscope("export", trace, "--to", "raw", "-F", "-t", "-o", tmp_path / "a.folded")
    samples = folded(tmp_path / "a.folded")
    # Where the sampler itself had to wait for a CPU a call has gaps: compare sums with the samples.
    outer = sorted((start, end) for _, name, start, end, _ in calls if name == "outer")
    sampled = sum(count for stack, count in samples.items() if "outer" in stack) / 200
    assert sum(end - start for start, end in outer) / 1e9 == pytest.approx(min(sampled, took["outer"]), abs=0.25)
    pauses = [after[0] - before[1] for before, after in zip(outer, outer[1:])]
    assert max(pauses) / 1e9 > 0.15
    waiter = [end - start for _, name, start, end, _ in calls if name == "waiter"]
    assert 0.8 < sum(waiter) / 1e9 < took["asleep"] + 0.25
    named = {event["args"]["name"] for event in data["traceEvents"]
             if event["ph"] == "M" and event["name"] == "thread_name"}
    assert "the waiter" in named


def test_chrome_names_ranks_and_orders_them(stepscope, python, tmp_path):
    """Perfetto shows no labels of processes: the name has the rank. Read again, it has not."""
    (tmp_path / "job.py").write_text(PROGRAM)
    trace, copy = tmp_path / "rank.pftrace", tmp_path / "rank.json"
    stepscope("record", "-q", "-o", trace, "--", python, tmp_path / "job.py",
              env={"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3"})
    stepscope("export", trace, "-o", copy)
    metadata = {event["name"]: event["args"] for event in strict(copy)["traceEvents"]
                if event["ph"] == "M" and event["pid"] < 5_000_000}
    assert metadata["process_name"]["name"].startswith(f"rank 3: {python}")
    assert metadata["process_sort_index"]["sort_index"] == 3
    again = tmp_path / "again.json"
    stepscope("export", copy, "-o", again)
    names = [event["args"]["name"] for event in strict(again)["traceEvents"]
             if event["ph"] == "M" and event["name"] == "process_name" and event["pid"] < 5_000_000]
    assert names == [metadata["process_name"]["name"]]


def test_chrome_of_two_recordings_keeps_processes_apart(stepscope, python, trace, tmp_path):
    (tmp_path / "other.py").write_text(PROGRAM)
    other = tmp_path / "other.pftrace"
    stepscope("record", "-r", "200", "-o", other, "--", python, tmp_path / "other.py")
    parts = []
    for name, inputs in (("one", [trace]), ("other", [other]), ("two", [trace, other])):
        stepscope("export", *inputs, "-o", tmp_path / f"{name}.json")
        parts.append(slices(strict(tmp_path / f"{name}.json")))
    one, two, both = parts
    assert len(both) == len(one) + len(two)
    threads = [{row[0] for row in rows} for rows in parts]
    assert threads[2] == threads[0] | threads[1] and not threads[0] & threads[1]


def test_chrome_in_perfetto(stepscope, trace, tmp_path):
    """No error, overlap or loss statistics in Perfetto's importer."""
    processor = pytest.importorskip("perfetto.trace_processor")
    stepscope("export", trace, "-o", tmp_path / "a.json")
    named = os.environ.get("STEPSCOPE_TRACE_PROCESSOR")
    config = processor.TraceProcessorConfig(bin_path=named)
    try:
        opened = processor.TraceProcessor(trace=str(tmp_path / "a.json"), config=config)
    except (subprocess.CalledProcessError, FileNotFoundError):  # without curl
        pytest.skip("trace_processor cannot be fetched here ($STEPSCOPE_TRACE_PROCESSOR names one)")
    bad = list(opened.query("select name, value from stats where value > 0 and severity in "
                            "('error', 'data_loss')"))
    count = next(iter(opened.query("select count(*) as n from slice"))).n
    opened.close()
    assert bad == []
    assert count == len(slices(strict(tmp_path / "a.json")))


def test_kineto_in_perfetto(stepscope, tmp_path):
    """It drops calls of torch.profiler's own file that overlap, and none of ours."""
    original, exported = kineto_files.File(rank=1).write(tmp_path / "rank1.pt.trace.json"), tmp_path / "a.pt.trace.json"
    stepscope("export", "--to", "kineto", "-o", exported, original)
    dropped, = query_old(original, DROPPED)
    assert dropped[0][0] > 0
    bad, count = query_old(exported, BAD, "select count(*) from slice")
    assert bad == [] and count[0][0] > 60


def test_arrows_and_names_in_perfetto(stepscope, tmp_path):
    """Its reader keeps \\u003c in a name without other escapes, so that `<` is written as it is."""
    original, exported = kineto_files.File(rank=1).write(tmp_path / "rank1.pt.trace.json"), tmp_path / "a.json"
    stepscope("export", "--to", "chrome", "-o", exported, original)
    arrows, names, bad = query_old(
        exported, "select a.name, b.name from flow join slice a on slice_out = a.id join slice b on slice_in = b.id",
        "select distinct name from slice", BAD)
    assert bad == [] and len(arrows) == 18
    assert ("cudaLaunchKernel", "void gemm<float, 4>(T*)") in arrows and ("aten::addmm", "AddmmBackward0") in arrows
    assert not [name for name, in names if "\\u00" in name]


# ---- hostile names -----------------------------------------------------------------------


HOSTILE = ["</svg><script>alert(1)</script>", "semi;colon", "new\nline", "nul\0byte", "tab\tbell\a",
           'quote"back\\slash', "\u202eright to left", "名前", "x" * 10000, "\ud800lone surrogate"]


@pytest.fixture(scope="module")
def hostile(stepscope, python, tmp_path_factory):
    """A recording of functions with hostile names, each hot for a while."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "h.py").write_text(
        "import time\nkept = []\n"
        "def spin(end):\n    while time.process_time() < end: sum(range(500))\n"
        "spin(time.process_time() + .2)\n"
        f"for name in {HOSTILE!a}:\n"
        "    code = compile('spin(time.process_time() + .1)', name.replace('\\0', '?'), 'exec')\n"
        "    extra = {'co_qualname': name} if hasattr(code, 'co_qualname') else {}\n"
        "    kept.append(code.replace(co_name=name, **extra))\n"
        "    exec(kept[-1])\n")
    done = stepscope("record", "-r", "200", "-o", folder / "h.pftrace", "--", python,
                     folder / "h.py", status=None)
    assert done.returncode == 0, done.stderr
    return folder / "h.pftrace"


def test_hostile_names_in_json(stepscope, hostile, tmp_path, schema):
    import jsonschema

    stepscope("export", hostile, "-o", tmp_path / "a.json")
    stepscope("export", hostile, "-o", tmp_path / "a.speedscope.json")
    names = {name for _, name, *_ in slices(strict(tmp_path / "a.json"))}
    for name in ("</svg><script>alert(1)</script>", "semi;colon", "new\nline", "名前"):
        assert name in names
    data = strict(tmp_path / "a.speedscope.json")
    jsonschema.validate(data, schema)
    assert 'quote"back\\slash' in {frame["name"] for frame in data["shared"]["frames"]}


def test_hostile_names_in_raw(stepscope, hostile, tmp_path):
    stepscope("export", hostile, "-o", tmp_path / "a.txt")
    lines = (tmp_path / "a.txt").read_bytes().decode("utf-8").splitlines()
    assert all(re.fullmatch(r"[^\x00-\x1f\x7f]+ \d+", line) for line in lines)
    stacks = {line.rsplit(" ", 1)[0] for line in lines}
    assert any(";semi:colon (semi:colon:1);spin" in stack for stack in stacks)
    assert any(";new\\x0aline (" in stack for stack in stacks)
    # What we write we read, to the last sample.
    stepscope("export", tmp_path / "a.txt", "--to", "raw", "-o", tmp_path / "b.txt")
    assert folded(tmp_path / "a.txt") == folded(tmp_path / "b.txt")


def test_hostile_names_in_svg(stepscope, hostile, tmp_path):
    import xml.etree.ElementTree as ElementTree

    stepscope("flame", hostile, "-o", tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert len(root.findall(".//{http://www.w3.org/2000/svg}script")) == 1
    assert (tmp_path / "a.svg").stat().st_size < 200_000


# ---- the recorder's own formats, ranges, damage --------------------------------------------


@pytest.mark.parametrize("name", ["raw", "flamegraph", "speedscope", "chrometrace"])
def test_record_writes_the_same_formats(stepscope, python, tmp_path, name):
    code = "import time; end = time.thread_time() + .3\nwhile time.thread_time() < end: sum(range(900))"
    stepscope("record", "-f", name, "-o", tmp_path / "out", "--", python, "-c", code)
    assert os.listdir(tmp_path) == ["out"]
    if name == "raw":
        assert sum(folded(tmp_path / "out").values()) > 20
    elif name == "flamegraph":
        assert (tmp_path / "out").read_text().startswith("<svg ")
    elif name == "speedscope":
        assert profiles(strict(tmp_path / "out"))
    else:
        assert slices(strict(tmp_path / "out"))


def test_time_range_and_thread(stepscope, trace, tmp_path):
    stepscope("export", trace, "-o", tmp_path / "a.json", "--from", "0.6", "--until", "0.9",
              "--thread", "waiter")
    calls = slices(strict(tmp_path / "a.json"))
    assert {name for _, name, _, _, depth in calls if depth == 3} == {"waiter"}
    assert max(end for _, _, _, end, _ in calls) / 1e9 < 0.5
    done = stepscope("export", trace, "-o", tmp_path / "b.json", "--from", "2", "--until", "1",
                     status=2)
    assert "--until" in done.stderr


@pytest.mark.parametrize("command", [["flame"], ["export", "--to", "raw"]])
def test_cut_recording_is_reported(stepscope, trace, tmp_path, command):
    # Without its last byte the last of the units is lost.
    (tmp_path / "cut.pftrace").write_bytes(trace.read_bytes()[:-1])
    done = stepscope(*command, tmp_path / "cut.pftrace", "-o", tmp_path / "out", status=3)
    assert re.search(r"cut\.pftrace .*(damaged|not closed)", done.stderr)
    assert (tmp_path / "out").stat().st_size > 100
