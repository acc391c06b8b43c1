/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/epoll.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

int ss_epoll_wait(int epoll_fd, struct epoll_event *events, int capacity,
                  const struct timespec *timeout)
{
    long count = syscall(SYS_epoll_pwait2, epoll_fd, events, capacity, timeout, NULL, 0);
    if (count >= 0 || errno != ENOSYS) {
        return (int)count;
    }
    /* A descriptor of epoll can be polled itself, by a call that takes nanoseconds. */
    struct pollfd ready = {.fd = epoll_fd, .events = POLLIN};
    int ready_count = ppoll(&ready, 1, timeout, NULL);
    return ready_count > 0 ? epoll_wait(epoll_fd, events, capacity, 0) : ready_count;
}
