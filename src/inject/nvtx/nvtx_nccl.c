/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nvtx/nvtx_nccl.h"

#include <string.h>

#include "annot/names.h"
#include "inject/nccl/calls.h"
#include "inject/nccl/operations_inside.h"
#include "inject/nvtx/nvtx_payload.h"

enum { MOST_PAYLOADS = 4, NO_COLOUR = -1 /* ncclCommSplit makes nothing for this rank */ };

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

/* --- functions -------------------------------------------------------------------------------- */

enum role {
    OTHER,
    COLLECTIVE,
    MESSAGE,
    GROUP_START,
    GROUP_END,
    GROUP_SIMULATED,
    MAKES,
    ENDS,
    ROLES = 0xf,
    HAS_PAYLOAD = 0x10, /* it came with the start */
    IS_RANGE = 0x20     /* calls.h records it */
};

static const struct {
    const char *name;
    enum role role;
} functions[] = {{"ncclAllReduce", COLLECTIVE},
                 {"ncclBroadcast", COLLECTIVE},
                 {"ncclReduce", COLLECTIVE},
                 {"ncclAllGather", COLLECTIVE},
                 {"ncclReduceScatter", COLLECTIVE},
                 {"ncclAlltoAll", COLLECTIVE},
                 {"ncclGather", COLLECTIVE},
                 {"ncclScatter", COLLECTIVE},
                 {"ncclSend", MESSAGE},
                 {"ncclRecv", MESSAGE},
                 {"ncclGroupStart", GROUP_START},
                 {"ncclGroupEnd", GROUP_END},
                 {"ncclGroupSimulateEnd", GROUP_SIMULATED},
                 {"ncclCommInitRank", MAKES},
                 {"ncclCommInitRankConfig", MAKES},
                 {"ncclCommInitRankScalable", MAKES},
                 {"ncclCommInitAll", MAKES},
                 {"ncclCommSplit", MAKES},
                 {"ncclCommDestroy", ENDS},
                 {"ncclCommAbort", ENDS}};

/* The texts of names end with their length. */
static bool is_text(uint32_t name, const char *text)
{
    size_t length = 0;
    const char *known = name != 0 ? ss_names_text(name, &length) : NULL;
    return known != NULL && length == strlen(text) && memcmp(known, text, length) == 0;
}

static size_t function_of(uint32_t name)
{
    size_t i = 0;
    while (i < COUNT_OF(functions) && !is_text(name, functions[i].name)) {
        i++;
    }
    return i;
}

/* --- arguments -------------------------------------------------------------------------------- */

enum argument { COMMUNICATOR, BYTES, REDUCTION, RANKS, DEVICE, DEVICES, COLOUR, ARGUMENTS };

static const struct {
    const char *name;
    enum argument argument;
} argument_names[] = {{"NCCL communicator ID", COMMUNICATOR},
                      {"Message size [bytes]", BYTES},
                      {"Bytes", BYTES}, /* of some functions, up to 2.24 */
                      {"Reduction operation", REDUCTION},
                      {"No. of ranks", RANKS},
                      {"CUDA device", DEVICE},
                      {"No. of devices", DEVICES},
                      {"Color", COLOUR},
                      {"color", COLOUR}};

struct arguments {
    bool is_there; /* any payload */
    bool has[ARGUMENTS];
    struct ss_event_value values[ARGUMENTS];
};

static void read_field(uint32_t domain, const struct ss_nvtx_field *field,
                       const struct ss_nvtx_payload *payload, size_t size, struct arguments *to)
{
    for (size_t i = 0; i < COUNT_OF(argument_names); i++) {
        enum argument argument = argument_names[i].argument;
        if (!to->has[argument] && is_text(field->name, argument_names[i].name)) {
            to->has[argument] =
                ss_nvtx_read_field(domain, field, payload->data, size, &to->values[argument]);
            return;
        }
    }
}

static void read_arguments(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count,
                           struct arguments *to)
{
    memset(to, 0, sizeof *to);
    for (size_t i = 0; payloads != NULL && i < count && i < MOST_PAYLOADS; i++) {
        const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(domain, payloads[i].schema);
        if (layout == NULL || payloads[i].data == NULL) {
            continue;
        }
        size_t size = payloads[i].size != SIZE_MAX ? payloads[i].size : layout->size;
        to->is_there = true;
        for (uint32_t field = 0; field < layout->count; field++) {
            read_field(domain, &layout->fields[field], &payloads[i], size, to);
        }
    }
}

static bool is_number(const struct arguments *arguments, enum argument argument)
{
    uint32_t type = arguments->values[argument].type;
    return arguments->has[argument] &&
           (type == SS_RING_VALUE_UNSIGNED || type == SS_RING_VALUE_SIGNED);
}

/* `unknown`: it is absent, or beyond `most`. */
static int64_t number_of(const struct arguments *arguments, enum argument argument, uint64_t most,
                         int64_t unknown)
{
    uint64_t bits = arguments->values[argument].bits;
    return is_number(arguments, argument) && bits <= most ? (int64_t)bits : unknown;
}

static uint64_t communicator_of(const struct arguments *arguments)
{
    return is_number(arguments, COMMUNICATOR) ? arguments->values[COMMUNICATOR].bits : 0;
}

/* NCCL registers the names of its operations; a program's own have numbers alone. */
static uint32_t reduction_of(const struct arguments *arguments)
{
    static const char *const names[SS_RING_REDUCTIONS] = {[SS_RING_SUM] = "Sum",
                                                          [SS_RING_PRODUCT] = "Product",
                                                          [SS_RING_MAX] = "Max",
                                                          [SS_RING_MIN] = "Min",
                                                          [SS_RING_AVERAGE] = "Avg"};
    const struct ss_event_value *value = &arguments->values[REDUCTION];
    if (!arguments->has[REDUCTION] || value->type != SS_RING_VALUE_NAME) {
        return SS_RING_NO_REDUCTION;
    }
    for (uint32_t i = 1; i < SS_RING_REDUCTIONS; i++) {
        if (is_text((uint32_t)value->bits, names[i])) {
            return i;
        }
    }
    return SS_RING_NO_REDUCTION;
}

/* --- communicators ---------------------------------------------------------------------------- */

/* A split has the size of the communicator that it splits. */
static void make(size_t function, const struct arguments *arguments)
{
    bool is_split = strcmp(functions[function].name, "ncclCommSplit") == 0;
    int64_t devices = number_of(arguments, DEVICES, INT32_MAX, 0);
    int64_t size = devices > 0 ? devices : number_of(arguments, RANKS, INT32_MAX, 0);
    bool is_of_none =
        is_split && arguments->has[COLOUR] && (int32_t)arguments->values[COLOUR].bits == NO_COLOUR;
    uint64_t communicator = communicator_of(arguments);
    struct ss_nccl_made made = {.communicator = communicator,
                                .hash = communicator,
                                .size = is_split ? 0 : (uint32_t)size,
                                .ranks_here = devices > 0 ? (uint32_t)devices : 1,
                                .device = number_of(arguments, DEVICE, INT32_MAX, -1)};
    if (!is_of_none) {
        ss_nccl_made(&made);
    }
}

/* --- ranges ----------------------------------------------------------------------------------- */

static bool begin_call(size_t function, const struct arguments *arguments)
{
    static const char source[] = "NCCL's ranges of NVTX";
    ss_nccl_set_source(source);
    struct ss_nccl_call call = {.function = functions[function].name + strlen("nccl"),
                                .communicator = communicator_of(arguments),
                                .is_hash = true,
                                .bytes = number_of(arguments, BYTES, INT64_MAX, -1),
                                .reduction = reduction_of(arguments),
                                .is_message = functions[function].role == MESSAGE};
    return ss_nccl_call_begin(&call);
}

/* What a range does at its start. Returns what is to be known at its end. */
static uint8_t begin(size_t function, const struct arguments *arguments)
{
    uint8_t range = (uint8_t)functions[function].role;
    uint8_t has_payload = arguments->is_there ? HAS_PAYLOAD : 0;
    switch (functions[function].role) {
    case COLLECTIVE:
    case MESSAGE:
        return range | (begin_call(function, arguments) ? IS_RANGE : 0);
    case GROUP_START:
        ss_nccl_group_begin();
        return range;
    case MAKES:
        if (arguments->is_there) {
            make(function, arguments);
        }
        return range | has_payload;
    case ENDS:
        if (arguments->is_there) {
            ss_nccl_gone(communicator_of(arguments));
        }
        return range | has_payload;
    default:
        return range;
    }
}

bool ss_nvtx_nccl_push(uint32_t domain, uint32_t name, const struct ss_nvtx_payload *payloads,
                       size_t count)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    struct arguments arguments;
    if (thread == NULL || thread->nvtx_depth++ >= SS_NCCL_OPEN) {
        return false;
    }
    struct ss_nccl_nvtx_range *range = &thread->nvtx_ranges[thread->nvtx_depth - 1];
    size_t function = ss_nccl_has_plugin() ? COUNT_OF(functions) : function_of(name);
    *range = (struct ss_nccl_nvtx_range){(uint8_t)function, OTHER};
    if (function < COUNT_OF(functions)) {
        read_arguments(domain, payloads, count, &arguments);
        range->state = begin(function, &arguments);
    }
    return (range->state & IS_RANGE) != 0;
}

/* Versions before 2.16 make communicators without saying anything of them. */
static void end(const struct ss_nccl_nvtx_range *range, uint32_t domain,
                const struct ss_nvtx_payload *payloads, size_t count)
{
    struct arguments arguments;
    switch (range->state & ROLES) {
    case COLLECTIVE:
    case MESSAGE:
        ss_nccl_call_end();
        break;
    case GROUP_END:
    case GROUP_SIMULATED:
        ss_nccl_group_end((range->state & ROLES) == GROUP_END);
        break;
    case MAKES:
    case ENDS:
        read_arguments(domain, payloads, count, &arguments);
        if ((range->state & HAS_PAYLOAD) != 0) {
            break;
        }
        if ((range->state & ROLES) == MAKES) {
            make(range->function, &arguments);
        } else if (arguments.is_there) {
            ss_nccl_gone(communicator_of(&arguments));
        }
        break;
    default:
        break;
    }
}

bool ss_nvtx_nccl_pop(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    if (thread == NULL || thread->nvtx_depth == 0 || --thread->nvtx_depth >= SS_NCCL_OPEN) {
        return false;
    }
    const struct ss_nccl_nvtx_range *range = &thread->nvtx_ranges[thread->nvtx_depth];
    end(range, domain, payloads, count);
    return (range->state & IS_RANGE) != 0;
}
