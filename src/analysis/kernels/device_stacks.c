/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/device_stacks.h"

#include <string.h>

#include "analysis/calls/calls.h"
#include "analysis/kernels/kernel_names.h"
#include "analysis/kernels/launch_lines.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/shared_names.h"
#include "base/strbuf.h"

enum {
    MOST_OPERATORS = 256, /* that are nested in a stack: inner ones count as their ancestor */
    MOST_NAME_BYTES = 4096
};

struct stacking {
    struct ss_model *model;
    const uint32_t *parents;
    uint32_t *frame_of_name; /* by name: of functions, operators and works, plus one */
    uint32_t *of_python;     /* by range: the stack that ends with this call, plus one */
    uint32_t *of_text;       /* by string: the stack of a field `stack`, plus one */
    uint32_t *paths;         /* by path: itself, or its ancestor at MOST_OPERATORS */
    struct ss_intern keys;   /* of stacks with operators: struct below_key */
    struct ss_vec_of(uint32_t) below;
    struct ss_vec_of(uint32_t) pending;
    uint32_t *threads; /* by process: the one that stands for launches before the recording */
    uint64_t added_ns; /* at most 63 bits, whatever a damaged recording has */
};

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t put_frame(struct ss_model *model, struct ss_strview function,
                          struct ss_strview path, uint32_t line, enum ss_code_origin origin)
{
    struct ss_strview shorter = path;
    if (path.length > 0) {
        ss_module_of_path(path, origin, &shorter);
    }
    uint32_t name = ss_intern_put(&model->strings, function.data, function.length);
    struct ss_model_frame frame = {.function = name,
                                   .name = name,
                                   .file = ss_intern_put(&model->strings, path.data, path.length),
                                   .short_file =
                                       ss_intern_put(&model->strings, shorter.data, shorter.length),
                                   .line = line != 0 ? (int32_t)line : -1,
                                   .first_line = line != 0 ? (int32_t)line : -1,
                                   .kind = path.length > 0 ? SS_FRAME_INTERPRETED : SS_FRAME_NATIVE,
                                   .origin = origin};
    return ss_model_frame_id(model, &frame);
}

/* "<built-in method copy_ of Tensor object at 0x7fdc681f0eb0>": the address makes no difference. */
static void append_builtin(struct ss_strbuf *out, struct ss_strview name)
{
    static const char address[] = " object at 0x";
    const char *at = memmem(name.data, name.length, address, sizeof address - 1);
    size_t length = at != NULL ? (size_t)(at - name.data) : name.length;
    ss_strbuf_append(out, name.data, length);
    ss_strbuf_append_text(out, at != NULL && name.data[0] == '<' ? ">" : "");
}

/* Functions without a file are built in. Texts are copied: the model's strings may move. */
static uint32_t put_function(struct ss_model *model, struct ss_strview function,
                             struct ss_strview path, uint32_t line)
{
    struct ss_strbuf name, file;
    ss_strbuf_init(&name, MOST_NAME_BYTES);
    ss_strbuf_init(&file, MOST_NAME_BYTES);
    if (path.length > 0) {
        ss_strbuf_append_view(&name, function);
        ss_strbuf_append_view(&file, path);
    } else {
        append_builtin(&name, function);
    }
    struct ss_strview shown = {file.data, file.length};
    enum ss_code_origin origin =
        path.length > 0 ? ss_origin_of_short_path(shown) : SS_ORIGIN_NATIVE;
    uint32_t frame =
        put_frame(model, (struct ss_strview){name.data, name.length}, shown, line, origin);
    ss_strbuf_fini(&name);
    ss_strbuf_fini(&file);
    return frame;
}

static uint32_t put_work(struct ss_model *model, uint32_t name)
{
    static const struct ss_strview nowhere = {"", 0};
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, MOST_NAME_BYTES);
    ss_kernel_short_name(ss_intern_get(&model->strings, model->names.data[name].text), &brief);
    uint32_t frame = put_frame(model, (struct ss_strview){brief.data, brief.length}, nowhere, 0,
                               SS_ORIGIN_DEVICE);
    ss_strbuf_fini(&brief);
    return frame;
}

/* Of a function, an operator or work of a device. */
static uint32_t frame_of_name(struct stacking *stacking, uint32_t name, bool is_work)
{
    struct ss_model *model = stacking->model;
    uint32_t *known = &stacking->frame_of_name[name];
    if (*known == 0) {
        const struct ss_model_name *row = &model->names.data[name];
        uint32_t frame = is_work
                             ? put_work(model, name)
                             : put_function(model, ss_intern_get(&model->strings, row->text),
                                            ss_intern_get(&model->strings, row->file), row->line);
        *known = frame + 1;
    }
    return *known - 1;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t name_of(const struct ss_model *model, uint32_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

/* The calls of functions around a call, and the call itself. */
static uint32_t stack_of_python(struct stacking *stacking, uint32_t python)
{
    uint32_t stack = 0;
    ss_vec_clear(&stacking->pending);
    for (uint32_t at = python; at != 0; at = stacking->parents[at - 1]) {
        if (stacking->of_python[at - 1] != 0) {
            stack = stacking->of_python[at - 1] - 1;
            break;
        }
        ss_vec_push(&stacking->pending, at);
    }
    for (size_t i = stacking->pending.count; i-- > 0;) {
        uint32_t at = stacking->pending.data[i] - 1;
        uint32_t frame = frame_of_name(stacking, name_of(stacking->model, at), false);
        stack = ss_model_stack_id(stacking->model, stack, frame);
        stacking->of_python[at] = stack + 1;
    }
    return stack;
}

static bool add_frame(void *context, struct ss_strview text)
{
    struct stacking *stacking = context;
    struct ss_frame_parts parts = ss_frame_parts_of(text);
    ss_vec_push(&stacking->pending,
                put_function(stacking->model, parts.function, parts.path, parts.line));
    return true;
}

static uint32_t stack_of_text(struct stacking *stacking, uint32_t text)
{
    uint32_t *known = &stacking->of_text[text];
    if (*known == 0) {
        uint32_t stack = 0;
        ss_vec_clear(&stacking->pending);
        char *copy = ss_strdup(ss_model_text(stacking->model, text));
        ss_stack_field_each(copy, add_frame, stacking);
        ss_free(copy);
        for (size_t i = stacking->pending.count; i-- > 0;) {
            stack = ss_model_stack_id(stacking->model, stack, stacking->pending.data[i]);
        }
        *known = stack + 1;
    }
    return *known - 1;
}

struct below_key {
    uint32_t stack, path;
};

/* The annotations and operators of a path below a stack. */
static uint32_t stack_below(struct stacking *stacking, uint32_t stack, uint32_t path)
{
    struct ss_model *model = stacking->model;
    path = stacking->paths[path];
    struct below_key key = {stack, path};
    uint32_t id = ss_intern_put(&stacking->keys, (const char *)&key, sizeof key);
    if (id < stacking->below.count) {
        return stacking->below.data[id];
    }
    ss_vec_clear(&stacking->pending);
    for (uint32_t at = path; at != 0; at = model->paths.data[at].parent) {
        uint32_t name = model->paths.data[at].name;
        if (ss_call_kind_of(model, name) != SS_CALL_RUNTIME) {
            ss_vec_push(&stacking->pending, name);
        }
    }
    for (size_t i = stacking->pending.count; i-- > 0;) {
        uint32_t frame = frame_of_name(stacking, stacking->pending.data[i], false);
        stack = ss_model_stack_id(model, stack, frame);
    }
    ss_vec_push(&stacking->below, stack);
    return stack;
}

/* Parents precede their children. */
static void cap_paths(struct stacking *stacking)
{
    const struct ss_model *model = stacking->model;
    for (uint32_t i = 1; i < model->paths.count; i++) {
        const struct ss_model_path *path = &model->paths.data[i];
        stacking->paths[i] = path->depth <= MOST_OPERATORS ? i : stacking->paths[path->parent];
    }
}

/* --- launches --------------------------------------------------------------------------------- */

/* A thread of its own: no thread of the process launched it in the recording. */
static uint32_t thread_before(struct stacking *stacking, uint32_t process)
{
    if (stacking->threads[process] == 0) {
        stacking->threads[process] = ss_model_add_thread(stacking->model, process, -1);
    }
    return stacking->threads[process];
}

static uint32_t stack_of_launch(struct stacking *stacking, const struct ss_launch_place *place,
                                const struct ss_launch_frames *frames)
{
    static const struct ss_strview nowhere = {"", 0};
    if (place->call == 0) {
        struct ss_strview name = ss_strview_of(ss_launch_name((enum ss_launch)place->launch));
        return ss_model_stack_id(stacking->model, 0,
                                 put_frame(stacking->model, name, nowhere, 0, SS_ORIGIN_NATIVE));
    }
    uint32_t stack = frames->python != 0  ? stack_of_python(stacking, frames->python)
                     : frames->stack != 0 ? stack_of_text(stacking, frames->stack)
                                          : 0;
    return place->op != 0
               ? stack_below(stacking, stack, stacking->model->ranges.data[place->op - 1].path)
               : stack;
}

static void add_work(struct stacking *stacking, const struct ss_launch_place *place,
                     const struct ss_launch_frames *frames, const struct ss_device_work *work)
{
    struct ss_model *model = stacking->model;
    uint64_t room_ns = (uint64_t)INT64_MAX - stacking->added_ns;
    struct ss_model_total total = {.samples = place->ns < room_ns ? place->ns : room_ns};
    if (total.samples == 0) {
        return;
    }
    stacking->added_ns += total.samples;
    uint32_t stack = stack_of_launch(stacking, place, frames);
    total.stack = ss_model_stack_id(model, stack, frame_of_name(stacking, work->name, true));
    total.thread = place->call == 0
                       ? thread_before(stacking, work->process)
                       : model->tracks.data[model->ranges.data[place->call - 1].track].thread;
    ss_model_add_total(model, &total);
}

static void stacking_init(struct stacking *stacking, struct ss_model *model,
                          const struct ss_launch_places *places)
{
    *stacking =
        (struct stacking){.model = model,
                          .parents = places->finder->parents,
                          .frame_of_name = ss_alloc_zero(model->names.count + 1, sizeof(uint32_t)),
                          .of_python = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t)),
                          .of_text = ss_alloc_zero(model->strings.count + 1, sizeof(uint32_t)),
                          .paths = ss_alloc_zero(model->paths.count + 1, sizeof(uint32_t)),
                          .threads = ss_alloc_zero(model->processes.count + 1, sizeof(uint32_t))};
    ss_intern_init(&stacking->keys);
    ss_vec_push_zero(&stacking->below); /* id 0 is the empty key */
    cap_paths(stacking);
}

static void stacking_fini(struct stacking *stacking)
{
    ss_free(stacking->frame_of_name);
    ss_free(stacking->of_python);
    ss_free(stacking->of_text);
    ss_free(stacking->paths);
    ss_free(stacking->threads);
    ss_intern_fini(&stacking->keys);
    ss_vec_fini(&stacking->below);
    ss_vec_fini(&stacking->pending);
}

void ss_device_stacks_weigh(struct ss_model *model)
{
    static const struct ss_selection_options everything = {.idle = SS_IDLE_ALL};
    struct ss_selection all;
    struct ss_launch_places places;
    struct ss_launch_lines lines;
    struct stacking stacking;
    if (ss_selection_init(&all, model, &everything, NULL) != SS_OK) {
        ss_bug("a selection of everything failed");
    }
    ss_launch_places_init(&places, &all,
                          &(struct ss_launch_places_options){.domain = ss_domain_torch});
    ss_launch_lines_init(&lines, &places);
    ss_model_clear_samples(model, SS_WEIGHT_DEVICE_NS);
    if (places.rows.count > 0) {
        stacking_init(&stacking, model, &places);
        for (size_t i = 0; i < places.rows.count; i++) {
            const struct ss_launch_place *place = &places.rows.data[i];
            add_work(&stacking, place, &lines.rows[i], &places.works->works.data[place->work]);
        }
        stacking_fini(&stacking);
    }
    ss_launch_lines_fini(&lines);
    ss_launch_places_fini(&places);
    ss_selection_fini(&all);
}
