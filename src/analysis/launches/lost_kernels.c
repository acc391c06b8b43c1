/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launches/lost_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/launches/device_work.h"
#include "base/alloc.h"
#include "base/device_api.h"
#include "base/search.h"

/* A launch and the launches within it, as of the driver within that of the runtime. */
struct launch {
    uint32_t process, thread, range;
    uint64_t begin_ns, end_ns;
    uint64_t work_from_ns, work_until_ns; /* of its works; UINT64_MAX and 0: it has none */
};

/* A stream of the process is captured. */
struct capture {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct search {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_recorded_devices *recorded;
    struct ss_vec_of(struct launch) launches;
    struct ss_vec_of(struct capture) captures;
    bool *is_complete; /* by process: its launches do not count */
};

/* --- launches --------------------------------------------------------------------------------- */

enum call { OTHER_CALL, LAUNCH, BEGINS_CAPTURE, ENDS_CAPTURE };

static uint8_t call_of(const struct ss_model *model, const struct ss_model_name *name)
{
    struct ss_strview text = ss_intern_get(&model->strings, name->text);
    if (name->type == SS_EVENT_TYPE_launch) {
        return ss_device_call_launches_kernel(text) || ss_device_call_launches_graph(text)
                   ? LAUNCH
                   : OTHER_CALL;
    }
    return ss_device_call_begins_capture(text) ? BEGINS_CAPTURE
           : ss_device_call_ends_capture(text) ? ENDS_CAPTURE
                                               : OTHER_CALL;
}

static void add_launch(struct search *search, uint32_t process, uint32_t thread, size_t at)
{
    const struct ss_model_range *range = &search->model->ranges.data[at];
    int64_t correlation;
    if (ss_event_number(search->model, range, SS_EVENT_FIELD_correlation, &correlation) &&
        correlation != 0) {
        ss_vec_push(&search->launches, (struct launch){.process = process,
                                                       .thread = thread,
                                                       .range = (uint32_t)at,
                                                       .begin_ns = range->begin_ns,
                                                       .end_ns = range->end_ns,
                                                       .work_from_ns = UINT64_MAX});
    }
}

/* Captures of several threads count as one, which ends with the last. */
static void add_capture(struct search *search, uint8_t call, uint32_t process,
                        const struct ss_model_range *range)
{
    bool begins = call == BEGINS_CAPTURE;
    ss_vec_push(&search->captures,
                (struct capture){.process = process,
                                 .begin_ns = begins ? range->begin_ns : UINT64_MAX,
                                 .end_ns = begins ? UINT64_MAX : range->end_ns});
}

static void collect(struct search *search)
{
    const struct ss_model *model = search->model;
    uint8_t *calls = ss_alloc_zero(model->names.count + 1, 1);
    for (size_t i = 1; i < model->names.count; i++) {
        calls[i] = call_of(model, &model->names.data[i]);
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint8_t call = calls[model->paths.data[range->path].name];
        uint32_t thread = model->tracks.data[range->track].thread;
        uint32_t process = model->threads.data[thread].process;
        if (call == OTHER_CALL || thread == 0 || !search->selection->processes[process] ||
            search->is_complete[process]) {
            continue;
        }
        if (call == LAUNCH) {
            add_launch(search, process, thread, i);
        } else {
            add_capture(search, call, process, range);
        }
    }
    ss_free(calls);
}

/* By the recorder's own count, which knows captures; one for each window. */
static void find_complete(struct search *search)
{
    const struct ss_model *model = search->model;
    bool *has_lost = ss_alloc_zero(model->processes.count + 1, sizeof *has_lost);
    search->is_complete = ss_alloc_zero(model->processes.count + 1, sizeof(bool));
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (strcmp(ss_model_text(model, note->kind), "gpu-launches-without-kernel") == 0) {
            has_lost[note->process] = has_lost[note->process] || note->value > 0;
            search->is_complete[note->process] = !has_lost[note->process];
        }
    }
    ss_free(has_lost);
}

/* --- their work ------------------------------------------------------------------------------- */

/* Work that names no launch may be that of any: of its process nothing can be said. */
static void join_works(struct search *search)
{
    const struct ss_device_works *works = ss_selection_all_works(search->selection);
    int64_t correlation;
    uint32_t *launch_of = ss_alloc_zero(search->model->ranges.count + 1, sizeof *launch_of);
    for (size_t i = 0; i < search->launches.count; i++) {
        launch_of[search->launches.data[i].range + 1] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->launch != 0 && launch_of[work->launch] != 0) {
            struct launch *launch = &search->launches.data[launch_of[work->launch] - 1];
            launch->work_from_ns =
                work->begin_ns < launch->work_from_ns ? work->begin_ns : launch->work_from_ns;
            launch->work_until_ns =
                work->end_ns > launch->work_until_ns ? work->end_ns : launch->work_until_ns;
        }
        const struct ss_model_range *range = &search->model->ranges.data[work->range];
        if (work->launch == 0 &&
            !ss_event_number(search->model, range, SS_EVENT_FIELD_correlation, &correlation)) {
            search->is_complete[work->process] = true;
        }
    }
    ss_free(launch_of);
}

static bool has_work(const struct launch *launch)
{
    return launch->work_until_ns != 0;
}

static int compare_nesting(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static int compare_launches(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* The outer of two launches has the work of both. */
static void join_nested(struct search *search)
{
    struct launch *launches = search->launches.data;
    size_t count = 0;
    qsort(launches, search->launches.count, sizeof *launches, compare_nesting);
    for (size_t i = 0; i < search->launches.count; i++) {
        const struct launch *launch = &launches[i];
        struct launch *outer = count > 0 ? &launches[count - 1] : NULL;
        if (outer == NULL || outer->thread != launch->thread || launch->begin_ns >= outer->end_ns) {
            launches[count++] = *launch;
            continue;
        }
        outer->work_from_ns =
            launch->work_from_ns < outer->work_from_ns ? launch->work_from_ns : outer->work_from_ns;
        outer->work_until_ns = launch->work_until_ns > outer->work_until_ns ? launch->work_until_ns
                                                                            : outer->work_until_ns;
    }
    search->launches.count = count;
    qsort(launches, count, sizeof *launches, compare_launches);
}

/* --- captures --------------------------------------------------------------------------------- */

static uint64_t edge_of(const struct capture *capture)
{
    return capture->begin_ns != UINT64_MAX ? capture->begin_ns : capture->end_ns;
}

static int compare_captures(const void *left, const void *right)
{
    const struct capture *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (edge_of(a) > edge_of(b)) - (edge_of(a) < edge_of(b));
}

/* From begins and ends to spans. An end without a start: since the recording began. */
static void join_captures(struct search *search)
{
    struct capture *captures = search->captures.data;
    size_t count = 0, open = 0;
    if (search->captures.count == 0) {
        return;
    }
    qsort(captures, search->captures.count, sizeof *captures, compare_captures);
    for (size_t i = 0; i < search->captures.count; i++) {
        struct capture edge = captures[i];
        bool begins = edge.begin_ns != UINT64_MAX;
        bool is_first = count == 0 || captures[count - 1].process != edge.process;
        open = is_first ? 0 : open;
        if (begins && open++ == 0) {
            captures[count++] = edge;
        } else if (!begins && open == 0 && is_first) {
            captures[count++] =
                (struct capture){.process = edge.process, .begin_ns = 0, .end_ns = edge.end_ns};
        } else if (!begins && open > 0 && --open == 0) {
            captures[count - 1].end_ns = edge.end_ns;
        }
    }
    search->captures.count = count;
}

/* Drops what has no work of its own, and no process that is judged. */
static void drop_expected(struct search *search)
{
    struct launch *launches = search->launches.data;
    size_t count = 0, at = 0;
    for (size_t i = 0; i < search->launches.count; i++) {
        const struct launch *launch = &launches[i];
        const struct capture *captures = search->captures.data;
        while (at < search->captures.count && (captures[at].process < launch->process ||
                                               (captures[at].process == launch->process &&
                                                captures[at].end_ns <= launch->begin_ns))) {
            at++;
        }
        bool is_captured = at < search->captures.count && captures[at].process == launch->process &&
                           captures[at].begin_ns <= launch->begin_ns && !has_work(launch);
        if (!is_captured && !search->is_complete[launch->process]) {
            launches[count++] = *launch;
        }
    }
    search->launches.count = count;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Streams overtake each other: `until_ns` grows from row to row all the same. */
static void add_lost(struct ss_lost_kernels *lost, const struct launch *launch,
                     const struct launch *next, uint64_t since_ns, uint64_t end_ns)
{
    const struct ss_lost_kernel *last =
        lost->rows.count > 0 ? &lost->rows.data[lost->rows.count - 1] : NULL;
    bool is_at_end = next == NULL || next->begin_ns >= end_ns;
    uint64_t until_ns = is_at_end ? end_ns : next->work_from_ns;
    if (last != NULL && last->process == launch->process && last->until_ns > until_ns) {
        until_ns = last->until_ns;
    }
    ss_vec_push(&lost->rows,
                (struct ss_lost_kernel){.process = launch->process,
                                        .launch_ns = launch->begin_ns,
                                        .from_ns = since_ns > launch->begin_ns ? since_ns
                                                                               : launch->begin_ns,
                                        .until_ns = until_ns,
                                        .is_at_end = is_at_end});
    lost->at_end += is_at_end;
}

/* The launches of one process, by begin. */
static void add_process(struct ss_lost_kernels *lost, const struct search *search, size_t first,
                        size_t end)
{
    const struct launch *launches = search->launches.data, *next = NULL;
    uint64_t since_ns = 0;
    for (size_t i = first, ahead = first; i < end; i++) {
        if (has_work(&launches[i])) {
            since_ns = launches[i].work_until_ns;
            continue;
        }
        for (ahead = ahead > i ? ahead : i; ahead < end && !has_work(&launches[ahead]);) {
            ahead++;
        }
        next = ahead < end ? &launches[ahead] : NULL;
        uint64_t end_ns =
            ss_recorded_devices_until(search->recorded, launches[i].process, launches[i].begin_ns);
        add_lost(lost, &launches[i], next, since_ns, end_ns);
    }
}

static void add_rows(struct ss_lost_kernels *lost, const struct search *search)
{
    const struct launch *launches = search->launches.data;
    lost->launches = search->launches.count;
    for (size_t first = 0, end; first < search->launches.count; first = end) {
        for (end = first;
             end < search->launches.count && launches[end].process == launches[first].process;) {
            end++;
        }
        add_process(lost, search, first, end);
    }
}

void ss_lost_kernels_init(struct ss_lost_kernels *lost, const struct ss_selection *selection,
                          const struct ss_recorded_devices *recorded)
{
    struct search search = {
        .selection = selection, .model = selection->model, .recorded = recorded};
    *lost = (struct ss_lost_kernels){0};
    find_complete(&search);
    collect(&search);
    if (search.launches.count > 0) {
        join_works(&search);
        join_nested(&search);
        join_captures(&search);
        drop_expected(&search);
        add_rows(lost, &search);
    }
    ss_vec_fini(&search.launches);
    ss_vec_fini(&search.captures);
    ss_free(search.is_complete);
}

void ss_lost_kernels_fini(struct ss_lost_kernels *lost)
{
    ss_vec_fini(&lost->rows);
    *lost = (struct ss_lost_kernels){0};
}

/* --- by time ---------------------------------------------------------------------------------- */

/* The first row of the process that was launched at this time or later. */
static size_t first_since(const struct ss_lost_kernels *lost, uint32_t process, uint64_t time_ns)
{
    return ss_search(
        i, 0, lost->rows.count,
        ss_pair_less(lost->rows.data[i].process, lost->rows.data[i].launch_ns, process, time_ns));
}

size_t ss_lost_kernels_count(const struct ss_lost_kernels *lost, uint32_t process,
                             uint64_t begin_ns, uint64_t end_ns)
{
    return first_since(lost, process, end_ns) - first_since(lost, process, begin_ns);
}

/* Backwards: no row before one that ended by then ends later. */
uint64_t ss_lost_kernels_time(const struct ss_lost_kernels *lost, uint32_t process,
                              uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t sum_ns = 0, at_ns = end_ns;
    for (size_t i = first_since(lost, process, end_ns); i > 0; i--) {
        const struct ss_lost_kernel *row = &lost->rows.data[i - 1];
        if (row->process != process || row->until_ns <= begin_ns) {
            break;
        }
        uint64_t from_ns = row->from_ns > begin_ns ? row->from_ns : begin_ns;
        uint64_t until_ns = row->until_ns < at_ns ? row->until_ns : at_ns;
        sum_ns += until_ns > from_ns ? until_ns - from_ns : 0;
        at_ns = from_ns < at_ns ? from_ns : at_ns;
    }
    return sum_ns;
}

bool ss_lost_kernels_hide(const struct ss_lost_kernels *lost, uint32_t process, uint64_t begin_ns,
                          uint64_t end_ns)
{
    for (size_t i = first_since(lost, process, end_ns); i > 0; i--) {
        const struct ss_lost_kernel *row = &lost->rows.data[i - 1];
        if (row->process != process || row->launch_ns < begin_ns) {
            break;
        }
        if (!row->is_at_end) {
            return true;
        }
    }
    return ss_lost_kernels_time(lost, process, begin_ns, end_ns) > (end_ns - begin_ns) / 10;
}
