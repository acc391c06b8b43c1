/* SPDX-License-Identifier: Apache-2.0 */
/* Entities: hosts, devices, contexts, streams, groups, sources. A row of trace/schema.def has its
 * visitor, count and getter from here; only how its public struct is filled is written out. */
#include "base/alloc.h"
#include "lib/reader_inside.h"
#include "trace/rank_runs.h"

_Static_assert((int)STEPSCOPE_DEVICE_GPU == (int)SS_DEVICE_GPU &&
                   SS_DEVICE_KIND_COUNT == (int)STEPSCOPE_DEVICE_GPU + 1,
               "the public kinds of devices are those of the trace");
_Static_assert((int)STEPSCOPE_GROUP_NCCL == (int)SS_GROUP_NCCL &&
                   (int)STEPSCOPE_GROUP_MPI == (int)SS_GROUP_MPI &&
                   SS_GROUP_KIND_COUNT == (int)STEPSCOPE_GROUP_GLOO + 1,
               "the public kinds of groups are those of the trace");
_Static_assert((int)STEPSCOPE_SOURCE_RAN == (int)SS_SOURCE_RAN &&
                   (int)STEPSCOPE_SOURCE_UNAVAILABLE == (int)SS_SOURCE_UNAVAILABLE &&
                   SS_SOURCE_STATUS_COUNT == (int)STEPSCOPE_SOURCE_FAILED + 1,
               "the public states of sources are those of the trace");

/* --- one function per entity: fill_host, … -------------------------------------------------- */

static void fill_host(struct stepscope_reader *reader, const struct ss_trace_host *from,
                      stepscope_host *to)
{
    to->name = ss_reader_intern(reader, from->name);
    to->boot_id = ss_reader_intern(reader, from->boot_id);
    to->time_namespace = from->time_namespace;
}

static void fill_device(struct stepscope_reader *reader, const struct ss_trace_device *from,
                        stepscope_device *to)
{
    to->kind = (stepscope_device_kind)from->kind;
    to->number = (int64_t)from->number - 1;
    to->model = ss_reader_intern(reader, from->model);
    to->uuid = ss_reader_intern(reader, from->uuid);
    to->pci_address = ss_reader_intern(reader, from->pci_address);
    to->memory_bytes = from->memory_bytes;
}

static void fill_context(struct stepscope_reader *reader, const struct ss_trace_context *from,
                         stepscope_context *to)
{
    (void)reader;
    to->process_ref = from->process_ref;
    to->device_ref = from->device_ref;
    to->number = from->number;
}

static void fill_stream(struct stepscope_reader *reader, const struct ss_trace_stream *from,
                        stepscope_stream *to)
{
    to->device_ref = from->device_ref;
    to->context_ref = from->context_ref;
    to->number = from->number;
    to->name = ss_reader_intern(reader, from->name);
    to->priority = from->priority;
    to->is_default = from->is_default;
}

/* Restart points repeat groups: the runs of the latest are kept. */
static void fill_group(struct stepscope_reader *reader, const struct ss_trace_group *from,
                       stepscope_group *to)
{
    struct ss_vec_of(stepscope_rank_run) runs = {0};
    struct ss_strview rest = from->ranks;
    struct ss_rank_run run;
    while (ss_rank_runs_next(&rest, &run)) {
        stepscope_rank_run row = {run.first, run.count, run.stride};
        ss_vec_push(&runs, row);
    }
    ss_free((void *)(uintptr_t)to->runs);
    to->kind = (stepscope_group_kind)from->kind;
    to->number = from->number;
    to->name = ss_reader_intern(reader, from->name);
    to->size = from->size;
    to->run_count = (uint32_t)runs.count;
    to->runs = runs.data;
}

static void fill_source(struct stepscope_reader *reader, const struct ss_trace_source *from,
                        stepscope_source *to)
{
    to->status = (stepscope_source_status)from->status;
    to->name = ss_reader_intern(reader, from->name);
    to->reason = ss_reader_intern(reader, from->reason);
}

/* --- all of them ----------------------------------------------------------------------------- */

#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_reader_on_##name(void *context, const struct ss_trace_##name *record)        \
    {                                                                                              \
        struct stepscope_reader *reader = context;                                                 \
        SS_READER_GROW(&reader->name##s, record->ref);                                             \
        stepscope_##name *entry = &reader->name##s.data[record->ref - 1];                          \
        entry->ref = record->ref;                                                                  \
        fill_##name(reader, record, entry);                                                        \
        return SS_OK;                                                                              \
    }                                                                                              \
    uint32_t stepscope_reader_##name##_count(const stepscope_reader *reader)                       \
    {                                                                                              \
        return (uint32_t)reader->name##s.count;                                                    \
    }                                                                                              \
    const stepscope_##name *stepscope_reader_##name(const stepscope_reader *reader, uint32_t ref)  \
    {                                                                                              \
        return SS_READER_ROW(reader->name##s, ref);                                                \
    }
#include "trace/schema.def"

void ss_reader_free_entities(struct stepscope_reader *reader)
{
    for (size_t i = 0; i < reader->groups.count; i++) {
        ss_free((void *)(uintptr_t)reader->groups.data[i].runs);
    }
#define SS_ENTITY(name, number, when, meaning) ss_vec_fini(&reader->name##s);
#include "trace/schema.def"
}
