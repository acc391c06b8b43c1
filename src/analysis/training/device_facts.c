/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/training/device_facts.h"

#include <string.h>

#include "analysis/selection/shared_ranges.h"
#include "analysis/table/distribution.h"
#include "analysis/table/kernel_families.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"

/* Devices whose matrix units are several times faster than their float32 units. */
static bool has_matrix_units(const struct ss_model *model, uint32_t device)
{
    static const char *const models[] = {"V100", "T4",   "A100", "A10",  "A30",   "A40",
                                         "A800", "H100", "H200", "H800", "B100",  "B200",
                                         "B300", "L4",   "L40",  "RTX",  "GH200", "GB200"};
    const char *name = ss_model_text(model, model->devices.data[device].model);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strstr(name, models[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Sums by name of the kernels in steady-state steps. */
struct kernel_sums {
    struct ss_kernel_kind *kinds; /* by name */
    bool *known;
    uint64_t *ns, *counts;
    struct ss_vec_of(uint64_t) durations;
};

static bool is_steady(const struct ss_step_summary *training, uint32_t process, uint64_t time_ns)
{
    const struct ss_step *step = ss_step_at(training, process, time_ns);
    return step != NULL && step->kind == SS_STEP_STEADY && step->has_device_work;
}

static struct ss_kernel_kind kind_of(struct kernel_sums *sums, const struct ss_model *model,
                                     uint32_t name)
{
    if (!sums->known[name]) {
        sums->kinds[name] =
            ss_kernel_kind_of(ss_intern_get(&model->strings, model->names.data[name].text));
        sums->known[name] = true;
    }
    return sums->kinds[name];
}

static void add_kernel(struct ss_device_facts *facts, struct kernel_sums *sums,
                       const struct ss_model *model, const struct ss_device_work *work)
{
    uint64_t length_ns = work->end_ns - work->begin_ns;
    struct ss_kernel_kind kind = kind_of(sums, model, work->name);
    bool is_short = length_ns < SS_LIMIT_SHORT_KERNEL_NS;
    sums->ns[work->name] += length_ns;
    sums->counts[work->name]++;
    ss_vec_push(&sums->durations, length_ns);
    facts->short_kernels += is_short;
    facts->short_ns += is_short ? length_ns : 0;
    if (kind.is_float32 && has_matrix_units(model, work->device)) {
        facts->float32_ns += length_ns;
    }
    if (kind.family == SS_KERNEL_CONVERSION) {
        facts->conversion_ns += length_ns;
        facts->conversions++;
    }
}

static void add_copy(struct ss_device_facts *facts, const struct ss_model *model,
                     const struct ss_device_work *work)
{
    const struct ss_model_range *range = &model->ranges.data[work->range];
    struct ss_strview pageable = ss_strview_of("pageable");
    int64_t bytes;
    if (ss_strview_equal(ss_event_text(model, range, SS_EVENT_FIELD_from_memory), pageable) ||
        ss_strview_equal(ss_event_text(model, range, SS_EVENT_FIELD_to_memory), pageable)) {
        facts->pageable_copies++;
        facts->pageable_ns += work->end_ns - work->begin_ns;
        facts->pageable_bytes +=
            ss_event_number(model, range, SS_EVENT_FIELD_bytes, &bytes) && bytes > 0
                ? (uint64_t)bytes
                : 0;
    }
}

static void find_main_kernel(struct ss_device_facts *facts, const struct kernel_sums *sums,
                             const struct ss_model *model)
{
    for (uint32_t name = 1; name < model->names.count; name++) {
        if (sums->ns[name] > facts->main_kernel_ns) {
            facts->main_kernel = name;
            facts->main_kernel_ns = sums->ns[name];
            facts->main_count = sums->counts[name];
        }
    }
    enum ss_kernel_family family = sums->kinds[facts->main_kernel].family;
    facts->is_main_expected = family == SS_KERNEL_MATMUL || family == SS_KERNEL_CONVOLUTION ||
                              family == SS_KERNEL_ATTENTION;
}

static void sum_works(struct ss_device_facts *facts, const struct ss_model *model,
                      const struct ss_step_summary *training)
{
    struct kernel_sums sums = {.kinds = ss_alloc_zero(model->names.count + 1, sizeof *sums.kinds),
                               .known = ss_alloc_zero(model->names.count + 1, sizeof *sums.known),
                               .ns = ss_alloc_zero(model->names.count + 1, sizeof *sums.ns),
                               .counts =
                                   ss_alloc_zero(model->names.count + 1, sizeof *sums.counts)};
    for (size_t i = 0; i < facts->summary->works->works.count; i++) {
        const struct ss_device_work *work = &facts->summary->works->works.data[i];
        if (!is_steady(training, work->process, work->begin_ns)) {
            continue;
        }
        if (work->work_class == SS_WORK_COMPUTE) {
            add_kernel(facts, &sums, model, work);
        } else if (work->type == SS_EVENT_TYPE_copy) {
            add_copy(facts, model, work);
        }
    }
    find_main_kernel(facts, &sums, model);
    if (sums.durations.count > 0) {
        ss_sort_u64(sums.durations.data, sums.durations.count);
        facts->kernel_p50_ns = ss_median_u64(sums.durations.data, sums.durations.count);
    }
    ss_vec_fini(&sums.durations);
    ss_free(sums.kinds);
    ss_free(sums.known);
    ss_free(sums.ns);
    ss_free(sums.counts);
}

/* cudaMalloc, hipFree, cuMemAlloc_v2, …; not the asynchronous ones, which do not wait. */
static bool allocates(const char *name)
{
    static const char *const prefixes[] = {"cudaMalloc",  "cudaFree",   "hipMalloc",
                                           "hipFree",     "cuMemAlloc", "cuMemFree",
                                           "cuMemCreate", "cuMemMap",   "cuMemUnmap"};
    if (strstr(name, "Async") != NULL || strstr(name, "Host") != NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void sum_allocations(struct ss_device_facts *facts, const struct ss_selection *selection,
                            const struct ss_step_summary *training)
{
    const struct ss_model *model = selection->model;
    bool *is_allocation = ss_alloc_zero(model->names.count + 1, sizeof *is_allocation);
    for (size_t i = 1; i < model->names.count; i++) {
        is_allocation[i] = allocates(ss_model_text(model, model->names.data[i].text));
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t thread = model->tracks.data[range->track].thread;
        uint32_t process = model->threads.data[thread].process;
        if (thread != 0 && is_allocation[model->paths.data[range->path].name] &&
            is_steady(training, process, range->begin_ns)) {
            facts->allocations++;
            facts->allocation_ns += range->end_ns - range->begin_ns;
        }
    }
    ss_free(is_allocation);
}

static void sum_bytes(struct ss_device_facts *facts, const struct ss_selection *selection,
                      const struct ss_step_summary *training)
{
    struct ss_held_memories memories;
    ss_held_memories_init(&memories, selection, training);
    for (size_t i = 0; i < memories.kinds.count; i++) {
        const struct ss_held_memory_kind *kind = &memories.kinds.data[i];
        facts->allocated_bytes += kind->is_pooled ? 0 : kind->in_steps_bytes;
    }
    ss_held_memories_fini(&memories);
    facts->compilations = ss_compilations_of(selection, training);
}

static void sum_waits(struct ss_device_facts *facts, const struct ss_selection *selection,
                      const struct ss_step_summary *training)
{
    struct ss_steady_time steady;
    ss_steady_time_init(&steady, training, SS_STEADY_OF_DEVICES);
    ss_device_waits_init(&facts->waits, selection, facts->summary->works,
                         ss_selection_finder(selection), &steady);
    for (size_t i = 0; i < facts->waits.rows.count; i++) {
        facts->wait_calls += facts->waits.rows.data[i].steady_count;
        facts->wait_calls_ns += facts->waits.rows.data[i].steady_ns;
    }
    ss_steady_time_fini(&steady);
}

void ss_device_facts_find(struct ss_device_facts *facts, const struct ss_selection *selection,
                          const struct ss_step_summary *training)
{
    *facts = (struct ss_device_facts){0};
    facts->summary = ss_steps_devices(selection, training);
    facts->has_steps = facts->summary->mean.steps > 0;
    if (facts->has_steps) {
        sum_works(facts, selection->model, training);
        sum_allocations(facts, selection, training);
        sum_bytes(facts, selection, training);
        sum_waits(facts, selection, training);
        facts->exposed = ss_exposed_on_devices(selection->model, facts->summary->works, training);
    }
}

void ss_device_facts_fini(struct ss_device_facts *facts)
{
    ss_device_waits_fini(&facts->waits);
}
