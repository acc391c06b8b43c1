# SPDX-License-Identifier: Apache-2.0
"""The native trace as Perfetto's own published schema sees it (package `perfetto`)."""

import collections
import os
import pathlib
import signal
import subprocess
import sys
import zlib

import pytest
from target import until

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2",
                                reason="the package perfetto is not installed")
from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: E402

OURS = 1990
PROGRAM = """
import threading, time

def inner(end):
    while time.time() < end:
        sum(range(500))

class Work:
    def run(self, end):
        inner(end)

end = time.time() + 0.8
threads = [threading.Thread(target=Work().run, args=(end,), name=f"odd; näme {i}") for i in (1, 2)]
[t.start() for t in threads]
Work().run(end)
[t.join() for t in threads]
"""


def packets_of(path):
    trace = trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        if packet.compressed_packets:
            inner = trace_pb2.Trace()
            inner.ParseFromString(zlib.decompress(packet.compressed_packets))
            assert packet.ByteSize() < 512 * 1024
            yield from inner.packet
        else:
            yield packet


def unknown_fields(message, path, found):
    for field in UnknownFieldSet(message):
        found[path, field.field_number] += 1
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_MESSAGE:
            for one in value if descriptor.is_repeated else [value]:
                unknown_fields(one, f"{path}.{descriptor.name}", found)


@pytest.fixture(scope="module")
def recording(stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("perfetto")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    trace = folder / "run.pftrace"
    stepscope("record", "-o", trace, "-r", "200", "--", sys.executable, program, timeout=120)
    return trace


class Sequence:
    """What an importer keeps of our one sequence: interning, checked on the way."""

    def __init__(self):
        self.tables = collections.defaultdict(dict)
        self.cleared = False
        self.clock = None

    def feed(self, packet):
        if packet.sequence_flags & 1:
            self.tables.clear()
            self.cleared = True
        if packet.sequence_flags & 2:
            assert self.cleared
        for descriptor, entries in packet.interned_data.ListFields():
            for entry in entries:
                self.tables[descriptor.name][entry.iid] = entry
        for clock in packet.clock_snapshot.clocks:
            if clock.clock_id == 64:
                assert clock.is_incremental
                self.clock = clock.timestamp

    def time(self, packet):
        if packet.timestamp_clock_id in (0, 64):
            self.clock += packet.timestamp
            return self.clock
        assert packet.timestamp_clock_id == 3
        return packet.timestamp

    def stack(self, iid):
        names = []
        for frame_iid in self.tables["callstacks"][iid].frame_ids:
            frame = self.tables["frames"][frame_iid]
            mapping = self.tables["mappings"][frame.mapping_id]
            assert self.tables["mapping_paths"][mapping.path_string_ids[0]].str == b"python"
            assert frame.kind == frame.KIND_INTERPRETED
            names.append(self.tables["function_names"][frame.function_name_id].str.decode())
            is_unknown = names[-1] == "<unknown: its code was replaced>"
            assert bool(self.tables["source_paths"][frame.source_path_iid].str) != is_unknown
        return names


def test_no_field_is_unknown_but_ours(recording):
    found = collections.Counter()
    for packet in packets_of(recording):
        unknown_fields(packet, "packet", found)
    assert set(found) == {("packet", OURS)}


def test_every_snapshot_relates_all_clocks(recording):
    snapshots = [p.clock_snapshot for p in packets_of(recording) if p.HasField("clock_snapshot")]
    assert snapshots
    for snapshot in snapshots:
        assert {c.clock_id for c in snapshot.clocks} == {64, 3, 6, 5, 1}
        assert snapshot.primary_trace_clock == 3
    monotonic = [c.timestamp for s in snapshots for c in s.clocks if c.clock_id == 3]
    assert monotonic == sorted(monotonic)


def test_samples_threads_and_stacks(recording):
    sequence, samples, tracks, stacks = Sequence(), collections.Counter(), {}, set()
    times = []
    for packet in packets_of(recording):
        sequence.feed(packet)
        if packet.HasField("timestamp"):
            times.append(sequence.time(packet))
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("stack_sample"):
            sample = packet.stack_sample
            task = sequence.tables["stack_sample_task_contexts"][sample.task_context_iid]
            samples[task.pid, task.tid] += sample.primary_weight
            assert packet.trusted_packet_sequence_id == 1
            if sample.callstack_iid:
                stacks.add(tuple(sequence.stack(sample.callstack_iid)))
    threads = [t.thread for t in tracks.values() if t.HasField("thread")]
    names = {t.thread_name for t in threads}
    assert {"MainThread", "odd; näme 1", "odd; näme 2"} <= names
    assert {(t.pid, t.tid) for t in threads} >= set(samples)
    for track in tracks.values():
        if track.HasField("thread"):
            assert tracks[track.parent_uuid].process.pid == track.thread.pid
    assert any(stack[0] == "<module>" and stack[-1] == "inner" for stack in stacks)
    assert sum(samples.values()) > 100
    assert max(times) - min(times) < 60e9


def test_compat_export_has_perf_samples_that_add_up(stepscope, recording, tmp_path):
    compat = tmp_path / "run.compat.pftrace"
    stepscope("export", recording, "--to", "perfetto-compat", "-o", compat)
    found, native, perf = collections.Counter(), collections.Counter(), collections.Counter()
    sequence = Sequence()
    for packet in packets_of(recording):
        sequence.feed(packet)
        if packet.HasField("stack_sample"):
            task = sequence.tables["stack_sample_task_contexts"][packet.stack_sample.task_context_iid]
            native[task.tid] += packet.stack_sample.primary_weight
    sequence = Sequence()
    for packet in packets_of(compat):
        unknown_fields(packet, "packet", found)
        sequence.feed(packet)
        assert not packet.HasField("stack_sample")
        if packet.HasField("perf_sample"):
            perf[packet.perf_sample.tid] += 1
            if packet.perf_sample.callstack_iid:
                assert sequence.stack(packet.perf_sample.callstack_iid)
    assert perf == native
    assert set(found) == {("packet", OURS)}


def test_compat_export_takes_no_filters(stepscope, recording, tmp_path):
    out = tmp_path / "x.pftrace"
    stepscope("export", recording, "--to", "perfetto-compat", "--gil", "-o", out, status=2)
    assert not out.exists()


def test_our_extension_is_free_in_the_published_schema():
    descriptor = trace_pb2.TracePacket.DESCRIPTOR
    assert any(low <= OURS < high for low, high in descriptor.extension_ranges)
    assert OURS not in descriptor.fields_by_number
    known = descriptor.file.pool.FindAllExtensions(descriptor)
    assert OURS not in {extension.number for extension in known}


# --- what lies on tracks --------------------------------------------------------------------------


class Tracks:
    """What an importer makes of track descriptors and events: per sequence its interning, clock and
    default track; then, by time, a stack of open slices for each track."""

    def __init__(self, packets):
        self.descriptors, self.events, self.found = {}, [], collections.Counter()
        self.flows = collections.defaultdict(list)
        self.values = collections.defaultdict(list)
        sequences = collections.defaultdict(Sequence)
        defaults = {}
        for packet in packets:
            unknown_fields(packet, "packet", self.found)
            identity = packet.trusted_packet_sequence_id
            sequence = sequences[identity]
            if packet.sequence_flags & 1:
                defaults.pop(identity, None)
            sequence.feed(packet)
            if packet.trace_packet_defaults.HasField("track_event_defaults"):
                defaults[identity] = packet.trace_packet_defaults.track_event_defaults.track_uuid
            if packet.HasField("track_descriptor"):
                self.descriptors[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                self.take(packet, sequence, defaults.get(identity))

    def take(self, packet, sequence, default):
        event = packet.track_event
        uuid = event.track_uuid if event.HasField("track_uuid") else default
        assert uuid in self.descriptors
        time = sequence.time(packet)
        if event.type == event.TYPE_COUNTER:
            which = event.WhichOneof("counter_value_field")
            self.values[uuid].append((time, getattr(event, which)))
            return
        name = event.name or (sequence.tables["event_names"][event.name_iid].name
                              if event.name_iid else "")
        categories = [sequence.tables["event_categories"][iid].name for iid in event.category_iids]
        self.events.append((time, uuid, event, name, categories))

    def slices(self):
        """(track, name, begin, end, depth); asserts that ends match begins."""
        open_slices, found = collections.defaultdict(list), []
        for time, uuid, event, name, _ in sorted(self.events, key=lambda e: e[0]):
            if event.type == event.TYPE_SLICE_BEGIN:
                open_slices[uuid].append((name, time))
            elif event.type == event.TYPE_SLICE_END:
                name, begin = open_slices[uuid].pop()
                found.append((uuid, name, begin, time, len(open_slices[uuid])))
        return found, {uuid: names for uuid, names in open_slices.items() if names}

    def path(self, uuid):
        """Names of the track and what it lies in, outermost first."""
        names = []
        while uuid:
            track = self.descriptors[uuid]
            names.append(track.process.process_name or track.name or track.thread.thread_name)
            uuid = track.parent_uuid
        return tuple(reversed(names))


@pytest.fixture(scope="module")
def tracks(source_dir):
    return Tracks(packets_of(source_dir / "tests" / "golden" / "good" / "tracks.pftrace"))


def test_tracks_have_no_unknown_fields(tracks):
    assert set(tracks.found) == {("packet", OURS)}


STEPS_FOLDER = "Steps of train.py 4242"


def test_slices_are_where_they_belong(tracks):
    slices, left_open = tracks.slices()
    start = min(begin for _, _, begin, _, _ in slices)
    found = collections.Counter((tracks.path(uuid), name) for uuid, name, *_ in slices)
    assert found == {
        ((STEPS_FOLDER, "step"), "step 1"): 1, ((STEPS_FOLDER, "step"), "step 2"): 1,
        ((STEPS_FOLDER, "step"), "step 3"): 1,
        ((STEPS_FOLDER, "phase"), "forward"): 3, ((STEPS_FOLDER, "phase"), "backward"): 3,
        (("train.py", "MainThread"), "forward"): 3, (("train.py", "MainThread"), "attention"): 6,
        (("train.py", "MainThread"), "backward"): 3, (("train.py", "MainThread"), "update"): 3,
        (("train.py", "MainThread", "oneDNN"), "matmul"): 3,
        (("train.py", "loader"), "load batch"): 3, (("train.py", "fetches"), "fetch"): 6}
    assert [names for names in left_open.values()] == [[("evaluate", start + 310_000_000)]]
    attention = [(begin - start, end - begin, depth) for _, name, begin, end, depth in slices
                 if name == "attention"]
    assert attention[:2] == [(25_000_000, 10_000_000, 1), (40_000_000, 10_000_000, 1)]
    lanes = {uuid for uuid, name, *_ in slices if name == "fetch"}
    assert len(lanes) == 2  # they overlap; siblings of one name are one row
    categories = {name: c for _, _, event, name, c in tracks.events if event.type == 1}
    assert categories["forward"] == ["compute"] and categories["update"] == []


def test_tracks_are_ordered_for_people(tracks):
    """Steps and phases in a folder on top; in a process the threads, then the rest; all of the host
    in one folder."""
    process = next(t for t in tracks.descriptors.values() if t.HasField("process"))
    assert process.child_ordering == process.EXPLICIT
    children = [t for t in tracks.descriptors.values() if t.parent_uuid == process.uuid]
    assert len({t.name for t in children if t.name == "fetches"}) == 1
    order = [t.name or t.thread.thread_name
             for t in sorted(children, key=lambda t: t.sibling_order_rank)]
    assert order[:2] == ["MainThread", "loader"]
    assert order[2] == "fetches" and set(order[-2:]) == {"loss", "tokens"}
    steps = next(t for t in tracks.descriptors.values() if t.name == STEPS_FOLDER)
    assert not steps.parent_uuid and steps.child_ordering == steps.EXPLICIT
    lanes = [t for t in tracks.descriptors.values() if t.parent_uuid == steps.uuid]
    assert [t.name for t in sorted(lanes, key=lambda t: t.sibling_order_rank)] == ["step", "phase"]
    host = next(t for t in tracks.descriptors.values() if t.name == "host" and any(
        child.parent_uuid == t.uuid for child in tracks.descriptors.values()))
    assert not host.parent_uuid and host.sibling_order_rank == 1000
    assert host.child_ordering == host.EXPLICIT


def test_rows_of_a_training_are_at_the_top(tools, tmp_path):
    """Beside the processes, in the order of their names, each with a child: a viewer of Perfetto
    traces opens with these rows."""
    trace = tmp_path / "sample.pftrace"
    subprocess.run([tools / "trace_ranges", "sample", trace], check=True)
    now = Tracks(packets_of(trace))
    filled = {uuid for _, uuid, *_ in now.events}
    top = sorted(t.name for t in now.descriptors.values()
                 if not t.parent_uuid and t.uuid in filled and not t.HasField("process"))
    assert top == ["Steps of train.py", "Steps of train.py: phases", "The main thread of train.py",
                   "The main thread of train.py"]
    process = next(t for t in now.descriptors.values() if t.HasField("process"))
    assert process.process.process_name == "train.py" and process.name > "recording"
    for name in set(top):
        children = [now.descriptors[t.parent_uuid].name for t in now.descriptors.values()
                    if t.name == "process" and t.parent_uuid]
        assert name in children
    names = {name for _, uuid, _, name, _ in now.events if now.descriptors[uuid].name == "process"}
    assert names == {"python train.py 4242"}


def test_counters_have_units_and_places(tracks):
    counters = {tracks.path(uuid): (tracks.descriptors[uuid].counter, values)
                for uuid, values in tracks.values.items()}
    memory, values = counters["host", "memory used"]
    assert memory.unit == memory.UNIT_SIZE_BYTES
    assert [value >> 30 for _, value in sorted(values)] == [1, 2, 3]
    tokens, values = counters["train.py", "tokens"]
    assert tokens.unit == tokens.UNIT_COUNT
    assert [value for _, value in sorted(values)] == [512, 1024, 1536]  # the running total
    assert ("host", "disk sda", "read") in counters
    assert [value for _, value in sorted(counters["train.py", "loss"][1])] == [4, 2, 4 / 3]


def test_flows_marks_and_payloads(tracks):
    begins = {name: event for _, _, event, name, _ in tracks.events if event.type == 1}
    assert list(begins["load batch"].flow_ids) == list(begins["forward"].terminating_flow_ids)
    (payload,) = begins["forward"].debug_annotations
    assert (payload.name, payload.int_value) == ("payload", 32)
    (mark,) = [event for _, _, event, name, _ in tracks.events if name == "checkpoint saved"]
    assert mark.type == mark.TYPE_INSTANT
    assert mark.debug_annotations[0].string_value == "a.pt"


def test_typed_fields_are_annotations_with_names(source_dir):
    """tests/unit/trace/entity_recording.h says what is in the file."""
    found, fields, categories = collections.Counter(), {}, {}
    kernels = []
    for packet in packets_of(source_dir / "tests" / "golden" / "good" / "entities.pftrace"):
        unknown_fields(packet, "packet", found)
        names = fields.setdefault(packet.trusted_packet_sequence_id, {})
        names.update({row.iid: row.name for row in packet.interned_data.debug_annotation_names})
        kinds = categories.setdefault(packet.trusted_packet_sequence_id, {})
        kinds.update({row.iid: row.name for row in packet.interned_data.event_categories})
        annotations = packet.track_event.debug_annotations
        if annotations and kinds[packet.track_event.category_iids[0]] == "kernel":
            kernels.append({names[one.name_iid]: one for one in annotations})
    assert {key for key in found if key[1] != OURS} == set()
    assert [one["grid_x"].uint_value for one in kernels] == [0, 2]
    assert kernels[1]["bytes"].int_value == -2
    assert kernels[1]["occupancy"].double_value == 62.5
    assert kernels[1]["datatype"].string_value == "bfloat16"


def test_compat_export_keeps_what_lies_on_tracks(stepscope, source_dir, tracks, tmp_path):
    compat = tmp_path / "tracks.compat.pftrace"
    stepscope("export", source_dir / "tests" / "golden" / "good" / "tracks.pftrace", "--to",
              "perfetto-compat", "-o", compat)
    again = Tracks(packets_of(compat))

    top = {(STEPS_FOLDER, "step"): ("Steps of train.py",),
           (STEPS_FOLDER, "phase"): ("Steps of train.py: phases",),
           ("train.py", "MainThread"): ("The main thread of train.py",),
           ("train.py", "MainThread", "oneDNN"): ("The main thread of train.py",)}

    def named(of):
        return sorted((top.get(of.path(uuid), of.path(uuid)), *rest) for uuid, *rest in of.slices()[0])

    assert named(again) == named(tracks)
    assert {again.path(uuid): values for uuid, values in again.values.items()
            if uuid in again.descriptors} == {
        tracks.path(uuid): values for uuid, values in tracks.values.items()}


# --- real recordings, field by field --------------------------------------------------------------


class Strict:
    """Reads a trace as an importer does and refuses what one would have to guess: state that was
    not set up, ids before their definition, events of tracks that are not there, ends without
    begins."""

    FORBIDDEN_BESIDE = {"stack_sample", "track_event", "perf_sample"}

    def __init__(self, path, whole=True):
        self.found = collections.Counter()
        self.descriptors = {}
        self.state = {}  # by sequence: interned entries, clock, default track
        self.events = collections.defaultdict(list)  # by track
        self.kinds = collections.defaultdict(set)
        self.flows = collections.defaultdict(list)
        self.order = 0
        self.newest_clock = 0
        for packet in packets_of(path):
            self.take(packet)
        assert set(self.found) <= {("packet", OURS)}, self.found
        self.check_descriptors()
        self.left_open = self.check_balance()
        self.check_flows()
        if whole:
            assert not self.left_open, self.left_open

    def take(self, packet):
        unknown_fields(packet, "packet", self.found)
        identity = packet.trusted_packet_sequence_id
        if not identity:  # the frame of a unit, facts of the whole recording
            assert {d.name for d, _ in packet.ListFields()} <= {
                "synchronization_marker", "trace_uuid", "trace_attributes"}
            return
        if packet.sequence_flags & 1:
            self.state[identity] = {"interned": {}, "clock": None, "track": None}
        assert identity in self.state, "the first packet of a sequence clears its state"
        assert packet.sequence_flags & 3 or packet.HasField("clock_snapshot")
        state = self.state[identity]
        defaults = packet.trace_packet_defaults
        if defaults.HasField("track_event_defaults"):
            state["track"] = defaults.track_event_defaults.track_uuid
        if packet.HasField("trace_packet_defaults"):
            assert defaults.timestamp_clock_id == 64
        self.take_clocks(packet, state)
        for descriptor, entries in packet.interned_data.ListFields():
            for entry in entries:
                assert entry.iid
                key = descriptor.name, entry.iid
                assert state["interned"].setdefault(key, entry) == entry, "one id, two meanings"
                self.check_interned(descriptor.name, entry, state)
        payloads = {d.name for d, _ in packet.ListFields()} & self.FORBIDDEN_BESIDE
        assert len(payloads) <= 1
        if packet.HasField("track_descriptor"):
            self.take_descriptor(packet.track_descriptor)
        if payloads:
            time = self.time(packet, state)
            if packet.HasField("track_event"):
                self.take_event(packet.track_event, time, state)
            elif packet.HasField("stack_sample"):
                self.take_sample(packet.stack_sample, state)
        else:
            assert not packet.HasField("timestamp") or packet.HasField("clock_snapshot")

    def take_clocks(self, packet, state):
        if not packet.HasField("clock_snapshot"):
            return
        clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
        assert set(clocks) in ({64, 3, 6, 5, 1}, {64, 3}) and clocks[64].is_incremental
        assert all(clock.timestamp for clock in clocks.values())
        assert clocks[64].timestamp == clocks[3].timestamp
        state["clock"] = clocks[64].timestamp
        assert clocks[3].timestamp >= self.newest_clock, "Perfetto rejects a clock that goes back"
        self.newest_clock = clocks[3].timestamp

    @staticmethod
    def time(packet, state):
        assert packet.HasField("timestamp")
        if packet.timestamp_clock_id == 3:
            assert packet.timestamp
            return packet.timestamp
        assert packet.timestamp_clock_id == 0 and state["clock"]
        state["clock"] += packet.timestamp
        assert packet.timestamp < 1 << 62
        return state["clock"]

    @staticmethod
    def check_interned(kind, entry, state):
        def needs(table, iid):
            assert (table, iid) in state["interned"], (kind, table, iid)
        if kind == "frames":
            needs("function_names", entry.function_name_id)
            needs("mappings", entry.mapping_id)
        elif kind == "callstacks":
            assert entry.frame_ids
            for iid in entry.frame_ids:
                needs("frames", iid)
        elif kind == "mappings":
            for iid in entry.path_string_ids:
                needs("mapping_paths", iid)

    def take_sample(self, sample, state):
        assert sample.primary_weight
        assert ("stack_sample_task_contexts", sample.task_context_iid) in state["interned"]
        if sample.callstack_iid:
            assert ("callstacks", sample.callstack_iid) in state["interned"]

    def take_descriptor(self, descriptor):
        assert descriptor.uuid
        known = self.descriptors.setdefault(descriptor.uuid, descriptor)
        assert known.parent_uuid == descriptor.parent_uuid
        assert known.HasField("counter") == descriptor.HasField("counter")
        self.descriptors[descriptor.uuid] = descriptor

    def take_event(self, event, time, state):
        uuid = event.track_uuid if event.HasField("track_uuid") else state["track"]
        assert uuid in self.descriptors, "an event of a track that is not described yet"
        self.order += 1
        named = event.HasField("name") or event.HasField("name_iid")
        if event.HasField("name_iid"):
            assert ("event_names", event.name_iid) in state["interned"]
        for iid in event.category_iids:
            assert ("event_categories", iid) in state["interned"]
        for annotation in event.debug_annotations:
            assert annotation.name and annotation.WhichOneof("value")
        is_counter = self.descriptors[uuid].HasField("counter")
        if event.type == event.TYPE_COUNTER:
            assert is_counter and event.WhichOneof("counter_value_field") and not named
        else:
            assert not is_counter and not event.WhichOneof("counter_value_field")
            assert event.type in (event.TYPE_SLICE_BEGIN, event.TYPE_SLICE_END, event.TYPE_INSTANT)
            assert named == (event.type != event.TYPE_SLICE_END)
        self.kinds[uuid].add(event.type)
        self.events[uuid].append((time, self.order, event))
        for flow in (*event.flow_ids, *event.terminating_flow_ids):
            assert flow and event.type != event.TYPE_SLICE_END
            self.flows[flow].append((time, flow in event.terminating_flow_ids))

    def check_descriptors(self):
        for uuid, descriptor in self.descriptors.items():
            seen, at = set(), descriptor
            while at.parent_uuid:
                assert at.uuid not in seen and at.parent_uuid in self.descriptors
                seen.add(at.uuid)
                at = self.descriptors[at.parent_uuid]
            fields = [f for f in ("process", "thread", "counter") if descriptor.HasField(f)]
            assert len(fields) <= 1
            if descriptor.HasField("process"):
                assert descriptor.process.pid and descriptor.process.process_name
                assert "sscope" not in descriptor.process.process_name
            elif descriptor.HasField("thread"):
                parent = self.descriptors[descriptor.parent_uuid]
                assert parent.process.pid == descriptor.thread.pid and descriptor.thread.tid
            else:
                assert descriptor.name
            parent = self.descriptors.get(descriptor.parent_uuid)
            if parent is not None and parent.child_ordering == parent.EXPLICIT:
                assert descriptor.HasField("sibling_order_rank") or not descriptor.thread.tid

    def check_balance(self):
        """Ends match begins on each track; returns the names of what is left open."""
        left = {}
        for uuid, events in self.events.items():
            stack = 0
            for _, _, event in sorted(events, key=lambda one: one[:2]):
                if event.type == event.TYPE_SLICE_BEGIN:
                    stack += 1
                elif event.type == event.TYPE_SLICE_END:
                    stack -= 1
                    assert stack >= 0, "an end without a begin"
            if stack:
                left[self.descriptors[uuid].name or uuid] = stack
        return left

    def check_flows(self):
        for points in self.flows.values():
            points.sort()
            ends = [is_end for _, is_end in points]
            assert not any(ends[:-1]), "an arrow continues after its end"

    def units(self):
        """Of counters of this name: (unit, name of the unit)."""
        return {d.name: (d.counter.unit, d.counter.unit_name) for d in self.descriptors.values()
                if d.HasField("counter")}


@pytest.fixture(scope="module")
def life(stepscope):
    program = pathlib.Path(stepscope.path).resolve().parent / "tests" / "annotated_life"
    if not program.exists():
        pytest.skip(f"{program} is not there: built without tests")
    return program


@pytest.mark.parametrize("what", [["everything", 20], ["pairs", 500], ["family", 4], ["exec"]])
def test_recordings_are_strictly_right(stepscope, life, tmp_path, what):
    trace = tmp_path / "run.pftrace"
    stepscope("record", "-o", trace, "--host-interval", "0.1", "--", life, *what)
    strict = Strict(trace)
    types = set().union(*strict.kinds.values())
    assert types >= {1, 2, 4}
    if what[0] == "everything":
        assert len(strict.flows) == 3
        assert all(len(points) == 21 and points[-1][1] for points in strict.flows.values())
        units = strict.units()
        assert units["level"] == (3, "") and units["time"] == (1, "")
        assert units["done"] == (0, "samples") and units.get("busy", (0, "%")) == (0, "%")
        lanes = collections.Counter(d.name for d in strict.descriptors.values())
        assert lanes["async ranges"] >= 1 and lanes["other; domain"] >= 1
    compat = tmp_path / "compat.pftrace"
    stepscope("export", trace, "--to", "perfetto-compat", "-o", compat)
    assert Strict(compat).kinds.keys() >= {u for u, k in strict.kinds.items() if 1 in k}


@pytest.mark.parametrize("options", [[], ["--full-rings", "overwrite"]])
def test_recordings_of_a_flood_and_a_kill(stepscope, life, tmp_path, options):
    for what in (["flood", 40000], ["killed"]):  # more than a ring holds
        trace = tmp_path / f"{what[0]}.pftrace"
        stepscope("record", *options, "-o", trace, "--", life, *what, status=None)
        Strict(trace)
    compat = tmp_path / "compat.pftrace"
    stepscope("export", trace, "--to", "perfetto-compat", "-o", compat)  # of what was killed
    Strict(compat)


def test_a_recorder_that_is_killed_leaves_a_right_trace(stepscope, life, tmp_path):
    """Not closed: what was open stays so, all else is as it must be."""
    trace = tmp_path / "run.pftrace"
    with subprocess.Popen([stepscope.path, "record", "-o", trace, "--", life, "serve"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recording:
        try:
            assert recording.stdout.readline() == b"recorded\n"
            until(lambda: trace.stat().st_size >= 4096, "some units")
            recorder, = [int(task) for task in pathlib.Path(
                f"/proc/{recording.pid}/task/{recording.pid}/children").read_text().split()
                if pathlib.Path(f"/proc/{task}/comm").read_text() == "sscope-recorder\n"]
            os.kill(recorder, signal.SIGKILL)
        finally:
            recording.stdin.close()
            recording.wait(60)
    strict = Strict(trace, whole=False)
    assert set(strict.left_open.values()) <= {1}
