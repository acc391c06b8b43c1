/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by operators.c and key_averages.c. Private to them. */
#ifndef SS_ANALYSIS_OPERATORS_OPERATORS_INSIDE_H
#define SS_ANALYSIS_OPERATORS_OPERATORS_INSIDE_H

#include "analysis/operators/call_details.h"
#include "analysis/operators/call_works.h"
#include "analysis/operators/operators.h"

extern const char ss_no_operators[]; /* why a table is empty */

/* What a row is sorted by. `detail`, `work`: NULL where there is none. */
uint64_t ss_operator_sort_value(const struct ss_calls *calls, const struct ss_call_row *row,
                                const struct ss_call_detail *detail,
                                const struct ss_call_work *work, enum ss_operator_sort sort);
/* Preserves the order of signed values: more bytes freed than allocated sort last. */
static inline uint64_t ss_signed_sort_value(int64_t value)
{
    return (uint64_t)value + (UINT64_C(1) << 63);
}
/* Sums the work that each operator launched. */
void ss_operator_works_init(struct ss_call_works *works, const struct ss_launch_places *places,
                            const struct ss_calls *calls);

#endif
