/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/distribution.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MIN_RADIX_SORT = 2048 }; /* values, from which on radix sort is faster */

static size_t rank(size_t count, unsigned percent)
{
    size_t below = (count / 100) * percent + (count % 100 * percent + 99) / 100;
    return below > 0 ? below - 1 : 0;
}

uint64_t ss_percentile_u64(const uint64_t *values, size_t count, unsigned percent)
{
    return values[rank(count, percent)];
}

uint64_t ss_median_u64(const uint64_t *values, size_t count)
{
    uint64_t lower = values[(count - 1) / 2], upper = values[count / 2];
    return lower + (upper - lower) / 2;
}

double ss_median(const double *values, size_t count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* From the lowest byte on; skips bytes in which all values agree. */
static void radix_sort(uint64_t *values, size_t count)
{
    enum { BYTES = 8, VALUES = 256 };
    size_t(*counts)[VALUES] = ss_alloc_zero(BYTES, sizeof *counts);
    uint64_t *from = values, *to = ss_alloc(count * sizeof *to), *buffer = to;
    for (size_t i = 0; i < count; i++) {
        for (unsigned byte = 0; byte < BYTES; byte++) {
            counts[byte][values[i] >> 8 * byte & 0xff]++;
        }
    }
    for (unsigned byte = 0; byte < BYTES; byte++) {
        if (counts[byte][values[0] >> 8 * byte & 0xff] == count) {
            continue;
        }
        size_t begin = 0;
        for (size_t value = 0; value < VALUES; value++) {
            size_t here = counts[byte][value];
            counts[byte][value] = begin;
            begin += here;
        }
        for (size_t i = 0; i < count; i++) {
            to[counts[byte][from[i] >> 8 * byte & 0xff]++] = from[i];
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) {
        memcpy(values, from, count * sizeof *values);
    }
    ss_free(buffer);
    ss_free(counts);
}

void ss_sort_u64(uint64_t *values, size_t count)
{
    if (count >= MIN_RADIX_SORT) {
        radix_sort(values, count);
    } else if (count > 1) {
        qsort(values, count, sizeof *values, compare_u64);
    }
}

static double sum_of_weights(const struct ss_weighted *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i].weight;
    }
    return sum;
}

/* The next value after `at` that has a weight; `at` if none has. */
static size_t next_weighted(const struct ss_weighted *values, size_t count, size_t at)
{
    for (size_t i = at + 1; i < count; i++) {
        if (values[i].weight > 0) {
            return i;
        }
    }
    return at;
}

double ss_percentile(const struct ss_weighted *values, size_t count, unsigned percent)
{
    double target = sum_of_weights(values, count) * percent / 100, sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < count && (sum < target || values[at].weight == 0); i++) {
        sum += values[i].weight;
        at = values[i].weight > 0 ? i : at;
    }
    bool is_between = percent == 50 && sum == target;
    size_t next = is_between ? next_weighted(values, count, at) : at;
    return values[at].value + (values[next].value - values[at].value) / 2;
}

double ss_mean(const struct ss_weighted *values, size_t count)
{
    double all = sum_of_weights(values, count), mean = 0;
    for (size_t i = 0; i < count; i++) {
        mean += values[i].value * (values[i].weight / all); /* avoids overflow of the sum */
    }
    return mean;
}

static int compare_weighted(const void *left, const void *right)
{
    const struct ss_weighted *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

void ss_sort_weighted(struct ss_weighted *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_weighted);
    }
}
