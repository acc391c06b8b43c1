/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/rccl.h"

#include <string.h>

#include "annot/process.h"
#include "inject/nccl/calls.h"
#include "inject/nccl/nccl_names.h"
#include "inject/nccl/operations.h"
#include "ring/layout.h"

enum { UNIQUE_ID_BYTES = 128, MOST_DEVICES = 1024 };

struct ss_rccl_id {
    unsigned char bytes[UNIQUE_ID_BYTES];
};

/* --- functions -------------------------------------------------------------------------------- */

enum role { CALL, GROUP_START, GROUP_END, INIT, INIT_CONFIG, INIT_ALL, SPLIT, DESTROY, ABORT };

static const struct function {
    const char *name;
    enum role role;
    bool is_message;
    uint8_t count, datatype, reduction, communicator; /* offsets; reduction 0: it has none */
} functions[] = {
#define SS_RCCL_CALL(function, is_message, member, count, datatype, reduction, communicator)       \
    {#function, CALL, is_message, count, datatype, reduction, communicator},
#include "inject/rocm/rccl_layout.def"
    {.name = "ncclGroupStart", .role = GROUP_START},
    {.name = "ncclGroupEnd", .role = GROUP_END},
    {.name = "ncclCommInitRank", .role = INIT},
    {.name = "ncclCommInitRankConfig", .role = INIT_CONFIG},
    {.name = "ncclCommInitAll", .role = INIT_ALL},
    {.name = "ncclCommSplit", .role = SPLIT},
    {.name = "ncclCommDestroy", .role = DESTROY},
    {.name = "ncclCommAbort", .role = ABORT}};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* By the SDK's number, plus one; 0: it is not read. */
static uint8_t function_numbered[SS_ROCM_MOST_OPERATIONS];

void ss_rccl_list(const struct ss_rocm *rocm, struct ss_rocm_operations *operations)
{
    uint32_t kind = ss_rocm_kind(rocm, false, "RCCL_API");
    operations->count = 0;
    for (int32_t i = 0; i < SS_ROCM_MOST_OPERATIONS && kind != 0; i++) {
        const char *name = ss_rocm_operation(rocm, kind, i);
        for (uint8_t at = 0; name != NULL && at < FUNCTIONS; at++) {
            if (strcmp(functions[at].name, name) == 0) {
                function_numbered[i] = at + 1;
                operations->list[operations->count++] = i;
            }
        }
    }
}

/* --- arguments -------------------------------------------------------------------------------- */

#define SS_RCCL_MEMBER(name, member, type, offset)                                                 \
    static inline type get_##name(const void *data)                                                \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, (const char *)data + (offset), sizeof value);                               \
        return value;                                                                              \
    }                                                                                              \
    enum { end_of_##name = (offset) + sizeof(type) };
#include "inject/rocm/rccl_layout.def"

static uint64_t size_of(const void *data)
{
    uint64_t size;
    memcpy(&size, data, sizeof size);
    return size;
}

static uint64_t load_u64(const void *data, size_t at)
{
    uint64_t value;
    memcpy(&value, (const char *)data + at, sizeof value);
    return value;
}

static uint32_t load_u32(const void *data, size_t at)
{
    uint32_t value;
    memcpy(&value, (const char *)data + at, sizeof value);
    return value;
}

static int64_t bytes_of(const char *datatype, uint64_t count)
{
    const struct ss_nccl_datatype *of = ss_nccl_datatype_of(datatype);
    uint64_t bytes = 0;
    bool is_known =
        of != NULL && !__builtin_mul_overflow(count, of->bytes, &bytes) && bytes <= INT64_MAX;
    return is_known ? (int64_t)bytes : -1;
}

/* A call whose arguments are not all there is one all the same. */
static void begin_call(const struct function *function, const void *data)
{
    static const char source[] = "calls of RCCL, by rocprofiler-sdk";
    ss_nccl_set_source(source);
    struct ss_nccl_call call = {.function = function->name + strlen("nccl"),
                                .bytes = -1,
                                .is_message = function->is_message};
    if (data != NULL && size_of(data) >= function->communicator + sizeof(uint64_t)) {
        uint32_t datatype = load_u32(data, function->datatype);
        uint32_t reduction =
            function->reduction != 0 ? load_u32(data, function->reduction) : UINT32_MAX;
        call.communicator = load_u64(data, function->communicator);
        call.datatype = datatype <= UINT8_MAX ? ss_nccl_datatype_numbered((uint8_t)datatype) : NULL;
        call.bytes = bytes_of(call.datatype, load_u64(data, function->count));
        call.reduction = reduction < SS_RING_REDUCTIONS - 1 ? reduction + 1 : SS_RING_NO_REDUCTION;
    }
    ss_nccl_call_begin(&call);
}

/* --- communicators ---------------------------------------------------------------------------- */

/* FNV-1a; never 0. */
static uint64_t hash_of(const void *bytes, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return hash != 0 ? hash : 1;
}

/* The communicator that a call has stored there; 0: none. */
static uint64_t made_at(uint64_t address)
{
    return address != 0 ? *(const uint64_t *)(uintptr_t)address : 0;
}

static void make(uint64_t communicator, uint64_t hash, int32_t size)
{
    struct ss_nccl_made made = {.communicator = communicator,
                                .hash = hash,
                                .size = size > 0 ? (uint32_t)size : 0,
                                .ranks_here = 1,
                                .device = -1};
    if (communicator != 0) {
        ss_nccl_made(&made);
    }
}

static void make_all(const void *data)
{
    int32_t devices = get_all_devices(data);
    uint64_t first = get_all_made(data);
    uint64_t own[2] = {(uint64_t)ss_process_pid(), made_at(first)}; /* all are in this process */
    for (int32_t i = 0; i < devices && devices <= MOST_DEVICES && first != 0; i++) {
        make(made_at(first + (uint64_t)i * sizeof(uint64_t)), hash_of(own, sizeof own), devices);
    }
}

/* At the end of the call, when its results are there. */
static void make_or_end(const struct function *function, const void *data)
{
    uint64_t size = data != NULL ? size_of(data) : 0;
    struct ss_rccl_id id;
    switch (function->role) {
    case INIT:
        if (size >= end_of_init_id) {
            id = get_init_id(data);
            make(made_at(get_init_made(data)), hash_of(&id, sizeof id), get_init_size(data));
        }
        break;
    case INIT_CONFIG:
        if (size >= end_of_config_id) {
            id = get_config_id(data);
            make(made_at(get_config_made(data)), hash_of(&id, sizeof id), get_config_size(data));
        }
        break;
    case INIT_ALL:
        if (size >= end_of_all_devices) {
            make_all(data);
        }
        break;
    case SPLIT:
        if (size >= end_of_split_made) {
            ss_nccl_split(get_split_parent(data), get_split_colour(data),
                          made_at(get_split_made(data)));
        }
        break;
    default:
        break;
    }
}

static void leave(const struct function *function, const void *data)
{
    switch (function->role) {
    case CALL:
        ss_nccl_call_end();
        break;
    case GROUP_START:
        ss_nccl_group_begin();
        break;
    case GROUP_END:
        ss_nccl_group_end(true);
        break;
    default:
        make_or_end(function, data);
        break;
    }
}

/* A communicator that ends is no longer there when the call does. */
static void enter(const struct function *function, const void *data)
{
    bool is_there = data != NULL && size_of(data) >= end_of_destroyed;
    if (function->role == CALL) {
        begin_call(function, data);
    } else if (is_there && function->role == DESTROY && get_destroyed(data) != 0) {
        ss_nccl_gone(get_destroyed(data));
    } else if (is_there && function->role == ABORT && get_aborted(data) != 0) {
        ss_nccl_gone(get_aborted(data));
    }
}

/* The SDK keeps `user` from the start of a call to its end: an end without a start is none. */
void ss_rccl_observe(const struct ss_rocm_event *event, uint64_t *user)
{
    bool is_known = event->operation >= 0 && event->operation < SS_ROCM_MOST_OPERATIONS &&
                    function_numbered[event->operation] != 0;
    if (!is_known) {
        return;
    }
    const struct function *function = &functions[function_numbered[event->operation] - 1];
    if (event->phase == SS_ROCM_ENTERS) {
        *user = ss_nccl_has_plugin() ? 0 : 1;
        if (*user != 0) {
            enter(function, event->payload);
        }
    } else if (event->phase == SS_ROCM_LEAVES && *user != 0) {
        leave(function, event->payload);
    }
}
