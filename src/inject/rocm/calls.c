/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/calls.h"

#include "base/device_api.h"
#include "inject/device/texts.h"

enum { CALLS = 3 };

static const struct {
    enum ss_rocm_what what;
    const char *kind;
} rows[CALLS] = {{SS_ROCM_HIP_CALL, "HIP_RUNTIME_API"},
                 {SS_ROCM_COMPILER_CALL, "HIP_COMPILER_API"},
                 {SS_ROCM_RCCL_CALL, "RCCL_API"}};

/* Calls that programs make all the time, and that neither launch nor wait. */
static const char *const noise[] = {"hipGetDevice",
                                    "hipSetDevice",
                                    "hipGetDeviceCount",
                                    "hipGetLastError",
                                    "hipExtGetLastError",
                                    "hipPeekAtLastError",
                                    "hipStreamIsCapturing",
                                    "hipStreamGetCaptureInfo",
                                    "hipStreamGetCaptureInfo_v2",
                                    "hipThreadExchangeStreamCaptureMode",
                                    "hipDeviceGetAttribute",
                                    "hipFuncGetAttributes",
                                    "hipCtxGetCurrent",
                                    "hipCtxSetCurrent",
                                    "hipDevicePrimaryCtxGetState"};

static const struct ss_rocm *rocm;
static uint32_t kinds[CALLS];
static bool is_launch[SS_ROCM_MOST_OPERATIONS], is_kernel[SS_ROCM_MOST_OPERATIONS];
static int8_t captures[SS_ROCM_MOST_OPERATIONS];
static uint32_t names[CALLS][SS_ROCM_MOST_OPERATIONS]; /* texts; 0: not needed yet */

static size_t row_of(enum ss_rocm_what what)
{
    size_t i = 0;
    while (i < CALLS - 1 && rows[i].what != what) {
        i++;
    }
    return i;
}

static bool is_noise(const char *name)
{
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        if (strcmp(noise[i], name) == 0) {
            return true;
        }
    }
    return strncmp(name, "hipOccupancy", strlen("hipOccupancy")) == 0;
}

void ss_rocm_calls_init(const struct ss_rocm *of)
{
    rocm = of;
    for (size_t i = 0; i < CALLS; i++) {
        kinds[i] = ss_rocm_kind(rocm, false, rows[i].kind);
    }
    for (int32_t i = 0; i < SS_ROCM_MOST_OPERATIONS && kinds[0] != 0; i++) {
        const char *name = ss_rocm_operation(rocm, kinds[0], i);
        if (name != NULL) {
            is_launch[i] = ss_device_call_type(ss_strview_of(name)) == SS_EVENT_TYPE_launch &&
                           strcmp(name, "hipLaunchHostFunc") != 0;
            is_kernel[i] = is_launch[i] && ss_device_call_launches_kernel(ss_strview_of(name));
            bool begins = strncmp(name, "hipStreamBeginCapture", 21) == 0;
            captures[i] = begins ? 1 : strcmp(name, "hipStreamEndCapture") == 0 ? -1 : 0;
        }
    }
}

uint32_t ss_rocm_calls_kind(enum ss_rocm_what what)
{
    return kinds[row_of(what)];
}

void ss_rocm_calls_list_launches(struct ss_rocm_operations *operations)
{
    operations->count = 0;
    for (int32_t i = 0; i < SS_ROCM_MOST_OPERATIONS; i++) {
        if (is_launch[i] || captures[i] != 0) {
            operations->list[operations->count++] = i;
        }
    }
}

void ss_rocm_calls_list_recorded(enum ss_rocm_what what, struct ss_rocm_operations *operations)
{
    uint32_t kind = ss_rocm_calls_kind(what);
    operations->count = 0;
    for (int32_t i = 0; i < SS_ROCM_MOST_OPERATIONS && kind != 0; i++) {
        const char *name = ss_rocm_operation(rocm, kind, i);
        if (name != NULL && !is_noise(name)) {
            operations->list[operations->count++] = i;
        }
    }
}

bool ss_rocm_calls_is_launch(int32_t operation)
{
    return operation >= 0 && operation < SS_ROCM_MOST_OPERATIONS && is_launch[operation];
}

bool ss_rocm_calls_launches_kernel(int32_t operation)
{
    return ss_rocm_calls_is_launch(operation) && is_kernel[operation];
}

int ss_rocm_calls_captures(int32_t operation)
{
    return operation >= 0 && operation < SS_ROCM_MOST_OPERATIONS ? captures[operation] : 0;
}

uint32_t ss_rocm_calls_name(enum ss_rocm_what what, int32_t operation)
{
    size_t row = row_of(what);
    if (operation < 0 || operation >= SS_ROCM_MOST_OPERATIONS || kinds[row] == 0) {
        return 0;
    }
    uint32_t *known = &names[row][operation];
    const char *name = *known == 0 ? ss_rocm_operation(rocm, kinds[row], operation) : NULL;
    if (name != NULL) {
        *known = ss_device_text_put(name, strlen(name));
    }
    return *known;
}
