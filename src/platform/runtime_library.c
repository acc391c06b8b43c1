/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/runtime_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"

/* "/usr/bin" + "../lib" → "/usr/lib/FILE", without the dots. */
static bool find_in_folder(const char *folder, const char *candidate, const char *file, char *path,
                           size_t size)
{
    char name[4096], resolved[4096];
    bool is_absolute = candidate[0] == '/';
    int length = snprintf(name, sizeof name, "%s/%s", is_absolute ? "" : folder, candidate);
    if (length < 0 || (size_t)length >= sizeof name || realpath(name, resolved) == NULL) {
        return false;
    }
    /* Only the folder is resolved: a process that has loaded this name has the same library. */
    length = snprintf(path, size, "%s/%s", resolved, file);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* The folder of our executable; "": unknown. */
static bool find_own_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    } else {
        folder[0] = '\0';
    }
    return slash != NULL;
}

static bool find(const char *const *candidates, size_t count, const char *file, char *path,
                 size_t size)
{
    char folder[4096];
    if (find_own_folder(folder, sizeof folder)) {
        for (size_t i = 0; i < count; i++) {
            if (find_in_folder(folder, candidates[i], file, path, size)) {
                return true;
            }
        }
    }
    snprintf(path, size, "%s", folder);
    return false;
}

bool ss_runtime_library_find(char *path, size_t size)
{
    static const bool is_absolute = SS_LIBRARY_FOLDER[0] == '/';
    static const char *const candidates[] = {SS_LIBRARY_FOLDER, ".", ("../" SS_LIBRARY_FOLDER),
                                             "../lib"};
    size_t skipped = is_absolute ? 0 : 1;
    return find(candidates + skipped, sizeof candidates / sizeof *candidates - skipped,
                SS_RUNTIME_LIBRARY, path, size);
}

bool ss_libexec_find(const char *file, char *path, size_t size)
{
    static const char *const candidates[] = {"libexec", "../libexec/stepscope"};
    return find(candidates, sizeof candidates / sizeof *candidates, file, path, size);
}

bool ss_preload_find(char *path, size_t size)
{
    return ss_libexec_find(SS_PRELOAD, path, size);
}

bool ss_mpi_preload_find(char *path, size_t size)
{
    return ss_libexec_find(SS_MPI_PRELOAD, path, size);
}

bool ss_rocm_tool_find(char *path, size_t size)
{
    return ss_libexec_find(SS_ROCM_TOOL, path, size);
}

bool ss_python_folder_find(char *path, size_t size)
{
    static const char *const candidates[] = {"libexec/python", "../libexec/stepscope/python"};
    bool found =
        find(candidates, sizeof candidates / sizeof *candidates, "sitecustomize.py", path, size);
    if (found) {
        *strrchr(path, '/') = '\0';
    }
    return found;
}

bool ss_runtime_library_is(const char *path)
{
    const char *slash = strrchr(path, '/');
    static const char stem[] = "libstepscope.so";
    return strncmp(slash != NULL ? slash + 1 : path, stem, sizeof stem - 1) == 0;
}
