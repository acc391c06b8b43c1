# SPDX-License-Identifier: Apache-2.0
"""Readers of Kineto's format, where they are installed: HolisticTraceAnalysis and TensorBoard's plugin."""

import gzip

import kineto_files as kineto
import pytest


def analysis_of(paths, folder):
    """What HolisticTraceAnalysis says of the files."""
    analyses = pytest.importorskip("hta.trace_analysis",
                                   reason="HolisticTraceAnalysis is not installed")
    folder.mkdir()
    for number, path in enumerate(paths):
        (folder / f"{number}.json.gz").write_bytes(gzip.compress(kineto.raw(path)))
    analysis = analyses.TraceAnalysis(trace_dir=str(folder))
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000,
                                                       duration_ratio=1.0)
    return {"time": analysis.get_temporal_breakdown(visualize=False).sort_values("rank"),
            "overlap": analysis.get_comm_comp_overlap(visualize=False).sort_values("rank"),
            "types": types.sort_values("kernel_type"),
            "kernels": kernels.sort_values(["name", "rank"])}


@pytest.fixture
def plugin(tmp_path, caplog):
    """What TensorBoard's plugin makes of a file; what it complains about is an error."""
    data = pytest.importorskip("torch_tb_profiler.profiler.data",
                               reason="torch_tb_profiler is not installed")
    consts = pytest.importorskip("torch_tb_profiler.consts")

    def parse(path, complaints=()):
        name = consts.WORKER_PATTERN.match(path.name)
        caplog.clear()
        run = data.RunProfileData.parse(name.group(1), name.group(2), str(path), str(tmp_path))
        said = [record.getMessage() for record in caplog.records
                if record.levelname in ("ERROR", "WARNING")]
        assert [text for text in said if not any(known in text for known in complaints)] == []
        return run
    return parse
