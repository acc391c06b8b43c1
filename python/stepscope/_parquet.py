# SPDX-License-Identifier: Apache-2.0
"""Contents of a Run as Parquet files, partitioned by rank and step: Run.to_parquet."""

import bisect
import itertools
import os

# What refers to times or to what it names; the rest are small tables, written whole.
PARTITIONED = ("ranges", "marks", "samples", "counters")
WHOLE = ("inputs", "hosts", "processes", "threads", "devices", "contexts", "streams", "groups", "tracks")
KEYS = ("rank", "step")
NONE = -1  # not null: Dask infers the type of a key from the names of the folders of one partition
_TIMES = ("begin_ns", "time_ns")


class Steps:
    """The steps of each process, to find the one in which a moment lies. Processes without steps of
    their own (workers of a loader) have those of the trainer of their rank."""

    def __init__(self, run):
        processes = list(run.processes)
        self.rank_of = {row["process_id"]: row["rank"] for row in processes}
        parents = {row["process_id"]: row["parent_id"] for row in processes}
        found = {}
        for row in run.ranges:
            if row["kind"] == "step" and row["value_integer"] is not None:
                found.setdefault(row["process_id"], []).append(
                    (row["begin_ns"], row["end_ns"], row["value_integer"]))
        self.steps = {process: sorted(rows) for process, rows in found.items()}
        self.begins = {process: [row[0] for row in rows] for process, rows in self.steps.items()}
        of_rank = {self.rank_of.get(process): process for process in self.steps}
        self.owner = {}
        for process in self.rank_of:
            at, seen = process, set()
            while at is not None and at not in self.steps and at not in seen:
                seen.add(at)
                at = parents.get(at)
            self.owner[process] = at if at in self.steps else of_rank.get(self.rank_of[process])
        for process, at in self.owner.items():
            if self.rank_of[process] is None and at is not None:
                self.rank_of[process] = self.rank_of.get(at)

    def at(self, process, time_ns):
        """The number of the step; None: outside of all."""
        owner = self.owner.get(process)
        if owner is None or time_ns is None:
            return None
        number = bisect.bisect_right(self.begins[owner], time_ns) - 1
        if number < 0 or time_ns >= self.steps[owner][number][1]:
            return None
        return self.steps[owner][number][2]


def _owners(run, columns):
    """The process of each row: its own, or that of its thread."""
    if "process_id" in columns:
        return columns["process_id"].to_pylist()
    if "thread_id" in columns:
        process_of = {row["thread_id"]: row["process_id"] for row in run.threads}
        return [process_of.get(thread) for thread in columns["thread_id"].to_pylist()]
    return itertools.repeat(None)


def _plain(pyarrow, table):
    """Without dictionaries: partitions of one data set have different ones."""
    for number, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):
            plain = field.with_type(field.type.value_type)
            table = table.set_column(number, plain, table.column(number).cast(field.type.value_type))
        elif pyarrow.types.is_null(field.type):
            table = table.set_column(number, field.with_type(pyarrow.float64()),
                                     table.column(number).cast(pyarrow.float64()))
    return table


def _with_keys(pyarrow, run, steps, table):
    columns = {name: table.column(name) for name in table.schema.names}
    times = next((columns[name] for name in _TIMES if name in columns), None)
    times = times.to_pylist() if times is not None else itertools.repeat(None)
    owners = _owners(run, columns)
    pairs = [tuple(NONE if value is None else value
                   for value in (steps.rank_of.get(process), steps.at(process, time_ns)))
             for process, time_ns in zip(owners, times)]
    for number, key in enumerate(KEYS):
        values = pyarrow.array([pair[number] for pair in pairs], pyarrow.int64())
        if key in columns:
            table = table.drop_columns([key])
        table = table.append_column(key, values)
    return table


def write(run, folder, contents, by):
    """Writes the contents below `folder`; returns the number of rows of each."""
    import pyarrow
    import pyarrow.dataset
    import pyarrow.parquet

    steps, rows = Steps(run), {}
    os.makedirs(folder, exist_ok=True)
    for name in contents:
        table = _plain(pyarrow, pyarrow.table(run.content(name)))
        rows[name] = table.num_rows
        if name not in PARTITIONED:
            pyarrow.parquet.write_table(table, os.path.join(folder, f"{name}.parquet"))
            continue
        table = _with_keys(pyarrow, run, steps, table)
        schema = pyarrow.schema([table.schema.field(key) for key in by])
        count = table.select(list(by)).group_by(list(by)).aggregate([]).num_rows if by else 1
        pyarrow.dataset.write_dataset(
            table, os.path.join(folder, name), format="parquet", max_partitions=max(count, 1),
            max_open_files=256, partitioning=pyarrow.dataset.partitioning(schema, flavor="hive"),
            existing_data_behavior="delete_matching")
    return rows
