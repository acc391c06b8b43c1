# SPDX-License-Identifier: Apache-2.0
"""The names of the nvtx package. Unknown colours count as none, and payloads that are not numbers
are stored as text: code that is valid for nvtx raises no exceptions here."""

import enum
import os
import sys
import threading
import time

import stepscope
from stepscope._colors import argb

__all__ = ["BatchOrdering", "Counter", "CounterInterpolation", "CounterNoValueReason",
           "CounterSemantics", "CounterValueType", "Domain", "EntryKind", "EventKind",
           "ExtCounter", "Float64Counter", "Int64Counter", "PayloadEntryType", "PredefinedScope",
           "Profile", "TimestampType", "annotate", "enabled", "end_range", "get_domain", "mark",
           "numpy_dtype", "pop_range", "push_range", "start_range"]

_ENABLED = not os.environ.get("NVTX_DISABLE")


def _fit(message, color, domain, category, payload):
    """Converts the arguments to stepscope's."""
    if color is not None:
        try:
            color = argb(color)
        except (TypeError, ValueError):
            color = None
    if not (payload is None or isinstance(payload, (int, float, str))):
        payload = repr(payload)
    if not (message is None or isinstance(message, str) or callable(message)):
        message = str(message)
    return dict(name=message, color=color, domain=None if domain is None else str(domain),
                category=None if category is None else str(category), payload=payload)


class _Nothing:
    """annotate() if NVTX_DISABLE is set."""

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return False

    def __call__(self, function):
        return function


def annotate(message=None, color=None, domain=None, category=None, payload=None):
    """nvtx.annotate: context manager and decorator."""
    if not _ENABLED:
        return message if callable(message) else _Nothing()
    return stepscope.annotate(**_fit(message, color, domain, category, payload))


def push_range(message=None, color="blue", domain=None, category=None, payload=None):
    """Opens a range of the calling thread."""
    if _ENABLED:
        stepscope.push(**_fit(message, color, domain, category, payload))


def pop_range(domain=None):
    """Closes the calling thread's innermost range of the domain."""
    if _ENABLED:
        stepscope.pop(None if domain is None else str(domain))


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a range that any thread may end with end_range(result)."""
    if _ENABLED:
        return stepscope.begin(**_fit(message, color, domain, category, payload))
    return None


def end_range(range_id):
    """Closes a range of start_range; None does nothing."""
    if range_id is not None:
        stepscope.end(range_id)


def mark(message=None, color="blue", domain=None, category=None, payload=None):
    """A moment: now."""
    if _ENABLED:
        stepscope.mark(**_fit(message, color, domain, category, payload))


def enabled():
    """Whether annotations work, which NVTX_DISABLE prevents. As in nvtx, independent of a
    recording."""
    return _ENABLED


# --- domains -------------------------------------------------------------------------------------

class _Attributes:
    """The result of Domain.get_event_attributes; each attribute may be set."""

    __slots__ = ("message", "color", "category", "payload")

    def __init__(self, message=None, color=None, category=None, payload=None):
        self.message, self.color = message, color
        self.category, self.payload = category, payload


class Domain:
    """nvtx.Domain: ranges from existing attributes, or from keywords."""

    def __init__(self, name=None):
        self.name = name

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        return _Attributes(message, color, category, payload)

    def set_event_attributes(self, attributes, **changes):
        for name, value in changes.items():
            setattr(attributes, name, value)

    def get_registered_string(self, string):
        return string

    def get_category_id(self, name):
        return name

    def _arguments(self, attributes, changes):
        if attributes is None:
            attributes = _Attributes(**changes)
        elif changes:
            self.set_event_attributes(attributes, **changes)
        return (attributes.message, attributes.color, self.name, attributes.category,
                attributes.payload)

    def push_range(self, attributes=None, **changes):
        push_range(*self._arguments(attributes, changes))

    def pop_range(self):
        pop_range(self.name)

    def start_range(self, attributes=None, **changes):
        return start_range(*self._arguments(attributes, changes))

    def end_range(self, range_id):
        end_range(range_id)

    def mark(self, attributes=None, **changes):
        mark(*self._arguments(attributes, changes))

    def get_counter(self, name, dtype, *, description=None, scope=None, semantics=None,
                    time_domain=None):
        """A counter "DOMAIN/NAME" of the type `dtype`: int, float, or a NumPy dtype, each field of
        which is a separate counter."""
        kind = {int: Int64Counter, float: Float64Counter}.get(dtype, ExtCounter)
        return kind(self, name, dtype, description, scope, semantics, time_domain)

    def get_timestamp(self):
        """A time for batch_submit, in ns."""
        return time.perf_counter_ns()


_domains = {}


def get_domain(name=None):
    """The domain of this name."""
    return _domains.setdefault(name, Domain(name))


# --- counters ------------------------------------------------------------------------------------

def _text(name):
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


class Counter:
    """nvtx.Counter, from Domain.get_counter."""

    def __init__(self, domain, name, dtype, description=None, scope=None, semantics=None,
                 time_domain=None):
        self.domain, self.name, self.dtype = domain, name, dtype
        self.description, self.scope = description, scope
        self.semantics, self.time_domain = semantics, time_domain
        prefix = "" if domain.name is None else f"{domain.name}/"
        self._name = prefix + _text(name)
        unit = getattr(semantics, "unit", None)
        self._unit = None if unit is None else _text(unit)
        is_delta = getattr(semantics, "value_type", None) is CounterValueType.DELTA
        self._kind = "delta" if is_delta else "gauge"

    def _count(self, name, value):
        if _ENABLED:
            stepscope.counter(name, value, self._unit, self._kind)

    def sample(self, value):
        """A value, now."""
        self._count(self._name, value)

    def sample_no_value(self, reason):
        """Zero is recorded; unchanged and unknown values are not."""
        if reason is CounterNoValueReason.ZERO:
            self.sample(0)

    def batch_submit(self, values, timestamps):
        """All values, at the time of this call: only the order of the timestamps is kept."""
        for _, value in sorted(zip(timestamps, values), key=lambda pair: pair[0]):
            self.sample(value)


class Int64Counter(Counter):
    """Whole numbers."""


class Float64Counter(Counter):
    """Real numbers."""


class ExtCounter(Counter):
    """Of a NumPy dtype; with fields, a group."""

    def _fields(self):
        import numpy
        return numpy.dtype(self.dtype).names

    def sample(self, value):
        fields = self._fields()
        if fields is None:
            self._count(self._name, value)
            return
        parts = value if isinstance(value, (tuple, list)) else [value[field] for field in fields]
        for field, part in zip(fields, parts):
            self._count(f"{self._name}/{field}", part)

    def sample_no_value(self, reason):
        if reason is CounterNoValueReason.ZERO:
            fields = self._fields()
            self.sample(0 if fields is None else (0,) * len(fields))


class CounterSemantics:
    """The meaning of a counter's values; only unit and `value_type` DELTA are used."""

    def __init__(self, unit=None, value_type=None, interpolation=None, min=None, max=None,
                 unit_scale_numerator=1, unit_scale_denominator=1):
        self.unit = unit
        self.value_type = CounterValueType.ABSOLUTE if value_type is None else value_type
        self.interpolation = CounterInterpolation.POINT if interpolation is None else interpolation
        self.min, self.max = min, max
        self.unit_scale_numerator = unit_scale_numerator
        self.unit_scale_denominator = unit_scale_denominator


def numpy_dtype(*args, counter_semantics=None, entry_kind=None, entry_type=None, **kwargs):
    """numpy.dtype(…), without nvtx's additions."""
    import numpy
    return numpy.dtype(*args, **kwargs)


# --- names with numbers --------------------------------------------------------------------------

def _choices(title, **values):
    return enum.Enum(title, values, module=__name__)


BatchOrdering = _choices("BatchOrdering", SORTED=0, PARTIALLY_SORTED=2, SORTED_PER_SCOPE=4,
                         UNSORTED=6)
CounterInterpolation = _choices("CounterInterpolation", POINT=1 << 8, SINCE_LAST=2 << 8,
                                UNTIL_NEXT=3 << 8, LINEAR=4 << 8)
CounterNoValueReason = _choices("CounterNoValueReason", ZERO=0, UNCHANGED=1, UNAVAILABLE=2)
CounterValueType = _choices("CounterValueType", ABSOLUTE=1 << 4, DELTA=2 << 4,
                            DELTA_SINCE_START=3 << 4)
EntryKind = _choices("EntryKind", RANGE_BEGIN=1 << 12 | 2 << 10, RANGE_END=2 << 12 | 2 << 10,
                     MARK=3 << 12 | 2 << 10, MESSAGE=1 << 10, COUNTER_TIMESTAMP=2 << 10)
EventKind = _choices("EventKind", MARK=4 << 3, RANGE_PUSHPOP=2 << 3, RANGE_STARTEND=3 << 3,
                     RANGE_PUSH=5 << 3, RANGE_POP=6 << 3, RANGE_START=7 << 3, RANGE_END=8 << 3)
PayloadEntryType = _choices("PayloadEntryType", RANGE_ID=67, CATEGORY=68, COLOR_ARGB=69,
                            SCOPE_ID=70, REGISTERED_STRING=80)
PredefinedScope = _choices(
    "PredefinedScope", NONE=0, ROOT=1, CURRENT_HW_MACHINE=2, CURRENT_HW_SOCKET=3,
    CURRENT_HW_CPU_PHYSICAL=4, CURRENT_HW_CPU_LOGICAL=5, CURRENT_HW_INNERMOST=15,
    CURRENT_HYPERVISOR=16, CURRENT_VM=17, CURRENT_KERNEL=18, CURRENT_CONTAINER=19, CURRENT_OS=20,
    CURRENT_SW_PROCESS=21, CURRENT_SW_THREAD=22, CURRENT_SW_INNERMOST=31)
TimestampType = _choices(
    "TimestampType", NONE=0, TOOL_PROVIDED=1, CPU_TSC=10, CPU_TSC_NONVIRTUALIZED=11,
    CPU_CLOCK_GETTIME_REALTIME=12, CPU_CLOCK_GETTIME_REALTIME_COARSE=13,
    CPU_CLOCK_GETTIME_MONOTONIC=14, CPU_CLOCK_GETTIME_MONOTONIC_RAW=15,
    CPU_CLOCK_GETTIME_MONOTONIC_COARSE=16, CPU_CLOCK_GETTIME_BOOTTIME=17,
    CPU_CLOCK_GETTIME_PROCESS_CPUTIME_ID=18, CPU_CLOCK_GETTIME_THREAD_CPUTIME_ID=19, WIN_QPC=30,
    WIN_GSTAFT=31, WIN_GSTAFTP=32, C_TIME=40, C_CLOCK=41, C_TIMESPEC_GET=42, CPP_STEADY_CLOCK=50,
    CPP_HIGH_RESOLUTION_CLOCK=51, CPP_SYSTEM_CLOCK=52, CPP_UTC_CLOCK=53, CPP_TAI_CLOCK=54,
    CPP_GPS_CLOCK=55, CPP_FILE_CLOCK=56, GPU_GLOBALTIMER=80)


# --- every call ----------------------------------------------------------------------------------

class Profile:
    """nvtx.Profile: each call between enable() and disable() is a range of the domain "nvtx.py",
    in this thread and in those that begin then. stepscope.profile_functions costs less."""

    _DOMAIN = "nvtx.py"

    def __init__(self, linenos=True, annotate_cfuncs=True):
        self.linenos = linenos
        self.annotate_cfuncs = annotate_cfuncs

    def _profile(self, frame, event, arg):
        if event == "call":
            code = frame.f_code
            name = code.co_name
            if self.linenos:
                name = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}({name})"
            stepscope.push(name, domain=self._DOMAIN)
        elif event == "return":
            stepscope.pop(self._DOMAIN)
        elif self.annotate_cfuncs:
            if event == "c_call":
                stepscope.push(arg.__name__, domain=self._DOMAIN)
            else:
                stepscope.pop(self._DOMAIN)

    def enable(self):
        """From now on."""
        if _ENABLED:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def disable(self):
        """No more."""
        if _ENABLED:
            sys.setprofile(None)
            threading.setprofile(None)
