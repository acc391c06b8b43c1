/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/allocation_code.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/launches/device_work.h"
#include "analysis/selection/shared_ranges.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* --- what names say --------------------------------------------------------------------------- */

static bool begins_with(struct ss_strview text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

static const struct {
    const char *name;
    enum ss_allocation_phase phase;
} phases[] = {
    {ss_phase_forward, SS_ALLOCATION_FORWARD},     {ss_phase_evaluation, SS_ALLOCATION_FORWARD},
    {ss_phase_inference, SS_ALLOCATION_FORWARD},   {ss_phase_backward, SS_ALLOCATION_BACKWARD},
    {ss_phase_optimizer, SS_ALLOCATION_OPTIMIZER}, {ss_phase_data, SS_ALLOCATION_DATA}};

/* "forward", and "## forward ##", as PyTorch's documentation annotates it. */
static enum ss_allocation_phase phase_named(struct ss_strview text)
{
    while (text.length > 0 && (text.data[0] == '#' || text.data[0] == ' ')) {
        text = (struct ss_strview){text.data + 1, text.length - 1};
    }
    while (text.length > 0 &&
           (text.data[text.length - 1] == '#' || text.data[text.length - 1] == ' ')) {
        text.length--;
    }
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (ss_strview_equal(text, ss_strview_of(phases[i].name))) {
            return phases[i].phase;
        }
    }
    return SS_ALLOCATION_UNKNOWN_PHASE;
}

static enum ss_allocation_phase phase_of_range(struct ss_strview name)
{
    return begins_with(name, "Optimizer.step#")          ? SS_ALLOCATION_OPTIMIZER
           : begins_with(name, "enumerate(DataLoader)#") ? SS_ALLOCATION_DATA
           : begins_with(name, "DistributedDataParallel.forward") ||
                   begins_with(name, "FullyShardedDataParallel.forward")
               ? SS_ALLOCATION_FORWARD
               : phase_named(name);
}

/* Operators that allocate and do nothing else: what calls them says more. */
static bool only_allocates(struct ss_strview name)
{
    static const char *const names[] = {
        "aten::empty",   "aten::empty_strided",     "aten::empty_like",    "aten::new_empty",
        "aten::resize_", "aten::new_empty_strided", "aten::empty_permuted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ss_strview_equal(name, ss_strview_of(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool copies_memory(struct ss_strview name)
{
    return ss_strview_equal(name, ss_strview_of("aten::to")) ||
           ss_strview_equal(name, ss_strview_of("aten::_to_copy")) ||
           ss_strview_equal(name, ss_strview_of("aten::copy_"));
}

/* --- paths of ranges -------------------------------------------------------------------------- */

static const struct ss_model_name *name_of(const struct ss_model *model,
                                           const struct ss_model_range *range)
{
    return &model->names.data[model->paths.data[range->path].name];
}

static bool is_backward(const struct ss_model *model, const struct ss_model_name *name)
{
    return strcmp(ss_model_text(model, name->category), "backward") == 0;
}

static bool is_operator(const struct ss_model_name *name)
{
    return name->type == SS_EVENT_TYPE_operator || name->type == SS_EVENT_TYPE_collective;
}

/* What a range says, with those around it. */
static struct ss_allocation_evidence refined(const struct ss_model *model, uint32_t number,
                                             const struct ss_allocation_evidence *around)
{
    const struct ss_model_name *name = &model->names.data[number];
    struct ss_strview text = ss_intern_get(&model->strings, name->text);
    struct ss_allocation_evidence path = *around;
    enum ss_allocation_phase phase = phase_of_range(text);
    if (is_backward(model, name)) {
        path.code.phase = SS_ALLOCATION_BACKWARD;
        path.code.accumulates =
            path.code.accumulates || begins_with(text, "torch::autograd::AccumulateGrad");
    } else if (phase != SS_ALLOCATION_UNKNOWN_PHASE && path.code.phase != SS_ALLOCATION_BACKWARD) {
        path.code.phase = (uint8_t)phase;
    }
    bool does_more = is_operator(name) && !only_allocates(text);
    if (does_more || (is_operator(name) && !path.is_operator)) {
        path.code.operator_name = number;
        path.is_operator = does_more;
    }
    return path;
}

static void read_paths(struct ss_allocation_coder *coder)
{
    const struct ss_model *model = coder->model;
    coder->paths = ss_alloc_zero(model->paths.count, sizeof *coder->paths);
    for (size_t i = 1; i < model->paths.count; i++) {
        const struct ss_model_path *path = &model->paths.data[i];
        coder->paths[i] = refined(model, path->name, &coder->paths[path->parent]);
    }
}

/* Whether any thread has calls of Python. */
static bool has_calls(const struct ss_allocation_coder *coder)
{
    for (size_t i = 0; i < coder->model->threads.count; i++) {
        if (coder->finder->threads[i].python != 0) {
            return true;
        }
    }
    return false;
}

/* --- copies from the host --------------------------------------------------------------------- */

static bool is_from_host(const struct ss_model *model, const struct ss_model_range *range)
{
    struct ss_strview from = ss_event_text(model, range, SS_EVENT_FIELD_from_memory);
    return ss_strview_equal(from, ss_strview_of("pageable")) ||
           ss_strview_equal(from, ss_strview_of("pinned"));
}

/* The outermost operator around the range; plus one; 0: none. */
static uint32_t outermost_operator(const struct ss_allocation_coder *coder, uint32_t range)
{
    uint32_t found = 0;
    for (; range != 0; range = coder->finder->parents[range - 1]) {
        found = is_operator(name_of(coder->model, &coder->model->ranges.data[range - 1])) ? range
                                                                                          : found;
    }
    return found;
}

static void find_copies(struct ss_allocation_coder *coder, const struct ss_selection *selection)
{
    const struct ss_model *model = coder->model;
    const struct ss_device_works *works = ss_selection_works(selection);
    coder->copies = ss_alloc_zero(model->ranges.count + 1, sizeof *coder->copies);
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->type == SS_EVENT_TYPE_copy && work->launch != 0 &&
            is_from_host(model, &model->ranges.data[work->range])) {
            uint32_t outermost = outermost_operator(coder, work->launch);
            coder->copies[outermost != 0 ? outermost - 1 : model->ranges.count] = true;
        }
    }
}

/* --- numbers of autograd ---------------------------------------------------------------------- */

/* The number of an operator of a forward; false: it has none, or is of a backward. */
static bool forward_number(const struct ss_model *model, const struct ss_model_range *range,
                           int64_t *number)
{
    int64_t forward_thread;
    const struct ss_model_name *name = name_of(model, range);
    return is_operator(name) && !is_backward(model, name) &&
           ss_event_number(model, range, SS_EVENT_FIELD_sequence, number) && *number >= 0 &&
           !(ss_event_number(model, range, SS_EVENT_FIELD_forward_thread, &forward_thread) &&
             forward_thread > 0);
}

static int compare_modules(const void *left, const void *right)
{
    const struct ss_numbered_module *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* The name of the innermost module of the thread; 0: none. */
static uint32_t module_at(const struct ss_allocation_coder *coder, uint32_t thread,
                          uint64_t time_ns)
{
    uint32_t track = coder->finder->threads[thread].module;
    uint32_t range = track != 0 ? ss_range_at(coder->finder, track, time_ns) : 0;
    return range != 0 ? coder->model->paths.data[coder->model->ranges.data[range - 1].path].name
                      : 0;
}

static void find_modules(struct ss_allocation_coder *coder)
{
    const struct ss_model *model = coder->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        struct ss_numbered_module row = {.process = track->process};
        if (coder->finder->threads[track->thread].module != 0 &&
            forward_number(model, range, &row.number)) {
            row.module = module_at(coder, track->thread, range->begin_ns);
            if (row.module != 0) {
                ss_vec_push(&coder->modules, row);
            }
        }
    }
    if (coder->modules.count > 0) {
        qsort(coder->modules.data, coder->modules.count, sizeof *coder->modules.data,
              compare_modules);
    }
}

/* The module whose forward made the node of autograd around the range. */
static uint32_t module_of_node(const struct ss_allocation_coder *coder, uint32_t range)
{
    const struct ss_model *model = coder->model;
    for (; range != 0 && coder->modules.count > 0; range = coder->finder->parents[range - 1]) {
        const struct ss_model_range *row = &model->ranges.data[range - 1];
        struct ss_numbered_module key = {.process = model->tracks.data[row->track].process};
        if (is_backward(model, name_of(model, row)) &&
            ss_event_number(model, row, SS_EVENT_FIELD_sequence, &key.number)) {
            const struct ss_numbered_module *found = bsearch(
                &key, coder->modules.data, coder->modules.count, sizeof key, compare_modules);
            return found != NULL ? found->module : 0;
        }
    }
    return 0;
}

/* --- an event --------------------------------------------------------------------------------- */

static struct ss_allocation_code code_of_stack(struct ss_allocation_coder *coder, uint32_t stack)
{
    if (stack >= coder->stacks.count) {
        ss_vec_resize(&coder->stacks, (size_t)stack + 1);
    }
    if (coder->stacks.data[stack] == 0) {
        struct ss_strview text = ss_intern_get(&coder->model->strings, stack);
        struct ss_allocation_code code = ss_allocation_code_of_stack(coder->allocations, text);
        ss_vec_push(&coder->stack_codes, code);
        coder->stacks.data[stack] = (uint32_t)coder->stack_codes.count;
    }
    return coder->stack_codes.data[coder->stacks.data[stack] - 1];
}

/* The frames of the innermost operator that has any. */
static uint32_t stack_of_range(const struct ss_allocation_coder *coder, uint32_t range)
{
    const struct ss_model *model = coder->model;
    for (; range != 0; range = coder->finder->parents[range - 1]) {
        const struct ss_model_field *field =
            ss_model_field_of(model, model->ranges.data[range - 1].payload, SS_EVENT_FIELD_stack);
        if (field != NULL && field->type == SS_VALUE_TEXT) {
            return field->text;
        }
    }
    return 0;
}

static struct ss_allocation_code code_of_frames(struct ss_allocation_coder *coder,
                                                const struct ss_allocation_event *event,
                                                uint32_t range)
{
    uint32_t own_stack = ss_allocation_event_stack(coder->model, event);
    uint32_t stack = own_stack != 0 ? own_stack : stack_of_range(coder, range);
    if (stack != 0) {
        return code_of_stack(coder, stack);
    }
    uint32_t track = coder->finder->threads[ss_allocation_event_thread(coder->model, event)].python;
    uint32_t call = track != 0 ? ss_range_at(coder->finder, track, event->time_ns) : 0;
    return call != 0 ? coder->calls[coder->model->ranges.data[call - 1].path].code
                     : (struct ss_allocation_code){0};
}

static enum ss_allocation_phase marked_phase(const struct ss_allocation_coder *coder,
                                             const struct ss_allocation_event *event)
{
    const struct ss_phase_time *phase =
        coder->training != NULL
            ? ss_phase_times_at(&coder->training->index.phases, event->process, event->time_ns)
            : NULL;
    return phase != NULL ? phase_named(ss_intern_get(&coder->model->strings, phase->name))
                         : SS_ALLOCATION_UNKNOWN_PHASE;
}

static bool is_numbered(const struct ss_allocation_coder *coder, uint32_t range)
{
    int64_t number;
    while (range != 0 &&
           !forward_number(coder->model, &coder->model->ranges.data[range - 1], &number)) {
        range = coder->finder->parents[range - 1];
    }
    return range != 0;
}

static bool is_copy(const struct ss_allocation_coder *coder, uint32_t range)
{
    uint32_t outermost = outermost_operator(coder, range);
    if (outermost == 0 || !coder->copies[outermost - 1]) {
        return false;
    }
    const struct ss_model *model = coder->model;
    const struct ss_model_name *name = name_of(model, &model->ranges.data[outermost - 1]);
    return copies_memory(ss_intern_get(&model->strings, name->text));
}

/* Its phase, in the order of allocations.h; `of_ranges` and `of_frames` say what those do. */
static enum ss_allocation_phase phase_of(const struct ss_allocation_coder *coder,
                                         const struct ss_allocation_event *event, uint32_t range,
                                         enum ss_allocation_phase of_ranges,
                                         enum ss_allocation_phase of_frames, bool has_module)
{
    enum ss_allocation_phase marked = marked_phase(coder, event);
    return of_ranges == SS_ALLOCATION_BACKWARD || of_frames == SS_ALLOCATION_BACKWARD
               ? SS_ALLOCATION_BACKWARD
           : marked != SS_ALLOCATION_UNKNOWN_PHASE    ? marked
           : has_module                               ? SS_ALLOCATION_FORWARD
           : of_ranges != SS_ALLOCATION_UNKNOWN_PHASE ? of_ranges
           : of_frames != SS_ALLOCATION_UNKNOWN_PHASE ? of_frames
           : is_copy(coder, range)                    ? SS_ALLOCATION_COPY
           : is_numbered(coder, range)                ? SS_ALLOCATION_FORWARD
                                                      : SS_ALLOCATION_UNKNOWN_PHASE;
}

struct ss_allocation_code ss_allocation_code_of(struct ss_allocation_coder *coder,
                                                const struct ss_allocation_event *event)
{
    uint32_t thread = ss_allocation_event_thread(coder->model, event);
    uint32_t track = coder->finder->threads[thread].torch;
    uint32_t range = track != 0 ? ss_range_at(coder->finder, track, event->time_ns) : 0;
    struct ss_allocation_code frames = code_of_frames(coder, event, range), code = {0};
    uint32_t module = module_at(coder, thread, event->time_ns);
    if (range != 0) {
        code = coder->paths[coder->model->ranges.data[range - 1].path].code;
    }
    code.phase = (uint8_t)phase_of(coder, event, range, (enum ss_allocation_phase)code.phase,
                                   (enum ss_allocation_phase)frames.phase, module != 0);
    code.module = module != 0 ? module : module_of_node(coder, range);
    code.line = frames.line;
    code.empties = frames.empties;
    return code;
}

void ss_allocation_coder_init(struct ss_allocation_coder *coder,
                              const struct ss_selection *selection,
                              const struct ss_step_summary *training,
                              struct ss_allocations *allocations)
{
    const struct ss_model *model = selection->model;
    *coder = (struct ss_allocation_coder){
        .model = model, .training = training, .allocations = allocations};
    coder->finder = ss_selection_finder(selection);
    coder->calls = has_calls(coder) ? ss_allocation_calls(allocations) : NULL;
    read_paths(coder);
    find_copies(coder, selection);
    find_modules(coder);
}

void ss_allocation_coder_fini(struct ss_allocation_coder *coder)
{
    ss_free(coder->paths);
    ss_free(coder->calls);
    ss_free(coder->copies);
    ss_vec_fini(&coder->modules);
    ss_vec_fini(&coder->stacks);
    ss_vec_fini(&coder->stack_codes);
}
