/* SPDX-License-Identifier: Apache-2.0 */
/* What main threads wait for, where, and who has the GIL meanwhile; and the rules on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/diagnosis/rule_parts.h"

#define MS UINT64_C(1000000)
#define STEP_NS (100 * MS)

enum { RATE_HZ = 100, PERIOD_MS = 1000 / RATE_HZ };

struct made {
    struct ss_model model;
    uint32_t process, other, main, worker, second, stranger; /* threads but the first two */
    uint32_t forward, data;                                  /* strings */
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_waits waits;
};

static uint32_t add_thread(struct made *made, uint32_t process, bool is_main, const char *name)
{
    return BUILD_THREAD(&made->model, .process = process, .tid = 1, .is_main = is_main,
                        .name = name);
}

static int set_up(void **state)
{
    static struct made made;
    made = (struct made){0};
    ss_model_init(&made.model);
    ss_vec_push(&made.model.inputs, (struct ss_model_input){.rate_hz = RATE_HZ});
    made.process = BUILD_PROCESS(&made.model, .pid = 42);
    made.other = BUILD_PROCESS(&made.model, .pid = 43);
    made.main = add_thread(&made, made.process, true, "MainThread");
    made.worker = add_thread(&made, made.process, false, "worker");
    made.second = add_thread(&made, made.process, false, "second");
    made.stranger = add_thread(&made, made.other, false, "stranger");
    made.forward = ss_intern_put_text(&made.model.strings, "forward");
    made.data = ss_intern_put_text(&made.model.strings, "data");
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    struct made *made = *state;
    ss_vec_fini(&made->steps.steps);
    ss_vec_fini(&made->steps.phases);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
    return 0;
}

/* A line of train.py, or what it calls in a module of the standard library. */
static uint32_t stack_of(struct made *made, int32_t line, const char *module, const char *function)
{
    uint32_t stack = BUILD_CALL(&made->model, 0, .function = "step", .file = "train.py",
                                .line = line, .origin = SS_ORIGIN_USER);
    if (module != NULL) {
        stack = BUILD_CALL(&made->model, stack, .function = function, .file = module, .line = 3,
                           .origin = SS_ORIGIN_STDLIB);
    }
    return stack;
}

static struct ss_model_total total_of(const struct made *made, uint32_t stack,
                                      enum ss_thread_state state, enum ss_wait_kind wait,
                                      uint64_t samples)
{
    return (struct ss_model_total){.thread = made->main,
                                   .stack = stack,
                                   .step = SS_SAMPLE_LATER_STEP,
                                   .state = (uint8_t)state,
                                   .gil = SS_GIL_NONE,
                                   .wait = (uint8_t)wait,
                                   .samples = samples,
                                   .records = samples};
}

static void put(struct made *made, struct ss_model_total total)
{
    ss_model_add_total(&made->model, &total);
}

/* Ticks `from` to `to`. */
static void put_span(struct made *made, uint32_t thread, uint32_t stack, bool holds, uint64_t from,
                     uint64_t to)
{
    uint64_t half = PERIOD_MS * MS / 2;
    ss_vec_push(&made->model.gil_spans,
                (struct ss_model_gil_span){.begin_ns = from * PERIOD_MS * MS + half,
                                           .end_ns = to * PERIOD_MS * MS + PERIOD_MS * MS + half,
                                           .thread = thread,
                                           .stack = stack,
                                           .holds = holds});
}

static void find(struct made *made, bool has_loader)
{
    struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &options, NULL), SS_OK);
    static bool trains[16];
    assert_in_range(made->process, 0, 15);
    trains[made->process] = true;
    made->steps.trains = trains;
    ss_vec_push(&made->steps.steps, (struct ss_step){.process = made->process, .end_ns = STEP_NS});
    ss_vec_push(&made->steps.phases, (struct ss_step_phase){.name = made->data});
    ss_vec_push(&made->steps.phases, (struct ss_step_phase){.name = made->forward});
    ss_vec_push(&made->steps.phases, (struct ss_step_phase){0});
    ss_waits_find(&made->waits, &made->selection, &made->steps, NULL, has_loader);
}

static uint64_t samples_of(const struct made *made, enum ss_wait_group group)
{
    return made->waits.groups[group].line.all;
}

/* --- what is waited for ---------------------------------------------------------------------- */

static void waits_are_distinguished(void **state)
{
    struct made *made = *state;
    static const char threading[] = "/usr/lib/python3.11/threading.py";
    put(made,
        total_of(made, stack_of(made, 1, threading, "wait"), SS_STATE_SLEEPING, SS_WAIT_FUTEX, 1));
    put(made, total_of(made, stack_of(made, 2, "/usr/lib/python3.11/queue.py", "get"),
                       SS_STATE_SLEEPING, SS_WAIT_FUTEX, 2));
    put(made, total_of(made, stack_of(made, 3, "/usr/lib/python3.11/subprocess.py", "wait"),
                       SS_STATE_SLEEPING, SS_WAIT_CHILD, 4));
    put(made,
        total_of(made, stack_of(made, 4, NULL, NULL), SS_STATE_UNINTERRUPTIBLE, SS_WAIT_FILE, 8));
    put(made, total_of(made, stack_of(made, 5, NULL, NULL), SS_STATE_SLEEPING, SS_WAIT_SOCKET, 16));
    put(made, total_of(made, stack_of(made, 6, NULL, NULL), SS_STATE_SLEEPING, SS_WAIT_TIMER, 32));
    put(made,
        total_of(made, stack_of(made, 8, "/usr/lib/python3.11/socketserver.py", "get_request"),
                 SS_STATE_SLEEPING, SS_WAIT_POLL, 128));
    /* A module is read once, whichever function imports it: no disk to read ahead of. */
    uint32_t plot =
        stack_of(made, 9, "/usr/lib/python3/dist-packages/matplotlib/pyplot.py", "savefig");
    uint32_t import = BUILD_CALL(&made->model, plot, .function = "get_data",
                                 .file = "<frozen importlib._bootstrap_external>", .line = 1131,
                                 .origin = SS_ORIGIN_STDLIB);
    put(made, total_of(made, import, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_FILE, 256));
    struct ss_model_total gil =
        total_of(made, stack_of(made, 7, NULL, NULL), SS_STATE_SLEEPING, SS_WAIT_UNKNOWN, 64);
    gil.gil = SS_GIL_WAITED;
    put(made, gil);
    find(made, false);
    assert_int_equal(made->waits.samples, 511);
    assert_int_equal(samples_of(made, SS_WAITS_LOCK), 1);
    assert_int_equal(samples_of(made, SS_WAITS_THREAD), 2);
    assert_int_equal(samples_of(made, SS_WAITS_PROCESS), 4);
    assert_int_equal(samples_of(made, SS_WAITS_DISK), 8);
    assert_int_equal(samples_of(made, SS_WAITS_NETWORK), 16);
    assert_int_equal(samples_of(made, SS_WAITS_SLEEP), 32);
    assert_int_equal(samples_of(made, SS_WAITS_CLIENTS), 128);
    assert_int_equal(samples_of(made, SS_WAITS_GIL), 64);
    const struct ss_model_frame *frame =
        &made->model.frames.data[made->waits.groups[SS_WAITS_SLEEP].line.frame];
    assert_int_equal(frame->line, 6);
}

/* Threads that compute, operators whose threads wait for each other, other threads and processes,
 * the first step. */
static void all_else_is_no_wait(void **state)
{
    struct made *made = *state;
    uint32_t stack = stack_of(made, 1, NULL, NULL);
    uint32_t locks = stack_of(made, 1, "/usr/lib/python3.11/threading.py", "wait");
    put(made, total_of(made, locks, SS_STATE_ON_CPU, SS_WAIT_UNKNOWN, 5));
    put(made, total_of(made, locks, SS_STATE_RUNNABLE, SS_WAIT_UNKNOWN, 5));
    put(made, total_of(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX, 5));
    put(made, total_of(made, stack, SS_STATE_SLEEPING, SS_WAIT_POLL, 5));
    put(made, total_of(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_OTHER, 5));
    struct ss_model_total total = total_of(made, locks, SS_STATE_SLEEPING, SS_WAIT_FUTEX, 5);
    total.thread = made->worker;
    put(made, total);
    total.thread = made->main;
    total.step = SS_SAMPLE_FIRST_STEP;
    put(made, total);
    find(made, false);
    assert_int_equal(made->waits.samples, 25);
    for (int group = 0; group < SS_WAITS_GROUPS; group++) {
        assert_int_equal(samples_of(made, (enum ss_wait_group)group), 0);
    }
    assert_int_equal(made->waits.holder.thread, 0);
}

static void loaders_speak_for_themselves(void **state)
{
    struct made *made = *state;
    struct ss_model_total total =
        total_of(made, stack_of(made, 1, NULL, NULL), SS_STATE_SLEEPING, SS_WAIT_TIMER, 7);
    total.phase = made->data;
    put(made, total);
    total.gil = SS_GIL_WAITED;
    put(made, total);
    find(made, true);
    assert_int_equal(samples_of(made, SS_WAITS_SLEEP), 0);
    assert_int_equal(samples_of(made, SS_WAITS_GIL), 7);
}

static void the_phase_with_most_of_it_is_named(void **state)
{
    struct made *made = *state;
    struct ss_model_total total =
        total_of(made, stack_of(made, 1, NULL, NULL), SS_STATE_SLEEPING, SS_WAIT_TIMER, 7);
    put(made, total);
    total.phase = made->forward;
    total.samples = 9;
    put(made, total);
    find(made, false);
    assert_int_equal(made->waits.groups[SS_WAITS_SLEEP].phase, made->forward);
    assert_int_equal(made->waits.groups[SS_WAITS_SLEEP].in_phase, 9);
}

/* --- who has the GIL ------------------------------------------------------------------------- */

static void the_holder_is_who_has_it_meanwhile(void **state)
{
    struct made *made = *state;
    uint32_t waits = stack_of(made, 1, NULL, NULL);
    uint32_t hot = stack_of(made, 50, NULL, NULL), cold = stack_of(made, 51, NULL, NULL);
    put_span(made, made->main, waits, false, 10, 19);
    put_span(made, made->main, waits, false, 30, 39);
    put_span(made, made->worker, hot, true, 8, 16);     /* 7 of 9 */
    put_span(made, made->worker, cold, true, 17, 17);   /* 1 */
    put_span(made, made->second, cold, true, 18, 19);   /* 2 */
    put_span(made, made->second, cold, true, 40, 90);   /* while no thread waits */
    put_span(made, made->stranger, cold, true, 10, 39); /* of another process */
    put_span(made, made->worker, hot, true, 35, 60);    /* 5 of 26 */
    find(made, false);
    const struct ss_gil_holder *holder = &made->waits.holder;
    assert_int_equal(holder->thread, made->worker);
    assert_int_equal(holder->samples, 13);
    assert_int_equal(holder->known, 15);
    assert_int_equal(holder->line.all, 13);
    assert_int_equal(holder->line.samples, 12);
    assert_int_equal(made->model.frames.data[holder->line.frame].line, 50);
}

static void a_holder_without_frames_is_a_thread(void **state)
{
    struct made *made = *state;
    put_span(made, made->main, stack_of(made, 1, NULL, NULL), false, 10, 19);
    put_span(made, made->worker, 0, true, 10, 19);
    find(made, false);
    assert_int_equal(made->waits.holder.thread, made->worker);
    assert_int_equal(made->waits.holder.samples, 10);
    assert_int_equal(made->waits.holder.line.frame, 0);
}

/* Too few ticks show both threads: the one that had the GIL in most of its samples is likely. */
static void without_common_ticks_a_holder_is_likely(void **state)
{
    struct made *made = *state;
    struct ss_model_total total =
        total_of(made, stack_of(made, 50, NULL, NULL), SS_STATE_ON_CPU, SS_WAIT_UNKNOWN, 40);
    put_span(made, made->main, stack_of(made, 1, NULL, NULL), false, 10, 19);
    put_span(made, made->worker, stack_of(made, 70, NULL, NULL), true, 10, 19);
    total.gil = SS_GIL_HELD;
    total.thread = made->second;
    put(made, total);
    total.thread = made->worker;
    total.samples = 39;
    put(made, total);
    total.thread = made->stranger; /* of another process */
    total.samples = 900;
    put(made, total);
    total.thread = made->worker;
    total.gil = SS_GIL_NONE;
    put(made, total);
    find(made, false);
    const struct ss_gil_holder *holder = &made->waits.holder;
    assert_true(holder->is_likely);
    assert_int_equal(holder->thread, made->second);
    assert_int_equal(holder->samples, 40);
    assert_int_equal(made->model.frames.data[holder->line.frame].line, 50);
}

static void without_a_rate_there_is_no_holder(void **state)
{
    struct made *made = *state;
    made->model.inputs.data[0].rate_hz = 0;
    put_span(made, made->main, stack_of(made, 1, NULL, NULL), false, 10, 19);
    put_span(made, made->worker, 0, true, 10, 19);
    find(made, false);
    assert_int_equal(made->waits.holder.thread, 0);
}

/* --- the rules ------------------------------------------------------------------------------- */

static void a_rule_claims_the_share_of_its_samples(void **state)
{
    struct made *made = *state;
    uint32_t stack = stack_of(made, 1, NULL, NULL);
    put(made, total_of(made, stack, SS_STATE_SLEEPING, SS_WAIT_TIMER, 40));
    put(made, total_of(made, stack, SS_STATE_SLEEPING, SS_WAIT_SOCKET, 29));
    put(made, total_of(made, stack, SS_STATE_ON_CPU, SS_WAIT_UNKNOWN, 91));
    find(made, false);
    struct ss_training_facts facts = {
        .waits = made->waits, .steps = &made->steps, .spread_ns = STEP_NS};
    struct ss_finding finding = {0};
    assert_true(ss_rule_sleep(&facts, &finding));
    assert_int_equal(finding.cost_ns, STEP_NS / 4);
    assert_int_equal(finding.recoverable_ns, STEP_NS / 4);
    assert_int_equal(finding.of_ns, STEP_NS);
    assert_int_equal(made->model.frames.data[finding.line->frame].line, 1);
    assert_null(finding.holder);
    assert_false(ss_rule_network_wait(&facts, &finding)); /* too few to claim anything */
    assert_false(ss_rule_lock_wait(&facts, &finding));
}

static void the_rule_on_the_gil_names_the_holder(void **state)
{
    struct made *made = *state;
    uint32_t stack = stack_of(made, 1, NULL, NULL);
    struct ss_model_total total = total_of(made, stack, SS_STATE_SLEEPING, SS_WAIT_UNKNOWN, 50);
    total.gil = SS_GIL_WAITED;
    put(made, total);
    put_span(made, made->main, stack, false, 0, 49);
    put_span(made, made->worker, stack_of(made, 9, NULL, NULL), true, 0, 39);
    find(made, false);
    struct ss_training_facts facts = {
        .waits = made->waits, .steps = &made->steps, .spread_ns = STEP_NS};
    struct ss_finding finding = {0};
    assert_true(ss_rule_gil_wait(&facts, &finding));
    assert_int_equal(finding.cost_ns, STEP_NS);
    assert_int_equal(finding.holder->thread, made->worker);
    assert_int_equal(finding.evidence_count, 2);
    assert_true(finding.evidence[1].value > 79 && finding.evidence[1].value < 81);
}

int main(void)
{
#define ON_MODEL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_MODEL(waits_are_distinguished),
        ON_MODEL(all_else_is_no_wait),
        ON_MODEL(loaders_speak_for_themselves),
        ON_MODEL(the_phase_with_most_of_it_is_named),
        ON_MODEL(the_holder_is_who_has_it_meanwhile),
        ON_MODEL(a_holder_without_frames_is_a_thread),
        ON_MODEL(without_common_ticks_a_holder_is_likely),
        ON_MODEL(without_a_rate_there_is_no_holder),
        ON_MODEL(a_rule_claims_the_share_of_its_samples),
        ON_MODEL(the_rule_on_the_gil_names_the_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
