# SPDX-License-Identifier: Apache-2.0
"""A wheel from an installed tree: the package, and everything else below the environment's prefix."""

import base64
import hashlib
import os
import pathlib
import time
import zipfile

WHEEL = "Wheel-Version: 1.0\nGenerator: stepscope\nRoot-Is-Purelib: false\n"
METADATA = """Metadata-Version: 2.1
Name: stepscope
Version: {version}
Summary: Profiler for deep-learning and scientific-AI training
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

{description}"""


def metadata(version, description):
    """The bytes of METADATA, from which the package reads its version."""
    return METADATA.format(version=version, description=description).encode()


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class _Writer:
    """Files in the order of their names, with one date, so that the same inputs give the same bytes."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
        self.date = max(time.gmtime(seconds)[:6], (1980, 1, 1, 0, 0, 0))
        self.record = []

    def add(self, name, data, is_executable=False):
        info = zipfile.ZipInfo(name, self.date)
        info.external_attr = (0o100755 if is_executable else 0o100644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(info, data)
        self.record.append(f"{name},{_digest(data)},{len(data)}")

    def close(self, record_name):
        text = "\n".join([*self.record, f"{record_name},,"]) + "\n"
        self.archive.writestr(zipfile.ZipInfo(record_name, self.date), text)
        self.archive.close()


def _files_of(folder):
    """Links are followed: a wheel has none."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def pack(path, version, tags, package, modules, prefix, texts, description):
    """Writes the wheel. `package`: the folder of the Python files, `modules`: the built ones, `prefix`: the
    tree of `cmake --install`, `texts`: {name below dist-info: bytes}, such as licences."""
    info = f"stepscope-{version}.dist-info"
    writer = _Writer(path)
    for file in _files_of(package):
        if file.suffix in (".py", ".pyi", ".typed") or file.name == "py.typed":
            writer.add(f"stepscope/{file.relative_to(package)}", file.read_bytes())
    for file in modules:
        writer.add(f"stepscope/{file.name}", file.read_bytes(), True)
    for file in _files_of(prefix):
        name = f"stepscope-{version}.data/data/{file.relative_to(prefix)}"
        writer.add(name, file.read_bytes(), os.access(file, os.X_OK))
    for name, text in sorted(texts.items()):
        writer.add(f"{info}/{name}", text)
    writer.add(f"{info}/METADATA", metadata(version, description))
    writer.add(f"{info}/WHEEL", (WHEEL + "".join(f"Tag: {tag}\n" for tag in tags)).encode())
    writer.close(f"{info}/RECORD")
    return pathlib.Path(path)
