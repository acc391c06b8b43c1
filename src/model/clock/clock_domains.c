/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock/clock_domains.h"

void ss_clock_domains_reading(struct ss_model *model, uint32_t input,
                              const struct ss_trace_clock *clock)
{
    struct ss_model_input *row = &model->inputs.data[input];
    struct ss_model_clock_reading reading = {.input = input, .clock = *clock};
    if (!row->has_clock) {
        row->has_clock = true;
        row->wall_offset_ns = ss_model_wall_offset_ns(&reading);
    }
    ss_vec_push(&model->clock_readings, reading);
}

void ss_clock_domains_attribute(struct ss_model *model, uint32_t input,
                                const struct ss_trace_attribute *attribute)
{
    struct ss_model_input *row = &model->inputs.data[input];
    if (ss_strview_equal(attribute->key, ss_strview_of("boot_id"))) {
        row->boot = ss_intern_put(&model->strings, attribute->text.data, attribute->text.length);
    } else if (ss_strview_equal(attribute->key, ss_strview_of("time_namespace")) &&
               attribute->is_integer) {
        row->time_namespace = (uint64_t)attribute->integer;
    }
}

void ss_clock_domains_host(struct ss_model *model, uint32_t input, const struct ss_trace_host *host)
{
    struct ss_model_input *row = &model->inputs.data[input];
    if (host->boot_id.length > 0) {
        row->boot = ss_intern_put(&model->strings, host->boot_id.data, host->boot_id.length);
    }
    if (host->time_namespace != 0) {
        row->time_namespace = host->time_namespace;
    }
}

/* Recordings of version 0.1.0 lack the namespace; most machines have one only. */
static bool is_same_namespace(uint64_t a, uint64_t b)
{
    return a == b || a == 0 || b == 0;
}

static uint32_t find_domain(const struct ss_model *model, const struct ss_model_input *input)
{
    for (uint32_t i = 1; i < model->clock_domains.count; i++) {
        const struct ss_model_clock_domain *domain = &model->clock_domains.data[i];
        if (domain->boot == input->boot &&
            is_same_namespace(domain->time_namespace, input->time_namespace)) {
            return i;
        }
    }
    return 0;
}

/* The first domain is the axis. Another time namespace of one boot has the same wall clock, so that
 * its mapping is as exact as the readings; other machines and boots have wall clocks of their own.
 */
static uint32_t add_domain(struct ss_model *model, const struct ss_model_input *input)
{
    struct ss_model_clock_domain domain = {.boot = input->boot,
                                           .time_namespace = input->time_namespace,
                                           .wall_offset_ns = input->wall_offset_ns,
                                           .mapping = SS_CLOCK_IS_AXIS};
    if (model->clock_domains.count > 1) {
        const struct ss_model_clock_domain *axis = &model->clock_domains.data[1];
        domain.mapping = axis->boot == domain.boot ? SS_CLOCK_BY_SHARED_WALL : SS_CLOCK_BY_WALL;
        domain.shift_ns =
            (int64_t)((uint64_t)domain.wall_offset_ns - (uint64_t)axis->wall_offset_ns);
    }
    ss_vec_push(&model->clock_domains, domain);
    return (uint32_t)model->clock_domains.count - 1;
}

int64_t ss_clock_domains_place(struct ss_model *model, uint32_t input)
{
    struct ss_model_input *row = &model->inputs.data[input];
    row->clock_domain = 0;
    if (row->boot != 0 && row->has_clock) {
        uint32_t known = find_domain(model, row);
        row->clock_domain = known != 0 ? known : add_domain(model, row);
    }
    struct ss_model_clock_domain *domain = &model->clock_domains.data[row->clock_domain];
    if (domain->time_namespace == 0) {
        domain->time_namespace = row->time_namespace;
    }
    return domain->shift_ns;
}

/* How far the wall clock of a domain lay from the offset that its mapping uses: half the width of a
 * reading, and the steps of a wall clock that was set in between. */
static uint64_t wall_error_ns(const struct ss_model_clock_domain *domain,
                              const struct ss_model_clock_reading *reading)
{
    uint64_t offset_ns = (uint64_t)ss_model_wall_offset_ns(reading);
    uint64_t ahead_ns = offset_ns - (uint64_t)domain->wall_offset_ns;
    uint64_t distance_ns = (int64_t)ahead_ns < 0 ? 0 - ahead_ns : ahead_ns;
    return distance_ns + (reading->clock.width_ns + 1) / 2;
}

void ss_clock_domains_finish(struct ss_model *model)
{
    for (uint32_t i = 0; i < model->clock_domains.count; i++) {
        model->clock_domains.data[i].wall_error_ns = 0;
        model->clock_domains.data[i].readings = 0;
    }
    for (size_t i = 0; i < model->clock_readings.count; i++) {
        const struct ss_model_clock_reading *reading = &model->clock_readings.data[i];
        struct ss_model_clock_domain *domain =
            &model->clock_domains.data[model->inputs.data[reading->input].clock_domain];
        uint64_t error_ns = wall_error_ns(domain, reading);
        domain->wall_error_ns = error_ns > domain->wall_error_ns ? error_ns : domain->wall_error_ns;
        domain->readings++;
    }
    for (uint32_t i = 1; i < model->clock_domains.count; i++) {
        struct ss_model_clock_domain *domain = &model->clock_domains.data[i];
        bool is_mapped = domain->mapping != SS_CLOCK_IS_AXIS;
        if (domain->mapping == SS_CLOCK_FITTED) {
            continue; /* the fit of an earlier load */
        }
        domain->error_ns =
            is_mapped ? domain->wall_error_ns + model->clock_domains.data[1].wall_error_ns : 0;
    }
}
