/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch_cost.h"

#include <string.h>

/* Before anything is known: what it was on the machine of docs/benchmarks.md, give or take. Never
 * is it taken for less than the least or more than the most: then something else is measured. */
static const double FIRST_NS = 165, FIRST_DEVIATION_NS = 50, LEAST_NS = 60, MOST_NS = 1000;

enum { LEAST_STEPS = 16, LOOK_EACH = 8 };

static void sort(double *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        double value = values[i];
        unsigned place = i;
        for (; place > 0 && values[place - 1] > value; place--) {
            values[place] = values[place - 1];
        }
        values[place] = value;
    }
}

/* And how far off the median may be, squared, from the distance of the quartiles. */
static double median(const double *steps, unsigned count, double *variance)
{
    double sorted[SS_TORCH_COST_STEPS];
    memcpy(sorted, steps, count * sizeof *sorted);
    sort(sorted, count);
    double deviation = (sorted[count * 3 / 4] - sorted[count / 4]) / 1.35;
    *variance = 1.57 * deviation * deviation / count;
    return sorted[count / 2];
}

/* Both that and what was thought before, each by how sure it is. */
static void look(struct ss_torch_cost *cost)
{
    double medians[2], variances[2];
    for (unsigned i = 0; i < 2; i++) {
        unsigned count =
            cost->counts[i] < SS_TORCH_COST_STEPS ? cost->counts[i] : SS_TORCH_COST_STEPS;
        medians[i] = median(cost->steps_ns[i], count, &variances[i]);
    }
    double first_variance = FIRST_DEVIATION_NS * FIRST_DEVIATION_NS;
    double measured = (medians[1] - medians[0]) / cost->operators;
    double variance = (variances[0] + variances[1]) / (cost->operators * cost->operators);
    double ns = (measured * first_variance + FIRST_NS * variance) / (first_variance + variance);
    cost->ns = ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
}

void ss_torch_cost_init(struct ss_torch_cost *cost)
{
    *cost = (struct ss_torch_cost){.ns = FIRST_NS};
}

void ss_torch_cost_see(struct ss_torch_cost *cost, bool is_recorded, double step_ns,
                       double operators)
{
    unsigned *count = &cost->counts[is_recorded];
    cost->steps_ns[is_recorded][(*count)++ % SS_TORCH_COST_STEPS] = step_ns;
    if (!is_recorded) {
        return;
    }
    cost->operators += (operators - cost->operators) / (*count < LOOK_EACH ? *count : LOOK_EACH);
    if (*count % LOOK_EACH == 0 && *count >= LEAST_STEPS && cost->counts[0] >= LEAST_STEPS &&
        cost->operators >= 1) {
        look(cost);
    }
}
