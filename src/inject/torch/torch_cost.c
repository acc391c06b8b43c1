/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_cost.h"

#include <string.h>

/* The initial estimate: about the cost on the machine of docs/benchmarks.md. Results below LEAST_NS
 * or above MOST_NS are clamped: they measure something else. */
static const double FIRST_NS = 165, FIRST_DEVIATION_NS = 50, LEAST_NS = 60, MOST_NS = 1000;

enum { LEAST_STEPS = 16, UPDATE_EACH = 8 };

static void sort(double *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        double value = values[i];
        unsigned at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

/* The variance of the median comes from the distance of the quartiles. */
static double median(const double *steps, unsigned count, double *variance)
{
    double sorted[SS_TORCH_COST_STEPS];
    memcpy(sorted, steps, count * sizeof *sorted);
    sort(sorted, count);
    double deviation = (sorted[count * 3 / 4] - sorted[count / 4]) / 1.35;
    *variance = 1.57 * deviation * deviation / count;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Combines the measurement with the initial estimate, each weighted by its certainty. */
static void update(struct ss_torch_cost *cost)
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

void ss_torch_cost_add(struct ss_torch_cost *cost, bool is_recorded, double step_ns,
                       double operators)
{
    unsigned *count = &cost->counts[is_recorded];
    cost->steps_ns[is_recorded][(*count)++ % SS_TORCH_COST_STEPS] = step_ns;
    if (!is_recorded) {
        return;
    }
    cost->operators +=
        (operators - cost->operators) / (*count < UPDATE_EACH ? *count : UPDATE_EACH);
    if (*count % UPDATE_EACH == 0 && *count >= LEAST_STEPS && cost->counts[0] >= LEAST_STEPS &&
        cost->operators >= 1) {
        update(cost);
    }
}
