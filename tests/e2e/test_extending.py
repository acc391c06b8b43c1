# SPDX-License-Identifier: Apache-2.0
"""What ARCHITECTURE.md says of adding a table, an output format and a source: one of each is added, in the
files that it names and no other, and a program linked with these and the build's other objects has them
everywhere."""

import csv
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import Stepscope
from target import HOLD, record_until

NEW_TABLE = "thread_name"
NEW_FORMAT = "sample_list"
NEW_VIEW = "outline"
NEW_SOURCE = "heartbeat"

TABLE_HEADER = """/* SPDX-License-Identifier: Apache-2.0 */
/* Threads by their name: how many there are, and their samples. Pure. */
#ifndef SS_ANALYSIS_THREAD_NAME_H
#define SS_ANALYSIS_THREAD_NAME_H

#include "analysis/tables/tables.h"

size_t ss_thread_names_build(const struct ss_table_input *input, struct ss_table *tables);

#endif
"""

TABLE_SOURCE = """/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/thread_name.h"

enum { NAME, THREADS, SAMPLES, PERCENT, COLUMNS };

static const struct ss_column columns[COLUMNS] = {
    [NAME] = {.key = "name"},
    [THREADS] = {.key = "threads", .unit = "threads"},
    [SAMPLES] = {.key = "samples", .unit = "samples"},
    [PERCENT] = {.key = "share_percent", .unit = "percent"}};

static struct ss_cell *row_of(struct ss_table *table, struct ss_strview name)
{
    for (size_t row = 0; row < table->row_count; row++) {
        struct ss_cell *cells = &table->cells.data[row * COLUMNS];
        if (ss_strview_equal(cells[NAME].text, name)) {
            return cells;
        }
    }
    struct ss_cell *cells = ss_table_add_row(table);
    cells[NAME] = ss_cell_text(name);
    cells[THREADS] = cells[SAMPLES] = ss_cell_integer(0);
    return cells;
}

size_t ss_thread_names_build(const struct ss_table_input *input, struct ss_table *tables)
{
    const struct ss_selection *selection = input->selection;
    const struct ss_model *model = selection->model;
    struct ss_table *table = &tables[0];
    *table = (struct ss_table){.name = "thread-name",
                               .title = "Threads by name",
                               .samples_key = "samples",
                               .columns = columns,
                               .column_count = COLUMNS,
                               .shown_samples = selection->shown};
    for (size_t thread = 1; thread < model->threads.count; thread++) {
        uint64_t samples = 0;
        for (size_t i = 0; i < model->totals.count; i++) {
            const struct ss_model_total *total = &model->totals.data[i];
            samples += selection->totals[i] && total->thread == thread ? total->samples : 0;
        }
        uint32_t name = model->threads.data[thread].name;
        struct ss_cell *cells = row_of(table, ss_intern_get(&model->strings, name));
        cells[THREADS].integer++;
        cells[SAMPLES].integer += (int64_t)samples;
        cells[PERCENT] = ss_cell_real(100 * (double)cells[SAMPLES].integer /
                                      (double)(selection->shown > 0 ? selection->shown : 1));
    }
    return 1;
}
"""

TABLE_ROW = """    {.id = "thread-name",
     .summary = "threads by their name",
     .accepts = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .build = ss_thread_names_build},
"""

VIEW_SOURCE = """/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report, a line each. */
#include "view/output/report.h"

enum ss_status ss_report_outline(const struct ss_document *document,
                                 const struct ss_report_style *style, FILE *out,
                                 struct ss_error *err)
{
    (void)style;
    (void)err;
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        if (table != NULL) {
            fprintf(out, "%s: %zu\\n", table->name, table->row_count);
        }
    }
    return SS_OK;
}
"""

VIEW_ROW = 'SS_REPORT_VIEW(outline, ".outline", false, false, false, "a line for each table")\n'

FORMAT_HEADER = """/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each stack: its samples, and its leaf. */
#ifndef SS_VIEW_SAMPLE_LIST_H
#define SS_VIEW_SAMPLE_LIST_H

#include "analysis/selection/selection.h"
#include "view/output/sink.h"

enum ss_status ss_view_sample_list(const struct ss_selection *selection, struct ss_sink *sink,
                                   struct ss_error *err);

#endif
"""

FORMAT_SOURCE = """/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/sample_list.h"

enum ss_status ss_view_sample_list(const struct ss_selection *selection, struct ss_sink *sink,
                                   struct ss_error *err)
{
    (void)err;
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (selection->totals[i] && total->stack != 0) {
            uint32_t frame = model->stacks.data[total->stack].frame;
            ss_sink_format(sink, "%llu %s\\n", (unsigned long long)total->samples,
                           ss_model_text(model, model->frames.data[frame].function));
        }
    }
    return SS_OK;
}
"""

FORMAT_ROW = """    {.name = "sample-list",
     .aliases = {"list"},
     .endings = {".samples"},
     .help = "a line for each stack",
     .export = true,
     .idle = SS_IDLE_MAIN,
     .write = write_sample_list},
"""

FORMAT_FUNCTION = """static enum ss_status write_sample_list(const struct ss_selection *selection,
                                        const struct ss_format_options *options,
                                        struct ss_sink *sink, struct ss_error *err)
{
    (void)options;
    return ss_view_sample_list(selection, sink, err);
}

"""


SOURCE_HEADER = """/* SPDX-License-Identifier: Apache-2.0 */
/* A device that beats ten times a second. Owned by the recorder's thread. */
#ifndef SS_SOURCE_HEARTBEAT_H
#define SS_SOURCE_HEARTBEAT_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_heartbeat;

#endif
"""

SOURCE_SOURCE = """/* SPDX-License-Identifier: Apache-2.0 */
#include "source/heartbeat.h"

#include <stdio.h>

#include "base/alloc.h"

static const struct ss_metric_row beats = {.name = "beats", .unit = "count", .always = true};

struct heartbeat {
    struct ss_metric_sink sink;
    struct ss_metric_group group;
    struct ss_metric metric;
    uint32_t track;
    uint64_t count;
};

static enum ss_source_state probe(const struct ss_source_setup *setup, char *reason)
{
    (void)setup;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "one heart");
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **started, char *reason)
{
    struct heartbeat *source = ss_alloc_zero(1, sizeof *source);
    struct ss_metric_device device = {
        .number = 1, .memory_bytes = 1024, .model = "Heart; 4 chambers", .uuid = "HEART-1"};
    source->sink = setup->metrics;
    source->group = (struct ss_metric_group){.sink = &source->sink, .name = "heart"};
    source->group.owner.device_ref = source->sink.device(source->sink.context, &device);
    source->track =
        source->sink.ranges(source->sink.context, source->group.owner, 0, "heart's phases");
    snprintf(reason, SS_SOURCE_REASON_BYTES, "it beats");
    *started = source;
    return SS_SOURCE_RUNS;
}

static uint64_t tick(void *argument, uint64_t now_ns)
{
    struct heartbeat *source = argument;
    ss_metric_put(&source->group, &beats, &source->metric, now_ns, (double)++source->count);
    source->sink.range(source->sink.context, source->track, now_ns - 30000000, now_ns, "systole");
    return now_ns + UINT64_C(100000000);
}

static enum ss_source_state stop(void *argument, uint64_t now_ns, char *reason)
{
    struct heartbeat *source = argument;
    (void)now_ns;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%llu beats", (unsigned long long)source->count);
    ss_free(source);
    return SS_SOURCE_RUNS;
}

const struct ss_source_ops ss_source_heartbeat = {.name = "heartbeat",
                                                  .summary = "a heart",
                                                  .probe = probe,
                                                  .start = start,
                                                  .tick = tick,
                                                  .stop = stop};
"""


def named_files(root, thing, name):
    """The files of the row in "Where to add things", X replaced by the name."""
    text = (root / "ARCHITECTURE.md").read_text()
    row = re.search(rf"^\| {re.escape(thing)} \|(.*)\|$", text, re.MULTILINE).group(1)
    return {word.replace("X", name) for word in re.findall(r"`((?:src|tests)/[\w./]+)`", row)}


class Overlay:
    """Files that replace those of the source tree or are new, and the program that they give."""

    def __init__(self, source, build, folder):
        self.source, self.build, self.folder = source, build, folder
        self.touched = {}
        done = subprocess.run(["ninja", "-t", "commands", "stepscope"], cwd=build, check=True,
                              capture_output=True, text=True)
        *steps, self.link = [shlex.split(line) for line in done.stdout.splitlines()]
        self.compilers = {pathlib.Path(words[-1]): words for words in steps if words[-2:-1] == ["-c"]}

    def add(self, thing, files, edits):
        """New files, and texts that are put in front of the first place in a file that matches."""
        for name, text in files.items():
            assert not (self.source / name).exists()
            self.write(name, text)
        for name, place, text in edits:
            known = self.folder / name if (self.folder / name).exists() else self.source / name
            old = known.read_text()
            found = re.search(place, old, re.MULTILINE)
            assert found is not None, f"{name} has no line that matches {place}"
            self.write(name, old[:found.start()] + text + old[found.start():])
        self.touched[thing] = {*files, *(name for name, _, _ in edits)}

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def affected(self):
        """The sources that have to be compiled: those touched, and those that include what is touched."""
        files = {str(path.relative_to(self.source)): path.read_text()
                 for path in (self.source / "src").rglob("*.[chd]*") if path.is_file()}
        found = set().union(*self.touched.values())
        while more := {name for name, text in files.items() if name not in found and any(
                f'#include "{one.removeprefix("src/")}"' in text for one in found)}:
            found |= more
        return sorted(name for name in found if name.endswith(".c"))

    def compile(self, name):
        """Compiled as the build compiles the files of its folder."""
        known = self.source / name
        model = known if known in self.compilers else next(
            path for path in self.compilers if path.parent == known.parent)
        words = self.compilers[model][:]
        target = self.folder / (name.replace("/", "-") + ".o")
        words[-1] = str(self.folder / name if (self.folder / name).exists() else known)
        words[words.index("-o") + 1] = str(target)
        words[words.index("-MD"):words.index("-MF") + 2] = []
        words.insert(next(i for i, word in enumerate(words) if word.startswith("-I")),
                     f"-I{self.folder / 'src'}")
        self.succeed(words)
        return str(target)

    def program(self):
        objects = [self.compile(name) for name in self.affected()]
        words = self.link[self.link.index("&&") + 1:-2]  # ": && cc … && :"
        out = self.folder / "stepscope"
        words[words.index("-o") + 1] = str(out)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        self.succeed([*words[:first], *objects, *words[first:]])
        return Stepscope(out)

    def succeed(self, command):
        done = subprocess.run(command, cwd=self.build, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]


@pytest.fixture(scope="module")
def extended(stepscope, source_dir, tmp_path_factory):
    """The program with one of each more, and by thing the files that were touched."""
    build = stepscope.path.parent
    if shutil.which("ninja") is None or not (build / "build.ninja").exists():
        pytest.skip("stepscope is not in the folder where Ninja built it")
    overlay = Overlay(source_dir, build, tmp_path_factory.mktemp("extended"))
    overlay.add(
        "a table of the report",
        {f"src/analysis/tables/{NEW_TABLE}.h": TABLE_HEADER,
         f"src/analysis/tables/{NEW_TABLE}.c": TABLE_SOURCE},
        [("src/analysis/tables/tables.c", r'^#include "analysis/steps/ranges.h"', f'#include "analysis/tables/{NEW_TABLE}.h"\n'),
         ("src/analysis/tables/tables.c", r"^    \{\.id = NULL\}", TABLE_ROW)])
    overlay.add(
        "an output format",
        {f"src/view/export/{NEW_FORMAT}.h": FORMAT_HEADER,
         f"src/view/export/{NEW_FORMAT}.c": FORMAT_SOURCE},
        [("src/cli/reading/formats.c", r'^#include "view/export/speedscope.h"', f'#include "view/export/{NEW_FORMAT}.h"\n'),
         ("src/cli/reading/formats.c", r"^static enum ss_status write_chrome\(", FORMAT_FUNCTION),
         ("src/cli/reading/formats.c", r"^    \{\.name = NULL\}", FORMAT_ROW)])
    overlay.add(
        "a format of the report",
        {f"src/view/report/report_{NEW_VIEW}.c": VIEW_SOURCE},
        [("src/view/output/report_views.def", r"^SS_REPORT_VIEW\(markdown", VIEW_ROW)])
    overlay.add(
        "a source",
        {f"src/source/{NEW_SOURCE}.h": SOURCE_HEADER, f"src/source/{NEW_SOURCE}.c": SOURCE_SOURCE},
        [("src/record/sources/source_registry.c", r'^#include "source/host.h"', f'#include "source/{NEW_SOURCE}.h"\n'),
         ("src/record/sources/source_registry.c", r"NULL\};", "&ss_source_heartbeat, ")])
    return overlay.program(), overlay


@pytest.mark.parametrize("folder", ["analysis", "view", "source"])
def test_the_build_finds_new_files_itself(extended, source_dir, folder):
    """No file of the build names the sources of the folder, and the build compiles each."""
    sources = set((source_dir / "src" / folder).rglob("*.c"))
    assert sources and sources <= set(extended[1].compilers)
    written = "".join(path.read_text() for path in (
        source_dir / "CMakeLists.txt", *(source_dir / "cmake").glob("*.cmake")))
    assert not [path.name for path in sources if f"{folder}/{path.name}" in written]


@pytest.mark.parametrize("thing, name", [("a table of the report", NEW_TABLE),
                                         ("a format of the report", NEW_VIEW),
                                         ("an output format", NEW_FORMAT),
                                         ("a source", NEW_SOURCE)])
def test_only_the_files_named_are_touched(extended, source_dir, thing, name):
    named = {path for path in named_files(source_dir, thing, name)
             if not path.startswith("tests/") and path != "src/analysis/report/document.h"}  # to read
    assert extended[1].touched[thing] == named


def test_a_new_table_is_everywhere(extended, tmp_path):
    stepscope = extended[0]
    raw = tmp_path / "two.txt"
    raw.write_text("main (a.py:1);work (a.py:2) 60\nmain (a.py:1) 40\n")
    assert re.search(r"thread-name +threads by their name", stepscope("report", "--help").stdout)
    assert "| `thread-name` | threads by their name |" in stepscope("help", "--format", "markdown").stdout
    text = stepscope("report", "--by", "thread-name", raw).stdout
    assert "Threads by name" in text and re.search(r"name +threads +samples +share", text)
    assert "100.0%" in text
    rows = list(csv.DictReader(io.StringIO(
        stepscope("report", "--by", "thread-name", "-f", "csv", raw).stdout)))
    assert [(row["samples"], row["share_percent"]) for row in rows] == [("100", "100.0000")]
    table = json.loads(stepscope("report", "--by", "thread-name", "-f", "json", raw).stdout)["tables"][0]
    assert table["by"] == "thread-name" and table["units"]["share_percent"] == "percent"
    assert "--sort belongs to --by function" in stepscope(
        "report", "--by", "thread-name", "--sort", "self", raw, status=2).stderr


def test_a_new_format_is_everywhere(extended, tmp_path):
    stepscope = extended[0]
    raw = tmp_path / "two.txt"
    raw.write_text("main (a.py:1);work (a.py:2) 60\nmain (a.py:1) 40\n")
    for options in (["--to", "sample-list", "-o", "-"], ["--to", "list", "-o", "-"]):
        assert sorted(stepscope("export", *options, raw).stdout.split("\n")) == ["", "40 main", "60 work"]
    stepscope("export", raw, "-o", tmp_path / "two.samples")
    assert pathlib.Path(tmp_path / "two.samples").read_text().count("\n") == 2
    assert "| `sample-list` |" in stepscope("help", "--format", "markdown").stdout
    assert "sample-list" in stepscope("export", "--to", "nothing", raw, status=2).stderr


def test_a_new_format_of_the_report_is_everywhere(extended, tmp_path):
    stepscope = extended[0]
    raw = tmp_path / "two.txt"
    raw.write_text("main (a.py:1);work (a.py:2) 60\nmain (a.py:1) 40\n")
    assert stepscope("report", "--format", "outline", raw).stdout == "function: 2\nline: 2\n"
    stepscope("report", "--by", "tree", "-o", tmp_path / "two.outline", raw)
    assert (tmp_path / "two.outline").read_text() == "tree: 2\n"
    assert re.search(r"outline +a line for each table", stepscope("report", "--help").stdout)
    assert "| `outline` | a line for each table |" in stepscope("help", "--format", "markdown").stdout
    assert "outline" in stepscope("report", "--format", "nothing", raw, status=2).stderr


def test_a_new_source_is_everywhere(extended, tmp_path):
    stepscope, trace = extended[0], tmp_path / "t.pftrace"
    checks = json.loads(stepscope("doctor", "--format", "json", status=None).stdout)["checks"]
    assert any(one["name"] == "heartbeat" and "one heart" in one["text"] for one in checks)

    def table(by):
        report = stepscope("report", "--by", by, "-f", "json", trace, status=None).stdout
        return json.loads(report)["tables"][0]["rows"] if report and trace.exists() else []

    def beats():
        return [one for one in table("counter") if one["name"] == "beats"]

    record_until(stepscope, trace, [sys.executable, "-S", "-c", HOLD],
                 lambda: beats() and beats()[0]["count"] >= 5, "five beats", ["-q", "--no-inject"])
    facts = json.loads(stepscope("info", trace, "--format", "json").stdout)["files"][0]
    source = next(one for one in facts["sources"] if one["name"] == "heartbeat")
    assert source["status"] == "ran" and source["reason"].endswith(" beats")
    assert facts["devices"] == [{"id": 1, "kind": "other", "number": 0, "model": "Heart; 4 chambers",
                                 "uuid": "HEART-1", "pci_address": None, "memory_bytes": 1024}]
    row = next(one for one in table("range") if one["name"] == "systole")
    assert row["domain"] == "heart's phases" and row["total_ns"] == row["count"] * 30_000_000
    (row,) = beats()
    assert row["group"].endswith("heart") and 5 <= row["count"] == row["max"]
