# SPDX-License-Identifier: Apache-2.0
"""A small training with DeepSpeed's engine: 12 batches, 2 of them to a step, an evaluation and a
checkpoint on the way. Prints its own steps.

    deepspeed_train.py FOLDER [callback] [zero]"""

import os
import sys

import torch

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29511")
import deepspeed  # noqa: E402  (reads these variables)


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    if "callback" in words:
        from stepscope.integrations import deepspeed as integration
        integration.watch()
    net = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    config = {"train_micro_batch_size_per_gpu": 32, "gradient_accumulation_steps": 2,
              "wall_clock_breakdown": True, "zero_optimization": {"stage": 1 if "zero" in words else 0},
              "flops_profiler": {"enabled": True, "profile_step": 3, "detailed": False,
                                 "output_file": folder + "/profiler_ds.txt"}}
    engine, *_ = deepspeed.initialize(
        model=net, config=config,
        optimizer=torch.optim.Adam([{"params": layer.parameters(), "lr": rate}
                                    for layer, rate in ((net[0], 1e-3), (net[2], 1e-4))]),
        dist_init_required=True)
    data = torch.utils.data.TensorDataset(torch.randn(32 * 12, 64), torch.randn(32 * 12, 1))
    for x, y in torch.utils.data.DataLoader(data, batch_size=32):
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        if engine.global_steps == 3 and engine.is_gradient_accumulation_boundary():
            engine.eval()
            with torch.no_grad():
                engine(x)
            engine.train()
            engine.save_checkpoint(folder)
    print("steps", engine.global_steps)


main()
