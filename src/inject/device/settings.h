/* SPDX-License-Identifier: Apache-2.0 */
/* How much is collected of devices, as STEPSCOPE_GPU says it. Pure. */
#ifndef SS_INJECT_DEVICE_SETTINGS_H
#define SS_INJECT_DEVICE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum ss_collecting_level {
    SS_COLLECTING_OFF,
    SS_COLLECTING_LIGHT,
    SS_COLLECTING_DEFAULT,
    SS_COLLECTING_FULL
};

struct ss_collecting_settings {
    enum ss_collecting_level level;
    uint32_t buffers;   /* largest number of buffers; 0: the usual one */
    uint64_t sample_ns; /* between samples of a device's counters; 0: none */
    bool is_tee;        /* other clients of the interface get records, too */
};

/* "default", "light,buffers=2", "full,tee,samples=1000000"; NULL or unknown: off. */
struct ss_collecting_settings ss_collecting_settings_parse(const char *text);
const char *ss_collecting_level_name(enum ss_collecting_level level);

#endif
