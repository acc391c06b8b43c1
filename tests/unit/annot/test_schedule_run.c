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

#include "annot/schedule_run.h"

/* What happened, as text: "[0" a window begins, "0:3]" it ends after three whole steps, "0:1~]" it
 * is cut; between them a letter for each step that begins. */
struct story {
    struct ss_schedule_run run;
    char text[1024];
};

static void add_turn(struct story *story, struct ss_schedule_turn turn)
{
    size_t used = strlen(story->text);
    char *at = story->text + used;
    size_t left = sizeof story->text - used;
    if (turn.ends) {
        int put = snprintf(at, left, "%u:%" PRId64 "%s]", turn.ended, turn.ended_steps,
                           turn.partial ? "~" : "");
        at += put;
        left -= (size_t)put;
    }
    if (turn.begins) {
        int put = snprintf(at, left, "[%u", turn.begun);
        at += put;
        left -= (size_t)put;
    }
    snprintf(at, left, "%c", ".wrS"[turn.action]);
}

static void steps(struct story *story, int count)
{
    for (int i = 0; i < count; i++) {
        add_turn(story, ss_schedule_run_step(&story->run));
    }
}

static void expect(struct story *story, const char *text)
{
    assert_string_equal(story->text, text);
    story->text[0] = '\0';
}

static const char *why(const struct story *story)
{
    static char text[512];
    ss_schedule_run_why_nothing(&story->run, text, sizeof text);
    return text;
}

static void windows_of_a_run(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 2}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    steps(&story, 10);
    expect(&story, ".w[0rS0:2].w[1rS1:2]...");
    add_turn(&story, ss_schedule_run_stop(&story.run));
    expect(&story, ".");
    assert_int_equal(story.run.windows, 2);
    assert_int_equal(story.run.partial_windows, 0);
    assert_string_equal(why(&story), "");
}

static void windows_may_touch(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.active = 1}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    steps(&story, 2);
    add_turn(&story, ss_schedule_run_stop(&story.run));
    expect(&story, "[0S0:1][1S1:1][2S2:0~].");
}

static void a_cut_window_is_partial(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.wait = 1, .active = 5}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    steps(&story, 3);
    add_turn(&story, ss_schedule_run_stop(&story.run));
    expect(&story, ".[0rrr0:2~].");
    assert_int_equal(story.run.partial_windows, 1);
    add_turn(&story, ss_schedule_run_stop(&story.run));
    steps(&story, 2);
    add_turn(&story, ss_schedule_run_epoch(&story.run, 1, 3, 0));
    expect(&story, "....");
}

static void a_second_start_records_again(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.wait = 1, .active = 1, .repeat = 1}};
    for (int i = 0; i < 2; i++) {
        add_turn(&story, ss_schedule_run_start(&story.run));
        add_turn(&story, ss_schedule_run_start(&story.run)); /* it runs already */
        steps(&story, 4);
        add_turn(&story, ss_schedule_run_stop(&story.run));
    }
    expect(&story, "..[0S0:1]......[1S1:1]....");
}

static void epochs_of_known_length(void **state)
{
    (void)state;
    struct story story = {
        .run.schedule = {.per_epoch = true, .skip_first = 1, .warmup = 1, .active = 3}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    expect(&story, ".");
    for (int epoch = 0; epoch < 2; epoch++) {
        add_turn(&story, ss_schedule_run_epoch(&story.run, epoch, 8, 0));
        steps(&story, 8);
        steps(&story, 2); /* evaluation counts for nothing */
    }
    expect(&story, ".w[0rrS0:3]w[1rS1:2~]....w[2rrS2:3]w[3rS3:2~]...");
    assert_int_equal(story.run.windows, 4);
}

static void epochs_of_unknown_length_cut_their_window(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.per_epoch = true, .warmup = 1, .active = 4}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    add_turn(&story, ss_schedule_run_epoch(&story.run, 0, -1, 0));
    steps(&story, 3);
    add_turn(&story, ss_schedule_run_epoch(&story.run, 1, -1, 0));
    steps(&story, 1);
    expect(&story, ".w[0rrr0:2~]w[1r");
}

static void a_resume_shifts_only_its_epoch(void **state)
{
    (void)state;
    struct story story = {
        .run.schedule = {.per_epoch = true, .skip_first = 1, .active = 1, .repeat = 1}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    add_turn(&story, ss_schedule_run_epoch(&story.run, 3, 8, 4));
    steps(&story, 4);
    add_turn(&story, ss_schedule_run_epoch(&story.run, 4, 8, 0));
    steps(&story, 3);
    expect(&story, "..[0S0:1]....[1S1:1]..");
    add_turn(&story, ss_schedule_run_epoch(&story.run, 5, 8, 8)); /* nothing is left of it */
    steps(&story, 2);
    expect(&story, "...");
}

static void without_epochs_the_run_is_one(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.per_epoch = true, .wait = 1, .active = 1, .repeat = 1}};
    for (int i = 0; i < 2; i++) {
        add_turn(&story, ss_schedule_run_start(&story.run));
        steps(&story, 3);
        add_turn(&story, ss_schedule_run_stop(&story.run));
    }
    expect(&story, ".[0S0:1]....[1S1:1]...");
    story = (struct story){.run.schedule = {.active = 2}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    add_turn(&story, ss_schedule_run_epoch(&story.run, 1, 1, 0)); /* of no meaning here */
    steps(&story, 2);
    expect(&story, "[0rrS0:2][1r");
}

static void nothing_recorded_has_a_reason(void **state)
{
    (void)state;
    struct story story = {.run.schedule = {.skip_first = 3, .wait = 5, .warmup = 1, .active = 3}};
    assert_string_equal(why(&story), "no window was recorded: the schedule was never started");
    add_turn(&story, ss_schedule_run_start(&story.run));
    assert_non_null(strstr(why(&story), "the program marked no step; call step()"));
    steps(&story, 7);
    assert_string_equal(why(&story),
                        "no window was recorded: the run had 7 steps, and the first recorded "
                        "one is number 10 (after skip_first=3, wait=5, warmup=1); run "
                        "longer, or lower these");
    story.run.schedule.skip_first_wait = 1;
    assert_non_null(strstr(why(&story), "number 5 (after skip_first=3, wait=0, warmup=1)"));

    story = (struct story){.run.schedule = {.per_epoch = true, .wait = 5, .active = 3}};
    add_turn(&story, ss_schedule_run_start(&story.run));
    for (int epoch = 0; epoch < 9; epoch++) {
        add_turn(&story, ss_schedule_run_epoch(&story.run, epoch, 4, 0));
        steps(&story, 4);
    }
    assert_non_null(strstr(why(&story), "the longest epoch had 4 batches, and the first recorded "
                                        "one is number 6"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_a_run),
        cmocka_unit_test(windows_may_touch),
        cmocka_unit_test(a_cut_window_is_partial),
        cmocka_unit_test(a_second_start_records_again),
        cmocka_unit_test(epochs_of_known_length),
        cmocka_unit_test(epochs_of_unknown_length_cut_their_window),
        cmocka_unit_test(a_resume_shifts_only_its_epoch),
        cmocka_unit_test(without_epochs_the_run_is_one),
        cmocka_unit_test(nothing_recorded_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
