/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a report for programs: the header, and a program without training. */
#include "analysis/report/report_parts.h"

static void put_counts(const struct ss_trust_input *input, struct ss_figure *parent)
{
    if (!input->has_counts) {
        ss_figure_put_null(parent, "counts");
        return;
    }
    struct ss_figure *counts = ss_figure_put_object(parent, "counts");
    ss_figure_put_count(counts, "ticks_due", input->due);
    ss_figure_put_count(counts, "ticks_done", input->done);
    ss_figure_put_count(counts, "ticks_skipped", input->skipped);
    ss_figure_put_count(counts, "ticks_late", input->late);
    ss_figure_put_count(counts, "stacks_seen", input->seen);
    ss_figure_put_count(counts, "stacks_partial", input->partial);
    ss_figure_put_count(counts, "stacks_lost", input->lost);
    ss_figure_put_count(counts, "stacks_dropped", input->dropped);
    ss_figure_put_count(counts, "processes_too_short", input->processes_short);
    ss_figure_put_count(counts, "events", input->events);
    ss_figure_put_count(counts, "events_dropped", input->events_dropped);
    if (input->has_device_counts) {
        static const char *const keys[SS_TRUST_DEVICE_COUNTS] = {
            [SS_TRUST_KERNELS] = "kernels",
            [SS_TRUST_DROPPED_RECORDS] = "device_records_dropped",
            [SS_TRUST_REFUSED_BUFFERS] = "device_buffers_refused",
            [SS_TRUST_UNTIMED_KERNELS] = "device_works_without_times",
            [SS_TRUST_UNRECORDED_KERNELS] = "launches_without_kernel",
            [SS_TRUST_LOST_RECORDS] = "device_records_lost",
            [SS_TRUST_EARLY_WORKS] = "works_before_launch"};
        for (int count = 0; count < SS_TRUST_DEVICE_COUNTS; count++) {
            ss_figure_put_count(counts, keys[count], input->device_counts[count]);
        }
    }
    ss_figure_put_count(counts, "repaired_places", input->repaired_places);
    ss_figure_put_count(counts, "repaired_bytes", input->repaired_bytes);
}

static void put_overhead(const struct ss_overhead *overhead, struct ss_figure *parent)
{
    struct ss_figure *object = ss_figure_put_object(parent, "overhead");
    ss_figure_put_known(object, "recorder_cpu_s", (double)overhead->recorder_cpu_ns / 1e9);
    ss_figure_put_known(object, "recorder_percent", 100 * ss_overhead_recorder_share(overhead));
    ss_figure_put_count(object, "recorder_peak_bytes", overhead->recorder_bytes);
    ss_figure_put_count(object, "operators", overhead->operators);
    ss_figure_put_count(object, "operator_ns", overhead->operator_ns);
    ss_figure_put_known(object, "operators_percent", 100 * ss_overhead_operators_share(overhead));
    ss_figure_put_count(object, "hooks_ns_per_step", overhead->hooks_ns);
    ss_figure_put_known(object, "hooks_percent", 100 * ss_overhead_hooks_share(overhead));
}

/* Where the times of an input lie on the time axis of all inputs. The error is unknown where no
 * reading of the clocks bounds it. */
static void put_clock(const struct ss_model_clock_domain *clock, struct ss_figure *parent)
{
    static const char *const mappings[] = {[SS_CLOCK_UNMAPPED] = "none",
                                           [SS_CLOCK_IS_AXIS] = "axis",
                                           [SS_CLOCK_BY_SHARED_WALL] = "shared wall clock",
                                           [SS_CLOCK_BY_WALL] = "wall clock",
                                           [SS_CLOCK_FITTED] = "fitted"};
    struct ss_figure *object = ss_figure_put_object(parent, "clock");
    ss_figure_put_text(object, "mapping", mappings[clock->mapping]);
    ss_figure_put_integer(object, "shift_ns", clock->shift_ns);
    if (clock->mapping != SS_CLOCK_UNMAPPED && clock->mapping != SS_CLOCK_BY_WALL) {
        ss_figure_put_count(object, "error_ns", clock->error_ns);
    } else {
        ss_figure_put_null(object, "error_ns");
    }
}

static void put_lines(const struct ss_trust_input *input, struct ss_figure *object)
{
    if (input->kind == SS_INPUT_RAW) {
        ss_figure_put_count(object, "lines", input->lines);
        ss_figure_put_count(object, "skipped_lines", input->skipped_lines);
    } else {
        ss_figure_put_null(object, "lines");
        ss_figure_put_null(object, "skipped_lines");
    }
}

static void put_input(const struct ss_trust_input *input, struct ss_figure *inputs)
{
    struct ss_figure *object = ss_figure_put_object(inputs, NULL);
    ss_figure_put_text(object, "path", input->path);
    static const char *const kinds[] = {
        [SS_INPUT_TRACE] = "trace", [SS_INPUT_RAW] = "raw", [SS_INPUT_IMPORT] = "import"};
    ss_figure_put_text(object, "kind", kinds[input->kind]);
    if (input->kind == SS_INPUT_IMPORT) {
        ss_figure_put_text(object, "tool", input->tool);
        ss_figure_put_count(object, "events", input->events);
        ss_figure_put_count(object, "skipped_events", input->skipped_events);
    }
    ss_figure_put_text(object, "command", input->command);
    ss_figure_put_text(object, "hostname", input->hostname);
    ss_figure_put_text(object, "runtime", input->runtime);
    ss_figure_put_text(object, "torch_route", input->torch_route);
    if (input->start_unix_ns != 0) {
        ss_figure_put_integer(object, "start_unix_ns", input->start_unix_ns);
    } else {
        ss_figure_put_null(object, "start_unix_ns");
    }
    ss_figure_put_known(object, "duration_s", input->duration_s);
    ss_figure_put_known(object, "asked_hz", input->requested_hz);
    ss_figure_put_known(object, "achieved_hz", input->achieved_hz);
    ss_figure_put_count(object, "processes", input->processes);
    ss_figure_put_count(object, "threads", input->threads);
    ss_figure_put_count(object, "samples", input->samples);
    put_lines(input, object);
    put_clock(&input->clock, object);
    put_counts(input, object);
    put_overhead(&input->overhead, object);
}

static void put_samples(const struct ss_selection *selection, struct ss_figure *header)
{
    struct ss_figure *samples = ss_figure_put_object(header, "samples");
    ss_figure_put_count(samples, "recorded", selection->recorded);
    ss_figure_put_count(samples, "shown", selection->shown);
    ss_figure_put_count(samples, "idle", selection->idle);
    ss_figure_put_count(samples, "no_gil", selection->no_gil);
    ss_figure_put_count(samples, "filtered", selection->filtered);
    ss_figure_put_count(samples, "frameless", selection->frameless);
}

static void put_warnings(const struct ss_trust *trust, struct ss_figure *header)
{
    struct ss_figure *warnings = ss_figure_put_list(header, "warnings");
    for (size_t i = 0; i < trust->warnings.count; i++) {
        const struct ss_trust_warning *warning = &trust->warnings.data[i];
        struct ss_figure *object = ss_figure_put_object(warnings, NULL);
        ss_figure_put_text(object, "tool", warning->tool);
        ss_figure_put_text(object, "severity", warning->is_error ? "error" : "warning");
        ss_figure_put_text(object, "text", warning->text);
        ss_figure_put_count(object, "count", warning->count);
    }
    ss_figure_put_count(header, "more_warnings", trust->more_warnings);
}

static void put_detail(const struct ss_trust *trust, struct ss_figure *header)
{
    if (trust->summed_steps > 0) {
        struct ss_figure *object = ss_figure_put_object(header, "detail");
        ss_figure_put_count(object, "steps", trust->steps);
        ss_figure_put_count(object, "steps_summed", trust->summed_steps);
        ss_figure_put_count(object, "steps_that_stood_out", trust->outstanding_steps);
    }
}

static void put_lost_kernels(const struct ss_trust *trust, struct ss_figure *header)
{
    struct ss_figure *object = ss_figure_put_object(header, "launches");
    ss_figure_put_count(object, "count", trust->launches);
    ss_figure_put_count(object, "without_kernel", trust->lost_kernels);
    ss_figure_put_count(object, "without_kernel_at_end", trust->lost_at_end);
}

void ss_report_put_header(const struct ss_trust *trust, struct ss_figure *figures)
{
    struct ss_figure *header = ss_figure_put_object(figures, "header");
    struct ss_figure *inputs = ss_figure_put_list(header, "inputs");
    for (size_t i = 0; i < trust->inputs.count; i++) {
        put_input(&trust->inputs.data[i], inputs);
    }
    put_samples(trust->selection, header);
    ss_figure_put_count(header, "skipped_files", trust->skipped_files);
    struct ss_figure *left_out = ss_figure_put_list(header, "left_out");
    for (size_t i = 0; i < trust->left_out.count; i++) {
        struct ss_figure *absence = ss_figure_put_object(left_out, NULL);
        ss_figure_put_text(absence, "source", trust->left_out.data[i].source);
        ss_figure_put_text(absence, "reason", trust->left_out.data[i].reason);
    }
    put_lost_kernels(trust, header);
    put_detail(trust, header);
    put_warnings(trust, header);
    struct ss_figure *problems = ss_figure_put_list(header, "problems");
    for (size_t i = 0; i < trust->problems.count; i++) {
        ss_trust_problem_add(&trust->problems.data[i], ss_figure_put_sentence(problems, NULL));
    }
}

void ss_report_put_throughput(const struct ss_throughput *throughput, struct ss_figure *object)
{
    if (throughput->samples_per_s > 0) {
        ss_figure_put_real(object, "samples_per_second", throughput->samples_per_s);
        ss_figure_put_integer(object, "batch_size", throughput->batch_size);
    } else {
        ss_figure_put_null(object, "samples_per_second");
        ss_figure_put_null(object, "batch_size");
    }
}

void ss_report_put_calls(const struct ss_model_calls *calls, struct ss_figure *figures)
{
    if (calls->calls == 0) {
        ss_figure_put_null(figures, "model_calls");
        return;
    }
    struct ss_figure *object = ss_figure_put_object(figures, "model_calls");
    ss_figure_put_count(object, "calls", calls->calls);
    ss_figure_put_count(object, "call_ns", calls->call_ns);
    ss_figure_put_count(object, "each_ns", calls->each_ns);
    ss_report_put_throughput(&calls->throughput, object);
}
