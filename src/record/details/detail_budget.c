/* SPDX-License-Identifier: Apache-2.0 */
#include "record/details/detail_budget.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"

/* Detail has so many parts of the limit; the last one is never reached: ln of a year over a second
 * is 17. */
enum { PARTS = 16 };
/* Of what detail may grow by, the share for steps that stand out. */
static const double outlier_share = 0.25;
enum { WINDOW_STEPS = 8, SURE_WINDOWS = 16, FEWEST_LENGTHS = 16, UPDATE_EACH = 16, MEAN_OF = 32 };
static const double first_event_bytes = 6;
static const uint64_t second_ns = UINT64_C(1000000000);
enum { DISK_LOW_PERCENT = 120 /* of its reserve: no more detail */ };

void ss_detail_budget_init(struct ss_detail_budget *budget, uint64_t max_bytes, uint64_t now_ns)
{
    *budget = (struct ss_detail_budget){
        .max_bytes = max_bytes, .begin_ns = now_ns, .event_bytes = first_event_bytes};
}

static double spent(const struct ss_detail_budget *budget)
{
    return budget->first_bytes + budget->later_bytes;
}

/* What the rest of the file leaves of the limit. */
static double room(const struct ss_detail_budget *budget)
{
    double others = (double)budget->figures.bytes - spent(budget);
    return (double)budget->max_bytes - (others > 0 ? others : 0);
}

static double part(const struct ss_detail_budget *budget)
{
    double bytes = room(budget) / PARTS;
    return bytes > 0 ? bytes : 0;
}

static bool is_disk_low(const struct ss_detail_budget *budget)
{
    return budget->figures.reserve_bytes > 0 &&
           budget->figures.free_bytes < budget->figures.reserve_bytes / 100 * DISK_LOW_PERCENT;
}

/* By how many parts detail may have grown since steps are thinned. */
static double growth(const struct ss_detail_budget *budget, uint64_t now_ns)
{
    uint64_t first_ns = budget->thinned_ns - budget->begin_ns;
    first_ns = first_ns > second_ns ? first_ns : second_ns;
    uint64_t since_ns = now_ns > budget->thinned_ns ? now_ns - budget->thinned_ns : 0;
    return log1p((double)since_ns / (double)first_ns);
}

/* What windows and steps that stand out may have more. */
static void grow(struct ss_detail_budget *budget, uint64_t now_ns)
{
    double now = growth(budget, now_ns), more = part(budget) * (now - budget->growth);
    budget->growth = now;
    budget->window_bytes += (1 - outlier_share) * more;
    budget->outlier_bytes += outlier_share * more;
}

/* Until steps are thinned, most of what is written is detail: its mean size is known then. */
static void learn_size(struct ss_detail_budget *budget, const struct ss_detail_figures *figures)
{
    if (figures->records > 0 && figures->bytes > 0) {
        double bytes = (double)figures->bytes / (double)figures->records;
        budget->first_bytes *= bytes / budget->event_bytes;
        budget->event_bytes = bytes;
    }
}

void ss_detail_budget_update(struct ss_detail_budget *budget,
                             const struct ss_detail_figures *figures)
{
    budget->figures = *figures;
    if (budget->thinned_ns != 0) {
        grow(budget, figures->now_ns);
        return;
    }
    learn_size(budget, figures);
    bool is_first_over = budget->max_bytes > 0 && budget->first_bytes >= part(budget);
    if (is_first_over || is_disk_low(budget)) {
        budget->thinned_ns = figures->now_ns > 0 ? figures->now_ns : 1;
        budget->outlier_bytes = outlier_share * part(budget); /* the first need not wait */
    }
}

bool ss_detail_budget_thins(const struct ss_detail_budget *budget)
{
    return budget->thinned_ns != 0;
}

bool ss_detail_budget_is_used_up(const struct ss_detail_budget *budget)
{
    return budget->thinned_ns != 0 &&
           (is_disk_low(budget) ||
            (budget->max_bytes > 0 && budget->figures.bytes >= budget->max_bytes));
}

void ss_detail_budget_spend(struct ss_detail_budget *budget, enum ss_detail why, uint64_t events)
{
    double bytes = (double)events * budget->event_bytes;
    if (budget->thinned_ns == 0) {
        budget->first_bytes += bytes;
        return;
    }
    budget->later_bytes += bytes;
    budget->window_bytes -= why == SS_DETAIL_STOOD_OUT ? 0 : bytes;
    budget->outlier_bytes -= why == SS_DETAIL_STOOD_OUT ? bytes : 0;
}

static bool has_room(const struct ss_detail_budget *budget)
{
    return budget->max_bytes > 0 && !is_disk_low(budget) && spent(budget) < room(budget);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Windows are blocks of steps, chosen by a hash of their number: at random for each program, but
 * alike in all ranks of a run, whose budgets are alike. The more may be written, the more likely.
 */
static bool is_chosen(const struct ss_detail_steps *steps, const struct ss_detail_budget *budget,
                      int64_t block)
{
    double cost = WINDOW_STEPS * (steps->events > 1 ? steps->events : 1) * budget->event_bytes;
    double draw = (double)(ss_hash_u64((uint64_t)block + 1) >> 11) / (double)(UINT64_C(1) << 53);
    return draw < budget->window_bytes / (SURE_WINDOWS * cost);
}

enum ss_detail ss_detail_plan(struct ss_detail_steps *steps, const struct ss_detail_budget *budget,
                              int64_t number)
{
    bool has_limit = budget->max_bytes > 0 || is_disk_low(budget);
    int64_t block = number / WINDOW_STEPS;
    if (!ss_detail_budget_thins(budget) || !has_limit) {
        return SS_DETAIL_FULL;
    }
    if (!steps->has_block || block != steps->block) {
        steps->has_block = true;
        steps->block = block;
        steps->is_window = is_chosen(steps, budget, block);
    }
    return steps->is_window && has_room(budget) ? SS_DETAIL_FULL : SS_DETAIL_UNDECIDED;
}

static void sort(uint64_t *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        uint64_t value = values[i];
        unsigned at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

/* As analysis/steps/steps.h finds outliers: more than five robust deviations above the median. */
static uint64_t find_long(const struct ss_detail_steps *steps)
{
    uint64_t sorted[SS_DETAIL_LENGTHS];
    unsigned count = steps->count < SS_DETAIL_LENGTHS ? (unsigned)steps->count : SS_DETAIL_LENGTHS;
    memcpy(sorted, steps->lengths_ns, count * sizeof *sorted);
    sort(sorted, count);
    uint64_t median = sorted[count / 2];
    for (unsigned i = 0; i < count; i++) {
        sorted[i] = sorted[i] > median ? sorted[i] - median : median - sorted[i];
    }
    sort(sorted, count);
    double deviation = 1.4826 * (double)sorted[count / 2], least = 0.02 * (double)median;
    double limit = (double)median + 5 * (deviation > least ? deviation : least);
    return limit < (double)(UINT64_MAX / 2) ? (uint64_t)limit : UINT64_MAX;
}

static void add_length(struct ss_detail_steps *steps, uint64_t step_ns)
{
    steps->lengths_ns[steps->count++ % SS_DETAIL_LENGTHS] = step_ns;
    if (steps->count >= FEWEST_LENGTHS && steps->count % UPDATE_EACH == 0) {
        steps->long_ns = find_long(steps);
    }
}

enum ss_detail ss_detail_settle(struct ss_detail_steps *steps,
                                const struct ss_detail_budget *budget, enum ss_detail planned,
                                uint64_t step_ns, uint64_t events)
{
    bool is_long = steps->long_ns > 0 && step_ns > steps->long_ns;
    uint64_t known = steps->count < MEAN_OF ? steps->count + 1 : MEAN_OF;
    steps->events += ((double)events - steps->events) / (double)known;
    add_length(steps, step_ns);
    if (planned != SS_DETAIL_UNDECIDED) {
        return planned;
    }
    double cost = (double)events * budget->event_bytes;
    return is_long && has_room(budget) && budget->outlier_bytes >= cost ? SS_DETAIL_STOOD_OUT
                                                                        : SS_DETAIL_SUMS;
}
