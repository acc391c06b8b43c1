/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pipeline/pipelines.h"
#include "analysis/table/owner_cells.h"
#include "analysis/table/rule_limits.h"

static const struct ss_column columns[SS_PIPELINE_COLUMNS] = {
    [SS_PIPELINE_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_PIPELINE_PID] = {.key = "pid"},
    [SS_PIPELINE_NUMBER] = {.key = "pipeline"},
    [SS_PIPELINE_STAGE] = {.key = "stage"},
    [SS_PIPELINE_STEPS] = {.key = "steps", .unit = "steps"},
    [SS_PIPELINE_MICRO_BATCHES] = {.key = "micro_batches_step", .unit = "micro-batches"},
    [SS_PIPELINE_WORK] = {.key = "work_step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_PIPELINE_MICRO_BATCH] = {.key = "micro_batch_ns",
                                 .unit = "ns",
                                 .comparison = SS_COMPARES_LEVEL},
    [SS_PIPELINE_IDLE_PERCENT] = {.key = "idle_percent", .unit = "percent"},
    [SS_PIPELINE_IDEAL_PERCENT] = {.key = "ideal_percent", .unit = "percent"},
    [SS_PIPELINE_IDLE] = {.key = "idle_step_ns",
                          .unit = "ns",
                          .comparison = SS_COMPARES_STEP,
                          .leads = true},
    [SS_PIPELINE_IDLE_WARM_UP] = {.key = "warm_up_step_ns",
                                  .unit = "ns",
                                  .comparison = SS_COMPARES_STEP},
    [SS_PIPELINE_IDLE_STEADY] = {.key = "steady_step_ns",
                                 .unit = "ns",
                                 .comparison = SS_COMPARES_STEP},
    [SS_PIPELINE_IDLE_DRAIN] = {.key = "drain_step_ns",
                                .unit = "ns",
                                .comparison = SS_COMPARES_STEP},
    [SS_PIPELINE_COLLECTIVES] = {.key = "in_collectives_step_ns",
                                 .unit = "ns",
                                 .comparison = SS_COMPARES_STEP},
    [SS_PIPELINE_FOR_RANK] = {.key = "waits_for_rank"},
};

static struct ss_cell per_step(uint64_t ns, uint64_t steps)
{
    return ss_cell_integer((int64_t)(ns / steps));
}

static void put_row(const struct ss_model *model, const struct ss_pipelines *pipelines,
                    const struct ss_pipeline *row, size_t index, struct ss_cell *cells)
{
    const struct ss_pipeline_stage *stage = &pipelines->stages.data[index];
    uint64_t idle_ns = ss_pipeline_stage_idle_ns(stage), steps = stage->steps;
    if (stage->rank >= 0) {
        cells[SS_PIPELINE_RANK] = ss_cell_integer(stage->rank);
    }
    cells[SS_PIPELINE_PID] = ss_process_cell(model, stage->process);
    cells[SS_PIPELINE_NUMBER] = ss_cell_integer((int64_t)stage->pipeline);
    cells[SS_PIPELINE_STAGE] = ss_cell_integer((int64_t)(index - row->first));
    cells[SS_PIPELINE_STEPS] = ss_cell_integer((int64_t)steps);
    cells[SS_PIPELINE_MICRO_BATCHES] = ss_cell_real((double)stage->micro_batches / (double)steps);
    cells[SS_PIPELINE_WORK] = per_step(stage->work_ns, steps);
    cells[SS_PIPELINE_MICRO_BATCH] = per_step(stage->work_ns, stage->micro_batches);
    cells[SS_PIPELINE_IDLE_PERCENT] =
        ss_cell_real(100.0 * (double)idle_ns / (double)(stage->pass_ns > 0 ? stage->pass_ns : 1));
    cells[SS_PIPELINE_IDEAL_PERCENT] =
        ss_cell_real(100.0 * ss_pipeline_ideal(row->stages, row->micro_batches));
    cells[SS_PIPELINE_IDLE] = per_step(idle_ns, steps);
    cells[SS_PIPELINE_IDLE_WARM_UP] = per_step(stage->idle_ns[SS_PIPELINE_WARM_UP], steps);
    cells[SS_PIPELINE_IDLE_STEADY] = per_step(stage->idle_ns[SS_PIPELINE_STEADY], steps);
    cells[SS_PIPELINE_IDLE_DRAIN] = per_step(stage->idle_ns[SS_PIPELINE_DRAIN], steps);
    if (!row->is_of_devices) {
        cells[SS_PIPELINE_COLLECTIVES] = per_step(idle_ns - stage->transfer_ns, steps);
    }
    if (stage->longest_for >= 0) {
        cells[SS_PIPELINE_FOR_RANK] = ss_cell_integer(stage->longest_for);
    }
}

/* --- notes -------------------------------------------------------------------------------------
 */

static uint64_t whole(double ns)
{
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static void add_bubble(const struct ss_pipelines *pipelines, const struct ss_pipeline *row,
                       struct ss_table *table)
{
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_FACT);
    if (pipelines->rows.count > 1) {
        ss_sentence_add(out, "pipeline ");
        ss_sentence_add_count(out, (uint64_t)(row - pipelines->rows.data));
        ss_sentence_add(out, ": ");
    }
    ss_sentence_add_count(out, row->stages);
    ss_sentence_add(out, " stages are idle for ");
    ss_sentence_add_percent(out, 100 * row->idle_ns / row->pass_ns, 0);
    ss_sentence_add(out, " of a pass of ");
    ss_sentence_add_duration(out, whole(row->pass_ns));
    ss_sentence_add(out, "; with equal stages and ");
    ss_sentence_add_count(out, whole(row->micro_batches));
    ss_sentence_add(out, " micro-batches it would be ");
    ss_sentence_add_percent(out, 100 * ss_pipeline_ideal(row->stages, row->micro_batches), 0);
    double more = SS_LIMIT_MORE_MICRO_BATCHES * row->micro_batches;
    ss_sentence_add(out, ", with ");
    ss_sentence_add_count(out, whole(more));
    ss_sentence_add(out, " ");
    ss_sentence_add_percent(out, 100 * ss_pipeline_ideal(row->stages, more), 0);
}

static void add_slowest(const struct ss_pipelines *pipelines, const struct ss_pipeline *row,
                        struct ss_table *table)
{
    const struct ss_pipeline_stage *slowest = &pipelines->stages.data[row->slowest];
    if (100 * row->unequal_ns < SS_LIMIT_GAIN_PERCENT * row->pass_ns || slowest->rank < 0) {
        return;
    }
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_FACT);
    ss_sentence_add(out, "the stage of rank ");
    ss_sentence_add_number(out, slowest->rank);
    ss_sentence_add(out, " takes ");
    ss_sentence_add_duration(out, whole(row->slowest_ns));
    ss_sentence_add(out, " for a micro-batch, the others ");
    ss_sentence_add_duration(out, whole(row->other_ns));
    ss_sentence_add(out, ": equal stages would save ");
    ss_sentence_add_duration(out, whole(row->unequal_ns));
    ss_sentence_add(out, " of a pass");
}

void ss_pipeline_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                       struct ss_table *table)
{
    struct ss_pipelines pipelines;
    *table = (struct ss_table){
        .name = "pipeline",
        .title = "Stages of pipelines",
        .empty_text = "no steps of two ranks or more in which they send each other tensors",
        .row_noun = "stage",
        .columns = columns,
        .column_count = SS_PIPELINE_COLUMNS};
    ss_pipelines_init(&pipelines, selection, training);
    for (size_t i = 0; i < pipelines.rows.count; i++) {
        const struct ss_pipeline *row = &pipelines.rows.data[i];
        for (size_t j = row->first; j < row->first + row->stages && row->steps > 0; j++) {
            put_row(selection->model, &pipelines, row, j, ss_table_add_row(table));
        }
    }
    for (size_t i = 0; i < pipelines.rows.count && table->row_count > 0; i++) {
        if (pipelines.rows.data[i].steps > 0) {
            add_bubble(&pipelines, &pipelines.rows.data[i], table);
            add_slowest(&pipelines, &pipelines.rows.data[i], table);
        }
    }
    if (table->row_count > 0) {
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add(out, "a pass: from the first forward of any stage to the last backward of "
                             "any. Idle: ");
        ss_sentence_add(out, pipelines.rows.data[0].is_of_devices
                                 ? "what the stage's device does not compute in it"
                                 : "communication in it");
        ss_sentence_add(out, "; warm-up until the first backward of the stage, drain after its "
                             "last forward");
    }
    ss_pipelines_fini(&pipelines);
}
