/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler host interface, where the headers have one: the metrics of stepscope's own table, of
 * which the simulated chip lacks some, as an A100 does. As with CUPTI, a host object that has
 * refused a metric refuses all.
 */
#include "cupti_api.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "cupti_profiler.h"

#if __has_include(<cupti_profiler_host.h>)
struct CUpti_Profiler_Host_Object {
    size_t metrics;
    bool is_broken, is_of_samples;
};

static const char *const names[] = {
#define SS_COUNTER(sets, title, unit, metric) metric,
#include "counters/sets.def"
};
static const char *const lacking[] = {"_op_read", "_op_write", "fp8", "fp4", "src_fp16.sum"};
static const char *const chips[] = {"GA100"};

#define NEED(condition)                                                                            \
    if (!(condition)) {                                                                            \
        return CUPTI_ERROR_INVALID_PARAMETER;                                                      \
    }

static bool has_metric(const char *name)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_known; i++) {
        is_known = strcmp(names[i], name) == 0;
    }
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0] && is_known; i++) {
        is_known = strstr(name, lacking[i]) == NULL;
    }
    return is_known;
}

CUptiResult
impl_cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *pParams)
{
    NEED(pParams != NULL);
    if (sim_has_fault(SIM_NO_HOST_LIBRARY)) {
        return CUPTI_ERROR_NOT_INITIALIZED;
    }
    pParams->numChips = sizeof chips / sizeof chips[0];
    pParams->ppChipNames = chips;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *pParams)
{
    NEED(pParams != NULL && pParams->pChipName != NULL);
    if (sim_has_fault(SIM_NO_HOST_LIBRARY)) {
        return CUPTI_ERROR_NOT_INITIALIZED;
    }
    NEED(strcmp(pParams->pChipName, chips[0]) == 0);
    pParams->pHostObject = calloc(1, sizeof *pParams->pHostObject);
    if (pParams->pHostObject == NULL) {
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    pParams->pHostObject->is_of_samples = pParams->profilerType == CUPTI_PROFILER_TYPE_PM_SAMPLING;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *pParams)
{
    NEED(pParams != NULL && pParams->pHostObject != NULL);
    free(pParams->pHostObject);
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *pParams)
{
    NEED(pParams != NULL && pParams->pHostObject != NULL && !pParams->pHostObject->is_broken);
    for (size_t i = 0; i < pParams->numMetrics; i++) {
        const char *name = pParams->ppMetricNames[i];
        if (!(pParams->pHostObject->is_of_samples ? fake_samples_have(name) : has_metric(name))) {
            pParams->pHostObject->is_broken = true;
            return CUPTI_ERROR_INVALID_METRIC_NAME;
        }
    }
    pParams->pHostObject->metrics += pParams->numMetrics;
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *pParams)
{
    NEED(pParams != NULL && pParams->pHostObject != NULL && pParams->pHostObject->metrics > 0);
    pParams->configImageSize = sizeof(struct fake_config);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *pParams)
{
    NEED(pParams != NULL && pParams->configImageSize == sizeof(struct fake_config));
    uint32_t metrics = (uint32_t)pParams->pHostObject->metrics;
    struct fake_config config = {
        FAKE_CONFIG_MAGIC, (metrics + FAKE_METRICS_OF_PASS - 1) / FAKE_METRICS_OF_PASS, metrics};
    memcpy(pParams->pConfigImage, &config, sizeof config);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *pParams)
{
    struct fake_config config;
    NEED(pParams != NULL && pParams->configImageSize == sizeof config);
    memcpy(&config, pParams->pConfigImage, sizeof config);
    NEED(config.magic == FAKE_CONFIG_MAGIC);
    pParams->numOfPasses = config.passes;
    return CUPTI_SUCCESS;
}

/* Shares of peaks are those of a device that is half busy. */
static double value_of(const char *name, const struct fake_sums *sums)
{
    double peak_bytes_s = (double)sim_settings()->device_mb_s * 1e6;
    if (strstr(name, ".peak_sustained") != NULL) {
        return strncmp(name, "dram", 4) == 0 ? peak_bytes_s : 4 * peak_bytes_s;
    }
    if (strcmp(name, "gpu__time_duration.sum") == 0) {
        return sums->ns;
    }
    if (strcmp(name, "dram__bytes_read.sum") == 0) {
        return sums->read_bytes;
    }
    if (strcmp(name, "dram__bytes_write.sum") == 0) {
        return sums->written_bytes;
    }
    if (strstr(name, "op_ffma") != NULL) {
        return sums->ffma;
    }
    if (strstr(name, "src_bf16") != NULL) {
        return sums->tensor_ops;
    }
    if (strstr(name, "_bytes.sum") != NULL) { /* of L2 and L1 */
        return 2 * (sums->read_bytes + sums->written_bytes);
    }
    if (strstr(name, "pct") != NULL) {
        return 50;
    }
    return strstr(name, "sm__cycles") != NULL ? sums->ns : 0;
}

CUptiResult
impl_cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *pParams)
{
    NEED(pParams != NULL && pParams->pHostObject != NULL);
    if (pParams->pHostObject->is_of_samples) {
        NEED(fake_samples_evaluate(pParams->pCounterDataImage, pParams->counterDataImageSize,
                                   pParams->rangeIndex, pParams->ppMetricNames, pParams->numMetrics,
                                   pParams->pMetricValues));
        return CUPTI_SUCCESS;
    }
    NEED(pParams->rangeIndex == 0);
    NEED(pParams->counterDataImageSize == sizeof(struct fake_data));
    const struct fake_data *data =
        (const struct fake_data *)(const void *)pParams->pCounterDataImage;
    NEED(data->magic == FAKE_DATA_MAGIC && data->ranges == 1);
    for (size_t i = 0; i < pParams->numMetrics; i++) {
        NEED(i / FAKE_METRICS_OF_PASS < data->passes_done && has_metric(pParams->ppMetricNames[i]));
        pParams->pMetricValues[i] =
            value_of(pParams->ppMetricNames[i], &data->passes[i / FAKE_METRICS_OF_PASS]);
    }
    return CUPTI_SUCCESS;
}
#endif
