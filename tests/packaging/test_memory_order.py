# SPDX-License-Identifier: Apache-2.0
"""The protocols of shared memory, in every order that the memory models of C11 and of processors permit."""

import os
import pathlib
import shutil
import subprocess

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[1] / "memory_order"


def check(program, **environment):
    done = subprocess.run([MODELS / "check", MODELS / f"{program}.c"], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode == 77:
        pytest.skip("GenMC is not installed ($STEPSCOPE_GENMC names one)")
    return done


@pytest.mark.long
@pytest.mark.parametrize("program", sorted(path.stem for path in MODELS.glob("*.c")))
def test_no_order_breaks_a_protocol(program):
    done = check(program)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(" holds in ") == 2


# An order that a protocol needs, and what it would be without. Other protocols need two at once.
RELEASE, RELAXED = "memory_order_release", "memory_order_relaxed"
WEAKER = [
    ("overwritten", "ring/producer.h", f"&slot->word0, word0, {RELEASE}", f"&slot->word0, word0, {RELAXED}"),
    ("overwritten", "ring/consumer.c", "&slot->word0, memory_order_acquire", f"&slot->word0, {RELAXED}"),
    ("live_stack", "ring/producer.h", f"&entry->stamp, stamp, {RELEASE}", f"&entry->stamp, stamp, {RELAXED}"),
    ("windows", "ring/producer.h", f"&header->step, step, {RELEASE}", f"&header->step, step, {RELAXED}"),
    ("owners", "ring/producer.h", "&wanted, SS_RING_CLAIMED", "&wanted, SS_RING_OPEN"),
    ("facts", "ring/producer.h", f"&fact->value, value, {RELEASE}", f"&fact->value, value, {RELAXED}")]


@pytest.mark.long
@pytest.mark.parametrize("program, file, order, weaker", WEAKER, ids=[f"{one[0]}-{one[1]}" for one in WEAKER])
def test_a_weaker_order_is_found(tmp_path, program, file, order, weaker):
    sources = tmp_path / "src"
    for folder in ("annot", "base", "ring"):
        shutil.copytree(MODELS.parents[1] / "src" / folder, sources / folder)
    text = (sources / file).read_text()
    assert text.count(order) == 1
    (sources / file).write_text(text.replace(order, weaker))
    done = check(program, STEPSCOPE_SOURCES=str(sources))
    assert done.returncode == 1 and "Assertion violation" in done.stdout, done.stdout
