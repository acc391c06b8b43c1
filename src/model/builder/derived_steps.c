/* SPDX-License-Identifier: Apache-2.0 */
/* Derives steps for programs without optimizer updates: a training loop that updates by hand has a
 * backward pass in each step, inference has a forward pass. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"

enum { MIN_PASSES = 3 }; /* fewer are not a loop */

enum pass { NO_PASS, DATA_LOAD, FORWARD, BACKWARD };

struct phase {
    uint32_t process;
    enum pass pass;
    uint64_t begin_ns, end_ns;
};

struct phases ss_vec_of(struct phase);

/* The facts about a process before its steps are derived. */
struct evidence {
    bool has_steps; /* own steps, at least one with a recorded end */
    uint32_t track; /* the step track */
    size_t loads, forwards, backwards, updates;
};

static int compare(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
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
    return strcmp(name, ss_phase_backward) == 0 ? BACKWARD
           : strcmp(name, ss_phase_data) == 0   ? DATA_LOAD
           : strcmp(name, ss_phase_forward) == 0 || strcmp(name, ss_phase_evaluation) == 0 ||
                   strcmp(name, ss_phase_inference) == 0
               ? FORWARD
               : NO_PASS;
}

static void collect(const struct ss_model *model, size_t first_range, struct evidence *evidence,
                    struct phases *phases)
{
    for (uint32_t i = 1; i < model->tracks.count; i++) { /* it may have no step yet */
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->kind == SS_TRACK_STEPS &&
            model->inputs.data[track->input].kind == SS_INPUT_IMPORT) {
            evidence[track->process].track = i;
        }
    }
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        const char *name = name_of(model, range);
        struct evidence *found = &evidence[track->process];
        if (track->kind == SS_TRACK_STEPS && strcmp(name, "step") == 0) {
            found->track = range->track;
            found->has_steps = found->has_steps || (range->flags & SS_RANGE_END_UNSEEN) == 0;
        } else if (track->kind == SS_TRACK_PHASES && track->process != 0) {
            enum pass pass = pass_of(name);
            found->updates += strcmp(name, ss_phase_optimizer) == 0;
            found->loads += pass == DATA_LOAD;
            found->forwards += pass == FORWARD;
            found->backwards += pass == BACKWARD;
            ss_vec_push(phases,
                        (struct phase){track->process, pass, range->begin_ns, range->end_ns});
        }
    }
    if (phases->count > 0) {
        qsort(phases->data, phases->count, sizeof *phases->data, compare);
    }
}

static enum pass pass_of_steps(const struct evidence *evidence)
{
    return evidence->has_steps || evidence->track == 0 || evidence->updates > 0 ? NO_PASS
           : evidence->backwards >= MIN_PASSES                                  ? BACKWARD
           : evidence->backwards == 0 && evidence->forwards >= MIN_PASSES       ? FORWARD
                                                                                : NO_PASS;
}

/* A process that evaluates beside processes that train, such as their parent at the end, does not
 * infer. */
static void exclude_evaluators(struct evidence *evidence, size_t processes)
{
    bool any_trains = false;
    for (size_t i = 0; i < processes; i++) {
        any_trains = any_trains || evidence[i].has_steps || evidence[i].backwards >= MIN_PASSES;
    }
    for (size_t i = 0; any_trains && i < processes; i++) {
        evidence[i].forwards = 0;
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

/* Dated to the end of the last phase: later than the program's own notes. */
static void add_fact(struct ss_model *model, const struct phase *last, enum pass pass)
{
    const char *text =
        pass == BACKWARD ? "torch.steps = backward passes" : "torch.steps = forward passes";
    ss_vec_push(&model->notes,
                (struct ss_model_note){.input = (uint32_t)model->inputs.count - 1,
                                       .process = last->process,
                                       .time_ns = last->end_ns,
                                       .kind = ss_intern_put_text(&model->strings, "fact"),
                                       .text = ss_intern_put_text(&model->strings, text)});
}

/* A pass that communication or compilation interrupts continues without a gap. */
static bool continues_later(const struct phases *phases, size_t i, size_t end, enum pass pass)
{
    size_t next = i + 1;
    while (next < end && phases->data[next].begin_ns == phases->data[next - 1].end_ns) {
        if (phases->data[next].pass == pass) {
            return true;
        }
        next++;
    }
    return false;
}

/* Another module, such as a metric, is called with the same batch. */
static bool has_same_batch(const struct phases *phases, size_t i, size_t end)
{
    size_t next = i + 1;
    while (next < end && phases->data[next].pass == NO_PASS) {
        next++;
    }
    return next < end && phases->data[next].pass == FORWARD;
}

/* A step runs from the end of one pass to the end of the next; the first step begins with the first
 * phase. */
static void add_steps(struct ss_model *model, const struct phases *phases, size_t first, size_t end,
                      const struct evidence *evidence, enum pass pass)
{
    uint32_t track = evidence->track;
    bool by_batch = pass == FORWARD && evidence->loads >= MIN_PASSES;
    ss_vec_push(&model->names, (struct ss_model_name){.text = model->tracks.data[track].name});
    uint32_t path = ss_model_path_id(model, 0, (uint32_t)model->names.count - 1);
    uint64_t begin_ns = phases->data[first].begin_ns;
    int64_t number = 0;
    for (size_t i = first; i < end; i++) {
        if (phases->data[i].pass == pass && !continues_later(phases, i, end, pass) &&
            !(by_batch && has_same_batch(phases, i, end))) {
            add_step(model, track, path, number++, begin_ns, phases->data[i].end_ns);
            begin_ns = phases->data[i].end_ns;
        }
    }
    add_fact(model, &phases->data[end - 1], pass);
}

/* Evaluation in a program without training is inference. */
static void relabel_as_inference(struct ss_model *model, size_t first_range,
                                 const struct evidence *evidence)
{
    uint32_t inference = (uint32_t)model->names.count;
    ss_vec_push(&model->names, (struct ss_model_name){.text = ss_intern_put_text(
                                                          &model->strings, ss_phase_inference)});
    for (size_t i = first_range; i < model->ranges.count; i++) {
        struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_PHASES && pass_of_steps(&evidence[track->process]) == FORWARD &&
            strcmp(name_of(model, range), ss_phase_evaluation) == 0) {
            range->path = ss_model_path_id(model, 0, inference);
        }
    }
}

void ss_load_derive_steps(struct ss_model *model, size_t first_range)
{
    struct evidence *evidence = ss_alloc_zero(model->processes.count + 1, sizeof *evidence);
    struct phases phases = {0};
    bool infers = false;
    collect(model, first_range, evidence, &phases);
    exclude_evaluators(evidence, model->processes.count);
    for (size_t first = 0, end; first < phases.count; first = end) {
        uint32_t process = phases.data[first].process;
        for (end = first; end < phases.count && phases.data[end].process == process;) {
            end++;
        }
        enum pass pass = pass_of_steps(&evidence[process]);
        infers = infers || pass == FORWARD;
        if (pass != NO_PASS) {
            add_steps(model, &phases, first, end, &evidence[process], pass);
        }
    }
    if (infers) {
        relabel_as_inference(model, first_range, evidence);
    }
    ss_vec_fini(&phases);
    ss_free(evidence);
}
