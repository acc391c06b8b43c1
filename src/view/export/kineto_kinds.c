/* SPDX-License-Identifier: Apache-2.0 */
/* What a range is for readers of Kineto's format: by its track, then by its name. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"
#include "model/core/domains.h"
#include "view/export/kineto_inside.h"

/* Of tracks; MIXED: names decide. */
enum role { MIXED, STREAM, DEVICE, STEPS, PHASES, FUNCTIONS, MODULES, OVERHEAD, OTHER };

/* Steps and calls of torch.profiler, while windows are found. */
struct begin {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct begins ss_vec_of(struct begin);

/* --- tracks and names ------------------------------------------------------------------------- */

bool ss_kineto_is_imported(const struct ss_model *model, uint32_t track)
{
    return model->inputs.data[model->tracks.data[track].input].kind == SS_INPUT_IMPORT;
}

static enum role role_of(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    const char *name = ss_model_text(model, row->name);
    bool is_imported = row->input < model->inputs.count && ss_kineto_is_imported(model, track);
    if (row->device != 0 && row->thread == 0) {
        return row->stream != 0 ? STREAM : DEVICE;
    }
    return row->kind == SS_TRACK_STEPS                       ? STEPS
           : row->kind == SS_TRACK_PHASES                    ? PHASES
           : strcmp(name, ss_domain_torch_module) == 0       ? MODULES
           : !is_imported                                    ? MIXED
           : strcmp(name, SS_DOMAIN_PYTHON) == 0             ? FUNCTIONS
           : strcmp(name, SS_DOMAIN_OVERHEAD) == 0           ? OVERHEAD
           : name[0] == '\0' && row->kind == SS_TRACK_RANGES ? OTHER
                                                             : MIXED;
}

static enum ss_kineto_kind kind_of_name(const struct ss_model *model, uint32_t name)
{
    const struct ss_model_name *row = &model->names.data[name];
    bool is_call = row->type == SS_EVENT_TYPE_launch || row->type == SS_EVENT_TYPE_synchronisation;
    return row->type == SS_EVENT_TYPE_operator ? SS_KINETO_OPERATOR
           : is_call || strcmp(ss_model_text(model, row->category), "runtime") == 0 ? SS_KINETO_API
           : row->file != 0 ? SS_KINETO_PYTHON
                            : SS_KINETO_ANNOTATION;
}

static enum ss_kineto_kind kind_on_device(enum ss_event_type type, bool is_stream)
{
    return type == SS_EVENT_TYPE_synchronisation ? SS_KINETO_DEVICE_SYNC
           : !is_stream                          ? SS_KINETO_DEVICE_ANNOTATION
           : type == SS_EVENT_TYPE_kernel        ? SS_KINETO_KERNEL
           : type == SS_EVENT_TYPE_copy          ? SS_KINETO_COPY
           : type == SS_EVENT_TYPE_memset        ? SS_KINETO_MEMSET
                                                 : SS_KINETO_DEVICE_ANNOTATION;
}

enum ss_kineto_kind ss_kineto_kind_of(struct ss_kineto_kinds *kinds,
                                      const struct ss_model_range *range)
{
    static const uint8_t by_role[] = {
        [STEPS] = SS_KINETO_STEP,        [PHASES] = SS_KINETO_ANNOTATION,
        [FUNCTIONS] = SS_KINETO_PYTHON,  [MODULES] = SS_KINETO_MODULE,
        [OVERHEAD] = SS_KINETO_OVERHEAD, [OTHER] = SS_KINETO_OTHER};
    const struct ss_model *model = kinds->model;
    uint32_t name = model->paths.data[range->path].name;
    enum role role = (enum role)kinds->by_track[range->track];
    if (role == STREAM || role == DEVICE) {
        return kind_on_device(model->names.data[name].type, role == STREAM);
    }
    if (role != MIXED) {
        return (enum ss_kineto_kind)by_role[role];
    }
    if (kinds->by_name[name] == 0) {
        kinds->by_name[name] = (uint8_t)(1 + kind_of_name(model, name));
    }
    return (enum ss_kineto_kind)(kinds->by_name[name] - 1);
}

/* --- windows of torch.profiler ---------------------------------------------------------------- */

static int compare_begins(const void *left, const void *right)
{
    const struct begin *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void collect(const struct ss_model *model, const struct ss_range_run *run,
                    struct begins *begins)
{
    for (size_t i = run->first; i < run->end; i++) {
        ss_vec_push(begins,
                    (struct begin){ss_range_run_process(model, run), model->ranges.data[i].begin_ns,
                                   model->ranges.data[i].end_ns});
    }
}

static void sort(struct begins *begins)
{
    if (begins->count > 1) {
        qsort(begins->data, begins->count, sizeof *begins->data, compare_begins);
    }
}

/* Index of the first of the process that begins at or after the time. */
static size_t first_from(const struct begin *begins, size_t count, uint32_t process,
                         uint64_t time_ns)
{
    struct begin key = {.process = process, .begin_ns = time_ns};
    return ss_search(i, 0, count, compare_begins(&begins[i], &key) < 0);
}

static void add_window(struct ss_kineto_kinds *kinds, const struct begin *of)
{
    ss_vec_push(&kinds->windows, (struct ss_kineto_window){of->process, of->begin_ns, of->end_ns});
}

/* The steps in which torch.profiler ran; where a process has no steps, the time between its first
 * call and its last. */
static void find_windows(struct ss_kineto_kinds *kinds, const struct begins *calls,
                         const struct begins *steps)
{
    for (size_t first = 0, end; first < calls->count; first = end) {
        uint32_t process = calls->data[first].process;
        size_t step = first_from(steps->data, steps->count, process, 0);
        bool has_steps = step < steps->count && steps->data[step].process == process;
        struct begin all = calls->data[first];
        for (end = first; end < calls->count && calls->data[end].process == process; end++) {
            all.end_ns =
                calls->data[end].end_ns > all.end_ns ? calls->data[end].end_ns : all.end_ns;
        }
        if (!has_steps) {
            add_window(kinds, &all);
        }
        for (; step < steps->count && steps->data[step].process == process; step++) {
            size_t call =
                first_from(calls->data, calls->count, process, steps->data[step].begin_ns);
            if (call < end && calls->data[call].begin_ns < steps->data[step].end_ns) {
                add_window(kinds, &steps->data[step]);
            }
        }
    }
}

static bool is_step_mark(const struct ss_model *model, const struct ss_model_range *range)
{
    static const char prefix[] = "ProfilerStep#";
    uint32_t name = model->names.data[model->paths.data[range->path].name].text;
    return strncmp(ss_model_text(model, name), prefix, sizeof prefix - 1) == 0;
}

bool ss_kineto_is_double(const struct ss_kineto_kinds *kinds, const struct ss_model_range *range,
                         enum ss_kineto_kind kind)
{
    const struct ss_model *model = kinds->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    uint32_t process = track->thread != 0 ? model->threads.data[track->thread].process : 0;
    if (kind == SS_KINETO_ANNOTATION && kinds->has_steps[process] && is_step_mark(model, range)) {
        return true;
    }
    if (kinds->windows.count == 0 || process == 0 ||
        strcmp(ss_model_text(model, track->name), ss_domain_torch) != 0) {
        return false;
    }
    /* The first window that begins after the range. */
    size_t low =
        ss_search(i, 0, kinds->windows.count,
                  ss_pair_at_most(kinds->windows.data[i].process, kinds->windows.data[i].begin_ns,
                                  process, range->begin_ns));
    const struct ss_kineto_window *last = low > 0 ? &kinds->windows.data[low - 1] : NULL;
    return last != NULL && last->process == process && range->begin_ns < last->end_ns;
}

/* --- all -------------------------------------------------------------------------------------- */

void ss_kineto_kinds_init(struct ss_kineto_kinds *kinds, const struct ss_model *model,
                          const struct ss_range_runs *runs)
{
    struct begins calls = {0}, steps = {0};
    *kinds = (struct ss_kineto_kinds){.model = model,
                                      .by_track = ss_alloc_zero(model->tracks.count + 1, 1),
                                      .by_name = ss_alloc_zero(model->names.count + 1, 1),
                                      .has_steps =
                                          ss_alloc_zero(model->processes.count + 1, sizeof(bool))};
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        kinds->by_track[i] = (uint8_t)role_of(model, i);
    }
    for (size_t i = 0; i < runs->rows.count; i++) {
        const struct ss_range_run *run = &runs->rows.data[i];
        const char *name = ss_model_text(model, model->tracks.data[run->track].name);
        if (run->role == SS_ROLE_STEPS) {
            collect(model, run, &steps);
            kinds->has_steps[ss_range_run_process(model, run)] = true;
        } else if (strcmp(name, ss_domain_torch_profiler) == 0) {
            collect(model, run, &calls);
        }
    }
    sort(&calls);
    sort(&steps);
    find_windows(kinds, &calls, &steps);
    ss_vec_fini(&calls);
    ss_vec_fini(&steps);
}

void ss_kineto_kinds_fini(struct ss_kineto_kinds *kinds)
{
    ss_free(kinds->by_track);
    ss_free(kinds->by_name);
    ss_free(kinds->has_steps);
    ss_vec_fini(&kinds->windows);
}
