/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits and usage of the control group: in a container or under a batch system the machine-wide
 * metrics are not sufficient. Any folder up to the mount point may have a limit; the tightest limit
 * is binding and is compared with the usage of its own folder.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "platform/cgroup.h"
#include "source/host_parts.h"

enum { MAX_FOLDERS = 16, LIMITS_EVERY = 10 /* ticks: limits rarely change */ };

enum container_metric {
    CPU_LIMIT,
    CPU_USED,
    CPU_THROTTLED,
    MEMORY_LIMIT,
    MEMORY_USED,
    CONTAINER_METRICS
};
static const struct ss_metric_row rows[CONTAINER_METRICS] = {
    [CPU_LIMIT] = {"CPU limit", "%", 1, true},
    [CPU_USED] = {"CPU used", "%", 1, true},
    [CPU_THROTTLED] = {"CPU throttled", "%", 1, true},
    [MEMORY_LIMIT] = {"memory limit", "bytes", 0, true},
    [MEMORY_USED] = {"memory used", "bytes", 0, true}};

/* The folders of one controller, innermost first. */
struct controller {
    size_t count;
    bool version_1;
    struct ss_polled_file limit[MAX_FOLDERS], period[MAX_FOLDERS];
    struct ss_polled_file usage[MAX_FOLDERS], stat[MAX_FOLDERS];
    size_t binding; /* index of the folder with the tightest limit; `count`: none */
    double limit_value;
};

struct ss_host_container {
    struct ss_metric_group group;
    struct controller cpu, memory;
    struct ss_metric metrics[CONTAINER_METRICS];
    struct ss_metric_counter used_ns, throttled_ns;
    size_t counted; /* index of the folder of the counters */
    uint64_t ticks;
};

struct names {
    const char *controller, *limit, *period, *usage, *stat;
    bool version_1;
};
static const struct names cpu_names[] = {
    {"", "cpu.max", NULL, NULL, "cpu.stat", false},
    {"cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "cpu.stat", true}};
static const struct names memory_names[] = {
    {"", "memory.max", NULL, "memory.current", NULL, false},
    {"memory", "memory.limit_in_bytes", NULL, "memory.usage_in_bytes", NULL, true}};

static void open_named(struct ss_polled_file *file, const char *folder, const char *name)
{
    *file = SS_POLLED_FILE_NONE;
    if (name != NULL) {
        ss_polled_file_open(file, folder, name);
    }
}

/* The root folder of a machine has no limit file in cgroup version 2, and a file with "none" in
 * version 1: both mean no limit. */
static bool open_controller(struct controller *controller, const struct names *names,
                            struct ss_strview cgroup, struct ss_strview mounts)
{
    struct ss_cgroup_folder folder;
    *controller = (struct controller){.version_1 = names->version_1};
    if (!ss_cgroup_find(cgroup, mounts, names->controller, &folder)) {
        return false;
    }
    bool any = false;
    do {
        size_t i = controller->count++;
        open_named(&controller->limit[i], folder.path, names->limit);
        open_named(&controller->period[i], folder.path, names->period);
        open_named(&controller->usage[i], folder.path, names->usage);
        open_named(&controller->stat[i], folder.path, names->stat);
        any = any || ss_polled_file_is_open(&controller->limit[i]);
    } while (controller->count < MAX_FOLDERS && ss_cgroup_up(&folder));
    return any;
}

static void close_controller(struct controller *controller)
{
    for (size_t i = 0; i < controller->count; i++) {
        ss_polled_file_close(&controller->limit[i]);
        ss_polled_file_close(&controller->period[i]);
        ss_polled_file_close(&controller->usage[i]);
        ss_polled_file_close(&controller->stat[i]);
    }
    controller->count = 0;
}

/* On a hybrid machine version 2 is mounted without controllers: then use version 1. */
static void open_either(struct controller *controller, const struct names names[2],
                        struct ss_strview cgroup, struct ss_strview mounts)
{
    for (int i = 0; i < 2; i++) {
        if (open_controller(controller, &names[i], cgroup, mounts)) {
            break;
        }
        close_controller(controller);
    }
    controller->binding = controller->count;
}

struct ss_host_container *ss_host_container_open(const struct ss_source_setup *setup)
{
    enum { TEXT_BYTES = 256 * 1024 };
    struct ss_host_container *part = ss_alloc_zero(1, sizeof *part);
    struct ss_polled_file file;
    char *text = ss_alloc(2 * TEXT_BYTES);
    struct ss_strview cgroup = {text, 0}, mounts = {text, 0};
    part->group = (struct ss_metric_group){
        .sink = &setup->metrics, .subject = SS_METRICS_CONTAINER, .name = "container"};
    ss_polled_file_open(&file, setup->proc_root, "self/cgroup");
    ss_polled_file_read(&file, text, TEXT_BYTES, &cgroup);
    ss_polled_file_close(&file);
    ss_polled_file_open(&file, setup->proc_root, "self/mountinfo");
    ss_polled_file_read(&file, text + TEXT_BYTES, TEXT_BYTES, &mounts);
    ss_polled_file_close(&file);
    open_either(&part->cpu, cpu_names, cgroup, mounts);
    open_either(&part->memory, memory_names, cgroup, mounts);
    ss_free(text);
    return part;
}

void ss_host_container_close(struct ss_host_container *part)
{
    close_controller(&part->cpu);
    close_controller(&part->memory);
    ss_free(part);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool read_cpu_limit(const struct controller *controller, size_t i,
                           const struct ss_host_tick *tick, double *limit)
{
    struct ss_strview quota, period;
    char other[64];
    uint64_t time_ns;
    if (!ss_host_read(tick, &controller->limit[i], &quota, &time_ns)) {
        return false;
    }
    if (!controller->version_1) {
        return ss_cgroup_parse_cpu_max(quota, limit);
    }
    return ss_polled_file_read(&controller->period[i], other, sizeof other, &period) &&
           ss_cgroup_parse_cpu_quota(quota, period, limit);
}

static bool read_memory_limit(const struct controller *controller, size_t i,
                              const struct ss_host_tick *tick, double *limit)
{
    struct ss_strview text;
    uint64_t time_ns, bytes;
    if (!ss_host_read(tick, &controller->limit[i], &text, &time_ns) ||
        !ss_cgroup_parse_limit(text, &bytes)) {
        return false;
    }
    *limit = (double)bytes;
    return true;
}

static void find_binding(struct controller *controller, const struct ss_host_tick *tick,
                         bool (*read_limit)(const struct controller *, size_t,
                                            const struct ss_host_tick *, double *))
{
    controller->binding = controller->count;
    for (size_t i = 0; i < controller->count; i++) {
        double limit;
        if (read_limit(controller, i, tick, &limit) &&
            (controller->binding == controller->count || limit < controller->limit_value)) {
            controller->binding = i;
            controller->limit_value = limit;
        }
    }
}

/* --- ticks ------------------------------------------------------------------------------------ */

static void put(struct ss_host_container *part, enum container_metric metric, uint64_t time_ns,
                double value)
{
    ss_metric_put(&part->group, &rows[metric], &part->metrics[metric], time_ns, value);
}

/* ns per second as per cent of a core. */
static void put_ns(struct ss_host_container *part, enum container_metric metric,
                   struct ss_metric_counter *counter, uint64_t total_ns, uint64_t time_ns)
{
    ss_metric_put_rate(&part->group, &rows[metric], &part->metrics[metric], counter, total_ns,
                       time_ns, 1e-7);
}

static void tick_cpu(struct ss_host_container *part, const struct ss_host_tick *tick)
{
    const struct controller *cpu = &part->cpu;
    size_t i = cpu->binding;
    if (i == cpu->count) {
        return;
    }
    if (part->counted != i) {
        part->used_ns.known = part->throttled_ns.known = false;
        part->counted = i;
    }
    struct ss_strview text;
    struct ss_cgroup_cpu cpu_stat;
    uint64_t time_ns, used_ns;
    put(part, CPU_LIMIT, tick->now_ns, 100 * cpu->limit_value);
    if (ss_host_read(tick, &cpu->stat[i], &text, &time_ns) &&
        ss_cgroup_parse_cpu_stat(text, &cpu_stat)) {
        if (cpu_stat.has_usage) {
            put_ns(part, CPU_USED, &part->used_ns, cpu_stat.usage_ns, time_ns);
        }
        if (cpu_stat.has_throttled) {
            put_ns(part, CPU_THROTTLED, &part->throttled_ns, cpu_stat.throttled_ns, time_ns);
        }
    }
    if (ss_host_read(tick, &cpu->usage[i], &text, &time_ns) &&
        ss_cgroup_parse_number(text, &used_ns)) {
        put_ns(part, CPU_USED, &part->used_ns, used_ns, time_ns);
    }
}

static void tick_memory(struct ss_host_container *part, const struct ss_host_tick *tick)
{
    const struct controller *memory = &part->memory;
    struct ss_strview text;
    uint64_t time_ns, bytes;
    if (memory->binding == memory->count) {
        return;
    }
    put(part, MEMORY_LIMIT, tick->now_ns, memory->limit_value);
    if (ss_host_read(tick, &memory->usage[memory->binding], &text, &time_ns) &&
        ss_cgroup_parse_number(text, &bytes)) {
        put(part, MEMORY_USED, tick->now_ns, (double)bytes);
    }
}

void ss_host_container_tick(struct ss_host_container *part, const struct ss_host_tick *tick)
{
    if (part->ticks++ % LIMITS_EVERY == 0) {
        find_binding(&part->cpu, tick, read_cpu_limit);
        find_binding(&part->memory, tick, read_memory_limit);
    }
    tick_cpu(part, tick);
    tick_memory(part, tick);
}
