/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule on a training in which only it has a finding, and on one just below its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/rules.h"

#define US UINT64_C(1000)

/* A training of steady-state steps. Times are in µs. */
struct shape {
    uint32_t steps;
    uint64_t first_us; /* of the first step, more than of the others */
    uint64_t drift_us; /* each step's forward is so much longer than that of the one before */
    /* A step, in this order: data, preparing in no phase, forward, backward, optimizer, the rest
     * in no phase. */
    uint64_t data_us, prepare_us, forward_us, backward_us, optimizer_us, rest_us;
    int64_t workers, threads, cores, cuda;
    int64_t batch_bytes;
    double cpu_busy;            /* percent of one core; < 0: not recorded */
    double cpu_own;             /* the same, of the process itself; 0: not recorded */
    double cpu_limit, cpu_used; /* of its container; 0: none */
    uint64_t fetch_us, collate_us;
    uint32_t batches;         /* of a step; 0: one */
    uint32_t iterators_each;  /* steps; 0: none is made */
    uint64_t worker_fetch_us; /* a worker fetches for this long, each step of the trainer */
    int64_t ready;
    uint32_t empty_each; /* of the steps, the others find as many as said; 0: all do */
    uint32_t operators;
    uint32_t operators_each; /* recorded in one of so many steps; 0: in each */
    uint64_t operator_us;
    uint32_t reads;
    const char *reads_phase; /* of the step's middle; NULL: forward */
    uint64_t read_us, between_us;
    uint32_t lossy_each;   /* steps, of which half of the reads are lost, as the counter says */
    uint32_t compile_each; /* steps; 0: never */
    uint64_t compile_us;
    uint64_t gc_us;
    bool gc_compiles; /* in a phase of compiling */
    uint32_t save_each;
    uint64_t save_us, checkpoint_us; /* torch.save, and the phase around it */
    double grow_bytes;               /* per step, with some noise */
    bool jumps;                      /* all of it at once */
    /* Samples of later steps. */
    uint32_t epoch_each; /* steps; 0: there is one epoch */
    bool restarts;       /* the workers are of one epoch each */
    uint64_t restart_us, stop_us, first_wait_us, slow_forward_us; /* of its first step */
    uint32_t stall_each;                                          /* steps; 0: never */
    uint64_t stall_us;
    const char *stall_phase;                    /* NULL: in none */
    uint64_t workers_asleep, workers_computing; /* samples */
    int64_t anomaly;
    uint64_t tracebacks; /* samples */
    uint32_t nan_checks; /* of a backward; 10 µs each */
    bool nan_checks_in_node;
    const char *dtype;      /* NULL: unknown */
    uint32_t cells;         /* calls in a forward; 1 ms each */
    uint64_t losses, plain; /* operators between forward and backward; Python in no phase */
    uint64_t direct_forward,
        metrics; /* operators in no phase: of a forward(), of another function */
    uint64_t computing, runnable, prepares, torch_other, logs, prints, reading, collates, saves;
};

/* 100 ms, mostly operators: nothing to say of it. */
static const struct shape clean = {.steps = 40,
                                   .data_us = 1000,
                                   .prepare_us = 1000,
                                   .forward_us = 30000,
                                   .backward_us = 50000,
                                   .optimizer_us = 15000,
                                   .rest_us = 3000,
                                   .workers = 2,
                                   .threads = 2,
                                   .cores = 8,
                                   .cpu_busy = 300,
                                   .worker_fetch_us = 40000,
                                   .ready = 3,
                                   .operators = 90,
                                   .operator_us = 1000,
                                   .computing = 400};

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

static uint32_t text_id(struct made *made, const char *text)
{
    return build_text(&made->model, text);
}

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t process,
                          uint32_t thread, const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = process, .thread = thread,
                       .name = name);
}

static uint32_t add_grouped(struct made *made, uint32_t process, const char *group,
                            const char *name)
{
    return BUILD_TRACK(&made->model, .kind = SS_TRACK_COUNTER, .process = process, .group = group,
                       .name = name);
}

static void add_range(struct made *made, uint32_t track, const char *name, const char *category,
                      uint64_t begin_ns, uint64_t length_ns, int64_t payload)
{
    BUILD_RANGE(&made->model, .track = track, .name = name, .category = category,
                .begin_ns = begin_ns, .end_ns = begin_ns + length_ns,
                .payload = build_integer(&made->model, payload));
}

static void add_fact(struct made *made, const char *key, int64_t value)
{
    build_fact(&made->model, made->process, key, value);
}

static void add_text_fact(struct made *made, const char *text)
{
    BUILD_NOTE(&made->model, .process = made->process, .kind = "fact", .text = text, .time_ns = 1);
}

static void begin(struct made *made)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    struct ss_model *model = &made->model;
    made->process = BUILD_PROCESS(model, .pid = 42);
    made->worker = BUILD_PROCESS(model, .pid = 43, .parent = made->process);
    made->thread = BUILD_THREAD(model, .process = made->process, .tid = 42, .is_main = true);
    made->worker_thread = BUILD_THREAD(model, .process = made->worker, .tid = 43, .is_main = true);
    made->steps = add_track(made, SS_TRACK_STEPS, made->process, 0, "step");
    made->phases = add_track(made, SS_TRACK_PHASES, made->process, 0, "phase");
    made->torch = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "torch");
    made->modules = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "torch.module");
    made->data = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "torch.data");
    made->worker_data =
        add_track(made, SS_TRACK_RANGES, made->worker, made->worker_thread, "torch.data");
    made->compile = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "torch.compile");
    made->gc = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "python.gc");
    made->save = add_track(made, SS_TRACK_RANGES, made->process, made->thread, "torch.checkpoint");
    made->recorded = add_track(made, SS_TRACK_COUNTER, made->process, 0, "operators recorded");
    made->rss = add_track(made, SS_TRACK_COUNTER, made->process, 0, "memory rss");
    made->busy = add_grouped(made, 0, "CPU", "busy");
    made->own = add_grouped(made, made->process, "usage", "CPU");
    made->limit = add_grouped(made, 0, "container", "CPU limit");
    made->used = BUILD_TRACK(model, .kind = SS_TRACK_COUNTER, .name = "CPU used");
    model->tracks.data[made->used].parent = model->tracks.data[made->limit].parent;
}

static uint32_t call(struct made *made, uint32_t parent, const char *file, int32_t line,
                     enum ss_code_origin origin)
{
    return BUILD_CALL(&made->model, parent, .function = line == 42 ? "forward" : "work",
                      .file = file, .line = line, .first_line = 1, .origin = origin);
}

/* Samples at train.py:LINE, or in what it calls there. */
static void add_samples(struct made *made, const char *phase, int32_t line, const char *library,
                        enum ss_thread_state state, uint64_t samples)
{
    uint32_t stack = call(made, 0, "train.py", line, SS_ORIGIN_USER);
    if (library != NULL) {
        enum ss_code_origin origin =
            strstr(library, "/site-packages/") != NULL ? SS_ORIGIN_PACKAGE : SS_ORIGIN_STDLIB;
        stack = call(made, stack, library, 7, origin);
    }
    ss_model_add_total(&made->model,
                       &(struct ss_model_total){.thread = made->thread,
                                                .stack = stack,
                                                .phase = phase != NULL ? text_id(made, phase) : 0,
                                                .step = SS_SAMPLE_LATER_STEP,
                                                .state = (uint8_t)state,
                                                .samples = samples,
                                                .records = samples});
}

/* Operators in no phase. */
static void add_operators(struct made *made, int32_t line, bool in_pass, uint64_t samples)
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

/* The source of train.py. */
static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    (void)context;
    (void)path;
    return ss_strview_of(line == 30 ? "        print(loss)" : line == 31 ? "x.item()" : "y = f(x)");
}

static void put_workers(struct made *made, const struct shape *shape)
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

static void put_samples(struct made *made, const struct shape *shape)
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
    add_samples(made, NULL, 38, NULL, SS_STATE_ON_CPU, shape->plain);
    add_operators(made, 40, true, shape->losses);
    add_operators(made, 42, false, shape->direct_forward);
    add_operators(made, 43, false, shape->metrics);
    add_samples(made, "forward", 10, "/site-packages/torch/fx/traceback.py", SS_STATE_ON_CPU,
                shape->tracebacks);
    add_samples(made, "checkpoint", 30, NULL, SS_STATE_SLEEPING, shape->saves);
    add_samples(made, "checkpoint", 31, NULL, SS_STATE_SLEEPING, shape->saves);
    uint32_t fetch =
        call(made, 0, "/site-packages/torch/utils/data/_utils/fetch.py", 1, SS_ORIGIN_PACKAGE);
    ss_model_add_total(
        &made->model,
        &(struct ss_model_total){.thread = made->thread,
                                 .stack = call(made, fetch, "collate.py", 40, SS_ORIGIN_USER),
                                 .phase = text_id(made, "data"),
                                 .step = SS_SAMPLE_LATER_STEP,
                                 .samples = shape->collates,
                                 .records = shape->collates});
    /* A progress bar around a loader has the loader above it. */
    uint32_t stack = call(made, 0, "train.py", 9, SS_ORIGIN_USER);
    stack = call(made, stack, "/site-packages/tqdm/std.py", 1, SS_ORIGIN_PACKAGE);
    stack =
        call(made, stack, "/site-packages/torch/utils/data/dataloader.py", 1, SS_ORIGIN_PACKAGE);
    ss_model_add_total(&made->model, &(struct ss_model_total){.thread = made->thread,
                                                              .stack = stack,
                                                              .phase = text_id(made, "data"),
                                                              .step = SS_SAMPLE_LATER_STEP,
                                                              .state = SS_STATE_SLEEPING,
                                                              .samples = 50,
                                                              .records = 50});
}

static void put_phase(struct made *made, const char *name, uint64_t *at_ns, uint64_t us)
{
    if (us > 0) {
        add_range(made, made->phases, name, "", *at_ns, us * US, 0);
    }
    *at_ns += us * US;
}

static void put_operators(struct made *made, const struct shape *shape, uint64_t at_ns,
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
static void put_recorded(struct made *made, uint64_t end_ns, bool is_lossy)
{
    if (is_lossy) {
        build_level(&made->model, made->recorded, end_ns - 1, -1);
    }
    build_level(&made->model, made->recorded, end_ns, 1);
}

/* The last one's end comes with its beginning. */
static void put_epoch(struct made *made, const struct shape *shape, uint64_t *at_ns)
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

static void put_memory(struct made *made, const struct shape *shape, uint32_t number,
                       uint64_t at_ns)
{
    static const double noise[] = {0, 40960, -20480, 81920, 12288};
    double grown = shape->jumps ? (number > shape->steps / 2 ? shape->grow_bytes * shape->steps : 0)
                                : shape->grow_bytes * number;
    build_level(&made->model, made->rss, at_ns, 3e8 + noise[number % 5] + grown);
}

static uint64_t put_step(struct made *made, const struct shape *shape, uint32_t number,
                         uint64_t begin_ns)
{
    uint64_t at_ns = begin_ns + (number == 0 ? shape->first_us * US : 0);
    uint64_t data_ns = at_ns, next_ns;
    uint64_t data_us = shape->data_us;
    bool begins = shape->epoch_each > 0 && number % shape->epoch_each == 0;
    if (begins) {
        put_epoch(made, shape, &at_ns);
        data_us += shape->first_wait_us;
    }
    next_ns = at_ns;
    at_ns += data_us * US;
    add_range(made, made->phases, "data", "", data_ns, at_ns - data_ns, 0);
    at_ns += shape->prepare_us * US;
    uint64_t forward_ns = at_ns;
    put_phase(made,
              shape->gc_compiles           ? "compile"
              : shape->reads_phase != NULL ? shape->reads_phase
                                           : "forward",
              &at_ns,
              shape->forward_us + number * shape->drift_us + (begins ? shape->slow_forward_us : 0));
    put_phase(made, "backward", &at_ns, shape->backward_us);
    uint64_t backward_ns = at_ns; /* its end: operators of the forward lie before */
    put_phase(made, "optimizer", &at_ns, shape->optimizer_us);
    at_ns += shape->rest_us * US;
    if (shape->stall_each > 0 && number % shape->stall_each == shape->stall_each - 1) {
        if (shape->stall_phase != NULL) {
            put_phase(made, shape->stall_phase, &at_ns, shape->stall_us);
        } else {
            at_ns += shape->stall_us * US;
        }
    }
    add_range(made, made->steps, "step", "", begin_ns, at_ns - begin_ns, number);
    put_memory(made, shape, number, at_ns);
    bool is_lossy = shape->lossy_each > 0 && number % shape->lossy_each == 0;
    if (shape->lossy_each > 0) {
        put_recorded(made, at_ns, is_lossy);
    }
    if (shape->operators_each == 0 || number % shape->operators_each == 0) {
        put_operators(made, shape, forward_ns, is_lossy);
    }
    if (shape->workers >= 0) {
        bool is_empty = shape->empty_each > 0 && number % shape->empty_each == 0;
        add_range(made, made->data, "next", "", next_ns, data_us * US, is_empty ? 0 : shape->ready);
    }
    if (shape->iterators_each > 0 && number % shape->iterators_each == 0) {
        add_range(made, made->data, "iterate", "", data_ns, US, 0);
    }
    uint32_t batches = shape->batches > 0 ? shape->batches : 1;
    for (uint32_t i = 0; shape->fetch_us > 0 && i < batches; i++) {
        uint64_t each_ns = shape->fetch_us * US / batches;
        add_range(made, made->data, "fetch", "", data_ns + i * each_ns, each_ns, 16);
    }
    if (shape->fetch_us > 0) {
        add_range(made, made->data, "collate", "", data_ns, shape->collate_us * US, 0);
    }
    if (shape->workers > 0) {
        /* Anew, it begins when half of the wait is over. */
        uint64_t fetch_ns = begins ? next_ns + shape->first_wait_us * US / 2 : begin_ns;
        add_range(made, made->worker_data, "fetch", "", fetch_ns, shape->worker_fetch_us * US, 16);
        add_range(made, made->worker_data, "collate", "", begin_ns, shape->collate_us * US, 0);
    }
    for (uint32_t i = 0; i < shape->cells; i++) {
        add_range(made, made->modules, "rnn (LSTMCell)", "module", forward_ns + 1000 * US * i,
                  1000 * US, 0);
    }
    if (shape->nan_checks_in_node) {
        add_range(made, made->torch, "autograd::engine::evaluate_function: AddmmBackward0",
                  "operator", backward_ns - 20 * US * shape->nan_checks,
                  20 * US * shape->nan_checks, 0);
    }
    for (uint32_t i = 0; i < shape->nan_checks; i++) {
        add_range(made, made->torch, "aten::isnan", "operator",
                  backward_ns - 20 * US * (shape->nan_checks - i), 10 * US, 0);
    }
    if (shape->compile_each > 0 && number % shape->compile_each == 0) {
        add_range(made, made->compile, "compile", "", forward_ns, shape->compile_us * US, 0);
    }
    if (shape->gc_us > 0) {
        add_range(made, made->gc, "gc", "", forward_ns, shape->gc_us * US, 1);
    }
    if (shape->save_each > 0 && number % shape->save_each == shape->save_each - 1) {
        add_range(made, made->save, "torch.save", "", at_ns - shape->save_us * US,
                  shape->save_us * US, 0);
        if (shape->checkpoint_us > 0) {
            add_range(made, made->phases, "checkpoint", "", at_ns - shape->checkpoint_us * US,
                      shape->checkpoint_us * US, 0);
        }
    }
    return at_ns;
}

static int by_track(const void *left, const void *right)
{
    const struct ss_model_range *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static int values_by_track(const void *left, const void *right)
{
    const struct ss_model_value *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void put_host(struct made *made, const struct shape *shape)
{
    if (shape->cpu_limit > 0) {
        build_level(&made->model, made->limit, 0, shape->cpu_limit);
        build_level(&made->model, made->used, 0, shape->cpu_used);
    }
    if (shape->cpu_own > 0) {
        build_level(&made->model, made->own, 0, shape->cpu_own);
    }
    if (shape->cpu_busy >= 0) {
        build_level(&made->model, made->busy, 0, shape->cpu_busy);
    }
}

static void make_for(struct made *made, const struct shape *shape, const char *process)
{
    begin(made);
    uint64_t at_ns = 1000 * US;
    for (uint32_t i = 0; i < shape->steps; i++) {
        at_ns = put_step(made, shape, i, at_ns);
    }
    qsort(made->model.ranges.data, made->model.ranges.count, sizeof *made->model.ranges.data,
          by_track);
    put_host(made, shape);
    qsort(made->model.values.data, made->model.values.count, sizeof *made->model.values.data,
          values_by_track);
    put_samples(made, shape);
    put_workers(made, shape);
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
    }
    build_attribute(&made->model, "cpu_count", shape->cores);
    struct ss_selection_options all = {.idle = SS_IDLE_ALL, .process = process};
    struct ss_steps_options every = {0};
    struct ss_source_lines source = {source_line, NULL};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->summary, &made->selection, &every);
    ss_training_facts_init(&made->facts, &made->selection, &made->summary, &source);
    ss_diagnosis_init(&made->diagnosis, &made->facts);
}

static void make(struct made *made, const struct shape *shape)
{
    make_for(made, shape, NULL);
}

static void end(struct made *made)
{
    ss_diagnosis_fini(&made->diagnosis);
    ss_training_facts_fini(&made->facts);
    ss_step_summary_fini(&made->summary);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

/* The rules that speak up, heaviest first, as "a b c". */
static void speaks(const struct shape *shape, const char *wanted)
{
    struct made made;
    char text[256] = "";
    make(&made, shape);
    for (size_t i = 0; i < made.diagnosis.findings.count; i++) {
        const char *id = made.diagnosis.findings.data[i].rule->id;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", id);
    }
    end(&made);
    assert_string_equal(text, wanted);
}

static struct ss_finding only_advice(struct made *made, const struct shape *shape)
{
    make(made, shape);
    assert_int_equal(made->diagnosis.findings.count, 1);
    return made->diagnosis.findings.data[0];
}

static double evidence(const struct ss_finding *finding, const char *what)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        if (strcmp(finding->evidence[i].what, what) == 0) {
            return finding->evidence[i].value;
        }
    }
    fail_msg("no evidence called %s", what);
    return 0;
}

static void test_clean(void **state)
{
    (void)state;
    speaks(&clean, "");
    struct shape few = clean; /* too few to judge by */
    few.steps = 4;
    few.workers = 0;
    few.data_us = 90000;
    speaks(&few, "");
}

static void test_no_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = shape.fetch_us = 60000;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "no-workers");
    assert_int_equal(finding.cost_ns, 60000 * US);
    assert_int_equal(finding.expected_ns, 59500 * US); /* less half a millisecond for the batch */
    assert_true(finding.percent > 37 && finding.percent < 38); /* 60 of 159 ms */
    assert_true(evidence(&finding, "fetching in the step") >= 6e7);
    assert_ptr_equal(finding.line, &ss_training_phase(&made.facts, "data")->line);
    end(&made);
    shape.data_us = shape.fetch_us = 4000; /* 4 % */
    speaks(&shape, "");
    shape.data_us = shape.fetch_us =
        6500; /* 6 ms of 105.5, were it not for 2.5 ms of their start */
    speaks(&shape, "");
    shape.data_us = shape.fetch_us = 7500;
    speaks(&shape, "no-workers");
    shape.data_us = shape.fetch_us = 60000;
    shape.batches = 120; /* workers send each of them */
    speaks(&shape, "");
    shape.batches = 0;
    shape.batch_bytes = 40000000; /* takes 20 ms longer than a small one */
    finding = only_advice(&made, &shape);
    assert_int_equal(finding.expected_ns, 39500 * US);
    end(&made);
    shape.batch_bytes = 120000000;
    speaks(&shape, "");
    shape.batch_bytes = 0;
    shape.cores = 2; /* both are in use: workers would take them from the operators */
    shape.cpu_busy = 199;
    speaks(&shape, "");
    shape.cpu_busy = 100;
    speaks(&shape, "no-workers");
    shape.cores = 8;
    shape.iterators_each = 1; /* each epoch has one batch: nothing is loaded ahead */
    speaks(&shape, "");
    shape.data_us = 60000;
    shape.workers = -1; /* no loader */
    speaks(&shape, "");
}

static void test_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.data_us = 100000; /* 199 ms a step, in which both workers fetch */
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "few-workers");
    assert_int_equal(finding.expected_ns, 100000 * US);
    assert_true(evidence(&finding, "workers that would keep up") >= 5);
    assert_true(evidence(&finding, "no batch ready") > 99);
    end(&made);
    make_for(&made, &shape, "42"); /* its workers are of the trainer that is asked for */
    assert_string_equal(made.diagnosis.findings.data[0].rule->id, "few-workers");
    end(&made);
    make_for(&made, &shape, "43");
    assert_int_equal(made.diagnosis.findings.count, 0);
    end(&made);
    shape.cpu_busy = 790;
    speaks(&shape, "slow-workers");
    shape.cpu_busy = -1;
    shape.cores = 3;
    speaks(&shape, "slow-workers");
    shape.worker_fetch_us = 100000; /* it is not the workers that let it wait */
    speaks(&shape, "");
    shape.worker_fetch_us = 398000;
    shape.ready = 2; /* made, but received late */
    speaks(&shape, "slow-workers");
    shape.worker_fetch_us = 300000;
    speaks(&shape, "");
    shape.empty_each = 4; /* both have one ready at a time, and of each second pair none */
    speaks(&shape, "slow-workers");
    shape.empty_each = 8;
    speaks(&shape, "");
}

/* They fetch all the time, but a disk or a network has them wait. */
static void test_waiting_workers(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.data_us = 100000;
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    shape.cpu_busy = 790; /* no core is left */
    shape.workers_asleep = 80;
    shape.workers_computing = 20;
    speaks(&shape, "few-workers");
    shape.workers_computing = 200;
    speaks(&shape, "slow-workers");
}

static void test_epochs(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean; /* 100 ms a step, two workers */
    shape.epoch_each = 8;
    shape.first_wait_us = 80000;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "epoch-starts");
    assert_true(finding.is_spread);
    assert_in_range(finding.expected_ns, 8100 * US, 8300 * US); /* 4 times in 39 steps */
    assert_true(evidence(&finding, "epochs begun") > 3 && evidence(&finding, "epochs begun") < 5);
    assert_true(evidence(&finding, "steps to an epoch") > 7 &&
                evidence(&finding, "steps to an epoch") < 9);
    assert_in_range(made.facts.epochs.each_wait_ns, 79000 * US, 80500 * US);
    end(&made);
    shape.restarts = true; /* 35 ms until they fetch, 20 of them within the first wait */
    shape.restart_us = 10000;
    shape.stop_us = 5000;
    shape.first_wait_us = 40000;
    make(&made, &shape);
    assert_int_equal(made.diagnosis.findings.count, 1);
    finding = made.diagnosis.findings.data[0];
    assert_string_equal(finding.rule->id, "worker-restarts");
    assert_in_range(made.facts.epochs.each_restart_ns, 34500 * US, 35500 * US);
    assert_in_range(made.facts.epochs.each_wait_ns, 19000 * US, 20500 * US);
    assert_in_range(made.facts.epochs.each_behind_ns, 0, 100 * US);
    uint64_t without_ns = finding.expected_ns;
    end(&made);
    shape.slow_forward_us = 20000; /* behind the fork, 4 times in 39 steps */
    make(&made, &shape);
    finding = made.diagnosis.findings.data[0];
    assert_string_equal(finding.rule->id, "worker-restarts");
    assert_in_range(made.facts.epochs.each_restart_ns, 34500 * US, 35500 * US);
    assert_in_range(made.facts.epochs.each_behind_ns, 17500 * US, 18500 * US); /* than the mean */
    assert_in_range(finding.expected_ns - without_ns, 1790 * US, 1900 * US);
    end(&made);
    shape.slow_forward_us = 0;
    shape.restarts = false; /* those that stay */
    shape.restart_us = 0;
    shape.first_wait_us = 10000;
    speaks(&shape, "");
    shape.epoch_each = 24; /* once: no more than a program's last epoch costs */
    shape.first_wait_us = 900000;
    speaks(&shape, "");
}

/* Workers that are late all the time are late as an epoch begins as well. */
static void test_epochs_of_late_workers(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.data_us = 100000;
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    shape.epoch_each = 8;
    shape.first_wait_us = 10000;
    speaks(&shape, "few-workers");
    shape.data_us = 1000;
    shape.first_wait_us = 400000; /* all of it is waited for at their beginnings */
    shape.epoch_each = 4;
    speaks(&shape, "epoch-starts");
}

static void test_periodic_stalls(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.stall_each = 10;
    shape.stall_us = 200000;
    shape.stall_phase = "evaluation";
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "evaluation");
    assert_in_range(finding.cost_ns, 19900 * US, 20100 * US);
    assert_in_range(finding.expected_ns, 9900 * US, 10100 * US); /* in each 20th step, not 10th */
    assert_true(finding.percent > 16 && finding.percent < 17);   /* 200 of 1,200 ms */
    end(&made);
    shape.stall_each = 20; /* seldom */
    speaks(&shape, "");
    shape.stall_each = 10;
    shape.stall_phase = NULL;
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "periodic-stalls");
    assert_true(evidence(&finding, "a slow step every") > 9);
    end(&made);
    shape.stall_each = 13; /* thrice: it may be chance */
    speaks(&shape, "");
    shape.stall_each = 10;
    shape.stall_us = 40000; /* 4 % */
    speaks(&shape, "");
    shape.stall_us = 200000;
    shape.stall_phase = "forward"; /* another program uses the core */
    speaks(&shape, "");
}

static void test_slow_collate(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = 8000;
    shape.fetch_us = 7900;
    shape.collate_us = 7800;
    shape.collates = 70;
    struct made made;
    make(&made, &shape);
    assert_int_equal(made.diagnosis.findings.count, 1); /* its time is that of no-workers */
    struct ss_finding first = made.diagnosis.findings.data[0];
    assert_string_equal(first.rule->id, "slow-collate");
    assert_int_equal(made.model.frames.data[first.line->frame].line, 40);
    end(&made);
    shape.collate_us = 2000;
    shape.collates = 0;
    shape.data_us = shape.fetch_us = 20000;
    speaks(&shape, "no-workers");
    shape = clean;
    shape.data_us = 20000; /* workers have it ready, if late: a share of the wait */
    shape.collate_us = shape.worker_fetch_us / 2;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "slow-collate");
    assert_in_range(finding.expected_ns, 9900 * US, 10100 * US);
    end(&made);
}

static void test_host_sync(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.reads = 500;
    shape.read_us = 6;
    shape.between_us = 4;
    shape.operators = 85;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "host-sync");
    assert_true(evidence(&finding, "reads a step") > 499);
    assert_in_range(finding.expected_ns, 2900 * US, 3100 * US); /* nothing of what lies between */
    end(&made);
    shape.reading = 60; /* all of the line goes with its reads */
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_true(evidence(&finding, "reads a step") > 499);
    assert_true(finding.expected_ns > 3100 * US);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 31);
    end(&made);
    shape.reading = 20; /* too few for a claim */
    speaks(&shape, "host-sync");
    shape.reading = 0;
    shape.operators_each = 4; /* the mean is of the steps that were recorded */
    speaks(&shape, "host-sync");
    shape.operators_each = 0;
    shape.lossy_each = 3; /* the others are enough */
    finding = only_advice(&made, &shape);
    assert_true(evidence(&finding, "reads a step") > 499);
    end(&made);
    shape.read_us = 10;
    shape.between_us = 0;
    shape.lossy_each = 1; /* of all steps some were lost */
    finding = only_advice(&made, &shape);
    assert_true(evidence(&finding, "reads a step (at least)") < 251);
    end(&made);
    shape.lossy_each = 0;
    shape.reads_phase = "optimizer"; /* they are not the program's */
    speaks(&shape, "");
    shape.reads_phase = NULL;
    shape.reads = 100; /* 0.6 % of the step */
    speaks(&shape, "");
}

static void test_tiny_batches(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.operators = 500;
    shape.operator_us = 20;
    speaks(&shape, "tiny-batches");
    shape.cuda = 1; /* what the host does says nothing */
    speaks(&shape, "");
    shape.cuda = 0;
    shape.operator_us = 150;
    speaks(&shape, "");
}

static void test_hot_line(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.prepare_us = 40000;
    shape.prepares = 120;
    shape.torch_other = 28; /* too few for a finding */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_in_range(finding.cost_ns, 34000 * US, 35000 * US); /* 120 of 148, of 43 ms */
    assert_in_range(finding.error_ns, 2900 * US, 3200 * US);  /* 7 points, by Wilson */
    assert_int_equal(finding.expected_ns, finding.cost_ns);
    assert_in_range(finding.recoverable_ns - finding.error_ns, finding.cost_ns * 114 / 100,
                    finding.cost_ns * 116 / 100);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 20);
    assert_int_equal(finding.activity, SS_ACTIVITY_NUMPY);
    assert_string_equal(finding.fix, ss_activity_fix(SS_ACTIVITY_NUMPY));
    end(&made);
    shape.prepares = 20; /* too few samples */
    shape.torch_other = 0;
    speaks(&shape, "");
    shape.prepares = 0;
    shape.losses = 120; /* operators between forward and backward: the training itself */
    speaks(&shape, "");
    shape.losses = 0;
    shape.direct_forward = 120; /* the model itself */
    speaks(&shape, "");
    shape.direct_forward = 0;
    shape.metrics = 120;
    speaks(&shape, "hot-line");
    shape.metrics = 0;
    shape.plain = 120; /* nothing is known of the line: it has to be heavier */
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.activity, SS_ACTIVITY_NOTHING);
    assert_null(finding.fix);
    end(&made);
    shape.prepare_us = 2500; /* 5.5 of 101.5 ms */
    speaks(&shape, "");
    shape.prepare_us = 4000; /* 7 of 103 ms */
    speaks(&shape, "hot-line");
    shape.plain = 0;
    shape.prepares = 120;
    finding = only_advice(&made, &shape);
    assert_in_range(finding.cost_ns, 6900 * US, 7100 * US);
    assert_in_range(finding.recoverable_ns, 8000 * US,
                    8500 * US); /* nearly all samples: no error */
    end(&made);
}

/* Not the rule of the line, which explains less than half of what the line costs. */
static void test_one_finding_for_one_time(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.rest_us = 40000;
    shape.reads = 500;
    shape.read_us = 6;
    shape.between_us = 4;
    shape.operators = 85;
    shape.reading = 100;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.activity, SS_ACTIVITY_TENSOR_READ);
    assert_in_range(finding.cost_ns, 40900 * US, 41100 * US);
    assert_int_equal(finding.expected_ns, finding.cost_ns);
    assert_in_range(finding.recoverable_ns - finding.error_ns, finding.cost_ns * 114 / 100,
                    finding.cost_ns * 116 / 100);
    end(&made);
}

static void test_anomaly_detection(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.tracebacks = 40; /* of 490 */
    shape.nan_checks = 100;
    shape.operators = 70;
    speaks(&shape, "");
    shape.anomaly = 1;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "anomaly-detection");
    assert_in_range(finding.cost_ns, 9100 * US, 9200 * US); /* 40 of 490 samples, and 1 ms */
    end(&made);
    shape.nan_checks_in_node = true;
    finding = only_advice(&made, &shape);
    assert_in_range(finding.cost_ns, 9100 * US, 9200 * US);
    end(&made);
    shape.nan_checks_in_node = false;
    shape.tracebacks = 0;
    speaks(&shape, "");
}

static void test_float64(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.dtype = "model.dtype = float64";
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "float64");
    assert_in_range(finding.expected_ns, 53000 * US, 55000 * US); /* of 90 operators of 1 ms */
    end(&made);
    shape.cuda = 1;
    speaks(&shape, "");
    shape.cuda = 0;
    shape.dtype = "model.dtype = float32";
    speaks(&shape, "");
}

static void test_time_loop(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.cells = 15; /* half of the forward, and as much of the backward */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "time-loop");
    assert_in_range(finding.cost_ns, 39900 * US, 40100 * US);
    assert_in_range(finding.expected_ns, 29900 * US, 30100 * US);
    end(&made);
    shape.cells = 7;
    speaks(&shape, "");
}

static void test_recompilation(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.compile_each = 10;
    shape.compile_us = 29000;
    speaks(&shape, "recompilation");
    shape.compile_each = 30; /* once after the first steps: a shape of the last batch */
    speaks(&shape, "");
}

static void test_interruptions(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.gc_us = 6000;
    speaks(&shape, "gc-pauses");
    shape.gc_compiles = true;
    speaks(&shape, "");
    shape.gc_compiles = false;
    shape.gc_us = 1000;
    speaks(&shape, "");
    shape = clean;
    shape.save_each = 5;
    shape.save_us = 20000;
    shape.rest_us = 20000;
    speaks(&shape, "checkpoint-stalls");
    shape.save_us = 8000; /* of 20 ms that a framework saves for */
    shape.checkpoint_us = 20000;
    struct made saving;
    struct ss_finding finding = only_advice(&saving, &shape);
    assert_string_equal(finding.rule->id, "checkpoint-stalls");
    assert_in_range(finding.expected_ns, 4000 * US, 4200 * US); /* 8 times in 39 steps */
    end(&saving);
    shape.checkpoint_us = 0;
    shape.save_each = 40; /* once, at the end */
    speaks(&shape, "");
}

static void test_oversubscription(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.threads = 16;
    shape.runnable = 150;
    speaks(&shape, "oversubscription");
    shape.cpu_busy = 790;
    shape.cpu_own = 700;
    speaks(&shape, "oversubscription");
    shape.cpu_own = 300; /* it is other programs that have the cores */
    speaks(&shape, "busy-machine");
    shape.runnable = 60; /* 11 % of the samples */
    speaks(&shape, "");
    shape.cpu_own = 0;
    shape.runnable = 20;
    speaks(&shape, "");
    shape.runnable = 150;
    shape.threads = 4;
    speaks(&shape, "");
    shape.cpu_limit = 200; /* of its container */
    shape.cpu_used = shape.cpu_own = 199;
    speaks(&shape, "oversubscription");
    shape = clean; /* the threads work while the main one waits: fewer would have to do it, too */
    shape.threads = 24;
    shape.computing = 0;
    shape.losses = 50; /* within operators */
    shape.runnable = 400;
    struct made made;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_in_range(finding.percent, 79, 81);                             /* 400 of 500 samples */
    assert_in_range(finding.expected_ns * 100 / finding.cost_ns, 74, 76); /* less 2 × 50 */
    end(&made);
}

static void test_logging(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.logs = 60;
    shape.prints = 40;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "logging");
    assert_int_equal(finding.line->all, 100);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 22);
    end(&made);
    shape.logs = 10;
    shape.prints = 0;
    shape.saves = 100; /* a file's write(), and copies to the CPU, as a checkpoint is saved */
    speaks(&shape, "");
}

static void test_memory_growth(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.grow_bytes = 1 << 20;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "memory-growth");
    assert_int_equal(finding.recoverable_ns, 0);
    double grows = evidence(&finding, "more with each step");
    assert_true(grows > 1e6 && grows < 1.1e6);
    end(&made);
    shape.jumps = true; /* a buffer that is made once */
    speaks(&shape, "");
    shape.jumps = false;
    shape.grow_bytes = 10000; /* 300 kB in all */
    speaks(&shape, "");
}

static void test_drift(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.steps = 80;
    shape.drift_us = 400; /* 32 ms of a step of 100 */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "drift");
    assert_in_range(finding.cost_ns, 15000000, 16500000);
    double more = evidence(&finding, "more in forward");
    assert_true(more > 31e6 && more < 32.5e6);
    end(&made);
    shape.drift_us = 50; /* 4 ms */
    speaks(&shape, "");
    shape.drift_us = 400;
    shape.steps = 30; /* too few */
    speaks(&shape, "");
}

static void test_warm_up(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.first_us = 3000000;
    speaks(&shape, "warm-up");
    shape.first_us = 1000000; /* 25 % more */
    speaks(&shape, "");
}

/* The largest recoverable first, whatever the order of the table. */
static void test_order(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = shape.fetch_us = 10000;
    shape.gc_us = 30000;
    shape.grow_bytes = 1 << 20;
    speaks(&shape, "gc-pauses no-workers memory-growth");
}

static void test_hidden_kernels(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    make(&made, &shape);
    assert_false(made.diagnosis.host_time);
    end(&made);
    shape.cuda = 1;
    make(&made, &shape);
    assert_true(made.diagnosis.host_time);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean),
                                       cmocka_unit_test(test_no_workers),
                                       cmocka_unit_test(test_workers),
                                       cmocka_unit_test(test_waiting_workers),
                                       cmocka_unit_test(test_epochs),
                                       cmocka_unit_test(test_epochs_of_late_workers),
                                       cmocka_unit_test(test_periodic_stalls),
                                       cmocka_unit_test(test_slow_collate),
                                       cmocka_unit_test(test_host_sync),
                                       cmocka_unit_test(test_tiny_batches),
                                       cmocka_unit_test(test_hot_line),
                                       cmocka_unit_test(test_one_finding_for_one_time),
                                       cmocka_unit_test(test_anomaly_detection),
                                       cmocka_unit_test(test_float64),
                                       cmocka_unit_test(test_time_loop),
                                       cmocka_unit_test(test_recompilation),
                                       cmocka_unit_test(test_interruptions),
                                       cmocka_unit_test(test_oversubscription),
                                       cmocka_unit_test(test_logging),
                                       cmocka_unit_test(test_memory_growth),
                                       cmocka_unit_test(test_drift),
                                       cmocka_unit_test(test_warm_up),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_hidden_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
