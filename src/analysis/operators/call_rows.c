/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/call_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

struct ss_call_order *ss_call_order_new(const struct ss_calls *calls)
{
    struct ss_call_order *order = ss_alloc_zero(calls->rows.count + 1, sizeof *order);
    for (size_t i = 0; i < calls->rows.count; i++) {
        order[i] = (struct ss_call_order){.row = i, .name = ""};
    }
    return order;
}

static int compare(const void *left, const void *right)
{
    const struct ss_call_order *a = left, *b = right;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    int by_name = strcmp(a->name, b->name);
    if (by_name != 0) {
        return by_name;
    }
    if (a->other != b->other) {
        return a->other > b->other ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

void ss_call_order_sort(struct ss_call_order *order, size_t count)
{
    qsort(order, count, sizeof *order, compare);
}

/* The value of the last fact with this key; NULL: there is none. */
static const char *fact_of(const struct ss_model *model, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = model->notes.count; i-- > 0;) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *text = ss_model_text(model, note->text);
        if (strcmp(ss_model_text(model, note->kind), "fact") == 0 &&
            strncmp(text, key, length) == 0 && strncmp(text + length, " = ", 3) == 0) {
            return text + length + 3;
        }
    }
    return NULL;
}

static const char *why_unrecorded(const struct ss_model *model)
{
    const char *profiler = fact_of(model, ss_fact_torch_profiler);
    bool replaces_operators =
        profiler != NULL && strstr(profiler, "operators cannot be recorded") != NULL;
    return replaces_operators ? fact_of(model, ss_fact_torch_operators) : NULL;
}

void ss_call_put_steps(const struct ss_model *model, const struct ss_steady_time *steady,
                       const struct ss_calls *calls, struct ss_table *table)
{
    table->profiler_reason = why_unrecorded(model);
    table->whole_ns = calls->self_ns;
    table->steps_recorded = steady->recorded;
    table->steps = steady->all;
    table->steps_summed = calls->summed_steps;
    for (size_t i = 0; i < model->inputs.count; i++) {
        table->is_downsampled = table->is_downsampled || model->inputs.data[i].halvings > 0;
    }
}

void ss_call_add_steps_note(const char *what, struct ss_table *table)
{
    if (table->profiler_reason == NULL && table->steps_recorded >= table->steps) {
        return;
    }
    struct ss_sentence *note = ss_table_add_note(table, SS_NOTE_ASIDE);
    ss_sentence_add(note, what);
    if (table->profiler_reason != NULL) {
        ss_sentence_add(note, " seen by torch.profiler in ");
        ss_sentence_add_number(note, (int64_t)table->steps_recorded);
        ss_sentence_add(note, " of ");
        ss_sentence_add_number(note, (int64_t)table->steps);
        ss_sentence_add(note, " steps, since operators cannot be recorded: ");
        ss_sentence_add_name(note, ss_strview_of(table->profiler_reason));
        return;
    }
    bool is_thinned = table->steps_summed > 0 && !table->is_downsampled;
    ss_sentence_add(note, table->is_downsampled ? " counted in "
                          : is_thinned          ? " recorded in full in "
                                                : " recorded in ");
    ss_sentence_add_count(note, table->steps_recorded);
    ss_sentence_add(note, " of ");
    ss_sentence_add_count(note, table->steps);
    if (is_thinned) {
        ss_sentence_add(note, " steps, and as sums in ");
        ss_sentence_add_count(note, table->steps_summed);
        ss_sentence_add(note, " others, which all figures but the percentiles count (record "
                              "--full records all in full)");
        return;
    }
    ss_sentence_add(note, table->is_downsampled
                              ? " steps, chosen at random because all are too many (--steps "
                                "0:1000 counts these)"
                              : " steps (record --operators all records each)");
}

double ss_call_percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

struct ss_cell ss_call_time_cell(uint64_t ns)
{
    return ss_cell_integer(ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

struct ss_call_times ss_call_times_of_all(const struct ss_call_row *row)
{
    return (struct ss_call_times){.calls = row->all.calls + row->summed.calls,
                                  .self_ns = row->all.self_ns + row->summed.self_ns,
                                  .total_ns = row->all.total_ns + row->summed.total_ns,
                                  .backward_ns = row->all.backward_ns + row->summed.backward_ns};
}

uint64_t ss_call_mean(const struct ss_call_times *times)
{
    return times->calls > 0 ? times->total_ns / times->calls : 0;
}

uint64_t ss_call_duration_value(const struct ss_calls *calls, const struct ss_call_row *row,
                                enum ss_operator_sort sort)
{
    const uint64_t *durations = calls->durations + row->first;
    size_t count = row->all.calls;
    if (count == 0) {
        return 0;
    }
    return sort == SS_OPERATORS_BY_MIN   ? durations[0]
           : sort == SS_OPERATORS_BY_P50 ? ss_median_u64(durations, count)
           : sort == SS_OPERATORS_BY_P95 ? ss_percentile_u64(durations, count, 95)
                                         : durations[count - 1];
}

void ss_call_duration_cells(const struct ss_calls *calls, const struct ss_call_row *row,
                            struct ss_cell *cells)
{
    static const enum ss_operator_sort order[] = {SS_OPERATORS_BY_MIN, SS_OPERATORS_BY_P50,
                                                  SS_OPERATORS_BY_P95, SS_OPERATORS_BY_MAX};
    for (size_t i = 0; i < 4 && row->all.calls > 0; i++) {
        cells[i] = ss_call_time_cell(ss_call_duration_value(calls, row, order[i]));
    }
}

void ss_call_identity_cells(const struct ss_model *model, const struct ss_call_row *row,
                            unsigned grouping, struct ss_cell *name, struct ss_cell *phase,
                            struct ss_cell *owner)
{
    struct ss_cell tid = {0}, thread = {0};
    *name = ss_cell_text(ss_intern_get(&model->strings, model->names.data[row->name].text));
    if ((grouping & SS_CALLS_BY_PHASE) != 0) {
        *phase = ss_cell_text(row->phase != 0 ? ss_intern_get(&model->strings, row->phase)
                                              : ss_strview_of("other"));
    }
    if ((grouping & (SS_CALLS_BY_PROCESS | SS_CALLS_BY_THREAD)) != 0) {
        ss_track_owner_cells(model, row->track, &owner[0], &tid, &thread);
    }
    if ((grouping & SS_CALLS_BY_THREAD) != 0) {
        owner[1] = tid;
        owner[2] = thread;
    }
}
