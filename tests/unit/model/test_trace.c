/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "model/core/model.h"

static const char golden[] = SS_TEST_SOURCE_DIR "/tests/golden/good/small.pftrace";

static enum ss_status load(struct ss_model *model, const struct ss_model_load *options,
                           struct ss_error *err)
{
    ss_model_init(model);
    return ss_model_add_input(model, golden, options, err);
}

static void samples_are_kept_when_asked_for(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_error err;
    struct ss_model_load keep = {.size = sizeof keep, .keep_samples = true};
    assert_int_equal(load(&model, &keep, &err), SS_OK);
    uint64_t ticks = 0;
    for (size_t i = 0; i < model.samples.count; i++) {
        ticks += model.samples.data[i].weight;
    }
    assert_true(ticks > 0);
    assert_int_equal(ticks, model.inputs.data[0].samples);
    ss_model_fini(&model);
    assert_int_equal(load(&model, &(struct ss_model_load){.size = sizeof keep}, &err), SS_OK);
    assert_int_equal(model.samples.count, 0);
    ss_model_fini(&model);
}

static void more_samples_than_fit_are_an_error(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_error err;
    struct ss_model_load keep = {.size = sizeof keep, .keep_samples = true, .max_samples = 5};
    assert_int_equal(load(&model, &keep, &err), SS_E_LIMIT);
    assert_int_equal(model.samples.count, 5);
    assert_non_null(strstr(err.message, "more than 5 samples"));
    ss_model_fini(&model);
    /* The sums need no place for each. */
    keep.keep_samples = false;
    assert_int_equal(load(&model, &keep, &err), SS_OK);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_kept_when_asked_for),
        cmocka_unit_test(more_samples_than_fit_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
