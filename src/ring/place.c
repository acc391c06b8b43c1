/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool ss_ring_place_is_safe(const char *path)
{
    struct stat stat;
    return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_uid == geteuid() &&
           (stat.st_mode & 077) == 0;
}

bool ss_ring_place_user(char path[SS_RING_PATH_BYTES])
{
    static const char *const roots[] = {"/dev/shm", "/tmp"};
    /* Containers may share these folders but not their process ids. */
    struct stat space = {0};
    stat("/proc/self/ns/pid", &space);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        snprintf(path, SS_RING_PATH_BYTES, "%s/stepscope-%u-%llu", roots[i], (unsigned)geteuid(),
                 (unsigned long long)space.st_ino);
        mkdir(path, 0700); /* it may be there already; what it is decides the check */
        if (ss_ring_place_is_safe(path)) {
            return true;
        }
    }
    return false;
}

int ss_ring_place_open(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat stat;
    if (fd >= 0 && (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid() ||
                    (stat.st_mode & 077) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}
