/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/windows/window_filter.h"

enum { SECOND = 1000000000 };

static char story[4096];
static struct ss_window_filter *filter;

/* "12 begin 3/0 a": at second 12 range a begins on lane 3, domain 0. */
static void add_event(void *context, const struct ss_annot_event *event)
{
    (void)context;
    static const char *const kinds[] = {"begin",  "end",    "mark", "async", "finish",
                                        "flow",   "count",  "step", "epoch", "phase",
                                        "window", "thread", "fact", "line",  "over"};
    char *at = story + strlen(story);
    snprintf(at, sizeof story - strlen(story), "%s%" PRIu64 " %s %u/%u %c%s",
             at == story ? "" : "; ", event->time_ns / SECOND, kinds[event->kind], event->lane,
             event->domain, event->name != 0 ? (char)event->name : '-',
             event->unseen_end ? "!" : "");
}

static int setup(void **state)
{
    (void)state;
    struct ss_annot_sink sink = {.event = add_event};
    story[0] = '\0';
    filter = ss_window_filter_new(&sink, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ss_window_filter_free(filter);
    return 0;
}

static void give(struct ss_annot_event event)
{
    struct ss_annot_sink sink = ss_window_filter_sink(filter);
    event.time_ns *= SECOND;
    event.thread = event.lane + 1;
    sink.event(sink.context, &event);
}

static void begin(uint64_t time, uint32_t lane, char name)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_RANGE_BEGIN, .time_ns = time, .lane = lane, .name = (uint32_t)name});
}

static void end(uint64_t time, uint32_t lane)
{
    give((struct ss_annot_event){.kind = SS_ANNOT_RANGE_END, .time_ns = time, .lane = lane});
}

static void mark(uint64_t time, uint32_t lane, char name)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_MARK, .time_ns = time, .lane = lane, .name = (uint32_t)name});
}

static void line(uint64_t time, uint32_t lane, char name)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_LINE, .time_ns = time, .lane = lane, .name = (uint32_t)name});
}

static void window(uint64_t time, uint64_t number, uint32_t detail)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_WINDOW, .time_ns = time, .id = number, .detail = detail});
}

static void drained(uint64_t time)
{
    ss_window_filter_drained(filter, time * SECOND + SECOND / 2);
}

static void expect(const char *text)
{
    assert_string_equal(story, text);
    story[0] = '\0';
}

static void nothing_outside_windows(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    mark(2, 0, 'm');
    line(2, 0, 'l');
    end(3, 0);
    drained(4);
    expect("");
    window(5, 1, 2);
    begin(6, 0, 'b');
    mark(7, 0, 'n');
    end(8, 0);
    line(8, 0, 'k');
    window(9, 0, 0);
    mark(10, 0, 'o');
    line(10, 0, 'l');
    drained(11);
    expect("5 window 0/0 -; 9 window 0/0 -; 6 begin 0/0 b; 7 mark 0/0 n; 8 end 0/0 b; "
           "8 line 0/0 k");
    struct ss_window_counts counts = ss_window_filter_counts(filter);
    assert_int_equal(counts.windows, 1);
    assert_int_equal(counts.partial, 0);
}

static void ranges_are_cut_at_the_edges(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    begin(2, 0, 'b');
    window(3, 1, 2);
    begin(4, 0, 'c');
    window(5, 1, 3); /* the same window continues */
    window(6, 0, 0);
    end(7, 0);
    end(8, 0);
    window(9, 2, 3);
    end(10, 0);
    drained(11);
    expect("3 window 0/0 -; 5 window 0/0 -; 6 window 0/0 -; 9 window 0/0 -; 3 begin 0/0 a; "
           "3 begin 0/0 b; 4 begin 0/0 c; 6 end 0/0 c!; 6 end 0/0 b!; 6 end 0/0 a!; "
           "9 begin 0/0 a; 10 end 0/0 a");
    assert_int_equal(ss_window_filter_counts(filter).windows, 2);
}

static void windows_may_touch(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    window(2, 1, 3);
    window(3, 2, 3);
    window(4, 0, 0);
    drained(5);
    expect("2 window 0/0 -; 3 window 0/0 -; 4 window 0/0 -; 2 begin 0/0 a; 3 end 0/0 a!; "
           "3 begin 0/0 a; 4 end 0/0 a!");
}

static void events_wait_for_edges_of_other_rings(void **state)
{
    (void)state;
    begin(3, 1, 'x'); /* drained before the ring that holds the edge at 2 */
    drained(2);
    expect("");
    window(2, 1, 2);
    end(4, 1);
    drained(5);
    expect("2 window 0/0 -; 3 begin 1/0 x; 4 end 1/0 x");
}

static void ends_window(uint64_t time, uint32_t lane, uint32_t closed)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_WINDOW, .time_ns = time, .lane = lane, .closed = closed});
}

/* Two threads begin and end captures: their rings are drained in either order. */
static void windows_of_two_threads(void **state)
{
    (void)state;
    begin(1, 2, 'a');
    ends_window(4, 1, 1); /* before its begin has come */
    window(2, 1, 2);
    window(6, 2, 2);
    ends_window(4, 1, 1); /* of the window before: the second stays open */
    mark(3, 0, 'm');
    mark(5, 0, 'n');
    mark(7, 0, 'o');
    ends_window(8, 1, 2);
    mark(9, 0, 'p');
    drained(10);
    assert_non_null(strstr(story, "2 begin 2/0 a; 4 end 2/0 a!; 6 begin 2/0 a; 8 end 2/0 a!"));
    assert_non_null(strstr(story, "3 mark 0/0 m; 7 mark 0/0 o"));
    assert_null(strstr(story, "mark 0/0 n"));
    assert_null(strstr(story, "mark 0/0 p"));
    assert_int_equal(ss_window_filter_counts(filter).windows, 2);
    assert_int_equal(ss_window_filter_counts(filter).partial, 0);
}

static void asynchronous_ranges(void **state)
{
    (void)state;
    struct ss_annot_event event = {.kind = SS_ANNOT_ASYNC_END, .time_ns = 6, .lane = 1, .id = 9};
    give(event); /* its start lies in another ring */
    event =
        (struct ss_annot_event){.kind = SS_ANNOT_ASYNC_BEGIN, .time_ns = 1, .id = 9, .name = 'a'};
    give(event);
    event.id = 10;
    event.name = 'b';
    event.time_ns = 5;
    give(event);
    window(4, 1, 2);
    window(7, 0, 0);
    drained(8);
    expect("4 window 0/0 -; 7 window 0/0 -; 4 async 0/0 a; 5 async 0/0 b; 6 finish 0/0 a; "
           "7 finish 0/0 b!");
}

static void a_killed_program_leaves_a_partial_window(void **state)
{
    (void)state;
    window(1, 1, 2);
    begin(2, 0, 'a');
    end(3, 0);
    give((struct ss_annot_event){.kind = SS_ANNOT_STEP, .time_ns = 1});
    give((struct ss_annot_event){.kind = SS_ANNOT_PROCESS_END, .time_ns = 4});
    expect(
        "1 window 0/0 -; 1 step 0/0 -; 4 window 0/0 -; 2 begin 0/0 a; 3 end 0/0 a; 4 over 0/0 -");
    struct ss_window_counts counts = ss_window_filter_counts(filter);
    assert_int_equal(counts.windows, 1);
    assert_int_equal(counts.partial, 1);
}

static void many_windows_need_no_more_memory(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        begin(10 * i + 1, (uint32_t)(i % 3), 'a');
        window(10 * i + 2, i + 1, 3);
        window(10 * i + 3, 0, SS_RING_WINDOW_CUT);
        end(10 * i + 4, (uint32_t)(i % 3));
        drained(10 * i + 5);
        char expected[256];
        snprintf(expected, sizeof expected,
                 "%" PRIu64 " window 0/0 -; %" PRIu64 " window 0/0 -; %" PRIu64
                 " begin %u/0 a; %" PRIu64 " end %u/0 a!",
                 10 * i + 2, 10 * i + 3, 10 * i + 2, (unsigned)(i % 3), 10 * i + 3,
                 (unsigned)(i % 3));
        expect(expected);
    }
    assert_int_equal(ss_window_filter_counts(filter).partial, 1000);
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    window(1, 1, 2);
    for (int i = 0; i < 5000; i++) {
        begin(2, 0, 'd');
    }
    for (int i = 0; i < 5000; i++) {
        end(3, 0);
    }
    end(4, 0); /* one too many */
    mark(5, 0, 'm');
    window(6, 0, 0);
    drained(7);
    assert_non_null(strstr(story, "2 begin 0/0 d"));
}

/* --- with a file for each window ---------------------------------------------------------------
 */

static void add_edge(const char *what, const struct ss_window_edge *edge)
{
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, "%s%s %u at %" PRIu64 " step %" PRId64 "%s",
             used > 0 ? "; " : "", what, edge->window, edge->time_ns / SECOND, edge->step,
             edge->is_cut ? "!" : "");
}

static void on_begins(void *context, const struct ss_window_edge *edge)
{
    (void)context;
    add_edge("OPEN", edge);
}

static void on_ends(void *context, const struct ss_window_edge *edge)
{
    (void)context;
    add_edge("CLOSE", edge);
}

static void on_passed(void *context, uint32_t number)
{
    (void)context;
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, "%sPASSED %u", used > 0 ? "; " : "", number);
}

/* "mark 2": it lies in window 2. */
static void add_window(void *context, const struct ss_annot_event *event)
{
    (void)context;
    size_t used = strlen(story);
    if (event->kind == SS_ANNOT_WINDOW) {
        return;
    }
    const char *kind = event->kind == SS_ANNOT_STEP          ? "step"
                       : event->kind == SS_ANNOT_STEPS_END   ? "steps over"
                       : event->kind == SS_ANNOT_RANGE_END   ? "end"
                       : event->kind == SS_ANNOT_RANGE_BEGIN ? "begin"
                                                             : "mark";
    snprintf(story + used, sizeof story - used, "%s%s", used > 0 ? "; " : "", kind);
    used = strlen(story);
    if (event->kind == SS_ANNOT_STEP) {
        snprintf(story + used, sizeof story - used, " %" PRId64, (int64_t)event->value);
        used = strlen(story);
    }
    snprintf(story + used, sizeof story - used, " in %u", event->window);
    used = strlen(story);
    if (event->window_owner != 0) {
        snprintf(story + used, sizeof story - used, " of %u", event->window_owner);
    }
}

static int setup_files(void **state)
{
    (void)state;
    struct ss_annot_sink sink = {.event = add_window};
    struct ss_window_filter_options options = {.hooks = {NULL, on_begins, on_ends, on_passed},
                                               .cuts_steps = true};
    story[0] = '\0';
    filter = ss_window_filter_new(&sink, &options);
    return 0;
}

static int setup_late(void **state)
{
    (void)state;
    struct ss_annot_sink sink = {.event = add_window};
    struct ss_window_filter_options options = {.hooks = {NULL, on_begins, on_ends, on_passed},
                                               .is_late = true};
    story[0] = '\0';
    filter = ss_window_filter_new(&sink, &options);
    return 0;
}

static void step(uint64_t time, int64_t number)
{
    give(
        (struct ss_annot_event){.kind = SS_ANNOT_STEP, .time_ns = time, .value = (uint64_t)number});
}

static void edge_at(uint64_t time, uint64_t number, int64_t first)
{
    give((struct ss_annot_event){
        .kind = SS_ANNOT_WINDOW, .time_ns = time, .id = number, .value = (uint64_t)first});
}

static void everything_says_its_window(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    step(2, 5);
    edge_at(2, 1, 5);
    mark(3, 0, 'm');
    step(4, 6);
    edge_at(4, 2, 6); /* back to back */
    mark(5, 0, 'n');
    step(6, 7);
    edge_at(6, 0, 7);
    mark(7, 0, 'o');
    expect("OPEN 1 at 2 step 5; CLOSE 1 at 4 step 6; OPEN 2 at 4 step 6; CLOSE 2 at 6 step 7");
    drained(8);
    expect("begin in 1; mark in 1; end in 1; begin in 2; mark in 2; end in 2; "
           "step 5 in 1; steps over in 1; step 6 in 2; steps over in 2; PASSED 1; PASSED 2");
    assert_int_equal(ss_window_filter_counts(filter).left_out, 2);
}

static void phase(uint64_t time, char name)
{
    give((struct ss_annot_event){.kind = SS_ANNOT_PHASE, .time_ns = time, .name = (uint32_t)name});
}

static void only_the_phase_that_begins_at_the_edge(void **state)
{
    (void)state;
    phase(1, 'f');
    phase(4, 'b');
    edge_at(4, 1, 5);
    edge_at(6, 0, 6);
    drained(8);
    expect("OPEN 1 at 4 step 5; CLOSE 1 at 6 step 6; step 5 in 1; mark in 1; steps over in 1; "
           "PASSED 1");
}

static void a_schedule_that_comes_later(void **state)
{
    (void)state;
    mark(1, 0, 'm');
    end(2, 0); /* began before the filter did */
    edge_at(3, 0, 1);
    mark(4, 0, 'n');
    edge_at(5, 1, 2);
    mark(6, 0, 'o');
    edge_at(7, 0, 3);
    drained(8);
    expect("OPEN 1 at 5 step 2; CLOSE 1 at 7 step 3; mark in 0; end in 0; mark in 1; PASSED 1");
    assert_int_equal(ss_window_filter_counts(filter).windows, 1);
    assert_int_equal(ss_window_filter_counts(filter).partial, 0);
}

static void follow(uint64_t time, uint32_t number, bool opens)
{
    struct ss_window_edge edge = {.window = number, .time_ns = time * SECOND, .step = 40};
    ss_window_filter_follow(filter, 7, &edge, opens);
}

/* A worker that marks no steps: the windows are its parent's, and no others are heard of. */
static void windows_of_another_process(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    follow(2, 3, true);
    mark(3, 0, 'm');
    follow(4, 3, false);
    follow(4, 4, true);
    mark(5, 0, 'n');
    end(6, 0);
    mark(7, 0, 'o');
    drained(3);
    expect("begin in 3 of 7; mark in 3 of 7");
    assert_true(ss_window_filter_holds(filter, 7, 3));
    assert_false(ss_window_filter_holds(filter, 7, 4));
    follow(7, 4, false);
    follow(8, 4, false); /* it is closed */
    drained(8);
    expect("end in 3 of 7; begin in 4 of 7; mark in 4 of 7; end in 4 of 7; "
           "steps over in 3 of 7; steps over in 4 of 7");
    assert_false(ss_window_filter_holds(filter, 7, 3));
    assert_int_equal(ss_window_filter_counts(filter).windows, 0);
}

static void windows_of_its_own_at_last(void **state)
{
    (void)state;
    begin(1, 0, 'a');
    follow(2, 3, true);
    mark(3, 0, 'm');
    step(4, 5);
    edge_at(4, 1, 5);
    follow(5, 3, false);
    mark(6, 0, 'n');
    edge_at(7, 0, 6);
    drained(8);
    expect("OPEN 1 at 4 step 5; CLOSE 1 at 7 step 6; "
           "begin in 3 of 7; mark in 3 of 7; end in 3 of 7; begin in 1; mark in 1; end in 1; "
           "steps over in 3 of 7; step 5 in 1; steps over in 1; PASSED 1");
}

static void a_follower_ends(void **state)
{
    (void)state;
    follow(2, 3, true);
    begin(3, 0, 'a');
    give((struct ss_annot_event){.kind = SS_ANNOT_PROCESS_END, .time_ns = 4});
    expect("begin in 3 of 7; end in 3 of 7; steps over in 3 of 7; mark in 0"); /* the end itself */
    assert_int_equal(ss_window_filter_counts(filter).partial, 0);
}

/* What it did before the parent had a schedule is kept, as the parent's is. */
static void a_follower_that_is_late(void **state)
{
    (void)state;
    mark(1, 0, 'm');
    follow(2, 1, true);
    mark(3, 0, 'n');
    follow(4, 1, false);
    mark(5, 0, 'o');
    drained(6);
    expect("mark in 0; mark in 1 of 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_outside_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(ranges_are_cut_at_the_edges, setup, teardown),
        cmocka_unit_test_setup_teardown(windows_may_touch, setup, teardown),
        cmocka_unit_test_setup_teardown(events_wait_for_edges_of_other_rings, setup, teardown),
        cmocka_unit_test_setup_teardown(windows_of_two_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(asynchronous_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_program_leaves_a_partial_window, setup, teardown),
        cmocka_unit_test_setup_teardown(many_windows_need_no_more_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(depth_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(everything_says_its_window, setup_files, teardown),
        cmocka_unit_test_setup_teardown(only_the_phase_that_begins_at_the_edge, setup_files,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_schedule_that_comes_later, setup_late, teardown),
        cmocka_unit_test_setup_teardown(windows_of_another_process, setup_files, teardown),
        cmocka_unit_test_setup_teardown(windows_of_its_own_at_last, setup_files, teardown),
        cmocka_unit_test_setup_teardown(a_follower_ends, setup_files, teardown),
        cmocka_unit_test_setup_teardown(a_follower_that_is_late, setup_late, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
