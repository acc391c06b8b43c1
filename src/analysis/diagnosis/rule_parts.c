/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diagnosis/rule_parts.h"

#include <string.h>

#include "analysis/table/uncertainty.h"

void ss_finding_add(struct ss_finding *finding, const char *what, enum ss_evidence_unit unit,
                    double value)
{
    if (finding->evidence_count == SS_FINDING_MAX_EVIDENCE) {
        return;
    }
    struct ss_evidence *evidence = &finding->evidence[finding->evidence_count++];
    struct ss_strbuf text;
    ss_strbuf_init(&text, sizeof evidence->what - 1);
    ss_rule_text_append(what, &text);
    *evidence = (struct ss_evidence){.unit = unit, .value = value};
    memcpy(evidence->what, text.data, text.length);
    ss_strbuf_fini(&text);
}

void ss_finding_set_spread_cost(const struct ss_training_facts *facts, struct ss_finding *finding,
                                uint64_t cost_ns)
{
    finding->cost_ns = finding->recoverable_ns = cost_ns;
    finding->of_ns = facts->spread_ns;
    finding->is_spread = true;
}

void ss_finding_set_cost(struct ss_finding *finding, uint64_t cost_ns, uint64_t recoverable_ns)
{
    finding->cost_ns = cost_ns;
    finding->recoverable_ns = recoverable_ns < cost_ns ? recoverable_ns : cost_ns;
}

void ss_finding_set_error(struct ss_finding *finding, uint64_t samples, uint64_t all,
                          uint64_t of_ns)
{
    finding->error_ns = ss_share_error_ns(samples, all, all, of_ns);
}

void ss_finding_set_line(struct ss_finding *finding, const struct ss_phase_line *line,
                         const char *line_of)
{
    if (line != NULL && line->frame != 0 && line->samples >= SS_MIN_CLAIM_SAMPLES) {
        finding->line = line;
        finding->line_of = line_of;
    }
}

void ss_finding_set_phase_line(struct ss_finding *finding, const struct ss_training_facts *facts,
                               const char *phase, const char *line_of)
{
    const struct ss_step_phase *row = ss_training_phase(facts, phase);
    ss_finding_set_line(finding, row != NULL ? &row->line : NULL, line_of);
}

void ss_finding_set_late_rank(struct ss_finding *finding, const struct ss_training_facts *facts,
                              const struct ss_lateness *late)
{
    const struct ss_late_claim *claim = &late->claim;
    const struct ss_model_process *process = &facts->model->processes.data[claim->row->process];
    bool has_rank = claim->row->rank >= 0;
    ss_finding_set_cost(finding, claim->wait_ns, claim->wait_ns);
    finding->of_ns = claim->of_ns;
    if (has_rank) {
        ss_finding_add(finding, "late: rank", SS_EVIDENCE_NUMBER, (double)claim->row->rank);
    }
    ss_finding_add(finding, has_rank ? "process ID" : "late: process ID", SS_EVIDENCE_NUMBER,
                   (double)process->pid);
    ss_finding_add(finding, "the others wait longer by", SS_EVIDENCE_NS, (double)claim->wait_ns);
}

uint64_t ss_share_of_ns(uint64_t ns, double share)
{
    double part = share > 0 ? (double)ns * (share < 1 ? share : 1) : 0;
    return part < (double)INT64_MAX ? (uint64_t)part : INT64_MAX;
}

bool ss_is_percent_of(uint64_t part, uint64_t whole, int percent)
{
    return 100 * (double)part >= percent * (double)whole;
}

bool ss_knows_compute_time(const struct ss_training_facts *facts)
{
    return !facts->uses_cuda || facts->records_gpu;
}
