/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs, the dots below them, and the legend. */
#include <math.h>

#include "view/output/text_cell.h"
#include "view/output/xml_text.h"
#include "view/pictures/roofline_picture.h"

enum { MOST_ROOFS = 16, MOST_LEGEND = 18, LEGEND_LINE_PX = 28, MOST_LABEL_BYTES = 256 };

/* Smaller shares of the time are not in the legend. */
static const double least_percent = 0.05;

const char *ss_roofline_colour(struct ss_strview family)
{
    static const struct {
        const char *family, *colour;
    } colours[] = {
        {"matrix product", "#2f6fb5"}, {"convolution", "#1f9e89"}, {"attention", "#8e57b8"},
        {"normalisation", "#d99a00"},  {"elementwise", "#e0653f"}, {"reduction", "#b0562b"},
        {"embedding", "#6b8e2f"},      {"optimizer", "#c2578f"},   {"conversion", "#7a8691"}};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        if (ss_strview_equal(family, ss_strview_of(colours[i].family))) {
            return colours[i].colour;
        }
    }
    return "#4d5560";
}

/* --- roofs ------------------------------------------------------------------------------------ */

/* A peak of a device in a number format. */
struct roof {
    double peak, bandwidth;
    struct ss_strview type, units, device;
};

static bool is_same(const struct roof *a, const struct roof *b)
{
    return a->peak == b->peak && a->bandwidth == b->bandwidth &&
           ss_strview_equal(a->device, b->device);
}

/* Those of drawn rows, each once. */
static size_t find_roofs(const struct ss_table *table, struct roof roofs[MOST_ROOFS])
{
    size_t count = 0;
    for (size_t row = 0; row < table->row_count && count < MOST_ROOFS; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        struct roof roof = {ss_roofline_real(cells, SS_ROOFLINE_PEAK),
                            ss_roofline_real(cells, SS_ROOFLINE_PEAK_BANDWIDTH),
                            cells[SS_ROOFLINE_TYPE].text, cells[SS_ROOFLINE_UNITS].text,
                            cells[SS_ROOFLINE_DEVICE].text};
        bool is_new = ss_roofline_is_drawn(cells) && roof.peak > 0 && roof.bandwidth > 0;
        for (size_t i = 0; i < count && is_new; i++) {
            is_new = !is_same(&roofs[i], &roof);
        }
        if (is_new) {
            roofs[count++] = roof;
        }
    }
    return count;
}

/* From where the slope enters the picture to its ridge, and on to the right. */
static void write_roof(const struct ss_roofline_picture *picture, const struct roof *roof,
                       bool is_whole)
{
    struct ss_sink *sink = picture->sink;
    double ridge = roof->peak / roof->bandwidth;
    double least = fmax(pow(10, picture->x.from), pow(10, picture->y.from) / roof->bandwidth);
    if (is_whole) {
        ss_sink_format(sink, "<path class=\"roof\" d=\"M%.1f %.1f", ss_roofline_x(picture, least),
                       ss_roofline_y(picture, least * roof->bandwidth));
        ss_sink_format(sink, "L%.1f %.1fH%d\"/>\n", ss_roofline_x(picture, ridge),
                       ss_roofline_y(picture, roof->peak), SS_ROOFLINE_RIGHT);
    } else {
        ss_sink_format(sink, "<path class=\"lower\" d=\"M%.1f %.1fH%d\"/>\n",
                       ss_roofline_x(picture, ridge), ss_roofline_y(picture, roof->peak),
                       SS_ROOFLINE_RIGHT);
    }
}

static void write_roof_label(const struct ss_roofline_picture *picture, const struct roof *roof)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_LABEL_BYTES);
    bool is_plain = ss_strview_equal(roof->units, ss_strview_of("vector")) &&
                    !ss_strview_equal(roof->type, ss_strview_of("fp64"));
    if (!is_plain) { /* all other formats share the rate of vector units */
        ss_strbuf_append_view(&text, roof->type);
        ss_strbuf_append_char(&text, ' ');
    }
    ss_strbuf_append_view(&text, roof->units);
    ss_strbuf_append_text(&text, ": ");
    ss_text_append_flops(&text, roof->peak, "FLOP/s");
    ss_sink_format(picture->sink,
                   "<text class=\"label halo\" x=\"%d\" y=\"%.1f\" "
                   "text-anchor=\"end\">",
                   SS_ROOFLINE_RIGHT - 4, ss_roofline_y(picture, roof->peak) - 5);
    ss_xml_write(picture->sink, (struct ss_strview){text.data, text.length});
    ss_sink_text(picture->sink, "</text>\n");
    ss_strbuf_fini(&text);
}

/* Along the slope, in its upper part. */
static void write_bandwidth(const struct ss_roofline_picture *picture, const struct roof *roof)
{
    double at = roof->peak / roof->bandwidth / 6;
    double x = ss_roofline_x(picture, at), y = ss_roofline_y(picture, at * roof->bandwidth);
    double rise = ss_roofline_y(picture, at * roof->bandwidth * 2) - y;
    double run = ss_roofline_x(picture, at * 2) - x;
    if (run > 0) {
        ss_sink_format(picture->sink,
                       "<text class=\"label halo\" text-anchor=\"middle\" "
                       "transform=\"translate(%.1f %.1f) rotate(%.1f) translate(0 -6)\">"
                       "%.4g GB/s</text>\n",
                       x, y, atan2(rise, run) * 180 / M_PI, roof->bandwidth / 1e9);
    }
}

static bool is_highest(const struct roof *roofs, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (ss_strview_equal(roofs[i].device, roofs[index].device) &&
            roofs[i].peak > roofs[index].peak) {
            return false;
        }
    }
    return true;
}

void ss_roofline_write_roofs(const struct ss_roofline_picture *picture)
{
    struct roof roofs[MOST_ROOFS];
    size_t count = find_roofs(picture->families, roofs);
    for (size_t i = 0; i < count; i++) {
        write_roof(picture, &roofs[i], is_highest(roofs, count, i));
    }
}

void ss_roofline_write_labels(const struct ss_roofline_picture *picture)
{
    struct roof roofs[MOST_ROOFS];
    size_t count = find_roofs(picture->families, roofs);
    for (size_t i = 0; i < count; i++) {
        write_roof_label(picture, &roofs[i]);
        if (is_highest(roofs, count, i)) {
            write_bandwidth(picture, &roofs[i]);
        }
    }
}

/* --- dots ------------------------------------------------------------------------------------- */

static void write_text_cell(struct ss_sink *sink, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_TEXT) {
        ss_xml_write(sink, cell->text);
    }
}

/* "matrix product, bf16: 522 TFLOP/s, 552 GB/s, 39.9 % of the roof, 375 ms" */
static void write_facts(struct ss_sink *sink, const struct ss_cell *cells)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_LABEL_BYTES);
    ss_text_append_flops(&text, ss_roofline_real(cells, SS_ROOFLINE_RATE), "FLOP/s");
    ss_strbuf_append_format(&text, ", %.4g GB/s, ",
                            ss_roofline_real(cells, SS_ROOFLINE_BANDWIDTH) / 1e9);
    if (cells[SS_ROOFLINE_ROOF_PERCENT].type == SS_CELL_REAL) {
        ss_strbuf_append_format(&text, "%.1f %% of the roof, ",
                                cells[SS_ROOFLINE_ROOF_PERCENT].real);
    }
    ss_text_append_duration(&text, (uint64_t)cells[SS_ROOFLINE_TIME].integer);
    ss_xml_write(sink, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

static void write_point(const struct ss_roofline_picture *picture, const struct ss_cell *cells,
                        double least_px, double most_px, double opacity)
{
    struct ss_sink *sink = picture->sink;
    bool has_short = cells[SS_ROOFLINE_SHORT].type == SS_CELL_TEXT;
    double share = ss_roofline_real(cells, SS_ROOFLINE_PERCENT) / 100;
    double radius = least_px + (most_px - least_px) * sqrt(share < 1 ? share : 1);
    ss_sink_format(sink,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"%.2f\"%s>"
                   "<title>",
                   ss_roofline_x(picture, cells[SS_ROOFLINE_INTENSITY].real),
                   ss_roofline_y(picture, cells[SS_ROOFLINE_RATE].real), radius,
                   ss_roofline_colour(cells[SS_ROOFLINE_FAMILY].text), opacity,
                   cells[SS_ROOFLINE_NOTE].type == SS_CELL_TEXT ? " class=\"above\"" : "");
    write_text_cell(sink, &cells[has_short ? SS_ROOFLINE_SHORT : SS_ROOFLINE_NAME]);
    ss_sink_text(sink, ", ");
    write_text_cell(sink, &cells[SS_ROOFLINE_TYPE]);
    ss_sink_text(sink, ": ");
    write_facts(sink, cells);
    ss_sink_text(sink, "</title></circle>\n");
}

/* Families over kernels; the rows with most time, which come first, below the others. */
void ss_roofline_write_points(const struct ss_roofline_picture *picture)
{
    for (size_t row = 0; row < picture->kernels->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(picture->kernels, row, 0);
        if (ss_roofline_is_inside(picture, cells)) {
            write_point(picture, cells, 2, 14, 0.35);
        }
    }
    for (size_t row = 0; row < picture->families->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(picture->families, row, 0);
        if (ss_roofline_is_inside(picture, cells)) {
            write_point(picture, cells, 4, 24, 0.9);
        }
    }
}

/* --- the legend ------------------------------------------------------------------------------- */

/* "39.9 % of the roof, by compute"; without FLOPs of the bandwidth; without an estimate, why. */
static void write_state(struct ss_sink *sink, const struct ss_cell *cells)
{
    if (cells[SS_ROOFLINE_FLOPS].type != SS_CELL_REAL &&
        cells[SS_ROOFLINE_ROOF_PERCENT].type != SS_CELL_REAL) {
        write_text_cell(sink, &cells[SS_ROOFLINE_SOURCE]);
    } else if (cells[SS_ROOFLINE_ROOF_PERCENT].type != SS_CELL_REAL) {
        ss_sink_text(sink, "roof unknown");
    } else {
        ss_sink_format(sink, "%.1f %% of %s", cells[SS_ROOFLINE_ROOF_PERCENT].real,
                       ss_roofline_is_drawn(cells) ? "the roof, bound by " : "the bandwidth");
        if (ss_roofline_is_drawn(cells)) {
            write_text_cell(sink, &cells[SS_ROOFLINE_BOUND]);
        }
    }
}

static void write_legend_row(const struct ss_roofline_picture *picture, const struct ss_cell *cells,
                             int y)
{
    struct ss_sink *sink = picture->sink;
    bool is_drawn = ss_roofline_is_inside(picture, cells);
    const char *colour = ss_roofline_colour(cells[SS_ROOFLINE_FAMILY].text);
    ss_sink_format(sink,
                   "<circle cx=\"%d\" cy=\"%d\" r=\"5\" fill=\"%s\" stroke=\"%s\"/>\n"
                   "<text class=\"label\" x=\"%d\" y=\"%d\">%.1f %% ",
                   SS_ROOFLINE_LEGEND + 6, y - 4, is_drawn ? colour : "none", colour,
                   SS_ROOFLINE_LEGEND + 18, y, ss_roofline_real(cells, SS_ROOFLINE_PERCENT));
    write_text_cell(sink, &cells[SS_ROOFLINE_NAME]);
    ss_sink_text(sink, cells[SS_ROOFLINE_TYPE].type == SS_CELL_TEXT ? ", " : "");
    write_text_cell(sink, &cells[SS_ROOFLINE_TYPE]);
    ss_sink_format(sink, "</text>\n<text class=\"tick\" x=\"%d\" y=\"%d\">",
                   SS_ROOFLINE_LEGEND + 18, y + 12);
    write_state(sink, cells);
    ss_sink_text(sink, "</text>\n");
}

void ss_roofline_write_legend(const struct ss_roofline_picture *picture)
{
    int y = SS_ROOFLINE_TOP + 8;
    ss_sink_format(picture->sink,
                   "<text class=\"head\" x=\"%d\" y=\"%d\">Share of the time, "
                   "and how close to the roof</text>\n",
                   SS_ROOFLINE_LEGEND, y);
    for (size_t row = 0; row < picture->families->row_count && row < MOST_LEGEND; row++) {
        const struct ss_cell *cells = ss_table_cell(picture->families, row, 0);
        if (ss_roofline_real(cells, SS_ROOFLINE_PERCENT) >= least_percent || row == 0) {
            y += LEGEND_LINE_PX;
            write_legend_row(picture, cells, y);
        }
    }
}
