/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and choices of the rows of tables.c that are about devices. Private to tables*.c.
 */
#ifndef SS_ANALYSIS_TABLES_TABLES_DEVICES_H
#define SS_ANALYSIS_TABLES_TABLES_DEVICES_H

#include "analysis/devices/device_tables.h"
#include "analysis/kernels/kernel_lines.h"
#include "analysis/tables/tables.h"

extern const struct ss_table_choice ss_work_sorts[], ss_work_groups[], ss_api_groups[],
    ss_metric_groups[], ss_kernel_line_sorts[];

size_t ss_build_kernels(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_copies(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_memsets(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_memory_work(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_all_work(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_api(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_device_steps(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_device_waits(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_collectives(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_critical_path(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_ranks(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_pipelines(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_stages(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_drift(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_kernel_lines(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_gpus(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_device_memory(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_streams(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_metrics(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_light(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_occupancy(const struct ss_table_input *input, struct ss_table *tables);

#endif
