# SPDX-License-Identifier: Apache-2.0
"""One page of a report in two browsers, with the keys and the pointer of each."""

import shutil
import tempfile

import pytest
from browser import chromium  # noqa: F401 (a fixture)
from firefox import Firefox
from selenium.webdriver.common.action_chains import ActionChains

# Errors of a page, from its first script on: Firefox keeps no log for its protocol.
WATCH = """window.errors = [];
addEventListener("error", (event) => window.errors.push(String(event.message)), true);
addEventListener("securitypolicyviolation", (event) => window.errors.push(event.violatedDirective));"""


class InChromium:
    name = "chromium"

    def __init__(self, driver):
        self.driver = driver

    def open(self, url):
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url)

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def js_later(self, code, *arguments):
        return self.driver.execute_async_script(code, *arguments)

    def errors(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def drag(self, begin, end):
        """From one point of the window to another; a click where both are the same."""
        chain = ActionChains(self.driver, duration=50)
        chain.w3c_actions.pointer_action.move_to_location(*map(round, begin))
        chain.w3c_actions.pointer_action.pointer_down()
        chain.w3c_actions.pointer_action.move_to_location(*map(round, end))
        chain.w3c_actions.pointer_action.pointer_up()
        chain.perform()


class InFirefox:
    name = "firefox"

    def __init__(self, browser):
        self.browser = browser
        self.js, self.js_later = browser.execute_script, browser.execute_async_script
        self.drag = browser.drag

    def open(self, url):
        self.browser.get(url)
        self.js(WATCH)

    def errors(self):
        return self.js("return window.errors")

    def keys(self, *keys):
        self.browser.keys("".join(keys))


@pytest.fixture(scope="module")
def firefox():
    """One Firefox for all tests of a file."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("firefox is not installed")
    with tempfile.TemporaryDirectory() as profile:
        started = Firefox(program, profile)
        yield started
        started.quit()


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request):
    """Each of the two: for what a person does with a page."""
    started = request.getfixturevalue(request.param)
    return InChromium(started) if request.param == "chromium" else InFirefox(started)


@pytest.fixture(scope="module")
def one_browser(chromium):  # noqa: F811
    """For what does not depend on the browser."""
    return InChromium(chromium)
