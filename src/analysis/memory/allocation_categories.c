/* SPDX-License-Identifier: Apache-2.0 */
/* What allocations are, by the rules of allocations.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocation_parts.h"
#include "base/alloc.h"

const char *ss_allocation_phase_text(enum ss_allocation_phase phase)
{
    static const char *const texts[SS_ALLOCATION_PHASES] = {
        [SS_ALLOCATION_UNKNOWN_PHASE] = "",     [SS_ALLOCATION_BUILD] = "build",
        [SS_ALLOCATION_DATA] = "data",          [SS_ALLOCATION_COPY] = "copy",
        [SS_ALLOCATION_FORWARD] = "forward",    [SS_ALLOCATION_BACKWARD] = "backward",
        [SS_ALLOCATION_OPTIMIZER] = "optimizer"};
    return texts[phase];
}

const char *ss_allocation_category_text(enum ss_allocation_category category)
{
    static const char *const texts[SS_ALLOCATION_CATEGORIES] = {
        [SS_ALLOCATION_PARAMETERS] = "parameters",
        [SS_ALLOCATION_GRADIENTS] = "gradients",
        [SS_ALLOCATION_OPTIMIZER_STATE] = "optimizer state",
        [SS_ALLOCATION_ACTIVATIONS] = "activations",
        [SS_ALLOCATION_AUTOGRAD] = "autograd",
        [SS_ALLOCATION_TEMPORARIES] = "temporaries",
        [SS_ALLOCATION_INPUT] = "input",
        [SS_ALLOCATION_BEFORE] = "before",
        [SS_ALLOCATION_UNKNOWN] = "unknown"};
    return texts[category];
}

/* --- progress --------------------------------------------------------------------------------- */

/* A process's way through its phases. */
struct way {
    uint8_t phase;    /* of the current run */
    bool has_updated; /* a backward or an update since the last pass began */
    struct ss_allocation_progress at;
};

static void advance(struct way *way, uint8_t phase)
{
    if (phase == way->phase || phase == SS_ALLOCATION_UNKNOWN_PHASE ||
        phase == SS_ALLOCATION_COPY || phase == SS_ALLOCATION_BUILD) {
        return;
    }
    way->phase = phase;
    way->at.run++;
    if (phase == SS_ALLOCATION_FORWARD && (way->has_updated || way->at.pass == 0)) {
        way->at.pass++;
        way->has_updated = false;
    }
    way->at.backwards += phase == SS_ALLOCATION_BACKWARD;
    way->at.updates += phase == SS_ALLOCATION_OPTIMIZER;
    way->has_updated =
        way->has_updated || phase == SS_ALLOCATION_BACKWARD || phase == SS_ALLOCATION_OPTIMIZER;
}

/* An event of any pool. */
struct moment {
    uint64_t time_ns;
    uint32_t process, mark, index;
};

static int compare(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->mark < b->mark ? -1 : a->mark > b->mark;
}

static uint32_t put_step(struct ss_allocation_way *out, const struct ss_allocation_progress *at)
{
    size_t count = out->steps.count;
    if (count == 0 || memcmp(&out->steps.data[count - 1], at, sizeof *at) != 0) {
        ss_vec_push(&out->steps, *at);
    }
    return (uint32_t)out->steps.count - 1;
}

void ss_allocation_progress_find(const struct ss_allocation_events *events,
                                 const struct ss_allocation_code *codes,
                                 struct ss_allocation_way *out, struct ss_allocation_progress *last)
{
    size_t count = 0;
    struct moment *moments = ss_alloc((events->rows.count + 1) * sizeof *moments);
    for (size_t i = 0; i < events->rows.count; i++) {
        const struct ss_allocation_event *event = &events->rows.data[i];
        if (event->kind >= SS_ALLOCATION_EVENT_BYTES) {
            moments[count++] =
                (struct moment){event->time_ns, event->process, event->mark, (uint32_t)i};
        }
    }
    qsort(moments, count, sizeof *moments, compare);
    struct way way = {0};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || moments[i].process != moments[i - 1].process) {
            way = (struct way){0};
        }
        advance(&way, codes[moments[i].index].phase);
        out->step_of[moments[i].index] = put_step(out, &way.at);
        last[moments[i].process] = way.at;
    }
    ss_free(moments);
}

/* --- rules ------------------------------------------------------------------------------------ */

/* An allocation, and what the rules ask of it. */
struct life {
    const struct ss_allocation *row;
    struct ss_allocation_progress from, to; /* `to`: of the free, or of the end of the recording */
    bool is_freed, in_one_run;
};

static bool is_kept_from_before(const struct life *life)
{
    return life->from.run == 0 && life->to.pass >= 2;
}

static enum ss_allocation_category in_forward(const struct life *life)
{
    bool is_near = life->to.pass <= life->from.pass + 1;
    if (life->is_freed && life->to.backwards == life->from.backwards) {
        return SS_ALLOCATION_TEMPORARIES;
    }
    return is_near && life->to.backwards > 0 ? SS_ALLOCATION_ACTIVATIONS : SS_ALLOCATION_UNKNOWN;
}

static enum ss_allocation_category in_backward(const struct life *life)
{
    if (life->is_freed && life->in_one_run) {
        return SS_ALLOCATION_AUTOGRAD;
    }
    return !life->in_one_run || life->row->code.accumulates ? SS_ALLOCATION_GRADIENTS
                                                            : SS_ALLOCATION_UNKNOWN;
}

static enum ss_allocation_category in_update(const struct life *life)
{
    if (life->in_one_run) {
        return life->is_freed ? SS_ALLOCATION_TEMPORARIES : SS_ALLOCATION_UNKNOWN;
    }
    return !life->is_freed || life->to.updates > life->from.updates ? SS_ALLOCATION_OPTIMIZER_STATE
                                                                    : SS_ALLOCATION_UNKNOWN;
}

/* Of a process that seen phases divide; else runs say nothing. */
static enum ss_allocation_category in_one_run(const struct life *life,
                                              enum ss_allocation_category other)
{
    return life->is_freed && life->in_one_run && life->from.run > 0 ? SS_ALLOCATION_TEMPORARIES
                                                                    : other;
}

static enum ss_allocation_category category_of(const struct life *life)
{
    switch ((enum ss_allocation_phase)life->row->code.phase) {
    case SS_ALLOCATION_BUILD:
        return life->is_freed && life->to.pass == 0 ? SS_ALLOCATION_TEMPORARIES
                                                    : SS_ALLOCATION_PARAMETERS;
    case SS_ALLOCATION_DATA:
        return in_one_run(life, SS_ALLOCATION_INPUT);
    case SS_ALLOCATION_COPY:
        return is_kept_from_before(life) ? SS_ALLOCATION_PARAMETERS
                                         : in_one_run(life, SS_ALLOCATION_INPUT);
    case SS_ALLOCATION_FORWARD:
        return in_forward(life);
    case SS_ALLOCATION_BACKWARD:
        return in_backward(life);
    case SS_ALLOCATION_OPTIMIZER:
        return in_update(life);
    default:
        return is_kept_from_before(life) ? SS_ALLOCATION_PARAMETERS
                                         : in_one_run(life, SS_ALLOCATION_UNKNOWN);
    }
}

/* Of an allocation that the history begins with, only the stack may be known. */
static enum ss_allocation_category category_before(const struct ss_allocation *row)
{
    return row->code.phase == SS_ALLOCATION_BUILD       ? SS_ALLOCATION_PARAMETERS
           : row->code.phase == SS_ALLOCATION_OPTIMIZER ? SS_ALLOCATION_OPTIMIZER_STATE
           : row->code.phase == SS_ALLOCATION_DATA      ? SS_ALLOCATION_INPUT
                                                        : SS_ALLOCATION_BEFORE;
}

void ss_allocation_categorise(struct ss_allocations *allocations,
                              const struct ss_allocation_pool *pool,
                              const struct ss_allocation_pool_events *events,
                              const struct ss_allocation_progress *last)
{
    for (size_t i = pool->first; i < pool->end; i++) {
        struct ss_allocation *row = &allocations->rows.data[i];
        bool is_lone = row->end == row->begin;
        if (row->category != SS_ALLOCATION_UNKNOWN || is_lone) { /* the recording states it */
            continue;
        }
        if (row->begin == 0) {
            row->category = (uint8_t)category_before(row);
            continue;
        }
        bool is_freed = row->end != UINT32_MAX;
        struct life life = {.row = row,
                            .from = events->steps[events->step_of[row->begin - 1]],
                            .to = is_freed ? events->steps[events->step_of[row->end - 1]]
                                           : last[pool->process],
                            .is_freed = is_freed};
        life.in_one_run = life.to.run == life.from.run;
        row->category = (uint8_t)category_of(&life);
    }
}
