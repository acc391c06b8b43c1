/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/samples/call_weights.h"
#include "base/strbuf.h"

static void load(struct ss_model *model, const char *text)
{
    const struct ss_model_load all = {.quiet = true};
    ss_model_init(model);
    assert_int_equal(ss_model_add_raw_memory(model, "test", text, strlen(text), &all, NULL), SS_OK);
}

static void weigh(const struct ss_model *model, const struct ss_step_summary *training,
                  struct ss_call_weights *weights)
{
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    const struct ss_step_summary none = {.processes = 0};
    struct ss_selection selection;
    assert_int_equal(ss_selection_init(&selection, model, &all, NULL), SS_OK);
    ss_call_weights_init(weights, &selection, training != NULL ? training : &none);
    ss_selection_fini(&selection);
}

static const char *name_of(const struct ss_call_weights *weights, size_t call)
{
    return weights->functions.data[weights->calls.data[call].function].name.data;
}

/* The call with this name below a parent; 0: none. */
static size_t find(const struct ss_call_weights *weights, size_t parent, const char *name)
{
    for (size_t i = 1; i < weights->calls.count; i++) {
        const struct ss_weighed_call *call = &weights->calls.data[i];
        if (call->parent == parent && call->folded == 0 && strcmp(name_of(weights, i), name) == 0) {
            return i;
        }
    }
    return 0;
}

static void test_calls_are_merged_by_function(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_call_weights weights;
    load(&model, "main (a.py:1);work (a.py:5) 30\nmain (a.py:2);work (a.py:6) 10\n"
                 "main (a.py:1);rest (b.py:5) 60\n");
    weigh(&model, NULL, &weights);
    assert_int_equal(weights.part_count, 1);
    assert_int_equal(weights.calls.data[0].total, 100);
    size_t main = find(&weights, 0, "main"), work = find(&weights, main, "work");
    assert_int_not_equal(main, 0);
    assert_int_not_equal(work, 0);
    assert_int_equal(weights.calls.data[work].total, 40);
    assert_int_equal(weights.self[work], 40);
    assert_int_equal(weights.self[main], 0);
    assert_int_equal(weights.calls.count, 4);
    ss_call_weights_fini(&weights);
    ss_model_fini(&model);
}

static void test_recursion_is_one_call(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_call_weights weights;
    load(&model, "f (a.py:1);f (a.py:1);f (a.py:1);g (a.py:9) 7\n");
    weigh(&model, NULL, &weights);
    size_t f = find(&weights, 0, "f");
    assert_int_equal(find(&weights, f, "f"), 0);
    assert_int_equal(weights.calls.data[find(&weights, f, "g")].total, 7);
    ss_call_weights_fini(&weights);
    ss_model_fini(&model);
}

/* Whatever was folded is in the fold: no weight is lost, and their number is limited. */
static void test_light_calls_are_folded(void **state)
{
    (void)state;
    enum { CALLS = 20000 };
    struct ss_strbuf text;
    struct ss_model model;
    struct ss_call_weights weights;
    ss_strbuf_init(&text, 4 << 20);
    ss_strbuf_append_text(&text, "main (a.py:1);big (a.py:2) 30000\n");
    for (int i = 0; i < CALLS; i++) {
        ss_strbuf_append_format(&text, "main (a.py:1);f%d (a.py:3);g (a.py:4) %d\n", i, 1 + i % 3);
    }
    load(&model, text.data);
    ss_strbuf_fini(&text);
    weigh(&model, NULL, &weights);
    assert_true(weights.calls.count <= SS_CALLS_MOST);
    uint64_t all = 0, folded = 0;
    for (size_t i = 0; i < weights.calls.count; i++) {
        all += weights.self[i];
        folded += weights.calls.data[i].folded;
        assert_true(i == 0 || weights.calls.data[i].parent < i);
    }
    assert_int_equal(all, weights.calls.data[0].total);
    assert_int_equal(folded, 2 * CALLS);
    assert_int_not_equal(find(&weights, find(&weights, 0, "main"), "big"), 0);
    ss_call_weights_fini(&weights);
    ss_model_fini(&model);
}

static void test_parts_are_the_phases(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_call_weights weights;
    load(&model, "main (a.py:1) 1\n");
    uint32_t data = build_text(&model, "data");
    struct ss_model_total total = model.totals.data[0];
    total.samples = 20;
    total.step = SS_SAMPLE_LATER_STEP;
    ss_model_add_total(&model, &total);
    total.phase = data;
    total.samples = 300;
    ss_model_add_total(&model, &total);
    struct ss_step_summary training = {.processes = 1};
    ss_vec_push_zero(&training.steps);
    ss_vec_push(&training.phases, (struct ss_step_phase){.name = data});
    ss_vec_push_zero(&training.phases); /* other */
    weigh(&model, &training, &weights);
    assert_int_equal(weights.part_count, 3);
    assert_string_equal(weights.parts[0].data, "data");
    assert_string_equal(weights.parts[2].data, "outside of steps");
    const uint64_t *self = &weights.self[find(&weights, 0, "main") * 3];
    assert_int_equal(self[0], 300);
    assert_int_equal(self[1], 20);
    assert_int_equal(self[2], 1);
    ss_vec_fini(&training.steps);
    ss_vec_fini(&training.phases);
    ss_call_weights_fini(&weights);
    ss_model_fini(&model);
}

static void test_nothing_is_a_root(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_call_weights weights;
    ss_model_init(&model);
    weigh(&model, NULL, &weights);
    assert_int_equal(weights.calls.count, 1);
    assert_int_equal(weights.calls.data[0].total, 0);
    ss_call_weights_fini(&weights);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_are_merged_by_function),
        cmocka_unit_test(test_recursion_is_one_call),
        cmocka_unit_test(test_light_calls_are_folded),
        cmocka_unit_test(test_parts_are_the_phases),
        cmocka_unit_test(test_nothing_is_a_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
