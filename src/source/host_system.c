/* SPDX-License-Identifier: Apache-2.0 */
/* CPU, load, pressure and memory of the machine. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "platform/host_cpu.h"
#include "platform/host_memory.h"
#include "source/host_parts.h"

enum { MAX_CORES = 8192 };

enum cpu_metric { BUSY, USER, NICE, SYSTEM, IRQ, IOWAIT, STEAL, GUEST, CPU_METRICS };
static const struct ss_metric_row cpu_rows[CPU_METRICS] = {
    [BUSY] = {"busy", "%", 1, true},       [USER] = {"user", "%", 1, true},
    [NICE] = {"nice", "%", 1, false},      [SYSTEM] = {"system", "%", 1, true},
    [IRQ] = {"interrupts", "%", 1, false}, [IOWAIT] = {"iowait", "%", 1, true},
    [STEAL] = {"steal", "%", 1, false},    [GUEST] = {"guest", "%", 1, false}};
/* The kernel counts in steps of 10 ms: further digits would be noise. */
static const struct ss_metric_row core_rows[CPU_METRICS] = {
    [BUSY] = {"busy", "%", 0, true},       [USER] = {"user", "%", 0, false},
    [NICE] = {"nice", "%", 0, false},      [SYSTEM] = {"system", "%", 0, false},
    [IRQ] = {"interrupts", "%", 0, false}, [IOWAIT] = {"iowait", "%", 0, false},
    [STEAL] = {"steal", "%", 0, false},    [GUEST] = {"guest", "%", 0, false}};

enum load_metric { LOAD_1, LOAD_5, LOAD_15, RUNNABLE, LOAD_METRICS };
static const struct ss_metric_row load_rows[LOAD_METRICS] = {
    [LOAD_1] = {"1 min", "tasks", 2, true},
    [LOAD_5] = {"5 min", "tasks", 2, true},
    [LOAD_15] = {"15 min", "tasks", 2, true},
    [RUNNABLE] = {"runnable now", "tasks", 0, true}};

enum { CPU_SOME, CPU_FULL, MEMORY_SOME, MEMORY_FULL, IO_SOME, IO_FULL, PRESSURE_METRICS };
static const char *const pressure_files[] = {"pressure/cpu", "pressure/memory", "pressure/io"};
enum { PRESSURES = sizeof pressure_files / sizeof *pressure_files };
static const struct ss_metric_row pressure_rows[PRESSURE_METRICS] = {
    [CPU_SOME] = {"cpu some", "%", 2, true, 100},
    [CPU_FULL] = {"cpu full", "%", 2, false, 100},
    [MEMORY_SOME] = {"memory some", "%", 2, true, 100},
    [MEMORY_FULL] = {"memory full", "%", 2, true, 100},
    [IO_SOME] = {"io some", "%", 2, true, 100},
    [IO_FULL] = {"io full", "%", 2, true, 100}};

enum memory_metric {
    USED,
    AVAILABLE,
    FREE,
    CACHED,
    DIRTY,
    SHARED,
    TOTAL,
    SWAP_USED,
    SWAP_IN,
    SWAP_OUT,
    MAJOR_FAULTS,
    MEMORY_METRICS
};
static const struct ss_metric_row memory_rows[MEMORY_METRICS] = {
    [USED] = {"used", "bytes", 0, true},
    [AVAILABLE] = {"available", "bytes", 0, true},
    [FREE] = {"free", "bytes", 0, true},
    [CACHED] = {"cached", "bytes", 0, true},
    [DIRTY] = {"dirty", "bytes", 0, true},
    [SHARED] = {"shared", "bytes", 0, true},
    [TOTAL] = {"total", "bytes", 0, true},
    [SWAP_USED] = {"swap used", "bytes", 0, true},
    [SWAP_IN] = {"swapped in", "bytes/s", 0, false},
    [SWAP_OUT] = {"swapped out", "bytes/s", 0, false},
    [MAJOR_FAULTS] = {"major faults", "/s", 1, false}};

struct core {
    int32_t number;
    bool known, present;
    uint64_t time_ns; /* of the last reading */
    uint64_t ticks[SS_CPU_USES];
    struct ss_metric metrics[CPU_METRICS];
    struct ss_metric_group group;
};

struct ss_host_system {
    struct ss_polled_file stat, loadavg, meminfo, vmstat, pressure[PRESSURES];
    struct ss_metric_group cpu_group, cores_group, load_group, pressure_group, memory_group;
    struct core all; /* sum of all cores */
    struct ss_vec_of(struct core *) cores;
    struct ss_cpu_times *rows;
    struct ss_metric load[LOAD_METRICS], pressures[PRESSURE_METRICS], memory[MEMORY_METRICS];
    struct ss_metric_counter stalls[PRESSURE_METRICS], pages_in, pages_out, faults;
    uint64_t page_bytes;
};

struct ss_host_system *ss_host_system_open(const struct ss_source_setup *setup)
{
    struct ss_host_system *part = ss_alloc_zero(1, sizeof *part);
    const struct ss_metric_sink *sink = &setup->metrics;
    ss_polled_file_open(&part->stat, setup->proc_root, "stat");
    ss_polled_file_open(&part->loadavg, setup->proc_root, "loadavg");
    ss_polled_file_open(&part->meminfo, setup->proc_root, "meminfo");
    ss_polled_file_open(&part->vmstat, setup->proc_root, "vmstat");
    for (int i = 0; i < PRESSURES; i++) {
        ss_polled_file_open(&part->pressure[i], setup->proc_root, pressure_files[i]);
    }
    part->cpu_group =
        (struct ss_metric_group){.sink = sink, .subject = SS_METRICS_CPU, .name = "CPU"};
    part->cores_group =
        (struct ss_metric_group){.sink = sink, .subject = SS_METRICS_CORES, .name = "CPU cores"};
    part->load_group =
        (struct ss_metric_group){.sink = sink, .subject = SS_METRICS_LOAD, .name = "load"};
    part->pressure_group =
        (struct ss_metric_group){.sink = sink, .subject = SS_METRICS_PRESSURE, .name = "pressure"};
    part->memory_group =
        (struct ss_metric_group){.sink = sink, .subject = SS_METRICS_MEMORY, .name = "memory"};
    part->rows = ss_alloc_zero(MAX_CORES + 1, sizeof *part->rows);
    part->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return part;
}

void ss_host_system_close(struct ss_host_system *part)
{
    ss_polled_file_close(&part->stat);
    ss_polled_file_close(&part->loadavg);
    ss_polled_file_close(&part->meminfo);
    ss_polled_file_close(&part->vmstat);
    for (int i = 0; i < PRESSURES; i++) {
        ss_polled_file_close(&part->pressure[i]);
    }
    for (size_t i = 0; i < part->cores.count; i++) {
        ss_free(part->cores.data[i]);
    }
    ss_vec_fini(&part->cores);
    ss_free(part->rows);
    ss_free(part);
}

/* --- CPU -------------------------------------------------------------------------------------- */

/* Idle and iowait times of the kernel may decrease slightly: a decrease counts as 0. */
static uint64_t increase(const struct core *core, const struct ss_cpu_times *row,
                         enum ss_cpu_use use)
{
    uint64_t before = core->ticks[use], now = row->ticks[use];
    return now > before ? now - before : 0;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Shares of the time that this core itself counted, times `scale`: their sum is exact, independent
 * of other clocks. User and nice time include guest time, which is shown only once. */
static void put_cpu(struct core *core, struct ss_metric_group *group,
                    const struct ss_metric_row *rows, const struct ss_cpu_times *row, double scale,
                    uint64_t time_ns)
{
    uint64_t increases[SS_CPU_USES], sum = 0;
    for (int use = 0; use < SS_CPU_USES; use++) {
        increases[use] = increase(core, row, (enum ss_cpu_use)use);
        sum += use < SS_CPU_GUEST ? increases[use] : 0;
    }
    bool known = core->known;
    uint64_t since_ns = core->time_ns;
    core->time_ns = time_ns;
    memcpy(core->ticks, row->ticks, sizeof core->ticks);
    core->known = true;
    if (!known || sum == 0) {
        return;
    }
    uint64_t busy =
        sum - increases[SS_CPU_IDLE] - increases[SS_CPU_IOWAIT] - increases[SS_CPU_STEAL];
    const uint64_t shares[CPU_METRICS] = {
        [BUSY] = busy,
        [USER] = subtract(increases[SS_CPU_USER], increases[SS_CPU_GUEST]),
        [NICE] = subtract(increases[SS_CPU_NICE], increases[SS_CPU_GUEST_NICE]),
        [SYSTEM] = increases[SS_CPU_SYSTEM],
        [IRQ] = increases[SS_CPU_IRQ] + increases[SS_CPU_SOFTIRQ],
        [IOWAIT] = increases[SS_CPU_IOWAIT],
        [STEAL] = increases[SS_CPU_STEAL],
        [GUEST] = increases[SS_CPU_GUEST] + increases[SS_CPU_GUEST_NICE]};
    for (int i = 0; i < CPU_METRICS; i++) {
        ss_metric_put(group, &rows[i], &core->metrics[i], since_ns,
                      100 * scale * (double)shares[i] / (double)sum);
    }
}

/* The core order is constant; `at` is the index after the previous core. */
static struct core *find_core(struct ss_host_system *part, const struct ss_source_setup *setup,
                              int32_t number, size_t *at)
{
    for (size_t i = 0; i < part->cores.count; i++) {
        size_t k = (*at + i) % part->cores.count;
        if (part->cores.data[k]->number == number) {
            *at = k + 1;
            return part->cores.data[k];
        }
    }
    struct core *core = ss_alloc_zero(1, sizeof *core);
    core->number = number;
    core->group.sink = &setup->metrics;
    core->group.parent = &part->cores_group;
    snprintf(core->group.name, sizeof core->group.name, "core %d", (int)number);
    ss_vec_push(&part->cores, core);
    *at = part->cores.count;
    return core;
}

/* An offline core has no line in /proc/stat; its offline time is excluded when it returns. */
static void end_absent_cores(struct ss_host_system *part)
{
    for (size_t i = 0; i < part->cores.count; i++) {
        struct core *core = part->cores.data[i];
        if (!core->present && core->known) {
            ss_metric_end(&core->group, core_rows, core->metrics, CPU_METRICS, core->time_ns);
            core->known = false;
        }
        core->present = false;
    }
}

static void tick_cpu(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    struct ss_strview text;
    uint64_t time_ns;
    if (!ss_host_read(tick, &part->stat, &text, &time_ns)) {
        return;
    }
    size_t count = ss_host_cpu_parse(text, part->rows, MAX_CORES + 1);
    count = count <= MAX_CORES + 1 ? count : MAX_CORES + 1;
    size_t online = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ss_cpu_times *row = &part->rows[i];
        if (row->number >= 0) {
            struct core *core = find_core(part, tick->setup, row->number, &at);
            core->present = true;
            put_cpu(core, &core->group, core_rows, row, 1, time_ns);
            online++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (part->rows[i].number < 0) {
            put_cpu(&part->all, &part->cpu_group, cpu_rows, &part->rows[i],
                    online > 0 ? (double)online : 1, time_ns);
            break;
        }
    }
    end_absent_cores(part);
}

/* --- load, pressure, memory ------------------------------------------------------------------- */

static void tick_load(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    struct ss_strview text;
    struct ss_host_load load;
    uint64_t time_ns;
    if (!ss_host_read(tick, &part->loadavg, &text, &time_ns) || !ss_host_load_parse(text, &load)) {
        return;
    }
    const double values[LOAD_METRICS] = {[LOAD_1] = load.one,
                                         [LOAD_5] = load.five,
                                         [LOAD_15] = load.fifteen,
                                         [RUNNABLE] = (double)load.runnable};
    for (int i = 0; i < LOAD_METRICS; i++) {
        ss_metric_put(&part->load_group, &load_rows[i], &part->load[i], time_ns, values[i]);
    }
}

/* µs of stall per second as per cent. */
static void put_stall(struct ss_host_system *part, int metric, uint64_t total_us, uint64_t time_ns)
{
    ss_metric_put_rate(&part->pressure_group, &pressure_rows[metric], &part->pressures[metric],
                       &part->stalls[metric], total_us, time_ns, 1e-4);
}

static void tick_pressure(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    for (int i = 0; i < PRESSURES; i++) {
        struct ss_strview text;
        struct ss_host_pressure pressure;
        uint64_t time_ns;
        if (!ss_host_read(tick, &part->pressure[i], &text, &time_ns) ||
            !ss_host_pressure_parse(text, &pressure)) {
            continue;
        }
        if (pressure.has_some) {
            put_stall(part, 2 * i, pressure.some_us, time_ns);
        }
        if (pressure.has_full) {
            put_stall(part, 2 * i + 1, pressure.full_us, time_ns);
        }
    }
}

static void put_memory(struct ss_host_system *part, enum memory_metric metric, uint64_t time_ns,
                       double value)
{
    ss_metric_put(&part->memory_group, &memory_rows[metric], &part->memory[metric], time_ns, value);
}

static void tick_memory(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    struct ss_strview text;
    struct ss_host_memory memory;
    uint64_t time_ns;
    if (!ss_host_read(tick, &part->meminfo, &text, &time_ns) ||
        !ss_host_memory_parse(text, &memory)) {
        return;
    }
    const uint64_t values[] = {[USED] = memory.total_bytes - memory.available_bytes,
                               [AVAILABLE] = memory.available_bytes,
                               [FREE] = memory.free_bytes,
                               [CACHED] = memory.cached_bytes,
                               [DIRTY] = memory.dirty_bytes,
                               [SHARED] = memory.shared_bytes,
                               [TOTAL] = memory.total_bytes,
                               [SWAP_USED] = memory.swap_total_bytes - memory.swap_free_bytes};
    for (int i = USED; i <= TOTAL; i++) {
        put_memory(part, (enum memory_metric)i, time_ns, (double)values[i]);
    }
    if (memory.swap_total_bytes > 0) {
        put_memory(part, SWAP_USED, time_ns, (double)values[SWAP_USED]);
    }
}

static void put_paging(struct ss_host_system *part, enum memory_metric metric,
                       struct ss_metric_counter *counter, uint64_t value, uint64_t time_ns,
                       double factor)
{
    ss_metric_put_rate(&part->memory_group, &memory_rows[metric], &part->memory[metric], counter,
                       value, time_ns, factor);
}

static void tick_paging(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    struct ss_strview text;
    struct ss_host_paging paging;
    uint64_t time_ns;
    double page = (double)part->page_bytes;
    if (!ss_host_read(tick, &part->vmstat, &text, &time_ns) ||
        !ss_host_paging_parse(text, &paging)) {
        return;
    }
    if (paging.has_swap) {
        put_paging(part, SWAP_IN, &part->pages_in, paging.pages_in, time_ns, page);
        put_paging(part, SWAP_OUT, &part->pages_out, paging.pages_out, time_ns, page);
    }
    if (paging.has_faults) {
        put_paging(part, MAJOR_FAULTS, &part->faults, paging.major_faults, time_ns, 1);
    }
}

void ss_host_system_tick(struct ss_host_system *part, const struct ss_host_tick *tick)
{
    tick_cpu(part, tick);
    tick_load(part, tick);
    tick_pressure(part, tick);
    tick_memory(part, tick);
    tick_paging(part, tick);
}
