/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/collector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "annot/first.h"
#include "annot/process.h"
#include "annot/schedule.h"
#include "annot/stamp.h"
#include "base/shared_names.h"
#include "base/thread.h"
#include "inject/cupti/counters.h"
#include "inject/cupti/launches.h"
#include "inject/cupti/profiler_calls.h"
#include "inject/cupti/records.h"
#include "inject/cupti/samples.h"
#include "inject/cupti/tee.h"
#include "inject/device/collecting.h"
#include "inject/device/gaps.h"
#include "inject/device/launch_stack.h"
#include "inject/device/pool.h"
#include "inject/device/writer.h"
#include "inject/nccl/operations.h"

enum {
    NONE_TAKEN_FROM = 27, /* the API version, of CUDA 12.9, that accepts that there is no buffer */
    DEVICE_BUFFER_BYTES = 8 << 20,
    DEVICE_BUFFERS_BEFOREHAND = 4,
    FLUSH_MS = 1000,
    MOST_IDLE_MS = 3000,     /* how long the program's end waits for a writer that writes nothing */
    MOST_SAMPLING_MS = 1000, /* the same for a sampler that stops */
    LEAST_DRAIN_MS = 50,     /* in which threads leave the callbacks that they are in */
    MOST_KERNEL_MS = 2000,   /* how long the end of a recording waits for running kernels */
    TEXT_BYTES = 512
};

static struct {
    struct ss_collecting collecting;
    pid_t user; /* for the callback */
    struct ss_cupti cupti;
    pthread_mutex_t lock; /* of the next members */
    void *subscriber;     /* NULL: not subscribed */
    bool is_registered;   /* CUPTI delivers buffers to us */
    bool has_yielded;
    _Atomic bool is_on; /* kinds and callbacks are enabled */
    uint32_t yields;
    pid_t yields_of;            /* the process that counts them */
    bool is_late;               /* CUDA was initialised before */
    _Atomic uint64_t drains_ns; /* it stays on until launched kernels have run: since then; 0 */
    bool has_failed;
    bool is_leaving;           /* the recording ends; until it is armed again */
    _Atomic bool is_measuring; /* hardware counters, of a step */
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_owner(void)
{
    return ss_collecting_is_owner(&collector.collecting);
}

/* --- facts ------------------------------------------------------------------------------------ */

static void fail(const char *problem)
{
    collector.has_failed = true;
    ss_nccl_want_channels(true);
    ss_collecting_set_fact(ss_fact_gpu_problem, problem);
    ss_device_writer_set_state(SS_DEVICE_REFUSED);
}

static void describe(void)
{
    char text[TEXT_BYTES + 200];
    const char *frames = ss_launch_stack_problem();
    snprintf(text, sizeof text, "%s, API version %u, level %s%s%s%s", collector.cupti.path,
             collector.cupti.version, ss_collecting_level_name(collector.collecting.settings.level),
             ss_device_writer_is_calibrated() ? ", its own clock" : "",
             frames[0] != '\0' ? "; " : "", frames);
    ss_collecting_set_fact(ss_fact_gpu_collector, text);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *max_records = 0; /* as many as fit */
    *size = 0;
    *buffer = is_owner() ? ss_device_pool_take(size) : NULL;
    ss_cupti_tee_on_request();
}

static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    if (!is_owner()) {
        return;
    }
    ss_cupti_tee_copy(buffer, valid);
    if (ss_cupti_tee_is_active() && !atomic_load(&collector.is_on) && buffer != NULL) {
        memset(buffer, 0, valid); /* of the other client alone */
        valid = 0;
    }
    ss_device_pool_put_full(buffer, valid);
}

static void on_callback(void *user, int domain, uint32_t function, const void *data)
{
    ss_cupti_counters_observe(domain, function, data);
    ss_profiler_calls_observe(domain, function, data);
    if (!ss_cupti_counters_are_of_kernels()) {
        ss_launches_callback(user, domain, function, data);
    } else if (domain != SS_CUPTI_DOMAIN_RESOURCE && is_owner()) {
        ss_cupti_counters_on_launch(domain, function, data);
    }
    ss_cupti_tee_callback(domain, function, data);
}

/* --- subscription ----------------------------------------------------------------------------- */

static void set_attribute(enum ss_cupti_attribute attribute, size_t value, size_t size)
{
    uint8_t byte = (uint8_t)value;
    collector.cupti.ActivitySetAttribute((int)attribute, &size,
                                         size == sizeof byte ? (void *)&byte : (void *)&value);
}

static void fail_to_subscribe(uint32_t result)
{
    char text[TEXT_BYTES], name[64];
    if (result == SS_CUPTI_OTHER_SUBSCRIBER) {
        ss_cupti_name_subscriber(&collector.cupti, on_callback, &collector.user, name, sizeof name);
        snprintf(text, sizeof text,
                 "another tool uses CUPTI in this process%s%s: devices are not recorded; run the "
                 "program without it",
                 name[0] != '\0' ? ": " : "", name);
    } else {
        snprintf(text, sizeof text, "CUPTI cannot be used: %s (%u)%s",
                 ss_cupti_result_text(&collector.cupti, result), result,
                 result == SS_CUPTI_UNKNOWN_ERROR ? "; is a driver of CUDA installed?" : "");
    }
    fail(text);
}

/* A profiler for which the recording paused may stay subscribed for ever, as torch's does; records
 * need no subscription, only the callbacks of launches do. */
static bool subscribe(void)
{
    uint32_t result =
        collector.cupti.Subscribe(&collector.subscriber, on_callback, &collector.user);
    if (result == SS_CUPTI_OK) {
        ss_cupti_tee_set_subscriber(&collector.cupti, collector.subscriber);
        ss_cupti_counters_enable(&collector.cupti, collector.subscriber);
        ss_profiler_calls_enable(&collector.cupti, collector.subscriber);
        return true;
    }
    collector.subscriber = NULL;
    if (result == SS_CUPTI_OTHER_SUBSCRIBER && collector.has_yielded) {
        ss_collecting_set_fact(
            ss_fact_gpu_paused,
            "another profiler, which stays subscribed to CUPTI: since then launches have no "
            "lines");
        return true;
    }
    fail_to_subscribe(result);
    return false;
}

/* The order is CUPTI's: attributes and the clock before the buffers and the kinds. */
static bool take_cupti(void)
{
    const struct ss_cupti *cupti = &collector.cupti;
    uint32_t result;
    if (!subscribe()) {
        return false;
    }
    set_attribute(SS_CUPTI_ATTRIBUTE_ZEROED_BUFFERS, 1, sizeof(uint8_t));
    set_attribute(SS_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE, DEVICE_BUFFER_BYTES, sizeof(size_t));
    set_attribute(SS_CUPTI_ATTRIBUTE_DEVICE_BUFFERS_BEFOREHAND, DEVICE_BUFFERS_BEFOREHAND,
                  sizeof(size_t));
    if (cupti->SetThreadIdType != NULL) {
        cupti->SetThreadIdType(SS_CUPTI_SYSTEM_THREAD_IDS);
    }
    bool is_ours = cupti->ActivityRegisterTimestampCallback != NULL &&
                   cupti->ActivityRegisterTimestampCallback(ss_stamp_monotonic_ns) == SS_CUPTI_OK;
    ss_device_writer_calibrate(!is_ours);
    ss_cupti_tee_set_clock(is_ours);
    result = cupti->ActivityRegisterCallbacks(on_request, on_completed);
    if (result != SS_CUPTI_OK) {
        fail_to_subscribe(result);
        return false;
    }
    if (cupti->ActivityFlushPeriod != NULL) {
        cupti->ActivityFlushPeriod(FLUSH_MS);
    }
    collector.is_registered = true;
    ss_nccl_want_channels(collector.subscriber == NULL); /* else launches are observed */
    return true;
}

/* --- on and off ------------------------------------------------------------------------------- */

/* Beside another client, what is in CUPTI's buffers is ours or not as a whole. With the lock. */
static void separate(void)
{
    if (ss_cupti_tee_is_active()) {
        collector.cupti.ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
    }
}

static void turn_on(void)
{
    char problem[TEXT_BYTES];
    if (!collector.is_registered && !take_cupti()) {
        return;
    }
    separate();
    bool has_callbacks = collector.subscriber != NULL;
    ss_gaps_switch(has_callbacks); /* ends when launches are observed */
    ss_launches_stand_for_calls(has_callbacks &&
                                (collector.collecting.settings.level < SS_COLLECTING_DEFAULT ||
                                 collector.cupti.ActivityEnableRuntimeApi != NULL));
    if (collector.is_late) {
        ss_cupti_describe_entities(&collector.cupti);
        collector.is_late = false;
    }
    if (ss_cupti_counters_are_of_kernels()) {
        ss_cupti_enable_entities(&collector.cupti);
    } else if (!ss_cupti_enable_kinds(&collector.cupti, collector.collecting.settings.level,
                                      has_callbacks, problem, sizeof problem)) {
        fail(problem);
        return;
    }
    if (collector.subscriber != NULL) {
        ss_launches_enable(&collector.cupti, collector.subscriber, true);
    }
    collector.is_on = true;
    ss_gaps_switch(false);
    ss_device_writer_set_state(SS_DEVICE_COLLECTS);
}

static void turn_off(void)
{
    if (collector.subscriber != NULL) {
        ss_launches_enable(&collector.cupti, collector.subscriber, false);
        ss_cupti_counters_enable(&collector.cupti, collector.subscriber);
        ss_cupti_tee_enable_callbacks();
    }
    ss_cupti_disable_kinds(&collector.cupti, collector.collecting.settings.level);
    separate();
    collector.is_on = false;
    atomic_store_explicit(&collector.drains_ns, 0, memory_order_relaxed);
    ss_device_pool_wake();
}

static bool is_wanted(void)
{
    return ss_collecting_is_recorded() && collector.yields == 0 && !collector.has_failed &&
           !collector.is_leaving &&
           !atomic_load_explicit(&collector.is_measuring, memory_order_relaxed) &&
           ss_collecting_has_come_to(&collector.collecting, SS_SCHEDULE_WARMUP);
}

/* What is collected to warm up is left out. */
static bool is_recording(void)
{
    return collector.is_on && ss_collecting_has_come_to(&collector.collecting, SS_SCHEDULE_RECORD);
}

/* The program's thread does not wait at the end of a window: the kernels that it has launched may
 * run later. Beside another client, records are ours or theirs as a whole. */
static bool may_drain(void)
{
    return collector.subscriber != NULL && ss_collecting_is_recorded() && collector.yields == 0 &&
           !collector.has_failed && !collector.is_leaving && !ss_cupti_tee_is_active() &&
           !atomic_load_explicit(&collector.is_measuring, memory_order_relaxed) &&
           !ss_cupti_counters_are_of_kernels();
}

static void drain(bool drains)
{
    ss_launches_enable(&collector.cupti, collector.subscriber, !drains);
    ss_gaps_switch(drains);
    atomic_store_explicit(&collector.drains_ns, drains ? ss_stamp_monotonic_ns() : 0,
                          memory_order_relaxed);
}

static bool is_drained(void)
{
    bool is_done = !ss_launches_wait() && ss_device_writer_outstanding() == 0;
    uint64_t least_ns = (is_done ? LEAST_DRAIN_MS : MOST_KERNEL_MS) * UINT64_C(1000000);
    return ss_stamp_monotonic_ns() - atomic_load(&collector.drains_ns) > least_ns || !may_drain();
}

static void turn_on_or_off(void)
{
    bool is_draining = atomic_load(&collector.drains_ns) != 0, wanted = is_wanted();
    if (wanted && is_draining) {
        drain(false);
    } else if (wanted && !collector.is_on) {
        turn_on();
    } else if (!wanted && collector.is_on && !is_draining && may_drain()) {
        drain(true);
    } else if (!wanted && collector.is_on && (!is_draining || is_drained())) {
        turn_off();
    }
}

/* The recorder has opened or closed a window, or kernels are awaited. */
static bool is_due(void)
{
    return ss_collecting_is_behind(&collector.collecting) ||
           atomic_load_explicit(&collector.drains_ns, memory_order_relaxed) != 0;
}

/* Returns whether CUPTI is in use. */
static bool update(void)
{
    pthread_mutex_lock(&collector.lock);
    ss_collecting_follow_recorder(&collector.collecting);
    turn_on_or_off();
    ss_device_writer_switch(is_recording());
    bool is_on = collector.is_on;
    pthread_mutex_unlock(&collector.lock);
    return is_on;
}

/* --- hardware counters --- */

static bool may_measure(void)
{
    pthread_mutex_lock(&collector.lock);
    bool is_ours = collector.yields == 0 && !collector.has_failed && collector.subscriber != NULL;
    pthread_mutex_unlock(&collector.lock);
    return ss_collecting_is_recorded() && is_ours && is_owner() &&
           ss_collecting_has_come_to(&collector.collecting, SS_SCHEDULE_RECORD);
}

static void measures(bool is_one)
{
    atomic_store_explicit(&collector.is_measuring, is_one, memory_order_relaxed);
    update();
}

static void on_window(unsigned action)
{
    if (ss_collecting_enter_window(&collector.collecting, action)) {
        update();
    }
}

/* Another client no longer wants this kind. */
static void restore_kind(int kind)
{
    char problem[TEXT_BYTES];
    pthread_mutex_lock(&collector.lock);
    if (!collector.is_on ||
        !ss_cupti_is_wanted(&collector.cupti, collector.collecting.settings.level, kind, 0)) {
        collector.cupti.ActivityDisable(kind);
    } else if (!ss_cupti_tee_is_active()) { /* its functions, too, are as we want them */
        ss_cupti_enable_kinds(&collector.cupti, collector.collecting.settings.level,
                              collector.subscriber != NULL, problem, sizeof problem);
    }
    pthread_mutex_unlock(&collector.lock);
}

/* Libraries that call CUPTI may have been loaded since. */
static bool is_beside(void)
{
    return collector.collecting.settings.is_tee &&
           (ss_cupti_tee_is_connected() || ss_cupti_tee_connect());
}

/* With the lock. */
static void forget_yields_of_parent(void)
{
    if (collector.yields_of != ss_process_pid()) {
        collector.yields_of = ss_process_pid();
        collector.yields = 0;
    }
}

void ss_cupti_yield(const char *to)
{
    if (is_owner() && is_beside()) {
        return;
    }
    pthread_mutex_lock(&collector.lock);
    forget_yields_of_parent();
    collector.yields++;
    if (collector.yields == 1 && is_owner() && collector.is_registered) {
        if (collector.is_on) {
            turn_off();
        }
        ss_device_writer_switch(false);
        collector.cupti.ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
        if (collector.subscriber != NULL) {
            collector.cupti.Unsubscribe(collector.subscriber);
        }
        collector.subscriber = NULL;
        collector.is_registered = false;
        collector.has_yielded = true;
        ss_nccl_want_channels(true);
        ss_device_writer_set_state(SS_DEVICE_PAUSED);
        ss_collecting_set_fact(ss_fact_gpu_paused, to);
    }
    pthread_mutex_unlock(&collector.lock);
}

void ss_cupti_resume(void)
{
    if (is_owner() && ss_cupti_tee_is_connected()) {
        return;
    }
    pthread_mutex_lock(&collector.lock);
    forget_yields_of_parent();
    collector.yields -= collector.yields > 0;
    pthread_mutex_unlock(&collector.lock);
    if (is_owner()) {
        update();
    }
}

/* --- counters of devices over time ------------------------------------------------------------ */

static void describe_samples(const char *text, bool is_problem)
{
    ss_collecting_set_fact(is_problem ? ss_fact_gpu_samples_problem : ss_fact_gpu_samples, text);
}

static void start_sampling(void)
{
    static const struct ss_cupti_sampling_hooks hooks = {ss_collecting_is_recorded,
                                                         describe_samples};
    if (collector.collecting.settings.sample_ns > 0 &&
        !ss_cupti_samples_start(&collector.cupti, collector.collecting.settings.sample_ns,
                                &hooks)) {
        describe_samples("the sampler's thread cannot be created: too many threads", true);
    }
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Forced: also of buffers that are not full. The device may still run: its records come not. */
static void on_exit_of_program(void)
{
    if (!is_owner()) {
        return;
    }
    pthread_mutex_lock(&collector.lock);
    bool is_registered = collector.is_registered;
    collector.yields++; /* never on again */
    if (collector.is_on) {
        turn_off();
    }
    pthread_mutex_unlock(&collector.lock);
    ss_cupti_samples_end(MOST_SAMPLING_MS);
    if (is_registered) {
        collector.cupti.ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
    }
    ss_device_writer_end(MOST_IDLE_MS);
}

static void end_with_program(void)
{
    static bool is_known; /* children inherit it, too */
    if (!is_known) {
        is_known = true;
        atexit(on_exit_of_program);
    }
}

/* false: nothing of it is running. */
static bool start(void)
{
    char problem[TEXT_BYTES];
    collector.user = ss_process_pid();
    if (!ss_device_writer_is_free(problem, sizeof problem) ||
        !ss_cupti_load(&collector.cupti, problem, sizeof problem)) {
        ss_collecting_set_fact(ss_fact_gpu_problem, problem);
        return false;
    }
    ss_cupti_tee_init(&collector.cupti, restore_kind);
    ss_device_pool_init(collector.cupti.version >= NONE_TAKEN_FROM,
                        collector.collecting.settings.buffers);
    enum ss_collecting_level level = collector.collecting.settings.level;
    ss_launches_init(&collector.cupti, level >= SS_COLLECTING_DEFAULT, level >= SS_COLLECTING_FULL);
    struct ss_device_writer_hooks hooks = {.is_on = update, .is_due = is_due, .describe = describe};
    if (!ss_device_writer_start(
            ss_cupti_interface(&collector.cupti, collector.collecting.settings.level),
            collector.cupti.version, &hooks, problem, sizeof problem)) {
        ss_collecting_set_fact(ss_fact_gpu_problem, problem);
        return false;
    }
    ss_collecting_begin(&collector.collecting, on_window);
    end_with_program();
    pthread_mutex_lock(&collector.lock);
    forget_yields_of_parent();
    collector.has_yielded = collector.yields > 0;
    bool is_taken = collector.yields == 0 && take_cupti();
    pthread_mutex_unlock(&collector.lock);
    if (is_taken) {
        static const struct ss_cupti_counters_hooks counters = {may_measure, measures};
        ss_cupti_counters_start(&collector.cupti, &counters);
        ss_cupti_counters_enable(&collector.cupti, collector.subscriber);
        is_beside();
        update();
    }
    describe();
    start_sampling();
    return true;
}

/* --- a program that records itself ------------------------------------------------------------ */

void ss_cupti_arm(void)
{
    if (ss_collecting_claim(&collector.collecting)) {
        collector.is_late = true;
        collector.has_failed = collector.has_yielded = collector.is_leaving = false;
        if (!start()) {
            ss_collecting_release(&collector.collecting);
        }
    }
}

/* Their records come without their times if they are demanded before. */
static void wait_for_kernels(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < MOST_KERNEL_MS; i++) {
        if (i % 4 == 0) {
            collector.cupti.ActivityFlushAll(0);
            ss_device_pool_wake();
        }
        nanosleep(&pause, NULL);
        if (!ss_launches_wait() && ss_device_writer_outstanding() == 0) {
            return;
        }
    }
}

static void leave_cupti(void)
{
    pthread_mutex_lock(&collector.lock);
    collector.is_leaving = true;
    if (collector.is_on) {
        turn_off();
    }
    ss_device_writer_switch(false);
    if (collector.is_registered) {
        collector.cupti.ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
    }
    if (collector.subscriber != NULL) {
        collector.cupti.Unsubscribe(collector.subscriber);
    }
    collector.subscriber = NULL;
    collector.is_registered = false;
    pthread_mutex_unlock(&collector.lock);
}

void ss_cupti_disarm(void)
{
    if (!is_owner()) {
        return;
    }
    if (atomic_load(&collector.is_on)) {
        wait_for_kernels();
    }
    leave_cupti();
    ss_device_writer_end(MOST_IDLE_MS);
    if (ss_device_writer_close()) {
        ss_device_pool_fini();
        ss_launches_release();
        ss_collecting_release(&collector.collecting);
    }
}

/* The driver of CUDA calls it during cuInit. */
__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    int (*first)(void) = NULL;
    *(void **)&first = ss_first_function("InitializeInjection");
    if (first != NULL) {
        return first();
    }
    if (ss_collecting_claim(&collector.collecting)) {
        collector.has_failed = collector.has_yielded = collector.is_leaving = false;
        start();
    }
    return 1;
}
