# SPDX-License-Identifier: Apache-2.0
"""Two transformer blocks with random weights under Hugging Face's Trainer: 2 epochs of 12 batches, 2 of them
to a step, with evaluation and a checkpoint after each. Prints its own steps.

    transformers_train.py FOLDER [callback]"""

import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __init__(self, batches):
        self.rows = torch.randint(0, 100, (4 * batches, 32))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=64, n_layer=2,
                                       n_head=2))
    callbacks = []
    if "callback" in words:
        from stepscope.integrations.transformers import StepscopeCallback
        callbacks.append(StepscopeCallback())
    arguments = TrainingArguments(output_dir=folder, num_train_epochs=2,
                                  per_device_train_batch_size=4, gradient_accumulation_steps=2,
                                  eval_strategy="epoch", save_strategy="epoch", logging_steps=3,
                                  report_to=[], use_cpu=True, disable_tqdm=True)
    trainer = Trainer(model, arguments, train_dataset=Words(12), eval_dataset=Words(3),
                      callbacks=callbacks)
    print("steps", trainer.train().global_step)


main()
