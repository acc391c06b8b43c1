/* SPDX-License-Identifier: Apache-2.0 */
/* From the rules to a diagnosis: each rule is asked, no time is in two findings, and the bounds get
 * their margins. */
#include "analysis/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rule_parts.h"
#include "analysis/uncertainty.h"

enum {
    FEWEST_STEPS = 5, /* fewer: what is said is uncertain */
    COLD_PERCENT = 15 /* of an interruption: what computing is slower by behind it; 10 to 25 were
                       * measured, see tests/corpus */
};

/* --- the table ------------------------------------------------------------------------------- */

#define SS_RULE(name, id, headline, needs, fires, least, estimate, fix)                            \
    {id, headline, needs, fires, least, estimate, fix},
const struct ss_rule ss_rules[] = {
#include "analysis/rules.def"
    {0}};
#undef SS_RULE

#define SS_RULE(name, id, headline, needs, fires, least, estimate, fix) ss_rule_##name,
static bool (*const functions[])(const struct ss_training_facts *, struct ss_finding *) = {
#include "analysis/rules.def"
};
#undef SS_RULE

static bool is_worth_it(const struct ss_finding *finding)
{
    const struct ss_rule *rule = finding->rule;
    double least = rule->least_percent;
    return least <= 0 || (finding->cost_ns > 0 && finding->percent >= least &&
                          finding->percent >= SS_RULE_LEAST_PERCENT);
}

/* In the table's order where they are equal, as the table is an array of its own. */
static int compare(const void *left, const void *right)
{
    const struct ss_finding *a = left, *b = right;
    if (a->recoverable_ns != b->recoverable_ns) {
        return a->recoverable_ns > b->recoverable_ns ? -1 : 1;
    }
    return (a->rule > b->rule) - (a->rule < b->rule);
}

/* A stack of the line of `inner` passes that of `outer`, or its caller's. */
static bool lies_below(const struct ss_model *model, const struct ss_finding *inner,
                       const struct ss_finding *outer)
{
    uint32_t caller = outer->hot_line != NULL ? outer->hot_line->caller : 0;
    for (uint32_t i = 1; i < model->stacks.count; i++) {
        if (model->stacks.data[i].frame != inner->line->frame) {
            continue;
        }
        for (uint32_t at = i; at != 0; at = model->stacks.data[at].parent) {
            uint32_t frame = model->stacks.data[at].frame;
            if (frame == outer->line->frame || (caller != 0 && frame == caller)) {
                return true;
            }
        }
    }
    return false;
}

/* The time of a finding is another's too: that of the whole phase, or of lines of which one calls
 * the other. */
static bool share_time(const struct ss_model *model, const struct ss_finding *a,
                       const struct ss_finding *b)
{
    bool have_lines =
        a->line != NULL && b->line != NULL && a->line->frame != 0 && b->line->frame != 0;
    bool one_line = have_lines && a->line->frame == b->line->frame;
    one_line = one_line || (have_lines && (a->is_of_line || b->is_of_line) &&
                            (lies_below(model, a, b) || lies_below(model, b, a)));
    bool one_phase = a->phase != NULL && a->phase == b->phase;
    bool both_lines = a->is_of_line && b->is_of_line;
    return one_line || (one_phase && !both_lines);
}

/* How much a finding knows of its time: a line, a rule of a whole phase, of a part of it. */
static int knowledge_of(const struct ss_finding *finding)
{
    return finding->is_of_line ? 0 : finding->is_part ? 2 : 1;
}

static bool is_line_of_reads(const struct ss_finding *finding)
{
    return finding->is_of_line && finding->activity == SS_ACTIVITY_TENSOR_READ;
}

/* The part of what a wider finding would recover that an exact one has to explain. Workers are
 * worth it even where there are few cores: they take the line off the step as it is. */
static double least_explained(const struct ss_finding *exact)
{
    return strcmp(exact->rule->id, "no-workers") == 0 ? 0.2 : 0.4;
}

/* Of two findings of the same time the one that knows more stays, unless it explains too little of
 * what the other would recover. A line that reads values knows of its reads as well, and goes
 * with all that it does around them. */
static bool gives_way(const struct ss_finding *finding, const struct ss_finding *other)
{
    bool know_alike = knowledge_of(finding) == knowledge_of(other);
    bool are_reads = is_line_of_reads(other) && strcmp(finding->rule->id, "host-sync") == 0;
    are_reads =
        are_reads || (is_line_of_reads(finding) && strcmp(other->rule->id, "host-sync") == 0);
    if (know_alike || are_reads) {
        return compare(finding, other) > 0;
    }
    bool knows_more = knowledge_of(finding) > knowledge_of(other);
    const struct ss_finding *exact = knows_more ? finding : other;
    const struct ss_finding *wide = knows_more ? other : finding;
    bool wide_stays =
        (double)exact->recoverable_ns < least_explained(exact) * (double)wide->recoverable_ns;
    return knows_more == wide_stays;
}

/* A wait takes the place of its line, which may do more than wait: who moves the line off the
 * thread gains all of it. A wait that is a phase of its own is in none of the line's samples. */
static void take_rest_of_line(struct ss_finding *finding, const struct ss_finding *line)
{
    bool is_one_line =
        line->is_of_line && finding->line != NULL && line->line->frame == finding->line->frame;
    uint64_t waits_ns = finding->phase == NULL ? finding->recoverable_ns : 0;
    if (is_one_line && line->recoverable_ns > waits_ns) {
        uint64_t more_ns = line->recoverable_ns - waits_ns;
        ss_finding_add(finding, "the line computes besides", SS_EVIDENCE_NS, (double)more_ns);
        finding->recoverable_ns += more_ns;
        finding->error_ns = line->error_ns;
    }
}

/* No time is in two findings. */
static void drop_shared(struct ss_diagnosis *diagnosis, const struct ss_model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        const struct ss_finding *finding = &diagnosis->findings.data[i];
        bool is_kept = true;
        for (size_t j = 0; j < diagnosis->findings.count && is_kept; j++) {
            const struct ss_finding *other = &diagnosis->findings.data[j];
            is_kept = j == i || other->dropped || finding->cost_ns == 0 || other->cost_ns == 0 ||
                      !share_time(model, finding, other) || !gives_way(finding, other);
        }
        diagnosis->findings.data[i].dropped = !is_kept;
    }
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        struct ss_finding *finding = &diagnosis->findings.data[i];
        for (size_t j = 0; j < diagnosis->findings.count && finding->ends_with_line; j++) {
            if (!finding->dropped && diagnosis->findings.data[j].dropped) {
                take_rest_of_line(finding, &diagnosis->findings.data[j]);
            }
        }
    }
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        if (!diagnosis->findings.data[i].dropped) {
            diagnosis->findings.data[kept++] = diagnosis->findings.data[i];
        }
    }
    diagnosis->findings.count = kept;
}

static void judge(struct ss_diagnosis *diagnosis, bool fires, struct ss_finding *finding)
{
    double share = (double)finding->cost_ns / (double)(finding->of_ns > 0 ? finding->of_ns : 1);
    finding->percent = 100 * fmin(share, 1);
    if (finding->recoverable_ns > finding->of_ns) {
        finding->recoverable_ns = finding->of_ns;
    }
    if (fires && is_worth_it(finding)) {
        ss_vec_push(&diagnosis->findings, *finding);
    }
}

/* What is promised is a bound, whatever the samples missed by chance and the step gains besides. */
static void widen_bound(struct ss_finding *finding)
{
    finding->expected_ns = finding->recoverable_ns;
    uint64_t cold_ns =
        finding->interrupts ? ss_share_of_ns(finding->recoverable_ns, COLD_PERCENT / 100.0) : 0;
    uint64_t bound_ns = finding->recoverable_ns + finding->error_ns + cold_ns;
    if (finding->recoverable_ns == 0) {
        return;
    }
    finding->recoverable_ns = bound_ns < finding->of_ns ? bound_ns : finding->of_ns;
    if (finding->error_ns > 0) {
        ss_finding_add(finding, "sampling error", SS_EVIDENCE_NS, (double)finding->error_ns);
    }
    if (cold_ns > 0) {
        ss_finding_add(finding, "cold caches behind it, at most", SS_EVIDENCE_NS, (double)cold_ns);
    }
}

static struct ss_finding empty_advice(const struct ss_training_facts *facts,
                                      const struct ss_rule *rule)
{
    return (struct ss_finding){
        .rule = rule, .headline = rule->headline, .fix = rule->fix, .of_ns = facts->step_ns};
}

void ss_diagnosis_init(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts)
{
    *diagnosis = (struct ss_diagnosis){.judged = facts->steps->usual > 0,
                                       .is_uncertain = facts->steps->usual < FEWEST_STEPS,
                                       .host_time = !ss_knows_compute_time(facts)};
    for (size_t i = 0; ss_rules[i].id != NULL && diagnosis->judged; i++) {
        struct ss_finding finding = empty_advice(facts, &ss_rules[i]);
        judge(diagnosis, functions[i](facts, &finding), &finding);
        for (size_t k = 1; functions[i] == ss_rule_hot_line && k < facts->hot_lines.count; k++) {
            finding = empty_advice(facts, &ss_rules[i]);
            judge(diagnosis, ss_finding_put_hot_line(facts, &facts->hot_lines.rows[k], &finding),
                  &finding);
        }
    }
    drop_shared(diagnosis, facts->model);
    if (diagnosis->findings.count > 0) {
        qsort(diagnosis->findings.data, diagnosis->findings.count, sizeof *diagnosis->findings.data,
              compare);
    }
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        widen_bound(&diagnosis->findings.data[i]);
    }
}

void ss_diagnosis_fini(struct ss_diagnosis *diagnosis)
{
    ss_vec_fini(&diagnosis->findings);
    *diagnosis = (struct ss_diagnosis){0};
}
