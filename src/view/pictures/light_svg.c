/* SPDX-License-Identifier: Apache-2.0 */
#include "view/pictures/light_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "base/strbuf.h"
#include "view/output/text_cell.h"
#include "view/output/xml_text.h"

/* Sizes in px. */
enum {
    WIDTH = 1000,
    LEFT = 110, /* of the bars */
    RIGHT = 720,
    SIDE = 736, /* of the text beside them */
    TOP = 96,
    BAR = 10,
    BAR_STEP = 13,
    NAME = 20, /* from a kernel's begin to its first bar */
    GAP = 16,
    FOOT = 34,
    MOST_COLUMNS = 96, /* of a name */
    MOST_SIDE_COLUMNS = 42,
    MOST_TEXT_BYTES = 1 << 14
};

struct bar {
    const char *label, *colour;
    const char *inside; /* style of a text over it */
    size_t column;
};

static const struct bar light_bars[] = {
    {"compute", "#2f6fb5", "over end", SS_LIGHT_COMPUTE},
    {"memory", "#1f9e89", "over end", SS_LIGHT_MEMORY},
    {"L1", "#8fc9a5", "tick end", SS_LIGHT_L1},
    {"L2", "#8fc9a5", "tick end", SS_LIGHT_L2},
    {"DRAM", "#8fc9a5", "tick end", SS_LIGHT_DRAM},
};
static const struct bar occupancy_bars[] = {
    {"theoretical", "#c9d6e6", "tick end", SS_OCCUPANCY_THEORETICAL},
    {"achieved", "#2f6fb5", "over end", SS_OCCUPANCY_ACHIEVED},
};

/* What is drawn, and which columns say what. */
struct picture {
    const struct ss_table *table;
    struct ss_sink *sink;
    const struct bar *bars;
    size_t bar_count;
    size_t name, percent, limiter, sentence; /* columns */
    const char *nothing;                     /* where the limiter is unknown */
    const double *marks;                     /* dashed lines, in percent; ends with 0 */
    const char *about;
};

static double x_of(double percent)
{
    double share = isfinite(percent) ? fmin(fmax(percent, 0), 100) / 100 : 0;
    return LEFT + share * (RIGHT - LEFT);
}

static int height_of(const struct picture *picture)
{
    return NAME + (int)picture->bar_count * BAR_STEP + GAP;
}

static int end_of(const struct picture *picture)
{
    return TOP + (int)picture->table->row_count * height_of(picture);
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_text(struct ss_sink *sink, const char *style, double x, double y,
                     struct ss_strview text, size_t columns)
{
    struct ss_strbuf clean, cut;
    ss_strbuf_init(&clean, MOST_TEXT_BYTES);
    ss_strbuf_init(&cut, MOST_TEXT_BYTES);
    ss_text_append_clean(&clean, text);
    ss_text_append_cut_end(&cut, clean.data, columns);
    ss_sink_format(sink, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
    ss_xml_write(sink, (struct ss_strview){cut.data, cut.length});
    ss_sink_text(sink, "</text>\n");
    ss_strbuf_fini(&clean);
    ss_strbuf_fini(&cut);
}

static void write_begin(const struct picture *picture)
{
    int height = end_of(picture) + FOOT;
    ss_sink_format(picture->sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                   "height=\"%d\">\n",
                   WIDTH, height, WIDTH, height);
    ss_sink_text(picture->sink, "<style>\n"
                                "text{font:12px system-ui,sans-serif;fill:#2b2f36}\n"
                                ".title{font-size:18px;font-weight:600}\n"
                                ".note,.tick,.side{fill:#57606a}\n"
                                ".tick,.side{font-size:11px}\n"
                                ".over{fill:#fff;font-size:11px}\n"
                                ".name{font-weight:600}\n"
                                ".end{text-anchor:end}\n"
                                ".middle{text-anchor:middle}\n"
                                ".grid{stroke:#e6e8eb;fill:none}\n"
                                ".mark{stroke:#c0833a;stroke-dasharray:4 4;fill:none}\n"
                                ".back{fill:#f4f5f7}\n"
                                "</style>\n"
                                "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    put_text(picture->sink, "title", 24, 32, ss_strview_of(picture->table->title), SIZE_MAX);
    put_text(picture->sink, "note", 24, 54, ss_strview_of(picture->about), SIZE_MAX);
}

static void write_grid(const struct picture *picture)
{
    int end = end_of(picture);
    for (int percent = 0; percent <= 100; percent += 20) {
        char tick[16];
        snprintf(tick, sizeof tick, "%d %%", percent);
        ss_sink_format(picture->sink, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x_of(percent),
                       TOP - 8, end);
        put_text(picture->sink, "tick middle", x_of(percent), TOP - 14, ss_strview_of(tick),
                 SIZE_MAX);
    }
    for (const double *mark = picture->marks; *mark > 0; mark++) {
        ss_sink_format(picture->sink, "<path class=\"mark\" d=\"M%.1f %dV%d\"/>\n", x_of(*mark),
                       TOP - 8, end);
    }
}

/* --- kernels ---------------------------------------------------------------------------------- */

static void write_bar(const struct picture *picture, const struct bar *bar,
                      const struct ss_cell *cell, int y)
{
    struct ss_sink *sink = picture->sink;
    put_text(sink, "tick end", LEFT - 8, y + BAR - 1, ss_strview_of(bar->label), SIZE_MAX);
    ss_sink_format(sink, "<rect class=\"back\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                   LEFT, y, RIGHT - LEFT, BAR);
    if (cell->type != SS_CELL_REAL) {
        put_text(sink, "tick", LEFT + 4, y + BAR - 1, ss_strview_of("unknown"), SIZE_MAX);
        return;
    }
    double end = x_of(cell->real);
    bool fits = end < RIGHT - 48;
    char value[32];
    snprintf(value, sizeof value, "%.1f %%", cell->real);
    ss_sink_format(sink, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                   LEFT, y, end - LEFT, BAR, bar->colour);
    put_text(sink, fits ? "tick" : bar->inside, fits ? end + 4 : RIGHT - 4, y + BAR - 1,
             ss_strview_of(value), SIZE_MAX);
}

/* "61.8 % of the time", and what limits it. */
static void write_side(const struct picture *picture, const struct ss_cell *cells, int y)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_TEXT_BYTES);
    ss_strbuf_append_format(&text, "%.1f %% of the time", cells[picture->percent].real);
    put_text(picture->sink, "side", SIDE, y + BAR, (struct ss_strview){text.data, text.length},
             MOST_SIDE_COLUMNS);
    ss_strbuf_clear(&text);
    if (cells[picture->limiter].type == SS_CELL_TEXT) {
        ss_strbuf_append_text(&text, "limited by ");
        ss_strbuf_append_view(&text, cells[picture->limiter].text);
    } else {
        ss_strbuf_append_text(&text, picture->nothing);
    }
    put_text(picture->sink, "side", SIDE, y + BAR + 15, (struct ss_strview){text.data, text.length},
             MOST_SIDE_COLUMNS);
    ss_strbuf_fini(&text);
}

static void write_kernel(const struct picture *picture, size_t row)
{
    const struct ss_cell *cells = ss_table_cell(picture->table, row, 0);
    int y = TOP + (int)row * height_of(picture);
    ss_sink_text(picture->sink, "<g><title>");
    ss_xml_write(picture->sink, cells[0].text);
    if (cells[picture->sentence].type == SS_CELL_TEXT) {
        ss_sink_text(picture->sink, ": ");
        ss_xml_write(picture->sink, cells[picture->sentence].text);
    }
    ss_sink_text(picture->sink, "</title>\n");
    put_text(picture->sink, "name", 24, y + 13, cells[picture->name].text, MOST_COLUMNS);
    for (size_t i = 0; i < picture->bar_count; i++) {
        write_bar(picture, &picture->bars[i], &cells[picture->bars[i].column],
                  y + NAME + (int)i * BAR_STEP);
    }
    write_side(picture, cells, y + NAME);
    ss_sink_text(picture->sink, "</g>\n");
}

static void write_picture(const struct picture *picture)
{
    write_begin(picture);
    write_grid(picture);
    for (size_t row = 0; row < picture->table->row_count; row++) {
        write_kernel(picture, row);
    }
    if (picture->table->hidden_rows > 0) {
        char text[64];
        snprintf(text, sizeof text, "%" PRIu64 " more with less time", picture->table->hidden_rows);
        put_text(picture->sink, "note", 24, end_of(picture) + 14, ss_strview_of(text), SIZE_MAX);
    }
    ss_sink_text(picture->sink, "</svg>\n");
}

enum ss_status ss_view_light(const struct ss_table *table, struct ss_sink *sink,
                             struct ss_error *err)
{
    static const double marks[] = {60, 80, 0};
    struct picture picture = {
        .table = table,
        .sink = sink,
        .bars = light_bars,
        .bar_count = sizeof light_bars / sizeof *light_bars,
        .name = SS_LIGHT_SHORT,
        .percent = SS_LIGHT_PERCENT,
        .limiter = SS_LIGHT_LIMITER,
        .sentence = SS_LIGHT_SENTENCE,
        .nothing = "limiter unknown",
        .marks = marks,
        .about = "From 80 % on a unit limits the kernel; if none comes to 60 %, latency does."};
    if (table->row_count == 0) {
        return ss_fail(err, SS_E_EMPTY, "no speed of light to draw: %s", table->empty_text);
    }
    write_picture(&picture);
    return SS_OK;
}

enum ss_status ss_view_occupancy(const struct ss_table *table, struct ss_sink *sink,
                                 struct ss_error *err)
{
    static const double marks[] = {0};
    struct picture picture = {.table = table,
                              .sink = sink,
                              .bars = occupancy_bars,
                              .bar_count = sizeof occupancy_bars / sizeof *occupancy_bars,
                              .name = SS_OCCUPANCY_SHORT,
                              .percent = SS_OCCUPANCY_PERCENT,
                              .limiter = SS_OCCUPANCY_LIMITER,
                              .sentence = SS_OCCUPANCY_SENTENCE,
                              .nothing = "not limited by its needs",
                              .marks = marks,
                              .about = "Resident warps of a multiprocessor: at most, by what a "
                                       "block needs, and as counters measured."};
    if (table->row_count == 0) {
        return ss_fail(err, SS_E_EMPTY, "no occupancy to draw: %s", table->empty_text);
    }
    write_picture(&picture);
    return SS_OK;
}
