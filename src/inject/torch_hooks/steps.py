# SPDX-License-Identifier: Apache-2.0
"""Where steps end: which optimizer's updates end them, and what happens at the end of one."""

import weakref

from .devices import poll_devices
from .facts import record_rank, record_threads
from .flops import begin_counting, counting, end_counting
from .guard import attempt, callback
from .late import scan_modules
from .libstepscope import (claim_steps, count_updates, current_recording, end_step, forget_calls,
                           is_poll_due, set_step_source)
from .settings import settings
from .state import state

_LATE_UPDATES = 24  # alternating optimizers, as of a critic and an actor, have all stepped by then


def mark_end_of_step():
    """Returns whether the next end, if nothing is polled, does nothing but to end the step."""
    count_updates(1)
    counts_flops = counting.left != 0 or counting.recording != current_recording()
    if counts_flops:
        attempt(begin_counting)
    end_step()
    if is_poll_due():
        forget_calls()  # so that the next one polls
        attempt(scan_modules)
        attempt(record_threads)
        attempt(record_rank)
        if current_recording():
            attempt(poll_devices)
    if counts_flops:
        attempt(end_counting)
    return not counts_flops


# --- the optimizers of the process ----------------------------------------------------------------

class _Reference(weakref.ref):
    __slots__ = "number", "id"


class _Registry:
    """All optimizers, numbered as they are made. `state.lock` guards changes, except for removals."""
    count = 0   # number of optimizers made so far
    made = {}   # references by id


def _forget(reference):
    _Registry.made.pop(reference.id, None)


_forget_guarded = callback(_forget, "deleted optimizer")


def register_optimizer(optimizer):
    """Also called when its state is loaded."""
    with state.lock:
        if id(optimizer) not in _Registry.made:
            reference = _Reference(optimizer, _forget_guarded)
            _Registry.count += 1
            reference.number, reference.id = _Registry.count, id(optimizer)
            _Registry.made[reference.id] = reference
            forget_calls()


def count_of_optimizers():
    return _Registry.count


def live_optimizers():
    optimizers = [reference() for reference in list(_Registry.made.values())]
    return [optimizer for optimizer in optimizers if optimizer is not None]


def _number_of(optimizer):
    """0: it is not registered, as an optimizer of a framework."""
    reference = _Registry.made.get(id(optimizer))
    return reference.number if reference is not None else 0


# --- the optimizer that ends steps ----------------------------------------------------------------

class _Boundary:
    """The optimizer whose updates end steps, as weak references. Each update reads this without a
    lock and stores single values. A selection is made under `state.lock`, if there was no other
    since it was decided. The loss of `other` or `has_others` to another thread's store delays a
    selection by a step."""
    optimizer = None        # None: no optimizer has stepped
    previous = None         # the optimizer that it replaced
    made_before = 0         # number of optimizers that were made before it was selected
    updates_before = 0      # `state.updates` when it was selected
    is_outer = False        # it stepped again after another had replaced it
    other = None            # the last other optimizer that stepped; None: `optimizer` has since
    has_others = False      # another optimizer has stepped since it was selected


def _target(reference):
    return reference() if reference is not None else None


def reset_boundary():
    with state.lock:
        _Boundary.optimizer = _Boundary.previous = None
    forget_calls()


def is_boundary(optimizer):
    """Whether updates of this optimizer end steps: of several, those of the first that steps, until
    it is deleted or one made later (for the next model) steps. If the first then steps again, it
    belongs to an outer loop, and ends steps again."""
    reference = _Boundary.optimizer
    current = reference() if reference is not None else None
    if current is optimizer:
        _Boundary.other = None
        return True
    if settings.optimizer is not None and settings.optimizer != type(optimizer).__name__:
        return False
    is_back = current is not None and _target(_Boundary.previous) is optimizer
    if current is not None and not is_back and (
            _Boundary.is_outer or _number_of(optimizer) <= _Boundary.made_before):
        return False
    return _select(optimizer, reference, is_back)


def _select(optimizer, replaced, is_back=False):
    """`replaced`: the reference by which this was decided. If another thread has selected one since,
    the next update decides again."""
    with state.lock:
        if _Boundary.optimizer is not replaced:
            return False
        is_nested = _target(replaced) is not None and not is_back
        _Boundary.is_outer = is_back
        _Boundary.previous = replaced if is_nested else None
        _Boundary.optimizer = weakref.ref(optimizer)
        _Boundary.made_before = _Registry.count
        _Boundary.updates_before = state.updates
        _Boundary.other = None
        _Boundary.has_others = False
    forget_calls()
    claim_steps()
    set_step_source("optimizer " + type(optimizer).__name__)
    return True


def _takes_over(optimizer):
    """Layers, or models, may be trained one after the other by optimizers that were made before all
    of them. Another optimizer takes over when it steps twice without a step of the current one; or
    when it first steps after so many updates that no loop has both."""
    reference = _Boundary.optimizer
    if _Boundary.is_outer or _number_of(optimizer) == 0 or (
            settings.optimizer is not None and settings.optimizer != type(optimizer).__name__):
        return False
    is_late = (not _Boundary.has_others
               and state.updates - _Boundary.updates_before >= _LATE_UPDATES)
    _Boundary.has_others = True
    forget_calls()  # the next update of the current one drops `other`
    if not is_late and _target(_Boundary.other) is not optimizer:
        _Boundary.other = weakref.ref(optimizer)
        return False
    return _select(optimizer, reference)


def ends_step(optimizer):
    """An optimizer may be of any class: without support of weak references it ends no steps."""
    try:
        return is_boundary(optimizer) or _takes_over(optimizer)
    except TypeError:
        return False
