/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_sums.h"

#include <math.h>

#include "base/alloc.h"

enum { MOST_VALUES = 1 << 24 };

void ss_step_sums_init(struct ss_step_sums *sums, const struct ss_step_series *series, size_t rows)
{
    size_t steps = series->steps.count;
    *sums = (struct ss_step_sums){.series = series};
    if (steps > 0 && rows < MOST_VALUES / steps) {
        sums->values = ss_alloc_zero(rows * steps + 1, sizeof *sums->values);
    }
}

void ss_step_sums_fini(struct ss_step_sums *sums)
{
    ss_free(sums->values);
    *sums = (struct ss_step_sums){0};
}

void ss_step_sums_add(struct ss_step_sums *sums, size_t row, uint32_t process, uint64_t begin_ns,
                      uint64_t ns)
{
    size_t place =
        sums->values != NULL ? ss_step_series_at(sums->series, process, begin_ns) : SIZE_MAX;
    if (place != SIZE_MAX) {
        sums->values[row * sums->series->steps.count + place] += (double)ns;
    }
}

double ss_step_sums_error(const struct ss_step_sums *sums, size_t row)
{
    size_t steps = sums->series->steps.count;
    return sums->values != NULL
               ? ss_step_series_mean(sums->series, sums->values + row * steps).error
               : NAN;
}
