/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads as cells. Files of other tools may name them instead of numbering them: the
 * cell is the number, else the name, else absent. Pure. Borrows the model's strings.
 */
#ifndef SS_ANALYSIS_TABLE_OWNER_CELLS_H
#define SS_ANALYSIS_TABLE_OWNER_CELLS_H

#include "analysis/table/table.h"
#include "model/core/model.h"

struct ss_cell ss_process_cell(const struct ss_model *model, uint32_t process);
struct ss_cell ss_thread_cell(const struct ss_model *model, uint32_t thread);

#endif
