/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's loop, by a clock of the test: when it writes, and what ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>

#include "record/session/session.h"
#include "recorded_program.h"

/* Runs the session in a process of its own, whose signals are its own. */
static void run(struct recorded_program *recorded, struct ss_record_shared *shared)
{
    int notices[2];
    assert_int_equal(pipe2(notices, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t recorder = fork();
    assert_true(recorder >= 0);
    if (recorder == 0) {
        struct ss_program_signals signals = {.child.sa_handler = SIG_DFL,
                                             .pipe.sa_handler = SIG_DFL};
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &signals.mask);
        recorded_program_enter();
        ss_session_run(&recorded->options, &signals, shared, notices[1]);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(recorder, &status, 0), recorder);
    assert_int_equal(status, 0);
    close(notices[0]);
    close(notices[1]);
}

struct notes {
    char end[64]; /* the text of "recording-ended" */
};

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct notes *notes = context;
    if (ss_strview_equal(note->kind, ss_strview_of("recording-ended"))) {
        snprintf(notes->end, sizeof notes->end, "%.*s", (int)note->text.length, note->text.data);
    }
    return SS_OK;
}

static struct ss_trace_summary read_trace(const struct recorded_program *recorded,
                                          struct notes *notes)
{
    static const struct ss_trace_visitor visitor = {.note = on_note};
    struct ss_trace_summary summary;
    struct ss_error err = {0};
    if (ss_trace_read(recorded->path, &visitor, notes, &summary, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(summary.sealed);
    return summary;
}

static void a_duration_is_over_while_the_program_runs_on(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct recorded_program recorded;
    struct ss_record_shared *shared = recorded_share(sizeof *shared);
    recorded_program_init(&recorded, program, RECORDED_SECOND);
    recorded.options.duration_ns = RECORDED_HOUR;
    run(&recorded, shared);
    const struct ss_record_figures *figures = &shared->figures;
    assert_int_equal(atomic_load(&shared->end), SS_RECORD_DURATION);
    assert_false(atomic_load(&shared->program_ended));
    assert_int_equal(kill(atomic_load(&shared->program_pid), 0), 0);
    uint64_t took_ns = figures->end_ns - figures->start_ns;
    assert_true(took_ns >= RECORDED_HOUR && took_ns < RECORDED_HOUR + 60 * RECORDED_SECOND);
    assert_in_range(figures->due, 359000, 366000); /* 100 ticks a second */
    assert_int_equal(figures->due, figures->done + figures->skipped);
    struct notes notes = {""};
    struct ss_trace_summary summary = read_trace(&recorded, &notes);
    assert_string_equal(notes.end, "the requested duration was over");
    assert_in_range(summary.units, 100, 3600); /* one a second, or for each round of the loop */
    munmap(shared, sizeof *shared);
}

/* A kill in the first second must leave something. */
static void the_first_second_is_written_in_parts(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct recorded_program recorded;
    struct ss_record_shared *shared = recorded_share(sizeof *shared);
    recorded_program_init(&recorded, program, RECORDED_SECOND / 200);
    recorded.options.rate_hz = 200;
    recorded.options.duration_ns = RECORDED_SECOND;
    run(&recorded, shared);
    assert_int_equal(atomic_load(&shared->end), SS_RECORD_DURATION);
    struct notes notes = {""};
    assert_in_range(read_trace(&recorded, &notes).units, 4, 7);
    munmap(shared, sizeof *shared);
}

static void the_end_of_the_program_ends_it(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    struct recorded_program recorded;
    struct ss_record_shared *shared = recorded_share(sizeof *shared);
    recorded_program_init(&recorded, program, RECORDED_SECOND / 100);
    run(&recorded, shared);
    assert_int_equal(atomic_load(&shared->end), SS_RECORD_PROGRAM_ENDED);
    assert_true(atomic_load(&shared->program_ended));
    int status = atomic_load(&shared->program_status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    struct notes notes = {""};
    read_trace(&recorded, &notes);
    assert_string_equal(notes.end, "the program ended");
    munmap(shared, sizeof *shared);
}

static void a_program_that_cannot_run_leaves_no_file(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"/no/such/program", NULL};
    struct recorded_program recorded;
    struct ss_record_shared *shared = recorded_share(sizeof *shared);
    recorded_program_init(&recorded, program, RECORDED_SECOND / 100);
    run(&recorded, shared);
    assert_int_equal(atomic_load(&shared->exec_errno), ENOENT);
    assert_int_equal(access(recorded.path, F_OK), -1);
    munmap(shared, sizeof *shared);
}

static void a_file_that_cannot_be_written_is_the_error(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct recorded_program recorded;
    struct ss_record_shared *shared = recorded_share(sizeof *shared);
    recorded_program_init(&recorded, program, RECORDED_SECOND / 100);
    recorded.options.path = "/no/such/folder/t.pftrace";
    run(&recorded, shared);
    assert_int_equal(atomic_load(&shared->end), SS_RECORD_FAILED);
    assert_non_null(strstr(shared->error.message, "/no/such/folder"));
    assert_int_equal(atomic_load(&shared->program_pid), 0);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_duration_is_over_while_the_program_runs_on,
                                  recorded_program_end),
        cmocka_unit_test_teardown(the_first_second_is_written_in_parts, recorded_program_end),
        cmocka_unit_test_teardown(the_end_of_the_program_ends_it, recorded_program_end),
        cmocka_unit_test_teardown(a_program_that_cannot_run_leaves_no_file, recorded_program_end),
        cmocka_unit_test_teardown(a_file_that_cannot_be_written_is_the_error, recorded_program_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
