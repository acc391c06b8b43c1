#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stepscope view` costs with 10 million slices of 64 ranks: memory, bytes of an answer, the time
of answers beside those of a recording a hundredth as large, opening again from the saved timeline and,
where Chromium is installed, until the page is drawn first and after each movement and zoom."""

import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

STEPSCOPE = pathlib.Path(os.environ["STEPSCOPE"]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent)]
from viewing import viewing  # noqa: E402

RANKS = int(os.environ.get("BENCH_RANKS", "64"))
SLICES = int(os.environ.get("BENCH_SLICES", "10000000"))
REQUESTS = int(os.environ.get("BENCH_REQUESTS", "300"))
WIDTH = 1400


class Program:
    path = STEPSCOPE


def row(identity, value, beside=""):
    print(f"{identity}\t{value:.4g}\t{beside}", flush=True)


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) << 10


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def p95(values):
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def answers(view, most_ns=None):
    """Seconds and bytes of pictures as the page asks for them, at random places and scales; `most_ns`: of
    the first part of the recording alone."""
    view.get("/")
    overview = view.ask("overview")
    duration = most_ns or overview["duration_ns"]
    tracks = [track for group in overview["groups"] for track in group["tracks"] if track["lanes"] > 0]
    chance, seconds, sizes, most = random.Random(7), [], [], 0
    for _ in range(REQUESTS):
        span = duration / 10 ** chance.uniform(0, 3)
        begin = int(chance.uniform(0, duration - span))
        ids = ",".join(str(track["id"]) for track in chance.sample(tracks, 2))
        began = time.perf_counter()
        _, _, body = view.get(f"/api/picture?from={begin}&to={int(begin + span) + 1}&px={int(1.6 * WIDTH)}&tracks={ids}")
        seconds.append(time.perf_counter() - began)
        sizes.append(len(body))
    for track in tracks[:8]:
        picture = view.ask("picture", **{"from": 0, "to": overview["duration_ns"], "px": 16384, "tracks": track["id"]})
        most = max(most, sum(len(each["rects"]) // 6 for each in picture["rows"]))
    return seconds, sizes, most


def browse(view, profile):
    """(seconds until the first whole picture, seconds of each movement, of each zoom, heap bytes)"""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (f"--headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage "
                 f"--window-size={WIDTH},900 --user-data-dir={profile}").split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_script_timeout(60)
        driver.get(view.address)
        whole = """
            const [how, by, done] = arguments, began = how ? performance.now() : 0;
            if (how) { page.state[how](by); }
            (function frame() {
                const isDrawn = window.page && page.isWhole && !page.isDue && page.drawing.lanes.length > 0;
                isDrawn ? done(performance.now() - began) : setTimeout(frame, 1);
            })();"""

        def drawn(how=None, by=None):
            return driver.execute_async_script(whole, how, by) / 1000
        first = drawn()
        driver.execute_script("page.layout.groups.slice(0, 8).forEach((_, i) => page.layout.openGroups.add(i));"
                              "page.layout.update(); page.state.zoom(0.05)")
        drawn()
        moves = [drawn("move", share) for share in [0.3, -0.2] * 40]
        zooms = [drawn("zoom", by) for by in [0.7, 0.7, 1 / 0.7, 1 / 0.7] * 10]
        heap = driver.execute_script("return performance.memory ? performance.memory.usedJSHeapSize : 0")
        return first, moves, zooms, heap
    finally:
        driver.quit()


def main():
    maker = STEPSCOPE.parent / "tests" / "trace_ranks"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        large, small = pathlib.Path(folder) / "large.pftrace", pathlib.Path(folder) / "small.pftrace"
        slices = int(subprocess.run([maker, large, str(RANKS), str(SLICES)], check=True, capture_output=True,
                                    text=True).stdout)
        subprocess.run([maker, small, str(RANKS), str(SLICES // 100)], check=True, capture_output=True)
        with viewing(Program, small) as view:
            of_small, _, _ = answers(view)
            part = view.ask("overview")["duration_ns"]
        began = time.perf_counter()
        with viewing(Program, large) as view:
            opened, work = time.perf_counter() - began, cpu_seconds(view.process.pid)
            seconds, sizes, most = answers(view)
            same, _, _ = answers(view, part)
            print(f"{slices} slices of {RANKS} ranks, {large.stat().st_size / 1e6:.0f} MB: open after {opened:.1f} s")
            row("view_memory", memory(view.process.pid) / slices, "all memory of the server")
            row("view_open", slices / work / 1e6, f"until the address is printed: {work:.1f} s of CPU")
            row("view_rects", most, "of one answer")
            row("view_bytes", max(sizes) / 1024, "the largest of the answers")
            row("view_answer_ratio", statistics.median(same) / statistics.median(of_small),
                f"of the same windows: {statistics.median(same) * 1e3:.1f} ms; of any: "
                f"{statistics.median(seconds) * 1e3:.1f} ms, p95 {p95(seconds) * 1e3:.1f} ms")
            while not list(pathlib.Path(folder).glob("cache/stepscope/view/*.timeline")):
                time.sleep(0.05)
        began = time.perf_counter()
        with viewing(Program, large) as view:
            again = time.perf_counter() - began
            row("view_again", slices / cpu_seconds(view.process.pid) / 1e6,
                f"until the address is printed: {again:.2f} s, {cpu_seconds(view.process.pid):.2f} s of CPU")
            row("view_saved", sum(file.stat().st_size for file in pathlib.Path(folder).glob("cache/*/*/*")) / slices)
            if shutil.which("chromium") and shutil.which("chromedriver"):
                first, moves, zooms, heap = browse(view, folder)
                row("view_paint", again + first, "from the start of view, and of the navigation, until nothing is missing")
                for name, seconds in (("view_pan", moves), ("view_zoom", zooms)):
                    row(name, p95(seconds) * 1e3, f"p95 of {len(seconds)}; median {statistics.median(seconds) * 1e3:.0f} ms")
                row("view_heap", heap / (1 << 20), "of the page's scripts")


main()
