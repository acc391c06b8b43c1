/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sampled of a device over time (samples.def): which metrics of the series a chip can count
 * in one pass, which is all that PM sampling has. Without a device; as metrics.h, not thread-safe.
 */
#ifndef SS_COUNTERS_SAMPLES_H
#define SS_COUNTERS_SAMPLES_H

#include "base/strbuf.h"
#include "counters/metrics.h"

enum ss_sample_series {
#define SS_SAMPLE_SERIES(name, title, unit) SS_SAMPLES_##name,
#include "counters/samples.def"
    SS_SAMPLE_SERIES_COUNT
};

const char *ss_sample_series_title(enum ss_sample_series series);
const char *ss_sample_series_unit(enum ss_sample_series series);

/* Of a chip. */
struct ss_sample_plan {
    const char *metrics[SS_SAMPLE_SERIES_COUNT];
    enum ss_sample_series series[SS_SAMPLE_SERIES_COUNT]; /* of each */
    size_t count;
    struct ss_metric_config config;
};

/* `target->kind` must be SS_PROFILER_OF_SAMPLES. Titles of series that the chip lacks, or cannot
 * count with the others, are appended to `missing` (may be NULL). */
enum ss_status ss_sample_plan_init(const struct ss_metric_target *target,
                                   struct ss_sample_plan *plan, struct ss_strbuf *missing,
                                   struct ss_error *err);
void ss_sample_plan_fini(struct ss_sample_plan *plan);

#endif
