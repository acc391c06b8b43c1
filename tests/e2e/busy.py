# SPDX-License-Identifier: Apache-2.0
"""What a test of real time says where other programs use the cores: a program that waits for a core
spends its time in another way than it was made to. tests/run repeats what is skipped with a reason that
begins with "the machine is busy": if it passes alone, it is unstable."""

import contextlib
import functools
import os

import pytest


def is_busy():
    return os.getloadavg()[0] > len(os.sched_getaffinity(0))


@contextlib.contextmanager
def unless(busy):
    """What is asserted within need not hold if `busy`: the test is then skipped."""
    try:
        yield
    except AssertionError:
        if busy:
            pytest.skip("the machine is busy: other programs use the cores")
        raise


def unless_busy(test):
    """A test that need not hold while other programs use the cores."""
    @functools.wraps(test)
    def wrapper(*arguments, **named):
        with unless(is_busy()):
            test(*arguments, **named)
    return wrapper
