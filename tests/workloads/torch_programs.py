# SPDX-License-Identifier: Apache-2.0
"""Trainings of several ranks in the shape of well-known programs, which know nothing of stepscope; under
torchrun, `lightning` also alone. A model takes time in proportion to what it computes on, most of it
asleep, so that a small machine has a core for each rank.

    torch_programs.py SHAPE [FAULT RANK]

FAULT makes one rank have more work or a slow loader: tokens, padding, batch, loader."""

import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

STEPS, VOCABULARY, WIDTH = 14, 100, 16
BATCH, LENGTH, MORE = 4, 8, 3  # examples, tokens; how many times as many the one rank has
ELEMENT_S, SLOW_FETCH_S = 0.0003, 0.006

SHAPE = sys.argv[1]
FAULT, RANK = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else ("", -1)


def rank():
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", "0"))


def has(fault):
    return FAULT == fault and rank() == RANK


class Takes(torch.autograd.Function):
    @staticmethod
    def forward(context, value, seconds):
        context.seconds = seconds
        time.sleep(seconds)
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.seconds / 2)
        return gradient, None


def taking(value, elements):
    return Takes.apply(value, ELEMENT_S * elements)


class Words(nn.Module):
    """Predicts the next word."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, idx, targets=None):
        logits = self.head(taking(self.embedding(idx), idx.numel()))
        return logits, None if targets is None else nn.functional.cross_entropy(
            logits.view(-1, VOCABULARY), targets.view(-1))


class Masked(Words):
    def forward(self, input_ids, attention_mask=None, labels=None):
        return super().forward(input_ids, input_ids)[1]


class Packed(Words):
    """Sequences one behind the other, with their bounds."""

    def forward(self, input_ids, cu_seqlens):
        assert int(cu_seqlens[-1]) == input_ids.numel()
        return super().forward(input_ids, input_ids)[1]


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                    nn.Linear(4, 10))

    def forward(self, images):
        return self.layers(taking(images, LENGTH * len(images)))


# --- data -----------------------------------------------------------------------------------------

class Texts(Dataset):
    """Texts of this rank's shard. With the fault padding, one of each batch is long, and the others are
    so short that there are no more tokens."""

    def __len__(self):
        return BATCH * STEPS * 4

    def __getitem__(self, index):
        if has("loader"):
            time.sleep(SLOW_FETCH_S)
        length = LENGTH * (MORE if has("tokens") else 1)
        if has("padding"):
            length = LENGTH * MORE if index % BATCH == 0 else 3
        return {"input_ids": [1 + (index + i) % (VOCABULARY - 1) for i in range(length)]}


def pad(texts):
    rows = [text["input_ids"] for text in texts]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.clone()}


def pack(texts):
    rows = [text["input_ids"] for text in texts]
    ends = torch.tensor([0] + [len(row) for row in rows]).cumsum(0).int()
    return {"input_ids": torch.tensor(sum(rows, [])), "cu_seqlens": ends}


class Pictures(Dataset):
    def __len__(self):
        return BATCH * STEPS * 4 * MORE

    def __getitem__(self, index):
        if has("loader"):
            time.sleep(SLOW_FETCH_S)
        return torch.full((3, 8, 8), float(index % 7)), index % 10


def batch_size():
    return BATCH * (MORE if has("batch") else 1)


# --- shapes ---------------------------------------------------------------------------------------

@contextlib.contextmanager
def group():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    yield


def leave():
    """Ends the rank once all have come so far, and those that it started have ended. An interpreter that
    takes its group apart may abort: threads of Gloo still run."""
    if dist.is_initialized():
        dist.barrier()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    sys.stdout.flush()
    os._exit(0)


class Meter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, count=1):
        self.sum, self.count = self.sum + value * count, self.count + count

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float32)
        dist.all_reduce(total)
        self.sum, self.count = total.tolist()


def imagenet():
    """Epochs of train and validate, meters, a sampler for each rank."""
    with group():
        model, criterion = DistributedDataParallel(Images()), nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
        data = Pictures()
        sampler = torch.utils.data.distributed.DistributedSampler(data)
        loader = DataLoader(data, batch_size=batch_size(), sampler=sampler, num_workers=0)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            batch_time, losses = Meter(), Meter()
            model.train()
            end = time.time()
            for i, (images, target) in enumerate(loader):
                if i == STEPS:
                    break
                output = model(images)
                loss = criterion(output, target)
                losses.update(loss.item(), images.size(0))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                batch_time.update(time.time() - end)
                end = time.time()
            model.eval()
            top = Meter()
            with torch.no_grad():
                images, target = next(iter(DataLoader(data, batch_size=BATCH)))
                top.update(float((model(images).argmax(1) == target).float().mean()), len(target))
            top.all_reduce()
            schedule.step()


def words():
    """An LSTM over segments of a text in columns, whose parameters are updated without an optimizer:
    the shape of the example on texts, with gradients that are averaged by hand."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.rnn = nn.Embedding(VOCABULARY, WIDTH), nn.LSTM(WIDTH, WIDTH)
            self.decoder = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, segment, hidden):
            output, hidden = self.rnn(taking(self.encoder(segment), segment.numel()), hidden)
            return self.decoder(output).view(-1, VOCABULARY), hidden

    with group():
        model, criterion = Recurrent(), nn.CrossEntropyLoss()
        bptt = LENGTH * (MORE if has("tokens") else 1)
        text = torch.randint(0, VOCABULARY, (bptt * STEPS + 1, BATCH))
        hidden = tuple(torch.zeros(1, BATCH, WIDTH) for _ in range(2))
        model.train()
        for i in range(0, text.size(0) - 1, bptt):
            segment, target = text[i:i + bptt], text[i + 1:i + 1 + bptt].reshape(-1)
            model.zero_grad()
            hidden = tuple(one.detach() for one in hidden)
            output, hidden = model(segment, hidden)
            loss = criterion(output, target)
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-0.1 / dist.get_world_size())


def nanogpt():
    """get_batch instead of a loader, accumulation of gradients with a flag of the model, evaluation every
    few steps."""
    with group():
        model = DistributedDataParallel(Words())
        raw_model, micro_steps = model.module, 2
        optimizer = torch.optim.AdamW(raw_model.parameters(), 1e-3, fused=True)
        length = LENGTH * (MORE if has("tokens") else 1)
        data = torch.randint(0, VOCABULARY, (4096,))

        def get_batch():
            if has("loader"):
                time.sleep(4 * SLOW_FETCH_S)
            starts = torch.randint(len(data) - length, (BATCH,)).tolist()
            return (torch.stack([data[one:one + length] for one in starts]),
                    torch.stack([data[one + 1:one + 1 + length] for one in starts]))

        @torch.no_grad()
        def estimate_loss():
            model.eval()
            losses = [raw_model(*get_batch())[1].item() for _ in range(2)]
            model.train()
            return sum(losses) / len(losses)

        inputs, targets = get_batch()
        for step in range(STEPS):
            if step % 10 == 0 and rank() == 0:
                estimate_loss()
            for micro_step in range(micro_steps):
                model.require_backward_grad_sync = micro_step == micro_steps - 1
                _, loss = model(inputs, targets)
                loss = loss / micro_steps
                inputs, targets = get_batch()
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


def timm():
    """A loader that prefetches, autocast, a function that scales, clips and steps, an average of the
    weights, losses that are reduced."""

    class Prefetch:
        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            before = None
            for images, target in self.loader:
                images = images.sub(0.5).div(0.5)
                if before is not None:
                    yield before
                before = images, target
            yield before

    def step(loss, optimizer, parameters):
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    with group():
        model = DistributedDataParallel(Images())
        optimizer = torch.optim.RMSprop(model.parameters(), 1e-3)
        averaged = [one.detach().clone() for one in model.parameters()]
        loader = DataLoader(Pictures(), batch_size=batch_size(), drop_last=True)
        for i, (images, target) in enumerate(Prefetch(loader)):
            if i == STEPS:
                break
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(images).float(), target)
            optimizer.zero_grad()
            step(loss, optimizer, list(model.parameters()))
            with torch.no_grad():
                for average, one in zip(averaged, model.parameters()):
                    average.lerp_(one, 0.01)
            reduced = loss.detach().clone()
            dist.all_reduce(reduced)


def loop(model, collate):
    with group():
        model = DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
        for i, batch in enumerate(DataLoader(Texts(), batch_size=BATCH, collate_fn=collate)):
            if i == STEPS:
                break
            loss = model(**batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def padded():
    loop(Masked(), pad)


def packed():
    loop(Packed(), pack)


def lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Masked()

        def training_step(self, batch, index):
            loss = self.net(**batch)
            self.log("loss", loss, on_step=False, on_epoch=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3, fused=True)

    torch.set_num_threads(1)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ.get("RANKS", "2")), strategy="ddp", max_steps=STEPS,
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False)
    trainer.fit(Module(), DataLoader(Texts(), batch_size=BATCH, collate_fn=pad))


def transformers():
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Model(GPT2LMHeadModel):
        def forward(self, input_ids=None, attention_mask=None, labels=None, **more):
            output = super().forward(input_ids=input_ids, attention_mask=attention_mask,
                                     labels=labels, **more)
            output.loss = taking(output.loss, input_ids.numel())
            return output

    torch.set_num_threads(1)
    model = Model(GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH * MORE, n_embd=WIDTH,
                             n_layer=1, n_head=1, bos_token_id=1, eos_token_id=1))
    Trainer(model, TrainingArguments(
        output_dir=os.environ["OUTPUT"], max_steps=STEPS, per_device_train_batch_size=BATCH,
        report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no", ddp_backend="gloo",
        remove_unused_columns=False, logging_steps=5), train_dataset=Texts(), data_collator=pad).train()


globals()[SHAPE]()
leave()
