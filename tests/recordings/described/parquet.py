# SPDX-License-Identifier: Apache-2.0
"""Tables in files of Apache Parquet. Needs pyarrow, which tests may lack."""

import importlib.util
import io


def missing():
    """Why tables cannot be written; "" if they can."""
    return "" if importlib.util.find_spec("pyarrow") else "pyarrow is not installed"


def written(columns):
    """The bytes of a table. columns: {name: (type of Arrow, values)}"""
    import pyarrow  # pylint: disable=import-outside-toplevel
    from pyarrow import parquet  # pylint: disable=import-outside-toplevel
    types = {"dictionary": pyarrow.dictionary(pyarrow.int8(), pyarrow.string())}
    table = pyarrow.table({
        name: pyarrow.array(values, type=pyarrow.string()).dictionary_encode() if kind == "dictionary" else
        pyarrow.array(values, type=types.get(kind) or getattr(pyarrow, kind)()) for name, (kind, values) in
        columns.items()})
    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def rows_of(data):
    from pyarrow import parquet  # pylint: disable=import-outside-toplevel
    # Threads of pyarrow that still run may abort the process as it ends.
    return parquet.read_table(io.BytesIO(data), use_threads=False, pre_buffer=False).to_pylist()
