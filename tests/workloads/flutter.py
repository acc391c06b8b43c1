# SPDX-License-Identifier: Apache-2.0
"""Calls that flutter: leaves of about a microsecond below 26 frames that stay.

Function f<level>_<i> calls, on its first and second line, f<level+1>_<2i> and f<level+1>_<2i+1>
(modulo the width). So a stack that never was shows: the name of each callee follows from the name
and the line of its caller. Frames differ in size, so that slots are reused for other functions.

    flutter.py [SECONDS [SCALE]]        SCALE 10: leaves of about ten microseconds
"""

import sys
import threading
import time

LEVELS, WIDTH, STEM = 6, 4, 26


def source(scale):
    lines = []
    for level in range(LEVELS):
        for i in range(WIDTH):
            names = ", ".join(f"v{k}=None" for k in range((level * 3 + i * 5) % 7))
            lines.append(f"def f{level}_{i}(n{', ' + names if names else ''}):")
            if level + 1 == LEVELS:
                lines += [f"    for _ in range({(8 + 6 * i) * scale}):", "        n += 1",
                          "    return n % 1000"]
                continue
            for k in range(2):
                lines.append(f"    n = f{level + 1}_{(2 * i + k) % WIDTH}(n)")
            lines.append("    return n")
    for level in range(STEM):
        target = f"s{level + 1}" if level + 1 < STEM else "f0_0"
        lines += [f"def s{level}(until):", f"    {target}(until)"]
    lines[-1:] = ["    n = 1", "    while clock() < until:", "        for _ in range(50):"]
    lines += [f"            n = f0_{i}(n)" for i in range(WIDTH)]
    return "\n".join(lines) + "\n"


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    scope = {"clock": time.monotonic}
    exec(compile(source(scale), "<flutter>", "exec"), scope)
    print('{"ready": true}', flush=True)
    scope["s0"](time.monotonic() + seconds)


threading.stack_size(64 << 20)
main()
