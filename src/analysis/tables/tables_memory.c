/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables_memory.h"

#include "analysis/memory/allocation_tables.h"

const struct ss_table_choice ss_allocation_sorts[] = {{"peak", SS_ALLOCATIONS_SORT_PEAK},
                                                      {"total", SS_ALLOCATIONS_SORT_TOTAL},
                                                      {"count", SS_ALLOCATIONS_SORT_COUNT},
                                                      {"lifetime", SS_ALLOCATIONS_SORT_LIFETIME},
                                                      {NULL, 0}};
const struct ss_table_choice ss_allocation_groups[] = {{"category", SS_ALLOCATIONS_BY_CATEGORY},
                                                       {"phase", SS_ALLOCATIONS_BY_PHASE},
                                                       {"operator", SS_ALLOCATIONS_BY_OPERATOR},
                                                       {"module", SS_ALLOCATIONS_BY_MODULE},
                                                       {"line", SS_ALLOCATIONS_BY_LINE},
                                                       {"step", SS_ALLOCATIONS_BY_STEP},
                                                       {NULL, 0}};

size_t ss_add_allocations(const struct ss_table_input *input, struct ss_table *tables)
{
    static const struct ss_allocation_options by_category = {.only_peak = true};
    struct ss_allocations allocations;
    size_t count = 0;
    if (!ss_model_has_allocations(input->selection->model)) {
        return 0;
    }
    ss_allocations_init(&allocations, input->selection, input->training);
    ss_allocation_pools_table(&allocations, input->training, &tables[count++]);
    ss_allocations_table(&allocations, input->training, &by_category, &tables[count++]);
    ss_allocation_steps_table(&allocations, input->training, input->options->max_rows,
                              &tables[count]);
    count += tables[count].row_count > 0;
    ss_allocations_fini(&allocations);
    return count;
}

size_t ss_build_allocations(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_allocation_options options = {.grouping = input->options->grouping,
                                            .sort = (enum ss_allocation_sort)input->options->sort,
                                            .max_rows = input->options->max_rows,
                                            .full_paths = input->options->full_paths};
    struct ss_allocations allocations;
    ss_allocations_init(&allocations, input->selection, input->training);
    ss_allocations_table(&allocations, input->training, &options, &tables[0]);
    ss_allocations_fini(&allocations);
    return 1;
}
