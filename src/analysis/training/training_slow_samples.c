/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a data set that take much longer than the others. */
#include <string.h>

#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "analysis/training/training_facts.h"

struct durations ss_vec_of(uint64_t);

static int64_t index_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    bool is_integer = payload->type == SS_VALUE_INT || payload->type == SS_VALUE_UINT;
    return range->payload != 0 && is_integer ? payload->integer : -1;
}

/* A sample that is loaded in each epoch is one. */
static void add_worst(struct ss_slow_samples *found, struct ss_slow_sample sample)
{
    size_t at = SS_WORST_SAMPLES;
    for (size_t i = 0; i < SS_WORST_SAMPLES; i++) {
        if (found->worst[i].ns > 0 && found->worst[i].index == sample.index) {
            found->worst[i].ns = sample.ns > found->worst[i].ns ? sample.ns : found->worst[i].ns;
            return;
        }
        at = at == SS_WORST_SAMPLES && sample.ns > found->worst[i].ns ? i : at;
    }
    for (size_t i = SS_WORST_SAMPLES; i-- > at + 1;) {
        found->worst[i] = found->worst[i - 1];
    }
    if (at < SS_WORST_SAMPLES) {
        found->worst[at] = sample;
    }
}

static void add_run(struct ss_slow_samples *found, const struct ss_model *model,
                    const struct ss_range_run *run, struct durations *durations)
{
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t name = model->names.data[model->paths.data[range->path].name].text;
        bool is_whole = (range->flags & (SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN)) == 0;
        if (!is_whole || strcmp(ss_model_text(model, name), "sample") != 0) {
            continue;
        }
        uint64_t ns = range->end_ns - range->begin_ns;
        ss_vec_push(durations, ns);
        found->total_ns += ns < UINT64_MAX - found->total_ns ? ns : 0;
        add_worst(found, (struct ss_slow_sample){index_of(model, range), ns});
    }
}

void ss_training_slow_samples_find(struct ss_training_facts *facts,
                                   const struct ss_selection *selection)
{
    struct ss_slow_samples *found = &facts->slow_samples;
    const struct ss_range_run *run = NULL;
    struct durations durations = {0};
    *found = (struct ss_slow_samples){0};
    while ((run = ss_range_runs_next(&facts->steps->index.runs, run, SS_ROLE_LOADER)) != NULL) {
        if (ss_training_has_run(facts, selection, run)) {
            add_run(found, facts->model, run, &durations);
        }
    }
    found->samples = durations.count;
    if (durations.count > 0) {
        ss_sort_u64(durations.data, durations.count);
        found->p50_ns = ss_median_u64(durations.data, durations.count);
    }
    for (size_t i = durations.count; i-- > 0;) {
        if (durations.data[i] / SS_LIMIT_SLOW_SAMPLE_TIMES < found->p50_ns) {
            break;
        }
        found->slow++;
        found->slow_ns += durations.data[i];
    }
    ss_vec_fini(&durations);
}
