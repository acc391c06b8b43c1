/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a comparison for programs. */
#include <math.h>

#include "analysis/diff/diff_parts.h"

/* Null where it is NAN. */
static void put_ns(struct ss_figure *object, const char *key, double ns)
{
    if (isfinite(ns) && fabs(ns) < 9e18) {
        ss_figure_put_integer(object, key, (int64_t)floor(ns + 0.5));
    } else {
        ss_figure_put_null(object, key);
    }
}

static void put_side(const struct ss_diff_side *side, const char *key, struct ss_figure *figures)
{
    struct ss_figure *object = ss_figure_put_object(figures, key);
    const struct ss_step_summary *training = &side->report.training;
    ss_report_put_header(&side->report.trust, object);
    ss_figure_put_count(object, "runs", training->steady > 0 ? side->series.runs : side->runs);
    ss_figure_put_known(object, "run_s", side->run_s.mean);
    struct ss_figure *steps = ss_figure_put_object(object, "step");
    ss_figure_put_count(steps, "steps", training->steady);
    ss_figure_put_count(steps, "processes", training->processes);
    ss_figure_put_count(steps, "warm_up", training->warm_up);
    ss_figure_put_count(steps, "outliers", training->outliers);
    put_ns(steps, "mean_ns", training->steady > 0 ? side->step.mean : NAN);
    put_ns(steps, "mean_pm_ns", side->step.error);
    put_ns(steps, "p50_ns", training->steady > 0 ? (double)training->p50_ns : NAN);
    put_ns(steps, "p95_ns", training->steady > 0 ? (double)training->p95_ns : NAN);
    put_ns(steps, "max_ns", training->steady > 0 ? (double)training->max_ns : NAN);
}

static const char *verdict_of(const struct ss_diff *diff)
{
    const struct ss_diff_result *result = &diff->result;
    return !result->is_known         ? "unknown"
           : !result->is_significant ? "within noise"
           : result->percent < 0     ? "faster"
                                     : "slower";
}

static void put_step(const struct ss_diff *diff, struct ss_figure *figures)
{
    struct ss_figure *object = ss_figure_put_object(figures, "step");
    ss_figure_put_text(object, "verdict", verdict_of(diff));
    put_ns(object, "change_ns", diff->per_step ? diff->change_ns : NAN);
    put_ns(object, "change_pm_ns", diff->error_ns);
    if (diff->per_step) {
        ss_figure_put_real(object, "change_percent", diff->result.percent);
    } else {
        ss_figure_put_null(object, "change_percent");
    }
    if (diff->options->has_threshold) {
        ss_figure_put_real(object, "threshold_percent", diff->options->threshold_percent);
    } else {
        ss_figure_put_null(object, "threshold_percent");
    }
    ss_figure_put_boolean(object, "is_above_threshold", diff->result.is_above_threshold);
}

void ss_diff_put_figures(const struct ss_diff *diff, struct ss_document *document)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->kind == SS_BLOCK_HEADLINE) {
            *ss_figure_put_sentence(document->figures, "headline") = block->headline;
        }
    }
    put_side(&diff->sides[SS_SIDE_A], "a", document->figures);
    put_side(&diff->sides[SS_SIDE_B], "b", document->figures);
    put_step(diff, document->figures);
    ss_diff_put_findings(diff, document->figures);
}
