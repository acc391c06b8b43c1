# SPDX-License-Identifier: Apache-2.0
"""Small files that stand for much: each importer refuses one quickly, in one line that names the file, the limit
and the way out."""

import bz2
import gzip
import json
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
import threading
import zipfile
import zlib

import pytest

from foreign import ROOT

MIB = 1 << 20
CHROME = b'{"ph":"X","ts":%d,"dur":1,"name":"a","pid":1,"tid":1},'


# The peak of a process is at least that of the one that started it, so that a small one measures.
MEASURE = """if True:
    import json, resource, subprocess, sys, time
    start = time.monotonic()
    done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    seconds, peak = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    json.dump([done.returncode, done.stdout.decode(), done.stderr.decode(), peak, seconds], sys.stdout)"""


def run(stepscope, *words):
    """The finished command, its peak memory in bytes, and its time in seconds."""
    done = subprocess.run([sys.executable, "-c", MEASURE, os.fspath(stepscope), *map(str, words)], check=True,
                          stdout=subprocess.PIPE)
    status, stdout, stderr, peak, seconds = json.loads(done.stdout)
    return subprocess.CompletedProcess(words, status, stdout, stderr), peak, seconds


def refused(stepscope, path, *words, memory, status=3):
    """The only line that a refusal prints."""
    done, peak, seconds = run(stepscope, *words, path)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (status, "", 1), done
    assert str(path) in lines[0]
    assert peak < memory and seconds < 10
    return lines[0]


def chrome(path):
    path.write_bytes(gzip.compress(b"[" + CHROME % 7 * 100_000 + CHROME[:-1] % 8 + b"]", 1))


def speedscope(path):
    pair = b'{"type":"O","frame":0,"at":1},{"type":"C","frame":0,"at":1},'
    path.write_bytes(gzip.compress(
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},'
        b'"profiles":[{"type":"evented","unit":"seconds","startValue":0,"endValue":2,"events":['
        + pair * 200_000 + b'{"type":"O","frame":0,"at":1}]}]}', 1))


def ncu(path):
    head = b'"ID","Process ID","Process Name","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    path.write_bytes(gzip.compress(head + b"".join(b'"%d","4","p","k","Duration","s","%d"\n' % (i, i)
                                                   for i in range(50_000)), 1))


def nsys(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
                         " globalTid INTEGER)")
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'a', 1)",
                             ((i, i + 1) for i in range(100_000)))
    database.close()


def snapshot(path):
    actions = [{"action": "alloc", "addr": i, "size": 1, "stream": 0, "time_us": i + 1} for i in range(40_000)]
    path.write_bytes(gzip.compress(pickle.dumps({"segments": [], "device_traces": [actions]}), 1))


def memory_timeline(path):
    path.write_bytes(gzip.compress(b"[" + b",".join(b"[%d, 2, 64, 4]" % i for i in range(100_000)) + b"]", 1))


def varint(number):
    return (bytes([number & 127 | 128]) + varint(number >> 7)) if number > 127 else bytes([number])


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def perfetto(path):
    """Packets within compressed packets."""
    event = message(11, b"\x48\x03" + b"\x58\x05" + message(23, b"a"))
    packet = message(1, b"\x40\x07" + b"\x50\x01" + event)
    track = message(1, b"\x50\x01" + message(60, b"\x08\x05"))
    path.write_bytes(track + message(1, message(50, zlib.compress(packet * 100_000))))


def raw(path):
    path.write_bytes(bz2.compress(b"".join(b"main (a.py:1);f%d (b.py:%d) 1\n" % (i, i) for i in range(50_000)), 1))


def several(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(10):
            archive.writestr(f"rank{i}.json", b"[" + CHROME % i * 10_000 + CHROME[:-1] % i + b"]")


@pytest.mark.parametrize("make", [chrome, speedscope, ncu, nsys, snapshot, memory_timeline, perfetto, raw, several],
                         ids=lambda make: make.__name__)
def test_each_importer_keeps_to_the_limit(stepscope, tmp_path, make):
    path = tmp_path / "bomb"
    make(path)
    line = refused(stepscope, path, "report", "--max-memory", "4M", memory=200 * MIB)
    assert "needs more than 4 MiB of memory (--max-memory)" in line
    done, _, _ = run(stepscope, "report", "--by", "range", "--max-memory", "1G", path)
    assert done.returncode == 0 and "MiB of memory" not in done.stderr, done.stderr


def test_a_recording_keeps_to_the_limit(stepscope, recordings):
    path = recordings("memory_timeline_profile").trace
    trace = max(ROOT.glob("tests/recordings/recorded/**/*.pftrace"), key=lambda path: path.stat().st_size)
    line = refused(stepscope, trace, "report", "--max-memory", "1M", memory=200 * MIB)
    assert "--max-memory" in line
    assert path.exists()


@pytest.mark.parametrize("size", ["1K", "-4G", "4X", "G", "nan", "1e30G", "4Gx", ""])
def test_what_is_no_size(stepscope, tmp_path, size):
    path = tmp_path / "a.txt"
    path.write_text("f (a.py:1) 5\n")
    done = stepscope("report", f"--max-memory={size}", path, status=2)
    assert "--max-memory takes a size of at least 1M, such as 500M or 4G" in done.stderr
    for right in ("64M", "0.5g", "1GiB", "1048576", "2TB"):
        assert stepscope("info", "--max-memory", right, path).stdout


def test_a_few_bytes_without_an_option(stepscope, tmp_path):
    """A file of 20 kB: a list of 20 million values."""
    path = tmp_path / "bomb.pickle.gz"
    path.write_bytes(gzip.compress(b"\x80\x04(" + b"N" * 20_000_000 + b"l.", 1))
    line = refused(stepscope, path, "report", memory=700 * MIB)
    assert "but needs more than 2" in line and "--max-memory SIZE allows more" in line


def shared_segment(count):
    block = {"size": 512, "state": "active_allocated", "requested_size": 512}
    segment = {"device": 0, "address": 0, "total_size": 1 << 30, "blocks": [block] * count}
    return pickle.dumps({"segments": [segment] * count, "device_traces": []})


def shared_trace(count):
    events = [{"action": "alloc", "addr": 1, "size": 1}] * count
    return pickle.dumps({"segments": [{"device": 255}], "device_traces": [events] * 250})


def shared_frames(count):
    frame = {"filename": "x" * 2000, "name": "f", "line": 1, **{f"key{i}": i for i in range(count)}}
    events = [{"action": "alloc", "addr": 1, "size": 1, "frames": [frame] * (200 + i % 50)} for i in range(count)]
    return pickle.dumps({"segments": [], "device_traces": [events]})


@pytest.mark.parametrize("make", [shared_segment, shared_trace, shared_frames], ids=lambda make: make.__name__)
def test_values_that_are_named_again_and_again(stepscope, tmp_path, make):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(make(2_000 if make is shared_frames else 20_000))
    line = refused(stepscope, path, "report", "--by", "memory", memory=700 * MIB)
    assert "name the same values again and again" in line or "needs more than" in line


def many_processes(path):
    path.write_bytes(b"[" + b",".join(b'{"ph":"X","ts":1,"dur":1,"name":"a","pid":%d,"tid":1}' % i
                                      for i in range(60_000)) + b"]")


def open_async_ranges(path):
    path.write_bytes(b"[" + b",".join(b'{"ph":"b","cat":"c","id":%d,"ts":1,"name":"a","pid":1}' % i
                                      for i in range(300_000)) + b"]")


def an_event_without_an_end(path):
    path.write_bytes(gzip.compress(b"[" + CHROME % 1 + b'{"a":[' * 15_000_000, 1))


def kernels_of_one_name(path):
    head = b'"ID","Process ID","Process Name","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    path.write_bytes(head + b"".join(b'"%d","4","p","k","Duration","s","1"\n' % i for i in range(100_000)))


@pytest.mark.parametrize("make", [many_processes, open_async_ranges, an_event_without_an_end, kernels_of_one_name],
                         ids=lambda make: make.__name__)
def test_the_time_grows_with_the_size(stepscope, tmp_path, make):
    """Each took the square of it."""
    path = tmp_path / "bomb"
    make(path)
    done, _, seconds = run(stepscope, "info", path)
    assert done.returncode == 0 and seconds < 12


def test_samples_that_stand_for_many(stepscope, tmp_path):
    """A trace would have one for each tick of half a second, of 4 billion seconds."""
    path = tmp_path / "p.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "unit": "seconds", "samples": [[0], [0]], "weights": [2 ** 32, 0.5]}]}))
    line = refused(stepscope, path, "export", "--to", "perfetto-compat", "-o", tmp_path / "p.pftrace", memory=200 * MIB)
    assert "8589934593 samples" in line and [entry.name for entry in tmp_path.iterdir()] == ["p.json"]


def hole(path, begin, size=1 << 40):
    path.write_text(begin)
    try:
        os.truncate(path, size)
    except OSError as none:
        pytest.skip(f"no sparse files of a terabyte here: {none}")
    if os.stat(path).st_blocks * 512 > MIB:
        pytest.skip("no sparse files here")


@pytest.mark.parametrize("begin", ['[{"ph":"X","ts":1,"dur":1,"name":"a","pid":1,"tid":1},', '{"traceEvents":[',
                                   '{"traceEvents":[],"other":"', "[[0, 1, 2, 3], [", '{"shared":{"frames":[',
                                   '"ID","Process ID","Process Name","Kernel Name"\n"', "\x0a\x06\x50\x05\x5a\x02"],
                         ids=["list", "object", "text", "timeline", "speedscope", "ncu", "perfetto"])
def test_a_terabyte_that_is_a_hole(stepscope, tmp_path, begin):
    path = tmp_path / "hole.json"
    hole(path, begin)
    for words in (["report"], ["info"], ["export", "--to", "raw", "-o", "-"]):
        done, peak, seconds = run(stepscope, *words, path)
        assert str(path) in done.stderr and peak < 400 * MIB and seconds < 10


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "written"])
def test_what_is_no_file(stepscope, tmp_path, kind):
    """Refused at once, but for a pipe to which a program writes."""
    path = tmp_path / kind
    if kind == "socket":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
    elif kind != "device":
        os.mkfifo(path)
    path = "/dev/zero" if kind == "device" else path
    if kind == "written":
        writer = threading.Thread(target=lambda: path.write_text("f (a.py:1) 50\n"))
        writer.start()
        done, _, _ = run(stepscope, "report", path)
        writer.join()
        assert done.returncode == 0 and "f" in done.stdout, done.stderr
        return
    for words in (["report"], ["info"], ["export", "--to", "raw"], ["flame"], ["dump"],
                  ["repair", "-o", tmp_path / "r"], ["merge", "-o", tmp_path / "m"]):
        done, _, seconds = run(stepscope, *words, path)
        assert done.returncode in (2, 3, 4) and seconds < 8, words
        assert str(path) in done.stderr, words
    done, _, _ = run(stepscope, "report", path)
    assert {"pipe": "a pipe that no program writes to", "socket": "is a socket",
            "device": "is a device"}[kind] in done.stderr


def test_a_compressed_pipe(stepscope, tmp_path):
    path = tmp_path / "p"
    os.mkfifo(path)
    content = gzip.compress(b"f (a.py:1) 50\n")
    writer = threading.Thread(target=lambda: path.write_bytes(content))
    writer.start()
    done, _, _ = run(stepscope, "report", path)
    writer.join()
    assert done.returncode == 4 and "unpack it on the way" in done.stderr
