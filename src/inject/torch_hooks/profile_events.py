# SPDX-License-Identifier: Apache-2.0
"""Events of torch.profiler in the form in which the recorder reads them
(src/source/torch_profile.h)."""

import array
import json
import threading

import torch
import torch.autograd.profiler

_MOST_EVENTS = 500000  # of a window: torch needs some 20 us for each, and this file 5
_MOST_FRAMES = 32      # of a stack
_MOST_LETTERS = 400    # of a frame
_MOST_NUMBERS = 64     # of a value passed to an operator
_MOST_BYTES = 12000    # of a list in the form of JSON: the recorder stores no longer ones
_COLUMNS = 8           # of a row
(_OPERATOR_EVENT, _BACKWARD_EVENT, _SCOPE_EVENT, _RUNTIME_EVENT, _DEVICE_EVENT,
 _MEMORY_EVENT, _DEVICE_SCOPE_EVENT) = range(7)
_CALLS = _OPERATOR_EVENT, _BACKWARD_EVENT, _SCOPE_EVENT
_KINDS = {1: _BACKWARD_EVENT, 7: _SCOPE_EVENT}  # by torch's scopes
_ACTIVITIES = {"cuda_runtime": _RUNTIME_EVENT, "cuda_driver": _RUNTIME_EVENT,
               "xpu_runtime": _RUNTIME_EVENT, "privateuse1_runtime": _RUNTIME_EVENT,
               "privateuse1_driver": _RUNTIME_EVENT, "overhead": _SCOPE_EVENT}
_RUNTIMES = ("cuda", "cuLaunch", "cuMem", "cuStream", "cuEvent", "hip")  # of a torch without activities
_METADATA = ("bytes", "grid", "block", "registers per thread", "shared memory", "blocks per SM",
             "warps per SM", "est. achieved occupancy %", "graph id", "graph node id",
             "Collective name", "Group size", "In msg nelems", "dtype", "Process Group Name",
             "Seq")  # of the work of devices


class Texts:
    """Numbers of texts, from 1, in the order of their first use. The empty text has 0."""

    def __init__(self):
        self.numbers = {"": 0}

    def put(self, text):
        return self.numbers.setdefault(text, len(self.numbers))

    def bytes(self):
        texts = [text.encode("utf-8", "replace") for text in self.numbers][1:]
        return array.array("q", map(len, texts)).tobytes() + b"".join(texts)


def _input(value):
    """A number or a list of numbers as torch's own traces write it; other values, which are data of
    the program, have no text."""
    is_list = isinstance(value, list)
    numbers = value if is_list else [value]
    if len(numbers) > _MOST_NUMBERS or not all(isinstance(one, (bool, int, float)) for one in numbers):
        return ""
    return str(value)


def _list(name, values):
    """A member of a JSON object; None: it would be too long."""
    text = f'"{name}":' + json.dumps(values, separators=(",", ":"))
    return text if len(text) <= _MOST_BYTES else None


class Rows:
    """A row of eight numbers for each event. Attributes that this torch's events lack are omitted."""

    def __init__(self, events, details):
        self.texts, self.numbers, self.omitted = Texts(), array.array("q"), 0
        self._shapes, self._flops, self._stacks = (
            kind in details for kind in ("shapes", "flops", "stacks"))
        one = type(events[0]) if events else None
        self._begin = getattr(one, "start_ns", None) or (lambda event: event.start_us() * 1000)
        self._length = getattr(one, "duration_ns", None) or (
            lambda event: event.duration_us() * 1000)
        self._activity = getattr(one, "activity_type", None) or (lambda event: "")
        self._is_annotation = getattr(one, "is_user_annotation", None) or (lambda event: False)
        self._correlation = getattr(one, "correlation_id", None) or (lambda event: 0)
        self._types = getattr(one, "dtypes", None) or (lambda event: ())
        self._inputs = getattr(one, "concrete_inputs", None) or (lambda event: ())
        self._metadata = getattr(one, "metadata_json", None) or (lambda event: "")
        self._is_hidden = [test for test in (getattr(one, name, None) for name in (
            "is_python_function", "is_hidden_event")) if test]
        cpu = getattr(getattr(torch._C, "_autograd", None), "DeviceType", None)
        self._cpu = cpu.CPU if cpu is not None else torch.autograd.DeviceType.CPU
        # A torch without Kineto has no thread ids but numbers of its own: that of this thread.
        self._is_numbered = not torch.autograd.kineto_available()
        self._own_number = events[0].start_thread_id() if events else 0
        for event in events:
            if self.count() >= _MOST_EVENTS:
                self.omitted += len(events) - _MOST_EVENTS
                break
            self._add(event)

    def count(self):
        return len(self.numbers) // _COLUMNS

    def _lane(self, event):
        """A thread's id, or a device's stream."""
        if not self._is_numbered:
            return event.device_resource_id()
        return threading.get_native_id() if event.start_thread_id() == self._own_number else 0

    def _kind_of(self, event, name, on_cpu):
        if not on_cpu:
            return _DEVICE_SCOPE_EVENT if self._is_annotation(event) else _DEVICE_EVENT
        activity = self._activity(event)
        if activity in _ACTIVITIES:
            return _ACTIVITIES[activity]
        if not activity and event.scope() == 0 and name.startswith(_RUNTIMES) and "::" not in name:
            return _RUNTIME_EVENT
        return _KINDS.get(event.scope(), _OPERATOR_EVENT)

    def _add(self, event):
        name = event.name()
        lane = self._lane(event)
        if lane == 0 and self._is_numbered:
            self.omitted += 1
            return
        on_cpu = event.device_type() == self._cpu
        if name == "[memory]":
            self.numbers.extend((_MEMORY_EVENT, 0, 0, lane, self._begin(event), 0,
                                 0 if on_cpu else 1, event.nbytes()))
            return
        if name == "[OutOfMemory]" or any(test(event) for test in self._is_hidden):
            return
        kind = self._kind_of(event, name, on_cpu)
        self.numbers.extend((kind, self.texts.put(name), self._details_of(event, kind), lane,
                             self._begin(event), self._length(event),
                             0 if on_cpu else event.device_index(),
                             self._number_of(event, kind, name)))

    def _number_of(self, event, kind, name):
        """Of forward operators and nodes the sequence number, which torch gives to a node's callers,
        too; of calls of the runtime and of the work that they submit the correlation."""
        if kind in (_RUNTIME_EVENT, _DEVICE_EVENT):
            return self._correlation(event)
        if kind not in _CALLS or name.startswith("autograd::engine::"):
            return -1
        return event.sequence_nr()

    def _details_of(self, event, kind):
        """Members of a JSON object."""
        members = []
        if kind == _DEVICE_EVENT:
            members = self._metadata_of(event)
        elif kind in _CALLS:
            shapes = event.shapes() if self._shapes else None
            flops = event.flops() if self._flops else 0
            stack = event.stack() if self._stacks else None
            if shapes:
                members.append(_list("shapes", shapes))
                members.append(_list("types", list(self._types(event))))
                members.append(_list("inputs", list(map(_input, self._inputs(event)))))
            if flops:
                members.append(f'"flops":{flops}')
            if stack:
                stack = [frame[:_MOST_LETTERS] for frame in list(stack)[:_MOST_FRAMES]]
                members.append('"stack":' + json.dumps(stack, ensure_ascii=False))
        return self.texts.put(",".join(filter(None, members)))

    def _metadata_of(self, event):
        """Members of a JSON object, in which Kineto's text may lack the braces."""
        text = self._metadata(event)
        try:
            metadata = json.loads(text if text.startswith("{") else "{" + text + "}")
        except ValueError:
            return []
        return [f"{json.dumps(key)}:{json.dumps(metadata[key])}" for key in _METADATA
                if metadata.get(key)]
