/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, regions, frames, events, and the pauses between them. */
#include <limits.h>
#include <string.h>

#include "annot/define.h"
#include "inject/itt_functions.h"
#include "inject/itt_names.h"
#include "inject/itt_state.h"

enum { LEFT_OUT_ROWS = 1024, HOST = 1 /* of a scope: the program itself, not a device of its */ };

_Atomic uint32_t ss_itt_pauses;

/* --- pauses ----------------------------------------------------------------------------------- */

/* The thread's tasks, a bit each, the innermost in bit 0: was it left out? */
static _Thread_local uint64_t left_out;

/* Of the ranges with ids that began in a pause. An id that found its place taken is forgotten, and
 * its end is one without a beginning. */
static _Atomic uint64_t left_out_ids[LEFT_OUT_ROWS];

static inline bool was_paused(void)
{
    return __builtin_expect(atomic_load_explicit(&ss_itt_pauses, memory_order_relaxed) != 0, 0);
}

static bool is_paused(void)
{
    return (atomic_load_explicit(&ss_itt_pauses, memory_order_relaxed) & SS_ITT_PAUSED) != 0;
}

/* Is the task that begins here to be left out? */
static __attribute__((noinline, cold)) bool leave_out_task(void)
{
    bool paused = is_paused();
    left_out = left_out << 1 | paused;
    return paused;
}

/* Was the one that ends here? */
static __attribute__((noinline, cold)) bool left_out_task(void)
{
    bool was = left_out & 1;
    left_out >>= 1;
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

/* An id is given to what others may refer to; a parent is referred to. */
static __attribute__((noinline, cold)) void begin_with_relatives(uint32_t domain, uint32_t name,
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
        ss_itt_pass_through(parent);
    }
}

static inline void begin_task(uint32_t domain, const struct ss_itt_id *id,
                              const struct ss_itt_id *parent, uint32_t name)
{
    if (was_paused() && leave_out_task()) {
        return;
    }
    if (__builtin_expect(ss_itt_id_is_null(id) && ss_itt_id_is_null(parent), 1)) {
        ss_event_push(domain, name);
    } else {
        begin_with_relatives(domain, name, id, parent);
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
    if (!ss_event_is_on(SS_RING_GATE_RANGES) || (was_paused() && left_out_task())) {
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

/* --- what overlaps ---------------------------------------------------------------------------- */

static void begin_with_id(uint64_t id, uint32_t domain, uint32_t name)
{
    _Atomic uint64_t *row = &left_out_ids[id % LEFT_OUT_ROWS];
    if (is_paused()) {
        atomic_store_explicit(row, id, memory_order_relaxed);
    } else {
        ss_event_begin_as(id, domain, name);
    }
}

static void end_with_id(uint64_t id)
{
    uint64_t expected = id;
    if (!was_paused() ||
        !atomic_compare_exchange_strong_explicit(&left_out_ids[id % LEFT_OUT_ROWS], &expected, 0,
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

/* Without an id a domain has one frame at a time: a second beginning or end says nothing. The value
 * is the gate of the recording in which it began. */
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
    if (!ss_itt_wants(SS_RING_GATE_RANGES)) {
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

/* The thread is known by where its variables lie. */
static uint64_t event_id(int event)
{
    struct ss_itt_id id = {(unsigned)event, (uintptr_t)&left_out, 0};
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
