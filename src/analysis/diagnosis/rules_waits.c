/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diagnosis/rule_parts.h"

#include <math.h>

#include "analysis/table/uncertainty.h"

/* The phase with most of the samples; NULL: no step has phases. */
static const struct ss_step_phase *phase_of(const struct ss_training_facts *facts,
                                            const struct ss_wait *wait)
{
    const struct ss_step_summary *steps = facts->steps;
    for (size_t i = 0; i < steps->phases.count; i++) {
        if (steps->phases.data[i].name == wait->phase) {
            return &steps->phases.data[i];
        }
    }
    return NULL;
}

/* The samples include slow steps. */
static bool waits_for(const struct ss_training_facts *facts, enum ss_wait_group group,
                      const char *line_of, struct ss_finding *finding)
{
    const struct ss_wait *wait = &facts->waits.groups[group];
    if (wait->line.all < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    double share = (double)wait->line.all / (double)facts->waits.samples;
    finding->cost_ns = finding->recoverable_ns =
        (uint64_t)(fmin(share, 1) * (double)facts->spread_ns);
    finding->of_ns = facts->spread_ns;
    finding->interrupts = true;
    finding->error_ns = ss_share_error_ns(wait->line.all, facts->waits.samples,
                                          facts->waits.samples, facts->spread_ns);
    finding->mostly_in = phase_of(facts, wait);
    finding->is_part = true;                         /* more specific than a finding on the line */
    finding->ends_with_line = group != SS_WAITS_GIL; /* caused by its holder */
    if (wait->line.frame != 0) {
        finding->line = &wait->line;
        finding->line_of = line_of;
    }
    ss_finding_add(finding, "samples", SS_EVIDENCE_COUNT, (double)wait->line.all);
    return true;
}

bool ss_rule_gil_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_gil_holder *holder = &facts->waits.holder;
    if (!waits_for(facts, SS_WAITS_GIL, "the waiting", finding)) {
        return false;
    }
    if (holder->thread != 0 && holder->samples >= SS_MIN_CLAIM_SAMPLES) {
        finding->holder = holder;
        double waits = (double)facts->waits.groups[SS_WAITS_GIL].line.all;
        if (!holder->is_likely) {
            ss_finding_add(finding, "of the waiting that thread has it", SS_EVIDENCE_PERCENT,
                           fmin(100, 100 * (double)holder->samples / waits));
        }
    }
    return true;
}

bool ss_rule_lock_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_lock_holder *holder = &facts->waits.lock_holder;
    bool is_known = holder->thread != 0 && holder->line.all >= SS_MIN_CLAIM_SAMPLES;
    finding->lock_holder = is_known ? holder : NULL;
    return waits_for(facts, SS_WAITS_LOCK, "the waiting", finding);
}

bool ss_rule_thread_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return waits_for(facts, SS_WAITS_THREAD, "the waiting", finding);
}

bool ss_rule_process_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return waits_for(facts, SS_WAITS_PROCESS, "the waiting", finding);
}

bool ss_rule_disk_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return waits_for(facts, SS_WAITS_DISK, "the waiting", finding);
}

bool ss_rule_network_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return waits_for(facts, SS_WAITS_NETWORK, "the waiting", finding);
}

bool ss_rule_sleep(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return waits_for(facts, SS_WAITS_SLEEP, "the sleep", finding);
}
