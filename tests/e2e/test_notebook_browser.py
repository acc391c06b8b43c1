# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of a recording, in a real browser, on light and on dark pages."""

import importlib
import pathlib
import sys

import pytest
from browser import chromium  # noqa: F401: a fixture

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINING = ROOT / "tests" / "golden" / "0.1.0" / "training.pftrace"

# What JupyterLab sets for tables and code in the output of a cell
PAGE = """<!doctype html><meta charset="utf-8"><style>
body { background: %s; color: %s; } .out td, .out th { text-align: right; padding: 6px }
.out tr:nth-child(odd) { background: #808080 } .out pre { color: #808080 } </style>
<body><div class="out">%s</div></body>"""


@pytest.fixture(params=[("#ffffff", "#1f1f1f"), ("#111111", "#e0e0e0")], ids=["light", "dark"])
def shown(request, chromium, package, tmp_path):  # noqa: F811
    sys.path.insert(0, str(package))
    try:
        run = importlib.import_module("stepscope").open(TRAINING)
    finally:
        sys.path.remove(str(package))
    path = tmp_path / "page.html"
    path.write_text(PAGE % (*request.param, run._repr_html_()))
    chromium.get(path.as_uri())
    return chromium, request.param[1]


def test_it_has_the_colours_of_the_page(shown):
    browser, ink = shown
    colours = browser.execute_script("""
        const shown = [...document.querySelectorAll('.stepscope b, .stepscope td, .stepscope summary, .stepscope pre')];
        return [...new Set(shown.map(one => getComputedStyle(one).color))]""")
    values = [int(ink[at:at + 2], 16) for at in (1, 3, 5)]
    assert colours == ["rgb({}, {}, {})".format(*values)]
    assert browser.execute_script("""
        return [...document.querySelectorAll('.stepscope tr')]
            .every(one => getComputedStyle(one).backgroundColor == 'rgba(0, 0, 0, 0)')""")


def test_the_bar_is_whole_and_tables_open(shown):
    browser, _ = shown
    bar = browser.execute_script("""
        const parts = [...document.querySelectorAll('.stepscope [aria-hidden] > span[title]')]
            .map(one => one.getBoundingClientRect());
        return [parts.length, parts.at(-1).right - parts[0].left,
                document.querySelector('.stepscope [aria-hidden]').getBoundingClientRect().width]""")
    assert bar[0] >= 2 and abs(bar[1] - bar[2]) < 2
    tables = "return [...document.querySelectorAll('.stepscope table')].filter(one => one.checkVisibility()).length"
    assert browser.execute_script(tables) == 1
    browser.execute_script("document.querySelectorAll('.stepscope details:not([open]) summary')[0].click()")
    assert browser.execute_script(tables) == 2
    aligned = "return getComputedStyle(document.querySelector('.stepscope td{}')).textAlign"
    assert browser.execute_script(aligned.format(".right")) == "right"
    assert browser.execute_script(aligned.format(":not(.right)")) == "left"


def test_it_asks_for_nothing(shown):
    browser, _ = shown
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.scripts.length") == 0
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
