/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host source costs at 2 Hz, with the trace that it is written to: once over a synthetic
 * /proc of a large busy machine (128 cores whose user and system time moves at every tick, 16
 * disks, 64 interfaces, 8 processes of 32 threads), once over the /proc of this machine with this
 * process.
 *
 * Ticks come every 25 ms here, and the CPU time of one is taken twice a second.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/host_cpu.h"
#include "source/host.h"
#include "trace/writer.h"
#include "trace/writer_tracks.h"

enum { CORES = 128, DISKS = 16, INTERFACES = 64, PROCESSES = 8, THREADS = 32, TICKS = 120 };
enum { FIRST_PID = 5000000, TEXT_BYTES = 64 * 1024 };

static char root[64];
static char text[TEXT_BYTES];
static struct ss_trace_writer *writer;
static uint32_t track_refs;
static uint64_t points;

static uint32_t random_below(uint32_t most)
{
    static uint64_t state = UINT64_C(88172645463325252);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % most;
}

static void check(enum ss_status status, const struct ss_error *err)
{
    if (status != SS_OK) {
        fprintf(stderr, "bench_host: %s\n", err->message);
        exit(1);
    }
}

/* --- the sink: a real trace ------------------------------------------------------------------- */

static uint32_t put_track(const struct ss_trace_track *wanted)
{
    struct ss_error err;
    struct ss_trace_track track = *wanted;
    track.ref = ++track_refs;
    check(ss_trace_writer_track(writer, &track, &err), &err);
    return track.ref;
}

static uint32_t on_group(void *context, struct ss_metric_owner owner, uint32_t parent,
                         enum ss_metric_subject subject, const char *name)
{
    (void)subject;
    (void)context;
    (void)owner;
    return put_track(&(struct ss_trace_track){
        .kind = SS_TRACK_GROUP, .parent_ref = parent, .name = ss_strview_of(name)});
}

static uint32_t on_series(void *context, struct ss_metric_owner owner, uint32_t parent,
                          const char *name, const char *unit)
{
    (void)context;
    (void)owner;
    return put_track(&(struct ss_trace_track){.kind = SS_TRACK_COUNTER,
                                              .parent_ref = parent,
                                              .name = ss_strview_of(name),
                                              .unit = ss_strview_of(unit)});
}

static void on_integer(void *context, uint32_t series, uint64_t time_ns, int64_t value)
{
    (void)context;
    struct ss_error err;
    points++;
    check(ss_trace_writer_counter(
              writer,
              &(struct ss_trace_counter){
                  .time_ns = time_ns, .track_ref = series, .is_integer = true, .integer = value},
              &err),
          &err);
}

static void on_real(void *context, uint32_t series, uint64_t time_ns, double value)
{
    (void)context;
    struct ss_error err;
    points++;
    check(ss_trace_writer_counter(
              writer,
              &(struct ss_trace_counter){.time_ns = time_ns, .track_ref = series, .real = value},
              &err),
          &err);
}

/* --- a large machine -------------------------------------------------------------------------- */

static void put_file(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    if (fd < 0 || pwrite(fd, text, length, 0) != (ssize_t)length ||
        ftruncate(fd, (off_t)length) != 0) {
        perror(path);
        exit(1);
    }
    close(fd);
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
}

static uint64_t cpu_ticks[CORES][8], disk_values[DISKS][11], network_values[INTERFACES][16];

/* What a core of a busy machine does in half a second: 50 ticks of user and system time, on every
 * eighth some interrupts and some waiting for disks. */
static void write_stat(void)
{
    uint64_t sum[8] = {0};
    for (int core = 0; core < CORES; core++) {
        uint32_t user = random_below(51), system = random_below(51 - user);
        cpu_ticks[core][SS_CPU_USER] += user;
        cpu_ticks[core][SS_CPU_SYSTEM] += system;
        cpu_ticks[core][SS_CPU_IDLE] += 50 - user - system;
        cpu_ticks[core][SS_CPU_IOWAIT] += core % 8 == 0 ? random_below(5) : 0;
        cpu_ticks[core][SS_CPU_SOFTIRQ] += core % 8 == 1 ? random_below(3) : 0;
        for (int i = 0; i < 8; i++) {
            sum[i] += cpu_ticks[core][i];
        }
    }
    text[0] = '\0';
    for (int core = -1; core < CORES; core++) {
        const uint64_t *row = core < 0 ? sum : cpu_ticks[core];
        core < 0 ? add("cpu ") : add("cpu%d", core);
        for (int i = 0; i < 8; i++) {
            add(" %llu", (unsigned long long)row[i] + 1000000);
        }
        add(" 0 0\n");
    }
    add("intr 534298");
    for (int i = 0; i < 3000; i++) {
        add(" %d", i % 7 == 0 ? i * 91 : 0);
    }
    add("\nctxt 1064639\nbtime 1795298093\nprocesses 22177\n");
    put_file("stat");
}

static void write_devices(void)
{
    text[0] = '\0';
    for (int disk = 0; disk < DISKS; disk++) {
        add(" 259 %d nvme%dn1", disk, disk);
        for (int i = 0; i < 11; i++) {
            disk_values[disk][i] += random_below(1000);
            add(" %llu", (unsigned long long)disk_values[disk][i]);
        }
        add(" 0 0 0 0 0 0\n");
    }
    put_file("diskstats");
    text[0] = '\0';
    for (int one = 0; one < INTERFACES; one++) {
        add("  eth%d:", one);
        for (int i = 0; i < 16; i++) {
            network_values[one][i] += random_below(100000);
            add(" %llu", (unsigned long long)network_values[one][i]);
        }
        add("\n");
    }
    put_file("net/dev");
}

static void write_processes(uint32_t turn)
{
    char name[64];
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(text, sizeof text,
                 "%d (python) R 1 1 1 0 -1 4194304 %u 0 %u 0 %u %u 0 0 20 0 %d 0 57479 3133440 %u "
                 "1 1 1\n",
                 FIRST_PID + i, turn * 100, turn, turn * 40, turn * 5, THREADS,
                 100000 + random_below(1000));
        snprintf(name, sizeof name, "%d/stat", FIRST_PID + i);
        put_file(name);
        snprintf(text, sizeof text,
                 "rchar: %u\nwchar: %u\nsyscr: 1\nsyscw: 1\nread_bytes: %u\nwrite_bytes: %u\n"
                 "cancelled_write_bytes: 0\n",
                 turn * 1000, turn * 100, turn * 4096, turn * 8192);
        snprintf(name, sizeof name, "%d/io", FIRST_PID + i);
        put_file(name);
    }
}

/* Files that this machine has in the length that they have everywhere. */
static void copy_file(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    text[length > 0 ? length : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
    put_file(name);
}

static void make_folder(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (mkdir(path, 0700) != 0) {
        perror(path);
        exit(1);
    }
}

static void make_machine(void)
{
    static const char *const copied[] = {"meminfo",      "vmstat",          "loadavg",
                                         "pressure/cpu", "pressure/memory", "pressure/io"};
    char name[96];
    snprintf(root, sizeof root, "/tmp/bench-host-XXXXXX");
    if (mkdtemp(root) == NULL) {
        perror(root);
        exit(1);
    }
    make_folder("net");
    make_folder("pressure");
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(name, sizeof name, "%d", FIRST_PID + i);
        make_folder(name);
        snprintf(name, sizeof name, "%d/task", FIRST_PID + i);
        make_folder(name);
        for (int k = 0; k < THREADS; k++) {
            snprintf(name, sizeof name, "%d/task/%d", FIRST_PID + i, FIRST_PID + 100 * i + k + 1);
            make_folder(name);
            snprintf(text, sizeof text,
                     "Name: python\nvoluntary_ctxt_switches:\t%d\n"
                     "nonvoluntary_ctxt_switches:\t7\n",
                     k);
            snprintf(name, sizeof name, "%d/task/%d/status", FIRST_PID + i,
                     FIRST_PID + 100 * i + k + 1);
            put_file(name);
        }
    }
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        copy_file(copied[i]);
    }
}

static void each_fake(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                      void *visitor)
{
    (void)context;
    for (int i = 0; i < PROCESSES; i++) {
        visit(visitor, FIRST_PID + i, (uint32_t)i + 1);
    }
}

static void each_real(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                      void *visitor)
{
    (void)context;
    visit(visitor, getpid(), 1);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* CPU time of one tick in ns, the writer's work included; the first two define everything. */
static double measure(bool synthetic, double *point_count, double *bytes)
{
    char path[] = "/tmp/bench-host-trace-XXXXXX";
    char reason[SS_SOURCE_REASON_BYTES];
    struct ss_error err;
    int fd = mkstemp(path);
    close(fd);
    /* As many ticks in a unit, and in what lies between restart points, as a recording has. */
    struct ss_trace_writer_options options = {.size = sizeof options,
                                              .path = path,
                                              .unit_ns = UINT64_C(50000000),
                                              .restart_ns = UINT64_C(1500000000)};
    check(ss_trace_writer_open(&options, &writer, &err), &err);
    struct ss_source_setup setup = {.proc_root = synthetic ? root : "/proc",
                                    .sys_root = synthetic ? root : "/sys",
                                    .interval_ns = UINT64_C(10000000),
                                    .since_ns = ss_clock_monotonic_ns(),
                                    .metrics = {.context = NULL,
                                                .group = on_group,
                                                .series = on_series,
                                                .integer = on_integer,
                                                .real = on_real},
                                    .each_process = synthetic ? each_fake : each_real};
    void *source = NULL;
    uint64_t cpu_ns = 0;
    struct ss_trace_writer_stats before = {0}, after;
    track_refs = 0;
    for (uint32_t turn = 1; turn <= TICKS + 2; turn++) {
        if (synthetic) {
            write_stat();
            write_devices();
            write_processes(turn);
        }
        if (source == NULL) {
            ss_source_host.start(&setup, &source, reason);
        }
        struct timespec pause = {0, 25000000};
        nanosleep(&pause, NULL);
        uint64_t begin_ns = ss_clock_thread_cpu_ns();
        ss_source_host.tick(source, ss_clock_monotonic_ns());
        check(ss_trace_writer_tick(writer, ss_clock_monotonic_ns(), NULL, &err), &err);
        cpu_ns += turn > 2 ? ss_clock_thread_cpu_ns() - begin_ns : 0;
        if (turn == 2) {
            points = 0;
            ss_trace_writer_get_stats(writer, &before);
        }
    }
    *point_count = (double)points / TICKS;
    ss_trace_writer_get_stats(writer, &after);
    *bytes = (double)(after.bytes_written - before.bytes_written) / TICKS;
    ss_source_host.stop(source, 0, reason);
    check(ss_trace_writer_close(writer, &err), &err);
    unlink(path);
    return (double)cpu_ns / TICKS;
}

static void report(const char *id, const char *what, bool synthetic)
{
    double point_count, bytes;
    double tick_ns = measure(synthetic, &point_count, &bytes);
    printf("%s\t%.3f\t%s: %.2f ms a tick, %.0f points, %.1f KiB a second written at 2 Hz\n", id,
           tick_ns * 2 / 1e7, what, tick_ns / 1e6, point_count, 2 * bytes / 1024);
}

static void remove_machine(void)
{
    char program[] = "rm", option[] = "-rf";
    char *const command[] = {program, option, root, NULL};
    pid_t pid;
    if (posix_spawnp(&pid, program, NULL, NULL, command, environ) != 0 ||
        waitpid(pid, NULL, 0) != pid) {
        perror("rm");
    }
}

int main(void)
{
    make_machine();
    report("host_128_cores", "synthetic, 128 cores, 8 processes of 32 threads", true);
    report("host_here", "this machine's own /proc", false);
    fflush(stdout);
    remove_machine();
    return 0;
}
