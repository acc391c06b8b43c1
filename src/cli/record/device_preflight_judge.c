/* SPDX-License-Identifier: Apache-2.0 */
/* Facts to findings. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/checks/doctor_checks.h"
#include "cli/record/device_preflight.h"
#include "counters/profiler.h"
#include "platform/cuda_driver.h"

enum {
    FIRST_OF_CUDA_12 = 525, /* releases of the driver */
    FIRST_OF_CUDA_13 = 580,
    VERSION_OF_12 = 20,         /* of CUPTI's interface: 11.8 and 12.0 share 18 */
    FIRST_LONG_VERSION = 100000 /* 130001: CUPTI 13.0 */
};

struct findings {
    const struct ss_preflight_facts *facts;
    struct ss_preflight_finding *list;
    size_t count;
};

static void add(struct findings *findings, bool is_certain, const char *format, ...)
    SS_PRINTF(3, 4);
static void add(struct findings *findings, bool is_certain, const char *format, ...)
{
    if (findings->count == SS_PREFLIGHT_MOST) {
        return;
    }
    struct ss_preflight_finding *finding = &findings->list[findings->count++];
    va_list arguments;
    finding->is_certain = is_certain;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

/* --- with a probe ----------------------------------------------------------------------------- */

/* false: there is nothing more to be said. */
static bool judge_driver(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    const struct ss_device_probe *probe = facts->probe;
    if (!probe->has_ended) {
        add(findings, false,
            "the driver of CUDA, or CUPTI, crashed or did not answer within 20 s when asked for "
            "its devices: `nvidia-smi` shows whether the driver works");
        return false;
    }
    if (!probe->has_driver) {
        add(findings, !facts->has_device_file, "%s%s", probe->driver,
            facts->has_device_file
                ? ": the driver's module is loaded, so put the folder of libcuda.so.1 into "
                  "LD_LIBRARY_PATH; in a container, start it with --gpus all"
                : "; run on a machine with an NVIDIA device");
        return false;
    }
    if (probe->driver_result == SS_CUDA_NO_DEVICE) {
        add(findings, true,
            "the driver shows no device: see CUDA_VISIBLE_DEVICES, and in a container, --gpus");
        return false;
    }
    if (probe->driver[0] != '\0') {
        add(findings, true,
            "the driver of CUDA cannot be used: %s; `nvidia-smi` shows whether it works, and a "
            "driver that was updated needs a restart",
            probe->driver);
        return false;
    }
    return true;
}

/* 12 for CUPTI 12.6; 0: unknown, since 11.8 and 12.0 share a number. */
static int major_of(uint32_t version)
{
    return version >= FIRST_LONG_VERSION ? (int)(version / 10000)
           : version >= VERSION_OF_12    ? 12
                                         : 0;
}

static void judge_cupti(struct findings *findings)
{
    const struct ss_device_probe *probe = findings->facts->probe;
    int major = major_of(probe->version);
    if (probe->cupti_status != SS_OK) {
        /* A script may still set where libraries are. */
        bool is_found = probe->cupti_status != SS_E_NOTFOUND;
        add(findings, findings->facts->knows_python || is_found, "%s", probe->cupti);
        return;
    }
    if (probe->metrics[0] != '\0') {
        add(findings, true, "%s (of %.300s)", probe->metrics, probe->path);
    }
    if (major > 0 && probe->cuda > 0 && major > probe->cuda / 1000) {
        add(findings, true,
            "the driver is too old: it knows CUDA up to %d.%d, and %.300s is of CUDA %d; install a "
            "later driver, or set STEPSCOPE_CUPTI to a CUPTI of CUDA %d",
            probe->cuda / 1000, probe->cuda % 1000 / 10, probe->path, major, probe->cuda / 1000);
    }
}

/* Why a device cannot do what was asked for. false: it can. */
static bool explain_device(const struct ss_preflight_facts *facts,
                           const struct ss_probed_device *device, char *why, size_t size)
{
    bool is_permission = device->samples == SS_PROFILER_NOT_PERMITTED ||
                         device->samples == SS_PROFILER_VIRTUAL_NOT_PERMITTED;
    if (device->is_unknown) {
        snprintf(why, size,
                 "CUPTI has no metrics of the chip %s: use a later one (STEPSCOPE_CUPTI)",
                 device->chip);
    } else if (facts->has_counters && device->support != SS_PROFILER_OK) {
        ss_profiler_explain(device->support, why, size);
    } else if (facts->has_counters && device->metrics[0] != '\0') {
        snprintf(why, size, "%s", device->metrics);
    } else if (facts->has_samples && device->series[0] != '\0') {
        snprintf(why, size, "%s", device->series);
    } else if (device->samples != SS_PROFILER_OK && device->samples != SS_PROFILER_BUSY &&
               (facts->has_samples || is_permission)) {
        ss_profiler_explain(device->samples, why, size);
    } else {
        return false;
    }
    return true;
}

/* The same reason of all devices is one finding; that of one device may not concern the program. */
static void judge_devices(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    const struct ss_device_probe *probe = facts->probe;
    char why[600], first[600] = "";
    uint32_t refused = 0, same = 0;
    for (uint32_t i = 0; i < probe->devices; i++) {
        if (explain_device(facts, &probe->device[i], why, sizeof why)) {
            if (refused++ == 0) {
                memcpy(first, why, sizeof first);
            }
            same += strcmp(first, why) == 0;
        }
    }
    if (refused > 0 && same == probe->devices) {
        add(findings, true, "%s", first);
        return;
    }
    for (uint32_t i = 0; i < probe->devices && refused > 0; i++) {
        if (explain_device(facts, &probe->device[i], why, sizeof why)) {
            add(findings, refused == probe->devices, "device %u: %s", i, why);
        }
    }
}

/* Counters that are in use now may be free later, and those of one device may not concern the
 * program: a rank beside this one may use them. */
static void judge_holders(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    const struct ss_device_probe *probe = facts->probe;
    char why[400];
    uint32_t busy = 0;
    for (uint32_t i = 0; i < probe->devices; i++) {
        busy += probe->device[i].samples == SS_PROFILER_BUSY;
    }
    ss_profiler_explain(SS_PROFILER_BUSY, why, sizeof why);
    if (busy > 0 && busy == probe->devices) {
        add(findings, !facts->is_one_of_many, "%s%s%s%s", why, facts->holder[0] != '\0' ? "; " : "",
            facts->holder, facts->holder[0] != '\0' ? " is running" : "");
    } else if (busy > 0) {
        add(findings, false, "%u of %u devices: %s", busy, probe->devices, why);
    } else if (facts->holder[0] != '\0') {
        add(findings, false,
            "%s is running, which may use the device's counters: if they are refused, pause it "
            "(`dcgmi profile --pause`)",
            facts->holder);
    }
}

/* What CUPTI says of parts of devices is known of samples alone. */
static void judge_parts(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    char why[400];
    ss_profiler_explain(SS_PROFILER_MIG, why, sizeof why);
    for (uint32_t i = 0; i < facts->probe->devices && facts->has_counters; i++) {
        const struct ss_probed_device *device = &facts->probe->device[i];
        bool is_refused = device->samples == SS_PROFILER_MIG;
        if ((is_refused || device->is_part) && !(is_refused && facts->has_samples)) {
            add(findings, false, "device %u may refuse: %s", i, why);
        }
    }
}

/* Where CUPTI said nothing of it, by the module's parameters. */
static void judge_permission(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    const struct ss_device_probe *probe = facts->probe;
    struct ss_check check;
    bool is_answered = probe->has_ended && probe->cupti_status == SS_OK && probe->devices > 0;
    ss_check_gpu_counters(&facts->driver, &facts->host, &check);
    if (check.verdict == SS_CHECK_LIMITED && !is_answered) {
        add(findings, true, "the driver gives counters to administrators only: %s", check.fix);
    }
}

/* --- without -------------------------------------------------------------------------------- */

/* Of a Python program with libraries that use CUDA, on a machine with a driver; others may not use
 * a device. */
static void judge_work(struct findings *findings)
{
    const struct ss_preflight_facts *facts = findings->facts;
    const char *name = strstr(facts->cupti, "libcupti.so.");
    int major = 0, needed = 0;
    if (!facts->has_device_file || !facts->has_cuda_packages) {
        return;
    }
    if (facts->cupti[0] == '\0') {
        add(findings, false,
            "no CUPTI was found, so that the work of devices will not be recorded: install the "
            "wheel nvidia-cuda-cupti of the program's CUDA, or set STEPSCOPE_CUPTI to the path of "
            "libcupti.so");
        return;
    }
    if (name != NULL && sscanf(name, "libcupti.so.%d", &major) == 1) {
        needed = major >= 13 ? FIRST_OF_CUDA_13 : major == 12 ? FIRST_OF_CUDA_12 : 0;
    }
    if (facts->driver.release > 0 && facts->driver.release < needed) {
        add(findings, false,
            "the driver %d is too old for %.300s, so that the work of devices may not be recorded: "
            "CUDA %d needs the driver %d or later",
            facts->driver.release, facts->cupti, major, needed);
    }
}

size_t ss_preflight_judge(const struct ss_preflight_facts *facts, struct ss_preflight_finding *list)
{
    struct findings findings = {.facts = facts, .list = list};
    if (facts->probe == NULL) {
        judge_work(&findings);
        return findings.count;
    }
    bool has_driver = judge_driver(&findings);
    if (facts->probe->has_ended) {
        judge_cupti(&findings);
    }
    if (has_driver) {
        judge_devices(&findings);
        judge_holders(&findings);
        judge_parts(&findings);
    }
    judge_permission(&findings);
    return findings.count;
}
