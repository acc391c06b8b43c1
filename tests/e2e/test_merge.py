# SPDX-License-Identifier: Apache-2.0
"""Recordings and trace-event files of several ranks as one file."""

import collections
import json
import os
import random
import shutil
import subprocess
import tarfile

import pytest
from perfetto_engine import BAD, query_new, query_old
from test_rank_clocks import AHEAD_S, SECRET, check_namespaces, run_pings

RANKS = 3
SLICES = "select count(*) from slice"
PIDS = "select pid, count(distinct upid) from process where pid > 0 group by pid"


@pytest.fixture(scope="module")
def run(recordings):
    return recordings("merge_run").trace / "run.stepscope"


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_flat_has_all_and_changes_nothing(stepscope, run, tmp_path):
    before, flat = contents(run), tmp_path / "flat.pftrace"
    stepscope("merge", run, "-o", flat)
    assert contents(run) == before
    raw = [stepscope("export", path, "--to", "raw", "-s", "--idle", "all", "-o", "-").stdout for path in (run, flat)]
    counts = []
    for text in raw:
        stacks = collections.Counter()
        for line in text.splitlines():
            stack, count = line.rsplit(" ", 1)
            stacks[stack.split(";", 1)[1]] += int(count)
        counts.append(stacks)
    assert counts[0] == counts[1] and sum(counts[0].values()) > 30


def test_twice_is_once(stepscope, run, tmp_path):
    for name in ("a.pftrace", "a.tar"):
        once, again, twice = (tmp_path / f"{prefix}{name}" for prefix in ("", "again-", "twice-"))
        stepscope("merge", run, "-o", once)
        stepscope("merge", once, "-o", again)
        stepscope("merge", run, once, *sorted((run / "ranks").glob("*.pftrace")), "-o", twice)
        assert once.read_bytes() == again.read_bytes(), name
        packed = name.endswith("tar")
        if packed:  # single files do not say which run they are of
            with tarfile.open(once) as one, tarfile.open(twice) as other:
                assert one.getnames() == other.getnames()
        else:
            assert once.read_bytes() == twice.read_bytes()


CUT = ('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "name": "a", "pid": 1, "tid": 1}, null, '
       '{"ph": "X", "ts": 3, "dur": 1, "name": "b", "pid": 1, "tid": 1}, 12], "traceName": "x"}')


def test_files_that_are_cut_at_any_byte(stepscope, tmp_path):
    """They end there, within a word, a number or a member, too."""
    whole, part, merged = tmp_path / "whole.json", tmp_path / "part.json", tmp_path / "merged.json"
    whole.write_text(CUT.replace('"a"', '"c"'))
    for length in range(CUT.index("[") + 1, len(CUT)):
        part.write_text(CUT[:length])
        merged.unlink(missing_ok=True)
        stepscope("merge", whole, part, "-o", merged, status=None, timeout=20)
        names = [event["name"] for event in json.loads(merged.read_text())["traceEvents"] if event["ph"] == "X"]
        own = [name for name in "ab" if f'"name": "{name}", "pid": 1, "tid": 1}}' in CUT[:length]]
        assert names == ["c", "b", *own], CUT[:length]


@pytest.mark.parametrize("members", ['"id": 7" "pid": 1', '"id": 7 "pid": 1', '"id": 7: 8', '"args": {} {}'])
def test_what_is_no_json_is_not_copied(stepscope, tmp_path, members):
    one, other, merged = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "merged.json"
    one.write_text('[{"ph": "f", "id": 7, "pid": 1, "tid": 2, "ts": 3}]')
    other.write_text(f'[{{"ph": "f", {members}, "tid": 2, "ts": 3}}]')
    done = stepscope("merge", one, other, "-o", merged, status=3)
    assert f"{other} is not trace-event JSON: byte 1" in done.stderr and not merged.exists()


def test_pack_is_a_run(stepscope, run, tmp_path):
    packed = tmp_path / "run.tar"
    stepscope("merge", run, "--pack", "-o", packed)
    assert f"{RANKS} of {RANKS}" in stepscope("info", packed).stdout
    with tarfile.open(packed) as archive:
        manifest = json.load(archive.extractfile("perfetto_manifest.json"))
        assert archive.extractfile("perfetto_manifest.json").read(20).startswith(b'{"perfetto_manifest"')
        for rank in range(RANKS):
            name = f"ranks/r{rank:05}.pftrace"
            assert archive.extractfile(f"run.stepscope/{name}").read() == (run / name).read_bytes()
        members = archive.getnames()
    files = manifest["perfetto_manifest"]["files"]
    assert manifest["perfetto_manifest"]["version"] == 1
    assert [file["path"] for file in files] == members[1:]
    assert len({file["machine"]["name"] for file in files}) == RANKS
    assert all(file["machine"]["name"].startswith(f"rank {rank}") for rank, file in enumerate(files))
    assert [file["clocks"]["offset_ns"] for file in files[1:]] == [0] * (RANKS - 1)  # one machine
    assert manifest["stepscope_run"] == json.loads((run / "run.json").read_text())
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "xf", packed, "-C", tmp_path / "out"], check=True)
    assert "3" in stepscope("info", tmp_path / "out" / "run.stepscope").stdout


def test_holes_are_left_out_of_an_archive(stepscope, run, tmp_path):
    """A file of a terabyte of which nearly all is a hole, and one with a hole between its bytes."""
    sparse, packed = tmp_path / "run.stepscope", tmp_path / "run.tar"
    shutil.copytree(run, sparse)
    last, middle = (sparse / "ranks" / f"r{rank:05}.pftrace" for rank in (1, 2))
    try:
        os.truncate(last, 1 << 40)
    except OSError as none:
        pytest.skip(f"no sparse files of a terabyte here: {none}")
    with open(middle, "r+b") as file:
        file.seek(1 << 26)
        file.write(b"end")
    if (last.stat().st_blocks + middle.stat().st_blocks) * 512 > 1 << 24:
        pytest.skip("no sparse files here")
    done = stepscope("merge", sparse, "--pack", "-o", packed, timeout=60)
    assert f"MB of holes of {last} and 1 more: they hold no records" in done.stderr
    assert packed.stat().st_size < 1 << 24
    with tarfile.open(packed) as archive:
        members = [archive.extractfile(f"run.stepscope/ranks/r{rank:05}.pftrace").read() for rank in range(RANKS)]
    originals = [(run / "ranks" / f"r{rank:05}.pftrace").read_bytes() for rank in range(RANKS)]
    assert members == [originals[0], originals[1], originals[2] + b"end"]
    assert f"{RANKS} of {RANKS}" in stepscope("info", packed, status=None).stdout
    assert "they hold no records" not in stepscope("merge", run, "--pack", "-o", packed).stderr


def test_older_perfetto_opens_flat(stepscope, run, tmp_path):
    flat = tmp_path / "flat.pftrace"
    stepscope("merge", run, "-o", flat)
    bad, pids, samples = query_old(flat, BAD, PIDS, "select count(*) from perf_sample")
    assert bad == []
    assert len(pids) == RANKS and all(count == 1 for _, count in pids)
    assert samples[0][0] > 30


def test_newest_perfetto_opens_both(stepscope, run, tmp_path):
    for name in ("flat.pftrace", "pack.tar"):
        stepscope("merge", run, "-o", tmp_path / name)
    bad, pids = query_new(tmp_path / "flat.pftrace", BAD, PIDS)
    assert bad == [] and len(pids) == RANKS
    bad, machines = query_new(tmp_path / "pack.tar", BAD, "select distinct name from machine where name like 'rank%'")
    assert bad == [] and len(machines) == RANKS


# ---- trace events -------------------------------------------------------------------------


def kineto(path, rank, seed, base=10**18, events=200):
    """Random events with few pids and ids, so that those of two files are the same; their names say which
    file and which pid or id they had."""
    draw = random.Random(seed)
    rows = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": "python"}}
            for pid in (7, 0, "Spans")]
    for _ in range(events):
        pid, tag = draw.choice([7, 0, "Spans"]), draw.choice([1, 2, 3, 99, "0x1f", "x", 2**41, -3])
        kind = draw.choice("Xsfbi")
        row = {"ph": kind, "cat": "c", "pid": pid, "tid": draw.randrange(3), "ts": draw.randrange(10**6) / 8,
               "name": f"{rank}|{pid}|{tag}", "args": {"id": 1, "pid": 2, "deep": [{"ts": "]}"}], "q": 'a"\\'}}
        if kind == "X":
            row["dur"] = 1.5
        if kind in "sfb":
            row["id"] = tag
        rows.append(row)
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}],
                                "distributedInfo": {"rank": rank, "world_size": 4}, "baseTimeNanoseconds": base,
                                "traceEvents": rows, "traceName": f"t{rank}"}, indent=draw.choice([None, 1])))
    return rows


def check_apart(rows, files):
    """Pids and ids are the same in two events exactly if they were, in the same file."""
    for member, place in (("pid", 1), ("id", 2)):
        seen = collections.defaultdict(set)
        for row in rows:
            if member in row and row["ph"] != "M":
                parts = row["name"].split("|")
                seen[json.dumps(row[member])].add((parts[0], parts[place]))
        assert all(len(origins) == 1 for origins in seen.values()), member
        assert len({origin for origins in seen.values() for origin in origins}) == len(seen)
    assert {row["name"].split("|")[0] for row in rows if row["ph"] != "M"} == set(files)


@pytest.mark.parametrize("seed", range(5))
def test_events_of_many_files(stepscope, tmp_path, seed):
    paths = [tmp_path / f"rank{rank}.json" for rank in range(4)]
    rows = [kineto(path, rank, 10 * seed + rank, 10**18 + (3 - rank) * 1125) for rank, path in enumerate(paths)]
    merged = tmp_path / "all.json"
    stepscope("merge", *paths, "-o", merged)
    content = json.loads(merged.read_text())
    check_apart(content["traceEvents"], "0123")
    assert content["baseTimeNanoseconds"] == 10**18
    assert [one["traceName"] for one in content["filesMetadata"]] == ["t0", "t1", "t2", "t3"]
    at = 0
    for rank, own in enumerate(rows):
        for row, new in zip(own, content["traceEvents"][at:at + len(own)], strict=True):
            assert round(new["ts"] * 1000) == round(row["ts"] * 1000) + (3 - rank) * 1125
            same = {key for key in row if key not in ("pid", "id", "ts")}
            if row["ph"] == "M":
                assert new["args"]["name"] == f"rank {rank} python"
                same -= {"args"}
            assert {key: row[key] for key in same} == {key: new[key] for key in same}
        at += len(own)
    assert at == len(content["traceEvents"])


def test_events_merged_twice_and_in_stages(stepscope, tmp_path):
    paths = [tmp_path / f"rank{rank}.json" for rank in range(4)]
    for rank, path in enumerate(paths):
        kineto(path, rank, rank)
    once, again, left, staged = (tmp_path / name for name in ("1.json", "2.json", "left.json", "staged.json"))
    stepscope("merge", *paths, "-o", once)
    stepscope("merge", once, *paths, "-o", again)
    assert once.read_bytes() == again.read_bytes()
    stepscope("merge", *paths[:2], "-o", left)
    stepscope("merge", left, *paths[2:], "-o", staged)
    check_apart(json.loads(staged.read_text())["traceEvents"], "0123")

    stepscope("merge", paths[1], paths[2], "-o", tmp_path / "middle.json")
    refused = stepscope("merge", left, tmp_path / "middle.json", "-o", tmp_path / "no.json", status=None)
    assert refused.returncode == 2 and "in common" in refused.stderr
    assert not (tmp_path / "no.json").exists()


def test_events_in_perfetto(stepscope, tmp_path):
    paths = [tmp_path / f"rank{rank}.json" for rank in range(3)]
    for rank, path in enumerate(paths):
        events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0, "args": {"name": "python"}}]
        for i in range(50):
            events += [{"ph": "X", "cat": "cpu_op", "name": f"launch {i}", "pid": 7, "tid": 7, "ts": i * 20, "dur": 9},
                       {"ph": "s", "id": i + 1, "cat": "ac2g", "name": "ac2g", "pid": 7, "tid": 7, "ts": i * 20},
                       {"ph": "X", "cat": "kernel", "name": f"kernel {i}", "pid": 0, "tid": 3, "ts": i * 20 + 10,
                        "dur": 8},
                       {"ph": "f", "bp": "e", "id": i + 1, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 3,
                        "ts": i * 20 + 10}]
        path.write_text(json.dumps({"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": 10**18 + rank,
                                    "traceEvents": events}))
    stepscope("merge", *paths, "-o", tmp_path / "all.json")
    bad, slices, names, flows, crossing = query_old(
        tmp_path / "all.json", BAD, SLICES, "select name from process where name like 'rank%' order by name",
        "select count(*) from flow",
        "select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id "
        "where substr(a.name, 8) != substr(b.name, 8)")
    assert bad == [] and slices == [(300,)]
    assert names == [(f"rank {rank} python",) for rank in range(3)]
    assert flows == [(150,)] and crossing == [(0,)]


# ---- what is refused ----------------------------------------------------------------------


def test_errors(stepscope, run, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("hello\n")
    kineto(tmp_path / "a.json", 0, 0)
    cut = tmp_path / "cut.json"
    cut.write_text((tmp_path / "a.json").read_text()[:5000])
    for arguments, status, words in (
            ([run], 2, "needs -o FILE"),
            (["-o", tmp_path / "x"], 2, "takes runs"),
            ([run, tmp_path / "a.json", "-o", tmp_path / "x"], 2, "different formats"),
            ([text, "-o", tmp_path / "x"], 3, "neither a recording"),
            ([tmp_path / "a.json", "--pack", "-o", tmp_path / "x"], 2, "--pack is for recordings"),
            ([run, "--pack", "--flat", "-o", tmp_path / "x"], 2, "either --pack or --flat"),
            ([tmp_path / "a.json", "-o", tmp_path / "a.json"], 2, "is an input"),
            ([tmp_path / "none", "-o", tmp_path / "x"], 4, "cannot open")):
        done = stepscope("merge", *arguments, status=None)
        assert (done.returncode, words in done.stderr) == (status, True), (arguments, done.stderr)
    assert "end within their events" in stepscope("merge", cut, "-o", tmp_path / "x").stderr
    json.loads((tmp_path / "x").read_text())


def test_a_damaged_rank_is_merged_as_far_as_it_goes(stepscope, run, tmp_path):
    for path in (run / "ranks").glob("*.pftrace"):
        content = path.read_bytes()
        (tmp_path / path.name).write_bytes(content[:-10] if path.name == "r00001.pftrace" else content)
    flat = tmp_path / "flat.pftrace"
    paths = sorted(tmp_path.glob("r*.pftrace"))
    done = stepscope("merge", *paths, "-o", flat, status=None)
    if done.returncode == 0:
        assert "damaged bytes left out" in done.stderr
    else:  # its only unit is the one that was cut
        assert "r00001.pftrace holds no readable stepscope trace" in done.stderr


# ---- clocks -------------------------------------------------------------------------------


def test_machines_whose_clocks_differ(stepscope, python, tmp_path):
    """Two machines, 5,000 s apart, recorded at the same time, with pings between their recorders."""
    check_namespaces()
    run_pings(stepscope, python, tmp_path, [SECRET, SECRET])
    folder = tmp_path / "run"
    nodes = [folder / f"node{node}.pftrace" for node in (0, 1)]
    done = stepscope("merge", *nodes, "-o", tmp_path / "flat.pftrace")
    assert "clocks agree within" in done.stderr
    clock = json.loads(stepscope("info", folder, "--format", "json").stdout)["files"][0]["inputs"][1]["clock"]
    bad, pids, spans = query_old(
        tmp_path / "flat.pftrace", BAD, PIDS,
        "select min(ts), max(ts) from perf_sample join thread using (utid) where upid is not null group by upid")
    assert bad == [] and all(count == 1 for _, count in pids)
    begins, ends = [span[0] for span in spans], [span[1] for span in spans]
    assert max(begins) <= min(ends) and max(ends) - min(begins) < 20 * 10**9
    stepscope("merge", *nodes, "-o", tmp_path / "pack.tar")
    with tarfile.open(tmp_path / "pack.tar") as archive:
        files = json.load(archive.extractfile("perfetto_manifest.json"))["perfetto_manifest"]["files"]
    assert abs(files[1]["clocks"]["offset_ns"] - clock["offset_ns"]) <= clock["error_ns"] + 10**6
    assert abs(files[1]["clocks"]["offset_ns"] + AHEAD_S * 10**9) < 10**7
