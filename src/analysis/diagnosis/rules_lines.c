/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on a line of code, and rules on what costs no time: growing memory, warm-up. */
#include "analysis/diagnosis/rule_parts.h"

#include <math.h>
#include <string.h>

#include "analysis/table/uncertainty.h"

/* --- what costs no time ---------------------------------------------------------------------- */

const struct ss_memory *ss_growing_memory(const struct ss_training_facts *facts)
{
    for (size_t i = 0; i < facts->memories.rows.count; i++) {
        if (facts->memories.rows.data[i].grows) {
            return &facts->memories.rows.data[i];
        }
    }
    return NULL;
}

bool ss_rule_memory_growth(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_memory *grows = ss_growing_memory(facts);
    if (grows == NULL) {
        return false;
    }
    const struct ss_step_summary *steps = facts->steps;
    if (grows->growing_phase < steps->phases.count) {
        finding->grows_in = &steps->phases.data[grows->growing_phase];
    }
    ss_finding_add(finding, ss_model_text(facts->model, grows->name), SS_EVIDENCE_BYTES,
                   grows->last);
    ss_finding_add(finding, "more with each step", SS_EVIDENCE_BYTES, grows->bytes_per_step);
    ss_finding_add(finding, "steps", SS_EVIDENCE_COUNT, (double)grows->steps);
    return true;
}

bool ss_rule_warm_up(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    if (facts->steps->warm_up == 0 || facts->step_ns == 0) {
        return false;
    }
    ss_finding_add(finding, "mean with the first steps", SS_EVIDENCE_NS,
                   (double)facts->warm_mean_ns);
    ss_finding_add(finding, "of the usual ones", SS_EVIDENCE_NS, (double)facts->step_ns);
    ss_finding_add(finding, "first step", SS_EVIDENCE_NS, (double)facts->first_ns);
    return (double)facts->warm_mean_ns >=
           ss_limit_factor(SS_LIMIT_WARM_UP_HUNDREDTHS) * (double)facts->step_ns;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int least_percent_of(const struct ss_hot_line *line)
{
    return line->activity == SS_ACTIVITY_INDEXING  ? SS_LIMIT_INDEXING_LINE_PERCENT
           : line->activity != SS_ACTIVITY_NOTHING ? SS_LIMIT_KNOWN_LINE_PERCENT
                                                   : SS_LIMIT_UNKNOWN_LINE_PERCENT;
}

bool ss_finding_put_hot_line(const struct ss_training_facts *facts, const struct ss_hot_line *line,
                             struct ss_finding *finding)
{
    ss_finding_set_spread_cost(facts, finding, line->cost_ns);
    finding->is_spread = false;
    finding->interrupts = true;
    finding->error_ns = line->error_ns;
    finding->phase = line->phase;
    finding->line = &line->line;
    finding->line_of = "the samples of that phase";
    finding->is_of_line = true;
    finding->hot_line = line;
    finding->activity = line->activity;
    finding->fix = ss_activity_fix(line->activity);
    ss_finding_add(finding, "of the samples of that phase", SS_EVIDENCE_PERCENT,
                   100 * (double)line->line.samples / (double)line->line.all);
    ss_finding_add(finding, "samples at the line", SS_EVIDENCE_COUNT, (double)line->line.samples);
    if (line->activity == SS_ACTIVITY_TENSOR_READ && facts->reads >= 1) {
        ss_finding_add_reads(facts, finding);
    }
    return ss_is_percent_of(line->cost_ns, facts->spread_ns, least_percent_of(line));
}

bool ss_rule_hot_line(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    return facts->hot_lines.count > 0 &&
           ss_finding_put_hot_line(facts, &facts->hot_lines.rows[0], finding);
}
