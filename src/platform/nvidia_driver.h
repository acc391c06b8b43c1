/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel module of NVIDIA's driver says of itself in /proc/driver/nvidia. Stateless;
 * thread-safe. */
#ifndef SS_PLATFORM_NVIDIA_DRIVER_H
#define SS_PLATFORM_NVIDIA_DRIVER_H

#include <stdbool.h>

struct ss_nvidia_driver {
    bool is_loaded;
    bool knows_permission; /* the next member is known */
    bool is_admin_only;    /* only administrators may use counters of devices */
    int release;           /* 580 of 580.65.06; 0: unknown */
};

/* `folder`: "/proc/driver/nvidia". */
void ss_nvidia_driver_read(const char *folder, struct ss_nvidia_driver *driver);

#endif
