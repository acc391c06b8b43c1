# SPDX-License-Identifier: Apache-2.0
import enum
import os
import pathlib
from types import CodeType, TracebackType
from typing import (Any, Callable, ClassVar, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple,
                    Type, TypeVar, Union, overload)

from . import errors as errors

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
_Color = Union[str, int]
_Payload = Union[int, float, str]

__version__: str

class annotate:
    @overload
    def __new__(cls, name: _F) -> _F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, name: Optional[str] = ..., color: Optional[_Color] = ...,
                domain: Optional[str] = ..., category: Optional[str] = ...,
                payload: Optional[_Payload] = ...) -> annotate: ...
    @property
    def name(self) -> Optional[str]: ...
    def __call__(self, function: _F) -> _F: ...
    def __enter__(self) -> annotate: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...

profile = annotate

def mark(name: Optional[str] = ..., color: Optional[_Color] = ..., domain: Optional[str] = ...,
         category: Optional[str] = ..., payload: Optional[_Payload] = ...) -> None: ...
def push(name: Optional[str] = ..., color: Optional[_Color] = ..., domain: Optional[str] = ...,
         category: Optional[str] = ..., payload: Optional[_Payload] = ...) -> None: ...
def pop(domain: Optional[str] = ...) -> None: ...
def begin(name: Optional[str] = ..., color: Optional[_Color] = ..., domain: Optional[str] = ...,
          category: Optional[str] = ..., payload: Optional[_Payload] = ...) -> int: ...
def end(id: int) -> None: ...
def counter(name: str, value: float, unit: Optional[str] = ..., kind: str = ...) -> None: ...

class flow:
    def __init__(self) -> None: ...
    def start(self) -> flow: ...
    def step(self) -> flow: ...
    def end(self) -> flow: ...

def step(number: Optional[int] = ...) -> None: ...
def epoch(number: Optional[int] = ..., length: Optional[int] = ..., resumed_at: int = ...) -> None: ...
def phase(name: Optional[str]) -> None: ...
def enabled() -> bool: ...

class FunctionTracing:
    def stop(self) -> None: ...
    def __enter__(self) -> FunctionTracing: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> bool: ...

def profile_functions(filter: Any = ..., *, where: Optional[Callable[[CodeType], object]] = ...,
                      c_calls: bool = ...) -> FunctionTracing: ...

class LineTiming:
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
    SKIP = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

class Schedule:
    def __init__(self, text: str) -> None: ...
    def __call__(self, step: int, length: Optional[int] = ..., resumed_at: int = ...) -> Action: ...

def schedule(*, wait: int, warmup: int, active: int, repeat: int = ..., skip_first: int = ...,
             skip_first_wait: int = ...) -> Schedule: ...
def cyclic_schedule(skip_first: int = ..., wait: int = ..., warmup: int = ..., active: int = ...,
                    repeat: int = ...) -> Schedule: ...
class Window(os.PathLike[str]):
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
    def __init__(self, schedule: Union[Schedule, str, Callable[..., Any], None] = ...,
                 on_trace_ready: Union[_Handler, Sequence[_Handler], None] = ..., *,
                 output_path: Optional[_Path] = ..., trace_file: Optional[_Path] = ...,
                 num_traces_to_keep: Optional[int] = ..., overwrite: Optional[bool] = ...,
                 rate: Optional[float] = ..., json: Union[bool, str, None] = ...,
                 torch: Optional[bool] = ..., operators: Optional[str] = ...,
                 module_depth: Optional[int] = ...,
                 step_optimizer: Union[str, type, None] = ...,
                 gpu: Optional[str] = ...,
                 torch_profiler: Union[bool, str, None] = ...) -> None: ...
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

def enable_attach() -> None: ...
def program() -> str: ...
def load_ipython_extension(shell: Any) -> None: ...

_Value = Union[str, int, float, bool, None]
_Recording = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_Steps = Union[int, Tuple[Optional[int], Optional[int]]]
_Time = Tuple[Optional[float], Optional[float]]

class Table:
    name: str
    columns: List[str]
    units: Dict[str, str]
    notes: List[str]
    figures: Dict[str, Any]
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = ...) -> Tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = ...) -> object: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Dict[str, _Value]]: ...
    @overload
    def __getitem__(self, key: int) -> Dict[str, _Value]: ...
    @overload
    def __getitem__(self, key: str) -> List[_Value]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def _repr_html_(self) -> str: ...

class Finding:
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
    evidence: List[Dict[str, Any]]
    growing_phase: Optional[str]
    line: Optional[Dict[str, Any]]
    called_from: Optional[Dict[str, Any]]
    gil_holder: Optional[Dict[str, Any]]
    lock_holder: Optional[Dict[str, Any]]

class Report:
    headline: Optional[str]
    findings: List[Finding]
    problems: List[str]
    figures: Dict[str, Any]
    notes: List[str]
    tables: List[Table]
    def _repr_html_(self) -> str: ...
    def _repr_markdown_(self) -> str: ...

class Run:
    tables: ClassVar[Mapping[str, str]]
    contents: ClassVar[Mapping[str, str]]
    paths: List[str]
    headline: Optional[str]
    findings: List[Finding]
    problems: List[str]
    figures: Dict[str, Any]
    def _repr_html_(self) -> str: ...
    def _repr_markdown_(self) -> str: ...
    def report(self, name: Optional[str] = ..., *, columns: Optional[str] = ...,
               sort: Optional[str] = ..., group: Union[str, Sequence[str], None] = ...,
               rows: Optional[int] = ..., min_percent: Optional[float] = ...,
               library_name: Optional[str] = ..., library_substring: Optional[str] = ...,
               aggregate_leaf_paths: Optional[bool] = ..., full_filenames: Optional[bool] = ...,
               process: Union[str, int, None] = ..., thread: Union[str, int, None] = ...,
               match: Optional[str] = ..., exclude: Optional[str] = ..., idle: Optional[str] = ...,
               gil: Optional[bool] = ..., time: Optional[_Time] = ..., steps: Optional[_Steps] = ...,
               strict: Optional[bool] = ...) -> Report: ...
    def table(self, name: str, *, columns: Optional[str] = ...,
              sort: Optional[str] = ..., group: Union[str, Sequence[str], None] = ...,
              rows: Optional[int] = ..., min_percent: Optional[float] = ...,
              library_name: Optional[str] = ..., library_substring: Optional[str] = ...,
              aggregate_leaf_paths: Optional[bool] = ..., full_filenames: Optional[bool] = ...,
              process: Union[str, int, None] = ..., thread: Union[str, int, None] = ...,
              match: Optional[str] = ..., exclude: Optional[str] = ..., idle: Optional[str] = ...,
              gil: Optional[bool] = ..., time: Optional[_Time] = ..., steps: Optional[_Steps] = ...,
              strict: Optional[bool] = ...) -> Table: ...
    def key_averages(self, *, sort: Optional[str] = ...,
                     group: Union[str, Sequence[str], None] = ..., rows: Optional[int] = ...,
                     process: Union[str, int, None] = ..., thread: Union[str, int, None] = ...,
                     time: Optional[_Time] = ..., steps: Optional[_Steps] = ...) -> Table: ...
    def content(self, name: str, *, process: Union[str, int, None] = ...,
                thread: Union[str, int, None] = ..., time: Optional[_Time] = ...,
                steps: Optional[_Steps] = ...) -> Table: ...
    def to_parquet(self, folder: _Path, contents: Optional[Sequence[str]] = ...,
                   by: Union[str, Sequence[str]] = ...) -> Dict[str, int]: ...
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

def open(path: Union[_Recording, Sequence[_Recording], Run], *, max_memory: Optional[int] = ...) -> Run: ...
