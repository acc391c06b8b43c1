/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to sample. Tick k of period T is due at start + (k + u_k)·T with one uniform draw u_k per
 * period: a program of period T is not sampled at one phase only, and every period contains exactly
 * one sample.
 *
 * Ticks are counted at the requested rate: due = done + skipped, late = done more than half a
 * period after due. When too many are skipped the ticker does only every second, fourth, … tick
 * (the others count as skipped) and raises the rate again when there is slack. Pure: time is an
 * argument. One owner.
 */
#ifndef SS_RECORD_RUN_TICKER_H
#define SS_RECORD_RUN_TICKER_H

#include <stdbool.h>
#include <stdint.h>

struct ss_ticker {
    uint64_t start_ns;
    uint64_t period_ns;
    uint64_t next_index; /* of the next tick */
    uint64_t next_due_ns;
    uint64_t random; /* xorshift state */
    uint32_t stride; /* 1: every tick; 2: every second… */
    uint64_t due, done, skipped, late;
    /* the window that the adaptation measures */
    uint64_t window_end_ns;
    uint64_t window_due, window_skipped, window_busy_ns;
    uint32_t calm_windows;
};

enum { SS_TICKER_MAX_STRIDE = 64 };

enum ss_ticker_change { SS_TICKER_SAME, SS_TICKER_LOWERED, SS_TICKER_RAISED };

void ss_ticker_init(struct ss_ticker *ticker, uint64_t now_ns, uint64_t period_ns, uint64_t seed);
/* Call when now ≥ next_due_ns, before sampling: counts this tick and skips overdue ones. */
void ss_ticker_begin(struct ss_ticker *ticker, uint64_t now_ns);
/* Call after sampling: plans the next tick, adapts at most once a second. */
enum ss_ticker_change ss_ticker_end(struct ss_ticker *ticker, uint64_t begin_ns, uint64_t now_ns);
/* No tick is due before `until_ns`, which may be moved to an earlier time: those between are
 * neither counted nor done. */
void ss_ticker_pause(struct ss_ticker *ticker, uint64_t until_ns);
/* At the end of the recording: counts the ticks that were due and will not be done. */
void ss_ticker_finish(struct ss_ticker *ticker, uint64_t now_ns);
/* The planned ticks per second at present (requested rate / stride). */
double ss_ticker_rate_hz(const struct ss_ticker *ticker);

#endif
