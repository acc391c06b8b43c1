/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/device_collectives.h"

#include "analysis/kernel_names.h"
#include "base/alloc.h"

/* The kernels of a process that communicate, by begin. */
struct rank {
    uint32_t process;
    struct ss_vec_of(const struct ss_device_work *) works;
};

struct ranks ss_vec_of(struct rank);

static struct rank *rank_of(struct ranks *ranks, uint32_t process)
{
    for (size_t i = 0; i < ranks->count; i++) {
        if (ranks->data[i].process == process) {
            return &ranks->data[i];
        }
    }
    ss_vec_push_zero(ranks);
    ranks->data[ranks->count - 1].process = process;
    return &ranks->data[ranks->count - 1];
}

static void collect(const struct ss_device_works *works, struct ranks *ranks)
{
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->work_class == SS_WORK_COMMUNICATION) {
            struct rank *rank = rank_of(ranks, work->process);
            ss_vec_push(&rank->works, work);
        }
    }
}

static struct ss_strview base_of(const struct ss_model *model, uint32_t name)
{
    return ss_kernel_base_name(ss_intern_get(&model->strings, model->names.data[name].text));
}

/* A process on several devices has its works device by device: no order over them is known. */
static bool ranks_match(const struct ss_model *model, const struct ss_device_works *works,
                        const struct ranks *ranks)
{
    for (size_t i = 1; i < works->parts.count; i++) {
        if (works->parts.data[i].process == works->parts.data[i - 1].process) {
            return false;
        }
    }
    for (size_t r = 1; r < ranks->count; r++) {
        if (ranks->data[r].works.count != ranks->data[0].works.count) {
            return false;
        }
        for (size_t k = 0; k < ranks->data[0].works.count; k++) {
            if (!ss_strview_equal(base_of(model, ranks->data[r].works.data[k]->name),
                                  base_of(model, ranks->data[0].works.data[k]->name))) {
                return false;
            }
        }
    }
    return ranks->count > 1;
}

static struct ss_device_collective join(const struct ranks *ranks, size_t k)
{
    const struct ss_device_work *first = ranks->data[0].works.data[k];
    struct ss_device_collective row = {
        .name = first->name, .first_ns = UINT64_MAX, .first_end_ns = UINT64_MAX};
    for (size_t r = 0; r < ranks->count; r++) {
        const struct ss_device_work *work = ranks->data[r].works.data[k];
        row.first_ns = work->begin_ns < row.first_ns ? work->begin_ns : row.first_ns;
        row.first_end_ns = work->end_ns < row.first_end_ns ? work->end_ns : row.first_end_ns;
        row.last_end_ns = work->end_ns > row.last_end_ns ? work->end_ns : row.last_end_ns;
        if (row.last == 0 || work->begin_ns > row.last_ns) {
            row.second_last_ns = row.last != 0 ? row.last_ns : work->begin_ns;
            row.last_ns = work->begin_ns;
            row.last = work->process;
        } else if (work->begin_ns > row.second_last_ns || row.second_last_ns == row.last_ns) {
            row.second_last_ns = work->begin_ns;
        }
    }
    for (size_t r = 0; r < ranks->count; r++) {
        row.wait_ns += row.last_ns - ranks->data[r].works.data[k]->begin_ns;
    }
    return row;
}

/* A rank that ends before another arrives did not take part in the same collective. */
static bool is_one(const struct ss_device_collective *row)
{
    return row->first_end_ns >= row->last_ns;
}

static void sum_steady(struct ss_device_collectives *collectives, const struct ss_model *model,
                       const struct ss_step_summary *training)
{
    uint64_t *times_last = ss_alloc_zero(model->processes.count, sizeof *times_last);
    for (size_t i = 0; training != NULL && i < collectives->rows.count; i++) {
        const struct ss_device_collective *row = &collectives->rows.data[i];
        const struct ss_step *step = ss_step_at(training, row->last, row->last_ns);
        if (step != NULL && step->kind == SS_STEP_STEADY) {
            collectives->steady++;
            collectives->steady_wait_ns += row->wait_ns;
            times_last[row->last]++;
        }
    }
    for (uint32_t i = 1; i < model->processes.count; i++) {
        if (times_last[i] > collectives->times_last) {
            collectives->latest = i;
            collectives->times_last = times_last[i];
        }
    }
    ss_free(times_last);
}

void ss_device_collectives_init(struct ss_device_collectives *collectives,
                                const struct ss_selection *selection,
                                const struct ss_device_works *works,
                                const struct ss_step_summary *training)
{
    struct ranks ranks = {0};
    *collectives = (struct ss_device_collectives){0};
    collect(works, &ranks);
    if (ranks_match(selection->model, works, &ranks)) {
        collectives->ranks = ranks.count;
        for (size_t k = 0; k < ranks.data[0].works.count; k++) {
            struct ss_device_collective row = join(&ranks, k);
            if (is_one(&row)) {
                ss_vec_push(&collectives->rows, row);
            }
        }
        sum_steady(collectives, selection->model, training);
    }
    for (size_t r = 0; r < ranks.count; r++) {
        ss_vec_fini(&ranks.data[r].works);
    }
    ss_vec_fini(&ranks);
}

void ss_device_collectives_fini(struct ss_device_collectives *collectives)
{
    ss_vec_fini(&collectives->rows);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct ss_column columns[SS_COLLECTIVE_COLUMNS] = {
    [SS_COLLECTIVE_NUMBER] = {.key = "number"},
    [SS_COLLECTIVE_NAME] = {.key = "name"},
    [SS_COLLECTIVE_RANKS] = {.key = "ranks", .unit = "ranks"},
    [SS_COLLECTIVE_LAST_RANK] = {.key = "last_rank"},
    [SS_COLLECTIVE_LAST_PID] = {.key = "last_pid"},
    [SS_COLLECTIVE_SKEW] = {.key = "skew_ns", .unit = "ns"},
    [SS_COLLECTIVE_BLAME] = {.key = "last_behind_ns", .unit = "ns"},
    [SS_COLLECTIVE_WAIT] = {.key = "mean_wait_ns", .unit = "ns"},
    [SS_COLLECTIVE_TRANSFER] = {.key = "transfer_ns", .unit = "ns"},
    [SS_COLLECTIVE_ENDS] = {.key = "ends_differ_ns", .unit = "ns"},
};

static void put_row(const struct ss_model *model, const struct ss_device_collectives *collectives,
                    size_t number, struct ss_cell *cells)
{
    const struct ss_device_collective *row = &collectives->rows.data[number];
    const struct ss_model_process *last = &model->processes.data[row->last];
    cells[SS_COLLECTIVE_NUMBER] = ss_cell_integer((int64_t)number);
    cells[SS_COLLECTIVE_NAME] = ss_cell_text(base_of(model, row->name));
    cells[SS_COLLECTIVE_RANKS] = ss_cell_integer((int64_t)collectives->ranks);
    if (last->has_rank) {
        cells[SS_COLLECTIVE_LAST_RANK] = ss_cell_integer(last->rank);
    }
    if (last->pid >= 0) {
        cells[SS_COLLECTIVE_LAST_PID] = ss_cell_integer(last->pid);
    }
    cells[SS_COLLECTIVE_SKEW] = ss_cell_integer((int64_t)(row->last_ns - row->first_ns));
    cells[SS_COLLECTIVE_BLAME] = ss_cell_integer((int64_t)(row->last_ns - row->second_last_ns));
    cells[SS_COLLECTIVE_WAIT] = ss_cell_integer((int64_t)(row->wait_ns / collectives->ranks));
    cells[SS_COLLECTIVE_TRANSFER] = ss_cell_integer((int64_t)(row->first_end_ns - row->last_ns));
    cells[SS_COLLECTIVE_ENDS] = ss_cell_integer((int64_t)(row->last_end_ns - row->first_end_ns));
}

void ss_device_collectives_table(const struct ss_selection *selection, uint64_t max_rows,
                                 struct ss_table *table)
{
    struct ss_device_works works;
    struct ss_device_collectives collectives;
    *table = (struct ss_table){
        .name = "device-collective",
        .title = "Collectives on the devices",
        .empty_text = "no two ranks executed the same kernels that communicate, in the same order",
        .columns = columns,
        .column_count = SS_COLLECTIVE_COLUMNS};
    ss_device_works_init(&works, selection);
    ss_device_collectives_init(&collectives, selection, &works, NULL);
    for (size_t i = 0; i < collectives.rows.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = collectives.rows.count - i;
            break;
        }
        put_row(selection->model, &collectives, i, ss_table_add_row(table));
    }
    ss_device_collectives_fini(&collectives);
    ss_device_works_fini(&works);
}
