/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would make a training faster: each rule looks at the facts and speaks up when a fault costs
 * enough. Rules are rows of rules.def; what they return is typed, the views word it. Pure.
 */
#ifndef SS_ANALYSIS_RULES_H
#define SS_ANALYSIS_RULES_H

#include "analysis/training_facts.h"

/* Nothing that costs less of a step is worth a line. */
enum { SS_RULE_LEAST_PERCENT = 2, SS_FINDING_MAX_EVIDENCE = 8 };

enum ss_evidence_unit {
    SS_EVIDENCE_COUNT,
    SS_EVIDENCE_NUMBER, /* that names something: a rank, a process */
    SS_EVIDENCE_NS,
    SS_EVIDENCE_BYTES,
    SS_EVIDENCE_PERCENT
};

struct ss_evidence {
    const char *what;
    enum ss_evidence_unit unit;
    double value;
};

struct ss_rule {
    const char *id;
    const char *headline; /* goes on after "N % of each step", or of the training's time; whole
                             where it costs no time */
    const char *needs;    /* what must be recorded */
    const char *fires;    /* when, in words */
    double least_percent; /* of a step: costs less, says nothing */
    const char *estimate; /* how the recoverable time is computed */
    const char *fix;
};

struct ss_finding {
    const struct ss_rule *rule;
    const char *headline;    /* the rule's, or what says it better */
    uint64_t cost_ns;        /* per step: what is spent on it */
    uint64_t recoverable_ns; /* per step: an upper bound, of it and what goes with it; 0: none by
                                the program. In a diagnosis the sampling error is in it, and what an
                                interruption costs behind it. */
    uint64_t expected_ns;    /* the same without those two */
    uint64_t error_ns;       /* of the cost, where it is a share of samples: at 95 % */
    bool interrupts;         /* the step's computing, which finds cold caches behind it */
    uint64_t of_ns;          /* the step that it is a part of: the mean usual one, or else */
    double percent;          /* the cost of of_ns */
    const char *fix;         /* the rule's, or what fits better; NULL: none is known */
    bool is_spread;          /* it is not in every step: the step is a mean with the slow ones */
    const struct ss_phase_line *line;     /* behind it, in the facts or steps; NULL: none to name */
    const char *line_of;                  /* what the samples of the line are of */
    const struct ss_step_phase *phase;    /* all of whose time it speaks of, or the line's; NULL */
    bool is_part;                         /* it explains most of what a wider finding costs */
    bool ends_with_line;                  /* a wait: without its line it would not be */
    bool is_of_line;                      /* a line and nothing more: rule "hot-line" */
    const struct ss_hot_line *hot_line;   /* what it was made of; NULL unless is_of_line */
    enum ss_activity activity;            /* of that line */
    bool dropped;                         /* private to the making of a diagnosis */
    const struct ss_step_phase *grows_in; /* the phase that keeps memory; NULL: not one alone */
    const struct ss_gil_holder *holder;   /* of the GIL that is waited for; NULL: of no such */
    struct ss_evidence evidence[SS_FINDING_MAX_EVIDENCE];
    size_t evidence_count;
};

struct ss_diagnosis {
    struct ss_vec_of(struct ss_finding) findings; /* the largest recoverable first */
    bool judged;                                  /* there are usual steps to judge by */
    bool is_uncertain;                            /* there are few */
    bool host_time; /* kernels ran whose times were not recorded: phases are what the host did */
};

/* Borrows the facts. */
void ss_diagnosis_init(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts);
void ss_diagnosis_fini(struct ss_diagnosis *diagnosis);

/* All rules; the last has no id. */
extern const struct ss_rule ss_rules[];

#endif
