/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "annot/names.h"

/* The last definition of the log. */
static struct ss_ring_definition last_definition(void)
{
    struct ss_ring_definition head = {0};
    for (uint32_t at = 0; at < ss_names_log_bytes();) {
        memcpy(&head, ss_names_log() + at, sizeof head);
        at += (uint32_t)ss_ring_definition_bytes(head.length);
    }
    return head;
}

static void each_style_of_a_name_is_a_name(void **state)
{
    (void)state;
    assert_true(ss_names_init());
    uint32_t name = ss_names_add(SS_RING_DEFINE_NAME, "mm", 2);
    uint32_t category = ss_names_add(SS_RING_DEFINE_NAME, "operator", 8);
    struct ss_name_style style = {.category = category};
    uint32_t plain = ss_names_add_styled(name, style);
    assert_int_equal(last_definition().d, SS_EVENT_TYPE_NONE);
    style.type = SS_EVENT_TYPE_operator;
    assert_int_equal(ss_names_find_styled(name, style), 0);
    uint32_t typed = ss_names_add_styled(name, style);
    assert_true(plain != 0 && typed != 0 && plain != typed);
    struct ss_ring_definition head = last_definition();
    assert_int_equal(head.kind, SS_RING_DEFINE_STYLE);
    assert_int_equal(head.a, typed);
    assert_int_equal(head.c, category);
    assert_int_equal(head.d, SS_EVENT_TYPE_operator);
    uint32_t bytes = ss_names_log_bytes();
    assert_int_equal(ss_names_add_styled(name, style), typed);
    assert_int_equal(ss_names_find_styled(name, (struct ss_name_style){.category = category}),
                     plain);
    assert_int_equal(ss_names_log_bytes(), bytes);
    size_t length;
    assert_memory_equal(ss_names_text(typed, &length), "mm", 2);
    assert_int_equal(ss_names_add_styled(name, (struct ss_name_style){.category = 1000}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_style_of_a_name_is_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
