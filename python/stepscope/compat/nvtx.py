# SPDX-License-Identifier: Apache-2.0
"""The names of the nvtx package. Colours that stepscope does not know count as none, payloads that
are no number are kept as text: code that was right for nvtx raises nothing here."""

import stepscope
from stepscope._colors import argb

__all__ = ["Domain", "annotate", "enabled", "end_range", "get_domain", "mark", "pop_range",
           "push_range", "start_range"]


def _fit(message, color, domain, category, payload):
    """The arguments as stepscope takes them."""
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


def annotate(message=None, color=None, domain=None, category=None, payload=None):
    """nvtx.annotate: context manager and decorator."""
    return stepscope.annotate(**_fit(message, color, domain, category, payload))


def push_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a range of the calling thread."""
    stepscope.push(**_fit(message, color, domain, category, payload))


def pop_range(domain=None):
    """Closes the calling thread's innermost range of the domain."""
    stepscope.pop(None if domain is None else str(domain))


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a range that any thread may end with end_range(what this returns)."""
    return stepscope.begin(**_fit(message, color, domain, category, payload))


def end_range(range_id):
    """Closes a range of start_range."""
    stepscope.end(range_id)


def mark(message=None, color=None, domain=None, category=None, payload=None):
    """Something that happens now."""
    stepscope.mark(**_fit(message, color, domain, category, payload))


def enabled():
    """Whether annotations work here; as nvtx has it, not whether somebody records."""
    return True


class _Attributes:
    __slots__ = ("message", "color", "category", "payload")

    def __init__(self, message=None, color=None, category=None, payload=None):
        self.message, self.color = message, color
        self.category, self.payload = category, payload


class Domain:
    """nvtx.Domain: ranges from attributes that were made once."""

    def __init__(self, name=None):
        self.name = name

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        return _Attributes(message, color, category, payload)

    def get_registered_string(self, string):
        return string

    def get_category_id(self, name):
        return name

    def _arguments(self, attributes):
        return (attributes.message, attributes.color, self.name, attributes.category,
                attributes.payload)

    def push_range(self, attributes):
        push_range(*self._arguments(attributes))

    def pop_range(self):
        pop_range(self.name)

    def start_range(self, attributes):
        return start_range(*self._arguments(attributes))

    def end_range(self, range_id):
        end_range(range_id)

    def mark(self, attributes):
        mark(*self._arguments(attributes))


_domains = {}


def get_domain(name=None):
    """The domain of this name."""
    return _domains.setdefault(name, Domain(name))
