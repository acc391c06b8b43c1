/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence of a comparison, and how it was found out. */
#include <math.h>

#include "analysis/diff/diff_parts.h"
#include "analysis/table/mean_error.h"

enum { MOST_NAMED = 4 };

static const double least_times = 1.2;

/* A phase that changed by less of A's step is not named. */
static const double least_named = 0.005;

static uint64_t whole_ns(double ns)
{
    return ns < 0 ? 0 : ns < (double)INT64_MAX ? (uint64_t)(ns + 0.5) : INT64_MAX;
}

static void add_percent(double percent, struct ss_sentence *out)
{
    double size = fabs(percent);
    ss_sentence_add_percent(out, size, size >= 9.95 ? 0 : 1);
}

/* "(372 ms → 328 ms" */
static void add_both(const struct ss_diff *diff, struct ss_sentence *out)
{
    ss_sentence_add(out, " (");
    ss_sentence_add_duration(out, whole_ns(diff->sides[SS_SIDE_A].step.mean));
    ss_sentence_add(out, " → ");
    ss_sentence_add_duration(out, whole_ns(diff->sides[SS_SIDE_B].step.mean));
}

/* --- phases ----------------------------------------------------------------------------------- */

static bool is_named(const struct ss_diff *diff, const struct ss_cell *cells)
{
    const struct ss_cell *significant = &cells[SS_COMPARED_SIGNIFICANT];
    double least = least_named * diff->sides[SS_SIDE_A].step.mean;
    return significant->type == SS_CELL_TEXT &&
           ss_strview_equal(significant->text, ss_strview_of("yes")) &&
           fabs((double)cells[SS_COMPARED_CHANGE].integer) >= least;
}

/* "data −31 ms, forward +4 ms" after `lead`; the largest first, as the table has them. A step that
 * has no phases is all "other". */
static void add_phases(const struct ss_diff *diff, const char *lead, struct ss_sentence *out)
{
    const struct ss_table *phases = &diff->phases;
    size_t named = 0, keys = phases->comparison.keys;
    for (size_t i = 0; i < phases->row_count && phases->row_count > 1; i++) {
        const struct ss_cell *cells = ss_table_cell(phases, i, 0);
        if (!is_named(diff, cells + keys) || named == MOST_NAMED) {
            continue;
        }
        ss_sentence_add(out, named++ == 0 ? lead : ", ");
        ss_sentence_add_name(out, cells[0].text);
        ss_sentence_add(out, " ");
        ss_diff_add_change((double)cells[keys + SS_COMPARED_CHANGE].integer, out);
    }
}

/* --- the sentence ----------------------------------------------------------------------------- */

/* "B is 2.06 × faster per step (94.7 ms → 45.9 ms): data −31 ms, forward +4 ms"; small changes are
 * in percent. A large change in percent is easily read as another one. */
static void add_change(const struct ss_diff *diff, struct ss_sentence *out)
{
    double ratio = diff->sides[SS_SIDE_B].step.mean / diff->sides[SS_SIDE_A].step.mean;
    double times = ratio < 1 ? 1 / ratio : ratio;
    ss_sentence_add(out, "B is ");
    if (times >= least_times) {
        ss_sentence_add_figure(out, times, 3);
        ss_sentence_add(out, " ×");
    } else {
        add_percent(diff->result.percent, out);
    }
    ss_sentence_add(out, diff->change_ns < 0 ? " faster per step" : " slower per step");
    add_both(diff, out);
    ss_sentence_add(out, ")");
    add_phases(diff, ": ", out);
}

static void add_no_change(const struct ss_diff *diff, struct ss_sentence *out)
{
    ss_sentence_add(out, "No significant change per step");
    add_both(diff, out);
    ss_sentence_add(out, ", within noise of ±");
    ss_sentence_add_duration(out, whole_ns(diff->error_ns));
    ss_sentence_add(out, ")");
    add_phases(diff, ", but ", out);
}

static void add_unknown(const struct ss_diff *diff, struct ss_sentence *out)
{
    ss_sentence_add(out, "B takes ");
    ss_sentence_add_duration(out, whole_ns(diff->sides[SS_SIDE_B].step.mean));
    ss_sentence_add(out, " per step, A ");
    ss_sentence_add_duration(out, whole_ns(diff->sides[SS_SIDE_A].step.mean));
    ss_sentence_add(out, ": too few steps to distinguish a difference from noise");
}

/* --- without steps ---------------------------------------------------------------------------- */

static void add_duration_of_runs(const struct ss_diff *diff, struct ss_sentence *out)
{
    const struct ss_mean_with_error *a = &diff->sides[SS_SIDE_A].run_s;
    const struct ss_mean_with_error *b = &diff->sides[SS_SIDE_B].run_s;
    if (a->mean <= 0 || b->mean <= 0) {
        ss_sentence_add(out, "how long a run takes is unknown");
        return;
    }
    double change = b->mean - a->mean, error = hypot(a->error, b->error);
    ss_sentence_add(out, "a run of B takes ");
    ss_sentence_add_duration(out, whole_ns(1e9 * b->mean));
    ss_sentence_add(out, ", of A ");
    ss_sentence_add_duration(out, whole_ns(1e9 * a->mean));
    if (!isnan(error) && fabs(change) <= error) {
        ss_sentence_add(out, ": within noise");
    } else if (!isnan(error)) {
        ss_sentence_add(out, ": ");
        add_percent(100 * change / a->mean, out);
        ss_sentence_add(out, change < 0 ? " faster" : " slower");
    }
}

static void add_runs(const struct ss_diff *diff, struct ss_sentence *out)
{
    bool has_a = diff->sides[SS_SIDE_A].report.training.steady > 0;
    bool has_b = diff->sides[SS_SIDE_B].report.training.steady > 0;
    ss_sentence_add(out, has_a   ? "Only A has steady-state steps: "
                         : has_b ? "Only B has steady-state steps: "
                                 : "No steady-state steps: ");
    add_duration_of_runs(diff, out);
}

/* --- how it was found out --------------------------------------------------------------------- */

static void add_count(const struct ss_diff_side *side, struct ss_sentence *out)
{
    ss_sentence_add_count(out, side->report.training.steady);
    ss_sentence_add(out, " of ");
    ss_sentence_add(out, side->name);
    if (side->series.runs > 1) {
        ss_sentence_add(out, " in ");
        ss_sentence_add_count(out, side->series.runs);
        ss_sentence_add(out, " runs");
    }
}

static bool has_runs(const struct ss_diff *diff)
{
    return diff->sides[SS_SIDE_A].series.runs > 1 && diff->sides[SS_SIDE_B].series.runs > 1;
}

/* "mean of 80 steady-state steps of A and 120 of B; 95 % confidence: 44.0 ms ±3.1 ms …" */
static void add_test(const struct ss_diff *diff, struct ss_document *document)
{
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add(out, "means of the steady-state steps, ");
    add_count(&diff->sides[SS_SIDE_A], out);
    ss_sentence_add(out, " and ");
    add_count(&diff->sides[SS_SIDE_B], out);
    if (diff->result.is_known) {
        ss_sentence_add(out, "; the change of a step is ");
        ss_diff_add_change(diff->change_ns, out);
        ss_sentence_add(out, " ±");
        ss_sentence_add_duration(out, whole_ns(diff->error_ns));
        ss_sentence_add(out, has_runs(diff) ? " (95 %, by the spread of steps and of runs)"
                                            : " (95 %, by the spread of steps)");
    }
}

/* The steps of one run do not show what differs between two runs of one program. */
static void add_caution(const struct ss_diff *diff, struct ss_document *document)
{
    if (diff->result.is_significant && !has_runs(diff)) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "how much two runs of one program differ is not in it: compare folders of "
                        "several recordings to include that");
    }
}

/* The share of the cores that other programs used while steps ran; NAN: unknown. */
static double others_share(const struct ss_diff_side *side)
{
    const struct ss_training_facts *facts = &side->report.facts;
    bool is_known = side->report.is_diagnosed && facts->cpu_busy >= 0 && facts->cpu_own >= 0;
    return is_known ? facts->cpu_busy * (1 - facts->cpu_own) : NAN;
}

/* Load of the machine explains a change that is none of the program. */
static void add_others(const struct ss_diff *diff, struct ss_document *document)
{
    static const double least = 0.1;
    double a = others_share(&diff->sides[SS_SIDE_A]), b = others_share(&diff->sides[SS_SIDE_B]);
    if (isnan(a) || isnan(b) || fabs(a - b) < least) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_WARNING);
    ss_sentence_add(out, "other programs used ");
    ss_sentence_add_percent(out, 100 * a, 0);
    ss_sentence_add(out, " of the cores during A, ");
    ss_sentence_add_percent(out, 100 * b, 0);
    ss_sentence_add(out, " during B: they may have slowed one of the two");
}

static void add_threshold(const struct ss_diff *diff, struct ss_document *document)
{
    const struct ss_diff_result *result = &diff->result;
    if (!diff->options->has_threshold) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(
        document, result->is_above_threshold || !result->is_known ? SS_NOTE_WARNING : SS_NOTE_FACT);
    ss_sentence_add(out, !result->is_known            ? "the check could not be made: at most "
                         : result->is_above_threshold ? "the check failed: at most "
                                                      : "the check passed: at most ");
    ss_sentence_add_figure(out, diff->options->threshold_percent, 6);
    ss_sentence_add(out, " % slower per step is allowed");
}

void ss_diff_add_headline(const struct ss_diff *diff, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_HEADLINE);
    struct ss_sentence *out = &block->headline;
    *out = ss_sentence_of(&document->arena);
    if (!diff->per_step) {
        add_runs(diff, out);
    } else if (!diff->result.is_known) {
        add_unknown(diff, out);
    } else if (diff->result.is_significant) {
        add_change(diff, out);
    } else {
        add_no_change(diff, out);
    }
    add_threshold(diff, document);
    if (diff->per_step) {
        add_test(diff, document);
        add_caution(diff, document);
        add_others(diff, document);
    }
}
