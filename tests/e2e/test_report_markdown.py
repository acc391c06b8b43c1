# SPDX-License-Identifier: Apache-2.0
"""`stepscope report --format markdown`: what a renderer of GitHub-flavoured Markdown makes of it."""

import csv
import io
import json
import re

import pytest

RAW = """\
main (a.py:1);work|x (b<c>.py:2);`tick` (d.py:3) 600
main (a.py:1);*star*_ (b<c>.py:4) 300
main (a.py:1);__init__ (e.py:5);[link](x) (f.py:6) 95
main (a.py:1) 5
"""


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(RAW)
    return path


def unescaped(text):
    """The text that is shown, without markup; fails where a character would be read as markup."""
    assert not re.search(r"(?<!\\)[`*<>|\[\]~]", text), text
    return re.sub(r"\\(.)", r"\1", text)


def cells_of(line):
    assert line.startswith("| ") and line.endswith(" |"), line
    return [unescaped(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables_of(text):
    """By heading: (titles, alignments, rows) of each pipe table."""
    tables, heading, lines = {}, "", text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("## "):
            heading = line[3:]
        if re.fullmatch(r"(\|---:?)+\|", line):
            rows = []
            for row in lines[number + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(cells_of(row))
            tables[heading] = (cells_of(lines[number - 1]), line[1:-1].split("|"), rows)
    return tables


def test_tables_are_pipe_tables_with_numbers_to_the_right(stepscope, raw):
    text = stepscope("report", "--format", "markdown", "--by", "function", raw).stdout
    titles, alignments, rows = tables_of(text)["Hottest functions"]
    assert titles == ["self", "samples", "total", "function", "where"]
    assert alignments == ["---:", "---:", "---:", "---", "---"]
    named = {row[3]: row for row in rows}
    assert {"`tick`", "*star*_", "[link](x)", "__init__", "work|x", "main"} == set(named)
    assert named["`tick`"][1] == "600" and named["`tick`"][4] == "d.py"
    assert named["work|x"][4] == "b<c>.py"
    assert all(len(row) == len(titles) for row in rows)


def test_it_has_the_rows_of_csv(stepscope, raw):
    for by in ("line", "file", "thread", "process", "leaf"):
        text = stepscope("report", "--format", "markdown", "--by", by, "--num-rows", "all", raw).stdout
        (_, _, rows), = tables_of(text).values()
        table = csv.DictReader(io.StringIO(
            stepscope("report", "--format", "csv", "--by", by, "--num-rows", "all", raw).stdout))
        assert len(rows) == len(list(table))


def test_title_header_notes_and_next_commands(stepscope, raw):
    text = stepscope("report", "--format", "markdown", raw).stdout
    assert text.startswith(f"# stepscope report: {raw}".replace("_", r"\_")[:20])
    assert re.search(r"^- \*\*Samples:\*\* 1,000 recorded = 1,000 shown$", text, re.M)
    assert "## Hottest functions\n\n| self " in text and "## Hottest lines\n\n| self " in text
    assert re.search(r"^\d+ rows? .*not shown", text, re.M)
    assert re.search(r"^## Next\n\n```sh\nstepscope report .*\n(.*\n)*```\n$", text, re.M)
    assert "\x1b" not in text


def test_trees_are_code(stepscope, raw):
    text = stepscope("report", "--format", "markdown", "--by", "tree", "--min-percent", "0", raw).stdout
    fence = re.search(r"^(`{3,})text\n((?:.*\n)*?)\1\n", text, re.M)
    assert "├ work|x" in fence.group(2) and "`tick`" in fence.group(2)


def test_a_fence_is_longer_than_backticks_in_names(stepscope, tmp_path):
    path = tmp_path / "ticks.txt"
    path.write_text("main (a.py:1);````` (a.py:2) 60\n")
    text = stepscope("report", "--format", "markdown", "--by", "tree", path).stdout
    assert re.search(r"^`{6}text\n(.*\n)+`{6}\n", text, re.M)


def test_names_cannot_break_lines_or_reach_a_terminal(stepscope, tmp_path):
    path = tmp_path / "evil.txt"
    path.write_bytes("main (a.py:1);e\x1b[31m\rvil\u2028| (a.py:2) 60\n".encode())
    text = stepscope("report", "--format", "markdown", "--by", "function", path).stdout
    (titles, _, rows), = tables_of(text).values()
    assert len(rows) == 2 and all(len(row) == len(titles) for row in rows)
    assert "\x1b" not in text and "\r" not in text


def test_the_ending_chooses_it(stepscope, raw, tmp_path):
    stepscope("report", "-o", tmp_path / "r.md", raw)
    assert (tmp_path / "r.md").read_text() == stepscope("report", "-f", "markdown", raw).stdout


def test_help_and_refusals_name_every_format(stepscope, raw):
    text = stepscope("report", "--help").stdout
    assert re.search(r"^ +markdown +\w", text, re.M) and re.search(r"^ +json +\w", text, re.M)
    assert "markdown" in stepscope("report", "-f", "nothing", raw, status=2).stderr


def test_a_training(stepscope, python, package, tmp_path):
    """The headline, the bar and the series of a program that marks its steps."""
    program, trace = tmp_path / "loop.py", tmp_path / "t.pftrace"
    program.write_text("import stepscope, time\n"
                       "for _ in range(40):\n"
                       "    stepscope.step()\n"
                       "    stepscope.phase('lo*ad'); time.sleep(0.006)\n"
                       "    stepscope.phase('compute'); time.sleep(0.002)\n")
    stepscope("record", "-q", "-r", "200", "-o", trace, "--", python, program,
              env={"PYTHONPATH": str(package)})
    text = stepscope("report", "-f", "markdown", trace).stdout
    slow = r"(, with the slow ones [\d.]+ m?s on average)?"  # on a busy machine
    assert re.search(r"^\*\*A step takes [\d.]+ m?s" + slow + r": [\d.]+ % lo\\\*ad, ", text, re.M)
    titles, alignments, rows = tables_of(text)[""]
    assert set(titles) == {"lo*ad", "compute", "other"} and set(alignments) == {"---:"}
    assert abs(sum(float(cell.split()[0]) for cell in rows[0]) - 100) < 0.2
    assert re.search(r"^`[▁▂▃▄▅▆▇█]+` step by step$", text, re.M)
    assert re.search(r"^## Recording\n\n- \*\*Recorded:\*\* ", text, re.M)
    steps = json.loads(stepscope("report", "-f", "json", trace).stdout)["training"]["steps"]
    assert len(re.search(r"^`([▁▂▃▄▅▆▇█]+)`", text, re.M).group(1)) == min(steps, 72)
