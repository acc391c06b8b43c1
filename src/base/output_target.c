/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

/* The unresolved rest of a path; its next component is resolved in target->folder_fd. */
struct walk {
    struct ss_output_target *target;
    const char *path; /* for messages */
    char rest[PATH_MAX];
    int links;
};

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

static bool others_can_write(const struct stat *folder)
{
    return !is_trusted(folder->st_uid) || (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Parent folders often belong to other users: except for root, only world-writable ones count as
 * open. */
static bool may_follow(const struct stat *folder, const struct stat *link, bool is_last)
{
    bool is_open =
        is_last || geteuid() == 0 ? others_can_write(folder) : (folder->st_mode & S_IWOTH) != 0;
    return is_trusted(link->st_uid) || !is_open;
}

static enum ss_status refuse_link(const char *path, const char *name, const struct stat *link,
                                  struct ss_error *err)
{
    return ss_fail(err, SS_E_PERMISSION,
                   "%s: \"%s\" is a symbolic link of another user (uid %u) in a folder that others "
                   "can write; name the file itself, or another folder",
                   path, name, (unsigned)link->st_uid);
}

enum ss_status ss_output_target_check(const struct ss_output_target *target, const char *path,
                                      const struct stat *file, struct ss_error *err)
{
    if (!S_ISREG(file->st_mode) || !others_can_write(&target->folder)) {
        return SS_OK;
    }
    if (!is_trusted(file->st_uid)) {
        return ss_fail(err, SS_E_PERMISSION,
                       "%s belongs to another user (uid %u), in a folder that others can write; "
                       "choose another name, or remove it",
                       path, (unsigned)file->st_uid);
    }
    if (file->st_nlink > 1 && !is_trusted(target->folder.st_uid)) {
        return ss_fail(err, SS_E_PERMISSION,
                       "%s has other names (hard links), and its folder belongs to another user; "
                       "choose another name, or remove it",
                       path);
    }
    return SS_OK;
}

static enum ss_status open_folder(struct walk *walk, int parent, const char *name, int flags,
                                  struct ss_error *err)
{
    int fd = openat(parent, name, O_PATH | O_CLOEXEC | flags);
    int error = errno;
    if (fd >= 0 && fstat(fd, &walk->target->folder) != 0) {
        error = errno;
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        return ss_fail_errno(err, error, "cannot open the folder of %s", walk->path);
    }
    if (walk->target->folder_fd >= 0) {
        close(walk->target->folder_fd);
    }
    walk->target->folder_fd = fd;
    return SS_OK;
}

/* The text of a link in /proc is not its target: only the kernel can follow it. */
static bool is_procfs(int folder_fd)
{
    struct statfs system;
    return fstatfs(folder_fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Prepends the link's text to the unresolved rest of the path. */
static enum ss_status follow_link(struct walk *walk, const char *name, struct ss_error *err)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(walk->target->folder_fd, name, text, sizeof text);
    size_t left = strlen(walk->rest);
    if (length < 0) {
        return ss_fail_errno(err, errno, "cannot read the link \"%s\" of %s", name, walk->path);
    }
    if (++walk->links > MAX_LINKS || (size_t)length + 1 + left >= sizeof walk->rest) {
        return ss_fail_errno(err, ELOOP, "cannot open the folder of %s", walk->path);
    }
    memmove(walk->rest + length + 1, walk->rest, left + 1);
    memcpy(walk->rest, text, (size_t)length);
    walk->rest[length] = '/';
    if (left == 0) {
        walk->rest[length] = '\0'; /* the link is the last component */
    }
    return text[0] == '/' ? open_folder(walk, AT_FDCWD, "/", O_DIRECTORY, err) : SS_OK;
}

/* Removes the next component from the path; true when it is the last. */
static bool next_name(struct walk *walk, char *name, size_t size)
{
    size_t skipped = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + skipped, "/");
    snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), walk->rest + skipped);
    const char *rest = walk->rest + skipped + length;
    bool is_last = *rest == '\0';
    memmove(walk->rest, rest, strlen(rest) + 1);
    return is_last;
}

static enum ss_status resolve_component(struct walk *walk, enum ss_output_last last, bool *is_done,
                                        struct ss_error *err)
{
    struct ss_output_target *target = walk->target;
    char name[NAME_MAX + 2];
    struct stat status;
    *is_done = next_name(walk, name, sizeof name);
    if (strlen(name) > NAME_MAX) {
        return ss_fail_errno(err, ENAMETOOLONG, "cannot write %s", walk->path);
    }
    if (*is_done) {
        const char *found = name[0] != '\0' ? name : ".";
        memcpy(target->name, found, strlen(found) + 1);
    }
    if (name[0] == '\0') {
        target->exists = *is_done; /* "folder/" */
        target->status = target->folder;
        return SS_OK;
    }
    bool exists = fstatat(target->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (*is_done) {
        target->exists = exists;
        target->status = exists ? status : (struct stat){0};
    }
    bool is_link = exists && S_ISLNK(status.st_mode);
    bool kernel_follows = is_link && is_procfs(target->folder_fd);
    if (is_link && !kernel_follows && (!*is_done || last == SS_OUTPUT_FOLLOW_LINK)) {
        if (!may_follow(&target->folder, &status, *is_done)) {
            return refuse_link(walk->path, name, &status, err);
        }
        *is_done = false;
        return follow_link(walk, name, err);
    }
    int flags = kernel_follows ? O_DIRECTORY : O_DIRECTORY | O_NOFOLLOW;
    return *is_done ? SS_OK : open_folder(walk, target->folder_fd, name, flags, err);
}

enum ss_status ss_output_target_open(const char *path, enum ss_output_last last,
                                     struct ss_output_target *target, struct ss_error *err)
{
    struct walk walk = {.target = target, .path = path};
    *target = (struct ss_output_target){.folder_fd = -1};
    if (strlen(path) >= sizeof walk.rest || path[0] == '\0') {
        return ss_fail_errno(err, path[0] == '\0' ? ENOENT : ENAMETOOLONG,
                             "cannot write \"%.200s\"", path);
    }
    memcpy(walk.rest, path, strlen(path) + 1);
    enum ss_status status =
        open_folder(&walk, AT_FDCWD, path[0] == '/' ? "/" : ".", O_DIRECTORY, err);
    for (bool is_done = false; status == SS_OK && !is_done;) {
        status = resolve_component(&walk, last, &is_done, err);
    }
    if (status == SS_OK && target->exists) {
        status = ss_output_target_check(target, path, &target->status, err);
    }
    if (status != SS_OK) {
        ss_output_target_close(target);
    }
    return status;
}

void ss_output_target_close(struct ss_output_target *target)
{
    if (target->folder_fd >= 0) {
        close(target->folder_fd);
    }
    target->folder_fd = -1;
}

enum ss_status ss_output_folder_check(const char *path, struct ss_error *err)
{
    struct ss_output_target target;
    SS_TRY(ss_output_target_open(path, SS_OUTPUT_FOLLOW_LINK, &target, err));
    bool is_theirs = target.exists && S_ISDIR(target.status.st_mode) &&
                     !is_trusted(target.status.st_uid) && others_can_write(&target.folder);
    unsigned owner = (unsigned)target.status.st_uid;
    ss_output_target_close(&target);
    return is_theirs ? ss_fail(err, SS_E_PERMISSION,
                               "the folder %s belongs to another user (uid %u), in a folder that "
                               "others can write; choose another name",
                               path, owner)
                     : SS_OK;
}
