# SPDX-License-Identifier: Apache-2.0
"""The server of `stepscope view`: its answers, and what it refuses."""

import concurrent.futures
import json
import os
import resource
import signal
import socket
import stat
import time

import pytest
from kineto import Kineto
from target import HANGS_AFTER_S
from viewing import viewing


def training(steps=4):
    """Steps of 1 ms with a forward and a backward operator, and a kernel each."""
    trace = Kineto()
    for step in range(steps):
        begin = 1000 + 1000 * step
        trace.step(step, begin, 1000 if step != steps - 1 else 3000)
        trace.operator("aten::linear", begin + 100, 200, **{"Sequence number": step, "Fwd thread id": 0})
        trace.launch("gemm()", begin + 150, begin + 400, 300)
    return trace


@pytest.fixture
def view(stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    with viewing(stepscope, source) as running:
        running.source = source
        yield running


def test_answers_of_a_training(view):
    overview = view.ask("overview")
    assert overview["steps"] == 4
    assert overview["duration_ns"] == 6_000_000
    kinds = [track["kind"] for track in overview["groups"][0]["tracks"]]
    assert kinds == sorted(kinds, key=["steps", "phases", "main", "stacks", "thread", "ranges",
                                       "stream", "counter"].index)
    stream = view.track("stream")
    picture = view.ask("picture", **{"from": 0, "to": 6_000_000, "px": 1000, "tracks": stream["id"]})
    rects = picture["rows"][0]["rects"]
    assert [rects[i:i + 2] for i in range(0, len(rects), 6)] == [
        [400_000 + 1_000_000 * step, 300_000] for step in range(4)]
    assert picture["names"] == ["gemm()"]


def test_joins_what_cannot_be_seen(view):
    stream = view.track("stream")
    picture = view.ask("picture", **{"from": 0, "to": 6_000_000, "px": 2, "tracks": stream["id"]})
    rects = picture["rows"][0]["rects"]
    assert sum(rects[3::6]) == 4
    assert len(rects) < 4 * 6


def test_details_name_units_and_links(view):
    stream = view.track("stream")
    kernel = view.ask("slice", track=stream["id"], lane=0, position=1)
    assert kernel["name"] == "gemm()" and kernel["duration_ns"] == 300_000
    fields = {field["name"]: field for field in kernel["fields"]}
    assert fields["grid_x"]["value"] == 64 and fields["grid_x"]["unit"] == "blocks"
    link = kernel["links"][0]
    assert (link["kind"], link["leaves"]) == ("launched by", False)
    launch = view.ask("slice", **{key: link["slice"][key] for key in ("track", "lane", "position")})
    assert launch["name"] == "cudaLaunchKernel"
    assert launch["around"][0]["name"] == "aten::linear"
    assert [(back["kind"], back["slice"]["begin_ns"]) for back in launch["links"]] == [
        ("launches", kernel["begin_ns"])]
    assert view.ask("slice", **{key: launch["around"][0][key] for key in ("track", "lane", "position")}
                    )["self_ns"] == 196_000


def test_ranks_that_wait_are_linked_to_the_last(stepscope, tmp_path):
    sources = []
    for rank, begin in enumerate((1000, 1600)):  # rank 1 arrives 600 µs later
        trace = Kineto(rank=rank, world_size=2)
        for step in range(3):
            trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 3000 * step + 500,
                         3000 * step + begin, 2000 - begin)
        sources.append(trace.write(tmp_path / f"rank{rank}.json"))
    with viewing(stepscope, *sources) as view:
        groups = view.ask("overview")["groups"]
        assert [group["name"] for group in groups] == ["rank 0", "rank 1"]
        streams = [next(track["id"] for track in group["tracks"] if track["kind"] == "stream") for group in groups]
        early, late = [view.ask("slice", track=track, lane=0, position=1) for track in streams]
        waits = [link for link in early["links"] if link["kind"] == "waited for"]
        assert [link["slice"]["where"].split(" · ")[0] for link in waits] == ["rank 1"]
        assert late["begin_ns"] - early["begin_ns"] == 600_000
        assert [link["slice"]["track"] for link in late["links"] if link["kind"] == "kept waiting"] == [streams[0]]


def test_sums_are_cut_to_the_range(view):
    sums = view.ask("sums", **{"from": 500_000, "to": 1_450_000})
    names = {row["name"]: row for row in sums["names"]}
    assert names["gemm()"]["total_ns"] == 200_000 + 50_000
    assert names["gemm()"]["count"] == 2
    assert names["aten::linear"]["self_ns"] == 196_000
    assert names["aten::linear"]["total_ns"] == 200_000
    stream = view.track("stream")["id"]
    assert {row["track"]: row["busy_ns"] for row in sums["tracks"]}[stream] == 250_000


def test_search_goes_round_in_order(view):
    begins, place = [], {}
    for _ in range(5):
        found = view.ask("search", text="GEMM", **place)
        assert found["count"] == 4 and sum(found["parts"]) == 4
        if found["next"] is None:
            break
        begins.append(found["next"]["begin_ns"])
        place = {"after": found["next"]["begin_ns"], "track": found["next"]["track"], "lane": 0}
    assert begins == [400_000 + 1_000_000 * step for step in range(4)]
    back = view.ask("search", text="gemm", backward=1, **place)
    assert back["next"]["begin_ns"] == begins[-2]
    assert view.ask("search", text="nowhere")["count"] == 0


def test_steps_and_outliers(stepscope, tmp_path):
    source = training(12).write(tmp_path / "trace.json")
    with viewing(stepscope, source) as view:
        first = view.ask("step", which="next")["step"]
        assert first["number"] == 0 and first["name"].endswith("0")
        second = view.ask("step", which="next", at=first["begin_ns"])["step"]
        assert second["begin_ns"] == 1_000_000
        assert view.ask("step", which="previous", at=second["begin_ns"])["step"]["number"] == 0
        outlier = view.ask("step", which="outlier")["step"]
        assert (outlier["number"], outlier["kind"]) == (11, "outlier")
        assert view.ask("step", which="outlier", at=outlier["begin_ns"])["step"] is None


def test_samples_are_slices(stepscope, tmp_path):
    source = tmp_path / "run.speedscope.json"
    source.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in ("main", "load", "train")]},
        "profiles": [{"type": "sampled", "name": "t", "unit": "nanoseconds", "startValue": 0,
                      "endValue": 60, "samples": [[0, 1], [0, 2], [0, 2]], "weights": [10, 20, 30]}]}))
    with viewing(stepscope, source) as view:
        stacks = view.track("stacks")
        assert stacks["lanes"] == 2
        lanes = view.ask("picture", **{"from": 0, "to": 60, "px": 60, "tracks": stacks["id"]})
        assert [row["rects"][:2] for row in lanes["rows"]] == [[0, 60], [0, 10]]
        assert lanes["rows"][1]["rects"][6:8] == [10, 50]


# --- notes ------------------------------------------------------------------------------------

def test_notes_are_kept_beside_the_recording(stepscope, view):
    note = {"from_ns": 400_000, "to_ns": 700_000, "text": "slow </script> \u202e here"}
    status, _, body = view.save({"revision": 0, "notes": [note]})
    assert status == 200, body
    kept = view.source.with_name("trace.json.notes.json")
    assert stat.S_IMODE(kept.stat().st_mode) & 0o077 == stat.S_IMODE(view.source.stat().st_mode) & 0o077
    assert view.save({"revision": 0, "notes": []})[0] == 409  # of an older revision
    assert view.end() == 0
    # Another part of the recording, another time 0: the note stays at its kernel.
    with viewing(stepscope, view.source, "--steps", "0:1") as again:
        assert again.ask("notes")["notes"] == [note]
        assert again.save({"revision": 0, "notes": []})[0] == 200
        assert json.loads(kept.read_text())["notes"] == []
    assert [path.name for path in kept.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("wrong", [
    b"", b"{", b"[]", {"notes": []}, {"revision": 0, "notes": {}}, {"revision": 0, "notes": [1]},
    {"revision": 0, "notes": [{"from_ns": 2, "to_ns": 1, "text": ""}]},
    {"revision": 0, "notes": [{"from_ns": 0, "to_ns": 1, "text": "x" * 9000}]},
    {"revision": 0, "notes": [{"from_ns": 0, "to_ns": 1, "text": ""}] * 1001}])
def test_wrong_notes_change_nothing(view, wrong):
    assert view.save(wrong)[0] == 400
    assert not view.source.with_name("trace.json.notes.json").exists()


def test_a_foreign_file_is_not_replaced(stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    foreign = tmp_path / "trace.json.notes.json"
    foreign.write_text('{"mine": 1}')
    with viewing(stepscope, source) as view:
        assert "is not a file of notes" in view.ask("notes")["problem"]
        assert view.save({"revision": 0, "notes": []})[0] == 500
    assert foreign.read_text() == '{"mine": 1}'


@pytest.mark.parametrize("kind", ["hole", "pipe"])
def test_notes_of_any_length_do_not_stall(stepscope, tmp_path, kind):
    source = training().write(tmp_path / "trace.json")
    foreign = tmp_path / "trace.json.notes.json"
    if kind == "pipe":
        os.mkfifo(foreign)
    else:
        foreign.write_text('{"format": "stepscope notes", "notes": []}')
        os.truncate(foreign, 200 << 30)
    begin = time.monotonic()
    with viewing(stepscope, source) as view:
        assert "is not a file of notes" in view.ask("notes")["problem"]
    assert time.monotonic() - begin < 30


# --- security ---------------------------------------------------------------------------------

def test_nothing_without_the_token(view):
    for path in ("/api/overview", "/input?number=0", "/nothing", f"/api/overview?token={view.token}"):
        assert view.raw(path)[0] == 403, path
    for wrong in ("Bearer " + "0" * 32, f"Basic {view.token}", view.token):
        assert view.raw("/api/overview", headers={"Authorization": wrong})[0] == 403, wrong
    # A cookie would be sent to every port of this host, where other users serve.
    status, headers, _ = view.raw("/api/overview", headers={"Cookie": f"stepscope={view.token}; token={view.token}"})
    assert status == 403
    assert view.get("/api/overview")[0] == 200


def test_the_files_of_the_page_are_public_and_say_nothing(view):
    for path in ("/", "/main.js", "/sheet.css"):
        status, headers, body = view.raw(path)
        assert status == 200 and "Set-Cookie" not in headers
        assert view.token.encode() not in body and view.source.name.encode() not in body
    assert view.raw("/", "PUT", b"x", {"Origin": f"http://{view.host}"})[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_wrong_host(view, host):
    assert view.get("/", Host=host)[0] in (400, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://ui.perfetto.dev",
                                    "http://127.0.0.1:1", "http://localhost"])
def test_foreign_origin(view, origin):
    assert view.get("/api/overview", Origin=origin)[0] == 403
    assert view.save({"revision": 0, "notes": []}, Origin=origin)[0] == 403


def test_a_change_needs_an_origin(view):
    assert view.get("/api/notes", "PUT", b'{"revision": 0, "notes": []}')[0] == 403
    assert view.get("/api/notes", "POST", b"{}", Origin=f"http://{view.host}")[0] == 405
    assert view.get("/", "PUT", b"x", Origin=f"http://{view.host}")[0] == 405


@pytest.mark.parametrize("path", [
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd", "/main.js/..",
    "/input?number=9", "/input?number=-1", "/input?number=/etc/passwd", "/input", "/.",
    "/api/", "/x.js", "/main%00.js"])
def test_no_path_leads_to_a_file(view, path):
    status, _, body = view.get(path)
    assert status in (400, 404) and b"root:" not in body


def test_only_the_input_itself(view):
    status, headers, body = view.get("/input?number=0")
    assert status == 200 and body == view.source.read_bytes()
    assert headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("query", [
    "picture", "picture?from=0&to=0&px=10&tracks=0", "picture?from=0&to=10&px=0&tracks=0",
    "picture?from=0&to=10&px=99999&tracks=0", "picture?from=0&to=10&px=10&tracks=999",
    "picture?from=0&to=10&px=10&tracks=", "picture?from=0&to=10&px=10&tracks=0,,0",
    "picture?from=-1&to=10&px=10&tracks=0", "picture?from=0&to=99999999999999999999&px=9&tracks=0",
    "picture?from=0&to=10&px=10&tracks=" + ",".join(["0"] * 65), "slice?track=0&lane=99&position=0",
    "slice?track=0&lane=0&position=99999999", "sums?from=5&to=5", "search", "search?text=",
    "step?which=sideways", "step?which=next&process=99999"])
def test_wrong_requests(view, query):
    assert view.get(f"/api/{query}")[0] == 400


def test_every_answer_forbids_other_scripts(view):
    for path in ("/", "/main.js", "/sheet.css", "/api/overview", "/nothing"):
        headers = view.get(path)[1]
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_too_much(view):
    assert view.save(b"x" * (2 << 20))[0] == 413
    assert view.get("/" + "a" * 60000)[0] in (413, 414, 431)
    assert view.get("/", Accept="x" * 60000)[0] in (400, 413, 431)
    assert view.get("/")[0] == 200


def test_strangers_keep_no_one_with_the_token_out(view):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[1] < 1200:
        pytest.skip(f"only {limit[1]} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit[0], 1200), limit[1]))
    request = (f"GET /api/overview HTTP/1.1\r\nHost: {view.host}\r\n"
               f"Authorization: Bearer {view.token}\r\n\r\n").encode()
    known, strangers = [], []
    try:
        for _ in range(300):
            known.append(socket.create_connection(("127.0.0.1", view.port), timeout=HANGS_AFTER_S))
            known[-1].sendall(request)
            assert known[-1].recv(12) == b"HTTP/1.1 200"
        for _ in range(1100 - len(known)):
            strangers.append(socket.create_connection(("127.0.0.1", view.port), timeout=HANGS_AFTER_S))
        # With these open, those who have the token are served: on new connections, and on theirs.
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            assert set(pool.map(lambda _: view.get("/api/overview")[0], range(100))) == {200}
        assert strangers[0].recv(1) == b""  # the oldest made room
        known[0].sendall(request)
        while (got := known[0].recv(1 << 20)) and b"HTTP/1.1 200" not in got:
            pass
        assert got
    finally:
        for one in known + strangers:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


# --- its life ---------------------------------------------------------------------------------

@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ends_at_once(view, how):
    with socket.create_connection(("127.0.0.1", view.port)) as idle:
        idle.sendall(b"GET / HT")
        began = time.monotonic()
        assert view.end(how) == 0
        assert time.monotonic() - began < 10


def test_binds_the_loopback_alone(view):
    wanted = f":{view.port:04X}"
    with open("/proc/net/tcp") as tcp, open("/proc/net/tcp6") as tcp6:
        rows = [line.split() for line in [*tcp, *tcp6]]
    assert [row[1] for row in rows if len(row) > 3 and row[1].endswith(wanted) and row[3] == "0A"] == [
        f"0100007F{wanted}"]


def test_a_port_in_use(stepscope, view):
    done = stepscope("view", "--port", view.port, view.source, status=4)
    assert "in use" in done.stderr and done.stdout == ""


def test_a_private_socket(stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    path = tmp_path / "view.sock"
    with viewing(stepscope, "--socket", path, source) as view:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall("GET /api/overview HTTP/1.1\r\nHost: localhost:8790\r\n"
                           f"Authorization: Bearer {view.token}\r\n\r\n".encode())
            assert client.recv(12) == b"HTTP/1.1 200"
        stepscope("view", "--socket", path, source, status=4)  # one listens
        view.process.kill()
        view.process.wait()
        assert path.exists()
    with viewing(stepscope, "--socket", path, source) as view:  # none does
        assert view.end() == 0
    assert not path.exists()
    path.write_text("mine")
    stepscope("view", "--socket", path, source, status=4)
    assert path.read_text() == "mine"


def test_usage(stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    stepscope("view", "--socket", "x", "--port", 1, source, status=2)
    stepscope("view", "--socket", "x" * 200, source, status=2)
    stepscope("view", "--port", 70000, source, status=2)
    stepscope("view", tmp_path / "nothing", status=4)


def test_prints_the_tunnel_and_opens_no_browser(stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    opened = tmp_path / "opened"
    program = tmp_path / "xdg-open"
    program.write_text(f"#!/bin/sh\necho \"$1\" > {opened}\n")
    program.chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{tmp_path}:{path}"
    try:
        with viewing(stepscope, source) as view:
            line = view.process.stderr.readline()
            assert f"ssh -N -L {view.port}:127.0.0.1:{view.port}" in line
            assert view.end() == 0
            assert not opened.exists()
        with viewing(stepscope, "--open", source) as view:
            until = time.monotonic() + 20
            while not (opened.exists() and opened.read_text()) and time.monotonic() < until:
                time.sleep(0.01)
            assert opened.read_text().strip() == view.address
    finally:
        os.environ["PATH"] = path
