# SPDX-License-Identifier: Apache-2.0
"""The stored recordings are those of the programs beside them, and small. Standard library only."""

import pathlib
import re
import sys
import unittest

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "recordings"
sys.path.insert(0, str(RECORDINGS))

import recording  # noqa: E402  pylint: disable=wrong-import-position
from inputs import INPUTS  # noqa: E402  pylint: disable=wrong-import-position


class Recordings(unittest.TestCase):
    maxDiff = None

    def test_each_input_is_stored_as_its_program_is_now(self):
        known = recording.facts()
        stale = [name for name, one in INPUTS.items()
                 if known.get(name, {}).get("sources") != one.sources()
                 or not recording.trace_of(recording.STORE, name).exists()]
        self.assertFalse(stale, "record again: tests/recordings/make " + " ".join(stale))

    def test_nothing_else_is_stored(self):
        stored = {path.name.split(".")[0] for path in recording.STORE.iterdir()} - {"recorded"}
        self.assertFalse(stored - set(INPUTS))
        self.assertFalse(set(recording.facts()) - set(INPUTS))

    def test_each_input_is_read_by_a_test(self):
        tests = "".join(path.read_text(encoding="utf-8") for folder in ("recorded", "e2e")
                        for path in (RECORDINGS.parent / folder).glob("test_*.py"))
        exact, begins = set(re.findall(r'"(\w+)"', tests)), set(re.findall(r'f"(\w+)\{', tests))
        unread = [name for name in INPUTS
                  if name not in exact and not any(name.startswith(one) for one in begins)]
        self.assertFalse(unread)

    def test_they_are_small(self):
        sizes = {path.name: recording.bytes_of(path) for path in recording.STORE.iterdir()}
        self.assertFalse({name: size for name, size in sizes.items()
                          if size > recording.LARGEST_BYTES and name != recording.FACTS.name})
        self.assertLessEqual(sum(sizes.values()), recording.LARGEST_TOTAL_BYTES)

    def test_they_name_no_folder_of_the_machine_that_made_them(self):
        home = str(pathlib.Path.home()).encode()
        for path in recording.STORE.rglob("*.out"):
            text = path.read_bytes()
            self.assertNotIn(home + b"/", text, path)
            self.assertNotIn(str(RECORDINGS.parents[1]).encode(), text, path)
