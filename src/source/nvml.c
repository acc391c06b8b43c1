/* SPDX-License-Identifier: Apache-2.0 */
#include "source/nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "platform/nvml.h"

enum metric {
    UTILISATION,
    MEMORY_UTILISATION,
    MEMORY_USED,
    MEMORY_TOTAL,
    POWER,
    POWER_LIMIT,
    POWER_AVERAGE,
    ENERGY,
    SM_CLOCK,
    MEMORY_CLOCK,
    TEMPERATURE,
    THROTTLED_POWER,
    THROTTLED_THERMAL,
    THROTTLED_HARDWARE,
    THROTTLED_SYNC,
    METRICS
};
static const struct ss_metric_row rows[METRICS] = {
    [UTILISATION] = {"utilisation", "%", 0, true},
    [MEMORY_UTILISATION] = {"memory utilisation", "%", 0, true},
    [MEMORY_USED] = {"memory used", "bytes", 0, true},
    [MEMORY_TOTAL] = {"memory total", "bytes", 0, true},
    [POWER] = {"power", "W", 1, true},
    [POWER_LIMIT] = {"power limit", "W", 1, true},
    [POWER_AVERAGE] = {"power, average", "W", 1, true},
    [ENERGY] = {"energy since start", "J", 0, true},
    [SM_CLOCK] = {"SM clock", "MHz", 0, true},
    [MEMORY_CLOCK] = {"memory clock", "MHz", 0, true},
    [TEMPERATURE] = {"temperature", "°C", 0, true},
    [THROTTLED_POWER] = {"throttled: power", "0 or 1", 0, false},
    [THROTTLED_THERMAL] = {"throttled: heat", "0 or 1", 0, false},
    [THROTTLED_HARDWARE] = {"throttled: hardware slowdown", "0 or 1", 0, false},
    [THROTTLED_SYNC] = {"throttled: paired GPU", "0 or 1", 0, false}};

static const struct ss_metric_row gpm_rows[SS_NVML_GPM_FIELDS] = {
#define GPM_FIELD(name, number, factor, decimals, series, unit) {series, unit, decimals, false},
#include "platform/nvml_gpm.def"
#undef GPM_FIELD
};

/* Levels: field, series, and the factor for the unit of the series. */
static const struct {
    enum ss_nvml_field field;
    enum metric metric;
    double factor;
} levels[] = {
    {SS_NVML_UTILISATION, UTILISATION, 1}, {SS_NVML_MEMORY_UTILISATION, MEMORY_UTILISATION, 1},
    {SS_NVML_MEMORY_USED, MEMORY_USED, 1}, {SS_NVML_MEMORY_TOTAL, MEMORY_TOTAL, 1},
    {SS_NVML_POWER, POWER, 1e-3},          {SS_NVML_POWER_LIMIT, POWER_LIMIT, 1e-3},
    {SS_NVML_SM_CLOCK, SM_CLOCK, 1},       {SS_NVML_MEMORY_CLOCK, MEMORY_CLOCK, 1},
    {SS_NVML_TEMPERATURE, TEMPERATURE, 1}};

static const struct {
    uint64_t bits;
    enum metric metric;
} throttles[] = {{SS_NVML_THROTTLE_POWER, THROTTLED_POWER},
                 {SS_NVML_THROTTLE_THERMAL, THROTTLED_THERMAL},
                 {SS_NVML_THROTTLE_HARDWARE, THROTTLED_HARDWARE},
                 {SS_NVML_THROTTLE_SYNC, THROTTLED_SYNC}};

struct device {
    struct ss_metric_group group;
    struct ss_metric metrics[METRICS], gpm[SS_NVML_GPM_FIELDS];
    struct ss_metric_counter energy;
    uint64_t first_energy, emitted_ns;
    /* Of each figure, the last reading while CUPTI's counters showed it in finer steps. */
    uint64_t elsewhere_ns[SS_NVML_GPM_FIELDS];
    char uuid[96];
    bool ended;
};

/* Shared by the two threads; the mutex guards all members below it. */
struct mailbox {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stop, ready, failed;
    char reason[SS_NVML_REASON_BYTES];
    char gpm[SS_NVML_REASON_BYTES]; /* which devices have it, in words */
    size_t count;
    struct ss_metric_device devices[SS_NVML_MOST_DEVICES];
    struct ss_nvml_sample samples[SS_NVML_MOST_DEVICES];
};

struct source {
    struct ss_source_setup setup;
    struct mailbox box;
    pthread_t thread;
    uint64_t next_ns;
    struct device devices[SS_NVML_MOST_DEVICES];
};

/* "GPM", or which device is the first without it, and why. */
static void describe_gpm(const struct ss_nvml *nvml, char *text)
{
    for (size_t i = 0; i < ss_nvml_count(nvml); i++) {
        const char *reason = ss_nvml_gpm_reason(nvml, i);
        if (reason != NULL) {
            snprintf(text, SS_NVML_REASON_BYTES, "no GPM of GPU %u: %.120s",
                     ss_nvml_number(nvml, i), reason);
            return;
        }
    }
    snprintf(text, SS_NVML_REASON_BYTES, "with GPM");
}

/* --- the NVML thread -------------------------------------------------------- */

static void describe_devices(struct mailbox *box, const struct ss_nvml *nvml)
{
    for (size_t i = 0; i < ss_nvml_count(nvml); i++) {
        struct ss_metric_device *device = &box->devices[i];
        device->is_gpu = true;
        device->number = ss_nvml_number(nvml, i) + 1;
        if (ss_nvml_has(&box->samples[i], SS_NVML_MEMORY_TOTAL)) {
            device->memory_bytes = box->samples[i].values[SS_NVML_MEMORY_TOTAL];
        }
        snprintf(device->model, sizeof device->model, "%s", ss_nvml_name(nvml, i));
        snprintf(device->uuid, sizeof device->uuid, "%s", ss_nvml_uuid(nvml, i));
        snprintf(device->pci_address, sizeof device->pci_address, "%s",
                 ss_nvml_pci_address(nvml, i));
    }
}

static struct timespec after(uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t sum = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / UINT64_C(1000000000));
    until.tv_nsec = (long)(sum % UINT64_C(1000000000));
    return until;
}

static void *read_devices(void *argument)
{
    struct source *source = argument;
    struct mailbox *box = &source->box;
    char reason[SS_NVML_REASON_BYTES] = "";
    struct ss_nvml *nvml = ss_nvml_open(NULL, reason);
    pthread_mutex_lock(&box->mutex);
    box->failed = nvml == NULL;
    memcpy(box->reason, reason, sizeof box->reason);
    while (nvml != NULL && !box->stop) {
        struct ss_nvml_sample samples[SS_NVML_MOST_DEVICES];
        pthread_mutex_unlock(&box->mutex);
        for (size_t i = 0; i < ss_nvml_count(nvml); i++) {
            ss_nvml_read(nvml, i, ss_clock_now_ns(source->setup.clock), &samples[i]);
        }
        pthread_mutex_lock(&box->mutex);
        memcpy(box->samples, samples, ss_nvml_count(nvml) * sizeof *samples);
        if (!box->ready) {
            describe_devices(box, nvml);
            describe_gpm(nvml, box->gpm);
            box->count = ss_nvml_count(nvml);
            box->ready = true;
        }
        struct timespec until = after(source->setup.interval_ns);
        int waited = 0;
        while (!box->stop && waited == 0) {
            waited = pthread_cond_timedwait(&box->changed, &box->mutex, &until);
        }
    }
    pthread_mutex_unlock(&box->mutex);
    if (nvml != NULL) {
        ss_nvml_close(nvml);
    }
    return NULL;
}

/* --- the recorder thread ---------------------------------------------------- */

static enum ss_source_state probe(const struct ss_source_setup *setup, char *reason)
{
    (void)setup;
    struct ss_nvml *nvml = ss_nvml_open(NULL, reason);
    if (nvml == NULL) {
        return SS_SOURCE_NOT_AVAILABLE;
    }
    size_t count = ss_nvml_count(nvml);
    char gpm[SS_NVML_REASON_BYTES];
    describe_gpm(nvml, gpm);
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%zu GPU%s: %.60s, %.160s", count,
             count == 1 ? "" : "s", ss_nvml_name(nvml, 0), gpm);
    ss_nvml_close(nvml);
    return SS_SOURCE_RUNS;
}

static bool start_thread(struct source *source)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&source->box.mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&source->box.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return ss_thread_start("sscope-nvml", read_devices, source, &source->thread);
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **started, char *reason)
{
    if (setup->interval_ns == 0) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "--host-interval 0");
        return SS_SOURCE_NOT_REQUESTED;
    }
    struct source *source = ss_alloc_zero(1, sizeof *source);
    source->setup = *setup;
    source->next_ns = ss_clock_now_ns(setup->clock);
    if (!start_thread(source)) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "no thread could be created for NVML's calls");
        ss_free(source);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    *started = source;
    return SS_SOURCE_RUNS;
}

static void put(struct device *device, enum metric metric, uint64_t time_ns, double value)
{
    ss_metric_put(&device->group, &rows[metric], &device->metrics[metric], time_ns, value);
}

static void put_energy(struct device *device, const struct ss_nvml_sample *sample)
{
    uint64_t now_mj = sample->values[SS_NVML_ENERGY];
    uint64_t since_ns = device->energy.time_ns;
    double mw;
    if (!device->energy.known || now_mj < device->first_energy) {
        device->first_energy = now_mj;
    }
    if (ss_metric_rate(&device->energy, now_mj, sample->time_ns, &mw)) {
        put(device, POWER_AVERAGE, since_ns, mw / 1e3);
    }
    put(device, ENERGY, sample->time_ns, (double)(now_mj - device->first_energy) / 1e3);
}

static void put_sample(struct device *device, const struct ss_nvml_sample *sample)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (ss_nvml_has(sample, levels[i].field)) {
            put(device, levels[i].metric, sample->time_ns,
                (double)sample->values[levels[i].field] * levels[i].factor);
        }
    }
    if (ss_nvml_has(sample, SS_NVML_ENERGY)) {
        put_energy(device, sample);
    }
    for (size_t i = 0; i < sizeof throttles / sizeof *throttles; i++) {
        if (ss_nvml_has(sample, SS_NVML_THROTTLE)) {
            bool now = (sample->values[SS_NVML_THROTTLE] & throttles[i].bits) != 0;
            put(device, throttles[i].metric, sample->time_ns, now);
        }
    }
}

static bool is_recorded(const struct device *device, const char *figure)
{
    const struct ss_metric_sink *sink = device->group.sink;
    return sink->is_recorded != NULL && sink->is_recorded(sink->context, device->uuid, figure);
}

/* Averages, at the start of their time; not what the counters of CUPTI show in finer steps, nor
 * an average over a time of which they showed a part. */
static void put_gpm(struct device *device, const struct ss_nvml_gpm_sample *sample, uint64_t now_ns)
{
    for (size_t i = 0; i < SS_NVML_GPM_FIELDS; i++) {
        if ((sample->known >> i & 1) == 0) {
            continue;
        }
        if (is_recorded(device, gpm_rows[i].name)) {
            ss_metric_end(&device->group, &gpm_rows[i], &device->gpm[i], 1, sample->begin_ns);
            device->elsewhere_ns[i] = now_ns;
        } else if (sample->begin_ns >= device->elsewhere_ns[i]) {
            ss_metric_put(&device->group, &gpm_rows[i], &device->gpm[i], sample->begin_ns,
                          sample->values[i]);
        }
    }
}

/* Its entity, and the group of its series: "GPU 0 NVIDIA H100 80GB HBM3 GPU-1f3c…". */
static void add_device(struct source *source, struct device *device,
                       const struct ss_metric_device *described)
{
    const struct ss_metric_sink *sink = &source->setup.metrics;
    device->group.sink = sink;
    snprintf(device->uuid, sizeof device->uuid, "%s", described->uuid);
    if (sink->device != NULL) {
        device->group.owner.device_ref = sink->device(sink->context, described);
    }
    snprintf(device->group.name, sizeof device->group.name, "GPU %u%s%.60s%s%.12s",
             described->number - 1, described->model[0] != '\0' ? " " : "", described->model,
             described->uuid[0] != '\0' ? " " : "", described->uuid);
}

/* Emits new readings of the NVML thread. */
static void emit_readings(struct source *source)
{
    struct mailbox *box = &source->box;
    struct ss_nvml_sample samples[SS_NVML_MOST_DEVICES];
    pthread_mutex_lock(&box->mutex);
    size_t count = box->ready ? box->count : 0;
    memcpy(samples, box->samples, count * sizeof *samples);
    pthread_mutex_unlock(&box->mutex);
    for (size_t i = 0; i < count; i++) {
        struct device *device = &source->devices[i];
        if (device->group.sink == NULL) {
            add_device(source, device, &box->devices[i]); /* written once, before `ready` */
        }
        if (samples[i].lost && !device->ended) {
            ss_metric_end(&device->group, rows, device->metrics, METRICS, samples[i].time_ns);
            ss_metric_end(&device->group, gpm_rows, device->gpm, SS_NVML_GPM_FIELDS,
                          samples[i].time_ns);
            device->ended = true;
        } else if (!device->ended && samples[i].time_ns != device->emitted_ns) {
            put_sample(device, &samples[i]);
            put_gpm(device, &samples[i].gpm, samples[i].time_ns);
            device->emitted_ns = samples[i].time_ns;
        }
    }
}

static uint64_t tick(void *argument, uint64_t now_ns)
{
    struct source *source = argument;
    if (now_ns >= source->next_ns) {
        emit_readings(source);
        source->next_ns = now_ns + source->setup.interval_ns;
    }
    return source->next_ns;
}

static enum ss_source_state stop(void *argument, uint64_t now_ns, char *reason)
{
    struct source *source = argument;
    struct mailbox *box = &source->box;
    (void)now_ns;
    pthread_mutex_lock(&box->mutex);
    box->stop = true;
    pthread_cond_signal(&box->changed);
    pthread_mutex_unlock(&box->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (pthread_timedjoin_np(source->thread, NULL, &until) != 0) {
        /* The thread still uses the memory: leak it, the process ends soon. */
        snprintf(reason, SS_SOURCE_REASON_BYTES, "the NVIDIA driver does not answer");
        return SS_SOURCE_BROKE;
    }
    emit_readings(source);
    bool failed = box->failed;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%.200s", box->reason);
    if (!failed) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%zu GPU%s, %.200s", box->count,
                 box->count == 1 ? "" : "s", box->gpm);
    }
    pthread_mutex_destroy(&box->mutex);
    pthread_cond_destroy(&box->changed);
    ss_free(source);
    return failed ? SS_SOURCE_NOT_AVAILABLE : SS_SOURCE_RUNS;
}

const struct ss_source_ops ss_source_nvml = {
    .name = "nvml",
    .summary = "NVIDIA GPUs: utilisation, memory, power, clocks, throttling, temperature, GPM",
    .probe = probe,
    .start = start,
    .tick = tick,
    .stop = stop,
};
