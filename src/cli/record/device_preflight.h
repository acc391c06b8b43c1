/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of devices a recording will lack, found before the program starts: the driver, CUPTI and its
 * metrics, the permission to count, other users of the counters. ss_preflight_judge is a pure
 * function from facts to findings; the other functions collect the facts and print them.
 */
#ifndef SS_CLI_RECORD_DEVICE_PREFLIGHT_H
#define SS_CLI_RECORD_DEVICE_PREFLIGHT_H

#include "cli/line/command.h"
#include "cli/record/device_probe.h"
#include "cli/record/record_plan.h"
#include "platform/host_facts.h"
#include "platform/nvidia_driver.h"

enum { SS_PREFLIGHT_MOST = 24, SS_PREFLIGHT_TEXT_BYTES = 900 };

struct ss_preflight_facts {
    bool has_counters, has_samples; /* what the user asked for: --counters, --gpu-metrics */
    bool knows_python;              /* the program runs in a Python environment that was searched */
    bool is_one_of_many;            /* ranks, each of which may use the counters of a device */
    bool has_device_file;           /* /dev/nvidiactl, or WSL's */
    struct ss_nvidia_driver driver;
    struct ss_host_facts host;           /* `self` alone */
    const struct ss_device_probe *probe; /* NULL: without --counters and --gpu-metrics */
    char holder[64];                     /* a running program that uses counters; "": none seen */
    /* Without a probe: */
    bool has_cuda_packages; /* the Python environment contains libraries that use CUDA */
    char cupti[512];        /* the path of CUPTI; "": not found */
};

struct ss_preflight_finding {
    bool is_certain;                    /* it will be missing; else it may be */
    char text[SS_PREFLIGHT_TEXT_BYTES]; /* what is missing, why, and the fix */
};

size_t ss_preflight_judge(const struct ss_preflight_facts *facts,
                          struct ss_preflight_finding *findings);
/* false: the program must not start, since what the user asked for will be missing; the reasons are
 * printed. Else findings are warnings. */
bool ss_device_preflight(const struct ss_record_plan *plan);
/* --preflight; false: a usage error was printed. */
bool ss_device_preflight_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan);
/* The folder of the Python environment in which a program runs, by its path or, for a script, that
 * of its interpreter: "/opt/venv" of "/opt/venv/bin/torchrun". false: it is not a Python program.
 */
bool ss_preflight_find_python(const char *program, const char *path, char *environment,
                              size_t size);

#endif
