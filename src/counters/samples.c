/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/samples.h"

static const struct {
    const char *title, *unit;
} all_series[] = {
#define SS_SAMPLE_SERIES(name, title, unit) {title, unit},
#include "counters/samples.def"
};

static const struct {
    enum ss_sample_series series;
    const char *metric;
} all_metrics[] = {
#define SS_SAMPLE_METRIC(series, metric) {SS_SAMPLES_##series, metric},
#include "counters/samples.def"
};

const char *ss_sample_series_title(enum ss_sample_series series)
{
    return all_series[series].title;
}

const char *ss_sample_series_unit(enum ss_sample_series series)
{
    return all_series[series].unit;
}

static const char *find_metric(const struct ss_metric_target *target, enum ss_sample_series series)
{
    for (size_t i = 0; i < sizeof all_metrics / sizeof *all_metrics; i++) {
        if (all_metrics[i].series == series && ss_metric_exists(target, all_metrics[i].metric)) {
            return all_metrics[i].metric;
        }
    }
    return NULL;
}

static void name_missing(struct ss_strbuf *missing, enum ss_sample_series series)
{
    if (missing != NULL) {
        ss_strbuf_append_format(missing, "%s%s", missing->length > 0 ? ", " : "",
                                ss_sample_series_title(series));
    }
}

enum ss_status ss_sample_plan_init(const struct ss_metric_target *target,
                                   struct ss_sample_plan *plan, struct ss_strbuf *missing,
                                   struct ss_error *err)
{
    *plan = (struct ss_sample_plan){.count = 0};
    SS_TRY(ss_metric_check_chip(target->profiler, target->chip, err));
    for (unsigned i = 0; i < SS_SAMPLE_SERIES_COUNT; i++) {
        const char *metric = find_metric(target, (enum ss_sample_series)i);
        if (metric != NULL) {
            plan->metrics[plan->count] = metric;
            plan->series[plan->count++] = (enum ss_sample_series)i;
        } else {
            name_missing(missing, (enum ss_sample_series)i);
        }
    }
    while (plan->count > 0) {
        if (ss_metric_config_init(target, plan->metrics, plan->count, &plan->config, err) ==
                SS_OK &&
            plan->config.passes == 1) {
            return SS_OK;
        }
        ss_metric_config_fini(&plan->config);
        name_missing(missing, plan->series[--plan->count]);
    }
    return ss_fail(err, SS_E_UNSUPPORTED,
                   "%.40s has no counters that can be sampled: a device of compute capability 8.6 "
                   "or later, or GA100, is needed",
                   target->chip);
}

void ss_sample_plan_fini(struct ss_sample_plan *plan)
{
    ss_metric_config_fini(&plan->config);
    plan->count = 0;
}
