/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would make a training faster: each rule checks the facts and fires when a fault costs
 * enough. Rules are rows of rules.def; their results are typed, the document of a report words
 * them (report_findings.c). Pure.
 */
#ifndef SS_ANALYSIS_DIAGNOSIS_RULES_H
#define SS_ANALYSIS_DIAGNOSIS_RULES_H

#include "analysis/training/training_facts.h"

enum { SS_FINDING_MAX_EVIDENCE = 8, SS_EVIDENCE_MAX_BYTES = 64 };

enum ss_evidence_unit {
    SS_EVIDENCE_COUNT,
    SS_EVIDENCE_NUMBER, /* an identifier: a rank, a process */
    SS_EVIDENCE_NS,
    SS_EVIDENCE_BYTES,
    SS_EVIDENCE_PERCENT
};

struct ss_evidence {
    char what[SS_EVIDENCE_MAX_BYTES];
    enum ss_evidence_unit unit;
    double value;
};

/* needs, fires and estimate name limits as {NAME}: ss_rule_text_append gives their values. */
struct ss_rule {
    const char *id;
    const char *headline; /* continues "N % of each step", or of the training's time; complete in
                           * itself where it costs no time */
    const char *needs;    /* what must be recorded */
    const char *fires;    /* when, in words */
    double least_percent; /* of a step; the rule does not fire below it */
    const char *estimate; /* how the recoverable time is computed */
    const char *fix;
};

struct ss_finding {
    const struct ss_rule *rule;
    const char *headline;    /* the rule's, or a more exact one */
    uint64_t cost_ns;        /* per step: the time spent on it */
    uint64_t recoverable_ns; /* per step: an upper bound, with what its fix saves besides; 0: no
                              * change of the program recovers it. A diagnosis adds the sampling
                              * error and the cost of cold caches after an interruption. */
    uint64_t expected_ns;    /* the same without these two additions */
    uint64_t error_ns;       /* of the cost at 95 %, where it is a share of samples */
    bool interrupts;         /* the step's computing, which resumes with cold caches */
    uint64_t of_ns;          /* the step that the cost is a part of: the mean steady-state step, or
                              * another */
    double percent;          /* the cost as a share of of_ns */
    const char *fix;         /* the rule's, or a more exact one; NULL: unknown */
    bool is_spread;          /* not in every step: of_ns is the mean with outliers */
    const struct ss_phase_line *line;      /* its line, in the facts or steps; NULL: none to name */
    const char *line_of;                   /* what the samples of the line are of */
    const struct ss_step_phase *phase;     /* the phase whose whole time it covers, or the line's
                                            * phase; NULL: none */
    const struct ss_step_phase *mostly_in; /* the phase with most of its time, where it covers a
                                            * part of that phase; NULL: unknown */
    bool is_part;                          /* it explains most of the cost of a wider finding */
    bool ends_with_line;                   /* a wait that exists only because of its line */
    const struct ss_device_wait *wait;     /* the longest for a device; NULL: it is about none */
    const struct ss_exposed_collective *exposed; /* most of communication that nothing hides; NULL:
                                                  * it is about none, or the module is unknown */
    uint32_t kernel;                             /* name of the kernel that it is about; 0: none */
    bool is_of_line;                             /* a line only: rule "hot-line" */
    const struct ss_hot_line *hot_line;   /* the source of the finding; NULL unless is_of_line */
    enum ss_activity activity;            /* of that line */
    bool dropped;                         /* private to ss_diagnosis_init */
    const struct ss_step_phase *grows_in; /* the phase that retains memory; NULL: no single phase */
    const struct ss_gil_holder *holder;   /* of the GIL in a wait for it; NULL: unknown, or no such
                                           * wait */
    const struct ss_lock_holder *lock_holder; /* of the lock in a wait for one; NULL: unknown */
    struct ss_evidence evidence[SS_FINDING_MAX_EVIDENCE];
    size_t evidence_count;
};

struct ss_diagnosis {
    struct ss_vec_of(struct ss_finding) findings; /* largest recoverable time first */
    bool judged;                                  /* there are steady-state steps to diagnose */
    bool is_uncertain;                            /* there are few of these steps */
    bool host_time; /* kernels ran whose times were not recorded: phases are host time */
};

/* Borrows the facts. */
void ss_diagnosis_init(struct ss_diagnosis *diagnosis, const struct ss_training_facts *facts);
void ss_diagnosis_fini(struct ss_diagnosis *diagnosis);

/* All rules; the last has no id. */
extern const struct ss_rule ss_rules[];

#endif
