/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "annot/schedule_text.h"
#include "annot/steps.h"

static struct ss_steps steps;
static char story[2048];
static uint32_t window; /* open in the story */

/* "s5" step 5 begins, "e1" epoch 1, "[2" window 2 is open from here, "]" none is, "~" the one that
 * ended was cut; "w" warmup, "." skip. */
static void mark_request(const struct ss_steps_request *request)
{
    struct ss_steps_change change = ss_steps_mark(&steps, request);
    assert_false(change.busy);
    char *at = story + strlen(story);
    size_t left = sizeof story - strlen(story);
    at += snprintf(at, left, "%s", story[0] != '\0' ? " " : "");
    left = sizeof story - strlen(story);
    if (change.begins_step) {
        at += snprintf(at, left, "s%" PRId64, change.step);
    }
    if (change.begins_epoch) {
        at += snprintf(at, left, "e%" PRId64, change.epoch);
    }
    if (!change.changes_window) {
        return;
    }
    at += snprintf(at, left, "%s", change.cut ? "~" : "");
    if (change.window != 0 && (change.window != window || change.cut)) {
        snprintf(at, left, "[%u", change.window);
    } else if (change.window == 0) {
        snprintf(at, left, "]%c", ".wrS"[change.action]);
    } else {
        snprintf(at, left, "%c", ".wrS"[change.action]);
    }
    window = change.window;
}

static void mark_all(enum ss_steps_mark mark, int64_t number, int64_t length, int64_t resumed_at)
{
    struct ss_steps_request request = {
        .mark = mark, .number = number, .length = length, .resumed_at = resumed_at};
    mark_request(&request);
}

/* A detected step, which the program does not mark. */
static void find(enum ss_steps_mark mark, int64_t number)
{
    struct ss_steps_request request = {
        .mark = mark, .number = number, .length = -1, .is_found = true};
    mark_request(&request);
}

/* The program's first own mark, which comes behind some that were found. */
static void overrule(enum ss_steps_mark mark)
{
    struct ss_steps_request request = {
        .mark = mark, .number = mark == SS_STEPS_BEGIN ? 0 : -1, .length = -1, .overrules = true};
    mark_request(&request);
}

static void begin(int64_t number)
{
    mark_all(SS_STEPS_BEGIN, number, -1, 0);
}
static void next(void)
{
    mark_all(SS_STEPS_NEXT, -1, -1, 0);
}
static void epoch(int64_t length, int64_t resumed_at)
{
    mark_all(SS_STEPS_EPOCH, -1, length, resumed_at);
}
static void end(void)
{
    mark_all(SS_STEPS_END, -1, -1, 0);
}

static void with_schedule(const char *schedule)
{
    ss_steps_init(&steps, schedule, NULL);
    window = 0;
    story[0] = '\0';
}

static void without_a_schedule(void **state)
{
    (void)state;
    with_schedule(NULL);
    begin(0);
    begin(1);
    begin(10);
    next();
    epoch(4, 0);
    end();
    assert_string_equal(story, "s0 s1 s10 s11 e0 ");
    with_schedule("nonsense");
    assert_false(steps.has_schedule);
    next(); /* ends step 0 */
    next();
    assert_string_equal(story, "s1 s2");
}

static void steps_that_begin(void **state)
{
    (void)state;
    with_schedule("wait=1,warmup=1,active=2,repeat=1");
    for (int i = 0; i < 6; i++) {
        begin(i);
    }
    end();
    assert_string_equal(story, "s0 s1]w s2[1 s3S s4]. s5 ");
}

static void steps_that_end(void **state)
{
    (void)state;
    with_schedule("wait=1,warmup=1,active=2,repeat=1");
    for (int i = 0; i < 5; i++) {
        next();
    }
    assert_string_equal(story, "s1]w s2[1 s3S s4]. s5");
    with_schedule("active=1"); /* window 1 would have been step 0: its start was not marked */
    next();
    next();
    end();
    assert_string_equal(story, "s1[2 s2[3 ~].");
    with_schedule("active=1");
    begin(0);
    next();
    assert_string_equal(story, "s0[1 s1[2");
}

static void windows_are_cut(void **state)
{
    (void)state;
    with_schedule("active=5");
    begin(100);
    begin(101);
    end();
    assert_string_equal(story, "s100[1 s101 ~].");
}

static void epochs_of_both_kinds(void **state)
{
    (void)state;
    with_schedule("per_epoch,skip_first=1,warmup=0,active=1");
    for (int e = 0; e < 2; e++) { /* as C does */
        epoch(3, 0);
        for (int b = 0; b < 3; b++) {
            begin(3 * e + b);
        }
    }
    assert_string_equal(story, "e0 s0 s1[1 s2]. e1 s3 s4[2 s5].");
    with_schedule("per_epoch,skip_first=1,warmup=0,active=1");
    for (int e = 0; e < 2; e++) { /* as Python does */
        epoch(3, e == 0 ? 1 : 0);
        if (e == 0) {
            begin(0);
        }
        for (int b = e == 0 ? 1 : 0; b < 3; b++) {
            next();
        }
    }
    assert_string_equal(story, "e0 s0 s1[1 s2]. e1 s3[2 s4]. s5");
    with_schedule("per_epoch,warmup=0,active=4");
    epoch(-1, 0);
    begin(0);
    begin(1);
    epoch(-1, 0);
    assert_string_equal(story, "e0[1 s0 s1 e1~[2");
}

/* Where steps begin, an epoch begins behind the one under way; where they end, the next one is. */
static void windows_of_epochs_open_with_their_own_step(void **state)
{
    (void)state;
    struct ss_steps_request epoch_begins = {SS_STEPS_EPOCH, -1, 2, 0};
    with_schedule("per_epoch,warmup=0,active=1");
    struct ss_steps_change change = ss_steps_mark(&steps, &epoch_begins);
    assert_int_equal(change.window_step, -1); /* nothing has counted yet */
    begin(0);
    begin(1);
    change = ss_steps_mark(&steps, &epoch_begins);
    assert_int_equal(change.window, 2);
    assert_int_equal(change.step, 1);
    assert_int_equal(change.window_step, 2);
    with_schedule("per_epoch,warmup=0,active=1");
    epoch(2, 0);
    next();
    next();
    change = ss_steps_mark(&steps, &epoch_begins);
    assert_int_equal(change.window, 2);
    assert_int_equal(change.window_step, 2);
    with_schedule("active=1,wait=1");
    begin(7);
    change = ss_steps_mark(&steps, &epoch_begins);
    assert_int_equal(change.window_step, 7);
}

static void epochs_of_a_run_are_labels(void **state)
{
    (void)state;
    with_schedule("wait=1,active=1");
    epoch(2, 0);
    begin(0);
    begin(1);
    epoch(2, 0);
    begin(2);
    assert_string_equal(story, "e0 s0 s1[1 e1 s2].");
}

static void a_child_starts_anew(void **state)
{
    (void)state;
    with_schedule("wait=1,active=1");
    begin(0);
    begin(1);
    assert_string_equal(story, "s0 s1[1");
    ss_steps_forget(&steps);
    story[0] = '\0';
    begin(0);
    begin(1);
    assert_true(steps.has_schedule);
    assert_string_equal(story, "s0 s1S");
}

static void change_schedule(const char *text)
{
    struct ss_schedule schedule;
    if (text != NULL) {
        assert_int_equal(ss_schedule_parse(text, &schedule, NULL), SS_OK);
    }
    struct ss_steps_change change = ss_steps_schedule(&steps, text != NULL ? &schedule : NULL);
    assert_false(change.busy);
    assert_true(change.changes_window);
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, " %s%c%u", change.cut ? "~" : "", text ? '(' : ')',
             change.window);
    window = change.window;
}

static void programs_bring_schedules(void **state)
{
    (void)state;
    with_schedule(NULL);
    next();
    change_schedule("active=2,repeat=1"); /* step 1 is the first */
    next();
    next();
    next();
    change_schedule("wait=1,active=9");
    next();
    change_schedule(NULL); /* cut */
    next();
    change_schedule("active=1,repeat=1"); /* goes on counting windows */
    begin(9);                             /* is the step that began with it */
    begin(10);
    end();
    assert_string_equal(story, "s1 (1 s2S s3]. s4 (0 s5[2 ~)0 s6 (3 s9 s10]. ");
}

static void a_schedule_can_be_taken_back(void **state)
{
    (void)state;
    with_schedule(NULL);
    change_schedule("active=9");
    next();
    struct ss_steps_change change = ss_steps_unschedule(&steps);
    assert_true(change.changes_window && change.cut && change.window == 0);
    assert_false(steps.has_schedule);
    next();
    begin(7);
    change_schedule(NULL);
    next();
    assert_false(ss_steps_unschedule(&steps).busy); /* and after its end */
    next();
    change_schedule("active=1"); /* goes on counting windows */
    next();
    assert_string_equal(story, " (1 s1 s2 s7 )0 s8 s9 (2 s10[3");
}

static void batches_are_counted(void **state)
{
    (void)state;
    with_schedule(NULL);
    next();
    assert_int_equal(steps.batch, 1); /* step 0 is over */
    epoch(5, 0);
    assert_int_equal(steps.batch, 0);
    next();
    next();
    assert_int_equal(steps.batch, 2);
    epoch(5, 3);
    begin(17);
    assert_int_equal(steps.batch, 3);
    begin(18);
    assert_int_equal(steps.batch, 4);
    with_schedule(NULL);
    begin(0);
    assert_int_equal(steps.batch, 0);
    begin(1);
    assert_int_equal(steps.batch, 1);
}

static void who_comes_in_between_is_turned_away(void **state)
{
    (void)state;
    with_schedule(NULL);
    atomic_store(&steps.is_marking, true);
    struct ss_steps_request request = {.mark = SS_STEPS_NEXT, .number = -1};
    assert_true(ss_steps_mark(&steps, &request).busy);
    assert_true(ss_steps_schedule(&steps, NULL).busy);
    assert_true(ss_steps_mark(&steps, &request).busy);
    atomic_store(&steps.is_marking, false);
    assert_false(ss_steps_mark(&steps, &request).busy);
}

static void own_steps_that_mean_the_found_ones(void **state)
{
    (void)state;
    with_schedule("wait=1,active=2,repeat=1");
    find(SS_STEPS_BEGIN, 0); /* a batch is fetched */
    find(SS_STEPS_NEXT, -1); /* the optimizer steps, */
    overrule(SS_STEPS_NEXT); /* and the program says so too */
    next();
    next();
    next();
    assert_string_equal(story, "s0 s1[1 s1 s2S s3]. s4");
    with_schedule("wait=1,active=2,repeat=1");
    find(SS_STEPS_BEGIN, 0);
    overrule(SS_STEPS_BEGIN);
    begin(1);
    begin(2);
    begin(3);
    assert_string_equal(story, "s0 s0 s1[1 s2S s3].");
    with_schedule("wait=1,active=1,repeat=1");
    find(SS_STEPS_BEGIN, 0); /* and no optimizer */
    overrule(SS_STEPS_NEXT);
    next();
    assert_string_equal(story, "s0 s1[1 s2].");
}

static void own_steps_behind_many_found_ones(void **state)
{
    (void)state;
    with_schedule("wait=3,active=2,repeat=1");
    find(SS_STEPS_BEGIN, 0);
    for (int i = 0; i < 4; i++) {
        find(SS_STEPS_NEXT, -1);
    }
    overrule(SS_STEPS_NEXT);
    assert_int_equal(steps.run.steps, 1);
    for (int i = 0; i < 4; i++) {
        next();
    }
    assert_string_equal(story, "s0 s1 s2 s3[1 s4S s1~]. s2 s3[2 s4S s5].");
}

static void own_steps_of_an_epoch(void **state)
{
    (void)state;
    with_schedule("wait=2,active=1,repeat=1,per_epoch");
    epoch(8, 3);
    find(SS_STEPS_NEXT, -1);
    find(SS_STEPS_NEXT, -1);
    assert_int_equal(steps.batch, 5);
    overrule(SS_STEPS_NEXT);
    assert_int_equal(steps.batch, 4);
    assert_int_equal(steps.run.position.step, 4);
    assert_int_equal(steps.run.position.length, 8);
    next();
    epoch(8, 0);
    next(); /* that of an epoch that the program marks itself: nothing to take back */
    assert_int_equal(steps.batch, 1);
    assert_int_equal(steps.run.position.step, 1);
}

static void a_step_begins_again(void **state)
{
    (void)state;
    with_schedule("wait=1,active=1,repeat=1");
    find(SS_STEPS_BEGIN, 0);
    find(SS_STEPS_NEXT, -1);
    struct ss_steps_request again = {
        .mark = SS_STEPS_BEGIN, .number = 1, .length = -1, .is_found = true, .again = true};
    mark_request(&again);
    assert_int_equal(steps.batch, 1);
    find(SS_STEPS_NEXT, -1);
    assert_string_equal(story, "s0 s1[1 s1 s2].");
}

static void where_a_window_is_cut(void **state)
{
    (void)state;
    with_schedule("active=9,repeat=1");
    find(SS_STEPS_BEGIN, 0);
    find(SS_STEPS_NEXT, -1);
    find(SS_STEPS_NEXT, -1);
    struct ss_steps_request own = {
        .mark = SS_STEPS_NEXT, .number = 700, .length = -1, .overrules = true};
    struct ss_steps_change change = ss_steps_mark(&steps, &own);
    assert_true(change.cut && change.changes_window);
    assert_int_equal(change.cut_step, 2);
    assert_int_equal(change.window, 2);
    assert_int_equal(change.window_step, 700);
}

/* --- on demand -------------------------------------------------------------------------------- */

static struct ss_ring_header header;

static void with_demands(void)
{
    header = (struct ss_ring_header){.pid = 1};
    ss_steps_init(&steps, SS_DEMANDS_SCHEDULE, &header);
    window = 0;
    story[0] = '\0';
}

static void demand(uint32_t slot, uint32_t number, int64_t first, int64_t last)
{
    atomic_store(&header.demands[slot].first, first);
    atomic_store(&header.demands[slot].last, last);
    atomic_store(&header.demands[slot].number, number);
    atomic_fetch_add(&header.demand_count, 1);
}

static void assert_answer(uint32_t slot, uint32_t number, enum ss_ring_demand_answer answer)
{
    assert_int_equal(atomic_load(&header.demand_answers[slot]),
                     ss_ring_demand_answer(number, answer));
}

static void windows_on_demand(void **state)
{
    (void)state;
    with_demands();
    demand(0, 1, 0, 0);
    begin(0);
    begin(1);
    demand(1, 2, 2, 3);
    demand(2, 3, 1, 9); /* step 1 has begun */
    begin(2);
    begin(3);
    begin(4);
    assert_answer(0, 1, SS_RING_DEMAND_ARMED);
    assert_answer(1, 2, SS_RING_DEMAND_ARMED);
    assert_answer(2, 3, SS_RING_DEMAND_LATE);
    assert_string_equal(story, "s0[1 s1]. s2[2 s3S s4].");
    assert_int_equal(steps.run.partial_windows, 0);
}

/* What windows have in common is one window; a reused entry is another request. */
static void demands_that_overlap(void **state)
{
    (void)state;
    with_demands();
    next();
    demand(0, 1, 3, 4);
    demand(1, 2, 4, 5);
    next();
    next();
    demand(2, 3, 6, 6);
    next();
    next();
    next();
    demand(0, 4, 9, 9);
    next();
    next();
    next();
    assert_string_equal(story, "s1 s2 s3[1 s4 s5 s6S s7]. s8 s9[2");
    end();
    assert_int_equal(steps.run.partial_windows, 1);
}

/* Epochs restart nothing; numbers that the program gives may skip the last step of a window. */
static void demands_by_the_numbers_of_the_program(void **state)
{
    (void)state;
    with_demands();
    begin(5000);
    demand(0, 1, 5010, 5020);
    epoch(8, 0);
    begin(5010);
    epoch(8, 0);
    begin(5015);
    begin(5030);
    assert_string_equal(story, "s5000 e0 s5010[1 e1 s5015 s5030].");
}

static void demands_that_are_refused(void **state)
{
    (void)state;
    with_demands();
    begin(0);
    demand(0, 1, 5, 4);
    demand(1, 2, -5, 4);
    demand(2, 3, 5, INT64_MAX);
    begin(1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_answer(i, i + 1, SS_RING_DEMAND_REFUSED);
    }
    struct ss_schedule own = ss_schedule_defaults(false);
    own.active = 1;
    ss_steps_schedule(&steps, &own);
    demand(3, 4, 100, 101);
    begin(2);
    assert_answer(3, 4, SS_RING_DEMAND_REFUSED);
}

/* --- captures --------------------------------------------------------------------------------- */

static void with_capture(const char *text)
{
    ss_steps_init(&steps, text, NULL);
    window = 0;
    story[0] = '\0';
}

/* "[1" window 1 is open from here, "]1" closes it, "-" neither. */
static void capture(bool opens)
{
    struct ss_steps_change change = ss_steps_capture(&steps, opens);
    char *at = story + strlen(story);
    size_t left = sizeof story - strlen(story);
    assert_false(change.busy);
    if (!change.changes_window) {
        snprintf(at, left, " -");
    } else {
        snprintf(at, left, " %c%u", change.window != 0 ? '[' : ']',
                 change.window != 0 ? change.window : change.closed);
    }
    window = change.window;
}

static void captures_open_windows(void **state)
{
    (void)state;
    with_capture("capture/repeat/cuda-profiler-api");
    capture(false);
    begin(0);
    capture(true);
    capture(true);
    begin(1);
    capture(false);
    begin(2);
    capture(true);
    end();
    assert_string_equal(story, " - s0 [1 - s1 ]1 s2 [2 ~].");
}

static void captures_have_a_number(void **state)
{
    (void)state;
    with_capture("capture/repeat:2/nvtx:a/b@*");
    for (int i = 0; i < 3; i++) {
        capture(true);
        capture(false);
    }
    assert_string_equal(story, " [1 ]1 [2 ]2 - -");
}

static void a_capture_without_end(void **state)
{
    (void)state;
    with_capture("capture/none/cuda-profiler-api");
    capture(true);
    capture(false);
    begin(7);
    assert_string_equal(story, " [1 - s7");
}

static void a_capture_of_steps(void **state)
{
    (void)state;
    with_capture("capture/repeat:1/step:5-6");
    begin(4);
    capture(true); /* not by ranges */
    begin(5);
    begin(6);
    begin(7);
    begin(5); /* again: the number counts */
    assert_string_equal(story, "s4 - s5[1 s6S s7]. s5[2");
}

static void a_child_captures_too(void **state)
{
    (void)state;
    with_capture("capture/repeat:1/cuda-profiler-api");
    capture(true);
    capture(false);
    ss_steps_forget(&steps);
    capture(true);
    assert_string_equal(story, " [1 ]1 [1");
}

static void a_schedule_of_the_program_ends_captures(void **state)
{
    (void)state;
    with_capture("capture/repeat/cuda-profiler-api");
    capture(true);
    struct ss_schedule own = ss_schedule_defaults(false);
    own.active = 1;
    own.wait = 1;
    struct ss_steps_change change = ss_steps_schedule(&steps, &own);
    assert_true(change.cut && change.closed == 1 && change.window == 0);
    capture(true);
    next();
    assert_string_equal(story, " [1 - s1[2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_schedule),
        cmocka_unit_test(steps_that_begin),
        cmocka_unit_test(steps_that_end),
        cmocka_unit_test(own_steps_that_mean_the_found_ones),
        cmocka_unit_test(own_steps_behind_many_found_ones),
        cmocka_unit_test(own_steps_of_an_epoch),
        cmocka_unit_test(a_step_begins_again),
        cmocka_unit_test(where_a_window_is_cut),
        cmocka_unit_test(windows_are_cut),
        cmocka_unit_test(epochs_of_both_kinds),
        cmocka_unit_test(windows_of_epochs_open_with_their_own_step),
        cmocka_unit_test(epochs_of_a_run_are_labels),
        cmocka_unit_test(a_child_starts_anew),
        cmocka_unit_test(programs_bring_schedules),
        cmocka_unit_test(a_schedule_can_be_taken_back),
        cmocka_unit_test(batches_are_counted),
        cmocka_unit_test(windows_on_demand),
        cmocka_unit_test(demands_that_overlap),
        cmocka_unit_test(demands_by_the_numbers_of_the_program),
        cmocka_unit_test(demands_that_are_refused),
        cmocka_unit_test(captures_open_windows),
        cmocka_unit_test(captures_have_a_number),
        cmocka_unit_test(a_capture_without_end),
        cmocka_unit_test(a_capture_of_steps),
        cmocka_unit_test(a_child_captures_too),
        cmocka_unit_test(a_schedule_of_the_program_ends_captures),
        cmocka_unit_test(who_comes_in_between_is_turned_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
