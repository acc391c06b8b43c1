/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/device_backends.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

const struct ss_device_backend ss_device_backends[] = {
#define SS_DEVICE_BACKEND(name, vendor, files, folders, driver, fix, unsupported)                  \
    {name, vendor, files, folders, driver, fix, unsupported},
#include "platform/device_backends.def"
#undef SS_DEVICE_BACKEND
};
const size_t ss_device_backend_count = sizeof ss_device_backends / sizeof *ss_device_backends;

static const char linker_folders[] = "/usr/local/lib:/usr/lib/x86_64-linux-gnu:"
                                     "/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:"
                                     "/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:/lib64:/lib";

/* The first file that fits a pattern, the last in the order of names. */
static bool find_pattern(const char *pattern, char *path, size_t size)
{
    glob_t found;
    bool is_there = glob(pattern, 0, NULL, &found) == 0;
    if (is_there) {
        snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
        globfree(&found);
    }
    return is_there;
}

/* The next element of a list with colons. false: there is no more. */
static bool next(const char **list, const char **element, int *length)
{
    while (**list == ':') {
        (*list)++;
    }
    *element = *list;
    *length = (int)strcspn(*list, ":");
    *list += *length;
    return *length > 0;
}

static bool find_in(const char *folders, const char *files, char *path, size_t size)
{
    const char *folder, *file;
    int folder_length, file_length;
    while (next(&folders, &folder, &folder_length)) {
        const char *names = files;
        while (next(&names, &file, &file_length)) {
            char pattern[4096];
            int length = snprintf(pattern, sizeof pattern, "%.*s/%.*s", folder_length, folder,
                                  file_length, file);
            if (length > 0 && (size_t)length < sizeof pattern &&
                find_pattern(pattern, path, size)) {
                return true;
            }
        }
    }
    return false;
}

bool ss_device_backend_find(const struct ss_device_backend *backend, const char *folders,
                            char *path, size_t size)
{
    return (folders != NULL && find_in(folders, backend->files, path, size)) ||
           find_in(backend->folders, backend->files, path, size) ||
           find_in(linker_folders, backend->files, path, size);
}

bool ss_device_backend_has_driver(const struct ss_device_backend *backend)
{
    char path[256];
    return find_pattern(backend->driver, path, sizeof path);
}

const struct ss_device_backend *ss_device_backend_named(const char *name)
{
    for (size_t i = 0; i < ss_device_backend_count; i++) {
        if (strcmp(ss_device_backends[i].name, name) == 0) {
            return &ss_device_backends[i];
        }
    }
    return NULL;
}
