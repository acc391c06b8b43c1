/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake CUPTI: what its range profiler counts, and how its host interface reads it.
 */
#ifndef FAKE_CUPTI_PROFILER_H
#define FAKE_CUPTI_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FAKE_CONFIG_MAGIC = 0x46434647,
    FAKE_DATA_MAGIC = 0x46444154,
    FAKE_SAMPLES_MAGIC = 0x46534d50,
    FAKE_MOST_PASSES = 32
};
/* How many metrics a pass counts; those of a request are taken in their order. */
enum { FAKE_METRICS_OF_PASS = 12 };

/* Of the kernels of a range. */
struct fake_sums {
    double kernels, ns, read_bytes, written_bytes, ffma, tensor_ops;
};

struct fake_config {
    uint32_t magic, passes, metrics;
};

struct fake_data {
    uint32_t magic, ranges, passes_done;
    struct fake_sums passes[FAKE_MOST_PASSES];
};

/* --- cupti_samples.c --- */

/* Whether a metric can be sampled. */
bool fake_samples_have(const char *name);
/* Of one sample of an image of PM sampling; false: it is none. */
bool fake_samples_evaluate(const uint8_t *data, size_t bytes, size_t number,
                           const char *const *metrics, size_t count, double *values);

#endif
