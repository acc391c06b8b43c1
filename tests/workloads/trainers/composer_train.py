# SPDX-License-Identifier: Apache-2.0
"""A small Composer training: 2 epochs of 6 batches of 2 microbatches, with an algorithm, evaluation
and a checkpoint after each. Prints its own steps.

    composer_train.py FOLDER [callback] [profiler] [json] [torch]"""

import sys

import torch
from composer import Trainer
from composer.algorithms import LabelSmoothing
from composer.models import ComposerClassifier
from composer.utils import dist


def loader(batches):
    """`batches` for each rank."""
    size = 32 * batches * dist.get_world_size()
    data = torch.utils.data.TensorDataset(torch.randn(size, 64), torch.randint(0, 10, (size,)))
    return torch.utils.data.DataLoader(data, batch_size=32, sampler=dist.get_sampler(data))


def profiler(folder, words):
    from stepscope.integrations.composer import JSONTraceHandler, Profiler, cyclic_schedule
    if "torch" in words:  # in the files of windows, and in files of its own
        return Profiler(schedule=cyclic_schedule(wait=1, warmup=1, active=2, repeat=1),
                        trace_handlers=JSONTraceHandler(folder=folder + "/{run_name}"),
                        torch_prof_record_shapes=True, torch_prof_folder=folder + "/torch_profiler")
    if "json" in words:
        return Profiler(schedule=cyclic_schedule(wait=1, warmup=1, active=2, repeat=1),
                        trace_handlers=[JSONTraceHandler(folder=folder + "/traces"), print])
    return Profiler(schedule=cyclic_schedule(warmup=0, active=1, repeat=0))


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    net = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    model = ComposerClassifier(net, num_classes=10)
    callbacks = []
    if "callback" in words:
        from stepscope.integrations.composer import StepscopeCallback
        callbacks.append(StepscopeCallback())
    trainer = Trainer(model=model, run_name="small", train_dataloader=loader(6), eval_dataloader=loader(3),
                      optimizers=torch.optim.Adam(model.parameters()), max_duration="2ep",
                      device_train_microbatch_size=16, device="cpu", callbacks=callbacks,
                      algorithms=[LabelSmoothing(0.1)], save_folder=folder + "/checkpoints",
                      progress_bar=False,
                      profiler=profiler(folder, words) if "profiler" in words else None)
    trainer.fit()
    steps = int(trainer.state.timestamp.batch)
    trainer.close()
    print("steps", steps)


main()
