/* SPDX-License-Identifier: Apache-2.0 */
#include "view/flame/flame_svg.h"

#include <math.h>

#include "view/flame/flame_svg_picture.h"
#include "view/output/shown.h"
#include "view/output/xml_text.h"

extern const char ss_flame_script[];
extern const size_t ss_flame_script_length;
extern const char ss_flame_sheet[];
extern const size_t ss_flame_sheet_length;

enum { DEEP_ROWS = 300 };
static const double default_width_px = 1200, default_minimum_px = 0.1;

bool ss_flame_is_diff(const struct ss_flame_picture *picture)
{
    return picture->base != NULL;
}

bool ss_flame_is_of_device(const struct ss_flame_picture *picture)
{
    return picture->now->model->weight == SS_WEIGHT_DEVICE_NS;
}

bool ss_flame_is_waiting(const struct ss_flame_node *node)
{
    return node->waiting[SS_FLAME_NOW] > 0 &&
           node->waiting[SS_FLAME_NOW] * 2 > node->total[SS_FLAME_NOW];
}

/* The colour step of a difference, by the absolute difference of the shares; 0 within the 95 %
 * uncertainty of the two counts (also in viewer/flame.js). */
static int diff_step(const struct ss_flame_picture *picture, const struct ss_flame_cell *cell)
{
    static const double steps[SS_FLAME_DIFF_STEPS - 1] = {0.005, 0.01, 0.025, 0.05};
    const uint64_t *all = picture->tree.nodes.data[0].total;
    bool by_samples = picture->options->by_samples;
    double scale[SS_FLAME_SIDES], variance = 0, share[SS_FLAME_SIDES];
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        scale[side] = (double)(by_samples ? all[SS_FLAME_BASE] : all[side]);
        share[side] = scale[side] > 0 ? (double)cell->total[side] / scale[side] : 0;
        double spread = by_samples ? share[side] : share[side] * (1 - share[side]);
        variance += scale[side] > 0 && spread > 0 ? spread / scale[side] : 0;
    }
    double difference = share[SS_FLAME_NOW] - share[SS_FLAME_BASE];
    variance = ss_flame_is_of_device(picture) ? 0 : variance; /* it is measured, not sampled */
    if (fabs(difference) <= 1.96 * sqrt(variance) || difference == 0) {
        return 0;
    }
    int step = 1;
    while (step < SS_FLAME_DIFF_STEPS && fabs(difference) >= steps[step - 1]) {
        step++;
    }
    return difference > 0 ? step : -step;
}

ss_flame_class ss_flame_cell_class(const struct ss_flame_picture *picture,
                                   const struct ss_flame_cell *cell)
{
    if (ss_flame_is_diff(picture)) {
        return ss_flame_class_diff(diff_step(picture, cell));
    }
    if (cell->folded > 0) {
        return ss_flame_class_folded();
    }
    const struct ss_flame_node *node = &picture->tree.nodes.data[cell->node];
    if (ss_flame_label_of(&picture->tree, cell->node)->kind == SS_FLAME_FRAME &&
        ss_flame_is_waiting(node)) {
        return ss_flame_class_waiting();
    }
    return picture->label_class[node->label];
}

/* ---- sheet ----------------------------------------------------------------------------- */

static void mark_classes(const struct ss_flame_picture *picture, bool *used)
{
    for (size_t i = 0; i < picture->layout.cells.count; i++) {
        used[ss_flame_cell_class(picture, &picture->layout.cells.data[i])] = true;
    }
    for (int i = 0; i < picture->legend_count; i++) {
        used[picture->legend[i].paint] = true;
    }
    used[ss_flame_class_folded()] = true;
    for (int step = -SS_FLAME_DIFF_STEPS; step <= SS_FLAME_DIFF_STEPS; step++) {
        used[ss_flame_class_diff(step)] |= ss_flame_is_diff(picture);
    }
}

static void write_sheet(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    bool used[SS_FLAME_MAX_CLASSES] = {false};
    mark_classes(picture, used);
    ss_sink_text(sink, "<style>\n");
    ss_sink_write(sink, ss_flame_sheet, ss_flame_sheet_length);
    for (int dark = 0; dark < 2; dark++) {
        ss_sink_text(sink, dark ? "@media (prefers-color-scheme: dark) {\n" : "");
        for (int class = 0; class < SS_FLAME_MAX_CLASSES; class ++) {
            if (used[class]) {
                struct ss_flame_paint paint;
                ss_flame_paint_of((ss_flame_class) class, &paint);
                ss_sink_format(sink, ".stepscope-flame .%s{fill:%s}\n", paint.name,
                               dark ? paint.dark : paint.light);
            }
        }
        ss_sink_text(sink, dark ? "}\n" : "");
    }
    ss_sink_text(sink, "</style>\n");
}

static void write_svg(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    double height = ss_flame_height(picture);
    ss_sink_format(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"stepscope-flame\" "
                   "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
                   picture->width_px, height, picture->width_px, height);
    ss_sink_text(sink, "<title>");
    ss_xml_write(sink, (struct ss_strview){picture->title.data, picture->title.length});
    ss_sink_text(sink, "</title>\n<desc>Flame graph by stepscope.");
    for (int i = 0; i < picture->fact_count; i++) {
        ss_sink_text(sink, " ");
        ss_xml_write(sink, (struct ss_strview){picture->facts[i].data, picture->facts[i].length});
        ss_sink_text(sink, ".");
    }
    ss_sink_text(sink, "</desc>\n");
    write_sheet(picture, sink);
    ss_sink_text(sink, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    ss_flame_write_static(picture, sink);
    ss_flame_write_data(picture, sink);
    ss_sink_text(sink, "<script><![CDATA[\n");
    ss_sink_write(sink, ss_flame_script, ss_flame_script_length);
    ss_sink_text(sink, "]]></script>\n</svg>\n");
}

/* ---- the graph ------------------------------------------------------------------------- */

static void build_tree(struct ss_flame_picture *picture, bool processes)
{
    const struct ss_flame_options *options = picture->options;
    struct ss_flame_tree_options tree = {.size = sizeof tree,
                                         .style = options->style,
                                         .processes = processes,
                                         .threads = options->threads,
                                         .ranges = options->ranges,
                                         .reverse = options->reverse,
                                         .minimum_share = picture->asked_minimum_share};
    ss_flame_tree_init(&picture->tree, picture->now, picture->base, &tree);
    if (picture->tree.depth > DEEP_ROWS && !options->reverse) {
        ss_flame_tree_fini(&picture->tree);
        tree.merge_recursion = true;
        ss_flame_tree_init(&picture->tree, picture->now, picture->base, &tree);
    }
}

static void render(struct ss_flame_picture *picture, uint32_t max_cells, struct ss_sink *sink)
{
    ss_flame_layout_init(&picture->layout, &picture->tree, picture->asked_minimum_share, max_cells);
    ss_flame_put_facts(picture);
    ss_flame_put_legend(picture);
    write_svg(picture, sink);
    for (int i = 0; i < picture->fact_count; i++) {
        ss_strbuf_fini(&picture->facts[i]);
    }
    ss_strbuf_fini(&picture->title);
    picture->fact_count = 0;
    picture->legend_count = 0;
    ss_flame_layout_fini(&picture->layout);
}

/* Renders to memory with ever fewer rectangles until the file is small enough: their number does
 * not determine its size, since names may be long. */
static void render_within_limit(struct ss_flame_picture *picture, struct ss_sink *sink)
{
    for (uint32_t max_cells = SS_FLAME_MAX_CELLS;; max_cells -= max_cells / 4) {
        struct ss_sink memory;
        ss_sink_open_memory(&memory, SS_FLAME_MAX_BYTES);
        render(picture, max_cells, &memory);
        bool fits = !ss_sink_failed(&memory);
        if (fits) {
            ss_sink_write(sink, memory.buffer.data, memory.buffer.length);
        }
        ss_sink_abandon(&memory);
        if (fits) {
            return;
        }
        if (max_cells < 16) {
            ss_bug("a flame graph of %u boxes does not fit", max_cells);
        }
    }
}

enum ss_status ss_view_flame(const struct ss_selection *now, const struct ss_selection *base,
                             const struct ss_flame_options *options, struct ss_sink *sink,
                             struct ss_error *err)
{
    struct ss_flame_picture picture = {.options = options,
                                       .now = now,
                                       .base = base,
                                       .width_px = options->width_px > 0 ? options->width_px
                                                                         : default_width_px};
    double minimum_px = options->minimum_px > 0 ? options->minimum_px : default_minimum_px;
    picture.asked_minimum_share = minimum_px / (picture.width_px - 2 * SS_FLAME_MARGIN);
    bool processes = !options->no_processes && (ss_selection_has_processes(now) ||
                                                (base != NULL && ss_selection_has_processes(base)));
    build_tree(&picture, processes);
    const uint64_t *all = picture.tree.nodes.data[0].total;
    enum ss_status status = SS_OK;
    if (all[SS_FLAME_NOW] == 0 || (base != NULL && all[SS_FLAME_BASE] == 0)) {
        status = ss_fail_no_samples(all[SS_FLAME_NOW] == 0 ? now : base, err);
    } else {
        picture.label_class = ss_alloc_zero(picture.tree.labels.count, sizeof *picture.label_class);
        for (size_t i = 0; i < picture.tree.labels.count; i++) {
            picture.label_class[i] =
                ss_flame_class_of(&picture.tree, &picture.tree.labels.data[i], options->colors);
        }
        render_within_limit(&picture, sink);
        ss_free(picture.label_class);
    }
    ss_flame_tree_fini(&picture.tree);
    return status;
}
