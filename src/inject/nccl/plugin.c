/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin for NCCL's profiler interface: NCCL loads this library by NCCL_PROFILER_PLUGIN when
 * the first communicator is made, and takes the table of the newest version that it knows. All
 * functions but `init` succeed always, as NCCL requires: a profiler must not end a program.
 */
#include <stdatomic.h>
#include <string.h>

#include "annot/first.h"
#include "annot/process.h"
#include "inject/nccl/nccl_abi.h"
#include "inject/nccl/nccl_names.h"
#include "inject/nccl/operations.h"

enum { FIRST_WITH_CHANNELS = 3 };

/* Handles are numbers, of which 0 is none. */
static uint64_t number_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void *handle_of(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

/* The functions of the library that was loaded first; NULL: it is this one. Set before NCCL has a
 * communicator. */
static _Atomic(const struct ss_nccl_calls *) first;

static const struct ss_nccl_calls *first_calls(void)
{
    return atomic_load_explicit(&first, memory_order_acquire);
}

/* --- descriptions, of each version ------------------------------------------------------------ */

/* Only version 1 says it. */
static uint32_t reduction_of(const struct ss_nccl_coll_v1 *coll)
{
    const char *function = ss_nccl_function_numbered(coll->function);
    bool reduces = function != NULL && strstr(function, "Reduce") != NULL;
    return reduces && coll->reduction < SS_RING_REDUCTIONS - 1 ? coll->reduction + 1
                                                               : SS_RING_NO_REDUCTION;
}

static struct ss_nccl_described coll_v1(const struct ss_nccl_coll_v1 *coll)
{
    return (struct ss_nccl_described){.function = ss_nccl_function_numbered(coll->function),
                                      .datatype = ss_nccl_datatype_numbered(coll->datatype),
                                      .algorithm = ss_nccl_algorithm_numbered(coll->algorithm),
                                      .protocol = ss_nccl_protocol_numbered(coll->protocol),
                                      .reduction = reduction_of(coll),
                                      .count = coll->count};
}

static struct ss_nccl_described message_v1(const struct ss_nccl_message_v1 *message)
{
    return (struct ss_nccl_described){.function = ss_nccl_function_numbered(message->function),
                                      .datatype = ss_nccl_datatype_numbered(message->datatype),
                                      .count = message->count,
                                      .is_message = true};
}

#define DESCRIBED_COLL(coll, number_of_channels)                                                   \
    ((struct ss_nccl_described){.function = (coll)->function,                                      \
                                .datatype = (coll)->datatype,                                      \
                                .algorithm = (coll)->algorithm,                                    \
                                .protocol = (coll)->protocol,                                      \
                                .count = (coll)->count,                                            \
                                .channels = (number_of_channels)})
#define DESCRIBED_MESSAGE(message, number_of_channels)                                             \
    ((struct ss_nccl_described){.function = (message)->function,                                   \
                                .datatype = (message)->datatype,                                   \
                                .count = (message)->count,                                         \
                                .channels = (number_of_channels),                                  \
                                .is_message = true})

static int start_named(void *context, void **handle, uint64_t hash, const char *name,
                       const struct ss_nccl_described *described)
{
    ss_nccl_communicator_identify(context, hash, name);
    *handle = handle_of(ss_nccl_begin(context, described));
    return SS_NCCL_OK;
}

static int start_channel(const void *parent, void **handle, uint64_t timer)
{
    *handle = handle_of(ss_nccl_begin_channel(number_of(parent), timer));
    return SS_NCCL_OK;
}

static int begin_v1(void *context, void **handle, const void *description)
{
    const struct ss_nccl_description_v1 *of = description;
    struct ss_nccl_described described;
    *handle = NULL;
    switch (of->kind) {
    case SS_NCCL_COLLECTIVE:
        described = coll_v1(&of->coll);
        return start_named(context, handle, of->coll.comm_hash, of->coll.comm_name, &described);
    case SS_NCCL_MESSAGE:
        described = message_v1(&of->message);
        return start_named(context, handle, of->message.comm_hash, of->message.comm_name,
                           &described);
    default:
        return SS_NCCL_OK;
    }
}

static int begin_v2(void *context, void **handle, const void *description)
{
    const struct ss_nccl_description_v2 *of = description;
    struct ss_nccl_described described;
    *handle = NULL;
    switch (of->kind) {
    case SS_NCCL_COLLECTIVE:
        described = DESCRIBED_COLL(&of->coll, 0);
        return start_named(context, handle, of->coll.comm_hash, of->coll.comm_name, &described);
    case SS_NCCL_MESSAGE:
        described = DESCRIBED_MESSAGE(&of->message, 0);
        return start_named(context, handle, of->message.comm_hash, of->message.comm_name,
                           &described);
    default:
        return SS_NCCL_OK;
    }
}

/* `channels` of version 3 is the most that NCCL may use. */
static int begin_v3(void *context, void **handle, const void *description)
{
    const struct ss_nccl_description_v3 *of = description;
    struct ss_nccl_described described;
    *handle = NULL;
    switch (of->kind) {
    case SS_NCCL_COLLECTIVE:
        described = DESCRIBED_COLL(&of->coll, 0);
        return start_named(context, handle, of->coll.comm_hash, of->coll.comm_name, &described);
    case SS_NCCL_MESSAGE:
        described = DESCRIBED_MESSAGE(&of->message, 0);
        return start_named(context, handle, of->message.comm_hash, of->message.comm_name,
                           &described);
    case SS_NCCL_CHANNEL:
        return start_channel(of->parent, handle, 0);
    default:
        return SS_NCCL_OK;
    }
}

static int begin_v4(void *context, void **handle, const void *description)
{
    const struct ss_nccl_description_v4 *of = description;
    struct ss_nccl_described described;
    *handle = NULL;
    switch (of->kind) {
    case SS_NCCL_COLLECTIVE:
        described = DESCRIBED_COLL(&of->coll, of->coll.channels);
        *handle = handle_of(ss_nccl_begin(context, &described));
        return SS_NCCL_OK;
    case SS_NCCL_MESSAGE:
        described = DESCRIBED_MESSAGE(&of->message, of->message.channels);
        *handle = handle_of(ss_nccl_begin(context, &described));
        return SS_NCCL_OK;
    case SS_NCCL_CHANNEL:
        return start_channel(of->parent, handle, of->channel.timer);
    default:
        return SS_NCCL_OK;
    }
}

static int begin_v5(void *context, void **handle, const void *description)
{
    const struct ss_nccl_description_v5 *of = description;
    struct ss_nccl_described described;
    *handle = NULL;
    switch (of->kind) {
    case SS_NCCL_COLLECTIVE:
        described = DESCRIBED_COLL(&of->coll, of->coll.channels);
        *handle = handle_of(ss_nccl_begin(context, &described));
        return SS_NCCL_OK;
    case SS_NCCL_MESSAGE:
        described = DESCRIBED_MESSAGE(&of->message, of->message.channels);
        *handle = handle_of(ss_nccl_begin(context, &described));
        return SS_NCCL_OK;
    case SS_NCCL_CHANNEL:
        return start_channel(of->parent, handle, of->channel.timer);
    default:
        return SS_NCCL_OK;
    }
}

/* --- the functions of a table ----------------------------------------------------------------- */

#define START(version)                                                                             \
    static int start_v##version(void *context, void **handle, const void *description)             \
    {                                                                                              \
        const struct ss_nccl_calls *calls = first_calls();                                         \
        return calls != NULL ? calls->start(context, handle, description)                          \
                             : begin_v##version(context, handle, description);                     \
    }
START(1)
START(2)
START(3)
START(4)
START(5)

static int stop(void *handle)
{
    const struct ss_nccl_calls *calls = first_calls();
    if (calls != NULL) {
        return calls->stop(handle);
    }
    ss_nccl_end(number_of(handle));
    return SS_NCCL_OK;
}

static int record_state(void *handle, int state, const void *values)
{
    const struct ss_nccl_calls *calls = first_calls();
    const struct ss_nccl_state *of = values;
    if (calls != NULL) {
        return calls->record_state(handle, state, values);
    }
    if (state == SS_NCCL_CHANNEL_STOP && of != NULL) {
        ss_nccl_time_channel(number_of(handle), of->timer);
    }
    return SS_NCCL_OK;
}

static int finalize(void *context)
{
    const struct ss_nccl_calls *calls = first_calls();
    if (calls != NULL) {
        return calls->finalize(context);
    }
    if (context != NULL) {
        ss_nccl_communicator_free(context);
    }
    return SS_NCCL_OK;
}

/* --- begin ------------------------------------------------------------------------------------ */

static int open_communicator(int version, void **context, int *mask, uint64_t hash,
                             const char *name, int ranks)
{
    *context = NULL;
    if (!ss_process_is_set_up() || mask == NULL) {
        return SS_NCCL_REFUSED;
    }
    *context = ss_nccl_communicator_new(hash, name, ranks, version >= FIRST_WITH_CHANNELS);
    if (*context == NULL) {
        return SS_NCCL_REFUSED;
    }
    ss_nccl_set_mask(mask);
    return SS_NCCL_OK;
}

/* The table of the first library, if it is another one and has it; from then on it is used. */
static const void *find_first(const char *table, size_t calls_at)
{
    const void *of_first = NULL;
    *(const void **)&of_first = ss_first_function(table);
    if (of_first != NULL) {
        atomic_store_explicit(
            &first, (const struct ss_nccl_calls *)(const void *)((const char *)of_first + calls_at),
            memory_order_release);
    }
    return of_first;
}

#define INIT_V3(version)                                                                           \
    static int init_v##version(void **context, int *mask)                                          \
    {                                                                                              \
        const struct ss_nccl_profiler_v3 *other =                                                  \
            find_first("ncclProfiler_v" #version, offsetof(struct ss_nccl_profiler_v3, calls));    \
        return other != NULL ? other->init(context, mask)                                          \
                             : open_communicator(version, context, mask, 0, NULL, 0);              \
    }
INIT_V3(1)
INIT_V3(2)
INIT_V3(3)

static int init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
                   int ranks, int rank, void *log)
{
    const struct ss_nccl_profiler_v4 *other =
        find_first("ncclProfiler_v4", offsetof(struct ss_nccl_profiler_v4, calls));
    return other != NULL ? other->init(context, mask, comm_name, comm_hash, nodes, ranks, rank, log)
                         : open_communicator(4, context, mask, comm_hash, comm_name, ranks);
}

static int init_v5(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes,
                   int ranks, int rank, void *log)
{
    const struct ss_nccl_profiler_v5 *other =
        find_first("ncclProfiler_v5", offsetof(struct ss_nccl_profiler_v5, calls));
    return other != NULL ? other->init(context, comm_hash, mask, comm_name, nodes, ranks, rank, log)
                         : open_communicator(5, context, mask, comm_hash, comm_name, ranks);
}

/* --- the tables ------------------------------------------------------------------------------- */

#define EXPORT __attribute__((visibility("default")))
#define CALLS(version)                                                                             \
    {                                                                                              \
        start_v##version, stop, record_state, finalize                                             \
    }

extern EXPORT const struct ss_nccl_profiler_v3 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
extern EXPORT const struct ss_nccl_profiler_v4 ncclProfiler_v4;
extern EXPORT const struct ss_nccl_profiler_v5 ncclProfiler_v5;

const struct ss_nccl_profiler_v3 ncclProfiler_v1 = {"stepscope", init_v1, CALLS(1)};
const struct ss_nccl_profiler_v3 ncclProfiler_v2 = {"stepscope", init_v2, CALLS(2)};
const struct ss_nccl_profiler_v3 ncclProfiler_v3 = {"stepscope", init_v3, CALLS(3)};
const struct ss_nccl_profiler_v4 ncclProfiler_v4 = {"stepscope", init_v4, CALLS(4)};
const struct ss_nccl_profiler_v5 ncclProfiler_v5 = {"stepscope", init_v5, CALLS(5)};
