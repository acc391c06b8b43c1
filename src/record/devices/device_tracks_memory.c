/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of devices: what programs take from them and give back, on a track of each device, and
 * how much they hold, as a counter. Records of several threads come in any order: they wait until
 * all that was collected by then has arrived.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_WAITING = 1 << 16, MOST_BLOCKS = 1 << 20, MOST_DEVICES = 64 };

/* --- tracks ----------------------------------------------------------------------------------- */

static uint32_t make_counter(struct ss_device_tracks *devices, const struct ss_device_unit *unit)
{
    struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(ss_counter_cuda_memory),
                                   .unit = ss_strview_of("bytes"),
                                   .counter = SS_COUNTER_GAUGE};
    return ss_annotation_tracks_put_track(devices->tracks, &track);
}

/* NULL: there are too many. */
static struct ss_device_memory *memory_of(struct ss_device_tracks *devices, uint32_t device)
{
    for (size_t i = 0; i < devices->memories.count; i++) {
        if (devices->memories.data[i].device == device) {
            return &devices->memories.data[i];
        }
    }
    const struct ss_device_unit *unit = ss_device_unit_of(devices, device);
    if (unit == NULL || devices->memories.count >= MOST_DEVICES) {
        return NULL;
    }
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(ss_domain_cuda_memory)};
    struct ss_device_memory made = {.device = device,
                                    .track_ref =
                                        ss_annotation_tracks_put_track(devices->tracks, &track),
                                    .counter_ref = make_counter(devices, unit)};
    ss_vec_push(&devices->memories, made);
    return &devices->memories.data[devices->memories.count - 1];
}

static void write_mark(struct ss_device_tracks *devices, uint32_t track_ref, uint32_t name_ref,
                       uint64_t time_ns, int64_t bytes, const struct ss_device_fields *fields)
{
    struct ss_record_context *context = devices->context;
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    struct ss_error err = {0};
    struct ss_trace_event event = {.time_ns = time_ns,
                                   .track_ref = track_ref,
                                   .name_ref = name_ref,
                                   .kind = SS_EVENT_INSTANT,
                                   .payload = {.type = SS_VALUE_INT, .integer = bytes},
                                   .fields = fields->values,
                                   .field_count = fields->count};
    ss_record_context_check(context, ss_recording_event(context->recording, route, &event, &err),
                            &err);
}

static void write_held(struct ss_device_tracks *devices, const struct ss_device_memory *memory,
                       uint64_t time_ns)
{
    struct ss_record_context *context = devices->context;
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    struct ss_error err = {0};
    struct ss_trace_counter counter = {.time_ns = time_ns,
                                       .track_ref = memory->counter_ref,
                                       .is_integer = true,
                                       .integer = (int64_t)memory->held_bytes};
    ss_record_context_check(context,
                            ss_recording_counter(context->recording, route, &counter, &err), &err);
}

/* --- what is held ----------------------------------------------------------------------------- */

static void forget_block(struct ss_device_tracks *devices, struct ss_device_block *block)
{
    HASH_DEL(devices->blocks, block);
    ss_free(block);
}

/* Of a release the size may be unknown. What was allocated before the recording is not held, and
 * nothing is taken from what is. Returns the size. */
static uint64_t update_held(struct ss_device_tracks *devices, struct ss_device_memory *memory,
                            const struct ss_device_memory_message *message)
{
    struct ss_device_block *block = NULL;
    uint64_t bytes = message->bytes;
    HASH_FIND(hh, devices->blocks, &message->address, sizeof message->address, block);
    if (block != NULL) { /* the release of an address that is allocated again was lost */
        bytes = message->is_release ? block->bytes : bytes;
        struct ss_device_memory *of = memory_of(devices, block->device);
        if (of != NULL && block->is_held) {
            of->held_bytes -= block->bytes < of->held_bytes ? block->bytes : of->held_bytes;
        }
        forget_block(devices, block);
    }
    if (!message->is_release && HASH_COUNT(devices->blocks) < MOST_BLOCKS) {
        block = ss_alloc_zero(1, sizeof *block);
        *block = (struct ss_device_block){.address = message->address,
                                          .bytes = bytes,
                                          .device = message->device,
                                          .is_held = ss_device_memory_is_device(message->memory)};
        memory->held_bytes += block->is_held ? bytes : 0;
        HASH_ADD(hh, devices->blocks, address, sizeof block->address, block);
    }
    return bytes;
}

/* --- allocations and releases ----------------------------------------------------------------- */

static uint32_t name_of(struct ss_device_tracks *devices,
                        const struct ss_device_memory_message *message)
{
    char name[64];
    snprintf(name, sizeof name, "%s (%s%s)", message->is_release ? "Release" : "Allocation",
             ss_device_memory_shown(message->memory), message->pool != 0 ? ", pool" : "");
    return ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name),
                                         ss_strview_of("memory"), SS_EVENT_TYPE_allocation);
}

static void add_fields(struct ss_device_tracks *devices, struct ss_device_fields *fields,
                       const struct ss_device_memory_message *message, uint64_t held_bytes)
{
    const struct ss_device_context *of =
        ss_device_context_of(devices, message->context, message->device);
    const char *memory = ss_device_memory_field(message->memory);
    ss_device_add_number(fields, SS_EVENT_FIELD_correlation, message->correlation);
    ss_device_add_number(fields, SS_EVENT_FIELD_context, of != NULL ? of->ref : 0);
    ss_device_add_number(fields, SS_EVENT_FIELD_address, message->address);
    ss_device_add_number(fields, SS_EVENT_FIELD_allocated_bytes, held_bytes);
    ss_device_add_number(fields, SS_EVENT_FIELD_pool, message->pool);
    ss_device_add_number(fields, SS_EVENT_FIELD_reserved_bytes, message->pool_bytes);
    if (memory != NULL) {
        ss_device_add_text(fields, SS_EVENT_FIELD_to_memory, ss_strview_of(memory));
    }
    ss_device_add_text(
        fields, SS_EVENT_FIELD_stack,
        ss_device_stack_of(devices, ss_device_found_allocation(devices, message->correlation)));
}

static void write_memory(struct ss_device_tracks *devices,
                         const struct ss_device_memory_message *message)
{
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_memory *memory = memory_of(devices, message->device);
    if (memory == NULL) {
        devices->totals.unplaced++;
        return;
    }
    uint64_t before = memory->held_bytes;
    uint64_t bytes = update_held(devices, memory, message);
    uint64_t time_ns = ss_device_within(devices, message->time_ns);
    memory = memory_of(devices, message->device);
    if (memory == NULL || message->is_early) {
        return;
    }
    devices->totals.allocations += !message->is_release;
    devices->totals.releases += message->is_release;
    add_fields(devices, &fields, message, memory->held_bytes);
    write_mark(devices, memory->track_ref, name_of(devices, message), time_ns,
               message->is_release ? -(int64_t)bytes : (int64_t)bytes, &fields);
    if (memory->held_bytes != before) {
        write_held(devices, memory, time_ns);
    }
}

static int compare(const void *left, const void *right)
{
    const struct ss_device_memory_message *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->is_release != b->is_release ? (a->is_release ? -1 : 1)
                                          : (a->address > b->address) - (a->address < b->address);
}

void ss_device_on_memory(void *context, const struct ss_device_memory_message *message)
{
    struct ss_device_tracks *devices = context;
    ss_vec_push(&devices->waiting, *message);
    if (devices->waiting.count >= MOST_WAITING) {
        ss_device_settle_memory(devices, UINT64_MAX);
    }
}

void ss_device_settle_memory(struct ss_device_tracks *devices, uint64_t until_ns)
{
    struct ss_device_memory_message *rows = devices->waiting.data;
    size_t count = devices->waiting.count, done = 0;
    if (count > 1) {
        qsort(rows, count, sizeof *rows, compare);
    }
    while (done < count && rows[done].time_ns <= until_ns) {
        write_memory(devices, &rows[done++]);
    }
    for (size_t i = done; i < count; i++) {
        rows[i - done] = rows[i];
    }
    devices->waiting.count = count - done;
}

void ss_device_free_memory(struct ss_device_tracks *devices)
{
    struct ss_device_block *block, *next;
    HASH_ITER(hh, devices->blocks, block, next)
    {
        forget_block(devices, block);
    }
    ss_vec_fini(&devices->memories);
    ss_vec_fini(&devices->waiting);
}

/* --- pools ------------------------------------------------------------------------------------ */

void ss_device_on_pool(void *context, const struct ss_device_pool_message *message)
{
    static const char *const names[] = {[SS_DEVICE_POOL_MADE] = "Memory pool made",
                                        [SS_DEVICE_POOL_ENDS] = "Memory pool destroyed",
                                        [SS_DEVICE_POOL_TRIMS] = "Memory pool trimmed"};
    struct ss_device_tracks *devices = context;
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_memory *memory = memory_of(devices, message->device);
    uint64_t time_ns = ss_device_within(devices, message->time_ns);
    if (memory == NULL) {
        devices->totals.unplaced++;
        return;
    }
    ss_device_add_number(&fields, SS_EVENT_FIELD_correlation, message->correlation);
    ss_device_add_number(&fields, SS_EVENT_FIELD_pool, message->pool);
    ss_device_add_number(&fields, SS_EVENT_FIELD_allocated_bytes, message->pool_used_bytes);
    ss_device_add_number(&fields, SS_EVENT_FIELD_reserved_bytes, message->pool_bytes);
    write_mark(devices, memory->track_ref,
               ss_annotation_tracks_put_name(devices->tracks,
                                             ss_strview_of(names[message->operation]),
                                             ss_strview_of("memory"), SS_EVENT_TYPE_instant),
               time_ns, (int64_t)message->pool_bytes, &fields);
}
