/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program loads: libstepscope, by the variables with which ITT and NVTX load a collector
 * (the rows "%l" of child_env.def), and the driver of CUDA (the row "%c"). A variable that is
 * already set stays unchanged. Each is a source of the trace, with its outcome.
 */
#ifndef SS_RECORD_RECORDING_INJECTION_H
#define SS_RECORD_RECORDING_INJECTION_H

#include "base/strbuf.h"
#include "record/recording/recording.h"
#include "record/run/options.h"

struct ss_child_env;

struct ss_injection {
    bool is_off;        /* nothing is loaded; `reason` has the cause */
    bool is_refused;    /* by the user: --no-inject */
    char library[4096]; /* path of libstepscope */
    char reason[4352];
    /* For torch: preload.so ("": nothing is preloaded; no_preload has the cause), the folder for
     * PYTHONPATH ("": none), and what to record. */
    char preload[4096];
    char no_preload[4352];
    char python[4096];
    /* For MPI: mpi.so ("": nothing is preloaded; no_mpi has the cause). */
    char mpi[4096];
    char no_mpi[4352];
    char torch[256];
    char rocm[4096]; /* rocm.so; "": it is not installed */
};

/* `rings`: the ring directory; "": none. */
void ss_injection_find(const struct ss_record_options *options, const char *rings,
                       struct ss_injection *injection);
/* The value of the variable that the user has set, which stays; NULL: none. */
const char *ss_injection_user_value(const struct ss_child_env *row);
/* Appends the variables that the user has set: "NAME (value), …". */
void ss_injection_list_preset(struct ss_strbuf *text);
#endif
