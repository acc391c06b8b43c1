/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, regions, frames, events and pauses. */
#include <limits.h>
#include <string.h>

#include "annot/define.h"
#include "inject/itt/itt_functions.h"
#include "inject/itt/itt_names.h"
#include "inject/itt/itt_state.h"

enum {
    PAUSED_ID_SLOTS = 1024,
    HOST = 1 /* scope bit: the program itself, not one of its devices */
};

_Atomic uint32_t ss_itt_pauses;

/* --- pauses ----------------------------------------------------------------------------------- */

/* One bit per open task of this thread, the innermost in bit 0: was it left out? */
static _Thread_local uint64_t paused_tasks;

/* The ids of ranges that began in a pause, by hash. An id that another one overwrites is lost: its
 * range then has an end without a start. */
static _Atomic uint64_t paused_ids[PAUSED_ID_SLOTS];

static inline bool was_paused(void)
{
    return __builtin_expect(atomic_load_explicit(&ss_itt_pauses, memory_order_relaxed) != 0, 0);
}

static bool is_paused(void)
{
    return (atomic_load_explicit(&ss_itt_pauses, memory_order_relaxed) & SS_ITT_PAUSED) != 0;
}

/* For a task that begins: whether it is left out. */
static __attribute__((noinline, cold)) bool begins_paused(void)
{
    bool paused = is_paused();
    paused_tasks = paused_tasks << 1 | paused;
    return paused;
}

/* For the innermost task, which ends: whether it was left out. */
static __attribute__((noinline, cold)) bool ends_paused(void)
{
    bool was = paused_tasks & 1;
    paused_tasks >>= 1;
    return was;
}

static void mark_pause(const char *text, size_t length)
{
    ss_event_mark(ss_define_domain("ITT", 3), ss_define_name(text, length),
                  (struct ss_event_value){0});
}

void ss_itt_pause(void)
{
    uint32_t before = atomic_exchange_explicit(&ss_itt_pauses, SS_ITT_PAUSED | SS_ITT_WAS_PAUSED,
                                               memory_order_relaxed);
    if ((before & SS_ITT_PAUSED) == 0 && ss_event_is_on(SS_RING_GATE_MARKS)) {
        mark_pause("pause", 5);
    }
}

void ss_itt_resume(void)
{
    uint32_t before =
        atomic_fetch_and_explicit(&ss_itt_pauses, ~(uint32_t)SS_ITT_PAUSED, memory_order_relaxed);
    if ((before & SS_ITT_PAUSED) != 0 && ss_event_is_on(SS_RING_GATE_MARKS)) {
        mark_pause("resume", 6);
    }
}

void ss_itt_pause_scoped(int scope)
{
    if ((scope & HOST) != 0) {
        ss_itt_pause();
    }
}

void ss_itt_resume_scoped(int scope)
{
    if ((scope & HOST) != 0) {
        ss_itt_resume();
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* An id lets other tasks refer to this one; `parent` is such a reference. */
static __attribute__((noinline, cold)) void begin_related_task(uint32_t domain, uint32_t name,
                                                               const struct ss_itt_id *id,
                                                               const struct ss_itt_id *parent)
{
    if (ss_itt_id_is_null(id)) {
        ss_event_push(domain, name);
    } else {
        ss_event_push_value(domain, name,
                            (struct ss_event_value){ss_itt_flow(id), SS_RING_VALUE_FLOW});
    }
    if (!ss_itt_id_is_null(parent)) {
        ss_itt_connect_flow(parent);
    }
}

static inline void begin_task(uint32_t domain, const struct ss_itt_id *id,
                              const struct ss_itt_id *parent, uint32_t name)
{
    if (was_paused() && begins_paused()) {
        return;
    }
    if (__builtin_expect(ss_itt_id_is_null(id) && ss_itt_id_is_null(parent), 1)) {
        ss_event_push(domain, name);
    } else {
        begin_related_task(domain, name, id, parent);
    }
}

void ss_itt_task_begin(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                       ss_itt_in_string name)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        begin_task(ss_itt_domain(domain), &id, &parent, ss_itt_name(name));
    }
}

void ss_itt_task_begin_fn(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                          void *function)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        begin_task(ss_itt_domain(domain), &id, &parent, ss_itt_name_of_function(function));
    }
}

void ss_itt_task_end(ss_itt_in_domain domain)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES) || (was_paused() && ends_paused())) {
        return;
    }
    ss_event_pop(ss_itt_domain(domain));
}

void ss_itt_task_begin_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                          struct ss_itt_id id, struct ss_itt_id parent, ss_itt_in_string name)
{
    (void)clock;
    (void)time;
    ss_itt_task_begin(domain, id, parent, name);
}

void ss_itt_task_begin_fn_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                             struct ss_itt_id id, struct ss_itt_id parent, void *function)
{
    (void)clock;
    (void)time;
    ss_itt_task_begin_fn(domain, id, parent, function);
}

void ss_itt_task_end_ex(ss_itt_in_domain domain, void *clock, unsigned long long time)
{
    (void)clock;
    (void)time;
    ss_itt_task_end(domain);
}

/* --- ranges that may overlap ------------------------------------------------------------------ */

static void begin_with_id(uint64_t id, uint32_t domain, uint32_t name)
{
    _Atomic uint64_t *slot = &paused_ids[id % PAUSED_ID_SLOTS];
    if (is_paused()) {
        atomic_store_explicit(slot, id, memory_order_relaxed);
    } else {
        ss_event_begin_as(id, domain, name);
    }
}

static void end_with_id(uint64_t id)
{
    uint64_t expected = id;
    if (!was_paused() ||
        !atomic_compare_exchange_strong_explicit(&paused_ids[id % PAUSED_ID_SLOTS], &expected, 0,
                                                 memory_order_relaxed, memory_order_relaxed)) {
        ss_event_end(id);
    }
}

static void begin_overlapped(enum ss_itt_kind kind, ss_itt_in_domain domain,
                             const struct ss_itt_id *id, ss_itt_in_string name)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        uint32_t number = ss_itt_domain(domain);
        begin_with_id(ss_itt_mix(kind, number, id), number, ss_itt_name(name));
    }
}

static void end_overlapped(enum ss_itt_kind kind, ss_itt_in_domain domain,
                           const struct ss_itt_id *id)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        end_with_id(ss_itt_mix(kind, ss_itt_domain(domain), id));
    }
}

void ss_itt_task_begin_overlapped(ss_itt_in_domain domain, struct ss_itt_id id,
                                  struct ss_itt_id parent, ss_itt_in_string name)
{
    (void)parent;
    begin_overlapped(SS_ITT_OVERLAPPED, domain, &id, name);
}

void ss_itt_task_end_overlapped(ss_itt_in_domain domain, struct ss_itt_id id)
{
    end_overlapped(SS_ITT_OVERLAPPED, domain, &id);
}

void ss_itt_task_begin_overlapped_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                                     struct ss_itt_id id, struct ss_itt_id parent,
                                     ss_itt_in_string name)
{
    (void)clock;
    (void)time;
    (void)parent;
    begin_overlapped(SS_ITT_OVERLAPPED, domain, &id, name);
}

void ss_itt_task_end_overlapped_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                                   struct ss_itt_id id)
{
    (void)clock;
    (void)time;
    end_overlapped(SS_ITT_OVERLAPPED, domain, &id);
}

void ss_itt_region_begin(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                         ss_itt_in_string name)
{
    (void)parent;
    begin_overlapped(SS_ITT_REGION, domain, &id, name);
}

void ss_itt_region_end(ss_itt_in_domain domain, struct ss_itt_id id)
{
    end_overlapped(SS_ITT_REGION, domain, &id);
}

/* --- frames ----------------------------------------------------------------------------------- */

static const struct ss_itt_id no_id;

/* Without an id a domain has one frame at a time: a second begin or end is ignored. The value is
 * the gate of the recording in which the frame began; 0: no frame is open. */
static _Atomic uint32_t open_frames[SS_RING_MAX_DOMAINS];

static uint32_t frame_name(void)
{
    return ss_define_name("frame", 5);
}

void ss_itt_frame_begin_v3(ss_itt_in_domain domain, const struct ss_itt_id *id)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return;
    }
    uint32_t number = ss_itt_domain(domain);
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    if (id == NULL && atomic_exchange_explicit(&open_frames[number % SS_RING_MAX_DOMAINS], gate,
                                               memory_order_relaxed) == gate) {
        return;
    }
    begin_with_id(ss_itt_mix(SS_ITT_FRAME, number, id != NULL ? id : &no_id), number, frame_name());
}

void ss_itt_frame_end_v3(ss_itt_in_domain domain, const struct ss_itt_id *id)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return;
    }
    uint32_t number = ss_itt_domain(domain);
    if (id == NULL && atomic_exchange_explicit(&open_frames[number % SS_RING_MAX_DOMAINS], 0,
                                               memory_order_relaxed) == 0) {
        return;
    }
    end_with_id(ss_itt_mix(SS_ITT_FRAME, number, id != NULL ? id : &no_id));
}

void ss_itt_frame_submit_v3(ss_itt_in_domain domain, const struct ss_itt_id *id,
                            unsigned long long begin, unsigned long long end)
{
    static const unsigned long long no_time = ULLONG_MAX; /* __itt_timestamp_none: now */
    (void)id;
    if (!ss_itt_is_recorded(SS_RING_GATE_RANGES)) {
        return;
    }
    uint64_t now = ss_stamp_now();
    end = end == no_time || end == 0 || end > now ? now : end;
    begin = begin == 0 || begin > end ? end : begin;
    ss_event_range_at(begin, end, ss_itt_domain(domain), frame_name(), (struct ss_event_value){0});
}

unsigned long long ss_itt_get_timestamp(void)
{
    return ss_stamp_now();
}

struct ss_itt_domain *ss_itt_frame_create(const char *domain)
{
    return ss_itt_domain_create(domain);
}

void ss_itt_frame_begin(ss_itt_in_domain frame)
{
    ss_itt_frame_begin_v3(frame, NULL);
}

void ss_itt_frame_end(ss_itt_in_domain frame)
{
    ss_itt_frame_end_v3(frame, NULL);
}

/* --- events ----------------------------------------------------------------------------------- */

/* The address of a thread-local variable identifies the thread. */
static uint64_t event_id(int event)
{
    struct ss_itt_id id = {(unsigned)event, (uintptr_t)&paused_tasks, 0};
    return ss_itt_mix(SS_ITT_EVENT, 0, &id);
}

int ss_itt_event_create(const char *name, int length)
{
    return name != NULL ? (int)ss_define_name(name, strnlen(name, length > 0 ? (size_t)length : 0))
                        : 0;
}

int ss_itt_event_start(int event)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        begin_with_id(event_id(event), 0,
                      event > 0 && event < SS_RING_MAX_NAMES ? (uint32_t)event : 0);
    }
    return 0;
}

int ss_itt_event_end(int event)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        end_with_id(event_id(event));
    }
    return 0;
}
