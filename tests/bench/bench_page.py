#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time until a browser shows the page of a report: 400 steps of a training, in Chromium and Firefox,
where they are installed. The median of five, each from the request until the page says that it is ready."""

import importlib.util
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "e2e")]
if importlib.util.find_spec("selenium") is None or importlib.util.find_spec("pytest") is None:
    sys.exit("the Python that runs this has no selenium or no pytest")

from browser import start_chromium  # noqa: E402
from firefox import Firefox  # noqa: E402
from pages import training  # noqa: E402

TIMES = 5


def seconds_until_ready(get, script, url):
    spent = []
    for _ in range(TIMES):
        get("about:blank")
        begin = time.monotonic()
        get(url)
        if script("return document.documentElement.dataset.ready") != "yes":
            sys.exit("the page is not ready when its browser says that it has loaded it")
        spent.append(time.monotonic() - begin)
    return statistics.median(spent)


def main():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        trace = training(pathlib.Path(folder) / "trace.json", steps=400, slow=30)
        subprocess.run([os.environ["STEPSCOPE"], "report", trace, "--html", page], check=True)
        if shutil.which("chromium") and shutil.which("chromedriver"):
            with start_chromium(f"{folder}/chromium") as driver:
                print(f"page_chromium\t{seconds_until_ready(driver.get, driver.execute_script, page.as_uri()):.3g}")
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program:
            (pathlib.Path(folder) / "firefox").mkdir()
            firefox = Firefox(program, f"{folder}/firefox")
            print(f"page_firefox\t{seconds_until_ready(firefox.get, firefox.execute_script, page.as_uri()):.3g}")
            firefox.quit()


main()
