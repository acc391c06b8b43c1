/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/collective_table.h"
#include "analysis/ranks/lateness.h"
#include "analysis/table/owner_cells.h"
#include "analysis/table/rule_limits.h"

static const struct ss_column columns[SS_RANK_COLUMNS] = {
    [SS_RANK_NUMBER] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_RANK_PID] = {.key = "pid"},
    [SS_RANK_STEPS] = {.key = "steps", .unit = "steps"},
    [SS_RANK_BATCH] = {.key = "batch_size", .unit = "examples"},
    [SS_RANK_EXAMPLES] = {.key = "examples_step", .unit = "examples"},
    [SS_RANK_TOKENS] = {.key = "tokens_step", .unit = "tokens", .comparison = SS_COMPARES_LEVEL},
    [SS_RANK_LENGTH] = {.key = "sequence_length", .unit = "tokens"},
    [SS_RANK_ELEMENTS] = {.key = "elements_step",
                          .unit = "elements",
                          .comparison = SS_COMPARES_LEVEL},
    [SS_RANK_STEP] = {.key = "step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_RANK_COMPUTE] = {.key = "compute_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_RANK_DATA] = {.key = "data_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_RANK_COMMUNICATION] = {.key = "communication_ns",
                               .unit = "ns",
                               .comparison = SS_COMPARES_STEP},
    [SS_RANK_WAITED] = {.key = "waited_ns", .unit = "ns"},
    [SS_RANK_CAUSED] = {.key = "caused_ns", .unit = "ns"},
    [SS_RANK_PASSED_ON] = {.key = "passed_on_ns", .unit = "ns"},
    [SS_RANK_WAITED_STEP] = {.key = "waited_step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_RANK_CAUSED_STEP] = {.key = "caused_step_ns",
                             .unit = "ns",
                             .comparison = SS_COMPARES_STEP,
                             .leads = true},
    [SS_RANK_LAST] = {.key = "times_last", .unit = "collectives"},
    [SS_RANK_COLLECTIVES] = {.key = "collectives", .unit = "collectives"},
    [SS_RANK_STAGE] = {.key = "slower_in"},
    [SS_RANK_STAGE_MORE] = {.key = "slower_by_ns", .unit = "ns"},
};

static void put_step(const struct ss_rank_profile *row, const struct ss_step_summary *training,
                     const struct ss_model *model, struct ss_cell *cells)
{
    cells[SS_RANK_STEPS] = ss_cell_integer((int64_t)row->steps);
    cells[SS_RANK_STEP] = ss_cell_integer((int64_t)row->step_ns);
    cells[SS_RANK_COMPUTE] = ss_cell_integer((int64_t)row->compute_ns);
    cells[SS_RANK_DATA] = ss_cell_integer((int64_t)row->data_ns);
    cells[SS_RANK_COMMUNICATION] = ss_cell_integer((int64_t)row->communication_ns);
    if (row->stage < training->phases.count) {
        cells[SS_RANK_STAGE] =
            ss_cell_text(ss_step_phase_text(model, &training->phases.data[row->stage]));
        cells[SS_RANK_STAGE_MORE] = ss_cell_integer((int64_t)row->stage_ns);
    }
}

static void put_waits(const struct ss_rank_waits *waits, uint64_t steps, struct ss_cell *cells)
{
    cells[SS_RANK_WAITED] = ss_cell_integer((int64_t)waits->waited_ns);
    cells[SS_RANK_CAUSED] = ss_cell_integer((int64_t)waits->caused_ns);
    cells[SS_RANK_PASSED_ON] = ss_cell_integer((int64_t)waits->passed_on_ns);
    cells[SS_RANK_LAST] = ss_cell_integer((int64_t)waits->times_last);
    cells[SS_RANK_COLLECTIVES] = ss_cell_integer((int64_t)waits->collectives);
    if (steps > 0) {
        cells[SS_RANK_WAITED_STEP] = ss_cell_integer((int64_t)(waits->waited_ns / steps));
        cells[SS_RANK_CAUSED_STEP] = ss_cell_integer((int64_t)(waits->caused_ns / steps));
    }
}

static void put_load(const struct ss_batch_load *load, struct ss_cell *cells)
{
    const double values[] = {load->examples, load->tokens, load->length, load->elements};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i] > 0) {
            cells[SS_RANK_EXAMPLES + i] = ss_cell_real(values[i]);
        }
    }
}

static void put_row(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                    const struct ss_step_summary *training, const struct ss_model *model,
                    struct ss_cell *cells)
{
    if (row->rank >= 0) {
        cells[SS_RANK_NUMBER] = ss_cell_integer(row->rank);
    }
    cells[SS_RANK_PID] = ss_process_cell(model, row->process);
    if (row->batch > 0) {
        cells[SS_RANK_BATCH] = ss_cell_integer((int64_t)row->batch);
    }
    put_load(&row->load, cells);
    if (row->steps > 0) {
        put_step(row, training, model, cells);
    }
    if (profiles->collectives->rows.count > 0) {
        put_waits(&profiles->waits.ranks[row->process], row->steps, cells);
    }
}

/* Ranks with batches of different sizes do not have equal work. */
static void add_batches(const struct ss_rank_profiles *profiles, struct ss_table *table)
{
    const struct ss_rank_profile *least = NULL, *most = NULL;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *row = &profiles->rows.data[i];
        least = row->batch > 0 && (least == NULL || row->batch < least->batch) ? row : least;
        most = row->batch > 0 && (most == NULL || row->batch > most->batch) ? row : most;
    }
    if (least == NULL || least->batch == most->batch) {
        return;
    }
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_FACT);
    ss_sentence_add(out, "batches differ: ");
    ss_sentence_add_count(out, least->batch);
    ss_sentence_add(out, " examples on rank ");
    ss_sentence_add_number(out, least->rank);
    ss_sentence_add(out, ", ");
    ss_sentence_add_count(out, most->batch);
    ss_sentence_add(out, " on rank ");
    ss_sentence_add_number(out, most->rank);
}

/* The rank that computes on most, if that is clearly more than the others do. */
static void add_work(const struct ss_rank_profiles *profiles, struct ss_table *table)
{
    const struct ss_rank_profile *most = NULL;
    enum ss_more_work of = SS_MORE_NOTHING;
    double most_times = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *row = &profiles->rows.data[i];
        enum ss_more_work more = ss_rank_profiles_more_work(profiles, row);
        double times = ss_rank_profiles_times(profiles, row, more);
        if (times > most_times) {
            most = row;
            of = more;
            most_times = times;
        }
    }
    if (most != NULL) {
        ss_rank_profiles_add_work(profiles, most, of, ss_table_add_note(table, SS_NOTE_FACT));
    }
}

static void add_notes(const struct ss_rank_profiles *profiles, struct ss_table *table)
{
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
    if (profiles->collectives->rows.count == 0) {
        ss_sentence_add(out, "no collective was matched over the ranks: the waits of ranks for "
                             "each other are unknown");
        return;
    }
    ss_sentence_add(out,
                    "waited: until the last rank arrived. Caused: what the others would not "
                    "have waited if this rank had arrived second to last. Passed on: the same, "
                    "but this rank was waiting for another one, which caused it");
    if (profiles->waits.unresolved > 0) {
        out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, profiles->waits.unresolved);
        ss_sentence_add(out,
                        profiles->waits.unresolved == 1 ? " collective says" : " collectives say");
        ss_sentence_add(out, " nothing of who was last: below resolution, or ranks are missing");
    }
    ss_collectives_add_notes(profiles->collectives, table);
}

void ss_rank_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                   uint64_t max_rows, struct ss_table *table)
{
    const struct ss_rank_profiles *profiles = ss_steps_ranks(selection, training);
    *table = (struct ss_table){.name = "rank",
                               .title = "Ranks",
                               .empty_text = "no process marks steps or has collectives",
                               .columns = columns,
                               .column_count = SS_RANK_COLUMNS};
    for (size_t i = 0; i < profiles->rows.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = profiles->rows.count - i;
            break;
        }
        put_row(profiles, &profiles->rows.data[i], training, selection->model,
                ss_table_add_row(table));
    }
    if (table->row_count > 0) {
        ss_lateness_add_notes(ss_steps_lateness(selection, training), selection->model, training,
                              table);
        add_batches(profiles, table);
        add_work(profiles, table);
        add_notes(profiles, table);
    }
}
