/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/lateness.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/rule_limits.h"
#include "base/shared_names.h"

static const struct ss_column columns[SS_STAGE_COLUMNS] = {
    [SS_STAGE_NAME] = {.key = "stage", .comparison = SS_COMPARES_KEY},
    [SS_STAGE_BEHIND] = {.key = "behind", .comparison = SS_COMPARES_KEY},
    [SS_STAGE_PERCENT] = {.key = "exposed_percent", .unit = "percent"},
    [SS_STAGE_STEP] = {.key = "exposed_step_ns",
                       .unit = "ns",
                       .comparison = SS_COMPARES_STEP,
                       .leads = true},
    [SS_STAGE_MEDIAN] = {.key = "median_rank_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_STAGE_DELAY] = {.key = "delay_step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_STAGE_RANK] = {.key = "rank"},
    [SS_STAGE_RANK_PERCENT] = {.key = "rank_percent", .unit = "percent"},
    [SS_STAGE_RANK_STEPS] = {.key = "rank_steps", .unit = "steps"},
};

struct ss_strview ss_stage_text(const struct ss_stage *stage, const struct ss_model *model,
                                const struct ss_step_summary *training)
{
    static const char *const texts[] = {
        [SS_STAGE_OTHER] = "other", [SS_STAGE_COMMUNICATION] = ss_phase_communication,
        [SS_STAGE_IDLE] = "idle",   [SS_STAGE_COMPUTE] = "compute",
        [SS_STAGE_COPY] = "copies", [SS_STAGE_EXPOSED] = ss_phase_communication};
    return stage->kind == SS_STAGE_PHASE
               ? ss_step_phase_text(model, &training->phases.data[stage->phase])
               : ss_strview_of(texts[stage->kind]);
}

static bool is_behind_phase(const struct ss_stage *stage, const struct ss_step_summary *training)
{
    return stage->kind != SS_STAGE_PHASE && stage->phase + 1 < training->phases.count;
}

static void put_row(const struct ss_stage_frontier *frontier, const struct ss_stage *stage,
                    const struct ss_model *model, const struct ss_step_summary *training,
                    struct ss_cell *cells)
{
    uint64_t steps = frontier->steps;
    cells[SS_STAGE_NAME] = ss_cell_text(ss_stage_text(stage, model, training));
    if (is_behind_phase(stage, training)) {
        cells[SS_STAGE_BEHIND] =
            ss_cell_text(ss_step_phase_text(model, &training->phases.data[stage->phase]));
    }
    cells[SS_STAGE_PERCENT] =
        ss_cell_real(100 * (double)stage->exposed_ns / (double)frontier->total_ns);
    cells[SS_STAGE_STEP] = ss_cell_integer((int64_t)(stage->exposed_ns / steps));
    cells[SS_STAGE_MEDIAN] = ss_cell_integer((int64_t)(stage->median_ns / steps));
    cells[SS_STAGE_DELAY] = ss_cell_integer((int64_t)(stage->delay_ns / steps));
    if (stage->delay_ns > 0) {
        int64_t rank = ss_rank_of(model, frontier->ranks.data[stage->rank]);
        if (rank >= 0) {
            cells[SS_STAGE_RANK] = ss_cell_integer(rank);
        }
        cells[SS_STAGE_RANK_PERCENT] =
            ss_cell_real(100 * (double)stage->rank_ns / (double)stage->delay_ns);
        cells[SS_STAGE_RANK_STEPS] = ss_cell_integer((int64_t)stage->rank_steps);
    }
}

static void add_stage(const struct ss_stage *stage, const struct ss_model *model,
                      const struct ss_step_summary *training, struct ss_sentence *out)
{
    ss_sentence_add_name(out, ss_stage_text(stage, model, training));
    if (is_behind_phase(stage, training)) {
        ss_sentence_add(out, " behind ");
        ss_sentence_add_name(out, ss_step_phase_text(model, &training->phases.data[stage->phase]));
    }
}

/* The figures of a table. */
struct stages {
    const struct ss_stage_frontier *frontier;
    const struct ss_lateness *late;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct ss_table *table;
};

static void add_delay(const struct stages *stages, uint64_t sum_ns, struct ss_sentence *out)
{
    const struct ss_stage_frontier *frontier = stages->frontier;
    ss_sentence_add_duration(out, sum_ns / frontier->steps);
    ss_sentence_add(out, " of a step of ");
    ss_sentence_add_duration(out, frontier->total_ns / frontier->steps);
}

/* Of the late rank: where its delay arises. It is named by the lateness, not by the stages. */
static void add_late(const struct stages *stages, struct ss_sentence *out)
{
    const struct ss_rank_profile *row = stages->late->claim.row;
    uint64_t delay_ns;
    const struct ss_stage *stage = ss_stage_frontier_of(stages->frontier, row->process, &delay_ns);
    if (stage == NULL) {
        ss_sentence_add(out, "in no stage does ");
        ss_lateness_add_rank(row, stages->model, out);
        ss_sentence_add(out, " fall behind");
        return;
    }
    ss_sentence_add(out, "most delay of ");
    ss_lateness_add_rank(row, stages->model, out);
    ss_sentence_add(out, " arises in ");
    add_stage(stage, stages->model, stages->training, out);
    ss_sentence_add(out, ": ");
    add_delay(stages, delay_ns, out);
}

/* Where a heavier tool should be pointed at. */
static void add_worst(const struct stages *stages, const struct ss_stage *worst,
                      struct ss_sentence *out)
{
    ss_sentence_add(out, "most delay of one rank arises in ");
    add_stage(worst, stages->model, stages->training, out);
    ss_sentence_add(out, ": ");
    if (stages->late->verdict == SS_LATE_ONE) {
        ss_lateness_add_rank(stages->late->claim.row, stages->model, out);
        ss_sentence_add(out, ", ");
    }
    add_delay(stages, worst->rank_ns, out);
    if (2 * worst->rank_ns < worst->delay_ns) {
        ss_sentence_add(out, "; most of the delay there comes from other ranks, and varies");
    }
}

/* What the stages alone would say of another rank. */
static void add_other(const struct stages *stages, const struct ss_stage *worst)
{
    const struct ss_rank_profile *row =
        ss_rank_profile_of(stages->late->ranks, stages->frontier->ranks.data[worst->rank]);
    struct ss_sentence *out = ss_table_add_note(stages->table, SS_NOTE_ASIDE);
    ss_sentence_add(out, ss_late_evidence_text(SS_LATE_BY_STAGES));
    ss_sentence_add(out, " would name ");
    ss_lateness_add_rank(row, stages->model, out);
    ss_sentence_add(out, " (");
    add_delay(stages, worst->rank_ns, out);
    ss_sentence_add(out, ", in ");
    add_stage(worst, stages->model, stages->training, out);
    ss_sentence_add(out, "), but counts less than ");
    ss_sentence_add(out, ss_late_evidence_text(stages->late->claim.by));
}

/* The stage that matters, or that there is none. */
static void add_result(const struct stages *stages)
{
    const struct ss_stage_frontier *frontier = stages->frontier;
    bool has_worst = frontier->worst < frontier->rows.count &&
                     100 * frontier->rows.data[frontier->worst].rank_ns >=
                         SS_LIMIT_FINDING_PERCENT * frontier->total_ns;
    const struct ss_stage *worst = has_worst ? &frontier->rows.data[frontier->worst] : NULL;
    bool is_one = stages->late->verdict == SS_LATE_ONE;
    bool agrees = is_one && has_worst &&
                  frontier->ranks.data[worst->rank] == stages->late->claim.row->process;
    struct ss_sentence *out = ss_table_add_note(stages->table, SS_NOTE_FACT);
    if (agrees || (has_worst && !is_one)) {
        add_worst(stages, worst, out);
    } else if (is_one) {
        add_late(stages, out);
    } else {
        ss_sentence_add(out, "in no stage does one rank fall behind by ");
        ss_sentence_add_percent(out, SS_LIMIT_FINDING_PERCENT, 0);
        ss_sentence_add(out, " of a step, and by more than chance explains");
    }
    if (has_worst && !is_one) {
        ss_sentence_add(out, "; ");
        ss_lateness_add(stages->late, stages->model, stages->training, out);
    } else if (has_worst && !agrees) {
        add_other(stages, worst);
    }
    ss_lateness_add_notes(stages->late, stages->model, stages->training, stages->table);
}

static void add_notes(const struct ss_stage_frontier *frontier, struct ss_table *table)
{
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
    ss_sentence_add(out, "exposed: what a stage adds to the time of the rank that is furthest "
                         "behind; all add up to ");
    ss_sentence_add_duration(out, frontier->total_ns / frontier->steps);
    ss_sentence_add(out, ", the mean of the longest of each of ");
    ss_sentence_add_count(out, frontier->steps);
    ss_sentence_add(out, " step");
    ss_sentence_add_plural(out, frontier->steps);
    ss_sentence_add(out, ". Delay: how much further from the median rank. Each rank counts by its "
                         "own clock, from the start of its step: no clocks are compared");
    if (frontier->skipped > 0) {
        out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, frontier->skipped);
        ss_sentence_add(out, frontier->skipped == 1 ? " step is" : " steps are");
        ss_sentence_add(out, " left out: not all ranks have it as a whole steady-state step");
    }
}

void ss_stage_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    struct ss_table *table)
{
    const struct ss_stage_frontier *frontier = ss_steps_frontier(selection, training);
    *table = (struct ss_table){.name = "stage",
                               .title = "Exposed time by stage of a step, over the ranks",
                               .empty_text = "no step that all ranks have as a whole",
                               .columns = columns,
                               .column_count = SS_STAGE_COLUMNS};
    for (size_t i = 0; i < frontier->rows.count && frontier->steps > 0; i++) {
        put_row(frontier, &frontier->rows.data[i], selection->model, training,
                ss_table_add_row(table));
    }
    if (table->row_count > 0 && frontier->ranks.count > 1) {
        struct stages stages = {frontier, ss_steps_lateness(selection, training), selection->model,
                                training, table};
        add_result(&stages);
    }
    if (table->row_count > 0) {
        add_notes(frontier, table);
    }
}
