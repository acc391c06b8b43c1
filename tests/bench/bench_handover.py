# SPDX-License-Identifier: Apache-2.0
"""What a batch from a DataLoader worker costs the training thread and the worker, by its size: the
constants of the rule "no-workers". Runs with the Python that has PyTorch."""

import os
import statistics
import subprocess
import sys
import time

SIZES = (1 << 12, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)  # bytes
BATCHES, WARM_UP = 32, 5


def costs(size, workers):
    """Microseconds to take a ready batch, to read it once and to free it; the median batch."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Copies(Dataset):
        values = torch.randn(size // 4)

        def __len__(self):
            return BATCHES

        def __getitem__(self, index):
            return self.values.clone()
    batches = iter(DataLoader(Copies(), batch_size=None, num_workers=workers))
    rows = []
    for _ in range(BATCHES):
        time.sleep(0.02 + size * 1e-9)  # until workers have a batch ready
        begin = time.perf_counter()
        batch = next(batches)
        taken = time.perf_counter()
        batch.sum()
        read = time.perf_counter()
        del batch
        rows.append((taken - begin, read - taken, time.perf_counter() - read))
    return [1e6 * value for value in sorted(rows[WARM_UP:], key=sum)[(BATCHES - WARM_UP) // 2]]


def sharing_us(size):
    """Microseconds to move a tensor into shared memory, as a worker does."""
    import torch
    times = []
    for _ in range(15):
        values = torch.randn(size // 4)
        begin = time.perf_counter()
        values.share_memory_()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times)


def measure():
    import torch
    torch.set_num_threads(1)
    for size in SIZES:
        alone, worker = costs(size, 0), costs(size, 2)
        print(f"handover_{size >> 10}_kib\t{sum(worker) - sum(alone[1:]):.0f}\t"
              f"us more than a batch that is there; to share it {sharing_us(size):.0f} us", flush=True)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    else:
        python = os.environ.get("BENCH_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
            print("no PyTorch: the hand-over of batches is not measured")
        else:
            sys.exit(subprocess.run([python, __file__, "--measure"], check=False).returncode)
