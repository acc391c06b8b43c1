/* SPDX-License-Identifier: Apache-2.0 */
#include "model/time_axis.h"

#include "base/clock.h"
#include "model/importer.h"

struct search {
    const struct ss_model_load *load;
    struct ss_step_numbers steps;
    bool has_base, has_sample, has_span;
    uint64_t base_ns;
    struct ss_time_span span;
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

static enum ss_status update_steps(struct search *search, const struct ss_importer *importer,
                                   const char *path, int64_t shift_ns, struct ss_error *err)
{
    struct ss_step_span span;
    bool has_span;
    SS_TRY(importer->scan_steps(path, search->load->first_step, search->load->last_step,
                                &search->steps, &span, &has_span, err));
    if (has_span) {
        uint64_t from_ns = ss_clock_shifted(span.begin_ns, shift_ns);
        uint64_t to_ns = ss_clock_shifted(span.end_ns, shift_ns);
        bool is_first = !search->has_span;
        search->span.from_ns =
            is_first || from_ns < search->span.from_ns ? from_ns : search->span.from_ns;
        search->span.to_ns = is_first || to_ns > search->span.to_ns ? to_ns : search->span.to_ns;
        search->has_span = true;
    }
    return SS_OK;
}

static void add_span(struct search *search, const struct ss_model_range *step)
{
    bool is_first = !search->has_span;
    struct ss_time_span *span = &search->span;
    span->from_ns = is_first || step->begin_ns < span->from_ns ? step->begin_ns : span->from_ns;
    span->to_ns = is_first || step->end_ns > span->to_ns ? step->end_ns : span->to_ns;
    search->has_span = true;
}

static void add_steps(struct search *search, const struct ss_model *model, size_t first_range)
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
            add_span(search, range);
        }
    }
}

/* Formats that are read once: loads their steps. Errors are the loader's, later. */
static void scan_import(struct search *search, struct ss_model *inputs, const char *path)
{
    static const char *const steps_only[] = {NULL};
    struct ss_model_load load = {.size = sizeof load, .only_tracks = steps_only, .quiet = true};
    struct ss_error ignored;
    size_t first = inputs->inputs.count, first_range = inputs->ranges.count;
    if (ss_import_file(inputs, path, false, &load, &ignored) != SS_OK) {
        return;
    }
    for (size_t i = first; i < inputs->inputs.count; i++) {
        uint64_t first_ns = inputs->inputs.data[i].summary.first_event_ns;
        if (first_ns != 0) {
            update_base(search, &(struct ss_first_time){.time_ns = first_ns});
        }
    }
    add_steps(search, inputs, first_range);
}

static enum ss_status scan_file(struct search *search, struct ss_model *inputs, const char *path,
                                struct ss_error *err)
{
    const struct ss_importer *importer = ss_importer_of_file(path);
    struct ss_first_time first;
    if (importer != NULL && importer->kind == SS_INPUT_IMPORT) {
        scan_import(search, inputs, path);
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
