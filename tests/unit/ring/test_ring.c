/* SPDX-License-Identifier: Apache-2.0 */
/* Producer and consumer over plain memory: nothing is lost uncounted, nothing hostile is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "../../fakes/ring_memory.h"
#include "base/error.h"

enum { MEMORY_BYTES = 16 << 20, BATCH = 64 };

struct bench {
    struct ring_memory memory;
    struct ss_ring_producer producer;
    struct ss_ring_consumer consumer;
    struct ss_ring_record records[BATCH];
};

static void open_bench(struct bench *bench, uint32_t slots_log2, enum ss_ring_mode mode)
{
    ring_memory_open(&bench->memory, MEMORY_BYTES);
    struct ss_ring_memory memory = {&bench->memory, ring_memory_map};
    assert_int_equal(ss_ring_consumer_open(&memory, &bench->consumer, NULL), SS_OK);
    struct ss_ring_request request = {
        .gate = SS_RING_GATE_ALL, .mode = mode, .slots_log2 = slots_log2};
    ss_ring_consumer_start(&bench->consumer, &request);
    struct ss_ring_thread *thread = ring_memory_thread(&bench->memory, slots_log2, 7);
    ss_ring_producer_init(&bench->producer, thread, slots_log2, mode);
    ss_ring_consumer_refresh(&bench->consumer);
    assert_int_equal(bench->consumer.lanes.count, 1);
}

static void close_bench(struct bench *bench)
{
    ss_ring_consumer_close(&bench->consumer);
    ring_memory_close(&bench->memory);
}

static bool put_push(struct bench *bench, uint64_t stamp, uint32_t name)
{
    return ss_ring_write(&bench->producer, stamp, ss_ring_head_word(SS_RING_PUSH, 0, 3, 5, name));
}

static bool put_count(struct bench *bench, uint64_t stamp, uint32_t name, uint64_t value)
{
    struct ss_ring_extra more = {value, SS_RING_VALUE_SIGNED};
    return ss_ring_write_more(&bench->producer, stamp,
                              ss_ring_head_word(SS_RING_COUNT, 1, 0, 0, name), &more, 1);
}

static size_t take(struct bench *bench)
{
    return ss_ring_consumer_read(&bench->consumer, 0, bench->records, BATCH, false);
}

static void check_sum(struct bench *bench)
{
    const struct ss_ring_counts *counts = ss_ring_consumer_count(&bench->consumer, 0);
    assert_int_equal(counts->produced,
                     counts->consumed + counts->dropped + counts->overwritten + counts->torn);
}

static void test_records_arrive_as_they_were_written(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    assert_true(put_push(&bench, 1000, 0xabcdef));
    assert_true(put_count(&bench, 1001, 9, UINT64_MAX));
    assert_int_equal(take(&bench), 2);
    const struct ss_ring_record *push = &bench.records[0], *count = &bench.records[1];
    assert_int_equal(push->type, SS_RING_PUSH);
    assert_int_equal(push->stamp, 1000);
    assert_int_equal(push->domain, 3);
    assert_int_equal(push->detail, 5);
    assert_int_equal(push->name, 0xabcdef);
    assert_int_equal(push->more, 0);
    assert_int_equal(count->type, SS_RING_COUNT);
    assert_int_equal(count->more, 1);
    assert_true(count->value[0] == UINT64_MAX);
    assert_int_equal(count->extra[0], SS_RING_VALUE_SIGNED);
    assert_int_equal(take(&bench), 0);
    check_sum(&bench);
    close_bench(&bench);
}

static bool put_begin(struct bench *bench, uint64_t stamp)
{
    struct ss_ring_extra more[2] = {{stamp * 3, 0}, {stamp * 5, SS_RING_VALUE_UNSIGNED}};
    return ss_ring_write_more(&bench->producer, stamp, ss_ring_head_word(SS_RING_BEGIN, 2, 1, 0, 2),
                              more, 2);
}

static void test_many_laps_lose_nothing(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    uint64_t expected = 0;
    for (uint64_t i = 0; i < 100000; i++) { /* 256 laps come round more than once */
        assert_true(i % 7 == 0   ? put_begin(&bench, i)
                    : i % 3 == 0 ? put_count(&bench, i, 1, i)
                                 : put_push(&bench, i, 1));
        if (i % 29 == 28 || i == 99999) {
            for (size_t got = take(&bench), j = 0; j < got; j++) {
                const struct ss_ring_record *record = &bench.records[j];
                uint64_t more = expected % 7 == 0 ? 2 : expected % 3 == 0 ? 1 : 0;
                assert_int_equal(record->stamp, expected);
                assert_int_equal(record->more, more);
                assert_true(more == 0 || record->value[0] == expected * (more == 2 ? 3 : 1));
                assert_true(more < 2 || record->value[1] == expected * 5);
                expected++;
            }
        }
    }
    assert_int_equal(expected, 100000);
    check_sum(&bench);
    close_bench(&bench);
}

static void test_damage_costs_what_it_spoils(void **state)
{
    (void)state;
    static const struct {
        uint64_t word1; /* in the place of the continuation of the second of four */
        uint64_t taken, damaged;
    } rows[] = {
        {0xff00 | SS_RING_CONTINUATION, 3, 1}, /* of another lap: not written, it seems */
        {0x0100 | SS_RING_PUSH, 4, 1},         /* a record of its own */
        {0x0100 | SS_RING_PUSH | 2 << 6, 3, 2},
        {0x0100 | SS_RING_COUNT | 3 << 6, 3, 2},
        {0x0100 | SS_RING_TYPE_COUNT, 3, 2},
        {0x0100, 3, 2},
        {0x0100 | SS_RING_CONTINUATION | 1 << 6, 3, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct bench bench;
        open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
        for (uint64_t k = 1; k <= 4; k++) {
            assert_true(put_count(&bench, k, 1, k));
        }
        atomic_store(&bench.producer.slots[3].word1, rows[i].word1);
        size_t got =
            ss_ring_consumer_read(&bench.consumer, 0, bench.records, BATCH, true /* is final */);
        assert_int_equal(got, rows[i].taken);
        assert_int_equal(bench.records[0].stamp, 1);
        assert_int_equal(bench.records[got - 1].stamp, 4);
        assert_int_equal(bench.records[got - 2].stamp, 3);
        assert_int_equal(ss_ring_consumer_count(&bench.consumer, 0)->damaged, rows[i].damaged);
        close_bench(&bench);
    }
}

static void test_a_record_that_would_end_behind_the_last_one_is_damaged(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    assert_true(put_push(&bench, 1, 1));
    assert_true(put_push(&bench, 2, 1));
    atomic_store(&bench.producer.slots[1].word1, 0x0100 | SS_RING_COUNT | 1 << 6);
    atomic_store(&bench.producer.slots[2].word1, 0x0100 | SS_RING_CONTINUATION);
    assert_int_equal(take(&bench), 1);
    assert_int_equal(bench.records[0].stamp, 1);
    assert_int_equal(ss_ring_consumer_count(&bench.consumer, 0)->damaged, 1);
    close_bench(&bench);
}

static void test_full_ring_drops_the_newest_and_counts(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    uint64_t written = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        written += put_count(&bench, i, 1, i);
    }
    assert_int_equal(written, 32); /* of two slots each */
    assert_int_equal(take(&bench), 32);
    assert_int_equal(bench.records[31].stamp, 31);
    const struct ss_ring_counts *counts = ss_ring_consumer_count(&bench.consumer, 0);
    assert_int_equal(counts->produced, 1000);
    assert_int_equal(counts->dropped, 968);
    check_sum(&bench);
    assert_true(put_push(&bench, 1, 1)); /* there is room again */
    assert_int_equal(take(&bench), 1);
    check_sum(&bench);
    close_bench(&bench);
}

static void test_overwriting_keeps_the_newest_and_counts(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, 8, SS_RING_OVERWRITE);
    for (uint64_t i = 0; i < 10000; i++) {
        assert_true(i % 2 == 0 ? put_count(&bench, i, 1, i) : put_push(&bench, i, 1));
    }
    uint64_t last = 0, got = 0;
    for (size_t some; (some = take(&bench)) > 0;) {
        for (size_t j = 0; j < some; j++) {
            assert_true(got + j == 0 || bench.records[j].stamp == last + 1);
            last = bench.records[j].stamp;
        }
        got += some;
    }
    assert_int_equal(last, 9999);
    assert_true(got > 100);
    const struct ss_ring_counts *counts = ss_ring_consumer_count(&bench.consumer, 0);
    assert_int_equal(counts->produced, 10000);
    assert_int_equal(counts->damaged, 0);
    assert_int_equal(counts->overwritten, 10000 - got);
    check_sum(&bench);
    close_bench(&bench);
}

/* Killed between taking a slot and writing it; a handler had written behind it. */
static void test_unfinished_record_is_stepped_over_at_the_end(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    for (uint64_t i = 0; i < 100; i++) {
        put_push(&bench, i, 1);
        take(&bench);
    }
    ss_ring_reserve(&bench.producer, 1);
    put_push(&bench, 777, 1);
    assert_int_equal(take(&bench), 0);
    assert_int_equal(ss_ring_consumer_read(&bench.consumer, 0, bench.records, BATCH, true), 1);
    assert_int_equal(bench.records[0].stamp, 777);
    const struct ss_ring_counts *counts = ss_ring_consumer_count(&bench.consumer, 0);
    assert_int_equal(counts->torn, 1);
    assert_int_equal(counts->damaged, 0);
    check_sum(&bench);
    close_bench(&bench);
}

/* The program lives on, but the interrupted record is never finished. */
static void test_abandoned_record_is_stepped_over(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    put_push(&bench, 1, 1);
    ss_ring_reserve(&bench.producer, 2);
    put_push(&bench, 2, 1);
    assert_int_equal(take(&bench), 1);
    assert_int_equal(take(&bench), 0);
    ss_ring_consumer_skip_torn(&bench.consumer, 0);
    assert_int_equal(take(&bench), 1);
    assert_int_equal(bench.records[0].stamp, 2);
    ss_ring_consumer_skip_torn(&bench.consumer, 0); /* nothing is in the way */
    put_push(&bench, 3, 1);
    assert_int_equal(take(&bench), 1);
    assert_true(ss_ring_consumer_count(&bench.consumer, 0)->torn > 0);
    check_sum(&bench);
    close_bench(&bench);
}

/* --- handlers at the worst moment ------------------------------------------------------------- */

/* The ring is full; a handler comes as a slot was taken beyond it, and finds room for its own. */
static void test_handler_before_a_slot_is_given_back(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    for (uint64_t i = 0; i < 64; i++) {
        assert_true(put_push(&bench, i, 1));
    }
    uint64_t at = ss_ring_advance(&bench.producer.head, 1);
    assert_int_equal(take(&bench), 64);
    assert_true(put_push(&bench, 65, 1)); /* the handler */
    assert_int_equal(ss_ring_reserve_again(&bench.producer, at, 1), 64);
    ss_ring_put(&bench.producer, at, 64, ss_ring_head_word(SS_RING_PUSH, 0, 0, 0, 1));
    ss_ring_publish(&bench.producer);
    assert_true(put_push(&bench, 66, 1));
    assert_int_equal(take(&bench), 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(bench.records[i].stamp, 64 + i);
    }
    check_sum(&bench);
    close_bench(&bench);
}

static struct bench *interrupted;

/* The page with the ring's control words may not be written: this comes as the first of them is
 * about to be, its value read already. */
static void on_fault(int number)
{
    (void)number;
    mprotect(interrupted->producer.thread, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE);
    put_count(interrupted, 2, 1, 2);
}

static void test_handler_before_a_record_is_shown(void **state)
{
    (void)state;
    static struct bench bench;
#if defined(__SANITIZE_THREAD__)
    print_message("ThreadSanitizer faults within itself, where no handler is called\n");
    skip();
#endif
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER}, old;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    interrupted = &bench;
    sigaction(SIGSEGV, &action, &old);
    mprotect(bench.producer.thread, SS_RING_PAGE_BYTES, PROT_READ);
    put_push(&bench, 1, 1);
    assert_int_equal(take(&bench), 2); /* the handler's as well, though nothing came after it */
    mprotect(bench.producer.thread, SS_RING_PAGE_BYTES, PROT_READ);
    put_count(&bench, 1, 1, 1); /* shows its continuation first */
    assert_int_equal(take(&bench), 2);
    sigaction(SIGSEGV, &old, NULL);
    assert_int_equal(ss_ring_consumer_count(&bench.consumer, 0)->produced, 4);
    assert_int_equal(ss_ring_consumer_count(&bench.consumer, 0)->consumed, 4);
    close_bench(&bench);
}

static void test_program_does_not_believe_an_impossible_tail(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    atomic_store(&bench.producer.thread->tail, UINT64_MAX / 2);
    uint64_t written = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        written += put_push(&bench, i, 1);
    }
    assert_int_equal(written, 0); /* not even the first room is certain */
    atomic_store(&bench.producer.thread->tail, 0);
    for (uint64_t i = 0; i < 1000; i++) {
        written += put_push(&bench, i, 1);
    }
    assert_int_equal(written, 64);
    close_bench(&bench);
}

static bool put_minor(struct bench *bench, uint64_t stamp)
{
    return ss_ring_leaves_spare(&bench->producer) && put_push(bench, stamp, 2);
}

static void test_a_flood_leaves_room_for_the_rest(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    uint32_t flooded = 0, others = 0;
    while (put_minor(&bench, flooded)) {
        flooded++;
    }
    assert_in_range(flooded, 56, 57);
    while (put_push(&bench, 100 + others, 1)) {
        others++;
    }
    assert_int_equal(flooded + others, 64);
    assert_false(put_minor(&bench, 200));
    assert_int_equal(take(&bench), 64);
    assert_true(put_minor(&bench, 201)); /* there is room again */
    assert_int_equal(take(&bench), 1);
    check_sum(&bench);
    assert_int_equal(ss_ring_consumer_count(&bench.consumer, 0)->dropped, 3);
    close_bench(&bench);
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_OVERWRITE);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(put_minor(&bench, i));
    }
    close_bench(&bench);
    struct ss_ring_producer wiped = {0};
    assert_false(ss_ring_leaves_spare(&wiped) && ss_ring_write(&wiped, 1, 1));
}

static void test_recorder_does_not_believe_an_impossible_ring(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    struct ss_ring_thread *thread = bench.producer.thread;
    static const uint64_t heads[] = {65, 1 << 20, UINT64_MAX, UINT64_MAX / 4, 1};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        atomic_store(&thread->head, heads[i]);
        assert_true(take(&bench) <= BATCH);
    }
    ss_ring_directory_entry *directory = (void *)(bench.memory.bytes + SS_RING_DIRECTORY_AT);
    static const uint64_t entries[] = {0,
                                       63,
                                       4096 | 16,
                                       SS_RING_SEGMENTS_AT,
                                       SS_RING_SEGMENTS_AT | 25,
                                       (MEMORY_BYTES - 4096) | 6,
                                       (UINT64_MAX & ~UINT64_C(4095)) | 6,
                                       MEMORY_BYTES | 6};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        atomic_store(&directory[i + 1], entries[i]);
    }
    atomic_store(&ring_memory_header(&bench.memory)->thread_count, UINT32_MAX);
    ss_ring_consumer_refresh(&bench.consumer);
    assert_int_equal(bench.consumer.lanes.count, SS_RING_MAX_THREADS);
    for (uint32_t i = 1; i < SS_RING_MAX_THREADS; i++) {
        assert_null(bench.consumer.lanes.data[i].thread);
        assert_int_equal(ss_ring_consumer_read(&bench.consumer, i, bench.records, BATCH, true), 0);
        ss_ring_consumer_count(&bench.consumer, i);
        ss_ring_consumer_release(&bench.consumer, i);
    }
    close_bench(&bench);
}

static void test_foreign_headers_are_refused(void **state)
{
    (void)state;
    struct ring_memory memory;
    struct ss_ring_memory map = {&memory, ring_memory_map};
    struct ss_ring_consumer consumer;
    struct ss_error err;
    ring_memory_open(&memory, MEMORY_BYTES);
    ring_memory_header(&memory)->version = 99;
    assert_int_equal(ss_ring_consumer_open(&map, &consumer, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "version 99"));
    atomic_store(&ring_memory_header(&memory)->magic, 0);
    assert_int_equal(ss_ring_consumer_open(&map, &consumer, &err), SS_E_AGAIN);
    atomic_store(&ring_memory_header(&memory)->magic, 1);
    assert_int_equal(ss_ring_consumer_open(&map, &consumer, &err), SS_E_FORMAT);
    memory.size = 100;
    assert_int_equal(ss_ring_consumer_open(&map, &consumer, &err), SS_E_AGAIN);
    memory.size = MEMORY_BYTES;
    ring_memory_close(&memory);
}

/* --- definitions ----------------------------------------------------------------------------- */

struct seen {
    int count;
    struct ss_ring_defined last;
    char text[64];
};

static void see(void *context, const struct ss_ring_defined *defined)
{
    struct seen *seen = context;
    seen->count++;
    seen->last = *defined;
    memcpy(seen->text, defined->text.data, defined->text.length);
    seen->text[defined->text.length] = '\0';
}

static void test_definitions(void **state)
{
    (void)state;
    static struct bench bench;
    struct seen seen = {0};
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    ring_memory_define(&bench.memory, SS_RING_DEFINE_NAME, 1, 0, 0, "forward");
    ss_ring_consumer_define(&bench.consumer, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.text, "forward");
    ring_memory_define(&bench.memory, SS_RING_DEFINE_DOMAIN, 1, 0, 0, "");
    ring_memory_define(&bench.memory, SS_RING_DEFINE_STYLE, 1, 0xff0000ff, 1, "");
    ring_memory_define(&bench.memory, SS_RING_DEFINE_COUNTER, 1, 1, SS_RING_DELTA, "");
    ss_ring_consumer_define(&bench.consumer, see, &seen);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.last.c, SS_RING_DELTA);
    ring_memory_define(&bench.memory, SS_RING_DEFINE_STYLE, 1, 0, 2, ""); /* no such category */
    ring_memory_define(&bench.memory, SS_RING_DEFINE_NAME, 2, 0, 0, "after the damage");
    ss_ring_consumer_define(&bench.consumer, see, &seen);
    assert_int_equal(seen.count, 4);
    assert_true(bench.consumer.definitions_broken);
    close_bench(&bench);
}

/* --- live stack ------------------------------------------------------------------------------ */

static void test_live_stack(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_ring_live_copy copy;
    uint32_t name, domain;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    struct ss_ring_producer *producer = &bench.producer;
    assert_true(ss_ring_read_innermost(producer->thread, &name, &domain));
    assert_int_equal(name, 0);
    assert_int_equal(ss_ring_live_pop(producer, 0), 0);
    assert_int_equal(producer->unmatched, 1);
    assert_int_equal(ss_ring_live_push(producer, 10, 0, 100), 0);
    assert_int_equal(ss_ring_live_push(producer, 11, 1, 101), 1);
    assert_int_equal(ss_ring_live_push(producer, 12, 0, 102), 2);
    assert_true(ss_ring_read_live(producer->thread, &copy));
    assert_int_equal(copy.depth, 3);
    assert_int_equal(copy.range[1].name, 101);
    assert_int_equal(copy.range[1].domain, 1);
    assert_int_equal(ss_ring_live_pop(producer, 1), 2); /* from the middle */
    assert_true(ss_ring_read_live(producer->thread, &copy));
    assert_int_equal(copy.depth, 2);
    assert_int_equal(copy.range[1].name, 102);
    assert_int_equal(copy.range[1].stamp, 12);
    for (uint32_t i = 2; i < 100; i++) { /* deeper than is shown */
        assert_int_equal(ss_ring_live_push(producer, i, 0, i), i);
    }
    assert_true(ss_ring_read_innermost(producer->thread, &name, &domain));
    assert_int_equal(name, 63);
    for (uint32_t i = 100; i > 0; i--) {
        assert_int_equal(ss_ring_live_pop(producer, 0), i);
    }
    assert_int_equal(ss_ring_live_pop(producer, 0), 0);
    close_bench(&bench);
}

struct racers {
    struct bench *bench;
    atomic_bool stop;
};

static void *push_and_pop(void *context)
{
    struct racers *racers = context;
    struct ss_ring_producer *producer = &racers->bench->producer;
    while (!atomic_load_explicit(&racers->stop, memory_order_relaxed)) {
        ss_ring_live_push(producer, 1, 1, 1);
        ss_ring_live_push(producer, 2, 2, 2);
        ss_ring_live_pop(producer, 2);
        ss_ring_live_push(producer, 3, 3, 3);
        ss_ring_live_pop(producer, 3);
        ss_ring_live_pop(producer, 1);
    }
    return NULL;
}

/* What is read is one state of the stack, never a mixture. */
static void test_live_stack_is_never_torn(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench, SS_RING_MIN_SLOTS_LOG2, SS_RING_DROP_NEWEST);
    struct racers racers = {&bench, false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, push_and_pop, &racers), 0);
    uint64_t stable = 0;
    for (int i = 0; i < 200000; i++) {
        struct ss_ring_live_copy copy;
        if (!ss_ring_read_live(bench.producer.thread, &copy)) {
            continue;
        }
        stable++;
        assert_in_range(copy.depth, 0, 2);
        for (uint32_t j = 0; j < copy.depth; j++) {
            assert_int_equal(copy.range[j].stamp, copy.range[j].name);
            assert_int_equal(copy.range[j].domain, copy.range[j].name);
        }
        if (copy.depth > 0) {
            assert_int_equal(copy.range[0].name, 1);
        }
    }
    atomic_store(&racers.stop, true);
    pthread_join(thread, NULL);
    assert_true(stable > 0);
    close_bench(&bench);
}

/* --- two threads ------------------------------------------------------------------------------ */

enum { RACE_RECORDS = 300000 };

static void *produce(void *context)
{
    struct bench *bench = context;
    for (uint64_t i = 0; i < RACE_RECORDS; i++) {
        if (i % 5 == 0) {
            put_count(bench, i, 1, ~i);
        } else {
            put_push(bench, i, 1);
        }
    }
    return NULL;
}

static void race(enum ss_ring_mode mode)
{
    static struct bench bench;
    open_bench(&bench, 10, mode);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, &bench), 0);
    uint64_t next = 0;
    bool ended = false;
    for (;;) {
        size_t got = take(&bench);
        for (size_t i = 0; i < got; i++) {
            const struct ss_ring_record *record = &bench.records[i];
            assert_true(record->stamp >= next);
            next = record->stamp + 1;
            assert_int_equal(record->type, record->stamp % 5 == 0 ? SS_RING_COUNT : SS_RING_PUSH);
            if (record->more > 0) {
                assert_true(record->value[0] == ~record->stamp);
            }
        }
        if (got == 0 && ended) {
            break;
        }
        if (got == 0 && pthread_tryjoin_np(thread, NULL) == 0) {
            ended = true;
        }
    }
    const struct ss_ring_counts *counts = ss_ring_consumer_count(&bench.consumer, 0);
    assert_int_equal(counts->produced, RACE_RECORDS);
    assert_int_equal(counts->damaged, 0);
    assert_int_equal(mode == SS_RING_DROP_NEWEST ? counts->overwritten : counts->dropped, 0);
    check_sum(&bench);
    close_bench(&bench);
}

static void test_race_dropping(void **state)
{
    (void)state;
    race(SS_RING_DROP_NEWEST);
}

static void test_race_overwriting(void **state)
{
    (void)state;
    race(SS_RING_OVERWRITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_arrive_as_they_were_written),
        cmocka_unit_test(test_many_laps_lose_nothing),
        cmocka_unit_test(test_damage_costs_what_it_spoils),
        cmocka_unit_test(test_a_record_that_would_end_behind_the_last_one_is_damaged),
        cmocka_unit_test(test_full_ring_drops_the_newest_and_counts),
        cmocka_unit_test(test_overwriting_keeps_the_newest_and_counts),
        cmocka_unit_test(test_unfinished_record_is_stepped_over_at_the_end),
        cmocka_unit_test(test_abandoned_record_is_stepped_over),
        cmocka_unit_test(test_handler_before_a_slot_is_given_back),
        cmocka_unit_test(test_handler_before_a_record_is_shown),
        cmocka_unit_test(test_program_does_not_believe_an_impossible_tail),
        cmocka_unit_test(test_a_flood_leaves_room_for_the_rest),
        cmocka_unit_test(test_recorder_does_not_believe_an_impossible_ring),
        cmocka_unit_test(test_foreign_headers_are_refused),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_live_stack),
        cmocka_unit_test(test_live_stack_is_never_torn),
        cmocka_unit_test(test_race_dropping),
        cmocka_unit_test(test_race_overwriting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
