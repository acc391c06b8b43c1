/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libnvidia-ml.so.1: two GPUs whose figures are known. The second one is like a
 * partition of a GPU: it reports no utilisation, energy, power limit or GPM. FAKE_NVML chooses what
 * else goes wrong: "driver" (not loaded), "none" (no GPU), "lost" (the first falls off the bus
 * after three readings), "old" (only the first version of the memory call), "slow" (each reading
 * takes five seconds), "forbidden" (GPM is not for this user).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15,
    MISMATCH = 25
};

struct gpu {
    unsigned index, readings;
};
static struct gpu gpus[2] = {{0, 0}, {1, 0}};

struct utilisation {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct pci_info {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int status);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **gpu);
int nvmlDeviceGetName(struct gpu *gpu, char *name, unsigned size);
int nvmlDeviceGetUUID(struct gpu *gpu, char *uuid, unsigned size);
int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci_info *info);
int nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct utilisation *utilisation);
int nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *memory);
int nvmlDeviceGetMemoryInfo_v2(struct gpu *gpu, struct memory_v2 *memory);
int nvmlDeviceGetPowerUsage(struct gpu *gpu, unsigned *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(struct gpu *gpu, unsigned *milliwatts);
int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, unsigned long long *millijoules);
int nvmlDeviceGetClockInfo(struct gpu *gpu, unsigned which, unsigned *mhz);
int nvmlDeviceGetTemperature(struct gpu *gpu, unsigned sensor, unsigned *degrees);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *gpu, unsigned long long *reasons);

/* A sample of GPM: how often its device was sampled. */
struct gpm_sample {
    unsigned taken;
};
struct gpm_support {
    unsigned version, supported;
};
struct gpm_metric {
    unsigned number;
    int status;
    double value;
    const char *names[3];
};
struct gpm_request {
    unsigned version, count;
    struct gpm_sample *begin, *end;
    struct gpm_metric metrics[333];
};
int nvmlGpmQueryDeviceSupport(struct gpu *gpu, struct gpm_support *support);
int nvmlGpmSampleAlloc(struct gpm_sample **sample);
int nvmlGpmSampleFree(struct gpm_sample *sample);
int nvmlGpmSampleGet(struct gpu *gpu, struct gpm_sample *sample);
int nvmlGpmMetricsGet(struct gpm_request *request);

static int is(const char *mode)
{
    const char *chosen = getenv("FAKE_NVML");
    return chosen != NULL && strcmp(chosen, mode) == 0;
}

EXPORT int nvmlInit_v2(void)
{
    return is("driver") ? DRIVER_NOT_LOADED : OK;
}

EXPORT int nvmlShutdown(void)
{
    return OK;
}

EXPORT const char *nvmlErrorString(int status)
{
    return status == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "some error";
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = is("none") ? 0 : 2;
    return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **gpu)
{
    *gpu = &gpus[index];
    return OK;
}

EXPORT int nvmlDeviceGetName(struct gpu *gpu, char *name, unsigned size)
{
    snprintf(name, size, "Fake %u", gpu->index + 1);
    return OK;
}

EXPORT int nvmlDeviceGetUUID(struct gpu *gpu, char *uuid, unsigned size)
{
    const char *given = getenv("FAKE_NVML_UUID"); /* of all GPUs */
    if (given != NULL) {
        snprintf(uuid, size, "%s", given);
    } else {
        snprintf(uuid, size, "GPU-%08x-and-so-on", gpu->index);
    }
    return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci_info *info)
{
    snprintf(info->address, sizeof info->address, "00000000:%02X:00.0", 0x3b + gpu->index);
    return OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct utilisation *utilisation)
{
    gpu->readings++;
    if (is("slow")) {
        struct timespec pause = {5, 0};
        nanosleep(&pause, NULL);
    }
    if (is("lost") && gpu->index == 0 && gpu->readings > 3) {
        return GPU_IS_LOST;
    }
    *utilisation = (struct utilisation){87, 43};
    return gpu->index == 0 ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *memory)
{
    (void)gpu;
    *memory = (struct memory){80ULL << 30, 59ULL << 30, 21ULL << 30};
    return OK;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct gpu *gpu, struct memory_v2 *memory)
{
    (void)gpu;
    if (is("old") || memory->version != (sizeof *memory | 2U << 24)) {
        return MISMATCH;
    }
    memory->total = 80ULL << 30;
    memory->reserved = 1ULL << 30;
    memory->free = 59ULL << 30;
    memory->used = 20ULL << 30;
    return OK;
}

EXPORT int nvmlDeviceGetPowerUsage(struct gpu *gpu, unsigned *milliwatts)
{
    *milliwatts = 345600 + gpu->index;
    return OK;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct gpu *gpu, unsigned *milliwatts)
{
    *milliwatts = 700000;
    return gpu->index == 0 ? OK : NOT_SUPPORTED;
}

/* 300 W since the machine was booted. */
EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, unsigned long long *millijoules)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long ms =
        (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
    *millijoules = 300 * ms;
    return gpu->index == 0 ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetClockInfo(struct gpu *gpu, unsigned which, unsigned *mhz)
{
    (void)gpu;
    *mhz = which == 1 ? 1980 : which == 2 ? 2619 : 0;
    return OK;
}

EXPORT int nvmlDeviceGetTemperature(struct gpu *gpu, unsigned sensor, unsigned *degrees)
{
    *degrees = 54 + gpu->index;
    return sensor == 0 ? OK : NOT_SUPPORTED;
}

/* The first one idles, which is not a loss; the second one is too hot. */
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *gpu, unsigned long long *reasons)
{
    *reasons = gpu->index == 0 ? 0x1 : 0x20;
    return OK;
}

EXPORT int nvmlGpmQueryDeviceSupport(struct gpu *gpu, struct gpm_support *support)
{
    if (support->version != 1) {
        return MISMATCH;
    }
    support->supported = gpu->index == 0;
    return OK;
}

EXPORT int nvmlGpmSampleAlloc(struct gpm_sample **sample)
{
    *sample = calloc(1, sizeof **sample);
    return OK;
}

EXPORT int nvmlGpmSampleFree(struct gpm_sample *sample)
{
    free(sample);
    return OK;
}

EXPORT int nvmlGpmSampleGet(struct gpu *gpu, struct gpm_sample *sample)
{
    static unsigned taken;
    (void)gpu;
    sample->taken = ++taken;
    return is("forbidden") ? NO_PERMISSION : OK;
}

/* Of two neighbouring samples, in their order: 62.5 % of the SMs, 31.25 % of the tensor cores, 100
 * MiB/s sent over PCIe; the units for FP64 idle, and NVLink is not there. */
EXPORT int nvmlGpmMetricsGet(struct gpm_request *request)
{
    if (request->version != 1) {
        return MISMATCH;
    }
    int ordered = request->begin->taken != 0 && request->end->taken == request->begin->taken + 1;
    for (unsigned i = 0; i < request->count; i++) {
        struct gpm_metric *metric = &request->metrics[i];
        metric->status = metric->number >= 60 ? NOT_SUPPORTED : OK;
        metric->value = metric->number == 2    ? 62.5
                        : metric->number == 5  ? 31.25
                        : metric->number == 11 ? 0
                        : metric->number == 20 ? 100
                                               : 7;
        metric->value = ordered ? metric->value : -1;
    }
    return OK;
}
