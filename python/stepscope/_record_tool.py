# SPDX-License-Identifier: Apache-2.0
"""The tool that records the timeline: by the recording that is there, else by a recorder of its
own."""

import os
import sys
import time

from . import enabled
from ._tools import ProfilerWrapper, rank, tell

_NEED_OWN = ("rate", "trace_file")


class RecordTool(ProfilerWrapper):
    """stepscope's own recording."""

    _name = "stepscope"

    def __init__(self):
        self._options = {}
        self._folder = None
        self._recorder = None
        self._recordings = 0
        self._told = None  # why there was no recorder

    def take_options(self, profiler, options):
        self._options = options
        self._folder = profiler._record_folder(self)

    def _standup(self):
        self._recorder = None
        if not enabled():
            if not self._start_recorder():
                self.enabled = False
                return
        else:
            self._tell_what_the_recording_decides()

    def _start_recorder(self):
        from . import _recorder
        try:
            self._recorder = _recorder.Recorder(self._arguments())
        except _recorder.NoRecorder as error:
            if str(error) != self._told:  # each time a `with` begins is too often
                self._told = str(error)
                tell(f"nothing is recorded: {error}")
            return False
        return True

    def _arguments(self):
        """What the recorder is called with."""
        options = self._options
        self._recordings += 1
        name = options.get("trace_file") or _default_name(self._recordings)
        arguments = ["-o", os.path.join(os.path.abspath(self._folder), name)]
        if "rate" in options:
            arguments += ["-r", repr(options["rate"])]
        return arguments

    def _tell_what_the_recording_decides(self):
        named = [name for name in _NEED_OWN if name in self._options]
        if named:
            tell(f"this program is being recorded from outside, which decides {', '.join(named)}: "
                 "give `stepscope record` the options, or start the program without it")

    def _end(self, recorder):
        if recorder.is_over():
            tell(" ".join(recorder.messages()) or "the recorder has ended before the program")
        if not recorder.stop():
            tell(f"the recorder (process {recorder.pid}) is still writing; its files will be "
                 "complete when it has ended")
            return
        for line in recorder.last_messages():
            tell(line[len("stepscope record: "):] if line.startswith("stepscope record: ")
                 else line)

    def finalize(self, output_top):
        self.finalized = True
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            self._end(recorder)

    def forget_parent(self):
        """In a forked child."""
        self._recorder = None


def _default_name(number):
    """As `stepscope record` calls its files; `number`: of the recording in this process, from 1."""
    words = [os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] or "python"]
    if rank() is not None:
        words.append(f"rank{rank()}")
    words += [time.strftime("%Y%m%d-%H%M%S"), str(os.getpid())]
    if number > 1:
        words.append(str(number))
    return "-".join(words).replace("%", "%%") + ".pftrace"
