/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock/clock_parts.h"

#include <stdio.h>

#include "base/clock.h"
#include "model/clock/clock_domains.h"
#include "trace/reader.h"

enum { READ_BYTES = 64 * 1024 };

struct head {
    struct ss_model *model;
    uint32_t input;
    struct ss_clock_part *part;
};

static void copy(char *to, size_t size, struct ss_strview text)
{
    snprintf(to, size, "%.*s", (int)(text.length < size ? text.length : size - 1), text.data);
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct head *head = context;
    ss_clock_domains_attribute(head->model, head->input, attribute);
    if (ss_strview_equal(attribute->key, ss_strview_of("hostname"))) {
        copy(head->part->host, sizeof head->part->host, attribute->text);
    } else if (ss_strview_equal(attribute->key, ss_strview_of("run_id"))) {
        copy(head->part->run_id, sizeof head->part->run_id, attribute->text);
    } else if (ss_strview_equal(attribute->key, ss_strview_of("rank")) && attribute->is_integer) {
        head->part->rank = attribute->integer;
    }
    return SS_OK;
}

static enum ss_status on_host(void *context, const struct ss_trace_host *host)
{
    struct head *head = context;
    ss_clock_domains_host(head->model, head->input, host);
    return SS_OK;
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct head *head = context;
    head->part->wall_ns = clock->realtime_ns;
    ss_clock_domains_reading(head->model, head->input, clock);
    return SS_OK;
}

static enum ss_status read_head(struct ss_model *model, const char *path,
                                struct ss_clock_part *part, struct ss_error *err)
{
    static const struct ss_trace_visitor visitor = {
        .attribute = on_attribute, .host = on_host, .clock = on_clock};
    struct head head = {model, ss_model_new_input(model, SS_INPUT_TRACE, path), part};
    struct ss_trace_reader *reader;
    bool has_unit = false;
    part->rank = -1;
    SS_TRY(ss_trace_reader_open(path, READ_BYTES, &visitor, &head, &reader, err));
    enum ss_status status = ss_trace_reader_next(reader, &has_unit, &part->start_ns, err);
    if (status == SS_OK && has_unit) {
        status = ss_trace_reader_unit(reader, err);
    } else if (status == SS_OK) {
        status = ss_fail(err, SS_E_FORMAT, "%s holds no readable stepscope trace", path);
    }
    ss_trace_reader_close(reader);
    part->shift_ns = ss_clock_domains_place(model, head.input);
    return status;
}

static void store(const struct ss_model *model, struct ss_clock_parts *parts)
{
    for (size_t i = 0; i < parts->rows.count && i < model->inputs.count; i++) {
        struct ss_clock_part *part = &parts->rows.data[i];
        const struct ss_model_input *input = &model->inputs.data[i];
        const struct ss_model_clock_domain *domain =
            &model->clock_domains.data[input->clock_domain];
        part->shift_ns = domain->shift_ns;
        part->is_mapped = domain->mapping != SS_CLOCK_UNMAPPED;
        part->is_on_axis = domain->mapping == SS_CLOCK_IS_AXIS;
        part->is_by_wall = domain->mapping == SS_CLOCK_BY_WALL;
        part->error_ns = domain->error_ns;
        for (size_t k = 0; k < input->alignment.segments; k++) {
            ss_vec_push(&part->segments,
                        model->clock_segments.data[input->alignment.first_segment + k]);
        }
        parts->error_ns = part->error_ns > parts->error_ns ? part->error_ns : parts->error_ns;
        parts->is_contradictory = parts->is_contradictory || input->alignment.is_contradictory;
    }
}

enum ss_status ss_clock_parts_init(struct ss_clock_parts *parts, const char *const *paths,
                                   size_t count, struct ss_error *err)
{
    const struct ss_model_load load = {.size = sizeof load, .strict = true, .quiet = true};
    struct ss_model model;
    enum ss_status status = SS_OK;
    *parts = (struct ss_clock_parts){0};
    ss_vec_resize(&parts->rows, count);
    ss_model_init(&model);
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        status = read_head(&model, paths[i], &parts->rows.data[i], err);
    }
    bool has_several = model.clock_domains.count > 2;
    if (status == SS_OK && has_several) {
        ss_model_fini(&model);
        ss_model_init(&model);
        status = ss_model_add_inputs(&model, paths, count, &load, err);
    } else {
        ss_clock_domains_finish(&model);
    }
    if (status == SS_OK) {
        store(&model, parts);
    }
    ss_model_fini(&model);
    return status;
}

void ss_clock_parts_fini(struct ss_clock_parts *parts)
{
    for (size_t i = 0; i < parts->rows.count; i++) {
        ss_vec_fini(&parts->rows.data[i].segments);
    }
    ss_vec_fini(&parts->rows);
}

uint64_t ss_clock_part_on_axis(const struct ss_clock_part *part, uint64_t time_ns)
{
    uint64_t shifted = ss_clock_shifted(time_ns, part->shift_ns);
    return part->segments.count > 0
               ? ss_clock_fit_map(part->segments.data, part->segments.count, shifted)
               : shifted;
}
