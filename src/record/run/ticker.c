/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/ticker.h"

#include "base/intern.h"

enum {
    LOWER_ABOVE_PERCENT = 33,      /* skipped of due in a window, without the stride's own */
    LOWER_ABOVE_BUSY_PERCENT = 60, /* of the window spent sampling */
    RAISE_BELOW_BUSY_PERCENT = 20,
    RAISE_AFTER_CALM_WINDOWS = 5
};

static const uint64_t window_ns = UINT64_C(1000000000);

static uint64_t draw(struct ss_ticker *ticker)
{
    uint64_t x = ticker->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    ticker->random = x;
    return x;
}

/* u·T with u uniform in [0, 1): the high 32 bits of the draw times T. */
static uint64_t due_of(struct ss_ticker *ticker, uint64_t index)
{
    uint64_t fraction = draw(ticker) >> 32;
    uint64_t offset_ns = (uint64_t)((double)fraction / 4294967296.0 * (double)ticker->period_ns);
    return ticker->start_ns + index * ticker->period_ns + offset_ns;
}

void ss_ticker_init(struct ss_ticker *ticker, uint64_t now_ns, uint64_t period_ns, uint64_t seed)
{
    *ticker = (struct ss_ticker){.start_ns = now_ns,
                                 .period_ns = period_ns ? period_ns : 1,
                                 .random = ss_hash_u64(seed ^ UINT64_C(0x9e3779b97f4a7c15)) | 1,
                                 .stride = 1,
                                 .window_end_ns = now_ns + window_ns};
    ticker->next_due_ns = due_of(ticker, 0);
}

static void count_skipped(struct ss_ticker *ticker, uint64_t ticks, bool by_stride)
{
    ticker->due += ticks;
    ticker->skipped += ticks;
    ticker->window_due += ticks;
    if (!by_stride) {
        ticker->window_skipped += ticks;
    }
}

void ss_ticker_begin(struct ss_ticker *ticker, uint64_t now_ns)
{
    /* Two overdue ticks are done one after the other; of more, the older ones are skipped: several
     * samples at once do not show several moments. */
    uint64_t current = (now_ns - ticker->start_ns) / ticker->period_ns;
    if (current > ticker->next_index + 1) {
        uint64_t missed = current - 1 - ticker->next_index;
        count_skipped(ticker, missed, false);
        ticker->next_index += missed;
        ticker->next_due_ns = due_of(ticker, ticker->next_index);
    }
    ticker->due++;
    ticker->window_due++;
    ticker->done++;
    if (now_ns > ticker->next_due_ns + ticker->period_ns / 2) {
        ticker->late++;
    }
}

static enum ss_ticker_change lower(struct ss_ticker *ticker)
{
    ticker->calm_windows = 0;
    if (ticker->stride >= SS_TICKER_MAX_STRIDE) {
        return SS_TICKER_SAME;
    }
    ticker->stride *= 2;
    return SS_TICKER_LOWERED;
}

static enum ss_ticker_change adapt(struct ss_ticker *ticker, uint64_t now_ns)
{
    uint64_t length_ns = now_ns - ticker->window_end_ns + window_ns;
    uint64_t busy_percent = ticker->window_busy_ns * 100 / length_ns;
    uint64_t skipped_percent =
        ticker->window_due > 0 ? ticker->window_skipped * 100 / ticker->window_due : 0;
    ticker->window_end_ns = now_ns + window_ns;
    ticker->window_due = ticker->window_skipped = ticker->window_busy_ns = 0;
    if (busy_percent >= LOWER_ABOVE_BUSY_PERCENT || skipped_percent >= LOWER_ABOVE_PERCENT) {
        return lower(ticker);
    }
    bool calm = skipped_percent == 0 && busy_percent < RAISE_BELOW_BUSY_PERCENT;
    if (ticker->stride > 1 && calm && ++ticker->calm_windows >= RAISE_AFTER_CALM_WINDOWS) {
        ticker->calm_windows = 0;
        ticker->stride /= 2;
        return SS_TICKER_RAISED;
    }
    return SS_TICKER_SAME;
}

enum ss_ticker_change ss_ticker_end(struct ss_ticker *ticker, uint64_t begin_ns, uint64_t now_ns)
{
    ticker->window_busy_ns += now_ns - begin_ns;
    enum ss_ticker_change change = SS_TICKER_SAME;
    if (now_ns >= ticker->window_end_ns) {
        change = adapt(ticker, now_ns);
    }
    ticker->next_index++;
    if (ticker->stride > 1) {
        count_skipped(ticker, ticker->stride - 1, true);
        ticker->next_index += ticker->stride - 1;
    }
    ticker->next_due_ns = due_of(ticker, ticker->next_index);
    return change;
}

void ss_ticker_pause(struct ss_ticker *ticker, uint64_t until_ns)
{
    uint64_t current =
        until_ns > ticker->start_ns ? (until_ns - ticker->start_ns) / ticker->period_ns : 0;
    ticker->next_index = current + 1;
    ticker->next_due_ns = due_of(ticker, ticker->next_index);
}

void ss_ticker_finish(struct ss_ticker *ticker, uint64_t now_ns)
{
    uint64_t current = (now_ns - ticker->start_ns) / ticker->period_ns;
    if (current > ticker->next_index) {
        count_skipped(ticker, current - ticker->next_index, false);
        ticker->next_index = current;
    }
}

double ss_ticker_rate_hz(const struct ss_ticker *ticker)
{
    return 1e9 / (double)ticker->period_ns / ticker->stride;
}
