/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PM sampling, where the headers have it (CUDA 12.6). What a sample shows follows from the kernels
 * and copies in its interval: multiprocessors are active while a kernel runs, tensor cores while
 * one with "gemm" in its name does; memory is read at a gigabyte a second and written at half of
 * that by kernels, and PCIe has the bytes of copies. Samples are there 5 ms after their end.
 */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <stdlib.h>
#include <string.h>

#include "cupti_profiler.h"

#if __has_include(<cupti_pmsampling.h>)
enum { MOST_WORKS = 4096, LATE_NS = 5000000, MOST_OF_BUFFER = 200000 };
/* Of --fault other-sample-clock: what the device's timer is before the host's clock. */
static const uint64_t other_clock_ns = UINT64_C(1000000000000000000);

struct work {
    uint64_t start_ns, end_ns, bytes;
    uint32_t device;
    bool is_kernel, is_gemm, to_host;
};

struct sample {
    uint64_t start_ns, end_ns;
    double active, tensor, received, sent; /* shares of the time; bytes */
};

struct image {
    uint32_t magic, most, count;
    struct sample samples[];
};

struct CUpti_PmSampling_Object {
    uint32_t device;
    bool is_enabled, is_configured, is_started, has_overflown;
    uint64_t interval_ns, next_ns;
};

static pthread_mutex_t samples_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_PmSampling_Object samplers[SIM_MOST_DEVICES];
static struct work works[MOST_WORKS]; /* a ring of the newest */
static uint64_t work_count;

void cupti_sample_work(const struct sim_work *work)
{
    if (work->kind != SIM_KERNEL && work->kind != SIM_COPY) {
        return;
    }
    bool is_kernel = work->kind == SIM_KERNEL;
    struct work one = {.start_ns = work->start_ns,
                       .end_ns = work->end_ns,
                       .device = work->device,
                       .is_kernel = is_kernel,
                       .is_gemm = is_kernel && strstr(work->kernel.function->name, "gemm") != NULL};
    if (!is_kernel) {
        one.bytes = work->copy.width * work->copy.height;
        one.to_host = work->copy.kind == SIM_D2H;
    }
    pthread_mutex_lock(&samples_lock);
    works[work_count++ % MOST_WORKS] = one;
    pthread_mutex_unlock(&samples_lock);
}

/* How much of the work lies in the interval. */
static uint64_t common_ns(const struct work *work, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = work->start_ns > start_ns ? work->start_ns : start_ns;
    uint64_t to = work->end_ns < end_ns ? work->end_ns : end_ns;
    return to > from ? to - from : 0;
}

static struct sample take_sample(uint32_t device, uint64_t start_ns, uint64_t end_ns)
{
    struct sample sample = {.start_ns = start_ns, .end_ns = end_ns};
    uint64_t length_ns = end_ns - start_ns;
    uint64_t first = work_count > MOST_WORKS ? work_count - MOST_WORKS : 0;
    for (uint64_t i = first; i < work_count; i++) {
        const struct work *work = &works[i % MOST_WORKS];
        double share = work->device == device
                           ? (double)common_ns(work, start_ns, end_ns) / (double)length_ns
                           : 0;
        if (share > 0 && work->is_kernel) {
            sample.active += share;
            sample.tensor += work->is_gemm ? share : 0;
        } else if (share > 0) {
            double bytes = (double)work->bytes * share * (double)length_ns /
                           (double)(work->end_ns - work->start_ns);
            *(work->to_host ? &sample.sent : &sample.received) += bytes;
        }
    }
    sample.active = sample.active < 1 ? sample.active : 1;
    sample.tensor = sample.tensor < 1 ? sample.tensor : 1;
    return sample;
}

/* --- the host interface ----------------------------------------------------------------------- */

static const char *const names[] = {
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
    "pcie__read_bytes.sum.per_second",
    "pcie__write_bytes.sum.per_second",
};

bool fake_samples_have(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return !sim_has_fault(SIM_OLD_CHIP);
        }
    }
    return false;
}

static double value_of(const char *name, const struct sample *sample)
{
    double seconds = (double)(sample->end_ns - sample->start_ns) / 1e9;
    double values[] = {100 * sample->active,  100 * sample->tensor, 1e9 * sample->active,
                       5e8 * sample->active,  50 * sample->active,  sample->received / seconds,
                       sample->sent / seconds};
    size_t i = 0;
    while (strcmp(names[i], name) != 0) {
        i++;
    }
    return values[i];
}

bool fake_samples_evaluate(const uint8_t *data, size_t bytes, size_t number,
                           const char *const *metrics, size_t count, double *values)
{
    const struct image *image = (const struct image *)(const void *)data;
    if (bytes < sizeof *image || image->magic != FAKE_SAMPLES_MAGIC || number >= image->count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!fake_samples_have(metrics[i])) {
            return false;
        }
        values[i] = value_of(metrics[i], &image->samples[number]);
    }
    return true;
}

/* --- sampling --------------------------------------------------------------------------------- */

#define NEED(condition)                                                                            \
    if (!(condition)) {                                                                            \
        return CUPTI_ERROR_INVALID_PARAMETER;                                                      \
    }
#define IS_MINE(params, type)                                                                      \
    ((params) != NULL && (params)->structSize >= type##_Params_STRUCT_SIZE &&                      \
     (params)->pPmSamplingObject != NULL && (params)->pPmSamplingObject->is_enabled)

static CUptiResult refusal(void)
{
    return sim_has_fault(SIM_NO_COUNTERS)     ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
           : sim_has_fault(SIM_BUSY_COUNTERS) ? CUPTI_ERROR_HARDWARE_BUSY
           : sim_has_fault(SIM_MIG_DEVICE)    ? (CUptiResult)43
                                              : CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *pParams)
{
    enum { IMAGE_BYTES = 64 };
    NEED(pParams != NULL && sim_device((unsigned)pParams->deviceIndex) != NULL);
    CUptiResult refused = refusal();
    if (refused != CUPTI_SUCCESS) {
        return refused;
    }
    if (pParams->pCounterAvailabilityImage != NULL) {
        NEED(pParams->counterAvailabilityImageSize >= IMAGE_BYTES);
        memset(pParams->pCounterAvailabilityImage, 0x5a, IMAGE_BYTES);
    }
    pParams->counterAvailabilityImageSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *pParams)
{
    NEED(pParams != NULL && pParams->deviceIndex < SIM_MOST_DEVICES);
    NEED(sim_device((unsigned)pParams->deviceIndex) != NULL);
    struct CUpti_PmSampling_Object *sampler = &samplers[pParams->deviceIndex];
    if (refusal() != CUPTI_SUCCESS || sampler->is_enabled) {
        return refusal() != CUPTI_SUCCESS ? refusal() : CUPTI_ERROR_INVALID_OPERATION;
    }
    *sampler = (struct CUpti_PmSampling_Object){.device = (uint32_t)pParams->deviceIndex,
                                                .is_enabled = true};
    pParams->pPmSamplingObject = sampler;
    return cupti_begin();
}

CUptiResult impl_cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_Disable));
    pParams->pPmSamplingObject->is_enabled = pParams->pPmSamplingObject->is_started = false;
    return CUPTI_SUCCESS;
}

/* As GA100, the chip has no trigger by time with --fault no-time-trigger. */
CUptiResult impl_cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *pParams)
{
    struct fake_config config;
    NEED(pParams != NULL && pParams->pPmSamplingObject != NULL);
    NEED(pParams->pPmSamplingObject->is_enabled && pParams->configSize == sizeof config);
    memcpy(&config, pParams->pConfig, sizeof config);
    NEED(config.magic == FAKE_CONFIG_MAGIC && pParams->samplingInterval > 0);
    bool is_by_time = pParams->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    if (config.passes != 1 || (is_by_time && sim_has_fault(SIM_NO_TIME_TRIGGER))) {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    pParams->pPmSamplingObject->interval_ns = pParams->samplingInterval;
    pParams->pPmSamplingObject->is_configured = true;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_Start));
    struct CUpti_PmSampling_Object *sampler = pParams->pPmSamplingObject;
    if (!sampler->is_configured || sampler->is_started) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    pthread_mutex_lock(&samples_lock);
    sampler->next_ns = sim_now_ns();
    sampler->is_started = true;
    pthread_mutex_unlock(&samples_lock);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_Stop));
    if (!pParams->pPmSamplingObject->is_started) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    pParams->pPmSamplingObject->is_started = false;
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_GetCounterDataSize) && pParams->maxSamples > 0);
    pParams->counterDataSize = sizeof(struct image) + pParams->maxSamples * sizeof(struct sample);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_CounterDataImage_Initialize));
    NEED(pParams->pCounterData != NULL && pParams->counterDataSize > sizeof(struct image));
    struct image *image = (struct image *)(void *)pParams->pCounterData;
    size_t rest = pParams->counterDataSize - sizeof *image;
    *image = (struct image){FAKE_SAMPLES_MAGIC, (uint32_t)(rest / sizeof(struct sample)), 0};
    return CUPTI_SUCCESS;
}

/* Once, the buffer has overflown with --fault sample-overflow. */
static bool overflows(struct CUpti_PmSampling_Object *sampler, uint64_t now_ns)
{
    bool is_full = (now_ns - sampler->next_ns) / sampler->interval_ns > MOST_OF_BUFFER;
    static bool was_full;
    if (is_full || (sim_has_fault(SIM_SAMPLE_OVERFLOW) && !was_full)) {
        was_full = true;
        return true;
    }
    return false;
}

CUptiResult impl_cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_DecodeData) && pParams->pCounterDataImage != NULL);
    struct CUpti_PmSampling_Object *sampler = pParams->pPmSamplingObject;
    struct image *image = (struct image *)(void *)pParams->pCounterDataImage;
    NEED(image->magic == FAKE_SAMPLES_MAGIC);
    pthread_mutex_lock(&samples_lock);
    uint64_t now_ns = sim_now_ns();
    pParams->overflow = overflows(sampler, now_ns);
    uint64_t until_ns = sampler->is_started ? now_ns - LATE_NS : now_ns;
    while (!pParams->overflow && image->count < image->most &&
           sampler->next_ns + sampler->interval_ns <= until_ns) {
        uint64_t end_ns = sampler->next_ns + sampler->interval_ns;
        image->samples[image->count++] = take_sample(sampler->device, sampler->next_ns, end_ns);
        sampler->next_ns = end_ns;
    }
    pParams->decodeStopReason = image->count == image->most
                                    ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                    : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    pthread_mutex_unlock(&samples_lock);
    return CUPTI_SUCCESS;
}

CUptiResult
impl_cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *pParams)
{
    NEED(pParams != NULL && pParams->pCounterDataImage != NULL);
    const struct image *image = (const struct image *)(const void *)pParams->pCounterDataImage;
    NEED(image->magic == FAKE_SAMPLES_MAGIC);
    pParams->numTotalSamples = image->most;
    pParams->numPopulatedSamples = pParams->numCompletedSamples = image->count;
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params *pParams)
{
    NEED(IS_MINE(pParams, CUpti_PmSampling_CounterData_GetSampleInfo));
    const struct image *image = (const struct image *)(const void *)pParams->pCounterDataImage;
    NEED(image->magic == FAKE_SAMPLES_MAGIC && pParams->sampleIndex < image->count);
    uint64_t offset_ns = sim_has_fault(SIM_OTHER_SAMPLE_CLOCK) ? other_clock_ns : 0;
    pParams->startTimestamp = image->samples[pParams->sampleIndex].start_ns + offset_ns;
    pParams->endTimestamp = image->samples[pParams->sampleIndex].end_ns + offset_ns;
    return CUPTI_SUCCESS;
}
#else
void cupti_sample_work(const struct sim_work *work)
{
    (void)work;
}
#endif
