/* SPDX-License-Identifier: Apache-2.0 */
/* The rule on steps that become slower over the run. */
#include <math.h>
#include <stdio.h>

#include "analysis/program_facts.h"
#include "analysis/rule_parts.h"

static void add_who(const struct ss_training_facts *facts, const struct ss_drift_row *row,
                    struct ss_finding *finding)
{
    int64_t rank = ss_rank_of(facts->model, row->process);
    if (rank >= 0) {
        ss_finding_add(finding, "rank", SS_EVIDENCE_NUMBER, (double)rank);
    } else {
        ss_finding_add(finding, "process ID", SS_EVIDENCE_NUMBER,
                       (double)facts->model->processes.data[row->process].pid);
    }
    ss_finding_add(finding, "ranks that drift by themselves", SS_EVIDENCE_COUNT,
                   (double)facts->drifts.drifting);
    ss_finding_add(finding, "of", SS_EVIDENCE_COUNT, (double)facts->drifts.processes);
}

static void add_cause(const struct ss_training_facts *facts, const struct ss_drift_row *cause,
                      struct ss_finding *finding)
{
    char what[SS_EVIDENCE_MAX_BYTES];
    struct ss_strview phase = ss_drift_stage_text(cause, facts->model, facts->steps);
    snprintf(what, sizeof what, "more in %.*s", (int)phase.length, phase.data);
    ss_finding_add(finding, what, SS_EVIDENCE_NS, cause->drift.change);
}

bool ss_rule_drift(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_drifts *drifts = &facts->drifts;
    if (drifts->largest >= drifts->rows.count) {
        return false;
    }
    const struct ss_drift_row *row = &drifts->rows.data[drifts->largest];
    uint64_t lost_ns = row->lost_ns > 0 ? (uint64_t)llround(row->lost_ns) : 0;
    ss_finding_set_cost(finding, lost_ns, lost_ns);
    ss_finding_add(finding, "own time at the begin", SS_EVIDENCE_NS, row->drift.before);
    ss_finding_add(finding, "at the end", SS_EVIDENCE_NS, row->drift.after);
    if (drifts->cause < drifts->rows.count) {
        add_cause(facts, &drifts->rows.data[drifts->cause], finding);
    }
    if (row->drift.has_changed_once) {
        ss_finding_add(finding, "since step", SS_EVIDENCE_NUMBER, (double)row->change_step);
    }
    if (drifts->processes > 1) {
        add_who(facts, row, finding);
    }
    return lost_ns > 0;
}
