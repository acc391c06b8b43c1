/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "serve/access.h"

static void test_hosts(void **state)
{
    static const char *const own[] = {"127.0.0.1",      "127.0.0.1:8080", "localhost:1",
                                      "LOCALHOST:9000", "[::1]",          "[::1]:65535"};
    static const char *const foreign[] = {
        "",           "evil.example",  "127.0.0.1.evil.example", "localhost.evil.example:80",
        "127.0.0.1:", "127.0.0.1:80x", "localhost:123456",       "evil.example:127.0.0.1",
        "0.0.0.0",    "[::1]evil:80",  "localhost@evil.example", " localhost"};
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_true(ss_access_is_host(own[i]));
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        assert_false(ss_access_is_host(foreign[i]));
    }
    assert_false(ss_access_is_host(NULL));
}

static void test_origins(void **state)
{
    (void)state;
    assert_true(ss_access_is_origin(NULL, "localhost:80"));
    assert_true(ss_access_is_origin("http://localhost:80", "localhost:80"));
    assert_false(ss_access_is_origin("http://localhost:81", "localhost:80"));
    assert_false(ss_access_is_origin("https://localhost:80", "localhost:80"));
    assert_false(ss_access_is_origin("http://127.0.0.1:80", "localhost:80"));
    assert_false(ss_access_is_origin("https://ui.perfetto.dev", "localhost:80"));
    assert_false(ss_access_is_origin("null", "localhost:80"));
    assert_false(ss_access_is_origin("http://localhost:80", NULL));
}

static void test_paths(void **state)
{
    static const char *const bad[] = {"",      "..",          "/..",   "/a/../b", "//etc/passwd",
                                      "/a//b", "/%2e%2e/etc", "/a\\b", "/./a",    "/a b",
                                      "/\n",   "/a?b",        "a",     "/-./x"};
    (void)state;
    assert_true(ss_access_is_path("/"));
    assert_true(ss_access_is_path("/api/picture"));
    assert_true(ss_access_is_path("/main.js"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(ss_access_is_path(bad[i]));
    }
}

static void test_tokens(void **state)
{
    struct ss_access one, other;
    char wrong[SS_TOKEN_DIGITS + 1];
    (void)state;
    assert_true(ss_access_init(&one) && ss_access_init(&other));
    assert_string_not_equal(one.token, other.token);
    assert_true(ss_access_is_token(&one, one.token));
    assert_false(ss_access_is_token(&one, other.token));
    assert_false(ss_access_is_token(&one, NULL));
    assert_false(ss_access_is_token(&one, ""));
    for (size_t i = 0; i < SS_TOKEN_DIGITS; i++) {
        memcpy(wrong, one.token, sizeof wrong);
        wrong[i] ^= 1;
        assert_false(ss_access_is_token(&one, wrong));
    }
    wrong[SS_TOKEN_DIGITS - 1] = '\0';
    assert_false(ss_access_is_token(&one, wrong));
}

static void test_authorizations(void **state)
{
    struct ss_access access;
    char text[64];
    (void)state;
    assert_true(ss_access_init(&access));
    static const char *const right[] = {"Bearer ", "bearer "};
    static const char *const wrong[] = {"", "Bearer  ", "Basic ", "Bearer"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        snprintf(text, sizeof text, "%s%s", right[i], access.token);
        assert_true(ss_access_is_authorization(&access, text));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s", wrong[i], access.token);
        assert_false(ss_access_is_authorization(&access, text));
    }
    snprintf(text, sizeof text, "Bearer %s ", access.token);
    assert_false(ss_access_is_authorization(&access, text));
    assert_false(ss_access_is_authorization(&access, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),          cmocka_unit_test(test_origins),
        cmocka_unit_test(test_paths),          cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_authorizations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
