/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_passes.h"

#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static void count_run(const struct ss_step_summary *steps, const struct ss_model *model,
                      const struct ss_range_run *run, uint64_t *passes)
{
    uint32_t process = ss_range_run_process(model, run);
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t name = model->names.data[model->paths.data[range->path].name].text;
        const struct ss_step *step = ss_step_at(steps, process, range->begin_ns);
        if (step != NULL && ss_strview_equal(ss_intern_get(&model->strings, name),
                                             ss_strview_of(ss_phase_backward))) {
            passes[step - steps->steps.data]++;
        }
    }
}

uint64_t ss_step_passes(const struct ss_step_summary *steps, const struct ss_model *model)
{
    uint64_t *passes = ss_alloc_zero(steps->steps.count + 1, sizeof *passes);
    const struct ss_range_run *run = NULL;
    size_t count = 0;
    while ((run = ss_range_runs_next(&steps->index.runs, run, SS_ROLE_PHASES)) != NULL) {
        count_run(steps, model, run, passes);
    }
    for (size_t i = 0; i < steps->steps.count; i++) {
        if (steps->steps.data[i].kind == SS_STEP_STEADY) {
            passes[count++] = passes[i];
        }
    }
    ss_sort_u64(passes, count);
    uint64_t median = count > 0 ? ss_percentile_u64(passes, count, 50) : 0;
    ss_free(passes);
    return median;
}
