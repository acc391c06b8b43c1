/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/note_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct ss_model *model, uint32_t input, uint32_t process, int64_t value)
{
    ss_vec_push(&model->notes,
                (struct ss_model_note){.input = input, .process = process, .value = value});
}

static void assert_values(const struct ss_model *model, struct ss_note_ids notes,
                          const int64_t *values, size_t count)
{
    assert_int_equal(notes.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ss_note_at(model, &notes, i)->value, values[i]);
    }
}

static void test_notes_of_owners(void **state)
{
    static const int64_t none[] = {2}, first[] = {1, 4}, third[] = {0, 3, 5},
                         of_input_1[] = {2, 3, 4, 5}, all[] = {0, 1, 2, 3, 4, 5, 6};
    struct ss_model model;
    (void)state;
    ss_model_init(&model);
    ss_model_new_input(&model, SS_INPUT_TRACE, "a");
    ss_model_new_input(&model, SS_INPUT_TRACE, "b");
    for (int i = 0; i < 3; i++) {
        ss_model_add_process(&model, 0, 10 + i, 0);
    }
    add(&model, 0, 3, 0);
    add(&model, 0, 1, 1);
    add(&model, 1, 0, 2);
    add(&model, 1, 3, 3);
    add(&model, 1, 1, 4);
    add(&model, 1, 3, 5);
    assert_values(&model, ss_notes_of_process(&model, 3), all, 6); /* without an index */
    ss_note_index_build(&model);
    ss_note_index_build(&model);
    assert_values(&model, ss_notes_of_process(&model, 0), none, 1);
    assert_values(&model, ss_notes_of_process(&model, 1), first, 2);
    assert_values(&model, ss_notes_of_process(&model, 2), none, 0);
    assert_values(&model, ss_notes_of_process(&model, 3), third, 3);
    assert_values(&model, ss_notes_of_input(&model, 0), all, 2);
    assert_values(&model, ss_notes_of_input(&model, 1), of_input_1, 4);
    assert_values(&model, ss_notes_of_process(&model, 9), all, 6); /* an unknown one */
    add(&model, 0, 2, 6);
    assert_values(&model, ss_notes_of_process(&model, 3), all, 7); /* one more than it has */
    ss_note_index_build(&model);
    assert_values(&model, ss_notes_of_process(&model, 2), all + 6, 1);
    ss_model_fini(&model);
}

static void test_owners_that_are_none(void **state)
{
    struct ss_model model;
    (void)state;
    ss_model_init(&model);
    ss_model_new_input(&model, SS_INPUT_TRACE, "a");
    add(&model, 7, 8, 0);
    add(&model, 0, 0, 1);
    ss_note_index_build(&model);
    static const int64_t known[] = {1};
    assert_values(&model, ss_notes_of_process(&model, 0), known, 1);
    assert_values(&model, ss_notes_of_input(&model, 0), known, 1);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes_of_owners),
        cmocka_unit_test(test_owners_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
