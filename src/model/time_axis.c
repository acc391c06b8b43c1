/* SPDX-License-Identifier: Apache-2.0 */
#include "model/time_axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/step_span.h"

/* --- position of an input -------------------------------------------------------------------- */

static bool has_clock(const struct ss_model_input *input)
{
    return input->kind == SS_INPUT_TRACE && input->boot != 0 && input->has_clock;
}

void ss_time_axis_place(struct ss_model *model, uint32_t input)
{
    struct ss_model_input *row = &model->inputs.data[input];
    row->axis = has_clock(row) ? SS_AXIS_BOOT : SS_AXIS_OWN;
    row->shift_ns = 0;
    uint32_t first = 0;
    while (first < input && !has_clock(&model->inputs.data[first])) {
        first++;
    }
    const struct ss_model_input *reference = &model->inputs.data[first];
    if (first == input || row->axis == SS_AXIS_OWN || row->boot == reference->boot) {
        return;
    }
    row->axis = SS_AXIS_WALL;
    row->shift_ns = (int64_t)((uint64_t)row->wall_offset_ns - (uint64_t)reference->wall_offset_ns);
}

/* --- the requested span ---------------------------------------------------------------------- */

/* The content of a file up to its first sample. */
struct peek {
    struct ss_model *model; /* its inputs and strings */
    uint64_t period_ns;
    uint64_t first_ns;
    bool has_sample;
};

static struct ss_model_input *input_of(struct peek *peek)
{
    return &peek->model->inputs.data[peek->model->inputs.count - 1];
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct ss_model_input *input = input_of(context);
    if (!input->has_clock) {
        input->has_clock = true;
        input->wall_offset_ns = (int64_t)(clock->realtime_ns - clock->monotonic_ns);
    }
    return SS_OK;
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct peek *peek = context;
    if (ss_strview_equal(attribute->key, ss_strview_of("boot_id"))) {
        input_of(peek)->boot =
            ss_intern_put(&peek->model->strings, attribute->text.data, attribute->text.length);
    } else if (ss_strview_equal(attribute->key, ss_strview_of("rate_hz"))) {
        char text[64] = "";
        if (attribute->text.length < sizeof text) {
            memcpy(text, attribute->text.data, attribute->text.length);
        }
        double rate_hz = attribute->is_integer ? (double)attribute->integer : strtod(text, NULL);
        peek->period_ns = rate_hz > 0 && rate_hz <= 1e9 ? (uint64_t)(1e9 / rate_hz) : 0;
    }
    return SS_OK;
}

/* Stops the reader: the rest is not needed. */
static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct peek *peek = context;
    uint64_t before_ns = (uint64_t)(sample->weight - 1) * peek->period_ns;
    peek->first_ns = sample->time_ns > before_ns ? sample->time_ns - before_ns : 0;
    peek->has_sample = true;
    return SS_E_LIMIT;
}

/* Ignores read errors, which the loader reports. */
static bool read_head(struct ss_model *model, const char *path, struct peek *peek)
{
    static const struct ss_trace_visitor visitor = {
        .clock = on_clock, .attribute = on_attribute, .sample = on_sample};
    struct ss_trace_summary summary = {0};
    struct ss_error ignored;
    *peek = (struct peek){.model = model};
    ss_vec_push(&model->inputs, (struct ss_model_input){.kind = SS_INPUT_TRACE});
    enum ss_status status = ss_trace_read(path, &visitor, peek, &summary, &ignored);
    if (!peek->has_sample) {
        peek->first_ns = summary.first_event_ns;
    }
    ss_time_axis_place(model, (uint32_t)model->inputs.count - 1);
    return peek->has_sample || (status == SS_OK && summary.first_event_ns != 0);
}

struct search {
    const struct ss_model_load *load;
    struct ss_step_numbers steps;
    bool has_base, has_sample, has_span;
    uint64_t base_ns;
    struct ss_time_span span;
};

/* Time counts from the first sample of all files; if no file has samples, from the first event. */
static void update_base(struct search *search, const struct peek *peek, int64_t shift_ns)
{
    uint64_t first_ns = ss_time_axis_moved(peek->first_ns, shift_ns);
    bool is_better = peek->has_sample && !search->has_sample;
    bool is_peer = peek->has_sample == search->has_sample;
    if (!search->has_base || is_better || (is_peer && first_ns < search->base_ns)) {
        search->base_ns = first_ns;
    }
    search->has_base = true;
    search->has_sample = search->has_sample || peek->has_sample;
}

static enum ss_status update_steps(struct search *search, const char *path, int64_t shift_ns,
                                   struct ss_error *err)
{
    struct ss_step_span span;
    bool has_span;
    SS_TRY(ss_step_span_scan(path, search->load->first_step, search->load->last_step,
                             &search->steps, &span, &has_span, err));
    if (has_span) {
        uint64_t from_ns = ss_time_axis_moved(span.begin_ns, shift_ns);
        uint64_t to_ns = ss_time_axis_moved(span.end_ns, shift_ns);
        bool is_first = !search->has_span;
        search->span.from_ns =
            is_first || from_ns < search->span.from_ns ? from_ns : search->span.from_ns;
        search->span.to_ns = is_first || to_ns > search->span.to_ns ? to_ns : search->span.to_ns;
        search->has_span = true;
    }
    return SS_OK;
}

static enum ss_status scan_file(struct search *search, struct ss_model *inputs, const char *path,
                                struct ss_error *err)
{
    struct peek peek;
    if (ss_model_file_kind(path) != SS_FILE_TRACE || !read_head(inputs, path, &peek)) {
        return SS_OK;
    }
    int64_t shift_ns = input_of(&peek)->shift_ns;
    if (search->load->has_steps) {
        return update_steps(search, path, shift_ns, err);
    }
    update_base(search, &peek, shift_ns);
    return SS_OK;
}

static uint64_t add_saturating(uint64_t base_ns, uint64_t ns)
{
    return ns > UINT64_MAX - base_ns ? UINT64_MAX : base_ns + ns;
}

enum ss_status ss_time_axis_span(const char *const *paths, size_t count,
                                 const struct ss_model_load *load, struct ss_time_span *span,
                                 struct ss_error *err)
{
    struct search search = {.load = load};
    struct ss_model inputs;
    enum ss_status status = SS_OK;
    ss_model_init(&inputs);
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        status = scan_file(&search, &inputs, paths[i], err);
    }
    ss_model_fini(&inputs);
    if (status != SS_OK) {
        return status;
    }
    if (!load->has_steps) {
        *span = (struct ss_time_span){add_saturating(search.base_ns, load->from_ns),
                                      add_saturating(search.base_ns, load->to_ns)};
        return SS_OK;
    }
    *span = search.span;
    return search.has_span ? SS_OK
                           : ss_step_span_fail(paths[0], count, load->first_step, load->last_step,
                                               &search.steps, err);
}
