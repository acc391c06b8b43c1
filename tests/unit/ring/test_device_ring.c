/* SPDX-License-Identifier: Apache-2.0 */
/* Messages through the ring of a device's collector, and rings that are not such rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ring/device_ring.h"

enum { LOG2 = SS_DEVICE_RING_MIN_LOG2, BYTES = SS_DEVICE_RING_PAGE_BYTES + (1 << LOG2) };

static uint64_t buffer[SS_DEVICE_MAX_MESSAGE_BYTES / 8];

static void *new_memory(void)
{
    return aligned_alloc(4096, BYTES);
}

static void messages_arrive_in_order_across_the_end(void **state)
{
    (void)state;
    void *memory = memset(new_memory(), 0, BYTES);
    struct ss_device_producer producer;
    struct ss_device_consumer consumer;
    ss_device_producer_init(&producer, memory, LOG2, 1);
    assert_true(ss_device_consumer_open(&consumer, memory, BYTES));
    assert_int_equal(ss_device_next(&consumer, buffer), 0);
    char text[1001];
    for (uint32_t i = 0; i < 1000; i++) {
        size_t length = i % sizeof text;
        memset(text, 'a' + (int)(i % 26), length);
        struct ss_device_text message = {
            .head.kind = SS_DEVICE_TEXT, .number = i, .length = (uint32_t)length};
        assert_true(ss_device_put(&producer, &message.head, sizeof message, text, length));
        assert_false(ss_device_is_drained(&producer));
        size_t got = ss_device_next(&consumer, buffer);
        const struct ss_device_text *back = (const void *)buffer;
        assert_int_equal(got, (sizeof message + length + 7) / 8 * 8);
        assert_int_equal(back->number, i);
        assert_int_equal(back->length, length);
        assert_memory_equal(back + 1, text, length);
        ss_device_consumer_release(&consumer);
        assert_true(ss_device_is_drained(&producer));
    }
    free(memory);
}

static void a_full_ring_refuses_until_it_is_read(void **state)
{
    (void)state;
    void *memory = memset(new_memory(), 0, BYTES);
    struct ss_device_producer producer;
    struct ss_device_consumer consumer;
    struct ss_device_work_message work = {.head.kind = SS_DEVICE_WORK};
    ss_device_producer_init(&producer, memory, LOG2, 1);
    assert_true(ss_device_consumer_open(&consumer, memory, BYTES));
    size_t put = 0, got = 0;
    while (ss_device_put(&producer, &work.head, sizeof work, NULL, 0)) {
        put++;
    }
    assert_int_equal(put, (1 << LOG2) / sizeof work);
    while (ss_device_next(&consumer, buffer) != 0) {
        got++;
    }
    assert_int_equal(got, put);
    assert_false(ss_device_put(&producer, &work.head, sizeof work, NULL, 0));
    ss_device_consumer_release(&consumer);
    assert_true(ss_device_put(&producer, &work.head, sizeof work, NULL, 0));
    free(memory);
}

static void another_file_is_refused(void **state)
{
    (void)state;
    void *memory = memset(new_memory(), 0, BYTES);
    struct ss_device_producer producer;
    struct ss_device_consumer consumer;
    assert_false(ss_device_consumer_open(&consumer, memory, BYTES));
    ss_device_producer_init(&producer, memory, LOG2, 1);
    assert_false(ss_device_consumer_open(&consumer, memory, BYTES - 1));
    producer.header->bytes_log2 = 60;
    assert_false(ss_device_consumer_open(&consumer, memory, BYTES));
    producer.header->bytes_log2 = LOG2;
    producer.header->version = 99;
    assert_false(ss_device_consumer_open(&consumer, memory, BYTES));
    free(memory);
}

static void a_broken_message_ends_the_reading(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 4, 12, 1 << 20, UINT32_MAX - 7, 512};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        void *memory = memset(new_memory(), 0, BYTES);
        struct ss_device_producer producer;
        struct ss_device_consumer consumer;
        struct ss_device_work_message work = {.head.kind = SS_DEVICE_WORK};
        ss_device_producer_init(&producer, memory, LOG2, 1);
        assert_true(ss_device_consumer_open(&consumer, memory, BYTES));
        assert_true(ss_device_put(&producer, &work.head, sizeof work, NULL, 0));
        memcpy(producer.data + 4, &lengths[i], 4);
        assert_int_equal(ss_device_next(&consumer, buffer), 0);
        assert_true(consumer.is_broken);
        assert_true(ss_device_put(&producer, &work.head, sizeof work, NULL, 0));
        assert_int_equal(ss_device_next(&consumer, buffer), 0);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_across_the_end),
        cmocka_unit_test(a_full_ring_refuses_until_it_is_read),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(a_broken_message_ends_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
