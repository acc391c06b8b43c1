/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range profiler, where the headers have one (CUDA 12.6): counts the kernels between the start
 * and the end of a range. A kernel reads 64 bytes of DRAM for each of its threads, writes 32, and
 * does two fused instructions; one with "gemm" in its name also does 8192 operations of tensor
 * cores for each thread. The kernels of `stepscope doctor --gpu` do what they do. Each pass counts
 * its own range; with replay of kernels, all passes count the same.
 */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <string.h>

#include "cupti_profiler.h"

static struct {
    bool is_enabled, is_started, is_open;
    struct fake_sums sums;
    struct fake_config config;
    struct fake_data *data;
    bool is_replay; /* of kernels */
    uint32_t pass;
} profiler;

bool cupti_has_profiler(void)
{
    return profiler.is_enabled;
}

static void add_known(struct fake_sums *sums, const struct sim_work *work, double threads)
{
    const char *name = work->kernel.function->name;
    if (strcmp(name, "stepscope_copy") == 0) {
        sums->read_bytes += 16.0 * (double)work->kernel.arguments[2];
        sums->written_bytes += 16.0 * (double)work->kernel.arguments[2];
    } else if (strcmp(name, "stepscope_fma") == 0) {
        sums->ffma += threads * 8 * (double)work->kernel.arguments[1];
    }
}

void cupti_count_work(const struct sim_work *work)
{
    pthread_mutex_lock(&cupti_lock);
    bool counts = profiler.is_open || (profiler.is_started && profiler.is_replay);
    if (work->kind == SIM_KERNEL && counts) {
        const struct sim_kernel *kernel = &work->kernel;
        double threads = 1;
        for (int i = 0; i < 3; i++) {
            threads *= (double)kernel->grid[i] * kernel->block[i];
        }
        profiler.sums.kernels++;
        profiler.sums.ns += (double)(work->end_ns - work->start_ns);
        if (kernel->function->known != NULL) {
            add_known(&profiler.sums, work, threads);
        } else {
            profiler.sums.read_bytes += 64 * threads;
            profiler.sums.written_bytes += 32 * threads;
            profiler.sums.ffma += 2 * threads;
            profiler.sums.tensor_ops += strstr(kernel->function->name, "gemm") ? 8192 * threads : 0;
        }
    }
    pthread_mutex_unlock(&cupti_lock);
}

#if __has_include(<cupti_range_profiler.h>)
#define NEED(condition)                                                                            \
    if (!(condition)) {                                                                            \
        return CUPTI_ERROR_INVALID_PARAMETER;                                                      \
    }
#define IS_MINE(params, type)                                                                      \
    ((params) != NULL && (params)->structSize >= type##_Params_STRUCT_SIZE &&                      \
     (params)->pRangeProfilerObject == (void *)&profiler && profiler.is_enabled)

CUptiResult impl_cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *pParams)
{
    NEED(pParams != NULL && pParams->structSize >= CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    return cupti_begin();
}

CUptiResult impl_cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *pParams)
{
    NEED(pParams != NULL && sim_device((unsigned)pParams->deviceIndex) != NULL);
    pParams->pChipName = sim_has_fault(SIM_UNKNOWN_CHIP) ? "GX999" : "GA100";
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams)
{
    NEED(pParams != NULL && sim_device((unsigned)pParams->cuDevice) != NULL);
    bool is_virtual = sim_has_fault(SIM_VIRTUAL_DEVICE);
    pParams->isSupported = is_virtual ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
                                      : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    pParams->vGpu =
        is_virtual ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    pParams->architecture = pParams->sli = pParams->confidentialCompute = pParams->cmp =
        pParams->wsl = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *pParams)
{
    NEED(pParams != NULL && pParams->ctx != NULL);
    if (sim_has_fault(SIM_NO_COUNTERS)) {
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    }
    if (pParams->pCounterAvailabilityImage != NULL) {
        memset(pParams->pCounterAvailabilityImage, 1, 16);
    }
    pParams->counterAvailabilityImageSize = 16;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *pParams)
{
    NEED(pParams != NULL && pParams->ctx != NULL && !profiler.is_enabled);
    if (sim_has_fault(SIM_BUSY_COUNTERS)) {
        return CUPTI_ERROR_HARDWARE_BUSY;
    }
    profiler.is_enabled = true;
    pParams->pRangeProfilerObject = (void *)&profiler;
    cupti_want_work();
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_Disable));
    memset(&profiler, 0, sizeof profiler);
    cupti_want_work();
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_GetCounterDataSize) && pParams->numMetrics > 0);
    NEED(pParams->maxNumRangeTreeNodes >= pParams->maxNumOfRanges && pParams->maxNumOfRanges > 0);
    pParams->counterDataSize = sizeof(struct fake_data);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_CounterDataImage_Initialize));
    NEED(pParams->counterDataSize == sizeof(struct fake_data) && pParams->pCounterData != NULL);
    memset(pParams->pCounterData, 0, pParams->counterDataSize);
    ((struct fake_data *)(void *)pParams->pCounterData)->magic = FAKE_DATA_MAGIC;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_SetConfig) && !profiler.is_started);
    NEED(pParams->configSize == sizeof profiler.config && pParams->passIndex == 0);
    NEED(pParams->minNestingLevel == 1 && pParams->numNestingLevels == 1);
    memcpy(&profiler.config, pParams->pConfig, sizeof profiler.config);
    profiler.data = (struct fake_data *)(void *)pParams->pCounterDataImage;
    NEED(profiler.config.magic == FAKE_CONFIG_MAGIC && profiler.data->magic == FAKE_DATA_MAGIC);
    NEED((pParams->range == CUPTI_AutoRange) == (pParams->replayMode == CUPTI_KernelReplay));
    profiler.is_replay = pParams->replayMode == CUPTI_KernelReplay;
    profiler.pass = 0;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_Start) && profiler.data != NULL);
    NEED(!profiler.is_started && profiler.pass < profiler.config.passes);
    sim_report_done_work();
    memset(&profiler.sums, 0, sizeof profiler.sums);
    profiler.is_started = true;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_PushRange) && pParams->pRangeName != NULL);
    NEED(profiler.is_started && !profiler.is_open && !profiler.is_replay);
    profiler.is_open = true;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_PopRange) && profiler.is_open);
    sim_report_done_work();
    profiler.is_open = false;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_Stop) && profiler.is_started && !profiler.is_open);
    sim_report_done_work();
    uint32_t last = profiler.is_replay ? profiler.config.passes : profiler.pass + 1;
    for (; profiler.pass < last; profiler.pass++) {
        profiler.data->passes[profiler.pass] = profiler.sums;
    }
    profiler.is_started = false;
    profiler.data->ranges = !profiler.is_replay || profiler.sums.kernels > 0;
    pParams->passIndex = profiler.pass;
    pParams->targetNestingLevel = 1;
    pParams->isAllPassSubmitted = profiler.pass == profiler.config.passes;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_RangeProfiler_DecodeData) && !profiler.is_started);
    profiler.data->passes_done = profiler.pass;
    pParams->numOfRangeDropped = 0;
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *pParams)
{
    NEED(pParams != NULL && pParams->counterDataImageSize == sizeof(struct fake_data));
    const struct fake_data *data =
        (const struct fake_data *)(const void *)pParams->pCounterDataImage;
    NEED(data->magic == FAKE_DATA_MAGIC);
    pParams->numTotalRanges = data->ranges;
    return CUPTI_SUCCESS;
}
#endif
