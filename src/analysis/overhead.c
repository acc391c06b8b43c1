/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/overhead.h"

#include <string.h>

#include "analysis/program_facts.h"
#include "base/shared_names.h"

/* The ranges of one track. */
struct use {
    uint64_t count, first_ns, last_ns;
};

static const struct ss_model_note *find_note(const struct ss_model *model, uint32_t input,
                                             const char *kind)
{
    for (size_t i = model->notes.count; i-- > 0;) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->input == input && strcmp(ss_model_text(model, note->kind), kind) == 0) {
            return note;
        }
    }
    return NULL;
}

static void find_recorder(struct ss_overhead *overhead, const struct ss_model *model,
                          uint32_t input)
{
    const struct ss_trace_summary *summary = &model->inputs.data[input].summary;
    const struct ss_model_note *cpu = find_note(model, input, "recorder-cpu");
    const struct ss_model_note *memory = find_note(model, input, "recorder-memory");
    uint64_t first_ns = summary->first_ns;
    if (first_ns == 0 || (summary->first_event_ns != 0 && summary->first_event_ns < first_ns)) {
        first_ns = summary->first_event_ns;
    }
    if (cpu != NULL && cpu->value > 0 && first_ns != 0 && cpu->time_ns > first_ns) {
        overhead->recorder_cpu_ns = (uint64_t)cpu->value;
        overhead->span_ns = cpu->time_ns - first_ns;
    }
    if (memory != NULL && memory->value > 0) {
        overhead->recorder_bytes = (uint64_t)memory->value;
    }
}

static bool is_of_operators(const struct ss_model *model, uint32_t track, uint32_t input)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->input == input && row->kind == SS_TRACK_RANGES &&
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

static void find_operators(struct ss_overhead *overhead, const struct ss_model *model,
                           uint32_t input)
{
    struct ss_vec_of(struct use) uses = {0};
    uint64_t most = 0;
    ss_vec_resize(&uses, model->tracks.count);
    memset(uses.data, 0, uses.count * sizeof *uses.data);
    count_ranges(model, uses.data);
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct use *use = &uses.data[i];
        if (use->count <= most || use->last_ns <= use->first_ns ||
            !is_of_operators(model, i, input)) {
            continue;
        }
        const struct ss_model_note *cost =
            ss_program_fact(model, model->tracks.data[i].process, ss_fact_torch_operator_ns);
        if (cost != NULL && cost->value > 0) { /* of 1 in 2^halvings steps */
            overhead->operators = use->count << (model->inputs.data[input].halvings & 31);
            overhead->operator_ns = (uint64_t)cost->value;
            most = use->count;
            overhead->thread_ns = use->last_ns - use->first_ns;
        }
    }
    ss_vec_fini(&uses);
}

void ss_overhead_init(struct ss_overhead *overhead, const struct ss_model *model, uint32_t input)
{
    *overhead = (struct ss_overhead){0};
    find_recorder(overhead, model, input);
    if (model->tracks.count > 0) {
        find_operators(overhead, model, input);
    }
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

double ss_overhead_share(const struct ss_overhead *overhead)
{
    double recorder = ss_overhead_recorder_share(overhead);
    double operators = ss_overhead_operators_share(overhead);
    return recorder > operators ? recorder : operators;
}
