/* SPDX-License-Identifier: Apache-2.0 */
/* The opening of the report of several ranks: which of them makes the others wait, in which part of
 * its step, what that costs and what the claim rests on; and the ranks by steps. */
#include <math.h>

#include "analysis/ranks/lateness.h"
#include "analysis/ranks/rank_heat.h"
#include "analysis/report/report_parts.h"

enum { MOST_ROWS = 32 };

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
    size_t copies = profiles->collectives->calls.copies;
    if (profiles->left_out > 0) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_WARNING);
        ss_sentence_add(out, "the files are of ");
        ss_sentence_add_count(out, profiles->jobs);
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

static void put_work(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                     enum ss_more_work of, struct ss_figure *object)
{
    static const char *const keys[] = {[SS_MORE_TOKENS] = "times_the_tokens",
                                       [SS_MORE_PADDING] = "times_the_padded_elements",
                                       [SS_MORE_EXAMPLES] = "times_the_examples",
                                       [SS_MORE_ELEMENTS] = "times_the_elements"};
    if (of != SS_MORE_NOTHING) {
        ss_figure_put_real(object, keys[of], ss_rank_profiles_times(profiles, row, of));
    }
}

/* --- ranks by steps --------------------------------------------------------------------------- */

/* Of many ranks, evenly chosen ones. */
static void add_heat(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_rank_heat heat;
    ss_rank_heat_init(&heat, parts->selection, &parts->training);
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

/* --- which rank ------------------------------------------------------------------------------- */

static void put_late(const struct ss_lateness *late, const struct ss_report_parts *parts,
                     struct ss_figure *object)
{
    const struct ss_late_claim *claim = &late->claim;
    ss_figure_put_name(object, "evidence", ss_strview_of(ss_late_evidence_name(claim->by)));
    ss_figure_put_integer(object, "slowest_rank", claim->row->rank);
    put_work(late->ranks, claim->row, late->work, object);
    if (claim->by == SS_LATE_BY_STAGES) {
        struct ss_strview stage =
            ss_stage_text(&late->stage, parts->selection->model, &parts->training);
        ss_figure_put_name(object, "slower_in", stage);
        ss_figure_put_count(object, "slower_by_ns", claim->wait_ns);
        return;
    }
    ss_figure_put_count(object,
                        claim->of_ns > 0 ? "waits_each_other_step_ns" : "waits_each_other_ns",
                        claim->wait_ns);
    if (!isnan(claim->error_ns)) {
        ss_figure_put_real(object, "waits_error_ns", claim->error_ns);
    }
    if (late->phase < parts->training.phases.count) {
        struct ss_strview phase =
            ss_step_phase_text(parts->selection->model, &parts->training.phases.data[late->phase]);
        ss_figure_put_name(object, "slower_in", phase);
        ss_figure_put_count(object, "slower_by_ns", late->more_ns);
    }
}

static void put_figures(const struct ss_lateness *late, const struct ss_report_parts *parts,
                        struct ss_figure *figures)
{
    const struct ss_rank_profiles *ranks = late->ranks;
    struct ss_figure *object = ss_figure_put_object(figures, "ranks");
    ss_figure_put_count(object, "ranks", ranks->rows.count);
    ss_figure_put_count(object, "world_size", ranks->world_size);
    ss_figure_put_count(object, "jobs", ranks->jobs);
    ss_figure_put_count(object, "collectives", ranks->collectives->rows.count);
    ss_figure_put_count(object, "unresolved", ranks->waits.unresolved);
    ss_figure_put_count(object, "clock_error_ns", ranks->collectives->error_ns);
    ss_figure_put_name(object, "late", ss_strview_of(ss_late_verdict_name(late->verdict)));
    if (late->verdict == SS_LATE_ONE) {
        put_late(late, parts, object);
    }
}

static void add_late(const struct ss_lateness *late, const struct ss_report_parts *parts,
                     struct ss_document *document)
{
    const struct ss_model *model = parts->selection->model;
    struct ss_sentence *out = &ss_document_add(document, SS_BLOCK_HEADLINE)->headline;
    *out = ss_sentence_of(&document->arena);
    add_ranks(late->ranks, late->ranks->rows.count, out);
    ss_lateness_add(late, model, &parts->training, out);
    if (late->verdict == SS_LATE_ONE) {
        ss_lateness_add_evidence(late, ss_document_add_note(document, SS_NOTE_ASIDE));
    }
    if (ss_lateness_disagrees(late)) {
        ss_lateness_add_other(late, model, ss_document_add_note(document, SS_NOTE_ASIDE));
    }
    if (late->verdict == SS_LATE_ONE && late->work != SS_MORE_NOTHING) {
        ss_rank_profiles_add_work(late->ranks, late->claim.row, late->work,
                                  ss_document_add_note(document, SS_NOTE_FACT));
    }
}

/* Ranks that nothing compares are not spoken of. */
void ss_report_add_ranks(const struct ss_report_parts *parts, struct ss_document *document)
{
    if (parts->selection->model->processes.count <= 2) { /* row 0 is none */
        return;
    }
    const struct ss_lateness *late = ss_steps_lateness(parts->selection, &parts->training);
    bool has_waits = late->ranks->collectives->ranks > 1;
    if (late->verdict == SS_LATE_ONE || (late->verdict != SS_LATE_ALONE && has_waits)) {
        add_late(late, parts, document);
        add_left_out(late->ranks, document);
        add_heat(parts, document);
        put_figures(late, parts, document->figures);
    }
}
