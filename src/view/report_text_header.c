/* SPDX-License-Identifier: Apache-2.0 */
/* The trust header: what was recorded, how faithfully, and how the samples add up. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/terminal.h"
#include "view/report.h"
#include "view/text_cell.h"

enum { LABEL_COLUMNS = 11, MAX_LINE_BYTES = 1 << 16 };

struct panel {
    FILE *out;
    const struct ss_report_style *style;
    struct ss_strbuf line; /* the facts of the current line */
    size_t used;           /* its columns since the last line break */
    const char *label;
};

static void begin_line(struct panel *panel, const char *label)
{
    ss_strbuf_clear(&panel->line);
    panel->label = label;
    panel->used = 0;
}

/* Adds a fact. Lines break between facts, never within one. */
static void add_fact(struct panel *panel, const char *separator, const char *fact)
{
    size_t room = panel->style->width > LABEL_COLUMNS + 20 ? panel->style->width - LABEL_COLUMNS
                                                           : (size_t)-1 / 2;
    size_t columns = ss_text_width(fact), gap = ss_text_width(separator);
    if (panel->used > 0 && panel->used + gap + columns > room) {
        ss_strbuf_append_format(&panel->line, "\n%*s", LABEL_COLUMNS, "");
        panel->used = 0;
        while (*separator == ' ') { /* "= " and "+ " begin the new line, a dot does not */
            separator++;
        }
        separator = strncmp(separator, "·", 2) == 0 ? "" : separator;
        gap = ss_text_width(separator);
    }
    if (panel->line.length > 0) {
        ss_strbuf_append_text(&panel->line, separator);
        panel->used += gap;
    }
    if (columns > room) {
        ss_text_append_cut_middle(&panel->line, fact, room);
        columns = room;
    } else {
        ss_strbuf_append_text(&panel->line, fact);
    }
    panel->used += columns;
}

static void add_format(struct panel *panel, const char *format, ...) SS_PRINTF(2, 3);
static void add_format(struct panel *panel, const char *format, ...)
{
    struct ss_strbuf text, clean;
    ss_strbuf_init(&text, MAX_LINE_BYTES);
    ss_strbuf_init(&clean, MAX_LINE_BYTES);
    va_list arguments;
    va_start(arguments, format);
    ss_strbuf_append_vformat(&text, format, arguments);
    va_end(arguments);
    ss_text_append_clean(&clean, (struct ss_strview){text.data, text.length});
    add_fact(panel, " · ", clean.data);
    ss_strbuf_fini(&text);
    ss_strbuf_fini(&clean);
}

static void end_line(struct panel *panel)
{
    if (panel->line.length > 0) {
        bool colour = panel->style->colour;
        fprintf(panel->out, "%s%-*s%s%s\n", colour ? SS_DIM : "", LABEL_COLUMNS, panel->label,
                colour ? SS_OFF : "", panel->line.data);
    }
}

static void add_count(struct panel *panel, const char *separator, uint64_t count, const char *what)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256);
    ss_text_append_count(&text, count);
    ss_strbuf_append_format(&text, " %s", what);
    add_fact(panel, separator, text.data);
    ss_strbuf_fini(&text);
}

static void add_number(struct panel *panel, uint32_t count, const char *singular,
                       const char *plural)
{
    add_count(panel, " · ", count, count == 1 ? singular : plural);
}

static void add_time(struct panel *panel, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm utc;
    char text[64];
    if (unix_ns > 0 && gmtime_r(&seconds, &utc) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0) {
        add_fact(panel, " · ", text);
    }
}

static void print_recorded(struct panel *panel, const struct ss_trust *trust)
{
    const struct ss_trust_input *all = &trust->all;
    begin_line(panel, "Recorded");
    if (trust->inputs.count > 1) {
        add_number(panel, (uint32_t)trust->inputs.count, "file", "files");
    }
    if (all->kind == SS_INPUT_TRACE) {
        if (all->command[0] != '\0') {
            add_format(panel, "%s", all->command);
        }
        if (all->hostname[0] != '\0') {
            add_format(panel, "on %s", all->hostname);
        }
        add_time(panel, all->start_unix_ns);
        if (all->duration_s > 0) {
            add_format(panel, all->duration_s < 100 ? "%.2f s" : "%.0f s", all->duration_s);
        }
        if (all->runtime[0] != '\0') {
            add_format(panel, "%s", all->runtime);
        }
        if (all->torch_route[0] != '\0' && strcmp(all->torch_route, "preload") != 0) {
            add_format(panel, "torch detected by %s", all->torch_route);
        }
    } else {
        add_fact(panel, " · ", "py-spy raw file: no times, states or losses in it");
        add_count(panel, " · ", all->lines, all->lines == 1 ? "line" : "lines");
        if (all->skipped_lines > 0) {
            add_count(panel, " · ", all->skipped_lines, "of them unreadable and skipped");
        }
    }
    if (all->processes > 1 || all->threads > 1) {
        add_number(panel, all->processes, "process", "processes");
        add_number(panel, all->threads, "thread", "threads");
    }
    end_line(panel);
}

static void add_share(struct panel *panel, const char *what, uint64_t part, uint64_t whole)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256);
    ss_strbuf_append_format(&text, "%s ", what);
    ss_text_append_count(&text, part);
    if (part > 0 && whole > 0) {
        ss_strbuf_append_text(&text, " (");
        ss_text_append_percent(&text, 100 * (double)part / (double)whole);
        ss_strbuf_append_text(&text, ")");
    }
    add_fact(panel, " · ", text.data);
    ss_strbuf_fini(&text);
}

static void print_sampling(struct panel *panel, const struct ss_trust_input *all)
{
    begin_line(panel, "Sampling");
    if (all->requested_hz > 0) {
        add_format(panel, "%.6g Hz requested", all->requested_hz);
    }
    if (all->achieved_hz > 0) {
        add_format(panel, all->achieved_hz < 1000 ? "%.4g Hz achieved" : "%.0f Hz achieved",
                   all->achieved_hz);
    }
    if (all->has_counts) {
        add_share(panel, "late", all->late, all->done);
        add_share(panel, "skipped", all->skipped, all->due);
    }
    end_line(panel);
    begin_line(panel, "Stacks");
    if (all->has_counts) {
        add_share(panel, "partial", all->partial, all->seen);
        add_share(panel, "lost", all->lost, all->seen);
        add_share(panel, "dropped", all->dropped, all->seen);
        if (all->processes_short > 0) {
            add_count(panel, " · ", all->processes_short, "processes too short to sample");
        }
    }
    end_line(panel);
}

static void print_events(struct panel *panel, const struct ss_trust_input *all)
{
    if (all->events > 0) {
        begin_line(panel, "Events");
        add_count(panel, "", all->events, "marked by the program");
        add_share(panel, "dropped", all->events_dropped, all->events);
        end_line(panel);
    }
}

static void print_overhead(struct panel *panel, const struct ss_overhead *overhead)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256);
    begin_line(panel, "Overhead");
    if (overhead->recorder_cpu_ns > 0) {
        ss_strbuf_append_text(&text, "recorder ");
        ss_text_append_percent(&text, 100 * ss_overhead_recorder_share(overhead));
        ss_strbuf_append_text(&text, " of a core");
        add_fact(panel, "", text.data);
        ss_strbuf_clear(&text);
    }
    if (overhead->recorder_bytes > 0) {
        ss_text_append_bytes(&text, (double)overhead->recorder_bytes);
        add_fact(panel, ", ", text.data);
    }
    if (overhead->operators > 0) {
        ss_strbuf_clear(&text);
        ss_strbuf_append_text(&text, "operators about ");
        ss_text_append_percent(&text, 100 * ss_overhead_operators_share(overhead));
        ss_strbuf_append_text(&text, " of their thread (");
        ss_text_append_count(&text, overhead->operators);
        ss_strbuf_append_format(&text, " of %" PRIu64 " ns each)", overhead->operator_ns);
        add_fact(panel, " · ", text.data);
    }
    end_line(panel);
    ss_strbuf_fini(&text);
}

static void print_left_out(struct panel *panel, const struct ss_trust *trust)
{
    begin_line(panel, "Left out");
    for (size_t i = 0; i < trust->left_out.count; i++) {
        const struct ss_trust_absence *absence = &trust->left_out.data[i];
        add_format(panel, absence->reason[0] != '\0' ? "%s: %s" : "%s", absence->source,
                   absence->reason);
    }
    end_line(panel);
}

/* A repaired file is readable but incomplete. */
static void print_repairs(struct panel *panel, const struct ss_trust_input *all)
{
    if (all->repaired_places > 0) {
        begin_line(panel, "Repaired");
        add_count(panel, "", all->repaired_places,
                  all->repaired_places == 1 ? "damaged place left out" : "damaged places left out");
        add_count(panel, " · ", all->repaired_bytes, "bytes of samples are missing");
        end_line(panel);
    }
}

/* recorded = shown + what each reason excludes: the numbers add up. */
static void print_samples(struct panel *panel, const struct ss_trust *trust)
{
    const struct ss_selection *selection = trust->selection;
    begin_line(panel, "Samples");
    if (trust->why_no_samples != NULL && trust->why_no_samples[0] != '\0') {
        add_format(panel, "none: %s", trust->why_no_samples);
        end_line(panel);
        return;
    }
    add_count(panel, "", selection->recorded, "recorded");
    add_count(panel, " = ", selection->shown, "shown");
    if (selection->idle > 0) {
        add_count(panel, " + ", selection->idle, "idle");
    }
    if (selection->no_gil > 0) {
        add_count(panel, " + ", selection->no_gil, "without the GIL");
    }
    if (selection->filtered > 0) {
        add_count(panel, " + ", selection->filtered, "filtered");
    }
    if (selection->frameless > 0) {
        add_count(panel, " + ", selection->frameless, "without frames");
    }
    end_line(panel);
}

void ss_report_text_title(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, MAX_LINE_BYTES);
    if (trust->inputs.count > 0) {
        ss_text_append_clean(&name, ss_strview_of(trust->inputs.data[0].path));
    }
    if (trust->inputs.count > 1) {
        ss_strbuf_append_format(&name, " and %zu more", trust->inputs.count - 1);
    }
    fprintf(out, "%sstepscope report%s  %s\n\n", style->colour ? SS_BOLD : "",
            style->colour ? SS_OFF : "", name.data);
    ss_strbuf_fini(&name);
}

void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out)
{
    const char *reason = problem->reason;
    switch (problem->kind) {
    case SS_PROBLEM_UNSEALED:
        ss_strbuf_append_format(out,
                                "%s was not closed: the recorder was killed or still writes it; "
                                "up to a second of samples is missing",
                                problem->input);
        break;
    case SS_PROBLEM_DAMAGED:
        ss_strbuf_append_format(
            out, "%s is damaged from byte %" PRIu64 ", %" PRIu64 " bytes are lost%s%s",
            problem->input, problem->offset, problem->lost_bytes, reason[0] != '\0' ? ": " : "",
            reason);
        break;
    case SS_PROBLEM_FAILED:
        ss_strbuf_append_format(out, "%s: recording failed: %s", problem->input, reason);
        break;
    case SS_PROBLEM_UNAVAILABLE:
        ss_strbuf_append_format(out, "%s: Python could not be sampled: %s", problem->input, reason);
        break;
    case SS_PROBLEM_NO_SAMPLES:
        ss_strbuf_append_format(out, "%s holds no samples%s%s", problem->input,
                                reason[0] != '\0' ? ": " : "", reason);
        break;
    }
}

static void print_problems(struct panel *panel, const struct ss_trust *trust)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_LINE_BYTES);
    for (size_t i = 0; i < trust->problems.count; i++) {
        ss_strbuf_clear(&text);
        ss_trust_problem_text(&trust->problems.data[i], &text);
        begin_line(panel, i == 0 ? "Beware" : "");
        add_format(panel, "%s", text.data);
        end_line(panel);
    }
    ss_strbuf_fini(&text);
}

void ss_report_text_panel(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out)
{
    struct panel panel = {.out = out, .style = style};
    ss_strbuf_init(&panel.line, MAX_LINE_BYTES);
    print_recorded(&panel, trust);
    print_sampling(&panel, &trust->all);
    print_events(&panel, &trust->all);
    print_overhead(&panel, &trust->all.overhead);
    print_left_out(&panel, trust);
    print_samples(&panel, trust);
    print_repairs(&panel, &trust->all);
    print_problems(&panel, trust);
    fputc('\n', out);
    ss_strbuf_fini(&panel.line);
}

void ss_report_text_header(const struct ss_trust *trust, const struct ss_report_style *style,
                           FILE *out)
{
    ss_report_text_title(trust, style, out);
    ss_report_text_panel(trust, style, out);
}
