/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a schedule: it is refused with a reason, or it survives writing and reading again,
 * and its windows end where its actions say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annot/schedule_run.h"
#include "annot/schedule_text.h"

enum { MAX_TEXT = 512, STEPS = 200 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_written_again(const struct ss_schedule *schedule)
{
    char text[SS_SCHEDULE_TEXT_BYTES], twice[SS_SCHEDULE_TEXT_BYTES];
    struct ss_schedule again;
    ss_schedule_put(schedule, text, sizeof text);
    check(strlen(text) + 1 < sizeof text, "the text fits");
    check(ss_schedule_parse(text, &again, NULL) == SS_OK, "what was written is read");
    ss_schedule_put(&again, twice, sizeof twice);
    check(strcmp(text, twice) == 0, "and is the same schedule");
}

static void run(const struct ss_schedule *schedule)
{
    struct ss_schedule_run run = {.schedule = *schedule};
    uint32_t begun = 0, ended = 0;
    for (int i = 0; i < STEPS; i++) {
        struct ss_schedule_turn turn = i == 0        ? ss_schedule_run_start(&run)
                                       : i % 50 == 7 ? ss_schedule_run_epoch(&run, i, i, i % 3)
                                                     : ss_schedule_run_step(&run);
        ended += turn.ends;
        begun += turn.begins;
        check(begun - ended <= 1, "one window at a time");
        check(ss_schedule_records(turn.action) == (begun > ended), "recording is a window");
    }
    ended += ss_schedule_run_stop(&run).ends;
    check(begun == ended && begun == run.windows, "every window ends");
    char why[512];
    ss_schedule_run_why_nothing(&run, why, sizeof why);
    check((why[0] == '\0') == (begun > 0), "a reason where there is none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MAX_TEXT];
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    struct ss_schedule schedule;
    struct ss_error err = {0};
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    if (ss_schedule_parse(text, &schedule, &err) != SS_OK) {
        check(err.status == SS_E_USAGE && err.message[0] != '\0', "a refusal has a reason");
        return 0;
    }
    check_written_again(&schedule);
    run(&schedule);
    return 0;
}
