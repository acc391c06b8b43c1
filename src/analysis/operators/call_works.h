/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of devices that calls (operators, modules) launched, by the rows of calls. Self is what
 * was launched in a call and in no inner call; total has the inner calls too, recursion once. What
 * was launched in no call is summed apart, so that self times add up to all that was launched.
 * Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_CALL_WORKS_H
#define SS_ANALYSIS_OPERATORS_CALL_WORKS_H

#include "analysis/calls/calls.h"
#include "analysis/kernels/launch_places.h"
#include "analysis/table/table.h"

struct ss_call_work {
    uint64_t works; /* launched in the calls themselves: kernels, copies and memsets */
    uint64_t self_ns, total_ns;
    uint64_t steady_self_ns, steady_total_ns; /* launched in steady-state steps */
};

struct ss_call_works {
    struct ss_call_work *rows; /* by row of the calls */
    struct ss_call_work none;  /* launched in none */
};

/* `anchors`: by place, the call that launched its work (range plus one; 0: none), or
 * SS_NO_ANCHOR: the work is not summed. Calls without a row count as the enclosing call. */
#define SS_NO_ANCHOR UINT32_MAX
void ss_call_works_init(struct ss_call_works *works, const struct ss_launch_places *places,
                        const uint32_t *anchors, const struct ss_calls *calls);
void ss_call_works_fini(struct ss_call_works *works);

/* Work that belongs to none of the rows, by what is known of it. */
struct ss_unattributed {
    const char *name;
    struct ss_call_work work;
};
enum { SS_UNATTRIBUTED_MOST = 3 };
/* Fills `rows` with what there is, and returns its number. `name`: of what was launched in none. */
size_t ss_unattributed_work(const struct ss_launch_places *places,
                            const struct ss_call_works *works, const char *name,
                            struct ss_unattributed *rows);

#endif
