/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "source/host_parts.h"

/* Fits /proc/stat of 4,096 cores or /proc/net/dev of 2,000 interfaces. */
enum { BUFFER_BYTES = 512 * 1024 };

struct host {
    struct ss_source_setup setup;
    struct ss_host_tick tick;
    uint64_t next_ns, ticked_ns;
    struct ss_host_system *system;
    struct ss_host_devices *devices;
    struct ss_host_energy *energy;
    struct ss_host_container *container;
    struct ss_host_processes *processes;
};

bool ss_host_read(const struct ss_host_tick *tick, const struct ss_polled_file *file,
                  struct ss_strview *text, uint64_t *time_ns)
{
    if (!ss_polled_file_is_open(file)) {
        return false;
    }
    *time_ns = ss_clock_now_ns(tick->setup->clock);
    return ss_polled_file_read(file, tick->buffer, tick->buffer_bytes, text);
}

/* The input files: the source runs if at least one is readable. */
static const struct {
    const char *file, *what;
} wanted[] = {{"stat", "CPU"},        {"loadavg", "load"},  {"pressure/cpu", "pressure"},
              {"meminfo", "memory"},  {"vmstat", "paging"}, {"diskstats", "disks"},
              {"net/dev", "networks"}};

enum { WANTED = sizeof wanted / sizeof *wanted };

static void append(char *text, const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, SS_SOURCE_REASON_BYTES - length, "%s", more);
}

static void append_name(char *list, const char *name)
{
    append(list, list[0] != '\0' ? ", " : "");
    append(list, name);
}

static bool can_read(const char *root, const char *name)
{
    struct ss_polled_file file;
    char byte[1];
    struct ss_strview text;
    bool readable = ss_polled_file_open(&file, root, name) == 0 &&
                    ss_polled_file_read(&file, byte, sizeof byte, &text);
    ss_polled_file_close(&file);
    return readable;
}

static enum ss_source_state probe(const struct ss_source_setup *setup, char *reason)
{
    char missing[SS_SOURCE_REASON_BYTES] = "";
    int found = 0;
    reason[0] = '\0';
    for (int i = 0; i < WANTED; i++) {
        bool here = can_read(setup->proc_root, wanted[i].file);
        append_name(here ? reason : missing, wanted[i].what);
        found += here;
    }
    enum ss_host_energy_access energy = ss_host_energy_probe(setup);
    if (energy != SS_HOST_ENERGY_NONE) { /* virtual machines have none */
        bool here = energy == SS_HOST_ENERGY_READABLE;
        append_name(here ? reason : missing,
                    here ? "energy"
                         : "energy (root only: sudo chmod -R a+rX /sys/class/powercap/*/)");
    }
    if (found == 0) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "nothing can be read in %.200s", setup->proc_root);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    if (missing[0] != '\0') {
        append(reason, "; not available: ");
        append(reason, missing);
    }
    return missing[0] != '\0' ? SS_SOURCE_LIMITED : SS_SOURCE_RUNS;
}

static uint64_t tick(void *source, uint64_t now_ns)
{
    struct host *host = source;
    if (now_ns < host->next_ns) {
        return host->next_ns;
    }
    host->tick.now_ns = now_ns;
    ss_host_system_tick(host->system, &host->tick);
    ss_host_devices_tick(host->devices, &host->tick);
    ss_host_energy_tick(host->energy, &host->tick);
    ss_host_container_tick(host->container, &host->tick);
    ss_host_processes_tick(host->processes, &host->tick);
    host->ticked_ns = now_ns;
    /* Fixed schedule: a late tick does not shift later ticks. */
    uint64_t interval_ns = host->setup.interval_ns;
    uint64_t missed = (now_ns - host->next_ns) / interval_ns;
    host->next_ns += (missed + 1) * interval_ns;
    return host->next_ns;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    if (setup->interval_ns == 0) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "--host-interval 0");
        return SS_SOURCE_NOT_REQUESTED;
    }
    enum ss_source_state state = probe(setup, reason);
    if (state == SS_SOURCE_NOT_AVAILABLE) {
        return state;
    }
    uint64_t now_ns = ss_clock_now_ns(setup->clock);
    struct host *host = ss_alloc_zero(1, sizeof *host);
    host->setup = *setup;
    host->tick = (struct ss_host_tick){
        .setup = &host->setup, .buffer = ss_alloc(BUFFER_BYTES), .buffer_bytes = BUFFER_BYTES};
    host->next_ns = now_ns;
    host->system = ss_host_system_open(&host->setup);
    host->devices = ss_host_devices_open(&host->setup);
    host->energy = ss_host_energy_open(&host->setup);
    host->container = ss_host_container_open(&host->setup);
    host->processes = ss_host_processes_open(&host->setup);
    *source = host;
    return state;
}

static void process_ending(void *source, pid_t pid, uint64_t now_ns)
{
    struct host *host = source;
    host->tick.now_ns = now_ns;
    ss_host_processes_ending(host->processes, &host->tick, pid);
}

/* The end of the recording truncates the last interval: emit it if it is long enough for meaningful
 * rates. */
static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct host *host = source;
    if (now_ns > host->ticked_ns + host->setup.interval_ns / 10) {
        host->next_ns = now_ns;
        tick(host, now_ns);
    }
    enum ss_source_state state = probe(&host->setup, reason);
    uint64_t left_out = ss_host_devices_left_out(host->devices);
    if (left_out > 0) {
        char text[64];
        snprintf(text, sizeof text, "; %llu devices left out: too many",
                 (unsigned long long)left_out);
        append(reason, text);
    }
    ss_host_system_close(host->system);
    ss_host_devices_close(host->devices);
    ss_host_energy_close(host->energy);
    ss_host_container_close(host->container);
    ss_host_processes_close(host->processes);
    ss_free(host->tick.buffer);
    ss_free(host);
    return state;
}

const struct ss_source_ops ss_source_host = {
    .name = "host",
    .summary = "CPU, load, pressure, memory, disks, networks and the recorded processes",
    .probe = probe,
    .start = start,
    .tick = tick,
    .process_ending = process_ending,
    .stop = stop,
};
