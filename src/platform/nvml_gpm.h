/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPM: what the units of a GPU did, without tracing and without stopping its work. Hopper and newer
 * have it; other devices, and older drivers, do not. Its counters are read twice, and the driver
 * computes averages over the time between.
 *
 * Declared from the fields of NVIDIA's public bindings (nvidia-ml-py, version 1 of each structure).
 * Owned by the thread that uses the library; calls may block.
 */
#ifndef SS_PLATFORM_NVML_GPM_H
#define SS_PLATFORM_NVML_GPM_H

#include <stdbool.h>
#include <stdint.h>

enum ss_nvml_gpm_field {
#define GPM_FIELD(name, number, factor, decimals, series, unit) SS_NVML_GPM_##name,
#include "platform/nvml_gpm.def"
#undef GPM_FIELD
    SS_NVML_GPM_FIELDS
};
enum { SS_NVML_GPM_REASON_BYTES = 128 };

struct ss_nvml_gpm_sample {
    uint64_t begin_ns; /* of the time that the averages are about; 0: nothing known */
    uint32_t known;    /* one bit per field */
    double values[SS_NVML_GPM_FIELDS];
};

struct ss_nvml_gpm;

/* NULL: not here, `reason` (SS_NVML_GPM_REASON_BYTES) says why. The two are NVML's: the loaded
 * library, and its handle of the device. */
struct ss_nvml_gpm *ss_nvml_gpm_open(void *library, void *device, char *reason);
/* Averages since the last reading; the first one knows nothing, nor does one that the driver
 * refuses. */
void ss_nvml_gpm_read(struct ss_nvml_gpm *gpm, uint64_t now_ns, struct ss_nvml_gpm_sample *sample);
/* NULL is allowed. Before NVML ends. */
void ss_nvml_gpm_close(struct ss_nvml_gpm *gpm);

#endif
