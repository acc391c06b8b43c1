/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource usage of each recorded process. Its files stay open while there are few processes; an
 * open file never shows a later process with the same pid.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "platform/process_usage.h"
#include "platform/task_state.h"
#include "source/host_parts.h"

enum {
    MAX_OPEN_PROCESSES = 96, /* processes with open files */
    MAX_OPEN_THREADS = 1024, /* threads with open files */
    OPEN_FILES_DIVISOR = 8,  /* and at most this fraction of RLIMIT_NOFILE */
    THREADS_PER_TICK = 64,   /* switches read per tick: each costs over a microsecond */
    MAX_THREADS = 16384,     /* tracked per process */
    LIST_THREADS_EVERY = 4   /* ticks, while their number is constant */
};

static const uint64_t second_ns = UINT64_C(1000000000);
static const uint64_t min_interval_ns = UINT64_C(20000000); /* shortest interval of a rate */

enum process_metric {
    CPU,
    CPU_USER,
    CPU_SYSTEM,
    RSS,
    THREADS,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    STORAGE_READ,
    STORAGE_WRITTEN,
    CALLS_READ,
    CALLS_WRITTEN,
    VOLUNTARY,
    INVOLUNTARY,
    PROCESS_METRICS
};
static const struct ss_metric_row rows[PROCESS_METRICS] = {
    [CPU] = {"CPU", "%", 1, true},
    [CPU_USER] = {"CPU user", "%", 1, true},
    [CPU_SYSTEM] = {"CPU system", "%", 1, true},
    [RSS] = {"resident memory", "bytes", 0, true},
    [THREADS] = {"threads", "count", 0, true},
    [MINOR_FAULTS] = {"minor faults", "/s", 1, true},
    [MAJOR_FAULTS] = {"major faults", "/s", 1, true},
    [STORAGE_READ] = {"storage read", "bytes/s", 0, true},
    [STORAGE_WRITTEN] = {"storage written", "bytes/s", 0, true},
    [CALLS_READ] = {"read by calls", "bytes/s", 0, true},
    [CALLS_WRITTEN] = {"written by calls", "bytes/s", 0, true},
    [VOLUNTARY] = {"voluntary switches", "/s", 1, true},
    [INVOLUNTARY] = {"involuntary switches", "/s", 1, true}};

enum counter {
    RUN_NS,
    USER_TICKS,
    SYSTEM_TICKS,
    MINOR,
    MAJOR,
    READ_BYTES,
    WRITTEN_BYTES,
    READ_CALL_BYTES,
    WRITTEN_CALL_BYTES,
    COUNTERS
};

struct thread {
    pid_t tid;
    bool present;
    struct ss_polled_file status; /* stays open only while there are few threads */
    struct ss_metric_counter voluntary, involuntary;
    double voluntary_rate, involuntary_rate;
};

struct process {
    pid_t pid;
    uint32_t ref;
    bool present, ended;
    bool from_start; /* began during the recording: its counters start at 0 */
    bool keeps_open; /* its files stay open */
    uint64_t start_time_ticks;
    int clock;            /* its CPU clock */
    uint64_t began_ns;    /* when from_start */
    uint64_t switches_ns; /* last read of context switches; 0: never */
    struct ss_polled_file stat, io, task;
    struct ss_metric_counter counters[COUNTERS];
    struct ss_metric metrics[PROCESS_METRICS];
    struct ss_metric_group group;
    struct ss_vec_of(struct thread) threads;
    size_t next_thread; /* next thread to read switches of */
    uint64_t listed_ns; /* last listing of its threads; 0: never */
    uint32_t unlisted;  /* ticks since the last listing */
    bool must_list;     /* a thread has ended */
};

struct ss_host_processes {
    const struct ss_source_setup *setup;
    struct ss_vec_of(struct process *) processes;
    size_t open_processes, at;
    size_t open_threads, most_open_threads;
    double ticks_per_second;
    uint64_t page_bytes;
    const struct ss_host_tick *tick; /* the current tick; else NULL */
};

static size_t most_open_threads(void)
{
    struct rlimit files;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / OPEN_FILES_DIVISOR : 0;
    return most < MAX_OPEN_THREADS ? (size_t)most : MAX_OPEN_THREADS;
}

struct ss_host_processes *ss_host_processes_open(const struct ss_source_setup *setup)
{
    struct ss_host_processes *part = ss_alloc_zero(1, sizeof *part);
    part->setup = setup;
    part->most_open_threads = most_open_threads();
    part->ticks_per_second = (double)sysconf(_SC_CLK_TCK);
    part->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return part;
}

static void close_files(struct process *process)
{
    ss_polled_file_close(&process->stat);
    ss_polled_file_close(&process->io);
    ss_polled_file_close(&process->task);
}

static void close_thread(struct ss_host_processes *part, struct thread *thread)
{
    part->open_threads -= ss_polled_file_is_open(&thread->status);
    ss_polled_file_close(&thread->status);
}

static void free_process(struct ss_host_processes *part, struct process *process)
{
    close_files(process);
    for (size_t i = 0; i < process->threads.count; i++) {
        close_thread(part, &process->threads.data[i]);
    }
    ss_vec_fini(&process->threads);
    ss_free(process);
}

void ss_host_processes_close(struct ss_host_processes *part)
{
    for (size_t i = 0; i < part->processes.count; i++) {
        struct process *process = part->processes.data[i];
        if (!process->ended) {
            ss_metric_close(&process->group, rows, process->metrics, PROCESS_METRICS,
                            ss_clock_now_ns(part->setup->clock));
        }
        free_process(part, process);
    }
    ss_vec_fini(&part->processes);
    ss_free(part);
}

static void open_files(struct process *process, const char *proc_root)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%.256s/%d", proc_root, (int)process->pid);
    ss_polled_file_open(&process->stat, folder, "stat");
    ss_polled_file_open(&process->io, folder, "io");
    ss_polled_file_open(&process->task, folder, "task");
}

static struct process *find(struct ss_host_processes *part, uint32_t ref)
{
    for (size_t i = 0; i < part->processes.count; i++) {
        size_t k = (part->at + i) % part->processes.count;
        if (part->processes.data[k]->ref == ref) {
            part->at = k + 1;
            return part->processes.data[k];
        }
    }
    return NULL;
}

static struct process *add(struct ss_host_processes *part, pid_t pid, uint32_t ref)
{
    struct process *process = ss_alloc_zero(1, sizeof *process);
    process->pid = pid;
    process->ref = ref;
    process->stat = process->io = process->task = SS_POLLED_FILE_NONE;
    process->keeps_open = part->open_processes < MAX_OPEN_PROCESSES;
    part->open_processes += process->keeps_open;
    process->group = (struct ss_metric_group){.sink = &part->setup->metrics,
                                              .owner = {.process_ref = ref},
                                              .subject = SS_METRICS_PROCESS,
                                              .name = "usage"};
    if (process->keeps_open) {
        open_files(process, part->setup->proc_root);
    }
    ss_vec_push(&part->processes, process);
    part->at = part->processes.count;
    return process;
}

/* --- counters --------------------------------------------------------------------------------- */

/* The start time of a process on the trace clock. The kernel counts from boot, including suspend.
 */
static uint64_t start_ns(const struct ss_host_processes *part, uint64_t ticks)
{
    struct ss_clock_reading now;
    ss_clock_now(part->setup->clock, &now);
    double asleep = (double)(int64_t)(now.boottime_ns - now.monotonic_ns) / 1e9;
    double seconds = (double)ticks / part->ticks_per_second - asleep;
    return seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
}

/* The first reading. Counters of a process that began during the recording start at 0. */
static void begin(const struct ss_host_processes *part, struct process *process,
                  const struct ss_process_usage *usage)
{
    uint64_t began_ns = start_ns(part, usage->start_time_ticks);
    process->start_time_ticks = usage->start_time_ticks;
    process->clock = ss_task_process_clock(process->pid);
    process->from_start = began_ns + second_ns / 50 >= part->setup->since_ns;
    if (process->from_start) {
        process->began_ns = began_ns =
            began_ns > part->setup->since_ns ? began_ns : part->setup->since_ns;
        for (int i = 0; i < COUNTERS; i++) {
            process->counters[i] = (struct ss_metric_counter){true, 0, began_ns};
        }
    }
}

static void put(struct process *process, enum process_metric metric, uint64_t time_ns, double value)
{
    ss_metric_put(&process->group, &rows[metric], &process->metrics[metric], time_ns, value);
}

static void put_rate(struct process *process, enum process_metric metric, enum counter which,
                     uint64_t value, uint64_t time_ns, double factor)
{
    struct ss_metric_counter *counter = &process->counters[which];
    if (!counter->known || time_ns >= counter->time_ns + min_interval_ns) {
        ss_metric_put_rate(&process->group, &rows[metric], &process->metrics[metric], counter,
                           value, time_ns, factor);
    }
}

static void put_usage(const struct ss_host_processes *part, struct process *process,
                      const struct ss_process_usage *usage, uint64_t time_ns)
{
    double percent = 100 / part->ticks_per_second;
    /* The CPU clock is exact; the ticks of stat have a resolution of 10 ms. */
    uint64_t run_time_ns = ss_clock_now_ns(part->setup->clock);
    uint64_t run_ns = ss_task_process_run_ns(process->clock);
    if (run_ns == 0) {
        uint64_t ticks = usage->user_ticks + usage->system_ticks;
        run_ns = (uint64_t)((double)ticks * 1e9 / part->ticks_per_second);
    }
    put_rate(process, CPU, RUN_NS, run_ns, run_time_ns, 1e-7);
    put_rate(process, CPU_USER, USER_TICKS, usage->user_ticks, time_ns, percent);
    put_rate(process, CPU_SYSTEM, SYSTEM_TICKS, usage->system_ticks, time_ns, percent);
    put_rate(process, MINOR_FAULTS, MINOR, usage->minor_faults, time_ns, 1);
    put_rate(process, MAJOR_FAULTS, MAJOR, usage->major_faults, time_ns, 1);
    if (usage->state != 'Z' && usage->state != 'X') { /* a dead process has neither */
        put(process, RSS, time_ns, (double)usage->rss_pages * (double)part->page_bytes);
        put(process, THREADS, time_ns, (double)usage->threads);
    }
}

/* Readable only for processes of the same user that have not changed their privileges. */
static void put_io(const struct ss_host_processes *part, struct process *process)
{
    struct ss_strview text;
    struct ss_process_io io;
    uint64_t time_ns;
    if (!ss_host_read(part->tick, &process->io, &text, &time_ns) ||
        !ss_process_io_parse(text, &io)) {
        return;
    }
    put_rate(process, STORAGE_READ, READ_BYTES, io.read_bytes, time_ns, 1);
    put_rate(process, STORAGE_WRITTEN, WRITTEN_BYTES, io.written_bytes, time_ns, 1);
    put_rate(process, CALLS_READ, READ_CALL_BYTES, io.read_call_bytes, time_ns, 1);
    put_rate(process, CALLS_WRITTEN, WRITTEN_CALL_BYTES, io.written_call_bytes, time_ns, 1);
}

/* --- context switches -------------------------------------------------------------------------
 * The kernel counts them per thread only (the status file of a process is that of its main thread).
 * Reading all threads of a large process would cost too much: each tick reads the next few, and the
 * rate of a process is the sum of the latest rates of its threads. The threads are not listed at
 * each tick: while their number is constant and no thread read has ended, few can have changed. */

static struct thread *find_thread(struct process *process, pid_t tid, size_t *at)
{
    for (size_t i = 0; i < process->threads.count; i++) {
        size_t k = (*at + i) % process->threads.count;
        if (process->threads.data[k].tid == tid) {
            *at = k + 1;
            return &process->threads.data[k];
        }
    }
    if (process->threads.count >= MAX_THREADS) {
        return NULL;
    }
    /* The counters of a new thread start at 0, after the last listing of its process. */
    uint64_t since_ns = process->listed_ns != 0 ? process->listed_ns : process->began_ns;
    struct ss_metric_counter none = {since_ns != 0, 0, since_ns};
    ss_vec_push(&process->threads, (struct thread){.tid = tid,
                                                   .status = SS_POLLED_FILE_NONE,
                                                   .voluntary = none,
                                                   .involuntary = none});
    *at = process->threads.count;
    return &process->threads.data[process->threads.count - 1];
}

/* What getdents64(2) gives: not each C library declares it. */
struct folder_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes; /* of this entry */
    uint8_t type;
    char name[];
};

/* The raw system call: opendir would allocate at every tick. */
static void list_threads(struct ss_host_processes *part, struct process *process)
{
    size_t at = 0;
    char *buffer = part->tick->buffer;
    lseek(process->task.fd, 0, SEEK_SET);
    for (;;) {
        long got = syscall(SYS_getdents64, process->task.fd, buffer, 65536);
        if (got <= 0) {
            break;
        }
        for (long offset = 0; offset < got;) {
            const struct folder_entry *entry = (const void *)(buffer + offset);
            offset += entry->bytes;
            long tid = strtol(entry->name, NULL, 10);
            struct thread *thread = tid > 0 ? find_thread(process, (pid_t)tid, &at) : NULL;
            if (thread != NULL) {
                thread->present = true;
            }
        }
    }
    size_t remaining = 0;
    for (size_t i = 0; i < process->threads.count; i++) {
        struct thread *thread = &process->threads.data[i];
        if (thread->present) {
            thread->present = false;
            process->threads.data[remaining++] = *thread;
        } else {
            close_thread(part, thread);
        }
    }
    process->threads.count = remaining;
}

static void update_threads(struct ss_host_processes *part, struct process *process,
                           uint64_t thread_count)
{
    process->unlisted++;
    if (process->must_list || process->threads.count != thread_count ||
        process->unlisted >= LIST_THREADS_EVERY) {
        uint64_t now_ns = ss_clock_now_ns(part->setup->clock);
        list_threads(part, process);
        process->listed_ns = now_ns;
        process->unlisted = 0;
        process->must_list = false;
    }
}

static void read_thread(struct ss_host_processes *part, struct process *process,
                        struct thread *thread)
{
    if (!ss_polled_file_is_open(&thread->status)) {
        char name[32];
        snprintf(name, sizeof name, "%d/status", (int)thread->tid);
        thread->status.fd = openat(process->task.fd, name, O_RDONLY | O_CLOEXEC);
        part->open_threads += ss_polled_file_is_open(&thread->status);
    }
    struct ss_strview text;
    struct ss_thread_switches switches;
    uint64_t time_ns;
    bool is_readable = ss_host_read(part->tick, &thread->status, &text, &time_ns) &&
                       ss_thread_switches_parse(text, &switches);
    if (is_readable && time_ns >= thread->voluntary.time_ns + min_interval_ns) {
        ss_metric_rate(&thread->voluntary, switches.voluntary, time_ns, &thread->voluntary_rate);
        ss_metric_rate(&thread->involuntary, switches.involuntary, time_ns,
                       &thread->involuntary_rate);
    }
    process->must_list |= !is_readable;
    if (!is_readable || part->open_threads > part->most_open_threads) {
        close_thread(part, thread);
    }
}

static void put_switches(struct ss_host_processes *part, struct process *process,
                         uint64_t thread_count)
{
    if (!ss_polled_file_is_open(&process->task)) {
        return;
    }
    update_threads(part, process, thread_count);
    size_t count = process->threads.count;
    size_t share = THREADS_PER_TICK / part->processes.count;
    share = share == 0 ? 1 : share;
    for (size_t i = 0; i < count && i < share; i++) {
        process->next_thread = process->next_thread < count ? process->next_thread : 0;
        read_thread(part, process, &process->threads.data[process->next_thread++]);
    }
    double voluntary = 0, involuntary = 0;
    for (size_t i = 0; i < count; i++) {
        const struct thread *thread = &process->threads.data[i];
        voluntary += thread->voluntary_rate;
        involuntary += thread->involuntary_rate;
    }
    /* The first rate needs a second reading, unless the process began during the recording. */
    uint64_t since_ns = process->switches_ns != 0 ? process->switches_ns : process->began_ns;
    uint64_t now_ns = ss_clock_now_ns(part->setup->clock);
    if (since_ns != 0 && now_ns < since_ns + min_interval_ns) {
        return;
    }
    process->switches_ns = now_ns;
    if (since_ns != 0) {
        put(process, VOLUNTARY, since_ns, voluntary);
        put(process, INVOLUNTARY, since_ns, involuntary);
    }
}

/* --- ticks ------------------------------------------------------------------------------------ */

static void read_process(struct ss_host_processes *part, struct process *process)
{
    struct ss_strview text;
    struct ss_process_usage usage;
    uint64_t time_ns;
    if (!process->keeps_open) {
        open_files(process, part->setup->proc_root);
    }
    bool is_readable = ss_host_read(part->tick, &process->stat, &text, &time_ns) &&
                       ss_process_usage_parse(text, &usage);
    if (is_readable && process->start_time_ticks == 0) {
        begin(part, process, &usage);
    }
    if (is_readable && usage.start_time_ticks == process->start_time_ticks) {
        put_usage(part, process, &usage, time_ns);
        put_io(part, process);
        put_switches(part, process, usage.threads);
    }
    if (!process->keeps_open) {
        close_files(process);
    }
}

static void visit(void *visitor, pid_t pid, uint32_t ref)
{
    struct ss_host_processes *part = visitor;
    struct process *process = find(part, ref);
    if (process == NULL) {
        process = add(part, pid, ref);
    }
    process->present = true;
    if (!process->ended) {
        read_process(part, process);
    }
}

static void end(struct ss_host_processes *part, struct process *process)
{
    ss_metric_end(&process->group, rows, process->metrics, PROCESS_METRICS,
                  ss_clock_now_ns(part->setup->clock));
    part->open_processes -= process->keeps_open;
    free_process(part, process);
}

void ss_host_processes_tick(struct ss_host_processes *part, const struct ss_host_tick *tick)
{
    part->tick = tick;
    part->at = 0;
    part->setup->each_process(part->setup->context, visit, part);
    size_t remaining = 0;
    for (size_t i = 0; i < part->processes.count; i++) {
        struct process *process = part->processes.data[i];
        if (!process->present) {
            end(part, process);
            continue;
        }
        process->present = false;
        part->processes.data[remaining++] = process;
    }
    part->processes.count = remaining;
    part->tick = NULL;
}

void ss_host_processes_ending(struct ss_host_processes *part, const struct ss_host_tick *tick,
                              pid_t pid)
{
    part->tick = tick;
    for (size_t i = 0; i < part->processes.count; i++) {
        struct process *process = part->processes.data[i];
        if (process->pid == pid && !process->ended) {
            read_process(part, process);
            process->ended = true;
            ss_metric_end(&process->group, rows, process->metrics, PROCESS_METRICS,
                          ss_clock_now_ns(part->setup->clock));
        }
    }
    part->tick = NULL;
}
