/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a training for programs: its steps, findings, memory and operations. */
#include <math.h>

#include "analysis/report/report_parts.h"
#include "analysis/table/rule_limits.h"

enum { MAX_RULE_TEXT_BYTES = 4096 };

/* --- findings --------------------------------------------------------------------------------- */

/* path, line and function of a frame. */
static void put_frame(const struct ss_model *model, uint32_t id, struct ss_figure *object)
{
    const struct ss_model_frame *frame = &model->frames.data[id];
    ss_figure_put_name(object, "path", ss_intern_get(&model->strings, frame->short_file));
    if (frame->line >= 0) {
        ss_figure_put_integer(object, "line", frame->line);
    } else {
        ss_figure_put_null(object, "line");
    }
    ss_figure_put_name(object, "function", ss_intern_get(&model->strings, frame->function));
}

static void put_line(const struct ss_phase_line *line, const char *of, const struct ss_model *model,
                     struct ss_figure *parent)
{
    if (line == NULL || line->frame == 0) {
        ss_figure_put_null(parent, "line");
        return;
    }
    struct ss_figure *object = ss_figure_put_object(parent, "line");
    ss_figure_put_text(object, "of", of);
    ss_figure_put_real(object, "percent", 100 * (double)line->samples / (double)line->all);
    ss_figure_put_count(object, "samples", line->all);
    put_frame(model, line->frame, object);
    if (line->leaf != 0) {
        uint32_t function = model->frames.data[line->leaf].function;
        ss_figure_put_name(object, "calls", ss_intern_get(&model->strings, function));
    } else {
        ss_figure_put_null(object, "calls");
    }
}

/* null: no wait for the GIL, or no holder was observed. */
static void put_holder(const struct ss_gil_holder *holder, const struct ss_model *model,
                       struct ss_figure *parent)
{
    if (holder == NULL) {
        ss_figure_put_null(parent, "gil_holder");
        return;
    }
    const struct ss_model_thread *thread = &model->threads.data[holder->thread];
    struct ss_figure *object = ss_figure_put_object(parent, "gil_holder");
    ss_figure_put_name(object, "thread", ss_intern_get(&model->strings, thread->name));
    ss_figure_put_integer(object, "tid", thread->tid);
    ss_figure_put_boolean(object, "meanwhile", !holder->is_likely);
    put_line(&holder->line, "the time it has the GIL", model, object);
}

/* null: no wait for a lock, or no holder was observed. */
static void put_lock_holder(const struct ss_lock_holder *holder, const struct ss_model *model,
                            struct ss_figure *parent)
{
    if (holder == NULL) {
        ss_figure_put_null(parent, "lock_holder");
        return;
    }
    const struct ss_model_thread *thread = &model->threads.data[holder->thread];
    struct ss_figure *object = ss_figure_put_object(parent, "lock_holder");
    ss_figure_put_text(object, "lock", holder->lock);
    ss_figure_put_name(object, "thread", ss_intern_get(&model->strings, thread->name));
    ss_figure_put_integer(object, "tid", thread->tid);
    put_line(&holder->line, "the time it has the lock", model, object);
}

/* The line of the loop that calls a hot line; null: none. */
static void put_caller(const struct ss_finding *finding, const struct ss_model *model,
                       struct ss_figure *parent)
{
    if (finding->hot_line == NULL || finding->hot_line->caller == 0) {
        ss_figure_put_null(parent, "called_from");
    } else {
        put_frame(model, finding->hot_line->caller, ss_figure_put_object(parent, "called_from"));
    }
}

/* null: no phase. */
static void put_phase(const struct ss_model *model, const char *key,
                      const struct ss_step_phase *phase, struct ss_figure *parent)
{
    if (phase != NULL) {
        ss_figure_put_name(parent, key, ss_step_phase_text(model, phase));
    } else {
        ss_figure_put_null(parent, key);
    }
}

static void put_evidence(const struct ss_finding *finding, struct ss_figure *parent)
{
    static const char *const units[] = {[SS_EVIDENCE_COUNT] = "count",
                                        [SS_EVIDENCE_NUMBER] = "number",
                                        [SS_EVIDENCE_NS] = "ns",
                                        [SS_EVIDENCE_BYTES] = "bytes",
                                        [SS_EVIDENCE_PERCENT] = "percent"};
    struct ss_figure *list = ss_figure_put_list(parent, "evidence");
    for (size_t i = 0; i < finding->evidence_count; i++) {
        struct ss_figure *row = ss_figure_put_object(list, NULL);
        ss_figure_put_text(row, "what", finding->evidence[i].what);
        ss_figure_put_real(row, "value", finding->evidence[i].value);
        ss_figure_put_text(row, "unit", units[finding->evidence[i].unit]);
    }
}

/* A text of a rule, with the values of its limits. */
static void put_rule_text(const char *key, const char *text, struct ss_figure *parent)
{
    struct ss_strbuf whole;
    ss_strbuf_init(&whole, MAX_RULE_TEXT_BYTES);
    ss_rule_text_append(text, &whole);
    ss_figure_put_text(parent, key, whole.data);
    ss_strbuf_fini(&whole);
}

/* Absent: none is known. */
static void put_exposed(const struct ss_exposed_collective *exposed, const struct ss_model *model,
                        struct ss_figure *finding)
{
    if (exposed != NULL) {
        struct ss_figure *object = ss_figure_put_object(finding, "longest_collective");
        ss_exposed_collective_add(model, exposed, ss_figure_put_sentence(object, "what"));
        ss_figure_put_count(object, "exposed_ns", exposed->ns);
        ss_figure_put_count(object, "of_ns", exposed->all_ns);
        ss_figure_put_count(object, "collectives", exposed->count);
    }
}

static void put_finding(const struct ss_finding *finding, const struct ss_model *model,
                        struct ss_figure *findings)
{
    bool has_activity = finding->activity != SS_ACTIVITY_NOTHING;
    struct ss_figure *object = ss_figure_put_object(findings, NULL);
    ss_figure_put_text(object, "rule", finding->rule->id);
    ss_figure_put_text(object, "headline", finding->headline);
    ss_report_add_finding(finding, model, ss_figure_put_sentence(object, "summary"));
    ss_figure_put_real(object, "percent", finding->percent);
    ss_figure_put_count(object, "of_ns", finding->of_ns);
    ss_figure_put_count(object, "cost_ns", finding->cost_ns);
    ss_figure_put_count(object, "expected_ns", finding->expected_ns);
    ss_figure_put_count(object, "recoverable_ns", finding->recoverable_ns);
    put_rule_text("estimate", finding->rule->estimate, object);
    ss_figure_put_text(object, "fix", finding->fix != NULL ? finding->fix : "");
    put_phase(model, "phase", finding->phase, object);
    ss_figure_put_text(object, "activity", has_activity ? ss_activity_text(finding->activity) : "");
    put_evidence(finding, object);
    put_phase(model, "growing_phase", finding->grows_in, object);
    put_line(finding->line, finding->line_of, model, object);
    put_caller(finding, model, object);
    put_holder(finding->holder, model, object);
    put_lock_holder(finding->lock_holder, model, object);
    put_exposed(finding->exposed, model, object);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void put_memory_phases(const struct ss_memory *memory, const struct ss_training_facts *facts,
                              struct ss_figure *parent)
{
    struct ss_figure *rows = ss_figure_put_list(parent, "phases");
    for (size_t i = 0; i < facts->steps->phases.count; i++) {
        const struct ss_memory_phase *phase = &memory->phases[i];
        if (phase->steps > 0) {
            struct ss_figure *row = ss_figure_put_object(rows, NULL);
            put_phase(facts->model, "phase", &facts->steps->phases.data[i], row);
            ss_figure_put_count(row, "steps", phase->steps);
            ss_figure_put_real(row, "end_mean_bytes", phase->end_mean);
            ss_figure_put_real(row, "end_max_bytes", phase->end_max);
            ss_figure_put_real(row, "change_mean_bytes", phase->change_mean);
            ss_figure_put_real(row, "change_max_bytes", phase->change_max);
            ss_figure_put_real(row, "peak_mean_bytes", phase->peak_mean);
            ss_figure_put_real(row, "peak_max_bytes", phase->peak_max);
        }
    }
}

/* NULL: no single phase. */
static const struct ss_step_phase *phase_at(const struct ss_training_facts *facts, size_t phase)
{
    return phase < facts->steps->phases.count ? &facts->steps->phases.data[phase] : NULL;
}

static void put_memory(const struct ss_memory *memory, const struct ss_training_facts *facts,
                       struct ss_figure *rows)
{
    struct ss_figure *row = ss_figure_put_object(rows, NULL);
    const struct ss_step_phase *peak_phase = phase_at(facts, memory->peak_phase);
    ss_figure_put_text(row, "memory", ss_model_text(facts->model, memory->name));
    ss_figure_put_integer(row, "pid", facts->model->processes.data[memory->process].pid);
    ss_figure_put_real(row, "first_bytes", memory->first);
    ss_figure_put_real(row, "last_bytes", memory->last);
    ss_figure_put_real(row, "peak_bytes", memory->peak);
    put_phase(facts->model, "peak_phase", peak_phase, row);
    if (peak_phase != NULL) {
        ss_figure_put_integer(row, "peak_step", memory->peak_step);
    } else {
        ss_figure_put_null(row, "peak_step");
    }
    ss_figure_put_real(row, "limit_bytes", memory->limit > 0 ? memory->limit : (double)NAN);
    ss_figure_put_text(row, "limit_of", memory->limit > 0 ? memory->limit_of : "");
    ss_figure_put_real(row, "bytes_per_step", memory->bytes_per_step);
    ss_figure_put_boolean(row, "grows", memory->grows);
    put_phase(facts->model, "growing_phase", phase_at(facts, memory->growing_phase), row);
    ss_figure_put_count(row, "steps", memory->steps);
    ss_figure_put_count(row, "steps_read", memory->steps_read);
    put_memory_phases(memory, facts, row);
}

/* --- the training ----------------------------------------------------------------------------- */

/* null: floating-point operations were not counted. */
/* Estimated from shapes; null where the program counted FLOPs itself, or shapes are unknown. */
static void put_roofline(const struct ss_roofline_steps *steps, struct ss_figure *training)
{
    if (steps->steps == 0) {
        ss_figure_put_null(training, "estimated_flops");
        return;
    }
    struct ss_figure *object = ss_figure_put_object(training, "estimated_flops");
    ss_figure_put_real(object, "per_step", steps->flops / (double)steps->steps);
    ss_figure_put_real(object, "again_per_step", steps->again_flops / (double)steps->steps);
    ss_figure_put_count(object, "steps", steps->steps);
    ss_figure_put_real(object, "rate_flops_per_s", ss_roofline_rate(steps));
    ss_figure_put_text(object, "datatype", ss_datatype_name(steps->type));
    ss_figure_put_text(object, "backward",
                       steps->is_forward_only ? "none"
                       : steps->is_assumed    ? "assumed"
                                              : "from its own shapes");
    ss_figure_put_known(object, "mfu_percent", ss_roofline_mfu(steps));
    ss_figure_put_text(object, "peak_of", steps->peaks != NULL ? steps->peaks->name : "");
    ss_figure_put_real(object, "unknown_percent", steps->unknown_percent);
}

static void put_flops(const struct ss_flops_figures *figures, struct ss_figure *training)
{
    if (figures->steps == 0) {
        ss_figure_put_null(training, "flops");
        return;
    }
    double rate = ss_flops_rate(figures), peak = figures->peak.flops_per_s;
    struct ss_figure *object = ss_figure_put_object(training, "flops");
    ss_figure_put_known(object, "per_step", figures->flops);
    ss_figure_put_count(object, "counted_steps", figures->steps);
    ss_figure_put_known(object, "per_s", rate);
    ss_figure_put_known(object, "peak_per_s", peak);
    ss_figure_put_known(object, "peak_percent", peak > 0 ? 100 * rate / peak : 0);
    ss_figure_put_text(object, "peak_of", figures->peak.of);
}

/* Only the overview has a diagnosis. */
static void put_diagnosis(const struct ss_report_parts *parts, struct ss_figure *training)
{
    const struct ss_diagnosis *diagnosis = &parts->diagnosis;
    const struct ss_training_facts *facts = &parts->facts;
    ss_figure_put_boolean(training, "judged", diagnosis->judged);
    ss_figure_put_boolean(training, "uncertain", diagnosis->is_uncertain);
    ss_figure_put_boolean(training, "host_time", diagnosis->host_time);
    struct ss_figure *findings = ss_figure_put_list(training, "advice");
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        put_finding(&diagnosis->findings.data[i], parts->selection->model, findings);
    }
    struct ss_figure *memories = ss_figure_put_list(training, "memory");
    for (size_t i = 0; i < facts->memories.rows.count; i++) {
        put_memory(&facts->memories.rows.data[i], facts, memories);
    }
    put_flops(&facts->flops, training);
    put_roofline(&facts->roofline, training);
    ss_report_put_device(&facts->device, training);
    ss_report_put_throughput(&facts->throughput, training);
    ss_report_put_serving(parts, training);
}

static void put_phases(const struct ss_step_summary *steps, const struct ss_model *model,
                       struct ss_figure *training)
{
    struct ss_figure *phases = ss_figure_put_list(training, "phases");
    for (size_t i = 0; i < steps->phases.count && steps->steady > 0; i++) {
        const struct ss_step_phase *phase = &steps->phases.data[i];
        struct ss_figure *row = ss_figure_put_object(phases, NULL);
        put_phase(model, "phase", phase, row);
        ss_figure_put_real(row, "percent", phase->percent);
        ss_figure_put_count(row, "mean_ns", phase->mean_ns);
    }
}

void ss_report_put_training(const struct ss_report_parts *parts, struct ss_figure *figures)
{
    const struct ss_step_summary *steps = &parts->training;
    if (!parts->trains) {
        ss_figure_put_null(figures, "training");
        return;
    }
    struct ss_figure *object = ss_figure_put_object(figures, "training");
    ss_figure_put_count(object, "processes", steps->processes);
    ss_figure_put_count(object, "steps", steps->steps.count);
    ss_figure_put_count(object, "steady", steps->steady);
    ss_figure_put_count(object, "warm_up", steps->warm_up);
    ss_figure_put_count(object, "outliers", steps->outliers);
    ss_figure_put_count(object, "profiled", steps->profiled);
    ss_figure_put_count(object, "cut", steps->cut);
    ss_figure_put_count(object, "outside", steps->outside);
    ss_figure_put_count(object, "without_kernels", steps->lacking_kernels);
    ss_figure_put_count(object, "total_ns", steps->total_ns);
    ss_figure_put_count(object, "mean_ns", steps->mean_ns);
    ss_figure_put_count(object, "p50_ns", steps->p50_ns);
    ss_figure_put_count(object, "p95_ns", steps->p95_ns);
    ss_figure_put_count(object, "max_ns", steps->max_ns);
    ss_figure_put_count(object, "profiler_ns", steps->profiler_ns);
    put_phases(steps, parts->selection->model, object);
    if (parts->is_diagnosed) {
        put_diagnosis(parts, object);
    }
}
