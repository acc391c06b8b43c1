# SPDX-License-Identifier: Apache-2.0
"""Recordings as tables: stepscope.open."""

import builtins
import functools
import html
import os
import tempfile
import unicodedata

from . import ncu_rep

try:
    from ._reading import Recording as _Recording
    from ._reading import contents as _CONTENTS
    from ._reading import errors
    from ._reading import tables as _TABLES
except ImportError as error:
    raise ImportError(
        "stepscope.open needs the extension that reads recordings; "
        + ("it was not built for this Python: install the headers of this Python, then run: "
           "pip install --force-reinstall stepscope" if isinstance(error, ModuleNotFoundError)
           else f"it cannot be loaded: {error}")) from error


def open(path, *, max_memory=None):
    """Opens a recording: a file or folder, of stepscope or of a tool whose files it reads.

        run = stepscope.open("run.pftrace")
        print(run.headline)
        run.table("op", sort="total").to_pandas()

    path: a str or path, the Window of a handler, or a list of these: files of one run.
    max_memory: bytes; an input that needs more is refused. None: as much as its size warrants.
    Reads it once, as `stepscope report` does. Returns a Run; a Run is returned as it is.

    Raises a stepscope.errors.Error: NotFoundError, PermissionError, FormatError when nothing in it
    can be read, LimitError when it needs too much memory… A damaged file is read as far as it is intact: see Run.problems."""
    if isinstance(path, Run):
        return path
    paths = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
    paths = [os.path.abspath(os.fsdecode(one)) for one in paths]
    reports = [one for one in paths if ncu_rep.is_report(one)]
    return _open_reports(paths, reports) if reports else Run(paths, _bytes_of(max_memory))


def _bytes_of(max_memory):
    if max_memory is None:
        return 0
    if isinstance(max_memory, bool) or not isinstance(max_memory, int) or not 0 < max_memory < 2**64:
        raise ValueError(f"max_memory is a number of bytes from 1, or None, not {max_memory!r}")
    return max_memory


def _open_reports(paths, reports):
    """Reports of Nsight Compute as tables in a folder that lasts as long as the Run. Without NVIDIA's
    package, stepscope says of them what converts them."""
    folder = tempfile.TemporaryDirectory(prefix="stepscope-")
    tables = {}
    for number, path in enumerate(reports):
        tables[path] = os.path.join(folder.name, f"{number}-{os.path.basename(path)}.csv")
        try:
            with builtins.open(tables[path], "w", newline="", encoding="utf-8") as file:
                ncu_rep.convert(path, file)
        except ImportError:
            return Run(paths)
        except Exception as error:  # ncu_report has no types of its own
            raise errors["FormatError"](f"cannot read {path}: {error}") from error
    run = Run([tables.get(path, path) for path in paths])
    run._folder = folder
    return run


_OPEN_ENDS = {"time": float("inf"), "steps": 2**63 - 1}


def _query(options):
    """The options as the extension takes them."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("group"), (list, tuple)):
        given["group"] = ",".join(given["group"])
    if given.get("rows", 1) < 1:
        raise errors["UsageError"](f"rows is a number from 1, or None: all, not {given['rows']}")
    if isinstance(given.get("steps"), int):
        given["steps"] = (given["steps"], given["steps"])
    for name in _OPEN_ENDS.keys() & given.keys():
        if not isinstance(given[name], (list, tuple)) or len(given[name]) != 2:
            raise TypeError(f"{name} is a pair of numbers, first and last, not {given[name]!r}")
        first, last = given[name]
        given[name] = (0 if first is None else first, _OPEN_ENDS[name] if last is None else last)
    for name in ("process", "thread"):  # a pid or tid
        if isinstance(given.get(name), int):
            given[name] = str(given[name])
    return given


class Run:
    """A recording: its report, the tables of reports, and its contents as tables.

    headline: the sentence that says most; None: there is none.
    findings: what to change, the most important first: a list of Finding.
    problems: why the recording is not the whole truth: a list of str.
    figures: the figures of the report, as `stepscope report --format json` has them.
    tables, contents: {name: what its rows are}, of table() and content().
    steps, phases: table("step"), table("phase"). ranges, samples and every other name of contents:
        content(name). These are made once.

    Threads: may be used by several at once. One waits while another one reads the file; the GIL is
    released then, and while tables are made. Tables stay valid without the Run."""

    tables = _TABLES
    contents = _CONTENTS

    def __init__(self, paths, max_memory_bytes=0):
        self.paths = paths
        self._recording = _Recording(paths, max_memory_bytes)
        self._made = {}
        self._other_names = {}  # of files, for people: texts without markup
        overview = self.report()
        self.headline, self.findings = overview.headline, overview.findings
        self.problems, self.figures = overview.problems, overview.figures

    def report(self, name=None, **options):
        """A Report: all tables of one name, with the figures around them; None: the overview.
        Options as of table()."""
        given = _query(options)
        return Report(self._recording.report(name, **given),
                      functools.partial(self._shown, name=name, options=given))

    def _shown(self, view, name=None, options=None, width=0):
        """What a person reads: view is "html" (of a notebook), "markdown" or "text", in `width` columns
        (0: no limit)."""
        options = {"rows": _MOST_SHOWN_ROWS, **(options or {})}
        text = self._recording.shown(view, width, (name,), **options)
        for file, other in self._other_names.items():
            text = text.replace(file, other)
        return text

    def _repr_html_(self):
        return _shown_or_why_not(self._shown, "html")

    def _repr_markdown_(self):
        return _shown_or_why_not(self._shown, "markdown")

    def table(self, name, **options):
        """A table of `stepscope report --by NAME`, with its options:

        columns, sort: words, as in `stepscope report --help`.
        group: a word, words with commas between them, or a list.
        rows: at most so many (default: all).
        min_percent, library_name, library_substring, aggregate_leaf_paths, full_filenames: as there.
        process, thread: a pid or tid, or a regex over names.
        match, exclude: a regex over frames "function (path:line)"; idle: "none", "main" or "all";
            gil: True.
        time: (begin, end) in seconds since the first sample. steps: a number, or (first, last). None
            in a pair: an open end.
        strict: True: an unreadable line, or file in a folder, is an error.

        Raises UsageError for an unknown name or word, and for an option that the table has no use
        for; the message lists what there is."""
        if not isinstance(name, str):
            raise TypeError(f"table() takes a name, not {name!r}")
        report = self.report(name, **options)
        table = report.tables[0]
        table.notes += report.notes
        return table

    def key_averages(self, **options):
        """Operators in the columns of torch.profiler's key_averages. Options as of table()."""
        return self.table("op", columns="key_averages", **options)

    def content(self, name, *, process=None, thread=None, time=None, steps=None):
        """Rows of the recording itself: "ranges", "samples", "counters", "processes"…; see
        contents. The options select processes, threads and times, as in table()."""
        options = _query({"process": process, "thread": thread, "time": time, "steps": steps})
        return Table(self._recording.content(name, **options))

    def to_parquet(self, folder, contents=None, by=("rank", "step")):
        """Writes contents as Parquet files below a folder, for DuckDB, Dask, Spark and other engines.

        contents: names; None: all but flows and stacks. ranges, marks, samples and counters become
            data sets FOLDER/NAME/rank=R/step=S/*.parquet, the others FOLDER/NAME.parquet.
        by: keys of the partitions: "rank", "step", both or none. All rows have both as columns; -1:
            of no rank, outside of all steps.

        Needs pyarrow. Returns {name: rows}. Files of partitions that are written again are replaced."""
        from . import _parquet
        by = (by,) if isinstance(by, str) else tuple(by)
        names = _parquet.PARTITIONED + _parquet.WHOLE if contents is None else tuple(contents)
        for word, known in (*((key, _parquet.KEYS) for key in by), *((name, _CONTENTS) for name in names)):
            if word not in known:
                raise errors["UsageError"](f"to_parquet() has no {word!r}; there are {', '.join(known)}")
        return _parquet.write(self, os.fspath(folder), names, by)

    @property
    def steps(self):
        return self._once("step", self.table)

    @property
    def phases(self):
        return self._once("phase", self.table)

    def __getattr__(self, name):
        if name in _CONTENTS:
            return self._once(name, self.content)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def _once(self, name, make):
        if name not in self._made:
            self._made[name] = make(name)
        return self._made[name]

    def __dir__(self):
        return [*super().__dir__(), *_CONTENTS]

    def __repr__(self):
        said = f": {self.headline}" if self.headline else ""
        return f"<stepscope.Run {', '.join(self.paths)}{said}>"


class Report:
    """What `stepscope report` states: headline, findings, problems, figures, notes, and its tables.

    str(): its text. A notebook shows it with its tables, each with ten rows, or as many as were
    asked for."""

    def __init__(self, made, shown):
        self._shown = shown
        self.headline, self.problems = made["headline"], made["problems"]
        self.figures, self.notes = made["figures"], made["notes"]
        self.findings = [Finding(one) for one in (self.figures["training"] or {}).get("advice", ())]
        self.tables = [Table(*one) for one in made["tables"]]

    def __str__(self):
        return self._shown("text")

    def _repr_html_(self):
        return _shown_or_why_not(self._shown, "html")

    def _repr_markdown_(self):
        return _shown_or_why_not(self._shown, "markdown")

    def __repr__(self):
        return f"<stepscope.Report of {', '.join(table.name for table in self.tables)}>"


class Finding:
    """One cause of lost time. str(): its sentence.

    rule: its name. headline, percent, of_ns, cost_ns: what it costs. expected_ns, recoverable_ns: what
    its fix recovers, and at most. estimate: how that is computed. fix: what to do, or None. evidence:
    a list of {"what", "value", "unit"}. phase, line, activity…: where; None: not known."""

    def __init__(self, figures):
        self.__dict__.update(figures)

    def __str__(self):
        return self.summary

    def __repr__(self):
        return f"<Finding {self.rule}: {self.summary}>"


class Table:
    """A table. pandas, polars, pyarrow and DuckDB take it without a copy, as it has the methods of
    the Arrow PyCapsule protocol: pyarrow.table(table), polars.DataFrame(table)…

    name: of the table. columns: their names. units: {column: unit}, of those that have one.
    notes: how to read it, and why it is empty. figures: what it covers and leaves out.
    len(), iteration over rows as dicts, table[3]: a row, table["total_ns"]: the values of a column.
    A value is a str, int, float or bool; None: there is none."""

    __slots__ = ("_table", "name", "columns", "units", "notes", "figures", "__weakref__")

    def __init__(self, table, notes=(), figures=None):
        columns = table.columns()
        self._table = table
        self.name = table.name()
        self.columns = [name for name, _ in columns]
        self.units = {name: unit for name, unit in columns if unit is not None}
        self.notes = list(notes)
        self.figures = dict(figures or {})

    def __arrow_c_schema__(self):
        return self._table.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        return self._table.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self):
        return len(self._table)

    def __iter__(self):
        return map(self._table.row, range(len(self)))

    def __getitem__(self, key):
        if not isinstance(key, str):
            return self._table.row(key + len(self) if key < 0 else key)
        if key not in self.columns:
            raise KeyError(f"{key!r} is none of {', '.join(self.columns)}")
        return self._table.values(self.columns.index(key))

    def to_pandas(self):
        """A pandas.DataFrame. Texts that recur become categories."""
        import pandas
        try:
            import pyarrow
        except ImportError:  # then pandas reads no Arrow
            return pandas.DataFrame({name: self[name] for name in self.columns})
        return pyarrow.table(self).to_pandas()

    def to_polars(self):
        """A polars.DataFrame."""
        import polars
        return polars.DataFrame(self)

    def __repr__(self):
        return "\n".join(_lines(self))


    def _repr_html_(self):
        return _html_of(self)


_MOST_ROWS, _MOST_WIDTH = 20, 40
_MOST_SHOWN_ROWS = 10  # of each table of a report that a notebook shows


def _first_rows(table):
    """The first rows by columns, without those that are empty in them: [(whether to the right, title
    and cells)], and the names of the empty ones."""
    rows = [table[number] for number in range(min(len(table), _MOST_ROWS))]
    columns = {name: [row[name] for row in rows] for name in table.columns}
    empty = [name for name in columns if rows and not any(value is not None for value in columns[name])]
    return [(all(isinstance(value, (int, float, type(None))) for value in columns[name]),
             [name, *map(_cell, columns[name])]) for name in columns if name not in empty], empty


def _lines(table):
    """The first rows as aligned text, texts to the left and numbers to the right."""
    columns, empty = _first_rows(table)
    shown = []
    for right, cells in columns:
        width = max(map(_width, cells))
        shown.append([" " * (width - _width(cell)) + cell if right else
                      cell + " " * (width - _width(cell)) for cell in cells])
    for line in zip(*shown):
        yield "  ".join(line).rstrip()
    yield from _lines_below(table, empty)


def _lines_below(table, empty):
    more = f", the first {_MOST_ROWS} shown" if len(table) > _MOST_ROWS else ""
    yield f"[{table.name}: {len(table)} row{'s'[:len(table) != 1]}{more}]"
    if empty:
        yield f"[without a value here: {', '.join(empty)}]"
    yield from table.notes


def _html_of(table):
    """The first rows as HTML, in the colours of what is around it; MathJax leaves it alone."""
    columns, empty = _first_rows(table)
    columns = [(' style="text-align: right"' if right else ' style="text-align: left"', cells)
               for right, cells in columns]
    rows = ["".join(f"<{tag}{style}>{html.escape(cells[number])}</{tag}>" for style, cells in columns)
            for number, tag in enumerate(["th", *["td"] * min(len(table), _MOST_ROWS)])]
    below = "<br>\n".join(map(html.escape, _lines_below(table, empty)))
    return ('<div class="tex2jax_ignore mathjax_ignore" style="overflow-x: auto">\n<table>\n'
            + "".join(f"<tr>{row}</tr>\n" for row in rows) + f"</table>\n<p>{below}</p>\n</div>")


def _shown_or_why_not(shown, view):
    """In a notebook, an error is one line in place of the report."""
    try:
        return shown(view)
    except errors["Error"] as error:
        line = " ".join(f"stepscope: {error}".split())
        return f"<p>{html.escape(line)}</p>" if view == "html" else "".join(
            "\\" + char if char in "\\`*_[]<>|~&$" else char for char in line)


def _cell(value):
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= _MOST_WIDTH else text[:_MOST_WIDTH - 1] + "…"


def _width(text):
    """Columns of a terminal."""
    return sum(0 if unicodedata.combining(char) else
               2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
