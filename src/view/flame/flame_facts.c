/* SPDX-License-Identifier: Apache-2.0 */
/* Title, subtitle (facts) and legend of a flame graph. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/report/trust.h"
#include "view/flame/flame_svg_picture.h"
#include "view/output/report.h"
#include "view/output/text_cell.h"

enum { TITLE_BYTES = 300, FACT_BYTES = 600, LEGEND_PACKAGES = 8 };

static struct ss_strbuf *new_fact(struct ss_flame_picture *picture)
{
    if (picture->fact_count == SS_FLAME_MAX_FACTS) {
        ss_bug("more than %d facts", SS_FLAME_MAX_FACTS);
    }
    struct ss_strbuf *fact = &picture->facts[picture->fact_count++];
    ss_strbuf_init(fact, FACT_BYTES);
    return fact;
}

static void append_noun(struct ss_strbuf *out, uint64_t count, const char *noun, const char *plural)
{
    ss_text_append_count(out, count);
    ss_strbuf_append_format(out, " %s%s", noun, count == 1 ? "" : plural);
}

static void append_clean_text(struct ss_strbuf *out, const char *text)
{
    ss_frame_append_clean(out, ss_strview_of(text), "", TITLE_BYTES);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void append_inputs(struct ss_strbuf *out, const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count && i < 3; i++) {
        ss_strbuf_append_text(out, i > 0 ? ", " : "");
        append_clean_text(out, last_component(ss_model_text(model, model->inputs.data[i].path)));
    }
    if (model->inputs.count > 3) {
        ss_strbuf_append_format(out, " and %zu more", model->inputs.count - 3);
    }
}

static void put_title(struct ss_flame_picture *picture, const struct ss_trust *trust)
{
    const struct ss_flame_options *options = picture->options;
    ss_strbuf_init(&picture->title, 4 * TITLE_BYTES);
    if (options->title != NULL) {
        append_clean_text(&picture->title, options->title);
        return;
    }
    ss_strbuf_append_text(&picture->title, ss_flame_is_of_device(picture) ? "Device time: " : "");
    if (trust->all.command[0] != '\0' && trust->inputs.count == 1) {
        append_clean_text(&picture->title, trust->all.command);
    } else {
        append_inputs(&picture->title, picture->now->model);
    }
    if (picture->title.length == 0) {
        ss_strbuf_append_text(&picture->title, "Flame graph");
    }
}

static double common_rate(const struct ss_model *model)
{
    double rate = 0;
    for (size_t i = 0; i < model->inputs.count; i++) {
        double other = model->inputs.data[i].rate_hz;
        if (other <= 0 || (i > 0 && other != rate)) {
            return 0;
        }
        rate = other;
    }
    return rate;
}

static void put_origin(struct ss_flame_picture *picture, const struct ss_trust *trust)
{
    const struct ss_model *model = picture->now->model;
    struct ss_strbuf *fact = new_fact(picture);
    bool raw = model->inputs.count > 0 && model->inputs.data[0].kind == SS_INPUT_RAW;
    append_inputs(fact, model);
    if (raw) {
        ss_strbuf_append_text(fact, ": folded stacks");
    }
    if (trust->inputs.count != 1) {
        return;
    }
    if (trust->all.hostname[0] != '\0') {
        ss_strbuf_append_text(fact, ", recorded on ");
        append_clean_text(fact, trust->all.hostname);
    }
    time_t start = (time_t)(trust->all.start_unix_ns / 1000000000);
    struct tm local;
    char when[40];
    if (start > 0 && localtime_r(&start, &local) != NULL &&
        strftime(when, sizeof when, " at %Y-%m-%d %H:%M", &local) > 0) {
        ss_strbuf_append_text(fact, when);
    }
}

static void put_amount(struct ss_flame_picture *picture, const struct ss_trust *trust)
{
    struct ss_strbuf *fact = new_fact(picture);
    uint64_t samples = picture->tree.nodes.data[0].total[SS_FLAME_NOW];
    if (ss_flame_is_of_device(picture)) {
        ss_text_append_duration(fact, samples);
        ss_strbuf_append_text(fact, " of device time, by the code that launched it");
        return;
    }
    append_noun(fact, samples, "sample", "s");
    if (trust->all.processes > 1 || trust->all.threads > 1) {
        ss_strbuf_append_text(fact, " of ");
        append_noun(fact, trust->all.threads, "thread", "s");
        ss_strbuf_append_text(fact, " in ");
        append_noun(fact, trust->all.processes, "process", "es");
    }
    if (picture->rate_hz > 0 && trust->all.kind == SS_INPUT_IMPORT) {
        ss_strbuf_append_text(fact, ", ");
        ss_text_append_duration(fact, (uint64_t)(1e9 / picture->rate_hz + 0.5));
        ss_strbuf_append_format(fact, " each: %.4g s of thread time",
                                (double)samples / picture->rate_hz);
    } else if (picture->rate_hz > 0) {
        ss_strbuf_append_format(fact, " at %g Hz: %.4g s of thread time", picture->rate_hz,
                                (double)samples / picture->rate_hz);
    }
    if (trust->all.has_counts && trust->all.lost > 0) {
        struct ss_strbuf *lost = new_fact(picture);
        append_noun(lost, trust->all.lost, "sample", "s");
        ss_strbuf_append_text(lost, " lost");
    }
}

static void put_problems(struct ss_flame_picture *picture, const struct ss_trust *trust)
{
    for (size_t i = 0; i < trust->problems.count && i < 3; i++) {
        struct ss_strbuf *fact = new_fact(picture);
        struct ss_strbuf text;
        ss_strbuf_init(&text, 65536);
        ss_trust_problem_text(&trust->problems.data[i], &text);
        ss_strbuf_append_text(fact, "Beware: ");
        append_clean_text(fact, text.data);
        ss_strbuf_fini(&text);
    }
}

static void put_meaning(struct ss_flame_picture *picture)
{
    const struct ss_flame_options *options = picture->options;
    const char *inner = options->inverted ? "above" : "below";
    bool is_device = ss_flame_is_of_device(picture);
    struct ss_strbuf *fact = new_fact(picture);
    ss_strbuf_append_format(fact, "A box's width is its share of the %s; ",
                            is_device ? "device time" : "samples");
    if (options->reverse) {
        ss_strbuf_append_format(fact, "outermost is %s, %s it its callers",
                                is_device ? "what ran" : "where the time was spent", inner);
    } else {
        ss_strbuf_append_format(fact, "what a function called%s is %s it",
                                is_device ? " and launched" : "", inner);
    }
}

static void put_difference(struct ss_flame_picture *picture)
{
    struct ss_strbuf *fact = new_fact(picture);
    ss_strbuf_append_text(fact, "Against ");
    append_inputs(fact, picture->base->model);
    ss_strbuf_append_text(fact, " (");
    uint64_t all = picture->tree.nodes.data[0].total[SS_FLAME_BASE];
    if (ss_flame_is_of_device(picture)) {
        ss_text_append_duration(fact, all);
        ss_strbuf_append_format(fact, "), compared by %s",
                                picture->options->by_samples ? "time" : "share of the total");
        return;
    }
    append_noun(fact, all, "sample", "s");
    ss_strbuf_append_format(fact, "), compared by %s; within the 95 %% uncertainty boxes are grey",
                            picture->options->by_samples ? "samples" : "share of the total");
}

static void put_left_out(struct ss_flame_picture *picture)
{
    const struct ss_selection *selection = picture->now;
    const struct {
        uint64_t samples;
        const char *why;
    } reasons[] = {{selection->idle, " idle (-i shows them)"},
                   {selection->no_gil, " without the GIL"},
                   {selection->filtered, " filtered out"},
                   {selection->frameless, " without Python frames"}};
    struct ss_strbuf *fact = NULL;
    if (ss_flame_is_of_device(picture)) {
        if (selection->filtered > 0) {
            fact = new_fact(picture);
            ss_text_append_duration(fact, selection->filtered);
            ss_strbuf_append_text(fact, " filtered out");
        }
        return;
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].samples == 0) {
            continue;
        }
        if (fact == NULL) {
            fact = new_fact(picture);
            ss_strbuf_append_text(fact, "Samples not shown: ");
        } else {
            ss_strbuf_append_text(fact, ", ");
        }
        ss_text_append_count(fact, reasons[i].samples);
        ss_strbuf_append_text(fact, reasons[i].why);
    }
}

static void put_folds(struct ss_flame_picture *picture)
{
    const struct ss_flame_layout *layout = &picture->layout;
    double width = picture->width_px - 2 * SS_FLAME_MARGIN;
    if (picture->tree.recursion_merged) {
        struct ss_strbuf *fact = new_fact(picture);
        ss_strbuf_append_text(fact, "Repeated calls of deep recursion are merged");
    }
    if (layout->folded == 0) {
        return;
    }
    struct ss_strbuf *fact = new_fact(picture);
    append_noun(fact, layout->folded, "frame", "s");
    ss_strbuf_append_format(fact, " narrower than %.2g px", layout->minimum_share * width);
    if (layout->cut > 0) {
        ss_strbuf_append_format(fact, " or deeper than %d", SS_FLAME_MAX_ROWS);
    }
    ss_strbuf_append_text(fact, " are folded into “…”");
    if (layout->minimum_share > picture->asked_minimum_share * 1.0001) {
        ss_strbuf_append_format(fact, " (raised from %.2g px to keep the file below 1 MB)",
                                picture->asked_minimum_share * width);
    }
}

void ss_flame_put_facts(struct ss_flame_picture *picture)
{
    picture->rate_hz = common_rate(picture->now->model);
    struct ss_trust trust;
    ss_trust_init(&trust, picture->now);
    put_title(picture, &trust);
    put_origin(picture, &trust);
    put_amount(picture, &trust);
    put_problems(picture, &trust);
    ss_trust_fini(&trust);
    put_meaning(picture);
    if (ss_flame_is_diff(picture)) {
        put_difference(picture);
    }
    put_left_out(picture);
    put_folds(picture);
}

/* ---- legend ---------------------------------------------------------------------------- */

struct share {
    ss_flame_class paint;
    enum ss_code_origin origin;
    uint32_t package;
    uint64_t samples;
};

typedef struct ss_vec_of(struct share) shares;

static void add_share(shares *list, const struct share *share)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].origin == share->origin && list->data[i].package == share->package) {
            list->data[i].samples += share->samples;
            return;
        }
    }
    /* Packages are few: after a thousand, the others are too small to be listed. */
    if (list->count < 1000) {
        ss_vec_push(list, *share);
    }
}

static int by_samples(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    return (a->samples < b->samples) - (a->samples > b->samples);
}

static void push_legend(struct ss_flame_picture *picture, ss_flame_class paint,
                        struct ss_strview text, uint64_t samples)
{
    if (picture->legend_count < SS_FLAME_MAX_LEGEND) {
        picture->legend[picture->legend_count++] = (struct ss_flame_legend){paint, text, samples};
    }
}

static struct ss_strview legend_text(struct ss_flame_picture *picture, const struct share *share)
{
    struct ss_strview package = ss_intern_get(&picture->tree.strings, share->package);
    if (share->origin == SS_ORIGIN_STDLIB) {
        return ss_strview_of("standard library");
    }
    if (share->origin == SS_ORIGIN_PACKAGE || share->origin == SS_ORIGIN_DEVICE ||
        (share->origin == SS_ORIGIN_NATIVE && package.length > 0)) {
        return package;
    }
    if (share->origin == SS_ORIGIN_NATIVE) {
        return ss_strview_of("native code");
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, FACT_BYTES);
    ss_strbuf_append_text(&text, "your code");
    if (package.length > 0) {
        ss_strbuf_append_text(&text, ": ");
        ss_strbuf_append_view(&text, package);
    }
    uint32_t id = ss_intern_put(&picture->tree.strings, text.data, text.length);
    ss_strbuf_fini(&text);
    return ss_intern_get(&picture->tree.strings, id);
}

static void put_difference_legend(struct ss_flame_picture *picture)
{
    push_legend(picture, ss_flame_class_diff(SS_FLAME_DIFF_STEPS), ss_strview_of("grew"), 0);
    push_legend(picture, ss_flame_class_diff(-SS_FLAME_DIFF_STEPS), ss_strview_of("shrank"), 0);
    push_legend(picture, ss_flame_class_diff(0),
                ss_strview_of(ss_flame_is_of_device(picture) ? "no difference"
                                                             : "no difference above the noise"),
                0);
}

/* Self time by package; returns the samples of waiting nodes, which are in no package. */
static uint64_t list_packages(const struct ss_flame_picture *picture, shares *list)
{
    const struct ss_flame_tree *tree = &picture->tree;
    bool plain = picture->options->colors != SS_FLAME_BY_MODULE;
    uint64_t waiting = 0;
    for (size_t i = 1; i < tree->nodes.count && !picture->options->reverse; i++) {
        const struct ss_flame_node *node = &tree->nodes.data[i];
        const struct ss_flame_label *label = ss_flame_label_of(tree, (uint32_t)i);
        if (node->self[SS_FLAME_NOW] == 0) {
            continue;
        }
        if (ss_flame_is_waiting(node)) {
            waiting += node->self[SS_FLAME_NOW];
        } else if (label->kind == SS_FLAME_FRAME) {
            struct share share = {.paint = picture->label_class[node->label],
                                  .origin = label->origin == SS_ORIGIN_UNKNOWN ? SS_ORIGIN_USER
                                                                               : label->origin,
                                  .package = plain ? 0 : label->package,
                                  .samples = node->self[SS_FLAME_NOW]};
            add_share(list, &share);
        }
    }
    if (list->count > 0) {
        qsort(list->data, list->count, sizeof *list->data, by_samples);
    }
    return waiting;
}

/* Returns the samples of the packages beyond the largest ones. */
static uint64_t put_packages(struct ss_flame_picture *picture, const shares *list)
{
    enum ss_flame_scheme scheme = picture->options->colors;
    bool useful = scheme == SS_FLAME_BY_MODULE || scheme == SS_FLAME_BY_ORIGIN;
    uint64_t others = 0;
    for (size_t i = 0; i < list->count && useful; i++) {
        const struct share *share = &list->data[i];
        if (i < LEGEND_PACKAGES) {
            bool is_any = share->origin == SS_ORIGIN_PACKAGE && scheme == SS_FLAME_BY_ORIGIN;
            struct ss_strview text =
                is_any ? ss_strview_of("packages") : legend_text(picture, share);
            push_legend(picture, share->paint, text, share->samples);
        } else {
            others += share->samples;
        }
    }
    return others;
}

/* Self time by package: explains the colours and shows where the time goes. */
void ss_flame_put_legend(struct ss_flame_picture *picture)
{
    if (ss_flame_is_diff(picture)) {
        put_difference_legend(picture);
        return;
    }
    shares list = {0};
    uint64_t waiting = list_packages(picture, &list);
    uint64_t others = put_packages(picture, &list);
    if (others > 0) {
        push_legend(picture, ss_flame_class_folded(), ss_strview_of("others"), others);
    }
    if (waiting > 0) {
        push_legend(picture, ss_flame_class_waiting(), ss_strview_of("waiting (off the CPU)"),
                    waiting);
    }
    ss_vec_fini(&list);
}
