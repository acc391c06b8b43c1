/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a finding, which the rules share, and the function of each rule. Private to
 * rules*.c. */
#ifndef SS_ANALYSIS_DIAGNOSIS_RULE_PARTS_H
#define SS_ANALYSIS_DIAGNOSIS_RULE_PARTS_H

#include "analysis/diagnosis/rules.h"
#include "analysis/table/rule_limits.h"

/* Evidence beyond SS_FINDING_MAX_EVIDENCE is dropped. `what` may name limits: {NAME}. */
void ss_finding_add(struct ss_finding *finding, const char *what, enum ss_evidence_unit unit,
                    double value);
/* A cost that every step has. */
void ss_finding_set_cost(struct ss_finding *finding, uint64_t cost_ns, uint64_t recoverable_ns);
/* A cost that some steps have: a share of the mean step with outliers. */
void ss_finding_set_spread_cost(const struct ss_training_facts *facts, struct ss_finding *finding,
                                uint64_t cost_ns);
/* The cost is the share `samples` / `all` of `of_ns`. Samples that continue another one count as
 * independent, which rather overestimates the error. */
void ss_finding_set_error(struct ss_finding *finding, uint64_t samples, uint64_t all,
                          uint64_t of_ns);
/* Ignores a line with too few samples. `line_of`: what the samples are of. */
void ss_finding_set_line(struct ss_finding *finding, const struct ss_phase_line *line,
                         const char *line_of);
void ss_finding_set_phase_line(struct ss_finding *finding, const struct ss_training_facts *facts,
                               const char *phase, const char *line_of);
/* Which rank is late, and what the others wait for it. */
void ss_finding_set_late_rank(struct ss_finding *finding, const struct ss_training_facts *facts,
                              const struct ss_lateness *late);
/* The first memory that grows with every step; NULL: none does. */
const struct ss_memory *ss_growing_memory(const struct ss_training_facts *facts);
/* Adds the number of tensor values that a step reads. */
void ss_finding_add_reads(const struct ss_training_facts *facts, struct ss_finding *finding);
/* True where the line is worth a finding. */
bool ss_finding_put_hot_line(const struct ss_training_facts *facts, const struct ss_hot_line *line,
                             struct ss_finding *finding);

/* Takes the time that other findings have in the phases that drift from the finding on the drift.
 * Returns the finding that has most of that time, if the rest is not worth a finding; it gets the
 * figures of the drift. Else NULL. */
struct ss_finding *ss_drift_yield(const struct ss_training_facts *facts, struct ss_finding *drift,
                                  struct ss_finding *findings, size_t count);

/* `share`: 0 to 1. */
uint64_t ss_share_of_ns(uint64_t ns, double share);
/* True where `part` is at least `percent` of `whole`. */
bool ss_is_percent_of(uint64_t part, uint64_t whole, int percent);
/* False where kernels ran whose times were not recorded: phases are host time then. */
bool ss_knows_compute_time(const struct ss_training_facts *facts);

/* Each rule returns true where it fires, with the finding filled in. */
#define SS_RULE(name, id, headline, needs, fires, least, estimate, fix)                            \
    bool ss_rule_##name(const struct ss_training_facts *facts, struct ss_finding *finding);
#include "analysis/diagnosis/rules.def"
#undef SS_RULE

#endif
