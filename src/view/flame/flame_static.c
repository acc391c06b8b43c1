/* SPDX-License-Identifier: Apache-2.0 */
/* The static part of a flame graph: it needs no script. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "view/flame/flame_svg_picture.h"
#include "view/output/xml_text.h"

/* Glyph advances: the labels of rectangles are monospaced; that of the head is an estimate. */
static const double label_advance_px = 7.23;
static const double fact_advance_px = 6.4;
enum { LABEL_PAD = 4, TITLE_BASELINE = 32, FACTS_TOP = 42 };

/* Narrower rectangles are not drawn. */
static const double drawn_px = 0.5;

/* East Asian wide characters and emoji are two columns wide. */
static int columns_of(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    bool wide = (length == 3 && c[0] >= 0xe1 && !(c[0] == 0xe2 && c[1] < 0xba)) || length == 4;
    return wide ? 2 : 1;
}

static size_t columns(struct ss_strview text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.length;) {
        size_t length = ss_utf8_length(text.data + at, text.length - at);
        count += (size_t)columns_of(text.data + at, length);
        at += length != 0 ? length : 1;
    }
    return count;
}

/* Writes at most `room` columns; a cut text ends with "…". */
static void write_fitted(struct ss_sink *sink, struct ss_strview text, size_t room)
{
    if (columns(text) <= room) {
        ss_xml_write(sink, text);
        return;
    }
    size_t at = 0, used = 0;
    while (at < text.length) {
        size_t length = ss_utf8_length(text.data + at, text.length - at);
        int wide = columns_of(text.data + at, length);
        if (used + (size_t)wide + 1 > room) {
            break;
        }
        used += (size_t)wide;
        at += length != 0 ? length : 1;
    }
    ss_xml_write(sink, (struct ss_strview){text.data, at});
    ss_sink_text(sink, "…");
}

/* ---- head ------------------------------------------------------------------------------ */

static double fact_width(struct ss_strview text)
{
    return (double)columns(text) * fact_advance_px;
}

/* Joins facts by " · "; lines break between facts. Returns the number of lines; writes them unless
 * `sink` is NULL. */
static int lay_facts(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    double room = picture->width_px - 2 * SS_FLAME_MARGIN, used = 0;
    int lines = 0;
    for (int i = 0; i < picture->fact_count; i++) {
        struct ss_strview fact = {picture->facts[i].data, picture->facts[i].length};
        double width = fact_width(fact);
        bool starts = lines == 0 || used + 3 * fact_advance_px + width > room;
        if (starts) {
            lines++;
            used = width;
        } else {
            used += 3 * fact_advance_px + width;
        }
        if (sink == NULL) {
            continue;
        }
        if (starts) {
            ss_sink_format(sink, "%s<text x=\"%d\" y=\"%d\">", lines > 1 ? "</text>\n" : "",
                           SS_FLAME_MARGIN, FACTS_TOP + lines * SS_FLAME_FACT_LINE);
        } else {
            ss_sink_text(sink, " · ");
        }
        write_fitted(sink, fact, (size_t)(room / fact_advance_px));
    }
    if (sink != NULL && lines > 0) {
        ss_sink_text(sink, "</text>\n");
    }
    return lines;
}

static void write_legend_entry(const struct ss_flame_picture *picture, struct ss_sink *sink,
                               const struct ss_flame_legend *entry, double x, double y)
{
    struct ss_flame_paint paint;
    ss_flame_paint_of(entry->paint, &paint);
    ss_sink_format(sink, "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\"/>",
                   paint.name, x, y);
    ss_sink_format(sink, "<text x=\"%.0f\" y=\"%.0f\">", x + 16, y + 10);
    ss_xml_write(sink, entry->text);
    uint64_t all = picture->tree.nodes.data[0].total[SS_FLAME_NOW];
    if (entry->samples > 0 && all > 0) {
        ss_sink_format(sink, " <tspan class=\"x\">%.1f %%</tspan>",
                       100 * (double)entry->samples / (double)all);
    }
    ss_sink_text(sink, "</text>\n");
}

static double legend_entry_width(const struct ss_flame_legend *entry)
{
    return 16 + fact_width(entry->text) + (entry->samples > 0 ? 8 * fact_advance_px : 0) + 18;
}

static int lay_legend(const struct ss_flame_picture *picture, struct ss_sink *sink, double top)
{
    double x = SS_FLAME_MARGIN;
    int lines = picture->legend_count > 0;
    for (int i = 0; i < picture->legend_count; i++) {
        double width = legend_entry_width(&picture->legend[i]);
        if (x > SS_FLAME_MARGIN && x + width > picture->width_px - SS_FLAME_MARGIN) {
            x = SS_FLAME_MARGIN;
            lines++;
        }
        if (sink != NULL) {
            write_legend_entry(picture, sink, &picture->legend[i], x,
                               top + (lines - 1) * SS_FLAME_LEGEND_LINE);
        }
        x += width;
    }
    return lines;
}

static double rectangles_top(const struct ss_flame_picture *picture)
{
    return FACTS_TOP + 12 + lay_facts(picture, NULL) * SS_FLAME_FACT_LINE +
           lay_legend(picture, NULL, 0) * SS_FLAME_LEGEND_LINE + 4;
}

double ss_flame_height(const struct ss_flame_picture *picture)
{
    return rectangles_top(picture) + picture->layout.rows * SS_FLAME_ROW + SS_FLAME_MARGIN;
}

/* ---- rectangles ------------------------------------------------------------------------ */

struct scale {
    int side;
    double per_sample, top;
    uint32_t rows;
    bool inverted;
};

static struct scale scale_of(const struct ss_flame_picture *picture)
{
    int side =
        picture->options->base_widths && ss_flame_is_diff(picture) ? SS_FLAME_BASE : SS_FLAME_NOW;
    double all = (double)picture->tree.nodes.data[0].total[side];
    return (struct scale){.side = side,
                          .per_sample =
                              all > 0 ? (picture->width_px - 2 * SS_FLAME_MARGIN) / all : 0,
                          .top = rectangles_top(picture),
                          .rows = picture->layout.rows,
                          .inverted = picture->options->inverted};
}

static double left_of(const struct scale *scale, const struct ss_flame_cell *cell)
{
    return SS_FLAME_MARGIN + cell->left[scale->side] * scale->per_sample;
}

static double width_of(const struct scale *scale, const struct ss_flame_cell *cell)
{
    return (double)cell->total[scale->side] * scale->per_sample;
}

static double top_of(const struct scale *scale, const struct ss_flame_cell *cell)
{
    uint32_t row = scale->inverted ? scale->rows - 1 - cell->depth : cell->depth;
    return scale->top + row * SS_FLAME_ROW;
}

/* Writes all rectangles of a colour as one path: a fifth of the bytes of separate elements. */
static void write_rectangles(const struct ss_flame_picture *picture, struct ss_sink *sink,
                             const struct scale *scale)
{
    const size_t count = picture->layout.cells.count;
    uint32_t heads[SS_FLAME_MAX_CLASSES];
    memset(heads, 0xff, sizeof heads);
    uint32_t *next = ss_alloc_zero(count + 1, sizeof *next);
    for (size_t i = count; i-- > 0;) {
        const struct ss_flame_cell *cell = &picture->layout.cells.data[i];
        if (width_of(scale, cell) >= drawn_px) {
            ss_flame_class class = ss_flame_cell_class(picture, cell);
            next[i] = heads[class];
            heads[class] = (uint32_t)i;
        }
    }
    for (int class = 0; class < SS_FLAME_MAX_CLASSES; class ++) {
        if (heads[class] == UINT32_MAX) {
            continue;
        }
        struct ss_flame_paint paint;
        ss_flame_paint_of((ss_flame_class) class, &paint);
        ss_sink_format(sink, "<path class=\"%s\" d=\"", paint.name);
        for (uint32_t i = heads[class]; i != UINT32_MAX; i = next[i]) {
            const struct ss_flame_cell *cell = &picture->layout.cells.data[i];
            double width = width_of(scale, cell);
            width = width > 1.5 ? width - 0.5 : width;
            ss_sink_format(sink, "M%.1f %.0fh%.1fv%dh%.1fz", left_of(scale, cell),
                           top_of(scale, cell), width, SS_FLAME_BOX, -width);
        }
        ss_sink_text(sink, "\"/>\n");
    }
    ss_free(next);
}

/* Writes file and line after a name of `used` columns: without folders if they do not fit, nothing
 * if the rest does not fit either. */
static void write_location(struct ss_sink *sink, struct ss_strview file, int line, size_t used,
                           size_t room)
{
    char number[16] = "";
    if (line > 0) {
        snprintf(number, sizeof number, ":%d", line);
    }
    if (used + 1 + columns(file) + strlen(number) > room) {
        const char *slash = memrchr(file.data, '/', file.length);
        if (slash != NULL) {
            file.length -= (size_t)(slash + 1 - file.data);
            file.data = slash + 1;
        }
    }
    if (file.length > 0 && used + 1 + columns(file) + strlen(number) <= room) {
        ss_sink_text(sink, " <tspan class=\"x\">");
        ss_xml_write(sink, file);
        ss_sink_format(sink, "%s</tspan>", number);
    }
}

static void write_label(const struct ss_flame_picture *picture, struct ss_sink *sink,
                        const struct scale *scale, const struct ss_flame_cell *cell)
{
    double room_px = width_of(scale, cell) - 2 * LABEL_PAD + 1;
    size_t room = room_px > 0 ? (size_t)(room_px / label_advance_px) : 0;
    if (room < 3) {
        return;
    }
    const struct ss_flame_label *label = ss_flame_label_of(&picture->tree, cell->node);
    struct ss_strview name = ss_intern_get(&picture->tree.strings, label->name);
    struct ss_strview file = ss_intern_get(&picture->tree.strings, label->file);
    ss_sink_format(sink, "<text x=\"%.1f\" y=\"%.0f\">", left_of(scale, cell) + LABEL_PAD,
                   top_of(scale, cell) + 13);
    if (cell->folded > 0) {
        char fold[48];
        snprintf(fold, sizeof fold, "…(%u frame%s)", cell->folded, cell->folded == 1 ? "" : "s");
        write_fitted(sink, ss_strview_of(fold), room);
    } else {
        write_fitted(sink, name, room);
        write_location(sink, file, label->line, columns(name), room);
    }
    ss_sink_text(sink, "</text>\n");
}

void ss_flame_write_static(const struct ss_flame_picture *picture, struct ss_sink *sink)
{
    struct scale scale = scale_of(picture);
    struct ss_strview title = {picture->title.data, picture->title.length};
    ss_sink_format(sink, "<g class=\"head\">\n<text class=\"title\" x=\"%d\" y=\"%d\">",
                   SS_FLAME_MARGIN, TITLE_BASELINE);
    write_fitted(sink, title, (size_t)((picture->width_px - 2 * SS_FLAME_MARGIN) / 10));
    ss_sink_text(sink, "</text>\n<g class=\"facts\">\n");
    int lines = lay_facts(picture, sink);
    ss_sink_text(sink, "</g>\n<g class=\"legend\">\n");
    lay_legend(picture, sink, FACTS_TOP + 12 + lines * SS_FLAME_FACT_LINE);
    ss_sink_text(sink, "</g>\n</g>\n<g class=\"boxes\">\n");
    write_rectangles(picture, sink, &scale);
    for (size_t i = 0; i < picture->layout.cells.count; i++) {
        write_label(picture, sink, &scale, &picture->layout.cells.data[i]);
    }
    ss_sink_text(sink, "</g>\n");
}
