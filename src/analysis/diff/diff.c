/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/diff.h"

#include <math.h>
#include <string.h>

#include "analysis/diff/diff_parts.h"
#include "analysis/tables/overview.h"

/* --- loading ---------------------------------------------------------------------------------- */

/* Adds names that the list does not have. False: the kind needs all tracks. */
static bool add_tracks(const struct ss_table_kind *kind, const char **tracks, size_t *count)
{
    if ((kind->needs & SS_NEEDS_TRACKS) == 0) {
        return true;
    }
    for (size_t i = 0; kind->tracks != NULL && kind->tracks[i] != NULL; i++) {
        size_t known = 0;
        while (known < *count && strcmp(tracks[known], kind->tracks[i]) != 0) {
            known++;
        }
        if (known == *count && *count + 1 < SS_DIFF_MOST_TRACKS) {
            tracks[(*count)++] = kind->tracks[i];
        }
    }
    return kind->tracks != NULL;
}

/* Steps, phases and work of devices are loaded whatever the list, which suffices for what an
 * overview shows of devices. False: all tracks are needed. */
static bool list_tracks(const struct ss_diff_options *options,
                        const char *tracks[SS_DIFF_MOST_TRACKS], unsigned *quantities)
{
    size_t count = 0;
    bool has_list = add_tracks(options->kind, tracks, &count);
    for (const struct ss_table_kind *kind = ss_table_kinds;
         kind->id != NULL && options->kind == &ss_overview; kind++) {
        if (kind->is_in_diff && kind->tracks != NULL) {
            add_tracks(kind, tracks, &count);
            *quantities |= kind->quantities;
        }
    }
    *quantities |= options->kind->quantities;
    tracks[count] = NULL;
    return has_list;
}

void ss_diff_load(const struct ss_diff_options *options, const char *tracks[SS_DIFF_MOST_TRACKS],
                  struct ss_model_load *load)
{
    const struct ss_table_options table = {.leaf = {.aggregate = true}};
    ss_table_kind_load(&ss_overview, &table, load);
    load->sample_ranges = (options->kind->needs & SS_NEEDS_SAMPLE_RANGES) != 0;
    load->only_tracks = list_tracks(options, tracks, &load->only_quantities) ? tracks : NULL;
}

/* --- what changed ----------------------------------------------------------------------------- */

void ss_diff_add_change(double ns, struct ss_sentence *out)
{
    double size = fabs(ns);
    ss_sentence_add(out, ns < 0 ? "−" : "+");
    ss_sentence_add_duration(out, size < (double)INT64_MAX ? (uint64_t)(size + 0.5) : INT64_MAX);
}

static void compare_steps(struct ss_diff *diff)
{
    const struct ss_diff_side *a = &diff->sides[SS_SIDE_A], *b = &diff->sides[SS_SIDE_B];
    struct ss_diff_result *result = &diff->result;
    diff->per_step = a->report.training.steady > 0 && b->report.training.steady > 0 &&
                     a->step.mean > 0 && b->step.mean > 0;
    diff->change_ns = b->step.mean - a->step.mean;
    diff->error_ns = hypot(a->step.error, b->step.error);
    result->has_steps = diff->per_step;
    result->is_known = diff->per_step && !isnan(diff->error_ns);
    result->is_significant = result->is_known && fabs(diff->change_ns) > diff->error_ns;
    result->percent = diff->per_step ? 100 * diff->change_ns / a->step.mean : 0;
    result->is_above_threshold = diff->options->has_threshold && result->is_significant &&
                                 result->percent > diff->options->threshold_percent;
}

static void compare_phases(struct ss_diff *diff)
{
    const struct ss_compare_options options = {.per_step = true};
    struct ss_compared_table compared[SS_SIDES];
    struct ss_table tables[SS_SIDES];
    if (!diff->per_step) {
        return;
    }
    for (int i = 0; i < SS_SIDES; i++) {
        const struct ss_diff_side *side = &diff->sides[i];
        ss_phases_table(&side->report.training, side->report.selection, &tables[i]);
        ss_step_series_put_phases(&side->series, &tables[i]);
        compared[i] = (struct ss_compared_table){.table = &tables[i], .divisor = 1};
    }
    ss_compare_tables(compared, &options, &diff->phases);
    for (int i = 0; i < SS_SIDES; i++) {
        ss_table_fini(&tables[i]);
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void add_title(const struct ss_diff *diff, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TITLE);
    block->title.what = "stepscope diff";
    block->title.of = ss_sentence_of(&document->arena);
    for (int i = 0; i < SS_SIDES; i++) {
        const struct ss_trust *trust = &diff->sides[i].report.trust;
        const char *input = diff->options->inputs[i];
        if (input == NULL) {
            input = trust->inputs.count > 0 ? trust->inputs.data[0].path : "";
        }
        ss_sentence_add(&block->title.of, i > 0 ? " → " : "");
        ss_sentence_add_name(&block->title.of, ss_strview_of(input));
        if (diff->options->ranks[i] != NULL) {
            ss_sentence_add(&block->title.of, " rank ");
            ss_sentence_add_name(&block->title.of, ss_strview_of(diff->options->ranks[i]));
        }
    }
}

void ss_diff_add_header(const struct ss_diff *diff, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_HEADER);
    for (int i = 0; i < SS_SIDES; i++) {
        const struct ss_diff_side *side = &diff->sides[i];
        ss_report_add_recording(side->name, &side->report.trust, &document->arena, block);
        ss_report_add_problems("Beware", &side->report.trust, &document->arena, block);
    }
}

/* The one table for a program: of steps where there are some, else of functions. */
static const struct ss_table_kind *single_kind(const struct ss_diff *diff)
{
    const struct ss_table_kind *kind = ss_table_kinds;
    if (!ss_table_kind_is_overview(diff->options->kind)) {
        return diff->options->kind;
    }
    while (kind->id != NULL && !(diff->per_step ? kind->is_each_step : kind->is_in_diff)) {
        kind++;
    }
    return kind;
}

/* Tables of all that a program marks, without samples. */
static bool is_of_ranges(const struct ss_table_kind *kind)
{
    return kind->needs == SS_NEEDS_TRACKS && kind->tracks == NULL;
}

/* Tables of steps, then those of samples. */
static void add_all_tables(const struct ss_diff *diff, struct ss_document *document)
{
    for (int pass = 0; pass < 2; pass++) {
        for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
            bool needs_steps = (kind->needs & SS_NEEDS_STEPS) != 0;
            bool is_shown = kind->is_in_diff || (kind->is_each_step && diff->per_step) ||
                            (diff->options->kind == &ss_overview_of_ranges && is_of_ranges(kind));
            if (is_shown && needs_steps == (pass == 0)) {
                ss_diff_add_tables(diff, kind, false, document);
            }
        }
    }
}

static void add_blocks(const struct ss_diff *diff, struct ss_document *document)
{
    bool is_overview = ss_table_kind_is_overview(diff->options->kind);
    add_title(diff, document);
    if (diff->options->is_single) {
        ss_diff_add_header(diff, document);
        ss_diff_add_tables(diff, single_kind(diff), true, document);
        return;
    }
    ss_diff_add_headline(diff, document);
    if (is_overview) {
        add_all_tables(diff, document);
        ss_diff_add_findings(diff, document);
        ss_diff_add_environment(diff, document);
    } else {
        ss_diff_add_tables(diff, diff->options->kind, true, document);
    }
    ss_diff_add_header(diff, document);
}

static void add_problems(const struct ss_diff *diff, struct ss_document *document)
{
    for (int side = 0; side < SS_SIDES; side++) {
        const struct ss_trust *trust = &diff->sides[side].report.trust;
        for (size_t i = 0; i < trust->problems.count; i++) {
            ss_vec_push(&document->problems, ss_sentence_of(&document->arena));
            ss_trust_problem_add(&trust->problems.data[i],
                                 &document->problems.data[document->problems.count - 1]);
        }
    }
}

void ss_diff_compose(const struct ss_selection *const selections[SS_SIDES],
                     const struct ss_diff_options *options, struct ss_document *document,
                     struct ss_diff_result *result)
{
    static const char *const names[SS_SIDES] = {"A", "B"};
    struct ss_diff diff = {.options = options};
    for (int i = 0; i < SS_SIDES; i++) {
        ss_diff_side_init(&diff.sides[i], names[i], selections[i], options);
    }
    compare_steps(&diff);
    compare_phases(&diff);
    add_blocks(&diff, document);
    ss_diff_put_figures(&diff, document);
    add_problems(&diff, document);
    *result = diff.result;
    ss_table_fini(&diff.phases);
    for (int i = 0; i < SS_SIDES; i++) {
        ss_diff_side_fini(&diff.sides[i]);
    }
}
