/* SPDX-License-Identifier: Apache-2.0 */
/* The opening of the report of several ranks: which of them makes the others wait, in which part of
 * its step, what that costs and what the claim rests on; and the ranks by steps. */
#include "analysis/pipeline/stage_frontier.h"
#include "analysis/ranks/rank_heat.h"
#include "analysis/ranks/rank_profiles.h"
#include "analysis/report/report_parts.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/rule_limits.h"

enum { MOST_ROWS = 32 };

static void add_rank(const struct ss_rank_profile *row, const struct ss_model *model,
                     struct ss_sentence *out)
{
    if (row->rank >= 0) {
        ss_sentence_add(out, "rank ");
        ss_sentence_add_number(out, row->rank);
    } else {
        ss_sentence_add(out, "process ");
        ss_sentence_add_number(out, model->processes.data[row->process].pid);
    }
}

/* "2 ranks: ", or "2 of 128 ranks: " where the others were not recorded. */
static void add_ranks(const struct ss_rank_profiles *profiles, size_t ranks,
                      struct ss_sentence *out)
{
    ss_sentence_add_count(out, ranks);
    if (profiles->world_size > ranks) {
        ss_sentence_add(out, " of ");
        ss_sentence_add_count(out, profiles->world_size);
    }
    ss_sentence_add(out, " ranks: ");
}

/* What the comparison leaves out. */
static void add_left_out(const struct ss_rank_profiles *profiles, struct ss_document *document)
{
    size_t copies = profiles->collectives.calls.copies;
    if (profiles->left_out > 0) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_WARNING);
        ss_sentence_add(out, "the files are of ");
        ss_sentence_add_count(out, profiles->collectives.calls.jobs);
        ss_sentence_add(out, " jobs, by their world sizes, ranks and times: ");
        ss_sentence_add_count(out, profiles->left_out);
        ss_sentence_add(out, profiles->left_out == 1
                                 ? " rank of another job is not compared with these"
                                 : " ranks of other jobs are not compared with these");
    }
    if (copies > 0) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_WARNING);
        ss_sentence_add_count(out, copies);
        ss_sentence_add(out, copies == 1 ? " rank is there twice" : " ranks are there twice");
        ss_sentence_add(out, ": their collectives count once");
    }
}

/* What each of the others waits for it in all. */
static uint64_t per_other_ns(const struct ss_rank_profiles *profiles,
                             const struct ss_rank_profile *row)
{
    uint64_t others = profiles->rows.count - 1;
    return others > 0 ? profiles->blame.ranks[row->process].caused_ns / others : 0;
}

static void add_slowest(const struct ss_rank_profiles *profiles,
                        const struct ss_report_parts *parts, const struct ss_rank_profile *row,
                        struct ss_sentence *out)
{
    const struct ss_model *model = parts->selection->model;
    uint64_t per_step_ns = ss_rank_profiles_cost_ns(profiles, row);
    add_ranks(profiles, profiles->rows.count, out);
    add_rank(row, model, out);
    bool is_pair = profiles->rows.count == 2;
    ss_sentence_add(out, is_pair ? " holds up the other by " : " holds up every other rank by ");
    if (row->step_ns == 0) { /* a program without steps */
        ss_sentence_add_duration(out, per_other_ns(profiles, row));
        ss_sentence_add(out, " in total");
        return;
    }
    ss_sentence_add_duration(out, per_step_ns);
    ss_sentence_add(out, " of a step of ");
    ss_sentence_add_duration(out, row->step_ns);
    if (row->stage < parts->training.phases.count) {
        ss_sentence_add(out, " (its phase ");
        ss_report_add_phase(model, &parts->training.phases.data[row->stage], out);
        ss_sentence_add(out, " takes ");
        ss_sentence_add_duration(out, row->stage_ns);
        ss_sentence_add(out, " longer than the median rank's)");
    }
}

static void put_work(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                     struct ss_figure *object)
{
    static const char *const keys[] = {[SS_MORE_TOKENS] = "times_the_tokens",
                                       [SS_MORE_PADDING] = "times_the_padded_elements",
                                       [SS_MORE_EXAMPLES] = "times_the_examples",
                                       [SS_MORE_ELEMENTS] = "times_the_elements"};
    enum ss_more_work of = ss_rank_profiles_more_work(profiles, row);
    if (of != SS_MORE_NOTHING) {
        ss_figure_put_real(object, keys[of], ss_rank_profiles_times(profiles, row, of));
    }
}

static void add_work(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                     struct ss_document *document)
{
    enum ss_more_work of = ss_rank_profiles_more_work(profiles, row);
    if (of != SS_MORE_NOTHING) {
        ss_rank_profiles_add_work(profiles, row, of, ss_document_add_note(document, SS_NOTE_FACT));
    }
}

static uint64_t error_of(const struct ss_collectives *collectives)
{
    uint64_t error_ns = 0;
    for (size_t i = 0; i < collectives->rows.count; i++) {
        uint64_t row_ns = collectives->rows.data[i].error_ns;
        error_ns = row_ns > error_ns ? row_ns : error_ns;
    }
    return error_ns;
}

static void add_evidence(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                         struct ss_sentence *out)
{
    const struct ss_rank_waits *waits = &profiles->blame.ranks[row->process];
    uint64_t error_ns = error_of(&profiles->collectives);
    ss_sentence_add(out, "last in ");
    ss_sentence_add_count(out, waits->times_last);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, waits->collectives);
    ss_sentence_add(out, row->step_ns > 0 ? " collectives of steady-state steps, waited "
                                          : " collectives, waited ");
    ss_sentence_add_duration(out, waits->waited_ns);
    ss_sentence_add(out, " itself · ");
    if (error_ns == 0) {
        ss_sentence_add(out, "the ranks share one clock");
    } else {
        ss_sentence_add(out, "error of the clocks ");
        ss_sentence_add_duration(out, error_ns);
        ss_sentence_add(out, profiles->collectives.is_wall ? ", by the ends of collectives" : "");
    }
    ss_sentence_add(out, " · report --by rank, --by collective");
}

/* --- ranks by steps --------------------------------------------------------------------------- */

/* Of many ranks, evenly chosen ones. */
static void add_heat(const struct ss_rank_profiles *profiles, const struct ss_report_parts *parts,
                     struct ss_document *document)
{
    const struct ss_device_facts *device = &parts->facts.device;
    struct ss_rank_heat heat;
    ss_rank_heat_init(&heat, profiles, device->has_steps ? &device->summary : NULL,
                      parts->selection->model, &parts->training);
    size_t rows = heat.ranks < MOST_ROWS ? heat.ranks : MOST_ROWS;
    if (heat.steps > 1) {
        struct ss_block *block = ss_document_join(document, SS_BLOCK_HEAT);
        block->heat.label = "own time of each rank, step by step";
        block->heat.low = heat.low_ns;
        block->heat.high = heat.high_ns;
        block->heat.columns = heat.steps;
        for (size_t r = 0; r < rows; r++) {
            size_t from = r * heat.ranks / rows;
            ss_vec_push(&block->heat.rows, heat.rank_numbers[from]);
            for (size_t s = 0; s < heat.steps; s++) {
                ss_vec_push(&block->heat.values, heat.own_ns[from * heat.steps + s]);
            }
        }
    }
    ss_rank_heat_fini(&heat);
}

static void put_figures(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                        const struct ss_report_parts *parts, struct ss_figure *figures)
{
    struct ss_figure *object = ss_figure_put_object(figures, "ranks");
    ss_figure_put_count(object, "ranks", profiles->rows.count);
    ss_figure_put_count(object, "world_size", profiles->world_size);
    ss_figure_put_count(object, "jobs", profiles->collectives.calls.jobs);
    ss_figure_put_count(object, "collectives", profiles->collectives.rows.count);
    ss_figure_put_count(object, "unresolved", profiles->blame.unresolved);
    ss_figure_put_count(object, "clock_error_ns", error_of(&profiles->collectives));
    if (row != NULL) {
        ss_figure_put_integer(object, "slowest_rank", row->rank);
        put_work(profiles, row, object);
        if (row->step_ns > 0) {
            ss_figure_put_count(object, "waits_each_other_step_ns",
                                ss_rank_profiles_cost_ns(profiles, row));
        } else {
            ss_figure_put_count(object, "waits_each_other_ns", per_other_ns(profiles, row));
        }
        if (row->stage < parts->training.phases.count) {
            struct ss_strview stage = ss_step_phase_text(parts->selection->model,
                                                         &parts->training.phases.data[row->stage]);
            ss_figure_put_name(object, "slower_in", stage);
            ss_figure_put_count(object, "slower_by_ns", row->stage_ns);
        }
    }
}

/* Where waits do not show which rank is slow: one that falls behind by itself, in one stage. */
static const struct ss_stage *find_behind(const struct ss_stage_frontier *frontier)
{
    if (frontier->worst >= frontier->rows.count) {
        return NULL;
    }
    const struct ss_stage *stage = &frontier->rows.data[frontier->worst];
    bool is_large = 100 * stage->rank_ns >= SS_LIMIT_GAIN_PERCENT * frontier->total_ns;
    return is_large && 2 * stage->rank_ns >= stage->delay_ns ? stage : NULL;
}

static void put_behind(const struct ss_rank_profiles *profiles,
                       const struct ss_stage_frontier *frontier, const struct ss_stage *stage,
                       struct ss_strview name, struct ss_figure *figures)
{
    const struct ss_rank_profile *row =
        ss_rank_profile_of(profiles, frontier->ranks.data[stage->rank]);
    struct ss_figure *object = ss_figure_put_object(figures, "ranks");
    ss_figure_put_count(object, "ranks", frontier->ranks.count);
    ss_figure_put_count(object, "collectives", profiles->collectives.rows.count);
    ss_figure_put_count(object, "unresolved", profiles->blame.unresolved);
    ss_figure_put_integer(object, "slowest_rank", row != NULL ? row->rank : -1);
    ss_figure_put_name(object, "slower_in", name);
    ss_figure_put_count(object, "slower_by_ns", stage->rank_ns / frontier->steps);
    if (row != NULL) {
        put_work(profiles, row, object);
    }
}

static void add_behind(const struct ss_rank_profiles *profiles,
                       const struct ss_stage_frontier *frontier, const struct ss_stage *stage,
                       const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_model *model = parts->selection->model;
    uint32_t process = frontier->ranks.data[stage->rank];
    uint64_t behind_ns = stage->rank_ns / frontier->steps;
    struct ss_strview name = ss_stage_text(stage, model, &parts->training);
    struct ss_sentence *out = &ss_document_add(document, SS_BLOCK_HEADLINE)->headline;
    *out = ss_sentence_of(&document->arena);
    add_ranks(profiles, frontier->ranks.count, out);
    add_rank(ss_rank_profile_of(profiles, process), model, out);
    ss_sentence_add(out, " falls behind by ");
    ss_sentence_add_duration(out, behind_ns);
    ss_sentence_add(out, " of a step of ");
    ss_sentence_add_duration(out, frontier->total_ns / frontier->steps);
    ss_sentence_add(out, " in ");
    ss_sentence_add_name(out, name);
    out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add(out, "in ");
    ss_sentence_add_count(out, stage->rank_steps);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, frontier->steps);
    ss_sentence_add(out, " steps; by the duration of each stage on the rank's own clock: what the "
                         "others wait for it is not known from collectives · report --by stage");
    const struct ss_rank_profile *row = ss_rank_profile_of(profiles, process);
    if (row != NULL) {
        add_work(profiles, row, document);
    }
    put_behind(profiles, frontier, stage, name, document->figures);
}

static void add_by_waits(const struct ss_rank_profiles *profiles,
                         const struct ss_report_parts *parts, const struct ss_rank_profile *row,
                         struct ss_document *document)
{
    struct ss_sentence *out = &ss_document_add(document, SS_BLOCK_HEADLINE)->headline;
    *out = ss_sentence_of(&document->arena);
    if (row != NULL) {
        add_slowest(profiles, parts, row, out);
        add_evidence(profiles, row, ss_document_add_note(document, SS_NOTE_ASIDE));
        add_work(profiles, row, document);
    } else {
        add_ranks(profiles, profiles->rows.count, out);
        ss_sentence_add(out, "no rank holds up the others by more than chance explains");
    }
    put_figures(profiles, row, parts, document->figures);
}

static size_t numbered(const struct ss_rank_profiles *profiles)
{
    size_t count = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        count += profiles->rows.data[i].rank >= 0;
    }
    return count;
}

void ss_report_add_ranks(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_device_facts *device = &parts->facts.device;
    const struct ss_device_summary *devices = device->has_steps ? &device->summary : NULL;
    struct ss_rank_profiles profiles;
    struct ss_stage_frontier frontier = {0};
    const struct ss_stage *behind = NULL;
    if (parts->selection->model->processes.count <= 2) { /* row 0 is none */
        return;
    }
    ss_rank_profiles_init(&profiles, parts->selection, devices, &parts->training);
    const struct ss_rank_profile *row = ss_rank_profiles_slowest(&profiles);
    bool has_waits = profiles.rows.count > 1 && profiles.collectives.ranks > 1;
    /* Where a rank lacks calls of collectives, its stages lack their time. */
    bool is_whole = profiles.collectives.unmatched == 0 && profiles.left_out == 0;
    if (row == NULL && numbered(&profiles) > 1 && is_whole) {
        ss_stage_frontier_init(&frontier, parts->selection, devices, &parts->training);
        behind = find_behind(&frontier);
    }
    if (behind != NULL) {
        add_behind(&profiles, &frontier, behind, parts, document);
    } else if (has_waits) {
        add_by_waits(&profiles, parts, row, document);
    }
    if (behind != NULL || has_waits) {
        add_left_out(&profiles, document);
        add_heat(&profiles, parts, document);
    }
    ss_stage_frontier_fini(&frontier);
    ss_rank_profiles_fini(&profiles);
}
