/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of rings: ends belong to begins although records were lost, and time to the
 * recorder's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../../fakes/ring_memory.h"
#include "base/error.h"
#include "source/annot.h"

enum { MEMORY_BYTES = 16 << 20, SLOTS_LOG2 = 8 };

struct bench {
    struct ring_memory memory;
    struct ss_ring_producer producer;
    struct ss_stamp_clock clock;
    struct ss_annot *annot;
    char log[4096]; /* "+1@10 -1@20?" : begins, ends, "?" where the end was not seen */
    uint32_t names, domains;
    enum ss_event_type type;   /* of the last name */
    enum ss_quantity quantity; /* of the last counter */
};

static void on_name(void *context, const struct ss_annot_name *name)
{
    struct bench *bench = context;
    assert_true(name->id <= ++bench->names);
    assert_int_equal(name->file, name->line == 0 ? 0 : 1);
    bench->type = name->type;
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct bench *bench = context;
    assert_int_equal(id, ++bench->domains);
    assert_true(text.length < 100);
}

static void on_counter(void *context, const struct ss_annot_counter *counter)
{
    struct bench *bench = context;
    assert_true(counter->name > 0 && counter->kind < SS_RING_COUNTER_COUNT);
    bench->quantity = counter->quantity;
}

static void on_event(void *context, const struct ss_annot_event *event)
{
    static const char letters[] = "+-!<>fcsepwtalE";
    struct bench *bench = context;
    size_t used = strlen(bench->log);
    uint32_t what = event->kind == SS_ANNOT_RANGE_END ? event->domain : event->name;
    snprintf(bench->log + used, sizeof bench->log - used, "%s%c%u@%llu%s", used > 0 ? " " : "",
             letters[event->kind], what, (unsigned long long)event->time_ns,
             event->unseen_end ? "?" : "");
    if (event->collective.group != 0) {
        used = strlen(bench->log);
        snprintf(bench->log + used, sizeof bench->log - used, "=%u/%u#%lld:%u/%u/%u,%lld,%lld",
                 event->collective.group, event->collective.size,
                 (long long)event->collective.sequence, event->collective.datatype,
                 event->collective.algorithm, event->collective.protocol, (long long)event->value,
                 (long long)event->collective.root);
        used = strlen(bench->log);
        if (event->collective.library != SS_RING_OTHER_LIBRARY) {
            snprintf(bench->log + used, sizeof bench->log - used, "!%d%d",
                     (int)event->collective.library, (int)event->collective.direction);
            used = strlen(bench->log);
        }
        if (event->collective.tag >= 0 || event->collective.module != 0) {
            snprintf(bench->log + used, sizeof bench->log - used, ":%lld/%lld/%u",
                     (long long)event->collective.tag, (long long)event->collective.self,
                     event->collective.module);
        }
    }
    if (event->kind == SS_ANNOT_LINE) {
        used = strlen(bench->log);
        snprintf(bench->log + used, sizeof bench->log - used, "=%u:%llux%llu", event->detail,
                 (unsigned long long)event->id, (unsigned long long)event->value);
    }
}

static void open_bench(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    ring_memory_open(&bench->memory, MEMORY_BYTES);
    for (uint32_t i = 1; i <= 9; i++) {
        ring_memory_define(&bench->memory, SS_RING_DEFINE_NAME, i, 0, 0, "name");
    }
    ring_memory_define(&bench->memory, SS_RING_DEFINE_DOMAIN, 1, 0, 0, "domain");
    struct ss_ring_memory memory = {&bench->memory, ring_memory_map};
    struct ss_annot_sink sink = {bench, on_name, on_domain, on_counter, on_event};
    assert_int_equal(ss_annot_open(&memory, &bench->clock, 0, &sink, &bench->annot, NULL), SS_OK);
    struct ss_ring_thread *thread = ring_memory_thread(&bench->memory, SLOTS_LOG2, 7);
    ss_ring_producer_init(&bench->producer, thread, SLOTS_LOG2, SS_RING_DROP_NEWEST);
}

static void close_bench(struct bench *bench)
{
    ss_annot_free(bench->annot);
    ring_memory_close(&bench->memory);
}

static void push(struct bench *bench, uint64_t stamp, uint32_t domain, uint32_t depth,
                 uint32_t name)
{
    ss_ring_write(&bench->producer, stamp, ss_ring_head_word(SS_RING_PUSH, 0, domain, depth, name));
}

static void pop(struct bench *bench, uint64_t stamp, uint32_t domain, uint32_t depth)
{
    ss_ring_write(&bench->producer, stamp, ss_ring_head_word(SS_RING_POP, 0, domain, depth, 0));
}

static void test_ranges_nest(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    push(&bench, 11, 0, 1, 2);
    pop(&bench, 12, 0, 2);
    pop(&bench, 13, 0, 1);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@10 +2@11 -0@12 -0@13");
    assert_int_equal(bench.names, 9);
    close_bench(&bench);
}

static void test_domains_end_on_their_own(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    push(&bench, 11, 1, 1, 2);
    pop(&bench, 12, 0, 1); /* from below: the other continues, one level further out */
    pop(&bench, 13, 1, 1);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@10 +2@11 -0@12 -1@13");
    close_bench(&bench);
}

/* Two threads; the time is over at once: then some of each is read, and the rest later. */
static void test_a_drain_stops_when_its_time_is_over(void **state)
{
    enum { LOG2 = 11, SLOTS = 1 << LOG2, ROUNDS = 3, AT_ONCE = 256 };
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    for (int32_t tid = 8; tid <= 9; tid++) {
        struct ss_ring_producer flood;
        ss_ring_producer_init(&flood, ring_memory_thread(&bench.memory, LOG2, tid), LOG2,
                              SS_RING_DROP_NEWEST);
        for (uint64_t i = 0; i < SLOTS; i++) {
            assert_true(ss_ring_write(&flood, i, ss_ring_head_word(SS_RING_MARK, 0, 0, 0, 1)));
        }
    }
    struct ss_annot_totals totals;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t full = ss_annot_drain_until(bench.annot, 1000000, 1);
        assert_int_equal(full, 100 * (SLOTS - (round - 1) * AT_ONCE) / SLOTS);
        assert_true(ss_annot_is_behind(bench.annot));
        ss_annot_get_totals(bench.annot, &totals);
        assert_int_equal(totals.consumed, 2 * round * AT_ONCE);
    }
    ss_annot_drain(bench.annot, 1000000);
    assert_false(ss_annot_is_behind(bench.annot));
    ss_annot_get_totals(bench.annot, &totals);
    assert_int_equal(totals.consumed, 2 * SLOTS);
    close_bench(&bench);
}

static void test_lost_pops_end_where_it_shows(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_annot_totals totals;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    push(&bench, 11, 0, 1, 2);
    push(&bench, 20, 0, 1, 3); /* so 2 is over */
    pop(&bench, 21, 0, 1);     /* so 3 is over too */
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@10 +2@11 -0@20? +3@20 -0@21? -0@21");
    ss_annot_get_totals(bench.annot, &totals);
    assert_int_equal(totals.ends_lost, 2);
    close_bench(&bench);
}

static void test_lost_pushes_end_nothing_else(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_annot_totals totals;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    pop(&bench, 12, 0, 2); /* of a range whose push was dropped */
    pop(&bench, 13, 0, 1);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@10 -0@13");
    ss_annot_get_totals(bench.annot, &totals);
    assert_int_equal(totals.begins_lost, 1);
    close_bench(&bench);
}

static void test_what_is_open_at_the_end_is_flagged(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    ss_annot_drain(bench.annot, 1000);
    push(&bench, 1500, 0, 1, 2);
    ss_annot_end(bench.annot, 2000, 1000, true);
    assert_string_equal(bench.log, "+1@10 +2@1500 -0@1500? -0@1500? E0@1500");
    close_bench(&bench);
}

/* A deferred event with its own time; later events continue at the thread's time. */
static void test_what_happened_before_stands_where_it_was(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 500, 0, 0, 1);
    struct ss_ring_extra begin[2] = {{77, SS_RING_VALUE_UNSIGNED}, {100, 0}};
    struct ss_ring_extra end[2] = {{77, SS_RING_VALUE_UNSIGNED}, {200, 0}};
    struct ss_ring_extra mark[1] = {{UINT64_MAX, 0}}; /* not set yet: it is now */
    ss_ring_write_more(&bench.producer, 510,
                       ss_ring_head_word(SS_RING_BEGIN, 2, 0, SS_RING_OWN_TIME, 2), begin, 2);
    ss_ring_write_more(&bench.producer, 511,
                       ss_ring_head_word(SS_RING_END, 2, 0, SS_RING_OWN_TIME, 0), end, 2);
    ss_ring_write_more(&bench.producer, 512,
                       ss_ring_head_word(SS_RING_MARK, 1, 0, SS_RING_OWN_TIME, 3), mark, 1);
    /* The flag without a time: an ordinary record. */
    ss_ring_write_more(&bench.producer, 513,
                       ss_ring_head_word(SS_RING_END, 1, 0, SS_RING_OWN_TIME, 0), end, 1);
    pop(&bench, 514, 0, 1);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@500 <2@100 >0@200 !3@512 >0@513 -0@514");
    close_bench(&bench);
}

/* Name 2, of group 3 with 4 ranks: number 9, 4,096 bytes of datatype 5, from rank 6, by algorithm 1
 * with protocol 4. A group that is not defined is none. */
static void test_collectives_have_their_group(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    struct ss_ring_extra known[3] = {
        {77, 5 | UINT64_C(1) << 24}, {9, 3 | UINT64_C(4) << 24}, {4096, 1 | UINT64_C(4) << 24}};
    struct ss_ring_extra unknown[3] = {{78, 5}, {9, 300}, {0, 0}};
    ss_ring_write_more(&bench.producer, 500, ss_ring_head_word(SS_RING_COLLECTIVE, 3, 0, 7, 2),
                       known, 3);
    ss_ring_write_more(&bench.producer, 501, ss_ring_head_word(SS_RING_COLLECTIVE, 3, 0, 0, 2),
                       unknown, 3);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "<2@500=3/4#9:5/1/4,4096,6 <2@501");
    close_bench(&bench);
}

/* A transfer has a tag (1,000) where a collective has its algorithm, and what its data belongs to
 * (6) where that has its protocol (4). Of a collective, it (5) is where a transfer has its own rank
 * (2). */
static void test_transfers_have_a_tag_and_data_has_a_module(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    uint64_t flags = SS_RING_HAS_BYTES | SS_RING_HAS_TAG | SS_RING_HAS_MODULE |
                     UINT64_C(3) << SS_RING_SELF_SHIFT | UINT64_C(6) << 24;
    struct ss_ring_extra transfer[3] = {{77, 5 | SS_RING_GLOO << SS_RING_LIBRARY_SHIFT |
                                                 SS_RING_RECEIVES << SS_RING_DIRECTION_SHIFT |
                                                 UINT64_C(1000) << 24},
                                        {9, 3 | UINT64_C(4) << 24},
                                        {4096, flags}};
    struct ss_ring_extra named[3] = {
        {78, 5},
        {9, 3 | UINT64_C(4) << 24},
        {0, SS_RING_HAS_MODULE | UINT64_C(5) << SS_RING_SELF_SHIFT | UINT64_C(4) << 24}};
    ss_ring_write_more(&bench.producer, 500, ss_ring_head_word(SS_RING_COLLECTIVE, 3, 0, 7, 2),
                       transfer, 3);
    ss_ring_write_more(&bench.producer, 501, ss_ring_head_word(SS_RING_COLLECTIVE, 3, 0, 0, 2),
                       named, 3);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log,
                        "<2@500=3/4#9:5/0/0,4096,6!32:1000/2/6 <2@501=3/4#9:5/0/4,0,-1:-1/-1/5");
    close_bench(&bench);
}

static void test_ended_threads_leave_nothing_open(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 10, 0, 0, 1);
    atomic_store(&bench.producer.thread->state, SS_RING_CLOSED);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@10 -0@10?");
    assert_int_equal(bench.producer.thread->state, SS_RING_FREE);
    close_bench(&bench);
}

static void test_time_stays_in_order_and_in_the_recording(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 100, 0, 0, 1);
    pop(&bench, 90, 0, 1); /* a signal handler's, stamped before what it interrupted */
    push(&bench, UINT64_MAX, 0, 0, 2);
    ss_annot_drain(bench.annot, INT64_MAX); /* which no clock here has reached */
    assert_string_equal(bench.log, "+1@100 -0@100 +2@9223372036854775807");
    close_bench(&bench);
}

/* Reading takes its time, and the program continues. */
static void test_what_is_written_while_it_is_read_keeps_its_time(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    push(&bench, 900, 0, 0, 1);
    pop(&bench, 1100, 0, 1);
    push(&bench, 1200, 0, 0, 2);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+1@900 -0@1100 +2@1200");
    close_bench(&bench);
}

static void test_inventions_are_dropped(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_annot_totals totals;
    open_bench(&bench);
    push(&bench, 10, 200, 0, 5000); /* neither was defined */
    ss_ring_write(&bench.producer, 11, ss_ring_head_word(SS_RING_COUNT, 0, 0, 0, 1));
    ss_ring_write(&bench.producer, 12, ss_ring_head_word((enum ss_ring_type)40, 0, 0, 0, 1));
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "+0@10");
    ss_annot_get_totals(bench.annot, &totals);
    assert_int_equal(totals.damaged, 2);
    assert_int_equal(totals.lost_names, 1);
    close_bench(&bench);
}

static void keep_fact(struct bench *bench, size_t slot, uint32_t key, uint32_t type, uint64_t value)
{
    struct ss_ring_fact *fact = &ring_memory_header(&bench->memory)->facts[slot];
    atomic_store(&fact->value, value);
    atomic_store(&fact->type, type);
    atomic_store(&fact->key, key);
}

/* Facts with invalid names or types are ignored. */
static void test_facts_from_before_the_recording(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_ring_request request = {.gate = SS_RING_GATE_ALL, .now_ns = 1000};
    open_bench(&bench);
    keep_fact(&bench, 0, 1, SS_RING_VALUE_SIGNED, 7);
    keep_fact(&bench, 1, 2, SS_RING_VALUE_NAME, 1);
    keep_fact(&bench, 2, 5000, SS_RING_VALUE_SIGNED, 7);
    keep_fact(&bench, 3, 1, SS_RING_VALUE_NAME, 5000);
    keep_fact(&bench, 4, 1, 77, 1);
    keep_fact(&bench, 5, 1, SS_RING_VALUE_NONE, 1);
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log, "");
    ss_annot_start(bench.annot, &request, true);
    keep_fact(&bench, 6, 1, SS_RING_VALUE_SIGNED, 8); /* this one comes by a ring */
    ss_annot_drain(bench.annot, 2000);
    assert_string_equal(bench.log, "a1@0 a2@0");
    ss_annot_drain(bench.annot, 3000);
    assert_string_equal(bench.log, "a1@0 a2@0");
    close_bench(&bench);
}

static void line(struct bench *bench, uint64_t stamp, uint32_t name, uint64_t ticks,
                 uint32_t number, uint64_t hits)
{
    struct ss_ring_extra more[2] = {{ticks, number}, {hits, 0}};
    ss_ring_write_more(&bench->producer, stamp, ss_ring_head_word(SS_RING_LINE, 2, 0, 0, name),
                       more, 2);
}

static void test_names_have_kinds(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    struct ss_ring_definition style = {
        .kind = SS_RING_DEFINE_STYLE, .a = 2, .c = 1, .d = SS_EVENT_TYPE_operator};
    ring_memory_define_head(&bench.memory, style, "");
    push(&bench, 10, 0, 0, 2);
    ss_annot_drain(bench.annot, 1000);
    assert_int_equal(bench.type, SS_EVENT_TYPE_operator);
    style.d = SS_EVENT_TYPE_COUNT; /* of a newer runtime */
    ring_memory_define_head(&bench.memory, style, "");
    pop(&bench, 1500, 0, 1);
    ss_annot_drain(bench.annot, 2000);
    assert_int_equal(bench.type, SS_EVENT_TYPE_NONE);
    struct ss_ring_definition counter = {
        .kind = SS_RING_DEFINE_COUNTER, .a = 3, .b = 1, .d = SS_QUANTITY_DEVICE_PEAK};
    ring_memory_define_head(&bench.memory, counter, "");
    push(&bench, 2500, 0, 0, 2);
    ss_annot_drain(bench.annot, 3000);
    assert_int_equal(bench.quantity, SS_QUANTITY_DEVICE_PEAK);
    counter.d = SS_QUANTITY_COUNT;
    ring_memory_define_head(&bench.memory, counter, "");
    pop(&bench, 3500, 0, 1);
    ss_annot_drain(bench.annot, 4000);
    assert_int_equal(bench.quantity, SS_QUANTITY_NONE);
    close_bench(&bench);
}

static void test_lines_of_functions(void **state)
{
    (void)state;
    static struct bench bench;
    open_bench(&bench);
    ring_memory_define(&bench.memory, SS_RING_DEFINE_FUNCTION, 10, 1, 33, "f");
    line(&bench, 500, 10, 120, 34, 7);
    line(&bench, 510, 10, 0, 35, 0);
    line(&bench, 520, 10, 521, 36, 1);        /* longer than the clock has run */
    line(&bench, 530, 60000, 1, 0xffffff, 1); /* of no function */
    ss_annot_drain(bench.annot, 1000);
    assert_string_equal(bench.log,
                        "l10@500=34:7x120 l10@510=35:0x0 l10@520=36:1x0 l0@530=16777215:1x1");
    assert_int_equal(bench.names, 10);
    /* A file that is not there yet ends the definitions. */
    ring_memory_define(&bench.memory, SS_RING_DEFINE_FUNCTION, 11, 12, 33, "g");
    ring_memory_define(&bench.memory, SS_RING_DEFINE_NAME, 12, 0, 0, "late");
    push(&bench, 600, 0, 0, 12);
    ss_annot_drain(bench.annot, 1000);
    assert_int_equal(bench.names, 10);
    close_bench(&bench);
}

static void test_labels_of_samples(void **state)
{
    (void)state;
    static struct bench bench;
    struct ss_annot_label label;
    open_bench(&bench);
    ring_memory_header(&bench.memory)->step = 41;
    ring_memory_header(&bench.memory)->phase = 3;
    ss_ring_live_push(&bench.producer, 10, 0, 4);
    ss_annot_label(bench.annot, 7, &label); /* before the first drain */
    assert_int_equal(label.step, 41);
    assert_int_equal(label.phase, 3);
    assert_int_equal(label.range, 4);
    ss_annot_label(bench.annot, 8, &label); /* a thread without annotations */
    assert_int_equal(label.step, 41);
    assert_int_equal(label.phase, 3);
    assert_int_equal(label.range, 0);
    atomic_store(&bench.producer.thread->phase, 5);
    ss_ring_live_push(&bench.producer, 11, 0, 60000); /* undefined */
    ring_memory_header(&bench.memory)->step = -1;
    ss_annot_label(bench.annot, 7, &label);
    assert_int_equal(label.step, -1);
    assert_int_equal(label.phase, 5);
    assert_int_equal(label.range, 0);
    close_bench(&bench);
}

static void test_clock_lies_on_lines_between_readings(void **state)
{
    (void)state;
    struct ss_stamp_clock clock = {0};
    assert_int_equal(ss_stamp_clock_ns(&clock, 5), 0);
    ss_stamp_clock_put(&clock, (struct ss_stamp_reading){1000, 5000});
    assert_int_equal(ss_stamp_clock_ns(&clock, 5), 5000);
    ss_stamp_clock_put(&clock, (struct ss_stamp_reading){3000, 6000});
    ss_stamp_clock_put(&clock, (struct ss_stamp_reading){5000, 8000}); /* the clock was slewed */
    assert_int_equal(ss_stamp_clock_ns(&clock, 1000), 5000);
    assert_int_equal(ss_stamp_clock_ns(&clock, 2000), 5500);
    assert_int_equal(ss_stamp_clock_ns(&clock, 4000), 7000);
    assert_int_equal(ss_stamp_clock_ns(&clock, 5500), 8500); /* since the last reading */
    assert_int_equal(ss_stamp_clock_ns(&clock, 0), 4250);    /* before the first */
    uint64_t last = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        ss_stamp_clock_put(&clock, (struct ss_stamp_reading){6000 + i * 100, 9000 + i * 31});
    }
    for (uint64_t stamp = 0; stamp < 120000; stamp += 7) {
        uint64_t ns = ss_stamp_clock_ns(&clock, stamp);
        assert_true(ns >= last || stamp < 100000); /* older ones lie on one long line */
        last = ns;
    }
    ss_stamp_clock_ns(&clock, UINT64_MAX);
    ss_stamp_clock_ns(&clock, UINT64_C(1) << 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_nest),
        cmocka_unit_test(test_what_happened_before_stands_where_it_was),
        cmocka_unit_test(test_collectives_have_their_group),
        cmocka_unit_test(test_transfers_have_a_tag_and_data_has_a_module),
        cmocka_unit_test(test_domains_end_on_their_own),
        cmocka_unit_test(test_a_drain_stops_when_its_time_is_over),
        cmocka_unit_test(test_lost_pops_end_where_it_shows),
        cmocka_unit_test(test_lost_pushes_end_nothing_else),
        cmocka_unit_test(test_what_is_open_at_the_end_is_flagged),
        cmocka_unit_test(test_ended_threads_leave_nothing_open),
        cmocka_unit_test(test_time_stays_in_order_and_in_the_recording),
        cmocka_unit_test(test_what_is_written_while_it_is_read_keeps_its_time),
        cmocka_unit_test(test_inventions_are_dropped),
        cmocka_unit_test(test_facts_from_before_the_recording),
        cmocka_unit_test(test_names_have_kinds),
        cmocka_unit_test(test_lines_of_functions),
        cmocka_unit_test(test_labels_of_samples),
        cmocka_unit_test(test_clock_lies_on_lines_between_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
