/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark that `doctor --gpu` has passed for a device on this machine, with its driver and CUPTI:
 * an empty file in the user's cache folder, whose name has all three. What counters measure is
 * shown where there is one. Another driver, or another CUPTI, needs a new one. Stateless.
 */
#ifndef SS_PLATFORM_GPU_MARK_H
#define SS_PLATFORM_GPU_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct ss_gpu_mark {
    const char *device;    /* its UUID, else its model */
    unsigned long cupti;   /* version of CUPTI's interface */
    const char *proc_root; /* "/proc" */
};

/* The path of the mark. false: there is no cache folder (neither $XDG_CACHE_HOME nor $HOME). */
bool ss_gpu_mark_path(const struct ss_gpu_mark *mark, char *path, size_t size);
bool ss_gpu_mark_exists(const struct ss_gpu_mark *mark);
enum ss_status ss_gpu_mark_put(const struct ss_gpu_mark *mark, struct ss_error *err);

#endif
