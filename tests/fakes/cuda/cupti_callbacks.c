/* SPDX-License-Identifier: Apache-2.0 */
/* The one subscriber, its callbacks, and what the tracer does with each event of the simulation. */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <stdio.h>
#include <string.h>

enum { DOMAIN_COUNT = CUPTI_CB_DOMAIN_SIZE, EXTERNAL_KINDS = 8, EXTERNAL_DEPTH = 64 };

static struct {
    CUpti_CallbackFunc callback; /* NULL without a subscriber */
    void *user;
    bool is_enabled[DOMAIN_COUNT][MOST_CBIDS];
} subscriber;

static _Thread_local struct {
    uint64_t ids[EXTERNAL_KINDS][EXTERNAL_DEPTH];
    unsigned depth[EXTERNAL_KINDS];
} external;

struct cupti_state cupti = {
    .per_thread = 1, .device_buffer_bytes = 3200000, .device_buffer_limit = 250, .preallocated = 3};

static bool is_subscribed(CUpti_CallbackDomain domain, uint32_t cbid)
{
    return subscriber.callback != NULL && cbid < MOST_CBIDS && subscriber.is_enabled[domain][cbid];
}

static void call_subscriber(struct sim_call *call, CUpti_ApiCallbackSite site)
{
    CUpti_CallbackFunc callback = subscriber.callback;
    struct sim_device *device = sim_current_device();
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionName = call->name,
                               .functionParams = call->params,
                               .functionReturnValue = call->result,
                               .symbolName = sim_kernel_name(call),
                               .context = device->used ? (CUcontext)(void *)device : NULL,
                               .contextUid = device->used ? device->context : 0,
                               .correlationData = &call->user,
                               .correlationId = call->correlation};
    if (callback != NULL) {
        callback(subscriber.user, (CUpti_CallbackDomain)call->domain, call->cbid, &data);
    }
}

static bool is_recorded(const struct sim_call *call)
{
    unsigned kind =
        call->domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    return cupti.is_enabled[kind] && call->outer == NULL && call->cbid < MOST_CBIDS &&
           !cupti.is_muted[call->domain][call->cbid];
}

/* Before the records of what the call does. */
static void write_external(uint32_t correlation)
{
    for (unsigned kind = 0; kind < EXTERNAL_KINDS; kind++) {
        unsigned depth = external.depth[kind];
        if (depth == 0) {
            continue;
        }
        CUpti_ActivityExternalCorrelation record = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .externalKind = (CUpti_ExternalCorrelationKind)kind,
            .externalId = external.ids[kind][depth - 1],
            .correlationId = correlation};
        cupti_write(cupti_own_slot(), &record, sizeof record);
    }
}

static void call_begun(struct sim_call *call)
{
    if (is_subscribed((CUpti_CallbackDomain)call->domain, call->cbid)) {
        call_subscriber(call, CUPTI_API_ENTER);
    }
    if (cupti.is_enabled[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] && call->outer == NULL) {
        write_external(call->correlation);
    }
    if (is_recorded(call)) {
        call->start_ns = sim_now_ns();
    }
}

static void call_ended(struct sim_call *call, int result)
{
    if (call->start_ns != 0 && is_recorded(call)) {
        call->end_ns = sim_now_ns();
        cupti_write_call(call, result);
    }
    if (is_subscribed((CUpti_CallbackDomain)call->domain, call->cbid)) {
        call_subscriber(call, CUPTI_API_EXIT);
    }
}

static void publish_resource(CUpti_CallbackIdResource cbid, const struct sim_device *device,
                             const struct sim_stream *stream)
{
    if (is_subscribed(CUPTI_CB_DOMAIN_RESOURCE, (uint32_t)cbid)) {
        CUpti_ResourceData data = {.context = (CUcontext)(uintptr_t)device,
                                   .resourceHandle = {(CUstream)(uintptr_t)stream}};
        subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)cbid,
                            &data);
    }
}

static void context_made(const struct sim_device *device)
{
    if (cupti.is_enabled[CUPTI_ACTIVITY_KIND_CONTEXT]) {
        cupti_write_context(device);
    }
    publish_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, device, NULL);
}

static void stream_made(const struct sim_stream *stream, bool destroyed)
{
    if (cupti.is_enabled[CUPTI_ACTIVITY_KIND_STREAM] && !destroyed) {
        cupti_write_stream(stream);
    }
    publish_resource(destroyed ? CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING
                               : CUPTI_CBID_RESOURCE_STREAM_CREATED,
                     sim_stream_device(stream), stream);
}

static void waited(const struct sim_wait *wait)
{
    cupti_write_wait(wait);
    CUpti_CallbackIdSync cbid =
        wait->kind == SIM_WAIT_STREAM    ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
        : wait->kind == SIM_WAIT_CONTEXT ? CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED
                                         : CUPTI_CBID_SYNCHRONIZE_INVALID;
    if (is_subscribed(CUPTI_CB_DOMAIN_SYNCHRONIZE, (uint32_t)cbid)) {
        CUpti_SynchronizeData data = {.context = (CUcontext)(void *)sim_device(wait->context - 1)};
        subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_SYNCHRONIZE, (CUpti_CallbackId)cbid,
                            &data);
    }
}

static CUgraphNodeType type_of(enum sim_kind kind)
{
    switch (kind) {
    case SIM_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case SIM_SET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case SIM_HOST_CALL:
        return CU_GRAPH_NODE_TYPE_HOST;
    default:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    }
}

static void graph_changed(const struct sim_graph_change *change)
{
    static const CUpti_CallbackIdResource cbids[] = {
        [SIM_GRAPH_MADE] = CUPTI_CBID_RESOURCE_GRAPH_CREATED,
        [SIM_GRAPH_ENDS] = CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
        [SIM_NODE_MADE] = CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        [SIM_NODE_CLONED] = CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
        [SIM_EXEC_MADE] = CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
        [SIM_EXEC_ENDS] = CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
    };
    CUpti_CallbackIdResource cbid = cbids[change->event];
    CUpti_GraphData graph = {.graph = (CUgraph)(uintptr_t)change->graph,
                             .originalGraph = (CUgraph)(uintptr_t)change->original_graph,
                             .node = (CUgraphNode)(uintptr_t)change->node,
                             .originalNode = (CUgraphNode)(uintptr_t)change->original_node,
                             .nodeType = type_of(change->node_kind),
                             .graphExec = (CUgraphExec)(uintptr_t)change->exec};
    if (is_subscribed(CUPTI_CB_DOMAIN_RESOURCE, (uint32_t)cbid)) {
        CUpti_ResourceData data = {.context = (CUcontext)(void *)sim_current_device(),
                                   .resourceDescriptor = &graph};
        subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)cbid,
                            &data);
    }
}

static void tick(uint64_t now_ns)
{
    (void)now_ns;
    cupti_deliver(false);
}

static void work_done(const struct sim_work *work)
{
    cupti_count_work(work);
    cupti_write_work(work);
}

const struct sim_tracer cupti_tracer = {
    .call_begun = call_begun,
    .call_ended = call_ended,
    .work_done = work_done,
    .work_queued = cupti_sample_work,
    .waited = waited,
    .event_recorded = cupti_write_event,
    .memory_changed = cupti_write_allocation,
    .pool_changed = cupti_write_pool,
    .compiled = cupti_write_compilation,
    .context_made = context_made,
    .stream_made = stream_made,
    .graph_changed = graph_changed,
    .tick = tick,
};

CUptiResult cupti_begin(void)
{
    if (sim_has_fault(SIM_NO_DRIVER)) {
        return CUPTI_ERROR_UNKNOWN;
    }
    sim_set_tracer(&cupti_tracer);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                void *userdata)
{
    if (handle == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    CUptiResult result = cupti_begin();
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&cupti_lock);
    if (subscriber.callback != NULL || sim_has_fault(SIM_BUSY_OWNER)) {
        result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    } else {
        memset(subscriber.is_enabled, 0, sizeof subscriber.is_enabled);
        subscriber.user = userdata;
        subscriber.callback = callback;
        *handle = (CUpti_SubscriberHandle)(void *)&subscriber;
    }
    pthread_mutex_unlock(&cupti_lock);
    return result;
}

#if CUPTI_API_VERSION >= 130000
/* Names the owner, which is what it adds. */
CUptiResult impl_cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                   void *userdata, CUpti_SubscriberParams *pParams)
{
    static char owner[256];
    CUptiResult result = impl_cuptiSubscribe(handle, callback, userdata);
    bool has_names = pParams != NULL && pParams->structSize >= CUpti_SubscriberParams_STRUCT_SIZE;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && has_names &&
        pParams->oldSubscriberName != NULL) {
        snprintf(pParams->oldSubscriberName, pParams->oldSubscriberSize, "%s",
                 sim_has_fault(SIM_BUSY_OWNER) ? "Nsight Systems" : owner);
    }
    if (result == CUPTI_SUCCESS) {
        bool is_named = has_names && pParams->subscriberName != NULL;
        snprintf(owner, sizeof owner, "CUPTI for %s",
                 is_named ? pParams->subscriberName : "a client");
    }
    return result;
}
#endif

static bool is_subscriber(CUpti_SubscriberHandle handle)
{
    return handle == (CUpti_SubscriberHandle)(void *)&subscriber && subscriber.callback != NULL;
}

CUptiResult impl_cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!is_subscriber(handle)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    subscriber.callback = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!is_subscriber(handle) || (unsigned)domain >= DOMAIN_COUNT || cbid >= MOST_CBIDS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    subscriber.is_enabled[domain][cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (enable == NULL || !is_subscriber(handle) || (unsigned)domain >= DOMAIN_COUNT ||
        cbid >= MOST_CBIDS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *enable = subscriber.is_enabled[domain][cbid];
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                   CUpti_CallbackDomain domain)
{
    if (!is_subscriber(handle) || (unsigned)domain >= DOMAIN_COUNT) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    for (uint32_t cbid = 1; cbid < MOST_CBIDS; cbid++) {
        subscriber.is_enabled[domain][cbid] = enable != 0;
    }
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    CUptiResult result = is_subscriber(handle) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    for (int domain = 1; domain < DOMAIN_COUNT && result == CUPTI_SUCCESS; domain++) {
        result = impl_cuptiEnableDomain(enable, handle, (CUpti_CallbackDomain)domain);
    }
    return result;
}

CUptiResult impl_cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                        uint64_t id)
{
    if ((unsigned)kind >= EXTERNAL_KINDS || external.depth[kind] == EXTERNAL_DEPTH) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    external.ids[kind][external.depth[kind]++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                       uint64_t *lastId)
{
    if ((unsigned)kind >= EXTERNAL_KINDS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (external.depth[kind] == 0) {
        return CUPTI_ERROR_QUEUE_EMPTY;
    }
    uint64_t id = external.ids[kind][--external.depth[kind]];
    if (lastId != NULL) {
        *lastId = id;
    }
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiFinalize(void)
{
    sim_keep_done_work(false);
    memset(cupti.is_enabled, 0, sizeof cupti.is_enabled);
    subscriber.callback = NULL;
    return CUPTI_SUCCESS;
}
