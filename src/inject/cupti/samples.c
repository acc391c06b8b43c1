/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/samples.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "annot/stamp.h"
#include "base/alloc.h"
#include "base/thread.h"
#include "counters/samples.h"

enum {
    MOST_DEVICES = 16,
    MOST_WAITING = 8192,
    MOST_IMAGE_BYTES = 64 << 20,
    HARDWARE_BUFFER_BYTES = 64 << 20,
    SAMPLES_OF_IMAGE = 1024,
    MOST_DECODINGS = 8, /* at once */
    POLL_MS = 20,
    TEXT_BYTES = 700
};
static const uint64_t clock_slack_ns = UINT64_C(2000000);
_Static_assert((int)SS_SAMPLE_SERIES_COUNT <= (int)SS_DEVICE_MOST_SERIES,
               "series fit the ring's message");

/* One device. */
struct session {
    enum { UNUSED, SAMPLES, REFUSED } state;
    uint32_t device;
    void *sampler;
    uint8_t *availability, *data;
    size_t data_bytes;
    struct ss_metric_host host;
    struct ss_sample_plan plan;
    uint64_t started_ns;
    bool has_clock; /* `offset_ns` is known */
    int64_t offset_ns;
    bool is_other_clock, has_cycles; /* the interval is in cycles */
};

struct waiting {
    uint32_t bytes;
    union {
        struct ss_device_message head;
        struct ss_device_sampler_message sampler;
        struct ss_device_sample_message sample;
    } message;
};

static struct {
    const struct ss_cupti *cupti;
    struct ss_cupti_sampling_hooks hooks;
    uint64_t interval_ns;
    struct ss_profiler profiler;
    bool is_started; /* CUPTI's profilers */
    struct session sessions[MOST_DEVICES];
    int (*device_count)(int *count);
    int (*context_state)(int device, unsigned *flags, int *active);
    int (*device_uuid)(uint8_t *uuid, int device);
    _Atomic bool runs, is_ending, has_ended;
} sampling;

/* --- the queue for the writer ----------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    uint32_t count;
    uint64_t lost;
    struct waiting *rows, *taken; /* MOST_WAITING each; taken: the writer's */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put(const struct waiting *row)
{
    pthread_mutex_lock(&queue.lock);
    if (queue.count < MOST_WAITING) {
        queue.rows[queue.count++] = *row;
    } else {
        queue.lost++;
    }
    pthread_mutex_unlock(&queue.lock);
}

uint64_t ss_cupti_samples_drain(void (*visit)(struct ss_device_message *message, size_t bytes))
{
    if (!atomic_load_explicit(&sampling.runs, memory_order_acquire)) {
        return 0;
    }
    pthread_mutex_lock(&queue.lock);
    struct waiting *rows = queue.rows;
    uint32_t count = queue.count;
    uint64_t lost = queue.lost;
    queue.rows = queue.taken;
    queue.taken = rows;
    queue.count = 0;
    queue.lost = 0;
    pthread_mutex_unlock(&queue.lock);
    for (uint32_t i = 0; i < count; i++) {
        visit(&rows[i].message.head, rows[i].bytes);
    }
    return lost;
}

static void put_state(const struct session *session, bool is_on)
{
    struct waiting row = {.bytes = sizeof row.message.sampler};
    row.message.sampler = (struct ss_device_sampler_message){.head.kind = SS_DEVICE_SAMPLER,
                                                             .time_ns = ss_stamp_monotonic_ns(),
                                                             .interval_ns = sampling.interval_ns,
                                                             .device = session->device,
                                                             .is_on = is_on};
    for (size_t i = 0; i < session->plan.count; i++) {
        row.message.sampler.series |= UINT32_C(1) << session->plan.series[i];
    }
    if (sampling.device_uuid != NULL) {
        sampling.device_uuid(row.message.sampler.uuid, (int)session->device);
    }
    put(&row);
}

/* --- opening and closing ---------------------------------------------------------------------- */

#define CALL(name, params, action)                                                                 \
    ss_profiler_call(&sampling.profiler, sampling.profiler.name, &(params), err, action)

static enum ss_status read_availability(struct session *session, struct ss_error *err)
{
    struct ss_profiler_samples_availability params = SS_PROFILER_PARAMS(samples_availability);
    params.device = session->device;
    SS_TRY(CALL(samples_availability, params, "ask which counters the device has"));
    if (params.image_bytes == 0 || params.image_bytes > MOST_IMAGE_BYTES) {
        return ss_fail(err, SS_E_LIMIT, "CUPTI's list of counters has %zu bytes: not usable",
                       params.image_bytes);
    }
    session->availability = ss_alloc_zero(1, params.image_bytes);
    params.image = session->availability;
    return CALL(samples_availability, params, "ask which counters the device has");
}

static enum ss_status choose(struct session *session, struct ss_error *err)
{
    struct ss_profiler_device_chip chip = SS_PROFILER_PARAMS(device_chip);
    chip.device = session->device;
    SS_TRY(CALL(device_chip, chip, "name the chip"));
    SS_TRY(read_availability(session, err));
    struct ss_metric_target target = {&sampling.profiler, chip.chip, session->availability,
                                      SS_PROFILER_OF_SAMPLES};
    SS_TRY(ss_sample_plan_init(&target, &session->plan, NULL, err));
    return ss_metric_host_open(&target, &session->host, err);
}

/* Devices without a trigger by time, such as GA100, have one by cycles of a clock of about 1 GHz:
 * the samples say how long they were. */
static enum ss_status configure(struct session *session, struct ss_error *err)
{
    struct ss_profiler_samples_configure params = SS_PROFILER_PARAMS(samples_configure);
    params.sampler = session->sampler;
    params.config = session->plan.config.image;
    params.config_bytes = session->plan.config.bytes;
    params.buffer_bytes = HARDWARE_BUFFER_BYTES;
    params.interval = sampling.interval_ns;
    params.trigger = SS_PROFILER_BY_TIME;
    if (CALL(samples_configure, params, "sample at an interval of time") == SS_OK) {
        return SS_OK;
    }
    session->has_cycles = true;
    params.trigger = SS_PROFILER_BY_CYCLES;
    return CALL(samples_configure, params, "sample counters at an interval");
}

static enum ss_status clear_data(const struct session *session, struct ss_error *err)
{
    struct ss_profiler_samples_data_init params = SS_PROFILER_PARAMS(samples_data_init);
    params.sampler = session->sampler;
    params.bytes = session->data_bytes;
    params.data = session->data;
    return CALL(samples_data_init, params, "prepare memory for samples");
}

static enum ss_status make_data(struct session *session, struct ss_error *err)
{
    struct ss_profiler_samples_data_size params = SS_PROFILER_PARAMS(samples_data_size);
    params.sampler = session->sampler;
    params.names = session->plan.metrics;
    params.count = session->plan.count;
    params.most_samples = SAMPLES_OF_IMAGE;
    SS_TRY(CALL(samples_data_size, params, "size the memory for samples"));
    if (params.bytes == 0 || params.bytes > MOST_IMAGE_BYTES) {
        return ss_fail(err, SS_E_LIMIT, "CUPTI's memory for samples has %zu bytes: not usable",
                       params.bytes);
    }
    session->data = ss_alloc_zero(1, params.bytes);
    session->data_bytes = params.bytes;
    return clear_data(session, err);
}

static enum ss_status start_sampler(struct session *session, struct ss_error *err)
{
    struct ss_profiler_samples_start params = SS_PROFILER_PARAMS(samples_start);
    params.sampler = session->sampler;
    session->has_clock = false;
    session->started_ns = ss_stamp_monotonic_ns();
    return CALL(samples_start, params, "start sampling");
}

static enum ss_status begin(struct session *session, struct ss_error *err)
{
    struct ss_profiler_start_profilers start = SS_PROFILER_PARAMS(start_profilers);
    if (!sampling.is_started) {
        SS_TRY(CALL(start_profilers, start, "start CUPTI's profilers"));
        sampling.is_started = true;
    }
    SS_TRY(choose(session, err));
    struct ss_profiler_samples_enable enable = SS_PROFILER_PARAMS(samples_enable);
    enable.device = session->device;
    SS_TRY(CALL(samples_enable, enable, "sample the device's counters"));
    session->sampler = enable.sampler;
    SS_TRY(configure(session, err));
    SS_TRY(make_data(session, err));
    return start_sampler(session, err);
}

static void release(struct session *session)
{
    struct ss_error ignored, *err = &ignored;
    if (session->sampler != NULL) {
        struct ss_profiler_samples_disable params = SS_PROFILER_PARAMS(samples_disable);
        params.sampler = session->sampler;
        CALL(samples_disable, params, "end sampling");
        session->sampler = NULL;
    }
    ss_metric_host_close(&session->host);
    ss_sample_plan_fini(&session->plan);
    ss_free(session->availability);
    ss_free(session->data);
    session->availability = session->data = NULL;
}

static void describe(const struct session *session)
{
    char text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "device %u: %zu counters", session->device,
                        session->plan.count);
    for (size_t i = 0; i < session->plan.count && used < TEXT_BYTES; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i == 0 ? " (" : ", ",
                         ss_sample_series_title(session->plan.series[i]));
    }
    if (used < TEXT_BYTES) {
        snprintf(text + used, sizeof text - (size_t)used, ") every %.6g ms%s%s",
                 (double)sampling.interval_ns / 1e6,
                 session->has_cycles ? ", by cycles of its clock" : "",
                 session->is_other_clock ? "; times from the start of sampling" : "");
    }
    sampling.hooks.describe(text, false);
}

static void open_session(struct session *session)
{
    struct ss_error err = {0};
    char text[TEXT_BYTES];
    if (begin(session, &err) == SS_OK) {
        session->state = SAMPLES;
        put_state(session, true);
        describe(session);
        return;
    }
    session->state = REFUSED;
    release(session);
    put_state(session, false);
    snprintf(text, sizeof text, "counters of device %u are not sampled: %.600s", session->device,
             err.message);
    sampling.hooks.describe(text, true);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void find_clock(struct session *session, uint64_t begin_ns)
{
    uint64_t now_ns = ss_stamp_monotonic_ns();
    session->has_clock = true;
    session->is_other_clock = begin_ns + clock_slack_ns < session->started_ns || begin_ns > now_ns;
    session->offset_ns = session->is_other_clock ? (int64_t)(session->started_ns - begin_ns) : 0;
    if (session->is_other_clock) {
        describe(session);
    }
}

static bool read_sample(const struct session *session, size_t number,
                        struct ss_profiler_sample_info *info, double *values)
{
    struct ss_error ignored, *err = &ignored;
    *info = (struct ss_profiler_sample_info)SS_PROFILER_PARAMS(sample_info);
    info->sampler = session->sampler;
    info->data = session->data;
    info->bytes = session->data_bytes;
    info->sample = number;
    return CALL(sample_info, *info, "read a sample") == SS_OK && info->begin < info->end &&
           ss_metric_evaluate(&session->host, session->data, session->data_bytes, number,
                              session->plan.metrics, session->plan.count, values, err) == SS_OK;
}

/* The first one begins anywhere within its interval: it only says which clock they have. */
static void put_sample(struct session *session, size_t number)
{
    struct ss_profiler_sample_info info;
    double values[SS_SAMPLE_SERIES_COUNT];
    if (!read_sample(session, number, &info, values)) {
        return;
    }
    if (!session->has_clock) {
        find_clock(session, info.begin);
        return;
    }
    struct waiting row = {.bytes = sizeof row.message.sample};
    row.message.sample =
        (struct ss_device_sample_message){.head.kind = SS_DEVICE_SAMPLE,
                                          .begin_ns = info.begin + (uint64_t)session->offset_ns,
                                          .end_ns = info.end + (uint64_t)session->offset_ns,
                                          .device = session->device};
    for (size_t i = 0; i < session->plan.count; i++) {
        if (isfinite(values[i])) {
            row.message.sample.series |= UINT32_C(1) << session->plan.series[i];
            row.message.sample.values[session->plan.series[i]] = values[i];
        }
    }
    put(&row);
}

static void stop_sampler(const struct session *session)
{
    struct ss_error ignored, *err = &ignored;
    struct ss_profiler_samples_stop params = SS_PROFILER_PARAMS(samples_stop);
    params.sampler = session->sampler;
    CALL(samples_stop, params, "stop sampling");
}

/* The device's buffer was full, or CUPTI cannot read it: what it had is lost. */
static void restart(struct session *session)
{
    struct ss_error err = {0};
    pthread_mutex_lock(&queue.lock);
    queue.lost++;
    pthread_mutex_unlock(&queue.lock);
    stop_sampler(session);
    if (start_sampler(session, &err) != SS_OK) {
        session->state = REFUSED;
        put_state(session, false);
        sampling.hooks.describe(err.message, true);
        release(session);
    }
}

/* false: there is no more now. */
static bool decode(struct session *session)
{
    struct ss_error ignored, *err = &ignored;
    struct ss_profiler_samples_decode params = SS_PROFILER_PARAMS(samples_decode);
    struct ss_profiler_samples_data_info info = SS_PROFILER_PARAMS(samples_data_info);
    params.sampler = session->sampler;
    params.data = session->data;
    params.data_bytes = session->data_bytes;
    bool is_good = CALL(samples_decode, params, "decode samples") == SS_OK;
    info.data = session->data;
    info.bytes = session->data_bytes;
    if (is_good && CALL(samples_data_info, info, "count samples") == SS_OK) {
        for (size_t i = 0; i < info.completed && i < SAMPLES_OF_IMAGE; i++) {
            put_sample(session, i);
        }
    }
    if (!is_good || params.overflow != 0 || clear_data(session, err) != SS_OK) {
        restart(session);
        return false;
    }
    return info.completed >= SAMPLES_OF_IMAGE;
}

static void decode_all(struct session *session)
{
    for (int i = 0; i < MOST_DECODINGS && session->state == SAMPLES && decode(session); i++) {
    }
}

static void close_session(struct session *session)
{
    if (session->state == SAMPLES) {
        stop_sampler(session);
        decode_all(session);
    }
    if (session->state == SAMPLES) {
        put_state(session, false);
        release(session);
    }
    session->state = REFUSED;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* The driver of this process, once it is there. */
static bool find_driver(void)
{
    if (sampling.context_state != NULL) {
        return true;
    }
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver != NULL) {
        *(void **)&sampling.device_count = dlsym(driver, "cuDeviceGetCount");
        void *of_uuid = dlsym(driver, "cuDeviceGetUuid_v2"); /* of a part of a device its own */
        of_uuid = of_uuid != NULL ? of_uuid : dlsym(driver, "cuDeviceGetUuid");
        *(void **)&sampling.device_uuid = of_uuid;
        *(void **)&sampling.context_state = dlsym(driver, "cuDevicePrimaryCtxGetState");
    }
    return sampling.device_count != NULL && sampling.context_state != NULL;
}

/* A process samples the devices that it uses, which has begun when there is a context. */
static void poll_devices(void)
{
    int count = 0;
    if (!find_driver() || sampling.device_count(&count) != 0) {
        return; /* the driver is not initialised yet */
    }
    for (int i = 0; i < count && i < MOST_DEVICES; i++) {
        struct session *session = &sampling.sessions[i];
        unsigned flags = 0;
        int active = 0;
        if (session->state == UNUSED && sampling.context_state(i, &flags, &active) == 0 &&
            active != 0) {
            session->device = (uint32_t)i;
            open_session(session);
        }
    }
}

static void *run(void *argument)
{
    static const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    (void)argument;
    /* Pairs with the release of ss_cupti_samples_end. */
    while (!atomic_load_explicit(&sampling.is_ending, memory_order_acquire) &&
           sampling.hooks.is_open()) {
        poll_devices();
        for (size_t i = 0; i < MOST_DEVICES; i++) {
            decode_all(&sampling.sessions[i]);
        }
        nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < MOST_DEVICES; i++) {
        close_session(&sampling.sessions[i]);
    }
    atomic_store_explicit(&sampling.has_ended, true, memory_order_release);
    return NULL;
}

bool ss_cupti_samples_start(const struct ss_cupti *cupti, uint64_t interval_ns,
                            const struct ss_cupti_sampling_hooks *hooks)
{
    struct ss_error err = {0};
    pthread_t thread;
    sampling.cupti = cupti;
    sampling.interval_ns = interval_ns;
    sampling.hooks = *hooks;
    if (ss_profiler_open(&sampling.profiler, cupti->path, &err) != SS_OK) {
        hooks->describe(err.message, true);
        return true;
    }
    queue.rows = ss_alloc_zero(MOST_WAITING, sizeof *queue.rows);
    queue.taken = ss_alloc_zero(MOST_WAITING, sizeof *queue.taken);
    if (!ss_thread_start("stepscope-pm", run, NULL, &thread)) {
        return false;
    }
    pthread_detach(thread);
    atomic_store_explicit(&sampling.runs, true, memory_order_release);
    return true;
}

void ss_cupti_samples_end(unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    if (!atomic_load_explicit(&sampling.runs, memory_order_acquire)) {
        return;
    }
    atomic_store_explicit(&sampling.is_ending, true, memory_order_release);
    for (unsigned i = 0; i < wait_ms; i++) {
        if (atomic_load_explicit(&sampling.has_ended, memory_order_acquire)) {
            return;
        }
        nanosleep(&pause, NULL);
    }
}
