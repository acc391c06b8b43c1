# SPDX-License-Identifier: Apache-2.0
"""Samples of four threads of a tokenizer's training, as py-spy writes them for speedscope: a stack and a
weight of 10 ms for each sample."""

import json
import random

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
LIB, PROGRAM = "/opt/python3.11/lib", "/home/user/bpe/train_bpe.py"
FRAMES = [("<module>", PROGRAM, 210), ("train", PROGRAM, 188), ("merge_tokens", PROGRAM, 155),
          ("apply_merge", PROGRAM, 121), ("pop", "/home/user/bpe/heapmap.py", 72), ("__lt__", PROGRAM, 133),
          ("_bootstrap", f"{LIB}/threading.py", 1002), ("run", f"{LIB}/threading.py", 982),
          ("_handle_workers", f"{LIB}/multiprocessing/pool.py", 522), ("wait", f"{LIB}/threading.py", 331),
          ("_handle_tasks", f"{LIB}/multiprocessing/pool.py", 531), ("recv", f"{LIB}/multiprocessing/connection.py", 250)]
MAIN = [[0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 5], [0, 1, 4], [0, 1, 4, 5]]
# (the thread, its stacks, how many samples)
THREADS = [('Thread 0x16DF7B000 "Thread-1 (_handle_workers)"', [[6, 7, 8, 9]], 2),
           ('Thread 0x16EF87000 "Thread-2 (_handle_tasks)"', [[6, 7, 10]], 1900),
           ('Thread 0x16FF93000 "Thread-3 (_handle_results)"', [[6, 7, 11]], 1900),
           ('Thread 0x1F4A8C840 "MainThread"', MAIN, 3100)]
PERIOD_S = .01


def profile():
    dice, profiles = random.Random(90), []
    for name, stacks, count in THREADS:
        samples = []
        while len(samples) < count:
            samples += [dice.choice(stacks)] * min(dice.randrange(1, 40), count - len(samples))
        profiles.append({"type": "sampled", "name": name, "unit": "seconds", "startValue": 0.0,
                         "endValue": round(count * PERIOD_S, 2), "samples": samples, "weights": [PERIOD_S] * count})
    content = {"$schema": SCHEMA, "profiles": profiles, "shared": {"frames": [
        {"name": name, "file": file, "line": line, "col": None} for name, file, line in FRAMES]},
        "activeProfileIndex": None, "exporter": "py-spy@0.4.2", "name": "py-spy profile"}
    count = sum(count for *_, count in THREADS)
    return {"py-spy/train_bpe.speedscope.json": (json.dumps(content, separators=(",", ":")).encode(), {
        "exporter": "py-spy@0.4.2", "profiles": len(THREADS), "frames": len(FRAMES), "total_samples": count,
        "total_weight_s": round(count * PERIOD_S, 2), "units": ["seconds"]})}


FILES = (profile,)
