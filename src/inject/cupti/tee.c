/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/tee.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "annot/stamp.h"
#include "inject/cupti/tee_client.h"

enum { KINDS = 256, DOMAINS = 3, MOST_FUNCTIONS = 2048, MOST_TIMES = 3, KERNEL_COMPLETED = 32 };
/* Results of CUPTI. */
enum { INVALID_PARAMETER = 1, INVALID_OPERATION = 7, NOT_SUPPORTED = 27 };

/* Where a record has times, which are converted; 0: none more. Records of other kinds have none
 * that stepscope knows. */
#define SS_CUPTI_FIELD(record, field, member, type, offset) AT_##record##_##field = (offset),
enum {
#include "inject/cupti/cupti_layout.def"
    AFTER_FIELDS
};
static const struct {
    bool is_known;
    uint8_t at[MOST_TIMES];
} times[KINDS] = {
    [SS_CUPTI_COPY] = {true, {AT_copy_begin, AT_copy_end}},
    [SS_CUPTI_MEMSET] = {true, {AT_memset_begin, AT_memset_end}},
    [SS_CUPTI_KERNEL] = {true, {AT_kernel_begin, AT_kernel_end, KERNEL_COMPLETED}},
    [SS_CUPTI_CONCURRENT_KERNEL] = {true, {AT_kernel_begin, AT_kernel_end, KERNEL_COMPLETED}},
    [SS_CUPTI_DRIVER_CALL] = {true, {AT_call_begin, AT_call_end}},
    [SS_CUPTI_RUNTIME_CALL] = {true, {AT_call_begin, AT_call_end}},
    [SS_CUPTI_DEVICE] = {true, {0}},
    [SS_CUPTI_CONTEXT] = {true, {0}},
    [SS_CUPTI_OVERHEAD] = {true, {AT_overhead_begin, AT_overhead_end}},
    [SS_CUPTI_PEER_COPY] = {true, {AT_peer_copy_begin, AT_peer_copy_end}},
    [SS_CUPTI_EVENT] = {true, {0}},
    [SS_CUPTI_WAIT] = {true, {AT_wait_begin, AT_wait_end}},
    [SS_CUPTI_EXTERNAL] = {true, {0}},
    [SS_CUPTI_GRAPH_LAUNCH] = {true, {AT_graph_launch_begin, AT_graph_launch_end}},
};

struct reading {
    uint64_t ours_ns, theirs;
};

static struct {
    pthread_mutex_t lock; /* of what follows, if it is not atomic */
    const struct ss_cupti *cupti;
    void (*restore)(int kind);
    ss_cupti_request_buffer *request; /* NULL: no client */
    ss_cupti_buffer_completed *completed;
    ss_cupti_timestamp *clock; /* the client's */
    struct reading first, last;
    uint8_t *buffer; /* that the client has given, and waits for */
    size_t size, used, most_records, records;
    bool is_monotonic;
    _Atomic uint32_t count; /* kinds that it has enabled */
    _Atomic bool kinds[KINDS], is_muted[DOMAINS][MOST_FUNCTIONS];
    _Atomic size_t dropped_for_client, dropped_for_us;
} tee = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ss_cupti_tee_init(const struct ss_cupti *cupti, void (*restore)(int kind))
{
    tee.cupti = cupti;
    tee.restore = restore;
}

void ss_cupti_tee_set_clock(bool is_monotonic)
{
    tee.is_monotonic = is_monotonic;
}

bool ss_cupti_tee_is_active(void)
{
    return atomic_load_explicit(&tee.count, memory_order_acquire) > 0;
}

bool ss_cupti_tee_wants_kind(int kind)
{
    return kind >= 0 && kind < KINDS && atomic_load(&tee.kinds[kind]);
}

bool ss_cupti_tee_wants_function(int domain, uint32_t function)
{
    int kind = domain == SS_CUPTI_DOMAIN_RUNTIME ? SS_CUPTI_RUNTIME_CALL : SS_CUPTI_DRIVER_CALL;
    return ss_cupti_tee_wants_kind(kind) && function < MOST_FUNCTIONS &&
           !atomic_load(&tee.is_muted[domain][function]);
}

/* --- the client's clock ----------------------------------------------------------------------- */

/* Of a few readings the closest. Without a clock of its own, a client expects CUPTI's. */
static struct reading read_clocks(void)
{
    struct reading best = {0, 0};
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before_ns = ss_stamp_monotonic_ns();
        uint64_t theirs = tee.clock != NULL ? tee.clock() : ss_stamp_realtime_ns();
        uint64_t took_ns = ss_stamp_monotonic_ns() - before_ns;
        if (took_ns < least_ns) {
            least_ns = took_ns;
            best = (struct reading){before_ns + took_ns / 2, theirs};
        }
    }
    return best;
}

static uint64_t to_theirs(uint64_t ns)
{
    double passed = (double)(int64_t)(tee.last.ours_ns - tee.first.ours_ns);
    double rate = 1;
    if (tee.clock != NULL && passed > 0) {
        rate = (double)(int64_t)(tee.last.theirs - tee.first.theirs) / passed;
    }
    return ns == 0 ? 0
                   : tee.last.theirs +
                         (uint64_t)(int64_t)((double)(int64_t)(ns - tee.last.ours_ns) * rate);
}

static void convert(uint8_t *record, uint32_t kind)
{
    for (size_t i = 0; tee.is_monotonic && i < MOST_TIMES && times[kind].at[i] != 0; i++) {
        uint64_t time;
        memcpy(&time, record + times[kind].at[i], sizeof time);
        time = to_theirs(time);
        memcpy(record + times[kind].at[i], &time, sizeof time);
    }
}

/* --- the client's buffers, with the lock ------------------------------------------------------ */

static void return_buffer(void)
{
    if (tee.buffer != NULL) {
        uint8_t *buffer = tee.buffer;
        tee.buffer = NULL;
        tee.completed(NULL, 0, buffer, tee.size, tee.used);
    }
}

static bool has_room(size_t bytes)
{
    return tee.buffer != NULL && tee.size - tee.used >= bytes &&
           (tee.most_records == 0 || tee.records < tee.most_records);
}

static void ask_for_buffer(void)
{
    tee.buffer = NULL;
    tee.size = tee.used = tee.most_records = tee.records = 0;
    tee.request(&tee.buffer, &tee.size, &tee.most_records);
}

static void give(const uint8_t *record, size_t bytes, uint32_t kind)
{
    if (!has_room(bytes)) {
        return_buffer();
        ask_for_buffer();
    }
    if (!has_room(bytes)) {
        atomic_fetch_add(&tee.dropped_for_client, 1);
        return;
    }
    memcpy(tee.buffer + tee.used, record, bytes);
    convert(tee.buffer + tee.used, kind);
    tee.used += bytes;
    tee.records++;
}

static bool is_for_client(const uint8_t *record, size_t bytes, uint32_t *kind)
{
    if (bytes < sizeof *kind) {
        return false;
    }
    memcpy(kind, record, sizeof *kind);
    if (*kind >= KINDS || !atomic_load(&tee.kinds[*kind])) {
        return false;
    }
    bool is_call = *kind == SS_CUPTI_RUNTIME_CALL || *kind == SS_CUPTI_DRIVER_CALL;
    return !is_call || bytes < SS_CUPTI_call_BYTES ||
           ss_cupti_tee_wants_function(*kind == SS_CUPTI_RUNTIME_CALL ? SS_CUPTI_DOMAIN_RUNTIME
                                                                      : SS_CUPTI_DOMAIN_DRIVER,
                                       ss_cupti_call_function(record));
}

/* Records have the size of the library's version: to the next one, or the end. */
void ss_cupti_tee_copy(uint8_t *buffer, size_t valid)
{
    void *next = NULL;
    if (!ss_cupti_tee_is_active() || buffer == NULL) {
        return;
    }
    pthread_mutex_lock(&tee.lock);
    tee.last = read_clocks();
    bool is_there = tee.cupti->ActivityGetNextRecord(buffer, valid, &next) == SS_CUPTI_OK;
    while (is_there && next != NULL) {
        uint8_t *record = next;
        is_there = tee.cupti->ActivityGetNextRecord(buffer, valid, &next) == SS_CUPTI_OK;
        uint8_t *end = is_there ? next : buffer + valid;
        uint32_t kind;
        if (end <= record || end > buffer + valid) {
            break;
        }
        if (is_for_client(record, (size_t)(end - record), &kind)) {
            give(record, (size_t)(end - record), kind);
        }
    }
    pthread_mutex_unlock(&tee.lock);
}

/* A client may take its having no buffer for having no records. */
void ss_cupti_tee_on_request(void)
{
    if (ss_cupti_tee_is_active()) {
        pthread_mutex_lock(&tee.lock);
        if (tee.buffer == NULL) {
            ask_for_buffer();
        }
        pthread_mutex_unlock(&tee.lock);
    }
}

/* --- the client's calls ----------------------------------------------------------------------- */

static uint32_t register_callbacks(ss_cupti_request_buffer *request,
                                   ss_cupti_buffer_completed *completed)
{
    if (request == NULL || completed == NULL) {
        return INVALID_PARAMETER;
    }
    pthread_mutex_lock(&tee.lock);
    tee.request = request;
    tee.completed = completed;
    if (tee.first.ours_ns == 0) {
        tee.first = tee.last = read_clocks();
    }
    pthread_mutex_unlock(&tee.lock);
    return SS_CUPTI_OK;
}

static uint32_t register_clock(ss_cupti_timestamp *clock)
{
    if (!tee.is_monotonic) { /* CUPTI has refused ours */
        return INVALID_OPERATION;
    }
    pthread_mutex_lock(&tee.lock);
    if (clock != tee.clock) {
        tee.clock = clock;
        tee.first = tee.last = read_clocks();
    }
    pthread_mutex_unlock(&tee.lock);
    return SS_CUPTI_OK;
}

/* The functions of a kind are all enabled with it. */
static void unmute(int kind)
{
    int domain = kind == SS_CUPTI_RUNTIME_CALL  ? SS_CUPTI_DOMAIN_RUNTIME
                 : kind == SS_CUPTI_DRIVER_CALL ? SS_CUPTI_DOMAIN_DRIVER
                                                : 0;
    for (uint32_t function = 0; domain != 0 && function < MOST_FUNCTIONS; function++) {
        atomic_store(&tee.is_muted[domain][function], false);
    }
}

static uint32_t enable(int kind)
{
    if (tee.request == NULL || kind <= 0 || kind >= KINDS) {
        return tee.cupti->ActivityEnable(kind);
    }
    if (tee.is_monotonic && !times[kind].is_known) {
        return NOT_SUPPORTED; /* its times would be on another clock */
    }
    if (!ss_cupti_tee_is_active()) { /* what was launched before is ours alone */
        tee.cupti->ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
    }
    uint32_t result = tee.cupti->ActivityEnable(kind);
    if (result == SS_CUPTI_OK) {
        unmute(kind);
        if (!atomic_exchange(&tee.kinds[kind], true)) {
            atomic_fetch_add_explicit(&tee.count, 1, memory_order_release);
        }
    }
    return result;
}

/* What it has not got yet comes before. */
static uint32_t disable(int kind)
{
    if (!ss_cupti_tee_wants_kind(kind)) {
        return SS_CUPTI_OK;
    }
    tee.cupti->ActivityFlushAll(SS_CUPTI_FLUSH_FORCED);
    atomic_store(&tee.kinds[kind], false);
    atomic_fetch_sub(&tee.count, 1);
    tee.restore(kind);
    return SS_CUPTI_OK;
}

/* Ours are filtered when they are decoded. */
static uint32_t enable_function(int domain, uint32_t function, uint8_t is_enabled)
{
    if (function >= MOST_FUNCTIONS) {
        return INVALID_PARAMETER;
    }
    atomic_store(&tee.is_muted[domain][function], !is_enabled);
    return SS_CUPTI_OK;
}

static uint32_t enable_runtime(uint32_t function, uint8_t is_enabled)
{
    return enable_function(SS_CUPTI_DOMAIN_RUNTIME, function, is_enabled);
}

static uint32_t enable_driver(uint32_t function, uint8_t is_enabled)
{
    return enable_function(SS_CUPTI_DOMAIN_DRIVER, function, is_enabled);
}

static uint32_t flush_all(uint32_t flag)
{
    uint32_t result = tee.cupti->ActivityFlushAll(flag);
    pthread_mutex_lock(&tee.lock);
    return_buffer();
    pthread_mutex_unlock(&tee.lock);
    return result;
}

static uint32_t get_dropped(void *context, uint32_t stream, size_t *dropped)
{
    size_t now = 0;
    if (dropped == NULL) {
        return INVALID_PARAMETER;
    }
    uint32_t result = tee.cupti->ActivityGetNumDroppedRecords(context, stream, &now);
    atomic_fetch_add(&tee.dropped_for_us, now);
    *dropped = now + atomic_exchange(&tee.dropped_for_client, 0);
    return result;
}

void ss_cupti_tee_add_dropped(size_t dropped)
{
    if (ss_cupti_tee_is_active()) {
        atomic_fetch_add(&tee.dropped_for_client, dropped);
    }
}

size_t ss_cupti_tee_take_dropped(void)
{
    return atomic_exchange(&tee.dropped_for_us, 0);
}

/* The buffers of the device, and of threads, are as we have set them. */
static uint32_t set_attribute(int attribute, size_t *size, void *value)
{
    (void)attribute;
    return size != NULL && value != NULL ? SS_CUPTI_OK : INVALID_PARAMETER;
}

static uint32_t set_flush_period(uint32_t ms)
{
    (void)ms;
    return SS_CUPTI_OK;
}

static uint32_t get_time(uint64_t *time)
{
    if (!tee.is_monotonic || time == NULL) {
        return tee.cupti->GetTimestamp(time);
    }
    *time = tee.clock != NULL ? tee.clock() : ss_stamp_realtime_ns();
    return SS_CUPTI_OK;
}

/* We stay. */
static uint32_t finalize(void)
{
    return SS_CUPTI_OK;
}

const struct ss_cupti_tee_call ss_cupti_tee_record_calls[SS_CUPTI_TEE_RECORD_CALLS] = {
    {"cuptiActivityRegisterCallbacks", (void (*)(void))register_callbacks},
    {"cuptiActivityRegisterTimestampCallback", (void (*)(void))register_clock},
    {"cuptiActivityEnable", (void (*)(void))enable},
    {"cuptiActivityDisable", (void (*)(void))disable},
    {"cuptiActivityEnableRuntimeApi", (void (*)(void))enable_runtime},
    {"cuptiActivityEnableDriverApi", (void (*)(void))enable_driver},
    {"cuptiActivityFlushAll", (void (*)(void))flush_all},
    {"cuptiActivityFlushPeriod", (void (*)(void))set_flush_period},
    {"cuptiActivityGetNumDroppedRecords", (void (*)(void))get_dropped},
    {"cuptiActivitySetAttribute", (void (*)(void))set_attribute},
    {"cuptiGetTimestamp", (void (*)(void))get_time},
    {"cuptiFinalize", (void (*)(void))finalize},
};
