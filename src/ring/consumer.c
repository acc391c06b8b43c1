/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/consumer.h"

enum { MAX_TRIES = 4 };

enum ss_status ss_ring_consumer_open(const struct ss_ring_memory *memory,
                                     struct ss_ring_consumer *consumer, struct ss_error *err)
{
    *consumer = (struct ss_ring_consumer){.memory = *memory};
    struct ss_ring_header *header = memory->map(memory->context, 0, SS_RING_PAGE_BYTES);
    if (header == NULL) {
        return ss_fail(err, SS_E_AGAIN, "the ring file has no header yet");
    }
    uint64_t magic = atomic_load_explicit(&header->magic, memory_order_acquire);
    if (magic == 0) {
        return ss_fail(err, SS_E_AGAIN, "the ring file's header is not written yet");
    }
    if (magic != SS_RING_MAGIC || header->byte_order != SS_RING_BYTE_ORDER) {
        return ss_fail(err, SS_E_FORMAT, "not a ring file of stepscope");
    }
    if (header->version != SS_RING_VERSION) {
        return ss_fail(err, SS_E_FORMAT,
                       "the program's libstepscope writes rings of version %u, this recorder reads "
                       "version %d; use the two of one release",
                       header->version, SS_RING_VERSION);
    }
    consumer->header = header;
    consumer->clock =
        header->clock == SS_RING_CLOCK_TSC ? SS_RING_CLOCK_TSC : SS_RING_CLOCK_MONOTONIC;
    consumer->names = consumer->domains = 1; /* 0 is "none" and the default domain */
    return SS_OK;
}

void ss_ring_consumer_close(struct ss_ring_consumer *consumer)
{
    ss_vec_fini(&consumer->lanes);
    consumer->header = NULL;
}

/* --- lanes ----------------------------------------------------------------------------------- */

static bool open_lane(struct ss_ring_consumer *consumer, uint64_t entry, struct ss_ring_lane *lane)
{
    uint32_t slots_log2 = SS_RING_ENTRY_SLOTS_LOG2(entry);
    uint64_t offset = SS_RING_ENTRY_OFFSET(entry);
    *lane = (struct ss_ring_lane){0};
    if (slots_log2 < SS_RING_MIN_SLOTS_LOG2 || slots_log2 > SS_RING_MAX_SLOTS_LOG2 ||
        offset < SS_RING_SEGMENTS_AT || offset > (uint64_t)1 << 40) {
        return false;
    }
    size_t bytes = SS_RING_PAGE_BYTES + (sizeof(struct ss_ring_slot) << slots_log2);
    char *segment = consumer->memory.map(consumer->memory.context, offset, bytes);
    if (segment == NULL) {
        return false;
    }
    *lane = (struct ss_ring_lane){.thread = (struct ss_ring_thread *)segment,
                                  .slots = (struct ss_ring_slot *)(segment + SS_RING_PAGE_BYTES),
                                  .slots_log2 = slots_log2};
    return true;
}

void ss_ring_consumer_refresh(struct ss_ring_consumer *consumer)
{
    uint32_t count = atomic_load_explicit(&consumer->header->thread_count, memory_order_acquire);
    count = count < SS_RING_MAX_THREADS ? count : SS_RING_MAX_THREADS;
    if (count > 0 && consumer->directory == NULL) {
        consumer->directory =
            consumer->memory.map(consumer->memory.context, SS_RING_DIRECTORY_AT,
                                 SS_RING_MAX_THREADS * sizeof(ss_ring_directory_entry));
        if (consumer->directory == NULL) {
            return;
        }
    }
    while (consumer->lanes.count < count) {
        struct ss_ring_lane lane;
        uint64_t entry =
            atomic_load_explicit(&consumer->directory[consumer->lanes.count], memory_order_relaxed);
        open_lane(consumer, entry, &lane); /* an invalid entry keeps its index, thread NULL */
        ss_vec_push(&consumer->lanes, lane);
    }
    for (size_t i = 0; i < consumer->lanes.count; i++) {
        struct ss_ring_lane *lane = &consumer->lanes.data[i];
        if (lane->thread == NULL) {
            continue;
        }
        lane->state = atomic_load_explicit(&lane->thread->state, memory_order_acquire);
        if (ss_ring_lane_is_owned(lane)) {
            lane->tid = atomic_load_explicit(&lane->thread->tid, memory_order_relaxed);
            lane->owner = atomic_load_explicit(&lane->thread->owner, memory_order_relaxed);
        }
    }
}

void ss_ring_consumer_release(struct ss_ring_consumer *consumer, uint32_t lane)
{
    struct ss_ring_thread *thread = consumer->lanes.data[lane].thread;
    uint32_t closed = SS_RING_CLOSED;
    /* Pairs with the acquire in reuse_ring (annot/process.c). */
    if (thread != NULL) {
        atomic_compare_exchange_strong_explicit(&thread->state, &closed, SS_RING_FREE,
                                                memory_order_release, memory_order_relaxed);
    }
}

/* --- records --------------------------------------------------------------------------------- */

enum slot_status { IS_RECORD, IS_UNWRITTEN, IS_DAMAGED };

struct slot_copy {
    uint64_t word0, word1;
};

static inline struct slot_copy load_slot(const struct ss_ring_slot *slot)
{
    struct slot_copy copy;
    /* Pairs with the release stores in ss_ring_put. */
    copy.word1 = atomic_load_explicit(&slot->word1, memory_order_acquire);
    /* Acquire: first_safe_slot loads the head after it. */
    copy.word0 = atomic_load_explicit(&slot->word0, memory_order_acquire);
    return copy;
}

static bool copy_slot(const struct ss_ring_lane *lane, uint64_t at, struct slot_copy *copy)
{
    *copy = load_slot(&lane->slots[at & ((UINT64_C(1) << lane->slots_log2) - 1)]);
    return (copy->word1 & 0xff00) == ss_ring_lap_bits(at, lane->slots_log2);
}

static enum slot_status copy_continuations(const struct ss_ring_lane *lane, uint64_t at,
                                           struct ss_ring_record *record)
{
    for (uint32_t i = 0; i < record->more; i++) {
        struct slot_copy copy;
        if (!copy_slot(lane, at + 1 + i, &copy)) {
            return IS_DAMAGED; /* continuations are written before their head slot */
        }
        if ((copy.word1 & 0xff) != SS_RING_CONTINUATION) {
            return IS_DAMAGED;
        }
        record->value[i] = copy.word0;
        record->extra[i] = copy.word1 >> 16;
    }
    return IS_RECORD;
}

/* By the low byte of a head slot's word1 (type and continuations): valid combinations. */
#define WITH_0(type) [type] = true
#define WITH_1(type) [(type) | 1 << 6] = true
#define WITH_2(type) [(type) | 2 << 6] = true
#define WITH_3(type) [(type) | 3 << 6] = true
static const bool is_valid_head[256] = {
    WITH_0(SS_RING_PUSH),        WITH_1(SS_RING_PUSH),  WITH_0(SS_RING_POP),
    WITH_0(SS_RING_MARK),        WITH_1(SS_RING_MARK),  WITH_2(SS_RING_MARK),
    WITH_1(SS_RING_BEGIN),       WITH_2(SS_RING_BEGIN), WITH_3(SS_RING_BEGIN),
    WITH_1(SS_RING_END),         WITH_2(SS_RING_END),   WITH_1(SS_RING_FLOW),
    WITH_1(SS_RING_COUNT),       WITH_2(SS_RING_COUNT), WITH_1(SS_RING_STEP),
    WITH_1(SS_RING_EPOCH),       WITH_0(SS_RING_PHASE), WITH_1(SS_RING_WINDOW),
    WITH_2(SS_RING_WINDOW),      WITH_1(SS_RING_FACT),  WITH_0(SS_RING_THREAD_NAME),
    WITH_1(SS_RING_THREAD_NAME), WITH_2(SS_RING_LINE),  WITH_3(SS_RING_COLLECTIVE)};

static inline void decode_head(struct ss_ring_record *record, const struct slot_copy *head)
{
    record->stamp = head->word0;
    record->type = head->word1 & 0x3f;
    record->more = head->word1 >> 6 & 3;
    record->domain = (uint8_t)(head->word1 >> 16);
    record->detail = (uint16_t)(head->word1 >> 24);
    record->name = (uint32_t)(head->word1 >> 40);
}

static enum slot_status copy_record(const struct ss_ring_lane *lane, uint64_t at, uint64_t head,
                                    struct ss_ring_record *record)
{
    struct slot_copy copy;
    if (!copy_slot(lane, at, &copy)) {
        return IS_UNWRITTEN;
    }
    decode_head(record, &copy);
    if (!is_valid_head[copy.word1 & 0xff] || record->more >= head - at) {
        return IS_DAMAGED;
    }
    return record->more > 0 ? copy_continuations(lane, at, record) : IS_RECORD;
}

/* Fast path: copies consecutive complete records of one lap with at most one continuation; stops at
 * the first other record, which copy_record handles. The position of the next record follows from a
 * predicted branch: a length loaded from memory would make each record wait for the last one. */
static size_t copy_fast(const struct ss_ring_lane *lane, uint64_t at, uint64_t head,
                        struct ss_ring_record *records, size_t capacity, uint64_t *used)
{
    uint64_t mask = (UINT64_C(1) << lane->slots_log2) - 1;
    uint64_t lap_end = (at | mask) + 1;
    const struct ss_ring_slot *first = &lane->slots[at & mask], *slot = first;
    const struct ss_ring_slot *end = first + ((head < lap_end ? head : lap_end) - at);
    const uint64_t lap = ss_ring_lap_bits(at, lane->slots_log2);
    struct ss_ring_record *record = records, *last = records + capacity;
    while (slot < end && record < last) {
        struct slot_copy copy = load_slot(slot);
        if ((copy.word1 & 0xff00) != lap || !is_valid_head[copy.word1 & 0xff]) {
            break;
        }
        decode_head(record, &copy);
        if ((copy.word1 & 0xc0) == 0) {
            slot++;
            record++;
            continue;
        }
        if ((copy.word1 & 0xc0) != 1 << 6 || end - slot < 2) {
            break;
        }
        copy = load_slot(slot + 1);
        if ((copy.word1 & 0xffff) != (lap | SS_RING_CONTINUATION)) {
            break;
        }
        record->value[0] = copy.word0;
        record->extra[0] = copy.word1 >> 16;
        slot += 2;
        record++;
    }
    *used = (uint64_t)(slot - first);
    return (size_t)(record - records);
}

/* Overwrite mode: the producer may be overwriting this many of the oldest slots. */
static uint64_t unsafe_slots(const struct ss_ring_lane *lane)
{
    return (UINT64_C(1) << lane->slots_log2) / 4;
}

/* The oldest slot that is safe to read. */
static uint64_t oldest_slot(const struct ss_ring_lane *lane, uint64_t head)
{
    uint64_t readable = (UINT64_C(1) << lane->slots_log2) - unsafe_slots(lane);
    return head > readable ? head - readable : 0;
}

static void advance_tail(struct ss_ring_lane *lane, uint64_t at)
{
    lane->tail = at;
    /* Pairs with the acquire in make_room (producer.c): all slots before `at` are consumed. */
    atomic_store_explicit(&lane->thread->tail, at, memory_order_release);
}

static uint64_t pending_head(struct ss_ring_consumer *consumer, struct ss_ring_lane *lane)
{
    uint64_t head = atomic_load_explicit(&lane->thread->head, memory_order_acquire);
    uint64_t size = UINT64_C(1) << lane->slots_log2;
    if (head <= lane->tail || head >> 62 != 0) {
        return lane->tail; /* nothing new, or a head that is invalid or moved backwards */
    }
    if (consumer->is_overwriting) {
        uint64_t oldest = oldest_slot(lane, head);
        if (oldest > lane->tail) {
            lane->tail = oldest;
        }
    } else if (head - lane->tail > size) { /* no correct producer does this */
        lane->counts.damaged += head - lane->tail;
        advance_tail(lane, head);
    }
    return head;
}

/* Overwrite mode: the producer may have overwritten slots before this one during the copy. */
static uint64_t first_safe_slot(const struct ss_ring_lane *lane)
{
    uint64_t size = UINT64_C(1) << lane->slots_log2;
    uint64_t end = atomic_load_explicit(&lane->thread->head, memory_order_acquire);
    end += unsafe_slots(lane) / 2;
    return end > size ? end - size : 0;
}

/* Drops records that the producer may have overwritten during the copy; returns the count left. */
static size_t drop_overwritten(const struct ss_ring_lane *lane, struct ss_ring_record *records,
                               const uint32_t *slots_before, size_t count, uint64_t first)
{
    uint64_t safe = first_safe_slot(lane);
    size_t overwritten_count = 0;
    while (overwritten_count < count && first + slots_before[overwritten_count] < safe) {
        overwritten_count++;
    }
    memmove(records, records + overwritten_count, (count - overwritten_count) * sizeof *records);
    return count - overwritten_count;
}

enum { MAX_BATCH = 512 };

/* Long: every record of every program passes this loop, whose state are five locals. */
size_t ss_ring_consumer_read(struct ss_ring_consumer *consumer, uint32_t number,
                             struct ss_ring_record *records, size_t capacity, bool is_final)
{
    struct ss_ring_lane *lane = &consumer->lanes.data[number];
    if (lane->thread == NULL) {
        return 0;
    }
    uint64_t head = pending_head(consumer, lane);
    uint64_t at = lane->tail, first = at;
    uint32_t slots_before[MAX_BATCH];
    size_t count = 0;
    bool orphans = consumer->is_overwriting; /* at continuations whose head slot is gone */
    capacity = capacity < MAX_BATCH ? capacity : MAX_BATCH;
    while (at < head && count < capacity) {
        if (!consumer->is_overwriting) {
            uint64_t used;
            size_t got = copy_fast(lane, at, head, records + count, capacity - count, &used);
            count += got;
            at += used;
            orphans &= got == 0;
            if (at >= head || count >= capacity) {
                break; /* the common case */
            }
        }
        struct ss_ring_record *record = &records[count];
        enum slot_status status = copy_record(lane, at, head, record);
        if (status != IS_RECORD && consumer->is_overwriting && at < first_safe_slot(lane)) {
            break; /* the producer overwrote it during the copy: resume after it */
        }
        if (status == IS_RECORD) {
            if (consumer->is_overwriting) {
                slots_before[count] = (uint32_t)(at - first);
            }
            count++;
            at += 1 + record->more;
            orphans = false;
        } else if (status == IS_UNWRITTEN) {
            if (!is_final) {
                break; /* a signal handler's records follow the one that it interrupted */
            }
            lane->torn += !orphans;
            orphans = true;
            at++;
        } else {
            lane->counts.damaged += !(orphans && record->type == SS_RING_CONTINUATION);
            at++;
        }
    }
    if (consumer->is_overwriting) {
        count = drop_overwritten(lane, records, slots_before, count, first);
    }
    lane->counts.consumed += count;
    if (at != first) {
        advance_tail(lane, at);
    }
    return count;
}

void ss_ring_consumer_skip_torn(struct ss_ring_consumer *consumer, uint32_t number)
{
    struct ss_ring_lane *lane = &consumer->lanes.data[number];
    struct slot_copy copy;
    if (lane->thread == NULL || consumer->is_overwriting) {
        return;
    }
    uint64_t head = pending_head(consumer, lane);
    uint64_t at = lane->tail;
    while (at < head &&
           (!copy_slot(lane, at, &copy) || (copy.word1 & 0x3f) == SS_RING_CONTINUATION)) {
        at++;
    }
    if (at != lane->tail) {
        lane->torn++;
        advance_tail(lane, at);
    }
}

const struct ss_ring_counts *ss_ring_consumer_count(struct ss_ring_consumer *consumer,
                                                    uint32_t number)
{
    struct ss_ring_lane *lane = &consumer->lanes.data[number];
    struct ss_ring_counts *counts = &lane->counts;
    if (lane->thread == NULL) {
        return counts;
    }
    uint64_t head = atomic_load_explicit(&lane->thread->head, memory_order_acquire);
    uint64_t more = atomic_load_explicit(&lane->thread->continuation_slots, memory_order_relaxed);
    uint64_t dropped = atomic_load_explicit(&lane->thread->dropped, memory_order_relaxed);
    uint64_t unmatched = atomic_load_explicit(&lane->thread->unmatched, memory_order_relaxed);
    uint64_t written = head - more - lane->base_records;
    uint64_t known = counts->consumed + lane->torn;
    counts->dropped = dropped - lane->base_dropped;
    counts->unmatched = unmatched - lane->base_unmatched;
    if (head == lane->tail) { /* all readable records are consumed: the others are lost */
        uint64_t gone = written > known && written <= head ? written - known : 0;
        counts->overwritten = consumer->is_overwriting ? gone : 0;
        counts->torn = lane->torn + (consumer->is_overwriting ? 0 : gone);
    }
    counts->produced = counts->consumed + counts->torn + counts->overwritten + counts->dropped;
    return counts;
}

/* --- definitions ----------------------------------------------------------------------------- */

static bool accept_definition(struct ss_ring_consumer *consumer, struct ss_ring_defined *defined)
{
    switch (defined->kind) {
    case SS_RING_DEFINE_NAME:
    case SS_RING_DEFINE_FUNCTION:
        if (defined->a != consumer->names || defined->a >= SS_RING_MAX_NAMES ||
            (defined->kind == SS_RING_DEFINE_FUNCTION && defined->b >= consumer->names)) {
            return false;
        }
        consumer->names++;
        return true;
    case SS_RING_DEFINE_DOMAIN:
        if (defined->a != consumer->domains || defined->a >= SS_RING_MAX_DOMAINS) {
            return false;
        }
        consumer->domains++;
        return true;
    case SS_RING_DEFINE_STYLE:
        return defined->a < consumer->names && defined->c < consumer->names;
    case SS_RING_DEFINE_COUNTER:
        return defined->a < consumer->names && defined->b < consumer->names &&
               defined->c < SS_RING_COUNTER_COUNT;
    default:
        return false;
    }
}

/* Reads the next definition, of which `left` bytes are published. false: it is none. `text` keeps
 * what it refers to: the program may change its own copy. */
static bool read_definition(const struct ss_ring_consumer *consumer, uint32_t left,
                            char text[SS_RING_MAX_TEXT_BYTES + 1], struct ss_ring_defined *defined)
{
    struct ss_ring_definition head;
    if (left < sizeof head) {
        return false;
    }
    const char *at = consumer->definitions + consumer->definition_at;
    memcpy(&head, at, sizeof head);
    if (head.length > SS_RING_MAX_TEXT_BYTES || ss_ring_definition_bytes(head.length) > left) {
        return false;
    }
    memcpy(text, at + sizeof head, head.length);
    *defined = (struct ss_ring_defined){.kind = (enum ss_ring_definition_kind)head.kind,
                                        .a = head.a,
                                        .b = head.b,
                                        .c = head.c,
                                        .d = head.d,
                                        .text = {text, head.length}};
    return true;
}

void ss_ring_consumer_define(struct ss_ring_consumer *consumer, ss_ring_define_visit *visit,
                             void *context)
{
    uint32_t end = atomic_load_explicit(&consumer->header->definition_bytes, memory_order_acquire);
    if (end <= consumer->definition_at || consumer->definitions_broken) {
        return;
    }
    if (end > SS_RING_DEFINITIONS_BYTES) {
        consumer->definitions_broken = true;
        return;
    }
    /* Map only what is published: the file is sparse after it. */
    consumer->definitions =
        consumer->memory.map(consumer->memory.context, SS_RING_DEFINITIONS_AT, end);
    while (consumer->definitions != NULL && consumer->definition_at < end) {
        char text[SS_RING_MAX_TEXT_BYTES + 1];
        struct ss_ring_defined defined;
        if (!read_definition(consumer, end - consumer->definition_at, text, &defined) ||
            !accept_definition(consumer, &defined)) {
            consumer->definitions_broken = true;
            return;
        }
        visit(context, &defined);
        consumer->definition_at += (uint32_t)ss_ring_definition_bytes(defined.text.length);
    }
}

/* --- live stack ------------------------------------------------------------------------------ */

static uint32_t copy_live(const struct ss_ring_thread *thread, uint64_t word, uint32_t from,
                          struct ss_ring_live_copy *copy)
{
    uint32_t depth = word & 0xffff;
    depth = depth < SS_RING_LIVE_DEPTH ? depth : SS_RING_LIVE_DEPTH;
    for (uint32_t i = from; i < depth; i++) {
        /* Acquire: the second load of `live` comes after these loads. */
        uint64_t entry = atomic_load_explicit(&thread->stack[i].name_domain, memory_order_acquire);
        copy->range[i].stamp = atomic_load_explicit(&thread->stack[i].stamp, memory_order_acquire);
        copy->range[i].name = (uint32_t)(entry >> 8);
        copy->range[i].domain = entry & 0xff;
    }
    return depth;
}

/* Reads `live`, the entries, and `live` again. Pairs with ss_ring_publish_live. */
bool ss_ring_read_live(const struct ss_ring_thread *thread, struct ss_ring_live_copy *copy)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        uint64_t before = atomic_load_explicit(&thread->live, memory_order_acquire);
        copy->depth = copy_live(thread, before, 0, copy);
        copy->phase = atomic_load_explicit(&thread->phase, memory_order_acquire);
        if (atomic_load_explicit(&thread->live, memory_order_relaxed) == before) {
            return true;
        }
    }
    return false;
}

bool ss_ring_read_innermost(const struct ss_ring_thread *thread, uint32_t *name, uint32_t *domain)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        uint64_t before = atomic_load_explicit(&thread->live, memory_order_acquire);
        uint32_t depth = before & 0xffff;
        depth = depth < SS_RING_LIVE_DEPTH ? depth : SS_RING_LIVE_DEPTH;
        uint64_t entry = 0;
        if (depth > 0) {
            entry =
                atomic_load_explicit(&thread->stack[depth - 1].name_domain, memory_order_acquire);
        }
        if (atomic_load_explicit(&thread->live, memory_order_relaxed) == before) {
            *name = (uint32_t)(entry >> 8);
            *domain = entry & 0xff;
            return true;
        }
    }
    return false;
}

/* The producer sets the window to 0 before each step that ends a window, and to its number after
 * the step that begins one. */
int64_t ss_ring_read_step(const struct ss_ring_header *header, uint32_t *window)
{
    int64_t step = -1;
    *window = 0;
    for (int i = 0; i < MAX_TRIES; i++) {
        uint32_t before = atomic_load_explicit(&header->window, memory_order_acquire);
        step = atomic_load_explicit(&header->step, memory_order_acquire);
        if (atomic_load_explicit(&header->window, memory_order_relaxed) == before) {
            *window = before;
            break;
        }
    }
    return step >= 0 ? step : -1;
}

enum ss_ring_value ss_ring_read_fact(const struct ss_ring_fact *fact, uint64_t *value)
{
    uint32_t before = atomic_load_explicit(&fact->type, memory_order_acquire);
    *value = atomic_load_explicit(&fact->value, memory_order_acquire);
    bool is_whole = before == atomic_load_explicit(&fact->type, memory_order_relaxed);
    uint32_t type = before & 0xff;
    return is_whole && type < SS_RING_VALUE_COUNT ? (enum ss_ring_value)type : SS_RING_VALUE_NONE;
}

void ss_ring_post_demand(struct ss_ring_header *header, uint32_t entry, uint32_t number,
                         int64_t first, int64_t last)
{
    struct ss_ring_demand *demand = &header->demands[entry];
    atomic_store_explicit(&demand->first, first, memory_order_relaxed);
    atomic_store_explicit(&demand->last, last, memory_order_relaxed);
    /* Pairs with the acquires in ss_demands_read (annot/demands.c). */
    atomic_store_explicit(&demand->number, number, memory_order_release);
    atomic_fetch_add_explicit(&header->demand_count, 1, memory_order_release);
}
