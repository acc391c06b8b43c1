/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, copies, sets of memory and host functions. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCH_QUEUE = 1024 };
enum { COPY_LATENCY_NS = 1500, SET_LATENCY_NS = 1200, FUNCTION_BUCKETS = 4096, SCALAR_BYTES = 8 };

static struct sim_function *functions[FUNCTION_BUCKETS];

static size_t hash_of(const char *text)
{
    size_t hash = 14695981039346656037u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash % FUNCTION_BUCKETS;
}

struct sim_function *sim_function_named(const char *name)
{
    struct sim_function **bucket = &functions[hash_of(name)];
    pthread_mutex_lock(&sim_lock);
    struct sim_function *function = *bucket;
    while (function != NULL && strcmp(function->name, name) != 0) {
        function = function->next;
    }
    if (function == NULL) {
        function = calloc(1, sizeof *function);
        if (function == NULL || (function->name = strdup(name)) == NULL) {
            abort();
        }
        function->duration_ns = sim_duration_ns(name);
        function->known = sim_known_kernel(name);
        function->has_duration = sim_has_duration(name);
        function->next = *bucket;
        *bucket = function;
    }
    pthread_mutex_unlock(&sim_lock);
    return function;
}

/* By the host's addresses, of which a program has many thousands. */
static struct registered {
    const void *host;
    struct sim_function *function;
    struct registered *next;
} * registered[FUNCTION_BUCKETS];

static struct registered **bucket_of(const void *host)
{
    return &registered[(uintptr_t)host / 16 % FUNCTION_BUCKETS];
}

void sim_register_kernel(const void *host, const char *name)
{
    struct registered *new = calloc(1, sizeof *new);
    if (new == NULL) {
        abort();
    }
    new->host = host;
    new->function = sim_function_named(name);
    pthread_mutex_lock(&sim_lock);
    new->next = *bucket_of(host);
    *bucket_of(host) = new;
    pthread_mutex_unlock(&sim_lock);
}

struct sim_function *sim_kernel_at(const void *host)
{
    pthread_mutex_lock(&sim_lock);
    struct registered *one = *bucket_of(host);
    while (one != NULL && one->host != host) {
        one = one->next;
    }
    pthread_mutex_unlock(&sim_lock);
    return one != NULL ? one->function : NULL;
}

const char *sim_kernel_name(const struct sim_call *call)
{
    const struct sim_function *function = call->kernel;
    if (function != NULL && call->domain == SIM_RUNTIME) {
        function = sim_kernel_at(call->kernel);
    }
    return function != NULL ? function->name : NULL;
}

static uint64_t at_rate(uint64_t bytes, uint64_t mb_s)
{
    return (uint64_t)((double)bytes * 1e3 / (double)mb_s);
}

static uint64_t copy_rate(const struct sim_copy *copy)
{
    const struct sim_settings *settings = sim_settings();
    bool is_pageable = copy->from_kind == SIM_PAGEABLE || copy->to_kind == SIM_PAGEABLE;
    switch (copy->kind) {
    case SIM_D2D:
        return settings->device_mb_s;
    case SIM_P2P:
        return settings->peer_mb_s;
    default:
        return is_pageable ? settings->pageable_mb_s : settings->pinned_mb_s;
    }
}

static uint64_t kernel_duration(const struct sim_kernel *kernel)
{
    const struct sim_function *function = kernel->function;
    return function->known != NULL && !function->has_duration ? function->known->duration_ns(kernel)
                                                              : function->duration_ns;
}

uint64_t sim_work_duration(const struct sim_work *work)
{
    switch (work->kind) {
    case SIM_KERNEL:
        return kernel_duration(&work->kernel);
    case SIM_COPY:
        return COPY_LATENCY_NS +
               at_rate(work->copy.width * work->copy.height, copy_rate(&work->copy));
    case SIM_SET:
        return SET_LATENCY_NS +
               at_rate(work->set.width * work->set.height, sim_settings()->device_mb_s);
    default:
        return 0;
    }
}

/* With the lock: the end of the launch that must be over before this one's call returns. */
static uint64_t enter_launch_queue(struct sim_device *device, const struct sim_work *work)
{
    if (device->queue_ends_ns == NULL) {
        device->queue_ends_ns = calloc(LAUNCH_QUEUE, sizeof device->queue_ends_ns[0]);
        if (device->queue_ends_ns == NULL) {
            abort();
        }
    }
    uint64_t *place = &device->queue_ends_ns[device->queue_at++ % LAUNCH_QUEUE], before_ns = *place;
    *place = work->end_ns;
    return before_ns;
}

/* Puts the work on the stream, or into the graph that it is captured into; *end_ns: of the work. */
static enum sim_result place(struct sim_stream *stream, struct sim_work *work, uint64_t *end_ns)
{
    enum sim_result result = SIM_OK;
    uint64_t wait_ns = 0;
    struct sim_graph_change change = {.event = SIM_NODE_MADE, .node_kind = work->kind};
    sim_use_device(stream->device);
    pthread_mutex_lock(&sim_lock);
    *end_ns = 0;
    if (stream->is_destroyed) {
        result = SIM_INVALID_HANDLE;
    } else if (stream->capture != NULL) {
        sim_describe(stream, work);
        change.graph = stream->capture->graph;
        change.node = sim_capture_work(stream, work);
    } else {
        sim_submit(stream, work, sim_work_duration(work));
        *end_ns = work->end_ns;
        wait_ns = enter_launch_queue(stream->device, work);
    }
    pthread_mutex_unlock(&sim_lock);
    if (change.node != 0) {
        sim_publish_graph(&change);
    }
    if (wait_ns > sim_now_ns()) {
        sim_wait_until(wait_ns);
    }
    return result;
}

enum sim_result sim_launch(struct sim_stream *stream, const struct sim_kernel *kernel)
{
    uint64_t end_ns;
    struct sim_work work = {.kind = SIM_KERNEL, .kernel = *kernel};
    for (int i = 0; i < 3; i++) {
        if (kernel->grid[i] == 0 || kernel->block[i] == 0) {
            return SIM_INVALID_VALUE;
        }
    }
    if ((uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2] > 1024) {
        return SIM_INVALID_VALUE;
    }
    return place(stream, &work, &end_ns);
}

static bool is_on_device(enum sim_memory_kind kind)
{
    return kind == SIM_ON_DEVICE || kind == SIM_MANAGED;
}

static void describe_copy(struct sim_copy *copy)
{
    struct sim_range from = sim_range_of(copy->from), to = sim_range_of(copy->to);
    bool is_from = is_on_device(from.kind), is_to = is_on_device(to.kind);
    copy->from_kind = from.kind;
    copy->to_kind = to.kind;
    copy->from_device = from.device;
    copy->to_device = to.device;
    if (is_from && is_to) {
        copy->kind = from.device == to.device ? SIM_D2D : SIM_P2P;
    } else {
        copy->kind = is_from ? SIM_D2H : is_to ? SIM_H2D : SIM_H2H;
    }
}

static void copy_rows(void *to, uint64_t to_pitch, const void *from, uint64_t from_pitch,
                      uint64_t width, uint64_t height)
{
    if (to_pitch == width && from_pitch == width) {
        memmove(to, from, width * height);
        return;
    }
    for (uint64_t row = 0; row < height; row++) {
        memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    }
}

/* Pageable memory is read before the call returns. */
static bool stage(struct sim_copy *copy)
{
    copy->staged = malloc(copy->width * copy->height);
    if (copy->staged == NULL) {
        return false;
    }
    copy_rows(copy->staged, copy->width, copy->from, copy->from_pitch, copy->width, copy->height);
    copy->from = copy->staged;
    copy->from_pitch = copy->width;
    return true;
}

enum sim_result sim_copy(struct sim_stream *stream, struct sim_copy *copy)
{
    uint64_t end_ns;
    if (copy->width == 0 || copy->height == 0) {
        return SIM_OK;
    }
    if (copy->from == NULL || copy->to == NULL) {
        return SIM_INVALID_VALUE;
    }
    describe_copy(copy);
    struct sim_work work = {.kind = SIM_COPY, .copy = *copy};
    bool is_captured = stream->capture != NULL;
    if (copy->kind == SIM_H2D && copy->from_kind == SIM_PAGEABLE && copy->is_async &&
        !is_captured && !stage(&work.copy)) {
        return SIM_OUT_OF_MEMORY;
    }
    enum sim_result result = place(stream, &work, &end_ns);
    bool to_pageable = copy->kind == SIM_D2H && copy->to_kind == SIM_PAGEABLE;
    if (result == SIM_OK && !is_captured && (!copy->is_async || to_pageable)) {
        pthread_mutex_lock(&sim_lock);
        sim_settle(stream);
        end_ns = end_ns != 0 ? end_ns : stream->ready_ns;
        pthread_mutex_unlock(&sim_lock);
        sim_wait_until(end_ns);
    }
    return result;
}

enum sim_result sim_set(struct sim_stream *stream, struct sim_set *set)
{
    uint64_t end_ns;
    if (set->width == 0 || set->height == 0) {
        return SIM_OK;
    }
    if (set->to == NULL) {
        return SIM_INVALID_VALUE;
    }
    set->to_kind = sim_range_of(set->to).kind;
    struct sim_work work = {.kind = SIM_SET, .set = *set};
    return place(stream, &work, &end_ns);
}

enum sim_result sim_call_host(struct sim_stream *stream, void (*function)(void *), void *argument)
{
    uint64_t end_ns;
    struct sim_work work = {.kind = SIM_HOST_CALL, .host = {function, argument}};
    return place(stream, &work, &end_ns);
}

static void set_rows(const struct sim_set *set)
{
    for (uint64_t row = 0; row < set->height; row++) {
        char *to = (char *)set->to + row * set->pitch;
        if (set->element == 1) {
            memset(to, (int)set->value, set->width);
            continue;
        }
        for (uint64_t at = 0; at + set->element <= set->width; at += set->element) {
            memcpy(to + at, &set->value, set->element);
        }
    }
}

void sim_run_effect(struct sim_work *work)
{
    switch (work->kind) {
    case SIM_KERNEL:
        work->kernel.function->known->effect(work);
        break;
    case SIM_COPY:
        copy_rows(work->copy.to, work->copy.to_pitch, work->copy.from, work->copy.from_pitch,
                  work->copy.width, work->copy.height);
        if (sim_settings()->zero_scalars && work->copy.kind == SIM_D2H && work->copy.height == 1 &&
            work->copy.width <= SCALAR_BYTES) {
            memset(work->copy.to, 0, work->copy.width);
        }
        free(work->copy.staged);
        break;
    case SIM_SET:
        set_rows(&work->set);
        break;
    case SIM_HOST_CALL:
        work->host.function(work->host.argument);
        break;
    default:
        break;
    }
}
