/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, devices, their contexts and streams, and communication groups. Rows that another file
 * defined are shared, so that the windows of a recording have them once. */
#include "model/builder/builder_state.h"
#include "model/clock/clock_domains.h"

/* The first row from 1 on for which `condition`, on `row`, holds; 0: there is none. */
#define FIND(rows, condition, found)                                                               \
    do {                                                                                           \
        (found) = 0;                                                                               \
        for (uint32_t at_ = 1; at_ < (rows)->count && (found) == 0; at_++) {                       \
            __typeof__((rows)->data) row = &(rows)->data[at_];                                     \
            (found) = (condition) ? at_ : 0;                                                       \
        }                                                                                          \
    } while (0)

/* Stores the row, at the end when its id is 0. */
#define STORE(rows, id, ...)                                                                       \
    do {                                                                                           \
        if ((id) == 0) {                                                                           \
            (id) = (uint32_t)(rows)->count;                                                        \
            ss_vec_push_zero(rows);                                                                \
        }                                                                                          \
        (rows)->data[id] = (__VA_ARGS__);                                                          \
    } while (0)

uint32_t ss_model_host_row(struct ss_model *model, const struct ss_model_host *host)
{
    uint32_t id;
    FIND(&model->hosts,
         row->boot == host->boot && row->name == host->name &&
             row->time_namespace == host->time_namespace,
         id);
    STORE(&model->hosts, id, *host);
    return id;
}

uint32_t ss_model_builder_host(struct ss_model_builder *builder, uint32_t id,
                               const struct ss_trace_host *host)
{
    struct ss_model *model = builder->model;
    struct ss_model_host new = {.boot = ss_model_builder_text(builder, host->boot_id),
                                .name = ss_model_builder_text(builder, host->name),
                                .time_namespace = host->time_namespace};
    if (id == 0) {
        id = ss_model_host_row(model, &new);
    }
    model->hosts.data[id] = new;
    ss_clock_domains_host(model, builder->input, host);
    return id;
}

/* The row of a device that another file of the same boot has, too; 0: there is none. */
static uint32_t find_device(const struct ss_model *model, uint32_t input, uint32_t uuid)
{
    uint32_t boot = model->inputs.data[input].boot;
    for (uint32_t i = 1; i < model->devices.count && ss_model_text(model, uuid)[0] != '\0'; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        if (device->uuid == uuid && model->inputs.data[device->input].boot == boot) {
            return i;
        }
    }
    return 0;
}

uint32_t ss_model_device_row(struct ss_model *model, uint32_t input, uint32_t uuid)
{
    uint32_t id = find_device(model, input, uuid);
    if (id == 0) {
        id = (uint32_t)model->devices.count;
        ss_vec_push_zero(&model->devices);
    }
    return id;
}

uint32_t ss_model_builder_device(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_device *device)
{
    struct ss_model *model = builder->model;
    if (id == 0) {
        id = ss_model_device_row(model, builder->input,
                                 ss_model_builder_text(builder, device->uuid));
    }
    model->devices.data[id] =
        (struct ss_model_device){.input = builder->input,
                                 .kind = device->kind,
                                 .number = (int32_t)device->number - 1,
                                 .model = ss_model_builder_text(builder, device->model),
                                 .uuid = ss_model_builder_text(builder, device->uuid),
                                 .pci_address = ss_model_builder_text(builder, device->pci_address),
                                 .memory_bytes = device->memory_bytes};
    return id;
}

uint32_t ss_model_builder_context(struct ss_model_builder *builder, uint32_t id,
                                  const struct ss_trace_context *context)
{
    struct ss_model *model = builder->model;
    struct ss_model_context new = {
        .process = context->process_ref, .device = context->device_ref, .number = context->number};
    if (id == 0 && new.process != 0) {
        FIND(&model->contexts,
             row->process == new.process && row->device == new.device && row->number == new.number,
             id);
    }
    STORE(&model->contexts, id, new);
    return id;
}

uint32_t ss_model_builder_stream(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_stream *stream)
{
    struct ss_model *model = builder->model;
    struct ss_model_stream new = {.device = stream->device_ref,
                                  .context = stream->context_ref,
                                  .number = stream->number,
                                  .name = ss_model_builder_text(builder, stream->name),
                                  .priority = stream->priority,
                                  .is_default = stream->is_default};
    if (id == 0 && new.context != 0) { /* its number is unique only within a context */
        FIND(&model->streams, row->context == new.context && row->number == new.number, id);
    }
    STORE(&model->streams, id, new);
    return id;
}

uint32_t ss_model_group_row(struct ss_model *model, const struct ss_model_group *group)
{
    uint32_t id = 0;
    if (group->number != 0) {
        FIND(&model->groups, row->kind == group->kind && row->number == group->number, id);
    }
    STORE(&model->groups, id, *group);
    return id;
}

uint32_t ss_model_builder_group(struct ss_model_builder *builder, uint32_t id,
                                const struct ss_trace_group *group)
{
    struct ss_model *model = builder->model;
    struct ss_model_group new = {.kind = group->kind,
                                 .number = group->number,
                                 .name = ss_model_builder_text(builder, group->name),
                                 .size = group->size,
                                 .first_run = (uint32_t)model->rank_runs.count};
    struct ss_strview runs = group->ranks;
    for (struct ss_rank_run run; ss_rank_runs_next(&runs, &run);) {
        ss_vec_push(&model->rank_runs, run);
        new.run_count++;
    }
    if (id == 0) {
        return ss_model_group_row(model, &new);
    }
    model->groups.data[id] = new;
    return id;
}
