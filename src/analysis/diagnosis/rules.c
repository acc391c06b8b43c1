/* SPDX-License-Identifier: Apache-2.0 */
/* From rules to a diagnosis: every rule is evaluated, no time is in two findings, and bounds get
 * their margins. */
#include "analysis/diagnosis/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnosis/rule_parts.h"
#include "analysis/table/uncertainty.h"

/* --- the table ------------------------------------------------------------------------------- */

#define SS_RULE(name, id, headline, needs, fires, least, estimate, fix)                            \
    {id, headline, needs, fires, least, estimate, fix},
const struct ss_rule ss_rules[] = {
#include "analysis/diagnosis/rules.def"
    {0}};
#undef SS_RULE

#define SS_RULE(name, id, headline, needs, fires, least, estimate, fix) ss_rule_##name,
static bool (*const functions[])(const struct ss_training_facts *, struct ss_finding *) = {
#include "analysis/diagnosis/rules.def"
};
#undef SS_RULE

static void set_percent(struct ss_finding *finding)
{
    double share = (double)finding->cost_ns / (double)(finding->of_ns > 0 ? finding->of_ns : 1);
    finding->percent = 100 * fmin(share, 1);
}

static bool is_worth_it(const struct ss_finding *finding)
{
    const struct ss_rule *rule = finding->rule;
    double least = rule->least_percent;
    return least <= 0 || (finding->cost_ns > 0 && finding->percent >= least &&
                          finding->percent >= SS_LIMIT_FINDING_PERCENT);
}

/* Ties are in the order of the rules, whose table is one array. */
static int compare(const void *left, const void *right)
{
    const struct ss_finding *a = left, *b = right;
    if (a->recoverable_ns != b->recoverable_ns) {
        return a->recoverable_ns > b->recoverable_ns ? -1 : 1;
    }
    return (a->rule > b->rule) - (a->rule < b->rule);
}

/* Whether a stack that ends in the line of `inner` contains the line of `outer`, or that line's
 * caller. */
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

/* Whether two findings cover the same time: that of a whole phase, or of lines of which one calls
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

enum specificity { OF_LINE, OF_PHASE, OF_PART_OF_PHASE };

static enum specificity specificity_of(const struct ss_finding *finding)
{
    return finding->is_of_line ? OF_LINE : finding->is_part ? OF_PART_OF_PHASE : OF_PHASE;
}

static bool is_line_of_reads(const struct ss_finding *finding)
{
    return finding->is_of_line && finding->activity == SS_ACTIVITY_TENSOR_READ;
}

/* The share of a wide finding's recoverable time that a specific one must explain. For workers a
 * smaller share is enough, even where cores are few: they take the line off the step as it is. */
static double least_explained(const struct ss_finding *exact)
{
    return ss_limit_factor(strcmp(exact->rule->id, "no-workers") == 0
                               ? SS_LIMIT_EXPLAINED_BY_WORKERS_PERCENT
                               : SS_LIMIT_EXPLAINED_PERCENT);
}

/* Of two findings of the same time, the more specific one stays, unless it explains too little of
 * what the other would recover. A line that reads values is as specific as the rule on reads, as it
 * covers its reads and all that it does around them. */
static bool yields_to(const struct ss_finding *finding, const struct ss_finding *other)
{
    bool equally_specific = specificity_of(finding) == specificity_of(other);
    bool are_reads = is_line_of_reads(other) && strcmp(finding->rule->id, "host-sync") == 0;
    are_reads =
        are_reads || (is_line_of_reads(finding) && strcmp(other->rule->id, "host-sync") == 0);
    if (equally_specific || are_reads) {
        return compare(finding, other) > 0;
    }
    bool is_more_specific = specificity_of(finding) > specificity_of(other);
    const struct ss_finding *exact = is_more_specific ? finding : other;
    const struct ss_finding *wide = is_more_specific ? other : finding;
    bool wide_stays =
        (double)exact->recoverable_ns < least_explained(exact) * (double)wide->recoverable_ns;
    return is_more_specific == wide_stays;
}

/* A wait finding replaces the finding of its line, even if that line also computes: moving the line
 * off the thread recovers all of it. The line's samples contain no wait that is a phase of its own.
 */
static void absorb_rest_of_line(struct ss_finding *finding, const struct ss_finding *line)
{
    bool is_one_line =
        line->is_of_line && finding->line != NULL && line->line->frame == finding->line->frame;
    uint64_t waits_ns = finding->phase == NULL ? finding->recoverable_ns : 0;
    if (is_one_line && line->recoverable_ns > waits_ns) {
        uint64_t more_ns = line->recoverable_ns - waits_ns;
        ss_finding_add(finding, "computing at the line", SS_EVIDENCE_NS, (double)more_ns);
        finding->recoverable_ns += more_ns;
        finding->error_ns = line->error_ns;
    }
}

/* Drops findings whose time is in another finding. */
static void drop_shared(struct ss_diagnosis *diagnosis, const struct ss_model *model)
{
    size_t remaining = 0;
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        const struct ss_finding *finding = &diagnosis->findings.data[i];
        bool stays = true;
        for (size_t j = 0; j < diagnosis->findings.count && stays; j++) {
            const struct ss_finding *other = &diagnosis->findings.data[j];
            stays = j == i || other->dropped || finding->cost_ns == 0 || other->cost_ns == 0 ||
                    !share_time(model, finding, other) || !yields_to(finding, other);
        }
        diagnosis->findings.data[i].dropped = !stays;
    }
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        struct ss_finding *finding = &diagnosis->findings.data[i];
        for (size_t j = 0; j < diagnosis->findings.count && finding->ends_with_line; j++) {
            if (!finding->dropped && diagnosis->findings.data[j].dropped) {
                absorb_rest_of_line(finding, &diagnosis->findings.data[j]);
            }
        }
    }
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        if (!diagnosis->findings.data[i].dropped) {
            diagnosis->findings.data[remaining++] = diagnosis->findings.data[i];
        }
    }
    diagnosis->findings.count = remaining;
}

/* Without the drift where another finding has its time, with a cause and a fix. */
static void settle_drift(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts)
{
    size_t count = diagnosis->findings.count, at = 0;
    struct ss_finding *findings = diagnosis->findings.data;
    while (at < count && strcmp(findings[at].rule->id, "drift") != 0) {
        at++;
    }
    if (at == count) {
        return;
    }
    if (ss_drift_yield(facts, &findings[at], findings, count) != NULL) {
        memmove(&findings[at], &findings[at + 1], (count - at - 1) * sizeof *findings);
        diagnosis->findings.count--;
        return;
    }
    set_percent(&findings[at]);
}

static void add_if_worth_it(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts,
                            bool fires, struct ss_finding *finding)
{
    set_percent(finding);
    if (finding->recoverable_ns > finding->of_ns) {
        finding->recoverable_ns = finding->of_ns;
    }
    finding->error_ns = facts->is_exact ? 0 : finding->error_ns;
    if (fires && is_worth_it(finding)) {
        ss_vec_push(&diagnosis->findings, *finding);
    }
}

/* Makes the recoverable time an upper bound: it covers the sampling error and what the step gains
 * besides. */
static void widen_bound(struct ss_finding *finding)
{
    finding->expected_ns = finding->recoverable_ns;
    uint64_t cold_ns =
        finding->interrupts
            ? ss_share_of_ns(finding->recoverable_ns, ss_limit_factor(SS_LIMIT_COLD_CACHES_PERCENT))
            : 0;
    uint64_t bound_ns = finding->recoverable_ns + finding->error_ns + cold_ns;
    if (finding->recoverable_ns == 0) {
        return;
    }
    finding->recoverable_ns = bound_ns < finding->of_ns ? bound_ns : finding->of_ns;
    if (finding->error_ns > 0) {
        ss_finding_add(finding, "sampling error", SS_EVIDENCE_NS, (double)finding->error_ns);
    }
    if (cold_ns > 0) {
        ss_finding_add(finding, "cold caches after it, at most", SS_EVIDENCE_NS, (double)cold_ns);
    }
}

static struct ss_finding empty_finding(const struct ss_training_facts *facts,
                                       const struct ss_rule *rule)
{
    return (struct ss_finding){
        .rule = rule, .headline = rule->headline, .fix = rule->fix, .of_ns = facts->step_ns};
}

void ss_diagnosis_init(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts)
{
    *diagnosis = (struct ss_diagnosis){.judged = facts->steps->steady > 0,
                                       .is_uncertain = facts->steps->steady < SS_LIMIT_FEWEST_STEPS,
                                       .host_time = !ss_knows_compute_time(facts)};
    for (size_t i = 0; ss_rules[i].id != NULL && diagnosis->judged; i++) {
        struct ss_finding finding = empty_finding(facts, &ss_rules[i]);
        add_if_worth_it(diagnosis, facts, functions[i](facts, &finding), &finding);
        for (size_t k = 1; functions[i] == ss_rule_hot_line && k < facts->hot_lines.count; k++) {
            finding = empty_finding(facts, &ss_rules[i]);
            add_if_worth_it(diagnosis, facts,
                            ss_finding_put_hot_line(facts, &facts->hot_lines.rows[k], &finding),
                            &finding);
        }
    }
    drop_shared(diagnosis, facts->model);
    settle_drift(diagnosis, facts);
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
