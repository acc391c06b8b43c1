# SPDX-License-Identifier: Apache-2.0
"""`stepscope report` on py-spy raw files, folders and recordings: what it shows, what it says about
what it leaves out, and what it does with input that is broken."""

import csv
import io
import json
import os
import pty
import re
import select
import subprocess

import pytest
from busy import unless_busy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LEAF_HEADER = ("name,path,line,library_function_name,library_function_path,"
               "library_function_line,percent,samples")
HOT_HEADER = ("name,path,line,pid,tid,self_percent,self_samples,total_percent,total_samples,"
              "self_pm,total_pm")
TABLES = ["leaf", "function", "line", "file", "thread", "process", "tree"]

RAW = """\
process 7:"torchrun --x;y";process 8:"python train.py";thread (8): MainThread;\
<module> (train.py:30);train (train.py:20);step (mylib/engine.py:5);linear (torch/nn/functional.py:114) 600
process 7:"torchrun --x;y";process 8:"python train.py";thread (8): MainThread;\
<module> (train.py:30);train (train.py:21);__next__ (torch/utils/data/dataloader.py:630) 300
process 7:"torchrun --x;y";process 8:"python train.py";thread (9): pin, "memory";\
run (threading.py:953);_pin (torch/utils/data/pin.py:30) 95
process 7:"torchrun --x;y";thread (7): MainThread;<module> (torchrun:8) 5
"""


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(RAW)
    return path


def read_json(stepscope, *arguments, status=0):
    return json.loads(stepscope("report", "--format", "json", *arguments, status=status).stdout)


def read_csv(stepscope, *arguments):
    """(header line, rows) of a CSV report."""
    out = stepscope("report", "--format", "csv", *arguments, text=False).stdout.decode()
    assert out.endswith("\r\n")
    return out.split("\r\n", 1)[0], list(csv.DictReader(io.StringIO(out, newline="")))


@pytest.mark.parametrize("by", TABLES)
def test_csv_headers(stepscope, raw, by):
    header, rows = read_csv(stepscope, "--by", by, raw)
    assert header == (LEAF_HEADER if by == "leaf" else HOT_HEADER)
    assert rows


@pytest.mark.parametrize("by", TABLES)
def test_json_has_the_keys_of_csv(stepscope, raw, by):
    report = read_json(stepscope, "--by", by, raw)
    assert report["schema"] == 1
    table = report["tables"][0]
    assert table["by"] == by
    header, rows = read_csv(stepscope, "--by", by, raw)
    keys = header.split(",")
    assert len(rows) == len(table["rows"])
    for in_csv, in_json in zip(rows, table["rows"]):
        for key in keys:
            value = in_json[key]
            if value is None:
                assert in_csv[key] == ""
            elif isinstance(value, float):
                assert float(in_csv[key]) == pytest.approx(value, abs=1e-4)
            else:
                assert in_csv[key] == str(value)
    error = "percent_pm" if by == "leaf" else "self_pm"
    assert all(row[error] >= 0 for row in table["rows"])
    assert table["units"][error] == "points"


def test_leaf_library_is_ones_own_code(stepscope, raw):
    rows = read_json(stepscope, "--by", "leaf", raw)["tables"][0]["rows"]
    assert [(r["name"], r["samples"], r["library_function_path"]) for r in rows] == [
        ("linear", 600, "mylib/engine.py"), ("__next__", 300, "train.py"), ("_pin", 95, None)]


def test_library_name_is_a_whole_component(stepscope, raw):
    def found(*options):
        rows = read_json(stepscope, "--by", "leaf", *options, raw)["tables"][0]["rows"]
        return [row["library_function_path"] for row in rows]

    assert found("--library-name", "tor") == [None, None, None]
    assert found("--library-substring", "tor")[0] == "torch/nn/functional.py"
    assert found("--library-name", "train") == ["train.py", "train.py", None]


def test_text_without_library_says_not_found(stepscope, raw):
    done = stepscope("report", "--by", "leaf", "--library-name", "nothing", raw)
    assert done.stdout.count("Not Found") == 9
    assert re.search(r"^linear +torch/nn/functional.py +114 .* 60\.30% \(600\)$", done.stdout, re.M)


def test_module_code_is_dropped_and_said(stepscope, raw):
    report = read_json(stepscope, "--by", "leaf", raw)
    assert report["header"]["samples"]["recorded"] == 1000
    assert report["tables"][0]["shown_samples"] == 995
    assert report["tables"][0]["dropped_samples"] == 5
    assert "5 samples of module code only" in stepscope("report", "--by", "leaf", raw).stdout


def test_processes_and_threads(stepscope, raw):
    _, rows = read_csv(stepscope, "--by", "process", raw)
    assert [(r["name"], r["pid"], r["self_samples"], r["total_samples"]) for r in rows] == [
        ("python train.py", "8", "995", "995"), ("torchrun --x;y", "7", "5", "1000")]
    _, rows = read_csv(stepscope, "--by", "thread", raw)
    assert [(r["name"], r["pid"], r["tid"], r["self_samples"]) for r in rows] == [
        ("MainThread", "8", "8", "900"), ('pin, "memory"', "8", "9", "95"),
        ("MainThread", "7", "7", "5")]


def test_tree_nests(stepscope, raw):
    rows = read_json(stepscope, "--by", "tree", raw)["tables"][0]["rows"]
    assert [(r["depth"], r["name"], r["total_samples"]) for r in rows[:5]] == [
        (1, "<module>", 900), (2, "train", 900), (3, "step", 600), (4, "linear", 600),
        (3, "__next__", 300)]
    assert rows[3]["parent"] == 2
    assert {r["name"] for r in rows} == {"<module>", "train", "step", "linear", "__next__", "run",
                                         "_pin"}
    less = read_json(stepscope, "--by", "tree", "--min-percent", "20", raw)["tables"][0]
    assert len(less["rows"]) == 5 and less["hidden_rows"] > 0


@pytest.mark.parametrize("options, shown", [
    (["--process", "8"], 995), (["--process", "torchrun"], 5), (["--thread", "pin"], 95),
    (["--thread", "7"], 5), (["--match", "linear"], 600), (["--exclude", r"dataloader\.py:630"], 700),
    (["--match", "^train ", "--exclude", "linear"], 300)])
def test_filters(stepscope, raw, options, shown):
    samples = read_json(stepscope, "--by", "line", *options, raw)["header"]["samples"]
    assert samples["shown"] == shown
    assert samples["filtered"] == 1000 - shown


@pytest.mark.parametrize("rows", ["0", "-1", "x", "1.5", ""])
def test_num_rows_is_checked(stepscope, raw, rows):
    assert "--num-rows" in stepscope("report", "--num-rows", rows, raw, status=2).stderr


def test_num_rows(stepscope, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"f{i} (a.py:{i}) {100 - i}\n" for i in range(60)))
    for rows, count in [("7", 7), ("all", 60)]:
        table = read_json(stepscope, "--by", "leaf", "--num-rows", rows, path)["tables"][0]
        assert len(table["rows"]) == count
    table = read_json(stepscope, "--by", "leaf", path)["tables"][0]
    assert len(table["rows"]) == 10
    assert table["hidden_rows"] == 50
    assert "50 rows with" in stepscope("report", "--by", "leaf", path).stdout


@pytest.mark.parametrize("options", [["--by", "nonsense"], ["--format", "xml"], ["--match", "("],
                                     ["--from", "3", "--to", "2"],
                                     ["--by", "line", "--library-name", "x"],
                                     ["--by", "leaf", "--library-name", ""]])
def test_usage_errors(stepscope, raw, options):
    assert stepscope("report", *options, raw, status=2).stderr.count("\n") <= 2


def test_raw_has_no_times(stepscope, raw):
    assert "no times" in stepscope("report", "--from", "1", raw, status=2).stderr


def test_output_file_and_format_by_ending(stepscope, raw, tmp_path):
    out = tmp_path / "hot.csv"
    done = stepscope("report", "--by", "line", "-o", out, raw)
    assert done.stdout == ""
    assert out.read_text().startswith(HOT_HEADER)
    stepscope("report", "-o", tmp_path / "r.json", raw)
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == 1
    assert "no/such" in stepscope("report", "-o", tmp_path / "no/such/x.csv", raw, status=4).stderr


def test_overview(stepscope, raw):
    out = stepscope("report", raw).stdout
    for text in ["Hottest functions", "Hottest lines", "1,000 recorded = 1,000 shown", "Next",
                 f"stepscope flame {raw}", "±"]:
        assert text in out
    assert "torchrun:8" not in out  # five samples are no hotspot


def test_newest_recording_here(stepscope, tmp_path):
    for age, name in enumerate(["new.txt", "old.txt"]):
        (tmp_path / name).write_text(f"{name[:3]} (a.py:1) 50\n")
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    (tmp_path / "notes.txt").write_text("just some words\n")
    done = stepscope("report", "--by", "leaf", cwd=tmp_path)
    assert "new.txt" in done.stderr
    assert re.search(r"^new +a.py", done.stdout, re.M)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "stepscope record" in stepscope("report", cwd=empty, status=4).stderr


# --- input that is broken ---------------------------------------------------------------------

BROKEN = (b"good (a.py:1) 40\nno count here\nneg (a.py:2) -4\n\n  \r\n"
          b"big (a.py:3) 18446744073709551616\nnul\0 (a.py:4) 3\ngood (a.py:1);more (b.py:2) 60\n"
          + 27 * b"good (a.py:1) 1\n")


def test_unreadable_lines_are_skipped_counted_and_named(stepscope, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(BROKEN)
    done = stepscope("report", "--by", "leaf", "--format", "json", path)
    report = json.loads(done.stdout)
    assert report["header"]["inputs"][0]["skipped_lines"] == 4
    assert report["header"]["samples"]["recorded"] == 127
    assert "4 of 33 lines skipped (lines 2, 3, 6, 7)" in done.stderr
    assert f"{path}:2" in stepscope("report", "--strict", path, status=3).stderr


def test_too_large_counts_are_diagnosed(stepscope, tmp_path):
    path = tmp_path / "large.txt"
    path.write_text("a (x.py:1) 9223372036854775807\n")
    rows = read_json(stepscope, "--by", "leaf", path)["tables"][0]["rows"]
    assert rows[0]["samples"] == 2**63 - 1
    path.write_text("a (x.py:1) 9223372036854775808\nb (x.py:1) 1\n")
    assert "2^63" in stepscope("report", path).stderr
    path.write_text("a (x.py:1) 9223372036854775807\nb (x.py:1) 1\n")
    assert "sum" in stepscope("report", path).stderr


@pytest.mark.parametrize("content, text", [
    (b"", "no samples"), (b"\n\n", "no samples"), (b"a (x.py:1) 0\n", "no samples"),
    (b"words\nand words\n", "none of its 2 lines"), (b"\x80" + b"\0\1\2" * 5000, "none of"),
    (b"\x1f\x8b\x08rest", "gzip"), (b'{"profiles": []}', "JSON"), (b"<svg>", "SVG"),
    (b"\x7fELF", "ELF")])
def test_nothing_to_report_says_why(stepscope, tmp_path, content, text):
    path = tmp_path / "input"
    path.write_bytes(content)
    for by in TABLES:
        assert text in stepscope("report", "--by", by, path, status=3).stderr


@pytest.mark.parametrize("name", ["[", "{", "<svg", "<?xml", "<!DOCTYPE", "{f"])
def test_names_that_look_like_another_format(stepscope, tmp_path, name):
    path = tmp_path / "input"
    path.write_text(9 * f"{name} (x.py:1) 50\n" + "words only\n")
    rows = read_json(stepscope, "--by", "leaf", path)["tables"][0]["rows"]
    assert [(row["name"], row["samples"]) for row in rows] == 9 * [(name, 50)]


def test_line_without_end(stepscope, tmp_path):
    """A gigabyte without a newline costs neither the file nor the memory."""
    path = tmp_path / "long.txt"
    with open(path, "wb") as file:
        file.write(b"a (x.py:1) 40\n")
        file.seek(1 << 30)
        file.write(b"\nb (x.py:2) 60\n")
    command = ["/usr/bin/env", "python3", "-c", "import resource,subprocess,sys;"
               "print(subprocess.run(sys.argv[1:],capture_output=True,text=True).stderr);"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
               str(stepscope), "report", "--by", "leaf", str(path)]
    words = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert "1 of 3 lines skipped (line 2)" in words
    assert int(words.split()[-1]) < 100_000


def test_odd_files_in_a_folder(stepscope, tmp_path):
    (tmp_path / "node0.txt").write_text("f (a.py:1) 40\n")
    (tmp_path / "node1.txt").write_text("f (a.py:1) 60\n")
    (tmp_path / ".hidden").write_text("h (a.py:1) 1000\n")
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "config.json").write_text('{"a": 1}\n')
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "node2.txt").write_text("f (a.py:1) 1000\n")
    os.mkfifo(tmp_path / "pipe")
    done = stepscope("report", "--by", "leaf", "--aggregate-leaf-paths", "--format", "json", tmp_path)
    report = json.loads(done.stdout)
    assert [row["samples"] for row in report["tables"][0]["rows"]] == [100]
    assert [os.path.basename(i["path"]) for i in report["header"]["inputs"]] == ["node0.txt",
                                                                                 "node1.txt"]
    assert report["header"]["skipped_files"] == 3
    assert "model.bin" in done.stderr
    stepscope("report", "--strict", tmp_path, status=3)
    (tmp_path / "sub" / "node2.txt").write_text("no folded line\n")
    assert "holds no trace" in stepscope("report", tmp_path / "sub", status=3).stderr


def test_unreadable_file(stepscope, raw):
    if os.geteuid() == 0:
        assert "No such file" in stepscope("report", raw.parent / "gone", status=4).stderr
        return
    raw.chmod(0)
    assert "Permission denied" in stepscope("report", raw, status=4).stderr


def test_nothing_reaches_the_terminal_as_a_command(stepscope, tmp_path):
    path = tmp_path / "evil.txt"
    path.write_bytes("\x1b]0;owned\x07f (a\x9b31m.py:1);\u202eflip (b.py:2) 50\n".encode())
    for by in TABLES:
        out = stepscope("report", "--by", by, "--full-filenames", path).stdout
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_text_fits_the_width(stepscope, raw):
    for by in TABLES:
        for width in (80, 100, 160):
            out = stepscope("report", "--by", by, "--width", width, raw).stdout
            assert max(map(len, out.splitlines()[2:])) <= width


def test_colour_only_on_a_terminal(stepscope, raw):
    assert "\x1b" not in stepscope("report", raw).stdout
    try:
        terminal, inner = pty.openpty()
    except OSError as none:
        pytest.skip(f"no pseudo-terminals here: {none}")
    subprocess.run([str(stepscope), "report", str(raw)], stdout=inner, timeout=30, check=True,
                   env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    os.close(inner)
    out = b""
    while select.select([terminal], [], [], 0.5)[0]:
        try:
            out += os.read(terminal, 65536)
        except OSError:
            break
    os.close(terminal)
    assert b"\x1b[1m" in out


# --- everything adds up -------------------------------------------------------------------------

FRAME = st.sampled_from(["<module> (t.py:1)", "f (t.py:2)", "f (t.py:3)", "g (torch/x.py:4)",
                         "wait (threading.py:5)", "bare", "h (lib.so)"])
LABEL = st.sampled_from(["", 'process 1:"a;b";', 'process 1:"a;b";thread (2): w;',
                         "thread (3): x;y;"])
STACKS = st.lists(st.tuples(LABEL, st.lists(FRAME, max_size=5), st.integers(0, 1000)), min_size=1,
                  max_size=15)
FILTERS = st.sampled_from([[], ["--match", "f "], ["--exclude", "torch"], ["--thread", "w"],
                           ["--process", "1"], ["--idle", "none"], ["--gil"]])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(stacks=STACKS, filters=FILTERS)
def test_shares_and_what_is_left_out_add_up(stepscope, tmp_path_factory, stacks, filters):
    path = tmp_path_factory.getbasetemp() / "sums.txt"
    path.write_text("".join(f"{label}{';'.join(frames)} {count}\n" for label, frames, count in stacks))
    recorded = sum(count for _, _, count in stacks)
    for by in ["leaf", "function", "line", "file", "thread", "process"]:
        report = read_json(stepscope, "--by", by, "--num-rows", 3, *filters, path, status=None)
        samples = report["header"]["samples"]
        assert samples["recorded"] == recorded
        assert recorded == sum(samples[key] for key in
                               ["shown", "idle", "no_gil", "filtered", "frameless"])
        table = report["tables"][0]
        key = "samples" if by == "leaf" else "self_samples"
        in_rows = sum(row[key] for row in table["rows"])
        assert in_rows + table["hidden_samples"] == table["shown_samples"]
        assert table["shown_samples"] + table["dropped_samples"] == samples["shown"]
        if table["shown_samples"]:
            share = "percent" if by == "leaf" else "self_percent"
            percent = sum(row[share] for row in table["rows"])
            assert percent == pytest.approx(100 * in_rows / table["shown_samples"], abs=1e-6)


# --- recordings ---------------------------------------------------------------------------------

PROGRAM = """
import threading, time

def waiter():
    time.sleep(30)

def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))

def train():
    begin, slept = time.monotonic(), 0
    for _ in range(4):
        spin(0.3)
        before = time.monotonic()
        time.sleep(0.2)
        slept += time.monotonic() - before
    print(slept, time.monotonic() - begin)

threading.Thread(target=waiter, name="pin", daemon=True).start()
train()
"""


@pytest.fixture(scope="module")
def recording(stepscope, python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    (folder / "work.py").write_text(PROGRAM)
    done = stepscope("record", "-r", 200, "-o", folder / "t.pftrace", "--", python,
                     folder / "work.py")
    (folder / "measured").write_text(done.stdout)
    return folder / "t.pftrace"


@pytest.fixture(scope="module")
def measured(recording):
    """Seconds that the program slept, and took, by its own clock: a busy machine makes both longer."""
    return [float(word) for word in (recording.parent / "measured").read_text().split()]


@unless_busy
def test_recording_counts_the_main_threads_wall_time(stepscope, recording, measured):
    rows = read_json(stepscope, "--by", "line", recording)["tables"][0]["rows"]
    sleeping = next(row for row in rows if row["name"] == "train")
    slept_percent = 100 * measured[0] / measured[1]
    assert sleeping["self_percent"] == pytest.approx(slept_percent, abs=15)
    assert sleeping["self_waiting_samples"] > 0.8 * sleeping["self_samples"]
    spinning = sum(row["self_percent"] for row in rows if row["name"] == "spin")
    assert spinning == pytest.approx(100 - slept_percent, abs=15)


def test_idle_policies(stepscope, recording):
    shown = {}
    for idle in ["none", "main", "all"]:
        samples = read_json(stepscope, "--by", "line", "--idle", idle, recording)["header"]["samples"]
        shown[idle] = samples["shown"]
        assert samples["recorded"] == samples["shown"] + samples["idle"] + samples["frameless"]
    assert shown["none"] < shown["main"] < shown["all"]
    leaf = read_json(stepscope, "--by", "leaf", recording)["header"]["samples"]
    assert leaf["shown"] == shown["none"]
    assert "--idle all" in stepscope("report", recording).stdout


def test_time_range(stepscope, recording):
    whole = read_json(stepscope, "--by", "line", "--idle", "all", recording)["header"]["samples"]
    parts = [read_json(stepscope, "--by", "line", "--idle", "all", *limits, recording)
             ["header"]["samples"] for limits in (["--to", "0.7"], ["--from", "0.7"])]
    assert sum(part["shown"] + part["frameless"] for part in parts) == whole["recorded"]
    assert all(part["recorded"] == whole["recorded"] for part in parts)
    assert all(part["shown"] > 0 for part in parts)


def test_header_says_how_it_was_recorded(stepscope, recording, measured):
    header = read_json(stepscope, recording)["header"]["inputs"][0]
    assert header["kind"] == "trace"
    assert header["asked_hz"] == 200
    assert 0 < header["achieved_hz"] <= 210
    assert "work.py" in header["command"]
    assert header["duration_s"] >= 0.9 * measured[1]  # and the interpreter's start and end
    assert header["counts"]["ticks_due"] == (header["counts"]["ticks_done"]
                                             + header["counts"]["ticks_skipped"])
    out = stepscope("report", recording).stdout
    for word in ["200 Hz requested", "achieved", "late", "partial", "lost", "dropped"]:
        assert word in out


def test_cut_recording_is_reported_with_status_3(stepscope, recording, tmp_path):
    whole = recording.read_bytes()
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(whole[:-40])
    done = stepscope("report", cut, status=3)
    assert "Hottest functions" in done.stdout
    assert "cut.pftrace" in done.stderr
    assert "Beware" in done.stdout
    stepscope("report", recording, status=0)


def test_trace_and_raw_side_by_side(stepscope, recording, raw):
    report = read_json(stepscope, "--by", "process", recording, raw)
    assert [i["kind"] for i in report["header"]["inputs"]] == ["trace", "raw"]
    assert {row["pid"] for row in report["tables"][0]["rows"]} >= {7, 8}


def test_a_recording_without_samples_has_one_note_and_no_empty_tables(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", trace, "--", "sleep", "0.2")
    for options in ([], ["--by", "function"], ["--by", "tree"], ["--by", "leaf"]):
        text = stepscope("report", *options, trace, status=3).stdout
        notes = [line for line in text.splitlines() if line.startswith("No samples were recorded")]
        assert len(notes) == 1 and "no program that ran was a Python" in notes[0]
        assert not re.search(r"^(Hottest|Call tree|Leaf)", text, re.M)
        assert "\nno samples\n" not in text
    text = stepscope("report", trace, status=3).stdout
    assert f"stepscope info {trace}" in text and "stepscope flame" not in text
    table = stepscope("report", "--by", "function", "-f", "csv", trace, status=3, text=False).stdout
    assert table.decode() == HOT_HEADER + "\r\n"  # programs find the columns
    tables = read_json(stepscope, trace, status=3)["tables"]
    assert [table["rows"] for table in tables] == [[], []]


def test_samples_that_a_filter_removes_are_no_missing_samples(stepscope, raw):
    text = stepscope("report", "--by", "function", "--match", "nothing", raw).stdout
    assert "Hottest functions\nno samples\n" in text and "No samples were recorded" not in text
