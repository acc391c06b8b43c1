# SPDX-License-Identifier: Apache-2.0
"""The tool that records the timeline: through the existing recording, else with its own recorder."""

import os
import re
import sys
import threading
import time

from . import _stepscope
from ._tools import ProfilerWrapper, rank, warn

_POLL_MS = 200  # the interval of checks whether to end
_LAST_WINDOW_S = 30  # how long finalize() waits for the handlers of the last windows
_EVERYTHING = "active=1000000000"  # a single window, which ends with the recording
NO_SCHEDULE = ""
_WINDOW_NAME = "ep{epoch}-ba{batch}-rank{rank}"  # Composer's names
_NEED_OWN = ("rate", "trace_file", "num_traces_to_keep", "overwrite", "json", "torch",
             "operators", "module_depth", "step_optimizer", "torch_profiler", "gpu")


class Window(os.PathLike):
    """A window whose file is complete, the argument of trace handlers. It is also a path:
    os.fspath(window), str(window), open(window, "rb").

    path: of the file, absolute.
    number: of the window in this process, from 0.
    first_step, last_step: the steps in it, both included; None without a schedule.
    partial: whether it was cut: by the end of its epoch, of the program or of the recording.
    failed: whether its file is incomplete."""

    __slots__ = ("path", "number", "first_step", "last_step", "partial", "failed")

    def __init__(self, path, number, first_step, last_step, partial, failed):
        self.path, self.number, self.partial, self.failed = path, number, partial, failed
        self.first_step, self.last_step = first_step, last_step

    def __fspath__(self):
        return self.path

    def __str__(self):
        return self.path

    def __repr__(self):
        return (f"Window({self.path!r}, number={self.number}, first_step={self.first_step}, "
                f"last_step={self.last_step}, partial={self.partial}, failed={self.failed})")


class _Handlers:
    """Calls the handlers on a separate thread, window by window."""

    def __init__(self, handlers):
        self._handlers = handlers
        self.calls = 0
        self._ends = threading.Event()
        self._whole = None
        self._next = 0
        while isinstance(_stepscope._sealed(self._next, 0), tuple):
            self._next += 1  # of earlier windows
        self._thread = threading.Thread(target=self._run, name="stepscope-handlers", daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            ends = self._ends.is_set()
            notice = _stepscope._sealed(self._next, 0 if ends else _POLL_MS)
            if isinstance(notice, tuple):
                self._next += 1
                self._call(_window(notice))
            elif ends:
                if self._whole is not None:
                    self._call(self._whole)
                return
            elif notice is False:
                self._ends.wait(_POLL_MS / 1000)

    def _call(self, window):
        self.calls += 1
        for handler in self._handlers:
            try:
                handler(window)
            except Exception as error:
                place = error.__traceback__.tb_next or error.__traceback__
                warn(f"the trace handler {getattr(handler, '__name__', handler)} failed for "
                     f"{window}: {type(error).__name__}: {error} "
                     f"({place.tb_frame.f_code.co_filename}:{place.tb_lineno})")

    def end(self, whole=None):
        """Called when the last file is complete: waits until the handlers have processed it. whole: a
        recording without windows, for which they are called now."""
        self._whole = whole
        self._ends.set()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(_LAST_WINDOW_S)
        if self._thread.is_alive():
            warn(f"a trace handler is still busy after {_LAST_WINDOW_S} s; the program continues "
                 "without waiting for it")


def _window(notice):
    number, first, last, flags, path = notice
    return Window(os.fsdecode(path), number, first, last, bool(flags & 1), bool(flags & 2))


class RecordTool(ProfilerWrapper):
    """The recording of stepscope.

    last_path: the file of the last ended recording; None: it has several, or this process did not
        start it."""

    _name = "stepscope"
    last_path = None

    def __init__(self):
        self._options = {}
        self._folder = None
        self._recorder = self._handlers = self._path = None
        self._schedule = None
        self._follows = False
        self._recordings = 0
        self._names = {}  # trace_file: the number of recordings with it
        self._reported = None  # why there was no recorder

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
        schedule = self._options.get("schedule")
        if schedule is None and "{" in self._options.get("trace_file", ""):
            schedule = _EVERYTHING  # these names are for windows
        self._schedule = schedule
        self._follows = schedule is not None
        self._is_outside = _stepscope._is_recording()
        if not self._is_outside:
            if self._follows:
                _stepscope._follow(None)  # record nothing before the schedule begins
            if not self._start_recorder():
                if self._follows:
                    _stepscope._follow(NO_SCHEDULE)
                self.enabled = False
                return
        else:
            decides = self._report_overridden_options()
            self._follows = self._follows and "schedule" not in decides
        without = sys.modules.get(f"{__package__}._without")
        if without is not None:
            without.warn_untraced()
        handlers = self._options.get("on_trace_ready")
        self._handlers = _Handlers(handlers) if handlers else None
        if self._follows:
            _stepscope._follow(str(schedule))
        if self._recorder is not None and self._gpu() != "off":
            _stepscope._follow_devices(self._gpu(), False)
        if hasattr(_stepscope, "_notice_recording"):
            _stepscope._notice_recording()

    def _start_recorder(self):
        from . import _recorder
        try:
            self._begin_recorder()
        except _recorder.NoRecorder as error:
            if str(error) != self._reported:  # not at each begin of a `with`
                self._reported = str(error)
                warn(f"nothing is recorded: {error}")
            return False
        return True

    def _begin_recorder(self):
        """Raises NoRecorder."""
        from . import _recorder
        self._recorder = _recorder.Recorder(self._arguments())
        _stepscope._follow_torch(self._torch_settings())

    def _torch_settings(self):
        options = self._options
        if not options.get("torch", True):
            return "off=1"
        optimizer = options.get("step_optimizer")
        return (f"depth={options.get('module_depth', 2)},"
                f"operators={options.get('operators', 'auto')}"
                + (f",optimizer={optimizer}" if optimizer else "")
                + (f",profiler={self._profiled()}" if self._profiled() is not None else ""))

    def _profiled(self):
        """What torch.profiler adds; None: it does not run."""
        return self._options.get("torch_profiler") if self._options.get("torch", True) else None

    def _gpu(self):
        return self._options.get("gpu", "default")

    def _arguments(self):
        """The arguments of the recorder."""
        options = self._options
        self._recordings += 1
        overwrites = options.get("overwrite", False)
        name = self._name_of_files(overwrites)
        has_windows = "{" in name
        folder = os.path.abspath(self._folder)
        self._path = None if has_windows else os.path.join(folder, name)
        # Only the name has variables; braces in the folder are literal.
        folder = folder.replace("{", "{{").replace("}", "}}")
        arguments = ["-o", os.path.join(folder, name).replace("%", "%%")]
        if options.get("json"):
            arguments += ["-f", "chrometrace"]
            if options["json"] == "beside":
                arguments.append("--keep-native")
        if self._profiled() is not None:
            what = self._profiled().replace("+", ",")
            arguments.append("--torch-profiler" + (f"={what}" if what else ""))
        arguments += ["--gpu", self._gpu()]
        if "rate" in options:
            arguments += ["-r", repr(options["rate"])]
        if has_windows and options.get("num_traces_to_keep", -1) > 0:
            arguments += ["--traces-to-keep", str(options["num_traces_to_keep"])]
        # The other ranks, and this one's last recording, have their files in the same folder.
        shares_folder = has_windows and (rank() is not None or self._recordings > 1)
        if not overwrites and not shares_folder:
            arguments.append("--no-overwrite")
        return arguments

    def _name_of_files(self, overwrites):
        """Below the folder. A name without {…} is one file's."""
        ending = ".json" if self._options.get("json") else ".pftrace"
        name = self._options.get("trace_file")
        if name is None:
            name = _default_name(self._recordings)
            return f"{name}.stepscope/{_WINDOW_NAME}{ending}" if self._follows else name + ending
        times = self._names[name] = self._names.get(name, 0) + 1
        stem, given = os.path.splitext(name)
        if "{" in given:
            stem, given = name, ""
        if times > 1 and not overwrites:
            stem += f"-{times}"
        if self._follows and "{" not in name:
            stem += "/" + _WINDOW_NAME
        return stem + (given if given and given != ".pftrace" else ending)

    def _report_overridden_options(self):
        named = [name for name in _NEED_OWN if name in self._options]
        if "STEPSCOPE_SCHEDULE" in os.environ and "schedule" in self._options:
            named.insert(0, "schedule")
        if named:
            warn(f"this program is being recorded from outside, which overrides {', '.join(named)}: "
                 "give `stepscope record` the options, or start the program without it")
        return named

    def finalize(self, output_top):
        self.finalized = True
        if hasattr(_stepscope, "_flush_lines"):
            _stepscope._flush_lines()
        if self._follows:
            _stepscope._follow(None)
        whole = None
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            _stepscope._end_devices()
            if self._end(recorder) and self._path is not None and os.path.exists(self._path):
                self.last_path = self._path
                whole = Window(self._path, 0, None, None, False, False)
            if self._follows:
                _stepscope._follow(NO_SCHEDULE)
        elif self._handlers is not None:
            _stepscope._flush(_LAST_WINDOW_S * 1000)
        if self._handlers is not None:
            handlers, self._handlers = self._handlers, None
            handlers.end(whole)
            if self._is_outside and handlers.calls == 0:
                warn("no trace handler was called: the recording from outside has no file for each "
                     "window; give `stepscope record` --per-window")

    def _end(self, recorder):
        """Whether its files are complete."""
        if recorder.is_over():
            warn(" ".join(recorder.messages()) or "the recorder has ended before the program")
        if not recorder.stop():
            warn(f"the recorder (process {recorder.pid}) is still writing; its files will be "
                 "complete when it ends")
            return False
        for line in recorder.last_messages():
            text = re.sub(r"^stepscope( record)?: ", "", line)
            if text.startswith("no window was recorded") and self._follows:
                text = _why_no_window(self._schedule)
            warn(text)
        return True

    def forget_parent(self):
        """In a forked child."""
        self._recorder = self._handlers = None
        self._follows = False


def _why_no_window(schedule):
    words = dict(re.findall(r"(\w+)=(\d+)", str(schedule)))
    skip, wait, warmup = (int(words.get(name, 0)) for name in ("skip_first", "wait", "warmup"))
    first = skip + (0 if int(words.get("skip_first_wait", 0)) else wait) + warmup + 1
    what = ("batch", "no epoch", "longer epochs") if "per_epoch" in str(schedule) else \
        ("step", "the run never", "longer")
    return (f"no window was recorded: the first {what[0]} that {schedule} records is number {first}, "
            f"which {what[1]} reached; run {what[2]}, or lower these")


def _default_name(number):
    """The file name that `stepscope record` uses; `number`: of the recording in this process, from
    1."""
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
    return "-".join(words).replace("{", "_").replace("}", "_")
