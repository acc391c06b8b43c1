/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a training in the text report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/program_facts.h"
#include "analysis/uncertainty.h"
#include "base/alloc.h"
#include "base/terminal.h"
#include "view/report_tables.h"
#include "view/text_cell.h"
#include "view/text_table.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

void ss_report_print_wrapped(const char *text, const char *colour, const char *lead,
                             const struct ss_report_style *style, FILE *out)
{
    struct ss_strbuf lines;
    ss_strbuf_init(&lines, 2 * MAX_TEXT_BYTES);
    ss_text_append_wrapped(&lines, text, style->width, ss_text_width(lead));
    bool is_coloured = style->colour && colour[0] != '\0';
    fprintf(out, "%s%s%s%s\n", lead, is_coloured ? colour : "", lines.data,
            is_coloured ? SS_OFF : "");
    ss_strbuf_fini(&lines);
}

/* Terminal colour numbers of the phases; "other" is grey. */
static const int colours[] = {1, 4, 5, 6, 2, 3};
enum { COLOUR_COUNT = sizeof colours / sizeof *colours };

static int colour_of(const struct ss_step_summary *training, size_t phase)
{
    return phase + 1 == training->phases.count ? 8 : colours[phase % COLOUR_COUNT];
}

/* --- the sentence ---------------------------------------------------------------------------- */

static void append_phase_name(const struct ss_step_summary *training, const struct ss_model *model,
                              size_t phase, struct ss_strbuf *out)
{
    ss_text_append_clean(out, ss_step_phase_text(model, &training->phases.data[phase]));
}

/* "41.0 % data, 33.2 % forward": heaviest first. */
static void append_shares(const struct ss_step_summary *training, const struct ss_model *model,
                          struct ss_strbuf *out)
{
    bool listed[SS_STEP_MAX_PHASES] = {false};
    for (size_t i = 0; i < training->phases.count; i++) {
        size_t heaviest = training->phases.count;
        for (size_t p = 0; p < training->phases.count; p++) {
            if (!listed[p] &&
                (heaviest == training->phases.count ||
                 training->phases.data[p].total_ns > training->phases.data[heaviest].total_ns)) {
                heaviest = p;
            }
        }
        listed[heaviest] = true;
        if (training->phases.data[heaviest].total_ns == 0) {
            return;
        }
        ss_strbuf_append_format(out, "%s%.1f %% ", i > 0 ? ", " : "",
                                training->phases.data[heaviest].percent);
        append_phase_name(training, model, heaviest, out);
    }
}

/* What a step is, if neither an optimizer's update nor a mark of the program; else "". */
static const char *step_meaning(const struct ss_step_summary *training,
                                const struct ss_model *model)
{
    uint32_t process = training->steps.data[0].process;
    struct ss_strview how =
        ss_program_fact_text(model, ss_program_fact(model, process, "torch.steps"));
    return ss_strview_equal(how, ss_strview_of("backward passes"))  ? " (a backward pass)"
           : ss_strview_equal(how, ss_strview_of("forward passes")) ? " (a forward pass: inference)"
                                                                    : "";
}

static void append_sentence(const struct ss_step_summary *training, const struct ss_model *model,
                            bool host_time, struct ss_strbuf *out)
{
    if (training->steady == 0) {
        ss_text_append_count(out, training->steps.count);
        ss_strbuf_append_format(out, " step%s marked, none seen from begin to end",
                                training->steps.count == 1 ? "" : "s");
        return;
    }
    ss_strbuf_append_format(out, "A step%s takes ", step_meaning(training, model));
    ss_text_append_duration(out, training->p50_ns);
    if (training->mean_ns > training->p50_ns + training->p50_ns / 4) { /* shares are of the mean */
        ss_strbuf_append_text(out, ", with the slow ones ");
        ss_text_append_duration(out, training->mean_ns);
        ss_strbuf_append_text(out, " on average");
    }
    ss_strbuf_append_text(out, host_time ? " (phases are host time: CUDA was used, and the times "
                                           "of its kernels were not recorded)"
                                         : "");
    if (training->phases.count > 1) {
        ss_strbuf_append_text(out, ": ");
        append_shares(training, model, out);
    }
}

/* --- the bar --------------------------------------------------------------------------------- */

enum { BAR_COLUMNS = 72, MIN_BAR_COLUMNS = 24 };

/* The columns of a bar, when the line needs `reserved` others. */
static size_t columns_beside(const struct ss_report_style *style, size_t reserved)
{
    return style->width == 0 || style->width > BAR_COLUMNS + reserved ? BAR_COLUMNS
           : style->width > MIN_BAR_COLUMNS + reserved                ? style->width - reserved
                                                                      : MIN_BAR_COLUMNS;
}

/* The columns of each phase, by largest remainder, so that they add up to `columns`. */
static void share_out(const struct ss_step_summary *training, size_t columns, size_t *widths)
{
    size_t assigned = 0;
    double remainders[SS_STEP_MAX_PHASES];
    for (size_t i = 0; i < training->phases.count; i++) {
        double exact = training->phases.data[i].percent * (double)columns / 100;
        widths[i] = (size_t)exact;
        remainders[i] = exact - (double)widths[i];
        assigned += widths[i];
    }
    while (assigned < columns) {
        size_t most = 0;
        for (size_t i = 1; i < training->phases.count; i++) {
            most = remainders[i] > remainders[most] ? i : most;
        }
        widths[most]++;
        remainders[most] = -1;
        assigned++;
    }
}

/* A phase's part of the bar, with its name if that fits. */
static void append_part(const struct ss_step_summary *training, const struct ss_model *model,
                        size_t phase, size_t width, bool colour, struct ss_strbuf *out)
{
    struct ss_strbuf name, shown;
    ss_strbuf_init(&name, MAX_TEXT_BYTES);
    ss_strbuf_init(&shown, MAX_TEXT_BYTES);
    append_phase_name(training, model, phase, &name);
    if (width > 2) {
        ss_text_append_cut_end(&shown, name.data, width - 2);
    }
    if (colour) {
        int code = colour_of(training, phase);
        ss_strbuf_append_format(out, "%s[%d;97m", ss_escape(), code < 8 ? 40 + code : 100);
    }
    size_t used = 0;
    if (width > 2) {
        ss_strbuf_append_format(out, "%s%s", colour ? " " : "▕", shown.data);
        used = 1 + ss_text_width(shown.data);
    } else if (!colour && width > 0) {
        ss_strbuf_append_text(out, "▕");
        used = 1;
    }
    for (; used < width; used++) {
        ss_strbuf_append_text(out, colour ? " " : "░");
    }
    ss_strbuf_append_text(out, colour ? SS_OFF : "");
    ss_strbuf_fini(&shown);
    ss_strbuf_fini(&name);
}

static void append_bar(const struct ss_step_summary *training, const struct ss_model *model,
                       const struct ss_report_style *style, struct ss_strbuf *out)
{
    size_t widths[SS_STEP_MAX_PHASES];
    size_t columns = columns_beside(style, 3);
    share_out(training, columns, widths);
    for (size_t i = 0; i < training->phases.count; i++) {
        append_part(training, model, i, widths[i], style->colour, out);
    }
    ss_strbuf_append_text(out, style->colour ? "" : "▏");
}

/* --- the series ------------------------------------------------------------------------------ */

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t duration_of(const struct ss_step *step)
{
    return step->end_ns - step->begin_ns;
}

/* Each column shows its slowest step, so that outliers are visible. The scale ends at twice the
 * median; higher values are clipped. */
static void append_series(const struct ss_step_summary *training, size_t max_columns,
                          struct ss_strbuf *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t count = training->steps.count;
    size_t columns = count < max_columns ? count : max_columns;
    uint64_t top_ns = training->p50_ns > 0 ? 2 * training->p50_ns : 1;
    for (size_t i = 0; i < count && training->p50_ns == 0; i++) {
        top_ns = larger_of(top_ns, duration_of(&training->steps.data[i]));
    }
    for (size_t c = 0; c < columns; c++) {
        uint64_t slowest_ns = 0;
        for (size_t i = c * count / columns; i < (c + 1) * count / columns; i++) {
            slowest_ns = larger_of(slowest_ns, duration_of(&training->steps.data[i]));
        }
        slowest_ns = slowest_ns < top_ns ? slowest_ns : top_ns;
        ss_strbuf_append_text(out, blocks[(size_t)((double)slowest_ns * 7.999 / (double)top_ns)]);
    }
}

/* --- the counts ------------------------------------------------------------------------------ */

enum { MAX_NAMED = 3 };

/* "step 17, 310 ms: data +240 ms" */
static void append_step(const struct ss_step_summary *training, const struct ss_model *model,
                        size_t step, struct ss_strbuf *out)
{
    uint64_t more_ns;
    size_t grown = ss_step_grown_phase(training, step, &more_ns);
    ss_strbuf_append_format(out, "step %" PRId64 ", ", training->steps.data[step].number);
    ss_text_append_duration(out, duration_of(&training->steps.data[step]));
    if (training->steps.data[step].kind != SS_STEP_CUT && training->phases.count > 1 &&
        grown < training->phases.count) {
        ss_strbuf_append_text(out, ": ");
        append_phase_name(training, model, grown, out);
        ss_strbuf_append_text(out, " +");
        ss_text_append_duration(out, more_ns);
    }
}

/* "2 outliers (step 17, 310 ms: data +240 ms; step 93, 290 ms: other +220 ms)" */
static void append_kind(const struct ss_step_summary *training, const struct ss_model *model,
                        enum ss_step_kind kind, const char *one, const char *many, size_t count,
                        bool *first, struct ss_strbuf *out)
{
    if (count == 0) {
        return;
    }
    ss_strbuf_append_text(out, *first ? "not counted: " : ", ");
    *first = false;
    ss_text_append_count(out, count);
    ss_strbuf_append_format(out, " %s (", count == 1 ? one : many);
    size_t named = 0;
    for (size_t i = 0; i < training->steps.count && named < MAX_NAMED; i++) {
        if (training->steps.data[i].kind == kind) {
            ss_strbuf_append_text(out, named++ > 0 ? "; " : "");
            append_step(training, model, i, out);
        }
    }
    ss_strbuf_append_text(out, count > MAX_NAMED ? "; …)" : ")");
}

static void append_counted(const struct ss_step_summary *training, const struct ss_model *model,
                           struct ss_strbuf *out)
{
    (void)model;
    if (training->steady == 0) {
        return;
    }
    ss_strbuf_append_text(out, "median of ");
    ss_text_append_count(out, training->steady);
    ss_strbuf_append_format(out, " step%s", training->steady == 1 ? "" : "s");
    if (training->processes > 1) {
        ss_strbuf_append_text(out, " of ");
        ss_text_append_count(out, training->processes);
        ss_strbuf_append_text(out, " processes");
    }
    ss_strbuf_append_text(out, ", p95 ");
    ss_text_append_duration(out, training->p95_ns);
    if (training->mean_ns > training->p50_ns + training->p50_ns / 10) {
        ss_strbuf_append_text(out, ", mean ");
        ss_text_append_duration(out, training->mean_ns);
    }
}

/* "1,234 samples/s (2 processes with batches of 4 × 16)" */
void ss_report_append_throughput(const struct ss_throughput *throughput, struct ss_strbuf *out)
{
    double rate = throughput->samples_per_s;
    if (rate <= 0) {
        return;
    }
    ss_strbuf_append_text(out, ", ");
    if (rate >= 100) {
        ss_text_append_count(out, (uint64_t)(rate + 0.5));
    } else {
        ss_strbuf_append_format(out, "%.3g", rate);
    }
    ss_strbuf_append_text(out, " samples/s (");
    if (throughput->processes > 1) {
        ss_text_append_count(out, throughput->processes);
        ss_strbuf_append_text(out, " processes with ");
    }
    ss_strbuf_append_text(out, "batches of ");
    if (throughput->batches > 1) {
        ss_strbuf_append_format(out, "%" PRIu64 " × ", throughput->batches);
    }
    ss_strbuf_append_format(out, "%" PRId64 ")", throughput->batch_size);
}

/* Their share of the time of all whole steps. */
static double percent_not_counted(const struct ss_step_summary *training)
{
    double all_ns = 0, left_out_ns = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool is_whole = step->kind != SS_STEP_CUT && step->kind != SS_STEP_OUTSIDE;
        double ns = is_whole ? (double)duration_of(step) : 0;
        all_ns += ns;
        left_out_ns += step->kind != SS_STEP_STEADY ? ns : 0;
    }
    return all_ns > 0 ? 100 * left_out_ns / all_ns : 0;
}

static void append_not_counted(const struct ss_step_summary *training, const struct ss_model *model,
                               struct ss_strbuf *out)
{
    bool first = true;
    append_kind(training, model, SS_STEP_WARM_UP, "warm-up", "warm-up steps", training->warm_up,
                &first, out);
    append_kind(training, model, SS_STEP_OUTLIER, "outlier", "outliers", training->outliers, &first,
                out);
    append_kind(training, model, SS_STEP_CUT, "not seen whole", "not seen whole", training->cut,
                &first, out);
    if (training->outside > 0) {
        ss_strbuf_append_text(out, first ? "not counted: " : ", ");
        ss_text_append_count(out, training->outside);
        ss_strbuf_append_text(out, " outside the schedule's windows");
        first = false;
    }
    if (!first && training->warm_up + training->outliers > 0 && training->steady > 0) {
        ss_strbuf_append_format(out, "; %.0f %% of all time", percent_not_counted(training));
    }
}

/* --- the line -------------------------------------------------------------------------------- */

/* The line of a backward pass or an update is always its own call. */
static bool has_informative_line(const struct ss_model *model, const struct ss_step_phase *phase)
{
    struct ss_strview name = ss_step_phase_text(model, phase);
    return !ss_strview_equal(name, ss_strview_of("backward")) &&
           !ss_strview_equal(name, ss_strview_of("optimizer"));
}

/* The heaviest named phase with an informative line; NULL: none, or too few samples for a line. */
static const struct ss_step_phase *heaviest_phase(const struct ss_step_summary *training,
                                                  const struct ss_model *model)
{
    const struct ss_step_phase *heaviest = NULL;
    for (size_t i = 0; i + 1 < training->phases.count; i++) {
        const struct ss_step_phase *phase = &training->phases.data[i];
        if (has_informative_line(model, phase) &&
            (heaviest == NULL || phase->total_ns > heaviest->total_ns)) {
            heaviest = phase;
        }
    }
    bool claims = heaviest != NULL && heaviest->line.frame != 0 &&
                  heaviest->line.samples >= SS_MIN_CLAIM_SAMPLES;
    return claims ? heaviest : NULL;
}

void ss_report_append_location(const struct ss_phase_line *line, const struct ss_model *model,
                               struct ss_strbuf *out)
{
    const struct ss_model_frame *frame = &model->frames.data[line->frame];
    ss_text_append_clean(out, ss_intern_get(&model->strings, frame->short_file));
    if (frame->line >= 0) {
        ss_strbuf_append_format(out, ":%" PRId32, frame->line);
    }
    ss_strbuf_append_text(out, " ");
    ss_text_append_clean(out, ss_intern_get(&model->strings, frame->function));
    if (line->leaf != 0) {
        ss_strbuf_append_text(out, " → ");
        ss_text_append_clean(
            out, ss_intern_get(&model->strings, model->frames.data[line->leaf].function));
    }
}

void ss_report_append_line(const struct ss_phase_line *line, const char *what,
                           const struct ss_model *model, struct ss_strbuf *out)
{
    double error = ss_share_error_points(
        line->samples < line->records ? line->samples : line->records, line->records, line->all);
    ss_strbuf_append_format(out, "%.0f %% ±%.0f of %s is at ",
                            100 * (double)line->samples / (double)line->all, ceil(error), what);
    ss_report_append_location(line, model, out);
}

/* "data: 94 % ±2 of its 311 samples is at dataset.py:31 __getitem__ → normal" */
static void append_phase_line(const struct ss_step_phase *phase, const struct ss_model *model,
                              struct ss_strbuf *out)
{
    struct ss_strbuf what;
    ss_strbuf_init(&what, 64);
    ss_strbuf_append_text(&what, "its ");
    ss_text_append_count(&what, phase->line.all);
    ss_strbuf_append_text(&what, " samples");
    ss_text_append_clean(out, ss_step_phase_text(model, phase));
    ss_strbuf_append_text(out, ": ");
    ss_report_append_line(&phase->line, what.data, model, out);
    ss_strbuf_fini(&what);
}

static void print_sentence(const struct ss_report *report, const struct ss_report_style *style,
                           struct ss_strbuf *text, FILE *out)
{
    const struct ss_step_summary *training = report->training;
    const struct ss_model *model = report->trust->selection->model;
    bool host_time = report->diagnosis != NULL && report->diagnosis->host_time;
    append_sentence(training, model, host_time, text);
    ss_report_print_wrapped(text->data, SS_BOLD, "", style, out);
    if (training->steady > 0 && training->phases.count > 1) {
        ss_strbuf_clear(text);
        append_bar(training, model, style, text);
        fprintf(out, "  %s\n", text->data);
    }
    const struct ss_step_phase *heaviest = heaviest_phase(training, model);
    bool has_findings = report->diagnosis != NULL && report->diagnosis->findings.count > 0;
    if (training->steady > 0 && heaviest != NULL && !has_findings) {
        ss_strbuf_clear(text);
        append_phase_line(heaviest, model, text);
        ss_report_print_wrapped(text->data, "", "", style, out);
    }
}

static void print_series(const struct ss_report *report, const struct ss_report_style *style,
                         struct ss_strbuf *text, FILE *out)
{
    const char *dim = style->colour ? SS_DIM : "", *plain = style->colour ? SS_OFF : "";
    static const char label[] = "step by step";
    void (*const counts[])(const struct ss_step_summary *, const struct ss_model *,
                           struct ss_strbuf *) = {append_counted, append_not_counted};
    ss_strbuf_clear(text);
    append_series(report->training, columns_beside(style, 2 + sizeof label + 1), text);
    fprintf(out, "  %s  %s%s%s\n", text->data, dim, label, plain);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        ss_strbuf_clear(text);
        counts[i](report->training, report->trust->selection->model, text);
        if (i == 0 && report->facts != NULL && report->training->steady > 0) {
            ss_report_append_throughput(&report->facts->throughput, text);
        }
        if (text->length > 0) {
            ss_report_print_wrapped(text->data, SS_DIM, "", style, out);
        }
    }
}

void ss_report_text_training(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    print_sentence(report, style, &text, out);
    if (report->diagnosis != NULL) {
        ss_report_text_findings(report->diagnosis, report->trust->selection->model, style, out);
    }
    print_series(report, style, &text, out);
    fprintf(out, "\n");
    ss_strbuf_fini(&text);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* With too few samples, shows no line. */
static void put_line_cells(struct ss_text_table *text, size_t column, const struct ss_cell *cells)
{
    if (cells[SS_PHASE_LINE_PERCENT].type != SS_CELL_REAL ||
        cells[SS_PHASE_SAMPLES].integer < SS_MIN_CLAIM_SAMPLES) {
        return;
    }
    struct ss_strview path = cells[SS_PHASE_LINE_PATH].text;
    struct ss_strview function = cells[SS_PHASE_LINE_FUNCTION].text;
    ss_text_table_putf(text, column, NULL, "%.0f%% of %" PRId64, cells[SS_PHASE_LINE_PERCENT].real,
                       cells[SS_PHASE_SAMPLES].integer);
    if (cells[SS_PHASE_LINE].type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column + 1, "cyan", "%.*s:%" PRId64 " %.*s", (int)path.length,
                           path.data, cells[SS_PHASE_LINE].integer, (int)function.length,
                           function.data);
    } else {
        ss_text_table_putf(text, column + 1, "cyan", "%.*s %.*s", (int)path.length, path.data,
                           (int)function.length, function.data);
    }
}

enum ss_status ss_report_text_phases(const struct ss_table *table,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err)
{
    enum { LINE_SHARE = SS_PHASE_STEPS + 1, LINE, AT_END, CHANGE, PEAK, COUNT };
    static const struct ss_text_column columns[COUNT] = {
        [SS_PHASE_NAME] = {.title = "phase", .least = 12},
        [SS_PHASE_PERCENT] = {.title = "share", .right = true},
        [SS_PHASE_TOTAL] = {.title = "total", .right = true},
        [SS_PHASE_MEAN] = {.title = "per step", .right = true},
        [SS_PHASE_P50] = {.title = "p50", .right = true},
        [SS_PHASE_P95] = {.title = "p95", .right = true},
        [SS_PHASE_MAX] = {.title = "max", .right = true},
        [SS_PHASE_STEPS] = {.title = "in steps", .right = true},
        [LINE_SHARE] = {.title = "of its samples", .right = true},
        [LINE] = {.title = "are at", .least = 16},
        [AT_END] = {.title = "memory at its end", .short_title = "memory", .right = true},
        [CHANGE] = {.title = "change", .right = true},
        [PEAK] = {.title = "peak", .right = true}};
    struct ss_text_table text;
    size_t memory = ss_table_cell(table, 0, SS_PHASE_MEMORY)->type == SS_CELL_TEXT ? COUNT : AT_END;
    ss_text_table_init(&text, columns, memory);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, NULL);
        ss_text_table_put(&text, SS_PHASE_NAME, cells[SS_PHASE_NAME].text, NULL);
        ss_text_table_putf(&text, SS_PHASE_PERCENT, NULL, "%.1f%%", cells[SS_PHASE_PERCENT].real);
        for (size_t c = SS_PHASE_TOTAL; c <= SS_PHASE_MAX; c++) {
            ss_report_put_duration(&text, c, &cells[c]);
        }
        ss_text_table_putf(&text, SS_PHASE_STEPS, NULL, "%" PRId64, cells[SS_PHASE_STEPS].integer);
        put_line_cells(&text, LINE_SHARE, cells);
        for (size_t c = AT_END; c < memory; c++) {
            ss_report_put_bytes(&text, c, &cells[SS_PHASE_MEMORY_END + (c - AT_END)], c == CHANGE);
        }
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* "data_ns" → "data". */
static const char *title_of(const char *key, struct ss_arena *arena)
{
    size_t length = strlen(key);
    bool has_unit = length > 3 && strcmp(key + length - 3, "_ns") == 0;
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_TEXT_BYTES);
    ss_text_append_clean(&clean, (struct ss_strview){key, has_unit ? length - 3 : length});
    const char *title = ss_arena_strndup(arena, clean.data, clean.length);
    ss_strbuf_fini(&clean);
    return title;
}

enum ss_status ss_report_text_steps(const struct ss_table *table,
                                    const struct ss_report_style *style, FILE *out,
                                    struct ss_error *err)
{
    struct ss_arena arena = {0};
    struct ss_text_column *columns = ss_alloc_zero(table->column_count, sizeof *columns);
    for (size_t c = 0; c < table->column_count; c++) {
        bool is_text = c == SS_STEP_PROCESS || c == SS_STEP_KIND;
        columns[c] = (struct ss_text_column){.title = title_of(table->columns[c].key, &arena),
                                             .right = !is_text,
                                             .least = c == SS_STEP_PROCESS ? 6 : 0};
    }
    struct ss_text_table text;
    ss_text_table_init(&text, columns, table->column_count);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        bool is_steady = ss_strview_equal(cells[SS_STEP_KIND].text, ss_strview_of("usual"));
        ss_text_table_add_row(&text, is_steady ? NULL : "darkgray");
        ss_text_table_putf(&text, SS_STEP_PID, NULL, "%" PRId64, cells[SS_STEP_PID].integer);
        ss_text_table_putf(&text, SS_STEP_NUMBER, NULL, "%" PRId64, cells[SS_STEP_NUMBER].integer);
        if (cells[SS_STEP_PROCESS].type == SS_CELL_TEXT) {
            ss_text_table_put(&text, SS_STEP_PROCESS, cells[SS_STEP_PROCESS].text, NULL);
        }
        if (!is_steady) {
            ss_text_table_put(&text, SS_STEP_KIND, cells[SS_STEP_KIND].text, NULL);
        }
        for (size_t c = SS_STEP_BEGIN; c < table->column_count; c++) {
            ss_report_put_duration(&text, c, &cells[c]);
        }
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    ss_free(columns);
    ss_arena_fini(&arena);
    return status;
}
