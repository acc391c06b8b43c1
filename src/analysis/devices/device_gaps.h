/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in which a device did nothing, and why. A gap ends with the work that begins next. Until
 * that work was launched, the host was late: for input where the launching thread fetched a batch,
 * for a wait where the thread was in a call that waits for the device as the gap began, so that
 * nothing could be queued, else by its own work. From the launch on, the work waited for another
 * stream, or for the latency of a launch. Pure.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_GAPS_H
#define SS_ANALYSIS_DEVICES_DEVICE_GAPS_H

#include "analysis/devices/device_busy.h"
#include "analysis/steps/phase_times.h"

enum ss_gap_cause {
    SS_GAP_INPUT,      /* the launching thread fetched a batch */
    SS_GAP_WAIT,       /* it had waited for the device */
    SS_GAP_HOST,       /* it launched late */
    SS_GAP_DEPENDENCY, /* launched; another stream was busy, or an event was waited for */
    SS_GAP_GRAPH,      /* between works of one launch, as of a graph */
    SS_GAP_LATENCY,    /* launched, and shorter than a launch takes */
    SS_GAP_UNKNOWN,    /* launched, and none of these; or its call was not recorded */
    SS_GAP_CAUSES
};

/* A launch takes no longer. */
enum { SS_LAUNCH_LATENCY_NS = 30000 };

/* A part of a gap with one cause. */
struct ss_device_gap {
    uint64_t begin_ns, end_ns;
    uint32_t part;   /* index into works.parts */
    uint32_t work;   /* index into works.works: what ended it; UINT32_MAX: nothing did */
    uint32_t waited; /* WAIT: range of the call that waited, plus one */
    uint8_t cause;   /* enum ss_gap_cause */
};

struct ss_device_gaps {
    struct ss_vec_of(struct ss_device_gap) rows; /* by part, then by begin */
};

/* `busy`: by part of the works. `phases`: of the processes; a fetch is the phase "data". The time
 * from the first range of a process to the first work, and from the last work to the last range,
 * are gaps, too. */
void ss_device_gaps_init(struct ss_device_gaps *gaps, const struct ss_model *model,
                         const struct ss_device_works *works, const struct ss_busy *busy,
                         const struct ss_phase_times *phases);
void ss_device_gaps_fini(struct ss_device_gaps *gaps);

/* "input", "wait", … */
const char *ss_gap_cause_name(enum ss_gap_cause cause);

/* By range of the model, whether it is a call that blocks until the device has done something: a
 * synchronisation, or a call that ends no earlier than the copy that it launched. The caller frees
 * it. */
bool *ss_waiting_calls(const struct ss_model *model, const struct ss_device_works *works);

#endif
