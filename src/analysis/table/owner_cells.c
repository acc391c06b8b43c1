/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/owner_cells.h"

static struct ss_cell cell_of(const struct ss_model *model, int64_t number, uint32_t name)
{
    return number != -1 ? ss_cell_integer(number)
           : name != 0  ? ss_cell_text(ss_intern_get(&model->strings, name))
                        : (struct ss_cell){0};
}

struct ss_cell ss_process_cell(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_process *row = &model->processes.data[process];
    return cell_of(model, row->pid, row->name);
}

struct ss_cell ss_thread_cell(const struct ss_model *model, uint32_t thread)
{
    const struct ss_model_thread *row = &model->threads.data[thread];
    return cell_of(model, row->tid, row->name);
}
