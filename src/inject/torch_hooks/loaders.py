# SPDX-License-Identifier: Apache-2.0
"""Data loading: the phase "data" around the calls of a DataLoader, and ranges within it and within
its workers. Batches, datasets and samplers are the program's: they may have no length or raise."""

import inspect
import operator
import sys
from time import monotonic_ns

from . import model
from .batches import observe_loaded
from .facts import record_threads
from .guard import Hook, around_untraced, attempt, observe, replace, with_result
from .libstepscope import (begin_steps, count, define_counter, define_name, disclaim_steps,
                           enter_phase, leave_phase, pop, push, set_fact, set_thread_name)
from .names import (COUNTER_READY_BATCHES, FACT_LOADER_BATCH_BYTES, FACT_LOADER_BATCH_SIZE,
                    FACT_LOADER_BATCH_TENSORS, FACT_LOADER_PIN_MEMORY, FACT_LOADER_PREFETCH_FACTOR,
                    FACT_LOADER_WORKER, FACT_LOADER_WORKERS)
from .samples import NUMBER_BITS, ask, observe_duration, push_counted, time_samples
from .state import DATA, LOADING, local

_NEXT, _FETCH, _COLLATE, _ITERATE, _START, _STOP = map(
    define_name, ("next", "fetch", "collate", "iterate", "start workers", "stop workers"))
_is_finalizing = sys.is_finalizing  # at that time, sys may lack it
_READY = define_counter(COUNTER_READY_BATCHES, "")


class _Recorded:
    """Values that are in the recording. If two threads see a change at once, both record it."""
    loader = None        # settings of the last DataLoader
    batch = None         # tensors and size of the last epoch's first batch


def _begin_loading(name, number=None):
    """Begins a range in the phase "data"."""
    before = enter_phase(DATA)
    try:
        return before, push_counted(name, number)
    except BaseException:
        leave_phase(before)
        raise


def _end_loading(token):
    before, pushed = token
    if pushed:
        pop(LOADING)
    leave_phase(before)


def _end_outermost(token):
    thread, before, pushed = token
    thread.in_data -= 1
    if pushed:
        pop(LOADING)
    leave_phase(before)


def _end_range(pushed):
    if pushed:
        pop(LOADING)


# --- next -----------------------------------------------------------------------------------------

def _waiting(queue):
    """The number of batches that can be read from a queue. A queue between processes counts a batch
    of a worker at once, but delivers it only when the worker's sending thread gets the GIL."""
    try:
        reader = getattr(queue, "_reader", None)
        return queue.qsize() if reader is None or reader.poll(0) else 0
    except (AttributeError, NotImplementedError, OSError, ValueError):
        return 0


def _ready_batches(iterator):
    """How many batches wait for the program."""
    tasks = iterator._task_info
    ready = sum(len(task) == 2 for task in tasks.values())
    queues = {id(queue): queue for queue in (getattr(iterator, "_data_queue", None),
                                             getattr(iterator, "_worker_result_queue", None))}
    waiting = sum(map(_waiting, queues.values()))
    in_turn = tasks.get(getattr(iterator, "_rcvd_idx", None))
    if waiting == 0 and in_turn is not None and len(in_turn) != 2:
        return 0  # later ones must wait: the iterator returns batches in order
    return ready + waiting


def _begin_next(args, kwargs):
    iterator, thread = args[0], local.thread
    if not thread.in_data:
        begin_steps()
    before = enter_phase(DATA)
    try:
        ready = None
        if getattr(iterator, "_task_info", None) is not None:  # workers prefetch
            ready = ask(_ready_batches, iterator)
        if ready is None:
            pushed = push(LOADING, _NEXT)
        else:
            count(_READY, ready)
            pushed = push(LOADING, _NEXT, ready)
    except BaseException:
        leave_phase(before)
        raise
    thread.in_data += 1
    thread.loads += 1
    return thread, before, pushed


def _observe_batch(args, batch):
    if local.thread.in_data == 1:
        observe(observe_loaded, batch)
    if getattr(args[0], "_num_yielded", 0) == 1 and local.thread.in_data == 1:
        attempt(record_batch, batch)


def record_batch(batch):
    """The tensors and the size of an epoch's first batch: a worker transfers it."""
    tensors = model.tensors_in(batch)
    recorded = len(tensors), sum(map(model.bytes_of, tensors))
    if recorded != _Recorded.batch:
        _Recorded.batch = recorded
        set_fact(FACT_LOADER_BATCH_TENSORS, recorded[0])
        set_fact(FACT_LOADER_BATCH_BYTES, recorded[1])


# --- iter, end of an epoch ------------------------------------------------------------------------

def record_loader(loader):
    recorded = tuple((key, int(getattr(loader, name, None) or 0)) for key, name in (
        (FACT_LOADER_WORKERS, "num_workers"), (FACT_LOADER_BATCH_SIZE, "batch_size"),
        (FACT_LOADER_PREFETCH_FACTOR, "prefetch_factor"), (FACT_LOADER_PIN_MEMORY, "pin_memory")))
    if recorded != _Recorded.loader:
        _Recorded.loader = recorded
        for key, value in recorded:
            set_fact(key, value)


def _starts_workers(loader):
    """Whether an iterator of it starts workers: persistent ones start in the first epoch."""
    has_workers = (getattr(loader, "persistent_workers", False)
                   and getattr(loader, "_iterator", None) is not None)
    return not has_workers and int(loader.num_workers) > 0


def _count_workers(loader):
    number = operator.index(getattr(loader, "num_workers", 0))
    return number if number.bit_length() < NUMBER_BITS else None


def _begin_iter(args, kwargs):
    loader, thread = args[0], local.thread
    if not thread.in_data:
        begin_steps()
        attempt(record_loader, loader)
    name = _START if ask(_starts_workers, loader) else _ITERATE
    token = _begin_loading(name, ask(_count_workers, loader))
    thread.in_data += 1
    return (thread, *token)


def _begin_shutdown(args, kwargs):
    """Called at the end of an epoch, or when an iterator is no longer referenced."""
    if _is_finalizing() or vars(args[0]).get("_shutdown", True):
        return None
    return _begin_loading(_STOP)


# --- fetch, collate -------------------------------------------------------------------------------

class _Collate:
    """A collate function whose calls are ranges. Its copy or pickle is the function itself. Guarded
    in the same way as the wrappers of guard.py, which are not objects."""
    hook = Hook("collate_fn")

    def __init__(self, inner):
        self.inner = inner

    def __reduce__(self):
        return operator.getitem, ((self.inner,), 0)

    def __call__(self, samples):
        pushed, hook = False, _Collate.hook
        try:
            pushed = hook.is_on and push_counted(_COLLATE, ask(len, samples))
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                raise
        try:
            return self.inner(samples)
        finally:
            if pushed:
                try:
                    pop(LOADING)
                except Exception as error:  # noqa: any exception
                    if not hook.failed(error):
                        raise

    def __getattr__(self, name):
        return getattr(self.inner, name)


def _observe_fetcher(args, result):
    own = vars(args[0])
    if own.get("auto_collation") and callable(own.get("collate_fn")):
        own["collate_fn"] = _Collate(own["collate_fn"])


def _count_fetch():
    """Polls the number of threads after 1, 2, 4… fetches of a worker."""
    _Worker.fetches += 1
    if _Worker.fetches & (_Worker.fetches - 1) == 0:
        attempt(record_threads)


def _begin_map_fetch(args, kwargs):
    fetcher, index = args[0], args[1]
    if _Worker.is_one:
        _count_fetch()
    samples = 1
    if vars(fetcher).get("auto_collation"):
        samples = ask(len, index)  # a batch of indices may have no length
    pushed = push_counted(_FETCH, samples)
    if not pushed or not samples:
        return pushed, (fetcher, None), 0, 0
    return pushed, (fetcher, ask(time_samples, fetcher, samples)), samples, monotonic_ns()


def _end_map_fetch(token):
    pushed, (fetcher, dataset), samples, begin_ns = token
    if dataset is not None:
        vars(fetcher)["dataset"] = dataset
    if pushed:
        pop(LOADING)
    if samples:
        observe_duration(samples, monotonic_ns() - begin_ns)


def _begin_iterable_fetch(args, kwargs):
    if _Worker.is_one:
        _count_fetch()
    if not vars(args[0]).get("auto_collation"):
        return push(LOADING, _FETCH, 1)
    return push(LOADING, _FETCH)  # it may be exhausted: the collate range has the count


# --- workers --------------------------------------------------------------------------------------

class _Worker:
    """Of a process that loads with one thread."""
    is_one = False   # this process is a worker of a DataLoader
    fetches = 0


def _begin_worker(number):
    _Worker.is_one = True
    disclaim_steps()  # a model that a worker runs is not trained
    set_thread_name(f"dataloader worker {number}")
    set_fact(FACT_LOADER_WORKER, number)


def _hook_worker(inner, name):
    parameters = list(inspect.signature(inner).parameters)
    if "worker_id" not in parameters:
        return inner
    index = parameters.index("worker_id")

    def begin(args, kwargs):
        _begin_worker(kwargs["worker_id"] if "worker_id" in kwargs else args[index])
    return around_untraced(begin)(inner, name)


def hook_loaders():
    import torch.utils.data
    loader = torch.utils.data.dataloader
    iterator = loader._BaseDataLoaderIter
    replace(iterator, "__next__", around_untraced(_begin_next, _end_outermost, _observe_batch))
    if hasattr(iterator, "next"):
        iterator.next = iterator.__next__
    replace(loader.DataLoader, "__iter__", around_untraced(_begin_iter, _end_outermost))
    replace(loader._MultiProcessingDataLoaderIter, "_shutdown_workers",
            around_untraced(_begin_shutdown, _end_loading))
    fetch, worker = loader._utils.fetch, loader._utils.worker
    replace(fetch._BaseDatasetFetcher, "__init__", with_result(_observe_fetcher))
    replace(fetch._MapDatasetFetcher, "fetch", around_untraced(_begin_map_fetch, _end_map_fetch))
    replace(fetch._IterableDatasetFetcher, "fetch",
            around_untraced(_begin_iterable_fetch, _end_range))
    replace(worker, "_worker_loop", _hook_worker)
