/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor returns and when it reports; the recording's time is that of a clock of the
 * test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>

#include "platform/procfs.h"
#include "record/session/supervisor.h"
#include "recorded_program.h"

/* What a supervisor in a process of its own did. */
struct outcome {
    struct ss_record_result result, reported;
    int reports, program_status;
    enum ss_status status;
};

struct run {
    struct recorded_program recorded;
    struct outcome *outcome; /* shared */
    int reported_fds[2];     /* a byte for each report */
    pid_t supervisor;
};

static bool on_finished(void *context, const struct ss_record_result *result)
{
    struct run *run = context;
    run->outcome->reports++;
    run->outcome->reported = *result;
    return write(run->reported_fds[1], "r", 1) != 1;
}

static void start(struct run *run)
{
    run->outcome = recorded_share(sizeof *run->outcome);
    assert_int_equal(pipe2(run->reported_fds, O_CLOEXEC), 0);
    run->supervisor = fork();
    assert_true(run->supervisor >= 0);
    if (run->supervisor == 0) {
        struct outcome *outcome = run->outcome;
        setpgid(0, 0); /* signals to its group reach no other test */
        recorded_program_enter();
        outcome->status = ss_supervise(&run->recorded.options, on_finished, run, &outcome->result,
                                       &outcome->program_status, NULL);
        _exit(0);
    }
}

static void finish(struct run *run)
{
    int status = -1;
    assert_int_equal(waitpid(run->supervisor, &status, 0), run->supervisor);
    assert_int_equal(status, 0);
    assert_int_equal(run->outcome->status, SS_OK);
    assert_int_equal(run->outcome->reports, 1);
    close(run->reported_fds[0]);
    close(run->reported_fds[1]);
}

static void the_status_of_the_program_is_returned(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    struct run run;
    recorded_program_init(&run.recorded, program, RECORDED_SECOND / 100);
    start(&run);
    finish(&run);
    const struct outcome *outcome = run.outcome;
    assert_true(WIFEXITED(outcome->program_status) && WEXITSTATUS(outcome->program_status) == 7);
    assert_int_equal(outcome->result.end, SS_RECORD_PROGRAM_ENDED);
    assert_true(outcome->result.started && outcome->result.ran && !outcome->result.recorder_died);
    assert_false(outcome->result.output_failed);
    munmap(run.outcome, sizeof *run.outcome);
}

/* The report does not wait for the program, but the supervisor does. */
static void a_recording_is_reported_while_the_program_runs_on(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct run run;
    char byte;
    recorded_program_init(&run.recorded, program, RECORDED_SECOND);
    run.recorded.options.duration_ns = RECORDED_HOUR;
    start(&run);
    assert_int_equal(read(run.reported_fds[0], &byte, 1), 1);
    assert_int_equal(run.outcome->reported.end, SS_RECORD_DURATION);
    uint64_t took_ns =
        run.outcome->reported.figures.end_ns - run.outcome->reported.figures.start_ns;
    assert_true(took_ns >= RECORDED_HOUR && took_ns < RECORDED_HOUR + 60 * RECORDED_SECOND);
    assert_int_equal(waitpid(run.supervisor, NULL, WNOHANG), 0);
    recorded_program_close_stdin();
    finish(&run);
    assert_int_equal(run.outcome->program_status, 0);
    assert_true(run.outcome->result.ran);
    munmap(run.outcome, sizeof *run.outcome);
}

static void signals_to_it_alone_reach_the_program(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct run run;
    char byte;
    recorded_program_init(&run.recorded, program, RECORDED_SECOND);
    run.recorded.options.duration_ns = RECORDED_SECOND;
    start(&run);
    assert_int_equal(read(run.reported_fds[0], &byte, 1), 1); /* the program runs */
    kill(run.supervisor, SIGTERM);
    finish(&run);
    assert_true(WIFSIGNALED(run.outcome->program_status));
    assert_int_equal(WTERMSIG(run.outcome->program_status), SIGTERM);
    munmap(run.outcome, sizeof *run.outcome);
}

static void a_program_runs_also_without_its_recording(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL};
    struct run run;
    recorded_program_init(&run.recorded, program, RECORDED_SECOND / 10);
    run.recorded.options.path = "/no/such/folder/t.pftrace";
    start(&run);
    finish(&run);
    assert_true(run.outcome->result.ran && run.outcome->result.reported);
    assert_int_equal(run.outcome->result.end, SS_RECORD_FAILED);
    assert_int_equal(WEXITSTATUS(run.outcome->program_status), 5);
    munmap(run.outcome, sizeof *run.outcome);
}

/* The recorder waits at its first reading of the clock, before it starts the program. */
struct gate {
    struct manual_clock *time;
    int arrived[2], opened[2];
    bool is_open;
};

static uint64_t wait_at_gate(void *context)
{
    struct gate *gate = context;
    char byte = 'a';
    if (!gate->is_open) {
        gate->is_open =
            write(gate->arrived[1], &byte, 1) == 1 && read(gate->opened[0], &byte, 1) == 1;
    }
    return manual_clock_monotonic_ns(gate->time);
}

static void read_at_gate(void *context, struct ss_clock_reading *reading)
{
    manual_clock_read(((struct gate *)context)->time, reading);
}

static bool has_pending(pid_t pid, int number)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    assert_true(ss_procfs_read(path, text, sizeof text) > 0);
    const char *at = strstr(text, "\nShdPnd:");
    assert_non_null(at);
    return (strtoull(at + 8, NULL, 16) >> (number - 1) & 1) != 0;
}

static void signals_before_the_program_reach_it(void **state)
{
    (void)state;
    static char *const program[] = {(char *)"cat", NULL};
    struct run run;
    char byte = 'o';
    recorded_program_init(&run.recorded, program, RECORDED_SECOND);
    struct gate gate = {.time = &run.recorded.clock};
    struct ss_clock clock = {wait_at_gate, read_at_gate, &gate};
    run.recorded.options.clock = &clock;
    assert_int_equal(pipe2(gate.arrived, O_CLOEXEC), 0);
    assert_int_equal(pipe2(gate.opened, O_CLOEXEC), 0);
    start(&run);
    assert_int_equal(read(gate.arrived[0], &byte, 1), 1);
    /* When it has read the second one it is done with the first. `cat` ignores SIGURG. */
    static const int numbers[] = {SIGTERM, SIGURG};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kill(run.supervisor, numbers[i]);
        while (has_pending(run.supervisor, numbers[i])) {
            sched_yield();
        }
    }
    assert_int_equal(write(gate.opened[1], &byte, 1), 1);
    finish(&run);
    assert_true(WIFSIGNALED(run.outcome->program_status));
    assert_int_equal(WTERMSIG(run.outcome->program_status), SIGTERM);
    for (int end = 0; end < 2; end++) {
        close(gate.arrived[end]);
        close(gate.opened[end]);
    }
    munmap(run.outcome, sizeof *run.outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_status_of_the_program_is_returned, recorded_program_end),
        cmocka_unit_test_teardown(a_recording_is_reported_while_the_program_runs_on,
                                  recorded_program_end),
        cmocka_unit_test_teardown(signals_to_it_alone_reach_the_program, recorded_program_end),
        cmocka_unit_test_teardown(signals_before_the_program_reach_it, recorded_program_end),
        cmocka_unit_test_teardown(a_program_runs_also_without_its_recording, recorded_program_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
