# SPDX-License-Identifier: Apache-2.0
"""Works until the file named by argv[1] is removed; exits with argv[2].

Counts its rounds of work in a second file, argv[1] + ".rounds": the first one is never written,
so that its removal cannot be undone by a count on its way. A recording that disturbs it shows: it
notes the longest pause between two rounds.
"""

import os
import sys
import time


def work():
    return sum(i * i for i in range(2000))


def main():
    path, code = sys.argv[1], int(sys.argv[2])
    limit = time.monotonic() + float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
    rounds, longest = 0, 0.0
    last = time.perf_counter()
    while os.path.exists(path) and time.monotonic() < limit:
        for _ in range(20):
            work()
        rounds += 1
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
        with open(path + ".new", "w") as out:
            out.write(f"{rounds} {longest}")
        os.rename(path + ".new", path + ".rounds")
    sys.exit(code)


main()
