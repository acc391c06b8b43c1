/* SPDX-License-Identifier: Apache-2.0 */
/* What slows every so many steps, and would hide behind the usual ones: evaluation, metrics, data
 * that is read by the shard. */
#include <stdlib.h>
#include <string.h>

#include "analysis/training_facts.h"
#include "base/alloc.h"

/* By chance it is slow at most of equally distant steps, and at few others? Not so often. */
enum { FEWEST_SLOW = 4, LEAST_SLOW_PERCENT = 80, MOST_ELSEWHERE_PERCENT = 20 };

/* The steps of a process that count, with what a phase takes more of each than usual. */
struct series {
    uint64_t *more_ns;
    uint64_t *apart; /* how often slow steps are so far apart */
    size_t count;
    uint64_t slow_ns; /* more is slow */
};

static size_t distance_of(const struct series *series)
{
    size_t last = series->count, most = 0;
    memset(series->apart, 0, series->count * sizeof *series->apart);
    for (size_t i = 0; i < series->count; i++) {
        if (series->more_ns[i] > series->slow_ns) {
            if (last < i) {
                series->apart[i - last]++;
            }
            last = i;
        }
    }
    for (size_t i = 0; i < series->count; i++) {
        most = series->apart[i] > series->apart[most] ? i : most;
    }
    return most;
}

struct judged {
    size_t places, slow, elsewhere;
    uint64_t more_ns;
};

/* Of every so many steps from `first` on. */
static struct judged judge(const struct series *series, size_t first, size_t every)
{
    struct judged judged = {0};
    for (size_t i = 0; i < series->count; i++) {
        bool is_slow = series->more_ns[i] > series->slow_ns;
        bool is_place = i % every == first;
        judged.places += is_place;
        judged.slow += is_place && is_slow;
        judged.elsewhere += !is_place && is_slow;
        judged.more_ns += is_place ? series->more_ns[i] : 0;
    }
    return judged;
}

static bool is_regular(const struct series *series, const struct judged *judged)
{
    size_t others = series->count - judged->places;
    return judged->slow >= FEWEST_SLOW &&
           100 * judged->slow >= LEAST_SLOW_PERCENT * judged->places &&
           100 * judged->elsewhere <= MOST_ELSEWHERE_PERCENT * others;
}

/* Where most slow steps lie in their period. */
static size_t first_of(const struct series *series, size_t every)
{
    size_t most = 0;
    memset(series->apart, 0, series->count * sizeof *series->apart);
    for (size_t i = 0; i < series->count; i++) {
        series->apart[i % every] += series->more_ns[i] > series->slow_ns;
    }
    for (size_t i = 0; i < every; i++) {
        most = series->apart[i] > series->apart[most] ? i : most;
    }
    return most;
}

/* What is written, compiled or loaded by workers has rules of its own. Operators are slow when
 * other processes want the cores, as workers do when an epoch begins. */
static bool is_looked_at(const struct ss_training_facts *facts, const struct ss_step_phase *phase)
{
    static const char *const others[] = {"forward", "backward", "optimizer", "checkpoint",
                                         "compile"};
    struct ss_strview name = ss_step_phase_text(facts->model, phase);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ss_strview_equal(name, ss_strview_of(others[i]))) {
            return false;
        }
    }
    return facts->workers <= 0 || !ss_strview_equal(name, ss_strview_of("data"));
}

static void look_at(struct ss_training_facts *facts, size_t phase, const struct series *series)
{
    size_t every = distance_of(series);
    if (every < 2) {
        return;
    }
    struct judged judged = judge(series, first_of(series, every), every);
    uint64_t more_ns = judged.more_ns / series->count;
    if (is_regular(series, &judged) && more_ns > facts->period.more_ns) {
        facts->period = (struct ss_training_period){.phase = &facts->steps->phases.data[phase],
                                                    .every = every,
                                                    .slow = judged.slow,
                                                    .more_ns = more_ns,
                                                    .each_ns = judged.more_ns / judged.places};
    }
}

/* A quarter of a step more is slow. */
static void take_process(struct ss_training_facts *facts, size_t first, size_t end,
                         struct series *series)
{
    const struct ss_step_summary *steps = facts->steps;
    for (size_t phase = 0; phase < steps->phases.count; phase++) {
        const struct ss_step_phase *row = &steps->phases.data[phase];
        series->count = 0;
        for (size_t i = first; i < end; i++) {
            enum ss_step_kind kind = steps->steps.data[i].kind;
            uint64_t ns = steps->phase_ns[i * steps->phases.count + phase];
            if (kind == SS_STEP_USUAL || kind == SS_STEP_OUTLIER) {
                series->more_ns[series->count++] = ns > row->p50_ns ? ns - row->p50_ns : 0;
            }
        }
        if (series->count > 0 && is_looked_at(facts, row)) {
            look_at(facts, phase, series);
        }
    }
}

void ss_training_period_find(struct ss_training_facts *facts)
{
    const struct ss_step_summary *steps = facts->steps;
    size_t count = steps->steps.count;
    struct series series = {.more_ns = ss_alloc((count + 1) * sizeof *series.more_ns),
                            .apart = ss_alloc((count + 1) * sizeof *series.apart),
                            .slow_ns = steps->p50_ns / 4};
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first;
             end < count && steps->steps.data[end].process == steps->steps.data[first].process;) {
            end++;
        }
        take_process(facts, first, end, &series);
    }
    ss_free(series.more_ns);
    ss_free(series.apart);
}
