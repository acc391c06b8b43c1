/* SPDX-License-Identifier: Apache-2.0 */
#include "view/pictures/scaling_svg.h"

#include <math.h>

#include "base/strbuf.h"
#include "view/output/text_cell.h"

/* Sizes in px. */
enum {
    WIDTH = 860,
    HEIGHT = 400,
    TOP = 84,
    BOTTOM = 330,
    LEFT = 64, /* of the first panel */
    RIGHT = 420,
    SECOND = 508, /* the second panel */
    END = 836,
    MOST_TICKS = 14,
    MOST_TEXT_BYTES = 256
};

static const char *const ink = "#333", *const line = "#2a6fb0", *const accent = "#d0662a";

struct axes {
    double most_x, least_x, most_y, least_y; /* of logarithms to base 2 */
};

static double x_of(const struct axes *axes, double ranks)
{
    double span = axes->most_x - axes->least_x;
    return span > 0 ? LEFT + 14 + (log2(ranks) - axes->least_x) / span * (RIGHT - LEFT - 28)
                    : (LEFT + RIGHT) / 2.0;
}

static double y_of(const struct axes *axes, double speed_up)
{
    double span = axes->most_y - axes->least_y;
    return span > 0 ? BOTTOM - 10 - (log2(speed_up) - axes->least_y) / span * (BOTTOM - TOP - 20)
                    : (TOP + BOTTOM) / 2.0;
}

static struct axes find_axes(const struct ss_scaling *scaling)
{
    const struct ss_scaling_size *sizes = scaling->sizes.data;
    size_t last = scaling->sizes.count - 1;
    struct axes axes = {.least_x = log2((double)sizes[0].ranks),
                        .most_x = log2((double)sizes[last].ranks)};
    axes.most_y = axes.most_x - axes.least_x;
    for (size_t i = 0; i <= last; i++) {
        if (sizes[i].speed_up.mean > 0) {
            double y = log2(sizes[i].speed_up.mean);
            axes.most_y = fmax(axes.most_y, y);
            axes.least_y = fmin(axes.least_y, y);
        }
    }
    return axes;
}

static void put_text(struct ss_sink *sink, double x, double y, const char *anchor,
                     const char *colour, const char *text)
{
    ss_sink_format(sink, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n",
                   x, y, anchor, colour, text);
}

static void put_line(struct ss_sink *sink, double x1, double y1, double x2, double y2,
                     const char *style)
{
    ss_sink_format(sink, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                   y2, style);
}

/* Every size has a tick; those that would touch the one before have no number. */
static void put_ranks(const struct ss_scaling *scaling, const struct axes *axes,
                      struct ss_sink *sink)
{
    double last_x = -100;
    for (size_t i = 0; i < scaling->sizes.count; i++) {
        double x = x_of(axes, (double)scaling->sizes.data[i].ranks);
        put_line(sink, x, BOTTOM, x, BOTTOM + 4, "stroke=\"#999\"");
        if (x - last_x > 26) {
            char number[32];
            snprintf(number, sizeof number, "%zu", scaling->sizes.data[i].ranks);
            put_text(sink, x, BOTTOM + 18, "middle", ink, number);
            last_x = x;
        }
    }
    put_text(sink, (LEFT + RIGHT) / 2.0, BOTTOM + 38, "middle", "#666", "ranks");
}

static void put_speed_ups(const struct ss_scaling *scaling, const struct axes *axes,
                          struct ss_sink *sink)
{
    for (int power = (int)ceil(axes->least_y); power <= (int)floor(axes->most_y); power++) {
        char number[32];
        double y = y_of(axes, exp2(power));
        snprintf(number, sizeof number, "%g\xc3\x97", exp2(power));
        put_line(sink, LEFT, y, RIGHT, y, "stroke=\"#e4e4e4\"");
        put_text(sink, LEFT - 8, y + 4, "end", ink, number);
    }
    const struct ss_scaling_size *sizes = scaling->sizes.data;
    size_t last = scaling->sizes.count - 1;
    double ideal = (double)sizes[last].ranks / (double)sizes[0].ranks;
    put_line(sink, x_of(axes, (double)sizes[0].ranks), y_of(axes, 1),
             x_of(axes, (double)sizes[last].ranks), y_of(axes, ideal),
             "stroke=\"#999\" stroke-dasharray=\"5 4\"");
    ss_sink_format(sink, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                   line);
    for (size_t i = 0; i <= last; i++) {
        if (sizes[i].speed_up.mean > 0) {
            ss_sink_format(sink, "%.1f,%.1f ", x_of(axes, (double)sizes[i].ranks),
                           y_of(axes, sizes[i].speed_up.mean));
        }
    }
    ss_sink_text(sink, "\"/>\n");
}

/* A point with its error and its efficiency. */
static void put_point(const struct ss_scaling_size *size, const struct axes *axes, bool has_label,
                      struct ss_sink *sink)
{
    double x = x_of(axes, (double)size->ranks), y = y_of(axes, size->speed_up.mean);
    if (isfinite(size->speed_up.error) && size->speed_up.error < size->speed_up.mean) {
        double high = y_of(axes, size->speed_up.mean + size->speed_up.error);
        double low = y_of(axes, size->speed_up.mean - size->speed_up.error);
        ss_sink_format(sink,
                       "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\" stroke=\"%s\"/>\n", x,
                       high, low, x - 4, high, x - 4, low, line);
    }
    ss_sink_format(sink,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>%zu ranks, %zu "
                   "runs: %.2f times as fast, efficiency %.1f %%</title></circle>\n",
                   x, y, line, size->ranks, size->runs, size->speed_up.mean, size->efficiency.mean);
    if (has_label) {
        char text[32];
        snprintf(text, sizeof text, "%.0f %%", size->efficiency.mean);
        put_text(sink, x - 2, y + 20 > BOTTOM ? y - 10 : y + 20, "middle", line, text);
    }
}

/* --- steps -------------------------------------------------------------------------------------
 */

static void duration_text(double ns, char *text, size_t size)
{
    struct ss_strbuf cell;
    ss_strbuf_init(&cell, MOST_TEXT_BYTES);
    ss_text_append_duration(&cell, (uint64_t)ns);
    snprintf(text, size, "%s", cell.data);
    ss_strbuf_fini(&cell);
}

static void put_bar(const struct ss_scaling_size *size, double x, double width, double most_ns,
                    bool has_label, struct ss_sink *sink)
{
    char text[64];
    double height = size->step_ns.mean / most_ns * (BOTTOM - TOP - 24);
    double exposed = isfinite(size->exposed.mean) ? size->exposed.mean / 100 : 0;
    exposed = exposed < 1 ? exposed : 1;
    duration_text(size->step_ns.mean, text, sizeof text);
    ss_sink_format(sink,
                   "<g><title>%zu ranks: a step takes %s, %.1f %% of it exposed "
                   "communication</title>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\" fill=\"%s\"/>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\" fill=\"%s\"/></g>\n",
                   size->ranks, text, 100 * exposed, x, BOTTOM - height * (1 - exposed), width,
                   height * (1 - exposed), "#8fb4d6", x, BOTTOM - height, width, height * exposed,
                   accent);
    if (has_label) {
        char number[32];
        snprintf(number, sizeof number, "%zu", size->ranks);
        put_text(sink, x + width / 2, BOTTOM - height - 6, "middle", ink, text);
        put_text(sink, x + width / 2, BOTTOM + 18, "middle", ink, number);
    }
}

static void put_bars(const struct ss_scaling *scaling, struct ss_sink *sink)
{
    size_t count = scaling->sizes.count, every = (count + MOST_TICKS / 2 - 1) / (MOST_TICKS / 2);
    double most_ns = 1, pitch = (double)(END - SECOND) / (double)count;
    for (size_t i = 0; i < count; i++) {
        most_ns = fmax(most_ns, scaling->sizes.data[i].step_ns.mean);
    }
    for (size_t i = 0; i < count; i++) {
        double width = fmin(pitch * 0.7, 56);
        put_bar(&scaling->sizes.data[i], SECOND + ((double)i + 0.5) * pitch - width / 2, width,
                most_ns, i % every == 0, sink);
    }
    put_line(sink, SECOND, BOTTOM, END, BOTTOM, "stroke=\"#999\"");
    put_text(sink, (SECOND + END) / 2.0, BOTTOM + 38, "middle", "#666", "ranks");
}

static void put_head(const struct ss_scaling *scaling, struct ss_sink *sink)
{
    ss_sink_format(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\" font-family=\"system-ui, sans-serif\" "
                   "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                   WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    ss_sink_format(sink,
                   "<text x=\"24\" y=\"32\" font-size=\"17\">Speed-up</text>\n<text x=\"24\" "
                   "y=\"52\" fill=\"#666\">%s; dashed: ideal; numbers: efficiency</text>\n",
                   scaling->is_by_samples ? "of samples per second"
                   : scaling->is_weak     ? "of steps per second of all ranks"
                                          : "of steps per second");
    ss_sink_format(
        sink,
        "<text x=\"%d\" y=\"32\" font-size=\"17\">A step</text>\n<text x=\"%d\" "
        "y=\"52\" fill=\"#666\">upper part: <tspan fill=\"%s\">communication that nothing "
        "hides</tspan></text>\n",
        SECOND - 8, SECOND - 8, accent);
}

void ss_view_scaling(const struct ss_scaling *scaling, struct ss_sink *sink)
{
    struct axes axes = find_axes(scaling);
    size_t count = scaling->sizes.count, every = (count + MOST_TICKS - 1) / MOST_TICKS;
    put_head(scaling, sink);
    put_speed_ups(scaling, &axes, sink);
    put_line(sink, LEFT, BOTTOM, RIGHT, BOTTOM, "stroke=\"#999\"");
    put_ranks(scaling, &axes, sink);
    for (size_t i = 0; i < count; i++) {
        if (scaling->sizes.data[i].speed_up.mean > 0) {
            put_point(&scaling->sizes.data[i], &axes, i % every == 0, sink);
        }
    }
    put_bars(scaling, sink);
    ss_sink_text(sink, "</svg>\n");
}
