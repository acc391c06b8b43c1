/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cupti/launches.h"
#include "inject/cupti/tee.h"

enum { MOST_FUNCTIONS = 2048 };

static const struct {
    enum ss_cupti_kind kind;
    enum ss_collecting_level level, last; /* from which to which */
    bool is_needed;                       /* without it nothing useful is recorded */
} kinds[] = {
    {SS_CUPTI_DEVICE, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_CONTEXT, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_CONCURRENT_KERNEL, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, true},
    {SS_CUPTI_COPY, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_PEER_COPY, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_MEMSET, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    /* It replaces the records of the kernels of a graph by one of the graph. */
    {SS_CUPTI_GRAPH_LAUNCH, SS_COLLECTING_LIGHT, SS_COLLECTING_LIGHT, false},
    {SS_CUPTI_OVERHEAD, SS_COLLECTING_LIGHT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_EVENT, SS_COLLECTING_DEFAULT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_WAIT, SS_COLLECTING_DEFAULT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_RUNTIME_CALL, SS_COLLECTING_DEFAULT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_COMPILATION, SS_COLLECTING_DEFAULT, SS_COLLECTING_FULL, false},
    {SS_CUPTI_DRIVER_CALL, SS_COLLECTING_FULL, SS_COLLECTING_FULL, false},
    {SS_CUPTI_MEMORY, SS_COLLECTING_FULL, SS_COLLECTING_FULL, false},
    {SS_CUPTI_POOL, SS_COLLECTING_FULL, SS_COLLECTING_FULL, false},
    {SS_CUPTI_EXTERNAL, SS_COLLECTING_FULL, SS_COLLECTING_FULL, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Calls that programs make all the time, and that neither launch nor wait. */
static const struct {
    int domain;
    const char *prefix;
} noise[] = {
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaGetDevice_"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaSetDevice_"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaGetLastError"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaPeekAtLastError"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaStreamIsCapturing"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaStreamGetCaptureInfo"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaDeviceGetAttribute"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaFuncGetAttributes"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaOccupancy"},
    {SS_CUPTI_DOMAIN_RUNTIME, "cudaThreadExchangeStreamCaptureMode"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuCtxGetCurrent"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuCtxSetCurrent"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuCtxGetDevice"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuKernelGetAttribute"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuDevicePrimaryCtxGetState"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuDeviceGetAttribute"},
    {SS_CUPTI_DOMAIN_DRIVER, "cuStreamIsCapturing"},
};

static bool is_noise(const struct ss_cupti *cupti, int domain, uint32_t function)
{
    const char *name = NULL;
    if (cupti->GetCallbackName(domain, function, &name) != SS_CUPTI_OK || name == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        if (noise[i].domain == domain &&
            strncmp(name, noise[i].prefix, strlen(noise[i].prefix)) == 0) {
            return true;
        }
    }
    return false;
}

/* After the kinds: enabling a kind enables all of its functions. */
static void leave_out_noise(const struct ss_cupti *cupti, enum ss_collecting_level level)
{
    for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
        if (level >= SS_COLLECTING_DEFAULT && cupti->ActivityEnableRuntimeApi != NULL &&
            is_noise(cupti, SS_CUPTI_DOMAIN_RUNTIME, function) &&
            !ss_cupti_tee_wants_function(SS_CUPTI_DOMAIN_RUNTIME, function)) {
            cupti->ActivityEnableRuntimeApi(function, 0);
        }
        if (level >= SS_COLLECTING_FULL && cupti->ActivityEnableDriverApi != NULL &&
            is_noise(cupti, SS_CUPTI_DOMAIN_DRIVER, function) &&
            !ss_cupti_tee_wants_function(SS_CUPTI_DOMAIN_DRIVER, function)) {
            cupti->ActivityEnableDriverApi(function, 0);
        }
    }
}

/* A record of the same call would cost the launching thread more than all else. */
static void leave_out_launches(const struct ss_cupti *cupti, enum ss_collecting_level level)
{
    for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
        if (level >= SS_COLLECTING_DEFAULT && cupti->ActivityEnableRuntimeApi != NULL &&
            ss_launches_observes(SS_CUPTI_DOMAIN_RUNTIME, function) &&
            !ss_cupti_tee_wants_function(SS_CUPTI_DOMAIN_RUNTIME, function)) {
            cupti->ActivityEnableRuntimeApi(function, 0);
        }
    }
}

bool ss_cupti_enable_kinds(const struct ss_cupti *cupti, enum ss_collecting_level level,
                           bool observes_launches, char *problem, size_t size)
{
    bool is_ok = true;
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].level <= level && level <= kinds[i].last) {
            uint32_t result = cupti->ActivityEnable((int)kinds[i].kind);
            if (result != SS_CUPTI_OK && kinds[i].is_needed) {
                snprintf(problem, size, "CUPTI refuses to record kernels: %s (%u)",
                         ss_cupti_result_text(cupti, result), result);
                is_ok = false;
            }
        }
    }
    if (cupti->ActivityEnableAllSyncRecords != NULL && level >= SS_COLLECTING_DEFAULT) {
        cupti->ActivityEnableAllSyncRecords(0); /* no records of polling */
    }
    leave_out_noise(cupti, level);
    if (observes_launches) {
        leave_out_launches(cupti, level);
    }
    return is_ok;
}

void ss_cupti_describe_entities(const struct ss_cupti *cupti)
{
    if (cupti->ActivityEnableAndDump != NULL) {
        cupti->ActivityEnableAndDump(SS_CUPTI_DEVICE);
        cupti->ActivityEnableAndDump(SS_CUPTI_CONTEXT);
    }
}

void ss_cupti_enable_entities(const struct ss_cupti *cupti)
{
    cupti->ActivityEnable(SS_CUPTI_DEVICE);
    cupti->ActivityEnable(SS_CUPTI_CONTEXT);
}

static bool is_of_level(enum ss_collecting_level level, int kind)
{
    for (size_t i = 0; i < KINDS; i++) {
        if ((int)kinds[i].kind == kind) {
            return kinds[i].level <= level && level <= kinds[i].last;
        }
    }
    return false;
}

bool ss_cupti_is_wanted(const struct ss_cupti *cupti, enum ss_collecting_level level, int kind,
                        uint32_t function)
{
    if (!is_of_level(level, kind)) {
        return false;
    }
    return kind == SS_CUPTI_RUNTIME_CALL  ? !is_noise(cupti, SS_CUPTI_DOMAIN_RUNTIME, function)
           : kind == SS_CUPTI_DRIVER_CALL ? !is_noise(cupti, SS_CUPTI_DOMAIN_DRIVER, function)
                                          : true;
}

void ss_cupti_disable_kinds(const struct ss_cupti *cupti, enum ss_collecting_level level)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (is_of_level(level, (int)kinds[i].kind) &&
            !ss_cupti_tee_wants_kind((int)kinds[i].kind)) {
            cupti->ActivityDisable((int)kinds[i].kind);
        }
    }
}
