/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/uncertainty.h"

#include <math.h>

double ss_share_error_points(uint64_t hits, uint64_t records, uint64_t ticks)
{
    static const double z = 1.959963984540054; /* 97.5 % quantile of the normal distribution */
    if (records == 0 || ticks == 0) {
        return 0;
    }
    double n = (double)records;
    double p = (double)(hits < records ? hits : records) / n;
    double denominator = 1 + z * z / n;
    double centre = (p + z * z / (2 * n)) / denominator;
    double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / denominator;
    double below = p - (centre - half);
    double above = centre + half - p;
    return 100 * (below > above ? below : above) * n / (double)ticks;
}

uint64_t ss_share_error_ns(uint64_t hits, uint64_t records, uint64_t ticks, uint64_t of_ns)
{
    double ns = ss_share_error_points(hits, records, ticks) / 100 * (double)of_ns;
    return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
}
