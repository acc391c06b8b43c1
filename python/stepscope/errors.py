# SPDX-License-Identifier: Apache-2.0
"""What stepscope.open and its results raise: Error, and a subclass for each kind of failure, such as
FormatError. Each has a status ("FORMAT") and the exit code of the program for it; some are also the
exception of Python that says the same: NotFoundError is a FileNotFoundError, UsageError a
ValueError."""

from ._reader import errors as _all

globals().update(_all)
__all__ = sorted(_all)
