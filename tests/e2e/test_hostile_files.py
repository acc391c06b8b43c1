# SPDX-License-Identifier: Apache-2.0
"""Files made to be hostile: small ones that would become large, large ones that hold nothing, names
that a format cannot hold; and what recordings show of a command line."""

import json
import os
import subprocess
import xml.dom.minidom

import pytest


def test_names_that_xml_cannot_hold(stepscope, tmp_path):
    raw, svg = tmp_path / "raw.txt", tmp_path / "raw.svg"
    raw.write_text("a\ufffe (x\uffff.py:1);b\x01\x1b\x7f\u0085 (y\ufffe/\ufffd.py:2) 50\n", encoding="utf-8")
    stepscope("flame", "-o", svg, raw)
    xml.dom.minidom.parse(str(svg))
    stepscope("export", "--to", "speedscope", "-o", tmp_path / "s.json", raw)
    assert "a\ufffe" in json.dumps(json.loads((tmp_path / "s.json").read_text()),
                                   ensure_ascii=False)


@pytest.mark.parametrize("start", ["f (a.py:1) 50\n", "\0"])
def test_a_raw_file_of_a_terabyte_that_is_a_hole(stepscope, tmp_path, start):
    raw = tmp_path / "raw.txt"
    raw.write_text(start)
    try:
        os.truncate(raw, 1 << 40)
    except OSError as none:
        pytest.skip(f"no sparse files of a terabyte here: {none}")
    if os.stat(raw).st_blocks * 512 > 1 << 20:
        pytest.skip("no sparse files here")
    for words in (["report"], ["flame", "-o", "-"], ["export", "--to", "raw", "-o", "-"]):
        done = stepscope(*words, raw, status=None, timeout=60)
        assert ("f" in done.stdout) == (start != "\0"), done.stderr


def test_a_small_trace_does_not_become_a_large_one(stepscope, tools, tmp_path):
    path = tmp_path / "flood.pftrace"
    subprocess.run([tools / "trace_ranges", "flood", path], check=True)
    assert path.stat().st_size < 1 << 20
    for by in ("range", "function"):
        done = stepscope("report", "--by", by, path, status=None)
        assert done.returncode != 0 and "expands to more than" in done.stderr


def test_a_dense_recording_is_no_flood(stepscope, tools, tmp_path):
    """A loop around one range, whose begins and ends take little more than a byte each."""
    path = tmp_path / "dense.pftrace"
    subprocess.run([tools / "trace_ranges", "dense", path], check=True)
    assert path.stat().st_size < 2 * 14_000_000
    rows = json.loads(stepscope("report", "--by", "range", "--format", "json", path).stdout)["tables"][0]["rows"]
    assert sum(row["count"] for row in rows) == 7_000_000


SECRETS = ["--api-key", "first0", "--hf-token=second0", "PASSWORD=third0", "hf_fourth0aaaaaaaaaaaaaaa"]


def commands(stepscope, python, folder, *options):
    out = folder / "run.pftrace"
    child = f"import subprocess; subprocess.run([{python!r}, '-c', 'sum(range(3 * 10**7))'] + {SECRETS!r})"
    stepscope("record", *options, "-o", out, "--", python, "-c", child, *SECRETS)
    return stepscope("info", "--all", "--format", "json", out).stdout + str(out.read_bytes())


def test_secrets_of_command_lines_are_masked(stepscope, python, tmp_path):
    text = commands(stepscope, python, tmp_path)
    assert "--api-key ***" in text and "PASSWORD=***" in text
    words = ["first0", "second0", "third0", "fourth0"]
    shown = stepscope("info", "--all", tmp_path / "run.pftrace").stdout
    parent = "import subprocess"
    assert not [word for line in (text + shown).split("\n") if parent not in line
                for word in words if word in line]


def test_secrets_are_kept_on_request(stepscope, python, tmp_path):
    text = commands(stepscope, python, tmp_path, "--keep-secrets")
    assert "--api-key first0" in text
    assert "--api-key ***" not in text and "PASSWORD=***" not in text  # the bytes of a trace may have ***
