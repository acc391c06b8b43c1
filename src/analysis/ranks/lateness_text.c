/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on the late rank: headline, evidence, notes of tables. */
#include "analysis/ranks/lateness.h"

static const char *const evidence_names[] = {[SS_LATE_BY_NOTHING] = "none",
                                             [SS_LATE_BY_COLLECTIVES] = "collectives",
                                             [SS_LATE_BY_PHASES] = "phases",
                                             [SS_LATE_BY_STAGES] = "stages",
                                             [SS_LATE_BY_DEVICES] = "devices"};
static const char *const evidence_texts[] = {
    [SS_LATE_BY_NOTHING] = "nothing",
    [SS_LATE_BY_COLLECTIVES] = "the waits in collectives",
    [SS_LATE_BY_PHASES] = "the phase communication of each rank",
    [SS_LATE_BY_STAGES] = "the duration of each stage",
    [SS_LATE_BY_DEVICES] = "the exposed communication of each device"};

const char *ss_late_evidence_name(enum ss_late_evidence by)
{
    return evidence_names[by];
}

const char *ss_late_evidence_text(enum ss_late_evidence by)
{
    return evidence_texts[by];
}

const char *ss_late_verdict_name(enum ss_late_verdict verdict)
{
    static const char *const names[] = {[SS_LATE_ALONE] = "alone",
                                        [SS_LATE_UNKNOWN] = "unknown",
                                        [SS_LATE_NONE] = "none",
                                        [SS_LATE_VARIES] = "varies",
                                        [SS_LATE_ONE] = "one"};
    return names[verdict];
}

void ss_lateness_add_rank(const struct ss_rank_profile *row, const struct ss_model *model,
                          struct ss_sentence *out)
{
    bool has_rank = row->rank >= 0;
    ss_sentence_add(out, has_rank ? "rank " : "process ");
    ss_sentence_add_number(out, has_rank ? row->rank : model->processes.data[row->process].pid);
}

/* --- the sentence ----------------------------------------------------------------------------- */

static void add_wait(const struct ss_lateness *lateness, struct ss_sentence *out)
{
    const struct ss_late_claim *claim = &lateness->claim;
    bool is_pair = lateness->ranks->rows.count == 2;
    ss_sentence_add(out, claim->by == SS_LATE_BY_STAGES ? " falls behind by "
                         : is_pair                      ? " holds up the other by "
                                                        : " holds up every other rank by ");
    ss_sentence_add_duration(out, claim->wait_ns);
    if (claim->of_ns == 0) {
        ss_sentence_add(out, " in total");
        return;
    }
    ss_sentence_add(out, " of a step of ");
    ss_sentence_add_duration(out, claim->of_ns);
}

/* Where in its step. */
static void add_place(const struct ss_lateness *lateness, const struct ss_model *model,
                      const struct ss_step_summary *training, struct ss_sentence *out)
{
    if (lateness->claim.by == SS_LATE_BY_STAGES) {
        ss_sentence_add(out, " in ");
        ss_sentence_add_name(out, ss_stage_text(&lateness->stage, model, training));
    } else if (lateness->phase < training->phases.count && lateness->claim.of_ns > 0) {
        ss_sentence_add(out, " (its phase ");
        ss_sentence_add_name(out,
                             ss_step_phase_text(model, &training->phases.data[lateness->phase]));
        ss_sentence_add(out, " takes ");
        ss_sentence_add_duration(out, lateness->more_ns);
        ss_sentence_add(out, " longer than the median rank's)");
    }
}

static void add_unknown(const struct ss_lateness *lateness, struct ss_sentence *out)
{
    const struct ss_wait_sums *waits = &lateness->ranks->waits;
    ss_sentence_add(out, "which rank holds up the others is unknown: ");
    if (waits->unresolved > 0) {
        ss_sentence_add_count(out, waits->unresolved);
        ss_sentence_add(out,
                        waits->unresolved == 1
                            ? " collective is below the resolution of the clocks, or lacks ranks"
                            : " collectives are below the resolution of the clocks, or lack "
                              "ranks");
    } else {
        ss_sentence_add(out, "too few collectives were matched over the ranks");
    }
}

void ss_lateness_add(const struct ss_lateness *lateness, const struct ss_model *model,
                     const struct ss_step_summary *training, struct ss_sentence *out)
{
    if (lateness->verdict == SS_LATE_ONE) {
        ss_lateness_add_rank(lateness->claim.row, model, out);
        add_wait(lateness, out);
        add_place(lateness, model, training, out);
    } else if (lateness->verdict == SS_LATE_UNKNOWN) {
        add_unknown(lateness, out);
    } else {
        ss_sentence_add(out, "no rank holds up the others by more than chance explains");
    }
}

/* --- evidence --------------------------------------------------------------------------------- */

static void add_clocks(const struct ss_lateness *lateness, struct ss_sentence *out)
{
    bool is_wall = lateness->ranks->collectives->is_wall;
    if (lateness->clock_ns == 0 && !is_wall) {
        ss_sentence_add(out, "the ranks share one clock");
        return;
    }
    ss_sentence_add(out, "error of the clocks ");
    ss_sentence_add_duration(out, lateness->clock_ns);
    ss_sentence_add(out, is_wall ? ", by the ends of collectives" : "");
}

static void add_collectives(const struct ss_lateness *lateness, struct ss_sentence *out)
{
    const struct ss_late_claim *claim = &lateness->claim;
    const struct ss_rank_waits *waits = &lateness->ranks->waits.ranks[claim->row->process];
    ss_sentence_add(out, "last in ");
    ss_sentence_add_count(out, waits->times_last);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, waits->collectives);
    ss_sentence_add(out, claim->of_ns > 0 ? " collectives of steady-state steps, waited "
                                          : " collectives, waited ");
    ss_sentence_add_duration(out, waits->waited_ns);
    ss_sentence_add(out, " itself · ");
    add_clocks(lateness, out);
    ss_sentence_add(out, " · report --by rank, --by collective");
}

static void add_stages(const struct ss_late_claim *claim, struct ss_sentence *out)
{
    ss_sentence_add(out, "in ");
    ss_sentence_add_count(out, claim->late_in);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, claim->steps);
    ss_sentence_add(out, " steps; by the duration of each stage on the rank's own clock: what the "
                         "others wait for it is not known from collectives · report --by stage");
}

static void add_communication(const struct ss_late_claim *claim, struct ss_sentence *out)
{
    ss_sentence_add(out, claim->by == SS_LATE_BY_PHASES
                             ? "its phase communication takes "
                             : "the exposed communication of its device takes ");
    ss_sentence_add_duration(out, claim->own_ns);
    ss_sentence_add(out, " per step, the others' ");
    ss_sentence_add_duration(out, claim->own_ns + claim->wait_ns);
    ss_sentence_add(out, ": it arrives last, and waits least; collectives do not show it · report "
                         "--by rank, --by stage");
}

void ss_lateness_add_evidence(const struct ss_lateness *lateness, struct ss_sentence *out)
{
    switch (lateness->claim.by) {
    case SS_LATE_BY_COLLECTIVES:
        add_collectives(lateness, out);
        break;
    case SS_LATE_BY_STAGES:
        add_stages(&lateness->claim, out);
        break;
    default:
        add_communication(&lateness->claim, out);
        break;
    }
}

bool ss_lateness_disagrees(const struct ss_lateness *lateness)
{
    return lateness->other.row != NULL && lateness->other.row != lateness->claim.row;
}

void ss_lateness_add_other(const struct ss_lateness *lateness, const struct ss_model *model,
                           struct ss_sentence *out)
{
    ss_sentence_add(out, evidence_texts[lateness->other.by]);
    ss_sentence_add(out, " would name ");
    ss_lateness_add_rank(lateness->other.row, model, out);
    ss_sentence_add(out, " (");
    ss_sentence_add_duration(out, lateness->other.wait_ns);
    ss_sentence_add(out, " per step), but counts less than ");
    ss_sentence_add(out, evidence_texts[lateness->claim.by]);
}

void ss_lateness_add_notes(const struct ss_lateness *lateness, const struct ss_model *model,
                           const struct ss_step_summary *training, struct ss_table *table)
{
    if (lateness->verdict == SS_LATE_ONE) {
        ss_lateness_add(lateness, model, training, ss_table_add_note(table, SS_NOTE_FACT));
    }
    if (ss_lateness_disagrees(lateness)) {
        ss_lateness_add_other(lateness, model, ss_table_add_note(table, SS_NOTE_ASIDE));
    }
}
