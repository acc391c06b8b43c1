/* SPDX-License-Identifier: Apache-2.0 */
#include "view/report_layouts.h"

#include <string.h>

#include "view/report_tables.h"

static const struct ss_report_layout layouts[] = {
    {"leaf", ss_report_text_leaves, false},
    {"function", ss_report_text_hotspots, false},
    {"line", ss_report_text_hotspots, false},
    {"file", ss_report_text_hotspots, false},
    {"thread", ss_report_text_hotspots, false},
    {"process", ss_report_text_hotspots, false},
    {"sample-range", ss_report_text_hotspots, false},
    {"tree", ss_report_text_tree, false},
    {"range", ss_report_text_ranges, false},
    {"counter", ss_report_text_counters, false},
    {"line-time", ss_report_text_lines, false},
    {"step", ss_report_text_steps, false},
    {"phase", ss_report_text_phases, false},
    {"op", ss_report_text_operators, false},
    {"key-averages", ss_report_text_key_averages, true},
    {"module", ss_report_text_modules, false},
    {"worker", ss_report_text_workers, false},
    {"loader", ss_report_text_loaders, false},
    {"flops", ss_report_text_flops, false},
    {"memory", ss_report_text_memories, false},
    {"memory-phase", ss_report_text_memory_phases, false},
    {NULL, ss_report_text_any, false},
};

const struct ss_report_layout *ss_report_layout_of(const struct ss_table *table)
{
    const struct ss_report_layout *layout = layouts;
    while (layout->table != NULL && strcmp(layout->table, table->name) != 0) {
        layout++;
    }
    return layout;
}
