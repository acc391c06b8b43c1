# SPDX-License-Identifier: Apache-2.0
import enum
import os
import pathlib
from types import CodeType, TracebackType
from typing import (Any, Callable, ClassVar, Dict, Iterator, List, Literal, Mapping, Optional,
                    Sequence, Tuple, Type, TypedDict, TypeVar, Union, overload)

from . import errors as errors

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
_Color = Union[str, int]
_Payload = Union[int, float, str]

__version__: str

class annotate:
    """A range of the calling thread: a context manager, and a decorator of functions, methods,
    generators and coroutines, with or without parentheses.

    name: None: a decorated function's qualified name, or the file:line of a block.
    color: a name, "#rrggbb" or 0xRRGGBB. Color and category belong to the name.
    payload: an int, a float or a str beside the range."""
    @overload
    def __new__(cls, name: _F) -> _F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, name: Optional[str] = None, color: Optional[_Color] = None,
                domain: Optional[str] = None, category: Optional[str] = None,
                payload: Optional[_Payload] = None) -> annotate: ...
    @property
    def name(self) -> Optional[str]: ...
    def __call__(self, function: _F) -> _F: ...
    def __enter__(self) -> annotate: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...

profile = annotate

def mark(name: Optional[str] = None, color: Optional[_Color] = None, domain: Optional[str] = None,
         category: Optional[str] = None, payload: Optional[_Payload] = None) -> None:
    """Something that happens now, on this thread. Arguments as of annotate."""
def push(name: Optional[str] = None, color: Optional[_Color] = None, domain: Optional[str] = None,
         category: Optional[str] = None, payload: Optional[_Payload] = None) -> None:
    """Opens a range of the calling thread, for pop() to close; better is `with annotate(…)`."""
def pop(domain: Optional[str] = None, /) -> None:
    """Closes the calling thread's innermost range of the domain. One too many is counted."""
def begin(name: Optional[str] = None, color: Optional[_Color] = None, domain: Optional[str] = None,
          category: Optional[str] = None, payload: Optional[_Payload] = None) -> int:
    """Opens a range that any thread may close: end(result). Returns 0 without a recording."""
def end(id: int, /) -> None:
    """Closes a range of begin(); 0: none."""
def counter(name: str, value: float, unit: Optional[str] = None,
            kind: Literal["gauge", "delta", "cumulative"] = "gauge") -> None:
    """Records a value of the counter `name`.

    unit: "bytes", "ns", "%", "samples/s"…; None: a plain number.
    kind: "gauge", a level; "delta", an increment; "cumulative", a growing total.
    Unit and kind are those of the first call with this name."""

class flow:
    """An arrow through ranges, on any threads of this process: start() in the range where it
    begins, step() in those on its way, end() in the last. Each returns the flow."""
    def __init__(self) -> None: ...
    def start(self) -> flow: ...
    def step(self) -> flow: ...
    def end(self) -> flow: ...

def step(number: Optional[int] = None, /) -> None:
    """Ends a training step; the next begins: with the number given, else one more than before. The
    first call ends step 0 and begins step 1, but step(0) begins step 0. Never waits for a disk."""
def epoch(number: Optional[int] = None, length: Optional[int] = None, resumed_at: int = 0) -> None:
    """An epoch begins: with the number given, else one more than before, from 0.

    length: batches of the epoch, if known. resumed_at: the batch at which it is resumed. Schedules
    that count the batches of epochs need both."""
def phase(name: Optional[str], /) -> None:
    """A phase of the step begins on this thread ("data", "forward", "backward", "optimizer",
    "communication"), the one before ends. None: no phase."""
def enabled() -> bool:
    """Whether this process is being recorded."""

class FunctionTracing:
    """The handle of profile_functions(): stop(), or the end of a `with` block, ends the tracing."""
    def stop(self) -> None: ...
    def __enter__(self) -> FunctionTracing: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...

def profile_functions(filter: Any = None, *, where: Optional[Callable[[CodeType], object]] = None,
                      c_calls: bool = False) -> FunctionTracing: ...

class LineTiming:
    """The handle of lines(): stop(), or the end of a `with` block, ends the timing. Called with a
    function or class, it also times that one and returns it."""
    def __call__(self, what: _T) -> _T: ...
    def stop(self) -> None: ...
    def __enter__(self) -> LineTiming: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...

@overload
def lines(function: _F) -> _F: ...  # type: ignore[misc]
@overload
def lines(*functions: Any) -> LineTiming: ...

class Action(enum.IntEnum):
    """The action of a step. The numbers are those of torch.profiler.ProfilerAction."""
    SKIP = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

class Schedule:
    """A schedule; str() returns the form for `stepscope record --schedule`."""
    def __init__(self, text: str) -> None: ...
    def __call__(self, step: int, length: Optional[int] = None, resumed_at: int = 0) -> Action: ...

def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Schedule:
    """Cycles of steps to wait, to warm up and to record, over the whole run, as
    torch.profiler.schedule counts them. repeat: 0: without end."""
def cyclic_schedule(skip_first: int = 0, wait: int = 0, warmup: int = 1, active: int = 4,
                    repeat: int = 1) -> Schedule:
    """The same for the batches of each epoch, as Composer's cyclic_schedule counts them."""

class Window(os.PathLike[str]):
    """A window of a schedule whose file is finished: what a handler gets. os.fspath() gives its
    path.

    number: of this process, from 0. first_step, last_step: None: it has no steps.
    partial: it was cut. failed: its file is incomplete, and may not exist."""
    path: str
    number: int
    first_step: Optional[int]
    last_step: Optional[int]
    partial: bool
    failed: bool
    def __fspath__(self) -> str: ...

_Path = Union[str, "os.PathLike[str]"]
_Handler = Callable[[Window], Any]

class ProfilerWrapper:
    class State(enum.Enum):
        DISABLED = 0
        ENABLED = 1
        INITIALIZED = 2
        FINALIZED = 3
    _name: str
    _is_context: bool
    _is_decorator: bool
    _config: Any
    enabled: bool
    initialized: bool
    finalized: bool
    @property
    def is_context(self) -> bool: ...
    @property
    def is_decorator(self) -> bool: ...
    def _standup(self) -> None: ...
    def unavailable(self) -> Optional[str]: ...
    def step(self) -> None: ...
    def finalize(self, output_top: pathlib.Path) -> None: ...
    def output_dir(self, top: _Path) -> pathlib.Path: ...
    def reconfigure(self, **changes: Any) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *raised: Any) -> Any: ...
    def __call__(self, function: _F) -> _F: ...

_Tool = Union[str, Type[ProfilerWrapper], ProfilerWrapper]

class ProfileRegistry:
    @classmethod
    def register_profiler(cls, profiler_key: str, profiler_cls: Type[ProfilerWrapper]) -> None: ...
    @classmethod
    def get_profiler(cls, key: Union[str, Type[ProfilerWrapper]]) -> ProfilerWrapper: ...

class Profiler:
    annotate: ClassVar[Any]
    output_path: pathlib.Path
    def __init__(self, schedule: Union[Schedule, str, Callable[..., Any], None] = None,
                 on_trace_ready: Union[_Handler, Sequence[_Handler], None] = None, *,
                 output_path: Optional[_Path] = None, trace_file: Optional[_Path] = None,
                 num_traces_to_keep: Optional[int] = None, overwrite: Optional[bool] = None,
                 rate: Optional[float] = None, json: Union[bool, str, None] = None,
                 torch: Optional[bool] = None, operators: Optional[str] = None,
                 module_depth: Optional[int] = None,
                 step_optimizer: Union[str, type, None] = None,
                 gpu: Optional[str] = None,
                 torch_profiler: Union[bool, str, None] = None) -> None: ...
    @property
    def enabled(self) -> bool: ...
    @property
    def initialized(self) -> bool: ...
    @property
    def finalized(self) -> bool: ...
    def enable(self, profiler: _Tool) -> ProfilerWrapper: ...
    def get(self, profiler: Union[str, Type[ProfilerWrapper]]) -> ProfilerWrapper: ...
    def initialize(self) -> Profiler: ...
    def finalize(self) -> None: ...
    def step(self) -> None: ...
    def __enter__(self) -> Profiler: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...
    def __call__(self, function: _F) -> _F: ...

def enable_attach() -> None:
    """Permits recorders of this user to attach to this program (`record --pid`), and to record steps,
    phases, operators of PyTorch and the work of CUDA devices. Until then nothing is installed but a
    thread that sleeps. STEPSCOPE_ATTACH=1 in the environment does the same."""
def program() -> str:
    """Path of the stepscope program that belongs to this package, else the first one on PATH."""
def load_ipython_extension(shell: Any) -> None: ...

_Value = Union[str, int, float, bool, None]
_Recording = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_Steps = Union[int, Tuple[Optional[int], Optional[int]]]
_Time = Tuple[Optional[float], Optional[float]]

class Table:
    """A table of a report, or of the contents of a recording. pandas, polars, pyarrow and DuckDB take
    it without a copy: pyarrow.table(table), polars.DataFrame(table).

    units: {column: unit}, of columns that have one: "ns", "percent", "bytes"…
    notes: how to read it, and why it is empty. figures: what it covers and leaves out.
    table[3] is a row, table["total_ns"] the values of a column; None: no value."""
    name: str
    columns: List[str]
    units: Dict[str, str]
    notes: List[str]
    figures: Dict[str, Any]
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Dict[str, _Value]]: ...
    @overload
    def __getitem__(self, key: int) -> Dict[str, _Value]: ...
    @overload
    def __getitem__(self, key: str) -> List[_Value]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def _repr_html_(self) -> str: ...

class Evidence(TypedDict):
    """A figure that a finding is based on. `unit`: of `value`."""
    what: str
    value: float
    unit: Literal["count", "number", "ns", "bytes", "percent"]

class Place(TypedDict):
    """A line of code. `line`: None: unknown."""
    path: str
    line: Optional[int]
    function: str

class HotLine(Place):
    """The line with most of the samples. `percent`: its share of `samples`, which are of the time
    that `of` names. `calls`: the function that it calls; None: it computes itself."""
    of: str
    percent: float
    samples: int
    calls: Optional[str]

class GilHolder(TypedDict):
    """The thread that has the GIL while others wait. `meanwhile`: observed at those moments, not
    only likely."""
    thread: str
    tid: int
    meanwhile: bool
    line: Optional[HotLine]

class LockHolder(TypedDict):
    """The thread that has the lock while others wait."""
    lock: str
    thread: str
    tid: int
    line: Optional[HotLine]

class Finding:
    """One cause of lost time. str() is its sentence.

    percent: of the time of a step, `of_ns`. cost_ns: what it costs per step. expected_ns: what its
    fix recovers; recoverable_ns: at most. estimate: how that is computed. fix: what to do.
    phase, activity, line, …: where; None, or "": not known. Times are nanoseconds."""
    rule: str
    headline: str
    summary: str
    percent: float
    of_ns: int
    cost_ns: int
    expected_ns: int
    recoverable_ns: int
    estimate: str
    fix: Optional[str]
    phase: Optional[str]
    activity: Optional[str]
    evidence: List[Evidence]
    growing_phase: Optional[str]
    line: Optional[HotLine]
    called_from: Optional[Place]
    gil_holder: Optional[GilHolder]
    lock_holder: Optional[LockHolder]

class Report:
    """What `stepscope report` states. str() is its text; a notebook shows it with its tables.

    problems: why the recording is not the whole truth. figures: as `report --format json` has them."""
    headline: Optional[str]
    findings: List[Finding]
    problems: List[str]
    figures: Dict[str, Any]
    notes: List[str]
    tables: List[Table]
    def _repr_html_(self) -> str: ...
    def _repr_markdown_(self) -> str: ...

class Run:
    """A recording: its report, the tables of reports, and its contents as tables. May be used by
    several threads at once.

    tables, contents: {name: what its rows are}, of table() and content(). steps, phases, ranges, …:
    made once."""
    tables: ClassVar[Mapping[str, str]]
    contents: ClassVar[Mapping[str, str]]
    paths: List[str]
    headline: Optional[str]
    findings: List[Finding]
    problems: List[str]
    figures: Dict[str, Any]
    def _repr_html_(self) -> str: ...
    def _repr_markdown_(self) -> str: ...
    def report(self, name: Optional[str] = None, *, columns: Optional[str] = None,
               sort: Optional[str] = None, group: Union[str, Sequence[str], None] = None,
               rows: Optional[int] = None, min_percent: Optional[float] = None,
               library_name: Optional[str] = None, library_substring: Optional[str] = None,
               aggregate_leaf_paths: Optional[bool] = None, full_filenames: Optional[bool] = None,
               process: Union[str, int, None] = None, thread: Union[str, int, None] = None,
               match: Optional[str] = None, exclude: Optional[str] = None, idle: Optional[Literal["none", "main", "all"]] = None,
               gil: Optional[bool] = None, time: Optional[_Time] = None, steps: Optional[_Steps] = None,
               strict: Optional[bool] = None) -> Report:
        """All tables of one name, with the figures around them; None: the overview. Options as of
        table()."""
    def table(self, name: str, *, columns: Optional[str] = None,
              sort: Optional[str] = None, group: Union[str, Sequence[str], None] = None,
              rows: Optional[int] = None, min_percent: Optional[float] = None,
              library_name: Optional[str] = None, library_substring: Optional[str] = None,
              aggregate_leaf_paths: Optional[bool] = None, full_filenames: Optional[bool] = None,
              process: Union[str, int, None] = None, thread: Union[str, int, None] = None,
              match: Optional[str] = None, exclude: Optional[str] = None, idle: Optional[Literal["none", "main", "all"]] = None,
              gil: Optional[bool] = None, time: Optional[_Time] = None, steps: Optional[_Steps] = None,
              strict: Optional[bool] = None) -> Table:
        """A table of `stepscope report --by NAME`, with its options.

        rows: at most so many; None: all. group: a word, words with commas between them, or a list.
        process, thread: a pid or tid, or a regex over names. match, exclude: a regex over frames
        "function (path:line)". time: (begin, end) in seconds since the first sample. steps: a
        number, or (first, last). None in a pair: an open end. strict: an unreadable line, or file
        in a folder, is an error. Raises errors.UsageError for a name or word that is unknown."""
    def key_averages(self, *, sort: Optional[str] = None,
                     group: Union[str, Sequence[str], None] = None, rows: Optional[int] = None,
                     process: Union[str, int, None] = None, thread: Union[str, int, None] = None,
                     time: Optional[_Time] = None, steps: Optional[_Steps] = None) -> Table:
        """Operators in the columns of torch.profiler's key_averages."""
    def content(self, name: str, *, process: Union[str, int, None] = None,
                thread: Union[str, int, None] = None, time: Optional[_Time] = None,
                steps: Optional[_Steps] = None) -> Table:
        """Rows of the recording itself: "ranges", "samples", "counters", "processes"…"""
    def to_parquet(self, folder: _Path, contents: Optional[Sequence[str]] = None,
                   by: Union[str, Sequence[str]] = ("rank", "step")) -> Dict[str, int]:
        """Writes contents as Parquet files below a folder. Returns {name: rows}. Needs pyarrow."""
    steps: Table
    phases: Table
    ranges: Table
    marks: Table
    counters: Table
    flows: Table
    samples: Table
    stacks: Table
    inputs: Table
    hosts: Table
    processes: Table
    threads: Table
    devices: Table
    contexts: Table
    streams: Table
    groups: Table
    tracks: Table

def open(path: Union[_Recording, Sequence[_Recording], Run], *, max_memory: Optional[int] = None) -> Run:
    """Opens a recording: a file or folder, of stepscope or of a tool whose files it reads, or a list
    of files of one run.

    max_memory: bytes; an input that needs more is refused. None: as much as its size warrants.
    Raises a subclass of errors.Error. A damaged file is read as far as it is intact: see
    Run.problems."""
