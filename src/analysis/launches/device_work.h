/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of devices (kernels, copies, memsets) in order of time, each joined with the call that
 * launched it: the call of the same process with the same correlation. Work of a graph has the one
 * launch of its graph. Work that was launched before the recording, or by a call that was not
 * recorded, has no launch. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_LAUNCHES_DEVICE_WORK_H
#define SS_ANALYSIS_LAUNCHES_DEVICE_WORK_H

#include "analysis/selection/selection.h"

/* What the time of a device is spent on; of work that overlaps, the first of these counts. */
enum ss_work_class { SS_WORK_COMPUTE, SS_WORK_COMMUNICATION, SS_WORK_COPY, SS_WORK_CLASSES };

struct ss_device_work {
    uint64_t begin_ns, end_ns;
    uint32_t range;                   /* index into model->ranges */
    uint32_t launch;                  /* index of the call's range, plus one; 0: none */
    uint32_t process, device, stream; /* of the model; device 0: unknown */
    uint32_t name;                    /* index into model->names */
    uint8_t type;                     /* enum ss_event_type: kernel, copy or memset */
    uint8_t work_class;               /* enum ss_work_class */
};

/* The work of one process on one device, which is contiguous in `works`. */
struct ss_device_part {
    uint32_t process, device;
    size_t first, end;
};

/* A wait for an event, and the call that recorded the event; indices into model->ranges. */
struct ss_event_wait {
    uint32_t recorded, wait;
};

struct ss_device_works {
    struct ss_vec_of(struct ss_device_work) works; /* by process, device, begin */
    struct ss_vec_of(struct ss_device_part) parts;
    struct ss_vec_of(struct ss_event_wait) event_waits; /* by wait */
    size_t without_launch;
};

/* Only processes of the selection, and work that began in the requested time. Built once for each
 * selection (analysis/selection/analysis.h), as is the next. */
const struct ss_device_works *ss_selection_works(const struct ss_selection *selection);
/* Also work that began outside the requested time. */
const struct ss_device_works *ss_selection_all_works(const struct ss_selection *selection);

/* Whether the model has work of devices at all. */
bool ss_model_has_device_work(const struct ss_model *model);

/* The share of copies and memsets of the time of all work; 0 without any. */
double ss_device_copies_share(const struct ss_selection *selection);

/* A whole number that an event carries: as its payload, where this kind of event has it there, or
 * as a field. False: it does not. */
bool ss_event_number(const struct ss_model *model, const struct ss_model_range *range,
                     uint32_t field, int64_t *number);
/* The same of a text; empty: it has none. */
struct ss_strview ss_event_text(const struct ss_model *model, const struct ss_model_range *range,
                                uint32_t field);

#endif
