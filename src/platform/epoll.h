/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLATFORM_EPOLL_H
#define SS_PLATFORM_EPOLL_H

#include <sys/epoll.h>
#include <time.h>

/* epoll_pwait2(2), also where the kernel has none (before 5.11): waits for at most `timeout`, to
 * the nanosecond. Returns the number of events, or -1 with errno. */
int ss_epoll_wait(int epoll_fd, struct epoll_event *events, int capacity,
                  const struct timespec *timeout);

#endif
