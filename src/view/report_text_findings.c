/* SPDX-License-Identifier: Apache-2.0 */
/* The findings about a training in the text report. */
#include <inttypes.h>
#include <math.h>

#include "analysis/rules.h"
#include "base/terminal.h"
#include "view/report_tables.h"
#include "view/text_cell.h"

enum { MAX_FURTHER = 3, MAX_TEXT_BYTES = 1 << 16 };

static uint64_t clamped(double value)
{
    return value < 0 ? 0 : value < (double)INT64_MAX ? (uint64_t)value : INT64_MAX;
}

static void append_evidence(const struct ss_evidence *evidence, struct ss_strbuf *out)
{
    ss_strbuf_append_format(out, "%s ", evidence->what);
    switch (evidence->unit) {
    case SS_EVIDENCE_COUNT:
        ss_text_append_count(out, clamped(evidence->value + 0.5));
        break;
    case SS_EVIDENCE_NUMBER:
        ss_strbuf_append_format(out, "%.0f", evidence->value);
        break;
    case SS_EVIDENCE_NS:
        ss_text_append_duration(out, clamped(evidence->value));
        break;
    case SS_EVIDENCE_BYTES:
        ss_text_append_bytes(out, evidence->value);
        break;
    case SS_EVIDENCE_PERCENT:
        ss_strbuf_append_format(out, "%.0f %%", evidence->value);
        break;
    }
}

/* "goes into copying objects: 27 ms of other are at train.py:310 main → deepcopy" */
static void append_line_headline(const struct ss_finding *finding, const struct ss_model *model,
                                 struct ss_strbuf *out)
{
    const char *activity = ss_activity_text(finding->activity);
    if (activity[0] != '\0') {
        ss_strbuf_append_format(out, "goes into %s: ", activity);
    } else {
        ss_strbuf_append_text(out, "passes at one place: ");
    }
    ss_text_append_duration(out, finding->cost_ns);
    ss_strbuf_append_text(out, " of ");
    ss_text_append_clean(out, ss_step_phase_text(model, finding->phase));
    if (finding->hot_line->caller != 0) {
        ss_strbuf_append_text(out, " are at ");
        ss_report_append_location(&(struct ss_phase_line){.frame = finding->hot_line->caller},
                                  model, out);
        ss_strbuf_append_text(out,
                              finding->hot_line->is_function ? ", mostly in " : ", mostly at ");
    } else {
        ss_strbuf_append_text(out, " are at ");
    }
    ss_report_append_location(finding->line, model, out);
}

/* "37 % of each step waits for data: DataLoader with 0 workers; recovers ≤ 31 ms of 65 ms a step"
 */
static void append_headline(const struct ss_finding *finding, const struct ss_model *model,
                            struct ss_strbuf *out)
{
    if (finding->cost_ns == 0) {
        ss_strbuf_append_text(out, finding->headline);
        return;
    }
    ss_strbuf_append_format(out, "%.*f %% of %s ", finding->percent < 10, finding->percent,
                            finding->is_spread ? "the training's time" : "each step");
    if (finding->is_of_line) {
        append_line_headline(finding, model, out);
    } else {
        ss_strbuf_append_text(out, finding->headline);
    }
    if (finding->recoverable_ns == 0) {
        return;
    }
    ss_strbuf_append_text(out, "; recovers ≤ ");
    ss_text_append_duration(out, finding->recoverable_ns);
    ss_strbuf_append_text(out, " of ");
    ss_text_append_duration(out, finding->of_ns);
    ss_strbuf_append_text(out, " a step");
}

/* "thread prefetch has the GIL then: 97 % ±2 of that is at train.py:12 fill" */
static void append_holder(const struct ss_gil_holder *holder, const struct ss_model *model,
                          struct ss_strbuf *out)
{
    const struct ss_model_thread *thread = &model->threads.data[holder->thread];
    struct ss_strview name = ss_intern_get(&model->strings, thread->name);
    ss_strbuf_append_text(out, "thread ");
    if (name.length > 0) {
        ss_text_append_clean(out, name);
    } else {
        ss_strbuf_append_format(out, "%" PRId64, thread->tid);
    }
    if (holder->line.frame == 0) {
        ss_strbuf_append_text(out, " has the GIL then, outside of Python functions");
        return;
    }
    ss_strbuf_append_text(out, " has the GIL then: ");
    ss_report_append_line(&holder->line, "that", model, out);
}

static void print_finding(const struct ss_finding *finding, const struct ss_model *model,
                          const struct ss_report_style *style, bool is_first, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    append_headline(finding, model, &text);
    ss_report_print_wrapped(text.data, is_first ? SS_BOLD : "", "", style, out);
    if (finding->line != NULL && !finding->is_of_line) {
        ss_strbuf_clear(&text);
        ss_report_append_line(finding->line, finding->line_of, model, &text);
        ss_report_print_wrapped(text.data, "", "  ", style, out);
    }
    if (finding->holder != NULL) {
        ss_strbuf_clear(&text);
        append_holder(finding->holder, model, &text);
        ss_report_print_wrapped(text.data, "", "  ", style, out);
    }
    ss_strbuf_clear(&text);
    for (size_t i = 0; i < finding->evidence_count; i++) {
        ss_strbuf_append_text(&text, i > 0 ? " · " : "");
        append_evidence(&finding->evidence[i], &text);
    }
    if (finding->grows_in != NULL) {
        ss_strbuf_append_text(&text, " · kept from ");
        ss_text_append_clean(&text, ss_step_phase_text(model, finding->grows_in));
    }
    ss_report_print_wrapped(text.data, SS_DIM, "  ", style, out);
    if (finding->fix != NULL) {
        ss_report_print_wrapped(finding->fix, "", "  → ", style, out);
    }
    ss_strbuf_fini(&text);
}

void ss_report_text_findings(const struct ss_diagnosis *diagnosis, const struct ss_model *model,
                             const struct ss_report_style *style, FILE *out)
{
    fputc('\n', out);
    if (!diagnosis->judged) {
        fprintf(out, "no step to judge by was seen from begin to end\n\n");
        return;
    }
    if (diagnosis->is_uncertain) {
        fprintf(out, "few steps: what follows may be different in a longer recording\n");
    }
    for (size_t i = 0; i < diagnosis->findings.count && i <= MAX_FURTHER; i++) {
        print_finding(&diagnosis->findings.data[i], model, style, i == 0, out);
    }
    if (diagnosis->findings.count == 0) {
        fprintf(out, "no rule found a fault that is worth mending\n");
    } else if (diagnosis->findings.count > MAX_FURTHER + 1) {
        fprintf(out, "%zu more, smaller: --format json\n",
                diagnosis->findings.count - MAX_FURTHER - 1);
    }
    fputc('\n', out);
}
