/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/env.h"

bool ss_ring_folder_is_safe(const char *path)
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
static bool find_or_create_folder(const char *root, struct ss_ring_folder *folder)
{
    /* Containers may share the root but not the pid namespace. */
    struct stat pid_namespace = {0}, existing;
    stat("/proc/self/ns/pid", &pid_namespace);
    *folder = (struct ss_ring_folder){.root = root, .state = SS_RING_FOLDER_REFUSED};
    snprintf(folder->path, sizeof folder->path, "%s/stepscope-%u-%llu", root, (unsigned)geteuid(),
             (unsigned long long)pid_namespace.st_ino);
    if (ss_ring_folder_is_safe(folder->path)) {
        return true;
    }
    folder->error = mkdir(folder->path, 0700) == 0 ? 0 : errno;
    if (ss_ring_folder_is_safe(folder->path)) {
        return true;
    }
    if (lstat(folder->path, &existing) == 0) {
        folder->state = SS_RING_FOLDER_FOREIGN;
        folder->error = EEXIST;
    }
    return false;
}

void ss_ring_folder_try(const char *root, struct ss_ring_folder *folder)
{
    struct statvfs filesystem;
    if (!find_or_create_folder(root, folder)) {
        return;
    }
    if (statvfs(folder->path, &filesystem) != 0 || access(folder->path, W_OK | X_OK) != 0) {
        folder->error = errno;
        return;
    }
    folder->free_bytes = (uint64_t)filesystem.f_bavail * filesystem.f_frsize;
    if ((filesystem.f_flag & ST_RDONLY) != 0) {
        folder->error = EROFS;
    } else if (folder->free_bytes == 0) {
        folder->error = ENOSPC;
    } else {
        folder->error = 0;
        folder->state =
            folder->free_bytes >= SS_RING_ROOMY_BYTES ? SS_RING_FOLDER_ROOMY : SS_RING_FOLDER_TIGHT;
    }
}

bool ss_ring_folder_choose(const struct ss_ring_roots *roots, bool check_space,
                           char path[SS_RING_PATH_BYTES])
{
    struct ss_ring_folder folder, tight = {0};
    for (size_t i = 0; i < roots->count; i++) {
        bool is_there = !check_space && find_or_create_folder(roots->paths[i], &folder);
        if (check_space) {
            ss_ring_folder_try(roots->paths[i], &folder);
        }
        if (is_there || folder.state == SS_RING_FOLDER_ROOMY) {
            memcpy(path, folder.path, SS_RING_PATH_BYTES);
            return true;
        }
        if (folder.state == SS_RING_FOLDER_TIGHT && tight.root == NULL) {
            tight = folder;
        }
    }
    memcpy(path, tight.path, SS_RING_PATH_BYTES);
    return tight.root != NULL;
}

bool ss_ring_folder_user(char path[SS_RING_PATH_BYTES])
{
    struct ss_ring_roots roots;
    ss_ring_roots_read(&roots);
    return ss_ring_folder_choose(&roots, true, path);
}

void ss_ring_folder_explain(const struct ss_ring_folder *folder, char *text, size_t size)
{
    switch (folder->state) {
    case SS_RING_FOLDER_ROOMY:
    case SS_RING_FOLDER_TIGHT:
        snprintf(text, size, "%s has %llu MiB left", folder->root,
                 (unsigned long long)(folder->free_bytes >> 20));
        return;
    case SS_RING_FOLDER_FOREIGN:
        snprintf(text, size, "%s belongs to another user, or is open to others", folder->path);
        return;
    default:
        snprintf(text, size, "%s: %s", folder->root, strerror(folder->error));
    }
}

int ss_ring_folder_open(const char *path, uid_t owner)
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
