/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_details.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

/* The text after the "KEY": of the object; NULL: it has none. Quotes within JSON strings are
 * escaped, so that `key` matches nowhere else. */
static const char *member(const char *object, const char *key)
{
    const char *found = strstr(object, key);
    return found != NULL ? found + strlen(key) : NULL;
}

static int64_t number(const char *object, const char *key, bool *has)
{
    const char *text = member(object, key);
    *has = *has || text != NULL;
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* The list that begins at `text`, up to its closing bracket; empty: there is none. */
static struct ss_strview list_at(const char *text)
{
    size_t depth = 0;
    for (size_t i = 0; text != NULL && text[i] != '\0'; i++) {
        depth += text[i] == '[';
        if (text[i] == ']' && depth > 0 && --depth == 0) {
            return (struct ss_strview){text, i + 1};
        }
        if (depth == 0) {
            break;
        }
    }
    return (struct ss_strview){"", 0};
}

/* The JSON object in the payload; "": there is none. */
static const char *object_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    bool is_text = range->payload != 0 && payload->type == SS_VALUE_TEXT;
    return is_text ? ss_intern_text(&model->strings, payload->text) : "";
}

static struct ss_call_detail read_object(const char *object, struct ss_call_details *details)
{
    struct ss_call_detail detail = {
        .cpu_bytes = number(object, "\"cpu_bytes\":", &details->has_cpu),
        .device_bytes = number(object, "\"device_bytes\":", &details->has_device),
        .flops = number(object, "\"flops\":", &details->has_flops)};
    detail.self_cpu_bytes = detail.cpu_bytes;
    detail.self_device_bytes = detail.device_bytes;
    return detail;
}

void ss_call_details_init(struct ss_call_details *details, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *details = (struct ss_call_details){
        .shapes_of = ss_alloc_zero(model->ranges.count + 1, sizeof *details->shapes_of)};
    ss_intern_init(&details->shapes);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->payload == 0 ||
            !ss_calls_has_track(selection, range->track, ss_domain_torch_profiler)) {
            continue;
        }
        const char *object = object_of(model, range);
        struct ss_strview shapes = list_at(member(object, "\"shapes\":"));
        details->shapes_of[i] = ss_intern_put(&details->shapes, shapes.data, shapes.length);
        details->has_shapes = details->has_shapes || shapes.length > 0;
        read_object(object, details);
    }
    details->has_any =
        details->has_cpu || details->has_device || details->has_flops || details->has_shapes;
}

/* Saturating, as is subtract. */
static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) {
        *sum = more > 0 ? INT64_MAX : INT64_MIN;
    }
}

static void subtract(int64_t *sum, int64_t less)
{
    if (__builtin_sub_overflow(*sum, less, sum)) {
        *sum = less < 0 ? INT64_MAX : INT64_MIN;
    }
}

static void charge(struct ss_call_detail *row, struct ss_call_detail *outer,
                   const struct ss_call_detail *call)
{
    add(&row->cpu_bytes, call->cpu_bytes);
    add(&row->self_cpu_bytes, call->self_cpu_bytes);
    add(&row->device_bytes, call->device_bytes);
    add(&row->self_device_bytes, call->self_device_bytes);
    add(&row->flops, call->flops);
    if (outer != NULL) {
        subtract(&outer->self_cpu_bytes, call->cpu_bytes);
        subtract(&outer->self_device_bytes, call->device_bytes);
    }
}

/* A call without a row, such as one merged into its caller, leaves its inner calls to the enclosing
 * row. */
void ss_call_details_sum(struct ss_call_details *details, const struct ss_selection *selection,
                         const struct ss_calls *calls)
{
    const struct ss_model *model = selection->model;
    struct ss_vec_of(uint32_t) open = {0}; /* by depth: row + 1 */
    uint32_t track = 0;
    details->rows = ss_alloc_zero(calls->rows.count + 1, sizeof *details->rows);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (!ss_calls_has_track(selection, range->track, ss_domain_torch_profiler)) {
            continue;
        }
        size_t depth = range->track == track ? model->paths.data[range->path].depth - 1 : 0;
        depth = depth < open.count ? depth : open.count;
        ss_vec_resize(&open, depth);
        track = range->track;
        uint32_t outer = depth > 0 ? open.data[depth - 1] : 0, row = calls->row_of[i];
        if (row != 0) {
            struct ss_call_detail detail = read_object(object_of(model, range), details);
            charge(&details->rows[row - 1], outer != 0 ? &details->rows[outer - 1] : NULL, &detail);
        }
        ss_vec_push(&open, row != 0 ? row : outer);
    }
    ss_vec_fini(&open);
}

void ss_call_details_fini(struct ss_call_details *details)
{
    ss_intern_fini(&details->shapes);
    ss_free(details->shapes_of);
    ss_free(details->rows);
    *details = (struct ss_call_details){0};
}
