/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the processes that fetch batches. */
#include "analysis/loading/loader_workers.h"

#include <string.h>

#include "analysis/loading/loader_cells.h"
#include "analysis/selection/program_facts.h"
#include "analysis/selection/shared_ranges.h"
#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/core/note_index.h"

const char *const ss_loader_tracks[] = {ss_domain_torch_data, ss_domain_torch,
                                        ss_counter_operators_recorded, ss_counter_detail_recorded,
                                        NULL};

/* --- when a worker could fetch ---------------------------------------------------------------- */

struct span {
    uint64_t begin_ns, end_ns;
};

struct spans ss_vec_of(struct span);

static void add_span(struct spans *spans, uint64_t begin_ns, uint64_t end_ns)
{
    struct span *last = spans->count > 0 ? &spans->data[spans->count - 1] : NULL;
    if (last == NULL || last->end_ns < begin_ns) {
        ss_vec_push(spans, (struct span){begin_ns, end_ns});
    } else if (last->end_ns < end_ns) {
        last->end_ns = end_ns;
    }
}

/* The recorded steps of the consumer; without steps, from its first to its last wait; without a
 * consumer, from the first to the last of `fetches`. */
static void list_spans(struct spans *spans, const struct ss_loader_events *events,
                       const struct ss_step_summary *training, uint32_t consumer,
                       const struct ss_loader_fetch *fetches, size_t count)
{
    struct span waiting = {UINT64_MAX, 0};
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process == consumer && step->kind != SS_STEP_OUTSIDE) {
            add_span(spans, step->begin_ns, step->end_ns);
        }
    }
    for (size_t i = 0; i < events->waits.count && spans->count == 0; i++) {
        const struct ss_loader_wait *wait = &events->waits.data[i];
        if (wait->process == consumer) {
            waiting.begin_ns =
                wait->begin_ns < waiting.begin_ns ? wait->begin_ns : waiting.begin_ns;
            waiting.end_ns = wait->end_ns > waiting.end_ns ? wait->end_ns : waiting.end_ns;
        }
    }
    if (waiting.end_ns != 0) {
        ss_vec_push(spans, waiting);
    }
    if (spans->count == 0) {
        ss_vec_push(spans, (struct span){fetches[0].begin_ns, fetches[count - 1].end_ns});
    }
}

/* From the worker's start (0: unknown) to its exit. */
static struct span life_of(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_note *began = ss_program_fact(model, process, ss_fact_loader_worker);
    struct span life = {began != NULL ? began->time_ns : 0, UINT64_MAX};
    struct ss_note_ids notes = ss_notes_of_process(model, process);
    for (size_t i = 0; i < notes.count; i++) {
        const struct ss_model_note *note = ss_note_at(model, &notes, i);
        if (note->process == process && note->time_ns < life.end_ns &&
            strcmp(ss_model_text(model, note->kind), "process-exit") == 0) {
            life.end_ns = note->time_ns;
        }
    }
    return life;
}

/* --- processes that fetch --------------------------------------------------------------------- */

static const struct ss_column worker_columns[SS_WORKER_COLUMNS] = {
    [SS_WORKER_PID] = {.key = "pid"},
    [SS_WORKER_PROCESS] = {.key = "process", .comparison = SS_COMPARES_KEY},
    [SS_WORKER_NUMBER] = {.key = "worker", .comparison = SS_COMPARES_KEY},
    [SS_WORKER_BATCHES] = {.key = "batches", .unit = "batches"},
    [SS_WORKER_SAMPLES] = {.key = "samples", .unit = "samples of the dataset"},
    [SS_WORKER_BUSY_PERCENT] = {.key = "busy_percent",
                                .unit = "percent",
                                .comparison = SS_COMPARES_LEVEL},
    [SS_WORKER_BUSY] = {.key = "busy_ns", .unit = "ns"},
    [SS_WORKER_WAITING] = {.key = "waiting_ns", .unit = "ns"},
    [SS_WORKER_BATCH_MEAN] = {.key = "batch_mean_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_LEVEL,
                              .leads = true},
    [SS_WORKER_BATCH_P50] = {.key = "batch_p50_ns", .unit = "ns"},
    [SS_WORKER_BATCH_P95] = {.key = "batch_p95_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_MEAN] = {.key = "sample_mean_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_P50] = {.key = "sample_p50_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_P95] = {.key = "sample_p95_ns", .unit = "ns"},
    [SS_WORKER_COLLATE_MEAN] = {.key = "collate_mean_ns",
                                .unit = "ns",
                                .comparison = SS_COMPARES_LEVEL},
    [SS_WORKER_COLLATE_PERCENT] = {.key = "collate_percent", .unit = "percent"},
};

/* Of uncut fetches only. */
static void fill_times(const struct ss_loader_fetch *fetches, size_t count, struct ss_cell *cells)
{
    uint64_t *scratch = ss_alloc(2 * count * sizeof *scratch);
    uint64_t *each = scratch + count;
    uint64_t total_ns = 0, collate_ns = 0, samples = 0;
    size_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fetches[i].is_cut) {
            scratch[whole] = fetches[i].end_ns - fetches[i].begin_ns;
            each[whole] = scratch[whole] / (uint64_t)fetches[i].samples;
            total_ns += scratch[whole++];
            collate_ns += fetches[i].collate_ns;
            samples += (uint64_t)fetches[i].samples;
        }
    }
    cells[SS_WORKER_BATCHES] = ss_cell_integer((int64_t)whole);
    cells[SS_WORKER_SAMPLES] = ss_cell_integer((int64_t)samples);
    if (whole > 0) {
        cells[SS_WORKER_BATCH_MEAN] = ss_loader_ns_cell(total_ns / whole);
        ss_loader_put_percentiles(scratch, whole, &cells[SS_WORKER_BATCH_P50]);
        cells[SS_WORKER_SAMPLE_MEAN] = ss_loader_ns_cell(total_ns / samples);
        ss_loader_put_percentiles(each, whole, &cells[SS_WORKER_SAMPLE_P50]);
        cells[SS_WORKER_COLLATE_MEAN] = ss_loader_ns_cell(collate_ns / whole);
        cells[SS_WORKER_COLLATE_PERCENT] = ss_loader_percent_cell(collate_ns, total_ns);
    }
    ss_free(scratch);
}

static void fill_busy(const struct ss_model *model, const struct ss_loader_events *events,
                      const struct ss_step_summary *training, const struct ss_loader_fetch *fetches,
                      size_t count, struct ss_cell *cells)
{
    uint32_t process = fetches[0].process;
    const struct ss_model_note *number = ss_program_fact(model, process, ss_fact_loader_worker);
    struct span life = life_of(model, process);
    struct spans spans = {0};
    uint64_t whole_ns = 0, busy_ns = 0;
    list_spans(&spans, events, training, ss_loader_consumer(events, model, process), fetches,
               count);
    for (size_t i = 0, at = 0; i < spans.count; i++) {
        struct span span = spans.data[i];
        span.begin_ns = life.begin_ns > span.begin_ns ? life.begin_ns : span.begin_ns;
        span.end_ns = life.end_ns < span.end_ns ? life.end_ns : span.end_ns;
        whole_ns += span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0;
        while (at < count && fetches[at].end_ns <= span.begin_ns) {
            at++;
        }
        for (size_t k = at; k < count && fetches[k].begin_ns < span.end_ns; k++) {
            busy_ns += ss_loader_overlap_ns(span.begin_ns, span.end_ns, fetches[k].begin_ns,
                                            fetches[k].end_ns);
        }
    }
    ss_vec_fini(&spans);
    cells[SS_WORKER_BUSY_PERCENT] = ss_loader_percent_cell(busy_ns, whole_ns);
    cells[SS_WORKER_BUSY] = ss_loader_ns_cell(busy_ns);
    if (number != NULL) {
        cells[SS_WORKER_NUMBER] = ss_cell_integer(number->value);
        cells[SS_WORKER_WAITING] = ss_loader_ns_cell(whole_ns > busy_ns ? whole_ns - busy_ns : 0);
    }
}

/* A selected consumer includes its workers. */
static bool is_process_selected(const struct ss_loader_events *events,
                                const struct ss_selection *selection,
                                const struct ss_loader_fetch *fetches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ss_selection_has_track(selection, fetches[i].track)) {
            return true;
        }
    }
    uint32_t consumer = ss_loader_consumer(events, selection->model, fetches[0].process);
    for (size_t i = 0; i < events->waits.count && consumer != 0; i++) {
        const struct ss_loader_wait *wait = &events->waits.data[i];
        if (wait->process == consumer && ss_selection_has_track(selection, wait->track)) {
            return true;
        }
    }
    return false;
}

/* Called before the steps, and with them their index, are known. */
void ss_loader_consumers(const struct ss_selection *selection, bool *processes)
{
    struct ss_loader_events events;
    ss_loader_events_init(&events, selection->model, ss_selection_runs(selection));
    for (size_t i = 0; i < events.fetches.count; i++) {
        const struct ss_loader_fetch *fetch = &events.fetches.data[i];
        bool is_repeated =
            i > 0 && fetch[-1].process == fetch->process && fetch[-1].track == fetch->track;
        if (!is_repeated && ss_selection_has_track(selection, fetch->track)) {
            processes[ss_loader_consumer(&events, selection->model, fetch->process)] = true;
        }
    }
    processes[0] = false;
    ss_loader_events_fini(&events);
}

void ss_workers_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      uint64_t max_rows, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    const struct ss_loader_events *events = &training->index.loader;
    *table = (struct ss_table){.name = "worker",
                               .title = "Who loads the data",
                               .is_of_program = true,
                               .empty_text = SS_NO_BATCHES,
                               .columns = worker_columns,
                               .column_count = SS_WORKER_COLUMNS};
    const struct ss_loader_fetch *all = events->fetches.data;
    for (size_t first = 0, end; first < events->fetches.count; first = end) {
        for (end = first; end < events->fetches.count && all[end].process == all[first].process;) {
            end++;
        }
        if (!is_process_selected(events, selection, all + first, end - first)) {
            continue;
        }
        if (max_rows != 0 && table->row_count >= max_rows) {
            table->hidden_rows++;
            continue;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        ss_loader_put_process(model, all[first].process, &cells[SS_WORKER_PID]);
        fill_times(all + first, end - first, cells);
        fill_busy(model, events, training, all + first, end - first, cells);
    }
}
