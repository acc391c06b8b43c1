/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the processes that consume batches. */
#include <math.h>

#include "analysis/loading/loader_cells.h"
#include "analysis/loading/loader_workers.h"
#include "analysis/selection/program_facts.h"
#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const struct ss_column loader_columns[SS_LOADER_COLUMNS] = {
    [SS_LOADER_PID] = {.key = "pid"},
    [SS_LOADER_PROCESS] = {.key = "process", .comparison = SS_COMPARES_KEY},
    [SS_LOADER_WORKERS] = {.key = "workers", .comparison = SS_COMPARES_LEVEL},
    [SS_LOADER_BATCH_SIZE] = {.key = "batch_size", .unit = "samples of the dataset"},
    [SS_LOADER_PREFETCH] = {.key = "prefetch_factor", .unit = "batches"},
    [SS_LOADER_PIN_MEMORY] = {.key = "pin_memory"},
    [SS_LOADER_ASKED] = {.key = "asked", .unit = "batches"},
    [SS_LOADER_WAIT_PERCENT] = {.key = "wait_percent", .unit = "percent"},
    [SS_LOADER_WAIT_MEAN] = {.key = "wait_mean_ns",
                             .unit = "ns",
                             .comparison = SS_COMPARES_LEVEL,
                             .leads = true},
    [SS_LOADER_WAIT_P50] = {.key = "wait_p50_ns", .unit = "ns"},
    [SS_LOADER_WAIT_P95] = {.key = "wait_p95_ns", .unit = "ns"},
    [SS_LOADER_WAIT_MAX] = {.key = "wait_max_ns", .unit = "ns"},
    [SS_LOADER_EMPTY_PERCENT] = {.key = "empty_percent", .unit = "percent"},
    [SS_LOADER_READY_MEAN] = {.key = "ready_mean",
                              .unit = "batches",
                              .comparison = SS_COMPARES_LEVEL},
    [SS_LOADER_READY_P50] = {.key = "ready_p50", .unit = "batches"},
    [SS_LOADER_READY_P95] = {.key = "ready_p95", .unit = "batches"},
    [SS_LOADER_READY_MAX] = {.key = "ready_max", .unit = "batches"},
    [SS_LOADER_NEEDED] = {.key = "workers_needed"},
    [SS_LOADER_COPY_MEAN] = {.key = "copy_mean_ns", .unit = "ns"},
};

static size_t waits_within(const struct ss_loader_wait *waits, size_t count, uint64_t from_ns,
                           uint64_t to_ns)
{
    size_t within = 0;
    for (size_t i = 0; i < count; i++) {
        within += waits[i].begin_ns >= from_ns && waits[i].begin_ns < to_ns;
    }
    return within;
}

/* The value recorded by the loader with the most requests. */
static struct ss_cell setting(const struct ss_model *model, const char *key,
                              const struct ss_loader_wait *waits, size_t count)
{
    enum { MAX_LOADERS = 64 };
    struct ss_cell cell = {0};
    uint64_t until_ns = UINT64_MAX;
    size_t most = 0, loaders = 0;
    for (size_t i = model->notes.count; i-- > 0 && loaders < MAX_LOADERS;) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->process != waits[0].process || !ss_program_fact_is(model, note, key)) {
            continue;
        }
        size_t requests = waits_within(waits, count, note->time_ns, until_ns);
        if (cell.type == SS_CELL_ABSENT || requests > most) {
            most = requests;
            cell = ss_cell_integer(note->value);
        }
        until_ns = note->time_ns;
        loaders++;
    }
    return cell;
}

static void fill_ready(const struct ss_loader_wait *waits, size_t count, struct ss_cell *cells)
{
    uint64_t *ready = ss_alloc(count * sizeof *ready);
    uint64_t sum = 0, empty = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (waits[i].ready >= 0) {
            ready[known++] = (uint64_t)waits[i].ready;
            sum += (uint64_t)waits[i].ready;
            empty += waits[i].ready == 0;
        }
    }
    if (known > 0) {
        cells[SS_LOADER_EMPTY_PERCENT] = ss_loader_percent_cell(empty, known);
        cells[SS_LOADER_READY_MEAN] = ss_cell_real((double)sum / (double)known);
        ss_loader_put_percentiles(ready, known, &cells[SS_LOADER_READY_P50]);
        cells[SS_LOADER_READY_MAX] = ss_loader_ns_cell(ready[known - 1]);
    }
    ss_free(ready);
}

/* Mean time per batch in the processes that load for this consumer. */
static double batch_ns(const struct ss_loader_events *events, const struct ss_model *model,
                       uint32_t consumer)
{
    double total_ns = 0;
    uint32_t process = 0;
    size_t batches = 0;
    bool counts = false;
    for (size_t i = 0; i < events->fetches.count; i++) {
        const struct ss_loader_fetch *fetch = &events->fetches.data[i];
        counts = fetch->process == process
                     ? counts
                     : ss_loader_consumer(events, model, fetch->process) == consumer;
        process = fetch->process;
        batches += counts && !fetch->is_cut;
        total_ns += counts && !fetch->is_cut ? (double)(fetch->end_ns - fetch->begin_ns) : 0;
    }
    return batches > 0 ? total_ns / (double)batches : 0;
}

/* Sums over the steady-state steps of the consumer. */
struct steady_steps {
    uint64_t *waits_ns;
    size_t steps, requests;
    uint64_t steps_ns, wait_ns;
};

static void sum_steps(const struct ss_step_summary *training, const struct ss_loader_wait *waits,
                      size_t count, struct steady_steps *steady)
{
    size_t at = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        uint64_t wait_ns = 0;
        if (step->process != waits[0].process || step->kind != SS_STEP_STEADY) {
            continue;
        }
        while (at < count && waits[at].end_ns <= step->begin_ns) {
            at++;
        }
        for (size_t w = at; w < count && waits[w].begin_ns < step->end_ns; w++) {
            wait_ns += ss_loader_overlap_ns(step->begin_ns, step->end_ns, waits[w].begin_ns,
                                            waits[w].end_ns);
            steady->requests += waits[w].begin_ns >= step->begin_ns;
        }
        steady->waits_ns[steady->steps++] = wait_ns;
        steady->steps_ns += step->end_ns - step->begin_ns;
        steady->wait_ns += wait_ns;
    }
}

static void fill_waits(const struct steady_steps *steady, double each_ns, struct ss_cell *cells)
{
    double steps = (double)steady->steps;
    if (steady->steps == 0) {
        return;
    }
    cells[SS_LOADER_WAIT_PERCENT] = ss_loader_percent_cell(steady->wait_ns, steady->steps_ns);
    cells[SS_LOADER_WAIT_MEAN] = ss_loader_ns_cell(steady->wait_ns / steady->steps);
    ss_loader_put_percentiles(steady->waits_ns, steady->steps, &cells[SS_LOADER_WAIT_P50]);
    cells[SS_LOADER_WAIT_MAX] = ss_loader_ns_cell(steady->waits_ns[steady->steps - 1]);
    double rest_ns = ((double)steady->steps_ns - (double)steady->wait_ns) / steps;
    if (each_ns > 0 && rest_ns > 0) {
        double needed = ceil(each_ns * (double)steady->requests / steps / rest_ns);
        cells[SS_LOADER_NEEDED] =
            ss_cell_integer(needed < 1e9 ? (int64_t)fmax(needed, 1) : INT32_MAX);
    }
}

/* Copies are known only in steps whose operators were recorded. */
static void fill_copies(const struct ss_loader_events *events,
                        const struct ss_step_summary *training, uint32_t process,
                        struct ss_cell *cells)
{
    uint64_t copies_ns = 0, steps = 0;
    size_t at = 0, end;
    while (at < events->copies.count && events->copies.data[at].process != process) {
        at++;
    }
    for (end = at; end < events->copies.count && events->copies.data[end].process == process;) {
        end++;
    }
    if (at == end) {
        return;
    }
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process != process || step->kind != SS_STEP_STEADY || !step->has_operators) {
            continue;
        }
        steps++;
        for (; at < end && events->copies.data[at].begin_ns < step->end_ns; at++) {
            const struct ss_loader_copy *copy = &events->copies.data[at];
            copies_ns += copy->begin_ns >= step->begin_ns ? copy->end_ns - copy->begin_ns : 0;
        }
    }
    if (steps > 0) {
        cells[SS_LOADER_COPY_MEAN] = ss_loader_ns_cell(copies_ns / steps);
    }
}

static void fill_loader(const struct ss_model *model, const struct ss_loader_events *events,
                        const struct ss_step_summary *training, const struct ss_loader_wait *waits,
                        size_t count, struct ss_cell *cells)
{
    static const char *const settings[] = {ss_fact_loader_workers, ss_fact_loader_batch_size,
                                           ss_fact_loader_prefetch_factor,
                                           ss_fact_loader_pin_memory};
    struct steady_steps steady = {ss_alloc((training->steps.count + 1) * sizeof(uint64_t)), 0, 0, 0,
                                  0};
    ss_loader_put_process(model, waits[0].process, &cells[SS_LOADER_PID]);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        cells[SS_LOADER_WORKERS + i] = setting(model, settings[i], waits, count);
    }
    cells[SS_LOADER_ASKED] = ss_cell_integer((int64_t)count);
    fill_ready(waits, count, cells);
    sum_steps(training, waits, count, &steady);
    fill_waits(&steady, batch_ns(events, model, waits[0].process), cells);
    fill_copies(events, training, waits[0].process, cells);
    ss_free(steady.waits_ns);
}

void ss_loaders_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      struct ss_table *table)
{
    const struct ss_loader_events *events = &training->index.loader;
    *table = (struct ss_table){.name = "loader",
                               .title = "Who waits for it",
                               .is_of_program = true,
                               .empty_text = SS_NO_BATCHES,
                               .columns = loader_columns,
                               .column_count = SS_LOADER_COLUMNS};
    const struct ss_loader_wait *all = events->waits.data;
    for (size_t first = 0, end; first < events->waits.count; first = end) {
        for (end = first; end < events->waits.count && all[end].process == all[first].process;) {
            end++;
        }
        bool is_selected = false;
        for (size_t i = first; i < end && !is_selected; i++) {
            is_selected = ss_selection_has_track(selection, all[i].track);
        }
        if (is_selected) {
            fill_loader(selection->model, events, training, all + first, end - first,
                        ss_table_add_row(table));
        }
    }
}
