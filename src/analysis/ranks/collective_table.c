/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/collective_table.h"

#include "analysis/pipeline/messages.h"
#include "analysis/ranks/lateness.h"
#include "analysis/selection/program_facts.h"
#include "analysis/selection/shared_ranges.h"
#include "analysis/table/owner_cells.h"

static const struct ss_column columns[SS_COLLECTIVE_COLUMNS] = {
    [SS_COLLECTIVE_NUMBER] = {.key = "number"},
    [SS_COLLECTIVE_GROUP] = {.key = "group"},
    [SS_COLLECTIVE_SEQUENCE] = {.key = "sequence"},
    [SS_COLLECTIVE_NAME] = {.key = "name"},
    [SS_COLLECTIVE_RANKS] = {.key = "ranks", .unit = "ranks"},
    [SS_COLLECTIVE_FROM] = {.key = "from_rank"},
    [SS_COLLECTIVE_TO] = {.key = "to_rank"},
    [SS_COLLECTIVE_LAST_RANK] = {.key = "last_rank"},
    [SS_COLLECTIVE_LAST_PID] = {.key = "last_pid"},
    [SS_COLLECTIVE_FOR_RANK] = {.key = "waited_for_rank"},
    [SS_COLLECTIVE_SKEW] = {.key = "skew_ns", .unit = "ns"},
    [SS_COLLECTIVE_BEHIND] = {.key = "last_behind_ns", .unit = "ns"},
    [SS_COLLECTIVE_WAIT] = {.key = "mean_wait_ns", .unit = "ns"},
    [SS_COLLECTIVE_TRANSFER] = {.key = "transfer_ns", .unit = "ns"},
    [SS_COLLECTIVE_ENDS] = {.key = "ends_differ_ns", .unit = "ns"},
    [SS_COLLECTIVE_ERROR] = {.key = "clock_error_ns", .unit = "ns"},
    [SS_COLLECTIVE_BYTES] = {.key = "bytes", .unit = "bytes"},
    [SS_COLLECTIVE_ALGORITHM] = {.key = "algorithm"},
    [SS_COLLECTIVE_PROTOCOL] = {.key = "protocol"},
    [SS_COLLECTIVE_MODULE] = {.key = "module"},
    [SS_COLLECTIVE_BUCKET] = {.key = "bucket"},
    [SS_COLLECTIVE_BUCKETS] = {.key = "buckets"},
    [SS_COLLECTIVE_FIRST_PARAMETER] = {.key = "first_parameter"},
    [SS_COLLECTIVE_LAST_PARAMETER] = {.key = "last_parameter"},
    [SS_COLLECTIVE_NOTE] = {.key = "note"},
};

static const char *note_of(const struct ss_collective *row)
{
    return !row->is_whole                    ? "ranks are missing"
           : !row->synchronises              ? "goes one way"
           : row->is_violated                ? "ends before the last arrival"
           : !ss_collective_is_resolved(row) ? "below resolution"
                                             : NULL;
}

static void put_last(const struct ss_model *model, const struct ss_collective *row, uint32_t cause,
                     struct ss_cell *cells)
{
    int64_t rank = ss_rank_of(model, row->last), for_rank = ss_rank_of(model, cause);
    if (rank >= 0) {
        cells[SS_COLLECTIVE_LAST_RANK] = ss_cell_integer(rank);
    }
    cells[SS_COLLECTIVE_LAST_PID] = ss_process_cell(model, row->last);
    if (cause != 0 && cause != row->last && for_rank >= 0) {
        cells[SS_COLLECTIVE_FOR_RANK] = ss_cell_integer(for_rank);
    }
}

static int64_t bytes_of(const struct ss_model *model, const struct ss_rank_call *calls,
                        size_t count)
{
    int64_t most = -1;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = ss_rank_call_bytes(model, &calls[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Of the first rank that has it. */
static void put_field(const struct ss_model *model, const struct ss_rank_call *calls, size_t count,
                      uint32_t field, struct ss_cell *cell)
{
    struct ss_strview text = {"", 0};
    for (size_t i = 0; i < count && text.length == 0; i++) {
        text = ss_event_text(model, &model->ranges.data[calls[i].range], field);
    }
    if (text.length > 0) {
        *cell = ss_cell_text(text);
    }
}

/* Of the first rank that has it. */
static void put_number(const struct ss_model *model, const struct ss_rank_call *calls, size_t count,
                       uint32_t field, struct ss_cell *cell)
{
    int64_t number;
    for (size_t i = 0; i < count; i++) {
        if (ss_event_number(model, &model->ranges.data[calls[i].range], field, &number)) {
            *cell = ss_cell_integer(number);
            return;
        }
    }
}

static void put_module(const struct ss_model *model, const struct ss_rank_call *calls, size_t count,
                       struct ss_cell *cells)
{
    put_field(model, calls, count, SS_EVENT_FIELD_module, &cells[SS_COLLECTIVE_MODULE]);
    put_number(model, calls, count, SS_EVENT_FIELD_bucket, &cells[SS_COLLECTIVE_BUCKET]);
    put_number(model, calls, count, SS_EVENT_FIELD_buckets, &cells[SS_COLLECTIVE_BUCKETS]);
    put_field(model, calls, count, SS_EVENT_FIELD_first_parameter,
              &cells[SS_COLLECTIVE_FIRST_PARAMETER]);
    put_field(model, calls, count, SS_EVENT_FIELD_last_parameter,
              &cells[SS_COLLECTIVE_LAST_PARAMETER]);
}

static void put_row(const struct ss_model *model, const struct ss_collectives *collectives,
                    size_t number, uint32_t cause, struct ss_cell *cells)
{
    const struct ss_collective *row = &collectives->rows.data[number];
    const struct ss_rank_call *calls = &collectives->calls.rows.data[row->first];
    int64_t bytes = bytes_of(model, calls, row->count);
    const char *note = note_of(row);
    cells[SS_COLLECTIVE_NUMBER] = ss_cell_integer((int64_t)number);
    if (calls->group != 0) {
        cells[SS_COLLECTIVE_GROUP] = ss_cell_text(ss_intern_get(&model->strings, calls->group));
    }
    if (!calls->is_counted) {
        cells[SS_COLLECTIVE_SEQUENCE] = ss_cell_integer(calls->sequence);
    }
    cells[SS_COLLECTIVE_NAME] = ss_cell_text(ss_rank_call_kind(model, calls));
    cells[SS_COLLECTIVE_RANKS] = ss_cell_integer((int64_t)row->count);
    if (note != NULL) {
        cells[SS_COLLECTIVE_NOTE] = ss_cell_text(ss_strview_of(note));
    } else {
        put_last(model, row, cause, cells);
    }
    cells[SS_COLLECTIVE_SKEW] = ss_cell_integer((int64_t)(row->last_ns - row->first_ns));
    cells[SS_COLLECTIVE_BEHIND] = ss_cell_integer((int64_t)(row->last_ns - row->second_ns));
    cells[SS_COLLECTIVE_WAIT] = ss_cell_integer((int64_t)(row->wait_ns / row->count));
    if (row->first_end_ns >= row->last_ns) {
        cells[SS_COLLECTIVE_TRANSFER] =
            ss_cell_integer((int64_t)(row->first_end_ns - row->last_ns));
    }
    cells[SS_COLLECTIVE_ENDS] = ss_cell_integer((int64_t)(row->last_end_ns - row->first_end_ns));
    cells[SS_COLLECTIVE_ERROR] = ss_cell_integer((int64_t)row->error_ns);
    if (bytes >= 0) {
        cells[SS_COLLECTIVE_BYTES] = ss_cell_integer(bytes);
    }
    put_field(model, calls, row->count, SS_EVENT_FIELD_algorithm, &cells[SS_COLLECTIVE_ALGORITHM]);
    put_field(model, calls, row->count, SS_EVENT_FIELD_protocol, &cells[SS_COLLECTIVE_PROTOCOL]);
    put_module(model, calls, row->count, cells);
}

/* The later one of sender and receiver is the last; only the receiver waits for the other. */
static void put_message(const struct ss_model *model, const struct ss_message *row,
                        struct ss_cell *cells)
{
    const struct ss_model_range *received = &model->ranges.data[row->receive];
    const struct ss_rank_call calls[] = {{.range = row->send}, {.range = row->receive}};
    uint64_t skew_ns = row->last_ns - row->first_ns;
    int64_t bytes = bytes_of(model, calls, 2);
    if (row->group != 0) {
        cells[SS_COLLECTIVE_GROUP] = ss_cell_text(ss_intern_get(&model->strings, row->group));
    }
    cells[SS_COLLECTIVE_SEQUENCE] = ss_cell_integer(row->sequence);
    cells[SS_COLLECTIVE_NAME] = ss_cell_text(ss_strview_of("send"));
    cells[SS_COLLECTIVE_RANKS] = ss_cell_integer(2);
    cells[SS_COLLECTIVE_FROM] = ss_cell_integer(row->from);
    cells[SS_COLLECTIVE_TO] = ss_cell_integer(row->to);
    cells[SS_COLLECTIVE_SKEW] = ss_cell_integer((int64_t)skew_ns);
    cells[SS_COLLECTIVE_BEHIND] = ss_cell_integer((int64_t)skew_ns);
    bool waits = received->begin_ns == row->first_ns;
    cells[SS_COLLECTIVE_WAIT] = ss_cell_integer(waits ? (int64_t)(skew_ns / 2) : 0);
    if (row->receive_ns >= row->last_ns) {
        cells[SS_COLLECTIVE_TRANSFER] = ss_cell_integer((int64_t)(row->receive_ns - row->last_ns));
    }
    if (bytes >= 0) {
        cells[SS_COLLECTIVE_BYTES] = ss_cell_integer(bytes);
    }
    put_module(model, calls, 2, cells);
    cells[SS_COLLECTIVE_NOTE] = ss_cell_text(ss_strview_of("goes one way"));
}

/* --- notes ------------------------------------------------------------------------------------ */

static void add_clock_note(const struct ss_collectives *collectives, struct ss_table *table)
{
    struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
    if (collectives->error_ns == 0 && !collectives->is_wall) {
        ss_sentence_add(out, "the ranks share one clock");
        return;
    }
    ss_sentence_add(out, "clocks of the ranks differ by up to ");
    ss_sentence_add_duration(out, collectives->error_ns);
    ss_sentence_add(out,
                    collectives->is_wall
                        ? ", as the ends of collectives show: they count by the wall clock, "
                          "whose error was not recorded. What is not longer is below resolution"
                        : ": what is not longer is below resolution");
}

void ss_collectives_add_notes(const struct ss_collectives *collectives, struct ss_table *table)
{
    add_clock_note(collectives, table);
    if (collectives->violated > 0) {
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_WARNING);
        ss_sentence_add_count(out, collectives->violated);
        ss_sentence_add(out, collectives->violated == 1 ? " collective ends" : " collectives end");
        ss_sentence_add(out, " on a rank before another arrives: the clocks differ by more than "
                             "that, or other collectives were matched. Left out of all sums");
    }
    if (collectives->calls.unaligned > 0) {
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_WARNING);
        ss_sentence_add_count(out, collectives->calls.unaligned);
        ss_sentence_add(out,
                        " calls are left out: the clocks of their ranks contradict the clocks of "
                        "others (stepscope info)");
    }
    if (collectives->unmatched > 0) {
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, collectives->unmatched);
        ss_sentence_add(out, collectives->unmatched == 1 ? " call of a collective has"
                                                         : " calls of collectives have");
        ss_sentence_add(out, " no match on another rank");
    }
}

/* By the last arrival. */
static void add_rows(const struct ss_model *model, const struct ss_blame *blame,
                     const struct ss_messages *messages, uint64_t max_rows, struct ss_table *table)
{
    const struct ss_collectives *collectives = blame->collectives;
    size_t count = collectives->rows.count, all = count + messages->rows.count;
    for (size_t i = 0, next = 0; i + next < all;) {
        if (max_rows != 0 && i + next >= max_rows) {
            table->hidden_rows = all - i - next;
            break;
        }
        bool is_message =
            i == count || (next < messages->rows.count &&
                           messages->rows.data[next].last_ns < collectives->rows.data[i].last_ns);
        struct ss_cell *cells = ss_table_add_row(table);
        if (is_message) {
            put_message(model, &messages->rows.data[next++], cells);
        } else {
            put_row(model, collectives, i, blame->rows[i].cause, cells);
            i++;
        }
    }
}

void ss_collective_table(const struct ss_selection *selection,
                         const struct ss_step_summary *training, uint64_t max_rows,
                         struct ss_table *table)
{
    const struct ss_blame *blame = ss_selection_blame(selection);
    struct ss_messages messages;
    *table = (struct ss_table){
        .name = "collective",
        .title = "Collectives",
        .empty_text = "no two ranks have the same collectives, by group and number or in the same "
                      "order",
        .row_noun = "collective",
        .columns = columns,
        .column_count = SS_COLLECTIVE_COLUMNS};
    ss_messages_init(&messages, selection, ss_selection_runs(selection));
    add_rows(selection->model, blame, &messages, max_rows, table);
    if (table->row_count > 0) {
        ss_lateness_add_notes(ss_steps_lateness(selection, training), selection->model, training,
                              table);
        ss_collectives_add_notes(blame->collectives, table);
    }
    ss_messages_fini(&messages);
}
