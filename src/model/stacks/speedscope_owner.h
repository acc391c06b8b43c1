/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a speedscope profile is, by its name: exporters put process and thread there, such as
 * `Process 12 Thread 34 "MainThread"`, `Thread 0x7F00 "worker"`, `Thread (34)`. Pure.
 */
#ifndef SS_MODEL_STACKS_SPEEDSCOPE_OWNER_H
#define SS_MODEL_STACKS_SPEEDSCOPE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_speedscope_owner {
    int32_t pid;                   /* -1: unknown */
    int64_t tid;                   /* -1: unknown */
    struct ss_strview label, name; /* of the process, of the thread; may be empty */
    struct ss_strview rest;        /* what follows: a name of its own if nothing else is known */
    bool has_thread;
};

/* Texts are borrowed from the name. */
struct ss_speedscope_owner ss_speedscope_owner_of(struct ss_strview name);

#endif
