/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/host_devices.h"

#include <string.h>

static bool copy_name(struct ss_strview word, char name[SS_DEVICE_NAME_BYTES])
{
    if (word.length == 0 || word.length >= SS_DEVICE_NAME_BYTES ||
        memchr(word.data, '\0', word.length) != NULL) {
        return false;
    }
    memcpy(name, word.data, word.length);
    name[word.length] = '\0';
    return true;
}

/* major minor name, then 11 numbers, 15 since Linux 4.18, 17 since 5.5. Kernels before 2.6.25 write
 * lines of 4 numbers for partitions: these are skipped. */
bool ss_host_disk_next(struct ss_text_scan *text, struct ss_disk_counters *disk)
{
    struct ss_text_scan line;
    while (ss_text_scan_line(text, &line)) {
        uint64_t ids[2], numbers[11];
        struct ss_strview word;
        if (ss_text_scan_numbers(&line, ids, 2) == 2 && ss_text_scan_word(&line, &word) &&
            copy_name(word, disk->name) && ss_text_scan_numbers(&line, numbers, 11) == 11) {
            disk->reads = numbers[0];
            disk->read_sectors = numbers[2];
            disk->writes = numbers[4];
            disk->written_sectors = numbers[6];
            disk->busy_ms = numbers[9];
            return true;
        }
    }
    return false;
}

static bool has_numbered_prefix(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] >= '0' && name[length] <= '9';
}

bool ss_host_disk_is_disk(const char *name)
{
    return !has_numbered_prefix(name, "loop") && !has_numbered_prefix(name, "ram") &&
           !has_numbered_prefix(name, "zram") && !has_numbered_prefix(name, "sr") &&
           !has_numbered_prefix(name, "fd");
}

/* Partitions of devices whose name ends in a digit have a "p" before the partition number. */
bool ss_host_disk_is_part(const char *name)
{
    size_t length = strlen(name), digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        digits--;
    }
    if (digits == length || digits == 0) {
        return false;
    }
    if (digits > 1 && name[digits - 1] == 'p' && name[digits - 2] >= '0' &&
        name[digits - 2] <= '9') {
        return true;
    }
    return strncmp(name, "sd", 2) == 0 || strncmp(name, "hd", 2) == 0 ||
           strncmp(name, "vd", 2) == 0 || strncmp(name, "xvd", 3) == 0;
}

/* Parses "  eth0: 1296 …" and, with large numbers on old kernels, "eth0:1296…". 16 numbers. */
bool ss_host_network_next(struct ss_text_scan *text, struct ss_network_counters *network)
{
    struct ss_text_scan line;
    while (ss_text_scan_line(text, &line)) {
        const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
        struct ss_text_scan before = {line.at, colon != NULL ? colon : line.at};
        struct ss_text_scan behind = {colon != NULL ? colon + 1 : line.end, line.end};
        uint64_t numbers[16];
        struct ss_strview word;
        if (ss_text_scan_word(&before, &word) && copy_name(word, network->name) &&
            ss_text_scan_numbers(&behind, numbers, 16) == 16) {
            memcpy(network->values, numbers, 4 * sizeof *numbers);
            memcpy(network->values + SS_NET_TX_BYTES, numbers + 8, 4 * sizeof *numbers);
            return true;
        }
    }
    return false;
}
