/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/runtime_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"

/* "/usr/bin" + "../lib" → "/usr/lib/libstepscope.so.0", without the dots. */
static bool look_in(const char *folder, const char *place, char *path, size_t size)
{
    char name[4096], resolved[4096];
    bool is_absolute = place[0] == '/';
    int length = snprintf(name, sizeof name, "%s/%s", is_absolute ? "" : folder, place);
    if (length < 0 || (size_t)length >= sizeof name || realpath(name, resolved) == NULL) {
        return false;
    }
    /* The folder is resolved, the name is not: a process that has it by this name has the same. */
    length = snprintf(path, size, "%s/" SS_RUNTIME_LIBRARY, resolved);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

bool ss_runtime_library_find(char *path, size_t size)
{
    static const char *const places[] = {".", ("../" SS_LIBRARY_FOLDER), "../lib"};
    char folder[4096] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        path[0] = '\0';
        return false;
    }
    *slash = '\0';
    if (SS_LIBRARY_FOLDER[0] == '/' && look_in(folder, SS_LIBRARY_FOLDER, path, size)) {
        return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (look_in(folder, places[i], path, size)) {
            return true;
        }
    }
    snprintf(path, size, "%s", folder);
    return false;
}

bool ss_runtime_library_is(const char *path)
{
    const char *slash = strrchr(path, '/');
    static const char stem[] = "libstepscope.so";
    return strncmp(slash != NULL ? slash + 1 : path, stem, sizeof stem - 1) == 0;
}
