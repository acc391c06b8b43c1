/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/counters.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/facts.h"
#include "annot/process.h"
#include "annot/training.h"
#include "base/env.h"
#include "base/shared_names.h"
#include "inject/cupti/counters_inside.h"
#include "inject/device/texts.h"
#include "inject/device/writer.h"

enum { TEXT_BYTES = 700 };

struct ss_cupti_counters ss_counters = {.is_busy = ATOMIC_FLAG_INIT};
static _Atomic bool is_active; /* published after the rest */
static _Atomic bool has_unknown_graphs;
static const char unknown_graphs[] =
    "CUDA graphs whose kernels are not known, since they were not captured, are not measured";

/* The driver that the program has loaded. */
static struct {
    int (*get_context)(void **context);
    int (*get_device)(int *device);
    int (*get_uuid)(uint8_t *uuid, int device); /* this and the next may be NULL */
    int (*get_name)(char *name, int size, int device);
    int (*synchronise)(void);
    int (*push)(void *context); /* this and the next may be NULL */
    int (*pop)(void **context);
    int (*get_function_attribute)(int *value, int attribute, void *function); /* may be NULL */
} driver;

static bool find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return false;
    }
    *(void **)&driver.get_context = dlsym(library, "cuCtxGetCurrent");
    *(void **)&driver.get_device = dlsym(library, "cuCtxGetDevice");
    *(void **)&driver.synchronise = dlsym(library, "cuCtxSynchronize");
    *(void **)&driver.push = dlsym(library, "cuCtxPushCurrent_v2");
    *(void **)&driver.pop = dlsym(library, "cuCtxPopCurrent_v2");
    void *of_uuid = dlsym(library, "cuDeviceGetUuid_v2"); /* of a part of a device its own */
    of_uuid = of_uuid != NULL ? of_uuid : dlsym(library, "cuDeviceGetUuid");
    *(void **)&driver.get_uuid = of_uuid;
    *(void **)&driver.get_name = dlsym(library, "cuDeviceGetName");
    *(void **)&driver.get_function_attribute = dlsym(library, "cuFuncGetAttribute");
    dlclose(library); /* the program has it open */
    return driver.get_context != NULL && driver.get_device != NULL && driver.synchronise != NULL;
}

static void set_fact(const char *key, const char *text)
{
    struct ss_event_value value = {ss_define_name(text, strlen(text)), SS_RING_VALUE_NAME};
    ss_fact_set(ss_define_name(key, strlen(key)), value);
}

void ss_counters_synchronise(void)
{
    driver.synchronise();
}

/* A range may end on a thread whose context is another one, or none. */
enum ss_status ss_counters_end_range(bool *is_complete, struct ss_error *err)
{
    bool is_pushed =
        driver.push != NULL && driver.pop != NULL && driver.push(ss_counters.context) == 0;
    ss_counters_synchronise();
    enum ss_status status = ss_range_profiler_end(&ss_counters.ranges, is_complete, err);
    if (is_pushed) {
        driver.pop(NULL);
    }
    return status;
}

uint32_t ss_counters_function_attribute(void *function, int attribute)
{
    int value = 0;
    bool is_known = function != NULL && driver.get_function_attribute != NULL &&
                    driver.get_function_attribute(&value, attribute, function) == 0 && value > 0;
    return is_known ? (uint32_t)value : 0;
}

void ss_counters_refuse(const struct ss_error *err)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "not measured%s: %s", ss_counters.done > 0 ? " any more" : "",
             err->message);
    ss_counters.has_ended = true;
    set_fact(ss_fact_gpu_counters, text);
    if (ss_counters.request.is_kernel) { /* nothing else is recorded of the device */
        set_fact(ss_fact_gpu_problem, err->message);
    }
}

void ss_counters_describe(void)
{
    char text[TEXT_BYTES];
    const struct ss_range_profiler *ranges = &ss_counters.ranges;
    bool has_unknown = atomic_load_explicit(&has_unknown_graphs, memory_order_relaxed);
    snprintf(text, sizeof text, "%.200s on %s: %zu metrics in %zu %s; %lld %s of %s%s%s",
             ss_counters.request.counters, ranges->chip, ranges->choice.count,
             ranges->config.passes, ranges->config.passes == 1 ? "pass" : "passes",
             ss_counters.done, ss_counters.done == 1 ? "measurement" : "measurements",
             ss_counters.request.is_kernel ? "kernels" : "steps", has_unknown ? "; " : "",
             has_unknown ? unknown_graphs : "");
    set_fact(ss_fact_gpu_counters, text);
}

void ss_counters_skip_graph(void)
{
    if (!atomic_load_explicit(&has_unknown_graphs, memory_order_relaxed) &&
        !atomic_flag_test_and_set(&ss_counters.is_busy)) {
        atomic_store_explicit(&has_unknown_graphs, true, memory_order_relaxed);
        if (ss_counters.context == NULL) {
            set_fact(ss_fact_gpu_counters, unknown_graphs);
        } else {
            ss_counters_describe();
        }
        atomic_flag_clear(&ss_counters.is_busy);
    }
}

/* As the recorder writes UUIDs; a device without one has its model. */
static uint32_t identify(int device)
{
    static const uint8_t none[16];
    uint8_t id[16] = {0};
    char text[128] = "";
    if (driver.get_uuid != NULL && driver.get_uuid(id, device) == 0 &&
        memcmp(id, none, sizeof id) != 0) {
        snprintf(text, sizeof text,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
                 id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11],
                 id[12], id[13], id[14], id[15]);
    } else if (driver.get_name != NULL) {
        driver.get_name(text, (int)sizeof text, device);
        text[sizeof text - 1] = '\0';
    }
    return ss_device_text_put(text, strlen(text));
}

/* Until the thread has a context, nothing of it can be measured; one whose context is another than
 * the first is left out. */
bool ss_counters_ready(enum ss_ranges_by by)
{
    struct ss_error err = {0};
    void *context = NULL;
    if (driver.get_context(&context) != 0 || context == NULL ||
        (ss_counters.context != NULL && ss_counters.context != context)) {
        return false;
    }
    if (ss_counters.context != NULL) {
        return true;
    }
    if (driver.get_device(&ss_counters.device) != 0) {
        return false;
    }
    ss_counters_synchronise();
    if (ss_range_profiler_open(&ss_counters.ranges, &ss_counters.profiler, context,
                               (size_t)ss_counters.device, ss_counters.request.counters, by,
                               &err) != SS_OK) {
        ss_counters_refuse(&err);
        return false;
    }
    ss_counters.context = context;
    ss_counters.identity = identify(ss_counters.device);
    ss_counters_describe();
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static const char *unit_of(const char *metric)
{
    const struct ss_counter *known = ss_counter_of_metric(metric);
    const char *meaning = "", *unit = "";
    if (known != NULL) {
        return known->unit;
    }
    ss_metric_describe(&ss_counters.ranges.host, metric, &meaning, &unit, NULL);
    return unit;
}

/* Values that are not numbers are left out. */
static uint32_t name_values(const double *values, struct ss_device_metric *metrics)
{
    const struct ss_counter_choice *choice = &ss_counters.ranges.choice;
    uint32_t count = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const char *name = choice->names[i];
        if (isfinite(values[i])) {
            const char *unit = unit_of(name);
            metrics[count++] =
                (struct ss_device_metric){ss_device_text_put(name, strlen(name)),
                                          ss_device_text_put(unit, strlen(unit)), values[i]};
        }
    }
    return count;
}

/* The duration of a kernel is what was measured of it, if that was. */
static void set_end(struct ss_device_metrics_message *message, const double *values)
{
    const struct ss_counter_choice *choice = &ss_counters.ranges.choice;
    for (size_t i = 0; i < choice->count; i++) {
        if (strcmp(choice->names[i], "gpu__time_duration.sum") == 0 && values[i] > 0 &&
            values[i] < 1e15) {
            message->end_ns = message->begin_ns + (uint64_t)values[i];
        }
    }
}

void ss_counters_write(struct ss_device_metrics_message *message)
{
    struct ss_error err = {0};
    double values[SS_METRICS_MOST];
    struct ss_device_metric metrics[SS_METRICS_MOST];
    if (ss_range_profiler_values(&ss_counters.ranges, values, &err) != SS_OK) {
        if (err.status != SS_E_EMPTY) {
            ss_counters_refuse(&err);
        }
        return;
    }
    message->head.kind = SS_DEVICE_METRICS;
    message->device = (uint32_t)ss_counters.device;
    message->identity = ss_counters.identity;
    message->passes = (uint32_t)ss_counters.ranges.config.passes;
    message->count = name_values(values, metrics);
    if (message->name != 0) {
        set_end(message, values);
    }
    ss_device_writer_put_metrics(message, metrics);
    ss_counters.done++;
    bool is_last = ss_counters.request.count > 0 && ss_counters.done >= ss_counters.request.count;
    if (is_last || ss_counters.done == 1) {
        ss_counters_describe();
    }
    if (is_last) {
        ss_counters.has_ended = true;
        ss_range_profiler_close(&ss_counters.ranges);
    }
}

/* --- begin ------------------------------------------------------------------------------------ */

bool ss_cupti_counters_are_of_kernels(void)
{
    return ss_counters.request.is_kernel;
}

bool ss_cupti_counters_start(const struct ss_cupti *cupti,
                             const struct ss_cupti_counters_hooks *hooks)
{
    struct ss_error err = {0};
    if (!ss_counter_request_parse(ss_env_get(SS_ENV_STEPSCOPE_COUNTERS), &ss_counters.request)) {
        return false;
    }
    ss_counters.cupti = cupti;
    ss_counters.hooks = hooks;
    ss_counters.owner = (int)ss_process_pid();
    if (ss_profiler_open(&ss_counters.profiler, cupti->path, &err) != SS_OK) {
        ss_counters_refuse(&err);
    } else if (!find_driver()) {
        ss_fail(&err, SS_E_UNSUPPORTED, "there is no driver of CUDA in this process");
        ss_counters_refuse(&err);
    } else if (!ss_counters.request.is_kernel) {
        ss_training_observe_steps(ss_counters_on_step);
    } else {
        ss_counters_compile();
    }
    /* Pairs with the acquires of the next functions. */
    atomic_store_explicit(&is_active, !ss_counters.has_ended, memory_order_release);
    return !ss_counters.has_ended;
}

void ss_cupti_counters_enable(const struct ss_cupti *cupti, void *subscriber)
{
    if (atomic_load_explicit(&is_active, memory_order_acquire)) {
        ss_captures_enable(cupti, subscriber, ss_counters.request.is_kernel);
    }
}

void ss_cupti_counters_observe(int domain, uint32_t function, const void *data)
{
    if (!atomic_load_explicit(&is_active, memory_order_acquire) ||
        ss_counters.owner != (int)ss_process_pid()) {
        return;
    }
    if (domain == SS_CUPTI_DOMAIN_RESOURCE) {
        ss_captures_on_resource(function, data);
    } else if (domain == SS_CUPTI_DOMAIN_RUNTIME || domain == SS_CUPTI_DOMAIN_DRIVER) {
        ss_captures_on_call(domain, function, data);
    }
}
