# SPDX-License-Identifier: Apache-2.0
"""Contents as Parquet, partitioned by rank and step, and the worked examples in DuckDB and Dask."""

import collections
import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import need_module
from kineto import Kineto

need_module("pyarrow")

STEP = 10000.0


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Two ranks, four steps, in each step of rank R an operator of 1000 + 500 R µs, and one between steps."""
    folder = tmp_path_factory.mktemp("parquet") / "run"
    folder.mkdir()
    for rank in 0, 1:
        trace = Kineto(rank=rank, world_size=2)
        for number in range(4):
            begin = 1000 + number * (STEP + 500)
            trace.step(number, begin, STEP)
            trace.operator("aten::mm", begin + 5, 1000 + 500 * rank)
            trace.operator("aten::add", begin + 3000, 100)
            trace.operator("aten::between", begin + STEP + 100, 50)
        trace.write(folder / f"rank{rank}.pt.trace.json")
    return folder


def test_partitions(reader, planted, tmp_path):
    import pyarrow.dataset
    rows = reader.open(planted).to_parquet(tmp_path / "out")
    folders = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").glob("ranges/*/*")}
    assert folders == {f"ranges/rank={rank}/step={step}" for rank in (0, 1)
                       for step in (0, 1, 2, 3, -1)}
    table = pyarrow.dataset.dataset(tmp_path / "out" / "ranges", partitioning="hive").to_table().to_pylist()
    assert len(table) == rows["ranges"]
    found = collections.Counter((row["rank"], row["step"], row["name"]) for row in table)
    for rank in 0, 1:
        for step in range(4):
            assert found[rank, step, "aten::mm"] == found[rank, step, "aten::add"] == 1
        assert found[rank, -1, "aten::between"] == 4
    assert {row["duration_ns"] for row in table if row["name"] == "aten::mm" and row["rank"] == 1} == {1500000}
    assert (tmp_path / "out" / "processes.parquet").exists()


def test_again_and_by_rank(reader, planted, tmp_path):
    import pyarrow.dataset
    out = tmp_path / "out"
    for _ in range(2):  # replaced, not added to
        rows = reader.open(planted).to_parquet(out, contents=["ranges"], by="rank")
    data = pyarrow.dataset.dataset(out / "ranges", partitioning="hive")
    assert data.count_rows() == rows["ranges"]
    assert {path.name for path in (out / "ranges").iterdir()} == {"rank=0", "rank=1"}
    assert "step" in data.schema.names
    with pytest.raises(reader.errors.UsageError, match="rank, step"):
        reader.open(planted).to_parquet(out, by="host")


@pytest.mark.parametrize("engine", ["duckdb", "dask"])
def test_examples(package, planted, tmp_path, source_dir, engine):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    program = source_dir / "docs" / "examples" / f"parquet_{engine}.py"
    done = subprocess.run([sys.executable, program, planted, tmp_path / "out"], capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
    assert "rank 0: 4 steps, 10.00 ms" in done.stdout and "rank 1: 4 steps, 10.00 ms" in done.stdout
    lines = [line for line in done.stdout.splitlines() if "times" in line and "aten::" in line]
    assert "rank 0: aten::mm, 4 times, 4.00 ms" in lines
    assert "rank 1: aten::mm, 4 times, 6.00 ms" in lines
    assert not any("between" in line for line in lines)
