/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables_devices.h"

#include "analysis/devices/device_memory.h"
#include "analysis/devices/device_overview.h"
#include "analysis/devices/device_steps.h"
#include "analysis/devices/device_waits.h"
#include "analysis/kernels/kernel_metrics.h"
#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "analysis/pipeline/pipelines.h"
#include "analysis/ranks/collective_table.h"
#include "analysis/ranks/critical_path.h"
#include "analysis/ranks/drifts.h"
#include "analysis/ranks/rank_profiles.h"
#include "analysis/ranks/stage_frontier.h"

const struct ss_table_choice ss_work_sorts[] = {
    {"total", SS_WORK_BY_TOTAL},      {"instances", SS_WORK_BY_INSTANCES},
    {"mean", SS_WORK_BY_MEAN},        {"p50", SS_WORK_BY_MEDIAN},
    {"min", SS_WORK_BY_MIN},          {"max", SS_WORK_BY_MAX},
    {"stddev", SS_WORK_BY_DEVIATION}, {"bytes", SS_WORK_BY_BYTES},
    {"name", SS_WORK_BY_NAME},        {NULL, 0}};
const struct ss_table_choice ss_work_groups[] = {{"name", 0},
                                                 {"base", SS_WORK_BY_BASE},
                                                 {"device", SS_WORK_BY_DEVICE},
                                                 {"stream", SS_WORK_BY_STREAM},
                                                 {"process", SS_WORK_BY_PROCESS},
                                                 {NULL, 0}};
const struct ss_table_choice ss_api_groups[] = {
    {"name", 0}, {"process", SS_WORK_BY_PROCESS}, {"thread", SS_WORK_BY_THREAD}, {NULL, 0}};
const struct ss_table_choice ss_metric_groups[] = {{"name", 0}, {"base", 1}, {NULL, 0}};

const struct ss_table_choice ss_kernel_line_sorts[] = {
    {"total", SS_KERNEL_LINES_BY_TOTAL},
    {"kernels", SS_KERNEL_LINES_BY_KERNELS},
    {"step", SS_KERNEL_LINES_BY_STEP},
    {"backward", SS_KERNEL_LINES_BY_BACKWARD},
    {"communication", SS_KERNEL_LINES_BY_COMMUNICATION},
    {"copy", SS_KERNEL_LINES_BY_COPY},
    {NULL, 0}};

static size_t build_work(const struct ss_table_input *input, unsigned types,
                         struct ss_table *tables)
{
    struct ss_work_options work = {.types = types,
                                   .sort = (enum ss_work_sort)input->options->sort,
                                   .max_rows = input->options->max_rows,
                                   .grouping = input->options->grouping,
                                   .has_errors = input->options->has_errors};
    ss_work_table(input->selection, input->training, &work, &tables[0]);
    return 1;
}

size_t ss_build_kernels(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, SS_KERNELS, tables);
}

size_t ss_build_copies(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, SS_COPIES, tables);
}

size_t ss_build_memsets(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, SS_MEMSETS, tables);
}

size_t ss_build_memory_work(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, SS_COPIES | SS_MEMSETS, tables);
}

size_t ss_build_all_work(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, SS_KERNELS | SS_COPIES | SS_MEMSETS, tables);
}

size_t ss_build_api(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_work(input, 0, tables);
}

size_t ss_build_device_steps(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_device_steps_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_device_waits(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_device_waits_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_collectives(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_collective_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_critical_path(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = ss_critical_path_tables(input->selection, input->training,
                                           input->options->max_rows, tables);
    if (input->options->is_single) {
        ss_table_fini(&tables[1]);
        return 1;
    }
    return count;
}

size_t ss_build_ranks(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_rank_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_stages(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_stage_table(input->selection, input->training, &tables[0]);
    return 1;
}

size_t ss_build_pipelines(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_pipeline_table(input->selection, input->training, &tables[0]);
    return 1;
}

size_t ss_build_drift(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_drift_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_kernel_lines(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_kernel_lines_options lines = {.sort = (enum ss_kernel_line_sort)input->options->sort,
                                            .max_rows = input->options->max_rows};
    ss_kernel_lines_table(input->selection, input->training, &lines, &tables[0]);
    return 1;
}

size_t ss_build_gpus(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_gpu_table(input->selection, &tables[0]);
    return 1;
}

size_t ss_build_device_memory(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = ss_device_memory_tables(input->selection, input->training,
                                           input->options->max_rows, tables);
    if (input->options->is_single && count > 1) {
        ss_table_fini(&tables[1]);
        return 1;
    }
    return count;
}

size_t ss_build_streams(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_stream_table(input->selection, input->options->max_rows, &tables[0]);
    return 1;
}

size_t ss_build_metrics(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_kernel_metrics_options metrics = {.by_base = input->options->grouping != 0,
                                                .max_rows = input->options->max_rows};
    ss_kernel_metrics_table(input->selection, &metrics, &tables[0]);
    return 1;
}

size_t ss_build_light(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_light_options light = {.by_base = input->options->grouping != 0,
                                     .max_rows = input->options->max_rows};
    ss_light_table(input->selection, &light, &tables[0]);
    return 1;
}

size_t ss_build_occupancy(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_occupancy_options occupancy = {.max_rows = input->options->max_rows};
    ss_occupancy_table(input->selection, &occupancy, &tables[0]);
    return 1;
}
