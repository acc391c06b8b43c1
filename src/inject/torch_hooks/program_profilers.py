# SPDX-License-Identifier: Apache-2.0
"""Profilers that the program runs itself: what they do to start, stop, export and merge is the phase
"profiler", and the time in which torch.profiler keeps its events in memory is a counter. Neither is
a fault of the training."""

import torch
import torch.autograd.profiler
import torch.profiler

from .guard import around, around_untraced, replace
from .late import when_imported
from .libstepscope import count, current_phase, define_counter, enter_phase, leave_phase
from .names import COUNTER_PROFILER_RECORDS
from .phases import in_phase
from .state import PROFILER

_RECORDS = define_counter(COUNTER_PROFILER_RECORDS, "")

_in_profiler = in_phase(PROFILER)

# Methods and functions by class or module. `start`, `stop` and `step` of torch.profiler.profile do
# all that takes time in `_transit_action`, the handler of a finished trace included.
_KINETO = ("prepare_trace", "start_trace", "stop_trace", "export_chrome_trace", "export_stacks",
           "export_memory_timeline", "key_averages", "events")
_AUTOGRAD = ("_prepare_trace", "_start_trace", "__enter__", "__exit__", "export_chrome_trace",
             "export_stacks", "key_averages", "table", "total_average", "__str__")
_EVENTS = ("table", "export_chrome_trace", "export_stacks", "key_averages", "total_average",
           "__str__")


def _wrap(owner, names):
    for name in names:
        if name in vars(owner):
            replace(owner, name, _in_profiler, is_second=True)


# --- torch.profiler -------------------------------------------------------------------------------

def _begin_transition(args, kwargs):
    """A transition may have nothing to do, as between two recorded steps."""
    profiler, *actions = args
    if current_phase() == PROFILER or not profiler.action_map.get(tuple(actions)):
        return None
    return enter_phase(PROFILER)


def _on_start(args, kwargs):
    """Without activities, it emits ranges for another tool and keeps nothing."""
    if len(args) > 1 and args[1]:
        count(_RECORDS, 1)


def _on_stop(args, kwargs):
    count(_RECORDS, 0)


def hook_program_profilers():
    _wrap(torch.profiler.profiler._KinetoProfile, _KINETO)
    replace(torch.profiler.profile, "_transit_action", around(_begin_transition, leave_phase))
    _wrap(torch.autograd.profiler.profile, _AUTOGRAD)
    _wrap(torch.autograd.profiler_util.EventList, _EVENTS)
    module = torch.autograd.profiler
    replace(module, "_enable_profiler", around_untraced(_on_start), is_second=True)
    replace(module, "_disable_profiler", around_untraced(_on_stop), is_second=True)


# --- others ---------------------------------------------------------------------------------------

@when_imported("torch.cuda.memory")
def hook_memory_snapshots(module):
    _wrap(module, ("_dump_snapshot", "_snapshot", "_record_memory_history"))


@when_imported("composer.profiler.json_trace_handler")
def hook_composer_traces(module):
    """Its handler writes a file at the end of a window, and merges all files at the end."""
    _wrap(module.JSONTraceHandler, ("batch_end", "close", "fit_end"))


@when_imported("line_profiler.line_profiler")
def hook_line_profiler(module):
    _wrap(module.LineProfiler, ("print_stats", "dump_stats"))
