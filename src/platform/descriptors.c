/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/procfs.h"

void ss_descriptors_silence(int fd)
{
    int null_fd = open("/dev/null", O_RDWR | O_NOCTTY);
    if (null_fd >= 0 && null_fd != fd) {
        dup2(null_fd, fd);
        close(null_fd);
    }
}

void ss_descriptors_reserve(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC) < 0) {
            return; /* without /dev/null, no recording works either */
        }
    }
}

static void close_inherited(void *context, pid_t id)
{
    int fd = (int)id, keep = *(const int *)context;
    int flags = fcntl(fd, F_GETFD);
    if (fd > STDERR_FILENO && fd != keep && flags >= 0 && (flags & FD_CLOEXEC) == 0) {
        close(fd);
    }
}

void ss_descriptors_release(int keep)
{
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
        if (fd != keep && fcntl(fd, F_GETFD) >= 0) {
            ss_descriptors_silence(fd);
        }
    }
    ss_procfs_each_id("/proc/self/fd", close_inherited, &keep);
}
