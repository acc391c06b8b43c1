/* SPDX-License-Identifier: Apache-2.0 */
/* Which call of an operator each kernel belongs to. */
#include "analysis/roofline/roofline_inside.h"
#include "analysis/selection/shared_ranges.h"
#include "base/alloc.h"

static struct ss_strview name_text(const struct ss_model *model, uint32_t name)
{
    return ss_intern_get(&model->strings, model->names.data[name].text);
}

enum ss_kernel_family ss_roofline_family(const struct ss_roofline_building *building, uint32_t name)
{
    return building->kernels[name].kind.family;
}

enum ss_roofline_role ss_roofline_role(const struct ss_roofline_building *building,
                                       const struct ss_operator_work *work, uint32_t name)
{
    if (!work->is_product) {
        return SS_ROLE_COMPUTES;
    }
    switch (ss_roofline_family(building, name)) {
    case SS_KERNEL_MATMUL:
    case SS_KERNEL_CONVOLUTION:
    case SS_KERNEL_ATTENTION:
        return SS_ROLE_COMPUTES;
    case SS_KERNEL_OTHER:
        return SS_ROLE_UNKNOWN;
    default:
        return SS_ROLE_PREPARES;
    }
}

/* --- which kernels count ---------------------------------------------------------------------- */

static bool is_timed(const struct ss_model *model, const struct ss_device_work *work)
{
    uint32_t input = model->tracks.data[model->ranges.data[work->range].track].input;
    return input >= model->inputs.count || !model->inputs.data[input].is_untimed;
}

static bool computes(const struct ss_device_work *work)
{
    return work->work_class == SS_WORK_COMPUTE && work->type == SS_EVENT_TYPE_kernel;
}

bool ss_roofline_counts(const struct ss_roofline_building *building,
                        const struct ss_device_work *work)
{
    return computes(work) && (!building->has_timed || is_timed(building->model, work));
}

static void find_kernels(struct ss_roofline_building *building)
{
    const struct ss_device_works *works = building->works;
    building->kernels = ss_alloc_zero(building->model->names.count + 1, sizeof *building->kernels);
    for (size_t i = 0; i < works->works.count; i++) {
        struct ss_roofline_kernel *kernel = &building->kernels[works->works.data[i].name];
        if (!kernel->is_known) {
            struct ss_strview text = name_text(building->model, works->works.data[i].name);
            *kernel = (struct ss_roofline_kernel){true, ss_kernel_kind_of(text),
                                                  ss_kernel_datatype(text)};
        }
    }
}

static void find_timed(struct ss_roofline_building *building)
{
    const struct ss_device_works *works = building->works;
    for (size_t i = 0; i < works->works.count && !building->has_timed; i++) {
        building->has_timed =
            computes(&works->works.data[i]) && is_timed(building->model, &works->works.data[i]);
    }
}

/* --- which operator launched a kernel --------------------------------------------------------- */

/* The range around the launch to begin with, plus one; 0: none. */
static uint32_t begin_of_search(const struct ss_roofline_building *building, uint32_t launch)
{
    const struct ss_model *model = building->model;
    const struct ss_model_range *range = &model->ranges.data[launch];
    uint32_t thread = model->tracks.data[range->track].thread;
    uint32_t track = building->calls.shape_track[thread];
    if (track != 0 && track != range->track) {
        return ss_range_at(building->finder, track, range->begin_ns);
    }
    return building->finder->parents[launch];
}

/* Finds the innermost operator with an estimate; without one, the innermost of which it is known
 * why. */
static void find_owner(struct ss_roofline_building *building, size_t index)
{
    static const uint8_t gaps[] = {[SS_WORK_NOT_OPERATOR] = SS_ROOFLINE_NO_OPERATOR,
                                   [SS_WORK_NO_FORMULA] = SS_ROOFLINE_NO_FORMULA,
                                   [SS_WORK_NO_SHAPES] = SS_ROOFLINE_NO_SHAPES,
                                   [SS_WORK_KNOWN] = SS_ROOFLINE_PREPARES};
    const struct ss_device_work *work = &building->works->works.data[index];
    building->gaps[index] = SS_ROOFLINE_NO_LAUNCH;
    if (work->launch == 0) {
        return;
    }
    building->gaps[index] = SS_ROOFLINE_NO_OPERATOR;
    for (uint32_t at = begin_of_search(building, work->launch - 1); at != 0;
         at = building->finder->parents[at - 1]) {
        uint8_t answer = building->calls.answers[at - 1];
        if (ss_operator_call_work(&building->calls, at - 1) != NULL) {
            building->owners[index] = at;
            return;
        }
        if (answer != SS_WORK_NOT_OPERATOR && building->owners[index] == 0) {
            building->owners[index] = at;
            building->gaps[index] = gaps[answer];
        }
    }
}

/* --- calls with kernels ----------------------------------------------------------------------- */

static struct ss_roofline_call *call_of(struct ss_roofline_building *building, uint32_t range)
{
    uint32_t *known = &building->known_of[range];
    if (*known == 0) {
        ss_vec_push(&building->known,
                    (struct ss_roofline_call){
                        .range = range, .work = ss_operator_call_work(&building->calls, range)});
        *known = (uint32_t)building->known.count;
    }
    return &building->known.data[*known - 1];
}

/* The kernel with the highest role decides what the call computes in. */
static void add_kernel(struct ss_roofline_building *building, const struct ss_device_work *work,
                       uint32_t range)
{
    struct ss_roofline_call *call = call_of(building, range);
    enum ss_roofline_role role = ss_roofline_role(building, call->work, work->name);
    const struct ss_roofline_kernel *kernel = &building->kernels[work->name];
    struct ss_strview name = name_text(building->model, work->name);
    if (call->kernels[role] == 0 && role >= call->role) {
        call->role = role;
        call->type = call->work->is_product ? ss_kernel_refine_datatype(call->work->type, name)
                     : call->work->type != SS_DATATYPE_UNKNOWN ? call->work->type
                                                               : kernel->type;
        call->untyped_bytes = ss_datatype_bytes(kernel->type);
    }
    call->kernels[role]++;
    call->ns[role] += work->end_ns - work->begin_ns;
}

static void find_calls(struct ss_roofline_building *building)
{
    for (size_t i = 0; i < building->works->works.count; i++) {
        const struct ss_device_work *work = &building->works->works.data[i];
        if (!ss_roofline_counts(building, work)) {
            continue;
        }
        find_owner(building, i);
        uint32_t owner = building->owners[i];
        if (owner != 0 && ss_operator_call_work(&building->calls, owner - 1) != NULL) {
            add_kernel(building, work, owner - 1);
        }
    }
}

static void find_peaks(struct ss_roofline_building *building)
{
    const struct ss_model *model = building->model;
    building->peaks = ss_alloc_zero(model->devices.count + 1, sizeof *building->peaks);
    for (size_t i = 1; i < model->devices.count; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        building->peaks[i] =
            ss_device_peaks_of(ss_intern_get(&model->strings, device->model), device->memory_bytes);
    }
}

static void *build(const void *of)
{
    const struct ss_selection *selection = of;
    const struct ss_model *model = selection->model;
    struct ss_roofline_building *building = ss_alloc_zero(1, sizeof *building);
    *building = (struct ss_roofline_building){.selection = selection, .model = model};
    building->finder = ss_selection_finder(selection);
    ss_sequences_init(&building->sequences, selection, building->finder);
    ss_operator_calls_init(&building->calls, selection, &building->sequences);
    building->works = ss_selection_works(selection);
    size_t works = building->works->works.count + 1;
    building->known_of = ss_alloc_zero(model->ranges.count + 1, sizeof *building->known_of);
    building->owners = ss_alloc_zero(works, sizeof *building->owners);
    building->gaps = ss_alloc_zero(works, sizeof *building->gaps);
    ss_kernel_counters_init(&building->counters, selection);
    find_kernels(building);
    find_timed(building);
    find_peaks(building);
    find_calls(building);
    return building;
}

static void free_part(void *part)
{
    struct ss_roofline_building *building = part;
    ss_sequences_fini(&building->sequences);
    ss_operator_calls_fini(&building->calls);
    ss_kernel_counters_fini(&building->counters);
    ss_vec_fini(&building->known);
    ss_free(building->known_of);
    ss_free(building->owners);
    ss_free(building->gaps);
    ss_free(building->kernels);
    ss_free(building->peaks);
    ss_free(building);
}

const struct ss_roofline_building *ss_selection_roofline(const struct ss_selection *selection)
{
    static const struct ss_analysis_part roofline = {"roofline", build, free_part};
    return ss_analysis_get(selection->analysis, &roofline, selection);
}
