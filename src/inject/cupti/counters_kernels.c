/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that CUPTI runs once for each pass, within the call that launches them. */
#include <dlfcn.h>
#include <regex.h>
#include <string.h>

#include "annot/stamp.h"
#include "base/alloc.h"
#include "inject/cupti/counters_inside.h"
#include "inject/cupti/launches.h"
#include "inject/cupti/texts.h"

enum { MOST_NAME_BYTES = 16 << 10, DIMENSIONS_AT = 8 /* in the parameters of a launch */ };

static struct {
    regex_t pattern;
    bool is_compiled;
    struct ss_device_metrics_message message; /* of the thread that holds is_busy */
} kernels;

/* The calls that launch and are open on this thread; those of the driver are nested in those of the
 * runtime. */
static _Thread_local unsigned depth;
static _Thread_local bool is_measuring;

static bool compile_pattern(void)
{
    struct ss_error err = {0};
    if (!kernels.is_compiled) {
        if (regcomp(&kernels.pattern, ss_counters.request.kernel, REG_EXTENDED | REG_NOSUB) != 0) {
            ss_fail(&err, SS_E_USAGE, "\"%.100s\" is no regular expression (POSIX extended)",
                    ss_counters.request.kernel);
            ss_counters_refuse(&err);
            return false;
        }
        kernels.is_compiled = true;
    }
    return true;
}

/* By the symbol, or its readable form where the process has a C++ runtime. */
static bool matches(const char *symbol)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    if (symbol == NULL || strnlen(symbol, MOST_NAME_BYTES) == MOST_NAME_BYTES ||
        !compile_pattern()) {
        return false;
    }
    if (regexec(&kernels.pattern, symbol, 0, NULL, 0) == 0) {
        return true;
    }
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *readable = demangle != NULL ? demangle(symbol, NULL, NULL, NULL) : NULL;
    bool is_match = readable != NULL && regexec(&kernels.pattern, readable, 0, NULL, 0) == 0;
    ss_free(readable);
    return is_match;
}

static bool has_dimensions(const char *function)
{
    return function != NULL &&
           (strcmp(function, "cudaLaunchKernel") == 0 || strcmp(function, "cuLaunchKernel") == 0);
}

static void describe(const struct ss_cupti_callback_data *call)
{
    uint32_t dimensions[6] = {0};
    if (has_dimensions(call->function) && call->parameters != NULL) {
        memcpy(dimensions, (const char *)call->parameters + DIMENSIONS_AT, sizeof dimensions);
    }
    kernels.message = (struct ss_device_metrics_message){
        .begin_ns = ss_stamp_monotonic_ns(),
        .step = -1,
        .context = call->context_number,
        .name = ss_cupti_text(call->symbol, strlen(call->symbol)),
        .correlation = call->correlation,
        .grid = {dimensions[0], dimensions[1], dimensions[2]},
        .block = {dimensions[3], dimensions[4], dimensions[5]}};
}

/* The outermost call of a launch begins. */
static void begin_launch(const struct ss_cupti_callback_data *call)
{
    struct ss_error err = {0};
    if (ss_counters.has_ended || !matches(call->symbol) ||
        atomic_flag_test_and_set(&ss_counters.is_busy)) {
        return;
    }
    ss_counters.seen++;
    bool may = ss_counters.seen > ss_counters.request.skip && ss_counters.hooks->may_measure() &&
               ss_counters_ready(SS_RANGES_BY_KERNEL);
    if (may) {
        ss_counters_synchronise();
        is_measuring = ss_range_profiler_begin(&ss_counters.ranges, &err) == SS_OK;
        if (is_measuring) {
            describe(call);
        } else {
            ss_counters_refuse(&err);
        }
    }
    if (!is_measuring) {
        atomic_flag_clear(&ss_counters.is_busy);
    }
}

static void end_launch(void)
{
    struct ss_error err = {0};
    bool is_complete = false;
    is_measuring = false;
    ss_counters_synchronise();
    kernels.message.end_ns = ss_stamp_monotonic_ns();
    if (ss_range_profiler_end(&ss_counters.ranges, &is_complete, &err) != SS_OK) {
        ss_counters_refuse(&err);
    } else if (is_complete) {
        ss_counters_write(&kernels.message);
    } else {
        ss_fail(&err, SS_E_UNSUPPORTED, "CUPTI did not run the kernel once for each pass");
        ss_counters_refuse(&err);
    }
    atomic_flag_clear(&ss_counters.is_busy);
}

void ss_cupti_counters_on_launch(int domain, uint32_t function,
                                 const struct ss_cupti_callback_data *call)
{
    if (!ss_launches_is_launch(domain, function)) {
        return;
    }
    if (call->site == SS_CUPTI_ENTERS) {
        if (depth++ == 0) {
            begin_launch(call);
        }
    } else if (depth > 0 && --depth == 0 && is_measuring) {
        end_launch();
    }
}
