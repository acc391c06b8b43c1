/* SPDX-License-Identifier: Apache-2.0 */
/* Every parser of the kernel's tables over the same text; what they give is checked for sense. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "platform/cgroup.h"
#include "platform/host_cpu.h"
#include "platform/host_devices.h"
#include "platform/host_memory.h"
#include "platform/process_usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int what)
{
    if (!what) {
        abort();
    }
}

static void check_system(struct ss_strview text)
{
    enum { ROOM = 4 };
    struct ss_cpu_times rows[ROOM];
    size_t count = ss_host_cpu_parse(text, rows, ROOM);
    for (size_t i = 0; i < count && i < ROOM; i++) {
        require(rows[i].number >= -1);
    }
    struct ss_host_load load;
    struct ss_host_pressure pressure;
    struct ss_host_memory memory;
    struct ss_host_paging paging;
    ss_host_load_parse(text, &load);
    ss_host_pressure_parse(text, &pressure);
    ss_host_paging_parse(text, &paging);
    if (ss_host_memory_parse(text, &memory)) {
        require(memory.available_bytes <= memory.total_bytes);
        require(memory.free_bytes <= memory.total_bytes);
        require(memory.swap_free_bytes <= memory.swap_total_bytes);
    }
}

static void check_devices(struct ss_strview text)
{
    struct ss_disk_counters disk;
    struct ss_network_counters network;
    struct ss_text_scan rows = ss_text_scan_of(text);
    while (ss_host_disk_next(&rows, &disk)) {
        require(disk.name[0] != '\0');
        ss_host_disk_is_disk(disk.name);
        ss_host_disk_is_part(disk.name);
    }
    rows = ss_text_scan_of(text);
    while (ss_host_network_next(&rows, &network)) {
        require(network.name[0] != '\0');
    }
}

static void check_groups(struct ss_strview text)
{
    /* The first half is the cgroup file, the second the mounts. */
    struct ss_strview first = {text.data, text.length / 2};
    struct ss_strview second = {text.data + first.length, text.length - first.length};
    static const char *const controllers[] = {"", "memory", "cpu"};
    for (size_t i = 0; i < 3; i++) {
        struct ss_cgroup_folder folder;
        if (ss_cgroup_find(first, second, controllers[i], &folder)) {
            require(strlen(folder.path) >= folder.mount_length);
            while (ss_cgroup_up(&folder)) {
                require(strlen(folder.path) >= folder.mount_length);
            }
        }
    }
    double cores;
    uint64_t bytes;
    struct ss_cgroup_cpu cpu;
    ss_cgroup_parse_cpu_max(text, &cores);
    ss_cgroup_parse_cpu_quota(first, second, &cores);
    ss_cgroup_parse_limit(text, &bytes);
    ss_cgroup_parse_cpu_stat(text, &cpu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly this size, so that a read behind it is seen. */
    char *copy = ss_alloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    struct ss_strview text = {copy, size};
    struct ss_process_usage usage;
    struct ss_process_io io;
    struct ss_thread_switches switches;
    check_system(text);
    check_devices(text);
    check_groups(text);
    ss_process_usage_parse(text, &usage);
    ss_process_io_parse(text, &io);
    ss_thread_switches_parse(text, &switches);
    ss_free(copy);
    return 0;
}
