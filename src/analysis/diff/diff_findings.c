/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of both recordings, matched by rule and place. */
#include "analysis/diff/diff_parts.h"
#include "base/alloc.h"

enum { MOST_IN_BOTH = 5 };

/* --- matching --------------------------------------------------------------------------------- */

static const struct ss_model_frame *frame_of(const struct ss_diff_side *side,
                                             const struct ss_finding *finding)
{
    const struct ss_model *model = side->report.selection->model;
    return finding->line != NULL && finding->line->frame != 0
               ? &model->frames.data[finding->line->frame]
               : NULL;
}

static struct ss_strview text_of(const struct ss_diff_side *side, uint32_t string)
{
    return ss_intern_get(&side->report.selection->model->strings, string);
}

/* Whether both are at one place: the same line, or, where that moved, the same function. Without a
 * line, a rule has one place. */
static bool is_same_place(const struct ss_diff *diff, const struct ss_finding *a,
                          const struct ss_finding *b, bool by_line)
{
    const struct ss_diff_side *sides[] = {&diff->sides[SS_SIDE_A], &diff->sides[SS_SIDE_B]};
    const struct ss_model_frame *first = frame_of(sides[0], a), *second = frame_of(sides[1], b);
    if (a->rule != b->rule) {
        return false;
    }
    if (!a->is_of_line || !b->is_of_line || first == NULL || second == NULL) {
        return a->is_of_line == b->is_of_line;
    }
    return ss_strview_equal(text_of(sides[0], first->short_file),
                            text_of(sides[1], second->short_file)) &&
           ss_strview_equal(text_of(sides[0], first->function),
                            text_of(sides[1], second->function)) &&
           (!by_line || first->line == second->line);
}

/* By finding of A: the finding of B, + 1; 0: none. `taken`: by finding of B. */
struct matches {
    size_t *of_a;
    bool *taken;
};

static const struct ss_diagnosis *diagnosis_of(const struct ss_diff *diff, int side)
{
    return &diff->sides[side].report.diagnosis;
}

static void match(const struct ss_diff *diff, bool by_line, struct matches *matches)
{
    const struct ss_diagnosis *a = diagnosis_of(diff, SS_SIDE_A);
    const struct ss_diagnosis *b = diagnosis_of(diff, SS_SIDE_B);
    for (size_t i = 0; i < a->findings.count; i++) {
        for (size_t k = 0; k < b->findings.count && matches->of_a[i] == 0; k++) {
            if (!matches->taken[k] &&
                is_same_place(diff, &a->findings.data[i], &b->findings.data[k], by_line)) {
                matches->of_a[i] = k + 1;
                matches->taken[k] = true;
            }
        }
    }
}

static void matches_init(struct matches *matches, const struct ss_diff *diff)
{
    matches->of_a =
        ss_alloc_zero(diagnosis_of(diff, SS_SIDE_A)->findings.count + 1, sizeof *matches->of_a);
    matches->taken =
        ss_alloc_zero(diagnosis_of(diff, SS_SIDE_B)->findings.count + 1, sizeof *matches->taken);
    match(diff, true, matches);
    match(diff, false, matches);
}

static void matches_fini(struct matches *matches)
{
    ss_free(matches->of_a);
    ss_free(matches->taken);
}

/* --- for people ------------------------------------------------------------------------------- */

/* Findings of one side without a match in the other. */
static void add_unmatched(const struct ss_diff *diff, const struct matches *matches, int side,
                          const char *heading, struct ss_document *document)
{
    const struct ss_diagnosis *diagnosis = diagnosis_of(diff, side);
    const struct ss_model *model = diff->sides[side].report.selection->model;
    struct ss_block *block = NULL;
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        if (side == SS_SIDE_A ? matches->of_a[i] != 0 : matches->taken[i]) {
            continue;
        }
        if (block == NULL) {
            ss_document_add(document, SS_BLOCK_HEADING)->heading = heading;
            block = ss_document_join(document, SS_BLOCK_FINDINGS);
        }
        ss_vec_push_zero(&block->findings);
        struct ss_document_finding *out = &block->findings.data[block->findings.count - 1];
        ss_report_fill_finding(&diagnosis->findings.data[i], model, &document->arena, out);
        if (side == SS_SIDE_A) { /* nothing is left to fix */
            out->fix = ss_sentence_of(&document->arena);
        }
    }
}

/* "…; 31 ms → 12 ms a step" */
static void add_matched(const struct ss_diff *diff, const struct ss_finding *a,
                        const struct ss_finding *b, struct ss_sentence *out)
{
    const struct ss_model *model = diff->sides[SS_SIDE_B].report.selection->model;
    ss_report_add_finding(b, model, out);
    if (a->cost_ns > 0 && b->cost_ns > 0) {
        ss_sentence_add(out, "; it cost ");
        ss_sentence_add_duration(out, a->cost_ns);
        ss_sentence_add(out, " a step in A, ");
        ss_sentence_add_duration(out, b->cost_ns);
        ss_sentence_add(out, " in B");
    }
}

static void add_all_matched(const struct ss_diff *diff, const struct matches *matches,
                            struct ss_document *document)
{
    const struct ss_diagnosis *a = diagnosis_of(diff, SS_SIDE_A);
    const struct ss_diagnosis *b = diagnosis_of(diff, SS_SIDE_B);
    size_t count = 0;
    for (size_t i = 0; i < a->findings.count; i++) {
        if (matches->of_a[i] == 0) {
            continue;
        }
        if (count == 0) {
            ss_document_add(document, SS_BLOCK_HEADING)->heading = "Findings in A and B";
        }
        if (count++ < MOST_IN_BOTH) {
            add_matched(diff, &a->findings.data[i], &b->findings.data[matches->of_a[i] - 1],
                        ss_document_add_item(document, SS_NOTE_FACT));
        }
    }
    if (count > MOST_IN_BOTH) {
        struct ss_sentence *more = ss_document_add_item(document, SS_NOTE_ASIDE);
        ss_sentence_add_number(more, (int64_t)(count - MOST_IN_BOTH));
        ss_sentence_add(more, " more, smaller: --format json");
    }
}

void ss_diff_add_findings(const struct ss_diff *diff, struct ss_document *document)
{
    struct matches matches;
    matches_init(&matches, diff);
    add_unmatched(diff, &matches, SS_SIDE_A, "Findings of A that are gone in B", document);
    add_unmatched(diff, &matches, SS_SIDE_B, "Findings that are new in B", document);
    add_all_matched(diff, &matches, document);
    matches_fini(&matches);
}

/* --- for programs ----------------------------------------------------------------------------- */

/* Either may be NULL. */
static void put_finding(const struct ss_diff *diff, const struct ss_finding *a,
                        const struct ss_finding *b, struct ss_figure *list)
{
    const struct ss_finding *known = b != NULL ? b : a;
    const struct ss_diff_side *side = &diff->sides[b != NULL ? SS_SIDE_B : SS_SIDE_A];
    const struct ss_model_frame *frame = frame_of(side, known);
    struct ss_figure *object = ss_figure_put_object(list, NULL);
    ss_figure_put_text(object, "rule", known->rule->id);
    ss_figure_put_text(object, "in", a == NULL ? "B" : b == NULL ? "A" : "both");
    ss_report_add_finding(known, side->report.selection->model,
                          ss_figure_put_sentence(object, "headline"));
    if (frame != NULL) {
        ss_figure_put_name(object, "path", text_of(side, frame->short_file));
        ss_figure_put_name(object, "function", text_of(side, frame->function));
    } else {
        ss_figure_put_null(object, "path");
        ss_figure_put_null(object, "function");
    }
    if (a != NULL) {
        ss_figure_put_count(object, "a_cost_ns", a->cost_ns);
    } else {
        ss_figure_put_null(object, "a_cost_ns");
    }
    if (b != NULL) {
        ss_figure_put_count(object, "b_cost_ns", b->cost_ns);
    } else {
        ss_figure_put_null(object, "b_cost_ns");
    }
}

void ss_diff_put_findings(const struct ss_diff *diff, struct ss_figure *figures)
{
    const struct ss_diagnosis *a = diagnosis_of(diff, SS_SIDE_A);
    const struct ss_diagnosis *b = diagnosis_of(diff, SS_SIDE_B);
    struct ss_figure *list = ss_figure_put_list(figures, "findings");
    struct matches matches;
    matches_init(&matches, diff);
    for (size_t i = 0; i < a->findings.count; i++) {
        size_t at = matches.of_a[i];
        put_finding(diff, &a->findings.data[i], at > 0 ? &b->findings.data[at - 1] : NULL, list);
    }
    for (size_t i = 0; i < b->findings.count; i++) {
        if (!matches.taken[i]) {
            put_finding(diff, NULL, &b->findings.data[i], list);
        }
    }
    matches_fini(&matches);
}
