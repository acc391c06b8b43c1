/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a Python process with torch has the hooks: launch scripts set LD_PRELOAD themselves, or
 * start with a new environment. Works from outside: reads the environment at exec, and the mapped
 * files. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_PROCESSES_TORCH_REACH_H
#define SS_RECORD_PROCESSES_TORCH_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/recording/injection.h"

struct ss_torch_reach {
    bool is_preloaded; /* no more polls are needed */
    uint64_t polls;    /* polls so far */
    uint64_t due_ns;   /* next poll */
    char *missed;      /* torch without the hooks: cause and fix, one line; else NULL */
};

/* Polls now and then while the process is alive: it may load torch, and the hooks, at any time. */
void ss_torch_reach_poll(struct ss_torch_reach *reach, const struct ss_injection *injection,
                         pid_t pid, uint64_t now_ns);
/* Also call it after exec. */
void ss_torch_reach_fini(struct ss_torch_reach *reach);

#endif
