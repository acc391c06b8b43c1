/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nccl/operations.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/facts.h"
#include "annot/names.h"
#include "base/shared_names.h"
#include "inject/device/launch_queue.h"
#include "inject/device/texts.h"
#include "inject/nccl/nccl_abi.h"
#include "inject/nccl/nccl_names.h"
#include "inject/nccl/operations_inside.h"

enum {
    MOST_COMMUNICATORS = 1024,
    REMEMBERED = 4096, /* operations */
    MOST_LAUNCHED = 4096,
    MOST_TAKEN = 16, /* at once, with the lock */
    HANDLE_SHIFT = 1 /* the lowest bit of a handle: a channel of the operation */
};

struct ss_nccl_communicator {
    bool is_used, has_channels;
    uint64_t hash;
    uint32_t group; /* a name; 0: not known yet */
    uint32_t size;
    int64_t next; /* number of the next collective */
};

/* An operation until it is forgotten. */
struct slot {
    uint64_t number; /* 0: free */
    struct ss_nccl_operation operation;
    uint64_t range; /* that is open; 0: none */
    bool is_launched, is_queued;
    uint32_t open, ended; /* channels */
    uint64_t begin_timer, begin_stamp, end_timer;
};

/* An operation that was launched, and the launch of its kernel. */
struct launched {
    uint32_t correlation;
    struct ss_nccl_operation operation;
};

static struct {
    pthread_mutex_t lock;
    struct ss_nccl_communicator communicators[MOST_COMMUNICATORS];
    uint32_t unnamed; /* communicators so far that had neither name nor hash */
    uint64_t next;    /* number of the next operation, less one */
    struct slot slots[REMEMBERED];
    uint32_t launched_count;
    struct launched launched[MOST_LAUNCHED];
    int *mask;
    bool has_no_channels;
    uint64_t origin_stamp, origin_ns; /* of one moment */
    _Atomic bool has_plugin;
    uint32_t domain, category;
} nccl = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t name_of(const char *text)
{
    return text != NULL && text[0] != '\0' ? ss_define_name(text, strlen(text)) : 0;
}

uint32_t ss_nccl_event_name(const char *prefix, const char *function)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, function != NULL ? function : "operation");
    return name_of(text);
}

uint32_t ss_nccl_datatype_name(const char *theirs)
{
    const struct ss_nccl_datatype *datatype = ss_nccl_datatype_of(theirs);
    return name_of(datatype != NULL ? datatype->name : theirs);
}

static uint32_t styled(uint32_t name)
{
    if (nccl.category == 0) {
        nccl.category = name_of("nccl");
        nccl.domain = ss_define_domain(ss_domain_nccl, strlen(ss_domain_nccl));
    }
    return ss_define_styled(
        name, (struct ss_name_style){.category = nccl.category, .type = SS_EVENT_TYPE_collective});
}

/* --- communicators ---------------------------------------------------------------------------- */

static void identify(struct ss_nccl_communicator *communicator, uint64_t hash, const char *name)
{
    char text[48];
    if (name == NULL || name[0] == '\0') {
        if (hash != 0) {
            snprintf(text, sizeof text, "NCCL %016" PRIx64, hash);
        } else { /* ranks make their communicators in the same order */
            snprintf(text, sizeof text, "NCCL communicator %" PRIu32, nccl.unnamed++);
        }
        name = text;
    }
    communicator->hash = hash;
    communicator->group = name_of(name);
}

struct ss_nccl_communicator *ss_nccl_communicator_new(uint64_t hash, const char *name, int ranks,
                                                      bool has_channels)
{
    struct ss_nccl_communicator *made = NULL;
    pthread_mutex_lock(&nccl.lock);
    for (size_t i = 0; i < MOST_COMMUNICATORS && made == NULL; i++) {
        made = nccl.communicators[i].is_used ? NULL : &nccl.communicators[i];
    }
    if (made != NULL) {
        *made = (struct ss_nccl_communicator){.is_used = true,
                                              .has_channels = has_channels,
                                              .size = ranks > 0 ? (uint32_t)ranks & 0xffffff : 0};
        if (hash != 0 || name != NULL) {
            identify(made, hash, name);
        }
        atomic_store_explicit(&nccl.has_plugin, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&nccl.lock);
    if (made != NULL) {
        ss_nccl_set_source("NCCL's profiler interface");
    }
    return made;
}

void ss_nccl_set_source(const char *source)
{
    static _Atomic(const char *) known;
    if (atomic_exchange(&known, source) != source) {
        struct ss_event_value value = {name_of(source), SS_RING_VALUE_NAME};
        ss_fact_set(ss_define_name(ss_fact_nccl_source, strlen(ss_fact_nccl_source)), value);
    }
}

bool ss_nccl_has_plugin(void)
{
    return atomic_load_explicit(&nccl.has_plugin, memory_order_relaxed);
}

void ss_nccl_communicator_identify(struct ss_nccl_communicator *communicator, uint64_t hash,
                                   const char *name)
{
    pthread_mutex_lock(&nccl.lock);
    if (communicator->group == 0) {
        identify(communicator, hash, name);
    }
    pthread_mutex_unlock(&nccl.lock);
}

void ss_nccl_communicator_free(struct ss_nccl_communicator *communicator)
{
    pthread_mutex_lock(&nccl.lock);
    communicator->is_used = false;
    pthread_mutex_unlock(&nccl.lock);
}

/* --- ranges ----------------------------------------------------------------------------------- */

uint64_t ss_nccl_begin_range(uint32_t name, const struct ss_nccl_operation *operation)
{
    struct ss_event_collective collective = {.library = SS_RING_NCCL,
                                             .group = operation->group,
                                             .datatype = operation->datatype,
                                             .algorithm = operation->algorithm,
                                             .protocol = operation->protocol,
                                             .reduction = operation->reduction,
                                             .module = operation->module,
                                             .size = operation->size,
                                             .sequence = operation->sequence,
                                             .bytes = operation->bytes,
                                             .root = operation->root};
    uint32_t of_style = styled(name);
    return ss_event_begin_collective(nccl.domain, of_style, &collective);
}

static void begin_range(struct slot *slot, uint32_t name)
{
    slot->range = ss_nccl_begin_range(name, &slot->operation);
}

/* Stamps may be ticks, whose rate is that since the first mask was set. */
static uint64_t stamps_of_ns(uint64_t ns)
{
    uint64_t passed_ns = ss_stamp_monotonic_ns() - nccl.origin_ns;
    double rate =
        passed_ns > 0 ? (double)(ss_stamp_now() - nccl.origin_stamp) / (double)passed_ns : 0;
    return (uint64_t)((double)ns * rate);
}

/* The duration is the device's, where it is known: NCCL's thread sees an end late. */
static void end_range(struct slot *slot)
{
    bool is_timed = slot->begin_timer != 0 && slot->end_timer > slot->begin_timer;
    uint64_t now = ss_stamp_now(), then = now;
    if (is_timed) {
        then = slot->begin_stamp + stamps_of_ns(slot->end_timer - slot->begin_timer);
    }
    ss_event_end_at(then < now ? then : now, slot->range);
    slot->range = 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static struct slot *slot_of(uint64_t handle)
{
    uint64_t number = handle >> HANDLE_SHIFT;
    struct slot *slot = &nccl.slots[number % REMEMBERED];
    return number != 0 && slot->number == number ? slot : NULL;
}

static bool is_channel(uint64_t handle)
{
    return (handle & 1) != 0;
}

static int64_t bytes_of(const struct ss_nccl_described *described)
{
    const struct ss_nccl_datatype *datatype = ss_nccl_datatype_of(described->datatype);
    uint64_t bytes = 0;
    bool is_known = datatype != NULL &&
                    !__builtin_mul_overflow(described->count, datatype->bytes, &bytes) &&
                    bytes <= INT64_MAX;
    return is_known ? (int64_t)bytes : -1;
}

static struct ss_nccl_operation operation_of(struct ss_nccl_communicator *communicator,
                                             const struct ss_nccl_described *described)
{
    struct ss_event_collective call;
    struct ss_nccl_operation operation = {
        .function = ss_nccl_event_name("nccl", described->function),
        .group = communicator->group,
        .datatype = ss_nccl_datatype_name(described->datatype),
        .algorithm = name_of(ss_nccl_plain(described->algorithm)),
        .protocol = name_of(ss_nccl_plain(described->protocol)),
        .size = communicator->size,
        .channels = described->channels,
        .reduction = described->reduction,
        .sequence = described->is_message ? -1 : communicator->next++,
        .bytes = bytes_of(described),
        .root = -1};
    if (!described->is_message && ss_nccl_take_torch_call(operation.size, operation.bytes, &call)) {
        ss_nccl_adopt(&operation, &call);
    }
    return operation;
}

static bool put_launched(uint32_t correlation, const struct ss_nccl_operation *operation)
{
    bool has_room = nccl.launched_count < MOST_LAUNCHED;
    if (has_room) {
        nccl.launched[nccl.launched_count++] = (struct launched){correlation, *operation};
    }
    return has_room;
}

bool ss_nccl_put_launched(uint32_t correlation, const struct ss_nccl_operation *operation)
{
    pthread_mutex_lock(&nccl.lock);
    bool is_put = put_launched(correlation, operation);
    pthread_mutex_unlock(&nccl.lock);
    return is_put;
}

static void launch(struct slot *slot)
{
    uint32_t correlation = ss_launches_last();
    slot->is_launched = correlation != 0 && put_launched(correlation, &slot->operation);
}

uint64_t ss_nccl_begin(struct ss_nccl_communicator *communicator,
                       const struct ss_nccl_described *described)
{
    pthread_mutex_lock(&nccl.lock);
    uint64_t number = ++nccl.next;
    struct slot *slot = &nccl.slots[number % REMEMBERED];
    if (slot->range != 0) {
        end_range(slot);
    }
    if (communicator->group == 0) {
        identify(communicator, 0, NULL);
    }
    *slot = (struct slot){.number = number, .operation = operation_of(communicator, described)};
    launch(slot);
    if (!slot->is_launched && (nccl.has_no_channels || !communicator->has_channels)) {
        slot->is_queued = true;
        begin_range(slot, ss_nccl_event_name("nccl:", described->function));
    }
    pthread_mutex_unlock(&nccl.lock);
    return number << HANDLE_SHIFT;
}

/* --- channels --------------------------------------------------------------------------------- */

uint64_t ss_nccl_begin_channel(uint64_t operation, uint64_t timer)
{
    uint64_t handle = 0;
    pthread_mutex_lock(&nccl.lock);
    struct slot *slot = slot_of(operation);
    if (slot != NULL && !slot->is_launched && !slot->is_queued) {
        if (slot->open + slot->ended == 0) {
            begin_range(slot, slot->operation.function);
            slot->begin_stamp = ss_stamp_now();
            slot->begin_timer = timer;
        }
        slot->open++;
        handle = slot->number << HANDLE_SHIFT | 1;
    }
    pthread_mutex_unlock(&nccl.lock);
    return handle;
}

void ss_nccl_time_channel(uint64_t handle, uint64_t timer)
{
    pthread_mutex_lock(&nccl.lock);
    struct slot *slot = slot_of(handle);
    if (slot != NULL && timer > slot->end_timer) {
        slot->end_timer = timer;
    }
    pthread_mutex_unlock(&nccl.lock);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void end_channel(struct slot *slot)
{
    slot->open -= slot->open > 0;
    slot->ended++;
    bool is_last =
        slot->operation.channels != 0 ? slot->ended >= slot->operation.channels : slot->open == 0;
    if (is_last && slot->range != 0) {
        end_range(slot);
    }
}

void ss_nccl_end(uint64_t handle)
{
    pthread_mutex_lock(&nccl.lock);
    struct slot *slot = slot_of(handle);
    if (slot != NULL && is_channel(handle)) {
        end_channel(slot);
    } else if (slot != NULL && slot->is_queued && slot->range != 0) {
        end_range(slot);
    }
    pthread_mutex_unlock(&nccl.lock);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void write_mask(void)
{
    int kinds = SS_NCCL_COLLECTIVE | SS_NCCL_MESSAGE | (nccl.has_no_channels ? 0 : SS_NCCL_CHANNEL);
    if (nccl.mask != NULL) {
        __atomic_store_n(nccl.mask, kinds, __ATOMIC_RELAXED);
    }
}

void ss_nccl_set_mask(int *mask)
{
    pthread_mutex_lock(&nccl.lock);
    nccl.mask = mask;
    if (nccl.origin_ns == 0) {
        nccl.origin_stamp = ss_stamp_now();
        nccl.origin_ns = ss_stamp_monotonic_ns();
    }
    write_mask();
    pthread_mutex_unlock(&nccl.lock);
}

void ss_nccl_want_channels(bool wanted)
{
    pthread_mutex_lock(&nccl.lock);
    nccl.has_no_channels = !wanted;
    write_mask();
    pthread_mutex_unlock(&nccl.lock);
}

/* Names of annot/define.h as texts of the ring. */
static uint32_t text_of(uint32_t name)
{
    size_t length = 0;
    const char *text = name != 0 ? ss_names_text(name, &length) : NULL;
    return text != NULL ? ss_device_text_put(text, length) : 0;
}

static struct ss_device_collective_message message_of(const struct launched *launched)
{
    const struct ss_nccl_operation *of = &launched->operation;
    return (struct ss_device_collective_message){.head.kind = SS_DEVICE_COLLECTIVE,
                                                 .correlation = launched->correlation,
                                                 .function = text_of(of->function),
                                                 .group = text_of(of->group),
                                                 .datatype = text_of(of->datatype),
                                                 .algorithm = text_of(of->algorithm),
                                                 .protocol = text_of(of->protocol),
                                                 .module = text_of(of->module),
                                                 .size = of->size,
                                                 .channels = of->channels,
                                                 .reduction = of->reduction,
                                                 .sequence = of->sequence,
                                                 .bytes = of->bytes,
                                                 .root = of->root};
}

static size_t take(struct launched *launched, size_t most)
{
    pthread_mutex_lock(&nccl.lock);
    size_t count = nccl.launched_count < most ? nccl.launched_count : most;
    memcpy(launched, nccl.launched, count * sizeof *launched);
    nccl.launched_count -= (uint32_t)count;
    memmove(nccl.launched, nccl.launched + count, nccl.launched_count * sizeof *launched);
    pthread_mutex_unlock(&nccl.lock);
    return count;
}

size_t ss_nccl_take(struct ss_device_collective_message *messages, size_t most)
{
    struct launched some[MOST_TAKEN];
    size_t count = 0, taken;
    do {
        taken = take(some, most - count < MOST_TAKEN ? most - count : MOST_TAKEN);
        for (size_t i = 0; i < taken; i++) {
            messages[count++] = message_of(&some[i]);
        }
    } while (taken > 0);
    return count;
}
