/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver of CUDA and CUPTI say of this machine's devices before a program starts. A
 * process of its own asks them and ends: nothing of them stays in this process, no context is made,
 * so that no memory of a device is taken, and neither a crash nor an endless wait of theirs is
 * ours.
 */
#ifndef SS_CLI_RECORD_DEVICE_PROBE_H
#define SS_CLI_RECORD_DEVICE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { SS_PROBE_DEVICES = 16, SS_PROBE_TEXT_BYTES = 512 };

struct ss_device_probe_request {
    const char *counters;    /* of --counters; NULL: not asked */
    bool samples;            /* --gpu-metrics */
    const char *environment; /* of Python, where CUPTI is searched first; "": none */
};

/* Texts: "": nothing is wrong. */
struct ss_probed_device {
    char chip[32];
    bool is_part;                      /* MIG */
    uint32_t support;                  /* CUPTI's result (profiler.h) for what --counters needs */
    uint32_t samples;                  /* the same for --gpu-metrics */
    bool is_unknown;                   /* CUPTI has no metrics of this chip */
    char metrics[SS_PROBE_TEXT_BYTES]; /* why the chip cannot count what --counters asks for */
    char series[SS_PROBE_TEXT_BYTES];  /* the same for --gpu-metrics */
};

struct ss_device_probe {
    bool has_ended;                   /* false: it crashed, or took too long; the rest is zero */
    bool has_driver;                  /* libcuda.so.1 can be loaded */
    char driver[SS_PROBE_TEXT_BYTES]; /* why it cannot be used */
    int driver_result;                /* of cuInit */
    int cuda;                         /* the newest CUDA that the driver knows: 12040 is 12.4 */
    uint32_t devices;                 /* visible to the program */
    enum ss_status cupti_status;
    char cupti[SS_PROBE_TEXT_BYTES];   /* why CUPTI cannot count */
    char path[SS_PROBE_TEXT_BYTES];    /* of CUPTI */
    uint32_t version;                  /* of CUPTI's interface */
    char metrics[SS_PROBE_TEXT_BYTES]; /* why CUPTI knows no metrics: its host library */
    struct ss_probed_device device[SS_PROBE_DEVICES];
};

/* Takes as long as the initialisation of the driver, at most 20 s. */
void ss_device_probe(const struct ss_device_probe_request *request, struct ss_device_probe *probe);

#endif
