# SPDX-License-Identifier: Apache-2.0
"""Cross-validation: model and optimizer are created again for each fold. What becomes of the old ones
differs. Prints the number of updates, of which two optimizers together make one.

    torch_folds.py [HOW…]   gone, kept, cycle, pair, scheduler"""

import sys

import torch

FOLDS, UPDATES = 3, 5
kept = []


def train(how):
    net = torch.nn.Linear(8, 1)
    optimizers = [torch.optim.SGD(net.parameters(), 1e-3)]
    if how == "pair":
        optimizers.append(torch.optim.Adam(net.parameters(), 1e-3))
    if how in ("kept", "pair"):
        kept.extend(optimizers)
    if how == "cycle":  # it goes when the collector comes
        optimizers[0].itself = optimizers[0]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizers[0], 2) if how == "scheduler" else None
    for x in torch.utils.data.DataLoader(torch.ones(UPDATES * 4, 8), batch_size=4):
        net(x).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.load_state_dict(optimizer.state_dict())  # the same one still
        if scheduler:
            scheduler.step()
    return UPDATES


def main():
    torch.set_num_threads(1)
    updates = 0
    for how in sys.argv[1:] or ["gone", "kept", "cycle", "pair", "scheduler"]:
        updates += sum(train(how) for _ in range(FOLDS))
    print(updates)


main()
