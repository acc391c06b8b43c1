# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar, Union

import composer.profiler
from composer import Callback
from composer.core import State
from composer.profiler import ProfilerAction, TraceHandler
from stepscope import Schedule, Window
from stepscope import cyclic_schedule as cyclic_schedule

_F = TypeVar("_F", bound=Callable[..., Any])
_Path = Union[str, "os.PathLike[str]"]
_Handler = Union[JSONTraceHandler, TraceHandler, Callable[[Window], Any]]
_Names = Union[List[str], Tuple[str, ...]]

class StepscopeCallback(Callback):
    def __init__(self, phases: bool = ...) -> None: ...

class JSONTraceHandler:
    options: Dict[str, Any]
    merged: Optional[str]
    def __init__(self, folder: str = ..., filename: str = ..., *,
                 merged_trace_filename: Optional[str] = ..., num_traces_to_keep: int = ...,
                 overwrite: bool = ...) -> None: ...

class Profiler(composer.profiler.Profiler):
    def __init__(self, schedule: Union[Schedule, str, Callable[[State], ProfilerAction]],
                 trace_handlers: Union[_Handler, Sequence[_Handler]] = ..., *,
                 output_path: Optional[_Path] = ..., trace_file: Optional[_Path] = ...,
                 num_traces_to_keep: Optional[int] = ..., overwrite: Optional[bool] = ...,
                 rate: Optional[float] = ..., json: Union[bool, str, None] = ...,
                 **others: Any) -> None: ...
    def bind_to_state(self, state: State) -> None: ...
    def post_close(self) -> None: ...
    def marker(self, name: str, actions: Sequence[ProfilerAction] = ...,  # type: ignore[override]
               record_instant_on_start: bool = ..., record_instant_on_finish: bool = ...,
               categories: _Names = ...) -> _Marker: ...

class _Marker:
    name: str
    categories: Tuple[str, ...]
    def start(self) -> None: ...
    def finish(self) -> None: ...
    def instant(self) -> None: ...
    def counter(self, values: Dict[str, float]) -> None: ...
    def __enter__(self) -> _Marker: ...
    def __exit__(self, *raised: Any) -> None: ...
    def __call__(self, function: Optional[_F] = ...) -> Any: ...
