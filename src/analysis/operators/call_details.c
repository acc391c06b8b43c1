/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/call_details.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/shared_names.h"

/* What is recorded of one call. Texts are borrowed. */
struct recorded {
    bool has_cpu, has_device, has_flops;
    int64_t cpu_bytes, device_bytes, flops;
    const char *shapes; /* a JSON list; "": unknown */
    json_t *object;     /* recordings of version 0.1.0: the payload */
    char *text;         /* of its shapes */
};

static bool read_field(const struct ss_model *model, uint32_t payload, uint32_t id, int64_t *value)
{
    const struct ss_model_field *field = ss_model_field_of(model, payload, id);
    *value = field != NULL ? field->integer : 0;
    return field != NULL;
}

static bool read_member(const json_t *object, const char *key, int64_t *value)
{
    const json_t *member = json_object_get(object, key);
    *value = json_integer_value(member);
    return json_is_integer(member);
}

static void read_object(const struct ss_model *model, uint32_t payload, struct recorded *call)
{
    const char *text = ss_intern_text(&model->strings, model->payloads.data[payload].text);
    call->object = json_loads(text, 0, NULL);
    call->has_cpu = read_member(call->object, "cpu_bytes", &call->cpu_bytes);
    call->has_device = read_member(call->object, "device_bytes", &call->device_bytes);
    call->has_flops = read_member(call->object, "flops", &call->flops);
    const json_t *shapes = json_object_get(call->object, "shapes");
    call->text = json_is_array(shapes) ? json_dumps(shapes, JSON_COMPACT) : NULL;
    call->shapes = call->text != NULL ? call->text : "";
}

static struct recorded read_call(const struct ss_model *model, uint32_t payload)
{
    struct recorded call = {.shapes = ""};
    if (payload != 0 && model->payloads.data[payload].type == SS_VALUE_TEXT) {
        read_object(model, payload, &call);
    } else if (payload != 0) {
        const struct ss_model_field *shapes =
            ss_model_field_of(model, payload, SS_EVENT_FIELD_shapes);
        call.has_cpu = read_field(model, payload, SS_EVENT_FIELD_cpu_bytes, &call.cpu_bytes);
        call.has_device =
            read_field(model, payload, SS_EVENT_FIELD_device_bytes, &call.device_bytes);
        call.has_flops = read_field(model, payload, SS_EVENT_FIELD_flops, &call.flops);
        call.shapes = shapes != NULL ? ss_intern_text(&model->strings, shapes->text) : "";
    }
    return call;
}

static void free_call(struct recorded *call)
{
    json_decref(call->object);
    ss_free(call->text);
}

static struct ss_call_detail detail_of(const struct ss_model *model, uint32_t payload)
{
    struct recorded call = read_call(model, payload);
    struct ss_call_detail detail = {.cpu_bytes = call.cpu_bytes,
                                    .self_cpu_bytes = call.cpu_bytes,
                                    .device_bytes = call.device_bytes,
                                    .self_device_bytes = call.device_bytes,
                                    .flops = call.flops};
    free_call(&call);
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
        struct recorded call = read_call(model, range->payload);
        details->shapes_of[i] = ss_intern_put_text(&details->shapes, call.shapes);
        details->has_shapes = details->has_shapes || call.shapes[0] != '\0';
        details->has_cpu = details->has_cpu || call.has_cpu;
        details->has_device = details->has_device || call.has_device;
        details->has_flops = details->has_flops || call.has_flops;
        free_call(&call);
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
            struct ss_call_detail detail = detail_of(model, range->payload);
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
