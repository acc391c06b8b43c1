/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "record/run/ticker.h"

static const uint64_t ms = UINT64_C(1000000);

/* A sampler that is always on time: every tick in its own period, none late or skipped. */
static void on_time_ticks_fall_into_their_periods(void **state)
{
    (void)state;
    struct ss_ticker ticker;
    ss_ticker_init(&ticker, 1000 * ms, 10 * ms, 7);
    uint64_t earliest = UINT64_MAX, latest = 0;
    for (uint64_t k = 0; k < 1000; k++) {
        uint64_t due = ticker.next_due_ns;
        uint64_t period_start = 1000 * ms + k * 10 * ms;
        assert_true(due >= period_start && due < period_start + 10 * ms);
        earliest = due - period_start < earliest ? due - period_start : earliest;
        latest = due - period_start > latest ? due - period_start : latest;
        ss_ticker_begin(&ticker, due);
        ss_ticker_end(&ticker, due, due + 10000);
    }
    assert_int_equal(ticker.done, 1000);
    assert_int_equal(ticker.due, 1000);
    assert_int_equal(ticker.skipped + ticker.late, 0);
    /* the draws cover the period: no aliasing with a program of the same period */
    assert_true(earliest < ms / 10 && latest > 10 * ms - ms / 10);
}

static void due_is_always_done_plus_skipped(void **state)
{
    (void)state;
    struct ss_ticker ticker;
    ss_ticker_init(&ticker, 0, 10 * ms, 99);
    uint64_t now = 0, random = 12345;
    for (int i = 0; i < 5000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        uint64_t delay = (random >> 33) % (35 * ms);
        now = (now > ticker.next_due_ns ? now : ticker.next_due_ns) + delay;
        ss_ticker_begin(&ticker, now);
        ss_ticker_end(&ticker, now, now + 1000);
        assert_int_equal(ticker.due, ticker.done + ticker.skipped);
        assert_true(ticker.late <= ticker.done);
    }
    ss_ticker_finish(&ticker, now + 500 * ms);
    assert_int_equal(ticker.due, ticker.done + ticker.skipped);
    /* what was due is what the clock says, to the tick */
    uint64_t elapsed = (now + 500 * ms) / (10 * ms);
    assert_true(ticker.due >= elapsed - 1 && ticker.due <= elapsed + SS_TICKER_MAX_STRIDE);
    assert_true(ticker.skipped > 0 && ticker.late > 0);
}

static void a_long_pause_skips_instead_of_catching_up(void **state)
{
    (void)state;
    struct ss_ticker ticker;
    ss_ticker_init(&ticker, 0, 10 * ms, 3);
    ss_ticker_begin(&ticker, ticker.next_due_ns);
    ss_ticker_end(&ticker, 5 * ms, 6 * ms);
    ss_ticker_begin(&ticker, 60000 * ms); /* a minute later */
    ss_ticker_end(&ticker, 60000 * ms, 60001 * ms);
    assert_int_equal(ticker.done, 2);
    assert_true(ticker.skipped > 5900);
    assert_true(ticker.next_due_ns >= 59990 * ms);
}

static void overload_lowers_the_rate_and_calm_raises_it(void **state)
{
    (void)state;
    struct ss_ticker ticker;
    ss_ticker_init(&ticker, 0, 10 * ms, 5);
    uint64_t now = 0;
    int lowered = 0, raised = 0;
    for (int i = 0; i < 200; i++) { /* each tick takes 25 ms of work */
        now = now > ticker.next_due_ns ? now : ticker.next_due_ns;
        ss_ticker_begin(&ticker, now);
        lowered += ss_ticker_end(&ticker, now, now + 25 * ms) == SS_TICKER_LOWERED;
        now += 25 * ms;
    }
    assert_true(lowered >= 2);
    assert_true(ss_ticker_rate_hz(&ticker) <= 25.0);
    for (int i = 0; i < 4000; i++) {
        now = now > ticker.next_due_ns ? now : ticker.next_due_ns;
        ss_ticker_begin(&ticker, now);
        raised += ss_ticker_end(&ticker, now, now + 10000) == SS_TICKER_RAISED;
    }
    assert_true(raised >= 2);
    assert_int_equal((int)ss_ticker_rate_hz(&ticker), 100);
    assert_int_equal(ticker.due, ticker.done + ticker.skipped);
}

/* Seeds are clock readings: alike in most bits. The first draw must not be. */
static void ticks_of_a_pause_are_not_due(void **state)
{
    (void)state;
    struct ss_ticker ticker;
    ss_ticker_init(&ticker, 0, 10 * ms, 5);
    uint64_t now = 0;
    for (int i = 0; i < 10; i++) {
        now = ticker.next_due_ns;
        ss_ticker_begin(&ticker, now);
        ss_ticker_end(&ticker, now, now + 1000);
        ss_ticker_pause(&ticker, now + 90 * ms);
        assert_true(ticker.next_due_ns > now + 90 * ms && ticker.next_due_ns <= now + 110 * ms);
    }
    ss_ticker_pause(&ticker, now + 20 * ms); /* ends early */
    assert_true(ticker.next_due_ns > now + 20 * ms && ticker.next_due_ns <= now + 40 * ms);
    now = ticker.next_due_ns;
    ss_ticker_begin(&ticker, now);
    ss_ticker_end(&ticker, now, now + 1000);
    ss_ticker_finish(&ticker, now + 5 * ms);
    assert_int_equal(ticker.done, 11);
    assert_true(ticker.due <= 12);
    assert_int_equal(ticker.late, 0);
    assert_int_equal(ticker.stride, 1);
}

static void first_draws_of_similar_seeds_cover_the_period(void **state)
{
    (void)state;
    int early = 0;
    for (uint64_t seed = 9600000000000; seed < 9600000000000 + 1000 * ms; seed += ms) {
        struct ss_ticker ticker;
        ss_ticker_init(&ticker, 0, 10 * ms, seed);
        early += ticker.next_due_ns < ms;
    }
    assert_in_range(early, 60, 140); /* a tenth of a thousand */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_time_ticks_fall_into_their_periods),
        cmocka_unit_test(ticks_of_a_pause_are_not_due),
        cmocka_unit_test(first_draws_of_similar_seeds_cover_the_period),
        cmocka_unit_test(due_is_always_done_plus_skipped),
        cmocka_unit_test(a_long_pause_skips_instead_of_catching_up),
        cmocka_unit_test(overload_lowers_the_rate_and_calm_raises_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
