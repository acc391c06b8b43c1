/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "annot/schedule.h"
#include "annot/schedule_text.h"

/* One letter per step: "." skip, "w" warmup, "r" record, "S" record and save. */
static void expect_steps(struct ss_schedule schedule, int64_t length, int64_t resumed_at,
                         const char *expected)
{
    struct ss_error err = {0};
    assert_int_equal(ss_schedule_check(&schedule, &err), SS_OK);
    char letters[128] = "";
    for (size_t i = 0; i < strlen(expected); i++) {
        struct ss_schedule_position place = {(int64_t)i, resumed_at, length};
        letters[i] = ".wrS"[ss_schedule_at(&schedule, &place)];
    }
    assert_string_equal(letters, expected);
}

static void cycles_over_the_run(void **state)
{
    (void)state;
    expect_steps((struct ss_schedule){.wait = 5, .warmup = 1, .active = 3, .repeat = 2}, -1, 0,
                 ".....wrrS.....wrrS........");
    expect_steps((struct ss_schedule){.active = 1}, -1, 0, "SSSS");
    expect_steps((struct ss_schedule){.active = 2}, -1, 0, "rSrSrS");
    expect_steps((struct ss_schedule){.skip_first = 2, .wait = 1, .warmup = 1, .active = 1}, -1, 0,
                 "...wS.wS.wS");
    expect_steps((struct ss_schedule){.skip_first = 10, .wait = 5, .warmup = 2, .active = 3}, -1, 0,
                 "...............wwrrS.....wwrrS");
}

static void the_first_cycle_may_not_wait(void **state)
{
    (void)state;
    struct ss_schedule schedule = {
        .skip_first = 2, .skip_first_wait = 1, .wait = 3, .warmup = 1, .active = 2, .repeat = 2};
    expect_steps(schedule, -1, 0, "..wrS...wrS......");
    schedule.skip_first_wait = -7; /* torch asks only whether it is 0 */
    expect_steps(schedule, -1, 0, "..wrS...wrS......");
    assert_int_equal(ss_schedule_lead(&schedule), 3);
    schedule.skip_first_wait = 0;
    assert_int_equal(ss_schedule_lead(&schedule), 6);
}

static void an_epoch_saves_with_its_last_batch(void **state)
{
    (void)state;
    struct ss_schedule schedule = {
        .per_epoch = true, .skip_first = 1, .wait = 1, .warmup = 1, .active = 3, .repeat = 1};
    expect_steps(schedule, 12, 0, "..wrrS......");
    expect_steps(schedule, 5, 0, "..wrS");
    expect_steps(schedule, -1, 0, "..wrrS......");
    expect_steps(schedule, 3, 0, "..w");
    schedule.repeat = 0;
    expect_steps(schedule, 8, 0, "..wrrS.w");
    expect_steps(schedule, 9, 0, "..wrrS.wS");
    schedule.per_epoch = false; /* the length of an epoch says nothing about the run */
    expect_steps(schedule, 5, 0, "..wrr");
}

static void a_resumed_epoch_begins_later(void **state)
{
    (void)state;
    struct ss_schedule schedule = {
        .per_epoch = true, .skip_first = 1, .wait = 0, .warmup = 1, .active = 2, .repeat = 1};
    expect_steps(schedule, 12, 0, ".wrS........");
    expect_steps(schedule, 12, 4, ".....wrS....");
    expect_steps(schedule, 12, 9, "..........wS");
    expect_steps(schedule, 12, 12, "............");
}

static void huge_numbers_do_not_overflow(void **state)
{
    (void)state;
    struct ss_schedule schedule = {.skip_first = SS_SCHEDULE_MAX,
                                   .wait = SS_SCHEDULE_MAX,
                                   .warmup = SS_SCHEDULE_MAX,
                                   .active = SS_SCHEDULE_MAX,
                                   .repeat = SS_SCHEDULE_MAX};
    assert_int_equal(ss_schedule_check(&schedule, NULL), SS_OK);
    struct ss_schedule_position place = {.step = 4 * SS_SCHEDULE_MAX - 1, .length = -1};
    assert_int_equal(ss_schedule_at(&schedule, &place), SS_SCHEDULE_RECORD_AND_SAVE);
    place.step = INT64_MAX - SS_SCHEDULE_MAX;
    ss_schedule_at(&schedule, &place);
    assert_int_equal(ss_schedule_lead(&schedule), 3 * SS_SCHEDULE_MAX);
}

static void expect_refusal(struct ss_schedule schedule, const char *beginning)
{
    struct ss_error err = {0};
    assert_int_equal(ss_schedule_check(&schedule, &err), SS_E_USAGE);
    assert_memory_equal(err.message, beginning, strlen(beginning));
    assert_null(strchr(err.message, '\n'));
}

static void bad_arguments_are_refused_by_name(void **state)
{
    (void)state;
    expect_refusal((struct ss_schedule){0}, "active is 0: ");
    expect_refusal((struct ss_schedule){.wait = 3, .warmup = 1}, "active is 0: ");
    expect_refusal((struct ss_schedule){.active = -1}, "active is -1: it must be a whole number "
                                                       "from 1 to ");
    expect_refusal((struct ss_schedule){.active = 1, .wait = -1}, "wait is -1: it must be a whole "
                                                                  "number from 0 to ");
    expect_refusal((struct ss_schedule){.active = 1, .warmup = -2}, "warmup is -2: ");
    expect_refusal((struct ss_schedule){.active = 1, .repeat = INT64_MIN}, "repeat is -9223372036");
    expect_refusal((struct ss_schedule){.active = 1, .skip_first = SS_SCHEDULE_MAX + 1},
                   "skip_first is 1000000000001: ");
    expect_refusal((struct ss_schedule){.active = 0, .per_epoch = true}, "active is 0: ");
}

/* The two definitions, written as their authors state them, with a loop instead of a modulus. */
static enum ss_schedule_action walk_to(const struct ss_schedule *schedule, int64_t step,
                                       int64_t resumed_at, int64_t length)
{
    int64_t at = resumed_at + schedule->skip_first;
    for (int64_t cycle = 0; schedule->repeat == 0 || cycle < schedule->repeat; cycle++) {
        int64_t wait = cycle == 0 && schedule->skip_first_wait != 0 ? 0 : schedule->wait;
        if (step < at + wait) {
            return SS_SCHEDULE_SKIP;
        }
        at += wait;
        if (step < at + schedule->warmup) {
            return SS_SCHEDULE_WARMUP;
        }
        at += schedule->warmup;
        if (step < at + schedule->active) {
            return step == at + schedule->active - 1 || (schedule->per_epoch && step == length - 1)
                       ? SS_SCHEDULE_RECORD_AND_SAVE
                       : SS_SCHEDULE_RECORD;
        }
        at += schedule->active;
    }
    return SS_SCHEDULE_SKIP;
}

static void compare_all_steps(const struct ss_schedule *schedule)
{
    for (int64_t length = schedule->per_epoch ? 0 : -1; length <= (schedule->per_epoch ? 14 : -1);
         length += 7) {
        for (int64_t resumed_at = 0; resumed_at <= (schedule->per_epoch ? 4 : 0); resumed_at += 2) {
            for (int64_t step = 0; step < 40; step++) {
                struct ss_schedule_position place = {step, resumed_at, length};
                assert_int_equal(ss_schedule_at(schedule, &place),
                                 walk_to(schedule, step, resumed_at, length));
            }
        }
    }
}

static void every_small_schedule_matches_its_walk(void **state)
{
    (void)state;
    for (int code = 0; code < 4 * 4 * 4 * 4 * 3 * 2 * 2; code++) {
        int rest = code;
        struct ss_schedule schedule = {.skip_first = rest % 4};
        schedule.wait = (rest /= 4) % 4;
        schedule.warmup = (rest /= 4) % 4;
        schedule.active = (rest /= 4) % 4 + 1;
        schedule.repeat = (rest /= 4) % 3;
        schedule.skip_first_wait = (rest /= 3) % 2;
        schedule.per_epoch = (rest / 2) % 2;
        compare_all_steps(&schedule);
    }
}

static void expect_equal(const struct ss_schedule *a, const struct ss_schedule *b)
{
    assert_int_equal(a->per_epoch, b->per_epoch);
    assert_int_equal(a->skip_first, b->skip_first);
    assert_int_equal(a->skip_first_wait, b->skip_first_wait);
    assert_int_equal(a->wait, b->wait);
    assert_int_equal(a->warmup, b->warmup);
    assert_int_equal(a->active, b->active);
    assert_int_equal(a->repeat, b->repeat);
}

static void expect_text(const char *text, struct ss_schedule expected)
{
    struct ss_schedule read;
    struct ss_error err = {0};
    assert_int_equal(ss_schedule_parse(text, &read, &err), SS_OK);
    expect_equal(&read, &expected);
    char again[SS_SCHEDULE_TEXT_BYTES];
    struct ss_schedule reread;
    ss_schedule_put(&read, again, sizeof again);
    assert_int_equal(ss_schedule_parse(again, &reread, &err), SS_OK);
    expect_equal(&reread, &expected);
}

static void texts_are_read_and_written(void **state)
{
    (void)state;
    expect_text("wait=5,warmup=1,active=3,repeat=2",
                (struct ss_schedule){.wait = 5, .warmup = 1, .active = 3, .repeat = 2});
    expect_text("active=1", (struct ss_schedule){.active = 1});
    expect_text(
        "skip-first=10,skip_first-wait=1,wait=20,active=2",
        (struct ss_schedule){.skip_first = 10, .skip_first_wait = 1, .wait = 20, .active = 2});
    expect_text("per_epoch",
                (struct ss_schedule){.per_epoch = true, .warmup = 1, .active = 4, .repeat = 1});
    expect_text("warmup=0,repeat=0,per-epoch",
                (struct ss_schedule){.per_epoch = true, .active = 4});
    expect_text("active=1000000000000", (struct ss_schedule){.active = SS_SCHEDULE_MAX});
}

static void expect_bad_text(const char *text, const char *part)
{
    struct ss_schedule kept = {.active = 42};
    struct ss_error err = {0};
    assert_int_equal(ss_schedule_parse(text, &kept, &err), SS_E_USAGE);
    assert_int_equal(kept.active, 42);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\": \"%s\" lacks \"%s\"", text, err.message, part);
    }
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    expect_bad_text("", "the schedule is empty");
    expect_bad_text(",", "\"\" in the schedule is not known");
    expect_bad_text("active=1,", "\"\" in the schedule is not known");
    expect_bad_text("activ=1", "\"activ=1\" in the schedule is not known");
    expect_bad_text("actives=1", "not known");
    expect_bad_text("active", "active in the schedule needs a whole number");
    expect_bad_text("active=", "needs a whole number");
    expect_bad_text("active=x", "needs a whole number");
    expect_bad_text("active=1.5", "needs a whole number");
    expect_bad_text("active=-", "needs a whole number");
    expect_bad_text("active= 1", "needs a whole number");
    expect_bad_text("active=1,active=2", "active occurs twice");
    expect_bad_text("wait=1,warmup=1", "active is 0");
    expect_bad_text("wait=-1,active=1", "wait is -1");
    expect_bad_text("active=99999999999999999999999", "active is 9");
    expect_bad_text("per_epoch,active=0", "active is 0");
    expect_bad_text("per_epoch=1", "per_epoch in the schedule takes no value");
    expect_bad_text("per_epoch,per-epoch", "per-epoch occurs twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_over_the_run),
        cmocka_unit_test(the_first_cycle_may_not_wait),
        cmocka_unit_test(an_epoch_saves_with_its_last_batch),
        cmocka_unit_test(a_resumed_epoch_begins_later),
        cmocka_unit_test(huge_numbers_do_not_overflow),
        cmocka_unit_test(bad_arguments_are_refused_by_name),
        cmocka_unit_test(every_small_schedule_matches_its_walk),
        cmocka_unit_test(texts_are_read_and_written),
        cmocka_unit_test(bad_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
