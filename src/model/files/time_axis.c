/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/time_axis.h"

#include "base/clock.h"
#include "model/files/importer.h"

/* A span of steps that grows. */
struct found_span {
    bool is_there;
    struct ss_time_span span;
};

struct search {
    const struct ss_model_load *load;
    struct ss_step_numbers steps;
    bool has_base, has_sample;
    uint64_t base_ns;
    struct found_span common; /* of files on the axis */
};

/* Time counts from the first sample of all files; if no file has samples, from the first event. */
static void update_base(struct search *search, const struct ss_first_time *first)
{
    bool is_better = first->has_sample && !search->has_sample;
    bool is_peer = first->has_sample == search->has_sample;
    if (!search->has_base || is_better || (is_peer && first->time_ns < search->base_ns)) {
        search->base_ns = first->time_ns;
    }
    search->has_base = true;
    search->has_sample = search->has_sample || first->has_sample;
}

static void add_span(struct found_span *found, uint64_t from_ns, uint64_t to_ns)
{
    struct ss_time_span *span = &found->span;
    span->from_ns = !found->is_there || from_ns < span->from_ns ? from_ns : span->from_ns;
    span->to_ns = !found->is_there || to_ns > span->to_ns ? to_ns : span->to_ns;
    found->is_there = true;
}

static enum ss_status update_steps(struct search *search, const struct ss_importer *importer,
                                   const char *path, int64_t shift_ns, struct ss_error *err)
{
    struct ss_step_span span;
    bool has_span;
    SS_TRY(importer->scan_steps(path, search->load->first_step, search->load->last_step,
                                &search->steps, &span, &has_span, err));
    if (has_span) {
        add_span(&search->common, ss_clock_shifted(span.begin_ns, shift_ns),
                 ss_clock_shifted(span.end_ns, shift_ns));
    }
    return SS_OK;
}

static void add_steps(struct search *search, const struct ss_model *model, size_t first_range,
                      struct found_span *found)
{
    struct ss_step_numbers *steps = &search->steps;
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_payload *payload = &model->payloads.data[range->payload];
        if (model->tracks.data[range->track].kind != SS_TRACK_STEPS ||
            payload->type != SS_VALUE_INT) {
            continue;
        }
        int64_t number = payload->integer;
        steps->lowest = !steps->has_steps || number < steps->lowest ? number : steps->lowest;
        steps->highest = !steps->has_steps || number > steps->highest ? number : steps->highest;
        steps->has_steps = true;
        if (number >= search->load->first_step && number <= search->load->last_step) {
            add_span(found, range->begin_ns, range->end_ns);
        }
    }
}

static bool is_on_axis(const struct ss_model *inputs, size_t first)
{
    for (size_t i = first; i < inputs->inputs.count; i++) {
        if (ss_model_is_on_axis(inputs, (uint32_t)i)) {
            return true;
        }
    }
    return false;
}

/* Formats that are read once: loads their steps. Errors are the loader's, later. */
static void scan_import(struct search *search, struct ss_model *inputs, const char *path,
                        struct ss_file_span *out)
{
    static const char *const steps_only[] = {NULL};
    struct ss_model_load load = {.size = sizeof load, .only_tracks = steps_only, .quiet = true};
    struct ss_error ignored;
    struct found_span own = {0};
    size_t first = inputs->inputs.count, first_range = inputs->ranges.count;
    if (ss_import_file(inputs, path, false, &load, &ignored) != SS_OK) {
        return;
    }
    out->is_own = !is_on_axis(inputs, first);
    add_steps(search, inputs, first_range, out->is_own ? &own : &search->common);
    out->span = own.span; /* without such steps, nothing is in it */
    for (size_t i = first; i < inputs->inputs.count && !out->is_own; i++) {
        uint64_t first_ns = inputs->inputs.data[i].summary.first_event_ns;
        if (first_ns != 0 && ss_model_is_on_axis(inputs, (uint32_t)i)) {
            update_base(search, &(struct ss_first_time){.time_ns = first_ns});
        }
    }
}

static enum ss_status scan_file(struct search *search, struct ss_model *inputs, const char *path,
                                struct ss_file_span *out, struct ss_error *err)
{
    const struct ss_importer *importer = ss_importer_of_file(path);
    struct ss_first_time first;
    if (importer != NULL && importer->kind == SS_INPUT_IMPORT) {
        scan_import(search, inputs, path, out);
        return SS_OK;
    }
    if (importer == NULL || importer->read_first_time == NULL ||
        !importer->read_first_time(inputs, path, &first)) {
        return SS_OK;
    }
    if (search->load->has_steps) {
        return update_steps(search, importer, path, first.shift_ns, err);
    }
    update_base(search, &first);
    return SS_OK;
}

static uint64_t add_saturating(uint64_t base_ns, uint64_t ns)
{
    return ns > UINT64_MAX - base_ns ? UINT64_MAX : base_ns + ns;
}

enum ss_status ss_time_axis_spans(const char *const *paths, size_t count,
                                  const struct ss_model_load *load, struct ss_file_span *spans,
                                  struct ss_error *err)
{
    struct search search = {.load = load};
    struct ss_model inputs;
    enum ss_status status = SS_OK;
    bool has_steps = false;
    ss_model_init(&inputs);
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        spans[i] = (struct ss_file_span){0};
        status = scan_file(&search, &inputs, paths[i], &spans[i], err);
    }
    ss_model_fini(&inputs);
    if (status != SS_OK) {
        return status;
    }
    if (!load->has_steps) {
        search.common.span = (struct ss_time_span){add_saturating(search.base_ns, load->from_ns),
                                                   add_saturating(search.base_ns, load->to_ns)};
    }
    for (size_t i = 0; i < count; i++) {
        spans[i].span = spans[i].is_own ? spans[i].span : search.common.span;
        has_steps = has_steps || spans[i].span.to_ns > spans[i].span.from_ns;
    }
    return has_steps || !load->has_steps ? SS_OK
                                         : ss_step_span_fail(paths[0], count, load->first_step,
                                                             load->last_step, &search.steps, err);
}
