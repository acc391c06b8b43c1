# SPDX-License-Identifier: Apache-2.0
"""The flame graph in a real browser: zoom, search, links, keyboard, difference, hostile names."""

import pytest
from kineto import Kineto
from target import HANGS_AFTER_S

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from browser import chromium  # noqa: E402, F401 (a fixture)
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

TRAINING = """\
<module> (train.py:9);train (train.py:20);Model.forward (model.py:5);matmul (torch/ops.py:7) 30
<module> (train.py:9);train (train.py:20);Model.Forward_hook (model.py:9) 10
<module> (train.py:9);train (train.py:21);backward (torch/autograd.py:3) 40
<module> (train.py:9);load (data.py:2);read (data.py:8) 20
"""

class Page:
    """An opened flame graph."""

    def __init__(self, driver, path, link=""):
        self.driver = driver
        driver.get("about:blank")
        driver.get(path.as_uri() + link)

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def until(self, condition):
        """Waits for a condition in JavaScript (a zoom takes a moment)."""
        WebDriverWait(self.driver, HANGS_AFTER_S, 0.02).until(
            lambda driver: driver.execute_script(f"return {condition}"))

    def settle(self):
        """Waits for the end of a zoom's movement."""
        self.driver.set_script_timeout(HANGS_AFTER_S)  # else the picture never comes to rest
        self.driver.execute_async_script("""
            const done = arguments[0], boxes = document.querySelector('.boxes');
            let before = null, still = 0;
            function frame() {
                still = boxes.innerHTML === before ? still + 1 : 0;
                before = boxes.innerHTML;
                still === 3 ? done() : requestAnimationFrame(frame);
            }
            requestAnimationFrame(frame);""")

    FIND = """[...document.querySelectorAll('.boxes rect')].find((rect) => {
        const text = rect.nextElementSibling;
        return text && text.tagName === 'text' && text.textContent.startsWith(name);
    })"""

    def box(self, name):
        """The box whose label begins with the name."""
        return self.js(f"const name = arguments[0]; return {self.FIND}", name)

    def width(self, name):
        """In one step: a zoom may be redrawing the boxes."""
        return self.js(f"const name = arguments[0], box = {self.FIND};"
                       "return box ? +box.getAttribute('width') : 0", name)

    def labels(self):
        return self.js("return [...document.querySelectorAll('.boxes text')]"
                       ".map((text) => text.textContent)")

    def click(self, name):
        box = self.box(name)
        ActionChains(self.driver).move_to_element(box).click().perform()

    def button(self, text):
        return self.js("return [...document.querySelectorAll('.bar button')]"
                       ".find((b) => b.textContent.startsWith(arguments[0]))", text)

    def search(self, text):
        field = self.js("return document.querySelector('.bar input')")
        ActionChains(self.driver).click(field).perform()
        self.chord(Keys.CONTROL, "a")
        self.keys(text)

    @property
    def found(self):
        return self.js("return document.querySelector('.found').textContent")

    @property
    def hits(self):
        return self.js("return document.querySelectorAll('.boxes rect.hit').length")

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()


@pytest.fixture
def graph(stepscope, tmp_path):
    """graph(text, *options): the path of its flame graph."""
    def draw(text, *options, name="in"):
        source = tmp_path / f"{name}.txt"
        source.write_bytes(text.encode() if isinstance(text, str) else text)
        target = tmp_path / f"{name}.svg"
        stepscope("flame", source, "-o", target, *options)
        return target
    return draw


def test_opens_without_errors_or_requests(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    assert [entry for entry in chromium.get_log("browser") if entry["level"] != "INFO"] == []
    assert page.js("return performance.getEntriesByType('resource').length") == 0
    assert any(label.startswith("Model.forward model.py:5") for label in page.labels())


def test_click_zooms_and_back_returns(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    whole = page.width("all")
    assert page.width("Model.forward") == pytest.approx(0.3 * whole, abs=1)
    page.click("Model.forward")
    page.until("location.hash.startsWith('#zoom=')")
    page.settle()
    assert page.width("matmul") == pytest.approx(whole, abs=1)
    assert page.box("backward") is None
    chromium.back()
    page.until("!location.hash")
    page.settle()
    assert page.width("backward") == pytest.approx(0.4 * whole, abs=1)
    page.click("load")
    page.until("location.hash.startsWith('#zoom=')")
    page.button("Reset").click()
    page.until("!location.hash")
    page.settle()
    assert page.width("backward") == pytest.approx(0.4 * whole, abs=1)


def test_search_shows_the_matched_share(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    page.search("forward")
    # matmul lies inside Model.forward: counted once.
    assert page.found.startswith("40.0 % ± ")
    assert page.hits == 2
    page.search("forward|matmul|backward")
    assert page.found.startswith("80.0 % ± ")
    page.search(r"^train \(train\.py:2[01]\)$")
    assert page.found.startswith("80.0 % ± ")
    page.search("(")
    assert page.found.startswith("100 % ± ")
    assert "plain text" in page.js("return document.querySelector('.found').title")
    page.search("nowhere")
    assert page.found.startswith("0 % ")
    assert page.hits == 0


def test_case_toggle(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    page.search("Forward")
    assert page.hits == 2
    page.button("Aa").click()
    assert page.hits == 1
    assert page.found.startswith("10.0 % ± ")
    assert page.button("Aa").get_attribute("aria-pressed") == "true"
    page.chord(Keys.CONTROL, "i")
    assert page.hits == 2


def test_link_round_trip(chromium, graph):
    path = graph(TRAINING)
    page = Page(chromium, path)
    page.search("Forward & <x>|mat")
    page.button("Aa").click()
    page.click("train")
    page.until("location.hash.includes('zoom=')")
    page.until("document.querySelector('.found').textContent.includes('of the zoom')")
    page.settle()
    link, found, labels = page.js("return location.hash"), page.found, page.labels()
    # A graph made anew from more samples: the link still means the same box.
    again = Page(chromium, graph(TRAINING + "other (o.py:1) 7\n", name="again"), link)
    assert again.js("return document.querySelector('.bar input').value") == "Forward & <x>|mat"
    assert again.button("Aa").get_attribute("aria-pressed") == "true"
    same = Page(chromium, path, link)
    assert same.labels() == labels
    assert same.found == found
    assert same.width("train") == pytest.approx(same.width("all"), abs=1)


def test_keyboard(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    page.chord(Keys.CONTROL, "f")
    assert page.js("return document.activeElement.tagName").lower() == "input"
    page.keys("read")
    assert page.hits == 1
    page.keys(Keys.ESCAPE)
    assert page.hits == 0
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.js("return document.querySelectorAll('.boxes .focus').length") == 1
    assert "train.py:" in page.js("return document.querySelector('.tip').textContent")
    page.keys(Keys.ENTER)
    page.until("location.hash.startsWith('#zoom=')")
    page.keys(Keys.ESCAPE)
    page.until("!location.hash")


def test_details(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    ActionChains(chromium).move_to_element(page.box("backward")).perform()
    tip = page.js("return document.querySelector('.tip').innerText")
    assert "torch/autograd.py:3" in tip
    assert "package torch" in tip
    assert "40.0 %" in tip and "± 9." in tip


@pytest.mark.parametrize("options", [[], ["--inverted"]])
def test_outermost_side(chromium, graph, options):
    page = Page(chromium, graph(TRAINING, *options))
    top = {name: float(page.box(name).get_attribute("y")) for name in ("all", "backward")}
    assert (top["all"] > top["backward"]) == bool(options)


def test_difference_switches_widths_and_scale(chromium, graph, tmp_path):
    (tmp_path / "base.txt").write_text("main (m.py:1);gone (m.py:2) 60\n"
                                       "main (m.py:1);kept (m.py:3) 40\n")
    path = graph("main (m.py:1);new (m.py:4) 50\nmain (m.py:1);kept (m.py:3) 150\n",
                 "--diff", tmp_path / "base.txt")
    page = Page(chromium, path)
    whole = page.width("all")
    assert page.width("kept") == pytest.approx(0.75 * whole, abs=1)
    assert page.box("gone") is None
    page.button("Widths").click()
    page.until("document.querySelector('.bar button').textContent === 'Widths: baseline'")
    assert page.width("gone") == pytest.approx(0.6 * whole, abs=1)
    assert page.box("new") is None
    assert page.box("gone").get_attribute("class") == "d5"
    # By samples "main" doubled; by shares it is the same.
    assert page.box("main").get_attribute("class") == "i0"
    page.button("Compare").click()
    assert page.box("main").get_attribute("class") == "i5"
    assert "widths=baseline" in page.js("return location.hash")


def test_light_and_dark(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    fills = {}
    for scheme in ("light", "dark"):
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        fills[scheme] = [page.js(f"return getComputedStyle(document.querySelector('{part}')).fill")
                         for part in (".page", ".title", ".boxes rect")]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert all(a != b for a, b in zip(fills["light"], fills["dark"]))


def test_fits_the_window(chromium, graph):
    page = Page(chromium, graph(TRAINING))
    for width in (1500, 700, 1216):
        chromium.set_window_size(width, 800)
        page.until(f"Math.abs(+document.documentElement.getAttribute('width') - {width}) < 40")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")


def test_zoom_shows_what_was_too_narrow(chromium, graph):
    text = "main (m.py:1);big (m.py:2) 100000\n" + "".join(
        f"main (m.py:1);rest (m.py:3);small_{i} (m.py:{10 + i}) {9 - i % 3}\n" for i in range(100))
    page = Page(chromium, graph(text, "--minwidth", "0.001"))
    assert not any(label.startswith("small_") for label in page.labels())
    page.js("""[...document.querySelectorAll('.boxes rect')].find((r) => r.cell.label >= 0 &&
        r.getAttribute('width') < 20).dispatchEvent(new MouseEvent('click', {bubbles: true}))""")
    page.until("location.hash.startsWith('#zoom=')")
    page.settle()
    assert page.js("return document.querySelectorAll('.boxes rect').length") > 90
    assert page.width("rest") == pytest.approx(page.width("all"), abs=1)


def test_hostile_names_do_nothing(chromium, graph):
    names = ["</svg><script>window.broken=1</script>", '"><img src=x onerror="window.broken=1">',
             "</metadata><script>window.broken=1</script>", "]]><script>window.broken=1</script>",
             "javascript:window.broken=1", "\u202eevil", "名前" * 40, "x" * 10000]
    text = "".join(f"{name} (f.py:{i + 1}) {20 - i}\n" for i, name in enumerate(names)).encode()
    page = Page(chromium, graph(text + b"\xff\xfe\x01\x1b[31m (g.py:1) 5\n"))
    for name in ("</svg><script>", "]]>", "名前"):
        assert any(label.startswith(name) for label in page.labels())
    for box in page.js("return [...document.querySelectorAll('.boxes rect')]"):
        ActionChains(chromium).move_to_element(box).perform()
    assert page.js("return window.broken") is None
    assert page.js("return document.querySelectorAll('script').length") == 1
    assert page.js("return document.querySelectorAll('img').length") == 0


def test_device_time_has_units_and_no_uncertainty(chromium, stepscope, tmp_path):
    trace = Kineto()
    trace.operator("aten::linear", 100, 100)
    trace.launch("gemm()", 110, 1000, 1500)
    trace.launch("relu()", 150, 2600, 500)
    source = trace.write(tmp_path / "trace.json")
    stepscope("flame", "--weight", "gpu", source, "-o", tmp_path / "gpu.svg")
    page = Page(chromium, tmp_path / "gpu.svg")
    ActionChains(chromium).move_to_element(page.box("gemm")).perform()
    page.until("document.querySelector('.tip').style.display === 'block'")
    tip = page.js("return document.querySelector('.tip').textContent")
    assert "1.50 ms" in tip and "75.0 %" in tip and "on the device: kernels" in tip
    assert "±" not in tip and "sample" not in tip
    page.search("relu")
    assert page.found == "25.0 % matched"
    assert page.js("return document.querySelector('.found').title") == "1 boxes, 500 µs"
