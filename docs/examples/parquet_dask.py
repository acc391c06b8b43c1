# SPDX-License-Identifier: Apache-2.0
"""The same questions by Dask, whose workers may be many machines:

    python parquet_dask.py RUN FOLDER

Each file is a task: a rank and a step."""

import sys

import dask.dataframe
import stepscope

run, folder = sys.argv[1:3]
rows = stepscope.open(run).to_parquet(folder)
print(f"{rows['ranges']} ranges")

# The keys of partitions are categories to Dask; -1: of no rank, outside of all steps.
ranges = dask.dataframe.read_parquet(f"{folder}/ranges", columns=["name", "kind", "duration_ns", "rank", "step"])
ranges = ranges.assign(rank=ranges["rank"].astype("int64"), step=ranges["step"].astype("int64"))

steps = ranges[ranges["kind"] == "step"].groupby("rank")["duration_ns"].agg(["count", "mean"]).compute()
print("\nsteps of each rank")
for rank, row in steps.sort_index().iterrows():
    print(f"rank {rank:.0f}: {row['count']:.0f} steps, {row['mean'] / 1e6:.2f} ms")

within = ranges[(ranges["step"] >= 0) & (ranges["kind"] != "step")]
totals = within.groupby(["rank", "name"])["duration_ns"].agg(["count", "sum"]).compute().reset_index()
print("\nlongest ranges within steps")
for rank, of_rank in totals.sort_values(["rank", "name"]).groupby("rank"):
    for _, row in of_rank.sort_values("sum", ascending=False, kind="stable").head(3).iterrows():
        print(f"rank {rank:.0f}: {row['name']}, {row['count']:.0f} times, {row['sum'] / 1e6:.2f} ms")
