/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

const char *ss_gap_cause_name(enum ss_gap_cause cause)
{
    static const char *const names[SS_GAP_CAUSES] = {
        [SS_GAP_INPUT] = "input",    [SS_GAP_WAIT] = "wait",
        [SS_GAP_HOST] = "host",      [SS_GAP_DEPENDENCY] = "dependency",
        [SS_GAP_GRAPH] = "graph",    [SS_GAP_LATENCY] = "launch latency",
        [SS_GAP_UNKNOWN] = "unknown"};
    return names[cause];
}

static uint32_t process_of(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->thread != 0 ? model->threads.data[row->thread].process : row->process;
}

static const struct ss_model_name *name_of(const struct ss_model *model, size_t range)
{
    return &model->names.data[model->paths.data[model->ranges.data[range].path].name];
}

bool *ss_waiting_calls(const struct ss_model *model, const struct ss_device_works *works)
{
    bool *waits = ss_alloc_zero(model->ranges.count + 1, sizeof *waits);
    for (size_t i = 0; i < model->ranges.count; i++) {
        waits[i] = model->tracks.data[model->ranges.data[i].track].thread != 0 &&
                   name_of(model, i)->type == SS_EVENT_TYPE_synchronisation;
    }
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->launch != 0 && work->type == SS_EVENT_TYPE_copy) {
            const struct ss_model_range *call = &model->ranges.data[work->launch - 1];
            waits[work->launch - 1] = waits[work->launch - 1] || (call->begin_ns < work->end_ns &&
                                                                  call->end_ns >= work->end_ns);
        }
    }
    return waits;
}

/* --- the host --------------------------------------------------------------------------------- */

struct wait {
    uint64_t begin_ns, end_ns;
    uint64_t longest_ns; /* the latest end of this and all earlier ones of the process */
    uint32_t process, range;
};

struct building {
    struct ss_device_gaps *gaps;
    const struct ss_model *model;
    const struct ss_device_works *works;
    const struct ss_phase_times *phases;
    struct ss_vec_of(struct wait) waits; /* by process, then by begin */
    uint64_t *first_ns, *last_ns;        /* of the ranges on threads, by process */
    uint8_t *has_begun;                  /* by launch, a bit: work of it lies before */
    size_t part;
};

static int compare_waits(const void *left, const void *right)
{
    const struct wait *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

static void find_waits(struct building *building)
{
    const struct ss_model *model = building->model;
    bool *waits = ss_waiting_calls(model, building->works);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (waits[i]) {
            ss_vec_push(&building->waits, (struct wait){.begin_ns = range->begin_ns,
                                                        .end_ns = range->end_ns,
                                                        .process = process_of(model, range->track),
                                                        .range = (uint32_t)i});
        }
    }
    ss_free(waits);
    if (building->waits.count > 1) {
        qsort(building->waits.data, building->waits.count, sizeof *building->waits.data,
              compare_waits);
    }
    for (size_t i = 0; i < building->waits.count; i++) {
        struct wait *wait = &building->waits.data[i];
        bool continues = i > 0 && wait[-1].process == wait->process;
        wait->longest_ns =
            continues && wait[-1].longest_ns > wait->end_ns ? wait[-1].longest_ns : wait->end_ns;
    }
}

static void find_hosts(struct building *building)
{
    const struct ss_model *model = building->model;
    building->first_ns = ss_alloc_zero(model->processes.count, sizeof *building->first_ns);
    building->last_ns = ss_alloc_zero(model->processes.count, sizeof *building->last_ns);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->thread == 0 && track->kind != SS_TRACK_STEPS) {
            continue;
        }
        uint32_t process = process_of(model, range->track);
        uint64_t *first_ns = &building->first_ns[process], *last_ns = &building->last_ns[process];
        *first_ns = *first_ns == 0 || range->begin_ns < *first_ns ? range->begin_ns : *first_ns;
        *last_ns = range->end_ns > *last_ns ? range->end_ns : *last_ns;
    }
}

/* The call that waited at the time, plus one; 0: none. */
static uint32_t wait_at(const struct building *building, uint32_t process, uint64_t time_ns)
{
    const struct wait *waits = building->waits.data;
    /* The first that begins after the time. */
    size_t low = ss_search(i, 0, building->waits.count,
                           ss_pair_at_most(waits[i].process, waits[i].begin_ns, process, time_ns));
    for (; low > 0 && waits[low - 1].process == process && waits[low - 1].longest_ns >= time_ns;
         low--) {
        if (waits[low - 1].end_ns >= time_ns) {
            return waits[low - 1].range + 1;
        }
    }
    return 0;
}

/* --- gaps ------------------------------------------------------------------------------------- */

static void add_gap(struct building *building, uint64_t begin_ns, uint64_t end_ns, size_t work,
                    enum ss_gap_cause cause, uint32_t waited)
{
    if (end_ns > begin_ns) {
        ss_vec_push(&building->gaps->rows, (struct ss_device_gap){.begin_ns = begin_ns,
                                                                  .end_ns = end_ns,
                                                                  .part = (uint32_t)building->part,
                                                                  .work = (uint32_t)work,
                                                                  .waited = waited,
                                                                  .cause = (uint8_t)cause});
    }
}

static bool is_input(const struct building *building, const struct ss_phase_time *phase)
{
    return strcmp(ss_model_text(building->model, phase->name), ss_phase_data) == 0;
}

/* The host had not launched yet: fetches are input, the rest is what it did as the gap began. */
static void add_late(struct building *building, uint32_t process, uint64_t begin_ns,
                     uint64_t end_ns, size_t work)
{
    uint32_t waited = wait_at(building, process, begin_ns);
    enum ss_gap_cause cause = waited != 0 ? SS_GAP_WAIT : SS_GAP_HOST;
    uint64_t at_ns = begin_ns;
    const struct ss_phase_time *phases = building->phases->parts.data;
    /* The first phase of the process that begins after the gap's begin. */
    size_t low =
        ss_search(i, 0, building->phases->parts.count,
                  ss_pair_at_most(phases[i].process, phases[i].begin_ns, process, begin_ns));
    for (size_t i = low > 0 ? low - 1 : 0; i < building->phases->parts.count; i++) {
        const struct ss_phase_time *phase = &phases[i];
        if (phase->process != process) {
            if (phase->process > process) {
                break;
            }
            continue;
        }
        if (phase->begin_ns >= end_ns) {
            break;
        }
        if (phase->end_ns > at_ns && is_input(building, phase)) {
            uint64_t from_ns = phase->begin_ns > at_ns ? phase->begin_ns : at_ns;
            uint64_t to_ns = phase->end_ns < end_ns ? phase->end_ns : end_ns;
            add_gap(building, at_ns, from_ns, work, cause, waited);
            add_gap(building, from_ns, to_ns, work, SS_GAP_INPUT, 0);
            at_ns = to_ns;
        }
    }
    add_gap(building, at_ns, end_ns, work, cause, waited);
}

enum { MOST_CALLS_BEFORE = 64 };

/* Whether the thread made the stream wait for an event, since its launch before this one. */
static bool waits_for_event(const struct ss_model *model, uint32_t launch)
{
    static const char wait[] = "StreamWaitEvent";
    uint32_t track = model->ranges.data[launch].track;
    for (uint32_t i = launch; i > 0 && launch - i < MOST_CALLS_BEFORE; i--) {
        const struct ss_model_name *name = name_of(model, i - 1);
        if (model->ranges.data[i - 1].track != track || name->type == SS_EVENT_TYPE_launch) {
            return false;
        }
        if (strstr(ss_model_text(model, name->text), wait) != NULL) {
            return true;
        }
    }
    return false;
}

static void mark_begun(struct building *building, const struct ss_device_work *work)
{
    building->has_begun[work->launch / 8] |= (uint8_t)(1 << work->launch % 8);
}

static bool has_begun(const struct building *building, const struct ss_device_work *work)
{
    return (building->has_begun[work->launch / 8] >> work->launch % 8 & 1) != 0;
}

static enum ss_gap_cause cause_behind_launch(const struct building *building,
                                             const struct ss_device_work *work, uint64_t length_ns)
{
    uint32_t launch = work->launch - 1;
    return has_begun(building, work)                  ? SS_GAP_GRAPH
           : waits_for_event(building->model, launch) ? SS_GAP_DEPENDENCY
           : length_ns < SS_LAUNCH_LATENCY_NS         ? SS_GAP_LATENCY
                                                      : SS_GAP_UNKNOWN;
}

static void add_gap_before(struct building *building, uint64_t begin_ns, size_t index)
{
    const struct ss_device_work *work = &building->works->works.data[index];
    if (work->launch == 0) {
        add_gap(building, begin_ns, work->begin_ns, index, SS_GAP_UNKNOWN, 0);
        return;
    }
    uint64_t launch_ns = building->model->ranges.data[work->launch - 1].begin_ns;
    uint64_t late_ns = launch_ns < begin_ns         ? begin_ns
                       : launch_ns > work->begin_ns ? work->begin_ns
                                                    : launch_ns;
    add_late(building, work->process, begin_ns, late_ns, index);
    if (work->begin_ns > late_ns) {
        add_gap(building, late_ns, work->begin_ns, index,
                cause_behind_launch(building, work, work->begin_ns - late_ns), 0);
    }
}

/* Works are in order of their start, as are segments: the work that ends a gap is the first of
 * those that begin with the segment behind it. */
static void add_part(struct building *building, const struct ss_busy *busy)
{
    const struct ss_device_part *part = &building->works->parts.data[building->part];
    uint64_t at_ns = building->first_ns[part->process];
    size_t work = part->first;
    for (size_t i = 0; i < busy->segments.count; i++) {
        const struct ss_busy_segment *segment = &busy->segments.data[i];
        if (at_ns != 0 && segment->begin_ns > at_ns) {
            while (work < part->end &&
                   building->works->works.data[work].begin_ns < segment->begin_ns) {
                mark_begun(building, &building->works->works.data[work++]);
            }
            add_gap_before(building, at_ns, work);
        }
        at_ns = segment->end_ns > at_ns ? segment->end_ns : at_ns;
    }
    add_late(building, part->process, at_ns, building->last_ns[part->process], SIZE_MAX);
}

void ss_device_gaps_init(struct ss_device_gaps *gaps, const struct ss_model *model,
                         const struct ss_device_works *works, const struct ss_busy *busy,
                         const struct ss_phase_times *phases)
{
    struct building building = {.gaps = gaps, .model = model, .works = works, .phases = phases};
    *gaps = (struct ss_device_gaps){0};
    find_waits(&building);
    find_hosts(&building);
    building.has_begun = ss_alloc_zero(model->ranges.count / 8 + 1, 1);
    for (building.part = 0; building.part < works->parts.count; building.part++) {
        add_part(&building, &busy[building.part]);
    }
    ss_vec_fini(&building.waits);
    ss_free(building.has_begun);
    ss_free(building.first_ns);
    ss_free(building.last_ns);
}

void ss_device_gaps_fini(struct ss_device_gaps *gaps)
{
    ss_vec_fini(&gaps->rows);
}
