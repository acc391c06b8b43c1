/* SPDX-License-Identifier: Apache-2.0 */
#include "model/perfetto/perfetto_clocks.h"

#include "wire/perfetto.h"

enum { MOST_CLOCKS = 128 }; /* of a list */

struct reading {
    uint64_t id, time_ns, multiplier;
    bool is_incremental;
};

struct readings {
    struct reading data[MOST_CLOCKS];
    size_t count;
};

void ss_perfetto_clocks_fini(struct ss_perfetto_clocks *clocks)
{
    ss_vec_fini(&clocks->clocks);
}

static bool is_of_sequence(uint64_t id)
{
    return id >= SS_PF_SEQUENCE_CLOCK && id <= SS_PF_LAST_SEQUENCE_CLOCK;
}

static struct ss_perfetto_clock *find(struct ss_perfetto_clock_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].id == id) {
            return &list->data[i];
        }
    }
    return NULL;
}

static bool read_reading(struct ss_wire_cursor body, struct reading *reading)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    *reading = (struct reading){.multiplier = 1};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_CLOCK_ID) {
            reading->id = field.value;
        } else if (field.number == SS_PF_CLOCK_TIME) {
            reading->time_ns = field.value;
        } else if (field.number == SS_PF_CLOCK_INCREMENTAL) {
            reading->is_incremental = field.value != 0;
        } else if (field.number == SS_PF_CLOCK_MULTIPLIER) {
            reading->multiplier = field.value > 0 ? field.value : 1;
        }
    }
    reading->time_ns *= reading->multiplier;
    return next == SS_WIRE_END;
}

static bool read_snapshot(struct ss_wire_cursor body, struct readings *readings, uint64_t *primary)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    *primary = 0;
    readings->count = 0;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_PRIMARY_TRACE_CLOCK) {
            *primary = field.value;
        } else if (field.number == SS_PF_CLOCKS && field.type == SS_WIRE_BYTES &&
                   readings->count < MOST_CLOCKS) {
            if (!read_reading(field.body, &readings->data[readings->count])) {
                return false;
            }
            readings->count++;
        }
    }
    return next == SS_WIRE_END;
}

static const struct reading *reading_of(const struct readings *readings, uint64_t id)
{
    for (size_t i = 0; i < readings->count; i++) {
        if (readings->data[i].id == id) {
            return &readings->data[i];
        }
    }
    return NULL;
}

/* The trace's clock is the primary one; else the one that counts during sleep, as in Perfetto. */
static void select_trace_clock(struct ss_perfetto_clocks *clocks, const struct readings *readings,
                               uint64_t primary)
{
    const uint64_t candidates[] = {primary, SS_PF_BOOTTIME, SS_PF_MONOTONIC, SS_PF_REALTIME};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (candidates[i] != 0 && reading_of(readings, candidates[i]) != NULL) {
            clocks->trace_clock = candidates[i];
            return;
        }
    }
    clocks->trace_clock = readings->count > 0 ? readings->data[0].id : 0;
}

/* What the trace's clock shows at the snapshot; a snapshot may lack it, but have another known one.
 */
static uint64_t trace_time(struct ss_perfetto_clocks *clocks, struct ss_perfetto_clock_list *own,
                           const struct readings *readings)
{
    const struct reading *of_trace = reading_of(readings, clocks->trace_clock);
    if (of_trace != NULL) {
        return of_trace->time_ns;
    }
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &readings->data[i];
        const struct ss_perfetto_clock *known =
            find(is_of_sequence(reading->id) ? own : &clocks->clocks, reading->id);
        if (known != NULL) {
            return reading->time_ns + known->to_trace_ns;
        }
    }
    return readings->count > 0 ? readings->data[0].time_ns : 0;
}

bool ss_perfetto_clocks_snapshot(struct ss_perfetto_clocks *clocks,
                                 struct ss_perfetto_clock_list *own, struct ss_wire_cursor body)
{
    struct readings readings;
    uint64_t primary;
    if (!read_snapshot(body, &readings, &primary)) {
        return false;
    }
    if (clocks->trace_clock == 0) {
        select_trace_clock(clocks, &readings, primary);
    }
    uint64_t trace_ns = trace_time(clocks, own, &readings);
    for (size_t i = 0; i < readings.count; i++) {
        const struct reading *reading = &readings.data[i];
        struct ss_perfetto_clock_list *list = is_of_sequence(reading->id) ? own : &clocks->clocks;
        struct ss_perfetto_clock *clock = find(list, reading->id);
        if (clock == NULL && list->count >= MOST_CLOCKS) {
            continue;
        }
        if (clock == NULL) {
            ss_vec_push_zero(list);
            clock = &list->data[list->count - 1];
        }
        *clock = (struct ss_perfetto_clock){.id = reading->id,
                                            .multiplier = reading->multiplier,
                                            .last_ns = reading->time_ns,
                                            .to_trace_ns = trace_ns - reading->time_ns,
                                            .is_incremental = reading->is_incremental};
        if (reading->id == SS_PF_REALTIME && !clocks->has_wall) {
            clocks->has_wall = true;
            clocks->wall_base_ns = reading->time_ns - trace_ns;
        }
    }
    return true;
}

bool ss_perfetto_clocks_time(struct ss_perfetto_clocks *clocks, struct ss_perfetto_clock_list *own,
                             uint64_t id, uint64_t timestamp, uint64_t *time_ns)
{
    struct ss_perfetto_clock *clock = find(is_of_sequence(id) ? own : &clocks->clocks, id);
    if (clock == NULL) { /* traces without any snapshot have one clock */
        *time_ns = timestamp;
        return (id == 0 || id == clocks->trace_clock || clocks->trace_clock == 0) &&
               !is_of_sequence(id) && timestamp <= INT64_MAX;
    }
    uint64_t own_ns = timestamp * clock->multiplier;
    if (clock->is_incremental) {
        own_ns += clock->last_ns;
        clock->last_ns = own_ns;
    }
    *time_ns = own_ns + clock->to_trace_ns;
    return *time_ns <= INT64_MAX;
}
