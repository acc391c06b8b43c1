# SPDX-License-Identifier: Apache-2.0
"""Where libraries are built: configure scripts and pkg-config refuse spaces and letters beyond ASCII."""

import hashlib
import os
import pathlib
import re
import tempfile

from sources import Failure


def plainly_named(folder):
    """`folder`, or a link to it where its name has such characters. The link's name stays the same, because
    what is built contains it."""
    folder.mkdir(parents=True, exist_ok=True)
    if re.fullmatch(r"[A-Za-z0-9_./+-]+", str(folder)):
        return folder
    name = f"stepscope-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    link = pathlib.Path(tempfile.gettempdir(), name)
    if not os.path.lexists(link):
        link.symlink_to(folder)
    if link.lstat().st_uid != os.getuid() or not link.is_symlink() or os.readlink(link) != str(folder):
        raise Failure(f"{link} is no link to {folder}, whose name configure scripts refuse: remove {link}")
    return link
