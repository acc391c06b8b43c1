/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/output_target.h"

enum { RESERVE_PERCENT = 5 };

/* An open-file-description lock belongs to this open file: closing another descriptor of the file
 * (a reader in this process) does not release it, and the end of the process does. */
static enum ss_status lock_file(const struct ss_output *output, struct ss_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(output->fd, F_OFD_SETLK, &lock) == 0) {
        return SS_OK;
    }
    if (errno == EAGAIN || errno == EACCES) {
        return ss_fail(err, SS_E_BUSY,
                       "%s is being written by another recording; choose another -o", output->path);
    }
    return SS_OK; /* some network file systems have no locks: continue without */
}

static enum ss_status open_folder(struct ss_output *output, struct ss_output_target *place,
                                  struct ss_error *err)
{
    const char *slash = strrchr(output->path, '/');
    SS_TRY(ss_output_target_open(output->path, SS_OUTPUT_KEEP_LINK, place, err));
    output->name = slash != NULL ? slash + 1 : output->path;
    output->folder_fd = place->folder_fd;
    return SS_OK;
}

/* O_NONBLOCK: opening a FIFO without reader fails instead of blocking. No effect on files. */
static const int open_flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/* Opens the existing file or creates one, unnamed if the file system supports O_TMPFILE. */
static int open_or_create(struct ss_output *output, bool *is_new)
{
    int fd = openat(output->folder_fd, output->name, open_flags);
    output->unnamed = *is_new = false;
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    fd = openat(output->folder_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    output->unnamed = fd >= 0;
    if (fd < 0) {
        fd = openat(output->folder_fd, output->name, open_flags | O_CREAT | O_EXCL, 0600);
    }
    *is_new = fd >= 0;
    return fd < 0 && errno == EEXIST ? openat(output->folder_fd, output->name, open_flags) : fd;
}

static enum ss_status open_file(struct ss_output *output, const struct ss_output_target *place,
                                struct ss_error *err)
{
    bool is_new;
    output->fd = open_or_create(output, &is_new);
    if (output->fd < 0 && errno == ELOOP) {
        return ss_fail(err, SS_E_PERMISSION,
                       "%s is a symbolic link; name the file it stands for, or remove the link",
                       output->path);
    }
    if (output->fd < 0) {
        return ss_fail_errno(err, errno, "cannot create %s", output->path);
    }
    struct stat status;
    if (fstat(output->fd, &status) != 0) {
        return ss_fail_errno(err, errno, "cannot inspect %s", output->path);
    }
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {
        return ss_fail(err, SS_E_UNSUPPORTED, "%s is not a regular file; choose another name",
                       output->path);
    }
    /* Skipped for a new file: a file server may report a foreign owner even for it. */
    if (!is_new) {
        SS_TRY(ss_output_target_check(place, output->path, &status, err));
    }
    output->regular = S_ISREG(status.st_mode);
    output->device = status.st_dev;
    output->inode = status.st_ino;
    return SS_OK;
}

static bool is_still_linked(const struct ss_output *output)
{
    struct stat status;
    return fstatat(output->folder_fd, output->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == output->device && status.st_ino == output->inode;
}

static enum ss_status open_locked(struct ss_output *output, const struct ss_output_target *place,
                                  struct ss_error *err)
{
    /* Another process may replace the file between open and lock: then lock the new file. */
    for (int try = 0; try < 3; try++) {
        SS_TRY(open_file(output, place, err));
        if (!output->regular) {
            return SS_OK;
        }
        SS_TRY(lock_file(output, err));
        if (output->unnamed || is_still_linked(output)) {
            /* The first append truncates the old content: see ss_output_append. */
            return fchmod(output->fd, 0600) == 0
                       ? SS_OK
                       : ss_fail_errno(err, errno, "cannot replace %s", output->path);
        }
        close(output->fd);
        output->fd = -1;
    }
    return ss_fail(err, SS_E_BUSY, "%s keeps being replaced by another process", output->path);
}

bool ss_output_space(const struct ss_output *output, uint64_t *free_bytes, uint64_t *size_bytes)
{
    struct statvfs space;
    if (!output->regular || output->fd < 0 || fstatvfs(output->fd, &space) != 0) {
        return false;
    }
    *free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    *size_bytes = (uint64_t)space.f_blocks * space.f_frsize;
    return *size_bytes > 0;
}

static void keep_reserve(struct ss_output *output)
{
    uint64_t free_bytes, size_bytes;
    if (ss_output_space(output, &free_bytes, &size_bytes)) {
        uint64_t part = size_bytes / 100 * RESERVE_PERCENT;
        output->reserve_bytes = part < free_bytes / 2 ? part : free_bytes / 2;
    }
}

enum ss_status ss_output_open(const char *path, bool keeps_reserve, struct ss_output *output,
                              struct ss_error *err)
{
    *output = (struct ss_output){.fd = -1, .folder_fd = -1, .path = ss_strdup(path)};
    struct ss_output_target place;
    enum ss_status status = open_folder(output, &place, err);
    if (status == SS_OK) {
        status = open_locked(output, &place, err);
    }
    if (status != SS_OK) {
        ss_output_close(output);
    } else if (keeps_reserve) {
        keep_reserve(output);
    }
    return status;
}

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, which by default ends the process. The signal is
 * blocked and discarded around the write instead of ignored: programs started later would inherit
 * SIG_IGN. */
struct sigxfsz_mask {
    sigset_t blocked, before;
};

static void block_sigxfsz(struct sigxfsz_mask *mask)
{
    sigemptyset(&mask->blocked);
    sigaddset(&mask->blocked, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &mask->blocked, &mask->before);
}

static void restore_sigxfsz(const struct sigxfsz_mask *mask, bool may_be_pending)
{
    if (may_be_pending && sigismember(&mask->before, SIGXFSZ) == 0) {
        sigtimedwait(&mask->blocked, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &mask->before, NULL);
}

static enum ss_status write_all(struct ss_output *output, const uint8_t *bytes, size_t length,
                                struct ss_error *err)
{
    size_t done = 0;
    while (done < length) {
        ssize_t count = write(output->fd, bytes + done, length - done);
        if (count > 0) {
            done += (size_t)count;
            continue;
        }
        if (count < 0 && errno == EINTR) {
            continue;
        }
        int error = count < 0 ? errno : EIO;
        return ss_fail_errno(err, error, "cannot write %s", output->path);
    }
    return SS_OK;
}

/* Only root can link an unnamed file without /proc. If the link fails, creates a named file and
 * writes the bytes again. */
static enum ss_status give_name(struct ss_output *output, const void *bytes, size_t length,
                                struct ss_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", output->fd);
    if (linkat(AT_FDCWD, path, output->folder_fd, output->name, AT_SYMLINK_FOLLOW) == 0) {
        output->unnamed = false;
        return SS_OK;
    }
    int fd = errno == EEXIST
                 ? -1
                 : openat(output->folder_fd, output->name, open_flags | O_CREAT | O_EXCL, 0600);
    if (fd < 0 && errno == EEXIST) {
        return ss_fail(err, SS_E_BUSY,
                       "%s was created by another program in the meantime; choose another -o",
                       output->path);
    }
    if (fd < 0) {
        return ss_fail_errno(err, errno, "cannot create %s", output->path);
    }
    struct stat status;
    close(output->fd);
    output->fd = fd;
    output->unnamed = false;
    if (fstat(fd, &status) != 0) {
        return ss_fail_errno(err, errno, "cannot inspect %s", output->path);
    }
    output->device = status.st_dev;
    output->inode = status.st_ino;
    SS_TRY(lock_file(output, err));
    return write_all(output, bytes, length, err);
}

/* Truncates the old content only after the first bytes are written, so that the file always begins
 * with a readable trace. */
static enum ss_status begin_file(struct ss_output *output, const void *bytes, size_t length,
                                 struct ss_error *err)
{
    if (output->unnamed) {
        return give_name(output, bytes, length, err);
    }
    return !output->regular || ftruncate(output->fd, (off_t)length) == 0
               ? SS_OK
               : ss_fail_errno(err, errno, "cannot replace %s", output->path);
}

static enum ss_status check_reserve(const struct ss_output *output, size_t length,
                                    struct ss_error *err)
{
    uint64_t free_bytes, size_bytes;
    if (output->reserve_bytes == 0 || !ss_output_space(output, &free_bytes, &size_bytes) ||
        free_bytes >= output->reserve_bytes + length) {
        return SS_OK;
    }
    return ss_fail(err, SS_E_NOSPACE,
                   "cannot write %s: %.1f MiB of space are left on the disk, which stepscope keeps "
                   "free; make room, or choose another disk with -o",
                   output->path, (double)free_bytes / (1 << 20));
}

enum ss_status ss_output_append(struct ss_output *output, const void *bytes, size_t length,
                                struct ss_error *err)
{
    if (output->regular && !output->unnamed && !is_still_linked(output)) {
        return ss_fail(err, SS_E_NOTFOUND,
                       "%s was removed or replaced while it was being written; the recording ends",
                       output->path);
    }
    SS_TRY(check_reserve(output, length, err));
    struct sigxfsz_mask mask;
    block_sigxfsz(&mask);
    enum ss_status status = write_all(output, bytes, length, err);
    if (status == SS_OK && output->length == 0) {
        status = begin_file(output, bytes, length, err);
    }
    restore_sigxfsz(&mask, status != SS_OK);
    if (status == SS_OK) {
        output->length += length;
    } else if (output->regular && ftruncate(output->fd, (off_t)output->length) == 0) {
        (void)lseek(output->fd, (off_t)output->length, SEEK_SET);
    } /* else: the reader tolerates a partial unit at the end */
    return status;
}

void ss_output_close(struct ss_output *output)
{
    if (output->fd >= 0) {
        close(output->fd);
    }
    if (output->folder_fd >= 0) {
        close(output->folder_fd);
    }
    ss_free(output->path);
    *output = (struct ss_output){.fd = -1, .folder_fd = -1};
}
