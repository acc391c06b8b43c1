/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock/clock_align.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "model/clock/clock_move.h"
#include "model/clock/clock_pings.h"
#include "model/core/clock_fit.h"

/* A call of a rank. */
struct call {
    uint32_t group; /* string */
    int64_t sequence;
    uint32_t unit, process;
    uint64_t enter_ns, exit_ns;
    enum ss_collective_flow flow;
    bool is_root;
};

/* Inputs whose clocks are one: a clock domain, or a file of another tool. */
struct unit {
    bool is_import, is_used; /* used: it has an input */
    bool is_aligned;         /* its times are on the axis, within error_ns */
    bool is_contradictory;
    size_t round; /* in which it was fitted */
    uint64_t error_ns;
    uint64_t from_ns, to_ns; /* of its bounds: before and after them, the drift adds to the error */
    struct ss_clock_bounds bounds;
    size_t ping_bounds;                /* of them */
    struct ss_clock_segments segments; /* none: its times stay */
};

/* One mark of a ping. Times are on the provisional axis. */
struct ping {
    uint32_t unit, other; /* whose mark it is, and whose clock it is about */
    uint64_t time_ns, other_ns;
    bool is_upper; /* the other showed other_ns after time_ns */
};

struct aligning {
    struct ss_model *model;
    struct unit *units; /* by clock domain, then by input */
    size_t unit_count;
    struct ss_vec_of(struct call) calls; /* by group, number, unit */
    struct ss_vec_of(struct ping) pings;
};

/* --- units ------------------------------------------------------------------------------------ */

static uint32_t unit_of_input(const struct ss_model *model, uint32_t input)
{
    const struct ss_model_input *row = &model->inputs.data[input];
    return row->kind == SS_INPUT_IMPORT ? (uint32_t)model->clock_domains.count + input
                                        : row->clock_domain;
}

/* The first input on the axis is the reference; what shares its machine's clock needs no fit. */
static void find_units(struct aligning *aligning)
{
    const struct ss_model *model = aligning->model;
    bool has_reference = false;
    aligning->unit_count = model->clock_domains.count + model->inputs.count;
    aligning->units = ss_alloc_zero(aligning->unit_count, sizeof *aligning->units);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        const struct ss_model_clock_domain *domain =
            &model->clock_domains.data[input->clock_domain];
        struct unit *unit = &aligning->units[unit_of_input(model, i)];
        if (domain->mapping == SS_CLOCK_UNMAPPED) {
            continue;
        }
        unit->is_used = true;
        unit->is_import = input->kind == SS_INPUT_IMPORT;
        unit->from_ns = UINT64_MAX;
        bool is_exact = domain->mapping != SS_CLOCK_BY_WALL && !unit->is_import;
        if (!has_reference || is_exact) {
            unit->is_aligned = true;
            unit->error_ns = is_exact ? domain->error_ns : 0;
        }
        has_reference = true;
    }
}

static bool needs_alignment(const struct aligning *aligning)
{
    for (size_t i = 0; i < aligning->unit_count; i++) {
        if (aligning->units[i].is_used && !aligning->units[i].is_aligned) {
            return true;
        }
    }
    return false;
}

/* --- calls ------------------------------------------------------------------------------------ */

static bool is_call(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_track *track = &model->tracks.data[range->track];
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    struct ss_strview text = ss_intern_get(&model->strings, name->text);
    const unsigned cut = SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN | SS_RANGE_OUTSIDE;
    if ((range->flags & cut) != 0) {
        return false;
    }
    return track->stream != 0
               ? name->type == SS_EVENT_TYPE_kernel && ss_device_kernel_communicates(text)
               : name->type == SS_EVENT_TYPE_collective && !ss_collective_is_queued(text);
}

static struct ss_strview kind_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_field *kind =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_collective);
    uint32_t name = model->paths.data[range->path].name;
    return ss_intern_get(&model->strings, kind != NULL && kind->type == SS_VALUE_TEXT
                                              ? kind->text
                                              : model->names.data[name].text);
}

static void add_call(struct aligning *aligning, const struct ss_model_range *range)
{
    const struct ss_model *model = aligning->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    uint32_t process =
        track->thread != 0 ? model->threads.data[track->thread].process : track->process;
    const struct ss_model_field *group =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_group);
    const struct ss_model_field *sequence =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_sequence);
    const struct ss_model_field *root =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_root);
    if (group == NULL || sequence == NULL || group->natural >= model->groups.count) {
        return;
    }
    const struct ss_model_process *row = &model->processes.data[process];
    struct call call = {.group = model->groups.data[group->natural].name,
                        .sequence = sequence->integer,
                        .process = process,
                        .unit = unit_of_input(model, row->input),
                        .enter_ns = range->begin_ns,
                        .exit_ns = range->end_ns,
                        .flow = ss_collective_flow_of(kind_of(model, range)),
                        .is_root = root != NULL && row->has_rank && root->natural == row->rank};
    if (call.flow != SS_FLOW_OF_TWO && aligning->units[call.unit].is_used) {
        ss_vec_push(&aligning->calls, call);
    }
}

static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->sequence != b->sequence) {
        return a->sequence < b->sequence ? -1 : 1;
    }
    if (a->unit != b->unit) {
        return a->unit < b->unit ? -1 : 1;
    }
    return (a->process > b->process) - (a->process < b->process);
}

static void collect(struct aligning *aligning)
{
    const struct ss_model *model = aligning->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (is_call(model, range)) {
            add_call(aligning, range);
        }
    }
    if (aligning->calls.count > 1) {
        qsort(aligning->calls.data, aligning->calls.count, sizeof *aligning->calls.data,
              compare_calls);
    }
}

/* --- pings ------------------------------------------------------------------------------------ */

/* 0: no input has this clock. */
static uint32_t domain_of(const struct ss_model *model, struct ss_strview boot,
                          uint64_t time_namespace)
{
    for (uint32_t i = 1; i < model->clock_domains.count; i++) {
        const struct ss_model_clock_domain *domain = &model->clock_domains.data[i];
        if (ss_strview_equal(ss_intern_get(&model->strings, domain->boot), boot) &&
            domain->time_namespace == time_namespace) {
            return i;
        }
    }
    return 0;
}

static void collect_pings(struct aligning *aligning)
{
    const struct ss_model *model = aligning->model;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        const struct ss_model_payload *payload = &model->payloads.data[mark->payload];
        const struct ss_model_name *name = &model->names.data[mark->name];
        struct ss_strview boot;
        uint64_t time_namespace;
        if (name->type != SS_EVENT_TYPE_clock || payload->type != SS_VALUE_INT ||
            !ss_clock_ping_track(ss_intern_get(&model->strings, track->name), &boot,
                                 &time_namespace)) {
            continue;
        }
        uint32_t other = domain_of(model, boot, time_namespace);
        struct ping ping = {.unit = unit_of_input(model, track->input),
                            .other = other,
                            .time_ns = mark->time_ns,
                            .other_ns = (uint64_t)payload->integer +
                                        (uint64_t)model->clock_domains.data[other].shift_ns,
                            .is_upper = ss_strview_equal(ss_intern_get(&model->strings, name->text),
                                                         ss_strview_of("at most"))};
        if (other != 0 && other != ping.unit && aligning->units[ping.unit].is_used) {
            ss_vec_push(&aligning->pings, ping);
        }
    }
}

/* --- bounds ----------------------------------------------------------------------------------- */

static size_t end_of(const struct aligning *aligning, size_t first)
{
    const struct call *calls = aligning->calls.data;
    size_t end = first + 1;
    while (end < aligning->calls.count && calls[end].group == calls[first].group &&
           calls[end].sequence == calls[first].sequence) {
        end++;
    }
    return end;
}

/* A sequence number that occurs twice in a process identifies no collective. */
static bool is_unique(const struct call *calls, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (calls[i].process == calls[i - 1].process) {
            return false;
        }
    }
    return true;
}

static bool delays_others(const struct call *call)
{
    return call->flow == SS_FLOW_ALL || (call->flow == SS_FLOW_FROM_ROOT && call->is_root) ||
           (call->flow == SS_FLOW_TO_ROOT && !call->is_root);
}

static bool waits_for_others(const struct call *call)
{
    return call->flow == SS_FLOW_ALL || (call->flow == SS_FLOW_FROM_ROOT && !call->is_root) ||
           (call->flow == SS_FLOW_TO_ROOT && call->is_root);
}

static uint64_t on_axis(const struct unit *unit, uint64_t time_ns)
{
    return unit->segments.count > 0
               ? ss_clock_fit_map(unit->segments.data, unit->segments.count, time_ns)
               : time_ns;
}

/* What the aligned ranks of a collective say of the others: all entries that delay are before the
 * earliest exit that waits. Times on the axis, widened by the errors. */
struct known {
    uint64_t earliest_exit_ns, latest_enter_ns;
};

static struct known find_known(const struct aligning *aligning, size_t first, size_t end,
                               size_t round)
{
    struct known known = {UINT64_MAX, 0};
    for (size_t i = first; i < end; i++) {
        const struct call *call = &aligning->calls.data[i];
        const struct unit *unit = &aligning->units[call->unit];
        if (!unit->is_aligned || unit->round >= round) {
            continue;
        }
        uint64_t exit_ns = on_axis(unit, call->exit_ns) + unit->error_ns;
        uint64_t enter_ns = on_axis(unit, call->enter_ns);
        enter_ns = enter_ns > unit->error_ns ? enter_ns - unit->error_ns : 0;
        if (waits_for_others(call) && exit_ns < known.earliest_exit_ns) {
            known.earliest_exit_ns = exit_ns;
        }
        if (delays_others(call) && enter_ns > known.latest_enter_ns) {
            known.latest_enter_ns = enter_ns;
        }
    }
    return known;
}

static void add_bound(struct unit *unit, uint64_t time_ns, uint64_t axis_ns, bool is_upper)
{
    unit->from_ns = time_ns < unit->from_ns ? time_ns : unit->from_ns;
    unit->to_ns = time_ns > unit->to_ns ? time_ns : unit->to_ns;
    ss_vec_push(&unit->bounds,
                (struct ss_clock_bound){time_ns, (int64_t)(axis_ns - time_ns), is_upper});
}

static void add_bounds(struct aligning *aligning, size_t first, size_t end, size_t round)
{
    struct known known = find_known(aligning, first, end, round);
    for (size_t i = first; i < end; i++) {
        const struct call *call = &aligning->calls.data[i];
        struct unit *unit = &aligning->units[call->unit];
        if (unit->is_aligned || unit->is_contradictory) {
            continue;
        }
        if (delays_others(call) && known.earliest_exit_ns != UINT64_MAX) {
            add_bound(unit, call->enter_ns, known.earliest_exit_ns, true);
        }
        if (waits_for_others(call) && known.latest_enter_ns != 0) {
            add_bound(unit, call->exit_ns, known.latest_enter_ns, false);
        }
    }
}

static bool is_open(const struct unit *unit)
{
    return !unit->is_aligned && !unit->is_contradictory;
}

/* A ping bounds either clock by the other. */
static void add_ping_bounds(struct aligning *aligning, size_t round)
{
    for (size_t i = 0; i < aligning->pings.count; i++) {
        const struct ping *ping = &aligning->pings.data[i];
        struct unit *unit = &aligning->units[ping->unit], *other = &aligning->units[ping->other];
        if (is_open(unit) && other->is_aligned && other->round < round) {
            uint64_t axis_ns = on_axis(other, ping->other_ns);
            axis_ns = ping->is_upper ? axis_ns + other->error_ns : axis_ns - other->error_ns;
            add_bound(unit, ping->time_ns, axis_ns, ping->is_upper);
            unit->ping_bounds++;
        } else if (is_open(other) && unit->is_aligned && unit->round < round) {
            uint64_t axis_ns = on_axis(unit, ping->time_ns);
            axis_ns = ping->is_upper ? axis_ns - unit->error_ns : axis_ns + unit->error_ns;
            add_bound(other, ping->other_ns, axis_ns, !ping->is_upper);
            other->ping_bounds++;
        }
    }
}

/* --- fitting ---------------------------------------------------------------------------------- */

/* Whether the times as they are satisfy all bounds. */
static bool is_consistent(const struct unit *unit)
{
    for (size_t i = 0; i < unit->bounds.count; i++) {
        const struct ss_clock_bound *bound = &unit->bounds.data[i];
        if (bound->is_upper ? bound->difference_ns < 0 : bound->difference_ns > 0) {
            return false;
        }
    }
    return true;
}

static void fit(struct unit *unit, size_t round)
{
    if (unit->is_import && is_consistent(unit)) {
        unit->is_aligned = true; /* the wall clock does; its error is not known */
        unit->round = round;
        return;
    }
    if (!ss_clock_fit(&unit->bounds, unit->from_ns, unit->to_ns, &unit->segments)) {
        unit->is_contradictory = true;
        return;
    }
    unit->is_aligned = true;
    unit->round = round;
    for (size_t i = 0; i < unit->segments.count; i++) {
        uint64_t error_ns = unit->segments.data[i].error_ns;
        unit->error_ns = error_ns > unit->error_ns ? error_ns : unit->error_ns;
    }
}

/* Fits what has collectives with units of earlier rounds. false: nothing has. */
static bool fit_round(struct aligning *aligning, size_t round)
{
    bool has_any = false;
    add_ping_bounds(aligning, round);
    for (size_t first = 0, end; first < aligning->calls.count; first = end) {
        end = end_of(aligning, first);
        if (is_unique(&aligning->calls.data[first], end - first)) {
            add_bounds(aligning, first, end, round);
        }
    }
    for (size_t i = 0; i < aligning->unit_count; i++) {
        struct unit *unit = &aligning->units[i];
        if (unit->bounds.count > 0 && !unit->is_aligned && !unit->is_contradictory) {
            fit(unit, round);
            has_any = true;
        }
    }
    return has_any;
}

/* --- results ---------------------------------------------------------------------------------- */

static void store(struct aligning *aligning)
{
    struct ss_model *model = aligning->model;
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        struct ss_model_input *input = &model->inputs.data[i];
        const struct unit *unit = &aligning->units[unit_of_input(model, i)];
        struct ss_model_alignment *alignment = &input->alignment;
        alignment->is_contradictory = unit->is_contradictory;
        alignment->is_fitted = unit->segments.count > 0;
        alignment->bounds = unit->bounds.count;
        alignment->ping_bounds = unit->ping_bounds;
        alignment->segments = unit->segments.count;
        alignment->first_segment = model->clock_segments.count;
        for (size_t k = 0; k < unit->segments.count; k++) {
            ss_vec_push(&model->clock_segments, unit->segments.data[k]);
        }
        alignment->error_ns = unit->error_ns;
        if (unit->segments.count > 0) {
            const struct ss_clock_segment *first = &unit->segments.data[0];
            alignment->offset_ns = first->offset_ns;
            alignment->drift = first->drift;
            struct ss_model_clock_domain *domain = &model->clock_domains.data[input->clock_domain];
            if (!unit->is_import) {
                domain->mapping = SS_CLOCK_FITTED;
                domain->error_ns = unit->error_ns;
            }
        }
    }
}

static void move(struct aligning *aligning)
{
    struct ss_model *model = aligning->model;
    struct ss_clock_moves moves = {
        .by_input = ss_alloc_zero(model->inputs.count + 1, sizeof *moves.by_input)};
    bool has_any = false;
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const struct unit *unit = &aligning->units[unit_of_input(model, i)];
        moves.by_input[i] = unit->segments.count > 0 ? &unit->segments : NULL;
        has_any = has_any || unit->segments.count > 0;
    }
    if (has_any) {
        ss_clock_move(model, &moves);
    }
    ss_free(moves.by_input);
}

void ss_clock_align(struct ss_model *model)
{
    struct aligning aligning = {.model = model};
    find_units(&aligning);
    if (needs_alignment(&aligning)) {
        collect(&aligning);
        collect_pings(&aligning);
        for (size_t round = 1; fit_round(&aligning, round); round++) {
        }
        store(&aligning);
        move(&aligning);
    }
    for (size_t i = 0; i < aligning.unit_count; i++) {
        ss_vec_fini(&aligning.units[i].bounds);
        ss_vec_fini(&aligning.units[i].segments);
    }
    ss_vec_fini(&aligning.calls);
    ss_vec_fini(&aligning.pings);
    ss_free(aligning.units);
}
