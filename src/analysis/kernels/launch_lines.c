/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/launch_lines.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "model/core/domains.h"
#include "model/core/owner.h"

/* --- frames ----------------------------------------------------------------------------------- */

struct ss_frame_parts ss_frame_parts_of(struct ss_strview text)
{
    const char *end = memmem(text.data, text.length, "): ", 3);
    const char *brace = end != NULL ? memrchr(text.data, '(', (size_t)(end - text.data)) : NULL;
    uint64_t line = 0;
    if (brace == NULL || brace == text.data || brace + 1 == end) {
        return (struct ss_frame_parts){.function = text};
    }
    for (const char *at = brace + 1; at < end; at++) {
        if (*at < '0' || *at > '9' || line > INT32_MAX / 10) {
            return (struct ss_frame_parts){.function = text};
        }
        line = line * 10 + (uint64_t)(*at - '0');
    }
    return (struct ss_frame_parts){
        .path = {text.data, (size_t)(brace - text.data)},
        .function = {end + 3, (size_t)(text.data + text.length - end - 3)},
        .line = (uint32_t)line};
}

void ss_stack_field_each(const char *stack, bool (*add)(void *context, struct ss_strview frame),
                         void *context)
{
    json_t *list = json_loads(stack, 0, NULL);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *frame = json_array_get(list, i);
        if (json_is_string(frame) &&
            !add(context,
                 (struct ss_strview){json_string_value(frame), json_string_length(frame)})) {
            break;
        }
    }
    json_decref(list);
}

/* The frame of the highest rank counts; 0: it has no place. */
enum rank {
    NO_PLACE,
    INNER_CODE,
    LIBRARY,
    WITHOUT_FILE, /* "<string>": of `python -c`, or generated code that the user's calls */
    OWN_CODE
};

/* What torch.compile generated is not the user's code. */
static bool is_generated(struct ss_strview path)
{
    static const char folder[] = "/torchinductor_";
    return memmem(path.data, path.length, folder, sizeof folder - 1) != NULL;
}

static enum rank rank_of(struct ss_strview path)
{
    if (path.length == 0) {
        return NO_PLACE;
    }
    enum ss_code_owner owner = ss_owner_of(ss_origin_of_short_path(path), path);
    if (ss_owner_is_torch(owner) || ss_owner_is_stdlib(owner) || owner == SS_OWNER_STEPSCOPE ||
        is_generated(path)) {
        return INNER_CODE;
    }
    bool is_own = owner == SS_OWNER_PROGRAM || owner == SS_OWNER_UNKNOWN;
    return !is_own ? LIBRARY : path.data[0] == '<' ? WITHOUT_FILE : OWN_CODE;
}

struct finding {
    const struct ss_model *model;
    const struct ss_launch_places *places;
    struct ss_launch_lines *out;
    uint8_t *ranks;   /* of names of Python's functions, plus one */
    uint32_t *best;   /* by range of Python's tracks: the frame that counts, plus one */
    uint32_t *stacks; /* by range: the string of its field `stack`, or of the nearest around */
    uint32_t *inner;  /* by range: the stack of the first launch in it */
    uint32_t *line_of_stack; /* by string: row of lines, plus one */
    struct ss_intern keys;   /* of lines */
};

static uint32_t name_of(const struct ss_model *model, uint32_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

static enum rank rank_of_name(struct finding *finding, uint32_t name)
{
    uint8_t *rank = &finding->ranks[name];
    if (*rank == 0) {
        const struct ss_model *model = finding->model;
        *rank =
            (uint8_t)(1 + rank_of(ss_intern_get(&model->strings, model->names.data[name].file)));
    }
    return (enum rank)(*rank - 1);
}

/* Outer ranges precede their inner ones. */
static void find_best(struct finding *finding)
{
    const struct ss_model *model = finding->model;
    const uint32_t *parents = finding->places->finder->parents;
    uint32_t *tracks = ss_tracks_of_domain(model, SS_DOMAIN_PYTHON);
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        uint32_t track = model->ranges.data[i].track;
        if (tracks[model->tracks.data[track].thread] != track) {
            continue;
        }
        uint32_t outer = parents[i] != 0 ? finding->best[parents[i] - 1] : 0;
        enum rank rank = rank_of_name(finding, name_of(model, i));
        bool is_better = rank != NO_PLACE &&
                         (outer == 0 || rank >= rank_of_name(finding, name_of(model, outer - 1)));
        finding->best[i] = is_better ? i + 1 : outer;
    }
    ss_free(tracks);
}

static void find_stacks(struct finding *finding)
{
    const struct ss_model *model = finding->model;
    const uint32_t *parents = finding->places->finder->parents;
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_field *field =
            range->payload != 0 ? ss_model_field_of(model, range->payload, SS_EVENT_FIELD_stack)
                                : NULL;
        bool has_stack = field != NULL && field->type == SS_VALUE_TEXT && field->text != 0;
        finding->stacks[i] = has_stack         ? field->text
                             : parents[i] != 0 ? finding->stacks[parents[i] - 1]
                                               : 0;
    }
}

/* A recording of ours has a stack with each launch, and none with operators. */
static void find_inner_stacks(struct finding *finding)
{
    const struct ss_launch_places *places = finding->places;
    for (size_t i = 0; i < places->rows.count; i++) {
        const struct ss_launch_place *place = &places->rows.data[i];
        uint32_t stack = place->call != 0 ? finding->stacks[place->call - 1] : 0;
        for (uint32_t at = place->op; stack != 0 && at != 0 && finding->inner[at - 1] == 0;
             at = places->finder->parents[at - 1]) {
            finding->inner[at - 1] = stack;
        }
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Paths of packages and of the standard library without the folder that they are installed in. */
static struct ss_strview short_path(struct ss_strview path)
{
    ss_module_of_path(path, ss_origin_of_short_path(path), &path);
    return path;
}

static struct ss_code_line code_line(struct ss_intern *texts, struct ss_strview path,
                                     struct ss_strview function, uint32_t line)
{
    path = short_path(path);
    return (struct ss_code_line){.path = ss_intern_put(texts, path.data, path.length),
                                 .function = ss_intern_put(texts, function.data, function.length),
                                 .line = line};
}

static uint32_t put_line(struct finding *finding, struct ss_strview path,
                         struct ss_strview function, uint32_t line)
{
    struct ss_launch_lines *out = finding->out;
    struct ss_code_line row = code_line(&out->texts, path, function, line);
    uint32_t id = ss_intern_put(&finding->keys, (const char *)&row, sizeof row);
    if (id >= out->lines.count) { /* id 0 is the empty key, as row 0 is "none" */
        ss_vec_push(&out->lines, row);
    }
    return id;
}

static uint32_t line_of_python(struct finding *finding, uint32_t python)
{
    const struct ss_model *model = finding->model;
    uint32_t best = finding->best[python - 1];
    if (best == 0) {
        return 0;
    }
    const struct ss_model_name *name = &model->names.data[name_of(model, best - 1)];
    return put_line(finding, ss_intern_get(&model->strings, name->file),
                    ss_intern_get(&model->strings, name->text), name->line);
}

struct best_frame {
    struct finding *finding;
    enum rank rank;
    uint32_t line;
};

static bool add_frame(void *context, struct ss_strview text)
{
    struct best_frame *best = context;
    struct ss_frame_parts parts = ss_frame_parts_of(text);
    enum rank rank = rank_of(parts.path);
    if (rank > best->rank) {
        best->rank = rank;
        best->line = put_line(best->finding, parts.path, parts.function, parts.line);
    }
    return best->rank != OWN_CODE;
}

static uint32_t line_of_stack(struct finding *finding, uint32_t stack)
{
    uint32_t *known = &finding->line_of_stack[stack];
    if (*known == 0) {
        struct best_frame best = {.finding = finding, .rank = NO_PLACE};
        ss_stack_field_each(ss_model_text(finding->model, stack), add_frame, &best);
        *known = 1 + best.line;
    }
    return *known - 1;
}

struct best_line {
    struct ss_intern *texts;
    enum rank rank;
    struct ss_code_line line;
};

static bool add_line(void *context, struct ss_strview text)
{
    struct best_line *best = context;
    struct ss_frame_parts parts = ss_frame_parts_of(text);
    enum rank rank = rank_of(parts.path);
    if (rank > best->rank) {
        best->rank = rank;
        best->line = code_line(best->texts, parts.path, parts.function, parts.line);
    }
    return best->rank != OWN_CODE;
}

struct ss_code_line ss_stack_field_line(const char *stack, struct ss_intern *texts)
{
    struct best_line best = {.texts = texts, .rank = NO_PLACE};
    ss_stack_field_each(stack, add_line, &best);
    return best.line;
}

/* --- launches --------------------------------------------------------------------------------- */

/* Whether Python code of rank within the node launched the work: the program's own backward, or
 * what checkpointing computes again. */
static bool is_within_node(struct finding *finding, const struct ss_launch_place *place,
                           uint32_t python)
{
    const struct ss_model_range *ranges = finding->model->ranges.data;
    uint32_t best = python != 0 ? finding->best[python - 1] : 0;
    return best != 0 && ranges[best - 1].begin_ns >= ranges[place->node - 1].begin_ns &&
           rank_of_name(finding, name_of(finding->model, best - 1)) >= LIBRARY;
}

/* The frames at a range: calls of functions, else the stack of the nearest operator with one. */
static bool take_frames(const struct finding *finding, uint32_t range, uint32_t python,
                        struct ss_launch_frames *frames)
{
    frames->python = python;
    frames->stack = python == 0 && range != 0 ? finding->stacks[range - 1] : 0;
    return frames->python != 0 || frames->stack != 0;
}

/* The frames of the operator of forward, else those of what it launched. */
static bool take_forward(const struct finding *finding, uint32_t forward, uint32_t python,
                         struct ss_launch_frames *frames)
{
    if (!take_frames(finding, forward, python, frames)) {
        frames->stack = finding->inner[forward - 1];
    }
    return frames->python != 0 || frames->stack != 0;
}

static void find_frames(struct finding *finding, const struct ss_launch_place *place,
                        uint32_t at_call, uint32_t at_forward, struct ss_launch_frames *frames)
{
    const struct ss_device_works *works = finding->places->works;
    uint32_t own = finding->stacks[works->works.data[place->work].range];
    bool is_forward = place->node == 0 || is_within_node(finding, place, at_call);
    frames->is_backward = place->node != 0;
    if (own != 0) {
        frames->stack = own; /* of a graph's node: where it was captured */
    } else if (is_forward || place->forward == 0 ||
               !take_forward(finding, place->forward, at_forward, frames)) {
        bool has_any = take_frames(finding, place->call, at_call, frames);
        if (!has_any) { /* the call is on a track of its own */
            take_frames(finding, place->op, 0, frames);
        }
    }
    frames->line = frames->python != 0  ? line_of_python(finding, frames->python)
                   : frames->stack != 0 ? line_of_stack(finding, frames->stack)
                                        : 0;
}

static void find_all(struct finding *finding)
{
    const struct ss_launch_places *places = finding->places;
    size_t count = places->rows.count;
    uint32_t *tracks = ss_tracks_of_domain(finding->model, SS_DOMAIN_PYTHON);
    uint32_t *at = ss_alloc((count + 1) * sizeof *at);
    uint32_t *at_call = ss_alloc((count + 1) * sizeof *at_call);
    uint32_t *at_forward = ss_alloc((count + 1) * sizeof *at_forward);
    for (size_t i = 0; i < count; i++) {
        at[i] = places->rows.data[i].call;
    }
    ss_ranges_around(places->finder, tracks, at, count, at_call);
    for (size_t i = 0; i < count; i++) {
        at[i] = places->rows.data[i].forward;
    }
    ss_ranges_around(places->finder, tracks, at, count, at_forward);
    for (size_t i = 0; i < count; i++) {
        if (places->rows.data[i].call != 0) {
            find_frames(finding, &places->rows.data[i], at_call[i], at_forward[i],
                        &finding->out->rows[i]);
        }
    }
    ss_free(tracks);
    ss_free(at);
    ss_free(at_call);
    ss_free(at_forward);
}

void ss_launch_lines_init(struct ss_launch_lines *lines, const struct ss_launch_places *places)
{
    const struct ss_model *model = places->selection->model;
    *lines = (struct ss_launch_lines){
        .places = places, .rows = ss_alloc_zero(places->rows.count + 1, sizeof *lines->rows)};
    ss_intern_init(&lines->texts);
    ss_vec_push_zero(&lines->lines);
    if (places->rows.count == 0) {
        return;
    }
    struct finding finding = {
        .model = model,
        .places = places,
        .out = lines,
        .ranks = ss_alloc_zero(model->names.count + 1, sizeof *finding.ranks),
        .best = ss_alloc_zero(model->ranges.count + 1, sizeof *finding.best),
        .stacks = ss_alloc_zero(model->ranges.count + 1, sizeof *finding.stacks),
        .inner = ss_alloc_zero(model->ranges.count + 1, sizeof *finding.inner),
        .line_of_stack = ss_alloc_zero(model->strings.count + 1, sizeof *finding.line_of_stack)};
    ss_intern_init(&finding.keys);
    find_best(&finding);
    find_stacks(&finding);
    find_inner_stacks(&finding);
    find_all(&finding);
    ss_intern_fini(&finding.keys);
    ss_free(finding.ranks);
    ss_free(finding.best);
    ss_free(finding.stacks);
    ss_free(finding.inner);
    ss_free(finding.line_of_stack);
}

void ss_launch_lines_fini(struct ss_launch_lines *lines)
{
    ss_vec_fini(&lines->lines);
    ss_intern_fini(&lines->texts);
    ss_free(lines->rows);
    *lines = (struct ss_launch_lines){0};
}
