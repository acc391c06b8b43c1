/* SPDX-License-Identifier: Apache-2.0 */
/* Periodic slow steps, which the steady-state figures hide: evaluation, metrics, data that is read
 * by the shard. */
#include <stdlib.h>
#include <string.h>

#include "analysis/table/rule_limits.h"
#include "analysis/training/training_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* By step of a process that counts: how much longer the phase takes than its median. */
struct series {
    uint64_t *more_ns;
    uint64_t *inference_ns;
    uint64_t *histogram; /* counts by distance between slow steps, then by position in the period */
    size_t count;
    uint64_t slow_ns; /* a phase is slow above this */
};

static size_t distance_of(const struct series *series)
{
    size_t last = series->count, most = 0;
    memset(series->histogram, 0, series->count * sizeof *series->histogram);
    for (size_t i = 0; i < series->count; i++) {
        if (series->more_ns[i] > series->slow_ns) {
            if (last < i) {
                series->histogram[i - last]++;
            }
            last = i;
        }
    }
    for (size_t i = 0; i < series->count; i++) {
        most = series->histogram[i] > series->histogram[most] ? i : most;
    }
    return most;
}

struct tally {
    size_t places, slow, elsewhere;
    uint64_t more_ns;
};

/* Counts every `every`-th step from `first` on, and slow steps elsewhere. */
static struct tally tally_steps(const struct series *series, size_t first, size_t every)
{
    struct tally tally = {0};
    for (size_t i = 0; i < series->count; i++) {
        bool is_slow = series->more_ns[i] > series->slow_ns;
        bool is_place = i % every == first;
        tally.places += is_place;
        tally.slow += is_place && is_slow;
        tally.elsewhere += !is_place && is_slow;
        tally.more_ns += is_place ? series->more_ns[i] : 0;
    }
    return tally;
}

static bool is_regular(const struct series *series, const struct tally *tally)
{
    size_t others = series->count - tally->places;
    return tally->slow >= SS_LIMIT_PERIOD_FEWEST_STEPS &&
           100 * tally->slow >= SS_LIMIT_PERIOD_STEPS_PERCENT * tally->places &&
           100 * tally->elsewhere <= SS_LIMIT_PERIOD_ELSEWHERE_PERCENT * others;
}

/* The position in the period with most slow steps. */
static size_t first_of(const struct series *series, size_t every)
{
    size_t most = 0;
    memset(series->histogram, 0, series->count * sizeof *series->histogram);
    for (size_t i = 0; i < series->count; i++) {
        series->histogram[i % every] += series->more_ns[i] > series->slow_ns;
    }
    for (size_t i = 0; i < every; i++) {
        most = series->histogram[i] > series->histogram[most] ? i : most;
    }
    return most;
}

/* Checkpoints, compiling and workers' loading have rules of their own. Operators are slow when
 * other processes compete for the cores, as workers do when an epoch begins. */
static bool is_eligible(const struct ss_training_facts *facts, const struct ss_step_phase *phase)
{
    static const char *const others[] = {ss_phase_forward,    ss_phase_backward, ss_phase_optimizer,
                                         ss_phase_checkpoint, ss_phase_compile,  ss_phase_profiler};
    struct ss_strview name = ss_step_phase_text(facts->model, phase);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ss_strview_equal(name, ss_strview_of(others[i]))) {
            return false;
        }
    }
    return facts->workers <= 0 || !ss_strview_equal(name, ss_strview_of(ss_phase_data));
}

/* The model's forwards without a backward in each slow step, if nearly all of them are there: a
 * policy that acts between its updates, a test, or samples of what was learned. */
static uint64_t inference_of(const struct series *series, size_t first, size_t every, size_t places)
{
    uint64_t in_places_ns = 0, all_ns = 0;
    for (size_t i = 0; i < series->count; i++) {
        all_ns += series->inference_ns[i];
        in_places_ns += i % every == first ? series->inference_ns[i] : 0;
    }
    bool is_there = 100 * in_places_ns >= SS_LIMIT_STALLS_INFERENCE_WITHIN_PERCENT * all_ns;
    return is_there ? in_places_ns / places : 0;
}

static void check_phase(struct ss_training_facts *facts, size_t phase, const struct series *series)
{
    size_t every = distance_of(series);
    if (every <= 1) {
        return;
    }
    size_t slow_at = first_of(series, every);
    struct tally tally = tally_steps(series, slow_at, every);
    uint64_t more_ns = tally.more_ns / series->count;
    if (is_regular(series, &tally) && more_ns > facts->period.more_ns) {
        facts->period = (struct ss_training_period){
            .phase = &facts->steps->phases.data[phase],
            .every = every,
            .slow = tally.slow,
            .more_ns = more_ns,
            .each_ns = tally.more_ns / tally.places,
            .inference_ns = inference_of(series, slow_at, every, tally.places)};
    }
}

static void check_process(struct ss_training_facts *facts, size_t first, size_t end,
                          struct series *series)
{
    const struct ss_step_summary *steps = facts->steps;
    const struct ss_step_phase *inference = ss_training_phase(facts, ss_phase_inference);
    for (size_t phase = 0; phase < steps->phases.count; phase++) {
        const struct ss_step_phase *row = &steps->phases.data[phase];
        series->count = 0;
        for (size_t i = first; i < end; i++) {
            enum ss_step_kind kind = steps->steps.data[i].kind;
            const uint64_t *phase_ns = &steps->phase_ns[i * steps->phases.count];
            uint64_t ns = phase_ns[phase];
            if (kind == SS_STEP_STEADY || kind == SS_STEP_OUTLIER) {
                series->inference_ns[series->count] = inference != NULL && inference != row
                                                          ? phase_ns[inference - steps->phases.data]
                                                          : 0;
                series->more_ns[series->count++] = ns > row->p50_ns ? ns - row->p50_ns : 0;
            }
        }
        if (series->count > 0 && is_eligible(facts, row)) {
            check_phase(facts, phase, series);
        }
    }
}

void ss_training_period_find(struct ss_training_facts *facts)
{
    const struct ss_step_summary *steps = facts->steps;
    size_t count = steps->steps.count;
    struct series series = {.more_ns = ss_alloc((count + 1) * sizeof *series.more_ns),
                            .inference_ns = ss_alloc((count + 1) * sizeof *series.inference_ns),
                            .histogram = ss_alloc((count + 1) * sizeof *series.histogram),
                            .slow_ns = (uint64_t)((double)steps->p50_ns *
                                                  ss_limit_factor(SS_LIMIT_SLOW_PHASE_PERCENT))};
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first;
             end < count && steps->steps.data[end].process == steps->steps.data[first].process;) {
            end++;
        }
        check_process(facts, first, end, &series);
    }
    ss_free(series.more_ns);
    ss_free(series.inference_ns);
    ss_free(series.histogram);
}
