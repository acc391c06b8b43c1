/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for collectives, as analysis/steps/exposed_communication.h defines them, of summed steps.
 */
#include <stdlib.h>

#include "record/details/detail_filter_inside.h"

enum { MOST_COLLECTIVES = 4096, MOST_PHASES = 65536, LONG_WAITS = 32 /* of a step, at most */ };
/* Shorter gaps between operators are the program's own code. */
static const uint64_t least_wait_ns = UINT64_C(20000);

static bool is_waited_for(const struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    return event->domain < SS_RING_MAX_DOMAINS && filter->has_collectives[event->domain] &&
           event->name < filter->names.count && filter->names.data[event->name].is_waited_for;
}

void ss_detail_waits_begin(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    if (filter->is_thinning && is_waited_for(filter, event) &&
        filter->collectives.count < MOST_COLLECTIVES) {
        ss_vec_push(&filter->collectives,
                    (struct ss_detail_collective){event->id, event->time_ns, UINT64_MAX});
    }
}

void ss_detail_waits_end(struct ss_detail_filter *filter, const struct ss_annot_event *event)
{
    for (size_t i = filter->collectives.count; i-- > 0;) {
        struct ss_detail_collective *collective = &filter->collectives.data[i];
        if (collective->id == event->id && collective->end_ns == UINT64_MAX) {
            collective->end_ns = event->time_ns;
            return;
        }
    }
}

static int by_begin(const void *left, const void *right)
{
    const struct ss_detail_collective *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

void ss_detail_waits_open(struct ss_detail_filter *filter, const struct ss_detail_unit *unit)
{
    if (filter->collectives.count > 1) {
        qsort(filter->collectives.data, filter->collectives.count, sizeof *filter->collectives.data,
              by_begin);
    }
    filter->next_collective = 0;
    filter->long_wait_ns = (unit->end_ns - unit->begin_ns) / LONG_WAITS;
    filter->busy_ns = filter->busy_ns > unit->begin_ns ? filter->busy_ns : unit->begin_ns;
}

/* Short waits of one phase become one wait as long as all of them, where the last one ends: between
 * many small operators there are as many waits. */
static void emit_short(struct ss_detail_filter *filter)
{
    if (filter->short_ns > 0) {
        filter->output.wait(filter->output.context, filter->short_end_ns - filter->short_ns,
                            filter->short_end_ns);
        filter->short_ns = 0;
    }
}

/* The first phase that begins from `from_ns` on; UINT64_MAX: none. */
static uint64_t next_phase(const struct ss_detail_filter *filter, uint64_t from_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = filter->phases.count; i-- > 0 && filter->phases.data[i] >= from_ns;) {
        next_ns = filter->phases.data[i];
    }
    return next_ns;
}

/* A wait within one phase. */
static void emit_part(struct ss_detail_filter *filter, uint64_t begin_ns, uint64_t end_ns)
{
    bool is_long = end_ns - begin_ns >= filter->long_wait_ns;
    if (is_long || next_phase(filter, filter->short_end_ns) <= begin_ns) {
        emit_short(filter);
    }
    if (is_long) {
        filter->output.wait(filter->output.context, begin_ns, end_ns);
        return;
    }
    filter->short_ns += end_ns - begin_ns;
    filter->short_end_ns = end_ns;
}

static void emit(struct ss_detail_filter *filter, uint64_t begin_ns, uint64_t end_ns)
{
    if (end_ns < begin_ns + least_wait_ns) {
        return;
    }
    while (begin_ns < end_ns) {
        uint64_t next_ns = next_phase(filter, begin_ns + 1);
        next_ns = next_ns < end_ns ? next_ns : end_ns;
        emit_part(filter, begin_ns, next_ns);
        begin_ns = next_ns;
    }
}

void ss_detail_waits_gap(struct ss_detail_filter *filter, uint64_t until_ns)
{
    uint64_t from_ns = filter->busy_ns, wait_begin_ns = 0, wait_end_ns = 0;
    for (size_t i = filter->next_collective; i < filter->collectives.count; i++) {
        const struct ss_detail_collective *collective = &filter->collectives.data[i];
        if (collective->begin_ns >= until_ns) {
            break;
        }
        uint64_t begin_ns = collective->begin_ns > from_ns ? collective->begin_ns : from_ns;
        uint64_t end_ns = collective->end_ns < until_ns ? collective->end_ns : until_ns;
        bool is_before = i == filter->next_collective && collective->end_ns <= from_ns;
        filter->next_collective += is_before;
        if (end_ns <= begin_ns) {
            continue;
        }
        if (begin_ns > wait_end_ns) {
            emit(filter, wait_begin_ns, wait_end_ns);
            wait_begin_ns = begin_ns;
        }
        wait_end_ns = end_ns > wait_end_ns ? end_ns : wait_end_ns;
    }
    emit(filter, wait_begin_ns, wait_end_ns);
}

/* What ended before is needed no more. */
static void forget(struct ss_detail_filter *filter, uint64_t before_ns)
{
    size_t remaining = 0, phases = 0;
    for (size_t i = 0; i < filter->collectives.count; i++) {
        if (filter->collectives.data[i].end_ns > before_ns) {
            filter->collectives.data[remaining++] = filter->collectives.data[i];
        }
    }
    filter->collectives.count = remaining;
    for (size_t i = 0; i < filter->phases.count; i++) {
        if (filter->phases.data[i] >= before_ns) {
            filter->phases.data[phases++] = filter->phases.data[i];
        }
    }
    filter->phases.count = phases;
}

void ss_detail_waits_phase(struct ss_detail_filter *filter, uint64_t time_ns)
{
    if (filter->is_thinning && filter->phases.count < MOST_PHASES) {
        ss_vec_push(&filter->phases, time_ns);
    }
}

void ss_detail_waits_close(struct ss_detail_filter *filter, const struct ss_detail_unit *unit)
{
    if (unit->detail == SS_DETAIL_SUMS) {
        ss_detail_waits_gap(filter, unit->end_ns);
        emit_short(filter);
        filter->busy_ns = unit->end_ns;
    }
    forget(filter, unit->end_ns);
}
