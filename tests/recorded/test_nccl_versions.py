# SPDX-License-Identifier: Apache-2.0
"""src/inject/nccl/nccl_abi.h against the layouts of NCCL's versions, and what is read of the NVTX ranges of its own
functions (nccl_versions.py has where these come from)."""

import json
import shutil
import subprocess

import pytest
from nccl_versions import GOLDEN, TAGS, check_nvtx

LAYOUTS = json.loads((GOLDEN / "layout.json").read_text())


@pytest.mark.parametrize("version", LAYOUTS["versions"])
def test_a_version_has_this_layout(source_dir, version):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", '#include "inject/nccl/nccl_abi.h"']
    lines += [f'_Static_assert((int){name} == {number}, "{name}");' for name, number in LAYOUTS["numbers"].items()]
    for struct, member, offset, size in LAYOUTS["versions"][version]:
        lines.append(f'_Static_assert(offsetof({struct}, {member}) == {offset}, "{member}");')
        lines.append(f'_Static_assert(sizeof((({struct} *)0)->{member}) == {size}, "{member}");')

    def compiles(text):
        return subprocess.run(["cc", "-x", "c", "-std=c11", "-fsyntax-only", "-I", source_dir / "src", "-"],
                              input="\n".join(text), capture_output=True, text=True, timeout=60, check=False)
    done = compiles(lines)
    assert done.returncode == 0, done.stderr
    struct, member, offset, _ = LAYOUTS["versions"][version][-1]
    assert compiles([*lines, f'_Static_assert(offsetof({struct}, {member}) == {offset + 8}, "");']).returncode != 0


@pytest.mark.parametrize("tag", TAGS)
def test_nvtx_of_its_own_functions_is_read(stepscope, tag):
    check_nvtx(stepscope, GOLDEN / f"{tag}.pftrace", tag)
