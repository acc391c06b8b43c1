/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point operations of a training, and how operators were recorded, in the overview. */
#include "analysis/report/report_parts.h"

static void add_figures(const struct ss_flops_figures *figures, struct ss_sentence *out)
{
    ss_sentence_add(out, "about ");
    ss_sentence_add_flops(out, figures->flops);
    ss_sentence_add(out, " a step, ");
    ss_sentence_add_flop_rate(out, ss_flops_rate(figures));
    ss_sentence_add(out, figures->is_gpu ? " by the host's steps" : "");
    if (figures->peak.flops_per_s > 0) {
        double percent = 100 * ss_flops_rate(figures) / figures->peak.flops_per_s;
        ss_sentence_add(out, ": ");
        ss_sentence_add_figure(out, percent, 3);
        ss_sentence_add(out, " % of ");
        ss_sentence_add_flop_rate(out, figures->peak.flops_per_s);
        ss_sentence_add(out, " (");
        ss_sentence_add_name(out, ss_strview_of(figures->peak.of));
        ss_sentence_add(out, percent > 100 ? "), which is impossible" : ")");
    }
    ss_sentence_add(out, "; by operator and module: --by flops");
}

/* "MFU 31 % of 312 TFLOP/s (bf16), estimated from shapes" */
static void add_estimate(const struct ss_roofline_steps *steps, struct ss_sentence *out)
{
    if (steps->peak_flops > 0) {
        ss_sentence_add(out, "MFU ");
        ss_sentence_add(out, ss_roofline_is_partial(steps) ? "at least " : "");
        ss_sentence_add_figure(out, ss_roofline_mfu(steps), 3);
        ss_sentence_add(out, " % of ");
        ss_sentence_add_flop_rate(out, steps->peak_flops / (double)steps->total_ns * 1e9);
        ss_sentence_add(out, " (");
        ss_sentence_add(out, ss_datatype_name(steps->type));
        ss_sentence_add(out, ss_roofline_mfu(steps) > 100 ? "), which is impossible" : ")");
    } else {
        ss_sentence_add_flops(out, steps->flops / (double)steps->steps);
        ss_sentence_add(out, " a step, ");
        ss_sentence_add_flop_rate(out, ss_roofline_rate(steps));
    }
    ss_sentence_add(out, ", estimated from shapes");
    ss_sentence_add(out, steps->is_forward_only ? ", forward only"
                         : steps->is_assumed    ? ", the backward assumed to be twice the forward"
                                                : "");
    ss_sentence_add(out, "; by kernels, operators and modules: --by roofline");
}

void ss_report_add_flops(const struct ss_report_parts *parts, struct ss_document *document)
{
    static const char *const headings[SS_ROUTE_COUNT] = {
        [SS_ROUTE_UNKNOWN] = "Operators were not recorded by the callback",
        [SS_ROUTE_ITT] = "Operators were recorded through a fallback",
        [SS_ROUTE_NOTHING] = "Operators were not recorded"};
    const char *source = parts->facts.operator_source;
    if (parts->facts.flops.steps > 0) {
        ss_document_add(document, SS_BLOCK_HEADING)->heading =
            "Matrix products, convolutions and attention";
        add_figures(&parts->facts.flops, ss_document_add_item(document, SS_NOTE_FACT));
    } else if (parts->facts.roofline.steps > 0) {
        ss_document_add(document, SS_BLOCK_HEADING)->heading =
            "Matrix products, convolutions and attention";
        add_estimate(&parts->facts.roofline, ss_document_add_item(document, SS_NOTE_FACT));
    }
    if (source != NULL && source[0] != '\0' && headings[parts->facts.operator_route] != NULL) {
        ss_document_add(document, SS_BLOCK_HEADING)->heading =
            headings[parts->facts.operator_route];
        ss_sentence_add_name(ss_document_add_item(document, SS_NOTE_FACT), ss_strview_of(source));
    }
}
