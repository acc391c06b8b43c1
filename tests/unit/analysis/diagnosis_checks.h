/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the rules check of a diagnosis: which findings it has in which order, and the
 * figures of one. Include after cmocka.h. */
#ifndef SS_TESTS_DIAGNOSIS_CHECKS_H
#define SS_TESTS_DIAGNOSIS_CHECKS_H

#include <stdio.h>
#include <string.h>

#include "analysis/diagnosis/rules.h"

/* The ids of all findings, the largest first: "a b c". */
static inline void check_findings(const struct ss_diagnosis *diagnosis, const char *wanted)
{
    char text[256] = "";
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                 diagnosis->findings.data[i].rule->id);
    }
    assert_string_equal(text, wanted);
}

/* Fails if there is any other finding. */
static inline const struct ss_finding *only_finding(const struct ss_diagnosis *diagnosis,
                                                    const char *id)
{
    check_findings(diagnosis, id);
    return &diagnosis->findings.data[0];
}

static inline double evidence(const struct ss_finding *finding, const char *what)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        if (strcmp(finding->evidence[i].what, what) == 0) {
            return finding->evidence[i].value;
        }
    }
    fail_msg("no evidence called %s", what);
    return 0;
}

/* Times are whole µs wherever a shape is; evidence may be a mean of them. */
static inline void check_evidence(const struct ss_finding *finding, const char *what, double value)
{
    assert_float_equal(evidence(finding, what), value, 1e-3);
}

/* `expected_us`: what a fix recovers, without margins. */
static inline void check_cost(const struct ss_finding *finding, uint64_t cost_us,
                              uint64_t expected_us, double percent)
{
    assert_int_equal(finding->cost_ns, cost_us * 1000);
    assert_int_equal(finding->expected_ns, expected_us * 1000);
    assert_float_equal(finding->percent, percent, 1e-3);
}

#endif
