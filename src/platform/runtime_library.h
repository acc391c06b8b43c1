/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds libstepscope for programs that load it, relative to our own executable: in the same folder
 * in a build tree, in ../lib when installed (also by pip). Stateless; thread-safe.
 */
#ifndef SS_PLATFORM_RUNTIME_LIBRARY_H
#define SS_PLATFORM_RUNTIME_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define SS_RUNTIME_LIBRARY "libstepscope.so.0"

/* The absolute path. false: not found; `path` is the folder of our executable ("": unknown). */
bool ss_runtime_library_find(char *path, size_t size);
/* preload.so (src/inject/preload/preload.c), in libexec beside our executable or in
 * ../libexec/stepscope. Same results. */
#define SS_PRELOAD "preload.so"
bool ss_preload_find(char *path, size_t size);
/* mpi.so (src/inject/mpi/forward.c), beside it; only where there were headers of MPI. */
#define SS_MPI_PRELOAD "mpi.so"
bool ss_mpi_preload_find(char *path, size_t size);
/* rocm.so (src/inject/rocm/entry.c), beside it. */
#define SS_ROCM_TOOL "rocm.so"
bool ss_rocm_tool_find(char *path, size_t size);
/* Any other file there, such as a plug-in of workers/. */
bool ss_libexec_find(const char *file, char *path, size_t size);
/* The folder with the sitecustomize of src/inject/python, beside preload.so. Same results. */
bool ss_python_folder_find(char *path, size_t size);
/* true: `path` names a libstepscope, ours or another installation's. */
bool ss_runtime_library_is(const char *path);

#endif
