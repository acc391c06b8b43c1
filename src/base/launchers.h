/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a process among those of its run, from the variables that launchers set
 * (launchers.def). Pure: the caller supplies the variables, of this process or of another one.
 */
#ifndef SS_BASE_LAUNCHERS_H
#define SS_BASE_LAUNCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"

enum ss_launcher {
#define SS_LAUNCHER(id, name) SS_LAUNCHER_##id,
#define SS_LAUNCHER_MARK(id, variable)
#define SS_LAUNCHER_FACT(id, fact, variable)
#define SS_LAUNCHER_PROGRAM(id, name)
#include "base/launchers.def"
    SS_LAUNCHER_COUNT
};

enum ss_rank_fact {
    SS_RANK,
    SS_WORLD_SIZE,
    SS_LOCAL_RANK,
    SS_LOCAL_WORLD_SIZE,
    SS_NODE,                       /* its number */
    SS_RESTART,                    /* how often the launcher or the job was started again */
    SS_RANK_FACT_NUMBERS,          /* the facts above are numbers; below, texts */
    SS_RUN = SS_RANK_FACT_NUMBERS, /* of the run, the same for all its ranks */
    SS_LAUNCH,                     /* of one start of a launcher, within a job or a machine */
    SS_JOB,
    SS_STEP,
    SS_RANK_FACT_COUNT
};

enum { SS_RUN_ID_BYTES = 128 };

struct ss_rank_facts {
    enum ss_launcher launcher; /* SS_LAUNCHER_JOB: none */
    enum ss_env variable;      /* that has the rank; SS_ENV_COUNT: none */
    bool is_explicit;          /* the user gave the rank */
    bool has[SS_RANK_FACT_NUMBERS];
    uint32_t numbers[SS_RANK_FACT_NUMBERS];
    char job[64];                 /* of the batch system; "": none */
    char run_id[SS_RUN_ID_BYTES]; /* the same for all ranks, differs between runs; "": unknown */
};

/* The value of a variable, valid until the next call of its context; NULL: not set. */
typedef const char *ss_variable_get(void *context, enum ss_env variable);

void ss_rank_facts_find(ss_variable_get *get, void *context, struct ss_rank_facts *facts);
/* Of this process. */
void ss_rank_facts_own(struct ss_rank_facts *facts);
/* Of the content of /proc/PID/environ: entries that end in NUL, the last perhaps cut off. */
void ss_rank_facts_of_environment(const char *block, size_t length, struct ss_rank_facts *facts);

const char *ss_launcher_name(enum ss_launcher launcher);
/* Of the name of a program without its folder, or of a Python module; SS_LAUNCHER_JOB: none. */
enum ss_launcher ss_launcher_of_program(const char *name);
/* "rank 3 of 8, local rank 1, node 0, from torchrun (RANK)"; without a rank: "no launcher". */
void ss_rank_facts_text(const struct ss_rank_facts *facts, char *text, size_t size);

#endif
