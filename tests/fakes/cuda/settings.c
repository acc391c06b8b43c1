/* SPDX-License-Identifier: Apache-2.0 */
/* The settings, from the environment. A wrong one ends the process: tests are to notice. */
#include "core.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATTERNS = 64, DEFAULT_KERNEL_NS = 20000 };

struct pattern {
    char *text; /* of fnmatch */
    uint64_t duration_ns;
};

static struct sim_settings settings;
static struct pattern patterns[MOST_PATTERNS];
static size_t pattern_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    enum sim_fault fault;
} fault_names[] = {
    {"busy-owner", SIM_BUSY_OWNER},
    {"no-driver", SIM_NO_DRIVER},
    {"refused-clock", SIM_REFUSED_CLOCK},
    {"lost-records", SIM_LOST_RECORDS},
    {"late-records", SIM_LATE_RECORDS},
    {"exhausted-buffers", SIM_EXHAUSTED_BUFFERS},
    {"no-null-buffers", SIM_NO_NULL_BUFFERS},
    {"slow-flush", SIM_SLOW_FLUSH},
    {"wrong-clock", SIM_WRONG_CLOCK},
    {"no-counters", SIM_NO_COUNTERS},
    {"busy-counters", SIM_BUSY_COUNTERS},
    {"mig-device", SIM_MIG_DEVICE},
    {"old-chip", SIM_OLD_CHIP},
    {"no-time-trigger", SIM_NO_TIME_TRIGGER},
    {"other-sample-clock", SIM_OTHER_SAMPLE_CLOCK},
    {"sample-overflow", SIM_SAMPLE_OVERFLOW},
    {"old-driver", SIM_OLD_DRIVER},
    {"unknown-chip", SIM_UNKNOWN_CHIP},
    {"virtual-device", SIM_VIRTUAL_DEVICE},
    {"no-host-library", SIM_NO_HOST_LIBRARY},
};

__attribute__((noreturn)) static void refuse(const char *variable, const char *value)
{
    fprintf(stderr, "fake cuda: %s: cannot use \"%s\"\n", variable, value);
    _Exit(125);
}

static uint64_t number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || *text == '\0') {
        return otherwise;
    }
    uint64_t value = strtoull(text, &end, 10);
    if (*end != '\0') {
        refuse(variable, text);
    }
    return value;
}

/* "20us", "1.5ms", "800ns", "2s" */
static uint64_t duration(const char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0] && end != text && value >= 0; i++) {
        if (strcmp(end, units[i].name) == 0) {
            return (uint64_t)(value * units[i].ns);
        }
    }
    refuse("FAKE_CUDA_DURATIONS", text);
}

static void read_faults(const char *list)
{
    char *text = strdup(list), *rest = NULL;
    for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (i < sizeof fault_names / sizeof fault_names[0] &&
               strcmp(name, fault_names[i].name) != 0) {
            i++;
        }
        if (i == sizeof fault_names / sizeof fault_names[0]) {
            refuse("FAKE_CUDA_FAULTS", name);
        }
        settings.faults |= (unsigned)fault_names[i].fault;
    }
    free(text);
}

/* "gemm=200us,*reduce_?=5us": a text without * and ? matches where it is found. */
static void read_durations(const char *list)
{
    char *text = strdup(list), *rest = NULL;
    for (char *one = strtok_r(text, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest)) {
        char *equals = strrchr(one, '=');
        if (equals == NULL || pattern_count == MOST_PATTERNS) {
            refuse("FAKE_CUDA_DURATIONS", one);
        }
        *equals = '\0';
        size_t size = strlen(one) + 3;
        char *glob = malloc(size);
        snprintf(glob, size, strpbrk(one, "*?") != NULL ? "%s" : "*%s*", one);
        patterns[pattern_count++] = (struct pattern){glob, duration(equals + 1)};
    }
    free(text);
}

static unsigned read_cupti(const char *text)
{
    unsigned major = 0, minor = 0;
    if (sscanf(text, "%u.%u", &major, &minor) != 2 ||
        (major * 100 + minor != 1108 && major * 100 + minor != 1206 && major != 13)) {
        refuse("FAKE_CUDA_CUPTI", text);
    }
    return major * 100 + minor;
}

static void read_settings(void)
{
    const char *text = getenv("FAKE_CUDA_FAULTS");
    if (text != NULL) {
        read_faults(text);
    }
    text = getenv("FAKE_CUDA_DURATIONS");
    if (text != NULL) {
        read_durations(text);
    }
    text = getenv("FAKE_CUDA_CUPTI");
    settings.cupti = read_cupti(text != NULL && *text != '\0' ? text : DEFAULT_CUPTI);
    settings.device_count = (unsigned)number("FAKE_CUDA_DEVICES", 1);
    if (settings.device_count > SIM_MOST_DEVICES) {
        refuse("FAKE_CUDA_DEVICES", getenv("FAKE_CUDA_DEVICES"));
    }
    settings.device_bytes = number("FAKE_CUDA_MEMORY_MB", 16384) << 20;
    settings.launch_ns = number("FAKE_CUDA_LAUNCH_NS", 3000);
    settings.compile_ns = number("FAKE_CUDA_COMPILE_NS", 500000);
    settings.pinned_mb_s = number("FAKE_CUDA_PINNED_MB_S", 25000);
    settings.pageable_mb_s = number("FAKE_CUDA_PAGEABLE_MB_S", 6000);
    settings.device_mb_s = number("FAKE_CUDA_DEVICE_MB_S", 1500000);
    settings.peer_mb_s = number("FAKE_CUDA_PEER_MB_S", 200000);
    settings.zero_scalars = number("FAKE_CUDA_ZERO_SCALARS", 0) != 0;
    settings.nested_driver = number("FAKE_CUDA_NESTED_DRIVER", 0) != 0;
    if (settings.pinned_mb_s == 0 || settings.pageable_mb_s == 0 || settings.device_mb_s == 0 ||
        settings.peer_mb_s == 0) {
        refuse("FAKE_CUDA_*_MB_S", "0");
    }
}

const struct sim_settings *sim_settings(void)
{
    pthread_once(&once, read_settings);
    return &settings;
}

void sim_note_missing(const char *name)
{
    if (getenv("FAKE_CUDA_VERBOSE") != NULL) {
        fprintf(stderr, "fake cuda: %s is not implemented\n", name);
    }
}

static const struct pattern *pattern_of(const char *kernel)
{
    pthread_once(&once, read_settings);
    for (size_t i = 0; i < pattern_count; i++) {
        if (fnmatch(patterns[i].text, kernel, 0) == 0) {
            return &patterns[i];
        }
    }
    return NULL;
}

uint64_t sim_duration_ns(const char *kernel)
{
    const struct pattern *pattern = pattern_of(kernel);
    return pattern != NULL ? pattern->duration_ns : DEFAULT_KERNEL_NS;
}

bool sim_has_duration(const char *kernel)
{
    return pattern_of(kernel) != NULL;
}
