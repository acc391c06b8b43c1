# SPDX-License-Identifier: Apache-2.0
"""The native trace as Perfetto's own published schema sees it (package `perfetto`)."""

import collections
import sys
import zlib

import pytest

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

end = time.time() + 1.5
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
            assert self.tables["source_paths"][frame.source_path_iid].str
            assert frame.kind == frame.KIND_INTERPRETED
            names.append(self.tables["function_names"][frame.function_name_id].str.decode())
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
            names.append(track.name or track.process.process_name or track.thread.thread_name)
            uuid = track.parent_uuid
        return tuple(reversed(names))


@pytest.fixture(scope="module")
def tracks(source_dir):
    return Tracks(packets_of(source_dir / "tests" / "golden" / "good" / "tracks.pftrace"))


def test_tracks_have_no_unknown_fields(tracks):
    assert set(tracks.found) == {("packet", OURS)}


def test_slices_are_where_they_belong(tracks):
    slices, left_open = tracks.slices()
    start = min(begin for _, _, begin, _, _ in slices)
    found = collections.Counter((tracks.path(uuid), name) for uuid, name, *_ in slices)
    assert found == {
        (("train.py", "step"), "step 1"): 1, (("train.py", "step"), "step 2"): 1,
        (("train.py", "step"), "step 3"): 1,
        (("train.py", "phase"), "forward"): 3, (("train.py", "phase"), "backward"): 3,
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
    """Steps and phases on top, then the threads, then the rest; the host behind the processes."""
    process = next(t for t in tracks.descriptors.values() if t.HasField("process"))
    assert process.child_ordering == process.EXPLICIT
    children = [t for t in tracks.descriptors.values() if t.parent_uuid == process.uuid]
    assert len({t.name for t in children if t.name == "fetches"}) == 1
    order = [t.name or t.thread.thread_name
             for t in sorted(children, key=lambda t: t.sibling_order_rank)]
    assert order[:4] == ["step", "phase", "MainThread", "loader"]
    assert order[4] == "fetches" and set(order[-2:]) == {"loss", "tokens"}
    host = next(t for t in tracks.descriptors.values() if t.name == "host")
    assert not host.parent_uuid and host.sibling_order_rank == 1000
    assert host.child_ordering == host.EXPLICIT


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


def test_compat_export_keeps_what_lies_on_tracks(stepscope, source_dir, tracks, tmp_path):
    compat = tmp_path / "tracks.compat.pftrace"
    stepscope("export", source_dir / "tests" / "golden" / "good" / "tracks.pftrace", "--to",
              "perfetto-compat", "-o", compat)
    again = Tracks(packets_of(compat))

    def named(of):
        return sorted((of.path(uuid), *rest) for uuid, *rest in of.slices()[0])

    assert named(again) == named(tracks)
    assert {again.path(uuid): values for uuid, values in again.values.items()
            if uuid in again.descriptors} == {
        tracks.path(uuid): values for uuid, values in tracks.values.items()}
