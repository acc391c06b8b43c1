/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, loaded at run time where it is installed: never linked, never
 * required. Its functions are resolved by name, so that any version works; values that a device or
 * driver does not report are absent.
 *
 * Calls may block (a driver that wakes a GPU takes seconds): not for the recorder's thread. One
 * library object per process; each belongs to the thread that uses it.
 */
#ifndef SS_PLATFORM_NVML_H
#define SS_PLATFORM_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/nvml_gpm.h"

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

/* Why the clocks are reduced: the bits that mean a performance loss. */
enum ss_nvml_throttle {
    SS_NVML_THROTTLE_POWER = 0x04 | 0x80,   /* software power cap, hardware power brake */
    SS_NVML_THROTTLE_THERMAL = 0x20 | 0x40, /* software, hardware */
    SS_NVML_THROTTLE_HARDWARE = 0x08,       /* hardware slowdown, any cause */
    SS_NVML_THROTTLE_SYNC = 0x10            /* limited to the clock of a paired GPU */
};

struct ss_nvml_sample {
    uint64_t time_ns; /* before the first call */
    bool lost;        /* the device fell off the bus: no further values */
    uint32_t known;   /* one bit per field */
    uint64_t values[SS_NVML_FIELDS];
    struct ss_nvml_gpm_sample gpm;
};
static inline bool ss_nvml_has(const struct ss_nvml_sample *sample, enum ss_nvml_field field)
{
    return (sample->known >> field & 1) != 0;
}

struct ss_nvml;

/* NULL: failed, `reason` (SS_NVML_REASON_BYTES) says why. `path` NULL: the default name. */
struct ss_nvml *ss_nvml_open(const char *path, char *reason);
size_t ss_nvml_count(const struct ss_nvml *nvml);
/* "NVIDIA H100 80GB HBM3" and "GPU-1f3c…"; "": not reported. Borrowed. */
const char *ss_nvml_name(const struct ss_nvml *nvml, size_t device);
const char *ss_nvml_uuid(const struct ss_nvml *nvml, size_t device);
/* "00000000:3B:00.0"; "": not reported. Borrowed. */
const char *ss_nvml_pci_address(const struct ss_nvml *nvml, size_t device);
/* As the driver lists it, from 0: devices outside this container are not counted as devices here.
 */
unsigned ss_nvml_number(const struct ss_nvml *nvml, size_t device);
/* Why the device has no GPM; NULL: it has. Borrowed. */
const char *ss_nvml_gpm_reason(const struct ss_nvml *nvml, size_t device);
void ss_nvml_read(struct ss_nvml *nvml, size_t device, uint64_t now_ns,
                  struct ss_nvml_sample *sample);
void ss_nvml_close(struct ss_nvml *nvml);

#endif
