# SPDX-License-Identifier: Apache-2.0
"""The tool that records the timeline: by the recording that is there, else by a recorder of its
own."""

import os
import sys
import time

from . import _stepscope, enabled
from ._tools import ProfilerWrapper, rank, tell

_NEED_OWN = ("rate", "trace_file")


class RecordTool(ProfilerWrapper):
    """stepscope's own recording.

    last_path: the file of the last one that is over; None: it is somebody else's."""

    _name = "stepscope"
    last_path = None

    def __init__(self):
        self._options = {}
        self._folder = None
        self._recorder = self._path = None
        self._recordings = 0
        self._names = {}  # trace_file: how many recordings had it
        self._told = None  # why there was no recorder

    def take_options(self, profiler, options):
        self._options = options
        self._folder = profiler._record_folder(self)

    def unavailable(self):
        if hasattr(_stepscope, "_spawn"):
            return None
        return ("this Python package was built without the headers of Python; install them and "
                "run: pip install --force-reinstall --no-cache-dir stepscope")

    def _standup(self):
        self._recorder = self._path = self.last_path = None
        if enabled():
            self._tell_what_the_recording_decides()
        elif not self._start_recorder():
            self.enabled = False

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
        self._recordings += 1
        path = os.path.join(os.path.abspath(self._folder).replace("%", "%%"), self._name_of_file())
        self._path = path.replace("%%", "%")
        arguments = ["-o", path]
        if "rate" in self._options:
            arguments += ["-r", repr(self._options["rate"])]
        return arguments

    def _name_of_file(self):
        """Below the folder."""
        name = self._options.get("trace_file")
        if name is None:
            return _default_name(self._recordings) + ".pftrace"
        times = self._names[name] = self._names.get(name, 0) + 1
        stem, ending = os.path.splitext(name)
        return f"{stem}-{times}{ending}" if times > 1 else name

    def _tell_what_the_recording_decides(self):
        named = [name for name in _NEED_OWN if name in self._options]
        if named:
            tell(f"this program is being recorded from outside, which decides {', '.join(named)}: "
                 "give `stepscope record` the options, or start the program without it")

    def finalize(self, output_top):
        self.finalized = True
        if hasattr(_stepscope, "_flush_lines"):
            _stepscope._flush_lines()
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            if self._end(recorder) and os.path.exists(self._path):
                self.last_path = self._path

    def _end(self, recorder):
        """Whether its files are complete."""
        if recorder.is_over():
            tell(" ".join(recorder.messages()) or "the recorder has ended before the program")
        if not recorder.stop():
            tell(f"the recorder (process {recorder.pid}) is still writing; its files will be "
                 "complete when it has ended")
            return False
        for line in recorder.last_messages():
            text = line[len("stepscope record: "):] if line.startswith("stepscope record: ") \
                else line
            tell(text)
        return True

    def forget_parent(self):
        """In a forked child."""
        self._recorder = None


def _default_name(number):
    """As `stepscope record` calls its files; `number`: of the recording in this process, from 1."""
    script = sys.argv[0] if sys.argv else ""
    stem = os.path.splitext(os.path.basename(script))[0]
    if stem == "__main__":
        stem = os.path.basename(os.path.dirname(script))
    words = [stem if stem.strip("-") not in ("", "c", "m") else "python"]
    if rank() is not None:
        words.append(f"rank{rank()}")
    words += [time.strftime("%Y%m%d-%H%M%S"), str(os.getpid())]
    if number > 1:
        words.append(str(number))
    return "-".join(words).replace("%", "%%")
