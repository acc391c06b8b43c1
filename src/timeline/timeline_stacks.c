/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/timeline_inside.h"

/* The frames of a stack, the outermost first. */
struct frames ss_vec_of(uint32_t);

static void unroll(const struct ss_model *model, uint32_t stack, struct frames *frames)
{
    uint32_t depth = model->stacks.data[stack].depth;
    ss_vec_resize(frames, depth);
    for (; stack != 0 && depth > 0; stack = model->stacks.data[stack].parent) {
        frames->data[--depth] = model->stacks.data[stack].frame;
    }
}

/* Lines of one function are one call. */
static bool is_same_call(const struct ss_model *model, uint32_t a, uint32_t b)
{
    const struct ss_model_frame *left = &model->frames.data[a], *right = &model->frames.data[b];
    return a == b || (left->function == right->function && left->file == right->file &&
                      left->first_line == right->first_line);
}

static size_t shared_depth(const struct ss_model *model, const struct frames *a,
                           const struct frames *b)
{
    size_t depth = 0;
    while (depth < a->count && depth < b->count &&
           is_same_call(model, a->data[depth], b->data[depth])) {
        depth++;
    }
    return depth;
}

void ss_stack_slices_append(struct ss_own_ranges *ranges, const struct ss_spans *spans,
                            uint32_t thread, ss_span_list *list)
{
    const struct ss_model *model = spans->selection->model;
    uint64_t base_ns = spans->base_ns[ss_thread_input(model, thread)], end_ns = 0;
    struct frames open = {0}, next = {0};
    struct ss_vec_of(size_t) slices = {0}; /* of the open frames */
    ss_spans_of_thread(spans, thread, list);
    for (size_t i = 0; i < list->count; i++) {
        const struct ss_span *span = &list->data[i];
        unroll(model, span->stack, &next);
        bool continues = i > 0 && span->start_ns == end_ns;
        size_t shared = continues ? shared_depth(model, &open, &next) : 0;
        slices.count = shared;
        end_ns = span->end_ns;
        for (size_t depth = 0; depth < next.count; depth++) {
            if (depth >= shared) {
                ss_vec_push(&slices, ranges->count);
                ss_vec_push(ranges, (struct ss_model_range){.begin_ns = base_ns + span->start_ns,
                                                            .path = next.data[depth]});
            }
            ranges->data[slices.data[depth]].end_ns = base_ns + end_ns;
        }
        struct frames before = open;
        open = next;
        next = before;
    }
    ss_vec_fini(&open);
    ss_vec_fini(&next);
    ss_vec_fini(&slices);
}
