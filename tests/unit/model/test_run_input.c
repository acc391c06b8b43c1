/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests of runs; the folders are tested by tests/e2e/test_many_ranks.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/files/run_input.h"

static bool parse(const char *text, struct ss_run_manifest *manifest)
{
    return ss_run_manifest_parse(text, strlen(text), manifest);
}

static void test_a_manifest(void **state)
{
    (void)state;
    struct ss_run_manifest manifest;
    assert_true(parse("{\"files\": \"nodes\", \"launcher\": \"srun\", \"max_ranks\": 3, \"ranks\": "
                      "\"0,local1\", \"run_id\": \"7\\u002e0\", \"world_size\": 128, \"new\": [1]}",
                      &manifest));
    assert_string_equal(manifest.run_id, "7.0");
    assert_string_equal(manifest.launcher, "srun");
    assert_string_equal(manifest.ranks, "0,local1");
    assert_true(manifest.is_of_nodes);
    assert_int_equal(manifest.world_size, 128);
    assert_int_equal(manifest.max_ranks, 3);
}

static void test_what_is_no_manifest(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       "[]",
                                       "{}",
                                       "{\"run_id\": \"7\"}",
                                       "{\"files\": \"ranks\"}",
                                       "{\"run_id\": \"7\", \"files\": \"steps\"}",
                                       "{\"run_id\": \"7\", \"files\": \"ra"};
    struct ss_run_manifest manifest;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(parse(none[i], &manifest));
    }
}

static void test_numbers_and_texts_out_of_range_are_as_if_unknown(void **state)
{
    (void)state;
    struct ss_run_manifest manifest;
    char text[2048], ranks[1000];
    memset(ranks, '1', sizeof ranks);
    ranks[sizeof ranks - 1] = '\0';
    snprintf(
        text, sizeof text,
        "{\"run_id\": 5, \"files\": \"ranks\", \"world_size\": 99999999999, \"max_ranks\": -1, "
        "\"ranks\": \"%s\"}",
        ranks);
    assert_true(parse(text, &manifest));
    assert_string_equal(manifest.run_id, "");
    assert_int_equal(manifest.world_size, 0);
    assert_int_equal(manifest.max_ranks, 0);
    assert_string_equal(manifest.ranks, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_manifest),
        cmocka_unit_test(test_what_is_no_manifest),
        cmocka_unit_test(test_numbers_and_texts_out_of_range_are_as_if_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
