/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/mean_error.h"

#include <math.h>

double ss_student_quantile(double freedom)
{
    static const double z = 1.959963984540054, one = 12.706204736, two = 4.302652730;
    if (freedom < 2) { /* the series below diverges; between the two, on the safe side */
        return one;
    }
    if (freedom < 3) {
        return two;
    }
    /* Cornish and Fisher's series in 1 / freedom: within 0.3 % from 3 degrees on. */
    double z2 = z * z, v = freedom;
    double first = z * (z2 + 1) / 4;
    double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    double fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (first + (second + (third + fourth / v) / v) / v) / v;
}

static double mean_of(const double *values, size_t count)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        mean += (values[i] - mean) / (double)(i + 1); /* avoids overflow of the sum */
    }
    return mean;
}

/* The error by the means of all batches of `length` consecutive values. */
static double error_of_batches(const double *values, size_t count, size_t length)
{
    double mean = mean_of(values, count), n = (double)count, b = (double)length;
    double sum = 0, squares = 0; /* of the deviations in the batch; of the batches' means */
    for (size_t i = 0; i < count; i++) {
        sum += values[i] - mean;
        sum -= i >= length ? values[i - length] - mean : 0;
        squares += i + 1 >= length ? sum / b * (sum / b) : 0;
    }
    double variance = b / ((n - b) * (n - b + 1)) * squares;
    double freedom = length == 1 ? n - 1 : 1.5 * (n / b - 1);
    return ss_student_quantile(freedom > 1 ? freedom : 1) * sqrt(variance);
}

double ss_mean_error(const double *values, size_t count)
{
    if (count < SS_FEWEST_FOR_MEAN_ERROR) {
        return NAN;
    }
    const size_t lengths[] = {1, (size_t)sqrt((double)count), count / 5};
    double largest = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        largest = fmax(largest, error_of_batches(values, count, lengths[i]));
    }
    return largest;
}

double ss_mean_error_independent(const double *values, size_t count)
{
    return count < 2 ? NAN : error_of_batches(values, count, 1);
}
