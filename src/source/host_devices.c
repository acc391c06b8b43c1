/* SPDX-License-Identifier: Apache-2.0 */
/* Disks and network interfaces: one group of series for each device that was ever active. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "platform/host_devices.h"
#include "source/host_parts.h"

/* A container host has thousands of interfaces: limits on tracked and on shown devices. */
enum { MAX_DEVICES = 4096, MAX_SHOWN = 256, MAX_COUNTERS = 8 };

enum disk_metric { READ, WRITTEN, READS, WRITES, UTILISATION, DISK_METRICS };
static const struct ss_metric_row disk_rows[DISK_METRICS] = {
    [READ] = {"read", "bytes/s", 0, true},
    [WRITTEN] = {"written", "bytes/s", 0, true},
    [READS] = {"reads", "/s", 1, true},
    [WRITES] = {"writes", "/s", 1, true},
    [UTILISATION] = {"utilisation", "%", 1, true, 100}};

static const struct ss_metric_row network_rows[SS_NET_COUNTERS] = {
    [SS_NET_RX_BYTES] = {"received", "bytes/s", 0, true},
    [SS_NET_TX_BYTES] = {"sent", "bytes/s", 0, true},
    [SS_NET_RX_PACKETS] = {"packets received", "/s", 1, true},
    [SS_NET_TX_PACKETS] = {"packets sent", "/s", 1, true},
    [SS_NET_RX_ERRORS] = {"receive errors", "/s", 2, false},
    [SS_NET_TX_ERRORS] = {"send errors", "/s", 2, false},
    [SS_NET_RX_DROPS] = {"receive drops", "/s", 2, false},
    [SS_NET_TX_DROPS] = {"send drops", "/s", 2, false}};

_Static_assert((int)DISK_METRICS <= (int)MAX_COUNTERS && (int)SS_NET_COUNTERS <= (int)MAX_COUNTERS,
               "a device has room for its counters");

/* The series of an active device. */
struct shown {
    struct ss_metric metrics[MAX_COUNTERS];
    struct ss_metric_group group;
};

struct device {
    char name[SS_DEVICE_NAME_BYTES];
    bool present, ignored;
    struct ss_metric_counter counters[MAX_COUNTERS];
    struct shown *shown; /* NULL: inactive so far */
};

/* The devices of one kind. */
struct class
{
    const char *title;
    enum ss_metric_subject subject;
    const struct ss_metric_row *rows;
    size_t row_count;
    size_t shown, at;
    uint64_t left_out, left_out_now;
    struct ss_vec_of(struct device) devices;
};

struct ss_host_devices {
    struct ss_polled_file diskstats, network;
    bool block_folder; /* sysfs lists the whole disks */
    char sys_root[256];
    struct class disks, networks;
};

struct ss_host_devices *ss_host_devices_open(const struct ss_source_setup *setup)
{
    struct ss_host_devices *part = ss_alloc_zero(1, sizeof *part);
    char path[300];
    snprintf(part->sys_root, sizeof part->sys_root, "%s", setup->sys_root);
    snprintf(path, sizeof path, "%s/block", part->sys_root);
    part->block_folder = access(path, F_OK) == 0;
    ss_polled_file_open(&part->diskstats, setup->proc_root, "diskstats");
    ss_polled_file_open(&part->network, setup->proc_root, "net/dev");
    part->disks = (struct class){
        .title = "disk", .subject = SS_METRICS_DISK, .rows = disk_rows, .row_count = DISK_METRICS};
    part->networks = (struct class){.title = "net",
                                    .subject = SS_METRICS_NETWORK,
                                    .rows = network_rows,
                                    .row_count = SS_NET_COUNTERS};
    return part;
}

static void class_fini(struct class *class)
{
    for (size_t i = 0; i < class->devices.count; i++) {
        ss_free(class->devices.data[i].shown);
    }
    ss_vec_fini(&class->devices);
}

void ss_host_devices_close(struct ss_host_devices *part)
{
    ss_polled_file_close(&part->diskstats);
    ss_polled_file_close(&part->network);
    class_fini(&part->disks);
    class_fini(&part->networks);
    ss_free(part);
}

uint64_t ss_host_devices_left_out(const struct ss_host_devices *part)
{
    return part->disks.left_out + part->networks.left_out;
}

/* The traffic of a partition is included in its disk. */
static bool is_whole_disk(const struct ss_host_devices *part, const char *name)
{
    if (!ss_host_disk_is_disk(name)) {
        return false;
    }
    if (!part->block_folder) {
        return !ss_host_disk_is_part(name);
    }
    char path[320];
    size_t length = (size_t)snprintf(path, sizeof path, "%s/block/", part->sys_root);
    snprintf(path + length, sizeof path - length, "%s", name);
    for (char *at = path + length; *at != '\0'; at++) {
        *at = *at == '/' ? '!' : *at; /* cciss/c0d0 */
    }
    return access(path, F_OK) == 0;
}

/* The device order is constant: the search starts where the last one ended. NULL: a new device
 * above the limit. */
static struct device *find(struct class *class, const char *name, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < class->devices.count; i++) {
        size_t k = (class->at + i) % class->devices.count;
        if (strcmp(class->devices.data[k].name, name) == 0) {
            class->at = k + 1;
            return &class->devices.data[k];
        }
    }
    if (class->devices.count >= MAX_DEVICES) {
        class->left_out_now++;
        return NULL;
    }
    ss_vec_push_zero(&class->devices);
    struct device *device = &class->devices.data[class->devices.count - 1];
    memcpy(device->name, name, sizeof device->name);
    class->at = class->devices.count;
    *is_new = true;
    return device;
}

static bool has_moved(const struct device *device, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (device->counters[i].known && device->counters[i].value != values[i]) {
            return true;
        }
    }
    return false;
}

/* `factors` convert counter units into series units. */
static void put(struct class *class, struct device *device, const struct ss_host_tick *tick,
                const uint64_t *values, const double *factors, uint64_t time_ns)
{
    bool show = device->shown != NULL;
    if (!show && has_moved(device, values, class->row_count)) {
        show = class->shown < MAX_SHOWN;
        class->left_out_now += !show;
    }
    if (show && device->shown == NULL) {
        device->shown = ss_alloc_zero(1, sizeof *device->shown);
        struct ss_metric_group *group = &device->shown->group;
        group->sink = &tick->setup->metrics;
        group->subject = class->subject;
        snprintf(group->name, sizeof group->name, "%s %s", class->title, device->name);
        class->shown++;
    }
    for (size_t i = 0; i < class->row_count; i++) {
        if (show) {
            ss_metric_put_rate(&device->shown->group, &class->rows[i], &device->shown->metrics[i],
                               &device->counters[i], values[i], time_ns, factors[i]);
        } else {
            device->counters[i] = (struct ss_metric_counter){true, values[i], time_ns};
        }
    }
}

/* Ends the series of removed devices. A device with series stays in the list: it may return. */
static void end_absent(struct class *class)
{
    size_t remaining = 0;
    for (size_t i = 0; i < class->devices.count; i++) {
        struct device *device = &class->devices.data[i];
        if (!device->present && device->shown != NULL && device->counters[0].known) {
            ss_metric_end(&device->shown->group, class->rows, device->shown->metrics,
                          class->row_count, device->counters[0].time_ns);
            memset(device->counters, 0, sizeof device->counters);
        }
        if (device->present || device->shown != NULL) {
            device->present = false;
            class->devices.data[remaining++] = *device;
        }
    }
    class->devices.count = remaining;
    class->at = 0;
    class->left_out = class->left_out_now > class->left_out ? class->left_out_now : class->left_out;
    class->left_out_now = 0;
}

static void tick_disks(struct ss_host_devices *part, const struct ss_host_tick *tick)
{
    static const double factors[DISK_METRICS] = {[READ] = SS_SECTOR_BYTES,
                                                 [WRITTEN] = SS_SECTOR_BYTES,
                                                 [READS] = 1,
                                                 [WRITES] = 1,
                                                 [UTILISATION] =
                                                     0.1 /* ms per second as per cent */};
    struct ss_strview text;
    uint64_t time_ns;
    if (!ss_host_read(tick, &part->diskstats, &text, &time_ns)) {
        return;
    }
    struct ss_text_scan rows = ss_text_scan_of(text);
    struct ss_disk_counters disk;
    while (ss_host_disk_next(&rows, &disk)) {
        bool is_new;
        struct device *device = find(&part->disks, disk.name, &is_new);
        if (device == NULL) {
            continue;
        }
        device->present = true;
        if (is_new) {
            device->ignored = !is_whole_disk(part, disk.name);
        }
        if (!device->ignored) {
            const uint64_t values[DISK_METRICS] = {[READ] = disk.read_sectors,
                                                   [WRITTEN] = disk.written_sectors,
                                                   [READS] = disk.reads,
                                                   [WRITES] = disk.writes,
                                                   [UTILISATION] = disk.busy_ms};
            put(&part->disks, device, tick, values, factors, time_ns);
        }
    }
    end_absent(&part->disks);
}

static void tick_networks(struct ss_host_devices *part, const struct ss_host_tick *tick)
{
    static const double factors[SS_NET_COUNTERS] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct ss_strview text;
    uint64_t time_ns;
    if (!ss_host_read(tick, &part->network, &text, &time_ns)) {
        return;
    }
    struct ss_text_scan rows = ss_text_scan_of(text);
    struct ss_network_counters network;
    while (ss_host_network_next(&rows, &network)) {
        bool is_new;
        struct device *device = find(&part->networks, network.name, &is_new);
        if (device != NULL) {
            device->present = true;
            put(&part->networks, device, tick, network.values, factors, time_ns);
        }
    }
    end_absent(&part->networks);
}

void ss_host_devices_tick(struct ss_host_devices *part, const struct ss_host_tick *tick)
{
    tick_disks(part, tick);
    tick_networks(part, tick);
}
