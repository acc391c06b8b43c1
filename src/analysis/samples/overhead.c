/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/overhead.h"

#include <string.h>

#include "analysis/selection/program_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* The ranges of one track. */
struct use {
    uint64_t count, first_ns, last_ns;
};

static void find_recorder(struct ss_overhead *overhead, const struct ss_model *model,
                          const struct ss_model_note *note, bool is_memory)
{
    const struct ss_trace_summary *summary = &model->inputs.data[note->input].summary;
    uint64_t first_ns = summary->first_ns;
    if (first_ns == 0 || (summary->first_event_ns != 0 && summary->first_event_ns < first_ns)) {
        first_ns = summary->first_event_ns;
    }
    if (is_memory) {
        overhead->recorder_bytes = note->value > 0 ? (uint64_t)note->value : 0;
        return;
    }
    bool is_known = note->value > 0 && first_ns != 0 && note->time_ns > first_ns;
    overhead->recorder_cpu_ns = is_known ? (uint64_t)note->value : 0;
    overhead->span_ns = is_known ? note->time_ns - first_ns : 0;
}

/* The last note of an input counts. */
static void find_recorders(struct ss_overhead *overheads, const struct ss_model *model)
{
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *kind = ss_model_text(model, note->kind);
        bool is_memory = strcmp(kind, "recorder-memory") == 0;
        if (note->input < model->inputs.count && (is_memory || strcmp(kind, "recorder-cpu") == 0)) {
            find_recorder(&overheads[note->input], model, note, is_memory);
        }
    }
}

static bool is_of_operators(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->kind == SS_TRACK_RANGES &&
           strcmp(ss_model_text(model, row->name), ss_domain_torch) == 0;
}

static void count_ranges(const struct ss_model *model, struct use *uses)
{
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        struct use *use = &uses[range->track];
        use->first_ns =
            use->count == 0 || range->begin_ns < use->first_ns ? range->begin_ns : use->first_ns;
        use->last_ns = range->end_ns > use->last_ns ? range->end_ns : use->last_ns;
        use->count++;
    }
}

/* Of steps that were not recorded in full, which have cost as much. */
static uint64_t count_summed(const struct ss_model *model, uint32_t process)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        const struct ss_model_field *self =
            track->process == process &&
                    strcmp(ss_model_text(model, track->name), ss_domain_torch_sums) == 0
                ? ss_model_field_of(model, mark->payload, SS_EVENT_FIELD_self_ns)
                : NULL;
        const struct ss_model_field *count =
            self != NULL ? ss_model_field_of(model, mark->payload, SS_EVENT_FIELD_calls) : NULL;
        calls += count != NULL ? count->natural : 0;
    }
    return calls;
}

/* Of each input, the thread with most operators; the first of several. */
static void find_operators(struct ss_overhead *overheads, const struct ss_model *model)
{
    struct use *uses = ss_alloc_zero(model->tracks.count + 1, sizeof *uses);
    uint64_t *most = ss_alloc_zero(model->inputs.count + 1, sizeof *most);
    count_ranges(model, uses);
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct use *use = &uses[i];
        uint32_t input = model->tracks.data[i].input;
        if (input >= model->inputs.count || use->count <= most[input] ||
            use->last_ns <= use->first_ns || !is_of_operators(model, i)) {
            continue;
        }
        const struct ss_model_note *cost =
            ss_program_fact(model, model->tracks.data[i].process, ss_fact_torch_operator_ns);
        if (cost != NULL && cost->value > 0) { /* of 1 in 2^halvings steps */
            struct ss_overhead *overhead = &overheads[input];
            overhead->operators = (use->count << (model->inputs.data[input].halvings & 31)) +
                                  count_summed(model, model->tracks.data[i].process);
            overhead->operator_ns = (uint64_t)cost->value;
            overhead->thread_ns = use->last_ns - use->first_ns;
            most[input] = use->count;
        }
    }
    ss_free(most);
    ss_free(uses);
}

static uint64_t number_of(const struct ss_model *model, uint32_t process, const char *key)
{
    const struct ss_model_note *fact = ss_program_fact(model, process, key);
    return fact != NULL && fact->value > 0 ? (uint64_t)fact->value : 0;
}

/* Shares above the whole are not measured values. */
static void find_hooks(struct ss_overhead *overheads, const struct ss_model *model)
{
    enum { MILLION = 1000000 };
    for (uint32_t i = 1; i < model->processes.count; i++) {
        uint32_t input = model->processes.data[i].input;
        uint64_t ppm = number_of(model, i, ss_fact_torch_hooks_ppm);
        if (input < model->inputs.count && ppm <= MILLION && ppm > overheads[input].hooks_ppm) {
            overheads[input].hooks_ppm = ppm;
            overheads[input].hooks_ns = number_of(model, i, ss_fact_torch_hooks_ns);
        }
    }
}

void ss_overheads_init(struct ss_overhead *overheads, const struct ss_model *model)
{
    memset(overheads, 0, model->inputs.count * sizeof *overheads);
    find_recorders(overheads, model);
    find_operators(overheads, model);
    find_hooks(overheads, model);
}

double ss_overhead_recorder_share(const struct ss_overhead *overhead)
{
    return overhead->span_ns > 0 ? (double)overhead->recorder_cpu_ns / (double)overhead->span_ns
                                 : 0;
}

double ss_overhead_operators_share(const struct ss_overhead *overhead)
{
    double cost_ns = (double)overhead->operators * (double)overhead->operator_ns;
    return overhead->thread_ns > 0 ? cost_ns / (double)overhead->thread_ns : 0;
}

double ss_overhead_hooks_share(const struct ss_overhead *overhead)
{
    return (double)overhead->hooks_ppm / 1e6;
}

double ss_overhead_share(const struct ss_overhead *overhead)
{
    double recorder = ss_overhead_recorder_share(overhead);
    double thread = ss_overhead_operators_share(overhead) + ss_overhead_hooks_share(overhead);
    return recorder > thread ? recorder : thread;
}
