/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "record/windows/on_demand_text.h"

static struct ss_ping_key key_of(const char *token)
{
    struct ss_ping_key key;
    assert_true(ss_ping_key_make(token, &key));
    return key;
}

static void requests(void **state)
{
    (void)state;
    static const struct ss_on_demand_request written = {
        .id = UINT64_C(0xfedcba9876543210), .kind = SS_ON_DEMAND_STEPS, .first = 7, .last = 9};
    struct ss_ping_key key = key_of("0123456789abcdef"), other = key_of("0123456789abcdeg");
    struct ss_on_demand_request read;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_on_demand_put_request(&text, &written, &key);
    assert_true(ss_on_demand_get_request(text.data, &key, &read));
    assert_memory_equal(&read, &written, sizeof read);
    assert_false(ss_on_demand_get_request(text.data, &other, &read));
    for (size_t i = 0; i < text.length; i++) { /* no byte of it can be another one */
        text.data[i] ^= 1;
        assert_false(ss_on_demand_get_request(text.data, &key, &read));
        text.data[i] ^= 1;
    }
    ss_strbuf_append_text(&text, "\n");
    assert_false(ss_on_demand_get_request(text.data, &key, &read));
    ss_strbuf_fini(&text);
}

static void recorders(void **state)
{
    (void)state;
    static const struct ss_on_demand_recorder written = {
        .host = "node17", .pid = 4242, .rank = -1, .period_ms = 250};
    struct ss_on_demand_recorder read;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_on_demand_put_recorder(&text, &written);
    assert_true(ss_on_demand_get_recorder(text.data, &read));
    assert_memory_equal(&read, &written, sizeof read);
    assert_false(ss_on_demand_get_recorder("stepscope recorder 1 a 0 0 250\n", &read));
    assert_false(ss_on_demand_get_recorder("stepscope recorder 1 a 5 -2 250\n", &read));
    assert_false(ss_on_demand_get_recorder("stepscope recorder 1 a 5 0 250", &read));
    assert_false(ss_on_demand_get_recorder("", &read));
    ss_strbuf_fini(&text);
}

static void answers(void **state)
{
    (void)state;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    for (int i = 0; i < SS_ON_DEMAND_STATES; i++) {
        struct ss_on_demand_answer read, written = {.id = 12,
                                                    .rank = 3,
                                                    .pid = 4242,
                                                    .state = (enum ss_on_demand_state)i,
                                                    .step = -1,
                                                    .path = "a b/c.pftrace",
                                                    .path_length = 13};
        ss_strbuf_clear(&text);
        ss_on_demand_put_answer(&text, &written);
        assert_true(ss_on_demand_get_answer(text.data, text.length - 1, &read));
        assert_int_equal(read.state, i);
        assert_int_equal(read.rank, 3);
        assert_int_equal(read.pid, 4242);
        assert_int_equal(read.step, -1);
        assert_int_equal(read.path_length, 13);
        assert_memory_equal(read.path, "a b/c.pftrace", 13);
    }
    struct ss_on_demand_answer read;
    assert_false(ss_on_demand_get_answer("1 2 3 nonsense 4 ", 17, &read));
    assert_false(ss_on_demand_get_answer("1 2 3 armed", 11, &read));
    assert_false(ss_on_demand_get_answer("", 0, &read));
    ss_strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(recorders),
        cmocka_unit_test(answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
