# SPDX-License-Identifier: Apache-2.0
"""The timeline page in a real browser: drawing, moving, selecting, searching, hostile names."""

import json
import shutil

import pytest
from browser import axe, chromium, emulate, findings_of_axe  # noqa: F401 (a fixture)
from firefox import Firefox
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from target import HANGS_AFTER_S
from test_view import training
from viewing import viewing


class Page:
    """The page of a running `view`."""

    def __init__(self, driver, view):
        self.driver = driver
        driver.get("about:blank")
        driver.get(view.address)
        self.until("window.page && page.isQuiet && page.drawing.width > 0")

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def until(self, condition):
        """Waits for a condition in JavaScript: pictures come from the server."""
        WebDriverWait(self.driver, HANGS_AFTER_S, 0.02).until(
            lambda driver: driver.execute_script(f"return {condition}"))

    def settle(self):
        """Waits until all that is visible is drawn from pictures that fit."""
        self.driver.set_script_timeout(HANGS_AFTER_S)
        self.driver.execute_async_script("""
            const done = arguments[0];
            let quiet = 0;
            (function frame() {
                quiet = page.isQuiet && !page.isDue ? quiet + 1 : 0;
                quiet === 3 ? done() : requestAnimationFrame(frame);
            })();""")

    def drawn(self, name):
        """What is drawn under this name: [{x, end, y, track, begin, count}]."""
        self.settle()
        return self.js("""return page.drawing.hits.filter((hit) => hit.name === arguments[0]).map((hit) =>
            ({x: hit.x, end: hit.end, y: hit.y, kind: hit.track.kind, begin: hit.begin, count: hit.count}))""", name)

    def at(self, name, index=0):
        """An action at the middle of the index-th slice of the name."""
        hit = self.drawn(name)[index]
        canvas = self.driver.find_element(By.ID, "canvas")
        size = canvas.size
        return ActionChains(self.driver).move_to_element_with_offset(
            canvas, (max(hit["x"], 0) + min(hit["end"], size["width"])) / 2 - size["width"] / 2,
            hit["y"] + 8 - size["height"] / 2)

    def click(self, name, index=0):
        self.at(name, index).click().perform()
        self.until("page.state.selected !== null")

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def text(self, element):
        return self.driver.find_element(By.ID, element).text

    @property
    def window(self):
        return self.js("return [page.state.from, page.state.to]")

    @property
    def selected(self):
        return self.js("return page.state.selected && [page.state.selected.name, page.state.selected.begin_ns]")


@pytest.fixture
def page(chromium, stepscope, tmp_path):
    source = training(12).write(tmp_path / "trace.json")
    with viewing(stepscope, source) as view:
        yield Page(chromium, view)


def test_opens_without_errors_or_foreign_requests(chromium, page):
    page.settle()
    assert [entry for entry in chromium.get_log("browser") if entry["level"] != "INFO"] == []
    own = page.js("return location.origin")
    assert all(name.startswith(own) for name in page.js(
        "return performance.getEntriesByType('resource').map((each) => each.name)"))
    assert "token" not in page.js("return location.href")
    assert page.js("return document.cookie") == ""
    kernels = page.drawn("gemm()")
    assert len(kernels) == 12 and {hit["kind"] for hit in kernels} == {"stream"}


def test_pixels_are_where_the_slices_are(page):
    hit = page.drawn("gemm()")[3]
    inside, before = page.js("""
        const hit = arguments[0], canvas = document.getElementById('canvas'), context = canvas.getContext('2d');
        const scale = devicePixelRatio;
        return [(hit.x + hit.end) / 2, hit.x - 6].map((x) =>
            [...context.getImageData(x * scale, (hit.y + 3) * scale, 1, 1).data].join());""", hit)
    assert inside != before


def test_zoom_and_move(page):
    begin, end = page.window
    page.js("document.getElementById('scroll').focus()")
    page.keys("w", "w", "w", "w")
    page.until("page.state.to - page.state.from < 5e6")
    narrow = page.window
    page.keys("d")
    page.until(f"page.state.from > {narrow[0]}")
    page.keys("a", "s", "s", "s", "s")
    page.keys("f")
    page.until(f"Math.abs(page.state.from - {begin}) < 1 && Math.abs(page.state.to - {end}) < 1")
    page.js("page.state.show(4.4e6, 4.41e6)")
    kernel = page.drawn("gemm()")
    assert len(kernel) == 1 and kernel[0]["x"] <= 0 and kernel[0]["end"] >= 900


def test_select_and_walk(page):
    page.click("gemm()", 2)
    assert page.selected == ["gemm()", 2_400_000]
    assert "64 × 1 × 1 blocks" in page.text("content") and "launched by" in page.text("content")
    page.keys(Keys.ARROW_RIGHT)
    page.until("page.state.selected.begin_ns === 3400000")
    page.driver.find_element(By.XPATH, "//*[@id='content']//button[text()='cudaLaunchKernel']").click()
    page.until("page.state.selected.name === 'cudaLaunchKernel'")
    page.driver.find_element(By.ID, "scroll").send_keys(Keys.ARROW_UP)
    page.until("page.state.selected.name === 'aten::linear'")
    page.keys(Keys.ENTER)
    page.until("page.state.to - page.state.from < 3e5")
    assert page.js("return document.getElementById('spoken').textContent").startswith("aten::linear, 200 µs")
    page.keys(Keys.ESCAPE)
    page.until("page.state.selected === null")


def test_search(page):
    page.keys("/")
    page.until("document.activeElement.id === 'query'")
    page.keys("GEMM")
    page.until("document.getElementById('found').textContent === '12 matches'")
    page.keys(Keys.ENTER)
    page.until("page.state.selected && page.state.selected.begin_ns === 400000")
    page.keys(Keys.ESCAPE, "n")
    page.until("page.state.selected.begin_ns === 1400000")
    page.keys("N")
    page.until("page.state.selected.begin_ns === 400000")
    page.keys("N")
    page.until("page.state.selected.begin_ns === 11400000")  # round the begin
    assert max(page.js("return page.state.density")) >= 1


def test_a_time_range_has_sums(page):
    first, second = page.drawn("gemm()")[4:6]
    canvas = page.driver.find_element(By.ID, "canvas")
    size = canvas.size
    ActionChains(page.driver).move_to_element_with_offset(
        canvas, first["x"] - 9 - size["width"] / 2, 0).click_and_hold().move_by_offset(
        int(second["end"] + 18 - first["x"]), 0).release().perform()
    page.until("page.panel.sums !== null")
    rows = page.js("""return [...document.querySelectorAll('#content tbody tr')].map((row) =>
        [...row.cells].map((cell) => cell.textContent))""")
    assert ["gemm()", "600 µs", "600 µs", "2"] in rows
    assert any(row[0].endswith("stream 7") and row[1] == "600 µs" for row in rows)


def test_steps_and_outliers(page):
    page.js("document.getElementById('scroll').focus()")
    page.keys("]")
    page.until("document.getElementById('step').textContent === 'step 0 · steady-state'")
    page.keys("]")
    page.until("document.getElementById('step').textContent.startsWith('step 1 ')")
    page.keys("[")
    page.until("document.getElementById('step').textContent.startsWith('step 0 ')")
    page.keys("o")
    page.until("document.getElementById('step').textContent === 'step 11 · outlier'")
    page.until("page.state.from < 11e6 && page.state.to > 14e6 && page.state.to < 15e6")
    page.keys("o")
    page.until("document.getElementById('step').textContent === 'no later outlier'")


def test_notes(page):
    page.js("page.state.range = {from: 2.4e6, to: 2.7e6}; document.getElementById('scroll').focus()")
    page.keys("m")
    page.until("document.getElementById('dialog').open")
    page.keys("<b>slow</b> here")
    page.driver.find_element(By.XPATH, "//dialog//button[text()='Save']").click()
    page.until("page.state.notes.length === 1")
    page.driver.refresh()
    page.until("window.page && page.state.notes.length === 1")
    page.js("page.panel.open('notes')")
    assert "<b>slow</b> here" in page.text("content")
    page.driver.find_element(By.XPATH, "//*[@id='content']//button[text()='remove']").click()
    page.until("page.state.notes.length === 0")


def test_folds(page):
    page.settle()
    height = page.js("return page.layout.height")
    name = page.driver.find_element(By.XPATH, "//*[@id='labels']//button[contains(., 'main · torch')]")
    assert name.get_attribute("aria-expanded") == "true"
    name.click()
    page.until(f"page.layout.height < {height}")
    assert page.drawn("cudaLaunchKernel") == [] and len(page.drawn("aten::linear")) == 12


def test_opens_perfetto(page):
    """The other tab is played by this test: it answers as Perfetto's interface does."""
    page.js("""
        window.posted = [];
        window.open = (address) => {
            window.opened = address;
            return {postMessage: (message, origin) => window.posted.push([message, origin])};
        };
        document.getElementById('perfetto').click();""")
    page.until("window.posted.length > 0")
    assert page.js("return window.posted[0]") == ["PING", "https://ui.perfetto.dev"]
    assert page.js("return window.opened").startswith("https://ui.perfetto.dev/#!/")
    assert page.js("return window.posted.length > 0 && window.posted.every((each) => each[0] === 'PING')")


def test_three_widths_and_two_themes(chromium, page):
    for width in (1500, 820, 480):
        chromium.set_window_size(width, 800)
        page.until(f"innerWidth <= {width} && page.drawing.width < {width}")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")
        page.settle()
        assert page.js("return page.canvas.clientWidth === Math.round(page.drawing.width)")
    chromium.set_window_size(1216, 800)
    fills = {}
    for scheme in ("light", "dark"):
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        page.settle()
        fills[scheme] = page.js("""return [...page.canvas.getContext('2d').getImageData(1, 300, 1, 1).data].join()
            + getComputedStyle(document.body).color""")
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert fills["light"] != fills["dark"]


def test_everything_has_a_name_for_screen_readers(page):
    unnamed = page.js("""return [...document.querySelectorAll('button, input, canvas, main, section')].filter((each) =>
        !each.getAttribute('aria-label') && !each.textContent.trim() && each.ariaHidden !== 'true').map((each) => each.id)""")
    assert unnamed == []
    assert page.js("return document.querySelectorAll('[role=tab][aria-selected=true]').length") == 1


def test_what_is_visible_is_in_tables(page):
    page.js("page.state.show(0.9e6, 2.1e6); document.getElementById('scroll').focus()")
    page.keys("r")
    page.until("page.panel.sums !== null")
    rows = page.js("""return [...document.querySelectorAll('#content tbody tr')].map((row) =>
        [...row.cells].map((cell) => cell.textContent))""")
    assert ["gemm()", "300 µs", "300 µs", "1"] in rows
    assert page.js("return [...document.querySelectorAll('#content thead th')].every((head) => head.scope === 'col')")


def test_arrows_of_training_and_program(chromium, stepscope, tmp_path):
    """From a forward operator to its backward, from a send to its receive, and back."""
    trace = training(3)
    for step in range(3):
        trace.operator("autograd::engine::evaluate_function: AddmmBackward0", 1000 * (step + 1) + 500, 100, tid=77,
                       **{"Sequence number": step, "Fwd thread id": 1})
    for phase, name, at, tid in (("s", "send", 1600, 91), ("f", "receive", 1700, 92)):
        trace.range("program", name, at, 50, tid=tid)
        trace.events.append({"ph": phase, "id": 5, "cat": "program", "name": "message", "pid": trace.events[0]["pid"],
                             "tid": tid, "ts": at + 10, **({"bp": "e"} if phase == "f" else {})})
    with viewing(stepscope, trace.write(tmp_path / "trace.json")) as view:
        page = Page(chromium, view)
        page.js("page.layout.tracks.forEach((track) => page.layout.reveal(track, 0)); page.changed()")
        for name, kind, other, back in (("aten::linear", "backward", "AddmmBackward0", "forward"),
                                        ("send", "leads to", "receive", "comes from")):
            found = view.ask("search", text=name)["next"]
            page.js("page.panel.select(arguments[0], true)", found)
            page.until(f"page.state.selected && page.state.selected.name.includes('{name}')")
            [link] = page.js("return page.state.selected.links.filter((link) => link.kind === arguments[0])", kind)
            assert other in link["slice"]["name"] and link["leaves"]
            pixels = "return page.canvas.toDataURL()"
            page.settle()
            with_arrow = page.js(pixels)
            page.js("page.hiddenLinks = page.state.selected.links; page.state.selected.links = []; page.draw()")
            assert page.js(pixels) != with_arrow  # it is drawn
            page.js("page.state.selected.links = page.hiddenLinks; page.panel.open('slice')")
            page.driver.find_element(By.XPATH, f"//*[@id='content']//button[contains(text(), '{other}')]").click()
            page.until(f"page.state.selected.name.includes('{other}')")
            assert back in page.text("content")


@pytest.mark.parametrize("scheme, width", [
    ("light", 1400), ("dark", 1400), ("light", 420),
    *(pytest.param(*one, marks=pytest.mark.long) for one in (("light", 800), ("dark", 800), ("dark", 420)))])
def test_has_no_findings_of_axe(chromium, page, scheme, width):
    rules = axe()
    emulate(chromium, width, scheme)
    page.js(rules)
    found = {}
    page.settle()
    page.js("page.panel.select({track: page.layout.groups[0].tracks[1].id, lane: 0, position: 0})")
    page.until("page.state.selected !== null")
    found["slice"] = findings_of_axe(chromium)
    page.keys("r")
    page.until("page.panel.sums !== null")
    found["range"] = findings_of_axe(chromium)
    page.js("page.panel.open('notes')")
    found["notes"] = findings_of_axe(chromium)
    page.js("page.panel.showKeys()")
    page.until("document.getElementById('dialog').open")
    found["keys"] = findings_of_axe(chromium)
    fits = page.js("return document.documentElement.scrollWidth <= innerWidth")
    emulate(chromium, None, None)
    assert (found, fits) == (dict.fromkeys(found, []), True)


def test_prints_without_controls(chromium, page):
    page.keys("r")
    page.until("page.panel.sums !== null")
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = page.js("return [...document.querySelectorAll('header button, header input, [role=tab]')]"
                    ".filter((each) => each.offsetParent !== null).length")
    whole = page.js("const content = document.getElementById('content');"
                    "return content.scrollHeight <= content.clientHeight + 1 && page.canvas.clientWidth > 300")
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (shown, whole) == (0, True)


def test_says_when_the_server_has_ended(chromium, stepscope, tmp_path):
    source = training().write(tmp_path / "trace.json")
    with viewing(stepscope, source) as view:
        page = Page(chromium, view)
        view.end()
        page.js("page.state.show(1e6, 1.01e6)")
        page.until("document.querySelector('#content .wrong') !== null")
        assert "has stepscope view ended" in page.text("content")


def test_hostile_names_do_nothing(chromium, stepscope, tmp_path):
    names = ["</script><script>window.broken=1</script>", '"><img src=x onerror="window.broken=1">',
             "javascript:window.broken=1", "\u202eevil", "名前" * 40, "x" * 10000, "a\x00b\x1b[31m"]
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 + 100 * i, "dur": 90,
               "args": {"Input Dims": name}} for i, name in enumerate(names)]
    for kind in ("process_name", "thread_name"):
        events.append({"ph": "M", "name": kind, "pid": 1, "tid": 1, "ts": 0, "args": {"name": names[0]}})
    source = tmp_path / "<img src=x onerror=window.broken=1>.json"
    source.write_text(json.dumps({"traceEvents": events}))
    with viewing(stepscope, source) as view:
        page = Page(chromium, view)
        page.settle()
        for position in range(len(names)):
            page.js("page.panel.select({track: 0, lane: 0, position: arguments[0]}, true)", position)
            page.until(f"page.state.selected && page.state.selected.position === {position}")
        page.js("page.state.range = {from: 0, to: 1e6}; page.panel.showRange()")
        page.until("page.panel.sums !== null")
        page.settle()
        assert page.js("return window.broken") is None
        assert page.js("return document.querySelectorAll('script').length") == 1
        assert page.js("return document.querySelectorAll('img').length") == 0
        assert "\u202e" not in page.js("return document.body.textContent")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")


class InFirefox:
    """The page in Firefox, with its own keys and pointer."""

    def __init__(self, browser, view):
        self.browser = browser
        browser.get(view.address)
        self.until("window.page ? page.isQuiet && page.drawing.width > 0 : false")

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def until(self, condition):
        WebDriverWait(self.browser, HANGS_AFTER_S, 0.05).until(lambda _: self.js(f"return {condition}"))

    def kernels(self):
        """[x begin, x end, y] in the page."""
        self.until("page.isQuiet && !page.isDue")
        return self.js("""
            const box = document.getElementById('canvas').getBoundingClientRect();
            return page.drawing.hits.filter((hit) => hit.name === 'gemm()').map((hit) =>
                [box.left + hit.x, box.left + hit.end, box.top + hit.y + 8]);""")

    def focus(self):
        self.js("document.getElementById('scroll').focus()")


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    """One Firefox for all tests of it."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("firefox is not installed")
    browser = Firefox(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture
def in_firefox(firefox, stepscope, tmp_path):
    with viewing(stepscope, training(12).write(tmp_path / "trace.json")) as view:
        yield InFirefox(firefox, view)


def test_firefox_draws_it_too(in_firefox):
    assert len(in_firefox.kernels()) == 12
    inside, outside = in_firefox.js("""
        const hit = page.drawing.hits.find((hit) => hit.name === 'gemm()'), canvas = document.getElementById('canvas');
        const colour = (x) => [...canvas.getContext('2d').getImageData(
            x * devicePixelRatio, (hit.y + 3) * devicePixelRatio, 1, 1).data].join();
        return [colour((hit.x + hit.end) / 2), colour(hit.x - 6)];""")
    assert inside != outside


def test_firefox_follows_the_keys(in_firefox):
    page, browser = in_firefox, in_firefox.browser
    page.focus()
    browser.keys("/")
    page.until("document.activeElement.id === 'query'")
    browser.keys("GEMM")
    page.until("document.getElementById('found').textContent === '12 matches'")
    browser.keys("\ue007")  # Enter
    page.until("page.state.selected && page.state.selected.begin_ns === 400000")
    browser.keys("\ue00cn")  # Escape: out of the field
    page.until("page.state.selected.begin_ns === 1400000")
    browser.keys("\ue00c")
    page.until("page.state.selected === null")
    browser.keys("f")
    page.until("page.state.from <= 1e5")
    browser.keys("]")
    page.until("document.getElementById('step').textContent === 'step 0 · steady-state'")
    browser.keys("o")
    page.until("document.getElementById('step').textContent === 'step 11 · outlier'")
    page.until("page.state.selected !== null && page.state.to - page.state.from < 4e6")
    browser.keys("f")
    page.until("page.state.to - page.state.from > 1e7")
    browser.keys("wwww")
    page.until("page.state.to - page.state.from < 5e6")
    browser.keys("m")
    page.until("document.getElementById('dialog').open")
    browser.keys("<b>slow</b>")
    page.js("[...document.querySelectorAll('dialog button')].find((one) => one.textContent === 'Save').click()")
    page.until("page.state.notes.length === 1 && page.state.notes[0].text === '<b>slow</b>'")


def test_firefox_follows_the_pointer(in_firefox):
    page, browser = in_firefox, in_firefox.browser
    kernels = page.kernels()
    middle = ((kernels[2][0] + kernels[2][1]) / 2, kernels[2][2])
    browser.drag(middle, middle)
    page.until("page.state.selected && page.state.selected.begin_ns === 2400000")
    assert "launched by" in page.js("return document.getElementById('content').textContent")
    browser.drag((kernels[4][0] - 9, middle[1] + 40), (kernels[5][1] + 9, middle[1] + 40))
    page.until("page.panel.sums !== null")
    rows = page.js("return [...document.querySelectorAll('#content tbody tr')].map((row) => row.textContent)")
    assert any(row.startswith("gemm()600 µs") for row in rows), rows
