/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks many threads with one read.
 *
 * The ranges of each thread are adjacent: its time window is as short as in a read of its own.
 * The GIL is read before the first thread and after the last: when its holder did not change in
 * between, a thread that neither holds it nor held it last cannot have run Python. Its stack cannot
 * have changed, and one copy of it is enough and exact.
 */
#include <string.h>

#include "base/alloc.h"
#include "unwind/walk_plan.h"

enum {
    MAX_THREADS = 16,
    MAX_RANGES = 768,      /* a call accepts 1024 */
    MAX_BYTES = 256 << 10, /* of one batch; a thread that needs more is a batch of its own */
    MAX_PAUSE = 256
};

struct ss_walk_batch {
    struct ss_walk_scratch *slots[MAX_THREADS];
    bool is_quiet[MAX_THREADS];
    size_t count;
    struct ss_vec_of(struct ss_memory_range) ranges;
    size_t bytes;
    uint8_t gil_ahead[SS_GIL_BYTES], gil_behind[SS_GIL_BYTES];
    struct ss_python_heads heads;
    /* When the GIL often changes holders the proof fails: it is skipped for so many batches. */
    uint32_t pause, next_pause;
};

void ss_walk_batch_free(struct ss_walk_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    for (size_t i = 0; i < MAX_THREADS; i++) {
        ss_walk_scratch_free(batch->slots[i]);
    }
    ss_vec_fini(&batch->ranges);
    ss_free(batch);
}

size_t ss_walk_batch_bytes(const struct ss_walk_batch *batch)
{
    size_t bytes = 0;
    for (size_t i = 0; batch != NULL && i < MAX_THREADS; i++) {
        bytes += batch->slots[i] != NULL ? ss_walk_scratch_bytes(batch->slots[i]) : 0;
    }
    return bytes;
}

/* Plans one more thread; false: it does not fit into this batch. */
static bool add_thread(struct ss_python *python, struct ss_python_thread *thread, bool is_quiet)
{
    struct ss_walk_batch *batch = python->batch;
    struct ss_walk_scratch *own = python->scratch;
    size_t slot_index = batch->count;
    if (batch->slots[slot_index] == NULL) {
        batch->slots[slot_index] = ss_walk_scratch_new(own->reversed);
    }
    struct ss_walk_scratch *slot = batch->slots[slot_index];
    python->scratch = slot;
    if (is_quiet) {
        ss_walk_make_quiet_plan(python, thread);
    } else {
        ss_walk_make_plan(python, thread, 2);
    }
    python->scratch = own;
    bool fits = batch->ranges.count + slot->ranges.count <= MAX_RANGES &&
                batch->bytes + slot->plan.total_bytes <= MAX_BYTES;
    if (!fits && batch->count > 0) {
        return false;
    }
    ss_walk_assign_buffers(slot);
    for (size_t i = 0; i < slot->ranges.count; i++) {
        ss_vec_push(&batch->ranges, slot->ranges.data[i]);
    }
    batch->bytes += slot->plan.total_bytes;
    batch->is_quiet[batch->count++] = is_quiet;
    return true;
}

/* Copies the number of bytes that arrived to the ranges of the plans. */
static void distribute_results(struct ss_walk_batch *batch, size_t first)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct ss_walk_scratch *slot = batch->slots[i];
        for (size_t k = 0; k < slot->ranges.count; k++) {
            slot->ranges.data[k].got = batch->ranges.data[first++].got;
        }
    }
}

static void note_proof(struct ss_walk_batch *batch, bool is_proven)
{
    if (is_proven) {
        batch->next_pause = 0;
        return;
    }
    batch->next_pause = batch->next_pause < MAX_PAUSE / 2 ? batch->next_pause * 2 + 1 : MAX_PAUSE;
    batch->pause = batch->next_pause;
}

static void add_threads(struct ss_python *python, struct ss_python_thread *const *threads,
                        size_t count, bool tries_proof)
{
    struct ss_walk_batch *batch = python->batch;
    while (batch->count < MAX_THREADS && batch->count < count) {
        struct ss_python_thread *thread = threads[batch->count];
        bool is_quiet = tries_proof && thread->tstate_address != python->gil.holder;
        if (!add_thread(python, thread, is_quiet)) {
            return;
        }
        thread->walk->number++;
    }
}

/* Read along with the threads: the GIL, and the list heads, which show new threads. */
struct extras {
    bool tries_proof;
    struct ss_memory_range gil;
    size_t head_count, first; /* index of the first range of the threads */
};

static void add_extras(struct ss_python *python, struct extras *extras)
{
    struct ss_walk_batch *batch = python->batch;
    bool has_range = ss_python_only_gil(python, &extras->gil, batch->gil_ahead);
    extras->tries_proof =
        has_range && python->has_gil && batch->pause == 0 && !python->threads_stale;
    batch->pause -= batch->pause > 0;
    extras->head_count = 0;
    if (python->heads_wanted) {
        python->heads_wanted = false;
        ss_vec_resize(&batch->ranges, SS_HEAD_RANGES);
        extras->head_count = ss_python_put_heads(python, &batch->heads, batch->ranges.data);
        batch->ranges.count = extras->head_count;
    }
    if (extras->tries_proof) {
        ss_vec_push(&batch->ranges, extras->gil);
    }
    extras->first = batch->ranges.count;
}

/* false: the target is gone. */
static bool check_heads(struct ss_python *python, const struct extras *extras)
{
    const struct ss_memory_range *ranges = python->batch->ranges.data;
    if (extras->head_count == 0) {
        return true;
    }
    python->heads_fresh = ss_python_are_heads_same(python, &python->batch->heads, ranges);
    python->threads_stale |= !python->heads_fresh;
    return ranges[0].got == ranges[0].length;
}

/* Plans as many threads as fit and reads them; false: the target is gone. *has_gil: the GIL had the
 * same (last) holder during the whole read, and *steady is its state; false: unknown. */
static bool fetch_batch(struct ss_python *python, struct ss_python_thread *const *threads,
                        size_t count, struct ss_python_gil *steady, bool *has_gil)
{
    struct ss_walk_batch *batch = python->batch;
    struct extras extras;
    batch->count = batch->bytes = 0;
    ss_vec_clear(&batch->ranges);
    add_extras(python, &extras);
    add_threads(python, threads, count, extras.tries_proof);
    extras.gil.buffer = batch->gil_behind;
    if (extras.tries_proof) {
        ss_vec_push(&batch->ranges, extras.gil);
    }
    if (python->reader->read(python->reader, batch->ranges.data, batch->ranges.count) != 0 ||
        !check_heads(python, &extras)) {
        return false;
    }
    distribute_results(batch, extras.first);
    *has_gil = false;
    if (extras.tries_proof) {
        const struct ss_memory_range *behind = &batch->ranges.data[batch->ranges.count - 1];
        struct ss_python_gil ahead;
        *has_gil = ss_python_decode_gil(python, &batch->ranges.data[extras.first - 1], &ahead) &&
                   ss_python_decode_gil(python, behind, steady) && ahead.holder == steady->holder &&
                   ahead.switches == steady->switches;
        note_proof(batch, *has_gil);
    }
    return true;
}

bool ss_python_walk_threads(struct ss_python *python, struct ss_python_thread *const *threads,
                            size_t count, const struct ss_python_stack_visitor *visitor)
{
    if (python->batch == NULL) {
        python->batch = ss_alloc_zero(1, sizeof *python->batch);
    }
    struct ss_walk_batch *batch = python->batch;
    for (size_t begin = 0; begin < count; begin += batch->count) {
        struct ss_python_gil gil = {0};
        bool has_gil = false;
        if (!fetch_batch(python, threads + begin, count - begin, &gil, &has_gil)) {
            return false;
        }
        for (size_t i = 0; i < batch->count; i++) {
            struct ss_python_thread *thread = threads[begin + i];
            struct ss_python_stack stack;
            bool is_unproven =
                batch->is_quiet[i] && (!has_gil || gil.holder == thread->tstate_address);
            enum ss_python_result result =
                ss_walk_complete(python, thread, is_unproven ? NULL : batch->slots[i], &stack);
            stack.retries += is_unproven;
            if (has_gil && !is_unproven) {
                stack.holds_gil = gil.is_held && gil.holder == thread->tstate_address;
            }
            visitor->visit(visitor->context, thread, result, &stack);
        }
    }
    return true;
}
