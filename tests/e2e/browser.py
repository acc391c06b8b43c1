# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests; they skip where there is none."""

import contextlib
import importlib.util
import os
import pathlib
import shutil
import tempfile

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync
--disable-dev-shm-usage --window-size=1216,800""".split()


@contextlib.contextmanager
def start_chromium(profile):
    """Chromium without a window; `profile` is a folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS + [f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests of a file."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("chromium and chromedriver are not installed")
    with tempfile.TemporaryDirectory() as profile, start_chromium(profile) as started:
        yield started


def axe():
    """The rules of accessibility, from a package of the tests or $AXE_CORE; skips without them."""
    found = importlib.util.find_spec("axe_core_python")
    path = os.environ.get("AXE_CORE") or found and pathlib.Path(found.origin).parent / "axe.min.js"
    if not path:
        pytest.skip("axe-core-python is not installed, and AXE_CORE does not name axe.min.js")
    return pathlib.Path(path).read_text("utf-8")


def emulate(driver, width, scheme):
    """The page as at this width and with these colours; None: as the browser is."""
    if width is None:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    else:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    features = [] if scheme is None else [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def findings_of_axe(driver):
    """[[rule, elements]]: what the rules, which `axe` returned and the page ran, complain of."""
    driver.set_script_timeout(60)
    return driver.execute_async_script(
        "axe.run(document).then((result) => arguments[0](result.violations.map((rule) =>"
        "[rule.id, rule.nodes.slice(0, 3).map((node) => node.html)])))")
