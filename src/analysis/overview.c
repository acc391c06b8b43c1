/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/overview.h"

#include "analysis/counters.h"
#include "analysis/device_tables.h"
#include "analysis/hotspots.h"
#include "analysis/modules.h"
#include "analysis/operators.h"
#include "analysis/ranges.h"
#include "analysis/training_facts.h"
#include "analysis/uncertainty.h"
#include "base/shared_names.h"

enum { TOP_KERNELS = 8, TOP_OPERATORS = 8, TOP_MODULES = 5 };

/* Adds nothing where no operators or modules were recorded. */
static size_t add_calls(const struct ss_table_input *input, struct ss_table *tables)
{
    static const struct ss_operators_options operators = {.sort = SS_OPERATORS_BY_STEP,
                                                          .max_rows = TOP_OPERATORS};
    static const struct ss_operators_options modules = {.sort = SS_OPERATORS_BY_STEP,
                                                        .max_rows = TOP_MODULES};
    const struct ss_selection *selection = input->selection;
    static const struct ss_work_options kernels = {.types = SS_KERNELS, .max_rows = TOP_KERNELS};
    size_t count = 0;
    if (ss_model_has_device_work(selection->model)) {
        ss_work_table(selection, input->training, &kernels, &tables[count++]);
    }
    if (ss_model_has_domain(selection->model, ss_domain_torch)) {
        ss_operators_table(selection, input->training, &operators, &tables[count++]);
    }
    if (ss_model_has_domain(selection->model, ss_domain_torch_module)) {
        ss_modules_table(selection, input->training, &modules, &tables[count++]);
    }
    return count;
}

/* The output of DeepSpeed's own profiler; no table where it did not run. */
static size_t add_deepspeed(const struct ss_table_input *input, struct ss_table *table)
{
    struct ss_counters_options counters = {.prefix = "deepspeed "};
    ss_counters_table(input->selection, &counters, table);
    table->title = "DeepSpeed's flops profiler";
    return table->row_count > 0;
}

/* The time per step that one sample represents. First steps count where the chosen samples include
 * them. */
static double sample_step_ns(const struct ss_table_input *input, const struct ss_selection *chosen)
{
    const struct ss_step_summary *training = input->training;
    size_t steps = training->steps.count - (chosen->has_first_steps ? 0 : training->processes);
    return steps > 0 && input->achieved_hz > 0 ? 1e9 / input->achieved_hz / (double)steps : 0;
}

/* For a training, only the samples within its steps, which leaves out its imports. */
static size_t add_hotspots(const struct ss_table_input *input, struct ss_table *tables)
{
    static const char *const titles[] = {"Hottest functions within steps",
                                         "Hottest lines within steps"};
    const struct ss_selection *selection = input->selection;
    struct ss_selection within;
    bool is_within =
        input->training->steps.count > 0 && ss_selection_within_steps(selection, &within);
    const struct ss_selection *chosen = is_within ? &within : selection;
    struct ss_hotspots_options hotspots = {.sort = (enum ss_hotspots_sort)input->options->sort,
                                           .max_rows = input->options->max_rows,
                                           .min_samples = SS_MIN_CLAIM_SAMPLES,
                                           .full_paths = input->options->full_paths};
    for (size_t i = 0; i < 2; i++) {
        hotspots.by = i == 0 ? SS_BY_FUNCTION : SS_BY_LINE;
        ss_hotspots_table(chosen, &hotspots, &tables[i]);
        tables[i].outside_samples = selection->shown - chosen->shown;
        if (is_within) {
            tables[i].sample_step_ns = sample_step_ns(input, chosen);
            tables[i].title = titles[i];
        }
    }
    if (is_within) {
        ss_selection_fini(&within);
    }
    return 2;
}

static size_t build(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = add_calls(input, tables);
    count += add_deepspeed(input, &tables[count]);
    return count + add_hotspots(input, &tables[count]);
}

static size_t build_of_ranges(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = add_calls(input, tables);
    count += add_deepspeed(input, &tables[count]);
    struct ss_ranges_options ranges = {.sort = SS_SORT_TOTAL, .max_rows = input->options->max_rows};
    ss_ranges_table(input->selection, &ranges, &tables[count]);
    return count + 1;
}

const struct ss_table_kind ss_overview = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                          .accepts = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                          .idle = SS_IDLE_MAIN,
                                          .rows = 10,
                                          .sorts = ss_sorts_of_samples,
                                          .sort = SS_SORT_SELF,
                                          .tracks = ss_training_tracks,
                                          .build = build};

const struct ss_table_kind ss_overview_of_ranges = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                                    .accepts =
                                                        SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                                    .idle = SS_IDLE_MAIN,
                                                    .rows = 10,
                                                    .sorts = ss_sorts_of_samples,
                                                    .sort = SS_SORT_SELF,
                                                    .build = build_of_ranges};

static bool has_samples(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].samples > 0) {
            return true;
        }
    }
    return false;
}

const struct ss_table_kind *ss_overview_of(const struct ss_model *model)
{
    return !has_samples(model) && ss_model_has_events(model) ? &ss_overview_of_ranges
                                                             : &ss_overview;
}
