/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roofline/roofline_inside.h"
#include "base/alloc.h"

/* What separates rows, besides their name. */
struct key {
    uint32_t name;
    uint32_t peaks; /* index plus one */
    uint8_t type, is_matrix, source, has_flops, has_bytes, unused[3];
};

struct summing {
    struct ss_roofline *roofline;
    const struct ss_roofline_building *building;
    unsigned grouping;
    struct ss_vec_of(uint32_t) row_of_key; /* by id of a key: index plus one */
    struct ss_vec_of(uint32_t) charged;    /* names of modules that a share was added to */
};

static struct ss_strview range_text(const struct ss_model *model, uint32_t range)
{
    uint32_t name = model->paths.data[model->ranges.data[range].path].name;
    return ss_intern_get(&model->strings, model->names.data[name].text);
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct ss_roofline_row *row_of(struct summing *summing, uint32_t name,
                                      const struct ss_roofline_share *share)
{
    struct ss_roofline *roofline = summing->roofline;
    struct key key;
    memset(&key, 0, sizeof key);
    key.name = name;
    key.peaks = share->peaks != NULL ? 1 + (uint32_t)(share->peaks - ss_device_peaks_known) : 0;
    key.type = (uint8_t)share->type;
    key.is_matrix = share->is_matrix;
    key.source = (uint8_t)share->source;
    key.has_flops = share->has_flops;
    key.has_bytes = share->has_bytes;
    uint32_t id = ss_intern_put(&roofline->names, (const char *)&key, sizeof key);
    if (id >= summing->row_of_key.count) {
        ss_vec_resize(&summing->row_of_key, (size_t)id + 1);
    }
    if (summing->row_of_key.data[id] == 0) {
        ss_vec_push(&roofline->rows, (struct ss_roofline_row){.name = name,
                                                              .family = share->family,
                                                              .type = share->type,
                                                              .peaks = share->peaks,
                                                              .is_matrix = share->is_matrix,
                                                              .source = share->source,
                                                              .has_flops = share->has_flops,
                                                              .has_bytes = share->has_bytes});
        summing->row_of_key.data[id] = (uint32_t)roofline->rows.count;
    }
    return &roofline->rows.data[summing->row_of_key.data[id] - 1];
}

static void add_to(struct summing *summing, struct ss_strview name,
                   const struct ss_roofline_share *share)
{
    uint32_t id = ss_intern_put(&summing->roofline->names, name.data, name.length);
    struct ss_roofline_row *row = row_of(summing, id, share);
    row->instances++;
    row->ns += share->ns;
    row->flops += share->flops;
    row->bytes += share->bytes;
    row->gap_ns[share->gap] += share->source == SS_ROOFLINE_UNKNOWN ? share->ns : 0;
}

/* --- modules ---------------------------------------------------------------------------------- */

static bool is_charged(const struct summing *summing, uint32_t name)
{
    for (size_t i = 0; i < summing->charged.count; i++) {
        if (summing->charged.data[i] == name) {
            return true;
        }
    }
    return false;
}

/* To each module that was open when the operator ran; a backward's operators belong to the modules
 * of its forward. */
static void add_to_modules(struct summing *summing, uint32_t range,
                           const struct ss_roofline_share *share)
{
    const struct ss_roofline_building *building = summing->building;
    const struct ss_model *model = building->model;
    uint32_t node = ss_sequences_node_around(&building->sequences, range);
    uint32_t forward = node != 0 ? ss_sequences_operator_of(&building->sequences, node - 1) : 0;
    const struct ss_model_range *at = &model->ranges.data[forward != 0 ? forward - 1 : range];
    uint32_t thread = model->tracks.data[at->track].thread;
    uint32_t track = building->finder->threads[thread].module;
    uint32_t module = track != 0 ? ss_range_at(building->finder, track, at->begin_ns) : 0;
    summing->charged.count = 0;
    if (module == 0) {
        add_to(summing, ss_strview_of("(no module)"), share);
    }
    for (; module != 0; module = building->finder->parents[module - 1]) {
        uint32_t name = model->paths.data[model->ranges.data[module - 1].path].name;
        if (!is_charged(summing, model->names.data[name].text)) {
            ss_vec_push(&summing->charged, model->names.data[name].text);
            add_to(summing, range_text(model, module - 1), share);
        }
    }
}

/* `range`: of the operator, or of what launched the kernel, plus one; `kernel`: a name of the
 * model, 0 on the host. */
static void add_share(struct summing *summing, uint32_t range, uint32_t kernel,
                      const struct ss_roofline_share *share)
{
    const struct ss_model *model = summing->building->model;
    struct ss_strview none = ss_strview_of("(no operator)");
    if ((summing->grouping & SS_ROOFLINE_BY_KERNEL) != 0 && kernel != 0) {
        add_to(summing, ss_intern_get(&model->strings, model->names.data[kernel].text), share);
    } else if ((summing->grouping & SS_ROOFLINE_BY_MODULE) != 0 && range != 0) {
        add_to_modules(summing, range - 1, share);
    } else if ((summing->grouping & SS_ROOFLINE_BY_MODULE) != 0) {
        add_to(summing, ss_strview_of("(no module)"), share);
    } else if ((summing->grouping & SS_ROOFLINE_BY_OPERATOR) != 0) {
        add_to(summing, range != 0 ? range_text(model, range - 1) : none, share);
    } else {
        add_to(summing, ss_strview_of(ss_kernel_family_name(share->family)), share);
    }
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* A kernel's part of the work of its call: by its time, of the kernels that do the work, or of all
 * kernels where these stay together in a row. */
static double part_of(const struct ss_roofline_call *call, const struct ss_device_work *work,
                      bool are_together)
{
    uint64_t ns = call->ns[call->role], kernels = call->kernels[call->role];
    for (int role = 0; role < SS_ROLES && are_together; role++) {
        ns += role != (int)call->role ? call->ns[role] : 0;
        kernels += role != (int)call->role ? call->kernels[role] : 0;
    }
    return ns > 0 ? (double)(work->end_ns - work->begin_ns) / (double)ns : 1 / (double)kernels;
}

static void set_work(struct ss_roofline_share *share, const struct ss_roofline_call *call,
                     double part)
{
    const struct ss_operator_work *work = call->work;
    share->family = work->family;
    share->type = call->type;
    share->is_matrix = work->is_product;
    share->source = SS_ROOFLINE_ESTIMATED;
    share->has_flops = true;
    share->has_bytes = work->untyped_elements == 0 || call->untyped_bytes != 0;
    share->flops = part * (work->flops - work->skipped_flops);
    share->bytes =
        share->has_bytes ? part * (work->bytes + work->untyped_elements * call->untyped_bytes) : 0;
}

/* What was measured takes the place of what is estimated. The units for matrix products have
 * counters of their own: without these, the FLOPs of a kernel that multiplies are not all. */
static void set_measured(struct ss_roofline_share *share,
                         const struct ss_roofline_building *building, uint32_t name)
{
    const struct ss_kernel_counter *counter = ss_kernel_counter_of(&building->counters, name);
    if (counter == NULL) {
        return;
    }
    struct ss_kernel_kind kind = building->kernels[name].kind;
    bool is_product = kind.family == SS_KERNEL_MATMUL || kind.family == SS_KERNEL_CONVOLUTION ||
                      kind.family == SS_KERNEL_ATTENTION;
    bool has_bytes = counter->byte_launches > 0;
    bool has_flops =
        counter->flop_launches > 0 && (!is_product || kind.is_float32 || counter->has_matrix_flops);
    if (share->source == SS_ROOFLINE_UNKNOWN) {
        share->is_matrix = is_product;
        share->type = building->kernels[name].type;
    }
    share->source = has_flops && has_bytes ? SS_ROOFLINE_MEASURED
                    : has_flops            ? SS_ROOFLINE_MEASURED_FLOPS
                    : has_bytes            ? SS_ROOFLINE_MEASURED_BYTES
                                           : share->source;
    share->flops = has_flops ? counter->flops : share->flops;
    share->has_flops = share->has_flops || has_flops;
    share->bytes = has_bytes ? counter->bytes : share->bytes;
    share->has_bytes = share->has_bytes || has_bytes;
}

bool ss_roofline_share_find(const struct ss_roofline_building *building, size_t index,
                            bool are_together, struct ss_roofline_share *share)
{
    const struct ss_device_work *work = &building->works->works.data[index];
    uint32_t owner = building->owners[index];
    uint32_t known = owner != 0 ? building->known_of[owner - 1] : 0;
    *share = (struct ss_roofline_share){.family = ss_roofline_family(building, work->name),
                                        .peaks = building->peaks[work->device],
                                        .gap = (enum ss_roofline_gap)building->gaps[index],
                                        .ns = work->end_ns - work->begin_ns};
    if (known != 0) {
        const struct ss_roofline_call *call = &building->known.data[known - 1];
        bool does_work = ss_roofline_role(building, call->work, work->name) == call->role;
        share->gap = SS_ROOFLINE_PREPARES;
        if (does_work || are_together) {
            set_work(share, call, part_of(call, work, are_together));
        }
    }
    set_measured(share, building, work->name);
    return share->source != SS_ROOFLINE_UNKNOWN || known != 0;
}

static void add_kernel(struct summing *summing, size_t index)
{
    const struct ss_roofline_building *building = summing->building;
    const struct ss_device_work *work = &building->works->works.data[index];
    uint32_t owner = building->owners[index];
    bool are_together =
        (summing->grouping & (SS_ROOFLINE_BY_OPERATOR | SS_ROOFLINE_BY_MODULE)) != 0;
    struct ss_roofline_share share;
    bool is_known = ss_roofline_share_find(building, index, are_together, &share);
    summing->roofline->total_ns += share.ns;
    summing->roofline->estimated_ns += is_known ? share.ns : 0;
    add_share(summing, owner != 0 ? owner : work->launch, work->name, &share);
}

/* --- the host --------------------------------------------------------------------------------- */

/* The time of calls without that of calls with an estimate inside them. */
static uint64_t *own_times(const struct ss_roofline_building *building)
{
    const struct ss_model *model = building->model;
    uint64_t *own_ns = ss_alloc_zero(model->ranges.count + 1, sizeof *own_ns);
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        if (ss_operator_call_work(&building->calls, i) == NULL) {
            continue;
        }
        uint64_t ns = model->ranges.data[i].end_ns - model->ranges.data[i].begin_ns;
        uint32_t outer = building->finder->parents[i];
        while (outer != 0 && ss_operator_call_work(&building->calls, outer - 1) == NULL) {
            outer = building->finder->parents[outer - 1];
        }
        own_ns[i] += ns;
        if (outer != 0) { /* it comes before what it encloses */
            own_ns[outer - 1] -= ns < own_ns[outer - 1] ? ns : own_ns[outer - 1];
        }
    }
    return own_ns;
}

static void add_host_calls(struct summing *summing)
{
    const struct ss_roofline_building *building = summing->building;
    uint64_t *own_ns = own_times(building);
    for (uint32_t i = 0; i < building->model->ranges.count; i++) {
        const struct ss_operator_work *work = ss_operator_call_work(&building->calls, i);
        if (work == NULL || (building->model->ranges.data[i].flags & SS_RANGE_OUTSIDE) != 0) {
            continue;
        }
        struct ss_roofline_call call = {.work = work, .type = work->type};
        struct ss_roofline_share share = {.ns = own_ns[i]};
        set_work(&share, &call, 1);
        summing->roofline->total_ns += share.ns;
        summing->roofline->estimated_ns += share.ns;
        add_share(summing, i + 1, 0, &share);
    }
    ss_free(own_ns);
}

/* --- all -------------------------------------------------------------------------------------- */

static void sum_rows(struct summing *summing)
{
    struct ss_roofline *roofline = summing->roofline;
    const struct ss_device_works *works = summing->building->works;
    roofline->is_host = true;
    for (size_t i = 0; i < works->works.count; i++) {
        if (ss_roofline_counts(summing->building, &works->works.data[i])) {
            roofline->is_host = false;
            add_kernel(summing, i);
        }
    }
    if (roofline->is_host) {
        add_host_calls(summing);
    }
}

void ss_roofline_init(struct ss_roofline *roofline, const struct ss_selection *selection,
                      const struct ss_step_summary *training, unsigned grouping)
{
    const struct ss_roofline_building *building = ss_selection_roofline(selection);
    *roofline = (struct ss_roofline){.model = selection->model};
    ss_intern_init(&roofline->names);
    struct summing summing = {.roofline = roofline, .building = building, .grouping = grouping};
    roofline->has_shapes = building->calls.has_shapes;
    roofline->has_counters = building->counters.counters.count > 0;
    sum_rows(&summing);
    ss_roofline_steps_find(&roofline->steps, building, training);
    ss_vec_fini(&summing.row_of_key);
    ss_vec_fini(&summing.charged);
}

void ss_roofline_fini(struct ss_roofline *roofline)
{
    ss_vec_fini(&roofline->rows);
    ss_intern_fini(&roofline->names);
}

void ss_roofline_find_steps(struct ss_roofline_steps *steps, const struct ss_selection *selection,
                            const struct ss_step_summary *training)
{
    ss_roofline_steps_find(steps, ss_selection_roofline(selection), training);
}
