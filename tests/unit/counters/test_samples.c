/* SPDX-License-Identifier: Apache-2.0 */
/* What the chips can sample in one pass, by the host interface of a real CUPTI, where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "counters/samples.h"

static bool open_profiler(struct ss_profiler *profiler)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)profiler;
    print_message("CUPTI opens libraries with RTLD_DEEPBIND, at which the sanitizer ends\n");
    return false;
#else
    struct ss_error err = {0};
    if (ss_profiler_open(profiler, NULL, &err) != SS_OK) {
        print_message("%s: skipped\n", err.message);
        return false;
    }
    return true;
#endif
}

static enum ss_status plan(const struct ss_profiler *profiler, const char *chip,
                           struct ss_sample_plan *made, char *missing, size_t size)
{
    struct ss_metric_target target = {profiler, chip, NULL, SS_PROFILER_OF_SAMPLES};
    struct ss_strbuf text;
    struct ss_error err = {0};
    ss_strbuf_init(&text, 1000);
    enum ss_status status = ss_sample_plan_init(&target, made, &text, &err);
    snprintf(missing, size, "%s|%s", err.message, text.length > 0 ? text.data : "");
    ss_strbuf_fini(&text);
    return status;
}

static void recent_chips_sample_in_one_pass(void **state)
{
    (void)state;
    static const char *const chips[] = {"GA100", "GA102", "GH100", "AD102"};
    struct ss_profiler profiler;
    char missing[1200];
    if (!open_profiler(&profiler)) {
        skip();
    }
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        struct ss_sample_plan made;
        assert_int_equal(plan(&profiler, chips[i], &made, missing, sizeof missing), SS_OK);
        assert_true(made.count >= 5);
        assert_int_equal(made.config.passes, 1);
        assert_int_equal(made.series[0], SS_SAMPLES_sm_active);
        assert_int_equal(made.series[1], SS_SAMPLES_tensor_active);
        assert_int_equal(made.series[2], SS_SAMPLES_dram_read);
        assert_int_equal(made.series[3], SS_SAMPLES_dram_written);
        ss_sample_plan_fini(&made);
    }
}

static void a_chip_without_them_is_refused(void **state)
{
    (void)state;
    struct ss_profiler profiler;
    struct ss_sample_plan made;
    char missing[1200];
    if (!open_profiler(&profiler)) {
        skip();
    }
    assert_int_equal(plan(&profiler, "GV100", &made, missing, sizeof missing), SS_E_UNSUPPORTED);
    assert_non_null(strstr(missing, "compute capability"));
    assert_non_null(strstr(missing, "NVLink sent"));
    assert_int_equal(plan(&profiler, "G80", &made, missing, sizeof missing), SS_E_NOTFOUND);
}

static void series_have_titles_and_units(void **state)
{
    (void)state;
    for (int i = 0; i < SS_SAMPLE_SERIES_COUNT; i++) {
        assert_true(strlen(ss_sample_series_title((enum ss_sample_series)i)) > 0);
        const char *unit = ss_sample_series_unit((enum ss_sample_series)i);
        assert_true(strcmp(unit, "%") == 0 || strcmp(unit, "bytes/s") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recent_chips_sample_in_one_pass),
        cmocka_unit_test(a_chip_without_them_is_refused),
        cmocka_unit_test(series_have_titles_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
