/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame of a ping, and any text as the name of a track of pings: refused, or read
 * within their size. */
#include <string.h>

#include "base/error.h"
#include "model/clock/clock_pings.h"
#include "source/clock_ping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[SS_PING_FRAME_BYTES] = {0};
    struct ss_ping_key key;
    struct ss_ping_frame frame;
    struct ss_strview boot;
    uint64_t time_namespace;
    ss_ping_key_make("0123456789abcdef", &key);
    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (ss_ping_decode(bytes, &key, &frame) && frame.boot_id[SS_PING_BOOT_BYTES - 1] != '\0') {
        ss_bug("a boot id has no end");
    }
    struct ss_strview name = {(const char *)data, size};
    if (ss_clock_ping_track(name, &boot, &time_namespace) &&
        (boot.length == 0 || boot.length > size)) {
        ss_bug("a boot id is outside of its name");
    }
    return 0;
}
