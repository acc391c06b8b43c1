/* SPDX-License-Identifier: Apache-2.0 */
#include "view/layouts/report_layouts.h"

#include <string.h>

static const struct ss_report_layout layouts[] = {
    {.table = "leaf", .fill = ss_report_fill_leaves},
    {.table = "function", .fill = ss_report_fill_hotspots},
    {.table = "line", .fill = ss_report_fill_hotspots},
    {.table = "file", .fill = ss_report_fill_hotspots},
    {.table = "thread", .fill = ss_report_fill_hotspots},
    {.table = "process", .fill = ss_report_fill_hotspots},
    {.table = "sample-range", .fill = ss_report_fill_hotspots},
    {.table = "tree", .fill = ss_report_fill_tree},
    {.table = "range", .fill = ss_report_fill_ranges},
    {.table = "counter", .fill = ss_report_fill_counters},
    {.table = "line-time", .print = ss_report_print_lines},
    {.table = "step", .fill = ss_report_fill_steps},
    {.table = "phase", .fill = ss_report_fill_phases},
    {.table = "op", .fill = ss_report_fill_operators},
    {.table = "key-averages", .print = ss_report_print_key_averages, .has_own_title = true},
    {.table = "module", .fill = ss_report_fill_modules},
    {.table = "worker", .fill = ss_report_fill_workers},
    {.table = "loader", .fill = ss_report_fill_loaders},
    {.table = "flops", .fill = ss_report_fill_flops},
    {.table = "memory", .fill = ss_report_fill_memories},
    {.table = "memory-phase", .fill = ss_report_fill_memory_phases},
    {.table = "kernel", .fill = ss_report_fill_work},
    {.table = "kernel-line", .fill = ss_report_fill_kernel_lines},
    {.table = "memcpy", .fill = ss_report_fill_work},
    {.table = "memset", .fill = ss_report_fill_work},
    {.table = "gpu-memory", .fill = ss_report_fill_work},
    {.table = "gpu-work", .fill = ss_report_fill_work},
    {.table = "api", .fill = ss_report_fill_work},
    {.table = "metric", .fill = ss_report_fill_metrics},
    {.table = "allocator", .fill = ss_report_fill_present},
    {.table = "allocation", .fill = ss_report_fill_present},
    {.table = "memory-step", .fill = ss_report_fill_present},
    {.table = "roofline", .fill = ss_report_fill_roofline},
    {.table = "speed-of-light", .fill = ss_report_fill_light},
    {.table = "occupancy", .fill = ss_report_fill_occupancy},
    {.table = "step-roofline", .fill = ss_report_fill_step_roofline},
    {.table = "scaling", .fill = ss_report_fill_scaling},
    {.table = NULL, .fill = ss_report_fill_any},
};

static const struct ss_report_layout comparison = {.fill = ss_report_fill_comparison};

const struct ss_report_layout *ss_report_layout_of(const struct ss_table *table)
{
    if (table->comparison.keys > 0) {
        return &comparison;
    }
    const struct ss_report_layout *layout = layouts;
    while (layout->table != NULL && strcmp(layout->table, table->name) != 0) {
        layout++;
    }
    return layout;
}
