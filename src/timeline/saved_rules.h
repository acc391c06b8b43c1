/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to saved*.c: which fields of saved rows are references to tables, truth values or numbers
 * of a list. What is not here may have any value: it is shown, or looked up with a check. Pure.
 */
#ifndef SS_TIMELINE_SAVED_RULES_H
#define SS_TIMELINE_SAVED_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/saved_inside.h"

enum { SS_SAVED_RULES = 96 /* at most */ };

/* The largest value of each rule's field in the rows that were seen. */
struct ss_saved_maxima {
    uint64_t of[SS_SAVED_RULES];
    bool has_reversed; /* a range that ends before it begins */
};

/* Takes rows of a table in. */
void ss_saved_rules_see(struct ss_saved_maxima *maxima, enum ss_saved_table table, const char *rows,
                        size_t row_bytes, size_t count);
/* Whether all of them hold, for tables of these numbers of rows. */
bool ss_saved_rules_hold(const struct ss_saved_maxima *maxima,
                         const uint64_t counts[SS_SAVED_TABLES]);

#endif
