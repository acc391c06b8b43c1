# SPDX-License-Identifier: Apache-2.0
"""What a trace holds, event by event."""

import collections
import json
import subprocess


class Trace:
    """What tests/bench/trace_events.c says about a trace."""

    def __init__(self, tools, path):
        done = subprocess.run([tools / "trace_events", path], capture_output=True, text=True,
                              errors="surrogateescape", check=True)
        self.rows = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            self.rows[row.pop("is")].append(row)
        self.names = {row["ref"]: row["text"] for row in self.rows["name"]}
        self.tracks = {row["ref"]: row for row in self.rows["track"]}
        self.processes = {row["ref"]: row for row in self.rows["process"]}

    def of_kind(self, kind, name=None):
        """(track, events) of each track of a kind."""
        for ref, track in self.tracks.items():
            if track["kind"] == kind and name in (None, track["name"]):
                yield track, [row for row in self.rows["event"] if row["track"] == ref]

    def ranges(self):
        """(process, name, begin, end event) of all nested ranges; they nest as they must."""
        for track, events in self.of_kind("ranges"):
            stack = []
            last = 0
            for event in events:
                assert event["ns"] >= last
                last = event["ns"]
                if event["kind"] == "begin":
                    stack.append(event)
                elif event["kind"] == "end":
                    begin = stack.pop()
                    yield track["process"], self.names[begin["name"]], begin, event
            assert not stack

    def counts(self, name):
        """The last counts of a source, by process."""
        refs = [row["ref"] for row in self.rows["source"] if row["name"] == name]
        return {row["process"]: row for row in self.rows["counts"] if row["source"] in refs}

    def check_counts(self):
        counts = self.counts("annotations")
        for row in counts.values():
            assert row["seen"] == row["ok"] + row["dropped"]
        return counts
