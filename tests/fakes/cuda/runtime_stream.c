/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart: streams, events, captures and graphs. */
#include "runtime_inside.h"

#include <stdio.h>

static struct sim_event *event_of(cudaEvent_t event)
{
    return (struct sim_event *)(void *)event;
}

cudaError_t impl_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                              int priority)
{
    *pStream = (cudaStream_t)(void *)sim_stream_new(sim_current_device(), flags, priority);
    return cudaSuccess;
}

cudaError_t impl_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return impl_cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t impl_cudaStreamCreate(cudaStream_t *pStream)
{
    return impl_cudaStreamCreateWithPriority(pStream, 0, 0);
}

cudaError_t impl_cudaStreamDestroy(cudaStream_t stream)
{
    return as_error(sim_stream_destroy(sim_stream(stream)));
}

cudaError_t impl_cudaStreamQuery(cudaStream_t stream)
{
    return as_error(sim_stream_query(sim_stream(stream)));
}

cudaError_t impl_cudaStreamSynchronize(cudaStream_t stream)
{
    return as_error(sim_stream_synchronize(sim_stream(stream)));
}

cudaError_t impl_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    (void)flags;
    return event == NULL ? cudaErrorInvalidResourceHandle
                         : as_error(sim_stream_wait_event(sim_stream(stream), event_of(event)));
}

cudaError_t impl_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    *priority = sim_stream_priority(sim_stream(hStream));
    return cudaSuccess;
}

cudaError_t impl_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    *flags = sim_stream_flags(sim_stream(hStream));
    return cudaSuccess;
}

cudaError_t impl_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    *streamId = sim_stream_id(sim_stream(hStream));
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    *leastPriority = 0;
    *greatestPriority = -5;
    return cudaSuccess;
}

/* --- events --- */

cudaError_t impl_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    unsigned no_timing = (flags & cudaEventDisableTiming) != 0 ? SIM_NO_TIMING : 0;
    *event = (cudaEvent_t)(void *)sim_event_new(no_timing);
    return cudaSuccess;
}

cudaError_t impl_cudaEventCreate(cudaEvent_t *event)
{
    return impl_cudaEventCreateWithFlags(event, 0);
}

cudaError_t impl_cudaEventDestroy(cudaEvent_t event)
{
    return event == NULL ? cudaErrorInvalidResourceHandle
                         : as_error(sim_event_destroy(event_of(event)));
}

cudaError_t impl_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return event == NULL ? cudaErrorInvalidResourceHandle
                         : as_error(sim_event_record(event_of(event), sim_stream(stream)));
}

cudaError_t impl_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                          unsigned int flags)
{
    (void)flags;
    return impl_cudaEventRecord(event, stream);
}

cudaError_t impl_cudaEventQuery(cudaEvent_t event)
{
    return event == NULL ? cudaErrorInvalidResourceHandle
                         : as_error(sim_event_query(event_of(event)));
}

cudaError_t impl_cudaEventSynchronize(cudaEvent_t event)
{
    return event == NULL ? cudaErrorInvalidResourceHandle
                         : as_error(sim_event_synchronize(event_of(event)));
}

cudaError_t impl_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return start == NULL || end == NULL
               ? cudaErrorInvalidResourceHandle
               : as_error(sim_event_elapsed_ms(event_of(start), event_of(end), ms));
}

#if CUDART_VERSION >= 13000
cudaError_t impl_cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return impl_cudaEventElapsedTime(ms, start, end);
}
#endif

/* --- captures and graphs --- */

static struct sim_graph_exec *exec_of(cudaGraphExec_t exec)
{
    return (struct sim_graph_exec *)(void *)exec;
}

cudaError_t impl_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    return as_error(sim_capture_begin(sim_stream(stream)));
}

cudaError_t impl_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    struct sim_graph *graph;
    enum sim_result result = sim_capture_end(sim_stream(stream), &graph);
    *pGraph = (cudaGraph_t)(void *)graph;
    return as_error(result);
}

cudaError_t impl_cudaStreamIsCapturing(cudaStream_t stream,
                                       enum cudaStreamCaptureStatus *pCaptureStatus)
{
    struct sim_stream *captured = sim_stream(stream);
    *pCaptureStatus = sim_capture_of(captured) == NULL  ? cudaStreamCaptureStatusNone
                      : sim_capture_is_broken(captured) ? cudaStreamCaptureStatusInvalidated
                                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                unsigned long long *id, cudaGraph_t *graph_out)
{
    struct sim_graph *graph = sim_capture_of(sim_stream(stream));
    if (id != NULL && graph != NULL) {
        *id = sim_graph_id(graph);
    }
    if (graph_out != NULL) {
        *graph_out = (cudaGraph_t)(void *)graph;
    }
    return impl_cudaStreamIsCapturing(stream, status);
}

#if CUDART_VERSION < 13000
cudaError_t impl_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                             enum cudaStreamCaptureStatus *captureStatus_out,
                                             unsigned long long *id_out, cudaGraph_t *graph_out,
                                             const cudaGraphNode_t **dependencies_out,
                                             size_t *numDependencies_out)
{
    if (dependencies_out != NULL) {
        *dependencies_out = NULL;
    }
    if (numDependencies_out != NULL) {
        *numDependencies_out = 0;
    }
    return capture_info(stream, captureStatus_out, id_out, graph_out);
}
#else
cudaError_t impl_cudaStreamGetCaptureInfo(cudaStream_t stream,
                                          enum cudaStreamCaptureStatus *captureStatus_out,
                                          unsigned long long *id_out, cudaGraph_t *graph_out,
                                          const cudaGraphNode_t **dependencies_out,
                                          const cudaGraphEdgeData **edgeData_out,
                                          size_t *numDependencies_out)
{
    if (dependencies_out != NULL) {
        *dependencies_out = NULL;
    }
    if (edgeData_out != NULL) {
        *edgeData_out = NULL;
    }
    if (numDependencies_out != NULL) {
        *numDependencies_out = 0;
    }
    return capture_info(stream, captureStatus_out, id_out, graph_out);
}
#endif

cudaError_t impl_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static _Thread_local enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    enum cudaStreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return cudaSuccess;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    if (graph == NULL) {
        return cudaErrorInvalidValue;
    }
    *exec = (cudaGraphExec_t)(void *)sim_graph_instantiate((struct sim_graph *)(void *)graph);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
cudaError_t impl_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                      unsigned long long flags)
{
    (void)flags;
    return instantiate(pGraphExec, graph);
}
#else
cudaError_t impl_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                      cudaGraphNode_t *pErrorNode, char *pLogBuffer,
                                      size_t bufferSize)
{
    (void)pErrorNode;
    (void)pLogBuffer;
    (void)bufferSize;
    return instantiate(pGraphExec, graph);
}
#endif

cudaError_t impl_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                               unsigned long long flags)
{
    (void)flags;
    return instantiate(pGraphExec, graph);
}

cudaError_t impl_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    return graphExec == NULL ? cudaErrorInvalidValue
                             : as_error(sim_graph_launch(exec_of(graphExec), sim_stream(stream)));
}

cudaError_t impl_cudaGraphDestroy(cudaGraph_t graph)
{
    if (graph == NULL) {
        return cudaErrorInvalidValue;
    }
    sim_graph_destroy((struct sim_graph *)(void *)graph);
    return cudaSuccess;
}

cudaError_t impl_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    if (graphExec == NULL) {
        return cudaErrorInvalidValue;
    }
    sim_graph_exec_destroy(exec_of(graphExec));
    return cudaSuccess;
}

cudaError_t impl_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    const struct sim_graph *known = (const struct sim_graph *)(void *)graph;
    if (graph == NULL || numNodes == NULL) {
        return cudaErrorInvalidValue;
    }
    size_t count = sim_graph_node_count(known);
    for (size_t i = 0; nodes != NULL && i < *numNodes; i++) {
        nodes[i] = i < count ? (cudaGraphNode_t)(uintptr_t)sim_graph_node(known, i) : NULL;
    }
    *numNodes = nodes != NULL && *numNodes < count ? *numNodes : count;
    return cudaSuccess;
}
