/* SPDX-License-Identifier: Apache-2.0 */
/* Derives steps for programs whose own torch.profiler marks them: the ranges "ProfilerStep#N". */
#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"
#include "model/core/torch_names.h"

enum { NOT_NAMED = -1 };

struct search {
    struct ss_model *model;
    size_t first_range, range_count; /* before any step is derived */
    uint32_t *tracks;                /* of steps, by process; 0: none */
    bool *has_steps;                 /* by process: with a recorded end */
    uint32_t *threads;               /* by process: the first that has such ranges */
    int64_t *numbers;                /* by name: of the step */
};

/* --- what there is ---------------------------------------------------------------------------- */

static void find_tracks(struct search *search)
{
    const struct ss_model *model = search->model;
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->kind == SS_TRACK_STEPS) {
            search->tracks[track->process] = i;
        }
    }
    for (size_t i = search->first_range; i < search->range_count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_STEPS && (range->flags & SS_RANGE_END_UNSEEN) == 0) {
            search->has_steps[track->process] = true;
        }
    }
}

/* Whether any name is one of a step. */
static bool find_names(struct search *search)
{
    const struct ss_model *model = search->model;
    bool any = false;
    for (size_t i = 0; i < model->names.count; i++) {
        struct ss_strview text = ss_intern_get(&model->strings, model->names.data[i].text);
        if (!ss_torch_profiler_step(text, &search->numbers[i])) {
            search->numbers[i] = NOT_NAMED;
        }
        any = any || search->numbers[i] != NOT_NAMED;
    }
    return any;
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint32_t name_of(const struct ss_model *model, size_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

static bool has_inner(const struct search *search, size_t at)
{
    const struct ss_model_range *range = &search->model->ranges.data[at], *next = range + 1;
    return at + 1 < search->range_count && next->track == range->track &&
           next->lane == range->lane && next->begin_ns < range->end_ns;
}

/* After the last batch the profiler marks one more step, which the end of the profile closes. */
static bool is_empty_end(const struct search *search, size_t at)
{
    const struct ss_model *model = search->model;
    const struct ss_model_range *range = &model->ranges.data[at];
    for (size_t i = at + 1; i < search->range_count; i++) {
        const struct ss_model_range *later = &model->ranges.data[i];
        if (later->track != range->track) {
            break;
        }
        if (search->numbers[name_of(model, i)] != NOT_NAMED && later->begin_ns >= range->end_ns) {
            return false;
        }
    }
    return !has_inner(search, at);
}

static uint32_t step_track(struct search *search, uint32_t process, uint32_t like)
{
    struct ss_model *model = search->model;
    if (search->tracks[process] == 0) {
        struct ss_model_track track = {.input = model->tracks.data[like].input,
                                       .kind = SS_TRACK_STEPS,
                                       .process = process,
                                       .thread = model->tracks.data[like].thread,
                                       .name = ss_intern_put_text(&model->strings, "step"),
                                       .rank = model->tracks.data[like].rank};
        ss_vec_push(&model->tracks, track);
        search->tracks[process] = (uint32_t)model->tracks.count - 1;
    }
    return search->tracks[process];
}

static void add_fact(struct ss_model *model, uint32_t process, uint64_t time_ns)
{
    static const char text[] = "torch.steps = the program's torch.profiler";
    ss_vec_push(&model->notes,
                (struct ss_model_note){.input = (uint32_t)model->inputs.count - 1,
                                       .process = process,
                                       .time_ns = time_ns,
                                       .kind = ss_intern_put_text(&model->strings, "fact"),
                                       .text = ss_intern_put_text(&model->strings, text)});
}

static void add_step(struct search *search, size_t at, uint32_t path)
{
    struct ss_model *model = search->model;
    struct ss_model_range range = model->ranges.data[at];
    int64_t number = search->numbers[name_of(model, at)];
    uint32_t process = model->tracks.data[range.track].process;
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.type = SS_VALUE_INT, .integer = number});
    ss_vec_push(&model->ranges,
                (struct ss_model_range){.begin_ns = range.begin_ns,
                                        .end_ns = range.end_ns,
                                        .track = step_track(search, process, range.track),
                                        .path = path,
                                        .payload = (uint32_t)model->payloads.count - 1});
}

/* Of one process, whose step track is new or has only a step that never ended. */
static void add_steps(struct search *search, uint32_t process)
{
    struct ss_model *model = search->model;
    uint32_t path = 0;
    uint64_t end_ns = 0;
    for (size_t i = search->first_range; i < search->range_count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->process != process || track->thread != search->threads[process] ||
            search->numbers[name_of(model, i)] == NOT_NAMED || track->kind != SS_TRACK_RANGES ||
            (range->flags & (SS_RANGE_END_UNSEEN | SS_RANGE_BEGIN_UNSEEN)) != 0 ||
            is_empty_end(search, i)) {
            continue;
        }
        end_ns = range->end_ns;
        if (path == 0) {
            uint32_t text = ss_intern_put_text(&model->strings, "step");
            ss_vec_push(&model->names, (struct ss_model_name){.text = text});
            path = ss_model_path_id(model, 0, (uint32_t)model->names.count - 1);
        }
        add_step(search, i, path);
    }
    if (path != 0) {
        add_fact(model, process, end_ns);
    }
}

static void find_threads(struct search *search)
{
    const struct ss_model *model = search->model;
    for (size_t i = search->first_range; i < search->range_count; i++) {
        const struct ss_model_track *track = &model->tracks.data[model->ranges.data[i].track];
        if (track->kind == SS_TRACK_RANGES && track->thread != 0 &&
            search->numbers[name_of(model, i)] != NOT_NAMED &&
            search->threads[track->process] == 0) {
            search->threads[track->process] = track->thread;
        }
    }
}

void ss_load_derive_marked_steps(struct ss_model *model, size_t first_range)
{
    size_t processes = model->processes.count;
    struct search search = {.model = model,
                            .first_range = first_range,
                            .range_count = model->ranges.count,
                            .tracks = ss_alloc_zero(processes + 1, sizeof *search.tracks),
                            .has_steps = ss_alloc_zero(processes + 1, sizeof *search.has_steps),
                            .threads = ss_alloc_zero(processes + 1, sizeof *search.threads),
                            .numbers =
                                ss_alloc_zero(model->names.count + 1, sizeof *search.numbers)};
    if (find_names(&search)) {
        find_tracks(&search);
        find_threads(&search);
        for (uint32_t process = 1; process < processes; process++) {
            if (search.threads[process] != 0 && !search.has_steps[process]) {
                add_steps(&search, process);
            }
        }
    }
    ss_free(search.tracks);
    ss_free(search.has_steps);
    ss_free(search.threads);
    ss_free(search.numbers);
}
