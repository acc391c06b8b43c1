/* SPDX-License-Identifier: Apache-2.0 */
/* The source "gpu": what record/devices/device_tracks.h wrote of the work of CUDA and AMD devices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "platform/device_backends.h"
#include "record/run/launch.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

static const char variable[] = "CUDA_INJECTION64_PATH";
static const char no_consent[] =
    "a running program is recorded, which did not permit it: call stepscope.enable_attach() in it, "
    "start it with STEPSCOPE_ATTACH=1, or record it from its start";

static const struct ss_child_env *find_row(void)
{
    size_t i = 0;
    while (strcmp(ss_child_env_table[i].name, variable) != 0) {
        i++;
    }
    return &ss_child_env_table[i];
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const struct ss_injection *injection = recorder->context.injection;
    const char *user = ss_injection_user_value(find_row());
    if (recorder->options->gpu == NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "--gpu off");
        return SS_SOURCE_NOT_REQUESTED;
    }
    if (recorder->options->attach_pid != 0) { /* the program may arm the collector itself */
        *source = recorder;
        snprintf(reason, SS_SOURCE_REASON_BYTES, "by the program's own consent");
        return SS_SOURCE_RUNS;
    }
    if (injection == NULL || injection->is_off) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s",
                 injection != NULL ? injection->reason : "nothing is loaded into the program");
        return injection != NULL && injection->is_refused ? SS_SOURCE_NOT_REQUESTED
                                                          : SS_SOURCE_NOT_AVAILABLE;
    }
    if (user != NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s is set already (%s) and was left as it is",
                 variable, user);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    *source = recorder;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s=%s", variable, injection->library);
    return SS_SOURCE_RUNS;
}

/* Where CUDA was used and nothing was recorded, the cause is named; it may be the program's. */
static const char *cause_of(const struct ss_recorder *recorder)
{
    const struct ss_device_totals *totals = &recorder->device_totals;
    if (recorder->context.gpu_problem[0] != '\0') {
        return recorder->context.gpu_problem;
    }
    if (totals->losses.refused_buffers > 0 || totals->losses.dropped_records > 0) {
        return "there were no buffers for the records";
    }
    if (totals->losses.untimed_kernels > 0) {
        return "the device had no buffers for times";
    }
    if (totals->cut > 0) {
        return "the program was killed, or left by _exit or exec, before CUPTI returned the "
               "records, which it does once a second and at exit";
    }
    return "CUPTI returned no record before the program ended: it returns them late, another "
           "profiler of the process took them, or the driver of CUDA refused";
}

static enum ss_source_state describe_losses(const struct ss_recorder *recorder, char *reason)
{
    const struct ss_device_totals *totals = &recorder->device_totals;
    const struct ss_device_losses *losses = &totals->losses;
    int used = snprintf(
        reason, SS_SOURCE_REASON_BYTES,
        "%" PRIu64 " kernels, %" PRIu64 " copies, %" PRIu64 " memsets and %" PRIu64
        " calls of %" PRIu64 " %s; lost: %" PRIu64 " records dropped, %" PRIu64
        " buffers refused, %" PRIu64 " works without times, %" PRIu64 " launches without a kernel",
        totals->kernels, totals->copies, totals->memsets, totals->calls, totals->processes,
        totals->processes == 1 ? "process" : "processes", losses->dropped_records,
        losses->refused_buffers, losses->untimed_kernels, totals->unlaunched);
    if (totals->cut > 0) {
        used += snprintf(reason + used, SS_SOURCE_REASON_BYTES - (size_t)used,
                         "; %" PRIu64 " %s killed, or left by _exit or exec, without the last "
                         "records",
                         totals->cut, totals->cut == 1 ? "process was" : "processes were");
    }
    if (totals->early > 0) {
        used += snprintf(reason + used, SS_SOURCE_REASON_BYTES - (size_t)used,
                         "; %" PRIu64 " works begin before their launch: the times of the device "
                         "are wrong",
                         totals->early);
    }
    if (totals->samples > 0) {
        used += snprintf(reason + used, SS_SOURCE_REASON_BYTES - (size_t)used,
                         "; %" PRIu64 " samples of counters", totals->samples);
    }
    const char *problems[] = {recorder->context.gpu_problem, recorder->context.gpu_samples_problem};
    bool is_limited = totals->early > 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        if (problems[i][0] != '\0' && used < SS_SOURCE_REASON_BYTES) {
            used +=
                snprintf(reason + used, SS_SOURCE_REASON_BYTES - (size_t)used, "; %s", problems[i]);
            is_limited = true;
        }
    }
    return is_limited ? SS_SOURCE_LIMITED : SS_SOURCE_RUNS;
}

/* Without rocprofiler-sdk, nothing says that a program used an AMD device. */
static void add_missing(char *reason)
{
    const struct ss_device_backend *backend = ss_device_backend_named("rocprofiler-sdk");
    char library[4096];
    if (ss_device_backend_has_driver(backend) &&
        !ss_device_backend_find(backend, ss_env_get(SS_ENV_LD_LIBRARY_PATH), library,
                                sizeof library)) {
        size_t used = strlen(reason);
        snprintf(reason + used, SS_SOURCE_REASON_BYTES - used,
                 "; work of %s devices is not recorded, because %s is not found: %s",
                 backend->vendor, backend->name, backend->fix);
    }
}

static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct ss_recorder *recorder = source;
    const struct ss_device_totals *totals = &recorder->device_totals;
    (void)now_ns;
    bool has_work = totals->kernels + totals->copies + totals->memsets > 0;
    if (totals->launches > 0 && totals->kernels == 0) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%" PRIu64 " launches and no kernel: %s",
                 totals->launches, cause_of(recorder));
        return SS_SOURCE_BROKE;
    }
    if (has_work) {
        return describe_losses(recorder, reason);
    }
    if (recorder->context.gpu_problem[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", recorder->context.gpu_problem);
        /* With a collector, which CUPTI refused, the program used a device and nothing is there. */
        return totals->processes > 0 ? SS_SOURCE_BROKE : SS_SOURCE_NOT_AVAILABLE;
    }
    if (recorder->options->attach_pid != 0 && !recorder->context.is_gpu_armed) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", no_consent);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    bool is_of_kernels = recorder->options->counters != NULL &&
                         strstr(recorder->options->counters, ";kernel=") != NULL;
    snprintf(
        reason, SS_SOURCE_REASON_BYTES, "%s",
        is_of_kernels && totals->processes > 0
            ? "no kernel was measured: none that was launched has such a name (-k), or all were "
              "skipped (--skip)"
        : totals->cut > 0       ? "no launch was observed: the program was killed, or left by "
                                  "_exit or exec, at once"
        : totals->processes > 0 ? "the programs that use CUDA or HIP launched nothing"
                                : "no program used CUDA or HIP");
    if (totals->processes == 0) {
        add_missing(reason);
    }
    return SS_SOURCE_RUNS;
}

const struct ss_source_ops ss_source_gpu = {
    .name = "gpu",
    .summary = "kernels and copies of CUDA and AMD devices, and the calls that launch them",
    .start = start,
    .stop = stop,
};
