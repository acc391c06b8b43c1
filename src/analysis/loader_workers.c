/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/loader_workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/program_facts.h"
#include "analysis/ranges.h"
#include "analysis/recorded_steps.h"
#include "base/alloc.h"
#include "base/shared_names.h"

const char *const ss_loader_tracks[] = {ss_domain_torch_data, ss_domain_torch,
                                        ss_counter_operators_recorded, NULL};

/* --- fetches and waits ----------------------------------------------------------------------- */

struct fetch {
    uint32_t process;
    bool is_cut;      /* its begin or end was not recorded */
    bool is_selected; /* the selection includes its track */
    uint64_t begin_ns, end_ns;
    uint64_t collate_ns;
    int64_t samples;
};

struct wait {
    uint32_t process;
    bool is_selected;
    uint64_t begin_ns, end_ns;
    int64_t ready; /* batches; -1: no prefetching */
};

/* From host to device. */
struct copy {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct fetches ss_vec_of(struct fetch);
struct copies ss_vec_of(struct copy);
struct waits ss_vec_of(struct wait);

/* The loader events of a recording, each list by process, then by begin. */
struct loader_events {
    struct fetches fetches;
    struct waits waits;
    struct copies copies;
};

static const char *name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return ss_model_text(model, model->names.data[model->paths.data[range->path].name].text);
}

/* -1: none. */
static int64_t number_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    return range->payload != 0 && payload->type == SS_VALUE_INT ? payload->integer : -1;
}

/* Ranges of a track are sorted outer before inner: those of a fetch follow it. Only the outermost
 * fetch counts, with its collating: a dataset may have a loader of its own. */
static void add_range(struct loader_events *events, const struct ss_selection *selection,
                      const struct ss_model_range *range, uint32_t *track)
{
    const struct ss_model *model = selection->model;
    bool is_selected = ss_selection_has_track(selection, range->track);
    bool is_cut = (range->flags & (SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN)) != 0;
    uint32_t process = model->tracks.data[range->track].process;
    struct fetch *last = *track == range->track && events->fetches.count > 0
                             ? &events->fetches.data[events->fetches.count - 1]
                             : NULL;
    bool is_within = last != NULL && range->begin_ns < last->end_ns;
    const char *name = name_of(model, range);
    if (strcmp(name, "next") == 0) {
        ss_vec_push(&events->waits, (struct wait){process, is_selected, range->begin_ns,
                                                  range->end_ns, number_of(model, range)});
    } else if (strcmp(name, "host to device") == 0) {
        ss_vec_push(&events->copies, (struct copy){process, range->begin_ns, range->end_ns});
    } else if (strcmp(name, "collate") == 0 && is_within) {
        int64_t samples = number_of(model, range);
        last->collate_ns += range->end_ns - range->begin_ns;
        last->samples = samples > 0 ? samples : last->samples;
    } else if (strcmp(name, "fetch") == 0 && !is_within) {
        ss_vec_push(&events->fetches, (struct fetch){process, is_cut, is_selected, range->begin_ns,
                                                     range->end_ns, 0, number_of(model, range)});
        *track = range->track;
    }
}

static int by_process(uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns)
{
    return a != b ? (a < b ? -1 : 1) : (a_ns > b_ns) - (a_ns < b_ns);
}

static int compare_fetches(const void *left, const void *right)
{
    const struct fetch *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

static int compare_waits(const void *left, const void *right)
{
    const struct wait *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

static int compare_copies(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

/* Drops fetches without samples, which found the dataset at its end. A cut fetch may have had
 * some. */
static void drop_empty(struct fetches *fetches)
{
    size_t count = 0;
    for (size_t i = 0; i < fetches->count; i++) {
        if (fetches->data[i].samples > 0 || fetches->data[i].is_cut) {
            fetches->data[count++] = fetches->data[i];
        }
    }
    fetches->count = count;
}

/* Collects all processes: the row of a selected process may need the events of others. */
static void collect(struct loader_events *events, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    uint32_t track = 0; /* of the last fetch */
    *events = (struct loader_events){0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *row = &model->tracks.data[range->track];
        if (row->kind == SS_TRACK_RANGES && row->process != 0 &&
            (range->flags & SS_RANGE_OUTSIDE) == 0 &&
            strcmp(ss_model_text(model, row->name), ss_domain_torch_data) == 0) {
            add_range(events, selection, range, &track);
        }
    }
    drop_empty(&events->fetches);
    if (events->fetches.count > 0) {
        qsort(events->fetches.data, events->fetches.count, sizeof(struct fetch), compare_fetches);
    }
    if (events->waits.count > 0) {
        qsort(events->waits.data, events->waits.count, sizeof(struct wait), compare_waits);
    }
    if (events->copies.count > 0) {
        qsort(events->copies.data, events->copies.count, sizeof(struct copy), compare_copies);
    }
}

static void events_fini(struct loader_events *events)
{
    ss_vec_fini(&events->fetches);
    ss_vec_fini(&events->waits);
    ss_vec_fini(&events->copies);
}

/* --- consumers of batches --------------------------------------------------------------------- */

static bool consumes_batches(const struct loader_events *events, uint32_t process)
{
    size_t i = 0;
    while (i < events->waits.count && events->waits.data[i].process != process) {
        i++;
    }
    return i < events->waits.count;
}

/* The process or its nearest ancestor that consumes batches; 0: none in the recording. */
static uint32_t consumer_of(const struct loader_events *events, const struct ss_model *model,
                            uint32_t process)
{
    enum { MAX_GENERATIONS = 8 };
    for (int i = 0; i < MAX_GENERATIONS && process != 0; i++) {
        if (consumes_batches(events, process)) {
            return process;
        }
        process = model->processes.data[process].parent;
    }
    return 0;
}

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
static void list_spans(struct spans *spans, const struct loader_events *events,
                       const struct ss_step_summary *training, uint32_t consumer,
                       const struct fetch *fetches, size_t count)
{
    struct span waiting = {UINT64_MAX, 0};
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process == consumer && step->kind != SS_STEP_OUTSIDE) {
            add_span(spans, step->begin_ns, step->end_ns);
        }
    }
    for (size_t i = 0; i < events->waits.count && spans->count == 0; i++) {
        const struct wait *wait = &events->waits.data[i];
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

static uint64_t overlap_ns(const struct span *span, uint64_t begin_ns, uint64_t end_ns)
{
    begin_ns = begin_ns > span->begin_ns ? begin_ns : span->begin_ns;
    end_ns = end_ns < span->end_ns ? end_ns : span->end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* From the worker's start (0: unknown) to its exit. */
static struct span life_of(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_note *began = ss_program_fact(model, process, ss_fact_loader_worker);
    struct span life = {began != NULL ? began->time_ns : 0, UINT64_MAX};
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->process == process && note->time_ns < life.end_ns &&
            strcmp(ss_model_text(model, note->kind), "process-exit") == 0) {
            life.end_ns = note->time_ns;
        }
    }
    return life;
}

/* --- processes that fetch --------------------------------------------------------------------- */

static const char no_batches[] =
    "no batches: no DataLoader of PyTorch was used while it was recorded";

static const struct ss_column worker_columns[SS_WORKER_COLUMNS] = {
    [SS_WORKER_PID] = {.key = "pid"},
    [SS_WORKER_PROCESS] = {.key = "process"},
    [SS_WORKER_NUMBER] = {.key = "worker"},
    [SS_WORKER_BATCHES] = {.key = "batches", .unit = "batches"},
    [SS_WORKER_SAMPLES] = {.key = "samples", .unit = "samples of the dataset"},
    [SS_WORKER_BUSY_PERCENT] = {.key = "busy_percent", .unit = "percent"},
    [SS_WORKER_BUSY] = {.key = "busy_ns", .unit = "ns"},
    [SS_WORKER_WAITING] = {.key = "waiting_ns", .unit = "ns"},
    [SS_WORKER_BATCH_MEAN] = {.key = "batch_mean_ns", .unit = "ns"},
    [SS_WORKER_BATCH_P50] = {.key = "batch_p50_ns", .unit = "ns"},
    [SS_WORKER_BATCH_P95] = {.key = "batch_p95_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_MEAN] = {.key = "sample_mean_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_P50] = {.key = "sample_p50_ns", .unit = "ns"},
    [SS_WORKER_SAMPLE_P95] = {.key = "sample_p95_ns", .unit = "ns"},
    [SS_WORKER_COLLATE_MEAN] = {.key = "collate_mean_ns", .unit = "ns"},
    [SS_WORKER_COLLATE_PERCENT] = {.key = "collate_percent", .unit = "percent"},
};

static struct ss_cell ns_cell(uint64_t ns)
{
    return ss_cell_integer(ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

static struct ss_cell percent_cell(uint64_t part, uint64_t whole)
{
    return whole > 0 ? ss_cell_real(100 * (double)part / (double)whole) : (struct ss_cell){0};
}

static void put_process(const struct ss_model *model, uint32_t process, struct ss_cell cells[2])
{
    const struct ss_model_process *row = &model->processes.data[process];
    cells[0] = row->pid >= 0 ? ss_cell_integer(row->pid) : (struct ss_cell){0};
    if (row->name != 0) {
        cells[1] = ss_cell_text(ss_intern_get(&model->strings, row->name));
    }
}

/* p50 and p95; sorts the values. */
static void put_percentiles(uint64_t *values, size_t count, struct ss_cell cells[2])
{
    ss_sort_u64(values, count);
    cells[0] = ns_cell(ss_percentile_u64(values, count, 50));
    cells[1] = ns_cell(ss_percentile_u64(values, count, 95));
}

/* Of uncut fetches only. */
static void fill_times(const struct fetch *fetches, size_t count, struct ss_cell *cells)
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
        cells[SS_WORKER_BATCH_MEAN] = ns_cell(total_ns / whole);
        put_percentiles(scratch, whole, &cells[SS_WORKER_BATCH_P50]);
        cells[SS_WORKER_SAMPLE_MEAN] = ns_cell(total_ns / samples);
        put_percentiles(each, whole, &cells[SS_WORKER_SAMPLE_P50]);
        cells[SS_WORKER_COLLATE_MEAN] = ns_cell(collate_ns / whole);
        cells[SS_WORKER_COLLATE_PERCENT] = percent_cell(collate_ns, total_ns);
    }
    ss_free(scratch);
}

static void fill_busy(const struct ss_model *model, const struct loader_events *events,
                      const struct ss_step_summary *training, const struct fetch *fetches,
                      size_t count, struct ss_cell *cells)
{
    uint32_t process = fetches[0].process;
    const struct ss_model_note *number = ss_program_fact(model, process, ss_fact_loader_worker);
    struct span life = life_of(model, process);
    struct spans spans = {0};
    uint64_t whole_ns = 0, busy_ns = 0;
    list_spans(&spans, events, training, consumer_of(events, model, process), fetches, count);
    for (size_t i = 0, at = 0; i < spans.count; i++) {
        struct span span = spans.data[i];
        span.begin_ns = life.begin_ns > span.begin_ns ? life.begin_ns : span.begin_ns;
        span.end_ns = life.end_ns < span.end_ns ? life.end_ns : span.end_ns;
        whole_ns += span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0;
        while (at < count && fetches[at].end_ns <= span.begin_ns) {
            at++;
        }
        for (size_t k = at; k < count && fetches[k].begin_ns < span.end_ns; k++) {
            busy_ns += overlap_ns(&span, fetches[k].begin_ns, fetches[k].end_ns);
        }
    }
    ss_vec_fini(&spans);
    cells[SS_WORKER_BUSY_PERCENT] = percent_cell(busy_ns, whole_ns);
    cells[SS_WORKER_BUSY] = ns_cell(busy_ns);
    if (number != NULL) {
        cells[SS_WORKER_NUMBER] = ss_cell_integer(number->value);
        cells[SS_WORKER_WAITING] = ns_cell(whole_ns > busy_ns ? whole_ns - busy_ns : 0);
    }
}

/* A selected consumer includes its workers. */
static bool is_process_selected(const struct loader_events *events, const struct ss_model *model,
                                const struct fetch *fetches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fetches[i].is_selected) {
            return true;
        }
    }
    uint32_t consumer = consumer_of(events, model, fetches[0].process);
    for (size_t i = 0; i < events->waits.count && consumer != 0; i++) {
        if (events->waits.data[i].process == consumer && events->waits.data[i].is_selected) {
            return true;
        }
    }
    return false;
}

void ss_loader_consumers(const struct ss_selection *selection, bool *processes)
{
    struct loader_events events;
    collect(&events, selection);
    for (size_t i = 0; i < events.fetches.count; i++) {
        const struct fetch *fetch = &events.fetches.data[i];
        bool is_repeated = i > 0 && fetch[-1].process == fetch->process && fetch[-1].is_selected;
        if (fetch->is_selected && !is_repeated) {
            processes[consumer_of(&events, selection->model, fetch->process)] = true;
        }
    }
    processes[0] = false;
    events_fini(&events);
}

void ss_workers_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      uint64_t max_rows, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    struct loader_events events;
    *table = (struct ss_table){.name = "worker",
                               .title = "Who loads the data",
                               .is_of_program = true,
                               .empty_text = no_batches,
                               .columns = worker_columns,
                               .column_count = SS_WORKER_COLUMNS};
    collect(&events, selection);
    const struct fetch *all = events.fetches.data;
    for (size_t first = 0, end; first < events.fetches.count; first = end) {
        for (end = first; end < events.fetches.count && all[end].process == all[first].process;) {
            end++;
        }
        if (!is_process_selected(&events, model, all + first, end - first)) {
            continue;
        }
        if (max_rows != 0 && table->row_count >= max_rows) {
            table->hidden_rows++;
            continue;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        put_process(model, all[first].process, &cells[SS_WORKER_PID]);
        fill_times(all + first, end - first, cells);
        fill_busy(model, &events, training, all + first, end - first, cells);
    }
    events_fini(&events);
}

/* --- processes that consume ------------------------------------------------------------------- */

static const struct ss_column loader_columns[SS_LOADER_COLUMNS] = {
    [SS_LOADER_PID] = {.key = "pid"},
    [SS_LOADER_PROCESS] = {.key = "process"},
    [SS_LOADER_WORKERS] = {.key = "workers"},
    [SS_LOADER_BATCH_SIZE] = {.key = "batch_size", .unit = "samples of the dataset"},
    [SS_LOADER_PREFETCH] = {.key = "prefetch_factor", .unit = "batches"},
    [SS_LOADER_PIN_MEMORY] = {.key = "pin_memory"},
    [SS_LOADER_ASKED] = {.key = "asked", .unit = "batches"},
    [SS_LOADER_WAIT_PERCENT] = {.key = "wait_percent", .unit = "percent"},
    [SS_LOADER_WAIT_MEAN] = {.key = "wait_mean_ns", .unit = "ns"},
    [SS_LOADER_WAIT_P50] = {.key = "wait_p50_ns", .unit = "ns"},
    [SS_LOADER_WAIT_P95] = {.key = "wait_p95_ns", .unit = "ns"},
    [SS_LOADER_WAIT_MAX] = {.key = "wait_max_ns", .unit = "ns"},
    [SS_LOADER_EMPTY_PERCENT] = {.key = "empty_percent", .unit = "percent"},
    [SS_LOADER_READY_MEAN] = {.key = "ready_mean", .unit = "batches"},
    [SS_LOADER_READY_P50] = {.key = "ready_p50", .unit = "batches"},
    [SS_LOADER_READY_P95] = {.key = "ready_p95", .unit = "batches"},
    [SS_LOADER_READY_MAX] = {.key = "ready_max", .unit = "batches"},
    [SS_LOADER_NEEDED] = {.key = "workers_needed"},
    [SS_LOADER_COPY_MEAN] = {.key = "copy_mean_ns", .unit = "ns"},
};

static size_t waits_within(const struct wait *waits, size_t count, uint64_t from_ns, uint64_t to_ns)
{
    size_t within = 0;
    for (size_t i = 0; i < count; i++) {
        within += waits[i].begin_ns >= from_ns && waits[i].begin_ns < to_ns;
    }
    return within;
}

/* The value recorded by the loader with the most requests. */
static struct ss_cell setting(const struct ss_model *model, const char *key,
                              const struct wait *waits, size_t count)
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

static void fill_ready(const struct wait *waits, size_t count, struct ss_cell *cells)
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
        cells[SS_LOADER_EMPTY_PERCENT] = percent_cell(empty, known);
        cells[SS_LOADER_READY_MEAN] = ss_cell_real((double)sum / (double)known);
        put_percentiles(ready, known, &cells[SS_LOADER_READY_P50]);
        cells[SS_LOADER_READY_MAX] = ns_cell(ready[known - 1]);
    }
    ss_free(ready);
}

/* Mean time per batch in the processes that load for this consumer. */
static double batch_ns(const struct loader_events *events, const struct ss_model *model,
                       uint32_t consumer)
{
    double total_ns = 0;
    uint32_t process = 0;
    size_t batches = 0;
    bool counts = false;
    for (size_t i = 0; i < events->fetches.count; i++) {
        const struct fetch *fetch = &events->fetches.data[i];
        counts = fetch->process == process ? counts
                                           : consumer_of(events, model, fetch->process) == consumer;
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

static void sum_steps(const struct ss_step_summary *training, const struct wait *waits,
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
        struct span span = {step->begin_ns, step->end_ns};
        for (size_t w = at; w < count && waits[w].begin_ns < step->end_ns; w++) {
            wait_ns += overlap_ns(&span, waits[w].begin_ns, waits[w].end_ns);
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
    cells[SS_LOADER_WAIT_PERCENT] = percent_cell(steady->wait_ns, steady->steps_ns);
    cells[SS_LOADER_WAIT_MEAN] = ns_cell(steady->wait_ns / steady->steps);
    put_percentiles(steady->waits_ns, steady->steps, &cells[SS_LOADER_WAIT_P50]);
    cells[SS_LOADER_WAIT_MAX] = ns_cell(steady->waits_ns[steady->steps - 1]);
    double rest_ns = ((double)steady->steps_ns - (double)steady->wait_ns) / steps;
    if (each_ns > 0 && rest_ns > 0) {
        double needed = ceil(each_ns * (double)steady->requests / steps / rest_ns);
        cells[SS_LOADER_NEEDED] =
            ss_cell_integer(needed < 1e9 ? (int64_t)fmax(needed, 1) : INT32_MAX);
    }
}

/* Copies are known only in steps whose operators were recorded. */
static void fill_copies(const struct ss_model *model, const struct loader_events *events,
                        const struct ss_step_summary *training, uint32_t process,
                        struct ss_cell *cells)
{
    struct ss_recorded_steps recorded;
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
    ss_recorded_steps_init(&recorded, model);
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process != process || step->kind != SS_STEP_STEADY ||
            !ss_recorded_steps_has(&recorded, process, step->end_ns)) {
            continue;
        }
        steps++;
        for (; at < end && events->copies.data[at].begin_ns < step->end_ns; at++) {
            const struct copy *copy = &events->copies.data[at];
            copies_ns += copy->begin_ns >= step->begin_ns ? copy->end_ns - copy->begin_ns : 0;
        }
    }
    ss_recorded_steps_fini(&recorded);
    if (steps > 0) {
        cells[SS_LOADER_COPY_MEAN] = ns_cell(copies_ns / steps);
    }
}

static void fill_loader(const struct ss_model *model, const struct loader_events *events,
                        const struct ss_step_summary *training, const struct wait *waits,
                        size_t count, struct ss_cell *cells)
{
    static const char *const settings[] = {ss_fact_loader_workers, ss_fact_loader_batch_size,
                                           ss_fact_loader_prefetch_factor,
                                           ss_fact_loader_pin_memory};
    struct steady_steps steady = {ss_alloc((training->steps.count + 1) * sizeof(uint64_t)), 0, 0, 0,
                                  0};
    put_process(model, waits[0].process, &cells[SS_LOADER_PID]);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        cells[SS_LOADER_WORKERS + i] = setting(model, settings[i], waits, count);
    }
    cells[SS_LOADER_ASKED] = ss_cell_integer((int64_t)count);
    fill_ready(waits, count, cells);
    sum_steps(training, waits, count, &steady);
    fill_waits(&steady, batch_ns(events, model, waits[0].process), cells);
    fill_copies(model, events, training, waits[0].process, cells);
    ss_free(steady.waits_ns);
}

void ss_loaders_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      struct ss_table *table)
{
    struct loader_events events;
    *table = (struct ss_table){.name = "loader",
                               .title = "Who waits for it",
                               .is_of_program = true,
                               .empty_text = no_batches,
                               .columns = loader_columns,
                               .column_count = SS_LOADER_COLUMNS};
    collect(&events, selection);
    const struct wait *all = events.waits.data;
    for (size_t first = 0, end; first < events.waits.count; first = end) {
        for (end = first; end < events.waits.count && all[end].process == all[first].process;) {
            end++;
        }
        bool is_selected = false;
        for (size_t i = first; i < end && !is_selected; i++) {
            is_selected = all[i].is_selected;
        }
        if (!is_selected) {
            continue;
        }
        fill_loader(selection->model, &events, training, all + first, end - first,
                    ss_table_add_row(table));
    }
    events_fini(&events);
}
