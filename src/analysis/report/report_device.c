/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices did in the steps of a training. */
#include "analysis/report/report_parts.h"

/* A share below this is left out of the sentence, but not of the bar. */
static const double least_percent = 0.05;

static const char *const class_names[SS_WORK_CLASSES] = {[SS_WORK_COMPUTE] = "compute",
                                                         [SS_WORK_COMMUNICATION] =
                                                             "exposed communication",
                                                         [SS_WORK_COPY] = "exposed copies"};

static const char *const cause_texts[SS_GAP_CAUSES] = {
    [SS_GAP_INPUT] = "input",           [SS_GAP_WAIT] = "after waits of the host",
    [SS_GAP_HOST] = "late launches",    [SS_GAP_DEPENDENCY] = "other streams",
    [SS_GAP_GRAPH] = "within graphs",   [SS_GAP_LATENCY] = "launch latency",
    [SS_GAP_UNKNOWN] = "unknown causes"};

/* "52.2 % idle (late launches 31.0 %, input 12.1 %)" */
static void add_idle(const struct ss_device_summary *summary, struct ss_sentence *out)
{
    bool is_first = true;
    for (size_t i = 0; i < SS_GAP_CAUSES; i++) {
        double percent = ss_device_percent(summary, summary->mean.gap_ns[i]);
        if (percent < least_percent) {
            continue;
        }
        ss_sentence_add(out, is_first ? " (" : ", ");
        ss_sentence_add(out, cause_texts[i]);
        ss_sentence_add(out, " ");
        ss_sentence_add_percent(out, percent, 1);
        is_first = false;
    }
    ss_sentence_add(out, is_first ? "" : ")");
}

static void add_sentence(const struct ss_device_summary *summary, struct ss_sentence *out)
{
    ss_sentence_add(out, "device: ");
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        double percent = ss_device_percent(summary, summary->mean.times.class_ns[i]);
        if (percent >= least_percent) {
            ss_sentence_add_percent(out, percent, 1);
            ss_sentence_add(out, " ");
            ss_sentence_add(out, class_names[i]);
            ss_sentence_add(out, ", ");
        }
    }
    ss_sentence_add_percent(out, ss_device_percent(summary, summary->mean.times.idle_ns), 1);
    ss_sentence_add(out, " idle");
    add_idle(summary, out);
}

/* Work that runs after the step that launched it belongs to the step in which it runs. */
static void add_late_work(const struct ss_device_summary *summary, struct ss_document *document)
{
    const struct ss_device_mean *mean = &summary->mean;
    if (mean->launched_ns == 0 || 10 * mean->late_ns < mean->launched_ns) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add(out, "the host runs ahead: ");
    ss_sentence_add_percent(out, 100 * (double)mean->late_ns / (double)mean->launched_ns, 0);
    ss_sentence_add(out,
                    " of the work that a step launches runs after it; it counts for the step in "
                    "which it runs");
}

/* Below, compilation is not a cost to speak of. */
static const uint64_t least_compilation_ns = UINT64_C(100000000);

/* Most programs do it before their first step: a cost of their start, which the cache of the driver
 * saves next time. */
static void add_compilations(const struct ss_compilations *of, struct ss_document *document)
{
    if (of->ns < least_compilation_ns) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_FACT);
    ss_sentence_add(out, "the driver compiled ");
    ss_sentence_add_count(out, of->count);
    ss_sentence_add(out, " module");
    ss_sentence_add_plural(out, of->count);
    ss_sentence_add(out, " for ");
    ss_sentence_add_duration(out, of->ns);
    if (of->in_steps_ns > 0) {
        ss_sentence_add(out, ", of which ");
        ss_sentence_add_duration(out, of->in_steps_ns);
        ss_sentence_add(out, " within steps");
    }
    ss_sentence_add(out, ", and had ");
    ss_sentence_add_count(out, of->loads);
    ss_sentence_add(out,
                    " from its cache (CUDA_CACHE_PATH): builds for this GPU need no compilation");
}

void ss_report_add_device(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_device_summary *summary = parts->facts.device.summary;
    add_sentence(summary, ss_document_add_note(document, SS_NOTE_FACT));
    struct ss_block *block = ss_document_join(document, SS_BLOCK_BAR);
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        ss_vec_push(&block->bar,
                    (struct ss_bar_share){
                        .name = ss_strview_of(class_names[i]),
                        .percent = ss_device_percent(summary, summary->mean.times.class_ns[i]),
                        .role = (int)i});
    }
    ss_vec_push(&block->bar, (struct ss_bar_share){
                                 .name = ss_strview_of("idle"),
                                 .percent = ss_device_percent(summary, summary->mean.times.idle_ns),
                                 .role = -1});
    add_late_work(summary, document);
    add_compilations(&parts->facts.device.compilations, document);
}

void ss_report_put_device(const struct ss_device_facts *device, struct ss_figure *training)
{
    static const char *const keys[SS_GAP_CAUSES] = {
        [SS_GAP_INPUT] = "input_ns",    [SS_GAP_WAIT] = "wait_ns",
        [SS_GAP_HOST] = "host_ns",      [SS_GAP_DEPENDENCY] = "dependency_ns",
        [SS_GAP_GRAPH] = "graph_ns",    [SS_GAP_LATENCY] = "latency_ns",
        [SS_GAP_UNKNOWN] = "unknown_ns"};
    const struct ss_device_summary *summary = device->summary;
    const struct ss_device_mean *mean = &summary->mean;
    if (!device->has_steps) {
        return;
    }
    struct ss_figure *object = ss_figure_put_object(training, "device");
    ss_figure_put_count(object, "steps", mean->steps);
    ss_figure_put_real(object, "step_ns", ss_device_per_step(summary, mean->total_ns));
    ss_figure_put_real(object, "compute_ns",
                       ss_device_per_step(summary, mean->times.class_ns[SS_WORK_COMPUTE]));
    ss_figure_put_real(object, "exposed_communication_ns",
                       ss_device_per_step(summary, mean->times.class_ns[SS_WORK_COMMUNICATION]));
    ss_figure_put_real(object, "exposed_copy_ns",
                       ss_device_per_step(summary, mean->times.class_ns[SS_WORK_COPY]));
    ss_figure_put_real(object, "idle_ns", ss_device_per_step(summary, mean->times.idle_ns));
    struct ss_figure *idle = ss_figure_put_object(object, "idle");
    for (size_t i = 0; i < SS_GAP_CAUSES; i++) {
        ss_figure_put_real(idle, keys[i], ss_device_per_step(summary, mean->gap_ns[i]));
    }
    ss_figure_put_real(object, "communication_ns",
                       ss_device_per_step(summary, mean->times.communication_ns));
    ss_figure_put_real(object, "overlap_ns", ss_device_per_step(summary, mean->times.overlap_ns));
    ss_figure_put_real(object, "launches", ss_device_per_step(summary, mean->launches));
    ss_figure_put_real(object, "launched_ns", ss_device_per_step(summary, mean->launched_ns));
    ss_figure_put_real(object, "after_step_ns", ss_device_per_step(summary, mean->late_ns));
    ss_figure_put_real(object, "kernels", ss_device_per_step(summary, mean->kernels));
    ss_figure_put_real(object, "kernel_ns", ss_device_per_step(summary, mean->kernel_ns));
    ss_figure_put_count(object, "compilations", device->compilations.count);
    ss_figure_put_count(object, "compilation_ns", device->compilations.ns);
}
