# SPDX-License-Identifier: Apache-2.0
"""Small files of other tools, each with what it is easily read wrong as (tests/recordings/cases/)."""

import gzip
import json
import pathlib
import sqlite3

import pytest

CASES = pathlib.Path(__file__).resolve().parents[1] / "recordings" / "cases"


def case(number):
    return next(CASES.glob(f"{number}-*"))


# --- what cannot be read is named, with the way out ------------------------------------------------

@pytest.mark.parametrize("number, said", [
    (13, "a pointer of Git LFS, not the file itself: git lfs pull"),
    (31, "JSON of rocprofv3: record with rocprofv3 --output-format pftrace"),
    (32, "a rocpd database of rocprofv3: record with --output-format pftrace"),
    (33, "has no event that can be read: 2 skipped, the first at byte 1: no readable time")])
def test_a_file_that_cannot_be_read_is_named(stepscope, number, said):
    done = stepscope("report", case(number), status=3)
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_skipped_event_is_one_line(stepscope):
    done = stepscope("report", case(39), status=None)
    assert done.stderr.count("skipped") == 1
    assert "1 event skipped, the first at byte 55: no phase" in done.stderr


# --- events of Chrome's format ----------------------------------------------------------------------

def test_async_events_are_ranges(rows_of):
    (row,) = rows_of(case(12), "range")
    assert (row["name"], row["kind"], row["count"], row["total_ns"]) == ("request", "async", 3, 126_000)


def test_two_documents_in_one_file(rows_of):
    assert {row["name"]: row["total_ns"] for row in rows_of(case(15), "range")} == {
        "first": 5000, "second": 5000}


def test_an_xspace_is_read_like_the_json_that_xprof_makes_of_it(rows_of):
    """Eight operations on a device, 1 to 8 ns after its start, of less than a nanosecond each."""
    names = [row["name"] for row in rows_of(case(14), "kernel")]
    assert len(names) == 8 and all(name.startswith("%op.") for name in names)


def test_flows_by_bind_id(stepscope):
    done = stepscope("export", "--to", "chrome", "-o", "-", case(18))
    events = json.loads(done.stdout)["traceEvents"]
    arrows = [(event["ph"], event["pid"]) for event in events if event["ph"] in "stf"]
    assert arrows == [("s", 1), ("f", 2)]


def test_backslashes_that_nothing_escaped(rows_of):
    assert {(row["name"], row["path"], row["line"]) for row in rows_of(case(20), "function")} == {
        ("main", r"C:\users\tom\new\run.py", 7), ("step", r"lib\core.py", 3)}


def test_a_byte_order_mark(rows_of):
    (row,) = rows_of(case(28), "range")
    assert (row["name"], row["total_ns"]) == ("main", 5000)


# --- what was not recorded is said, not concluded ---------------------------------------------------

def test_a_profile_of_nothing(text_of):
    text = text_of(case(21))
    assert "The file has no operators and no kernels" in text and "optimizer" not in text


def test_a_file_without_steps(text_of):
    text = text_of(case(25))
    assert "The file has no steps" in text and "optimizers updated" not in text


def test_launches_without_a_kernel_are_not_idle_time(rows_of, report_of, text_of):
    """The first two of five steps lost their kernels: no figure and no finding is about them."""
    steps = rows_of(case("01"), "device-step")
    assert [(row["step"], row["device_work"], row["compute_ns"], row["idle_ns"],
             row["launches_without_kernel"]) for row in steps] == [
        (0, "unknown", None, None, 2), (1, "unknown", None, None, 2), (2, "recorded", 880_000, 110_000, 0),
        (3, "recorded", 880_000, 110_000, 0), (4, "recorded", 880_000, 110_000, 0)]
    report = report_of(case("01"))
    assert report["header"]["launches"] == {"count": 10, "without_kernel": 4, "without_kernel_at_end": 0}
    device = report["training"]["device"]
    assert (device["steps"], device["compute_ns"], device["idle_ns"]) == (3, 880_000, 110_000)
    assert all(finding["recoverable_ns"] <= 110_000 for finding in report["training"]["advice"]
               if finding["rule"] == "launch-bound")
    text = text_of(case("01"))
    assert ("4 of 10 launches have no kernel in the file: what the device did in 2 of 5 steps is unknown"
            in text)


@pytest.mark.parametrize("kept", [(1, 2), (545, 546)])
def test_a_file_without_most_kernels_is_not_called_idle(kept, report_of, rows_of, text_of, tmp_path):
    """Of 546 launches in 6 steps two have a kernel: the first, or the last."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 7, "tid": 7,
               "ts": 10000 * step, "dur": 9990} for step in range(6)]
    for number in range(1, 547):
        begin = 10000 * ((number - 1) // 91) + 100 * ((number - 1) % 91)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
                       "ts": begin, "dur": 5, "args": {"correlation": number}})
        if number in kept:
            events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": begin + 20,
                           "dur": 60, "args": {"device": 0, "stream": 3, "correlation": number}})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert {row["device_work"] for row in rows_of(path, "device-step")} == {"unknown"}
    report = report_of(path)
    assert "device" not in report["training"] and report["training"]["advice"] == []
    assert report["header"]["launches"]["without_kernel"] == 544
    assert "544 of 546 launches have no kernel in the file" in text_of(path)
    (device,) = rows_of(path, "gpu")
    assert device["launches_without_kernel"] == 544 and device["kernels"] == 2


def test_kernels_that_name_no_launch(report_of):
    """A converter keeps the correlation of calls alone: then no kernel is called lost."""
    report = report_of(CASES.parent / "foreign" / "nsys" / "power_iteration.json")
    assert report["header"]["launches"]["without_kernel"] == 0


def nsys_of(case_path, path):
    """The work of a file of kineto as Nsight Systems writes it."""
    db = sqlite3.connect(path)
    columns = "start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER, deviceId INTEGER, streamId INTEGER"
    db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,"
               " correlationId INTEGER, nameId INTEGER, returnValue INTEGER)")
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns}, demangledName INTEGER, shortName INTEGER)")
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns}, bytes INTEGER, copyKind INTEGER,"
               " srcKind INTEGER, dstKind INTEGER)")
    names = {}
    for event in json.loads(case_path.read_text())["traceEvents"]:
        name = names.setdefault(event["name"], len(names) + 1)
        start, arguments = event["ts"] * 1000, event["args"]
        end, correlation = start + event["dur"] * 1000, arguments["correlation"]
        if event["cat"] == "cuda_runtime":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,0)",
                       (start, end, 7 << 24 | 7, correlation, name))
        elif event["cat"] == "kernel":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,0,3,?,?)",
                       (start, end, correlation, 7 << 24, name, name))
        else:
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,0,3,?,1,0,2)",
                       (start, end, correlation, 7 << 24, arguments["bytes"]))
    db.executemany("INSERT INTO StringIds VALUES (?,?)", [(number, name) for name, number in names.items()])
    db.commit()
    db.close()
    return path


@pytest.mark.parametrize("tool", ["kineto", "nsys"])
def test_copies_that_dominate_stand_in_the_report(report_of, text_of, tmp_path, tool):
    path = case("25") if tool == "kineto" else nsys_of(case("25"), tmp_path / "copies.sqlite")
    table = next(one for one in report_of(path)["tables"] if one["by"] == "gpu-work")
    assert [(row["operation"], row["total_ns"], round(row["time_percent"], 1)) for row in table["rows"]] == [
        ("copy", 2_700_000, 97.8), ("kernel", 60_000, 2.2)]
    text = text_of(path)
    assert "97.8%" in text and "100.0%" not in text.split("Operators")[0]


def test_few_copies_do_not_displace_kernels(report_of, tmp_path):
    document = json.loads(case("25").read_text())
    for event in document["traceEvents"]:
        event["dur"] = 2 if event["cat"] == "gpu_memcpy" else event["dur"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    tables = [one["by"] for one in report_of(path)["tables"]]
    assert "kernel" in tables and "gpu-work" not in tables


# --- names ------------------------------------------------------------------------------------------

def test_a_file_of_names_alone(stepscope, text_of_info, info_of):
    done = stepscope("report", case(30), status=3)
    assert "30-metadata-only.json: rank 3 of 8: no event, only names" in done.stdout
    assert done.stderr.endswith(": rank 3 of 8: no event, only names\n")
    assert "samples" not in done.stdout
    (process,) = info_of(case(30))["processes"]
    assert process == {"pid": 5, "name": "python", "rank": 3, "world_size": 8}
    text = text_of_info(case(30))
    assert "none, only names" in text and "3 of 8" in text


def test_ids_that_are_texts(rows_of, text_of, stepscope, tmp_path):
    """They are names; no number stands for them."""
    events = [{"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": 1, "dur": 5} for name, pid, tid in [
        ("a", "rank 0", "main loop"), ("b", "rank 0", "loader"), ("c", "rank 1", "main loop"),
        ("d", 5, "loader"), ("e", 5, -1), ("f", 5, 6)]]
    events.append({"ph": "X", "name": "g (x.py:1)", "cat": "python_function", "pid": "rank 0",
                   "tid": "loader", "ts": 10, "dur": 5, "args": {"Python id": 1}})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    owners = {row["name"]: (row["pid"], row["tid"], row["thread"]) for row in rows_of(path, "range")}
    assert {name: owners[name] for name in "abcdef"} == {
        "a": ("rank 0", "main loop", "main loop"), "b": ("rank 0", "loader", "loader"),
        "c": ("rank 1", "main loop", "main loop"), "d": (5, "loader", "loader"),
        "e": (5, None, None), "f": (5, 6, None)}
    (thread,) = rows_of(path, "thread")
    assert (thread["name"], thread["pid"], thread["tid"]) == ("loader", "rank 0", None)
    text = text_of(path, "--by", "range")
    assert "rank 0/main loop" in text and "rank 1/main loop" in text and "5/loader" in text
    assert "214748" not in text + stepscope("export", "--to", "folded", "--threads", "-o", "-", path).stdout


def test_a_snapshot_without_a_history(text_of):
    text = text_of(case(23))
    assert ("GPU 0: 2.0 MiB allocated when the snapshot was taken; the peak is unknown, because the "
            "snapshot has no history (torch.cuda.memory._record_memory_history()); 8.0 MiB reserved"
            in text)
    assert "at most" not in text and "Alive at the peak" not in text
    assert "Alive when the snapshot was taken" in text


def test_a_warning_of_what_is_missing_comes_first(text_of):
    assert "by the profiler: No CUDA events collected." in text_of(case(26))


def test_a_later_version_of_a_table(rows_of):
    steps = rows_of(case(27), "step")
    assert [(row["step"], row["duration_ns"]) for row in steps] == [
        (1, 900_000), (2, 900_000), (3, 900_000)]


# --- devices that no list names -----------------------------------------------------------------------

@pytest.mark.parametrize("number, device, without_launch", [("09", 20, 0), (10, 3, 2)])
def test_work_of_other_devices(rows_of, number, device, without_launch):
    """MTIA by the correlation of its calls; Ascend by the name of its process. Waits are not work."""
    (row,) = rows_of(case(number), "gpu")
    assert (row["device"], row["kernels"], row["without_launch"]) == (device, 2, without_launch)
    assert row["kernel_ns"] == pytest.approx(1_200_500, abs=500)
    (kernel,) = rows_of(case(number), "kernel")
    assert kernel["name"] in ("matmul_fw", "MatMul")


def test_launches_of_any_name(rows_of):
    """urEnqueueKernelLaunch, zeCommandListAppendLaunchKernel, Launch, cudaLaunchKernel."""
    (row,) = rows_of(case(11), "gpu")
    assert (row["kernels"], row["without_launch"]) == (4, 0)


# --- samples ------------------------------------------------------------------------------------------

def test_samples_without_a_frame_are_counted(text_of):
    text = text_of(case(16), "--by", "thread", "--idle", "all")
    assert "1.00 s" in text and "100 recorded = 60 shown + 40 without frames" in text


# --- damaged archives ---------------------------------------------------------------------------------

@pytest.mark.parametrize("events", [3, 3000])
def test_a_gzip_file_with_a_wrong_checksum(stepscope, tmp_path, events):
    """Small: refused. Large: what was read before the end counts, and the exit status says the rest."""
    text = json.dumps([{"ph": "X", "name": f"range {number}", "pid": 1, "tid": 1, "ts": number, "dur": 1}
                       for number in range(events)])
    packed = bytearray(gzip.compress(text.encode()))
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed)
    assert stepscope("report", "--by", "range", path).stderr == ""
    packed[-6] ^= 0x55  # of the checksum, which precedes the length
    path.write_bytes(packed)
    done = stepscope("report", "--by", "range", path, status=3)
    assert done.stderr.count("has another checksum than its contents") == 1
    assert ("range 1" in done.stdout) == (events == 3000)


# --- ranks ------------------------------------------------------------------------------------------

def test_a_lost_collective_shifts_no_others(rows_of, text_of):
    rows = rows_of(case("02"), "collective")
    assert [(row["ranks"], row["skew_ns"], row["ends_differ_ns"]) for row in rows] == [(2, 0, 0)] * 2
    text = text_of(case("02"), "--by", "collective")
    assert "1 call of a collective has no match on another rank" in text
    assert "falls behind" not in text_of(case("02"))


def test_ranks_that_were_not_recorded_are_counted(text_of, report_of):
    assert "\n2 of 128 ranks: rank 1 holds up the other by 60.0 µs of a step of 990 µs\n" in text_of(case("03"))
    assert report_of(case("03"))["ranks"]["world_size"] == 128


def test_ranks_of_two_jobs_are_not_compared(text_of, rows_of, report_of):
    text = text_of(case("04"))
    assert "\n2 ranks: rank 1 holds up the other by 60.0 µs of a step of 990 µs\n" in text
    assert "the files are of 2 jobs, by their world sizes, ranks and times: 1 rank of another job" in text
    assert report_of(case("04"))["ranks"]["jobs"] == 2
    rows = rows_of(case("04"), "collective")
    assert [(row["ranks"], row["last_rank"], row["clock_error_ns"]) for row in rows] == [(2, 1, 0)] * 3
    assert {row["rank"] for row in rows_of(case("04"), "critical-path")} == {1}


def test_a_rank_that_is_there_twice_counts_once(stepscope, rows_of, tmp_path):
    for source in case("03").iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
        (tmp_path / f"copy of {source.name}").write_bytes(source.read_bytes())
    done = stepscope("report", tmp_path)
    assert "\n2 of 128 ranks: rank 1 holds up the other by 60.0 µs of a step of 990 µs\n" in done.stdout
    assert "median of 6 steps of 2 processes" in done.stdout
    assert done.stderr.count("is a copy of another file that is read\n") == 2
    assert [row["ranks"] for row in rows_of(tmp_path, "collective")] == [2] * 3
