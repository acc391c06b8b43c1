/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for imports that recorded each call of Python functions instead: a function has as many
 * ticks of a microsecond as it ran itself. Exact: none was drawn, so that none carries a sampling
 * error. */
#include <string.h>

#include "base/alloc.h"
#include "model/builder/load_tracks.h"
#include "model/core/domains.h"
#include "model/core/index.h"
#include "model/core/origin.h"

enum { TICK_NS = 1000 };

struct open_call {
    uint64_t end_ns;
    uint32_t stack;
};

/* The calls of one thread: the stack that is open, and the time that is not added yet. */
struct walk {
    struct ss_model *model;
    uint32_t input, thread;
    uint64_t at_ns;   /* until there, time is added */
    uint64_t rest_ns; /* less than a tick */
    struct ss_vec_of(struct open_call) open;
    struct ss_vec_of(uint32_t) frames; /* by name, plus one; 0: not made yet */
};

static uint32_t frame_of(struct walk *walk, uint32_t name)
{
    struct ss_model *model = walk->model;
    if (name >= walk->frames.count) {
        ss_vec_resize(&walk->frames, model->names.count);
    }
    if (walk->frames.data[name] == 0) {
        const struct ss_model_name *row = &model->names.data[name];
        struct ss_strview file = ss_intern_get(&model->strings, row->file);
        struct ss_model_frame frame = {.function = row->text,
                                       .name = row->text,
                                       .file = row->file,
                                       .short_file = row->file,
                                       .line = row->file != 0 ? (int32_t)row->line : -1,
                                       .first_line = row->file != 0 ? (int32_t)row->line : -1,
                                       .kind = SS_FRAME_INTERPRETED,
                                       .origin = ss_origin_of_short_path(file)};
        walk->frames.data[name] = 1 + ss_model_frame_id(model, &frame);
    }
    return walk->frames.data[name] - 1;
}

/* Adds the time until `time_ns` to the innermost open call. */
static void add_until(struct walk *walk, uint64_t time_ns)
{
    if (walk->open.count > 0 && time_ns > walk->at_ns) {
        uint64_t length_ns = time_ns - walk->at_ns + walk->rest_ns;
        uint64_t ticks = length_ns / TICK_NS;
        walk->rest_ns = length_ns % TICK_NS;
        if (ticks > 0) {
            struct ss_model_total total = {.thread = walk->thread,
                                           .stack = walk->open.data[walk->open.count - 1].stack,
                                           .samples = ticks};
            ss_model_add_total(walk->model, &total);
            walk->model->index->total_samples += ticks;
            walk->model->inputs.data[walk->input].samples += ticks;
        }
    }
    walk->at_ns = time_ns > walk->at_ns ? time_ns : walk->at_ns;
}

static void close_until(struct walk *walk, uint64_t time_ns)
{
    while (walk->open.count > 0 && walk->open.data[walk->open.count - 1].end_ns <= time_ns) {
        add_until(walk, walk->open.data[walk->open.count - 1].end_ns);
        walk->open.count--;
    }
}

static void add_call(struct walk *walk, const struct ss_model_range *range)
{
    close_until(walk, range->begin_ns);
    add_until(walk, range->begin_ns);
    if (walk->open.count == 0) {
        walk->at_ns = range->begin_ns;
        walk->rest_ns = 0;
    }
    uint32_t above = walk->open.count > 0 ? walk->open.data[walk->open.count - 1].stack : 0;
    uint32_t frame = frame_of(walk, walk->model->paths.data[range->path].name);
    ss_vec_push(&walk->open,
                (struct open_call){.end_ns = range->end_ns,
                                   .stack = ss_model_stack_id(walk->model, above, frame)});
}

void ss_load_derive_samples(struct ss_model *model, uint32_t input, size_t first_range)
{
    struct walk walk = {.model = model, .input = input};
    uint32_t track = 0;
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *row = &model->tracks.data[range->track];
        if (row->thread == 0 || range->lane != 0 || (range->flags & SS_RANGE_OUTSIDE) != 0 ||
            strcmp(ss_model_text(model, row->name), SS_DOMAIN_PYTHON) != 0) {
            continue;
        }
        if (range->track != track) {
            close_until(&walk, UINT64_MAX);
            track = range->track;
            walk.thread = row->thread;
            walk.at_ns = 0;
        }
        add_call(&walk, range);
    }
    close_until(&walk, UINT64_MAX);
    if (model->inputs.data[input].samples > 0) {
        model->inputs.data[input].rate_hz = 1e9 / TICK_NS;
    }
    ss_vec_fini(&walk.open);
    ss_vec_fini(&walk.frames);
}
