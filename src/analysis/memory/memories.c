/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/memories.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/memory_series.h"
#include "analysis/selection/program_facts.h"
#include "analysis/steps/phase_times.h"
#include "analysis/steps/ranges.h"
#include "base/shared_names.h"

static const double least_rise = 0.01; /* of the peak */

/* --- steps and their phases ------------------------------------------------------------------ */

/* Where a phase begins. */
struct edge {
    uint64_t time_ns;
    size_t phase;
};

/* State of the scan of one memory. */
struct scan {
    const struct ss_step_summary *training;
    const struct ss_phase_time *parts; /* of the process */
    size_t part, part_count;           /* parts before `part` are done */
    struct ss_memory_series values, peaks, sampled;
    struct ss_memory_series records;     /* 1 while torch.profiler keeps events */
    bool profiler_records;               /* its value */
    struct ss_vec_of(struct edge) edges; /* of the current step */
    uint64_t before_ns;                  /* the last edge before the step */
    struct ss_memory *memory;
    uint64_t steady_steps; /* steady-state steps that were read */
};

static size_t phase_of(const struct ss_step_summary *training, uint32_t name)
{
    size_t other = training->phases.count - 1, at = 0;
    while (at < other && training->phases.data[at].name != name) {
        at++;
    }
    return at;
}

static void add_edge(struct scan *scan, uint64_t time_ns, size_t phase)
{
    size_t count = scan->edges.count;
    if (count > 0 && scan->edges.data[count - 1].time_ns >= time_ns) {
        scan->edges.data[count - 1].phase = phase; /* the next phase begins where the last one
                                                    * ends */
    } else {
        ss_vec_push(&scan->edges, (struct edge){time_ns, phase});
    }
}

static void list_edges(struct scan *scan, const struct ss_step *step)
{
    size_t other = scan->training->phases.count - 1, last = scan->edges.count;
    scan->before_ns = last > 0 ? scan->edges.data[last - 1].time_ns : 0;
    scan->edges.count = 0;
    add_edge(scan, step->begin_ns, other);
    for (; scan->part < scan->part_count; scan->part++) {
        const struct ss_phase_time *part = &scan->parts[scan->part];
        if (part->begin_ns >= step->end_ns) {
            break;
        }
        if (part->end_ns <= step->begin_ns) { /* between steps, or it ends with the last step */
            uint64_t before = part->end_ns < step->begin_ns ? part->end_ns : part->begin_ns;
            scan->before_ns = before > scan->before_ns ? before : scan->before_ns;
            continue;
        }
        uint64_t begin = part->begin_ns > step->begin_ns ? part->begin_ns : step->begin_ns;
        add_edge(scan, begin, phase_of(scan->training, part->name));
        if (part->end_ns >= step->end_ns) {
            break; /* it may reach into the next step */
        }
        add_edge(scan, part->end_ns, other);
    }
}

/* Between two edges. */
struct segment {
    size_t phase;
    double begin, end, peak; /* bytes */
};

/* The bytes of a phase within a step. */
struct phase_bytes {
    bool is_there;
    double end, change, peak, rising_peak;
};

static void add_segment(struct phase_bytes *phase, const struct segment *segment)
{
    phase->peak = phase->is_there ? fmax(phase->peak, segment->peak) : segment->peak;
    phase->change += segment->end - segment->begin;
    phase->end = segment->end;
    if (segment->peak - segment->begin >= least_rise * segment->peak) {
        phase->rising_peak = fmax(phase->rising_peak, segment->peak);
    }
    phase->is_there = true;
}

/* Fills in the bytes of every phase of the step; false: some edge has no value. */
static bool read_step(struct scan *scan, const struct ss_step *step, struct phase_bytes *phases)
{
    double begin = (double)NAN, peak_before = (double)NAN;
    uint64_t from_ns = scan->before_ns;
    bool is_read = true;
    for (size_t i = 0; i <= scan->edges.count; i++) { /* to the end of the segment before edge i */
        bool is_last = i == scan->edges.count;
        uint64_t to_ns = is_last ? step->end_ns : scan->edges.data[i].time_ns;
        double end = ss_memory_value_in(&scan->values, from_ns, to_ns);
        double peak = ss_memory_value_in(&scan->peaks, from_ns, to_ns);
        if (i > 0) {
            struct segment segment = {scan->edges.data[i - 1].phase, begin, end, fmax(begin, end)};
            bool has_changed = peak > peak_before || peak < peak_before;
            segment.peak = fmax(segment.peak, has_changed ? peak : 0);
            segment.peak = fmax(segment.peak, ss_memory_largest_in(&scan->sampled, from_ns, to_ns));
            add_segment(&phases[segment.phase], &segment);
        }
        is_read = is_read && !isnan(end);
        begin = end;
        peak_before = peak;
        from_ns = to_ns;
    }
    return is_read;
}

static void add_step(struct scan *scan, const struct ss_step *step,
                     const struct phase_bytes *phases)
{
    bool is_steady = step->kind == SS_STEP_STEADY;
    scan->memory->steps_read++;
    scan->steady_steps += is_steady;
    for (size_t i = 0; i < scan->training->phases.count; i++) {
        struct ss_memory_phase *sum = &scan->memory->phases[i];
        const struct phase_bytes *phase = &phases[i];
        if (!phase->is_there) {
            continue;
        }
        bool is_first = sum->steps++ == 0;
        sum->end_max = fmax(sum->end_max, phase->end);
        sum->peak_max = fmax(sum->peak_max, phase->peak);
        sum->change_max = is_first ? phase->change : fmax(sum->change_max, phase->change);
        if (phase->rising_peak > sum->rising_peak) {
            sum->rising_peak = phase->rising_peak;
            sum->rising_step = step->number;
        }
        if (is_steady) { /* sums until all steps are added */
            sum->end_mean += phase->end;
            sum->peak_mean += phase->peak;
            sum->change_mean += phase->change;
        }
    }
}

/* Whether torch.profiler kept events at any moment of the step, or in the time since the last one,
 * where it frees them. */
static bool is_profiled(struct scan *scan, const struct ss_step *step)
{
    struct ss_memory_series *records = &scan->records;
    bool is_profiled = scan->profiler_records;
    while (records->at < records->end && records->values[records->at].time_ns < step->end_ns) {
        scan->profiler_records = ss_memory_bytes(&records->values[records->at++]) > 0;
        is_profiled = true;
    }
    return is_profiled;
}

static void add_point(struct scan *scan, const struct ss_step *step, size_t place)
{
    struct ss_memory_series values = scan->values;
    double bytes = ss_memory_value_in(&values, step->begin_ns, step->end_ns);
    if (!isnan(bytes)) {
        struct ss_memory_point point = {.place = (double)place,
                                        .bytes = bytes,
                                        .is_steady = step->kind == SS_STEP_STEADY,
                                        .is_profiled = is_profiled(scan, step)};
        ss_vec_push(&scan->memory->points, point);
    }
}

static void add_steps(struct scan *scan)
{
    const struct ss_step_summary *training = scan->training;
    uint64_t steady_in[SS_STEP_MAX_PHASES] = {0};
    size_t place = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process != scan->memory->process) {
            continue;
        }
        struct phase_bytes phases[SS_STEP_MAX_PHASES] = {0};
        bool is_whole = step->kind != SS_STEP_CUT && step->kind != SS_STEP_OUTSIDE;
        list_edges(scan, step);
        bool is_read = read_step(scan, step, phases);
        if (is_whole) {
            scan->memory->steps++;
            add_point(scan, step, place);
        }
        place++;
        if (is_whole && is_read) {
            add_step(scan, step, phases);
            for (size_t p = 0; p < training->phases.count; p++) {
                steady_in[p] += phases[p].is_there && step->kind == SS_STEP_STEADY;
            }
        }
    }
    for (size_t p = 0; p < training->phases.count; p++) {
        struct ss_memory_phase *sum = &scan->memory->phases[p];
        sum->end_mean = steady_in[p] > 0 ? sum->end_mean / (double)steady_in[p] : (double)NAN;
        sum->peak_mean = steady_in[p] > 0 ? sum->peak_mean / (double)steady_in[p] : (double)NAN;
        sum->change_mean =
            steady_in[p] > 0 ? sum->change_mean / (double)scan->steady_steps : (double)NAN;
    }
}

/* --- results --------------------------------------------------------------------------------- */

static void find_peak(struct ss_memory *memory, const struct scan *scan, size_t phases)
{
    memory->peak = fmax(ss_memory_largest(&scan->values), ss_memory_largest(&scan->peaks));
    memory->peak = fmax(memory->peak, ss_memory_largest(&scan->sampled));
    memory->peak_phase = phases;
    double highest = (1 - least_rise) * memory->peak;
    for (size_t i = 0; i < phases; i++) {
        const struct ss_memory_phase *phase = &memory->phases[i];
        if (phase->rising_peak > 0 && phase->rising_peak >= highest) {
            highest = phase->rising_peak;
            memory->peak_phase = i;
            memory->peak_step = phase->rising_step;
        }
    }
    double at_first = scan->peaks.end > 0 ? ss_memory_bytes(&scan->peaks.values[0]) : memory->first;
    memory->was_before =
        memory->peak_phase == phases && at_first >= (1 - least_rise) * memory->peak;
}

/* The part of a counter's name that names the device: of "cuda:1 allocated" the first word. */
static int device_name_length(const char *name)
{
    return (int)strcspn(name, " ");
}

/* For a process, the tighter of the container's limit and the machine's memory; for a device, its
 * total memory, which the process records at the device's first use. */
static void find_limit(struct ss_memory *memory, const struct ss_model *model, const char *device)
{
    if (memory->is_device) {
        char key[64];
        snprintf(key, sizeof key, "%.*s.total_memory", device_name_length(device), device);
        struct ss_strview total =
            ss_program_fact_text(model, ss_program_fact(model, memory->process, key));
        memory->limit = total.length > 0 ? strtod(total.data, NULL) : 0;
        memory->limit_of = "the device's memory";
    } else {
        struct ss_memory_series container =
            ss_memory_series_find(model, 0, "container", "memory limit");
        struct ss_memory_series machine = ss_memory_series_find(model, 0, "memory", "total");
        double limit = ss_memory_last(&container), installed = ss_memory_last(&machine);
        bool is_limited = limit > 0 && (installed <= 0 || limit < installed);
        memory->limit = is_limited ? limit : installed;
        memory->limit_of = is_limited ? "the container's limit" : "the machine's memory";
    }
    memory->limit = memory->limit > 0 && memory->limit < (double)INT64_MAX ? memory->limit : 0;
}

static bool is_of_device(const struct ss_model_track *track)
{
    return track->quantity == SS_QUANTITY_DEVICE_ALLOCATED ||
           track->quantity == SS_QUANTITY_DEVICE_RESERVED;
}

/* The counter with this memory's peak. */
static struct ss_memory_series find_peaks(const struct ss_model *model,
                                          const struct ss_model_track *track)
{
    char of_device[64];
    const char *name = ss_model_text(model, track->name);
    snprintf(of_device, sizeof of_device, "%.*s peak", device_name_length(name), name);
    return !is_of_device(track)
               ? ss_memory_series_find(model, track->process, "", ss_counter_memory_peak)
           : track->quantity == SS_QUANTITY_DEVICE_ALLOCATED
               ? ss_memory_series_find(model, track->process, "", of_device)
               : (struct ss_memory_series){0};
}

static void find_phases(struct scan *scan, const struct ss_phase_times *times)
{
    struct ss_phase_cursor cursor;
    ss_phase_cursor_init(&cursor, times, scan->memory->process);
    scan->parts = cursor.parts;
    scan->part_count = cursor.count;
    if (scan->training != NULL && scan->training->phases.count > 0) {
        add_steps(scan);
    }
    ss_vec_fini(&scan->edges);
}

static void add_memory(struct ss_memories *memories, const struct ss_model *model, size_t first,
                       const struct ss_step_summary *training, const struct ss_phase_times *times)
{
    const struct ss_model_track *track = &model->tracks.data[model->values.data[first].track];
    const char *name = ss_model_text(model, track->name);
    struct ss_memory memory = {
        .process = track->process, .name = track->name, .is_device = is_of_device(track)};
    if (!memory.is_device && strcmp(name, "memory rss") != 0) {
        return;
    }
    struct scan scan = {.training = training, .memory = &memory};
    scan.values = (struct ss_memory_series){&model->values.data[first], 0,
                                            ss_memory_series_end(model, first) - first};
    scan.peaks = find_peaks(model, track);
    scan.records = ss_memory_series_find(model, track->process, "", ss_counter_profiler_records);
    if (!memory.is_device) {
        scan.sampled = ss_memory_series_find(model, track->process, "usage", "resident memory");
    }
    memory.first = ss_memory_bytes(&scan.values.values[0]);
    memory.last = ss_memory_bytes(&scan.values.values[scan.values.end - 1]);
    find_phases(&scan, times);
    size_t phases = training != NULL ? training->phases.count : 0;
    find_peak(&memory, &scan, phases);
    find_limit(&memory, model, name);
    ss_memory_detect_growth(&memory, phases);
    if (isnan(memory.first) || isnan(memory.last)) {
        ss_vec_fini(&memory.points);
        return; /* not a valid size */
    }
    ss_vec_push(&memories->rows, memory);
}

void ss_memories_init(struct ss_memories *memories, const struct ss_selection *selection,
                      const struct ss_step_summary *training)
{
    const struct ss_model *model = selection->model;
    static const struct ss_phase_times no_phases;
    const struct ss_phase_times *times = training != NULL ? &training->index.phases : &no_phases;
    *memories = (struct ss_memories){0};
    for (size_t first = 0; first < model->values.count;
         first = ss_memory_series_end(model, first)) {
        uint32_t number = model->values.data[first].track;
        const struct ss_model_track *track = &model->tracks.data[number];
        if (track->kind == SS_TRACK_COUNTER && track->process != 0 && track->parent == 0 &&
            ss_selection_has_track(selection, number)) {
            add_memory(memories, model, first, training, times);
        }
    }
}

void ss_memories_fini(struct ss_memories *memories)
{
    for (size_t i = 0; i < memories->rows.count; i++) {
        ss_vec_fini(&memories->rows.data[i].points);
    }
    ss_vec_fini(&memories->rows);
}

const struct ss_memory *ss_memories_main(const struct ss_memories *memories)
{
    const struct ss_memory *chosen = NULL;
    for (size_t i = 0; i < memories->rows.count; i++) {
        const struct ss_memory *memory = &memories->rows.data[i];
        bool is_better = chosen == NULL || (memory->process == chosen->process &&
                                            memory->is_device && !chosen->is_device);
        chosen = memory->steps_read > 0 && is_better ? memory : chosen;
    }
    return chosen;
}
