/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/suggestion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char *const names[] = {"record", "report", "repair", "by",    "format",
                                    "from",   "to",     "i",      "steps", "steady-steps"};

static const char *meant(const char *word)
{
    struct ss_suggestion suggestion = {.word = word};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ss_suggestion_offer(&suggestion, names[i]);
    }
    return suggestion.name;
}

static void each_kind_of_slip_is_one_edit(void **state)
{
    (void)state;
    assert_string_equal(meant("reprot"), "report");  /* swapped */
    assert_string_equal(meant("repot"), "report");   /* left out */
    assert_string_equal(meant("reporrt"), "report"); /* added */
    assert_string_equal(meant("rexord"), "record");  /* replaced */
    assert_string_equal(meant("bye"), "by");
    assert_string_equal(meant("form"), "from"); /* closer than "format", which comes first */
    assert_string_equal(meant("stesp"), "steps");
}

static void long_words_may_have_more_slips(void **state)
{
    (void)state;
    assert_string_equal(meant("stedy-stpes"), "steady-steps"); /* 2 of 11 */
    assert_string_equal(meant("rekorrd"), "record");           /* 2 of 7 */
    assert_null(meant("raced"));                               /* 3 of 5 */
    assert_null(meant("stp-stps"));                            /* 4 of 8 */
}

static void unrelated_words_suggest_nothing(void **state)
{
    (void)state;
    char endless[200];
    memset(endless, 'r', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_null(meant("nonsense"));
    assert_null(meant("x")); /* "i" shares no letter with it */
    assert_null(meant(""));
    assert_null(meant(endless));
}

static void the_first_of_equals_wins(void **state)
{
    (void)state;
    assert_string_equal(meant("repord"), "record"); /* as close to "report" */
    assert_string_equal(meant("report"), "report"); /* none is closer than the word itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_slip_is_one_edit),
        cmocka_unit_test(long_words_may_have_more_slips),
        cmocka_unit_test(unrelated_words_suggest_nothing),
        cmocka_unit_test(the_first_of_equals_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
