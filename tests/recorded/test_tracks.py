# SPDX-License-Identifier: Apache-2.0
"""Ranges, counters and flows of a trace in reports, flame graphs, exports and info. The golden
trace is made by tests/bench/trace_ranges.c, which describes its content: three steps of 100 ms."""

import collections
import csv
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def golden(source_dir):
    return source_dir / "tests" / "golden"


@pytest.fixture(scope="module")
def trace(golden):
    return golden / "good" / "tracks.pftrace"


def table(stepscope, *arguments, status=0):
    document = json.loads(stepscope("report", "-f", "json", *arguments, status=status).stdout)
    return document["tables"][0]


def test_bytes_of_samples_are_their_own(stepscope, trace):
    (facts,) = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"]
    assert 0 < facts["track_bytes"] < facts["plain_bytes"]
    plain = (facts["plain_bytes"] - facts["track_bytes"]) / facts["records"]
    done = stepscope("info", trace)
    assert re.search(rf"samples .*, about [0-9.]+ bytes each as written, {plain:.1f} plain",
                     done.stdout), done.stdout


@pytest.mark.parametrize("by", ["range", "counter", "sample-range"])
def test_golden_tables(stepscope, golden, trace, by):
    done = stepscope("report", "--by", by, "--num-rows", "all", "-f", "csv", trace, text=False)
    assert done.stdout == (golden / "tracks" / f"{by}.csv").read_bytes()
    done = stepscope("report", "--by", by, "--num-rows", "all", "tracks.pftrace", cwd=trace.parent)
    assert done.stdout == (golden / "tracks" / f"{by}.txt").read_text()


def test_ranges_in_json(stepscope, trace):
    found = table(stepscope, "--by", "range", "--num-rows", "all", trace)
    assert found["units"]["total_ns"] == "ns"
    rows = {(row["kind"], row["domain"], row["path"]): row for row in found["rows"]}
    forward = rows["range", None, "forward"]
    assert forward["count"] == 3 and forward["tid"] == 4242 and forward["category"] == "compute"
    assert forward["total_ns"] == 120_000_000 and forward["self_ns"] == 60_000_000
    attention = rows["range", None, "forward;attention"]
    assert attention["count"] == 6 and attention["p95_ns"] == attention["max_ns"] == 10_000_000
    assert rows["range", "oneDNN", "matmul"]["total_ns"] == 30_000_000
    assert rows["async", "fetches", "fetch"]["total_ns"] == 6 * 30_000_000
    assert rows["step", None, "step"]["count"] == 3
    assert rows["range", None, "evaluate"]["cut"] == 1


def test_order_and_limit_of_ranges(stepscope, trace):
    by_self = table(stepscope, "--by", "range", "--sort", "self", "--num-rows", 3, trace)
    selfs = [row["self_ns"] for row in by_self["rows"]]
    assert selfs == sorted(selfs, reverse=True) and len(selfs) == 3
    assert by_self["hidden_rows"] == 8
    text = stepscope("report", "--by", "range", "--num-rows", 3, trace).stdout
    assert "8 rows not shown: --num-rows all" in text


def test_ranges_are_put_together(stepscope, trace):
    """By name: forward's two kinds stay apart, all threads and domains are one."""
    by_name = {(row["kind"], row["name"]): row
               for row in table(stepscope, "--by", "range", "--group", "name", "--num-rows", "all",
                                trace)["rows"]}
    whole = table(stepscope, "--by", "range", "--num-rows", "all", trace)["rows"]
    assert len(by_name) == len({(row["kind"], row["name"]) for row in whole})
    for key in ("count", "self_ns", "cut"):
        assert sum(row[key] for row in by_name.values()) == sum(row[key] for row in whole)
    forward = by_name["range", "forward"]
    assert (forward["total_ns"], forward["self_ns"]) == (120_000_000, 60_000_000)
    assert forward["pid"] is forward["tid"] is forward["path"] is forward["domain"] is None
    assert [forward[f"payload_{what}"] for what in ("count", "sum", "min", "mean", "max")] == [
        3, 96, 32, 32, 32]
    by_domain = table(stepscope, "--by", "range", "--group", "domain", trace)["rows"]
    assert {(row["kind"], row["domain"]): row["total_ns"] for row in by_domain} == {
        ("step", None): 300_000_000, ("phase", None): 210_000_000,
        ("async", "fetches"): 180_000_000, ("range", "oneDNN"): 30_000_000,
        # Without the ranges within others: 120 + 90 + 60 (loader) + 30 + 45.
        ("range", None): 345_000_000}
    threads = stepscope("report", "--by", "range", "--group", "thread", trace).stdout
    assert "(all ranges)" in threads and "loader" in threads
    assert "takes path, name" in stepscope("report", "--by", "range", "--group", "name,x", trace,
                                           status=2).stderr
    assert "belongs to --by range" in stepscope("report", "--by", "line", "--group", "name", trace,
                                                status=2).stderr


def test_filters_choose_tracks(stepscope, trace):
    loader = table(stepscope, "--by", "range", "--thread", "loader", trace)["rows"]
    assert [row["path"] for row in loader] == ["load batch"]
    assert table(stepscope, "--by", "range", "--process", "1", trace)["rows"] == []
    late = table(stepscope, "--by", "range", "--from", "0.15", "--to", "0.19", trace)["rows"]
    assert {(row["kind"], row["path"]): row["count"] for row in late} == {
        ("range", "backward"): 1, ("phase", "backward"): 1, ("range", "update"): 1,
        ("range", "matmul"): 1}
    own = table(stepscope, "--by", "counter", "--process", "4242", trace)["rows"]
    assert {row["name"] for row in own} == {"loss", "tokens"}
    for options in (["--match", "x"], ["--gil"], ["-i"]):
        done = stepscope("report", "--by", "range", *options, trace, status=2)
        assert "selects samples" in done.stderr


def test_counters_by_their_kind(stepscope, trace):
    """Metrics, which are in groups, count for as long as they held: 100, 100 and 155 ms."""
    rows = {row["name"]: row for row in table(stepscope, "--by", "counter", trace)["rows"]}
    gauge = rows["memory used"]
    assert (gauge["kind"], gauge["unit"], gauge["group"]) == ("gauge", "bytes", "host")
    assert [gauge[key] for key in ("count", "min", "p50", "max", "last")] == [
        3, 1 << 30, 2 << 30, 3 << 30, 3 << 30]
    assert gauge["mean"] == pytest.approx((100 * 1 + 100 * 2 + 155 * 3) / 355 * (1 << 30))
    grew = rows["read"]  # 1, 4, 9 MiB: it grew by 3 and 5
    assert (grew["kind"], grew["group"]) == ("cumulative", "host;disk sda")
    assert [grew[key] >> 20 for key in ("min", "max", "last")] == [3, 5, 9] and grew["count"] == 2
    changes = rows["tokens"]
    assert [changes[key] for key in ("kind", "count", "mean", "last")] == ["delta", 3, 512, 1536]
    assert rows["loss"]["max"] == 4 and rows["loss"]["pid"] == 4242
    assert gauge["rate_per_s"] is rows["loss"]["rate_per_s"] is None
    assert (changes["rate_per_s"], grew["rate_per_s"]) == (5120, 40 << 20)  # in 200 ms


def test_samples_by_range_add_up(stepscope, trace):
    found = table(stepscope, "--by", "sample-range", "--num-rows", "all", trace)
    rows = {row["path"]: row for row in found["rows"]}
    assert found["shown_samples"] == sum(row["self_samples"] for row in rows.values()) == 36
    # Ends are not part of a range: of a matmul from 55 to 65 ms only the sample at 55 is in it.
    assert {path: row["self_samples"] for path, row in rows.items()} == {
        "backward": 9, None: 8, "forward;attention": 6, "evaluate": 4, "forward": 3, "update": 3,
        "forward;matmul": 3}
    assert rows["forward"]["total_samples"] == 12
    assert all(row["self_pm"] > 0 for row in rows.values())


def test_nothing_there_is_said(stepscope, golden):
    for by, word in (("range", "no ranges"), ("counter", "no counters")):
        assert word in stepscope("report", "--by", by, golden / "good" / "small.pftrace").stdout


def test_first_report_leads_to_the_ranges(stepscope, golden, trace):
    assert f"stepscope report --by range {shlex.quote(str(trace))}" in stepscope("report", trace).stdout
    assert "--by range" not in stepscope("report", golden / "good" / "small.pftrace").stdout


def boxes(svg):
    data = json.loads(re.search(r"<metadata>(.*?)</metadata>", svg, re.S).group(1))
    texts = data["texts"]
    return [(texts[data["labels"][i]], data["labels"][i + 4] >> 3)
            for i in range(0, len(data["labels"]), 6)]


def test_flame_under_ranges(stepscope, golden, trace, tmp_path):
    stepscope("flame", "--under", "ranges", trace, "-o", tmp_path / "a.svg")
    with_ranges = boxes((tmp_path / "a.svg").read_text())
    assert {name for name, kind in with_ranges if kind == 4} == {
        "forward", "attention", "backward", "update", "matmul", "evaluate"}
    assert ("train", 0) in with_ranges
    stepscope("flame", trace, "-o", tmp_path / "b.svg")
    assert {kind for _, kind in boxes((tmp_path / "b.svg").read_text())} == {0, 1}
    done = stepscope("flame", "--under", "ranges", golden / "good" / "small.pftrace", "-o",
                     tmp_path / "c.svg", status=3)
    assert "no ranges" in done.stderr and not (tmp_path / "c.svg").exists()
    stepscope("flame", "--under", "ranges", "--reverse", trace, "-o", tmp_path / "r.svg")
    assert ("forward", 4) in boxes((tmp_path / "r.svg").read_text())


def test_chrome_export(stepscope, trace, tmp_path):
    stepscope("export", trace, "-o", tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    by_phase = collections.defaultdict(list)
    for event in events:
        assert event["ts"] >= 0
        by_phase[event["ph"]].append(event)
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in by_phase["M"]
            if e["name"] == "thread_name"}
    found = collections.Counter()
    for row, name in rows.items():
        ends = []
        for event in sorted((e for e in by_phase["X"] if (e["pid"], e["tid"]) == row),
                            key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1]  # nested, never crosswise
            ends.append(event["ts"] + event["dur"])
            found[name, event["name"]] += 1
    assert found["MainThread: ranges", "attention"] == 6
    assert found["MainThread: oneDNN", "matmul"] == 3
    assert found["step", "step 2"] == found["phase", "forward"] / 3 == 1
    assert found["fetches", "fetch"] == 6
    assert [e["args"] for e in by_phase["i"]] == [{"payload": "a.pt"}]
    starts = {e["id"]: e for e in by_phase["s"]}
    assert len(starts) == len(by_phase["f"]) == 3
    for end in by_phase["f"]:
        assert end["bp"] == "e" and end["ts"] - starts[end["id"]]["ts"] == 20_000
    values = collections.Counter(e["name"] for e in by_phase["C"])
    assert values == {"host;memory used": 3, "host;disk sda;read": 3, "tokens": 3, "loss": 3}


def test_chrome_arrows_stand_on_ranges(stepscope, recordings, tmp_path):
    """Viewers bind an arrow to the range around its time in its row."""
    stepscope("export", recordings("tracks_everything").trace, "-o", tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    points = [e for e in events if e["ph"] in "stf"]
    assert collections.Counter(e["ph"] for e in points) == {"s": 3, "t": 12, "f": 3}
    for point in points:
        assert any((e["pid"], e["tid"]) == (point["pid"], point["tid"]) and
                   e["ts"] <= point["ts"] < e["ts"] + e["dur"] for e in slices)
    assert not {(e["tid"], e["ts"]) for e in points} & {
        (e["tid"], e["ts"]) for e in events if e["ph"] == "i"}


def test_speedscope_has_ranges(stepscope, golden, trace, tmp_path):
    """An evented profile for each row, next to the sampled ones."""
    stepscope("export", trace, "-o", tmp_path / "a.speedscope.json")
    data = json.loads((tmp_path / "a.speedscope.json").read_text())
    names = [frame["name"] for frame in data["shared"]["frames"]]
    found = {}
    for profile in data["profiles"]:
        if profile["type"] != "evented":
            continue
        last, stack, calls = profile["startValue"], [], collections.Counter()
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                calls[names[event["frame"]]] += 1
            else:
                assert stack.pop() == event["frame"]
        assert not stack
        found[profile["name"]] = dict(calls)
    main = 'Process 4242 Thread 4242 "MainThread"'
    assert found == {
        f"{main}: ranges": {"forward": 3, "attention": 6, "backward": 3, "update": 3,
                            "evaluate": 1},
        f"{main}: oneDNN": {"matmul": 3}, "Process 4242 step": {"step": 3},
        "Process 4242 phase": {"forward": 3, "backward": 3},
        'Process 4242 Thread 4243 "loader": ranges': {"load batch": 3},
        "Process 4242 fetches": {"fetch": 3}, "Process 4242 fetches (2)": {"fetch": 3}}
    assert sum(p["type"] == "sampled" for p in data["profiles"]) == 1
    stepscope("export", trace, "--thread", "loader", "-o", tmp_path / "b.speedscope.json")
    data = json.loads((tmp_path / "b.speedscope.json").read_text())
    assert [p["name"] for p in data["profiles"]] == [
        'Process 4242 Thread 4243 "loader": ranges']


def test_chrome_export_keeps_hosts_apart(stepscope, trace, tmp_path):
    names = ["a.pftrace", "b.pftrace"]
    for name in names:
        shutil.copy(trace, tmp_path / name)
    out = tmp_path / "both.json"
    stepscope("export", "--to", "chrome", "-o", out, *(tmp_path / name for name in names))
    events = json.loads(out.read_text())["traceEvents"]
    hosts = {event["pid"]: event["args"]["name"] for event in events
             if event.get("name") == "process_name" and "host" in event["args"]["name"]}
    assert sorted(hosts.values()) == ["host of a.pftrace", "host of b.pftrace"]
    used = collections.Counter(hosts[event["pid"]] for event in events
                               if event["ph"] == "C" and event["pid"] in hosts)
    assert len(set(used.values())) == 1 and len(used) == 2


def test_chrome_export_respects_filters(stepscope, trace, tmp_path):
    stepscope("export", trace, "--thread", "loader", "-o", tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert {e["name"] for e in events if e["ph"] == "X"} == {"load batch"}
    assert not any(e["ph"] in "Csf" for e in events)


def test_the_reading_example_agrees_with_the_report(stepscope, trace):
    """examples/c/ranges.c, with the public library."""
    program = pathlib.Path(stepscope.path).resolve().parent / "tests" / "ranges"
    if not program.exists():
        pytest.skip(f"{program} is not there: built without tests")
    lines = subprocess.run([program, trace], capture_output=True, text=True, timeout=60,
                           check=True).stdout.splitlines()
    rows = table(stepscope, "--by", "range", "--group", "name", "--num-rows", "all", trace)["rows"]
    wanted = sorted(f"{row['count']:8} x {row['total_ns'] / 1e9:12.6f} s  {row['name']}"
                    for row in rows if row["kind"] in ("range", "async"))
    assert sorted(line for line in lines if " x " in line) == wanted
    assert sorted(lines[-3:]) == ["3 steps, 1 marks, 3 arrows", "loss = 1.33333 ",
                                  "tokens = 1536 count"]


def test_info_counts(stepscope, trace):
    (one,) = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"]
    assert one["tracks"] == {"rows": 4, "ranges": 22, "async_ranges": 6, "steps": 3, "phases": 6,
                             "ends": 36, "marks": 1, "flow_points": 6, "names": 9, "counters": 4,
                             "counter_values": 12}
    text = stepscope("info", trace).stdout
    assert "28 in 4 rows of 9 names; 3 steps; 6 phases; 1 mark" in text
    assert "12 values of 4 counters" in text


@pytest.mark.parametrize("how", ["repair", "perfetto-compat"])
def test_rewritten_traces_say_the_same(stepscope, golden, trace, tmp_path, how):
    copy = tmp_path / "copy.pftrace"
    if how == "repair":
        stepscope("repair", trace, "-o", copy)
        for by in ("range", "sample-range"):
            done = stepscope("report", "--by", by, "--num-rows", "all", "-f", "csv", copy,
                             text=False)
            assert done.stdout == (golden / "tracks" / f"{by}.csv").read_bytes()
        rows = [sorted(csv.reader(io.StringIO(stepscope("report", "--by", "counter", "-f", "csv",
                                                        path).stdout))) for path in (trace, copy)]
        assert rows[0] == rows[1]
    else:
        stepscope("export", trace, "--to", "perfetto-compat", "-o", copy)
    (before,), (after,) = (json.loads(stepscope("info", "--format", "json", path).stdout)["files"]
                           for path in (trace, copy))
    assert after["tracks"] == before["tracks"]


def test_cut_trace_keeps_what_is_whole(stepscope, trace, tmp_path):
    cut = tmp_path / "cut.pftrace"
    shutil.copy(trace, cut)
    whole = cut.read_bytes()
    cut.write_bytes(whole[:-30])
    done = stepscope("report", "--by", "range", cut, status=3)
    assert "Beware" in done.stdout
    stepscope("repair", cut, "-o", tmp_path / "fixed.pftrace")
    stepscope("info", tmp_path / "fixed.pftrace")
