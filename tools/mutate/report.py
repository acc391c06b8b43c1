# SPDX-License-Identifier: Apache-2.0
"""Prints how many mutants the tests killed, and which survived."""

import math

from kill import Rows


def interval(part, whole):
    """Wilson's 95 % interval of a share, in percent."""
    if whole == 0:
        return 0.0, 100.0
    z, share = 1.96, part / whole
    middle = share + z * z / (2 * whole)
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    return 100 * (middle - half) / scale, 100 * (middle + half) / scale


def show(tree):
    sample = tree.sample
    programs = verdicts_of(tree, "kills-programs.jsonl")
    pytest = verdicts_of(tree, "kills-pytest.jsonl")
    judged = [one for one in sample["mutants"] if one["number"] in programs]
    print("test programs:")
    table(sample["folders"], judged, programs)
    if pytest:
        print("\npytest, on mutants that survived these:")
        table(sample["folders"], judged, pytest)
        print("\nboth:")
        for folder in sample["folders"]:
            combined(folder, [one for one in judged if one["folder"] == folder], programs, pytest)
    print("\nsurvivors:")
    for one in judged:
        verdict = pytest.get(one["number"], programs[one["number"]])
        if not verdict["killed"] and not programs[one["number"]]["killed"]:
            unreached = "" if verdict["reached"] else " (no test reaches it)"
            print(f"{one['path']}:{one['line']} {one['function']}: {one['change']}{unreached}")


def verdicts_of(tree, name):
    return {row["number"]: row for row in Rows(tree.home / name).rows}


def table(folders, judged, verdicts):
    print(f"{'folder':<10}{'mutants':>8}{'reached':>8}{'killed':>8}{'share':>8}  95 % interval")
    for folder in folders:
        line(folder, [verdicts[one["number"]] for one in judged
                      if one["folder"] == folder and one["number"] in verdicts])
    line("all", [verdicts[one["number"]] for one in judged if one["number"] in verdicts])


def line(name, verdicts):
    killed = sum(one["killed"] for one in verdicts)
    low, high = interval(killed, len(verdicts))
    share = 100 * killed / max(1, len(verdicts))
    print(f"{name:<10}{len(verdicts):>8}{sum(one['reached'] for one in verdicts):>8}{killed:>8}"
          f"{share:>7.1f}%  {low:.1f}-{high:.1f}")


def combined(folder, judged, programs, pytest):
    """The share of all mutants that either kills: the drawn survivors stand for all of them."""
    killed = sum(programs[one["number"]]["killed"] for one in judged)
    drawn = [pytest[one["number"]]["killed"] for one in judged if one["number"] in pytest]
    rest = len(judged) - killed

    def share(percent):
        return 100 * (killed + rest * percent / 100) / max(1, len(judged))

    low, high = interval(sum(drawn), len(drawn)) if len(drawn) < rest else (None, None)
    middle = share(100 * sum(drawn) / max(1, len(drawn)))
    bounds = "all survivors drawn" if low is None else f"{share(low):.1f}-{share(high):.1f}"
    print(f"{folder:<10}{middle:>7.1f}%  {bounds}")
