# SPDX-License-Identifier: Apache-2.0
"""`stepscope report --html`: the page in real browsers."""

import json
import os
import time

import pytest
from kernel_tables import two_kernels  # noqa: F401 (a fixture)
from kineto import COMMUNICATION_STREAM, Kineto
from pages import page_of, raw, training  # noqa: F401 (fixtures)

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from browser import axe, chromium, emulate, findings_of_axe  # noqa: E402, F401 (a fixture)
from page_browsers import browser, firefox, one_browser  # noqa: E402, F401 (fixtures)
from selenium.webdriver.common.keys import Keys  # noqa: E402

HOSTILE = ["</script><script>window.broken=1</script>", "<!--<script>window.broken=1//",
           '"><img src=x onerror="window.broken=1">', "]]><svg onload=window.broken=1>",
           "\u202eevil", "名前" * 40, "x" * 10000, "`|*<b>"]


class Page:
    """An opened page: it has no errors and has requested nothing."""

    def __init__(self, browser, path):
        self.browser, self.js, self.keys = browser, browser.js, browser.keys
        browser.open(path.as_uri())
        assert self.js("return document.documentElement.dataset.ready") == "yes"
        self.check()

    def check(self):
        assert self.browser.errors() == []
        assert self.js("return performance.getEntriesByType('resource').length") == 0

    def all(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])]"
                       ".map((element) => element.innerText)", selector)

    def section(self, title):
        return self.js("return [...document.querySelectorAll('section')].find((section) =>"
                       "section.querySelector('h2').textContent === arguments[0])", title)

    def column(self, title, number):
        return self.js("return [...arguments[0].querySelectorAll('tbody tr')].map((row) =>"
                       "row.cells[arguments[1]].textContent)", self.section(title), number)

    def press(self, section, text):
        self.js("[...arguments[0].querySelectorAll('button')].find((button) =>"
                "button.textContent.startsWith(arguments[1])).click()", section, text)

    def click(self, element):
        """With the pointer, in its middle."""
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        box = self.js("const box = arguments[0].getBoundingClientRect();"
                      "return [box.left + box.width / 2, box.top + box.height / 2]", element)
        self.browser.drag(box, box)


TRAIN = """\
import stepscope


def slow():
    total = 0
    for i in range(60_000):
        total += i * i
    return total


stepscope.epoch(0)
for _ in range(200):
    stepscope.phase("data")
    slow()
    stepscope.phase(None)
    stepscope.step()
"""


@pytest.fixture(scope="module")
def trained(stepscope, package, python, tmp_path_factory):
    """(program, its recording)"""
    folder = tmp_path_factory.mktemp("trained")
    program, trace = folder / "train.py", folder / "run.pftrace"
    program.write_text(TRAIN)
    written_before(program)
    stepscope("record", "-q", "-r", 200, "-o", trace, "--", python, program, env={"PYTHONPATH": str(package)})
    return program, trace


def written_before(program):
    hour_ago = time.time() - 3600
    os.utime(program, (hour_ago, hour_ago))


def test_the_source_of_a_finding_unless_it_was_changed(browser, page_of, trained):
    program, trace = trained
    written_before(program)
    page = Page(browser, page_of(trace))
    assert page.all(".excerpt figcaption")[0].startswith("train.py:")
    marked = page.js("return document.querySelector('.excerpt mark').textContent").strip()
    assert "for i in range(60_000):" in marked or "total += i * i" in marked
    shown = page.js("return document.querySelector('.excerpt code').textContent")
    assert "def slow():" in shown
    os.utime(program)
    page = Page(browser, page_of(trace))
    assert page.all(".finding") and not page.all(".excerpt")


def ranks(folder, steps=6):
    """Two ranks of one run; the second one is late to each collective."""
    folder.mkdir()
    for rank in 0, 1:
        trace = Kineto(rank=rank, world_size=2)
        for number in range(steps):
            begin = 1000 + number * 10000
            trace.step(number, begin, 10000)
            trace.operator("aten::mm", begin + 5, 100)
            arrives = begin + 2000 + 3000 * rank
            trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", arrives - 50,
                         arrives, begin + 5200 - arrives, stream=COMMUNICATION_STREAM,
                         **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                            "Group size": 2, "Process Group Name": "dp", "Seq": number})
        trace.write(folder / f"rank{rank}.pt.trace.json")
    return folder


def test_ranks_have_a_map_and_their_tables(browser, page_of, tmp_path):
    page = Page(browser, page_of(ranks(tmp_path / "run")))
    assert page.all(".heat figcaption")[0].startswith(("own time of each rank", "By process"))
    width, height, colours = page.js(PIXELS.replace("arguments[0]", "document.querySelector('.heat')"))
    assert width > 500 and height > 50 and colours > 2
    assert {"Ranks", "Collectives"} <= {title.split(" ")[0] for title in page.all("section h2")}
    choices = page.all("select option")
    assert "rank 0" in choices and "rank 1" in choices


def test_two_recordings(browser, stepscope, tmp_path):
    target = tmp_path / "diff.html"
    stepscope("diff", training(tmp_path / "a.json"), training(tmp_path / "b.json", slow=5),
              "--html", target)
    page = Page(browser, target)
    assert page.all("section h2")[0] == "What changed"
    assert "Step" in page.all("section h2")
    assert page.js("return document.querySelectorAll('td.right').length") > 10


def test_sections_are_those_of_the_text(browser, stepscope, page_of, tmp_path):
    source = training(tmp_path / "trace.json")
    page = Page(browser, page_of(source))
    titles = page.all("section h2")
    assert titles[0] == "Where the time goes"
    text = " ".join(stepscope("report", source).stdout.split())
    headline = page.js("return document.querySelector('p.headline').textContent")
    assert headline.startswith("A step takes 1.00\u00a0ms") and headline.replace("\u00a0", " ") in text
    assert "Kernels" in titles and "Operators" in titles and "Steps" in titles
    assert "What was recorded, and how faithfully" in titles
    assert page.all("nav a") == titles


def test_findings_show_what_they_bring(browser, page_of, tmp_path, stepscope):
    source = training(tmp_path / "trace.json")
    found = json.loads(stepscope("report", source, "-f", "json").stdout)["training"]["advice"]
    page = Page(browser, page_of(source))
    assert len(page.all(".finding")) == min(len(found), 4) > 0
    assert page.all(".finding .fix")[0].replace("\u00a0", " ") == found[0]["fix"]


PIXELS = """const canvas = arguments[0].querySelector('canvas');
const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
const seen = new Set();
for (let i = 0; i < data.length; i += 4 * 7) {
    seen.add(data.slice(i, i + 3).join());
}
return [canvas.width, canvas.height, seen.size];"""


def test_pictures_are_drawn(browser, page_of, tmp_path):
    page = Page(browser, page_of(training(tmp_path / "trace.json")))
    for title in ("Step by step", "What ran in a step", "Flame graph"):
        width, height, colours = page.js(PIXELS, page.section(title))
        assert width > 500 and height > 50 and colours > 5, title


def focus(page, title):
    """Behind the scrolling, whose event hides the tip."""
    page.browser.js_later(
        "const done = arguments[arguments.length - 1];"
        "const canvas = arguments[0].querySelector('canvas');"
        "canvas.scrollIntoView({block: 'center'});"
        "setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => {"
        "    canvas.focus({preventScroll: true}); done(); })), 100);", page.section(title))


def tip(page, title):
    return page.js("const tip = arguments[0].querySelector('.tip');"
                   "return tip.classList.contains('shown') ? tip.innerText : ''", page.section(title))


def test_steps_are_read_by_keyboard_and_selected_by_a_drag(browser, page_of, tmp_path):
    page = Page(browser, page_of(training(tmp_path / "trace.json")))
    focus(page, "Step by step")
    page.keys(Keys.ARROW_RIGHT)
    assert tip(page, "Step by step").startswith("Step 0: 1.00 ms")
    page.keys(Keys.END)
    assert tip(page, "Step by step").startswith("Step 7: 1.00 ms")
    left, middle, width = page.js("""
        const canvas = arguments[0].querySelector('canvas');
        canvas.scrollIntoView({block: 'center'});
        const box = canvas.getBoundingClientRect();
        return [box.left + 58, box.top + box.height / 2, box.width - 58];""", page.section("Step by step"))
    page.browser.drag((left + 3.5 * width / 8, middle), (left + 5.5 * width / 8, middle))
    words = page.js("return arguments[0].querySelector('.steps > .note').textContent",
                    page.section("Step by step"))
    assert words.startswith("Steps 3 to 5: 3 shown, median 1.00 ms")
    page.press(page.section("Step by step"), "All steps")
    assert page.js("return arguments[0].querySelector('.steps > .note').textContent",
                   page.section("Step by step")) == ""


def test_a_step_of_the_time_line(browser, page_of, tmp_path):
    page = Page(browser, page_of(training(tmp_path / "trace.json")))
    section = page.section("What ran in a step")
    chosen = page.js("return [...arguments[0].querySelectorAll('[aria-pressed]')]"
                     ".map((button) => button.textContent)", section)
    assert [text.split(":")[0] for text in chosen] == ["median", "slowest"]  # the first is the median
    assert "slowest: step 4, 3.00 ms" in chosen
    page.js("arguments[0].querySelector('details').open = true", section)
    rows = page.js("return [...arguments[0].querySelectorAll('details tbody tr')]"
                   ".map((row) => row.innerText)", section)
    assert any(row.startswith("gemm_kernel") and row.endswith("400 µs") for row in rows)
    page.press(section, "slowest")
    focus(page, "What ran in a step")
    page.keys("+")
    assert page.js("return !([...arguments[0].querySelectorAll('button')].find((button) =>"
                   "button.textContent === 'Whole step').hidden)", section)


STACKS = """\
main (a.py:1);train (a.py:9);forward (m.py:5);mul (ops.py:7) 30
main (a.py:1);train (a.py:9);loss (m.py:9);mul (ops.py:7) 10
main (a.py:1);load (d.py:2) 60
"""


def test_flame_graph_has_search_zoom_callers_and_callees(browser, page_of, tmp_path):
    source = tmp_path / "run.txt"
    source.write_text(STACKS)
    page = Page(browser, page_of(source))
    section = page.section("Flame graph")
    words = "return arguments[0].querySelector('.flame > .note').textContent"
    assert page.js(words, section).startswith("100 samples in all")
    field = page.js("return arguments[0].querySelector('input')", section)
    page.click(field)
    page.keys("MUL")
    assert page.js("return arguments[0].querySelector('.count').textContent", section) == "40.0 % found"
    focus(page, "Flame graph")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert tip(page, "Flame graph").startswith("load")
    page.keys(Keys.ARROW_RIGHT)
    assert tip(page, "Flame graph").startswith("train")
    assert "40 samples, 40.0 %" in tip(page, "Flame graph")
    page.js("arguments[0].querySelector('details').open = true", section)
    rows = page.js("return [...arguments[0].querySelectorAll('details tbody tr')]"
                   ".map((row) => row.innerText.split('\\t'))", section)
    assert rows[0] == ["60.0 %", "60.0 %", "load", "d.py"]
    assert rows[1] == ["40.0 %", "40.0 %", "mul", "ops.py"]
    page.press(section, "mul")
    assert page.js(words, section).startswith("Callers above, callees below: mul, 40 samples, 40.0 %")
    focus(page, "Flame graph")
    page.keys(Keys.ESCAPE)
    assert page.js(words, section).startswith("100 samples in all")
    page.check()


def test_flame_graph_of_a_device(one_browser, page_of, tmp_path):
    page = Page(one_browser, page_of(training(tmp_path / "trace.json")))
    section = page.section("Flame graph")
    words = page.js("return arguments[0].querySelector('.flame > .note').textContent", section)
    assert words.startswith("4.00 ms in all")
    rows = page.js("return [...arguments[0].querySelectorAll('details tbody tr')]"
                   ".map((row) => row.textContent)", section)
    assert rows[0].startswith("80.0 %80.0 %gemm_kernel")

def test_tables_sort_search_and_open(browser, page_of, raw):
    page = Page(browser, page_of(raw, "--by", "function"))
    title = page.all("section h2")[1]
    section = page.section(title)
    assert len(page.column(title, 0)) == 12
    page.press(section, "Show 19 more")
    samples = page.all("thead th").index("samples")
    counts = page.column(title, samples)
    assert counts == [f"{1000 - 10 * i:,}" for i in range(30)] + ["0"]
    page.press(section, "samples")
    assert page.column(title, samples) == counts
    page.press(section, "samples")
    assert page.column(title, samples) == counts[::-1]
    assert page.js("return document.querySelector('[aria-sort=ascending]').textContent") == "samples"
    field = page.js("return arguments[0].querySelector('input')", section)
    page.click(field)
    page.keys("WORK_2")
    assert len(page.column(title, 0)) == 10
    assert "10 of 31 rows" in page.all(".count")


def test_names_of_rows_stay_in_sight(chromium, one_browser, page_of, tmp_path):
    page = Page(one_browser, page_of(training(tmp_path / "trace.json")))
    extents = """const scroll = arguments[0].querySelector('.scroll'), box = scroll.getBoundingClientRect();
        scroll.scrollLeft = arguments[1];
        return [scroll.scrollWidth > scroll.clientWidth, [...scroll.querySelectorAll('td.lead')].every((cell) => {
            const each = cell.getBoundingClientRect();
            return each.width > 40 && each.left >= box.left - 1 && each.right <= box.right + 1; })];"""
    emulate(chromium, 800, None)
    seen = [page.js(extents, page.section(title), left) for title in ("Operators", "Steps on the device")
            for left in (0, 10000)]
    emulate(chromium, None, None)
    assert seen == [[True, True]] * 4


def crowd(path):
    """Pictures of more than 5 MB: names that are all different and that the page escapes, in many lanes."""
    trace = Kineto()
    for step in range(3):
        trace.step(step, 1000 + 10000 * step, 10000)
        for thread in range(16):
            for i in range(190):
                trace.operator(f"{step} {thread} {i} {'<' * 480}", 1000 + 10000 * step + 50 * i, 45, tid=7000 + thread)
    return trace.write(path)


def test_too_large_pictures_are_left_out_and_it_says_so(one_browser, page_of, tmp_path):
    path = page_of(crowd(tmp_path / "trace.json"))
    page = Page(one_browser, path)
    notes = page.all(".note.warning")
    assert any("A picture is left out" in note and "5 MB" in note for note in notes)
    assert page.js("return document.querySelectorAll('section canvas').length") == 0
    assert {"Operators", "Steps"} <= set(page.all("section h2"))
    assert len(page.column("Operators", 0)) > 5


def test_kernels_beside_the_peaks_of_their_device(chromium, stepscope, two_kernels, tmp_path):  # noqa: F811
    page = tmp_path / "p.html"
    page.write_text(stepscope("report", two_kernels, "--format", "html").stdout)
    chromium.get(page.as_uri())
    lengths = chromium.execute_script(
        "return [...document.querySelectorAll('.light')].map((list) => [...list.querySelectorAll('.rail')].map("
        "(rail) => rail.firstChild.getBoundingClientRect().width / rail.getBoundingClientRect().width))")
    assert lengths[0] == pytest.approx([0.91, 0.45, 0.45, 0.2, 0.975, 0.975], abs=0.01)
    assert lengths[1] == pytest.approx([0.125, 0.11, 1, 0.11], abs=0.01)
    assert chromium.get_log("browser") == []


def test_copies(browser, page_of, tmp_path):
    source = tmp_path / "run.txt"
    source.write_text('=cmd() (a,"b".py:1) 60\nma|in (b.py:2) 40\n')
    page = Page(browser, page_of(source, "--by", "function"))
    page.js("window.copied = []; navigator.clipboard.writeText = (text) => {"
            "window.copied.push(text); return Promise.resolve(); };")
    page.press(page.section(page.all("section h2")[1]), "Copy CSV")
    page.press(page.section(page.all("section h2")[1]), "Copy Markdown")
    csv, markdown = page.js("return window.copied")
    assert "'=cmd()" in csv and '"a,""b"".py"' in csv
    assert "ma\\|in" in markdown and markdown.splitlines()[1].startswith("|---")


def test_hostile_names_do_nothing(browser, page_of, tmp_path):
    source = tmp_path / "run.txt"
    lines = "".join(f"{name} (f.py:{i + 1}) {200 - i}\n" for i, name in enumerate(HOSTILE))
    source.write_bytes(lines.encode() + b"\xff\xfe\x01\x1b[31m (g.py:1) 150\n")
    path = page_of(source)
    page = Page(browser, path)
    names = page.all("td.left bdi")
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[5]):
        assert name in names
    assert any(name.startswith("x" * 1000) for name in names)
    assert page.js("return window.broken") is None
    assert page.js("return document.querySelectorAll('img, body svg').length") == 0
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    text = path.read_text("utf-8")
    assert "<!--" not in text.split("<noscript>")[1]


def test_injected_script_would_not_run(browser, page_of, raw, tmp_path):
    """The policy is what stands behind the escapes."""
    text = page_of(raw).read_text("utf-8")
    path = tmp_path / "forged.html"
    path.write_text(text.replace("<main id=", "<script>window.broken=1</script><main id=", 1))
    browser.open(path.as_uri())
    assert browser.js("return window.broken") is None
    assert browser.js("return document.documentElement.dataset.ready") == "yes"


@pytest.mark.parametrize("name", ["cut.pftrace", "no-trailer.pftrace"])
def test_damaged_recordings_say_so(one_browser, page_of, name):
    from conftest import ROOT
    page = Page(one_browser, page_of(ROOT / "tests/golden/broken" / name, status=3))
    assert "What was recorded, and how faithfully" in page.all("section h2")


def test_light_and_dark(chromium, one_browser, page_of, raw):
    path = page_of(raw)
    colours = {}
    for scheme in ("light", "dark"):
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        page = Page(one_browser, path)
        colours[scheme] = page.js("return getComputedStyle(document.body).backgroundColor")
    page.js("const theme = document.getElementById('theme'); theme.value = 'light';"
            "theme.dispatchEvent(new Event('change'))")
    assert page.js("return getComputedStyle(document.body).backgroundColor") == colours["light"]
    page.js("localStorage.clear()")
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours["light"] != colours["dark"]


def test_colours_are_chosen_and_kept(browser, page_of, raw):
    path, colours = page_of(raw), []
    for keys in (["d"], ["l"], None):
        page = Page(browser, path)
        if keys:
            page.js("document.getElementById('theme').focus()")
            page.keys(*keys)
        colours.append(page.js("return getComputedStyle(document.body).backgroundColor"))
    page.js("localStorage.clear()")
    assert colours[0] != colours[1] == colours[2]


def test_keyboard_reaches_and_sorts(browser, page_of, raw):
    page = Page(browser, page_of(raw, "--by", "function"))
    for _ in range(40):
        page.keys(Keys.TAB)
        if page.js("return document.activeElement.textContent") == "samples":
            break
    page.keys(Keys.ENTER)
    assert page.js("return document.activeElement.parentElement.ariaSort") == "descending"


def test_pictures_are_as_wide_as_their_place(browser, page_of, tmp_path):
    page = Page(browser, page_of(training(tmp_path / "trace.json", steps=100, slow=30)))
    assert len(page.all("section h2")) > 10
    sizes = page.js("return [...document.querySelectorAll('canvas')].map((canvas) =>"
                    "[canvas.width, canvas.parentElement.clientWidth])")
    assert sizes and all(width == around for width, around in sizes)


@pytest.mark.parametrize("scheme, width", [
    ("light", 1400), ("dark", 1400), ("light", 420),
    *(pytest.param(*one, marks=pytest.mark.long) for one in (("light", 800), ("dark", 800), ("dark", 420)))])
def test_has_no_findings_of_axe(chromium, one_browser, page_of, tmp_path, scheme, width):
    rules = axe()
    emulate(chromium, width, scheme)
    page = Page(one_browser, page_of(training(tmp_path / "trace.json")))
    page.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.js(rules)
    found = findings_of_axe(chromium)
    fits = page.js("return document.documentElement.scrollWidth <= innerWidth")
    emulate(chromium, None, None)
    assert (found, fits) == ([], True)


def test_prints_without_controls(chromium, one_browser, page_of, raw):
    page = Page(one_browser, page_of(raw))
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = page.js("return [...document.querySelectorAll('nav, button, input, select')]"
                    ".filter((element) => element.offsetParent !== null && !element.closest('th, details')).length")
    colour = page.js("return getComputedStyle(document.body).backgroundColor")
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (shown, colour) == (0, "rgb(255, 255, 255)")


