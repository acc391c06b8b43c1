/* SPDX-License-Identifier: Apache-2.0 */
/* What the frames of an allocation say: its phase and its line. */
#include <inttypes.h>
#include <string.h>

#include "analysis/memory/allocation_code.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/core/stack_list.h"

enum { MOST_KEY_BYTES = 1 << 16 };

/* The first row that applies to a frame; a folder ends with '/'. Functions are separated by spaces;
 * "": all of the file. */
static const struct {
    const char *module, *functions;
    enum ss_allocation_phase phase;
} rules[] = {
    {"torch/autograd/graph.py", "_engine_run_backward", SS_ALLOCATION_BACKWARD},
    {"torch/autograd/__init__.py", "backward grad", SS_ALLOCATION_BACKWARD},
    {"torch/_tensor.py", "backward", SS_ALLOCATION_BACKWARD},
    {"torch/optim/", "zero_grad", SS_ALLOCATION_UNKNOWN_PHASE},
    {"torch/optim/", "", SS_ALLOCATION_OPTIMIZER},
    {"torch/utils/data/", "", SS_ALLOCATION_DATA},
    {"torch/nn/modules/module.py", "_call_impl _wrapped_call_impl __call__", SS_ALLOCATION_FORWARD},
    {"torch/nn/modules/module.py", "_apply to cuda xpu __init__ load_state_dict to_empty",
     SS_ALLOCATION_BUILD},
    {"torch/nn/init.py", "", SS_ALLOCATION_BUILD},
    {"torch/nn/", "__init__ reset_parameters", SS_ALLOCATION_BUILD},
};

/* How well a frame names the place that a person needs. */
enum rank { NO_FRAME, NATIVE, LIBRARY_OF_TORCH, OTHER_LIBRARY, PROGRAM };

static bool has_word(const char *words, struct ss_strview text)
{
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        if (text.length == length && memcmp(words, text.data, length) == 0) {
            return true;
        }
        words += length + strspn(words + length, " ");
    }
    return false;
}

/* "Linear.__init__" of a qualified name is "__init__". */
static struct ss_strview plain_name(struct ss_strview function)
{
    const char *dot = memrchr(function.data, '.', function.length);
    return dot == NULL
               ? function
               : (struct ss_strview){dot + 1, (size_t)(function.data + function.length - dot - 1)};
}

/* Leaves the phase as it is where the frame says nothing of one. */
static void phase_of(const struct ss_listed_frame *frame, struct ss_strview module,
                     enum ss_allocation_phase *phase)
{
    static const char engine[] = "torch::autograd::Engine::";
    struct ss_strview function = plain_name(frame->function);
    if (memmem(frame->function.data, frame->function.length, engine, sizeof engine - 1) != NULL) {
        *phase = SS_ALLOCATION_BACKWARD;
        return;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (ss_module_is(module, rules[i].module) &&
            (rules[i].functions[0] == '\0' || has_word(rules[i].functions, function))) {
            *phase = rules[i].phase;
            return;
        }
    }
}

static bool is_native(const struct ss_listed_frame *frame)
{
    return frame->file.length == 0 || ss_path_is_native(frame->file) ||
           ss_strview_equal(frame->file, ss_strview_of("??")) ||
           memmem(frame->function.data, frame->function.length, "::", 2) != NULL;
}

static enum rank rank_of(const struct ss_listed_frame *frame, enum ss_code_origin origin)
{
    if (is_native(frame)) {
        return NATIVE;
    }
    enum ss_code_owner owner = ss_owner_of(origin, frame->file);
    return owner == SS_OWNER_PROGRAM                               ? PROGRAM
           : ss_owner_is_torch(owner) || ss_owner_is_stdlib(owner) ? LIBRARY_OF_TORCH
                                                                   : OTHER_LIBRARY;
}

/* The row of the line has the number of its text. */
static uint32_t put_line(struct ss_allocations *allocations, const struct ss_listed_frame *frame)
{
    struct ss_strbuf key;
    uint32_t before = allocations->texts.count;
    ss_strbuf_init(&key, MOST_KEY_BYTES);
    ss_strbuf_append_view(&key, frame->file);
    ss_strbuf_append_format(&key, "\n%" PRId64 "\n", frame->line);
    ss_strbuf_append_view(&key, frame->function);
    uint32_t text = ss_intern_put(&allocations->texts, key.data, key.length);
    if (text >= before) {
        struct ss_strview all = ss_intern_get(&allocations->texts, text);
        size_t file = frame->file.length < all.length ? frame->file.length : all.length;
        size_t function = key.overflow ? 0 : frame->function.length;
        ss_vec_resize(&allocations->lines, (size_t)text + 1);
        allocations->lines.data[text] =
            (struct ss_allocation_line){.file = {all.data, file},
                                        .function = {all.data + all.length - function, function},
                                        .line = frame->line};
    }
    ss_strbuf_fini(&key);
    return text;
}

static struct ss_allocation_evidence evidence_of(struct ss_allocations *allocations,
                                                 const struct ss_listed_frame *frame)
{
    enum ss_code_origin origin =
        is_native(frame) ? SS_ORIGIN_NATIVE : ss_origin_of_short_path(frame->file);
    struct ss_strview module = frame->file;
    enum ss_allocation_phase phase = SS_ALLOCATION_UNKNOWN_PHASE;
    ss_module_of_path(frame->file, origin, &module);
    phase_of(frame, module, &phase);
    return (struct ss_allocation_evidence){
        .rank = (uint8_t)rank_of(frame, origin),
        .code = {.phase = (uint8_t)phase,
                 .empties = ss_module_is(module, "torch/cuda/memory.py") &&
                            has_word("empty_cache", plain_name(frame->function)),
                 .line = put_line(allocations, frame)}};
}

/* A backward may call anything, and what it calls is a part of it. */
static void join(struct ss_allocation_evidence *inner, const struct ss_allocation_evidence *outer)
{
    struct ss_allocation_code *code = &inner->code;
    if (code->phase == SS_ALLOCATION_UNKNOWN_PHASE || outer->code.phase == SS_ALLOCATION_BACKWARD) {
        code->phase = outer->code.phase;
    }
    code->empties = code->empties || outer->code.empties;
    if (outer->rank > inner->rank) {
        inner->rank = outer->rank;
        code->line = outer->code.line;
    }
}

struct ss_allocation_code ss_allocation_code_of_stack(struct ss_allocations *allocations,
                                                      struct ss_strview text)
{
    struct ss_allocation_evidence stack = {0};
    struct ss_stack_list list;
    struct ss_listed_frame frame;
    ss_stack_list_open(&list, text);
    while (ss_stack_list_next(&list, &frame)) {
        struct ss_allocation_evidence outer = evidence_of(allocations, &frame);
        join(&stack, &outer);
    }
    ss_stack_list_fini(&list);
    return stack.code;
}

struct ss_allocation_evidence *ss_allocation_calls(struct ss_allocations *allocations)
{
    const struct ss_model *model = allocations->selection->model;
    struct ss_allocation_evidence *calls = ss_alloc_zero(model->paths.count, sizeof *calls);
    for (size_t i = 1; i < model->paths.count; i++) {
        const struct ss_model_path *path = &model->paths.data[i];
        const struct ss_model_name *name = &model->names.data[path->name];
        struct ss_listed_frame frame = {.file = ss_intern_get(&model->strings, name->file),
                                        .function = ss_intern_get(&model->strings, name->text),
                                        .line = name->line};
        if (frame.file.length > 0) {
            calls[i] = evidence_of(allocations, &frame);
        }
        join(&calls[i], &calls[path->parent]);
    }
    return calls;
}
