/* SPDX-License-Identifier: Apache-2.0 */
/* Activity kinds, attributes, ids of objects, names of results and callbacks. */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <string.h>

extern const char *const fake_runtime_names[], *const fake_driver_names[];
extern const unsigned fake_runtime_name_count, fake_driver_name_count;

static bool is_work(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
    case CUPTI_ACTIVITY_KIND_MEMSET:
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return true;
    default:
        return false;
    }
}

void cupti_want_work(void)
{
    bool any = false;
    for (unsigned kind = 0; kind < MOST_KINDS; kind++) {
        any = any || (cupti.is_enabled[kind] && is_work(kind));
    }
    sim_keep_done_work(any || cupti_has_profiler());
}

CUptiResult impl_cuptiActivityEnable(CUpti_ActivityKind kind)
{
    CUptiResult result = cupti_begin();
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    if ((unsigned)kind >= MOST_KINDS || kind == CUPTI_ACTIVITY_KIND_INVALID) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    cupti.is_enabled[kind] = true;
    cupti_want_work();
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        unsigned domain = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? SIM_RUNTIME : SIM_DRIVER;
        memset(cupti.is_muted[domain], 0, sizeof cupti.is_muted[domain]);
    }
    for (unsigned i = 0; kind == CUPTI_ACTIVITY_KIND_DEVICE && sim_device(i) != NULL; i++) {
        cupti_write_device(sim_device(i));
    }
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    CUptiResult result = impl_cuptiActivityEnable(kind);
    for (unsigned i = 0; result == CUPTI_SUCCESS && sim_device(i) != NULL; i++) {
        struct sim_device *device = sim_device(i);
        if (kind == CUPTI_ACTIVITY_KIND_CONTEXT && device->used) {
            cupti_write_context(device);
        }
        if (kind == CUPTI_ACTIVITY_KIND_STREAM && device->used) {
            sim_each_stream(device, cupti_write_stream);
        }
    }
    return result;
}

/* Records of work that has ended are still written; those of unfinished work no more. */
CUptiResult impl_cuptiActivityDisable(CUpti_ActivityKind kind)
{
    if ((unsigned)kind >= MOST_KINDS) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    sim_report_done_work();
    cupti.is_enabled[kind] = false;
    cupti_want_work();
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    return context == NULL ? CUPTI_ERROR_INVALID_CONTEXT : impl_cuptiActivityEnable(kind);
}

CUptiResult impl_cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    return context == NULL ? CUPTI_ERROR_INVALID_CONTEXT : impl_cuptiActivityDisable(kind);
}

static CUptiResult mute(unsigned domain, CUpti_CallbackId cbid, uint8_t enable)
{
    if (cbid >= MOST_CBIDS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    cupti.is_muted[domain][cbid] = enable == 0;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    unsigned kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    if (enable && !cupti.is_enabled[kind]) { /* this function alone */
        memset(cupti.is_muted[SIM_RUNTIME], 1, sizeof cupti.is_muted[SIM_RUNTIME]);
        cupti.is_enabled[kind] = true;
    }
    return mute(SIM_RUNTIME, cbid, enable);
}

CUptiResult impl_cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    unsigned kind = CUPTI_ACTIVITY_KIND_DRIVER;
    if (enable && !cupti.is_enabled[kind]) {
        memset(cupti.is_muted[SIM_DRIVER], 1, sizeof cupti.is_muted[SIM_DRIVER]);
        cupti.is_enabled[kind] = true;
    }
    return mute(SIM_DRIVER, cbid, enable);
}

/* By number: headers of older versions lack the names. */
static void *attribute_of(unsigned attribute, size_t *size)
{
    static uint8_t host_pinned;
    *size = sizeof(size_t);
    switch (attribute) {
    case 0:
        return &cupti.device_buffer_bytes;
    case 2:
        return &cupti.device_buffer_limit;
    case 5:
        *size = sizeof cupti.zeroed;
        return &cupti.zeroed;
    case 6:
        return &cupti.preallocated;
    case 8:
        *size = sizeof host_pinned;
        return &host_pinned;
    case 9:
        *size = sizeof cupti.per_thread;
        return sim_settings()->cupti >= 1206 ? &cupti.per_thread : NULL;
    default:
        return NULL;
    }
}

static CUptiResult attribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value, bool set)
{
    size_t size;
    void *stored = attribute_of((unsigned)attr, &size);
    if (valueSize == NULL || value == NULL || stored == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (*valueSize < size) {
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    memcpy(set ? stored : value, set ? value : stored, size);
    *valueSize = size;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
                                           void *value)
{
    return attribute(attr, valueSize, value, true);
}

CUptiResult impl_cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
                                           void *value)
{
    return attribute(attr, valueSize, value, false);
}

CUptiResult impl_cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    cupti.thread_id_type = type;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    *type = cupti.thread_id_type;
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 130000
/* Records of queries are not written, enabled or not. */
CUptiResult impl_cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}
#endif

CUptiResult impl_cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
    (void)major;
    (void)minor;
    *support = 1;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiDeviceSupported(CUdevice dev, int *support)
{
    *support = sim_device((unsigned)dev) != NULL;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetVersion(uint32_t *version)
{
    switch (sim_settings()->cupti) {
    case 1108:
        *version = 18;
        break;
    case 1206:
        *version = 24;
        break;
    default:
        *version = 130001;
        break;
    }
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    if (context == NULL || contextId == NULL) {
        return CUPTI_ERROR_INVALID_CONTEXT;
    }
    *contextId = ((struct sim_device *)(void *)context)->context;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    *deviceId = context == NULL ? sim_current_device()->index
                                : ((struct sim_device *)(void *)context)->index;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                                    uint32_t *streamId)
{
    (void)perThreadStream;
    struct sim_device *device = (struct sim_device *)(void *)context;
    bool is_default = (uintptr_t)stream <= 2 && device != NULL;
    *streamId = sim_stream_id(is_default ? device->null_stream : sim_stream(stream));
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return impl_cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult impl_cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
    *pId = sim_graph_id((struct sim_graph *)(void *)graph);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
    *nodeId = (uintptr_t)node;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
    *pId = sim_graph_exec_id((struct sim_graph_exec *)(void *)graphExec);
    return CUPTI_SUCCESS;
}

static const struct {
    CUptiResult result;
    const char *name;
} result_names[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
    {CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
    {CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

CUptiResult impl_cuptiGetResultString(CUptiResult result, const char **str)
{
    for (size_t i = 0; i < sizeof result_names / sizeof result_names[0]; i++) {
        if (result_names[i].result == result) {
            *str = result_names[i].name;
            return CUPTI_SUCCESS;
        }
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult impl_cuptiGetErrorMessage(CUptiResult result, const char **str)
{
    return impl_cuptiGetResultString(result, str);
}

CUptiResult impl_cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    const char *const *names =
        domain == CUPTI_CB_DOMAIN_RUNTIME_API ? fake_runtime_names : fake_driver_names;
    unsigned count =
        domain == CUPTI_CB_DOMAIN_RUNTIME_API ? fake_runtime_name_count : fake_driver_name_count;
    bool is_api = domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
    if (!is_api || cbid >= count || names[cbid] == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *name = names[cbid];
    return CUPTI_SUCCESS;
}
