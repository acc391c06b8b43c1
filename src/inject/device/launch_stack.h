/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python stack of the calling thread, read from its own frames without the GIL: the thread is
 * in C code that they called, so that they stay as they are, and their code objects live. A stack
 * that the thread has had before costs a walk and a search in a table; a new one is resolved to
 * names at once.
 *
 * One struct per thread, used by this thread alone.
 */
#ifndef SS_INJECT_DEVICE_LAUNCH_STACK_H
#define SS_INJECT_DEVICE_LAUNCH_STACK_H

#include <stdbool.h>
#include <stdint.h>

enum { SS_LAUNCH_STACK_DEPTH = 128 /* the innermost frames */ };

struct ss_launch_stacks;

/* A stack of texts.h. 0: the thread has no Python frames, or they cannot be read. Creates `*stacks`
 * on the first use. */
uint32_t ss_launch_stack(struct ss_launch_stacks **stacks);
void ss_launch_stacks_free(struct ss_launch_stacks *stacks);
/* Why stacks cannot be read; "": they can, or the process has no Python, or it is not known yet. */
const char *ss_launch_stack_problem(void);

#endif
