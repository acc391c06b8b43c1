/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the rules, rows of rule_limits.def: constants in code, {NAME} in texts. All are
 * whole numbers; the end of a name is the unit. Immutable.
 */
#ifndef SS_ANALYSIS_TABLE_RULE_LIMITS_H
#define SS_ANALYSIS_TABLE_RULE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/table/uncertainty.h"
#include "base/strbuf.h"

#define SS_RULE_LIMIT(name, value, unit, meaning) SS_LIMIT_##name = (value),
enum ss_rule_limit_value {
#include "analysis/table/rule_limits.def"
};
#undef SS_RULE_LIMIT

enum ss_rule_limit_unit {
    SS_LIMIT_IN_COUNT,
    SS_LIMIT_IN_ORDINAL, /* "third" */
    SS_LIMIT_IN_PERCENT,
    SS_LIMIT_IN_HUNDREDTHS, /* 150: "1.5" */
    SS_LIMIT_IN_NS,
    SS_LIMIT_IN_PS,
    SS_LIMIT_IN_BYTES
};

struct ss_rule_limit {
    const char *name;
    int64_t value;
    enum ss_rule_limit_unit unit;
    const char *meaning; /* continues the value */
};

/* All limits; the last has no name. */
extern const struct ss_rule_limit ss_rule_limits[];

/* "30 µs", "4 %", "third" */
void ss_rule_limit_append(const struct ss_rule_limit *limit, struct ss_strbuf *out);
/* Appends the text with the value of each {NAME}. False: a name is unknown, and is left as it is.
 */
bool ss_rule_text_append(const char *text, struct ss_strbuf *out);

/* A limit in percent or hundredths as a factor. */
static inline double ss_limit_factor(enum ss_rule_limit_value limit)
{
    return (double)limit / 100.0;
}

static inline double ss_limit_ps_as_ns(enum ss_rule_limit_value limit)
{
    return (double)limit / 1000.0;
}

#endif
