/* SPDX-License-Identifier: Apache-2.0 */
#include "view/pictures/roofline_svg.h"

#include <math.h>

#include "view/output/sentence_text.h"
#include "view/output/xml_text.h"
#include "view/pictures/roofline_picture.h"

enum { MOST_DECADES = 12, MOST_TEXT_BYTES = 1 << 16, MOST_COLUMNS = 172 };

/* --- axes ------------------------------------------------------------------------------------- */

static double along(struct ss_roofline_axis axis, double value, double from_px, double to_px)
{
    double decades = log10(value) - axis.from, all = axis.to - axis.from;
    double share = decades < 0 ? 0 : decades > all ? 1 : decades / all;
    return from_px + share * (to_px - from_px);
}

static bool is_on(struct ss_roofline_axis axis, double value)
{
    return value > 0 && log10(value) >= axis.from && log10(value) <= axis.to;
}

bool ss_roofline_is_inside(const struct ss_roofline_picture *picture, const struct ss_cell *cells)
{
    return ss_roofline_is_drawn(cells) && is_on(picture->x, cells[SS_ROOFLINE_INTENSITY].real) &&
           is_on(picture->y, cells[SS_ROOFLINE_RATE].real);
}

double ss_roofline_x(const struct ss_roofline_picture *picture, double intensity)
{
    return along(picture->x, intensity, SS_ROOFLINE_LEFT, SS_ROOFLINE_RIGHT);
}

double ss_roofline_y(const struct ss_roofline_picture *picture, double rate)
{
    return along(picture->y, rate, SS_ROOFLINE_BOTTOM, SS_ROOFLINE_TOP);
}

static void widen(struct ss_roofline_axis *axis, double value)
{
    if (value > 0 && isfinite(value)) {
        int from = (int)floor(log10(value)), to = (int)ceil(log10(value));
        axis->from = from < axis->from ? from : axis->from;
        axis->to = to > axis->to ? to : axis->to;
    }
}

/* Rows below this share of the time may lie outside. */
static const double least_percent = 0.5;

/* All but the smallest rows, and where the slope of each roof ends; false: no row has a place. */
static bool find_axes(struct ss_roofline_picture *picture)
{
    struct ss_roofline_axis none = {INT16_MAX, INT16_MIN}, x = none, y = none;
    for (size_t row = 0; row < picture->families->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(picture->families, row, 0);
        double peak = ss_roofline_real(cells, SS_ROOFLINE_PEAK);
        double bandwidth = ss_roofline_real(cells, SS_ROOFLINE_PEAK_BANDWIDTH);
        if (ss_roofline_is_drawn(cells) &&
            (x.from > x.to || ss_roofline_real(cells, SS_ROOFLINE_PERCENT) >= least_percent)) {
            widen(&x, cells[SS_ROOFLINE_INTENSITY].real);
            widen(&y, cells[SS_ROOFLINE_RATE].real);
            widen(&y, peak);
            widen(&x, bandwidth > 0 ? peak / bandwidth : 0);
        }
    }
    bool has_any = x.from <= x.to && y.from <= y.to;
    x.to += x.to == x.from || x.to < 3;
    y.to += y.to == y.from;
    x.from = x.to - x.from > MOST_DECADES ? x.to - MOST_DECADES : x.from;
    y.from = y.to - y.from > MOST_DECADES ? y.to - MOST_DECADES : y.from;
    picture->x = x;
    picture->y = y;
    return has_any;
}

/* --- the frame -------------------------------------------------------------------------------- */

/* "10", "0.01": of a decade. */
static void write_decade(struct ss_sink *sink, int decade, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    int prefix = unit[0] != '\0' && decade > 0 ? decade / 3 : 0;
    prefix = prefix < 7 ? prefix : 6;
    int rest = decade - 3 * prefix;
    ss_sink_format(sink, "%.*f%s%s%s", rest < 0 ? -rest : 0, pow(10, rest),
                   unit[0] != '\0' ? " " : "", prefixes[prefix], unit);
}

static void write_grid(const struct ss_roofline_picture *picture)
{
    struct ss_sink *sink = picture->sink;
    for (int decade = picture->x.from; decade <= picture->x.to; decade++) {
        double x = ss_roofline_x(picture, pow(10, decade));
        ss_sink_format(sink, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, SS_ROOFLINE_TOP,
                       SS_ROOFLINE_BOTTOM);
        ss_sink_format(sink, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x,
                       SS_ROOFLINE_BOTTOM + 18);
        write_decade(sink, decade, "");
        ss_sink_text(sink, "</text>\n");
    }
    for (int decade = picture->y.from; decade <= picture->y.to; decade++) {
        double y = ss_roofline_y(picture, pow(10, decade));
        ss_sink_format(sink, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", SS_ROOFLINE_LEFT, y,
                       SS_ROOFLINE_RIGHT);
        ss_sink_format(sink, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                       SS_ROOFLINE_LEFT - 8, y + 4);
        write_decade(sink, decade, "FLOP/s");
        ss_sink_text(sink, "</text>\n");
    }
    ss_sink_format(sink,
                   "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOPs per byte "
                   "of memory that inputs and outputs need</text>\n",
                   (SS_ROOFLINE_LEFT + SS_ROOFLINE_RIGHT) / 2, SS_ROOFLINE_BOTTOM + 42);
}

/* What stands above the table, a line each. */
static void write_head(const struct ss_roofline_picture *picture)
{
    struct ss_sink *sink = picture->sink;
    const struct ss_table *table = picture->families;
    struct ss_strbuf text;
    int y = 30;
    ss_strbuf_init(&text, MOST_TEXT_BYTES);
    ss_sink_format(sink, "<text class=\"title\" x=\"24\" y=\"%d\">", y);
    ss_xml_write(sink, ss_strview_of(table->title));
    ss_sink_text(sink, "</text>\n");
    for (size_t i = 0; i < table->notes.count && y < SS_ROOFLINE_TOP - 30; i++) {
        if (table->notes.data[i].is_before) {
            ss_strbuf_clear(&text);
            ss_sentence_append_clean(&table->notes.data[i].text, &text);
            ss_sink_format(sink, "<text class=\"note\" x=\"24\" y=\"%d\">", y += 17);
            ss_xml_write(sink, (struct ss_strview){text.data, text.length});
            ss_sink_text(sink, "</text>\n");
        }
    }
    ss_strbuf_fini(&text);
}

static void write_begin(struct ss_sink *sink)
{
    ss_sink_format(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                   "height=\"%d\">\n",
                   SS_ROOFLINE_WIDTH, SS_ROOFLINE_HEIGHT, SS_ROOFLINE_WIDTH, SS_ROOFLINE_HEIGHT);
    ss_sink_text(sink, "<style>\n"
                       "text{font:12px system-ui,sans-serif;fill:#2b2f36}\n"
                       ".title{font-size:18px;font-weight:600}\n"
                       ".note{font-size:12px;fill:#57606a}\n"
                       ".tick,.axis{fill:#57606a;font-size:11px}\n"
                       ".grid{stroke:#e6e8eb;fill:none}\n"
                       ".roof{stroke:#2b2f36;stroke-width:1.6;fill:none;stroke-linejoin:round}\n"
                       ".lower{stroke:#9aa1a9;stroke-width:1.2;stroke-dasharray:5 4;fill:none}\n"
                       ".label{font-size:11px}\n"
                       ".head{font-size:11px;font-weight:600}\n"
                       ".halo{paint-order:stroke;stroke:#fff;stroke-width:3px}\n"
                       ".above{stroke:#c62828;stroke-width:2}\n"
                       "</style>\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
}

enum ss_status ss_view_roofline(const struct ss_table *families, const struct ss_table *kernels,
                                struct ss_sink *sink, struct ss_error *err)
{
    struct ss_roofline_picture picture = {.families = families, .kernels = kernels, .sink = sink};
    if (!find_axes(&picture)) {
        return ss_fail(err, SS_E_EMPTY,
                       "no roofline to draw: the recording has no operator with shapes, types and "
                       "time; torch.profiler records them with record_shapes=True");
    }
    write_begin(sink);
    write_head(&picture);
    write_grid(&picture);
    ss_roofline_write_roofs(&picture);
    ss_roofline_write_points(&picture);
    ss_roofline_write_labels(&picture);
    ss_roofline_write_legend(&picture);
    ss_sink_text(sink, "</svg>\n");
    return SS_OK;
}
