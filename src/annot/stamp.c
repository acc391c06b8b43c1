/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/stamp.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum ss_ring_clock ss_stamp_clock = SS_RING_CLOCK_MONOTONIC;

#if defined(__x86_64__)
/* The processor reports whether the TSC is invariant. The kernel checks that the cores agree and
 * that no virtual machine disturbs it, before it uses the TSC as clock source. */
static int tsc_is_reliable(void)
{
    unsigned a, b, c, d = 0;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || (d & 1u << 8) == 0) {
        return 0;
    }
    char name[8] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, name, sizeof name - 1);
    close(fd);
    return got >= 4 && memcmp(name, "tsc\n", 4) == 0;
}
#endif

void ss_stamp_choose_clock(void)
{
#if defined(__x86_64__)
    if (tsc_is_reliable()) {
        ss_stamp_clock = SS_RING_CLOCK_TSC;
    }
#endif
}
