# SPDX-License-Identifier: Apache-2.0
"""The headers of Pythons on this machine: the module is built for each."""

import glob
import os
import pathlib
import re

OLDEST = (3, 8)
# Those of pyenv, of the system, of /usr/local, and the folders in $STEPSCOPE_PYTHON_HEADERS (`:` between).
PLACES = ("{pyenv}/versions/*/include/python3.*", "/usr/include/python3.*", "/usr/local/include/python3.*")


def _defined(text, name):
    found = re.search(rf"^#define {name}\s+(\S+)", text, flags=re.M)
    return found.group(1) if found else None


def _tag(folder):
    """For example 311 or 313t; None: no headers, or too old."""
    try:
        text = (folder / "patchlevel.h").read_text()
        config = "".join(path.read_text() for path in (folder / "pyconfig.h",))
    except OSError:
        return None
    version = int(_defined(text, "PY_MAJOR_VERSION")), int(_defined(text, "PY_MINOR_VERSION"))
    level = _defined(text, "PY_RELEASE_LEVEL")
    if version < OLDEST or level not in ("PY_RELEASE_LEVEL_FINAL", "PY_RELEASE_LEVEL_GAMMA"):
        return None
    return f"{version[0]}{version[1]}{'t' if _defined(config, 'Py_GIL_DISABLED') == '1' else ''}"


def find():
    """{tag: folder}, one of each version, in the order of the versions."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    named = [name for name in os.environ.get("STEPSCOPE_PYTHON_HEADERS", "").split(":") if name]
    found = {}
    for name in named + [name for place in PLACES for name in sorted(glob.glob(place.format(pyenv=root)))]:
        tag = _tag(pathlib.Path(name))
        if tag is not None:
            found.setdefault(tag, pathlib.Path(name))
    return dict(sorted(found.items(), key=lambda item: (int(item[0].rstrip("t")), item[0])))


def neutral(folder, target):
    """The headers without those parts of Debian's that are for one kind of processor only."""
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.rglob("*.h"):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    config = (folder / "pyconfig.h").read_text()
    own = re.search(r"<(x86_64-linux-gnu/[^>]+/pyconfig.h)>", config)
    if own:
        config = (folder.parent / own.group(1)).read_text()
    # With it, Python.h of 3.8 includes crypt.h, which not every C library has.
    config = re.sub(r"^#define HAVE_CRYPT_H 1$", "", config, flags=re.M)
    (target / "pyconfig.h").write_text(config)
    return target
