/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the layouts of tables. Private to layout_*.c and report_*.c. */
#ifndef SS_VIEW_LAYOUTS_REPORT_TABLES_H
#define SS_VIEW_LAYOUTS_REPORT_TABLES_H

#include "view/output/report.h"
#include "view/output/text_table.h"

/* A bar of ten columns for 100 %. */
void ss_report_put_bar(struct ss_text_table *table, size_t column, double percent,
                       const char *colour);
/* The colour of a share: heavy ones are highlighted; NULL: none. */
const char *ss_report_share_colour(double percent);

/* Put a number with its unit into the newest row; absent cells stay empty. A change of bytes has a
 * sign. */
void ss_report_put_duration(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_bytes(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                         bool is_change);
/* "4242/4243 autograd", "4242"; pid, tid and thread name are consecutive cells. */
/* The number of a process or thread, or its name; nothing if it is absent. */
void ss_report_put_id(struct ss_text_table *table, size_t column, const char *colour,
                      const struct ss_cell *cell);
void ss_report_put_owner(struct ss_text_table *table, size_t column, const struct ss_cell *cells);

/* Fills an uninitialised table from a block whose table has at least one row. */
typedef void ss_report_fill(const struct ss_block *block, struct ss_text_table *text);
/* Prints a table whose form is given: that of another tool. */
typedef void ss_report_print(const struct ss_table *table, const struct ss_report_style *style,
                             FILE *out);

/* The layouts of tables (view/layouts/report_layouts.c), and the generic ones. */
ss_report_fill ss_report_fill_hotspots, ss_report_fill_leaves, ss_report_fill_tree,
    ss_report_fill_ranges, ss_report_fill_counters, ss_report_fill_steps, ss_report_fill_phases,
    ss_report_fill_operators, ss_report_fill_modules, ss_report_fill_flops, ss_report_fill_memories,
    ss_report_fill_memory_phases, ss_report_fill_workers, ss_report_fill_loaders,
    ss_report_fill_work, ss_report_fill_kernel_lines, ss_report_fill_comparison,
    ss_report_fill_metrics, ss_report_fill_any, ss_report_fill_present, ss_report_fill_roofline,
    ss_report_fill_scaling, ss_report_fill_light, ss_report_fill_occupancy,
    ss_report_fill_step_roofline;
ss_report_print ss_report_print_lines, ss_report_print_key_averages;

#endif
