/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an analysis: each is built once, also by several threads, and freed after what needs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/selection/analysis.h"
#include "base/log.h"

enum { THREADS = 8 };

static struct ss_analysis *analysis;
static int selection, built_first, built_second, freed;

static void *build_first(const void *of)
{
    assert_ptr_equal(of, &selection);
    built_first++;
    return &built_first;
}

static void free_first(void *part)
{
    assert_ptr_equal(part, &built_first);
    assert_int_equal(++freed, 2);
}

static const struct ss_analysis_part first = {"first", build_first, free_first};

static void *build_second(const void *of)
{
    built_second++;
    assert_ptr_equal(ss_analysis_get(analysis, &first, of), &built_first);
    return &built_second;
}

static void free_second(void *part)
{
    assert_ptr_equal(part, &built_second);
    assert_int_equal(++freed, 1);
}

static const struct ss_analysis_part second = {"second", build_second, free_second};

static void *ask(void *unused)
{
    (void)unused;
    return (void *)ss_analysis_get(analysis, &second, &selection);
}

static void test_parts_are_built_once_and_freed_in_turn(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    analysis = ss_analysis_new();
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(threads[i], &part);
        assert_ptr_equal(part, &built_second);
    }
    assert_int_equal(built_first, 1);
    assert_int_equal(built_second, 1);
    ss_analysis_free(analysis);
    assert_int_equal(freed, 2);
    ss_analysis_free(NULL);
}

static void test_the_cost_of_each_part_is_logged(void **state)
{
    char text[512] = "";
    int log = memfd_create("log", 0), before = dup(STDERR_FILENO);
    (void)state;
    freed = 0;
    analysis = ss_analysis_new();
    ss_log_set_level(SS_DEBUG);
    assert_true(log >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
    ss_analysis_get(analysis, &second, &selection);
    ss_analysis_get(analysis, &second, &selection); /* built once, logged once */
    dup2(before, STDERR_FILENO);
    ss_log_set_level(SS_WARN);
    assert_true(pread(log, text, sizeof text - 1, 0) > 0);
    const char *of_first = strstr(text, "analysis: first: "), *of_second;
    assert_non_null(of_first); /* what a part asks for is complete before it */
    of_second = strstr(of_first, "analysis: second: ");
    assert_non_null(of_second);
    assert_null(strstr(of_second + 1, "analysis: "));
    close(log);
    close(before);
    ss_analysis_free(analysis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_built_once_and_freed_in_turn),
        cmocka_unit_test(test_the_cost_of_each_part_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
