# SPDX-License-Identifier: Apache-2.0
"""A training whose data takes a known time; prints what it did as one line of JSON.

    torch_loading.py [--steps N] [--workers N] [--sleep SECONDS] [--compute SECONDS] [--epochs N]
                     [--method fork|spawn|forkserver] [--iterable] [--single] [--pin] [--crash] [--kill] [--persistent]"""

import argparse
import json
import os
import signal
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12, help="per epoch")
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--sleep", type=float, default=0.005, help="for each sample")
parser.add_argument("--compute", type=float, default=0, help="for each step")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--method", help="how workers are started")
parser.add_argument("--iterable", action="store_true")
parser.add_argument("--single", action="store_true", help="batch_size=None")
parser.add_argument("--pin", action="store_true")
parser.add_argument("--crash", action="store_true", help="a worker dies half-way")
parser.add_argument("--kill", action="store_true", help="the same by a signal, in a fetch")
parser.add_argument("--persistent", action="store_true", help="as with more than one epoch")
BATCH = 4


class Numbers(Dataset):
    def __init__(self, options):
        self.options = options
        self.size = options.steps * (1 if options.single else BATCH)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if self.options.crash and get_worker_info() and index == self.size // 2:
            os._exit(3)
        if self.options.kill and get_worker_info() and index == self.size // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.options.sleep)
        return torch.full((4,), float(index))


class Stream(IterableDataset):
    def __init__(self, numbers):
        self.numbers = numbers

    def __iter__(self):
        worker = get_worker_info()
        first, each = (worker.id, worker.num_workers) if worker else (0, 1)
        for index in range(first, len(self.numbers), each):
            yield self.numbers[index]


def main():
    options = parser.parse_args()
    torch.set_num_threads(1)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)
    numbers = Numbers(options)
    loader = DataLoader(Stream(numbers) if options.iterable else numbers,
                        batch_size=None if options.single else BATCH, num_workers=options.workers,
                        multiprocessing_context=options.method if options.workers else None,
                        persistent_workers=options.workers > 0
                        and (options.epochs > 1 or options.persistent),
                        pin_memory=options.pin)
    said = {"updates": 0, "waited": [], "error": None}
    try:
        for _ in range(options.epochs):
            batches = iter(loader)
            while True:
                begin = time.perf_counter()
                x = next(batches, None)
                if x is None:
                    break
                said["waited"].append(time.perf_counter() - begin)
                net(x).sum().backward()
                time.sleep(options.compute)
                optimizer.step()
                optimizer.zero_grad()
                said["updates"] += 1
    except (RuntimeError, OSError, EOFError) as error:
        said["error"] = repr(error)  # the text of an EOFError is empty
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the loader raises from it, wherever the program is
    print(json.dumps(said))


if __name__ == "__main__":
    main()
