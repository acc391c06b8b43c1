/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/runtime_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"

/* "/usr/bin" + "../lib" → "/usr/lib/NAME", without the dots. */
static bool look_in(const char *folder, const char *place, const char *file, char *path,
                    size_t size)
{
    char name[4096], resolved[4096];
    bool is_absolute = place[0] == '/';
    int length = snprintf(name, sizeof name, "%s/%s", is_absolute ? "" : folder, place);
    if (length < 0 || (size_t)length >= sizeof name || realpath(name, resolved) == NULL) {
        return false;
    }
    /* The folder is resolved, the name is not: a process that has it by this name has the same. */
    length = snprintf(path, size, "%s/%s", resolved, file);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Of our executable; "" where it is not known. */
static bool find_folder(char *folder, size_t size)
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

static bool find(const char *const *places, size_t count, const char *file, char *path, size_t size)
{
    char folder[4096];
    if (find_folder(folder, sizeof folder)) {
        for (size_t i = 0; i < count; i++) {
            if (look_in(folder, places[i], file, path, size)) {
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
    static const char *const places[] = {SS_LIBRARY_FOLDER, ".", "../" SS_LIBRARY_FOLDER, "../lib"};
    size_t skipped = is_absolute ? 0 : 1;
    return find(places + skipped, sizeof places / sizeof *places - skipped, SS_RUNTIME_LIBRARY,
                path, size);
}

bool ss_preload_find(char *path, size_t size)
{
    static const char *const places[] = {"libexec", "../libexec/stepscope"};
    return find(places, sizeof places / sizeof *places, SS_PRELOAD, path, size);
}

bool ss_python_folder_find(char *path, size_t size)
{
    static const char *const places[] = {"libexec/python", "../libexec/stepscope/python"};
    bool found = find(places, sizeof places / sizeof *places, "sitecustomize.py", path, size);
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
