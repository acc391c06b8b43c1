/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of interfaces to the work of devices (device_backends.def), and whether their libraries
 * are on this machine. Only names of files are read: nothing is loaded. Stateless.
 */
#ifndef SS_PLATFORM_DEVICE_BACKENDS_H
#define SS_PLATFORM_DEVICE_BACKENDS_H

#include <stdbool.h>
#include <stddef.h>

struct ss_device_backend {
    const char *name, *vendor;
    const char *files, *folders; /* patterns, with colons */
    const char *driver;          /* a pattern */
    const char *fix;             /* where the library is missing */
    const char *unsupported;     /* why nothing is recorded through it; NULL: it is */
};

extern const struct ss_device_backend ss_device_backends[];
extern const size_t ss_device_backend_count;

/* The library, in `folders` (a list with colons, such as LD_LIBRARY_PATH; NULL: none), the
 * backend's own folders and the linker's. false: it is in none. */
bool ss_device_backend_find(const struct ss_device_backend *backend, const char *folders,
                            char *path, size_t size);
/* Whether the driver of its devices is loaded. */
bool ss_device_backend_has_driver(const struct ss_device_backend *backend);
/* The row by its name; NULL: there is none. */
const struct ss_device_backend *ss_device_backend_named(const char *name);

#endif
