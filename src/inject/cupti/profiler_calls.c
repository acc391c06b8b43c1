/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/profiler_calls.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "annot/training.h"
#include "base/capture.h"
#include "inject/cupti/cupti_abi.h"

enum { MOST_FUNCTIONS = 1024 };

/* The runtime's call makes the driver's. */
static struct {
    const char *name; /* the runtime's have a version: cudaProfilerStart_v4000 */
    int domain;
    bool starts;
    _Atomic uint32_t function; /* 0: not found */
} calls[] = {{"cuProfilerStart", SS_CUPTI_DOMAIN_DRIVER, true, 0},
             {"cuProfilerStop", SS_CUPTI_DOMAIN_DRIVER, false, 0},
             {"cudaProfilerStart", SS_CUPTI_DOMAIN_RUNTIME, true, 0},
             {"cudaProfilerStop", SS_CUPTI_DOMAIN_RUNTIME, false, 0}};
enum { CALLS = sizeof calls / sizeof *calls };

static bool is_call(const char *name, size_t i)
{
    size_t length = strlen(calls[i].name);
    return strncmp(name, calls[i].name, length) == 0 &&
           (name[length] == '\0' || name[length] == '_');
}

static void find(const struct ss_cupti *cupti)
{
    static const int domains[] = {SS_CUPTI_DOMAIN_DRIVER, SS_CUPTI_DOMAIN_RUNTIME};
    for (size_t k = 0; k < sizeof domains / sizeof *domains; k++) {
        for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
            const char *name = NULL;
            bool is_known = cupti->GetCallbackName(domains[k], function, &name) == SS_CUPTI_OK;
            for (size_t i = 0; is_known && name != NULL && i < CALLS; i++) {
                if (calls[i].domain == domains[k] && is_call(name, i)) {
                    atomic_store_explicit(&calls[i].function, function, memory_order_relaxed);
                }
            }
        }
    }
}

void ss_profiler_calls_enable(const struct ss_cupti *cupti, void *subscriber)
{
    if (ss_training_captures()->by != SS_CAPTURE_BY_PROFILER_API) {
        return;
    }
    find(cupti);
    for (size_t i = 0; i < CALLS; i++) {
        uint32_t function = atomic_load_explicit(&calls[i].function, memory_order_relaxed);
        if (function != 0) {
            cupti->EnableCallback(1, subscriber, calls[i].domain, function);
        }
    }
}

/* The window opens after the program's call has come back, and closes before its call. */
void ss_profiler_calls_observe(int domain, uint32_t function, const void *data)
{
    const struct ss_cupti_callback_data *call = data;
    for (size_t i = 0; i < CALLS; i++) {
        if (calls[i].domain == domain && function != 0 &&
            atomic_load_explicit(&calls[i].function, memory_order_relaxed) == function &&
            call->site == (calls[i].starts ? SS_CUPTI_EXITS : SS_CUPTI_ENTERS)) {
            ss_training_capture(calls[i].starts);
        }
    }
}
