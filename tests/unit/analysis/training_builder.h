/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the model of a training from its shape. `made` has the model and the ids of what is in it;
 * a test adds what is special to it in the shape's `more`, in any order. */
#ifndef SS_TESTS_TRAINING_BUILDER_H
#define SS_TESTS_TRAINING_BUILDER_H

#include <stdlib.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/diagnosis/rules.h"
#include "training_shape.h"

struct made {
    struct ss_model model;
    uint32_t process, thread, worker, worker_thread;
    uint32_t steps, phases, torch, modules, data, worker_data, compile, gc, save, rss, busy, own,
        limit, used, recorded;
    struct ss_selection selection;
    struct ss_step_summary summary;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
};

static inline uint32_t text_id(struct made *made, const char *text)
{
    return build_text(&made->model, text);
}

static inline uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t process,
                                 uint32_t thread, const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = process, .thread = thread,
                       .name = name);
}

static inline uint32_t add_grouped(struct made *made, uint32_t process, const char *group,
                                   const char *name)
{
    return BUILD_TRACK(&made->model, .kind = SS_TRACK_COUNTER, .process = process, .group = group,
                       .name = name);
}

static inline void add_range(struct made *made, uint32_t track, const char *name,
                             const char *category, uint64_t begin_ns, uint64_t length_ns,
                             int64_t payload)
{
    BUILD_RANGE(&made->model, .track = track, .name = name, .category = category,
                .begin_ns = begin_ns, .end_ns = begin_ns + length_ns,
                .payload = build_integer(&made->model, payload));
}

static inline void add_fact(struct made *made, const char *key, int64_t value)
{
    build_fact(&made->model, made->process, key, value);
}

static inline void add_text_fact(struct made *made, const char *text)
{
    BUILD_NOTE(&made->model, .process = made->process, .kind = "fact", .text = text, .time_ns = 1);
}

/* Ranges of a track of the trainer's main thread. */
static inline uint32_t add_main_track(struct made *made, const char *name)
{
    return add_track(made, SS_TRACK_RANGES, made->process, made->thread, name);
}

/* A process with steps, and its worker; what is added next is theirs. */
static inline void add_trainer(struct made *made, int32_t pid)
{
    struct ss_model *model = &made->model;
    made->process = BUILD_PROCESS(model, .pid = pid);
    made->worker = BUILD_PROCESS(model, .pid = pid + 1, .parent = made->process);
    made->thread = BUILD_THREAD(model, .process = made->process, .tid = pid, .is_main = true);
    made->worker_thread =
        BUILD_THREAD(model, .process = made->worker, .tid = pid + 1, .is_main = true);
    made->steps = add_track(made, SS_TRACK_STEPS, made->process, 0, "step");
    made->phases = add_track(made, SS_TRACK_PHASES, made->process, 0, "phase");
    made->torch = add_main_track(made, "torch");
    made->modules = add_main_track(made, "torch.module");
    made->data = add_main_track(made, "torch.data");
    made->worker_data =
        add_track(made, SS_TRACK_RANGES, made->worker, made->worker_thread, "torch.data");
    made->compile = add_main_track(made, "torch.compile");
    made->gc = add_main_track(made, "python.gc");
    made->save = add_main_track(made, "torch.checkpoint");
    made->recorded = add_track(made, SS_TRACK_COUNTER, made->process, 0, "operators recorded");
    made->rss = add_track(made, SS_TRACK_COUNTER, made->process, 0, "memory rss");
    made->own = add_grouped(made, made->process, "usage", "CPU");
}

/* Counters of the machine, and of the container. */
static inline void add_host(struct made *made)
{
    struct ss_model *model = &made->model;
    made->busy = add_grouped(made, 0, "CPU", "busy");
    made->limit = add_grouped(made, 0, "container", "CPU limit");
    made->used = BUILD_TRACK(model, .kind = SS_TRACK_COUNTER, .name = "CPU used");
    model->tracks.data[made->used].parent = model->tracks.data[made->limit].parent;
}

static inline uint32_t call(struct made *made, uint32_t parent, const char *file, int32_t line,
                            enum ss_code_origin origin)
{
    return BUILD_CALL(&made->model, parent, .function = line == 42 ? "forward" : "work",
                      .file = file, .line = line, .first_line = 1, .origin = origin);
}

/* Of the trainer's main thread in later steps, where the stack ends. */
static inline void add_total(struct made *made, uint32_t stack, const char *phase,
                             enum ss_thread_state state, uint64_t samples)
{
    ss_model_add_total(&made->model,
                       &(struct ss_model_total){.thread = made->thread,
                                                .stack = stack,
                                                .phase = phase != NULL ? text_id(made, phase) : 0,
                                                .step = SS_SAMPLE_LATER_STEP,
                                                .state = (uint8_t)state,
                                                .samples = samples,
                                                .records = samples});
}

/* Samples at train.py:LINE, or in what it calls there. */
static inline void add_samples(struct made *made, const char *phase, int32_t line,
                               const char *library, enum ss_thread_state state, uint64_t samples)
{
    uint32_t stack = call(made, 0, "train.py", line, SS_ORIGIN_USER);
    if (library != NULL) {
        enum ss_code_origin origin =
            strstr(library, "/site-packages/") != NULL ? SS_ORIGIN_PACKAGE : SS_ORIGIN_STDLIB;
        stack = call(made, stack, library, 7, origin);
    }
    add_total(made, stack, phase, state, samples);
}

/* Operators in no phase. */
static inline void add_operators(struct made *made, int32_t line, bool in_pass, uint64_t samples)
{
    struct ss_model_total total = {.thread = made->thread,
                                   .stack = call(made, 0, "train.py", line, SS_ORIGIN_USER),
                                   .step = SS_SAMPLE_LATER_STEP,
                                   .in_operator = SS_OPERATOR_INSIDE,
                                   .in_pass = in_pass,
                                   .state = SS_STATE_ON_CPU,
                                   .samples = samples,
                                   .records = samples};
    ss_model_add_total(&made->model, &total);
}

static inline void put_workers(struct made *made, const struct shape *shape)
{
    struct ss_model_total total = {.thread = made->worker_thread,
                                   .stack = call(made, 0, "data.py", 50, SS_ORIGIN_USER),
                                   .state = SS_STATE_SLEEPING,
                                   .samples = shape->workers_asleep,
                                   .records = shape->workers_asleep};
    ss_model_add_total(&made->model, &total);
    total.state = SS_STATE_ON_CPU;
    total.samples = total.records = shape->workers_computing;
    ss_model_add_total(&made->model, &total);
}

/* Below PyTorch's loader: collating, and, under a progress bar around it, a wait and a tensor that
 * is received. */
static inline void put_loader_samples(struct made *made, const struct shape *shape)
{
    static const char torch[] = "/site-packages/torch/utils/data/";
    char file[64];
    snprintf(file, sizeof file, "%s_utils/fetch.py", torch);
    uint32_t fetch = call(made, 0, file, 1, SS_ORIGIN_PACKAGE);
    uint32_t collate = call(made, fetch, "collate.py", 40, SS_ORIGIN_USER);
    add_total(made, collate, "data", SS_STATE_ON_CPU, shape->collates);
    uint32_t stack = call(made, 0, "train.py", 9, SS_ORIGIN_USER);
    stack = call(made, stack, "/site-packages/tqdm/std.py", 1, SS_ORIGIN_PACKAGE);
    snprintf(file, sizeof file, "%sdataloader.py", torch);
    stack = call(made, stack, file, 1, SS_ORIGIN_PACKAGE);
    add_total(made, stack, "data", SS_STATE_SLEEPING, 50);
    stack = call(made, stack, "/site-packages/torch/multiprocessing/reductions.py", 1,
                 SS_ORIGIN_PACKAGE);
    add_total(made, stack, "data", SS_STATE_SLEEPING, shape->receives);
}

static inline void put_samples(struct made *made, const struct shape *shape)
{
    static const char torch[] = "/site-packages/torch/nn/modules/linear.py";
    static const char logging[] = "/usr/lib/python3.11/logging/__init__.py";
    add_samples(made, "forward", 10, torch, SS_STATE_ON_CPU, shape->computing);
    add_samples(made, "forward", 10, torch, SS_STATE_RUNNABLE, shape->runnable);
    add_samples(made, NULL, 20, "/site-packages/numpy/random.py", SS_STATE_ON_CPU, shape->prepares);
    add_samples(made, NULL, 21, torch, SS_STATE_ON_CPU, shape->torch_other);
    add_samples(made, NULL, 22, logging, SS_STATE_ON_CPU, shape->logs);
    add_samples(made, NULL, 30, NULL, SS_STATE_ON_CPU, shape->prints);
    add_samples(made, NULL, 31, NULL, SS_STATE_ON_CPU, shape->reading);
    add_samples(made, NULL, 32, NULL, SS_STATE_ON_CPU, shape->collecting);
    add_samples(made, NULL, 38, NULL, SS_STATE_ON_CPU, shape->plain);
    add_operators(made, 40, true, shape->losses);
    add_operators(made, 42, false, shape->direct_forward);
    add_operators(made, 43, false, shape->metrics);
    add_samples(made, "forward", 10, "/site-packages/torch/fx/traceback.py", SS_STATE_ON_CPU,
                shape->tracebacks);
    add_samples(made, "checkpoint", 30, NULL, SS_STATE_SLEEPING, shape->saves);
    add_samples(made, "checkpoint", 31, NULL, SS_STATE_SLEEPING, shape->saves);
    add_samples(made, "checkpoint", 33, NULL, SS_STATE_SLEEPING, shape->writes);
    put_loader_samples(made, shape);
}

static inline void put_phase(struct made *made, const char *name, uint64_t *at_ns, uint64_t us)
{
    if (us > 0) {
        add_range(made, made->phases, name, "", *at_ns, us * US, 0);
    }
    *at_ns += us * US;
}

static inline void put_operators(struct made *made, const struct shape *shape, uint64_t at_ns,
                                 bool is_lossy)
{
    for (uint32_t i = 0; i < shape->reads / (is_lossy ? 2 : 1); i++) {
        add_range(made, made->torch, "aten::item", "operator", at_ns, shape->read_us * US, 0);
        /* Within it, and therefore not once more. */
        add_range(made, made->torch, "aten::_local_scalar_dense", "operator", at_ns, US, 0);
        at_ns += (shape->read_us + shape->between_us) * US;
    }
    add_range(made, made->torch, "Optimizer.step#SGD.step", "scope", at_ns, US, 0);
    for (uint32_t i = 0; i < shape->operators; i++) {
        add_range(made, made->torch, "aten::mm", "operator", at_ns, shape->operator_us * US, 0);
        at_ns += shape->operator_us * US + US / 2;
    }
}

/* The next one's are recorded; of this one's some were lost. */
static inline void put_recorded(struct made *made, uint64_t end_ns, bool is_lossy)
{
    if (is_lossy) {
        build_level(&made->model, made->recorded, end_ns - 1, -1);
    }
    build_level(&made->model, made->recorded, end_ns, 1);
}

/* The last one's end comes with its beginning. */
static inline void put_epoch(struct made *made, const struct shape *shape, uint64_t *at_ns)
{
    if (shape->restarts) {
        add_range(made, made->data, "next", "", *at_ns, shape->stop_us * US, 0);
        add_range(made, made->data, "stop workers", "", *at_ns, shape->stop_us * US, 0);
        *at_ns += shape->stop_us * US;
    }
    add_range(made, made->data, shape->restarts ? "start workers" : "iterate", "", *at_ns,
              shape->restart_us * US, shape->workers);
    *at_ns += shape->restart_us * US;
}

static inline void put_memory(struct made *made, const struct shape *shape, uint32_t number,
                              uint64_t at_ns)
{
    static const double noise[] = {0, 40960, -20480, 81920, 12288};
    double grown = shape->jumps ? (number > shape->steps / 2 ? shape->grow_bytes * shape->steps : 0)
                                : shape->grow_bytes * number;
    double bytes = shape->memory_bytes > 0 ? shape->memory_bytes : 3e8;
    build_level(&made->model, made->rss, at_ns, bytes + noise[number % 5] + grown);
}

/* Where the parts of a step lie. */
struct step_times {
    uint64_t begin_ns, data_ns, next_ns, forward_ns, backward_end_ns, end_ns;
    uint64_t wait_us; /* for data */
    bool begins;      /* an epoch */
};

static inline bool is_nth(uint32_t each, uint32_t number, uint32_t of_each)
{
    return each > 0 && number % each == of_each;
}

static inline void put_stall(struct made *made, const struct shape *shape, uint64_t *at_ns)
{
    if (shape->stall_phase != NULL) {
        put_phase(made, shape->stall_phase, at_ns, shape->stall_us);
    } else {
        *at_ns += shape->stall_us * US;
    }
}

static inline struct step_times put_phases(struct made *made, const struct shape *shape,
                                           uint32_t number, uint64_t begin_ns)
{
    uint64_t at_ns = begin_ns + (number == 0 ? shape->first_us * US : 0);
    struct step_times times = {.begin_ns = begin_ns,
                               .data_ns = at_ns,
                               .wait_us = shape->data_us,
                               .begins = is_nth(shape->epoch_each, number, 0)};
    if (times.begins) {
        put_epoch(made, shape, &at_ns);
        times.wait_us += shape->first_wait_us;
    }
    times.next_ns = at_ns;
    at_ns += times.wait_us * US;
    add_range(made, made->phases, "data", "", times.data_ns, at_ns - times.data_ns, 0);
    at_ns += shape->prepare_us * US;
    times.forward_ns = at_ns;
    put_phase(made,
              shape->gc_compiles           ? "compile"
              : shape->reads_phase != NULL ? shape->reads_phase
                                           : "forward",
              &at_ns,
              shape->forward_us + number * shape->drift_us +
                  (shape->jump_us > 0 && number >= shape->jump_at ? shape->jump_us : 0) +
                  (times.begins ? shape->slow_forward_us : 0));
    put_phase(made, "backward", &at_ns, shape->backward_us);
    times.backward_end_ns = at_ns;
    put_phase(made, "optimizer", &at_ns, shape->optimizer_us);
    at_ns += shape->rest_us * US;
    bool is_marked = number < 64 && (shape->stall_in >> number & 1) != 0;
    if (is_marked || is_nth(shape->stall_each, number, shape->stall_each - 1)) {
        put_stall(made, shape, &at_ns);
        if (shape->acts_us > 0) {
            put_phase(made, "inference", &at_ns, shape->acts_us);
        }
    }
    times.end_ns = at_ns;
    return times;
}

static inline void put_loading(struct made *made, const struct shape *shape, uint32_t number,
                               const struct step_times *times)
{
    if (shape->workers >= 0) {
        add_range(made, made->data, "next", "", times->next_ns, times->wait_us * US,
                  is_nth(shape->empty_each, number, 0) ? 0 : shape->ready);
    }
    if (is_nth(shape->iterators_each, number, 0)) {
        add_range(made, made->data, "iterate", "", times->data_ns, US, 0);
    }
    uint32_t batches = shape->batches > 0 ? shape->batches : 1;
    for (uint32_t i = 0; shape->fetch_us > 0 && i < batches; i++) {
        uint64_t each_ns = shape->fetch_us * US / batches;
        add_range(made, made->data, "fetch", "", times->data_ns + i * each_ns, each_ns, 16);
    }
    if (shape->fetch_us > 0) {
        add_range(made, made->data, "collate", "", times->data_ns, shape->collate_us * US, 0);
    }
    if (shape->workers > 0) {
        /* Anew, it begins when half of the wait is over. */
        uint64_t fetch_ns =
            times->begins ? times->next_ns + shape->first_wait_us * US / 2 : times->begin_ns;
        add_range(made, made->worker_data, "fetch", "", fetch_ns, shape->worker_fetch_us * US, 16);
        add_range(made, made->worker_data, "collate", "", times->begin_ns, shape->collate_us * US,
                  0);
    }
}

static inline void put_nan_checks(struct made *made, const struct shape *shape, uint64_t end_ns)
{
    if (shape->nan_checks_in_node) {
        add_range(made, made->torch, "autograd::engine::evaluate_function: AddmmBackward0",
                  "operator", end_ns - 20 * US * shape->nan_checks, 20 * US * shape->nan_checks, 0);
    }
    for (uint32_t i = 0; i < shape->nan_checks; i++) {
        add_range(made, made->torch, "aten::isnan", "operator",
                  end_ns - 20 * US * (shape->nan_checks - i), 10 * US, 0);
    }
}

static inline void put_interruptions(struct made *made, const struct shape *shape, uint32_t number,
                                     const struct step_times *times)
{
    if (is_nth(shape->compile_each, number, 0)) {
        add_range(made, made->compile, "compile", "", times->forward_ns, shape->compile_us * US, 0);
    }
    if (shape->gc_us > 0 && (shape->gc_each == 0 || number % shape->gc_each == 0)) {
        add_range(made, made->gc, "gc", "", times->forward_ns, shape->gc_us * US, 1);
    }
    if (is_nth(shape->save_each, number, shape->save_each - 1)) {
        uint64_t save_ns = shape->save_us * US, checkpoint_ns = shape->checkpoint_us * US;
        add_range(made, made->save, "torch.save", "", times->end_ns - save_ns, save_ns, 0);
        if (checkpoint_ns > 0) {
            add_range(made, made->phases, "checkpoint", "", times->end_ns - checkpoint_ns,
                      checkpoint_ns, 0);
        }
    }
}

/* Returns its end. */
static inline uint64_t put_step(struct made *made, const struct shape *shape, uint32_t number,
                                uint64_t begin_ns)
{
    struct step_times times = put_phases(made, shape, number, begin_ns);
    add_range(made, made->steps, "step", "", begin_ns, times.end_ns - begin_ns, number);
    put_memory(made, shape, number, times.end_ns);
    bool is_lossy = is_nth(shape->lossy_each, number, 0);
    if (shape->lossy_each > 0) {
        put_recorded(made, times.end_ns, is_lossy);
    }
    if (shape->operators_each == 0 || number % shape->operators_each == 0) {
        struct shape now = *shape;
        now.operators += number >= shape->jump_at ? shape->jump_operators : 0;
        put_operators(made, &now, times.forward_ns, is_lossy);
    }
    put_loading(made, shape, number, &times);
    for (uint32_t i = 0; i < shape->cells; i++) {
        add_range(made, made->modules, "rnn (LSTMCell)", "module", times.forward_ns + 1000 * US * i,
                  1000 * US, 0);
    }
    put_nan_checks(made, shape, times.backward_end_ns);
    put_interruptions(made, shape, number, &times);
    return times.end_ns;
}

static inline void put_host(struct made *made, const struct shape *shape)
{
    if (shape->cpu_limit > 0) {
        build_level(&made->model, made->limit, 0, shape->cpu_limit);
        build_level(&made->model, made->used, 0, shape->cpu_used);
    }
    if (shape->cpu_busy >= 0) {
        build_level(&made->model, made->busy, 0, shape->cpu_busy);
    }
}

static inline void put_facts(struct made *made, const struct shape *shape)
{
    add_fact(made, "torch.threads", shape->threads);
    add_fact(made, "torch.cuda", shape->cuda);
    add_fact(made, "torch.anomaly", shape->anomaly);
    if (shape->dtype != NULL) {
        add_text_fact(made, shape->dtype);
    }
    if (shape->workers >= 0) {
        add_fact(made, "dataloader.workers", shape->workers);
        add_fact(made, "dataloader.batch_size", 16);
        add_fact(made, "dataloader.batch_bytes", shape->batch_bytes);
        add_fact(made, "dataloader.batch_tensors", shape->batch_tensors);
    }
}

/* All of the trainer that was added last. */
static inline void put_training(struct made *made, const struct shape *shape)
{
    uint64_t at_ns = 1000 * US;
    for (uint32_t i = 0; i < shape->steps; i++) {
        at_ns = put_step(made, shape, i, at_ns);
    }
    if (shape->cpu_own > 0) {
        build_level(&made->model, made->own, 0, shape->cpu_own);
    }
    put_samples(made, shape);
    put_workers(made, shape);
    put_facts(made, shape);
}

static inline int values_by_track(const void *left, const void *right)
{
    const struct ss_model_value *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The model of a training of process 42. */
static inline void build_training(struct made *made, const struct shape *shape)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    add_trainer(made, 42);
    add_host(made);
    put_training(made, shape);
    put_host(made, shape);
    build_attribute(&made->model, "cpu_count", shape->cores);
    if (shape->other != NULL) {
        add_trainer(made, 142);
        put_training(made, shape->other);
    }
    if (shape->more != NULL) {
        shape->more(made, shape);
    }
    build_sort_ranges(&made->model);
    qsort(made->model.values.data, made->model.values.count, sizeof *made->model.values.data,
          values_by_track);
}

#endif
