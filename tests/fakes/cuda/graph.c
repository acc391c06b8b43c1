/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: work captured from streams with what it waits for, launched as a whole. */
#include "inside.h"

#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct sim_work work;
    struct sim_tips waits_for;
    uint64_t id, end_ns;
};

struct sim_graph {
    uint32_t id, origin; /* the number of the stream whose capture made it */
    struct node *nodes;  /* each after those that it waits for */
    size_t count, capacity;
};

struct sim_graph_exec {
    struct sim_graph graph; /* a copy, with ids of its own */
};

enum { NODE_GAP_NS = 1000 };

static atomic_uint next_graph_id = 1;
static atomic_ulong next_node_id = 1;

void sim_publish_graph(const struct sim_graph_change *change)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->graph_changed != NULL) {
        tracer->graph_changed(change);
    }
}

static void add_node(struct sim_graph *graph, const struct node *node)
{
    if (graph->count == graph->capacity) {
        graph->capacity = graph->capacity == 0 ? 64 : 2 * graph->capacity;
        graph->nodes = realloc(graph->nodes, graph->capacity * sizeof graph->nodes[0]);
        if (graph->nodes == NULL) {
            abort();
        }
    }
    graph->nodes[graph->count++] = *node;
}

uint64_t sim_capture_work(struct sim_stream *stream, const struct sim_work *work)
{
    struct sim_graph *graph = stream->capture->graph;
    struct node node = {
        .work = *work, .waits_for = stream->tips, .id = atomic_fetch_add(&next_node_id, 1)};
    add_node(graph, &node);
    stream->tips = (struct sim_tips){{(uint32_t)(graph->count - 1)}, 1};
    return node.id;
}

enum sim_result sim_capture_begin(struct sim_stream *stream)
{
    struct sim_capture *capture = calloc(1, sizeof *capture);
    struct sim_graph *graph = calloc(1, sizeof *graph);
    if (capture == NULL || graph == NULL) {
        abort();
    }
    pthread_mutex_lock(&sim_lock);
    enum sim_result result =
        stream->capture != NULL || stream->is_null ? SIM_CAPTURE_UNSUPPORTED : SIM_OK;
    if (result == SIM_OK) {
        graph->id = atomic_fetch_add(&next_graph_id, 1);
        graph->origin = stream->id;
        *capture = (struct sim_capture){graph, stream, false, false};
        stream->capture = capture;
        stream->tips.count = 0;
    }
    pthread_mutex_unlock(&sim_lock);
    if (result != SIM_OK) {
        free(capture);
        free(graph);
    } else {
        sim_publish_graph(&(struct sim_graph_change){.event = SIM_GRAPH_MADE, .graph = graph});
    }
    return result;
}

/* Whether another stream of the capture has work that the origin does not wait for. */
static bool has_unjoined_work(const struct sim_capture *capture)
{
    const struct sim_graph *graph = capture->graph;
    bool *is_reached = calloc(graph->count + 1, sizeof *is_reached), is_unjoined = false;
    if (is_reached == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < capture->origin->tips.count; i++) {
        is_reached[capture->origin->tips.nodes[i]] = true;
    }
    for (size_t i = graph->count; i-- > 0;) {
        is_unjoined = is_unjoined || !is_reached[i];
        for (uint32_t j = 0; is_reached[i] && j < graph->nodes[i].waits_for.count; j++) {
            is_reached[graph->nodes[i].waits_for.nodes[j]] = true;
        }
    }
    free(is_reached);
    return is_unjoined;
}

static void leave_capture(const struct sim_capture *capture)
{
    for (unsigned i = 0; sim_device(i) != NULL; i++) {
        for (struct sim_stream *stream = sim_device(i)->streams; stream != NULL;
             stream = stream->next) {
            if (stream->capture == capture) {
                stream->capture = NULL;
                stream->tips.count = 0;
            }
        }
    }
}

enum sim_result sim_capture_end(struct sim_stream *stream, struct sim_graph **graph)
{
    enum sim_result result = SIM_OK;
    *graph = NULL;
    pthread_mutex_lock(&sim_lock);
    struct sim_capture *capture = stream->capture;
    if (capture == NULL || capture->origin != stream) {
        pthread_mutex_unlock(&sim_lock);
        return SIM_CAPTURE_UNMATCHED;
    }
    if (capture->is_broken) {
        result = SIM_CAPTURE_INVALIDATED;
    } else if (has_unjoined_work(capture)) {
        result = SIM_CAPTURE_UNJOINED;
    } else {
        *graph = capture->graph;
    }
    capture->is_over = true; /* events may still refer to it */
    leave_capture(capture);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

struct sim_graph *sim_capture_of(const struct sim_stream *stream)
{
    return stream->capture != NULL ? stream->capture->graph : NULL;
}

bool sim_capture_is_broken(const struct sim_stream *stream)
{
    return stream->capture != NULL && stream->capture->is_broken;
}

uint32_t sim_graph_id(const struct sim_graph *graph)
{
    return graph->id;
}

size_t sim_graph_node_count(const struct sim_graph *graph)
{
    return graph->count;
}

uint64_t sim_graph_node(const struct sim_graph *graph, size_t index)
{
    return graph->nodes[index].id;
}

void sim_graph_destroy(struct sim_graph *graph)
{
    sim_publish_graph(&(struct sim_graph_change){.event = SIM_GRAPH_ENDS, .graph = graph});
    free(graph->nodes);
    free(graph);
}

struct sim_graph_exec *sim_graph_instantiate(struct sim_graph *graph)
{
    struct sim_graph_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL) {
        abort();
    }
    exec->graph.origin = graph->origin;
    exec->graph.id = atomic_fetch_add(&next_graph_id, 1);
    for (size_t i = 0; i < graph->count; i++) {
        struct node node = graph->nodes[i];
        node.id = atomic_fetch_add(&next_node_id, 1);
        add_node(&exec->graph, &node);
        sim_publish_graph(&(struct sim_graph_change){.event = SIM_NODE_CLONED,
                                                     .graph = &exec->graph,
                                                     .original_graph = graph,
                                                     .node = node.id,
                                                     .original_node = graph->nodes[i].id,
                                                     .node_kind = node.work.kind});
    }
    sim_publish_graph(
        &(struct sim_graph_change){.event = SIM_EXEC_MADE, .graph = graph, .exec = exec});
    return exec;
}

uint32_t sim_graph_exec_id(const struct sim_graph_exec *exec)
{
    return exec->graph.id;
}

void sim_graph_exec_destroy(struct sim_graph_exec *exec)
{
    sim_publish_graph(&(struct sim_graph_change){.event = SIM_EXEC_ENDS, .exec = exec});
    free(exec->graph.nodes);
    free(exec);
}

/* Each node starts after those that it waits for; queues them, and the launch as a whole. */
static void run_nodes(struct sim_graph_exec *exec, struct sim_stream *stream,
                      struct sim_work *launch)
{
    struct sim_graph *graph = &exec->graph;
    launch->end_ns = launch->start_ns;
    for (size_t i = 0; i < graph->count; i++) {
        struct node *node = &graph->nodes[i];
        struct sim_work work = node->work;
        uint64_t start_ns = launch->start_ns;
        for (uint32_t j = 0; j < node->waits_for.count; j++) {
            uint64_t end_ns = graph->nodes[node->waits_for.nodes[j]].end_ns + NODE_GAP_NS;
            start_ns = end_ns > start_ns ? end_ns : start_ns;
        }
        uint32_t captured_stream = work.stream;
        sim_describe(stream, &work);
        work.stream = captured_stream == graph->origin ? stream->id : captured_stream;
        work.start_ns = start_ns;
        work.end_ns = node->end_ns = start_ns + sim_work_duration(&work);
        work.graph_node = node->id;
        work.graph = graph->id;
        sim_queue(&work);
        launch->end_ns = work.end_ns > launch->end_ns ? work.end_ns : launch->end_ns;
    }
}

enum sim_result sim_graph_launch(struct sim_graph_exec *exec, struct sim_stream *stream)
{
    struct sim_work launch = {.kind = SIM_GRAPH_LAUNCH, .graph = exec->graph.id};
    sim_use_device(stream->device);
    pthread_mutex_lock(&sim_lock);
    sim_settle(stream);
    sim_describe(stream, &launch);
    launch.start_ns = sim_earliest_start(stream, launch.queued_ns);
    run_nodes(exec, stream, &launch);
    stream->ready_ns = launch.end_ns;
    sim_queue(&launch);
    pthread_mutex_unlock(&sim_lock);
    return SIM_OK;
}
