/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profilers of a CUPTI library (12.6 or later), loaded at run time: which functions it has, by
 * names of ours, and their parameters (profiler_params.def). Loading needs neither a driver nor a
 * device, and initialises nothing.
 *
 * A call:
 *     struct ss_profiler_host_chips chips = SS_PROFILER_PARAMS(host_chips);
 *     SS_TRY(ss_profiler_call(profiler, profiler->host_chips, &chips, err, "list the chips"));
 *
 * To use another function of CUPTI's profilers, add its parameters to profiler_params.def: the
 * struct, the member of ss_profiler and the comparison with the headers follow. A library that
 * lacks a function has NULL there, which ss_profiler_call reports. Immutable once opened; what
 * CUPTI allows concurrently is CUPTI's: use one thread for one host object or range profiler.
 */
#ifndef SS_COUNTERS_PROFILER_H
#define SS_COUNTERS_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* CUpti_ProfilerType: who collects what a config image says. */
enum ss_profiler_kind { SS_PROFILER_OF_RANGES = 0, SS_PROFILER_OF_SAMPLES = 1 };
/* CUpti_ProfilerRange, CUpti_ProfilerReplayMode */
enum { SS_PROFILER_AUTO_RANGE = 1, SS_PROFILER_USER_RANGE = 2 };
enum { SS_PROFILER_KERNEL_REPLAY = 2, SS_PROFILER_USER_REPLAY = 3 };

/* CUpti_PmSampling_TriggerMode */
enum { SS_PROFILER_BY_CYCLES = 0, SS_PROFILER_BY_TIME = 1 };

/* CUpti_Profiler_Support_Level, CUpti_Profiler_API */
enum { SS_PROFILER_UNSUPPORTED_HERE = 1, SS_PROFILER_DISABLED_HERE = 2 };
enum { SS_PROFILER_API_OF_RANGES = 0, SS_PROFILER_API_OF_SAMPLES = 3 };

/* CUptiResult, as far as it has a text of ours. */
enum ss_profiler_result {
#define SS_PROFILER_RESULT(name, number, theirs, why, fix) SS_PROFILER_##name = (number),
#include "counters/profiler_results.def"
    SS_PROFILER_OK = 0
};

/* struct ss_profiler_<name>: parameters. */
#define SS_PARAMS(name, function, vendor)                                                          \
    struct ss_profiler_##name {                                                                    \
        size_t size;                                                                               \
        void *reserved;
#define SS_PARAM(type, member, theirs) type member;
#define SS_PARAMS_END(name, last)                                                                  \
    }                                                                                              \
    ;
#include "counters/profiler_params.def"

/* How much of them CUPTI reads: up to the end of the last member, without padding. */
enum {
#define SS_PARAMS(name, function, vendor)
#define SS_PARAM(type, member, theirs)
#define SS_PARAMS_END(name, last)                                                                  \
    SS_PROFILER_BYTES_##name = offsetof(struct ss_profiler_##name, last) +                         \
                               sizeof(((struct ss_profiler_##name *)0)->last),
#include "counters/profiler_params.def"
    SS_PROFILER_BYTES_END
};
#define SS_PROFILER_PARAMS(name)                                                                   \
    {                                                                                              \
        .size = SS_PROFILER_BYTES_##name                                                           \
    }

typedef uint32_t ss_profiler_function(void *params);

struct ss_profiler {
#define SS_PARAMS(name, function, vendor) ss_profiler_function *name;
#define SS_PARAM(type, member, theirs)
#define SS_PARAMS_END(name, last)
#include "counters/profiler_params.def"
    uint32_t version; /* of CUPTI's interface: 24 is that of CUPTI 12.6, 130001 that of 13.0 U1 */
    char path[512];   /* of the library */
};

/* The library at `path`; NULL: STEPSCOPE_CUPTI, else the newest one of the usual folders: the
 * linker's, the toolkit's below /usr/local, and those of the wheels of PyPI in the active Python
 * environment. The library stays loaded to the end of the process. */
enum ss_status ss_profiler_open(struct ss_profiler *profiler, const char *path,
                                struct ss_error *err);
/* The newest CUPTI of the packages of a Python environment, such as "/opt/venv". false: none. */
bool ss_profiler_find_in_python(const char *environment, char *path, size_t size);
/* Calls one of its functions; a refusal is an error with its reason and the fix, such as
 * "cannot ACTION: …". `function` NULL: this library has no such function. */
enum ss_status ss_profiler_call(const struct ss_profiler *profiler, ss_profiler_function *function,
                                void *params, struct ss_error *err, const char *action);
/* Why CUPTI returned a number, with the fix. */
void ss_profiler_explain(uint32_t result, char *text, size_t size);

#endif
