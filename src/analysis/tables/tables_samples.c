/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables_samples.h"

#include "analysis/samples/hotspots.h"
#include "analysis/samples/sample_ranges.h"

size_t ss_build_leaf(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_leaf_options leaf = input->options->leaf;
    leaf.max_rows = input->options->max_rows;
    leaf.full_paths = input->options->full_paths;
    ss_leaf_table(input->selection, &leaf, &tables[0]);
    return 1;
}

static size_t build_hotspots(const struct ss_table_input *input, enum ss_hotspots_by by,
                             struct ss_table *tables)
{
    struct ss_hotspots_options hotspots = {.by = by,
                                           .sort = (enum ss_sort)input->options->sort,
                                           .max_rows = input->options->max_rows,
                                           .full_paths = input->options->full_paths};
    ss_hotspots_table(input->selection, &hotspots, &tables[0]);
    return 1;
}

size_t ss_build_functions(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_hotspots(input, SS_BY_FUNCTION, tables);
}

size_t ss_build_lines(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_hotspots(input, SS_BY_LINE, tables);
}

size_t ss_build_files(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_hotspots(input, SS_BY_FILE, tables);
}

size_t ss_build_threads(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_hotspots(input, SS_BY_THREAD, tables);
}

size_t ss_build_processes(const struct ss_table_input *input, struct ss_table *tables)
{
    return build_hotspots(input, SS_BY_PROCESS, tables);
}

size_t ss_build_tree(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_tree_options tree = {.min_percent = input->options->min_percent,
                                   .max_rows = input->options->max_rows,
                                   .full_paths = input->options->full_paths};
    ss_tree_table(input->selection, &tree, &tables[0]);
    return 1;
}

size_t ss_build_sample_ranges(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_ranges_options ranges = {.sort = (enum ss_sort)input->options->sort,
                                       .max_rows = input->options->max_rows,
                                       .grouping = input->options->grouping};
    ss_sample_ranges_table(input->selection, &ranges, &tables[0]);
    return 1;
}
