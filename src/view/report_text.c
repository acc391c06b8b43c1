/* SPDX-License-Identifier: Apache-2.0 */
/* The text report: the findings, the tables, the trust header, and next commands. */
#include "analysis/operators.h"
#include "analysis/uncertainty.h"
#include "base/terminal.h"
#include "view/report.h"
#include "view/report_layouts.h"
#include "view/report_tables.h"
#include "view/text_cell.h"
#include "view/text_table.h"

static void print_note(const struct ss_report_style *style, FILE *out, const char *text)
{
    fprintf(out, "%s%s%s\n", style->colour ? SS_DIM : "", text, style->colour ? SS_OFF : "");
}

/* Prints what the table omits, and the option that shows it. */
static void print_hidden(const struct ss_table *table, const struct ss_report_style *style,
                         FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1024);
    const char *more = table->more_option != NULL ? table->more_option : "--num-rows all";
    if (table->hidden_rows > 0) {
        bool small = table->small_rows == table->hidden_rows;
        if (table->samples_key == NULL) {
            ss_text_append_count(&text, table->hidden_rows);
            ss_strbuf_append_format(&text, " %s%s not shown: %s",
                                    table->row_noun != NULL ? table->row_noun : "row",
                                    table->hidden_rows == 1 ? "" : "s", more);
            print_note(style, out, text.data);
            ss_strbuf_fini(&text);
            return;
        }
        double share = table->shown_samples > 0
                           ? 100 * (double)table->hidden_samples / (double)table->shown_samples
                           : 0;
        ss_text_append_count(&text, table->hidden_rows);
        ss_strbuf_append_format(&text, " row%s%s with %.1f %% of the samples not shown: ",
                                table->hidden_rows == 1 ? "" : "s",
                                small ? " under 30 samples" : "", share);
        if (small) {
            ss_strbuf_append_format(&text, "see --by %s", table->name);
        } else {
            ss_strbuf_append_text(&text, more);
        }
        print_note(style, out, text.data);
        ss_strbuf_clear(&text);
    }
    if (table->dropped_samples > 0) {
        ss_text_append_count(&text, table->dropped_samples);
        ss_strbuf_append_text(&text,
                              " samples of module code only are in no row: see --by function");
        print_note(style, out, text.data);
    }
    ss_strbuf_fini(&text);
}

/* That the program did nothing of the kind is certain only if all events were recorded. */
static void print_empty(const struct ss_report *report, const struct ss_table *table,
                        const struct ss_report_style *style, FILE *out)
{
    const char *why = report->trust->why_no_marks;
    bool is_filtered = report->trust->selection->model->filtered_samples > 0;
    if (is_filtered) {
        print_note(style, out,
                   "nothing of it in the requested time: --from and --to count from the first "
                   "sample of all files");
        return;
    }
    if (why == NULL || !table->is_of_program) {
        print_note(style, out, table->empty_text);
        return;
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_strbuf_append_format(&text, "nothing of the kind was recorded: %s", why);
    ss_report_print_wrapped(text.data, "", "", style, out);
    ss_strbuf_fini(&text);
}

static enum ss_status print_table(const struct ss_report *report, const struct ss_table *table,
                                  const struct ss_report_style *style, FILE *out,
                                  struct ss_error *err)
{
    const struct ss_report_layout *layout = ss_report_layout_of(table);
    if (!layout->has_own_title || table->row_count == 0) {
        fprintf(out, "%s%s%s\n", style->colour ? SS_BOLD : "", table->title,
                style->colour ? SS_OFF : "");
    }
    if (table->row_count > 0) {
        SS_TRY(layout->print(table, style, out, err));
    } else if (table->empty_text != NULL) {
        print_empty(report, table, style, out);
    } else {
        print_note(style, out,
                   table->hidden_rows > 0 ? "no row has 30 samples or more: too few to name any"
                                          : "no samples");
    }
    print_hidden(table, style, out);
    fputc('\n', out);
    return SS_OK;
}

static bool has_small_rows(const struct ss_table *table)
{
    if (table->samples_key == NULL) {
        return false;
    }
    size_t column = ss_table_column(table, table->samples_key);
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->integer < SS_MIN_CLAIM_SAMPLES) {
            return true;
        }
    }
    return false;
}

/* Prints notes on all tables; true if there were any. */
static bool print_footer(const struct ss_report *report, const struct ss_report_style *style,
                         FILE *out)
{
    const struct ss_selection *selection = report->trust->selection;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1024);
    /* Tables of tracks precede tables of samples. */
    bool sampled =
        report->table_count == 0 || report->tables[report->table_count - 1].samples_key != NULL;
    if (selection->idle > 0 && sampled) {
        ss_text_append_count(&text, selection->idle);
        ss_strbuf_append_text(&text, " idle samples not shown: --idle all counts them");
        print_note(style, out, text.data);
    }
    uint64_t outside = 0;
    for (size_t i = 0; i < report->table_count; i++) {
        uint64_t of_table = report->tables[i].outside_samples;
        outside = of_table > outside ? of_table : outside;
    }
    if (outside > 0) {
        ss_strbuf_clear(&text);
        ss_text_append_count(&text, outside);
        ss_strbuf_append_text(&text, " samples outside these steps (imports, the first step, "
                                     "what lies between and after them) not shown: see --by "
                                     "function");
        print_note(style, out, text.data);
    }
    bool small = false;
    for (size_t i = 0; i < report->table_count; i++) {
        small = small || has_small_rows(&report->tables[i]);
    }
    if (small) {
        print_note(style, out,
                   style->colour ? "Grey rows have fewer than 30 samples: too few to call them "
                                   "hotspots."
                                 : "Rows with fewer than 30 samples are too uncertain to be "
                                   "hotspots.");
    }
    ss_strbuf_fini(&text);
    return small || outside > 0 || (selection->idle > 0 && sampled);
}

static void print_next(const struct ss_report_step *list, const struct ss_report_style *style,
                       FILE *out)
{
    fprintf(out, "%sNext%s\n", style->colour ? SS_BOLD : "", style->colour ? SS_OFF : "");
    size_t widest = 0;
    for (const struct ss_report_step *next = list; next->command != NULL; next++) {
        size_t width = ss_text_width(next->command);
        widest = width > widest ? width : widest;
    }
    for (const struct ss_report_step *next = list; next->command != NULL; next++) {
        size_t gap = widest - ss_text_width(next->command);
        fprintf(out, "  %s%*s   %s%s%s\n", next->command, (int)gap, "", style->colour ? SS_DIM : "",
                next->meaning, style->colour ? SS_OFF : "");
    }
}

/* "No training: the model was called 80 times behind its first call, once in 7.35 ms, 1,089
 * samples/s (batches of 8)"
 */
static bool print_calls(const struct ss_model_calls *calls, const struct ss_report_style *style,
                        FILE *out)
{
    if (calls == NULL || calls->calls == 0) {
        return false;
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_strbuf_append_text(&text, "No training: the model was called ");
    ss_text_append_count(&text, calls->calls);
    ss_strbuf_append_text(&text, " times after its first call, once every ");
    ss_text_append_duration(&text, calls->each_ns);
    ss_report_append_throughput(&calls->throughput, &text);
    ss_strbuf_append_text(&text, "; a call takes ");
    ss_text_append_duration(&text, calls->call_ns);
    ss_report_print_wrapped(text.data, SS_BOLD, "", style, out);
    fputc('\n', out);
    ss_strbuf_fini(&text);
    return true;
}

/* Users expect steps in a program that uses PyTorch. */
static void print_no_steps(const struct ss_report *report, const struct ss_report_style *style,
                           FILE *out)
{
    static const char text[] =
        "No steps were found: PyTorch ran, but none of its optimizers updated a model. A loop "
        "of your own marks its steps with stepscope.step().";
    const struct ss_model *model = report->trust->selection->model;
    if (report->steps != NULL && report->training != NULL && model->filtered_samples == 0 &&
        ss_model_has_domain(model, "torch") && !print_calls(report->calls, style, out)) {
        const char *why = report->trust->why_no_marks;
        struct ss_strbuf lost;
        ss_strbuf_init(&lost, 4096);
        ss_strbuf_append_format(&lost, "No steps were found, and not all was recorded: %s",
                                why != NULL ? why : "");
        ss_report_print_wrapped(why != NULL ? lost.data : text, SS_BOLD, "", style, out);
        ss_strbuf_fini(&lost);
        fputc('\n', out);
    }
}

enum ss_status ss_report_text(const struct ss_report *report, const struct ss_report_style *style,
                              FILE *out, struct ss_error *err)
{
    bool trains = report->training != NULL && report->training->steps.count > 0;
    bool is_overview = trains && report->diagnosis != NULL; /* findings first, trust header last */
    ss_report_text_title(report->trust, style, out);
    if (!trains) {
        print_no_steps(report, style, out);
    }
    if (!is_overview) {
        ss_report_text_panel(report->trust, style, out);
    }
    if (trains) {
        ss_report_text_training(report, style, out);
    }
    for (size_t i = 0; i < report->table_count; i++) {
        SS_TRY(print_table(report, &report->tables[i], style, out, err));
    }
    if (is_overview) {
        SS_TRY(ss_report_text_memory(report, style, out, err));
        ss_report_text_flops_summary(report->facts, style, out);
        ss_report_text_panel(report->trust, style, out);
    }
    bool has_next = report->steps != NULL && report->steps[0].command != NULL;
    if (print_footer(report, style, out) && has_next) {
        fputc('\n', out);
    }
    if (has_next) {
        print_next(report->steps, style, out);
    }
    return SS_OK;
}
