/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/ranks/drifts.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/owner_cells.h"
#include "analysis/table/rule_limits.h"

static const struct ss_column columns[SS_DRIFT_COLUMNS] = {
    [SS_DRIFT_RANK] = {.key = "rank"},
    [SS_DRIFT_PID] = {.key = "pid"},
    [SS_DRIFT_STAGE] = {.key = "stage"},
    [SS_DRIFT_WAY] = {.key = "drift"},
    [SS_DRIFT_MEDIAN] = {.key = "median_ns", .unit = "ns"},
    [SS_DRIFT_CHANGE] = {.key = "change_ns", .unit = "ns"},
    [SS_DRIFT_LOW] = {.key = "least_change_ns", .unit = "ns"},
    [SS_DRIFT_HIGH] = {.key = "most_change_ns", .unit = "ns"},
    [SS_DRIFT_PERCENT] = {.key = "of_step_percent", .unit = "percent"},
    [SS_DRIFT_CHANGE_STEP] = {.key = "since_step"},
    [SS_DRIFT_BEFORE] = {.key = "before_ns", .unit = "ns"},
    [SS_DRIFT_AFTER] = {.key = "after_ns", .unit = "ns"},
    [SS_DRIFT_STEPS] = {.key = "steps", .unit = "steps"},
};

static struct ss_cell ns_cell(double ns)
{
    return ss_cell_integer((int64_t)llround(ns));
}

static void put_row(const struct ss_drift_row *row, const struct ss_model *model,
                    const struct ss_step_summary *training, struct ss_cell *cells)
{
    int64_t rank = ss_rank_of(model, row->process);
    const char *way = !row->is_drifting ? "steady" : row->drift.change > 0 ? "slower" : "faster";
    if (rank >= 0) {
        cells[SS_DRIFT_RANK] = ss_cell_integer(rank);
    }
    cells[SS_DRIFT_PID] = ss_process_cell(model, row->process);
    cells[SS_DRIFT_STAGE] = ss_cell_text(ss_drift_stage_text(row, model, training));
    cells[SS_DRIFT_WAY] = ss_cell_text(ss_strview_of(way));
    cells[SS_DRIFT_MEDIAN] = ns_cell(row->drift.median);
    cells[SS_DRIFT_CHANGE] = ns_cell(row->drift.change);
    cells[SS_DRIFT_LOW] = ns_cell(row->drift.low);
    cells[SS_DRIFT_HIGH] = ns_cell(row->drift.high);
    if (row->step_ns > 0) {
        cells[SS_DRIFT_PERCENT] = ss_cell_real(100 * row->drift.change / row->step_ns);
    }
    if (row->is_drifting) {
        cells[SS_DRIFT_BEFORE] = ns_cell(row->drift.before);
        cells[SS_DRIFT_AFTER] = ns_cell(row->drift.after);
        if (row->drift.has_changed_once) {
            cells[SS_DRIFT_CHANGE_STEP] = ss_cell_integer(row->change_step);
        }
    }
    cells[SS_DRIFT_STEPS] = ss_cell_integer((int64_t)row->drift.count);
}

/* What drifts comes first, by how much; the rest stays in its order. */
static int by_change(const void *left, const void *right)
{
    const struct ss_drift_row *a = *(const struct ss_drift_row *const *)left;
    const struct ss_drift_row *b = *(const struct ss_drift_row *const *)right;
    if (a->is_drifting != b->is_drifting) {
        return a->is_drifting ? -1 : 1;
    }
    if (a->is_drifting && fabs(a->drift.change) != fabs(b->drift.change)) {
        return fabs(a->drift.change) > fabs(b->drift.change) ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static void add_rows(const struct ss_drifts *drifts, const struct ss_model *model,
                     const struct ss_step_summary *training, uint64_t max_rows,
                     struct ss_table *table)
{
    struct ss_vec_of(const struct ss_drift_row *) order = {0};
    for (size_t i = 0; i < drifts->rows.count; i++) {
        ss_vec_push(&order, &drifts->rows.data[i]);
    }
    if (order.count > 1) {
        qsort(order.data, order.count, sizeof *order.data, by_change);
    }
    for (size_t i = 0; i < order.count; i++) {
        if (max_rows > 0 && i >= max_rows) {
            table->hidden_rows++;
        } else {
            put_row(order.data[i], model, training, ss_table_add_row(table));
        }
    }
    ss_vec_fini(&order);
}

static void add_process(const struct ss_drift_row *row, const struct ss_model *model,
                        struct ss_sentence *out)
{
    int64_t rank = ss_rank_of(model, row->process);
    ss_sentence_add(out, rank >= 0 ? "rank " : "process ");
    ss_sentence_add_number(out, rank >= 0 ? rank : model->processes.data[row->process].pid);
}

static void add_result(const struct ss_drifts *drifts, const struct ss_model *model,
                       const struct ss_step_summary *training, struct ss_table *table)
{
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_FACT);
    if (drifts->largest == drifts->rows.count) {
        ss_sentence_add(out, "no process becomes slower by ");
        ss_sentence_add_percent(out, SS_LIMIT_DRIFT_PERCENT, 0);
        ss_sentence_add(out, " of its step or more");
        return;
    }
    const struct ss_drift_row *row = &drifts->rows.data[drifts->largest];
    add_process(row, model, out);
    ss_sentence_add(out, " becomes slower by ");
    ss_sentence_add_duration(out, (uint64_t)row->drift.change);
    ss_sentence_add(out, " of a step of ");
    ss_sentence_add_duration(out, (uint64_t)row->step_ns);
    if (drifts->cause < drifts->rows.count) {
        ss_sentence_add(out, ", most of it in ");
        ss_sentence_add_name(
            out, ss_drift_stage_text(&drifts->rows.data[drifts->cause], model, training));
    }
    if (row->drift.has_changed_once) {
        ss_sentence_add(out, ", at step ");
        ss_sentence_add_number(out, row->change_step);
    }
    if (drifts->processes > 1) {
        ss_sentence_add(out, drifts->drifting == 1 ? "; no other rank drifts by itself" : "; ");
        if (drifts->drifting > 1) {
            ss_sentence_add_count(out, drifts->drifting);
            ss_sentence_add(out, " of ");
            ss_sentence_add_count(out, drifts->processes);
            ss_sentence_add(out, " ranks drift");
        }
    }
}

void ss_drift_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table)
{
    struct ss_drifts drifts;
    *table = (struct ss_table){.name = "drift",
                               .title = "Drift of steps and their stages over the run",
                               .empty_text = "no process has the 40 steps that this needs",
                               .columns = columns,
                               .column_count = SS_DRIFT_COLUMNS};
    _Static_assert(SS_DRIFT_FEWEST == 40, "the text above");
    ss_drifts_init(&drifts, selection->model, training);
    add_rows(&drifts, selection->model, training, max_rows, table);
    if (table->row_count > 0) {
        add_result(&drifts, selection->model, training, table);
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add(out, "change: from the first to the last step, by the median slope between "
                             "all pairs (Theil and Sen), or the difference of two levels that are "
                             "clearly apart, with its interval at 95 %; own time: the step without "
                             "communication. Drifting: certain at 99.9 %, and ");
        ss_sentence_add_percent(out, SS_LIMIT_DRIFT_PERCENT, 0);
        ss_sentence_add(out, " of the step or more. A step is named where two levels fit better "
                             "than a line");
    }
    ss_drifts_fini(&drifts);
}
