/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/library_link.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* FNV-1a: one link for each folder. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool leads_to(const char *link, const char *folder)
{
    char target[PATH_BYTES];
    ssize_t length = readlink(link, target, sizeof target);
    return length > 0 && (size_t)length == strlen(folder) &&
           memcmp(target, folder, (size_t)length) == 0;
}

/* Recorders that start at once may make the same link. */
static bool make_link(const char *folder, const char *link)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        if (symlink(folder, link) == 0 || (errno == EEXIST && leads_to(link, folder))) {
            return true;
        }
        if (errno != EEXIST || unlink(link) != 0) {
            return false;
        }
    }
    return false;
}

bool ss_library_link(const char *ring_directory, const char *separators, char *path, size_t size)
{
    if (strpbrk(path, separators) == NULL) {
        return true;
    }
    char folder[PATH_BYTES], link[PATH_BYTES], name[PATH_BYTES];
    const char *file = strrchr(path, '/'), *above = strrchr(ring_directory, '/');
    if (file == NULL || above == NULL || (size_t)(file - path) >= sizeof folder) {
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(file - path), path);
    snprintf(link, sizeof link, "%.*s/lib%016llx", (int)(above - ring_directory), ring_directory,
             (unsigned long long)hash_of(folder));
    int length = snprintf(name, sizeof name, "%s%s", link, file);
    if (length < 0 || (size_t)length >= sizeof name || (size_t)length >= size ||
        strpbrk(name, separators) != NULL || !make_link(folder, link)) {
        return false;
    }
    memcpy(path, name, (size_t)length + 1);
    return true;
}
