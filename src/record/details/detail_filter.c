/* SPDX-License-Identifier: Apache-2.0 */
#include "record/details/detail_filter.h"

#include <stdio.h>

#include "base/device_api.h"
#include "base/shared_names.h"
#include "record/details/detail_filter_inside.h"

/* Stamps are converted with a clock that is compared with the system's periodically: the times may
 * be off by this much. */
static const uint64_t slack_ns = UINT64_C(1000000);
static const uint64_t slice_ns = UINT64_C(1000000000);
/* Sums are written after so long, or after this part of what is recorded, whichever is longer. */
static const uint64_t interval_ns = UINT64_C(60000000000);
enum { INTERVAL_PARTS = 64, MOST_CHANGES = 8192 };

/* --- what events are -------------------------------------------------------------------------- */

static bool is_on_lane(enum ss_annot_kind kind)
{
    return kind == SS_ANNOT_RANGE_BEGIN || kind == SS_ANNOT_RANGE_END || kind == SS_ANNOT_MARK ||
           kind == SS_ANNOT_FLOW;
}

static enum ss_detail_kind kind_of(const struct ss_detail_filter *filter,
                                   const struct ss_annot_event *event)
{
    bool is_range = event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_RANGE_END;
    if (!is_on_lane(event->kind) || event->domain >= SS_RING_MAX_DOMAINS) {
        return SS_DETAIL_NONE;
    }
    enum ss_detail_kind kind = (enum ss_detail_kind)filter->domains[event->domain];
    if (kind != SS_DETAIL_NONE) {
        bool is_thinned = is_range && (kind != SS_DETAIL_MODULES || filter->has_steps);
        return is_thinned ? kind : SS_DETAIL_NONE;
    }
    return filter->thins_ranges && !filter->is_shared[event->domain] ? SS_DETAIL_RANGES
                                                                     : SS_DETAIL_NONE;
}

static struct ss_detail_lane *lane_of(struct ss_detail_filter *filter,
                                      const struct ss_annot_event *event)
{
    if (event->lane >= filter->lanes.count) {
        ss_vec_resize(&filter->lanes, (size_t)event->lane + 1);
    }
    return &filter->lanes.data[event->lane];
}

/* --- one event -------------------------------------------------------------------------------- */

static void forward(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    filter->to.event(filter->to.context, event);
}

static enum ss_detail_name what_is(const struct ss_detail_filter *filter, uint32_t name)
{
    return name < filter->names.count ? filter->names.data[name].what : SS_DETAIL_NAME_CALL;
}

/* Follows the main thread's outermost operators, of a summed unit. */
static void follow_main(struct ss_detail_filter *filter, const struct ss_detail_nest *nest,
                        const struct ss_annot_event *event)
{
    if (event->tid != filter->main_tid || nest->open.count > 0) {
        return;
    }
    if (event->kind == SS_ANNOT_RANGE_BEGIN) {
        ss_detail_waits_gap(filter, event->time_ns);
    }
    filter->busy_ns = event->time_ns > filter->busy_ns ? event->time_ns : filter->busy_ns;
}

static struct ss_detail_nest *nest_of(struct ss_detail_lane *lane, enum ss_detail_kind kind,
                                      uint32_t domain)
{
    if (kind != SS_DETAIL_RANGES) {
        return &lane->nests[kind];
    }
    if (domain >= lane->own.count) {
        ss_vec_resize(&lane->own, (size_t)domain + 1);
    }
    return &lane->own.data[domain];
}

/* The previous thread has ended, with its ranges. */
static void begin_thread(struct ss_detail_lane *lane, uint32_t thread)
{
    lane->thread = thread;
    for (size_t i = 0; i < SS_DETAIL_KINDS; i++) {
        ss_vec_clear(&lane->nests[i].open);
    }
    for (size_t i = 0; i < lane->own.count; i++) {
        ss_vec_clear(&lane->own.data[i].open);
    }
}

/* Returns whether it is written: as its start is, wherever it ends. Its time counts in the unit of
 * the end. */
static bool process_range(struct ss_detail_filter *filter, struct ss_detail_lane *lane,
                          enum ss_detail_kind kind, const struct ss_annot_event *event,
                          const struct ss_detail_unit *unit)
{
    struct ss_detail_nest *nest = nest_of(lane, kind, event->domain);
    bool is_written = unit->detail != SS_DETAIL_SUMS;
    bool is_followed = kind == SS_DETAIL_OPERATORS && !is_written;
    if (event->kind == SS_ANNOT_RANGE_BEGIN) {
        if (is_followed) {
            follow_main(filter, nest, event);
        }
        ss_detail_sums_begin(&filter->sums, nest,
                             kind == SS_DETAIL_OPERATORS ? &lane->nests[SS_DETAIL_MODULES] : NULL,
                             event, what_is(filter, event->name), is_written);
        return is_written;
    }
    bool counts = !is_written && (kind != SS_DETAIL_OPERATORS || unit->has_operators);
    bool was_written =
        ss_detail_sums_end(&filter->sums, nest, counts ? kind : SS_DETAIL_NONE, event->time_ns);
    if (is_followed) {
        follow_main(filter, nest, event);
    }
    return was_written;
}

static void process(struct ss_detail_filter *filter, struct ss_detail_lane *lane,
                    const struct ss_annot_event *event, const struct ss_detail_unit *unit)
{
    enum ss_detail_kind kind = (enum ss_detail_kind)filter->domains[event->domain];
    kind = kind == SS_DETAIL_NONE ? SS_DETAIL_RANGES : kind;
    bool is_written = unit->detail != SS_DETAIL_SUMS;
    if (lane->thread != event->thread) {
        begin_thread(lane, event->thread);
    }
    if (event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_RANGE_END) {
        is_written = process_range(filter, lane, kind, event, unit);
    } else if (event->kind == SS_ANNOT_MARK && !is_written) {
        ss_detail_sums_mark(&filter->sums, event->name);
    }
    if (is_written) {
        forward(filter, event);
    }
}

/* --- units ------------------------------------------------------------------------------------ */

static void process_lane(struct ss_detail_filter *filter, size_t index,
                         const struct ss_detail_unit *unit, uint64_t until_ns)
{
    struct ss_detail_lane *lane = &filter->lanes.data[index];
    while (lane->first < lane->held.count && lane->held.data[lane->first].time_ns < until_ns) {
        process(filter, lane, &lane->held.data[lane->first++], unit);
        filter->held--;
    }
    if (lane->first == lane->held.count) {
        ss_vec_clear(&lane->held);
        lane->first = 0;
    } else if (lane->first > lane->held.count / 2) {
        size_t count = lane->held.count - lane->first;
        memmove(lane->held.data, lane->held.data + lane->first, count * sizeof *lane->held.data);
        lane->held.count = count;
        lane->first = 0;
    }
}

/* The thread that marks steps comes first: it calls forward what others run backward. */
static void process_until(struct ss_detail_filter *filter, const struct ss_detail_unit *unit,
                          uint64_t until_ns)
{
    if (filter->step_lane < filter->lanes.count) {
        process_lane(filter, filter->step_lane, unit, until_ns);
    }
    for (size_t i = 0; i < filter->lanes.count; i++) {
        if (i != filter->step_lane) {
            process_lane(filter, i, unit, until_ns);
        }
    }
}

static void say(struct ss_detail_filter *filter, uint64_t time_ns, enum ss_detail detail)
{
    if (detail == filter->last) {
        return;
    }
    if (filter->changes.count == MOST_CHANGES) {
        filter->changes.count /= 2;
        memcpy(filter->changes.data, filter->changes.data + filter->changes.count,
               filter->changes.count * sizeof *filter->changes.data);
    }
    ss_vec_push(&filter->changes, (struct ss_detail_change){time_ns, detail});
    filter->last = detail;
    filter->output.detail(filter->output.context, time_ns, detail);
}

enum ss_detail ss_detail_filter_at(const struct ss_detail_filter *filter, uint64_t time_ns)
{
    if (!filter->has_steps) {
        return SS_DETAIL_FULL;
    }
    if (!filter->is_thinning && time_ns >= filter->known_ns) {
        return SS_DETAIL_UNDECIDED; /* a step before it may be the first that is thinned */
    }
    for (size_t i = filter->units.count; i-- > 0;) {
        if (filter->units.data[i].begin_ns <= time_ns) {
            bool may_be_of_the_next =
                filter->units.data[i].end_ns == UINT64_MAX && time_ns >= filter->known_ns;
            return may_be_of_the_next ? SS_DETAIL_UNDECIDED : filter->units.data[i].detail;
        }
    }
    for (size_t i = filter->changes.count; i-- > 0;) {
        if (filter->changes.data[i].time_ns <= time_ns) {
            return filter->changes.data[i].detail;
        }
    }
    return SS_DETAIL_FULL;
}

bool ss_detail_filter_thins(const struct ss_detail_filter *filter)
{
    return filter->is_thinning;
}

void ss_detail_filter_spend(struct ss_detail_filter *filter, enum ss_detail detail, uint64_t events)
{
    if (filter->is_thinning) {
        ss_detail_budget_spend(filter->budget, detail, events);
    } else {
        filter->passed += events;
    }
}

static void write_sums(struct ss_detail_filter *filter)
{
    if (filter->interval.begin_ns != 0) {
        filter->output.sums(filter->output.context, &filter->interval, filter->sums.rows.data,
                            filter->sums.rows.count);
        ss_detail_sums_clear(&filter->sums);
        filter->interval = (struct ss_detail_interval){0};
    }
}

static void add_to_interval(struct ss_detail_filter *filter, const struct ss_detail_unit *unit)
{
    struct ss_detail_interval *interval = &filter->interval;
    uint64_t ns = unit->end_ns - unit->begin_ns;
    interval->begin_ns = interval->begin_ns == 0 ? unit->begin_ns : interval->begin_ns;
    interval->end_ns = unit->end_ns;
    interval->steps += unit->is_step;
    interval->steps_ns += unit->is_step ? ns : 0;
    interval->operator_steps += unit->is_step && unit->has_operators;
    interval->operator_steps_ns += unit->is_step && unit->has_operators ? ns : 0;
    uint64_t part_ns = (unit->end_ns - filter->budget->begin_ns) / INTERVAL_PARTS;
    if (unit->end_ns - interval->begin_ns >= (part_ns > interval_ns ? part_ns : interval_ns)) {
        write_sums(filter);
    }
}

/* All events of the unit have arrived. */
static void finish_unit(struct ss_detail_filter *filter, const struct ss_detail_unit *unit)
{
    say(filter, unit->begin_ns, unit->detail);
    if (unit->detail != SS_DETAIL_SUMS) {
        ss_detail_budget_spend(filter->budget, unit->detail, unit->events);
        process_until(filter, unit, unit->end_ns);
        ss_detail_waits_close(filter, unit);
        return;
    }
    ss_detail_waits_open(filter, unit);
    process_until(filter, unit, unit->end_ns);
    ss_detail_waits_close(filter, unit);
    add_to_interval(filter, unit);
}

static struct ss_detail_unit *open_unit(struct ss_detail_filter *filter)
{
    return &filter->units.data[filter->units.count - 1];
}

/* `step`: NULL: what begins is none. */
static void begin_unit(struct ss_detail_filter *filter, uint64_t time_ns,
                       const struct ss_annot_event *step)
{
    int64_t number = step != NULL ? (int64_t)step->value : (int64_t)filter->slices++;
    enum ss_detail detail = ss_detail_plan(&filter->steps, filter->budget, number);
    filter->thins_ranges = filter->thins_ranges || ss_detail_budget_is_used_up(filter->budget);
    if (detail == SS_DETAIL_UNDECIDED && step == NULL) {
        detail = SS_DETAIL_SUMS;
    }
    ss_vec_push(&filter->units, (struct ss_detail_unit){.begin_ns = time_ns,
                                                        .end_ns = UINT64_MAX,
                                                        .detail = detail,
                                                        .is_step = step != NULL,
                                                        .has_operators = true});
}

/* A step, or what lies between steps, ends at `time_ns`, and another one begins. */
static void cut(struct ss_detail_filter *filter, uint64_t time_ns,
                const struct ss_annot_event *step)
{
    struct ss_detail_unit *unit = open_unit(filter);
    unit->end_ns = time_ns > unit->begin_ns ? time_ns : unit->begin_ns;
    unit->has_operators = filter->operators > 0;
    unit->detail = ss_detail_settle(&filter->steps, filter->budget, unit->detail,
                                    unit->end_ns - unit->begin_ns, unit->events);
    begin_unit(filter, unit->end_ns, step);
}

/* From the start of a step on, or of any time where there are none. */
static void begin_thinning(struct ss_detail_filter *filter, uint64_t time_ns,
                           const struct ss_annot_event *step)
{
    filter->is_thinning = true;
    filter->busy_ns = time_ns;
    /* What is older may still be in rings. */
    ss_vec_push(&filter->units,
                (struct ss_detail_unit){.end_ns = time_ns, .detail = SS_DETAIL_FULL});
    begin_unit(filter, time_ns, step);
}

/* Of a step in full, before any is thinned: the next ones are compared with it. */
static void pass_step(struct ss_detail_filter *filter, uint64_t time_ns)
{
    if (filter->edge_ns != 0 && time_ns > filter->edge_ns) {
        ss_detail_settle(&filter->steps, filter->budget, SS_DETAIL_FULL, time_ns - filter->edge_ns,
                         filter->passed - filter->passed_before);
    }
    filter->edge_ns = time_ns;
    filter->passed_before = filter->passed;
}

static void on_step(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    const struct ss_annot_event *step = event->kind == SS_ANNOT_STEP ? event : NULL;
    filter->has_steps = true;
    filter->step_lane = event->lane;
    if (filter->is_thinning) {
        cut(filter, event->time_ns, step);
        return;
    }
    pass_step(filter, event->time_ns);
    say(filter, event->time_ns, SS_DETAIL_FULL); /* where the filter was stopped */
    if (ss_detail_budget_thins(filter->budget) && !filter->is_off) {
        begin_thinning(filter, event->time_ns, step);
    }
}

/* The last step is in full: it is where the program ended. */
static void finish(struct ss_detail_filter *filter)
{
    filter->known_ns = UINT64_MAX;
    if (!filter->is_thinning) {
        return;
    }
    struct ss_detail_unit *last = open_unit(filter);
    last->detail = last->detail == SS_DETAIL_UNDECIDED ? SS_DETAIL_STOOD_OUT : last->detail;
    for (size_t i = 0; i < filter->units.count; i++) {
        if (filter->units.data[i].end_ns != UINT64_MAX) {
            finish_unit(filter, &filter->units.data[i]);
        }
    }
    say(filter, last->begin_ns, last->detail);
    process_until(filter, last, UINT64_MAX);
    write_sums(filter);
    ss_vec_clear(&filter->units);
    filter->is_thinning = false;
}

void ss_detail_filter_stop(struct ss_detail_filter *filter)
{
    filter->was_thinning = filter->was_thinning || filter->is_thinning;
    finish(filter);
    filter->is_off = true;
}

/* The part of the open unit that has arrived: as soon as its kind is known, nothing waits. */
static void drain_open(struct ss_detail_filter *filter, uint64_t until_ns)
{
    struct ss_detail_unit *unit = open_unit(filter);
    if (unit->detail == SS_DETAIL_UNDECIDED && filter->held > SS_DETAIL_MOST_HELD) {
        unit->detail = SS_DETAIL_SUMS;
    }
    if (unit->detail != SS_DETAIL_UNDECIDED) {
        say(filter, unit->begin_ns, unit->detail);
        process_until(filter, unit, until_ns);
    }
}

void ss_detail_filter_drained(struct ss_detail_filter *filter, uint64_t began_ns)
{
    uint64_t until_ns = began_ns > slack_ns ? began_ns - slack_ns : 0;
    filter->known_ns = filter->known_ns == UINT64_MAX ? UINT64_MAX : until_ns;
    if (!filter->is_thinning) {
        ss_detail_budget_spend(filter->budget, SS_DETAIL_FULL, filter->passed - filter->spent);
        filter->spent = filter->passed;
        if (!filter->has_steps && !filter->is_off && ss_detail_budget_thins(filter->budget) &&
            until_ns > 0) {
            begin_thinning(filter, until_ns, NULL);
        }
        return;
    }
    size_t done = 0;
    while (filter->units.data[done].end_ns <= until_ns) { /* the last one is open */
        finish_unit(filter, &filter->units.data[done++]);
    }
    for (size_t i = done; i < filter->units.count; i++) {
        filter->units.data[i - done] = filter->units.data[i];
    }
    filter->units.count -= done;
    if (filter->units.count == 1) {
        drain_open(filter, until_ns);
    }
    if (!filter->has_steps && until_ns >= open_unit(filter)->begin_ns + slice_ns) {
        cut(filter, until_ns, NULL);
    }
}

/* --- the sink interface ----------------------------------------------------------------------- */

static void hold(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    struct ss_detail_lane *lane = lane_of(filter, event);
    ss_vec_push(&lane->held, *event);
    filter->held++;
    open_unit(filter)->events++;
}

static void on_detail(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    static const struct ss_detail_unit full = {.detail = SS_DETAIL_FULL};
    if (filter->is_thinning) {
        hold(filter, event);
    } else if (filter->was_thinning) { /* ends may be of ranges that were not written */
        process(filter, lane_of(filter, event), event, &full);
    } else {
        filter->passed++;
        forward(filter, event);
    }
}

static void on_count(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    if (event->name < filter->names.count &&
        filter->names.data[event->name].is_operators_recorded) {
        filter->operators = (int64_t)event->value;
    }
}

static void on_event(void *context, const struct ss_annot_event *event)
{
    struct ss_detail_filter *filter = context;
    if (kind_of(filter, event) != SS_DETAIL_NONE) {
        on_detail(filter, event);
        return;
    }
    switch (event->kind) {
    case SS_ANNOT_STEP:
    case SS_ANNOT_STEPS_END:
        on_step(filter, event);
        break;
    case SS_ANNOT_PHASE:
        ss_detail_waits_phase(filter, event->time_ns);
        break;
    case SS_ANNOT_ASYNC_BEGIN:
        ss_detail_waits_begin(filter, event);
        break;
    case SS_ANNOT_ASYNC_END:
        ss_detail_waits_end(filter, event);
        break;
    case SS_ANNOT_COUNT:
        on_count(filter, event);
        break;
    case SS_ANNOT_PROCESS_END:
        finish(filter);
        break;
    default:
        break;
    }
    forward(filter, event);
}

static void on_name(void *context, const struct ss_annot_name *name)
{
    static const char evaluation[] = "autograd::engine::evaluate_function";
    struct ss_detail_filter *filter = context;
    if (name->id >= filter->names.count) {
        ss_vec_resize(&filter->names, (size_t)name->id + 1);
    }
    struct ss_detail_name_facts *facts = &filter->names.data[name->id];
    bool is_backward = name->category < filter->names.count &&
                       filter->names.data[name->category].is_backward_category;
    bool is_evaluation = name->text.length >= sizeof evaluation - 1 &&
                         memcmp(name->text.data, evaluation, sizeof evaluation - 1) == 0;
    *facts = (struct ss_detail_name_facts){
        .category = name->category,
        .is_backward_category = ss_strview_equal(name->text, ss_strview_of(ss_phase_backward)),
        .is_operators_recorded =
            ss_strview_equal(name->text, ss_strview_of(ss_counter_operators_recorded)),
        .what = is_backward || is_evaluation ? SS_DETAIL_NAME_BACKWARD : SS_DETAIL_NAME_CALL,
        .is_waited_for = ss_collective_is_waited_for(name->text, name->type)};
    filter->to.name(filter->to.context, name);
}

static bool is_shared(struct ss_strview text)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(text.length < 63 ? text.length : 63), text.data);
    return ss_is_shared_domain(name);
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct ss_detail_filter *filter = context;
    if (id < SS_RING_MAX_DOMAINS) {
        filter->domains[id] =
            ss_strview_equal(text, ss_strview_of(ss_domain_torch))          ? SS_DETAIL_OPERATORS
            : ss_strview_equal(text, ss_strview_of(ss_domain_torch_module)) ? SS_DETAIL_MODULES
                                                                            : SS_DETAIL_NONE;
        filter->has_collectives[id] = ss_strview_equal(text, ss_strview_of(ss_domain_torch)) ||
                                      ss_strview_equal(text, ss_strview_of(ss_domain_nccl)) ||
                                      ss_strview_equal(text, ss_strview_of(ss_domain_mpi));
        filter->is_shared[id] = is_shared(text);
    }
    filter->to.domain(filter->to.context, id, text);
}

static void on_counter(void *context, const struct ss_annot_counter *counter)
{
    struct ss_detail_filter *filter = context;
    filter->to.counter(filter->to.context, counter);
}

/* --- life ------------------------------------------------------------------------------------- */

struct ss_detail_filter *ss_detail_filter_new(const struct ss_annot_sink *to,
                                              const struct ss_detail_output *output,
                                              struct ss_detail_budget *budget, int32_t main_tid)
{
    struct ss_detail_filter *filter = ss_alloc_zero(1, sizeof *filter);
    filter->to = *to;
    filter->output = *output;
    filter->budget = budget;
    filter->main_tid = main_tid;
    filter->operators = 1;
    filter->last = SS_DETAIL_FULL;
    ss_detail_sums_init(&filter->sums);
    return filter;
}

void ss_detail_filter_free(struct ss_detail_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    for (size_t i = 0; i < filter->lanes.count; i++) {
        ss_vec_fini(&filter->lanes.data[i].held);
        for (size_t kind = 0; kind < SS_DETAIL_KINDS; kind++) {
            ss_vec_fini(&filter->lanes.data[i].nests[kind].open);
        }
        for (size_t domain = 0; domain < filter->lanes.data[i].own.count; domain++) {
            ss_vec_fini(&filter->lanes.data[i].own.data[domain].open);
        }
        ss_vec_fini(&filter->lanes.data[i].own);
    }
    ss_vec_fini(&filter->lanes);
    ss_vec_fini(&filter->names);
    ss_vec_fini(&filter->units);
    ss_vec_fini(&filter->changes);
    ss_vec_fini(&filter->collectives);
    ss_vec_fini(&filter->phases);
    ss_detail_sums_fini(&filter->sums);
    ss_free(filter);
}

struct ss_annot_sink ss_detail_filter_sink(struct ss_detail_filter *filter)
{
    return (struct ss_annot_sink){.context = filter,
                                  .name = on_name,
                                  .domain = on_domain,
                                  .counter = on_counter,
                                  .event = on_event};
}
