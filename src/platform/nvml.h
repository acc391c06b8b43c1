/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, loaded at run time where there is one: never linked, never
 * required. Its functions are called through tables of names, so that any version will do; what a
 * device or a driver does not tell is absent.
 *
 * Calls may block (a driver that wakes a GPU takes seconds): not for the recorder's thread. One
 * library object per process; each belongs to the thread that uses it.
 */
#ifndef SS_PLATFORM_NVML_H
#define SS_PLATFORM_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SS_NVML_MOST_DEVICES = 64, SS_NVML_REASON_BYTES = 256 };

enum ss_nvml_field {
    SS_NVML_UTILISATION,        /* % of the time in which a kernel ran */
    SS_NVML_MEMORY_UTILISATION, /* % of the time in which memory was read or written */
    SS_NVML_MEMORY_USED,        /* bytes */
    SS_NVML_MEMORY_TOTAL,
    SS_NVML_POWER,       /* mW */
    SS_NVML_POWER_LIMIT, /* mW */
    SS_NVML_ENERGY,      /* mJ since the driver was loaded */
    SS_NVML_SM_CLOCK,    /* MHz */
    SS_NVML_MEMORY_CLOCK,
    SS_NVML_TEMPERATURE, /* °C */
    SS_NVML_THROTTLE,    /* enum ss_nvml_throttle */
    SS_NVML_FIELDS
};

/* Why the clocks are lower than they could be: the bits that mean a loss. */
enum ss_nvml_throttle {
    SS_NVML_THROTTLE_POWER = 0x04 | 0x80,   /* software power cap, hardware power brake */
    SS_NVML_THROTTLE_THERMAL = 0x20 | 0x40, /* software, hardware */
    SS_NVML_THROTTLE_HARDWARE = 0x08,       /* hardware slowdown, whatever the cause */
    SS_NVML_THROTTLE_SYNC = 0x10            /* as slow as another GPU that it is paired with */
};

struct ss_nvml_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC, before the first call */
    bool lost;        /* the device fell off the bus: nothing more will come */
    uint32_t known;   /* bit per field */
    uint64_t values[SS_NVML_FIELDS];
};
static inline bool ss_nvml_has(const struct ss_nvml_sample *sample, enum ss_nvml_field field)
{
    return (sample->known >> field & 1) != 0;
}

struct ss_nvml;

/* NULL: `reason` (SS_NVML_REASON_BYTES) tells why not. `path` NULL: the usual name. */
struct ss_nvml *ss_nvml_open(const char *path, char *reason);
size_t ss_nvml_count(const struct ss_nvml *nvml);
/* "NVIDIA H100 80GB HBM3" and "GPU-1f3c…"; "" when it does not tell. Borrowed. */
const char *ss_nvml_name(const struct ss_nvml *nvml, size_t device);
const char *ss_nvml_uuid(const struct ss_nvml *nvml, size_t device);
void ss_nvml_read(struct ss_nvml *nvml, size_t device, struct ss_nvml_sample *sample);
void ss_nvml_close(struct ss_nvml *nvml);

#endif
