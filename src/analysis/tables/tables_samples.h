/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the rows of tables.c that are about samples. Private to tables*.c. */
#ifndef SS_ANALYSIS_TABLES_TABLES_SAMPLES_H
#define SS_ANALYSIS_TABLES_TABLES_SAMPLES_H

#include "analysis/tables/tables.h"

size_t ss_build_leaf(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_functions(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_lines(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_files(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_threads(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_processes(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_sample_ranges(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_tree(const struct ss_table_input *input, struct ss_table *tables);

#endif
