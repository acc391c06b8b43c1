/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread holds the lock that a main thread waits for, by the source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/samples/lock_holder.h"

/* train.py, from line 1 on. */
static const char *const program[] = {
    "def log():",
    "    while True:",
    "        with self.log_lock, open(name) as file:",
    "            if full:",
    "",
    "                file.flush()",
    "            write(file)",
    "        rest()",
    "with log_lock: shared.append(1)",
    "with torch.no_grad(), other_lock:",
    "    evaluate()",
    "log_lock.acquire()",
    "with log_lock: time.sleep(1)",
    "        def later():",
    "            run()",
    "event.wait()",
};

struct made {
    struct ss_model model;
    uint32_t process, main, logger, reader, stranger;
    struct ss_step_summary steps;
    struct ss_lock_holder holder;
};

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    (void)context;
    (void)path;
    bool is_there = line >= 1 && line <= sizeof program / sizeof *program;
    return is_there ? ss_strview_of(program[line - 1]) : (struct ss_strview){0};
}

static int set_up(void **state)
{
    static struct made made;
    static bool trains[16];
    made = (struct made){0};
    ss_model_init(&made.model);
    made.process = BUILD_PROCESS(&made.model, .pid = 42);
    uint32_t other = BUILD_PROCESS(&made.model, .pid = 43);
    made.main = BUILD_THREAD(&made.model, .process = made.process, .is_main = true);
    made.logger = BUILD_THREAD(&made.model, .process = made.process, .name = "logger");
    made.reader = BUILD_THREAD(&made.model, .process = made.process, .name = "reader");
    made.stranger = BUILD_THREAD(&made.model, .process = other, .name = "stranger");
    trains[made.process] = true;
    made.steps.trains = trains;
    ss_vec_push(&made.steps.steps, (struct ss_step){.process = made.process, .end_ns = 1});
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    struct made *made = *state;
    ss_vec_fini(&made->steps.steps);
    ss_model_fini(&made->model);
    return 0;
}

static uint32_t stack_at(struct made *made, uint32_t parent, int32_t line)
{
    return BUILD_CALL(&made->model, parent, .function = "f", .file = "/x/train.py", .line = line,
                      .origin = SS_ORIGIN_USER);
}

static void put(struct made *made, uint32_t thread, uint32_t stack, enum ss_wait_kind wait,
                uint64_t samples)
{
    struct ss_model_total total = {.thread = thread,
                                   .stack = stack,
                                   .state = SS_STATE_SLEEPING,
                                   .wait = (uint8_t)wait,
                                   .samples = samples,
                                   .records = samples};
    ss_model_add_total(&made->model, &total);
}

/* The main thread waits at this line. */
static void find(struct made *made, int32_t line)
{
    uint32_t stack = stack_at(made, 0, line);
    struct ss_source_lines source = {.line = source_line};
    ss_lock_holder_find(&made->holder, &made->model, &made->steps, &source,
                        made->model.stacks.data[stack].frame);
}

static int32_t line_of(const struct made *made)
{
    return made->model.frames.data[made->holder.line.frame].line;
}

/* Within the statement, at any depth, and in what it calls; not beside it. */
static void a_thread_within_the_statement_holds_the_lock(void **state)
{
    struct made *made = *state;
    put(made, made->logger, stack_at(made, 0, 6), SS_WAIT_FILE, 40);
    put(made, made->logger, stack_at(made, stack_at(made, 0, 7), 15), SS_WAIT_FILE, 9);
    put(made, made->logger, stack_at(made, 0, 8), SS_WAIT_FILE, 500);
    put(made, made->reader, stack_at(made, 0, 13), SS_WAIT_TIMER, 30); /* in one line */
    put(made, made->reader, stack_at(made, 0, 11), SS_WAIT_TIMER, 90); /* another lock */
    put(made, made->stranger, stack_at(made, 0, 6), SS_WAIT_FILE, 900);
    find(made, 9);
    assert_string_equal(made->holder.lock, "log_lock");
    assert_int_equal(made->holder.thread, made->logger);
    assert_int_equal(made->holder.line.all, 49);
    assert_int_equal(made->holder.line.samples, 40);
    assert_int_equal(line_of(made), 6);
}

/* A thread that sleeps in a futex at the statement itself waits, as the main thread does. */
static void threads_that_wait_do_not_hold_it(void **state)
{
    struct made *made = *state;
    put(made, made->reader, stack_at(made, 0, 9), SS_WAIT_FUTEX, 90);
    put(made, made->reader, stack_at(made, 0, 3), SS_WAIT_UNKNOWN, 90);
    put(made, made->main, stack_at(made, 0, 6), SS_WAIT_FILE, 90);
    find(made, 9);
    assert_string_equal(made->holder.lock, "log_lock");
    assert_int_equal(made->holder.thread, 0);
    put(made, made->reader, stack_at(made, 0, 13), SS_WAIT_TIMER, 10);
    find(made, 9);
    assert_int_equal(made->holder.thread, made->reader);
    assert_int_equal(made->holder.line.all, 10);
}

/* A lock may be acquired by a call; a function within the statement runs elsewhere. */
static void the_lock_has_the_last_name_of_its_expression(void **state)
{
    struct made *made = *state;
    put(made, made->logger, stack_at(made, 0, 7), SS_WAIT_FILE, 40);
    find(made, 12);
    assert_string_equal(made->holder.lock, "log_lock");
    assert_int_equal(made->holder.thread, made->logger);
    find(made, 10); /* the first of what a statement enters */
    assert_string_equal(made->holder.lock, "no_grad");
    assert_int_equal(made->holder.thread, 0);
    find(made, 16);
    assert_string_equal(made->holder.lock, "");
    assert_int_equal(made->holder.thread, 0);
}

static void without_a_source_nothing_is_known(void **state)
{
    struct made *made = *state;
    put(made, made->logger, stack_at(made, 0, 6), SS_WAIT_FILE, 40);
    uint32_t frame = made->model.stacks.data[stack_at(made, 0, 9)].frame;
    ss_lock_holder_find(&made->holder, &made->model, &made->steps, NULL, frame);
    assert_string_equal(made->holder.lock, "");
    struct ss_source_lines source = {.line = source_line};
    ss_lock_holder_find(&made->holder, &made->model, &made->steps, &source, 0);
    assert_string_equal(made->holder.lock, "");
    find(made, 99);
    assert_string_equal(made->holder.lock, "");
}

int main(void)
{
#define ON_MODEL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_MODEL(a_thread_within_the_statement_holds_the_lock),
        ON_MODEL(threads_that_wait_do_not_hold_it),
        ON_MODEL(the_lock_has_the_last_name_of_its_expression),
        ON_MODEL(without_a_source_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
