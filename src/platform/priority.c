/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NS = 100000, NICE = -10 };

/* struct sched_attr of the kernel's ABI, version 0; the C library of Debian 12 lacks it. */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void ss_priority_wake_promptly(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
    int nice_now = getpriority(PRIO_PROCESS, 0);
    if (nice_now > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0) {
        nice_now = NICE;
    }
    struct scheduling wanted = {
        .size = sizeof wanted, .policy = SCHED_OTHER, .nice = nice_now, .runtime = SLICE_NS};
    syscall(SYS_sched_setattr, 0, &wanted, 0);
}
