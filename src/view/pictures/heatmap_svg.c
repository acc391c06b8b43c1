/* SPDX-License-Identifier: Apache-2.0 */
#include "view/pictures/heatmap_svg.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "view/output/text_cell.h"

/* Sizes in px. More ranks or steps share cells; the hottest of them counts. */
enum {
    LEFT = 76,
    TOP = 66,
    MOST_WIDTH = 1040,
    MOST_CELL_WIDTH = 26,
    MOST_ROWS = 512,
    MOST_COLUMNS = 1040,
    LEGEND_STEPS = 40,
    MOST_TEXT_BYTES = 256
};

struct picture {
    const struct ss_rank_heat *heat;
    struct ss_sink *sink;
    size_t rows, columns;
    double cell_width;
    int cell_height;
};

/* From dark blue over green and yellow to red. */
static void write_colour(struct ss_sink *sink, double share)
{
    static const int stops[][3] = {
        {28, 44, 92}, {30, 110, 142}, {92, 170, 112}, {236, 190, 66}, {206, 52, 40}};
    double at = share * 3.999;
    size_t from = (size_t)at;
    double part = at - (double)from;
    int rgb[3];
    for (size_t i = 0; i < 3; i++) {
        rgb[i] = (int)(stops[from][i] + part * (stops[from + 1][i] - stops[from][i]));
    }
    ss_sink_format(sink, "#%02x%02x%02x", (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
}

static double hottest(const struct ss_rank_heat *heat, size_t first_rank, size_t end_rank,
                      size_t first_step, size_t end_step)
{
    double most = -1;
    for (size_t r = first_rank; r < end_rank; r++) {
        for (size_t s = first_step; s < end_step; s++) {
            double own_ns = heat->own_ns[r * heat->steps + s];
            most = own_ns > most ? own_ns : most;
        }
    }
    return most;
}

static void write_duration(struct ss_sink *sink, double ns)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_TEXT_BYTES);
    ss_text_append_duration(&text, (uint64_t)ns);
    ss_sink_text(sink, text.data);
    ss_strbuf_fini(&text);
}

static void write_row(const struct picture *picture, size_t row)
{
    const struct ss_rank_heat *heat = picture->heat;
    size_t first = row * heat->ranks / picture->rows, end = (row + 1) * heat->ranks / picture->rows;
    int y = TOP + (int)row * picture->cell_height;
    for (size_t c = 0; c < picture->columns; c++) {
        size_t from = c * heat->steps / picture->columns;
        size_t to = (c + 1) * heat->steps / picture->columns;
        double own_ns = hottest(heat, first, end, from, to);
        if (own_ns < 0) {
            continue;
        }
        ss_sink_format(
            picture->sink, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"",
            LEFT + (double)c * picture->cell_width, y, picture->cell_width, picture->cell_height);
        write_colour(picture->sink, ss_rank_heat_share(heat->low_ns, heat->high_ns, own_ns));
        ss_sink_format(picture->sink, "\"><title>rank %" PRId64 ", step %" PRId64 ": ",
                       heat->rank_numbers[first], heat->step_numbers[from]);
        write_duration(picture->sink, own_ns);
        ss_sink_text(picture->sink, " of its own</title></rect>\n");
    }
}

/* Labels at equal distances, at most so many. */
static size_t every(size_t count, size_t most)
{
    return (count + most - 1) / most;
}

static void write_labels(const struct picture *picture)
{
    enum { MOST_RANK_LABELS = 32, MOST_STEP_LABELS = 12 };
    const struct ss_rank_heat *heat = picture->heat;
    int bottom = TOP + (int)picture->rows * picture->cell_height;
    for (size_t r = 0; r < picture->rows; r += every(picture->rows, MOST_RANK_LABELS)) {
        int y = TOP + (int)r * picture->cell_height + picture->cell_height / 2 + 4;
        ss_sink_format(picture->sink,
                       "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s%" PRId64 "</text>\n",
                       LEFT - 8, y, r == 0 ? "rank " : "",
                       heat->rank_numbers[r * heat->ranks / picture->rows]);
    }
    for (size_t c = 0; c < picture->columns; c += every(picture->columns, MOST_STEP_LABELS)) {
        double x = LEFT + ((double)c + 0.5) * picture->cell_width;
        ss_sink_format(picture->sink,
                       "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s%" PRId64 "</text>\n", x,
                       bottom + 18, c == 0 ? "step " : "",
                       heat->step_numbers[c * heat->steps / picture->columns]);
    }
}

static void write_legend(const struct picture *picture)
{
    int y = TOP + (int)picture->rows * picture->cell_height + 36;
    for (int i = 0; i < LEGEND_STEPS; i++) {
        ss_sink_format(picture->sink, "<rect x=\"%d\" y=\"%d\" width=\"6\" height=\"12\" fill=\"",
                       LEFT + 6 * i, y);
        write_colour(picture->sink, (double)i / (LEGEND_STEPS - 1));
        ss_sink_text(picture->sink, "\"/>\n");
    }
    ss_sink_format(picture->sink, "<text x=\"%d\" y=\"%d\">", LEFT + 6 * LEGEND_STEPS + 10, y + 11);
    write_duration(picture->sink, picture->heat->low_ns);
    ss_sink_text(picture->sink, " to ");
    write_duration(picture->sink, picture->heat->high_ns);
    ss_sink_text(picture->sink, "</text>\n");
}

enum ss_status ss_view_heatmap(const struct ss_rank_heat *heat, struct ss_sink *sink,
                               struct ss_error *err)
{
    if (heat->ranks == 0 || heat->steps == 0) {
        return ss_fail(err, SS_E_EMPTY,
                       "no process has whole steps: a heat map shows the steps of ranks");
    }
    struct picture picture = {.heat = heat, .sink = sink};
    picture.rows = heat->ranks < MOST_ROWS ? heat->ranks : MOST_ROWS;
    picture.columns = heat->steps < MOST_COLUMNS ? heat->steps : MOST_COLUMNS;
    double width = (double)MOST_WIDTH / (double)picture.columns;
    picture.cell_width = width < MOST_CELL_WIDTH ? width : MOST_CELL_WIDTH;
    picture.cell_height = picture.rows <= 32 ? 18 : picture.rows <= 128 ? 6 : 2;
    int drawn = (int)((double)picture.columns * picture.cell_width);
    ss_sink_format(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "font-family=\"sans-serif\" font-size=\"12\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                   "<text x=\"24\" y=\"30\" font-size=\"17\">Own time of each rank, step by "
                   "step</text>\n<text x=\"24\" y=\"49\" fill=\"#666\">A step's duration without "
                   "the communication that nothing hides: a row or a cell that is hot makes the "
                   "others wait.</text>\n",
                   LEFT + (drawn > 640 ? drawn : 640) + 24,
                   TOP + (int)picture.rows * picture.cell_height + 66);
    for (size_t r = 0; r < picture.rows; r++) {
        write_row(&picture, r);
    }
    write_labels(&picture);
    write_legend(&picture);
    ss_sink_text(sink, "</svg>\n");
    return SS_OK;
}
