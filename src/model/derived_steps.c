/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of programs that no optimizer updates: a training by hand has a backward pass in each, an
 * inference a forward pass. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/load_tracks.h"

enum { FEWEST = 3 }; /* passes; fewer are no loop */

enum pass { NO_PASS, LOADS, FORWARDS, BACKWARDS };

struct part {
    uint32_t process;
    enum pass pass;
    uint64_t begin_ns, end_ns;
};

struct parts ss_vec_of(struct part);

/* What is known of a process before its steps are derived. */
struct known {
    bool has_steps; /* of its own, that ended */
    uint32_t track; /* of steps */
    size_t loads, forwards, backwards, updates;
};

static int compare(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static const char *name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t name = model->paths.data[range->path].name;
    return ss_model_text(model, model->names.data[name].text);
}

static enum pass pass_of(const char *name)
{
    return strcmp(name, "backward") == 0 ? BACKWARDS
           : strcmp(name, "data") == 0   ? LOADS
           : strcmp(name, "forward") == 0 || strcmp(name, "evaluation") == 0 ||
                   strcmp(name, "inference") == 0
               ? FORWARDS
               : NO_PASS;
}

static void collect(const struct ss_model *model, size_t first_range, struct known *known,
                    struct parts *parts)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        const char *name = name_of(model, range);
        struct known *of = &known[track->process];
        if (track->kind == SS_TRACK_STEPS && strcmp(name, "step") == 0) {
            of->track = range->track;
            of->has_steps = of->has_steps || (range->flags & SS_RANGE_END_UNSEEN) == 0;
        } else if (track->kind == SS_TRACK_PHASES && track->process != 0) {
            enum pass pass = pass_of(name);
            of->updates += strcmp(name, "optimizer") == 0;
            of->loads += pass == LOADS;
            of->forwards += pass == FORWARDS;
            of->backwards += pass == BACKWARDS;
            ss_vec_push(parts, (struct part){track->process, pass, range->begin_ns, range->end_ns});
        }
    }
    if (parts->count > 0) {
        qsort(parts->data, parts->count, sizeof *parts->data, compare);
    }
}

static enum pass pass_of_steps(const struct known *known)
{
    return known->has_steps || known->track == 0 || known->updates > 0 ? NO_PASS
           : known->backwards >= FEWEST                                ? BACKWARDS
           : known->backwards == 0 && known->forwards >= FEWEST        ? FORWARDS
                                                                       : NO_PASS;
}

/* What evaluates beside processes that train, as their parent does at the end, does not infer. */
static void forget_evaluators(struct known *known, size_t processes)
{
    bool any_trains = false;
    for (size_t i = 0; i < processes; i++) {
        any_trains = any_trains || known[i].has_steps || known[i].backwards >= FEWEST;
    }
    for (size_t i = 0; any_trains && i < processes; i++) {
        known[i].forwards = 0;
    }
}

static void add_step(struct ss_model *model, uint32_t track, uint32_t path, int64_t number,
                     uint64_t begin_ns, uint64_t end_ns)
{
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.type = SS_VALUE_INT, .integer = number});
    ss_vec_push(&model->ranges,
                (struct ss_model_range){.begin_ns = begin_ns,
                                        .end_ns = end_ns,
                                        .track = track,
                                        .path = path,
                                        .payload = (uint32_t)model->payloads.count - 1});
}

/* Later than all that the program said itself. */
static void tell(struct ss_model *model, const struct part *last, enum pass pass)
{
    const char *text =
        pass == BACKWARDS ? "torch.steps = backward passes" : "torch.steps = forward passes";
    ss_vec_push(&model->notes,
                (struct ss_model_note){.input = (uint32_t)model->inputs.count - 1,
                                       .process = last->process,
                                       .time_ns = last->end_ns,
                                       .kind = ss_intern_put_text(&model->strings, "fact"),
                                       .text = ss_intern_put_text(&model->strings, text)});
}

/* A pass that is interrupted, by communication or compiling, goes on without a gap. */
static bool goes_on(const struct parts *parts, size_t i, size_t end, enum pass pass)
{
    size_t next = i + 1;
    while (next < end && parts->data[next].begin_ns == parts->data[next - 1].end_ns) {
        if (parts->data[next].pass == pass) {
            return true;
        }
        next++;
    }
    return false;
}

/* Another module, a metric perhaps, is called with the same batch. */
static bool has_same_batch(const struct parts *parts, size_t i, size_t end)
{
    size_t next = i + 1;
    while (next < end && parts->data[next].pass == NO_PASS) {
        next++;
    }
    return next < end && parts->data[next].pass == FORWARDS;
}

/* From the end of a pass to that of the next; the first from the first phase of all. */
static void add_steps(struct ss_model *model, const struct parts *parts, size_t first, size_t end,
                      const struct known *known, enum pass pass)
{
    uint32_t track = known->track;
    bool by_batch = pass == FORWARDS && known->loads >= FEWEST;
    ss_vec_push(&model->names, (struct ss_model_name){.text = model->tracks.data[track].name});
    uint32_t path = ss_model_path_id(model, 0, (uint32_t)model->names.count - 1);
    uint64_t begin_ns = parts->data[first].begin_ns;
    int64_t number = 0;
    for (size_t i = first; i < end; i++) {
        if (parts->data[i].pass == pass && !goes_on(parts, i, end, pass) &&
            !(by_batch && has_same_batch(parts, i, end))) {
            add_step(model, track, path, number++, begin_ns, parts->data[i].end_ns);
            begin_ns = parts->data[i].end_ns;
        }
    }
    tell(model, &parts->data[end - 1], pass);
}

/* What evaluates nothing that is trained. */
static void call_inference(struct ss_model *model, size_t first_range, const struct known *known)
{
    uint32_t inference = (uint32_t)model->names.count;
    ss_vec_push(&model->names,
                (struct ss_model_name){.text = ss_intern_put_text(&model->strings, "inference")});
    for (size_t i = first_range; i < model->ranges.count; i++) {
        struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_PHASES && pass_of_steps(&known[track->process]) == FORWARDS &&
            strcmp(name_of(model, range), "evaluation") == 0) {
            range->path = ss_model_path_id(model, 0, inference);
        }
    }
}

void ss_load_derive_steps(struct ss_model *model, size_t first_range)
{
    struct known *known = ss_alloc_zero(model->processes.count + 1, sizeof *known);
    struct parts parts = {0};
    bool infers = false;
    collect(model, first_range, known, &parts);
    forget_evaluators(known, model->processes.count);
    for (size_t first = 0, end; first < parts.count; first = end) {
        uint32_t process = parts.data[first].process;
        for (end = first; end < parts.count && parts.data[end].process == process;) {
            end++;
        }
        enum pass pass = pass_of_steps(&known[process]);
        infers = infers || pass == FORWARDS;
        if (pass != NO_PASS) {
            add_steps(model, &parts, first, end, &known[process], pass);
        }
    }
    if (infers) {
        call_inference(model, first_range, known);
    }
    ss_vec_fini(&parts);
    ss_free(known);
}
