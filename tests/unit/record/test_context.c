/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "record/processes/context.h"

static void the_first_failure_is_the_error(void **state)
{
    (void)state;
    struct ss_record_context context = {0};
    struct ss_error unset = {0}, err = {0};
    ss_record_context_check(&context, SS_OK, &unset);
    assert_int_equal(SS_OK, context.error.status);
    ss_record_context_check(&context, ss_fail(&err, SS_E_NOSPACE, "the disk is full"), &err);
    ss_record_context_check(&context, ss_fail(&err, SS_E_IO, "the file is closed"), &err);
    ss_record_context_check(&context, SS_OK, &unset);
    assert_int_equal(SS_E_NOSPACE, context.error.status);
    assert_string_equal("the disk is full", context.error.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_is_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
