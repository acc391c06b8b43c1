/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "source/clock_ping.h"

static const char *const secret = "0123456789abcdef0123456789abcdef";

static void a_frame_keeps_its_content(void **state)
{
    (void)state;
    struct ss_ping_key key;
    struct ss_ping_frame frame = {.is_answer = true,
                                  .number = 7,
                                  .sent_ns = UINT64_MAX - 1,
                                  .received_ns = 12,
                                  .answered_ns = 13,
                                  .time_namespace = 4026531834,
                                  .boot_id = "11111111-0000-4000-8000-000000000001"};
    struct ss_ping_frame read;
    uint8_t bytes[SS_PING_FRAME_BYTES];
    assert_true(ss_ping_key_make(secret, &key));
    ss_ping_encode(&frame, &key, bytes);
    assert_true(ss_ping_decode(bytes, &key, &read));
    assert_true(read.is_answer);
    assert_int_equal(read.number, 7);
    assert_true(read.sent_ns == UINT64_MAX - 1);
    assert_int_equal(read.received_ns, 12);
    assert_int_equal(read.answered_ns, 13);
    assert_int_equal(read.time_namespace, 4026531834);
    assert_string_equal(read.boot_id, frame.boot_id);
}

static void each_changed_bit_and_each_other_secret_is_refused(void **state)
{
    (void)state;
    struct ss_ping_key key, other;
    struct ss_ping_frame frame = {.number = 1}, read;
    uint8_t bytes[SS_PING_FRAME_BYTES];
    assert_true(ss_ping_key_make(secret, &key));
    assert_true(ss_ping_key_make("0123456789abcdef0123456789abcdeF", &other));
    ss_ping_encode(&frame, &key, bytes);
    assert_false(ss_ping_decode(bytes, &other, &read));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(ss_ping_decode(bytes, &key, &read));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(ss_ping_decode(bytes, &key, &read));
}

static void a_short_secret_is_refused(void **state)
{
    (void)state;
    struct ss_ping_key key;
    assert_false(ss_ping_key_make("0123456789abcde", &key));
}

/* The published test vector of SipHash-2-4 with 128 bits is for the key 00 … 0f and the message 00:
 * our key is made of a secret, so that only the code's difference between messages is checked. */
static void codes_differ_between_messages(void **state)
{
    (void)state;
    struct ss_ping_key key;
    uint8_t first[SS_PING_FRAME_BYTES], second[SS_PING_FRAME_BYTES];
    struct ss_ping_frame frame = {.number = 1};
    assert_true(ss_ping_key_make(secret, &key));
    ss_ping_encode(&frame, &key, first);
    frame.number = 2;
    ss_ping_encode(&frame, &key, second);
    assert_memory_not_equal(first + SS_PING_FRAME_BYTES - 16, second + SS_PING_FRAME_BYTES - 16,
                            16);
}

static void the_fastest_remain_in_order_of_time(void **state)
{
    (void)state;
    struct ss_ping pings[] = {{100, 1000, 1010, 160},  /* 50 */
                              {200, 1100, 1110, 230},  /* 20 */
                              {300, 1200, 1210, 410},  /* 100 */
                              {400, 1300, 1310, 440}}; /* 30 */
    assert_int_equal(ss_ping_select(pings, 4, 2), 2);
    assert_int_equal(pings[0].sent_ns, 200);
    assert_int_equal(pings[1].sent_ns, 400);
    assert_int_equal(ss_ping_select(pings, 0, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_keeps_its_content),
        cmocka_unit_test(each_changed_bit_and_each_other_secret_is_refused),
        cmocka_unit_test(a_short_secret_is_refused),
        cmocka_unit_test(codes_differ_between_messages),
        cmocka_unit_test(the_fastest_remain_in_order_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
