/* SPDX-License-Identifier: Apache-2.0 */
/* The data for the script of a flame graph (viewer/flame.js): JSON inside the SVG, small numbers in
 * flat lists. */
#include <inttypes.h>

#include "view/flame/flame_svg_picture.h"
#include "view/output/json_text.h"

/* New numbers of the texts and labels that are shown: only these are written. */
struct numbering {
    uint32_t *label; /* by label: number + 1 */
    uint32_t *text;
    struct ss_vec_of(uint32_t) labels, texts;
};

static uint32_t number_text(struct numbering *numbers, uint32_t string)
{
    if (numbers->text[string] == 0) {
        ss_vec_push(&numbers->texts, string);
        numbers->text[string] = (uint32_t)numbers->texts.count;
    }
    return numbers->text[string] - 1;
}

static void write_key(struct ss_sink *sink, const char *key)
{
    ss_sink_format(sink, ",\n\"%s\":", key);
}

static void write_texts(const struct ss_flame_picture *picture, struct ss_sink *sink,
                        const struct numbering *numbers)
{
    write_key(sink, "texts");
    ss_sink_text(sink, "[");
    for (size_t i = 0; i < numbers->texts.count; i++) {
        ss_sink_text(sink, i > 0 ? "," : "");
        ss_json_write_string(sink, ss_intern_get(&picture->tree.strings, numbers->texts.data[i]));
    }
    ss_sink_text(sink, "]");
}

/* Per label: name, file, line, package, kind × 8 + origin, class. */
static void write_labels(const struct ss_flame_picture *picture, struct ss_sink *sink,
                         struct numbering *numbers)
{
    write_key(sink, "labels");
    ss_sink_text(sink, "[");
    for (size_t i = 0; i < numbers->labels.count; i++) {
        const struct ss_flame_label *label = &picture->tree.labels.data[numbers->labels.data[i]];
        struct ss_flame_paint paint;
        ss_flame_paint_of(picture->label_class[numbers->labels.data[i]], &paint);
        ss_sink_format(sink, "%s%u,%u,%d,%u,%d,\"%s\"", i > 0 ? ",\n" : "",
                       number_text(numbers, label->name), number_text(numbers, label->file),
                       label->line, number_text(numbers, label->package),
                       (int)label->kind * 8 + (int)label->origin, paint.name);
    }
    ss_sink_text(sink, "]");
}

/* Per rectangle: levels to go up before going down, label (or minus the number of folded frames),
 * then for each side total, self, waiting, and ticks of the total whose stack was not read. */
static void write_cells(const struct ss_flame_picture *picture, struct ss_sink *sink,
                        struct numbering *numbers)
{
    int sides = ss_flame_is_diff(picture) ? 2 : 1;
    uint32_t depth = 0;
    ss_sink_text(sink, "\"cells\":[");
    for (size_t i = 0; i < picture->layout.cells.count; i++) {
        const struct ss_flame_cell *cell = &picture->layout.cells.data[i];
        const struct ss_flame_node *node = &picture->tree.nodes.data[cell->node];
        ss_sink_format(sink, "%s%u,", i > 0 ? ",\n" : "", i > 0 ? depth + 1 - cell->depth : 0);
        depth = cell->depth;
        if (cell->folded > 0) {
            ss_sink_format(sink, "-%u", cell->folded);
        } else {
            uint32_t *number = &numbers->label[node->label];
            if (*number == 0) {
                ss_vec_push(&numbers->labels, node->label);
                *number = (uint32_t)numbers->labels.count;
            }
            ss_sink_format(sink, "%u", *number - 1);
        }
        for (int side = 0; side < sides; side++) {
            ss_sink_format(sink, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, cell->total[side],
                           cell->folded > 0 ? 0 : node->self[side],
                           cell->folded > 0 ? 0 : node->waiting[side],
                           cell->total[side] - cell->records[side]);
        }
    }
    ss_sink_text(sink, "]");
}

static void write_head(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    const struct ss_flame_options *options = picture->options;
    const struct ss_flame_layout *layout = &picture->layout;
    ss_sink_format(sink, ",\n\"diff\":%s,\"inverted\":%s,\"fluid\":%s,\"reverse\":%s",
                   ss_flame_is_diff(picture) ? "true" : "false",
                   options->inverted ? "true" : "false", options->width_px == 0 ? "true" : "false",
                   options->reverse ? "true" : "false");
    ss_sink_format(sink, ",\n\"deviceTime\":%s", ss_flame_is_of_device(picture) ? "true" : "false");
    ss_sink_format(sink, ",\n\"baseWidths\":%s,\"bySamples\":%s,\"rate\":%g,\"foldedShare\":%.6g",
                   options->base_widths ? "true" : "false", options->by_samples ? "true" : "false",
                   picture->rate_hz,
                   picture->tree.nodes.data[0].total[0] > 0
                       ? (double)layout->folded_samples[0] /
                             (double)picture->tree.nodes.data[0].total[0]
                       : 0);
    write_key(sink, "title");
    ss_json_write_string(sink, (struct ss_strview){picture->title.data, picture->title.length});
    write_key(sink, "facts");
    ss_sink_text(sink, "[");
    for (int i = 0; i < picture->fact_count; i++) {
        ss_sink_text(sink, i > 0 ? "," : "");
        ss_json_write_string(sink,
                             (struct ss_strview){picture->facts[i].data, picture->facts[i].length});
    }
    ss_sink_text(sink, "]");
    write_key(sink, "legend");
    ss_sink_text(sink, "[");
    for (int i = 0; i < picture->legend_count; i++) {
        struct ss_flame_paint paint;
        ss_flame_paint_of(picture->legend[i].paint, &paint);
        ss_sink_format(sink, "%s\"%s\",", i > 0 ? "," : "", paint.name);
        ss_json_write_string(sink, picture->legend[i].text);
        ss_sink_format(sink, ",%" PRIu64, picture->legend[i].samples);
    }
    ss_sink_text(sink, "]");
}

void ss_flame_write_data(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    struct numbering numbers = {
        .label = ss_alloc_zero(picture->tree.labels.count + 1, sizeof(uint32_t)),
        .text = ss_alloc_zero(picture->tree.strings.count + 1, sizeof(uint32_t))};
    ss_sink_text(sink, "<metadata>{");
    write_cells(picture, sink, &numbers);
    write_labels(picture, sink, &numbers);
    write_texts(picture, sink, &numbers);
    write_head(picture, sink);
    ss_sink_text(sink, "}</metadata>\n");
    ss_free(numbers.label);
    ss_free(numbers.text);
    ss_vec_fini(&numbers.labels);
    ss_vec_fini(&numbers.texts);
}
