/* SPDX-License-Identifier: Apache-2.0 */
/* The findings about a training. */
#include <inttypes.h>
#include <string.h>

#include "analysis/kernels/kernel_names.h"
#include "analysis/report/report_parts.h"

enum { MAX_FURTHER = 3, MOST_NAME_BYTES = 4096 };

static uint64_t clamped(double value)
{
    return value < 0 ? 0 : value < (double)INT64_MAX ? (uint64_t)value : INT64_MAX;
}

static void add_evidence(const struct ss_evidence *evidence, struct ss_sentence *out)
{
    ss_sentence_add(out, evidence->what);
    ss_sentence_add(out, " ");
    switch (evidence->unit) {
    case SS_EVIDENCE_COUNT:
        ss_sentence_add_count(out, clamped(evidence->value + 0.5));
        break;
    case SS_EVIDENCE_NUMBER:
        ss_sentence_add_decimal(out, evidence->value, 0);
        break;
    case SS_EVIDENCE_NS:
        ss_sentence_add_duration(out, clamped(evidence->value));
        break;
    case SS_EVIDENCE_BYTES:
        ss_sentence_add_bytes(out, evidence->value);
        break;
    case SS_EVIDENCE_PERCENT:
        ss_sentence_add_percent(out, evidence->value, 0);
        break;
    }
}

/* "goes into copying objects: 27 ms of other are at train.py:310 main → deepcopy" */
static void add_line_headline(const struct ss_finding *finding, const struct ss_model *model,
                              struct ss_sentence *out)
{
    const char *activity = ss_activity_text(finding->activity);
    ss_sentence_add(out, activity[0] != '\0' ? "goes into " : "is spent at one place");
    ss_sentence_add(out, activity);
    ss_sentence_add(out, ": ");
    ss_sentence_add_duration(out, finding->cost_ns);
    ss_sentence_add(out, " of ");
    ss_report_add_phase(model, finding->phase, out);
    ss_sentence_add(out, " are at ");
    if (finding->hot_line->caller != 0) {
        ss_report_add_location(&(struct ss_phase_line){.frame = finding->hot_line->caller}, model,
                               out);
        ss_sentence_add(out, finding->hot_line->is_function ? ", mostly in " : ", mostly at ");
    }
    ss_report_add_location(finding->line, model, out);
}

/* "37 % of each step waits for data: DataLoader with 0 workers; fixing it saves up to 31 ms per
 * step (48 %)" */
void ss_report_add_finding(const struct ss_finding *finding, const struct ss_model *model,
                           struct ss_sentence *out)
{
    if (finding->cost_ns == 0) {
        ss_sentence_add(out, finding->headline);
        return;
    }
    ss_sentence_add_percent(out, finding->percent, finding->percent < 10);
    ss_sentence_add(out, finding->is_spread ? " of the training's time " : " of each step ");
    if (finding->is_of_line) {
        add_line_headline(finding, model, out);
    } else {
        ss_sentence_add(out, finding->headline);
        ss_sentence_add(out, finding->activity != SS_ACTIVITY_NOTHING ? ": " : "");
        ss_sentence_add(out, ss_activity_text(finding->activity));
    }
    if (finding->recoverable_ns == 0) {
        return;
    }
    double saved = 100 * (double)finding->recoverable_ns / (double)finding->of_ns;
    ss_sentence_add(out, "; fixing it saves up to ");
    ss_sentence_add_duration(out, finding->recoverable_ns);
    ss_sentence_add(out, " per step (");
    ss_sentence_add_percent(out, saved, saved < 10);
    ss_sentence_add(out, ")");
}

static void add_thread(uint32_t id, const struct ss_model *model, struct ss_sentence *out)
{
    const struct ss_model_thread *thread = &model->threads.data[id];
    struct ss_strview name = ss_intern_get(&model->strings, thread->name);
    ss_sentence_add(out, "thread ");
    if (name.length > 0) {
        ss_sentence_add_name(out, name);
    } else {
        ss_sentence_add_number(out, thread->tid);
    }
}

/* "thread logger holds log_lock: 97 % ±2 of that time is at train.py:12 flush" */
static void add_lock_holder(const struct ss_lock_holder *holder, const struct ss_model *model,
                            struct ss_sentence *out)
{
    add_thread(holder->thread, model, out);
    ss_sentence_add(out, " holds ");
    ss_sentence_add_name(out, ss_strview_of(holder->lock));
    ss_sentence_add(out, ": ");
    ss_report_add_line_share(&holder->line, out);
    ss_sentence_add(out, "that time is at ");
    ss_report_add_location(&holder->line, model, out);
}

/* "thread prefetch has the GIL then: 97 % ±2 of that is at train.py:12 fill" */
static void add_holder(const struct ss_gil_holder *holder, const struct ss_model *model,
                       struct ss_sentence *out)
{
    const char *has = holder->is_likely ? " has the GIL more than the others" : " has the GIL then";
    add_thread(holder->thread, model, out);
    ss_sentence_add(out, has);
    if (holder->line.frame == 0) {
        ss_sentence_add(out, ", outside of Python functions");
        return;
    }
    ss_sentence_add(out, ": ");
    ss_report_add_line_share(&holder->line, out);
    ss_sentence_add(out, "that is at ");
    ss_report_add_location(&holder->line, model, out);
}

static void add_place(struct ss_code_place place, const struct ss_model *model,
                      struct ss_sentence *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_NAME_BYTES);
    ss_code_place_append(model, place, &text);
    ss_sentence_add_name(out, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

static void add_kernel(uint32_t name, const struct ss_model *model, struct ss_sentence *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_NAME_BYTES);
    ss_kernel_short_name(ss_intern_get(&model->strings, model->names.data[name].text), &text);
    ss_sentence_add_name(out, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

/* "train.py:88 main waits in aten::item (cudaStreamSynchronize) for sgemm<128, 64>, launched at
 * model.py:31 forward" */
static void add_wait(const struct ss_device_wait *wait, const struct ss_model *model,
                     struct ss_sentence *out)
{
    if (ss_code_place_is_known(wait->place)) {
        add_place(wait->place, model, out);
        ss_sentence_add(out, " ");
    }
    ss_sentence_add(out, "waits in ");
    bool has_operator = wait->operator_name != 0; /* aten::item (cudaStreamSynchronize) */
    if (has_operator) {
        ss_sentence_add_name(
            out, ss_intern_get(&model->strings, model->names.data[wait->operator_name].text));
        ss_sentence_add(out, " (");
    }
    ss_sentence_add_name(out, ss_intern_get(&model->strings, model->names.data[wait->call].text));
    ss_sentence_add(out, has_operator ? ")" : "");
    if (wait->work != 0) {
        ss_sentence_add(out, " for ");
        add_kernel(wait->work, model, out);
    }
    if (wait->work != 0 && ss_code_place_is_known(wait->launcher)) {
        ss_sentence_add(out, ", launched at ");
        add_place(wait->launcher, model, out);
    }
}

/* "longest: all_gather of layers.3, 41 % of the waits for collectives whose module is known" */
static void add_exposed(const struct ss_exposed_collective *exposed, const struct ss_model *model,
                        struct ss_sentence *out)
{
    ss_sentence_add(out, "longest: ");
    ss_exposed_collective_add(model, exposed, out);
    ss_sentence_add(out, ", ");
    ss_sentence_add_percent(out, 100 * (double)exposed->ns / (double)exposed->all_ns, 0);
    ss_sentence_add(out, " of the waits for collectives whose module is known");
}

static struct ss_sentence *add_detail(struct ss_document_finding *out, struct ss_arena *arena)
{
    ss_vec_push(&out->details, ss_sentence_of(arena));
    return &out->details.data[out->details.count - 1];
}

static struct ss_sentence *add_figure(struct ss_document_finding *out, struct ss_arena *arena)
{
    ss_vec_push(&out->evidence, ss_sentence_of(arena));
    return &out->evidence.data[out->evidence.count - 1];
}

void ss_report_fill_finding(const struct ss_finding *finding, const struct ss_model *model,
                            struct ss_arena *arena, struct ss_document_finding *out)
{
    out->headline = ss_sentence_of(arena);
    ss_report_add_finding(finding, model, &out->headline);
    if (finding->line != NULL && !finding->is_of_line) {
        struct ss_sentence *detail = add_detail(out, arena);
        ss_report_add_line_share(finding->line, detail);
        ss_sentence_add(detail, finding->line_of);
        bool is_function = finding->hot_line != NULL && finding->hot_line->is_function;
        ss_sentence_add(detail, is_function ? " is mostly in " : " is at ");
        ss_report_add_location(finding->line, model, detail);
    }
    if (finding->wait != NULL) {
        add_wait(finding->wait, model, add_detail(out, arena));
    }
    if (finding->exposed != NULL) {
        add_exposed(finding->exposed, model, add_detail(out, arena));
    }
    if (finding->kernel != 0) {
        add_kernel(finding->kernel, model, add_detail(out, arena));
    }
    if (finding->holder != NULL) {
        add_holder(finding->holder, model, add_detail(out, arena));
    }
    if (finding->lock_holder != NULL) {
        add_lock_holder(finding->lock_holder, model, add_detail(out, arena));
    }
    for (size_t i = 0; i < finding->evidence_count; i++) {
        add_evidence(&finding->evidence[i], add_figure(out, arena));
    }
    if (finding->grows_in != NULL) {
        struct ss_sentence *figure = add_figure(out, arena);
        ss_sentence_add(figure, "kept from ");
        ss_report_add_phase(model, finding->grows_in, figure);
    }
    out->fix = ss_sentence_of(arena);
    ss_sentence_add(&out->fix, finding->fix != NULL ? finding->fix : "");
}

/* What spoils all figures is stated before them. */
static bool is_warning(const struct ss_finding *finding)
{
    return strcmp(finding->rule->id, "busy-machine") == 0;
}

/* "Other programs used the CPU: each step waited 23 % of its time for a core. …" */
static void add_warnings(const struct ss_diagnosis *diagnosis, struct ss_document *document)
{
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        const struct ss_finding *finding = &diagnosis->findings.data[i];
        if (is_warning(finding)) {
            struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_FACT);
            ss_sentence_add(out, "Other programs used the CPU: each step waited ");
            ss_sentence_add_percent(out, finding->percent, 0);
            ss_sentence_add(out, " of its time for a core. All times here include such waits. "
                                 "Measure again on an idle machine");
        }
    }
}

static size_t count_shown(const struct ss_diagnosis *diagnosis)
{
    size_t count = 0;
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        count += !is_warning(&diagnosis->findings.data[i]);
    }
    return count;
}

/* The largest ones; programs get all. */
static void add_largest(const struct ss_report_parts *parts, struct ss_block *block,
                        struct ss_arena *arena)
{
    size_t added = 0;
    for (size_t i = 0; i < parts->diagnosis.findings.count && added <= MAX_FURTHER; i++) {
        if (is_warning(&parts->diagnosis.findings.data[i])) {
            continue;
        }
        added++;
        ss_vec_push_zero(&block->findings);
        ss_report_fill_finding(&parts->diagnosis.findings.data[i], parts->selection->model, arena,
                               &block->findings.data[block->findings.count - 1]);
        if (parts->is_page) {
            ss_report_fill_excerpt(&parts->diagnosis.findings.data[i], parts, arena,
                                   &block->findings.data[block->findings.count - 1].excerpt);
        }
    }
}

void ss_report_add_findings(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_diagnosis *diagnosis = &parts->diagnosis;
    size_t first = document->blocks.count, count = count_shown(diagnosis);
    if (!diagnosis->judged) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_FACT),
                        "no step was recorded from begin to end");
    } else {
        if (diagnosis->is_uncertain) {
            ss_sentence_add(ss_document_add_note(document, SS_NOTE_FACT),
                            "few steps: what follows may be different in a longer recording");
        }
        add_warnings(diagnosis, document);
        if (count > 0) {
            add_largest(parts, ss_document_join(document, SS_BLOCK_FINDINGS), &document->arena);
        } else {
            ss_sentence_add(ss_document_add_note(document, SS_NOTE_FACT),
                            "no rule found a problem that is worth fixing");
        }
        if (count > MAX_FURTHER + 1) {
            struct ss_sentence *more = ss_document_add_note(document, SS_NOTE_FACT);
            ss_sentence_add_number(more, (int64_t)(count - MAX_FURTHER - 1));
            ss_sentence_add(more, " more, smaller: --format json");
        }
    }
    document->blocks.data[first].is_joined = false;
}
