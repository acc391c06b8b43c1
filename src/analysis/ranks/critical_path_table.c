/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/ranks/critical_path.h"
#include "analysis/ranks/lateness.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* --- the path --------------------------------------------------------------------------------- */

enum { PATH_RANK, PATH_PID, PATH_PART, PATH_PERCENT, PATH_STEP, PATH_COLUMNS };
static const struct ss_column path_columns[PATH_COLUMNS] = {
    [PATH_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [PATH_PID] = {.key = "pid"},
    [PATH_PART] = {.key = "part", .comparison = SS_COMPARES_KEY},
    [PATH_PERCENT] = {.key = "percent", .unit = "percent"},
    [PATH_STEP] = {.key = "step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP, .leads = true},
};

struct entry {
    uint64_t ns;
    size_t rank, part;
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->ns != b->ns) {
        return a->ns > b->ns ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return a->part < b->part ? -1 : a->part > b->part;
}

static struct ss_strview part_text(const struct ss_model *model,
                                   const struct ss_step_summary *training, size_t part)
{
    size_t phases = training->phases.count;
    return part < phases ? ss_step_phase_text(model, &training->phases.data[part])
           : part == phases + SS_PATH_COMMUNICATION ? ss_strview_of(ss_phase_communication)
                                                    : ss_strview_of("before its step");
}

static void put_rank(const struct ss_model *model, const struct ss_rank_profile *row,
                     struct ss_cell *rank, struct ss_cell *pid)
{
    if (row->rank >= 0) {
        *rank = ss_cell_integer(row->rank);
    }
    *pid = ss_process_cell(model, row->process);
}

static void fill_path(const struct ss_critical_path *path, const struct ss_rank_profiles *profiles,
                      const struct ss_model *model, const struct ss_step_summary *training,
                      uint64_t max_rows, struct ss_table *table)
{
    struct ss_vec_of(struct entry) entries = {0};
    for (size_t i = 0; i < path->ranks * path->parts; i++) {
        if (path->part_ns[i] > 0) {
            struct entry entry = {path->part_ns[i], i / path->parts, i % path->parts};
            ss_vec_push(&entries, entry);
        }
    }
    if (entries.count > 1) {
        qsort(entries.data, entries.count, sizeof *entries.data, compare_entries);
    }
    for (size_t i = 0; i < entries.count; i++) {
        const struct entry *entry = &entries.data[i];
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = entries.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        put_rank(model, &profiles->rows.data[entry->rank], &cells[PATH_RANK], &cells[PATH_PID]);
        cells[PATH_PART] = ss_cell_text(part_text(model, training, entry->part));
        cells[PATH_PERCENT] = ss_cell_real(100 * (double)entry->ns / (double)path->total_ns);
        cells[PATH_STEP] = ss_cell_integer((int64_t)(entry->ns / path->steps));
    }
    ss_vec_fini(&entries);
    if (table->row_count > 0) {
        struct ss_sentence *out = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add(out, "all rows add up to the mean of ");
        ss_sentence_add_count(out, path->steps);
        ss_sentence_add(out, " step");
        ss_sentence_add_plural(out, path->steps);
        ss_sentence_add(out, ", from the first rank that begins it to the last that ends it: ");
        ss_sentence_add_duration(out, path->total_ns / path->steps);
    }
}

/* --- what if ---------------------------------------------------------------------------------- */

enum { IF_WHAT, IF_RANK, IF_PERCENT, IF_SAVED, IF_COLUMNS };
static const struct ss_column if_columns[IF_COLUMNS] = {
    [IF_WHAT] = {.key = "what_if", .comparison = SS_COMPARES_KEY},
    [IF_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [IF_PERCENT] = {.key = "saved_percent", .unit = "percent", .comparison = SS_COMPARES_LEVEL},
    [IF_SAVED] = {.key = "saved_step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
};

struct asking {
    const struct ss_rank_timeline *timeline;
    const struct ss_rank_profiles *profiles;
    struct ss_table *table;
    uint64_t measured_ns, steps;
};

static void put_if(const struct asking *asking, const char *text, int64_t rank,
                   const struct ss_what_if *what)
{
    uint64_t ns = ss_what_if_replay(asking->timeline, asking->profiles, what);
    uint64_t saved_ns = asking->measured_ns > ns ? asking->measured_ns - ns : 0;
    struct ss_cell *cells = ss_table_add_row(asking->table);
    cells[IF_WHAT] = ss_cell_text(ss_strview_of(text));
    if (rank >= 0) {
        cells[IF_RANK] = ss_cell_integer(rank);
    }
    cells[IF_PERCENT] = ss_cell_real(100 * (double)saved_ns / (double)asking->measured_ns);
    cells[IF_SAVED] = ss_cell_integer((int64_t)(saved_ns / asking->steps));
}

enum { REPLAY_ERROR_PERCENT = 1 };

static bool is_valid(const struct asking *asking, const struct ss_what_if *nothing)
{
    uint64_t ns = ss_what_if_replay(asking->timeline, asking->profiles, nothing);
    uint64_t far_ns =
        ns > asking->measured_ns ? ns - asking->measured_ns : asking->measured_ns - ns;
    return asking->measured_ns > 0 && 100 * far_ns <= REPLAY_ERROR_PERCENT * asking->measured_ns;
}

static void fill_ifs(const struct asking *asking, const struct ss_model *model,
                     const struct ss_step_summary *training)
{
    const struct ss_rank_profiles *profiles = asking->profiles;
    struct ss_what_if nothing = {.without_phase = training->phases.count,
                                 .rank_at_median = profiles->rows.count};
    if (!is_valid(asking, &nothing)) {
        asking->table->empty_text =
            "model not valid: replayed unchanged, the ranks take another time than was measured";
        return;
    }
    for (size_t i = 0; i < profiles->rows.count; i++) {
        struct ss_what_if what = nothing;
        what.rank_at_median = i;
        if (profiles->rows.data[i].stage_ns > 0 &&
            profiles->waits.ranks[profiles->rows.data[i].process].caused_ns > 0) {
            put_if(asking, "rank as fast as the median", profiles->rows.data[i].rank, &what);
        }
    }
    struct ss_what_if what = nothing;
    what.all_at_median = true;
    put_if(asking, "every rank as fast as the median", -1, &what);
    what = nothing;
    what.no_transfers = true;
    put_if(asking, "communication takes no time", -1, &what);
    what = nothing;
    what.without_phase = ss_step_phase_named(training, model, ss_phase_data);
    if (what.without_phase < training->phases.count) {
        put_if(asking, "input takes no time", -1, &what);
    }
    struct ss_sentence *out = ss_table_add_note(asking->table, SS_NOTE_ASIDE);
    ss_sentence_add(out, "replayed; unchanged, it takes what was measured within ");
    ss_sentence_add_percent(out, REPLAY_ERROR_PERCENT, 0);
}

size_t ss_critical_path_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *tables)
{
    const struct ss_rank_profiles *profiles = ss_steps_ranks(selection, training);
    struct ss_rank_timeline timeline;
    struct ss_critical_path path;
    tables[0] = (struct ss_table){.name = "critical-path",
                                  .title = "Critical path of a step over the ranks",
                                  .empty_text = "no rank has whole steady-state steps",
                                  .columns = path_columns,
                                  .column_count = PATH_COLUMNS};
    tables[1] = (struct ss_table){.name = "what-if",
                                  .title = "What if",
                                  .empty_text = "no rank has whole steady-state steps",
                                  .columns = if_columns,
                                  .column_count = IF_COLUMNS};
    ss_rank_timeline_init(&timeline, selection, training);
    ss_critical_path_init(&path, &timeline, profiles, training);
    if (path.steps > 0) {
        fill_path(&path, profiles, selection->model, training, max_rows, &tables[0]);
        struct asking asking = {&timeline, profiles, &tables[1], ss_what_if_measured(&timeline),
                                profiles->steps > 0 ? profiles->steps : 1};
        fill_ifs(&asking, selection->model, training);
        ss_lateness_add_notes(ss_steps_lateness(selection, training), selection->model, training,
                              &tables[0]);
    }
    ss_critical_path_fini(&path);
    ss_rank_timeline_fini(&timeline);
    return 2;
}
