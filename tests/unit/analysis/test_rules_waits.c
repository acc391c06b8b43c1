/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_waits.c. A step takes 100 ms and has 1000 samples: one for each 0.1 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnosed_training.h"

enum {
    SAMPLE_US = 100,
    LOADER_SAMPLES = 50, /* those that the builder adds */
    OTHER_SAMPLES = 40,  /* of PyTorch, in no phase: as many as its time */
    ALL_SAMPLES = 1000,
    FIRST_LINE = 25 /* of train.py, that waits; the second wait is at the next one */
};

/* What a sample of a wait looks like. */
struct wait_kind {
    const char *id;      /* of its rule */
    const char *library; /* that waits; NULL: the line itself */
    enum ss_wait_kind wait;
    enum ss_gil_state gil;
};

static const struct wait_kind gil = {.id = "gil-wait", .gil = SS_GIL_WAITED};
static const struct wait_kind lock = {
    .id = "lock-wait", .library = "/usr/lib/python3.11/threading.py", .wait = SS_WAIT_FUTEX};
static const struct wait_kind queue = {
    .id = "thread-wait", .library = "/usr/lib/python3.11/queue.py", .wait = SS_WAIT_FUTEX};
static const struct wait_kind process = {
    .id = "process-wait", .library = "/usr/lib/python3.11/subprocess.py", .wait = SS_WAIT_CHILD};
static const struct wait_kind disk = {.id = "disk-wait", .wait = SS_WAIT_FILE};
static const struct wait_kind network = {
    .id = "network-wait", .library = "/usr/lib/python3.11/socket.py", .wait = SS_WAIT_SOCKET};
static const struct wait_kind timer = {.id = "sleep", .wait = SS_WAIT_TIMER};

/* Waits in no phase. */
struct waiting {
    struct shape shape; /* the first member: `more` gets this one */
    const struct wait_kind *kinds[2];
    uint64_t samples[2];
};

static uint32_t stack_of(struct made *made, const struct wait_kind *kind, int32_t line)
{
    uint32_t stack = call(made, 0, "train.py", line, SS_ORIGIN_USER);
    return kind->library != NULL ? call(made, stack, kind->library, 7, SS_ORIGIN_STDLIB) : stack;
}

static void put_waits(struct made *made, const struct shape *shape)
{
    const struct waiting *waiting = (const struct waiting *)shape;
    for (int32_t i = 0; i < 2; i++) {
        const struct wait_kind *kind = waiting->kinds[i];
        if (kind != NULL) {
            ss_model_add_total(&made->model, &(struct ss_model_total){
                                                 .thread = made->thread,
                                                 .stack = stack_of(made, kind, FIRST_LINE + i),
                                                 .step = SS_SAMPLE_LATER_STEP,
                                                 .state = SS_STATE_SLEEPING,
                                                 .gil = (uint8_t)kind->gil,
                                                 .wait = (uint8_t)kind->wait,
                                                 .samples = waiting->samples[i],
                                                 .records = waiting->samples[i]});
        }
    }
}

/* What waits takes its time from the backward. */
static struct waiting waiting_for(const struct wait_kind *kind, uint64_t samples,
                                  const struct wait_kind *other, uint64_t other_samples)
{
    struct waiting waiting = {
        .shape = clean, .kinds = {kind, other}, .samples = {samples, other_samples}};
    uint64_t waits = samples + other_samples;
    waiting.shape.torch_other = OTHER_SAMPLES;
    waiting.shape.computing = ALL_SAMPLES - LOADER_SAMPLES - OTHER_SAMPLES - waits;
    waiting.shape.rest_us += waits * SAMPLE_US;
    waiting.shape.backward_us -= waits * SAMPLE_US;
    waiting.shape.more = put_waits;
    return waiting;
}

static int32_t line_of(const struct made *made, const struct ss_finding *finding)
{
    return made->model.frames.data[finding->line->frame].line;
}

/* 100 of 1000 samples are 10 of 100 ms. By Wilson's interval, the share is at most 0.1202: the
 * centre is (0.1 + 3.841 / 2000) / 1.003841 = 0.10153, the half width
 * 1.96 × √(0.1 × 0.9 / 1000 + 3.841 / 4000000) / 1.003841 = 0.01862. */
static struct ss_finding check_fires(struct made *made, const struct waiting *waiting)
{
    const struct wait_kind *kind = waiting->kinds[0];
    make(made, &waiting->shape);
    const struct ss_finding *finding = only_finding(&made->diagnosis, kind->id);
    check_cost(finding, 10000, 10000, 10);
    check_evidence(finding, "samples", 100);
    assert_float_equal(finding->error_ns, 2.015e6, 1e3);
    check_evidence(finding, "cold caches after it, at most", 1.5e6); /* 15 % */
    assert_int_equal(finding->recoverable_ns, 10000 * US + 1500 * US + finding->error_ns);
    assert_int_equal(line_of(made, finding), FIRST_LINE);
    assert_int_equal(finding->line->samples, 100);
    assert_string_equal(finding->line_of, kind == &timer ? "the sleep" : "the waiting");
    return *finding;
}

static void fires(const struct wait_kind *kind)
{
    struct made made;
    struct waiting waiting = waiting_for(kind, 100, NULL, 0);
    check_fires(&made, &waiting);
    end(&made);
}

/* `percent`: the rule's least. Below it, a line that is known to wait is a finding of its own from
 * 3 % on. */
static void just_does_not_fire(const struct wait_kind *kind, uint64_t percent, const char *instead)
{
    struct waiting waiting = waiting_for(kind, 10 * percent, NULL, 0);
    speaks(&waiting.shape, kind->id);
    waiting = waiting_for(kind, 10 * percent - 1, NULL, 0);
    speaks(&waiting.shape, instead);
}

static void beside(const struct wait_kind *kind, const struct wait_kind *larger)
{
    struct made made;
    struct waiting waiting = waiting_for(kind, 100, larger, 200);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s %s", larger->id, kind->id);
    make(&made, &waiting.shape);
    check_findings(&made.diagnosis, wanted);
    const struct ss_finding *findings = made.diagnosis.findings.data;
    check_cost(&findings[0], 20000, 20000, 20);
    check_cost(&findings[1], 10000, 10000, 10);
    assert_int_equal(line_of(&made, &findings[0]), FIRST_LINE + 1);
    assert_int_equal(line_of(&made, &findings[1]), FIRST_LINE);
    end(&made);
}

/* --- gil-wait --------------------------------------------------------------------------------- */

static void put_span(struct made *made, uint32_t thread, int32_t line, bool holds,
                     uint64_t begin_ms, uint64_t end_ms)
{
    ss_vec_push(&made->model.gil_spans,
                (struct ss_model_gil_span){.begin_ns = begin_ms * 1000 * US,
                                           .end_ns = end_ms * 1000 * US,
                                           .thread = thread,
                                           .stack = call(made, 0, "other.py", line, SS_ORIGIN_USER),
                                           .holds = holds});
}

/* At 1000 samples a second the main thread waits for 100 ticks, from 2000 on. One thread has the
 * GIL until `end_ms`, the last 20 of it at line 71; another one has it at 20 ticks. */
static void put_holders_for(struct made *made, const struct shape *shape, uint64_t end_ms)
{
    struct ss_model *model = &made->model;
    put_waits(made, shape);
    uint32_t input = ss_model_new_input(model, SS_INPUT_TRACE, "run.pftrace");
    model->inputs.data[input].rate_hz = 1000;
    model->processes.data[made->process].input = input;
    uint32_t most = BUILD_THREAD(model, .process = made->process, .tid = 50);
    uint32_t less = BUILD_THREAD(model, .process = made->process, .tid = 51);
    put_span(made, made->thread, 1, false, 2000, 2100);
    put_span(made, most, 70, true, 1990, end_ms - 20);
    put_span(made, most, 71, true, end_ms - 20, end_ms);
    put_span(made, less, 72, true, 2060, 2080);
}

static void put_holders(struct made *made, const struct shape *shape)
{
    put_holders_for(made, shape, 2060);
}

static void rule_gil_wait_fires(void **state)
{
    (void)state;
    struct made made;
    struct waiting waiting = waiting_for(&gil, 100, NULL, 0);
    struct ss_finding finding = check_fires(&made, &waiting);
    assert_null(finding.holder); /* the recording does not say who had it */
    end(&made);
    waiting.shape.more = put_holders;
    finding = check_fires(&made, &waiting);
    check_evidence(&finding, "of the waiting that thread has it", 60);
    assert_int_equal(made.model.threads.data[finding.holder->thread].tid, 50);
    assert_int_equal(finding.holder->samples, 60);
    assert_int_equal(finding.holder->known, 80);
    assert_int_equal(made.model.frames.data[finding.holder->line.frame].line, 70);
    assert_int_equal(finding.holder->line.samples, 40);
    end(&made);
}

static void put_holders_of_less(struct made *made, const struct shape *shape)
{
    put_holders_for(made, shape, 2029);
}

/* Of 29 ticks nothing is said. */
static void test_a_holder_at_few_ticks_is_not_named(void **state)
{
    (void)state;
    struct made made;
    struct waiting waiting = waiting_for(&gil, 100, NULL, 0);
    waiting.shape.more = put_holders_of_less;
    struct ss_finding finding = check_fires(&made, &waiting);
    assert_int_equal(made.facts.waits.holder.samples, 29);
    assert_null(finding.holder);
    end(&made);
}

static void rule_gil_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&gil, 5, ""); /* the line is not its cause */
}

static void rule_gil_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&gil, &timer);
}

/* --- what a line waits for -------------------------------------------------------------------- */

static void rule_lock_wait_fires(void **state)
{
    (void)state;
    fires(&lock);
}

/* Samples of a thread asleep at a line of train.py. */
static void put_asleep(struct made *made, uint32_t thread, int32_t line, enum ss_wait_kind wait,
                       uint64_t samples)
{
    uint32_t stack = call(made, 0, "train.py", line, SS_ORIGIN_USER);
    ss_model_add_total(&made->model, &(struct ss_model_total){.thread = thread,
                                                              .stack = stack,
                                                              .step = SS_SAMPLE_LATER_STEP,
                                                              .state = SS_STATE_SLEEPING,
                                                              .wait = (uint8_t)wait,
                                                              .samples = samples,
                                                              .records = samples});
}

/* The main thread waits at line 36, and another one holds the lock at line 37, in so many
 * samples. */
static uint64_t held;

static void put_lock_holder(struct made *made, const struct shape *shape)
{
    (void)shape;
    put_asleep(made, made->thread, 36, SS_WAIT_FUTEX, 100);
    uint32_t thread = BUILD_THREAD(&made->model, .process = made->process, .tid = 50);
    put_asleep(made, thread, 37, SS_WAIT_TIMER, held);
}

static void test_the_holder_of_a_lock_is_named(void **state)
{
    (void)state;
    struct made made;
    struct waiting waiting = waiting_for(&lock, 100, NULL, 0);
    waiting.shape.more = put_lock_holder;
    held = 30;
    struct ss_finding finding = only_advice(&made, &waiting.shape);
    assert_string_equal(finding.rule->id, "lock-wait");
    assert_non_null(finding.lock_holder);
    assert_string_equal(finding.lock_holder->lock, "lock");
    assert_int_equal(made.model.threads.data[finding.lock_holder->thread].tid, 50);
    assert_int_equal(finding.lock_holder->line.samples, 30);
    end(&made);
    held = 29; /* too few to say */
    finding = only_advice(&made, &waiting.shape);
    assert_null(finding.lock_holder);
    end(&made);
}

static void rule_lock_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&lock, 5, "hot-line");
}

static void rule_lock_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&lock, &timer);
}

static void rule_thread_wait_fires(void **state)
{
    (void)state;
    fires(&queue);
    struct wait_kind future = queue;
    future.library = "/usr/lib/python3.11/concurrent/futures/_base.py";
    fires(&future);
}

static void rule_thread_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&queue, 5, "hot-line");
}

static void rule_thread_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&queue, &lock);
}

static void rule_process_wait_fires(void **state)
{
    (void)state;
    fires(&process);
    struct wait_kind pipe = {.id = "process-wait", .wait = SS_WAIT_PIPE};
    fires(&pipe);
}

static void rule_process_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&process, 5, "hot-line");
}

static void rule_process_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&process, &network);
}

static void rule_disk_wait_fires(void **state)
{
    (void)state;
    fires(&disk);
}

static void rule_disk_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&disk, 5, "hot-line");
}

static void rule_disk_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&disk, &network);
}

static void rule_network_wait_fires(void **state)
{
    (void)state;
    fires(&network);
}

static void rule_network_wait_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&network, 5, "hot-line");
}

static void rule_network_wait_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&network, &disk);
}

static void rule_sleep_fires(void **state)
{
    (void)state;
    fires(&timer);
}

static void rule_sleep_just_does_not_fire(void **state)
{
    (void)state;
    just_does_not_fire(&timer, 3, "");
}

static void rule_sleep_beside_a_larger_one(void **state)
{
    (void)state;
    beside(&timer, &gil);
}

/* --- the line --------------------------------------------------------------------------------- */

static void put_waits_and_computing(struct made *made, const struct shape *shape)
{
    put_waits(made, shape);
    add_samples(made, NULL, FIRST_LINE, NULL, SS_STATE_ON_CPU, 50);
}

/* The line waits for 10 ms and computes for 5 ms: without it, the step gains both. */
static void test_a_wait_has_what_its_line_computes(void **state)
{
    (void)state;
    struct made made;
    struct waiting waiting = waiting_for(&lock, 100, NULL, 0);
    waiting.shape.more = put_waits_and_computing;
    waiting.shape.computing -= 50;
    waiting.shape.backward_us -= 5000;
    waiting.shape.rest_us += 5000;
    make(&made, &waiting.shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "lock-wait");
    check_cost(finding, 10000, 15000, 10);
    check_evidence(finding, "samples", 100);
    check_evidence(finding, "computing at the line", 5e6);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_gil_wait_fires),
        cmocka_unit_test(test_a_holder_at_few_ticks_is_not_named),
        cmocka_unit_test(rule_gil_wait_just_does_not_fire),
        cmocka_unit_test(rule_gil_wait_beside_a_larger_one),
        cmocka_unit_test(rule_lock_wait_fires),
        cmocka_unit_test(test_the_holder_of_a_lock_is_named),
        cmocka_unit_test(rule_lock_wait_just_does_not_fire),
        cmocka_unit_test(rule_lock_wait_beside_a_larger_one),
        cmocka_unit_test(rule_thread_wait_fires),
        cmocka_unit_test(rule_thread_wait_just_does_not_fire),
        cmocka_unit_test(rule_thread_wait_beside_a_larger_one),
        cmocka_unit_test(rule_process_wait_fires),
        cmocka_unit_test(rule_process_wait_just_does_not_fire),
        cmocka_unit_test(rule_process_wait_beside_a_larger_one),
        cmocka_unit_test(rule_disk_wait_fires),
        cmocka_unit_test(rule_disk_wait_just_does_not_fire),
        cmocka_unit_test(rule_disk_wait_beside_a_larger_one),
        cmocka_unit_test(rule_network_wait_fires),
        cmocka_unit_test(rule_network_wait_just_does_not_fire),
        cmocka_unit_test(rule_network_wait_beside_a_larger_one),
        cmocka_unit_test(rule_sleep_fires),
        cmocka_unit_test(rule_sleep_just_does_not_fire),
        cmocka_unit_test(rule_sleep_beside_a_larger_one),
        cmocka_unit_test(test_a_wait_has_what_its_line_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
