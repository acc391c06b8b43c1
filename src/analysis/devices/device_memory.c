/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/intern.h"
#include "base/shared_names.h"

/* An allocation, or a release, which has the size of what it gives back. */
struct change {
    uint64_t time_ns, address, bytes;
    uint32_t process, device, memory, mark;
    bool is_release, is_pooled;
    uint64_t pool_bytes;
};

struct changes ss_vec_of(struct change);

/* --- marks ------------------------------------------------------------------------------------ */

static uint64_t natural_of(const struct ss_model *model, uint32_t payload, uint32_t field)
{
    const struct ss_model_field *found = ss_model_field_of(model, payload, field);
    return found != NULL ? found->natural : 0;
}

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->mark < b->mark ? -1 : a->mark > b->mark;
}

static void collect(const struct ss_selection *selection, struct changes *changes)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        const struct ss_model_payload *payload = &model->payloads.data[mark->payload];
        if (model->names.data[mark->name].type != SS_EVENT_TYPE_allocation ||
            !selection->processes[track->process] || mark->payload == 0 ||
            payload->integer == INT64_MIN ||
            strcmp(ss_model_text(model, track->name), ss_domain_cuda_memory) != 0) {
            continue;
        }
        const struct ss_model_field *memory =
            ss_model_field_of(model, mark->payload, SS_EVENT_FIELD_to_memory);
        int64_t bytes = payload->integer;
        struct change change = {
            .time_ns = mark->time_ns,
            .address = natural_of(model, mark->payload, SS_EVENT_FIELD_address),
            .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
            .process = track->process,
            .device = track->device,
            .memory = memory != NULL ? memory->text : 0,
            .mark = (uint32_t)i,
            .is_release = bytes < 0,
            .is_pooled = natural_of(model, mark->payload, SS_EVENT_FIELD_pool) != 0,
            .pool_bytes = natural_of(model, mark->payload, SS_EVENT_FIELD_reserved_bytes)};
        ss_vec_push(changes, change);
    }
    if (changes->count > 1) {
        qsort(changes->data, changes->count, sizeof *changes->data, compare_changes);
    }
}

/* --- what is held ----------------------------------------------------------------------------- */

/* The open allocation of each address, of one process on one device: a hash table. */
struct open_blocks {
    struct block {
        uint64_t address; /* 0: free */
        uint64_t bytes;
        uint32_t kind;
        bool is_open;
    } * slots;
    size_t size; /* a power of two */
};

static struct block *block_at(const struct open_blocks *blocks, uint64_t address)
{
    size_t at = (size_t)ss_hash_u64(address) & (blocks->size - 1);
    while (blocks->slots[at].address != 0 && blocks->slots[at].address != address) {
        at = (at + 1) & (blocks->size - 1);
    }
    return &blocks->slots[at];
}

static struct open_blocks open_blocks_of(size_t changes)
{
    size_t size = 16;
    while (size < 2 * changes) {
        size *= 2;
    }
    return (struct open_blocks){ss_alloc_zero(size, sizeof(struct block)), size};
}

/* The walk over the changes of one process on one device. */
struct walk {
    struct ss_held_memories *memories;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct open_blocks blocks;
    size_t first_kind;
    uint64_t held_bytes; /* of the device's own memory */
};

static bool is_of_device(const struct ss_model *model, uint32_t memory)
{
    const char *text = ss_model_text(model, memory);
    return strcmp(text, "device") == 0 || strcmp(text, "array") == 0;
}

static uint32_t kind_of(struct walk *walk, const struct change *change)
{
    for (size_t i = walk->first_kind; i < walk->memories->kinds.count; i++) {
        const struct ss_held_memory_kind *kind = &walk->memories->kinds.data[i];
        if (kind->memory == change->memory && kind->is_pooled == change->is_pooled) {
            return (uint32_t)i;
        }
    }
    ss_vec_push(&walk->memories->kinds,
                (struct ss_held_memory_kind){.process = change->process,
                                             .device = change->device,
                                             .memory = change->memory,
                                             .is_pooled = change->is_pooled});
    return (uint32_t)(walk->memories->kinds.count - 1);
}

/* Takes the block from what is held; the address may have been released unobserved. */
static void close_block(struct walk *walk, struct block *block)
{
    struct ss_held_memory_kind *kind = &walk->memories->kinds.data[block->kind];
    kind->held_bytes -= block->bytes;
    kind->kept--;
    walk->held_bytes -= is_of_device(walk->model, kind->memory) ? block->bytes : 0;
    block->is_open = false;
}

static void open_block(struct walk *walk, const struct change *change, uint32_t number,
                       struct block *block)
{
    struct ss_held_memory_kind *kind = &walk->memories->kinds.data[number];
    *block = (struct block){change->address, change->bytes, number, true};
    kind->kept++;
    kind->held_bytes += change->bytes;
    walk->held_bytes += is_of_device(walk->model, kind->memory) ? change->bytes : 0;
    if (kind->held_bytes > kind->peak_bytes) {
        kind->peak_bytes = kind->held_bytes;
        kind->peak_ns = change->time_ns;
    }
}

static struct ss_held_memory_step *step_of(struct walk *walk, const struct change *change,
                                           const struct ss_step *step)
{
    struct ss_held_memories *memories = walk->memories;
    struct ss_held_memory_step *last =
        memories->steps.count > 0 ? &memories->steps.data[memories->steps.count - 1] : NULL;
    if (last == NULL || last->process != change->process || last->device != change->device ||
        last->number != step->number) {
        ss_vec_push(&memories->steps, (struct ss_held_memory_step){.process = change->process,
                                                                   .device = change->device,
                                                                   .number = step->number,
                                                                   .kind = step->kind,
                                                                   .peak_bytes = walk->held_bytes});
        last = &memories->steps.data[memories->steps.count - 1];
    }
    return last;
}

static void count(struct walk *walk, const struct change *change, uint32_t number,
                  const struct ss_step *step)
{
    struct ss_held_memory_kind *kind = &walk->memories->kinds.data[number];
    bool is_steady = step != NULL && step->kind == SS_STEP_STEADY;
    kind->allocations += !change->is_release;
    kind->releases += change->is_release;
    kind->allocated_bytes += change->is_release ? 0 : change->bytes;
    kind->in_steps += is_steady && !change->is_release;
    kind->in_steps_bytes += is_steady && !change->is_release ? change->bytes : 0;
    kind->pool_bytes = change->pool_bytes;
    kind->pool_peak_bytes =
        change->pool_bytes > kind->pool_peak_bytes ? change->pool_bytes : kind->pool_peak_bytes;
}

static void add_change(struct walk *walk, const struct change *change)
{
    uint32_t number = kind_of(walk, change);
    const struct ss_step *step = walk->training != NULL && walk->training->steps.count > 0
                                     ? ss_step_at(walk->training, change->process, change->time_ns)
                                     : NULL;
    struct ss_held_memory_step *row = step != NULL ? step_of(walk, change, step) : NULL;
    count(walk, change, number, step);
    struct block *block = change->address != 0 ? block_at(&walk->blocks, change->address) : NULL;
    if (block != NULL && block->is_open) {
        close_block(walk, block);
    }
    if (block != NULL && !change->is_release) {
        open_block(walk, change, number, block);
    }
    if (row != NULL) {
        row->allocations += !change->is_release;
        row->releases += change->is_release;
        row->allocated_bytes += change->is_release ? 0 : change->bytes;
        row->peak_bytes = walk->held_bytes > row->peak_bytes ? walk->held_bytes : row->peak_bytes;
        row->end_bytes = walk->held_bytes;
    }
}

static void add_part(struct ss_held_memories *memories, const struct ss_selection *selection,
                     const struct ss_step_summary *training, const struct change *changes,
                     size_t changes_count)
{
    struct walk walk = {.memories = memories,
                        .model = selection->model,
                        .training = training,
                        .blocks = open_blocks_of(changes_count),
                        .first_kind = memories->kinds.count};
    for (size_t i = 0; i < changes_count; i++) {
        add_change(&walk, &changes[i]);
    }
    for (size_t i = walk.first_kind; i < memories->kinds.count; i++) {
        memories->kinds.data[i].kept_bytes = memories->kinds.data[i].held_bytes;
    }
    ss_free(walk.blocks.slots);
}

static int compare_kinds(const void *left, const void *right)
{
    const struct ss_held_memory_kind *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) {
        return a->peak_bytes > b->peak_bytes ? -1 : 1;
    }
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return a->memory != b->memory ? (a->memory < b->memory ? -1 : 1) : a->is_pooled - b->is_pooled;
}

void ss_held_memories_init(struct ss_held_memories *memories, const struct ss_selection *selection,
                           const struct ss_step_summary *training)
{
    struct changes changes = {0};
    size_t end = 0;
    *memories = (struct ss_held_memories){0};
    collect(selection, &changes);
    for (size_t first = 0; first < changes.count; first = end) {
        end = first;
        while (end < changes.count && changes.data[end].process == changes.data[first].process &&
               changes.data[end].device == changes.data[first].device) {
            end++;
        }
        add_part(memories, selection, training, &changes.data[first], end - first);
    }
    if (memories->kinds.count > 1) {
        qsort(memories->kinds.data, memories->kinds.count, sizeof *memories->kinds.data,
              compare_kinds);
    }
    ss_vec_fini(&changes);
}

void ss_held_memories_fini(struct ss_held_memories *memories)
{
    ss_vec_fini(&memories->kinds);
    ss_vec_fini(&memories->steps);
}

/* --- compilations ----------------------------------------------------------------------------- */

static bool is_prefix(const char *prefix, const char *text)
{
    return strncmp(prefix, text, strlen(prefix)) == 0;
}

struct ss_compilations ss_compilations_of(const struct ss_selection *selection,
                                          const struct ss_step_summary *training)
{
    const struct ss_model *model = selection->model;
    struct ss_compilations sum = {0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->device == 0 || !selection->processes[track->process] ||
            !is_prefix(ss_domain_cuda_compilations, ss_model_text(model, track->name))) {
            continue;
        }
        const char *name =
            ss_model_text(model, model->names.data[model->paths.data[range->path].name].text);
        uint64_t length_ns = range->end_ns - range->begin_ns;
        sum.loads += is_prefix(SS_JIT_CACHE_LOADS, name);
        if (strcmp(name, SS_JIT_COMPILES_PTX) != 0 && strcmp(name, SS_JIT_COMPILES_NVVM) != 0) {
            continue;
        }
        sum.count++;
        sum.ns += length_ns;
        if (training != NULL && training->steps.count > 0 &&
            ss_step_at(training, track->process, range->begin_ns) != NULL) {
            sum.in_steps_ns += length_ns;
        }
    }
    return sum;
}
