/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/env.h"

bool ss_ring_place_is_safe(const char *path)
{
    struct stat stat;
    return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_uid == geteuid() &&
           (stat.st_mode & 077) == 0;
}

static void add_root(struct ss_ring_roots *roots, const char *path)
{
    size_t length = path != NULL ? strlen(path) : 0;
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length < 2 || length >= SS_RING_ROOT_BYTES || path[0] != '/') {
        return;
    }
    for (size_t i = 0; i < roots->count; i++) {
        if (strncmp(roots->paths[i], path, length) == 0 && roots->paths[i][length] == '\0') {
            return;
        }
    }
    memcpy(roots->paths[roots->count], path, length);
    roots->paths[roots->count++][length] = '\0';
}

void ss_ring_roots_read(struct ss_ring_roots *roots)
{
    *roots = (struct ss_ring_roots){0};
    add_root(roots, "/dev/shm");
    add_root(roots, ss_env_get(SS_ENV_XDG_RUNTIME_DIR));
    add_root(roots, "/tmp");
    add_root(roots, ss_env_get(SS_ENV_TMPDIR));
}

/* Finds or creates the folder. */
static bool find_or_create_folder(const char *root, struct ss_ring_place *place)
{
    /* Containers may share the root but not the pid namespace. */
    struct stat pid_namespace = {0}, existing;
    stat("/proc/self/ns/pid", &pid_namespace);
    *place = (struct ss_ring_place){.root = root, .state = SS_RING_PLACE_REFUSED};
    snprintf(place->path, sizeof place->path, "%s/stepscope-%u-%llu", root, (unsigned)geteuid(),
             (unsigned long long)pid_namespace.st_ino);
    if (ss_ring_place_is_safe(place->path)) {
        return true;
    }
    place->error = mkdir(place->path, 0700) == 0 ? 0 : errno;
    if (ss_ring_place_is_safe(place->path)) {
        return true;
    }
    if (lstat(place->path, &existing) == 0) {
        place->state = SS_RING_PLACE_FOREIGN;
        place->error = EEXIST;
    }
    return false;
}

void ss_ring_place_try(const char *root, struct ss_ring_place *place)
{
    struct statvfs filesystem;
    if (!find_or_create_folder(root, place)) {
        return;
    }
    if (statvfs(place->path, &filesystem) != 0 || access(place->path, W_OK | X_OK) != 0) {
        place->error = errno;
        return;
    }
    place->free_bytes = (uint64_t)filesystem.f_bavail * filesystem.f_frsize;
    if ((filesystem.f_flag & ST_RDONLY) != 0) {
        place->error = EROFS;
    } else if (place->free_bytes == 0) {
        place->error = ENOSPC;
    } else {
        place->error = 0;
        place->state =
            place->free_bytes >= SS_RING_ROOMY_BYTES ? SS_RING_PLACE_ROOMY : SS_RING_PLACE_TIGHT;
    }
}

bool ss_ring_place_choose(const struct ss_ring_roots *roots, bool check_space,
                          char path[SS_RING_PATH_BYTES])
{
    struct ss_ring_place place, tight = {0};
    for (size_t i = 0; i < roots->count; i++) {
        bool is_there = !check_space && find_or_create_folder(roots->paths[i], &place);
        if (check_space) {
            ss_ring_place_try(roots->paths[i], &place);
        }
        if (is_there || place.state == SS_RING_PLACE_ROOMY) {
            memcpy(path, place.path, SS_RING_PATH_BYTES);
            return true;
        }
        if (place.state == SS_RING_PLACE_TIGHT && tight.root == NULL) {
            tight = place;
        }
    }
    memcpy(path, tight.path, SS_RING_PATH_BYTES);
    return tight.root != NULL;
}

bool ss_ring_place_user(char path[SS_RING_PATH_BYTES])
{
    struct ss_ring_roots roots;
    ss_ring_roots_read(&roots);
    return ss_ring_place_choose(&roots, true, path);
}

void ss_ring_place_explain(const struct ss_ring_place *place, char *text, size_t size)
{
    switch (place->state) {
    case SS_RING_PLACE_ROOMY:
    case SS_RING_PLACE_TIGHT:
        snprintf(text, size, "%s has %llu MiB left", place->root,
                 (unsigned long long)(place->free_bytes >> 20));
        return;
    case SS_RING_PLACE_FOREIGN:
        snprintf(text, size, "%s belongs to another user, or is open to others", place->path);
        return;
    default:
        snprintf(text, size, "%s: %s", place->root, strerror(place->error));
    }
}

int ss_ring_place_open(const char *path, uid_t owner)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat stat;
    if (fd >= 0 && (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_uid != owner ||
                    (stat.st_mode & 077) != 0)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}
