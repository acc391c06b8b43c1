# SPDX-License-Identifier: Apache-2.0
"""The files in tests/recordings/foreign are those that tests/recordings/make_foreign makes."""

import subprocess
import sys

from foreign import OWN, ROOT

LARGEST_BYTES, LARGEST_TOTAL_BYTES = 100_000, 2_500_000


def test_each_file_is_made_again_as_it_is():
    done = subprocess.run([sys.executable, ROOT / "tests/recordings/make_foreign", "--check"], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_files_are_small():
    sizes = {path.name: path.stat().st_size for path in OWN.rglob("*") if path.is_file()}
    assert [name for name, size in sizes.items() if size > LARGEST_BYTES] == []
    assert sum(sizes.values()) <= LARGEST_TOTAL_BYTES
