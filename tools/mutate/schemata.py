# SPDX-License-Identifier: Apache-2.0
"""Texts of mutated files: with one mutant, or with many of which the environment chooses one."""

INCLUDE = b'#include "base/mutants.h"\n#line 1\n'


def one_mutant(source, site):
    """The file as if this mutant had been written into it; the numbers of the other lines stay."""
    mutated = site.mutated.encode()
    lines = source.count(b"\n", site.start, site.end) - mutated.count(b"\n")
    return source[:site.start] + mutated + b"\n" * lines + source[site.end:]


def all_mutants(source, numbered):
    """The file with each (number, site) as a choice at run time. Sites may lie in each other; the
    numbers of lines stay."""
    ordered = sorted(numbered, key=lambda one: (one[1].start, -one[1].end))
    return INCLUDE + _render(source, 0, len(source), ordered)


def _render(source, begin, end, ordered):
    out, position = [], begin
    while ordered:
        number, site = ordered[0]
        inside = [one for one in ordered[1:] if one[1].start < site.end]
        ordered = ordered[1 + len(inside):]
        before, after = site.schema(number)
        out += [source[position:site.start], before.encode(),
                _render(source, site.start, site.end, inside), after.encode()]
        position = site.end
    return b"".join(out) + source[position:end]
