# SPDX-License-Identifier: Apache-2.0
"""The flame command: inputs, outputs, filters, sizes, hostile input. The picture in a browser is
test_flame_browser.py's."""

import json
import os
import random
import xml.etree.ElementTree as ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"
TEXT = ("main (m.py:1);work (m.py:2) 70\n"
        "main (m.py:1);numpy_dot (numpy/core.py:3) 29\n"
        "main (m.py:1) 1\n")


def data_of(path):
    """What the script draws from; checks that the file is XML on the way."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg"
    return json.loads(root.find(SVG + "metadata").text)


def fact(data, words):
    """The part of the subtitle that has these words."""
    return next((text for text in data["facts"] if words in text), None)


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(TEXT)
    return path


def test_default_output_lies_beside_the_input(stepscope, raw, tmp_path):
    done = stepscope("flame", raw)
    assert done.stdout == ""
    assert str(tmp_path / "in.txt.svg") in done.stderr
    assert data_of(tmp_path / "in.txt.svg")["cells"][2] == 100
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "in.txt.svg"]


def test_without_input_the_newest_recording(stepscope, raw, tmp_path):
    (tmp_path / "older.txt").write_text("f (x.py:1) 3\n")
    os.utime(tmp_path / "older.txt", (1, 1))
    done = stepscope("flame", cwd=tmp_path)
    assert "in.txt" in done.stderr.splitlines()[0]
    assert (tmp_path / "in.txt.svg").exists()
    (tmp_path / "empty").mkdir()
    done = stepscope("flame", cwd=tmp_path / "empty", status=4)
    assert "stepscope record" in done.stderr


def test_to_stdout(stepscope, raw):
    done = stepscope("flame", raw, "-o", "-")
    assert ElementTree.fromstring(done.stdout).tag == SVG + "svg"
    assert done.stderr == ""


def test_needs_nothing_from_outside(stepscope, raw, tmp_path):
    stepscope("flame", raw, "-o", tmp_path / "o.svg")
    text = (tmp_path / "o.svg").read_text()
    urls = [word for word in text.replace('"', " ").replace("'", " ").split() if "://" in word]
    assert set(urls) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    for forbidden in ("href=", "@import", "url(", "<image", "fetch("):
        assert forbidden not in text


def test_title_width_minwidth(stepscope, raw, tmp_path):
    stepscope("flame", raw, "-o", tmp_path / "o.svg", "--title", "A <b>", "--width", "800",
              "--minwidth", "300")
    root = ElementTree.parse(tmp_path / "o.svg").getroot()
    data = data_of(tmp_path / "o.svg")
    assert root.get("width") == "800"
    assert root.find(SVG + "title").text == data["title"] == "A <b>"
    assert not data["fluid"]
    assert fact(data, "1 frame narrower than 3") is not None
    assert "numpy_dot" not in data["texts"]


def test_frame_options(stepscope, raw, tmp_path):
    for options, expected in (([], 2), (["--nolineno"], 0), (["-F"], 0)):
        stepscope("flame", raw, "-o", tmp_path / "o.svg", *options)
        data = data_of(tmp_path / "o.svg")
        work = data["texts"].index("work")
        lines = [data["labels"][i + 2] for i in range(0, len(data["labels"]), 6)
                 if data["labels"][i] == work]
        assert lines == [expected]
    assert "exclude each other" in stepscope("flame", raw, "-F", "--nolineno", status=2).stderr


def test_filters(stepscope, raw, tmp_path):
    stepscope("flame", raw, "-o", tmp_path / "o.svg", "--exclude", "numpy")
    data = data_of(tmp_path / "o.svg")
    assert data["cells"][2] == 71
    assert fact(data, "29 filtered out") is not None
    done = stepscope("flame", raw, "-o", tmp_path / "no.svg", "--match", "nowhere", status=3)
    assert "100 filtered" in done.stderr
    assert not (tmp_path / "no.svg").exists()


def test_difference(stepscope, raw, tmp_path):
    (tmp_path / "base.txt").write_text("main (m.py:1);gone (m.py:9) 50\n")
    stepscope("flame", raw, "--diff", tmp_path / "base.txt", "-o", tmp_path / "o.svg",
              "--widths", "baseline", "--normalize", "samples")
    data = data_of(tmp_path / "o.svg")
    assert data["diff"] and data["baseWidths"] and data["bySamples"]
    assert data["cells"][2] == 100 and data["cells"][6] == 50
    assert "gone" in data["texts"]
    assert "--diff" in stepscope("flame", raw, "--widths", "this", status=2).stderr


@pytest.mark.parametrize("colors", ["module", "origin", "function", "warm"])
def test_colours(stepscope, raw, tmp_path, colors):
    stepscope("flame", raw, "-o", tmp_path / "o.svg", "--colors", colors)
    data = data_of(tmp_path / "o.svg")
    style = (tmp_path / "o.svg").read_text()
    for at in range(5, len(data["labels"]), 6):
        assert f".{data['labels'][at]}{{fill:#" in style
    assert "one of module, origin" in stepscope("flame", raw, "--colors", "x", status=2).stderr


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Has 200,000 boxes."""
    chance, path = random.Random(7), tmp_path_factory.mktemp("big") / "big.txt"
    with open(path, "w") as file:
        for _ in range(12000):
            frames = (f"{'f' * chance.randint(1, 200)}{chance.randint(0, 40)}"
                      f" (pkg{chance.randint(0, 50)}/m.py:{chance.randint(1, 30)})"
                      for _ in range(chance.randint(2, 30)))
            file.write(";".join(frames) + f" {chance.randint(1, 99)}\n")
    return path


@pytest.mark.parametrize("options", [[], ["--reverse"], ["--minwidth", "0.001"]])
def test_small_whatever_the_input(stepscope, big, tmp_path, options):
    path = tmp_path / "big.txt.svg"
    stepscope("flame", big, "-o", path, *options)
    assert 20_000 < path.stat().st_size < 1_000_000
    data = data_of(path)
    assert len(data["cells"]) // 6 <= 20_000
    assert fact(data, "are folded into “…”") is not None


def test_deep_recursion(stepscope, tmp_path):
    calls = ["main (m.py:1)"] + ["walk (m.py:5)", "visit (m.py:8)"] * 2048 + ["leaf (m.py:9)"]
    (tmp_path / "deep.txt").write_text(";".join(calls) + " 9\n")
    stepscope("flame", tmp_path / "deep.txt")
    data = data_of(tmp_path / "deep.txt.svg")
    assert fact(data, "deep recursion are merged") is not None
    assert "leaf" in data["texts"]
    assert len(data["cells"]) // 6 == 5


def test_output_that_cannot_be_written(stepscope, raw, tmp_path):
    done = stepscope("flame", raw, "-o", tmp_path / "no" / "o.svg", status=4)
    assert "no/o.svg" in done.stderr
    done = stepscope("flame", raw, "-o", "/dev/full", status=4)
    assert "No space left" in done.stderr
    assert "/dev/full" in done.stderr


def test_a_recording(stepscope, python, tmp_path):
    program = ("import time\ndef spin():\n  end = time.time() + .6\n"
               "  while time.time() < end: sum(range(500))\nspin()\ntime.sleep(.4)\n")
    (tmp_path / "p.py").write_text(program)
    stepscope("record", "-o", tmp_path / "p.pftrace", "--", python, tmp_path / "p.py")
    stepscope("flame", tmp_path / "p.pftrace")
    data = data_of(tmp_path / "p.pftrace.svg")
    assert str(tmp_path / "p.py") in data["title"]
    assert fact(data, "at 100 Hz") is not None
    assert data["rate"] == 100
    names = data["texts"]
    assert "spin" in names and any(name.startswith("p.py") for name in names)
    legend = dict(zip(data["legend"][1::3], data["legend"][2::3]))
    assert legend.get("your code: p", 0) >= 20
    assert legend.get("waiting (off the CPU)", 0) >= 15
