/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables_roofline.h"

#include "analysis/roofline/step_roofline.h"

const struct ss_table_choice ss_roofline_sorts[] = {
    {"time", SS_ROOFLINE_SORT_TIME},   {"flops", SS_ROOFLINE_SORT_FLOPS},
    {"bytes", SS_ROOFLINE_SORT_BYTES}, {"roof", SS_ROOFLINE_SORT_ROOF},
    {"name", SS_ROOFLINE_SORT_NAME},   {NULL, 0}};
const struct ss_table_choice ss_roofline_groups[] = {{"family", SS_ROOFLINE_BY_FAMILY},
                                                     {"op", SS_ROOFLINE_BY_OPERATOR},
                                                     {"module", SS_ROOFLINE_BY_MODULE},
                                                     {"kernel", SS_ROOFLINE_BY_KERNEL},
                                                     {NULL, 0}};

size_t ss_build_roofline(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_roofline_options roofline = {.grouping = input->options->grouping,
                                           .sort = (enum ss_roofline_sort)input->options->sort,
                                           .max_rows = input->options->max_rows};
    ss_roofline_table(input->selection, input->training, &roofline, &tables[0]);
    return 1;
}

size_t ss_build_step_roofline(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_step_roofline_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}
