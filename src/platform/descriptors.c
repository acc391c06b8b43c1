/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/procfs.h"

void ss_descriptors_silence(int fd)
{
    int nothing = open("/dev/null", O_RDWR | O_NOCTTY);
    if (nothing >= 0 && nothing != fd) {
        dup2(nothing, fd);
        close(nothing);
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
