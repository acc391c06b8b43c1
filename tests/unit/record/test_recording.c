/* SPDX-License-Identifier: Apache-2.0 */
/* Which records get into which files, with windows of two processes and a worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "record/recording/recording.h"
#include "trace/reader.h"

enum { MAIN = 1, RANK_A, RANK_B, WORKER, MOST_FILES = 64, MOST_SAMPLES = 256 };

static char folder[] = "/tmp/stepscope-test-XXXXXX";
static char template[600];
static struct ss_recording *recording;
static struct manual_clock manual;
static uint64_t base_ns;
static struct ss_window sealed[MOST_FILES];
static size_t sealed_count, refreshed;

static void on_refresh(void *context)
{
    (void)context;
    refreshed++;
}

static void on_sealed(void *context, const struct ss_window *window)
{
    (void)context;
    assert_true(sealed_count < MOST_FILES);
    sealed[sealed_count] = *window;
    sealed[sealed_count].output_path =
        window->output_path != NULL ? strdup(window->output_path) : NULL;
    sealed[sealed_count++].trace_path = NULL;
}

static void define(void)
{
    static const uint32_t parents[] = {0, 0, MAIN, MAIN, RANK_A};
    for (uint32_t ref = MAIN; ref <= WORKER; ref++) {
        struct ss_trace_process process = {.ref = ref,
                                           .parent_ref = parents[ref],
                                           .pid = (int32_t)(1000 + ref),
                                           .start_time_ticks = ref,
                                           .name = ss_strview_of("p")};
        struct ss_trace_thread thread = {
            .ref = ref, .process_ref = ref, .tid = (int32_t)(1000 + ref), .is_main = true};
        assert_int_equal(ss_recording_process(recording, &process, NULL), SS_OK);
        assert_int_equal(ss_recording_thread(recording, &thread, NULL), SS_OK);
    }
    struct ss_trace_frame frame = {.ref = 1, .function = ss_strview_of("f")};
    struct ss_trace_stack stack = {.ref = 1, .frame_ref = 1};
    assert_int_equal(ss_recording_frame(recording, &frame, NULL), SS_OK);
    assert_int_equal(ss_recording_stack(recording, &stack, NULL), SS_OK);
}

static struct ss_record_options options;

static int setup(void **state)
{
    (void)state;
    static char *program[] = {(char *)"program", NULL};
    struct ss_recording_hooks hooks = {NULL, on_refresh, on_sealed};
    snprintf(template, sizeof template, "%s/w{window}-{step}.pftrace", folder);
    options = (struct ss_record_options){.program = program,
                                         .window_name = template,
                                         .windows_to_keep = -1,
                                         .rate_hz = 100,
                                         .clock = &manual.clock};
    sealed_count = refreshed = 0;
    manual_clock_init(&manual, UINT64_C(5000000000000));
    base_ns = manual.now.monotonic_ns;
    assert_int_equal(ss_recording_open(&options, &hooks, &recording, NULL), SS_OK);
    define();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sealed_count; i++) {
        if (sealed[i].output_path != NULL) {
            unlink(sealed[i].output_path);
            free(sealed[i].output_path);
        }
    }
    return 0;
}

static void begin(uint32_t process, uint32_t number, uint64_t at, int64_t step)
{
    struct ss_window window = {.process_ref = process,
                               .number = number,
                               .pid = (pid_t)(1000 + process),
                               .first_step = step,
                               .begin_ns = base_ns + at};
    ss_recording_window_begin(recording, &window);
}

static void finish(uint32_t process, uint32_t number, uint64_t at, int64_t last)
{
    struct ss_route route = {process, number};
    ss_recording_window_end(recording, route, base_ns + at, last, false);
    ss_recording_window_drained(recording, route);
}

static void sample(uint32_t process, uint32_t window, uint64_t at)
{
    struct ss_trace_sample record = {.time_ns = base_ns + at,
                                     .thread_ref = process,
                                     .stack_ref = 1,
                                     .weight = 1,
                                     .window = window,
                                     .step = -1};
    struct ss_route route = {process, window};
    assert_int_equal(ss_recording_sample(recording, route, &record, NULL), SS_OK);
}

static void note(uint32_t process, uint64_t at, const char *kind, const char *text)
{
    struct ss_trace_note record = {.time_ns = base_ns + at,
                                   .process_ref = process,
                                   .kind = ss_strview_of(kind),
                                   .text = ss_strview_of(text)};
    struct ss_route route = {.process_ref = process};
    assert_int_equal(ss_recording_note(recording, route, &record, NULL), SS_OK);
}

static void count(uint32_t process, uint64_t seen)
{
    struct ss_trace_counts record = {.source_ref = 1,
                                     .process_ref = process,
                                     .time_ns = base_ns,
                                     .due = process == 0 ? seen : 0,
                                     .done = process == 0 ? seen : 0,
                                     .seen = seen,
                                     .ok = seen};
    assert_int_equal(ss_recording_counts(recording, &record, NULL), SS_OK);
}

/* --- what is in a file ------------------------------------------------------------------------ */

static char story[4096];
static uint32_t pids[64];
static enum ss_process_role roles[8]; /* by process */

static void add_text(const char *text)
{
    snprintf(story + strlen(story), sizeof story - strlen(story), "%s%s",
             story[0] != '\0' ? " " : "", text);
}

static enum ss_status read_process(void *context, const struct ss_trace_process *process)
{
    (void)context;
    if (process->ref < 64) {
        pids[process->ref] = (uint32_t)process->pid;
    }
    roles[process->pid - 1000] = process->role;
    return SS_OK;
}

static uint32_t thread_process[64];

static enum ss_status read_thread(void *context, const struct ss_trace_thread *thread)
{
    (void)context;
    if (thread->ref < 64) {
        thread_process[thread->ref] = thread->process_ref;
    }
    return SS_OK;
}

/* "2@5": of process 2, at 5. */
static enum ss_status read_sample(void *context, const struct ss_trace_sample *record)
{
    (void)context;
    char text[64];
    snprintf(text, sizeof text, "%u@%llu", pids[thread_process[record->thread_ref]] - 1000,
             (unsigned long long)(record->time_ns - base_ns));
    add_text(text);
    return SS_OK;
}

static enum ss_status read_note(void *context, const struct ss_trace_note *record)
{
    (void)context;
    char text[256];
    if (!ss_strview_equal(record->kind, ss_strview_of("window")) &&
        !ss_strview_equal(record->kind, ss_strview_of("window-ended"))) {
        snprintf(text, sizeof text, "[%.*s]", (int)record->text.length, record->text.data);
        add_text(text);
    }
    return SS_OK;
}

static uint64_t counted[8];

static enum ss_status read_counts(void *context, const struct ss_trace_counts *record)
{
    (void)context;
    uint32_t process = record->process_ref < 64 ? pids[record->process_ref] : 0;
    counted[process > 1000 ? process - 1000 : 0] = record->seen;
    return SS_OK;
}

static void expect(size_t index, const char *name, const char *text)
{
    static const struct ss_trace_visitor visitor = {.process = read_process,
                                                    .thread = read_thread,
                                                    .sample = read_sample,
                                                    .note = read_note,
                                                    .counts = read_counts};
    struct ss_trace_summary summary;
    struct ss_error err = {0};
    story[0] = '\0';
    memset(counted, 0, sizeof counted);
    memset(pids, 0, sizeof pids);
    memset(roles, 0, sizeof roles);
    assert_true(index < sealed_count);
    assert_string_equal(strrchr(sealed[index].output_path, '/') + 1, name);
    if (ss_trace_read(sealed[index].output_path, &visitor, NULL, &summary, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(summary.sealed);
    assert_string_equal(summary.damage, "");
    assert_string_equal(story, text);
}

static void close_all(void)
{
    ss_recording_finish(recording);
    assert_int_equal(ss_recording_close(recording, NULL), SS_OK);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void windows_of_two_processes_overlap(void **state)
{
    (void)state;
    ss_recording_marks_steps(recording, RANK_A);
    ss_recording_marks_steps(recording, RANK_B);
    sample(MAIN, 0, 1); /* no window is open */
    begin(RANK_A, 1, 10, 5);
    sample(RANK_A, 1, 11);
    sample(WORKER, 0, 12); /* with its parent */
    begin(RANK_B, 1, 20, 5);
    sample(RANK_B, 1, 21);
    sample(WORKER, 0, 22);
    sample(MAIN, 0, 23);   /* with every window */
    sample(RANK_A, 2, 24); /* a window that is not known */
    finish(RANK_A, 1, 30, 6);
    sample(WORKER, 0, 31); /* its parent has no window */
    sample(RANK_B, 1, 32);
    finish(RANK_B, 1, 40, 7);
    close_all();
    assert_int_equal(sealed_count, 2);
    assert_int_equal(sealed[0].last_step, 6);
    expect(0, "w0-5.pftrace", "2@11 4@12 4@22 1@23");
    expect(1, "w0-5-pid1003.pftrace", "3@21 1@23 3@32");
    assert_true(refreshed >= 4);
}

static void windows_back_to_back(void **state)
{
    (void)state;
    begin(RANK_A, 1, 10, 0);
    sample(RANK_A, 1, 11);
    ss_recording_window_end(recording, (struct ss_route){RANK_A, 1}, base_ns + 20, 0, false);
    begin(RANK_A, 2, 20, 1); /* before all of the first has come */
    sample(RANK_A, 2, 21);
    sample(MAIN, 0, 19);
    sample(MAIN, 0, 20);
    sample(RANK_A, 1, 18);
    ss_recording_window_drained(recording, (struct ss_route){RANK_A, 1});
    close_all(); /* the second is open: it is cut */
    assert_int_equal(sealed_count, 2);
    assert_true(sealed[1].partial && !sealed[0].partial);
    expect(0, "w0-0.pftrace", "2@11 2@18 1@19");
    expect(1, "w1-1.pftrace", "1@20 2@21");
}

static void counts_are_those_of_the_window(void **state)
{
    (void)state;
    count(0, 100);
    count(RANK_A, 60);
    count(RANK_B, 40);
    begin(RANK_A, 1, 10, 0);
    ss_recording_marks_steps(recording, RANK_B);
    count(0, 110);
    count(RANK_A, 65);
    count(RANK_B, 45);
    finish(RANK_A, 1, 20, 0);
    close_all();
    expect(0, "w0-0.pftrace", "");
    assert_int_equal(counted[0], 10);
    assert_int_equal(counted[RANK_A], 5);
    assert_int_equal(counted[RANK_B], 0);
}

static void notes_are_not_lost(void **state)
{
    (void)state;
    note(RANK_A, 1, "fact", "batch size = 32");
    note(0, 2, "children-polled", "why");
    begin(RANK_A, 1, 10, 0);
    note(RANK_A, 9, "fact", "worker = 1"); /* arrives when the window is open */
    note(RANK_A, 9, "rate", "before it");
    note(RANK_A, 15, "rate", "in it");
    finish(RANK_A, 1, 20, 0);
    note(0, 25, "rate", "between");
    begin(RANK_A, 2, 30, 1);
    finish(RANK_A, 2, 40, 1);
    close_all();
    expect(0, "w0-0.pftrace", "[batch size = 32] [why] [worker = 1] [in it]");
    expect(1, "w1-1.pftrace", "[batch size = 32] [worker = 1] [before it] [between]");
}

static void a_window_without_a_file_costs_no_other(void **state)
{
    (void)state;
    char path[700];
    snprintf(path, sizeof path, "%s/w0-0.pftrace", folder);
    assert_int_equal(mkdir(path, 0700), 0); /* in its way */
    begin(RANK_A, 1, 10, 0);
    sample(RANK_A, 1, 11);
    finish(RANK_A, 1, 20, 0);
    begin(RANK_A, 2, 30, 1);
    sample(RANK_A, 2, 31);
    finish(RANK_A, 2, 40, 1);
    struct ss_window_file_figures figures;
    ss_recording_get_files(recording, &figures);
    assert_int_equal(figures.failed, 1);
    assert_int_equal(figures.finished, 1);
    assert_non_null(strstr(figures.first_error, "w0-0"));
    close_all();
    assert_true(sealed[0].failed);
    expect(1, "w1-1.pftrace", "2@31");
    rmdir(path);
}

static void set_role(uint32_t process, enum ss_process_role role)
{
    assert_int_equal(ss_recording_role(recording, process, role, NULL), SS_OK);
}

/* Roles that become known before, in, and after the files of windows. */
static void processes_have_the_strongest_role(void **state)
{
    (void)state;
    begin(RANK_A, 1, 0, 0);
    sample(RANK_A, 1, 5);
    sample(WORKER, 0, 6);
    set_role(WORKER, SS_PROCESS_ROLE_LOADS_DATA);
    set_role(WORKER, SS_PROCESS_ROLE_TRAINS);
    set_role(RANK_A, SS_PROCESS_ROLE_LAUNCHES);
    set_role(77, SS_PROCESS_ROLE_TRAINS); /* unknown */
    finish(RANK_A, 1, 10, 0);
    expect(0, "w0-0.pftrace", "2@5 4@6");
    assert_int_equal(roles[RANK_A], SS_PROCESS_ROLE_LAUNCHES);
    assert_int_equal(roles[WORKER], SS_PROCESS_ROLE_LOADS_DATA);
    assert_int_equal(roles[MAIN], SS_PROCESS_ROLE_UNKNOWN);
    begin(RANK_A, 2, 20, 1);
    sample(RANK_A, 2, 25);
    set_role(RANK_A, SS_PROCESS_ROLE_TRAINS); /* so that its parent launches */
    set_role(MAIN, SS_PROCESS_ROLE_UNKNOWN);
    define(); /* again, as after an exec */
    finish(RANK_A, 2, 30, 1);
    expect(1, "w1-1.pftrace", "2@25");
    assert_int_equal(roles[RANK_A], SS_PROCESS_ROLE_TRAINS);
    assert_int_equal(roles[MAIN], SS_PROCESS_ROLE_LAUNCHES);
    close_all();
}

static void forget(uint32_t process)
{
    ss_recording_forget(recording, process);
}

/* The owner of the windows starts a wrapper, such as a shell, which starts a worker: one file, and
 * a schedule that the program sets itself. */
static void ended_wrappers_lead_to_the_window_owner(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/single.pftrace", folder);
    struct ss_record_options single = {.path = path, .rate_hz = 100, .clock = &manual.clock};
    manual_clock_init(&manual, UINT64_C(5000000000000));
    assert_int_equal(ss_recording_open(&single, &(struct ss_recording_hooks){0}, &recording, NULL),
                     SS_OK);
    define(); /* WORKER is a child of RANK_A, which is a child of MAIN */
    ss_recording_marks_steps(recording, MAIN);
    assert_int_equal(ss_recording_window_owner(recording, WORKER), MAIN);
    forget(RANK_A);
    assert_int_equal(ss_recording_window_owner(recording, WORKER), MAIN);
    define(); /* again, as after an exec */
    forget(MAIN);
    forget(RANK_A);
    assert_int_equal(ss_recording_window_owner(recording, WORKER), MAIN);
    /* With the last that needs them they are gone. */
    forget(WORKER);
    assert_int_equal(ss_recording_window_owner(recording, WORKER), 0);
    assert_int_equal(ss_recording_window_owner(recording, RANK_A), 0);
    assert_int_equal(ss_recording_window_owner(recording, RANK_B), MAIN);
    forget(RANK_B);
    assert_int_equal(ss_recording_window_owner(recording, MAIN), 0);
    close_all();
    unlink(path);
}

static void only_the_newest_of_each_process_stay(void **state)
{
    (void)state;
    options.windows_to_keep = 2;
    for (uint32_t i = 1; i <= 4; i++) {
        begin(RANK_A, i, 10 * i, i);
        finish(RANK_A, i, 10 * i + 5, i);
    }
    begin(RANK_B, 1, 100, 9);
    finish(RANK_B, 1, 110, 9);
    close_all();
    assert_int_equal(sealed_count, 5);
    for (size_t i = 0; i < sealed_count; i++) {
        assert_int_equal(access(sealed[i].output_path, F_OK) == 0, i >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_of_two_processes_overlap, setup, teardown),
        cmocka_unit_test_setup_teardown(windows_back_to_back, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_are_those_of_the_window, setup, teardown),
        cmocka_unit_test_setup_teardown(notes_are_not_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(a_window_without_a_file_costs_no_other, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_have_the_strongest_role, setup, teardown),
        cmocka_unit_test(ended_wrappers_lead_to_the_window_owner),
        cmocka_unit_test_setup_teardown(only_the_newest_of_each_process_stay, setup, teardown),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
