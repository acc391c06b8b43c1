/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/rule_limits.h"
#include "base/utf8.h"
#include "base/version.h"
#include "view/report.h"

enum { MAX_RULE_TEXT_BYTES = 4096 };

enum { MAX_TEXT_BYTES = 64 << 20, SCHEMA = 1 };

static json_t *text_of(struct ss_strview text)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, MAX_TEXT_BYTES);
    ss_utf8_append_valid(&valid, text.data, text.length);
    json_t *json = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return json;
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, text[0] != '\0' ? text_of(ss_strview_of(text)) : json_null());
}

/* A text of a rule, with the values of its limits. */
static void put_rule_text(json_t *object, const char *key, const char *text)
{
    struct ss_strbuf whole;
    ss_strbuf_init(&whole, MAX_RULE_TEXT_BYTES);
    ss_rule_text_append(text, &whole);
    put_text(object, key, whole.data);
    ss_strbuf_fini(&whole);
}

static void put_count(json_t *object, const char *key, uint64_t count)
{
    json_object_set_new(object, key, json_integer((json_int_t)count));
}

/* 0: unknown, written as null. */
static void put_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, value != 0 ? json_real(value) : json_null());
}

static json_t *counts_of(const struct ss_trust_input *input)
{
    if (!input->has_counts) {
        return json_null();
    }
    json_t *counts = json_object();
    put_count(counts, "ticks_due", input->due);
    put_count(counts, "ticks_done", input->done);
    put_count(counts, "ticks_skipped", input->skipped);
    put_count(counts, "ticks_late", input->late);
    put_count(counts, "stacks_seen", input->seen);
    put_count(counts, "stacks_partial", input->partial);
    put_count(counts, "stacks_lost", input->lost);
    put_count(counts, "stacks_dropped", input->dropped);
    put_count(counts, "processes_too_short", input->processes_short);
    put_count(counts, "events", input->events);
    put_count(counts, "events_dropped", input->events_dropped);
    put_count(counts, "repaired_places", input->repaired_places);
    put_count(counts, "repaired_bytes", input->repaired_bytes);
    return counts;
}

static json_t *overhead_of(const struct ss_overhead *overhead)
{
    json_t *object = json_object();
    put_real(object, "recorder_cpu_s", (double)overhead->recorder_cpu_ns / 1e9);
    put_real(object, "recorder_percent", 100 * ss_overhead_recorder_share(overhead));
    put_count(object, "recorder_peak_bytes", overhead->recorder_bytes);
    put_count(object, "operators", overhead->operators);
    put_count(object, "operator_ns", overhead->operator_ns);
    put_real(object, "operators_percent", 100 * ss_overhead_operators_share(overhead));
    return object;
}

static json_t *left_out_of(const struct ss_trust *trust)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trust->left_out.count; i++) {
        json_t *object = json_object();
        put_text(object, "source", trust->left_out.data[i].source);
        put_text(object, "reason", trust->left_out.data[i].reason);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *input_of(const struct ss_trust_input *input)
{
    json_t *object = json_object();
    bool raw = input->kind == SS_INPUT_RAW;
    put_text(object, "path", input->path);
    put_text(object, "kind", raw ? "raw" : "trace");
    put_text(object, "command", input->command);
    put_text(object, "hostname", input->hostname);
    put_text(object, "runtime", input->runtime);
    put_text(object, "torch_route", input->torch_route);
    json_object_set_new(object, "start_unix_ns",
                        input->start_unix_ns != 0 ? json_integer(input->start_unix_ns)
                                                  : json_null());
    put_real(object, "duration_s", input->duration_s);
    put_real(object, "asked_hz", input->requested_hz);
    put_real(object, "achieved_hz", input->achieved_hz);
    put_count(object, "processes", input->processes);
    put_count(object, "threads", input->threads);
    put_count(object, "samples", input->samples);
    json_object_set_new(object, "lines",
                        raw ? json_integer((json_int_t)input->lines) : json_null());
    json_object_set_new(object, "skipped_lines",
                        raw ? json_integer((json_int_t)input->skipped_lines) : json_null());
    json_object_set_new(object, "counts", counts_of(input));
    json_object_set_new(object, "overhead", overhead_of(&input->overhead));
    return object;
}

static json_t *problems_of(const struct ss_trust *trust)
{
    json_t *problems = json_array();
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    for (size_t i = 0; i < trust->problems.count; i++) {
        ss_strbuf_clear(&text);
        ss_trust_problem_text(&trust->problems.data[i], &text);
        json_array_append_new(problems, text_of((struct ss_strview){text.data, text.length}));
    }
    ss_strbuf_fini(&text);
    return problems;
}

static json_t *header_of(const struct ss_trust *trust)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < trust->inputs.count; i++) {
        json_array_append_new(inputs, input_of(&trust->inputs.data[i]));
    }
    const struct ss_selection *selection = trust->selection;
    json_t *samples = json_object();
    put_count(samples, "recorded", selection->recorded);
    put_count(samples, "shown", selection->shown);
    put_count(samples, "idle", selection->idle);
    put_count(samples, "no_gil", selection->no_gil);
    put_count(samples, "filtered", selection->filtered);
    put_count(samples, "frameless", selection->frameless);
    json_t *header = json_object();
    json_object_set_new(header, "inputs", inputs);
    json_object_set_new(header, "samples", samples);
    put_count(header, "skipped_files", trust->skipped_files);
    json_object_set_new(header, "left_out", left_out_of(trust));
    json_object_set_new(header, "problems", problems_of(trust));
    return header;
}

static json_t *cell_of(const struct ss_cell *cell)
{
    switch (cell->type) {
    case SS_CELL_TEXT:
        return text_of(cell->text);
    case SS_CELL_INTEGER:
        return json_integer(cell->integer);
    case SS_CELL_REAL:
        return json_real(cell->real);
    case SS_CELL_ABSENT:
        break;
    }
    return json_null();
}

static json_t *row_of(const struct ss_table *table, size_t row)
{
    json_t *object = json_object();
    for (size_t c = 0; c < table->column_count; c++) {
        const struct ss_cell *cell = ss_table_cell(table, row, c);
        if (cell->type != SS_CELL_ABSENT || !table->columns[c].not_in_csv) {
            json_object_set_new(object, table->columns[c].key, cell_of(cell));
        }
    }
    return object;
}

static json_t *table_of(const struct ss_table *table)
{
    json_t *units = json_object();
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].unit != NULL) {
            put_text(units, table->columns[c].key, table->columns[c].unit);
        }
    }
    json_t *rows = json_array();
    for (size_t row = 0; row < table->row_count; row++) {
        json_array_append_new(rows, row_of(table, row));
    }
    json_t *object = json_object();
    put_text(object, "by", table->name);
    json_object_set_new(object, "units", units);
    put_count(object, "shown_samples", table->shown_samples);
    put_count(object, "dropped_samples", table->dropped_samples);
    put_count(object, "outside_samples", table->outside_samples);
    if (table->sample_step_ns > 0) {
        put_real(object, "sample_step_ns", table->sample_step_ns);
    }
    if (table->steps > 0) {
        put_count(object, "steps", table->steps);
        put_count(object, "steps_recorded", table->steps_recorded);
        json_object_set_new(object, "steps_drawn", json_boolean(table->is_downsampled));
        if (table->profiler_reason != NULL) {
            put_text(object, "seen_by", "torch.profiler");
            put_text(object, "seen_because", table->profiler_reason);
        }
    }
    put_count(object, "hidden_rows", table->hidden_rows);
    put_count(object, "hidden_samples", table->hidden_samples);
    json_object_set_new(object, "rows", rows);
    return object;
}

static json_t *line_of(const struct ss_phase_line *line, const char *of,
                       const struct ss_model *model)
{
    if (line == NULL || line->frame == 0) {
        return json_null();
    }
    const struct ss_model_frame *frame = &model->frames.data[line->frame];
    json_t *object = json_object();
    put_text(object, "of", of);
    json_object_set_new(object, "percent",
                        json_real(100 * (double)line->samples / (double)line->all));
    put_count(object, "samples", line->all);
    json_object_set_new(object, "path", text_of(ss_intern_get(&model->strings, frame->short_file)));
    json_object_set_new(object, "line", frame->line >= 0 ? json_integer(frame->line) : json_null());
    json_object_set_new(object, "function",
                        text_of(ss_intern_get(&model->strings, frame->function)));
    json_object_set_new(
        object, "calls",
        line->leaf != 0
            ? text_of(ss_intern_get(&model->strings, model->frames.data[line->leaf].function))
            : json_null());
    return object;
}

/* null: no wait for the GIL, or no holder was observed. */
static json_t *holder_of(const struct ss_gil_holder *holder, const struct ss_model *model)
{
    if (holder == NULL) {
        return json_null();
    }
    const struct ss_model_thread *thread = &model->threads.data[holder->thread];
    json_t *object = json_object();
    json_object_set_new(object, "thread", text_of(ss_intern_get(&model->strings, thread->name)));
    json_object_set_new(object, "tid", json_integer(thread->tid));
    json_object_set_new(object, "line", line_of(&holder->line, "the time it has the GIL", model));
    return object;
}

/* The line of the loop that calls a hot line; null: none. */
static json_t *caller_of(const struct ss_finding *finding, const struct ss_model *model)
{
    if (finding->hot_line == NULL || finding->hot_line->caller == 0) {
        return json_null();
    }
    const struct ss_model_frame *frame = &model->frames.data[finding->hot_line->caller];
    json_t *object = json_object();
    json_object_set_new(object, "path", text_of(ss_intern_get(&model->strings, frame->short_file)));
    json_object_set_new(object, "line", frame->line >= 0 ? json_integer(frame->line) : json_null());
    json_object_set_new(object, "function",
                        text_of(ss_intern_get(&model->strings, frame->function)));
    return object;
}

static json_t *finding_of(const struct ss_finding *finding, const struct ss_model *model)
{
    static const char *const units[] = {[SS_EVIDENCE_COUNT] = "count",
                                        [SS_EVIDENCE_NUMBER] = "number",
                                        [SS_EVIDENCE_NS] = "ns",
                                        [SS_EVIDENCE_BYTES] = "bytes",
                                        [SS_EVIDENCE_PERCENT] = "percent"};
    json_t *object = json_object(), *evidence = json_array();
    put_text(object, "rule", finding->rule->id);
    put_text(object, "headline", finding->headline);
    json_object_set_new(object, "percent", json_real(finding->percent));
    put_count(object, "of_ns", finding->of_ns);
    put_count(object, "cost_ns", finding->cost_ns);
    put_count(object, "expected_ns", finding->expected_ns);
    put_count(object, "recoverable_ns", finding->recoverable_ns);
    put_rule_text(object, "estimate", finding->rule->estimate);
    json_object_set_new(object, "fix",
                        finding->fix != NULL ? text_of(ss_strview_of(finding->fix)) : json_null());
    json_object_set_new(object, "phase",
                        finding->phase != NULL ? text_of(ss_step_phase_text(model, finding->phase))
                                               : json_null());
    json_object_set_new(object, "activity",
                        finding->activity != SS_ACTIVITY_NOTHING
                            ? text_of(ss_strview_of(ss_activity_text(finding->activity)))
                            : json_null());
    for (size_t i = 0; i < finding->evidence_count; i++) {
        json_t *row = json_object();
        put_text(row, "what", finding->evidence[i].what);
        json_object_set_new(row, "value", json_real(finding->evidence[i].value));
        put_text(row, "unit", units[finding->evidence[i].unit]);
        json_array_append_new(evidence, row);
    }
    json_object_set_new(object, "evidence", evidence);
    json_object_set_new(object, "growing_phase",
                        finding->grows_in != NULL
                            ? text_of(ss_step_phase_text(model, finding->grows_in))
                            : json_null());
    json_object_set_new(object, "line", line_of(finding->line, finding->line_of, model));
    json_object_set_new(object, "called_from", caller_of(finding, model));
    json_object_set_new(object, "gil_holder", holder_of(finding->holder, model));
    return object;
}

/* null: floating-point operations were not counted. */
static json_t *flops_of(const struct ss_flops_figures *figures)
{
    if (figures->steps == 0) {
        return json_null();
    }
    double rate = ss_flops_rate(figures), peak = figures->peak.flops_per_s;
    json_t *object = json_object();
    put_real(object, "per_step", figures->flops);
    put_count(object, "counted_steps", figures->steps);
    put_real(object, "per_s", rate);
    put_real(object, "peak_per_s", peak);
    put_real(object, "peak_percent", peak > 0 ? 100 * rate / peak : 0);
    put_text(object, "peak_of", figures->peak.of);
    return object;
}

/* NAN is written as null. */
static void put_bytes(json_t *row, const char *key, double bytes)
{
    json_object_set_new(row, key, isfinite(bytes) ? json_real(bytes) : json_null());
}

static json_t *memory_phases_of(const struct ss_memory *memory,
                                const struct ss_training_facts *facts)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < facts->steps->phases.count; i++) {
        const struct ss_memory_phase *phase = &memory->phases[i];
        if (phase->steps > 0) {
            json_t *row = json_object();
            json_object_set_new(
                row, "phase",
                text_of(ss_step_phase_text(facts->model, &facts->steps->phases.data[i])));
            put_count(row, "steps", phase->steps);
            put_bytes(row, "end_mean_bytes", phase->end_mean);
            put_bytes(row, "end_max_bytes", phase->end_max);
            put_bytes(row, "change_mean_bytes", phase->change_mean);
            put_bytes(row, "change_max_bytes", phase->change_max);
            put_bytes(row, "peak_mean_bytes", phase->peak_mean);
            put_bytes(row, "peak_max_bytes", phase->peak_max);
            json_array_append_new(rows, row);
        }
    }
    return rows;
}

/* null: no such phase. */
static json_t *phase_text_of(const struct ss_training_facts *facts, size_t phase)
{
    const struct ss_step_summary *steps = facts->steps;
    return phase < steps->phases.count
               ? text_of(ss_step_phase_text(facts->model, &steps->phases.data[phase]))
               : json_null();
}

static json_t *memory_of(const struct ss_training_facts *facts)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < facts->memories.rows.count; i++) {
        const struct ss_memory *memory = &facts->memories.rows.data[i];
        bool has_phase = memory->peak_phase < facts->steps->phases.count;
        json_t *row = json_object();
        put_text(row, "memory", ss_model_text(facts->model, memory->name));
        json_object_set_new(row, "pid",
                            json_integer(facts->model->processes.data[memory->process].pid));
        put_bytes(row, "first_bytes", memory->first);
        put_bytes(row, "last_bytes", memory->last);
        put_bytes(row, "peak_bytes", memory->peak);
        json_object_set_new(row, "peak_phase", phase_text_of(facts, memory->peak_phase));
        json_object_set_new(row, "peak_step",
                            has_phase ? json_integer(memory->peak_step) : json_null());
        put_bytes(row, "limit_bytes", memory->limit > 0 ? memory->limit : (double)NAN);
        put_text(row, "limit_of", memory->limit > 0 ? memory->limit_of : "");
        put_bytes(row, "bytes_per_step", memory->bytes_per_step);
        json_object_set_new(row, "grows", json_boolean(memory->grows));
        json_object_set_new(row, "growing_phase", phase_text_of(facts, memory->growing_phase));
        put_count(row, "steps", memory->steps);
        put_count(row, "steps_read", memory->steps_read);
        json_object_set_new(row, "phases", memory_phases_of(memory, facts));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Only the overview has a diagnosis. */
static void put_diagnosis(json_t *training, const struct ss_report *report)
{
    if (report->diagnosis == NULL) {
        return;
    }
    const struct ss_diagnosis *diagnosis = report->diagnosis;
    json_t *findings = json_array();
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        json_array_append_new(
            findings, finding_of(&diagnosis->findings.data[i], report->trust->selection->model));
    }
    json_object_set_new(training, "judged", json_boolean(diagnosis->judged));
    json_object_set_new(training, "uncertain", json_boolean(diagnosis->is_uncertain));
    json_object_set_new(training, "host_time", json_boolean(diagnosis->host_time));
    json_object_set_new(training, "advice", findings);
    json_object_set_new(training, "memory", memory_of(report->facts));
    json_object_set_new(training, "flops", flops_of(&report->facts->flops));
    const struct ss_throughput *throughput = &report->facts->throughput;
    bool has_rate = throughput->samples_per_s > 0;
    json_object_set_new(training, "samples_per_second",
                        has_rate ? json_real(throughput->samples_per_s) : json_null());
    json_object_set_new(training, "batch_size",
                        has_rate ? json_integer(throughput->batch_size) : json_null());
}

/* The model calls of a program without training; null: none. */
static json_t *calls_of(const struct ss_model_calls *calls)
{
    if (calls == NULL || calls->calls == 0) {
        return json_null();
    }
    json_t *object = json_object();
    put_count(object, "calls", calls->calls);
    put_count(object, "call_ns", calls->call_ns);
    put_count(object, "each_ns", calls->each_ns);
    bool has_rate = calls->throughput.samples_per_s > 0;
    json_object_set_new(object, "samples_per_second",
                        has_rate ? json_real(calls->throughput.samples_per_s) : json_null());
    json_object_set_new(object, "batch_size",
                        has_rate ? json_integer(calls->throughput.batch_size) : json_null());
    return object;
}

static json_t *training_of(const struct ss_report *report)
{
    const struct ss_step_summary *training = report->training;
    const struct ss_model *model = report->trust->selection->model;
    if (training == NULL || training->steps.count == 0) {
        return json_null();
    }
    json_t *object = json_object();
    put_count(object, "processes", training->processes);
    put_count(object, "steps", training->steps.count);
    put_count(object, "usual", training->steady);
    put_count(object, "warm_up", training->warm_up);
    put_count(object, "outliers", training->outliers);
    put_count(object, "cut", training->cut);
    put_count(object, "outside", training->outside);
    put_count(object, "total_ns", training->total_ns);
    put_count(object, "mean_ns", training->mean_ns);
    put_count(object, "p50_ns", training->p50_ns);
    put_count(object, "p95_ns", training->p95_ns);
    put_count(object, "max_ns", training->max_ns);
    json_t *phases = json_array();
    for (size_t i = 0; i < training->phases.count && training->steady > 0; i++) {
        const struct ss_step_phase *phase = &training->phases.data[i];
        json_t *row = json_object();
        json_object_set_new(row, "phase", text_of(ss_step_phase_text(model, phase)));
        json_object_set_new(row, "percent", json_real(phase->percent));
        put_count(row, "mean_ns", phase->mean_ns);
        json_array_append_new(phases, row);
    }
    json_object_set_new(object, "phases", phases);
    put_diagnosis(object, report);
    return object;
}

enum ss_status ss_report_json(const struct ss_report *report, const struct ss_report_style *style,
                              FILE *out, struct ss_error *err)
{
    (void)style;
    json_t *units = json_object();
    put_text(units, "samples", "sampling ticks");
    put_text(units, "percent", "of the table's shown_samples");
    put_text(units, "points", "percentage points, plus or minus, at 95 %");
    json_t *tables = json_array();
    for (size_t i = 0; i < report->table_count; i++) {
        json_array_append_new(tables, table_of(&report->tables[i]));
    }
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_integer(SCHEMA));
    put_text(root, "stepscope", SS_VERSION);
    json_object_set_new(root, "units", units);
    json_object_set_new(root, "header", header_of(report->trust));
    json_object_set_new(root, "training", training_of(report));
    json_object_set_new(root, "model_calls", calls_of(report->calls));
    json_object_set_new(root, "tables", tables);
    int failed = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    json_decref(root);
    fputc('\n', out);
    return failed ? ss_fail(err, SS_E_IO, "the JSON could not be written") : SS_OK;
}
