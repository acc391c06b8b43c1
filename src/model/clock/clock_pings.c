/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock/clock_pings.h"

#include <stddef.h>
#include <string.h>

bool ss_clock_ping_track(struct ss_strview name, struct ss_strview *boot, uint64_t *time_namespace)
{
    static const char prefix[] = "clock of ";
    const size_t skipped = sizeof prefix - 1;
    if (name.length <= skipped || memcmp(name.data, prefix, skipped) != 0) {
        return false;
    }
    const char *slash = memrchr(name.data, '/', name.length);
    size_t end = slash != NULL ? (size_t)(slash - name.data) : 0;
    if (end <= skipped || name.length - end - 1 == 0 || name.length - end - 1 > 18) {
        return false;
    }
    uint64_t number = 0;
    for (size_t i = end + 1; i < name.length; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') {
            return false;
        }
        number = 10 * number + (uint64_t)(name.data[i] - '0');
    }
    if (boot != NULL) {
        *boot = (struct ss_strview){name.data + skipped, end - skipped};
        *time_namespace = number;
    }
    return true;
}
