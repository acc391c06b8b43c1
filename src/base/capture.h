/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture ranges: what opens the windows of a recording, and what their end does. As text of the
 * command line, and as one text that a process gets in place of a schedule. Pure; no allocation.
 */
#ifndef SS_ANNOT_CAPTURE_H
#define SS_ANNOT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    SS_CAPTURE_MOST_NAME = 512,
    SS_CAPTURE_TEXT_BYTES = 2 * SS_CAPTURE_MOST_NAME + 64 /* holds every text of ss_capture_put */
};

enum ss_capture_by {
    SS_CAPTURE_BY_NOTHING,
    SS_CAPTURE_BY_PROFILER_API, /* cudaProfilerStart, cudaProfilerStop */
    SS_CAPTURE_BY_NVTX,         /* a range of NVTX */
    SS_CAPTURE_BY_STEPS,
    SS_CAPTURE_BY_TIME,
    SS_CAPTURE_BY_SIGNAL /* to the recorder */
};

struct ss_capture {
    enum ss_capture_by by;
    uint32_t most;     /* windows of a process; 0: any number */
    bool stays_open;   /* nothing ends the first window */
    bool ends_program; /* the last window does */
    char name[SS_CAPTURE_MOST_NAME], domain[SS_CAPTURE_MOST_NAME]; /* of the range */
    bool is_any_domain;
    int64_t first_step, last_step;
    uint64_t delay_ns, duration_ns; /* duration 0: to the end */
    int signal;
};

/* what: "cuda-profiler-api", "nvtx:NAME[@DOMAIN]", "step:A-B", "delay:30s[,duration:60s]",
 * "signal:USR2". end: "repeat[:N]", "stop", "none", "stop-shutdown", "repeat-shutdown:N"; NULL:
 * "repeat". On failure *capture is unchanged. */
enum ss_status ss_capture_parse(const char *what, const char *end, struct ss_capture *capture,
                                struct ss_error *err);
/* The text for processes; only of windows that the process opens itself, else as for requests. */
void ss_capture_put(const struct ss_capture *capture, char *text, size_t size);
/* false: the text is of no capture. */
bool ss_capture_get(const char *text, struct ss_capture *capture);

#endif
