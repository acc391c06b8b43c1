/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/task_wait.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_TYPE /* glibc before 2.28 */
#include <linux/stat.h>
#endif

/* Without a request to a server of network files, which may not answer. Linux before 4.11 and C
 * libraries before glibc 2.28 have no statx(2): no pipe is found there. */
static bool is_named_pipe(const char *path)
{
    struct statx status;
    return syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
           S_ISFIFO(status.stx_mode);
}

static enum ss_task_wait of_descriptor(pid_t pid, uint64_t descriptor)
{
    char path[64], target[32];
    if (descriptor > INT_MAX) {
        return SS_TASK_WAIT_UNKNOWN;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) {
        return SS_TASK_WAIT_UNKNOWN;
    }
    target[length] = '\0';
    if (strncmp(target, "socket:", 7) == 0) {
        return SS_TASK_WAIT_SOCKET;
    }
    if (strncmp(target, "pipe:", 5) == 0 || strncmp(target, "/dev/", 5) == 0) {
        return SS_TASK_WAIT_PIPE;
    }
    if (target[0] != '/') {
        return SS_TASK_WAIT_OTHER;
    }
    return is_named_pipe(path) ? SS_TASK_WAIT_PIPE : SS_TASK_WAIT_FILE;
}

/* Long: one line for each system call. */
enum ss_task_wait ss_task_wait_of_call(pid_t pid, int64_t number, uint64_t descriptor)
{
    switch (number) {
    case -1:
        return SS_TASK_WAIT_FILE;
    case SYS_futex:
    case SYS_semtimedop:
        return SS_TASK_WAIT_FUTEX;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return SS_TASK_WAIT_TIMER;
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
        return SS_TASK_WAIT_POLL;
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
        return SS_TASK_WAIT_SOCKET;
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_sendfile:
    case SYS_splice:
        return of_descriptor(pid, descriptor);
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_openat:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_msync:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_getdents64:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_fstat:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_io_getevents:
    case SYS_copy_file_range:
    case SYS_readahead:
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_unlink:
    case SYS_rename:
#endif
        return SS_TASK_WAIT_FILE;
    case SYS_wait4:
    case SYS_waitid:
#ifdef SYS_vfork
    case SYS_vfork:
#endif
        return SS_TASK_WAIT_CHILD;
    default:
        return SS_TASK_WAIT_OTHER;
    }
}
