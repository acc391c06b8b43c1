/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "annot/stamp.h"
#include "base/alloc.h"
#include "base/thread.h"
#include "inject/device/clock.h"
#include "inject/device/gaps.h"
#include "inject/device/launch_queue.h"
#include "inject/device/launch_stack.h"
#include "inject/device/output.h"
#include "inject/device/outstanding.h"
#include "inject/device/pool.h"
#include "inject/device/recorded_events.h"
#include "inject/device/texts.h"

enum {
    IDLE_MS = 20,
    MOST_SWITCHES = 64,
    MOST_HELD = 32,
    MOST_METRICS = 128,
    MOST_COLLECTIVES = 256,
    MOST_END_MS = 30000
};
static const uint64_t flush_period_ns = UINT64_C(1000000000);
static const uint64_t urgent_period_ns = UINT64_C(40000000);
static const uint64_t scarce_period_ns = UINT64_C(1000000);
static const uint64_t urgent_ns = UINT64_C(1000000000);
static const uint64_t most_held_ns = UINT64_C(200000000);

static struct {
    const struct ss_device_interface *interface;
    struct ss_device_writer_hooks hooks;
    struct ss_device_output output;
    struct ss_device_clock clock;
    pthread_t thread;
    uint64_t flushed_ns;
    const char *stack_problem; /* as last described */
    _Atomic bool is_calibrated, is_ending, has_ended;
    _Atomic uint64_t urgent_until_ns;
    struct ss_outstanding outstanding;
    struct ss_recorded_events events;
    _Atomic uint64_t window_ns; /* begin of the window; UINT64_MAX: none is open yet */
} writer;

/* --- state ------------------------------------------------------------------------------------ */

static struct ss_device_ring_header *header(void)
{
    return writer.output.ring.header;
}

void ss_device_writer_set_state(enum ss_device_collector state)
{
    if (header() != NULL) {
        atomic_store_explicit(&header()->collector, state, memory_order_relaxed);
    }
}

void ss_device_writer_set_window(bool is_open)
{
    uint64_t was_ns = atomic_load_explicit(&writer.window_ns, memory_order_relaxed);
    if (!is_open) {
        atomic_store_explicit(&writer.urgent_until_ns, ss_stamp_monotonic_ns() + urgent_ns,
                              memory_order_relaxed);
    }
    if (is_open && (was_ns == 0 || was_ns == UINT64_MAX)) {
        atomic_store_explicit(&writer.window_ns, ss_stamp_monotonic_ns(), memory_order_relaxed);
    } else if (!is_open && was_ns == 0) {
        atomic_store_explicit(&writer.window_ns, UINT64_MAX, memory_order_relaxed);
    }
}

/* What the writer has not written yet; the first ones are the oldest. */
static struct {
    pthread_mutex_t lock;
    uint32_t count;
    bool is_on; /* after all of them */
    struct ss_device_switch_message waiting[MOST_SWITCHES];
} switches = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ss_device_writer_switch(bool on)
{
    pthread_mutex_lock(&switches.lock);
    if (on != switches.is_on && switches.count < MOST_SWITCHES) {
        switches.is_on = on;
        switches.waiting[switches.count++] = (struct ss_device_switch_message){
            .head.kind = SS_DEVICE_SWITCH, .time_ns = ss_stamp_monotonic_ns(), .is_on = on};
    }
    pthread_mutex_unlock(&switches.lock);
}

static void write_switches(void)
{
    struct ss_device_switch_message waiting[MOST_SWITCHES];
    pthread_mutex_lock(&switches.lock);
    uint32_t count = switches.count;
    memcpy(waiting, switches.waiting, count * sizeof *waiting);
    switches.count = 0;
    pthread_mutex_unlock(&switches.lock);
    for (uint32_t i = 0; i < count; i++) {
        ss_device_output_put(&writer.output, &waiting[i].head, sizeof waiting[i]);
    }
}

/* The same for what counters measured. */
static struct {
    pthread_mutex_t lock;
    uint32_t count;
    struct waiting_metrics {
        struct ss_device_metrics_message message;
        struct ss_device_metric *values; /* on the heap */
    } waiting[MOST_METRICS];
} metrics_queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ss_device_writer_put_metrics(const struct ss_device_metrics_message *metrics,
                                  const struct ss_device_metric *values)
{
    struct waiting_metrics waiting = {*metrics, ss_alloc((metrics->count + 1) * sizeof *values)};
    memcpy(waiting.values, values, metrics->count * sizeof *values);
    pthread_mutex_lock(&metrics_queue.lock);
    bool has_room = metrics_queue.count < MOST_METRICS;
    if (has_room) {
        metrics_queue.waiting[metrics_queue.count++] = waiting;
    }
    pthread_mutex_unlock(&metrics_queue.lock);
    if (!has_room) {
        ss_free(waiting.values);
        atomic_fetch_add_explicit(&header()->lost_messages, 1, memory_order_relaxed);
    }
    ss_device_pool_wake();
}

static void write_metrics(void)
{
    struct waiting_metrics waiting[MOST_METRICS];
    pthread_mutex_lock(&metrics_queue.lock);
    uint32_t count = metrics_queue.count;
    memcpy(waiting, metrics_queue.waiting, count * sizeof *waiting);
    metrics_queue.count = 0;
    pthread_mutex_unlock(&metrics_queue.lock);
    for (uint32_t i = 0; i < count; i++) {
        ss_device_output_put_metrics(&writer.output, &waiting[i].message, waiting[i].values);
        ss_free(waiting[i].values);
    }
}

void ss_device_writer_calibrate(bool needed)
{
    atomic_store_explicit(&writer.is_calibrated, needed, memory_order_relaxed);
    atomic_store_explicit(&header()->is_clock_calibrated, needed, memory_order_relaxed);
}

bool ss_device_writer_is_calibrated(void)
{
    return atomic_load_explicit(&writer.is_calibrated, memory_order_relaxed);
}

/* Of a few readings the closest. */
static void read_clocks(void)
{
    struct ss_device_clock_pair best = {0, 0};
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 5 && ss_device_writer_is_calibrated(); i++) {
        uint64_t theirs = 0, before_ns = ss_stamp_monotonic_ns();
        if (!writer.interface->read_clock(&theirs)) {
            return;
        }
        uint64_t took_ns = ss_stamp_monotonic_ns() - before_ns;
        if (took_ns < least_ns) {
            least_ns = took_ns;
            best = (struct ss_device_clock_pair){theirs, before_ns + took_ns / 2};
        }
    }
    if (best.theirs != 0) {
        ss_device_clock_add(&writer.clock, best);
    }
}

static void add_to(_Atomic uint64_t *count, uint64_t amount)
{
    atomic_fetch_add_explicit(count, amount, memory_order_relaxed);
}

static void count_losses(void)
{
    add_to(&header()->dropped_records, writer.interface->take_dropped());
    atomic_store_explicit(&header()->refused_buffers, ss_device_pool_refused(),
                          memory_order_relaxed);
    atomic_store_explicit(&header()->lost_launches, ss_launches_lost(), memory_order_relaxed);
}

/* --- messages --------------------------------------------------------------------------------- */

/* What ended before the window: it was collected to warm up. */
static bool is_before_window(uint64_t end_ns)
{
    return end_ns < atomic_load_explicit(&writer.window_ns, memory_order_relaxed);
}

static void write_launch(void *context, const struct ss_launch *launch)
{
    (void)context;
    bool is_call = writer.interface->is_call != NULL &&
                   writer.interface->is_call(launch->domain, launch->function);
    struct ss_device_launch_message message = {
        .head.kind = SS_DEVICE_LAUNCH,
        .begin_ns = launch->begin_ns,
        .end_ns = launch->end_ns,
        .thread = launch->thread,
        .correlation = launch->correlation,
        .stack = launch->stack,
        .name = writer.interface->function_name(launch->domain, launch->function),
        .flags = (launch->outer != 0 ? SS_DEVICE_LAUNCH_NESTED : 0) |
                 (launch->is_captured ? SS_DEVICE_LAUNCH_CAPTURED : 0) |
                 (is_call ? SS_DEVICE_LAUNCH_IS_CALL : 0),
        .outer = launch->outer,
        .domain = writer.interface->ring_domain(launch->domain)};
    ss_outstanding_observe(&writer.outstanding, launch->correlation);
    if (launch->is_kernel && !launch->is_captured && launch->outer == 0) {
        ss_outstanding_add(&writer.outstanding, launch->correlation);
    }
    if (!is_before_window(launch->end_ns)) {
        ss_device_output_put(&writer.output, &message.head, sizeof message);
    }
}

static uint64_t our_time(uint64_t theirs)
{
    if (writer.clock.count == 0) {
        read_clocks();
    }
    return ss_device_clock_convert(&writer.clock, theirs);
}

/* A duration stays as it is: over a second, two clocks differ by less than two readings of them. */
static void to_our_clock(uint64_t *begin_ns, uint64_t *end_ns)
{
    static const uint64_t second_ns = 1000000000;
    uint64_t begin = *begin_ns, end = *end_ns;
    bool is_short = begin != 0 && end >= begin && end - begin < second_ns;
    *begin_ns = our_time(begin);
    *end_ns = is_short ? *begin_ns + (end - begin) : our_time(end);
}

/* Work of a gap whose launch may still be on its way: its thread was launching as the gap began. */
static struct {
    struct ss_device_event events[MOST_HELD];
    uint32_t count;
} held;

static void hold(const struct ss_device_event *event)
{
    if (held.count < MOST_HELD) {
        held.events[held.count++] = *event;
    }
}

static void write_held(void)
{
    uint32_t kept = 0;
    uint64_t now_ns = ss_stamp_monotonic_ns();
    for (uint32_t i = 0; i < held.count; i++) {
        struct ss_device_event *event = &held.events[i];
        uint32_t correlation = event->message.work.correlation;
        if (ss_outstanding_has_observed(&writer.outstanding, correlation)) {
            if (event->message.work.work == SS_DEVICE_KERNEL) {
                ss_outstanding_remove(&writer.outstanding, correlation);
            }
            ss_device_output_put(&writer.output, &event->message.head, event->bytes);
        } else if (now_ns < event->message.work.begin_ns + most_held_ns) {
            held.events[kept++] = *event;
        }
    }
    held.count = kept;
}

/* Sets the texts and the times. false: it is left out. Long: one case for each kind of message. */
static bool complete(struct ss_device_event *event)
{
    uint64_t end_ns = UINT64_MAX;
    if (!writer.interface->complete(&writer.output, event)) {
        return false;
    }
    if (event->message.head.kind == SS_DEVICE_WORK) {
        struct ss_device_work_message *work = &event->message.work;
        to_our_clock(&work->begin_ns, &work->end_ns);
        end_ns = work->end_ns;
        if (ss_gaps_have(work->begin_ns) &&
            !ss_outstanding_has_observed(&writer.outstanding, work->correlation)) {
            hold(event);
            return false;
        }
        if (work->work == SS_DEVICE_KERNEL) {
            ss_outstanding_remove(&writer.outstanding, work->correlation);
        }
    } else if (event->message.head.kind == SS_DEVICE_CALL) {
        struct ss_device_call_message *call = &event->message.call;
        to_our_clock(&call->begin_ns, &call->end_ns);
        end_ns = call->end_ns;
        if (ss_gaps_have(call->begin_ns)) {
            return false;
        }
    } else if (event->message.head.kind == SS_DEVICE_WAIT) {
        to_our_clock(&event->message.wait.begin_ns, &event->message.wait.end_ns);
        event->message.wait.recorded_by = ss_recorded_events_find(
            &writer.events, event->message.wait.event, event->message.wait.correlation);
        end_ns = event->message.wait.end_ns;
    } else if (event->message.head.kind == SS_DEVICE_COMPILATION) {
        to_our_clock(&event->message.compilation.begin_ns, &event->message.compilation.end_ns);
        end_ns = event->message.compilation.end_ns;
    } else if (event->message.head.kind == SS_DEVICE_MEMORY) {
        struct ss_device_memory_message *memory = &event->message.memory;
        memory->time_ns = our_time(memory->time_ns);
        memory->is_early = is_before_window(memory->time_ns);
    } else if (event->message.head.kind == SS_DEVICE_POOL) {
        event->message.pool.time_ns = our_time(event->message.pool.time_ns);
        end_ns = event->message.pool.time_ns;
    }
    return !is_before_window(end_ns);
}

static void write_record(const void *record, size_t bytes)
{
    struct ss_device_event event;
    switch (writer.interface->decode(record, bytes, &event)) {
    case SS_DECODED_EVENT:
        if (complete(&event)) {
            ss_device_output_put(&writer.output, &event.message.head, event.bytes);
        }
        break;
    case SS_DECODED_RECORD:
        ss_recorded_events_add(&writer.events, event.message.wait.event,
                               event.message.wait.correlation);
        break;
    case SS_DECODED_TIMELESS:
        add_to(&header()->untimed_kernels, event.message.head.kind == SS_DEVICE_WORK);
        break;
    case SS_DECODED_COST:
        add_to(&header()->overhead_ns, event.overhead_ns);
        break;
    default:
        add_to(&header()->unknown_records, 1);
        break;
    }
}

static void write_buffer(struct ss_device_full *full)
{
    void *record = NULL;
    while (writer.interface->next_record(full->bytes, full->valid, &record)) {
        size_t at = (size_t)((uint8_t *)record - full->bytes);
        if (at >= full->valid) {
            break;
        }
        write_record(record, full->valid - at);
    }
    ss_device_pool_recycle(full);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void write_sample(struct ss_device_message *message, size_t bytes)
{
    const struct ss_device_sample_message *sample = (const void *)message;
    if (message->kind != SS_DEVICE_SAMPLE || !is_before_window(sample->end_ns)) {
        ss_device_output_put(&writer.output, message, bytes);
    }
}

static void write_samples(void)
{
    if (writer.interface->drain_samples != NULL) {
        add_to(&header()->lost_messages, writer.interface->drain_samples(write_sample));
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

static void write_node(uint64_t node, uint32_t stack)
{
    struct ss_device_node_message message = {
        .head.kind = SS_DEVICE_NODE, .node = node, .stack = stack};
    ss_device_output_put(&writer.output, &message.head, sizeof message);
}

/* What launches of collectives do comes after them, as the recorder needs it: it is taken before
 * them. */
static void write_launches(void)
{
    static struct ss_device_collective_message taken[MOST_COLLECTIVES]; /* of the writer's thread */
    size_t count;
    if (writer.interface->drain_nodes != NULL) {
        writer.interface->drain_nodes(write_node);
    }
    do {
        count = writer.interface->take_collectives(taken, MOST_COLLECTIVES);
        ss_launches_drain(write_launch, NULL);
        for (size_t i = 0; i < count; i++) {
            ss_device_output_put(&writer.output, &taken[i].head, sizeof taken[i]);
        }
    } while (count == MOST_COLLECTIVES);
}

/* Launches first: their work refers to them. */
static void write_all(bool waits)
{
    struct ss_device_full full;
    bool is_there = ss_device_pool_next_full(&full, waits ? IDLE_MS : 0);
    write_switches();
    write_metrics();
    write_launches();
    write_held();
    write_samples();
    while (is_there) {
        write_buffer(&full);
        write_launches();
        is_there = ss_device_pool_next_full(&full, 0);
    }
}

/* Once a second; more often for a while after a window, whose file waits for its last records, and
 * when the interface holds most of the buffers. */
static bool is_flush_due(uint64_t now_ns, bool is_urgent)
{
    uint64_t passed_ns = now_ns - writer.flushed_ns;
    return passed_ns >= (is_urgent ? urgent_period_ns : flush_period_ns) ||
           (passed_ns >= scarce_period_ns && ss_device_pool_is_scarce());
}

static void flush(void)
{
    uint64_t now_ns = ss_stamp_monotonic_ns();
    bool is_urgent = now_ns < atomic_load_explicit(&writer.urgent_until_ns, memory_order_relaxed);
    if (!is_flush_due(now_ns, is_urgent)) {
        return;
    }
    writer.flushed_ns = now_ns;
    read_clocks();
    if (writer.hooks.is_on() || is_urgent) {
        writer.interface->flush();
    }
    write_all(false);
    /* Pairs with the acquire of ss_device_work_flushed_ns: the ring has it. */
    atomic_store_explicit(&header()->flushed_ns, now_ns, memory_order_release);
    count_losses();
    const char *problem = ss_launch_stack_problem();
    if (problem != writer.stack_problem) {
        writer.stack_problem = problem;
        writer.hooks.describe();
    }
}

static void *run(void *argument)
{
    (void)argument;
    read_clocks();
    /* Pairs with the release of ss_device_writer_end. */
    while (!atomic_load_explicit(&writer.is_ending, memory_order_acquire)) {
        write_all(true);
        if (writer.hooks.is_due != NULL && writer.hooks.is_due()) {
            writer.hooks.is_on();
        }
        flush();
    }
    read_clocks();
    write_all(false);
    count_losses();
    ss_device_writer_set_state(SS_DEVICE_ENDED);
    atomic_store_explicit(&writer.has_ended, true, memory_order_release);
    return NULL;
}

bool ss_device_writer_is_free(char *problem, size_t size)
{
    if (header() != NULL) {
        snprintf(problem, size,
                 "devices of one kind are recorded in a process: another interface "
                 "was initialised first");
    }
    return header() == NULL;
}

bool ss_device_writer_start(const struct ss_device_interface *interface, uint32_t version,
                            const struct ss_device_writer_hooks *hooks, char *problem, size_t size)
{
    writer.interface = interface;
    writer.hooks = *hooks;
    writer.stack_problem = ss_launch_stack_problem();
    if (!ss_device_output_open(&writer.output, interface->number, version, problem, size)) {
        return false;
    }
    writer.flushed_ns = ss_stamp_monotonic_ns();
    if (!ss_thread_start("stepscope-gpu", run, NULL, &writer.thread)) {
        snprintf(problem, size, "the collector's thread cannot be created: too many threads");
        ss_device_writer_set_state(SS_DEVICE_REFUSED);
        return false;
    }
    pthread_detach(writer.thread);
    return true;
}

void ss_device_writer_end(unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    atomic_store_explicit(&writer.is_ending, true, memory_order_release);
    ss_device_pool_wake();
    uint64_t written = 0;
    for (unsigned idle_ms = 0, all_ms = 0; idle_ms < wait_ms && all_ms < MOST_END_MS; all_ms++) {
        if (atomic_load_explicit(&writer.has_ended, memory_order_acquire)) {
            return;
        }
        uint64_t now_written = atomic_load_explicit(&header()->head, memory_order_relaxed);
        idle_ms = now_written == written ? idle_ms + 1 : 0;
        written = now_written;
        nanosleep(&pause, NULL);
    }
}

bool ss_device_writer_close(void)
{
    if (!atomic_load_explicit(&writer.has_ended, memory_order_acquire)) {
        return false;
    }
    ss_device_output_close(&writer.output);
    pthread_mutex_lock(&switches.lock);
    switches.count = 0;
    switches.is_on = false;
    pthread_mutex_unlock(&switches.lock);
    writer.clock = (struct ss_device_clock){.count = 0};
    ss_gaps_forget();
    ss_outstanding_clear(&writer.outstanding);
    memset(&writer.events, 0, sizeof writer.events);
    atomic_store_explicit(&writer.window_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&writer.urgent_until_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&writer.has_ended, false, memory_order_relaxed);
    /* The next thread is started after this. */
    atomic_store_explicit(&writer.is_ending, false, memory_order_relaxed);
    return true;
}

uint32_t ss_device_writer_outstanding(void)
{
    return ss_outstanding_count(&writer.outstanding);
}
