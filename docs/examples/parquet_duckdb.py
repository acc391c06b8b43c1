# SPDX-License-Identifier: Apache-2.0
"""The slowest operators of each rank, and how long its steps are, by DuckDB:

    python parquet_duckdb.py RUN FOLDER

RUN is a recording, or the folder of a run; FOLDER gets its Parquet files. Only the files of the ranks and
steps that a query names are read."""

import sys

import duckdb
import stepscope

run, folder = sys.argv[1:3]
rows = stepscope.open(run).to_parquet(folder)
print(f"{rows['ranges']} ranges")

ranges = f"read_parquet('{folder}/ranges/**/*.parquet', hive_partitioning = true)"

print("\nsteps of each rank")
for rank, steps, mean_ms in duckdb.sql(f"""
        select rank, count(*), avg(duration_ns) / 1e6
        from {ranges} where kind = 'step' group by rank order by rank""").fetchall():
    print(f"rank {rank}: {steps} steps, {mean_ms:.2f} ms")

print("\nlongest ranges within steps")
for rank, name, calls, total_ms in duckdb.sql(f"""
        select rank, name, count(*), sum(duration_ns) / 1e6 as total_ms
        from {ranges} where step >= 0 and kind is distinct from 'step'
        group by rank, name qualify row_number() over (partition by rank order by total_ms desc, name) <= 3
        order by rank, total_ms desc""").fetchall():
    print(f"rank {rank}: {name}, {calls} times, {total_ms:.2f} ms")
