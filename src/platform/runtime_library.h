/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libstepscope lies, for programs that are to load it: found from our own executable, beside
 * which it lies in a build and in whose ../lib it lies when installed, by pip as well. Stateless;
 * thread-safe.
 */
#ifndef SS_PLATFORM_RUNTIME_LIBRARY_H
#define SS_PLATFORM_RUNTIME_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define SS_RUNTIME_LIBRARY "libstepscope.so.0"

/* The absolute path. false: it is nowhere, and *path is the folder of our executable ("" unknown).
 */
bool ss_runtime_library_find(char *path, size_t size);
/* preload.so (src/inject/preload.c), in libexec beside our executable, or in the folder's
 * neighbour. The same results. */
#define SS_PRELOAD "preload.so"
bool ss_preload_find(char *path, size_t size);
/* The folder that has the sitecustomize of src/inject/python, beside preload.so. The same results.
 */
bool ss_python_folder_find(char *path, size_t size);
/* Is this the path of one, ours or another installation's? */
bool ss_runtime_library_is(const char *path);

#endif
