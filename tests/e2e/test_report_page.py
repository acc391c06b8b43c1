# SPDX-License-Identifier: Apache-2.0
"""`stepscope report --html`: the file. test_report_page_browser.py opens it."""

import base64
import hashlib
import re

import pytest
from pages import data_of, page_of, raw, tables_of, training  # noqa: F401 (fixtures)


def test_the_file_is_one_and_its_policy_forbids_requests(page_of, raw):
    text = page_of(raw).read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "http" not in policy
    assert not re.search(r"""<(link|img|iframe|object)\b|\b(src|href)=["']""", text)
    assert text.index("Content-Security-Policy") < text.index("<title>")


def test_html_is_an_ending_and_an_option(stepscope, raw, tmp_path):
    stepscope("report", raw, "-o", tmp_path / "a.html")
    stepscope("report", raw, "-f", "html", "-o", tmp_path / "b")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b").read_bytes()
    refused = stepscope("report", raw, "--html", tmp_path / "c.html", "-f", "json", status=2)
    assert "--html FILE is -f html -o FILE" in refused.stderr
    assert not (tmp_path / "c.html").exists()


def test_any_input_fits(page_of, tmp_path):
    """Long names in many rows: the page has fewer rows and says how many it lacks."""
    source = tmp_path / "run.txt"
    with open(source, "w") as out:
        for i in range(800):
            out.write(f"main (a.py:1);{'n' * 9000}{i} (b.py:{i + 1}) {100 + i}\n")
    path = page_of(source, "--by", "function", "--num-rows", "all")
    table = tables_of(path)["function"]
    assert 10 <= len(table["rows"]) < 800
    assert len(table["rows"]) + table["more"] == 801


def test_without_scripts_it_is_the_text(stepscope, page_of, raw):
    text = page_of(raw).read_text("utf-8")
    fallback = re.search(r"<noscript>.*?<pre>(.*?)</pre>", text, re.S)[1]
    assert "work_00" in fallback and "Hottest" in fallback


def test_the_policy_has_the_hash_of_each_script_and_style(page_of, raw):
    text = page_of(raw).read_text("utf-8")
    policy = text.split('content="')[1].split('"')[0]
    parts = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.S)
    assert len(parts) > 5
    hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in parts]
    assert all(f"'sha256-{one}'" in policy for one in hashes)
    assert policy.count("sha256-") == len(parts)


def test_steps_calls_and_the_time_line_of_a_training(page_of, tmp_path):
    blocks = {block["kind"]: block for block in data_of(page_of(training(tmp_path / "trace.json")))["blocks"]}
    points = blocks["series"]["points"]
    width = 5 + len(points["phases"])
    durations = points["rows"][4::width]
    assert durations == [3_000_000 if i == 4 else 1_000_000 for i in range(8)]
    for at in range(0, len(points["rows"]), width):
        assert sum(points["rows"][at + 5:at + width]) == points["rows"][at + 4]
    tree = blocks["calls"]["trees"][0]
    assert tree["unit"] == "ns"
    assert sum(tree["calls"][3::4]) == 8 * 500_000
    steps = blocks["timeline"]["steps"]
    assert [(step["which"], step["number"]) for step in steps] == [("median", 0), ("slowest", 4)]
    device = next(lane for lane in steps[0]["lanes"] if lane["device"])
    assert device["spans"][3::4] == [400_000, 100_000]


@pytest.mark.parametrize("by", ["function", "tree", "op", "step", "kernel"])
def test_one_table(page_of, tmp_path, by):
    """A page of one table has that one, and no pictures."""
    path = page_of(training(tmp_path / "trace.json"), "--by", by)
    names = [block.get("name") for block in data_of(path)["blocks"] if "name" in block]
    assert names in ([by], [])
    assert not {"calls", "timeline", "curves"} & {block["kind"] for block in data_of(path)["blocks"]}
