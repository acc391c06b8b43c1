/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program is made to load: libstepscope, by the variables with which ITT and NVTX ask for
 * a collector (the rows "%l" of child_env.def). Whoever has set one of them before keeps it. Each
 * is a source of the trace, which tells what became of it.
 */
#ifndef SS_RECORD_INJECTION_H
#define SS_RECORD_INJECTION_H

#include "base/strbuf.h"
#include "record/options.h"
#include "record/recording.h"

enum { SS_INJECTIONS_SOURCE_REF = 65 }; /* and the next ones: one for each row */

struct ss_injection {
    bool is_off;        /* nothing is to be loaded, and `reason` says why */
    bool is_missing;    /* there is no libstepscope */
    char library[4096]; /* of libstepscope */
    char reason[4352];
    /* Of torch: preload.so ("": nothing is preloaded, and why), the folder for PYTHONPATH ("": the
     * same), and what to record. */
    char preload[4096];
    char no_preload[4352];
    char python[4096];
    char torch[256];
};

/* `rings`: the folder for the program's annotations; "": none. */
void ss_injection_find(const struct ss_record_options *options, const char *rings,
                       struct ss_injection *injection);
/* Appends the variables that somebody else has set: "NAME (value), …". */
void ss_injection_list_taken(struct ss_strbuf *text);
enum ss_status ss_injection_tell(const struct ss_injection *injection,
                                 struct ss_recording *recording, struct ss_error *err);

#endif
