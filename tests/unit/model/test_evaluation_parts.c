/* SPDX-License-Identifier: Apache-2.0 */
/* What an evaluating loop waits for is evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "model/builder/load_tracks.h"

/* Phases as "name begin-end", separated by blanks. */
static void check(const char *phases, const char *wanted)
{
    struct ss_model model;
    ss_model_init(&model);
    uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_PHASES, .process = 1);
    char name[32], shown[512] = "";
    unsigned begin, end;
    int read;
    for (const char *at = phases; sscanf(at, " %31[a-z] %u-%u%n", name, &begin, &end, &read) == 3;
         at += read) {
        BUILD_RANGE(&model, .track = track, .name = name, .begin_ns = begin, .end_ns = end);
    }
    ss_load_join_evaluations(&model, 0);
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        uint32_t id = model.paths.data[range->path].name;
        size_t used = strlen(shown);
        if (range->track == track) {
            snprintf(shown + used, sizeof shown - used, "%s%s %u-%u", used > 0 ? " " : "",
                     ss_model_text(&model, model.names.data[id].text), (unsigned)range->begin_ns,
                     (unsigned)range->end_ns);
        }
    }
    ss_model_fini(&model);
    assert_string_equal(shown, wanted);
}

static void test_loops(void **state)
{
    (void)state;
    check(
        "data 0-5 forward 6-8 data 10-15 evaluation 16-20 data 22-25 evaluation 26-30 data 40-45 "
        "forward 46-50",
        "data 0-5 forward 6-8 evaluation 10-16 evaluation 16-22 evaluation 22-26 evaluation 26-30 "
        "data 40-45 forward 46-50");
    check("optimizer 0-2 evaluation 5-6 evaluation 8-9 forward 10-12",
          "optimizer 0-2 evaluation 5-8 evaluation 8-9 forward 10-12");
}

static void test_training_between(void **state)
{
    (void)state;
    const char *turns = "evaluation 1-2 forward 4-5 evaluation 7-8 backward 9-10 evaluation 12-13";
    check(turns, turns);
    const char *infers = "data 0-1 evaluation 2-3 data 4-5 evaluation 6-7 data 8-9";
    check(infers, infers);
    const char *none = "data 0-1 forward 2-3 data 4-5 forward 6-7";
    check(none, none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_training_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
