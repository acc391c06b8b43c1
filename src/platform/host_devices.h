/* SPDX-License-Identifier: Apache-2.0 */
/* Disks and network interfaces: /proc/diskstats and /proc/net/dev. Pure functions over their text,
 * one line at a time; the counters are monotonic (platform/counter_step.h). */
#ifndef SS_PLATFORM_HOST_DEVICES_H
#define SS_PLATFORM_HOST_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/text_scan.h"

enum { SS_DEVICE_NAME_BYTES = 32, SS_SECTOR_BYTES = 512 /* of diskstats, for every disk */ };

struct ss_disk_counters {
    char name[SS_DEVICE_NAME_BYTES];
    uint64_t reads, read_sectors;
    uint64_t writes, written_sectors;
    uint64_t busy_ms; /* with at least one request in flight */
};
/* Parses the next valid line; false: no more. */
bool ss_host_disk_next(struct ss_text_scan *text, struct ss_disk_counters *disk);
/* By its name: neither a RAM or loop device (ram, zram, loop) nor an optical or floppy drive. */
bool ss_host_disk_is_disk(const char *name);
/* By its name: a partition (sda1, nvme0n1p2, mmcblk0p1). For machines without a readable
 * /sys/block, which lists whole devices. */
bool ss_host_disk_is_part(const char *name);

enum ss_network_counter {
    SS_NET_RX_BYTES,
    SS_NET_RX_PACKETS,
    SS_NET_RX_ERRORS,
    SS_NET_RX_DROPS,
    SS_NET_TX_BYTES,
    SS_NET_TX_PACKETS,
    SS_NET_TX_ERRORS,
    SS_NET_TX_DROPS,
    SS_NET_COUNTERS
};
struct ss_network_counters {
    char name[SS_DEVICE_NAME_BYTES];
    uint64_t values[SS_NET_COUNTERS];
};
bool ss_host_network_next(struct ss_text_scan *text, struct ss_network_counters *network);

#endif
