/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a step, and steps, for trainings that another tool recorded: from its operators and
 * from the annotations that PyTorch and its users put around the parts of a step. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"

enum { FEWEST_UPDATES = 2 };

enum part {
    NO_PART,
    DATA,
    FORWARD,
    BACKWARD,
    OPTIMIZER,
    NODE,   /* of autograd */
    MODULE, /* an outermost one: a forward pass of a program that does not train */
    PARTS
};

/* An outermost part, or an outermost operator (NO_PART). */
struct interval {
    uint64_t begin_ns, end_ns;
    uint32_t process;
    uint8_t part;
    bool is_main; /* of the main thread */
};

struct intervals ss_vec_of(struct interval);

/* --- parts of a step -------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "## forward ##", "Forward": the letters alone, in lower case. */
static void reduce(const char *text, char *word, size_t size)
{
    size_t length = 0;
    for (; *text != '\0' && length + 1 < size; text++) {
        if (isalpha((unsigned char)*text)) {
            word[length++] = (char)tolower((unsigned char)*text);
        }
    }
    word[length] = '\0';
}

static enum part part_of_word(const char *text)
{
    static const struct {
        const char *word;
        enum part part;
    } words[] = {{"data", DATA},           {"dataloading", DATA},
                 {"dataloader", DATA},     {"loaddata", DATA},
                 {"forward", FORWARD},     {"forwardpass", FORWARD},
                 {"backward", BACKWARD},   {"backwardpass", BACKWARD},
                 {"optimizer", OPTIMIZER}, {"optimizerstep", OPTIMIZER},
                 {"optimize", OPTIMIZER}};
    char word[32];
    reduce(text, word, sizeof word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0) {
            return words[i].part;
        }
    }
    return NO_PART;
}

/* Of an operator or annotation, by its name. */
static enum part part_of(const char *text, const char *category, enum ss_event_type type)
{
    return strcmp(category, "backward") == 0                       ? NODE
           : begins_with(text, "enumerate(DataLoader)")            ? DATA
           : begins_with(text, "Optimizer.step#")                  ? OPTIMIZER
           : begins_with(text, "DistributedDataParallel.forward")  ? FORWARD
           : begins_with(text, "FullyShardedDataParallel.forward") ? FORWARD
           : type == SS_EVENT_TYPE_range && strlen(text) < 32      ? part_of_word(text)
                                                                   : NO_PART;
}

struct deriving {
    struct ss_model *model;
    bool *trains;   /* by process: it has a backward or an update */
    uint8_t *parts; /* by name, plus one */
    struct intervals all;
    bool *has_phases, *has_steps; /* by process */
};

static enum part part_of_name(struct deriving *deriving, uint32_t name)
{
    const struct ss_model_name *row = &deriving->model->names.data[name];
    uint8_t *known = &deriving->parts[name];
    if (*known == 0) {
        *known = (uint8_t)(1 + part_of(ss_model_text(deriving->model, row->text),
                                       ss_model_text(deriving->model, row->category), row->type));
    }
    return (enum part)(*known - 1);
}

static bool is_of_import(const struct ss_model *model, uint32_t process)
{
    uint32_t input = model->processes.data[process].input;
    return process != 0 && model->inputs.data[input].kind == SS_INPUT_IMPORT;
}

/* Of nested ranges on a thread. */
static bool is_of_domain(const struct ss_model *model, const struct ss_model_range *range,
                         const char *domain)
{
    const struct ss_model_track *track = &model->tracks.data[range->track];
    return track->thread != 0 && track->kind == SS_TRACK_RANGES && range->lane == 0 &&
           strcmp(ss_model_text(model, track->name), domain) == 0;
}

/* Outermost parts, and outermost operators outside of them. */
static void collect(struct deriving *deriving, size_t first_range)
{
    struct ss_model *model = deriving->model;
    uint64_t operator_until_ns = 0, part_until_ns = 0;
    uint32_t track = 0;
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *row = &model->tracks.data[range->track];
        uint32_t process = row->process;
        deriving->has_phases[process] |= row->kind == SS_TRACK_PHASES;
        deriving->has_steps[process] |= row->kind == SS_TRACK_STEPS;
        bool is_module = is_of_domain(model, range, ss_domain_torch_module);
        bool is_torch = is_of_domain(model, range, ss_domain_torch) ||
                        is_of_domain(model, range, ""); /* the program's own */
        if ((!is_torch && !is_module) || !is_of_import(model, process)) {
            continue;
        }
        if (range->track != track) {
            track = range->track;
            operator_until_ns = part_until_ns = 0;
        }
        uint32_t name = model->paths.data[range->path].name;
        enum part part = is_module ? MODULE : part_of_name(deriving, name);
        deriving->trains[process] |= part == NODE || part == BACKWARD || part == OPTIMIZER;
        bool is_operator =
            part == NO_PART && model->names.data[name].type == SS_EVENT_TYPE_operator;
        uint64_t *until_ns = is_operator ? &operator_until_ns : &part_until_ns;
        if ((part == NO_PART && !is_operator) || range->begin_ns < *until_ns ||
            range->begin_ns < part_until_ns) {
            continue;
        }
        *until_ns = range->end_ns;
        ss_vec_push(&deriving->all,
                    (struct interval){.begin_ns = range->begin_ns,
                                      .end_ns = range->end_ns,
                                      .process = process,
                                      .part = (uint8_t)part,
                                      .is_main = model->threads.data[row->thread].is_main});
    }
}

static int compare(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* --- phases of a process ---------------------------------------------------------------------- */

static void push(struct intervals *phases, const struct interval *from, enum part part,
                 uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t after_ns = phases->count > 0 ? phases->data[phases->count - 1].end_ns : 0;
    begin_ns = begin_ns > after_ns ? begin_ns : after_ns;
    if (end_ns > begin_ns) {
        ss_vec_push(phases, (struct interval){.begin_ns = begin_ns,
                                              .end_ns = end_ns,
                                              .process = from->process,
                                              .part = (uint8_t)part});
    }
}

/* Operators of the main thread outside of all other parts, which the backward that follows makes a
 * forward pass. */
struct open_forward {
    uint64_t begin_ns, end_ns; /* begin 0: none */
};

/* A backward pass reaches from its first node to its last, on any thread, until the main thread
 * computes again. */
static size_t end_of_backward(const struct intervals *all, size_t i, size_t end, uint64_t *end_ns)
{
    *end_ns = all->data[i].end_ns;
    for (; i < end &&
           (all->data[i].part == NODE || !all->data[i].is_main || all->data[i].begin_ns < *end_ns);
         i++) {
        bool is_node = all->data[i].part == NODE;
        *end_ns = is_node && all->data[i].end_ns > *end_ns ? all->data[i].end_ns : *end_ns;
    }
    return i;
}

static void find_phases(const struct intervals *all, size_t first, size_t end, bool trains,
                        struct intervals *phases)
{
    struct open_forward open = {0};
    bool marks_forward = false;
    for (size_t i = first; i < end; i++) {
        marks_forward = marks_forward || (all->data[i].part == FORWARD && all->data[i].is_main);
    }
    for (size_t i = first; i < end;) {
        const struct interval *one = &all->data[i];
        if (one->part == NODE || one->part == BACKWARD) {
            uint64_t end_ns;
            size_t next = end_of_backward(all, i, end, &end_ns);
            if (open.begin_ns != 0 && !marks_forward) {
                uint64_t to_ns = open.end_ns < one->begin_ns ? open.end_ns : one->begin_ns;
                push(phases, one, FORWARD, open.begin_ns, to_ns);
            }
            push(phases, one, BACKWARD, one->begin_ns, end_ns);
            open.begin_ns = 0;
            i = next > i ? next : i + 1;
            continue;
        }
        i++;
        if (!one->is_main || (one->part == MODULE && trains)) {
            continue;
        }
        if (one->part == MODULE) {
            push(phases, one, FORWARD, one->begin_ns, one->end_ns);
        } else if (one->part == NO_PART) {
            open.begin_ns = open.begin_ns == 0 ? one->begin_ns : open.begin_ns;
            open.end_ns = one->end_ns;
        } else {
            push(phases, one, (enum part)one->part, one->begin_ns, one->end_ns);
            open.begin_ns = 0;
        }
    }
}

/* --- rows of the model ------------------------------------------------------------------------ */

static uint32_t add_track(struct ss_model *model, uint32_t process, enum ss_track_kind kind,
                          const char *name)
{
    ss_vec_push(&model->tracks,
                (struct ss_model_track){.input = model->processes.data[process].input,
                                        .kind = kind,
                                        .process = process,
                                        .name = ss_intern_put_text(&model->strings, name)});
    return (uint32_t)model->tracks.count - 1;
}

static uint32_t path_of(struct ss_model *model, enum part part)
{
    const char *const names[PARTS] = {[DATA] = ss_phase_data,
                                      [FORWARD] = ss_phase_forward,
                                      [BACKWARD] = ss_phase_backward,
                                      [OPTIMIZER] = ss_phase_optimizer};
    ss_vec_push(&model->names,
                (struct ss_model_name){.text = ss_intern_put_text(&model->strings, names[part])});
    return ss_model_path_id(model, 0, (uint32_t)model->names.count - 1);
}

static void add_phases(struct ss_model *model, const struct intervals *phases)
{
    uint32_t track = add_track(model, phases->data[0].process, SS_TRACK_PHASES, "phase");
    uint32_t paths[PARTS] = {0};
    for (size_t i = 0; i < phases->count; i++) {
        const struct interval *phase = &phases->data[i];
        uint32_t *path = &paths[phase->part];
        *path = *path != 0 ? *path : path_of(model, (enum part)phase->part);
        ss_vec_push(&model->ranges, (struct ss_model_range){.begin_ns = phase->begin_ns,
                                                            .end_ns = phase->end_ns,
                                                            .track = track,
                                                            .path = *path});
    }
}

/* From the end of an update to the end of the next; the first step begins with the first phase.
 * Without updates, ss_load_derive_steps finds the passes: it needs the track. */
static void add_steps(struct ss_model *model, const struct intervals *phases)
{
    uint32_t track = add_track(model, phases->data[0].process, SS_TRACK_STEPS, "step");
    size_t updates = 0;
    for (size_t i = 0; i < phases->count; i++) {
        updates += phases->data[i].part == OPTIMIZER;
    }
    if (updates < FEWEST_UPDATES) {
        return;
    }
    ss_vec_push(&model->names, (struct ss_model_name){.text = model->tracks.data[track].name});
    uint32_t path = ss_model_path_id(model, 0, (uint32_t)model->names.count - 1);
    uint64_t begin_ns = phases->data[0].begin_ns;
    int64_t number = 0;
    for (size_t i = 0; i < phases->count; i++) {
        bool continues = i + 1 < phases->count && phases->data[i + 1].part == OPTIMIZER;
        if (phases->data[i].part != OPTIMIZER || continues) {
            continue; /* several optimizers update one behind the other */
        }
        ss_vec_push(&model->payloads,
                    (struct ss_model_payload){.type = SS_VALUE_INT, .integer = number++});
        ss_vec_push(&model->ranges,
                    (struct ss_model_range){.begin_ns = begin_ns,
                                            .end_ns = phases->data[i].end_ns,
                                            .track = track,
                                            .path = path,
                                            .payload = (uint32_t)model->payloads.count - 1});
        begin_ns = phases->data[i].end_ns;
    }
}

static void derive(struct deriving *deriving)
{
    struct intervals *all = &deriving->all;
    for (size_t first = 0, end; first < all->count; first = end) {
        uint32_t process = all->data[first].process;
        for (end = first; end < all->count && all->data[end].process == process;) {
            end++;
        }
        struct intervals phases = {0};
        if (!deriving->has_phases[process]) {
            find_phases(all, first, end, deriving->trains[process], &phases);
        }
        if (phases.count > 0) {
            add_phases(deriving->model, &phases);
        }
        if (phases.count > 0 && !deriving->has_steps[process]) {
            add_steps(deriving->model, &phases);
        }
        ss_vec_fini(&phases);
    }
}

void ss_load_derive_phases(struct ss_model *model, size_t first_range)
{
    struct deriving deriving = {.model = model};
    deriving.parts = ss_alloc_zero(model->names.count + 1, sizeof *deriving.parts);
    deriving.trains = ss_alloc_zero(model->processes.count, sizeof *deriving.trains);
    deriving.has_phases = ss_alloc_zero(model->processes.count, sizeof *deriving.has_phases);
    deriving.has_steps = ss_alloc_zero(model->processes.count, sizeof *deriving.has_steps);
    collect(&deriving, first_range);
    if (deriving.all.count > 0) {
        qsort(deriving.all.data, deriving.all.count, sizeof *deriving.all.data, compare);
        derive(&deriving);
    }
    ss_vec_fini(&deriving.all);
    ss_free(deriving.parts);
    ss_free(deriving.trains);
    ss_free(deriving.has_phases);
    ss_free(deriving.has_steps);
}
