# SPDX-License-Identifier: Apache-2.0
"""Each format of `export` and each view of `report` has the figures of the recording. A new row of
src/cli/reading/formats.c or src/view/output/report_views.def fails here until it has a case."""

import csv
import gzip
import io
import itertools
import json
import re
import xml.etree.ElementTree as xml

import pytest

from foreign import own


from kernel_tables import two_kernels  # noqa: F401 (a fixture)

FORMATS, VIEWS = {}, {}


def of(table, name):
    def add(check):
        table[name] = check
        return check
    return add


class Export:
    """What a case may use: its recordings, and the file that `export` makes of one."""

    def __init__(self, stepscope, recordings, rows_of, info_of, two_kernels, folder):  # noqa: F811
        self.stepscope, self.recordings, self.rows_of, self.info_of = stepscope, recordings, rows_of, info_of
        self.two_kernels, self.folder = two_kernels, folder

    def write(self, trace, to, *options):
        out = self.folder / f"out.{to}"
        self.stepscope("export", trace, "--to", to, "-o", out, *options)
        return out


@pytest.fixture
def export(stepscope, recordings, rows_of, info_of, two_kernels, tmp_path):  # noqa: F811
    return Export(stepscope, recordings, rows_of, info_of, two_kernels, tmp_path)


def samples_of(export, trace, idle):
    done = export.stepscope("report", "--format", "json", "--idle", idle, trace)
    return json.loads(done.stdout)["header"]["samples"]["shown"]


@of(FORMATS, "raw")
def raw(export):
    trace = export.recordings("steps_phases").trace
    lines = export.write(trace, "raw").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == samples_of(export, trace, "none") > 50


@of(FORMATS, "flamegraph")
def flamegraph(export):
    trace = export.recordings("steps_phases").trace
    root = xml.fromstring(export.write(trace, "flamegraph").read_text())
    data = json.loads(next(node.text for node in root.iter() if node.tag.endswith("metadata")))
    assert f"{samples_of(export, trace, 'main')} samples" in " ".join(root.itertext()) + " ".join(data["texts"])


@of(FORMATS, "speedscope")
def speedscope(export):
    trace = export.recordings("steps_phases").trace
    profiles = json.loads(export.write(trace, "speedscope").read_text())["profiles"]
    sampled, = [one for one in profiles if one["type"] == "sampled"]
    assert 1e9 * export.info_of(trace)["duration_s"] == pytest.approx(sum(sampled["weights"]), rel=0.2)


def kernels_of(export, trace):
    return sum(row["instances"] for row in export.rows_of(trace, "kernel"))


@of(FORMATS, "chrome")
def chrome(export):
    trace = export.recordings("gpu_torch_lines").trace
    events = json.loads(export.write(trace, "chrome").read_text())["traceEvents"]
    kernels = [one for one in events if one.get("ph") == "X" and one.get("cat") == "kernel"]
    assert len(kernels) == kernels_of(export, trace) == 168


@of(FORMATS, "kineto")
def kineto(export):
    trace = export.recordings("gpu_torch_lines").trace
    events = json.loads(export.write(trace, "kineto").read_text())["traceEvents"]
    kernels = [one["dur"] for one in events if one.get("cat") == "kernel"]
    assert len(kernels) == 168
    total_ns = sum(row["total_ns"] for row in export.rows_of(trace, "kernel"))
    assert 1000 * sum(kernels) == pytest.approx(total_ns, rel=1e-6)


@of(FORMATS, "tensorboard")
def tensorboard(export):
    trace = export.recordings("gpu_torch_lines").trace
    file, = export.write(trace, "tensorboard").iterdir()
    assert file.name.endswith(".pt.trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert sum(str(one.get("cat", "")).lower() == "kernel" for one in events) == 168


@of(FORMATS, "roofline")
def roofline(export):
    trace = own("pytorch/torch_cpu_shapes.json.gz").path
    rows = [row for row in export.rows_of(trace, "roofline") if row["flops"]]
    shown = xml.fromstring(export.write(trace, "roofline").read_text())
    text = " ".join(shown.itertext())
    assert rows and rows[0]["name"] in text and "FLOP/s" in text


def bars(path, fill):
    """Widths of the bars of one colour, of 610 units for 100 %."""
    nodes = xml.fromstring(path.read_text()).iter("{http://www.w3.org/2000/svg}rect")
    return [float(node.get("width")) / 6.1 for node in nodes if node.get("fill") == fill]


@of(FORMATS, "speed-of-light")
def speed_of_light(export):
    rows = export.rows_of(export.two_kernels, "speed-of-light")
    path = export.write(export.two_kernels, "speed-of-light")
    assert bars(path, "#2f6fb5") == pytest.approx([row["compute_percent"] for row in rows], abs=0.1)
    assert bars(path, "#8fc9a5") == pytest.approx([row["dram_percent"] for row in rows], abs=0.1)


@of(FORMATS, "occupancy")
def occupancy(export):
    rows = export.rows_of(export.two_kernels, "occupancy")
    path = export.write(export.two_kernels, "occupancy")
    assert bars(path, "#2f6fb5") == pytest.approx([row["achieved_percent"] for row in rows], abs=0.1)
    assert bars(path, "#c9d6e6") == pytest.approx([row["theoretical_percent"] for row in rows], abs=0.1)


@of(FORMATS, "gpu-compute")
def gpu_compute(export):
    trace = export.recordings("gpu_torch_lines").trace
    written = export.write(trace, "gpu-compute").read_bytes()
    name = b"ampere_sgemm_128x128_nn"
    assert written.count(name) >= 1 and len(written) > 10_000


@of(FORMATS, "heatmap")
def heatmap(export):
    trace = export.recordings("ranks_gloo").trace
    titles = re.findall(r"<title>rank (\d+), step (\d+): ", export.write(trace, "heatmap").read_text())
    steps = export.info_of(trace)
    assert {rank for rank, _ in titles} == {str(one["rank"]) for one in steps["processes"]
                                            if one.get("rank") is not None}
    assert len(set(titles)) == len(titles) > 20


@of(FORMATS, "perfetto-compat")
def perfetto_compat(export):
    trace = export.recordings("gpu_torch_lines").trace
    again = export.write(trace, "perfetto-compat")
    assert export.rows_of(again, "kernel") == export.rows_of(trace, "kernel")


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_has_the_figures_of_the_report(export, name):
    FORMATS[name](export)


# --- views of report --------------------------------------------------------------------------------

BY = "op", "--num-rows", "all"


@of(VIEWS, "json")
def json_view(said):
    return {row["name"]: row["calls"] for row in json.loads(said)["tables"][0]["rows"]}


@of(VIEWS, "csv")
def csv_view(said):
    return {row["name"]: int(row["calls"]) for row in csv.DictReader(io.StringIO(said))}


def under(lines, heading):
    """{last column: number below `heading`} of aligned text, whose numbers end where their heading does."""
    at = next(number for number, line in enumerate(lines) if re.search(rf"  {heading}  .*  operator$", line))
    end = lines[at].index(f"  {heading}  ") + 2 + len(heading)
    name = lines[at].index("operator")
    rows = itertools.takewhile(lambda line: line[name:].strip() and "not shown" not in line, lines[at + 1:])
    return {line[name:]: int(line[:end].split()[-1].replace(",", "")) for line in rows}


@of(VIEWS, "text")
def text_view(said):
    return under(said.splitlines(), "calls")


@of(VIEWS, "markdown")
def markdown_view(said):
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in said.splitlines() if line.startswith("|")]
    head = next(row for row in rows if "operator" in row)
    begin = rows.index(head) + 2
    return {row[head.index("operator")].strip("`"): int(row[head.index("calls")].replace(",", ""))
            for row in rows[begin:] if len(row) == len(head)}


@of(VIEWS, "html")
def html_view(said):
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', said, re.S).group(1))
    table, = [one for one in data["blocks"] if one["kind"] == "table"]
    titles = [one["title"] for one in table["columns"]]
    texts = [["".join(cell) if isinstance(cell, list) else str(cell) for cell in row] for row in table["rows"]]
    return {row[titles.index("operator")]: int(row[titles.index("calls")].replace(",", "")) for row in texts}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_the_rows_of_the_table(text_of, recordings, name):
    trace = recordings("operators_marked").trace
    wanted = json_view(text_of(trace, "--by", *BY, "--format", "json"))
    assert len(wanted) > 5
    assert VIEWS[name](text_of(trace, "--by", *BY, "--format", name)) == wanted


# --- none is left out -------------------------------------------------------------------------------

def test_every_format_and_view_has_its_case(source_dir):
    rows = re.split(r"(?=\{\.name = )", (source_dir / "src/cli/reading/formats.c").read_text())
    exported = {row.split('"')[1] for row in rows if re.search(r"\.export = true", row)}
    views = set(re.findall(r"^SS_REPORT_VIEW\((\w+),", (source_dir / "src/view/output/report_views.def").read_text(), re.M))
    assert (set(FORMATS), set(VIEWS)) == (exported, views)
