/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/overview.h"

#include <limits.h>

#include "analysis/devices/device_overview.h"
#include "analysis/devices/device_tables.h"
#include "analysis/memory/allocations.h"
#include "analysis/operators/modules.h"
#include "analysis/operators/operators.h"
#include "analysis/samples/counters.h"
#include "analysis/samples/hotspots.h"
#include "analysis/steps/range_rows.h"
#include "analysis/steps/ranges.h"
#include "analysis/table/uncertainty.h"
#include "analysis/training/training_facts.h"
#include "base/shared_names.h"

enum { TOP_KERNELS = 8, TOP_OPERATORS = 8, TOP_MODULES = 5 };

/* The rows of a table of which the report of a terminal shows only the top. */
static uint64_t rows_of(const struct ss_table_input *input, uint64_t top)
{
    return input->options->is_page ? input->options->max_rows : top;
}

/* Of all work of devices, copies and memsets take a tenth or more: then shares of kernels alone
 * mislead. A page has tables of both. */
static unsigned shown_work(const struct ss_table_input *input)
{
    bool has_copies = !input->options->is_page && ss_device_copies_share(input->selection) >= 0.1;
    return has_copies ? SS_KERNELS | SS_COPIES | SS_MEMSETS : SS_KERNELS;
}

/* Adds nothing where no operators or modules were recorded. */
static size_t add_calls(const struct ss_table_input *input, struct ss_table *tables)
{
    const struct ss_operators_options operators = {.sort = SS_OPERATORS_BY_STEP,
                                                   .max_rows = rows_of(input, TOP_OPERATORS)};
    const struct ss_operators_options modules = {.sort = SS_OPERATORS_BY_STEP,
                                                 .max_rows = rows_of(input, TOP_MODULES)};
    const struct ss_selection *selection = input->selection;
    const struct ss_work_options works = {.types = shown_work(input),
                                          .max_rows = rows_of(input, TOP_KERNELS)};
    size_t count = 0;
    if (ss_model_has_device_work(selection->model)) {
        ss_work_table(selection, input->training, &works, &tables[count++]);
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
    struct ss_hotspots_options hotspots = {.sort = (enum ss_sort)input->options->sort,
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

static bool has_samples(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].samples > 0) {
            return true;
        }
    }
    return false;
}

/* Where devices worked, a recording needs no samples. */
static size_t build(const struct ss_table_input *input, struct ss_table *tables)
{
    const struct ss_model *model = input->selection->model;
    size_t count = add_calls(input, tables);
    count += add_deepspeed(input, &tables[count]);
    bool wants_hotspots = has_samples(model) || !ss_model_has_device_work(model);
    return wants_hotspots ? count + add_hotspots(input, &tables[count]) : count;
}

/* A table without rows is left out, unless all are. */
static size_t add_if_any(size_t count, struct ss_table *tables)
{
    bool stays = tables[count].row_count > 0;
    if (!stays) {
        ss_table_fini(&tables[count]);
    }
    return count + stays;
}

static size_t build_statistics(const struct ss_table_input *input, struct ss_table *tables)
{
    static const unsigned works[] = {SS_KERNELS, SS_COPIES | SS_MEMSETS, 0};
    const struct ss_selection *selection = input->selection;
    size_t count = 0;
    ss_gpu_table(selection, &tables[count]);
    count = add_if_any(count, tables);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        struct ss_work_options work = {.types = works[i], .max_rows = input->options->max_rows};
        ss_work_table(selection, input->training, &work, &tables[count]);
        count = add_if_any(count, tables);
    }
    struct ss_operators_options operators = {.sort = SS_OPERATORS_BY_STEP,
                                             .max_rows = input->options->max_rows};
    ss_operators_table(selection, input->training, &operators, &tables[count]);
    count = add_if_any(count, tables);
    struct ss_ranges_options ranges = {
        .sort = SS_SORT_TOTAL, .max_rows = input->options->max_rows, .grouping = SS_GROUP_NAME};
    ss_ranges_table(selection, &ranges, &tables[count]);
    count = add_if_any(count, tables);
    if (has_samples(selection->model) || count == 0) {
        struct ss_hotspots_options hotspots = {.by = SS_BY_LINE,
                                               .sort = SS_SORT_SELF,
                                               .max_rows = input->options->max_rows,
                                               .full_paths = input->options->full_paths};
        ss_hotspots_table(selection, &hotspots, &tables[count++]);
    }
    return count;
}

const struct ss_table_kind ss_statistics = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                            .accepts = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                            .idle = SS_IDLE_MAIN,
                                            .rows = 10,
                                            .build = build_statistics};

static size_t build_of_ranges(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = add_calls(input, tables);
    count += add_deepspeed(input, &tables[count]);
    struct ss_ranges_options ranges = {.sort = SS_SORT_TOTAL, .max_rows = input->options->max_rows};
    ss_ranges_table(input->selection, &ranges, &tables[count]);
    bool has_others = count > 0 || ss_model_has_allocations(input->selection->model);
    return has_others ? add_if_any(count, tables) : count + 1;
}

const struct ss_table_kind ss_overview = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                          .accepts = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                          .idle = SS_IDLE_MAIN,
                                          .rows = 10,
                                          .sorts = ss_sorts_of_samples,
                                          .sort = SS_SORT_SELF,
                                          .tracks = ss_training_tracks,
                                          .quantities = SS_MEMORY_QUANTITIES,
                                          .build = build};

const struct ss_table_kind ss_overview_of_ranges = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                                    .accepts =
                                                        SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                                    .idle = SS_IDLE_MAIN,
                                                    .rows = 10,
                                                    .sorts = ss_sorts_of_samples,
                                                    .sort = SS_SORT_SELF,
                                                    .build = build_of_ranges};

/* --- the page --------------------------------------------------------------------------------- */

/* The tables of a page so far. */
struct page {
    const struct ss_table_input *input;
    struct ss_table *tables; /* SS_TABLES_MOST */
    size_t count;
};

static void put_table(struct page *page, struct ss_table *table)
{
    if (table->row_count > 0 && page->count < SS_TABLES_MOST) {
        page->tables[page->count++] = *table;
    } else {
        ss_table_fini(table);
    }
}

/* Adds the tables of a kind with its own defaults. */
static void add_kind(struct page *page, const struct ss_table_kind *kind)
{
    struct ss_table built[SS_TABLES_MOST] = {0};
    struct ss_table_options options = *page->input->options;
    struct ss_table_input own = *page->input;
    options.sort = kind->sort;
    own.options = &options;
    size_t count = kind->build(&own, built);
    for (size_t i = 0; i < count; i++) {
        put_table(page, &built[i]);
    }
}

/* Those without a place come last. */
static unsigned place_of(const struct ss_table_kind *kind)
{
    return kind->page.place != 0 ? kind->page.place : UINT_MAX;
}

/* Adds the kinds of a section by their places, and of one place in the order of their rows. */
static void add_section(struct page *page, enum ss_page_section section)
{
    const struct ss_table_kind *last = NULL;
    for (;;) {
        const struct ss_table_kind *next = NULL;
        for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
            bool is_after = last == NULL || place_of(kind) > place_of(last) ||
                            (place_of(kind) == place_of(last) && kind > last);
            if (kind->page.section == section && is_after &&
                (next == NULL || place_of(kind) < place_of(next))) {
                next = kind;
            }
        }
        if (next == NULL) {
            return;
        }
        add_kind(page, next);
        last = next;
    }
}

/* Which tables stand where: `page` of the rows of tables.c. */
static size_t build_of_page(const struct ss_table_input *input, struct ss_table *tables)
{
    struct page page = {.input = input, .tables = tables};
    if (input->training->steps.count > 0) {
        add_section(&page, SS_PAGE_STEPS);
    }
    page.count += build(input, &tables[page.count]);
    add_section(&page, SS_PAGE_TRACKS);
    if (has_samples(input->selection->model)) {
        add_section(&page, SS_PAGE_SAMPLES);
    }
    return page.count;
}

const struct ss_table_kind ss_overview_of_page = {.needs = SS_NEEDS_TRACKS | SS_NEEDS_STEPS,
                                                  .accepts = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
                                                  .idle = SS_IDLE_MAIN,
                                                  .rows = 100,
                                                  .sorts = ss_sorts_of_samples,
                                                  .sort = SS_SORT_SELF,
                                                  .build = build_of_page};

/* Other tools record no samples beside the work of devices. */
static bool is_import(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].kind != SS_INPUT_IMPORT) {
            return false;
        }
    }
    return model->inputs.count > 0;
}

const struct ss_table_kind *ss_overview_of(const struct ss_model *model)
{
    bool has_ranges_only = !has_samples(model) && ss_model_has_events(model);
    bool is_complete = is_import(model) && ss_model_has_device_work(model);
    return has_ranges_only && !is_complete ? &ss_overview_of_ranges : &ss_overview;
}
