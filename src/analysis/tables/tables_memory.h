/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and choices of the rows of tables.c that are about allocations. Private to
 * tables*.c. */
#ifndef SS_ANALYSIS_TABLES_TABLES_MEMORY_H
#define SS_ANALYSIS_TABLES_TABLES_MEMORY_H

#include "analysis/memory/memories.h"
#include "analysis/tables/tables.h"
#include "base/shared_names.h"
#include "model/core/domains.h"

extern const struct ss_table_choice ss_allocation_sorts[], ss_allocation_groups[];

/* Tracks that say which code allocates, besides those of steps. */
#define SS_ALLOCATION_TRACKS SS_DOMAIN_MEMORY, SS_DOMAIN_PYTHON, ss_domain_torch_module, "stream *"

/* Adds tables of the pools, what is alive at their peaks, and their steps; nothing where no
 * allocations were recorded. */
size_t ss_add_allocations(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_allocations(const struct ss_table_input *input, struct ss_table *tables);

#endif
