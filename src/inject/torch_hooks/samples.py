# SPDX-License-Identifier: Apache-2.0
"""The samples of a data set one by one, where some of them may be much slower than the others."""

import operator

from .guard import Hook, is_of_signal
from .libstepscope import define_name, pop, push
from .state import LOADING

_SAMPLE = define_name("sample")
NUMBER_BITS = 64           # of a payload, with its sign
_MOST_SAMPLES = 2000       # of a process, whose times are recorded
_LEAST_SAMPLE_NS = 50_000  # cheaper ones are not worth a range
_FEWEST_LONG_FETCHES = 3


def ask(function, *args):
    """What a function finds of objects of the program; None: they have no such thing, or raise."""
    try:
        return function(*args)
    except Exception as error:  # noqa: any exception
        if is_of_signal(error):
            raise
        return None


def push_counted(name, number):
    """Begins a range; the number, unless None, is its payload."""
    return push(LOADING, name) if number is None else push(LOADING, name, number)


class _Samples:
    """A data set within one fetch: its samples are ranges, with their index."""
    hook = Hook("dataset")

    def __init__(self, inner):
        self.inner = inner

    def __getitem__(self, index):
        pushed, hook = False, _Samples.hook
        try:
            pushed = hook.is_on and push_counted(_SAMPLE, ask(_index_of, index))
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                raise
        try:
            return self.inner[index]
        finally:
            if pushed:
                try:
                    pop(LOADING)
                except Exception as error:  # noqa: any exception
                    if not hook.failed(error):
                        raise

    def __getattr__(self, name):
        return getattr(self.inner, name)


def _index_of(index):
    number = operator.index(index)
    return number if number.bit_length() < NUMBER_BITS else None


class _Tail:
    """Whether the samples of a fetch become ranges: where fetches of this process take different times,
    a few samples may be much slower than the others. If two threads fetch, a fetch counts for either."""
    shortest_ns = 0    # of a sample, as the mean of a fetch; 0: there was no fetch
    long_fetches = 0   # that took twice as long for each sample
    left = _MOST_SAMPLES


def observe_duration(samples, ns):
    each_ns = ns // samples
    if _Tail.shortest_ns == 0 or each_ns < _Tail.shortest_ns:
        _Tail.shortest_ns = each_ns
    if each_ns >= 2 * _Tail.shortest_ns and each_ns >= _LEAST_SAMPLE_NS:
        _Tail.long_fetches += 1


def time_samples(fetcher, samples):
    """Returns the data set that the fetcher has before; None: it is not timed."""
    own = vars(fetcher)
    dataset = own.get("dataset")
    if (_Tail.left < samples or _Tail.long_fetches < _FEWEST_LONG_FETCHES or dataset is None or
            hasattr(dataset, "__getitems__")):
        return None
    _Tail.left -= samples
    own["dataset"] = _Samples(dataset)
    return dataset
