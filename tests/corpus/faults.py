# SPDX-License-Identifier: Apache-2.0
"""The corpus as a table: programs, and the faults that their flags plant."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    """A healthy training. `needs`: packages; without one the program is skipped, with that reason."""
    name: str
    needs: tuple = ()
    processes: int = 1


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a program. `rules`: the ids that may be named first. `line`: whether the finding must
    be at a line marked `# planted: NAME`. `fix`: flags that follow the advice, with the fault still
    planted; without any, the healthy twin is what the advice leads to. `cores`: waiting for a core is
    part of the fault, so that the stopwatch counts it. `promise`: None where the finding promises no
    time; "sample" where it promises time per sample of a batch. `own`: one process of several has the
    fault or the stopwatch, and the promise is that of its own report."""
    program: str
    name: str
    rules: frozenset
    line: bool = True
    fix: tuple = ()
    cores: bool = False
    promise: str = "step"
    own: bool = False
    fast: bool = False


def fault(program, name, rules, **options):
    return Fault(program, name, frozenset(rules.split()), **options)


PROGRAMS = [
    Program("gpt"),
    Program("mnist"),
    Program("graph"),
    Program("manual"),
    Program("layerwise"),
    Program("series"),
    Program("hogwild", processes=2),
    Program("policy"),
    Program("accumulate"),
    Program("vae"),
    Program("compiled"),
    Program("ddp", processes=2),
    Program("sharded", processes=2),
    Program("hf_trainer", needs=("transformers", "accelerate")),
    Program("lightning_fit", needs=("lightning",)),
    Program("composer_fit", needs=("composer",)),
]

FAULTS = [
    fault("gpt", "tokenise", "hot-line main-thread-data", fast=True),
    fault("gpt", "regex", "hot-line main-thread-data"),
    fault("gpt", "disk-read", "hot-line disk-wait main-thread-data"),
    fault("gpt", "deepcopy", "hot-line state-copy", fast=True),
    fault("gpt", "evaluate", "evaluation", line=False, fix=("seldom",)),
    fault("gpt", "read-per-parameter", "host-sync hot-line", fix=("seldom",)),
    fault("gpt", "anomaly", "anomaly-detection", line=False),
    fault("gpt", "float64", "float64", line=False),
    fault("gpt", "checkpoint", "checkpoint-stalls", line=False),
    fault("gpt", "json", "hot-line logging serialisation", fast=True),
    fault("gpt", "sleep", "sleep hot-line", fast=True),
    fault("mnist", "slow-transform", "no-workers", fix=("workers",)),
    fault("mnist", "numpy-per-sample", "no-workers", fix=("workers",)),
    fault("mnist", "module-transforms", "no-workers", fix=("workers",)),
    fault("mnist", "worker-restarts", "worker-restarts epoch-starts", line=False,
          fix=("workers",)),
    fault("mnist", "too-many-threads", "oversubscription", line=False, cores=True),
    fault("mnist", "kept-graph", "memory-growth", line=False, promise=None),
    fault("mnist", "test-every-step", "evaluation", line=False, fix=("seldom",)),
    fault("mnist", "gc-collect", "gc-pauses hot-line"),
    fault("mnist", "gc-thrash", "gc-pauses", line=False, fix=("threshold",)),
    fault("mnist", "numpy-metrics", "hot-line numpy"),
    fault("mnist", "print", "logging host-sync hot-line"),
    fault("graph", "evaluate", "evaluation", line=False, fix=("seldom",)),
    fault("graph", "python-sampling", "hot-line main-thread-data"),
    fault("graph", "lock", "lock-wait hot-line", fast=True),
    fault("manual", "numpy-features", "hot-line main-thread-data"),
    fault("manual", "python-noise", "hot-line main-thread-data"),
    fault("manual", "numpy-copy", "hot-line"),
    fault("manual", "queue", "thread-wait lock-wait hot-line"),
    fault("layerwise", "histogram", "hot-line"),
    fault("layerwise", "spectrum", "hot-line"),
    fault("layerwise", "wait", "sleep hot-line"),
    fault("series", "time-loop", "time-loop", line=False),
    fault("series", "python-waves", "hot-line main-thread-data"),
    fault("hogwild", "many-threads", "oversubscription", line=False, cores=True, own=True),
    fault("hogwild", "locked", "lock-wait process-wait hot-line", own=True),
    fault("policy", "slow-environment", "hot-line main-thread-data"),
    fault("policy", "render", "hot-line main-thread-data"),
    fault("accumulate", "cell-access", "no-workers", fix=("workers",)),
    fault("accumulate", "parse-csv", "no-workers", fix=("workers",)),
    fault("accumulate", "tiny-batches", "tiny-batches", line=False, promise="sample"),
    fault("accumulate", "log-file", "disk-wait hot-line logging"),
    fault("accumulate", "average-copy", "hot-line state-copy"),
    fault("vae", "picture", "hot-line"),
    fault("vae", "busy-thread", "gil-wait", line=False),
    fault("vae", "profiler", "memory-growth", line=False, promise=None),
    fault("vae", "stall", "sleep periodic-stalls hot-line", line=False),
    fault("vae", "validate", "evaluation", line=False, fix=("seldom",)),
    fault("compiled", "changing-shapes", "recompilation", line=False),
    fault("ddp", "late-rank", "late-rank sleep hot-line communication", line=False),
    fault("ddp", "barriers", "communication hot-line", line=False),
    fault("sharded", "late-rank", "late-rank sleep hot-line communication", line=False),
    fault("hf_trainer", "callback", "hot-line sleep"),
    fault("hf_trainer", "save-each-step", "checkpoint-stalls hot-line", line=False),
    fault("hf_trainer", "slow-collator", "slow-collate no-workers", promise=None),
    fault("lightning_fit", "slow-dataset", "no-workers", promise=None),
    fault("lightning_fit", "callback-copy", "hot-line state-copy"),
    fault("composer_fit", "slow-dataset", "no-workers", promise=None),
]
