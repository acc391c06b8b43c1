/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in which the host waits for a device, charged to what they wait for: the work that ended
 * last while the call waited, not counting copies, which only fetch its result. The line that waits
 * is not slow; the work is late. Pure. Borrows the model.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_WAITS_H
#define SS_ANALYSIS_DEVICES_DEVICE_WAITS_H

#include "analysis/launches/device_work.h"
#include "analysis/steps/steady_time.h"
#include "analysis/table/range_finder.h"
#include "analysis/table/table.h"
#include "base/strbuf.h"

/* A place in the program as the recording has it: the innermost function of Python, else the line
 * of the call's own stack, else the operator or annotation around it. */
struct ss_code_place {
    uint32_t name;    /* index into model->names; 0: see line */
    const char *line; /* "train.py:88 main", of the waits; NULL: unknown */
};

/* Waits at one place in one call for work of one name. */
struct ss_device_wait {
    struct ss_code_place place;    /* that waits */
    struct ss_code_place launcher; /* of the work that is waited for */
    uint32_t call;                 /* name of the call that waits */
    uint32_t operator_name;        /* of PyTorch, outermost around it, where one is recorded; 0 */
    uint32_t work;                 /* name of the work; 0: nothing ended meanwhile */
    uint64_t count, total_ns, max_ns;
    uint64_t steady_count, steady_ns; /* in steady-state steps */
};

struct ss_device_waits {
    struct ss_vec_of(struct ss_device_wait) rows; /* longest first */
    struct ss_intern texts;
};

void ss_device_waits_init(struct ss_device_waits *waits, const struct ss_selection *selection,
                          const struct ss_device_works *works, const struct ss_range_finder *finder,
                          const struct ss_steady_time *steady);
void ss_device_waits_fini(struct ss_device_waits *waits);

/* "train.py:88 main", "aten::item"; empty: unknown. */
void ss_code_place_append(const struct ss_model *model, struct ss_code_place place,
                          struct ss_strbuf *out);
static inline bool ss_code_place_is_known(struct ss_code_place place)
{
    return place.name != 0 || place.line != NULL;
}

enum ss_device_wait_column {
    SS_DEVICE_WAIT_PLACE,
    SS_DEVICE_WAIT_OPERATOR,
    SS_DEVICE_WAIT_CALL,
    SS_DEVICE_WAIT_COUNT,
    SS_DEVICE_WAIT_TOTAL,
    SS_DEVICE_WAIT_MEAN,
    SS_DEVICE_WAIT_MAX,
    SS_DEVICE_WAIT_STEP_COUNT, /* this and the next: per steady-state step; absent without */
    SS_DEVICE_WAIT_STEP_TIME,
    SS_DEVICE_WAIT_WORK,     /* waited for; absent: nothing */
    SS_DEVICE_WAIT_LAUNCHER, /* place that launched it */
    SS_DEVICE_WAIT_COLUMNS
};
/* `training` may be NULL. */
void ss_device_waits_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training, uint64_t max_rows,
                           struct ss_table *table);

#endif
