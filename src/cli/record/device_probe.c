/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/device_probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "counters/samples.h"
#include "counters/sets.h"
#include "platform/cuda_driver.h"

enum { MOST_SECONDS = 20, MOST_IMAGE_BYTES = 64 << 20 };

struct asked {
    const struct ss_device_probe_request *request;
    struct ss_profiler profiler;
    struct ss_cuda_driver driver;
    struct ss_device_probe *probe;
};

/* --- CUPTI ------------------------------------------------------------------------------------ */

/* As the program will find it: what is loaded into every process, what its Python has, then the
 * usual folders. */
static enum ss_status open_cupti(struct asked *asked, struct ss_error *err)
{
    static const char *const loaded[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    char path[SS_PROBE_TEXT_BYTES];
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++) {
        if (dlopen(loaded[i], RTLD_LAZY | RTLD_NOLOAD) != NULL) {
            return ss_profiler_open(&asked->profiler, loaded[i], err);
        }
    }
    if (asked->request->environment[0] != '\0' &&
        ss_profiler_find_in_python(asked->request->environment, path, sizeof path)) {
        return ss_profiler_open(&asked->profiler, path, err);
    }
    return ss_profiler_open(&asked->profiler, NULL, err);
}

static void probe_cupti(struct asked *asked)
{
    struct ss_device_probe *probe = asked->probe;
    struct ss_error err = {0};
    const char *const *chips;
    size_t count;
    probe->cupti_status = open_cupti(asked, &err);
    snprintf(probe->path, sizeof probe->path, "%s", asked->profiler.path);
    probe->version = asked->profiler.version;
    if (probe->cupti_status != SS_OK) {
        snprintf(probe->cupti, sizeof probe->cupti, "%s", err.message);
    } else if (ss_metric_chips(&asked->profiler, &chips, &count, &err) != SS_OK) {
        snprintf(probe->metrics, sizeof probe->metrics, "%s", err.message);
    }
}

/* --- devices ---------------------------------------------------------------------------------- */

/* The driver names a part of a device "NVIDIA A100-SXM4-40GB MIG 1g.5gb". */
static bool is_part(const struct asked *asked, int device)
{
    char name[256] = "";
    bool has_name = asked->driver.name(name, (int)sizeof name, device) == SS_CUDA_OK;
    name[sizeof name - 1] = '\0';
    return has_name && strstr(name, " MIG ") != NULL;
}

static bool lacks(int level)
{
    return level == SS_PROFILER_UNSUPPORTED_HERE || level == SS_PROFILER_DISABLED_HERE;
}

static uint32_t ask_support(const struct asked *asked, int device, int api)
{
    struct ss_profiler_device_support params = SS_PROFILER_PARAMS(device_support);
    params.device = device;
    params.api = api;
    if (asked->profiler.device_support == NULL ||
        asked->profiler.device_support(&params) != SS_PROFILER_OK || !lacks(params.supported)) {
        return SS_PROFILER_OK; /* or unknown */
    }
    return lacks(params.wsl)                                ? SS_PROFILER_WSL
           : lacks(params.confidential)                     ? SS_PROFILER_CONFIDENTIAL
           : lacks(params.mining)                           ? SS_PROFILER_MINING
           : lacks(params.linked)                           ? SS_PROFILER_SLI
           : params.is_virtual == SS_PROFILER_DISABLED_HERE ? SS_PROFILER_VIRTUAL_NOT_PERMITTED
           : lacks(params.is_virtual)                       ? SS_PROFILER_VIRTUAL
                                                            : SS_PROFILER_UNSUPPORTED;
}

/* Which counters there are is asked of the device, and not of a context. */
static uint32_t ask_samples(const struct asked *asked, int device)
{
    struct ss_profiler_samples_availability params = SS_PROFILER_PARAMS(samples_availability);
    params.device = (size_t)device;
    if (asked->profiler.samples_availability == NULL) {
        return SS_PROFILER_OK;
    }
    uint32_t result = asked->profiler.samples_availability(&params);
    if (result != SS_PROFILER_OK || params.image_bytes == 0 ||
        params.image_bytes > MOST_IMAGE_BYTES) {
        return result;
    }
    params.image = ss_alloc_zero(1, params.image_bytes);
    result = asked->profiler.samples_availability(&params);
    ss_free(params.image);
    return result;
}

/* Which metrics of a set there are, and that those of a list are. */
static enum ss_status check_counters(const struct ss_metric_target *target, const char *counters,
                                     struct ss_error *err)
{
    struct ss_counter_choice choice;
    struct ss_metric_config config = {.image = NULL};
    SS_TRY(ss_counters_choose(target, counters, &choice, NULL, err));
    enum ss_status status = ss_metric_config_init(target, choice.names, choice.count, &config, err);
    if (status == SS_OK) {
        ss_metric_config_fini(&config);
    }
    return status;
}

static void check_metrics(const struct asked *asked, struct ss_probed_device *device)
{
    struct ss_error err = {0};
    struct ss_sample_plan plan;
    struct ss_metric_target target = {
        .profiler = &asked->profiler, .chip = device->chip, .kind = SS_PROFILER_OF_RANGES};
    if (ss_metric_check_chip(&asked->profiler, device->chip, &err) != SS_OK) {
        device->is_unknown = true;
        return;
    }
    const char *counters = asked->request->counters;
    if (counters != NULL && check_counters(&target, counters, &err) != SS_OK) {
        snprintf(device->metrics, sizeof device->metrics, "%s", err.message);
    }
    target.kind = SS_PROFILER_OF_SAMPLES;
    if (asked->request->samples && ss_sample_plan_init(&target, &plan, NULL, &err) != SS_OK) {
        snprintf(device->series, sizeof device->series, "%s", err.message);
    }
}

static void probe_device(const struct asked *asked, int device, struct ss_probed_device *probed)
{
    struct ss_profiler_device_chip chip = SS_PROFILER_PARAMS(device_chip);
    int handle = device;
    asked->driver.device(&handle, device);
    probed->is_part = is_part(asked, handle);
    probed->support = ask_support(asked, handle, SS_PROFILER_API_OF_RANGES);
    probed->samples = ask_support(asked, handle, SS_PROFILER_API_OF_SAMPLES);
    if (probed->samples == SS_PROFILER_OK) {
        probed->samples = ask_samples(asked, device);
    }
    chip.device = (size_t)device;
    if (asked->profiler.device_chip == NULL ||
        asked->profiler.device_chip(&chip) != SS_PROFILER_OK || chip.chip == NULL) {
        return;
    }
    snprintf(probed->chip, sizeof probed->chip, "%s", chip.chip);
    if (asked->probe->metrics[0] == '\0') {
        check_metrics(asked, probed);
    }
}

static void probe_devices(struct asked *asked)
{
    struct ss_profiler_start_profilers start = SS_PROFILER_PARAMS(start_profilers);
    if (asked->profiler.start_profilers == NULL ||
        asked->profiler.start_profilers(&start) != SS_PROFILER_OK) {
        return;
    }
    for (uint32_t i = 0; i < asked->probe->devices; i++) {
        probe_device(asked, (int)i, &asked->probe->device[i]);
    }
}

/* --- the driver ------------------------------------------------------------------------------- */

/* Returns whether there are devices. */
static bool probe_driver(struct asked *asked)
{
    struct ss_device_probe *probe = asked->probe;
    int count = 0;
    probe->has_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != NULL;
    if (!ss_cuda_driver_load(&asked->driver, probe->driver, sizeof probe->driver)) {
        return false;
    }
    asked->driver.version(&probe->cuda);
    probe->driver_result = asked->driver.init(0);
    if (probe->driver_result == SS_CUDA_OK) {
        probe->driver_result = asked->driver.count(&count);
    }
    if (probe->driver_result == SS_CUDA_OK && count == 0) {
        probe->driver_result = SS_CUDA_NO_DEVICE;
    }
    if (probe->driver_result != SS_CUDA_OK) {
        snprintf(probe->driver, sizeof probe->driver, "%s (CUDA's error %d)",
                 ss_cuda_driver_error(&asked->driver, probe->driver_result), probe->driver_result);
        return false;
    }
    probe->devices = (uint32_t)(count < SS_PROBE_DEVICES ? count : SS_PROBE_DEVICES);
    return true;
}

/* --- the process ------------------------------------------------------------------------------ */

static _Noreturn void be_the_process(const struct ss_device_probe_request *request, int out)
{
    static struct ss_device_probe probe;
    struct asked asked = {.request = request, .probe = &probe};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i <= STDERR_FILENO && nothing >= 0; i++) {
        dup2(nothing, i); /* what the libraries print is not the program's */
    }
    signal(SIGALRM, SIG_DFL);
    alarm(2 * MOST_SECONDS);
    unsetenv("CUDA_INJECTION64_PATH"); /* of another profiler */
    bool has_devices = probe_driver(&asked);
    probe_cupti(&asked);
    if (has_devices && probe.cupti_status == SS_OK) {
        probe_devices(&asked);
    }
    probe.has_ended = true;
    const char *from = (const char *)&probe;
    for (size_t done = 0; done < sizeof probe;) {
        ssize_t written = write(out, from + done, sizeof probe - done);
        if (written <= 0) {
            break;
        }
        done += (size_t)written;
    }
    _exit(0); /* the libraries' handlers of exit have nothing to do */
}

/* false: it ended without an answer, or time is over. */
static bool receive(int in, struct ss_device_probe *probe)
{
    uint64_t end_ns = ss_clock_now_ns(NULL) + MOST_SECONDS * UINT64_C(1000000000);
    size_t done = 0;
    while (done < sizeof *probe) {
        uint64_t now_ns = ss_clock_now_ns(NULL);
        struct pollfd readable = {.fd = in, .events = POLLIN};
        if (now_ns >= end_ns) {
            return false;
        }
        if (poll(&readable, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0) {
            continue; /* a signal, or the end of the time */
        }
        ssize_t got = read(in, (char *)probe + done, sizeof *probe - done);
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static void seal(char *text, size_t size)
{
    text[size - 1] = '\0';
}

/* What came through the pipe ends where it should, whatever libraries did to that process. */
static void check(struct ss_device_probe *probe)
{
    seal(probe->driver, sizeof probe->driver);
    seal(probe->cupti, sizeof probe->cupti);
    seal(probe->path, sizeof probe->path);
    seal(probe->metrics, sizeof probe->metrics);
    probe->devices = probe->devices < SS_PROBE_DEVICES ? probe->devices : SS_PROBE_DEVICES;
    for (size_t i = 0; i < SS_PROBE_DEVICES; i++) {
        seal(probe->device[i].chip, sizeof probe->device[i].chip);
        seal(probe->device[i].metrics, sizeof probe->device[i].metrics);
        seal(probe->device[i].series, sizeof probe->device[i].series);
    }
}

void ss_device_probe(const struct ss_device_probe_request *request, struct ss_device_probe *probe)
{
    int ends[2];
    memset(probe, 0, sizeof *probe);
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_the_process(request, ends[1]);
    }
    close(ends[1]);
    if (pid > 0 && receive(ends[0], probe)) {
        check(probe);
    } else {
        memset(probe, 0, sizeof *probe);
    }
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* it has answered, or never will */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}
