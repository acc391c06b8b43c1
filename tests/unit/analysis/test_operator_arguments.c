/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/operators/operator_arguments.h"

static bool take(struct ss_operator_arguments *arguments, const char *shapes, const char *types,
                 const char *values)
{
    return ss_operator_arguments_read(arguments, ss_strview_of(shapes), ss_strview_of(types),
                                      ss_strview_of(values));
}

static void shapes_types_and_values_belong_together(void **state)
{
    (void)state;
    struct ss_operator_arguments arguments;
    assert_true(take(&arguments, "[[2, 3], [],[] , [7]]",
                     "[\"float\", \"double\", \"Scalar\", \"long int\"]",
                     "[\"\", \"\", \"[1, 2]\", \"\"]"));
    assert_int_equal(arguments.count, 4);
    const struct ss_operator_argument *first = ss_operator_tensor(&arguments, 0);
    assert_int_equal(first->dimensions, 2);
    assert_int_equal(first->sizes[1], 3);
    assert_float_equal(first->elements, 6, 0);
    assert_int_equal(first->element.type, SS_DATATYPE_FP32);
    const struct ss_operator_argument *number = ss_operator_tensor(&arguments, 1);
    assert_int_equal(number->dimensions, 0); /* a tensor of one element */
    assert_float_equal(number->elements, 1, 0);
    assert_null(ss_operator_tensor(&arguments, 2));
    assert_int_equal(ss_operator_tensor(&arguments, 3)->element.bytes, 8);
    assert_null(ss_operator_tensor(&arguments, 4));
}

static void a_list_of_tensors_has_the_elements_of_all(void **state)
{
    (void)state;
    struct ss_operator_arguments arguments;
    assert_true(take(&arguments, "[[[2,3],[4],[]],[]]", "[\"TensorList\",\"\"]", ""));
    assert_int_equal(arguments.list[0].kind, SS_ARGUMENT_TENSORS);
    assert_float_equal(arguments.list[0].elements, 11, 0);
    assert_int_equal(arguments.list[0].element.bytes, 0);
    assert_true(take(&arguments, "[[],[]]", "[\"TensorList\",\"\"]", "")); /* of older versions */
    assert_int_equal(arguments.list[0].kind, SS_ARGUMENT_OTHER);
}

static void without_types_shapes_remain(void **state)
{
    (void)state;
    struct ss_operator_arguments arguments;
    assert_true(take(&arguments, "[[5]]", "", ""));
    assert_float_equal(ss_operator_tensor(&arguments, 0)->elements, 5, 0);
    assert_int_equal(ss_operator_tensor(&arguments, 0)->element.bytes, 0);
    assert_true(take(&arguments, "[]", "", ""));
    assert_int_equal(arguments.count, 0);
}

static void what_is_no_list_of_shapes_is_unknown(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "[",
                                        "[[1]",
                                        "[[1}]",
                                        "[1]",
                                        "[[-1]]",
                                        "[[1.5]]",
                                        "[[\"s0\"]]",
                                        "[[99999999999999999999]]",
                                        "[[1099511627777]]",
                                        "[[1,2,3,4,5,6,7,8,9]]",
                                        "[[[1],2]]",
                                        "{}"};
    struct ss_operator_arguments arguments;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(take(&arguments, cases[i], "", ""));
        assert_int_equal(arguments.count, 0);
    }
    char many[600] = "[[]";
    for (int i = 0; i < 64; i++) {
        strcat(many, ",[]");
    }
    strcat(many, "]");
    assert_false(take(&arguments, many, "", "")); /* one more than there is room for */
}

static void numbers_and_flags_are_read_from_values(void **state)
{
    (void)state;
    struct ss_operator_arguments arguments;
    int64_t numbers[3];
    assert_true(take(&arguments, "[[],[],[],[],[],[],[]]", "",
                     "[\"[2, -3]\", \"7\", \"True\", \"[False, True]\", \"[1, 2, 3, 4]\", "
                     "\"0.5\", \"\\\"same\\\"\"]"));
    assert_int_equal(ss_operator_numbers(&arguments, 0, numbers, 3), 2);
    assert_int_equal(numbers[1], -3);
    assert_int_equal(ss_operator_numbers(&arguments, 1, numbers, 3), 1);
    assert_int_equal(numbers[0], 7);
    assert_int_equal(ss_operator_numbers(&arguments, 4, numbers, 3), 0);
    assert_int_equal(ss_operator_numbers(&arguments, 5, numbers, 3), 0);
    assert_int_equal(ss_operator_numbers(&arguments, 6, numbers, 3), 0);
    assert_int_equal(ss_operator_numbers(&arguments, 7, numbers, 3), 0);
    assert_int_equal(ss_operator_flags(&arguments, 2), 1);
    assert_int_equal(ss_operator_flags(&arguments, 3), 2);
    assert_int_equal(ss_operator_flags(&arguments, 0), -1);
    assert_int_equal(ss_operator_flags(&arguments, 9), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_types_and_values_belong_together),
        cmocka_unit_test(a_list_of_tensors_has_the_elements_of_all),
        cmocka_unit_test(without_types_shapes_remain),
        cmocka_unit_test(what_is_no_list_of_shapes_is_unknown),
        cmocka_unit_test(numbers_and_flags_are_read_from_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
