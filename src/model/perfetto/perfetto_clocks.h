/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of a Perfetto trace: snapshots say what several of them show at one moment, so that a
 * time of any becomes one of the trace's clock. A sequence may define clocks of its own, which
 * count from their last time. Private to model/. One owner.
 */
#ifndef SS_MODEL_PERFETTO_PERFETTO_CLOCKS_H
#define SS_MODEL_PERFETTO_PERFETTO_CLOCKS_H

#include "base/vec.h"
#include "wire/proto.h"

struct ss_perfetto_clock {
    uint64_t id;
    uint64_t multiplier;  /* ns of its unit */
    uint64_t last_ns;     /* of an incremental one */
    uint64_t to_trace_ns; /* added to its times; wraps */
    bool is_incremental;
};

struct ss_perfetto_clock_list ss_vec_of(struct ss_perfetto_clock);

struct ss_perfetto_clocks {
    struct ss_perfetto_clock_list clocks; /* those of no sequence */
    uint64_t trace_clock;                 /* 0: there was no snapshot yet */
    bool has_wall;
    uint64_t wall_base_ns; /* wall clock minus the trace's clock, at the first snapshot; wraps */
};

void ss_perfetto_clocks_fini(struct ss_perfetto_clocks *clocks);

/* `own`: the clocks of the packet's sequence. False: the snapshot is malformed. */
bool ss_perfetto_clocks_snapshot(struct ss_perfetto_clocks *clocks,
                                 struct ss_perfetto_clock_list *own, struct ss_wire_cursor body);

/* The time on the trace's clock. `clock` 0: that clock. False: no snapshot defines the clock, or
 * the time is beyond 63 bits. */
bool ss_perfetto_clocks_time(struct ss_perfetto_clocks *clocks, struct ss_perfetto_clock_list *own,
                             uint64_t clock, uint64_t timestamp, uint64_t *time_ns);

#endif
