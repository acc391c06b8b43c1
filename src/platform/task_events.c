/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/task_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"

enum { DATA_PAGES = 8, MAX_CPUS = 4096, MAX_RECORD_BYTES = 512 };

struct cpu_ring {
    int fd;
    struct perf_event_mmap_page *control;
};

/* A child can be forked on one CPU and end on another: events of all rings are sorted by time. */
struct timed_event {
    uint64_t time;
    struct ss_task_event event;
};

struct ss_task_events {
    struct ss_vec_of(struct timed_event) pending;
    size_t ring_bytes;
    size_t data_bytes;
    int count;
    struct cpu_ring *rings;
};

static int open_on_cpu(pid_t pid, int cpu)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .inherit = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .task = 1,
                                   .comm = 1,
                                   .comm_exec = 1,
                                   .sample_id_all = 1,
                                   .sample_type = PERF_SAMPLE_TIME,
                                   .watermark = 1,
                                   .wakeup_watermark = UINT32_MAX,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};
    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static enum ss_status add_ring(struct ss_task_events *events, pid_t pid, int cpu,
                               struct ss_error *err)
{
    int fd = open_on_cpu(pid, cpu);
    if (fd < 0 && errno == ENODEV) {
        return SS_OK; /* the CPU is offline */
    }
    if (fd < 0) {
        return ss_fail_errno(err, errno, "cannot watch forks with perf events on CPU %d", cpu);
    }
    void *memory = mmap(NULL, events->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        int saved = errno;
        close(fd);
        return ss_fail_errno(err, saved, "cannot map the perf ring of CPU %d", cpu);
    }
    events->rings[events->count++] = (struct cpu_ring){fd, memory};
    return SS_OK;
}

enum ss_status ss_task_events_open(pid_t pid, struct ss_task_events **events, struct ss_error *err)
{
    long page = sysconf(_SC_PAGESIZE);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus < 1 || cpus > MAX_CPUS) {
        return ss_fail(err, SS_E_UNSUPPORTED, "%ld CPUs are more than the fork watch covers", cpus);
    }
    struct ss_task_events *opened = ss_alloc_zero(1, sizeof *opened);
    opened->data_bytes = (size_t)page * DATA_PAGES;
    opened->ring_bytes = opened->data_bytes + (size_t)page;
    opened->rings = ss_alloc_zero((size_t)cpus, sizeof *opened->rings);
    for (int cpu = 0; cpu < (int)cpus; cpu++) {
        enum ss_status status = add_ring(opened, pid, cpu, err);
        if (status != SS_OK) {
            ss_task_events_close(opened);
            return status;
        }
    }
    *events = opened;
    return SS_OK;
}

void ss_task_events_close(struct ss_task_events *events)
{
    if (events == NULL) {
        return;
    }
    for (int i = 0; i < events->count; i++) {
        munmap(events->rings[i].control, events->ring_bytes);
        close(events->rings[i].fd);
    }
    ss_vec_fini(&events->pending);
    ss_free(events->rings);
    ss_free(events);
}

struct task_record {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    char comm[16]; /* as long as needed, padded to 8; the sample id follows */
};

static bool decode(const unsigned char *bytes, struct ss_task_event *event)
{
    struct perf_event_header header;
    memcpy(&header, bytes, sizeof header);
    *event = (struct ss_task_event){0};
    if (header.type == PERF_RECORD_LOST) {
        event->kind = SS_TASK_MISSED;
        return true;
    }
    if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        struct comm_record record = {0};
        size_t size = header.size < sizeof record ? header.size : sizeof record;
        memcpy(&record, bytes, size);
        event->kind = SS_TASK_EXECED;
        event->pid = (pid_t)record.pid;
        event->tid = (pid_t)record.tid;
        memcpy(event->name, record.comm, sizeof event->name);
        event->name[sizeof event->name - 1] = '\0';
        return true;
    }
    if ((header.type != PERF_RECORD_FORK && header.type != PERF_RECORD_EXIT) ||
        header.size < sizeof(struct task_record)) {
        return false;
    }
    struct task_record record;
    memcpy(&record, bytes, sizeof record);
    event->pid = (pid_t)record.pid;
    event->tid = (pid_t)record.tid;
    event->parent = (pid_t)record.parent_pid;
    if (header.type == PERF_RECORD_EXIT) {
        event->kind = SS_TASK_EXITED;
    } else {
        event->kind = record.pid == record.parent_pid ? SS_TASK_THREAD : SS_TASK_FORKED;
    }
    return true;
}

/* With sample_id_all every record ends with the sample id; ours contains only the time. */
static uint64_t time_of(const unsigned char *record, size_t size)
{
    uint64_t time = 0;
    memcpy(&time, record + size - sizeof time, sizeof time);
    return time;
}

static void drain_ring(struct ss_task_events *events, struct cpu_ring *ring)
{
    const unsigned char *data = (const unsigned char *)ring->control + sysconf(_SC_PAGESIZE);
    uint64_t tail = ring->control->data_tail;
    /* Acquire: pairs with the kernel's store of data_head after it writes the records. */
    uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
    while (tail < head) {
        unsigned char record[MAX_RECORD_BYTES];
        struct perf_event_header header;
        for (size_t i = 0; i < sizeof header; i++) {
            ((unsigned char *)&header)[i] = data[(tail + i) % events->data_bytes];
        }
        if (header.size < sizeof header + sizeof(uint64_t) || header.size > head - tail ||
            header.size > sizeof record) {
            tail = head;
            break;
        }
        for (size_t i = 0; i < header.size; i++) {
            record[i] = data[(tail + i) % events->data_bytes];
        }
        struct timed_event timed = {.time = time_of(record, header.size)};
        if (decode(record, &timed.event)) {
            ss_vec_push(&events->pending, timed);
        }
        tail += header.size;
    }
    /* Release: all reads of the records happen before the kernel may overwrite them. */
    __atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
    const struct timed_event *left = a, *right = b;
    return (left->time > right->time) - (left->time < right->time);
}

void ss_task_events_drain(struct ss_task_events *events,
                          void (*on_event)(void *context, const struct ss_task_event *event),
                          void *context)
{
    /* Events newer than the cutoff wait for the next drain: this drain may have read an exit from a
     * later ring and missed the fork in an earlier ring. The system's clock, with which the kernel
     * stamps them, not an injected one. */
    uint64_t cutoff = ss_clock_monotonic_ns();
    for (int i = 0; i < events->count; i++) {
        drain_ring(events, &events->rings[i]);
    }
    size_t count = events->pending.count;
    if (count == 0) {
        return;
    }
    qsort(events->pending.data, count, sizeof *events->pending.data, by_time);
    size_t done = 0;
    while (done < count && events->pending.data[done].time < cutoff) {
        on_event(context, &events->pending.data[done++].event);
    }
    memmove(events->pending.data, events->pending.data + done,
            (count - done) * sizeof *events->pending.data);
    events->pending.count = count - done;
}
