/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a Python that has torch was reached by what is handed to the program: launch scripts set
 * LD_PRELOAD themselves, or begin with an environment of their own. Seen from outside: from what it
 * was started with, and from what it has mapped. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_TORCH_REACH_H
#define SS_RECORD_TORCH_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/injection.h"

struct ss_torch_reach {
    bool is_preloaded; /* nothing more is to be seen */
    uint64_t looks;    /* so far */
    uint64_t due_ns;   /* of the next one */
    char *missed;      /* torch is there and we are not: why and what helps, one line; else NULL */
};

/* Now and then, while the process is alive: it may get torch, and us, at any time. */
void ss_torch_reach_look(struct ss_torch_reach *reach, const struct ss_injection *injection,
                         pid_t pid, uint64_t now_ns);
/* Also when it has called exec. */
void ss_torch_reach_fini(struct ss_torch_reach *reach);

#endif
