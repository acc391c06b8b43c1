# SPDX-License-Identifier: Apache-2.0
"""python -m stepscope.ncu_rep REPORT.ncu-rep > kernels.csv

Writes the kernels and metrics of a report of Nsight Compute as `ncu --csv --page raw` does, which
stepscope reads. Needs NVIDIA's package ncu-report (pip install ncu-report), but no GPU and no ncu."""

import csv
import io
import os
import sys

_COLUMNS = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
            "Block Size", "Grid Size", "Device", "CC")


def _actions(report):
    """The measured kernels, graphs and ranges, in their order."""
    for i in range(report.num_ranges()):
        part = report.range_by_idx(i)
        for k in range(part.num_actions()):
            yield part.action_by_idx(k)


def _text(value):
    """A float that is a whole number has no decimals; None: the report has no value."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


def _value(action, name):
    metric = action.metric_by_name(name)
    return "" if metric is None else _text(metric.value())


def _size(action, what):
    sizes = [_value(action, f"launch__{what}_dim_{axis}") for axis in "xyz"]
    return f"({', '.join(sizes)})" if all(sizes) else ""


def _columns(number, action, demangled):
    capability = [_value(action, f"device__attribute_compute_capability_{part}")
                  for part in ("major", "minor")]
    return [number, "", "", "", action.name(demangled), _value(action, "launch__context_id"),
            _value(action, "launch__stream_id"), _size(action, "block"), _size(action, "grid"),
            _value(action, "launch__device_id"), ".".join(capability) if all(capability) else ""]


def write_csv(report, demangled, file):
    """report: of ncu_report.load_report(). demangled: the base of names. Returns the number of rows
    of kernels. Each metric that any of them has is a column; its unit is in the second row."""
    actions = list(_actions(report))
    units = {}
    for action in actions:
        for name in action.metric_names():
            units[name] = units.get(name) or action.metric_by_name(name).unit()
    names = sorted(units)
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow([*_COLUMNS, *names])
    writer.writerow([*[""] * len(_COLUMNS), *[units[name] for name in names]])
    for number, action in enumerate(actions):
        writer.writerow([*_columns(number, action, demangled),
                         *[_value(action, name) for name in names]])
    return len(actions)


def is_report(path):
    """Whether a regular file begins as reports of Nsight Compute do."""
    try:
        with open(path, "rb") if os.path.isfile(path) else io.BytesIO() as file:
            return file.read(4) == b"NVR\0"
    except OSError:
        return False


def convert(path, file):
    """Writes the table of a report to a text file and returns its number of kernels. Raises
    ImportError without ncu_report, and whatever ncu_report raises for a file that it cannot read."""
    import ncu_report
    report = ncu_report.load_report(os.fspath(path))
    return write_csv(report, ncu_report.IAction.NameBase_DEMANGLED, file)


def main(arguments):
    """The exit status of the command."""
    if len(arguments) != 1:
        print("usage: python -m stepscope.ncu_rep REPORT.ncu-rep > kernels.csv", file=sys.stderr)
        return 2
    try:
        kernels = convert(arguments[0], sys.stdout)
    except ImportError as error:
        print(f"stepscope.ncu_rep: cannot read reports of Nsight Compute: {error}; install NVIDIA's "
              "package: pip install ncu-report", file=sys.stderr)
        return 4
    except Exception as error:  # ncu_report has no types of its own
        print(f"stepscope.ncu_rep: cannot read {arguments[0]}: {error}", file=sys.stderr)
        return 4
    if kernels == 0:  # the module reads a report that was cut as an empty one
        print(f"stepscope.ncu_rep: {arguments[0]} holds no kernel: it may be cut", file=sys.stderr)
    return 3 if kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
