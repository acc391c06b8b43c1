/* SPDX-License-Identifier: Apache-2.0 */
#include "base/device_api.h"

/* In a pattern, `*` stands for any text. The first row that fits decides. */
struct row {
    const char *pattern;
    enum ss_event_type type;
};

#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

static const struct row calls[] = {
    {"cuda*Synchronize*", SS_EVENT_TYPE_synchronisation},
    {"cu*Synchronize*", SS_EVENT_TYPE_synchronisation},
    {"hip*Synchronize*", SS_EVENT_TYPE_synchronisation},
    {"cudaLaunch*", SS_EVENT_TYPE_launch},
    {"cudaGraphLaunch*", SS_EVENT_TYPE_launch},
    {"cudaMemcpy*", SS_EVENT_TYPE_launch},
    {"cudaMemset*", SS_EVENT_TYPE_launch},
    {"cudaMemPrefetch*", SS_EVENT_TYPE_launch},
    {"cuLaunch*", SS_EVENT_TYPE_launch},
    {"cuGraphLaunch*", SS_EVENT_TYPE_launch},
    {"cuMemcpy*", SS_EVENT_TYPE_launch},
    {"cuMemset*", SS_EVENT_TYPE_launch},
    {"cuMemPrefetch*", SS_EVENT_TYPE_launch},
    {"hip*Launch*", SS_EVENT_TYPE_launch}, /* hipExtModuleLaunchKernel, hipGraphLaunch, … */
    {"hipMemcpy*", SS_EVENT_TYPE_launch},
    {"hipMemset*", SS_EVENT_TYPE_launch},
    {"hipMemPrefetch*", SS_EVENT_TYPE_launch},
};

static const struct row work[] = {
    {"Memcpy *", SS_EVENT_TYPE_copy},
    {"Memset (*", SS_EVENT_TYPE_memset},
    {"[CUDA memcpy *", SS_EVENT_TYPE_copy}, /* nsys, nvprof */
    {"[CUDA memset]", SS_EVENT_TYPE_memset},
    {"CopyHostToDevice*", SS_EVENT_TYPE_copy}, /* ROCm before 6 */
    {"CopyDeviceToHost*", SS_EVENT_TYPE_copy},
    {"CopyDeviceToDevice*", SS_EVENT_TYPE_copy},
    {"FillBuffer*", SS_EVENT_TYPE_memset},
    {"Context Sync", SS_EVENT_TYPE_synchronisation}, /* Kineto with CUDA's synchronisation events */
    {"Stream Sync", SS_EVENT_TYPE_synchronisation},
    {"Event Sync", SS_EVENT_TYPE_synchronisation},
    {"Stream Wait Event", SS_EVENT_TYPE_synchronisation},
};

/* NONE: it only has the name of a collective, such as a kernel of Inductor that prepares one. */
static const struct row communication[] = {
    {"triton_*", SS_EVENT_TYPE_NONE},
    {"nccl*", SS_EVENT_TYPE_collective},
    {"rccl*", SS_EVENT_TYPE_collective},
    {"mscclKernel*", SS_EVENT_TYPE_collective},
    {"*ncclDevKernel*", SS_EVENT_TYPE_collective},
    {"*ncclKernel*", SS_EVENT_TYPE_collective},
    {"*multimem*", SS_EVENT_TYPE_collective},
    {"*nvshmem*", SS_EVENT_TYPE_collective},
    {"*all_reduce*", SS_EVENT_TYPE_collective},
    {"*all_gather*", SS_EVENT_TYPE_collective},
    {"*reduce_scatter*", SS_EVENT_TYPE_collective},
    {"*all_to_all*", SS_EVENT_TYPE_collective},
    {"*cross_device_reduce*", SS_EVENT_TYPE_collective}, /* vLLM, SGLang */
    {"*ShotAllReduce*", SS_EVENT_TYPE_collective},       /* TensorRT */
    {"*allreduce_fusion*", SS_EVENT_TYPE_collective},
};

static bool fits(const char *pattern, struct ss_strview name)
{
    const char *star = NULL;       /* the last one */
    size_t at = 0, after_star = 0; /* what the star stands for ends there */
    while (at < name.length) {
        if (*pattern == '*') {
            star = pattern++;
            after_star = at;
        } else if (*pattern != '\0' && *pattern == name.data[at]) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star + 1;
            at = ++after_star;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static enum ss_event_type type_in(const struct row *rows, size_t count, struct ss_strview name,
                                  enum ss_event_type other)
{
    for (size_t i = 0; i < count; i++) {
        if (fits(rows[i].pattern, name)) {
            return rows[i].type;
        }
    }
    return other;
}

enum ss_event_type ss_device_call_type(struct ss_strview name)
{
    return type_in(calls, COUNT_OF(calls), name, SS_EVENT_TYPE_range);
}

enum ss_event_type ss_device_work_type(struct ss_strview name)
{
    return type_in(work, COUNT_OF(work), name, SS_EVENT_TYPE_kernel);
}

bool ss_device_kernel_communicates(struct ss_strview kernel)
{
    return type_in(communication, COUNT_OF(communication), kernel, SS_EVENT_TYPE_NONE) ==
           SS_EVENT_TYPE_collective;
}

/* --- memories -------------------------------------------------------------------------------- */

static const struct {
    const char *pattern;
    struct ss_device_memories memories;
} directions[] = {
    /* Before them: the memories that a name lists, "Memcpy HtoD (Pageable -> Device)". */
    {"Memcpy HtoD*", {"host", "device"}},
    {"Memcpy DtoH*", {"device", "host"}},
    {"Memcpy DtoD*", {"device", "device"}},
    {"Memcpy PtoP*", {"device", "device"}},
    {"Memcpy HtoH*", {"host", "host"}},
    {"[CUDA memcpy HtoD]", {"host", "device"}},
    {"[CUDA memcpy DtoH]", {"device", "host"}},
    {"[CUDA memcpy DtoD]", {"device", "device"}},
    {"[CUDA memcpy PtoP]", {"device", "device"}},
    {"[CUDA memcpy Host-to-Device]", {"host", "device"}},
    {"[CUDA memcpy Device-to-Host]", {"device", "host"}},
    {"[CUDA memcpy Device-to-Device]", {"device", "device"}},
    {"[CUDA memcpy Peer-to-Peer]", {"device", "device"}},
    {"CopyHostToDevice*", {"host", "device"}},
    {"CopyDeviceToHost*", {"device", "host"}},
    {"CopyDeviceToDevice*", {"device", "device"}},
};

/* Kineto's words for memories, and ours. */
static const struct {
    const char *word, *memory;
} memories[] = {{"Pageable", "pageable"},      {"Pinned", "pinned"},
                {"Device", "device"},          {"Array", "array"},
                {"Managed", "managed"},        {"Device Static", "device"},
                {"Managed Static", "managed"}, {"Host", "host"}};

static const char *memory_named(struct ss_strview word)
{
    for (size_t i = 0; i < COUNT_OF(memories); i++) {
        if (ss_strview_equal(word, ss_strview_of(memories[i].word))) {
            return memories[i].memory;
        }
    }
    return NULL;
}

/* The text in the parentheses; empty: there are none. */
static struct ss_strview in_parentheses(struct ss_strview name)
{
    const char *open = memchr(name.data, '(', name.length);
    if (open == NULL || name.data[name.length - 1] != ')') {
        return (struct ss_strview){"", 0};
    }
    return (struct ss_strview){open + 1, (size_t)(name.data + name.length - open) - 2};
}

struct ss_device_memories ss_device_memories_of(struct ss_strview name)
{
    static const char arrow[] = " -> ";
    const size_t arrow_length = sizeof arrow - 1;
    struct ss_strview listed = in_parentheses(name);
    struct ss_device_memories found = {NULL, NULL};
    for (size_t i = 0; i + arrow_length <= listed.length; i++) {
        if (memcmp(listed.data + i, arrow, arrow_length) == 0) {
            size_t to = i + arrow_length;
            found.from = memory_named((struct ss_strview){listed.data, i});
            listed = (struct ss_strview){listed.data + to, listed.length - to};
            break;
        }
    }
    found.to = memory_named(listed);
    for (size_t i = 0; i < COUNT_OF(directions); i++) {
        if (fits(directions[i].pattern, name)) {
            found.from = found.from != NULL ? found.from : directions[i].memories.from;
            found.to = found.to != NULL ? found.to : directions[i].memories.to;
            break;
        }
    }
    return found;
}

/* --- counters -------------------------------------------------------------------------------- */

enum ss_quantity ss_device_counter_quantity(struct ss_strview name)
{
    static const struct {
        const char *pattern;
        enum ss_quantity quantity;
    } counters[] = {{"cuda allocated", SS_QUANTITY_DEVICE_ALLOCATED},
                    {"cuda:* allocated", SS_QUANTITY_DEVICE_ALLOCATED},
                    {"cuda reserved", SS_QUANTITY_DEVICE_RESERVED},
                    {"cuda:* reserved", SS_QUANTITY_DEVICE_RESERVED},
                    {"cuda peak", SS_QUANTITY_DEVICE_PEAK},
                    {"cuda:* peak", SS_QUANTITY_DEVICE_PEAK}};
    for (size_t i = 0; i < COUNT_OF(counters); i++) {
        if (fits(counters[i].pattern, name)) {
            return counters[i].quantity;
        }
    }
    return SS_QUANTITY_NONE;
}

/* --- collectives ----------------------------------------------------------------------------- */

bool ss_collective_scope(struct ss_strview name)
{
    static const struct row scopes[] = {
        {"gloo:*", SS_EVENT_TYPE_collective}, {"nccl:*", SS_EVENT_TYPE_collective},
        {"mpi:*", SS_EVENT_TYPE_collective},  {"ucc:*", SS_EVENT_TYPE_collective},
        {"xccl:*", SS_EVENT_TYPE_collective}, {"c10d::*", SS_EVENT_TYPE_collective}};
    return type_in(scopes, COUNT_OF(scopes), name, SS_EVENT_TYPE_NONE) == SS_EVENT_TYPE_collective;
}

static const struct {
    const char *pattern;
    enum ss_collective_flow flow;
} flows[] = {
    {"send*", SS_FLOW_OF_TWO},
    {"recv*", SS_FLOW_OF_TWO},
    {"isend", SS_FLOW_OF_TWO},
    {"irecv", SS_FLOW_OF_TWO},
    {"broadcast*", SS_FLOW_FROM_ROOT},
    {"_broadcast*", SS_FLOW_FROM_ROOT},
    {"scatter*", SS_FLOW_FROM_ROOT},
    {"reduce", SS_FLOW_TO_ROOT},
    {"_reduce_oop", SS_FLOW_TO_ROOT},
    {"gather*", SS_FLOW_TO_ROOT},
    {"MPI_*end*", SS_FLOW_OF_TWO},
    {"MPI_*ecv*", SS_FLOW_OF_TWO},
    {"MPI_Bcast*", SS_FLOW_FROM_ROOT},
    {"MPI_Ibcast*", SS_FLOW_FROM_ROOT},
    {"MPI_Scatter*", SS_FLOW_FROM_ROOT},
    {"MPI_Iscatter*", SS_FLOW_FROM_ROOT},
    {"MPI_Reduce", SS_FLOW_TO_ROOT},
    {"MPI_Ireduce", SS_FLOW_TO_ROOT},
    {"MPI_Reduce_init", SS_FLOW_TO_ROOT},
    {"MPI_Gather*", SS_FLOW_TO_ROOT},
    {"MPI_Igather*", SS_FLOW_TO_ROOT},
    {"MPI_*scan", SS_FLOW_OF_SOME},
    {"MPI_Scan", SS_FLOW_OF_SOME},
    {"MPI_*eighbor*", SS_FLOW_OF_SOME},
    {"*ncclDevKernel_Broadcast*", SS_FLOW_FROM_ROOT},
    {"*ncclKernel_Broadcast*", SS_FLOW_FROM_ROOT},
    {"*ncclDevKernel_Reduce_*", SS_FLOW_TO_ROOT},
    {"*ncclKernel_Reduce_*", SS_FLOW_TO_ROOT},
};

enum ss_collective_flow ss_collective_flow_of(struct ss_strview name)
{
    const char *colon = memrchr(name.data, ':', name.length);
    if (colon != NULL && ss_collective_scope(name)) {
        name = (struct ss_strview){colon + 1, name.length - (size_t)(colon + 1 - name.data)};
    }
    for (size_t i = 0; i < COUNT_OF(flows); i++) {
        if (fits(flows[i].pattern, name)) {
            return flows[i].flow;
        }
    }
    return SS_FLOW_ALL;
}

bool ss_collective_is_of_mpi(struct ss_strview name)
{
    return fits("MPI_*", name);
}

bool ss_collective_is_started(struct ss_strview name)
{
    return fits("MPI_I*", name) || fits("MPI_*_init", name);
}

bool ss_collective_is_waited_for(struct ss_strview name, enum ss_event_type type)
{
    if (ss_collective_is_of_mpi(name)) {
        return !ss_collective_is_started(name);
    }
    bool is_scope = ss_collective_scope(name);
    if (is_scope && ss_collective_flow_of(name) == SS_FLOW_OF_TWO) {
        return false;
    }
    return type != SS_EVENT_TYPE_NONE ? type == SS_EVENT_TYPE_collective : is_scope;
}

bool ss_collective_is_queued(struct ss_strview scope)
{
    return fits("nccl:*", scope) || fits("xccl:*", scope);
}

bool ss_device_call_launches_kernel(struct ss_strview call)
{
    return fits("*Launch*Kernel*", call);
}

bool ss_device_call_launches_graph(struct ss_strview call)
{
    return fits("cu*GraphLaunch*", call) || fits("hipGraphLaunch*", call);
}

bool ss_device_call_begins_capture(struct ss_strview call)
{
    return fits("cu*StreamBeginCapture*", call) || fits("hipStreamBeginCapture*", call);
}

bool ss_device_call_ends_capture(struct ss_strview call)
{
    return fits("cu*StreamEndCapture*", call) || fits("hipStreamEndCapture*", call);
}

struct ss_strview ss_nccl_reduction(uint64_t number)
{
    static const char *const reductions[] = {"", "sum", "prod", "max", "min", "avg"};
    return ss_strview_of(number < COUNT_OF(reductions) ? reductions[number] : "");
}

/* The host's part of a call is "nccl:AllReduce". */
static struct ss_strview without_prefix(struct ss_strview call)
{
    static const char *const prefixes[] = {"nccl:", "nccl"};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (call.length > length && memcmp(call.data, prefixes[i], length) == 0) {
            return (struct ss_strview){call.data + length, call.length - length};
        }
    }
    return (struct ss_strview){"", 0};
}

struct ss_strview ss_nccl_collective(struct ss_strview call)
{
    static const char *const functions[][2] = {{"AllReduce", "allreduce"},
                                               {"Broadcast", "broadcast"},
                                               {"Bcast", "broadcast"},
                                               {"Reduce", "reduce"},
                                               {"AllGather", "allgather"},
                                               {"ReduceScatter", "reduce_scatter"},
                                               {"AlltoAll", "alltoall"},
                                               {"AllToAll", "alltoall"},
                                               {"AllToAllv", "alltoall"},
                                               {"Gather", "gather"},
                                               {"Scatter", "scatter"},
                                               {"Send", "send"},
                                               {"Recv", "recv"}};
    struct ss_strview function = without_prefix(call);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (ss_strview_equal(function, ss_strview_of(functions[i][0]))) {
            return ss_strview_of(functions[i][1]);
        }
    }
    return (struct ss_strview){"", 0};
}
