/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/steady_time.h"

#include "base/search.h"

/* --- steady-state time ----------------------------------------------------------------------- */

static void add_step(struct ss_steady_time *time, const struct ss_step *step)
{
    struct ss_steady_part *last =
        time->parts.count > 0 ? &time->parts.data[time->parts.count - 1] : NULL;
    bool same = last != NULL && last->process == step->process;
    time->steps++;
    time->total_ns += step->end_ns - step->begin_ns;
    if (same && step->begin_ns <= last->end_ns) {
        last->end_ns = step->end_ns > last->end_ns ? step->end_ns : last->end_ns;
        return;
    }
    uint64_t before_ns = same ? last->before_ns + (last->end_ns - last->begin_ns) : 0;
    ss_vec_push(&time->parts,
                (struct ss_steady_part){step->process, step->begin_ns, step->end_ns, before_ns});
}

bool ss_steady_has(const struct ss_step *step, enum ss_steady_of of)
{
    return of == SS_STEADY_OF_MODULES     ? step->is_whole
           : of == SS_STEADY_OF_OPERATORS ? step->counts_operators
           : of == SS_STEADY_OF_DEVICES   ? step->has_device_work && step->is_whole
                                          : true;
}

void ss_steady_time_init(struct ss_steady_time *time, const struct ss_step_summary *training,
                         enum ss_steady_of of)
{
    *time = (struct ss_steady_time){0};
    for (size_t i = 0; training != NULL && i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool counts = ss_steady_has(step, of);
        time->recorded += counts;
        time->all++;
        if (counts && step->kind == SS_STEP_STEADY) {
            add_step(time, step);
        }
    }
}

void ss_steady_time_fini(struct ss_steady_time *time)
{
    ss_vec_fini(&time->parts);
}

/* The first part of the process, or of a later one. */
static size_t first_part(const struct ss_steady_time *time, uint32_t process)
{
    return ss_search(i, 0, time->parts.count, time->parts.data[i].process < process);
}

void ss_steady_cursor_init(struct ss_steady_cursor *cursor, const struct ss_steady_time *time,
                           uint32_t process)
{
    size_t first = first_part(time, process), end = first;
    while (end < time->parts.count && time->parts.data[end].process == process) {
        end++;
    }
    *cursor = (struct ss_steady_cursor){.count = end - first};
    if (end > first) {
        cursor->parts = time->parts.data + first;
    }
}

/* Steady-state time until `time_ns`; `count` parts begin at or before it. */
static uint64_t time_until(const struct ss_steady_cursor *cursor, size_t count, uint64_t time_ns)
{
    if (count == 0) {
        return 0;
    }
    const struct ss_steady_part *last = &cursor->parts[count - 1];
    return last->before_ns + (time_ns < last->end_ns ? time_ns : last->end_ns) - last->begin_ns;
}

uint64_t ss_steady_time_of(struct ss_steady_cursor *cursor, uint64_t begin_ns, uint64_t end_ns,
                           bool *is_in)
{
    while (cursor->at > 0 && cursor->parts[cursor->at - 1].begin_ns > begin_ns) {
        cursor->at--;
    }
    while (cursor->at < cursor->count && cursor->parts[cursor->at].begin_ns <= begin_ns) {
        cursor->at++;
    }
    size_t low = cursor->at, high = cursor->count;
    *is_in = low > 0 && begin_ns < cursor->parts[low - 1].end_ns;
    if (low < high && cursor->parts[low].begin_ns > end_ns) {
        high = low; /* the common case: it ends in its step */
    }
    low = ss_search(i, low, high, cursor->parts[i].begin_ns <= end_ns);
    return time_until(cursor, low, end_ns) - time_until(cursor, cursor->at, begin_ns);
}
