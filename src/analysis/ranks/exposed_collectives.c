/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/exposed_collectives.h"

#include <stdlib.h>

#include "analysis/ranks/rank_calls.h"
#include "base/device_api.h"
#include "base/search.h"

/* A collective of a known module in a steady-state step. */
struct instance {
    uint32_t module; /* string */
    uint32_t name;   /* of the range */
    uint32_t range;
    uint64_t ns;
};

struct instances ss_vec_of(struct instance);

static void add(struct instances *instances, const struct ss_model *model, uint32_t range,
                uint64_t ns)
{
    const struct ss_model_range *row = &model->ranges.data[range];
    const struct ss_model_field *module =
        ss_model_field_of(model, row->payload, SS_EVENT_FIELD_module);
    if (module != NULL && module->type == SS_VALUE_TEXT && module->text != 0) {
        struct instance instance = {module->text, model->paths.data[row->path].name, range, ns};
        ss_vec_push(instances, instance);
    }
}

static int compare(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

/* Of one module and kind, those with most time. */
static struct ss_exposed_collective longest_of(struct instances *instances)
{
    struct ss_exposed_collective longest = {0};
    uint64_t all_ns = 0;
    if (instances->count > 1) {
        qsort(instances->data, instances->count, sizeof *instances->data, compare);
    }
    for (size_t first = 0, end; first < instances->count; first = end) {
        const struct instance *row = &instances->data[first];
        struct ss_exposed_collective sum = {.range = row->range};
        for (end = first; end < instances->count && instances->data[end].module == row->module &&
                          instances->data[end].name == row->name;
             end++) {
            sum.count++;
            sum.ns += instances->data[end].ns;
        }
        all_ns += sum.ns;
        longest = sum.ns > longest.ns ? sum : longest;
    }
    longest.all_ns = all_ns;
    return longest;
}

/* --- on the host ------------------------------------------------------------------------------ */

/* The part of a range in which its process waits. */
static uint64_t waits_in(const struct ss_exposed_communication *waits, uint32_t process,
                         const struct ss_model_range *range)
{
    uint64_t sum_ns = 0;
    /* The first that ends after the range's begin. */
    size_t low = ss_search(i, 0, waits->spans.count,
                           ss_pair_at_most(waits->spans.data[i].process,
                                           waits->spans.data[i].end_ns, process, range->begin_ns));
    for (; low < waits->spans.count; low++) {
        const struct ss_exposed_span *span = &waits->spans.data[low];
        if (span->process != process || span->begin_ns >= range->end_ns) {
            break;
        }
        uint64_t begin_ns = span->begin_ns > range->begin_ns ? span->begin_ns : range->begin_ns;
        uint64_t end_ns = span->end_ns < range->end_ns ? span->end_ns : range->end_ns;
        sum_ns += end_ns - begin_ns;
    }
    return sum_ns;
}

static bool is_steady(const struct ss_step_summary *training, uint32_t process, uint64_t time_ns)
{
    const struct ss_step *step = ss_step_at(training, process, time_ns);
    return step != NULL && step->kind == SS_STEP_STEADY;
}

/* A call of NCCL on the host only queues it. */
static bool is_queued(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    return ss_collective_is_queued(ss_intern_get(&model->strings, name->text));
}

struct ss_exposed_collective ss_exposed_on_host(const struct ss_model *model,
                                                const struct ss_step_summary *training)
{
    const struct ss_range_runs *runs = &training->index.runs;
    const struct ss_range_run *run = NULL;
    struct instances instances = {0};
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_COLLECTIVES)) != NULL) {
        uint32_t process = ss_range_run_process(model, run);
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if (is_steady(training, process, range->begin_ns) && !is_queued(model, range)) {
                add(&instances, model, (uint32_t)i,
                    waits_in(&training->index.waits, process, range));
            }
        }
    }
    struct ss_exposed_collective longest = longest_of(&instances);
    ss_vec_fini(&instances);
    return longest;
}

/* --- on devices ------------------------------------------------------------------------------- */

struct ss_exposed_collective ss_exposed_on_devices(const struct ss_model *model,
                                                   const struct ss_device_works *works,
                                                   const struct ss_step_summary *training)
{
    struct instances instances = {0};
    for (size_t i = 0; i < works->parts.count; i++) {
        const struct ss_device_part *part = &works->parts.data[i];
        struct ss_busy busy;
        ss_busy_init(&busy, &works->works.data[part->first], part->end - part->first);
        for (size_t k = part->first; k < part->end; k++) {
            const struct ss_device_work *work = &works->works.data[k];
            if (work->work_class == SS_WORK_COMMUNICATION &&
                is_steady(training, work->process, work->begin_ns)) {
                struct ss_busy_times times = {0};
                ss_busy_add_between(&busy, work->begin_ns, work->end_ns, &times);
                add(&instances, model, work->range, times.class_ns[SS_WORK_COMMUNICATION]);
            }
        }
        ss_busy_fini(&busy);
    }
    struct ss_exposed_collective longest = longest_of(&instances);
    ss_vec_fini(&instances);
    return longest;
}

/* --- text ------------------------------------------------------------------------------------- */

void ss_exposed_collective_add(const struct ss_model *model,
                               const struct ss_exposed_collective *exposed, struct ss_sentence *out)
{
    const struct ss_model_range *range = &model->ranges.data[exposed->range];
    struct ss_rank_call call = {.range = exposed->range,
                                .name = model->paths.data[range->path].name};
    int64_t bucket, buckets;
    ss_sentence_add_name(out, ss_rank_call_kind(model, &call));
    ss_sentence_add(out, " of ");
    ss_sentence_add_name(out, ss_event_text(model, range, SS_EVENT_FIELD_module));
    if (ss_event_number(model, range, SS_EVENT_FIELD_bucket, &bucket) &&
        ss_event_number(model, range, SS_EVENT_FIELD_buckets, &buckets)) {
        ss_sentence_add(out, " (bucket ");
        ss_sentence_add_number(out, bucket);
        ss_sentence_add(out, " of ");
        ss_sentence_add_number(out, buckets);
        ss_sentence_add(out, ")");
    }
}
