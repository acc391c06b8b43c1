# SPDX-License-Identifier: Apache-2.0
"""The counter series of a native trace, decoded with Perfetto's published schema."""

import zlib


class Series:
    """One counter track: where it hangs, and its points (time in ns, value), in order of time."""

    def __init__(self, owner, path, unit):
        self.owner, self.path, self.unit, self.points = owner, path, unit, []

    @property
    def values(self):
        return [value for _, value in self.points]

    def total(self, end_ns):
        """Integral over time in seconds, each point holding until the next."""
        ends = [time_ns for time_ns, _ in self.points[1:]] + [end_ns]
        return sum(value * (until - since) / 1e9
                   for (since, value), until in zip(self.points, ends))


def _packets(trace_pb2, path):
    trace = trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        if packet.compressed_packets:
            inner = trace_pb2.Trace()
            inner.ParseFromString(zlib.decompress(packet.compressed_packets))
            yield from inner.packet
        else:
            yield packet


def _unit(track):
    counter = track.counter
    return "bytes" if counter.unit == counter.UNIT_SIZE_BYTES else counter.unit_name


def _owner_and_path(tracks, track):
    names = []
    while True:
        if track.HasField("process"):
            return track.process.pid, names
        parent = tracks.get(track.parent_uuid)
        # The outermost folder ("host", "recording") is for viewers.
        if track.name and (parent is not None or track.HasField("counter")):
            names.insert(0, track.name)
        if parent is None:
            return 0, names
        track = parent


class _Clocks:
    """The time of each packet in ns: absolute (clock 3), or a step of its sequence's clock 64."""

    def __init__(self):
        self.now = {}

    def time(self, packet):
        sequence = packet.trusted_packet_sequence_id
        for clock in packet.clock_snapshot.clocks:
            if clock.clock_id == 64:
                self.now[sequence] = clock.timestamp
        if not packet.HasField("timestamp"):
            return 0
        if packet.timestamp_clock_id == 3:
            return packet.timestamp
        self.now[sequence] += packet.timestamp
        return self.now[sequence]


def read(trace_pb2, path):
    """({(pid or 0, "group/series"): Series}, time of the last packet)."""
    tracks, events, last_ns, clocks = {}, [], 0, _Clocks()
    for packet in _packets(trace_pb2, path):
        time_ns = clocks.time(packet)
        last_ns = max(last_ns, time_ns)
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            events.append((time_ns, packet.track_event))
    found = {}
    for time_ns, event in events:
        if event.type != event.TYPE_COUNTER:
            continue
        track = tracks[event.track_uuid]
        owner, names = _owner_and_path(tracks, track)
        series = found.setdefault((owner, "/".join(names)),
                                  Series(owner, "/".join(names), _unit(track)))
        value = event.double_counter_value if event.HasField("double_counter_value") \
            else event.counter_value
        series.points.append((time_ns, value))
    for series in found.values():
        series.points.sort(key=lambda point: point[0])
    return found, last_ns
