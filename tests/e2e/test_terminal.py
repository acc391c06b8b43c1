# SPDX-License-Identifier: Apache-2.0
"""Names of other people's programs reach no terminal as a command, and no spreadsheet as a
formula."""

import csv
import io
import os
import pty
import re
import select
import subprocess

import pytest

# Our own sequences: styles, the first column, wiping the line, moving within it.
OWN = re.compile(rb"\x1b\[([0-9;]*m|G|2?K|[0-9]+G)")


def on_terminal(arguments, **options):
    """Runs a program with a terminal for its streams; returns what reached it."""
    try:
        terminal, inner = pty.openpty()
    except OSError as none:
        pytest.skip(f"no pseudo-terminals here: {none}")
    process = subprocess.Popen([str(word) for word in arguments], stdin=inner, stdout=inner,
                               stderr=inner, start_new_session=True,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": ""}, **options)
    os.close(inner)
    out = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(terminal)
    process.wait(60)
    return out


def check(out, is_csv=False):
    """Nothing but our own sequences, and no line that a name made (but in the quotes of CSV)."""
    left = re.sub(rb"\r{1,2}\n", b"\n", OWN.sub(b"", out))  # the terminal's, and CSV's own
    text = left.decode("utf-8")
    found = set(text) & set(map(chr, [*range(9), *range(11, 32), *range(0x7f, 0xa0), 0x202e]))
    assert not found, (found, text)
    assert is_csv or "\nWARNING" not in text
    return text


@pytest.fixture(scope="module")
def hostile(stepscope, python, source_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    program = source_dir / "tests" / "workloads" / "hostile_names.py"
    out = on_terminal([stepscope, "record", "-o", "hostile.pftrace", "--", python, program, "1",
                       "\x1b[31mred\x1b]0;title\x07"], cwd=folder)
    return folder / "hostile.pftrace", out


def test_the_table_at_the_end_of_record(hostile):
    text = check(hostile[1])
    assert "Hottest lines" in text and "evil.py" in text and "=cmd|\ufffd" in text


@pytest.mark.parametrize("arguments", [
    ["report"], ["report", "--by", "line"], ["report", "--by", "thread"], ["report", "--by", "tree"],
    ["report", "--by", "leaf"], ["report", "--by", "file", "--full-filenames"],
    ["report", "--by", "process"], ["report", "--format", "csv", "--full-filenames"],
    ["report", "--by", "thread", "--format", "csv"], ["report", "--format", "json"],
    ["info"], ["info", "--format", "json"], ["info", "--all"],
    ["export", "--to", "raw", "-o", "-", "--threads", "--full-filenames"],
    ["export", "--to", "chrome", "-o", "-"], ["export", "--to", "speedscope", "-o", "-"],
    ["flame", "-o", "-"],
], ids=" ".join)
def test_every_reader_on_a_terminal(stepscope, hostile, arguments):
    out = on_terminal([stepscope, *arguments, hostile[0]])
    assert len(check(out, "csv" in arguments)) > 50


def test_text_and_csv_of_pipes_and_files(stepscope, hostile, tmp_path):
    for form in ("text", "csv"):
        printed = stepscope("report", "--format", form, hostile[0], text=False).stdout
        stepscope("report", "--format", form, "-o", tmp_path / form, hostile[0])
        check(printed, form == "csv")
        check((tmp_path / form).read_bytes(), form == "csv")


def test_dump(stepscope, python, source_dir):
    program = source_dir / "tests" / "workloads" / "hostile_names.py"
    with subprocess.Popen([python, program, "30", "\x1b[31mred"], stdout=subprocess.PIPE) as running:
        try:
            running.stdout.readline()
            text = check(on_terminal([stepscope, "dump", "-p", running.pid]))
            check(on_terminal([stepscope, "dump", "--json", "-p", running.pid]))
            plain = check(stepscope("dump", "-p", running.pid, text=False).stdout)
        finally:
            running.kill()
    assert "=cmd|\ufffd" in text and "@thread\ufffd" in text and "=cmd|\ufffd" in plain
