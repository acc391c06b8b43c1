/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a training: the headline, the bar, the series and what counts. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/operators/operators.h"
#include "analysis/report/report_parts.h"
#include "analysis/selection/program_facts.h"
#include "analysis/steps/step_passes.h"
#include "analysis/table/uncertainty.h"
#include "base/shared_names.h"

void ss_report_add_phase(const struct ss_model *model, const struct ss_step_phase *phase,
                         struct ss_sentence *out)
{
    ss_sentence_add_name(out, ss_step_phase_text(model, phase));
}

/* --- the headline ----------------------------------------------------------------------------- */

/* The heaviest phase that is not listed; the number of phases: none. */
static size_t heaviest_unlisted(const struct ss_step_summary *training, const bool *listed)
{
    size_t heaviest = training->phases.count;
    for (size_t p = 0; p < training->phases.count; p++) {
        if (!listed[p] &&
            (heaviest == training->phases.count ||
             training->phases.data[p].total_ns > training->phases.data[heaviest].total_ns)) {
            heaviest = p;
        }
    }
    return heaviest;
}

/* "41.0 % data, 33.2 % forward": heaviest first. */
static void add_shares(const struct ss_step_summary *training, const struct ss_model *model,
                       struct ss_sentence *out)
{
    bool listed[SS_STEP_MAX_PHASES] = {false};
    for (size_t i = 0; i < training->phases.count; i++) {
        size_t heaviest = heaviest_unlisted(training, listed);
        const struct ss_step_phase *phase = &training->phases.data[heaviest];
        if (phase->total_ns == 0) {
            return;
        }
        listed[heaviest] = true;
        ss_sentence_add(out, i > 0 ? ", " : "");
        ss_sentence_add_percent(out, phase->percent, 1);
        ss_sentence_add(out, " ");
        ss_report_add_phase(model, phase, out);
    }
}

/* What a step is, if neither an optimizer's update nor a mark of the program; else "". */
static const char *step_meaning(const struct ss_step_summary *training,
                                const struct ss_model *model)
{
    uint32_t process = training->steps.data[0].process;
    struct ss_strview how =
        ss_program_fact_text(model, ss_program_fact(model, process, ss_fact_torch_steps));
    return ss_strview_equal(how, ss_strview_of("backward passes"))  ? " (a backward pass)"
           : ss_strview_equal(how, ss_strview_of("forward passes")) ? " (a forward pass: inference)"
                                                                    : "";
}

static bool steps_by_lbfgs(const struct ss_model *model, uint32_t process)
{
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->process == process && ss_program_fact_is(model, note, ss_fact_torch_steps) &&
            ss_strview_equal(ss_program_fact_text(model, note), ss_strview_of("optimizer LBFGS"))) {
            return true;
        }
    }
    return false;
}

/* An optimizer that evaluates a closure runs the model many times in one update. */
static void add_closures(const struct ss_step_summary *training, const struct ss_model *model,
                         struct ss_sentence *out)
{
    if (!steps_by_lbfgs(model, training->steps.data[0].process)) {
        return;
    }
    uint64_t passes = ss_step_passes(training, model);
    if (passes > 1) {
        ss_sentence_add(out, " (LBFGS evaluates its closure ");
        ss_sentence_add_count(out, passes);
        ss_sentence_add(out, " times)");
    }
}

static void add_headline(const struct ss_step_summary *training, const struct ss_model *model,
                         bool host_time, struct ss_sentence *out)
{
    if (training->steady == 0) {
        ss_sentence_add_count(out, training->steps.count);
        ss_sentence_add(out, " step");
        ss_sentence_add_plural(out, training->steps.count);
        ss_sentence_add(out, " marked, none recorded from begin to end");
        return;
    }
    ss_sentence_add(out, "A step");
    ss_sentence_add(out, step_meaning(training, model));
    add_closures(training, model, out);
    ss_sentence_add(out, " takes ");
    ss_sentence_add_duration(out, training->p50_ns);
    if (training->mean_ns > training->p50_ns + training->p50_ns / 4) { /* shares are of the mean */
        ss_sentence_add(out, ", with the slow ones ");
        ss_sentence_add_duration(out, training->mean_ns);
        ss_sentence_add(out, " on average");
    }
    ss_sentence_add(out, host_time ? " (phases are host time: CUDA was used, and the times of its "
                                     "kernels were not recorded)"
                                   : "");
    if (training->phases.count > 1) {
        ss_sentence_add(out, ": ");
        add_shares(training, model, out);
    }
}

static void add_bar(const struct ss_step_summary *training, const struct ss_model *model,
                    struct ss_document *document)
{
    struct ss_block *block = ss_document_join(document, SS_BLOCK_BAR);
    for (size_t i = 0; i < training->phases.count; i++) {
        const struct ss_step_phase *phase = &training->phases.data[i];
        bool is_rest = i + 1 == training->phases.count;
        ss_vec_push(&block->bar,
                    (struct ss_bar_share){.name = ss_step_phase_text(model, phase),
                                          .percent = phase->percent,
                                          .role = is_rest ? -1 : (int)(i % SS_SHARE_ROLES)});
    }
}

/* --- the line --------------------------------------------------------------------------------- */

/* The line of a backward pass or an update is always its own call. */
static bool has_informative_line(const struct ss_model *model, const struct ss_step_phase *phase)
{
    struct ss_strview name = ss_step_phase_text(model, phase);
    return !ss_strview_equal(name, ss_strview_of(ss_phase_backward)) &&
           !ss_strview_equal(name, ss_strview_of(ss_phase_optimizer));
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

void ss_report_add_location(const struct ss_phase_line *line, const struct ss_model *model,
                            struct ss_sentence *out)
{
    const struct ss_model_frame *frame = &model->frames.data[line->frame];
    ss_sentence_add_name(out, ss_intern_get(&model->strings, frame->short_file));
    if (frame->line >= 0) {
        ss_sentence_add(out, ":");
        ss_sentence_add_number(out, frame->line);
    }
    ss_sentence_add(out, " ");
    ss_sentence_add_name(out, ss_intern_get(&model->strings, frame->function));
    if (line->leaf != 0) {
        ss_sentence_add(out, " → ");
        ss_sentence_add_name(
            out, ss_intern_get(&model->strings, model->frames.data[line->leaf].function));
    }
}

void ss_report_add_line_share(const struct ss_phase_line *line, struct ss_sentence *out)
{
    double error = ss_share_error_points(
        line->samples < line->records ? line->samples : line->records, line->records, line->all);
    ss_sentence_add_percent(out, 100 * (double)line->samples / (double)line->all, 0);
    if (line->records > 0) { /* else exact */
        ss_sentence_add(out, " ±");
        ss_sentence_add_decimal(out, ceil(error), 0);
    }
    ss_sentence_add(out, " of ");
}

/* "data: 94 % ±2 of its 311 samples is at dataset.py:31 __getitem__ → normal" */
static void add_phase_line(const struct ss_step_phase *phase, const struct ss_model *model,
                           struct ss_sentence *out)
{
    ss_report_add_phase(model, phase, out);
    ss_sentence_add(out, ": ");
    ss_report_add_line_share(&phase->line, out);
    ss_sentence_add(out, "its ");
    ss_sentence_add_count(out, phase->line.all);
    ss_sentence_add(out, " samples is at ");
    ss_report_add_location(&phase->line, model, out);
}

/* --- the counts ------------------------------------------------------------------------------- */

enum { MAX_NAMED = 3 };

static uint64_t duration_of(const struct ss_step *step)
{
    return step->end_ns - step->begin_ns;
}

/* "step 17, 310 ms: data +240 ms" */
static void add_step(const struct ss_step_summary *training, const struct ss_model *model,
                     size_t step, struct ss_sentence *out)
{
    uint64_t more_ns;
    size_t grown = ss_step_grown_phase(training, step, &more_ns);
    ss_sentence_add(out, "step ");
    ss_sentence_add_number(out, training->steps.data[step].number);
    ss_sentence_add(out, ", ");
    ss_sentence_add_duration(out, duration_of(&training->steps.data[step]));
    if (training->steps.data[step].kind != SS_STEP_CUT && training->phases.count > 1 &&
        grown < training->phases.count) {
        ss_sentence_add(out, ": ");
        ss_report_add_phase(model, &training->phases.data[grown], out);
        ss_sentence_add(out, " +");
        ss_sentence_add_duration(out, more_ns);
    }
}

/* "2 outliers (step 17, 310 ms: data +240 ms; step 93, 290 ms: other +220 ms)" */
static void add_kind(const struct ss_step_summary *training, const struct ss_model *model,
                     enum ss_step_kind kind, const char *noun, size_t count,
                     struct ss_sentence *out)
{
    if (count == 0) {
        return;
    }
    ss_sentence_add(out, ss_sentence_is_empty(out) ? "not counted: " : ", ");
    ss_sentence_add_count(out, count);
    ss_sentence_add(out, " ");
    ss_sentence_add(out, noun);
    ss_sentence_add(out, " (");
    size_t named = 0;
    for (size_t i = 0; i < training->steps.count && named < MAX_NAMED; i++) {
        if (training->steps.data[i].kind == kind) {
            ss_sentence_add(out, named++ > 0 ? "; " : "");
            add_step(training, model, i, out);
        }
    }
    ss_sentence_add(out, count > MAX_NAMED ? "; …)" : ")");
}

void ss_report_add_throughput(const struct ss_throughput *throughput, struct ss_sentence *out)
{
    double rate = throughput->samples_per_s;
    if (rate <= 0) {
        return;
    }
    ss_sentence_add(out, ", ");
    if (rate >= 100) {
        ss_sentence_add_count(out, (uint64_t)(rate + 0.5));
    } else {
        ss_sentence_add_figure(out, rate, 3);
    }
    ss_sentence_add(out, " samples/s (");
    if (throughput->processes > 1) {
        ss_sentence_add_count(out, throughput->processes);
        ss_sentence_add(out, " processes with ");
    }
    ss_sentence_add(out, "batches of ");
    if (throughput->batches > 1) {
        ss_sentence_add_number(out, (int64_t)throughput->batches);
        ss_sentence_add(out, " × ");
    }
    ss_sentence_add_number(out, throughput->batch_size);
    ss_sentence_add(out, ")");
}

/* Only with steady-state steps. */
static void add_counted(const struct ss_report_parts *parts, struct ss_sentence *out)
{
    const struct ss_step_summary *training = &parts->training;
    ss_sentence_add(out, "median of ");
    ss_sentence_add_count(out, training->steady);
    ss_sentence_add(out, " step");
    ss_sentence_add_plural(out, training->steady);
    if (training->processes > 1) {
        ss_sentence_add(out, " of ");
        ss_sentence_add_count(out, training->processes);
        ss_sentence_add(out, " processes");
    }
    ss_sentence_add(out, ", p95 ");
    ss_sentence_add_duration(out, training->p95_ns);
    if (training->mean_ns > training->p50_ns + training->p50_ns / 10) {
        ss_sentence_add(out, ", mean ");
        ss_sentence_add_duration(out, training->mean_ns);
    }
    if (parts->is_diagnosed) {
        ss_report_add_throughput(&parts->facts.throughput, out);
    }
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

static void add_not_counted(const struct ss_step_summary *training, const struct ss_model *model,
                            struct ss_sentence *out)
{
    add_kind(training, model, SS_STEP_WARM_UP, training->warm_up == 1 ? "warm-up" : "warm-up steps",
             training->warm_up, out);
    add_kind(training, model, SS_STEP_OUTLIER, training->outliers == 1 ? "outlier" : "outliers",
             training->outliers, out);
    add_kind(training, model, SS_STEP_PROFILED, "profiled", training->profiled, out);
    add_kind(training, model, SS_STEP_CUT, "not seen whole", training->cut, out);
    if (training->outside > 0) {
        ss_sentence_add(out, ss_sentence_is_empty(out) ? "not counted: " : ", ");
        ss_sentence_add_count(out, training->outside);
        ss_sentence_add(out, " outside the recorded windows");
    }
    if (training->profiler_ns > 0) {
        ss_sentence_add(out, ss_sentence_is_empty(out) ? "not counted: " : ", ");
        ss_sentence_add_duration(out, training->profiler_ns);
        ss_sentence_add(out, " of the program's own profiler");
    }
    if (!ss_sentence_is_empty(out) &&
        training->warm_up + training->outliers + training->profiled > 0 && training->steady > 0) {
        ss_sentence_add(out, "; ");
        ss_sentence_add_percent(out, percent_not_counted(training), 0);
        ss_sentence_add(out, " of all time");
    }
}

/* --- the series ------------------------------------------------------------------------------- */

/* The scale ends at twice the median, so that outliers do not flatten the other steps. */
static void add_series(const struct ss_step_summary *training, bool is_joined,
                       struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_SERIES);
    block->is_joined = is_joined;
    block->series.label = "step by step";
    block->series.unit = "ns";
    block->series.top = training->p50_ns > 0 ? 2 * (double)training->p50_ns : 1;
    for (size_t i = 0; i < training->steps.count; i++) {
        double ns = (double)duration_of(&training->steps.data[i]);
        ss_vec_push(&block->series.values, ns);
        if (training->p50_ns == 0 && ns > block->series.top) {
            block->series.top = ns;
        }
    }
}

/* Before the figures of the device, which leave these steps out. */
static void add_lost_kernels(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_step_summary *training = &parts->training;
    if (training->lacking_kernels == 0) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_FACT);
    ss_report_add_lost_kernels(&parts->trust, out);
    ss_sentence_add(out, ": what the device did in ");
    ss_sentence_add_count(out, training->lacking_kernels);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, training->steps.count);
    ss_sentence_add(out, " steps is unknown");
}

/* --- blocks ----------------------------------------------------------------------------------- */

void ss_report_add_training(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_step_summary *training = &parts->training;
    const struct ss_model *model = parts->selection->model;
    struct ss_block *block = ss_document_add(document, SS_BLOCK_HEADLINE);
    block->headline = ss_sentence_of(&document->arena);
    add_headline(training, model, parts->is_diagnosed && parts->diagnosis.host_time,
                 &block->headline);
    if (training->steady > 0 && training->phases.count > 1) {
        add_bar(training, model, document);
    }
    add_lost_kernels(parts, document);
    if (parts->is_diagnosed && parts->facts.device.has_steps) {
        ss_report_add_device(parts, document);
    }
    if (parts->is_diagnosed && training->steady > 0) {
        ss_report_add_serving(parts, document);
    }
    const struct ss_step_phase *heaviest = heaviest_phase(training, model);
    bool has_findings = parts->is_diagnosed && parts->diagnosis.findings.count > 0;
    if (training->steady > 0 && heaviest != NULL && !has_findings) {
        add_phase_line(heaviest, model, ss_document_add_note(document, SS_NOTE_FACT));
    }
    if (parts->is_diagnosed) {
        ss_report_add_findings(parts, document);
    }
    add_series(training, !parts->is_diagnosed, document);
    if (training->steady > 0) {
        add_counted(parts, ss_document_add_note(document, SS_NOTE_ASIDE));
    }
    struct ss_sentence not_counted = ss_sentence_of(&document->arena);
    add_not_counted(training, model, &not_counted);
    if (!ss_sentence_is_empty(&not_counted)) {
        *ss_document_add_note(document, SS_NOTE_ASIDE) = not_counted;
    }
}

/* "No training: the model was called 80 times after its first call, once every 7.35 ms, 1,089
 * samples/s (batches of 8)"
 */
static void add_calls(const struct ss_model_calls *calls, struct ss_sentence *out)
{
    ss_sentence_add(out, "No training: the model was called ");
    ss_sentence_add_count(out, calls->calls);
    ss_sentence_add(out, " times after its first call, once every ");
    ss_sentence_add_duration(out, calls->each_ns);
    ss_report_add_throughput(&calls->throughput, out);
    ss_sentence_add(out, "; a call takes ");
    ss_sentence_add_duration(out, calls->call_ns);
}

static bool has_only_imports(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].kind != SS_INPUT_IMPORT) {
            return false;
        }
    }
    return true;
}

static bool has_names_of(const struct ss_model *model, enum ss_event_type type)
{
    for (size_t i = 0; i < model->names.count; i++) {
        if (model->names.data[i].type == type) {
            return true;
        }
    }
    return false;
}

/* What a program did is not known from what another tool left out. */
static void add_no_steps_of_import(const struct ss_model *model, struct ss_sentence *out)
{
    if (!has_names_of(model, SS_EVENT_TYPE_operator) &&
        !has_names_of(model, SS_EVENT_TYPE_kernel) && !has_names_of(model, SS_EVENT_TYPE_copy)) {
        ss_sentence_add(out, "The file has no operators and no kernels: its profiler recorded "
                             "neither the CPU's activities nor the device's.");
        return;
    }
    ss_sentence_add(out,
                    "The file has no steps: torch.profiler writes them where the program calls "
                    "the profiler's step() after each batch.");
}

/* Whether PyTorch would have been recorded. */
static bool observes_torch(const struct ss_model *model)
{
    for (size_t i = 0; i < model->sources.count; i++) {
        const struct ss_model_source *source = &model->sources.data[i];
        if (strcmp(ss_model_text(model, source->name), "torch") == 0) {
            return source->status == SS_SOURCE_RAN;
        }
    }
    return false;
}

/* Users of other programs may expect steps, too. */
static void add_without_torch(const struct ss_report_parts *parts, struct ss_document *document)
{
    if (parts->trust.why_no_marks == NULL && parts->selection->recorded > 0 &&
        observes_torch(parts->selection->model)) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "No steps: the program did not use PyTorch. stepscope.step() after each "
                        "iteration marks the steps of any loop");
    }
}

void ss_report_add_no_training(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_model *model = parts->selection->model;
    const char *why = parts->trust.why_no_marks;
    if (model->filtered_samples > 0) {
        return;
    }
    if (!ss_model_has_domain(model, ss_domain_torch)) {
        add_without_torch(parts, document);
        return;
    }
    struct ss_block *block = ss_document_add(document, SS_BLOCK_HEADLINE);
    struct ss_sentence *out = &block->headline;
    *out = ss_sentence_of(&document->arena);
    if (parts->calls.calls > 0) {
        add_calls(&parts->calls, out);
    } else if (why != NULL) {
        ss_sentence_add(out, "No steps were found, and not all was recorded: ");
        ss_sentence_add_name(out, ss_strview_of(why));
    } else if (has_only_imports(model)) {
        add_no_steps_of_import(model, out);
    } else { /* users expect steps in a program that uses PyTorch */
        ss_sentence_add(out, "No steps were found: PyTorch ran, but none of its optimizers updated "
                             "a model. A loop of your own marks its steps with stepscope.step().");
    }
}
