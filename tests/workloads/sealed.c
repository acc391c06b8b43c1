/* SPDX-License-Identifier: Apache-2.0 */
/* A program that brings its own schedule and waits for the files of its windows:
 * sealed SCHEDULE STEPS MILLISECONDS NOTICES LAST_MILLISECONDS [EPOCH_STEPS]. Prints a line for
 * each notice, and what comes when it waits that long for one more. With EPOCH_STEPS it marks
 * epochs of so many steps, of unknown length, and steps as they begin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <stepscope/stepscope.h>

static void step_for(const stepscope_runtime *runtime, long milliseconds, long epoch_steps)
{
    static long number;
    if (epoch_steps > 0 && number % epoch_steps == 0) {
        runtime->begin_epoch(-1, -1, 0);
    }
    if (epoch_steps > 0) {
        runtime->step(number++);
    }
    struct timespec nap = {0, milliseconds * 1000000};
    runtime->push(0, runtime->intern("work", 4));
    nanosleep(&nap, NULL);
    runtime->pop(0);
    if (epoch_steps == 0) {
        runtime->next_step(-1);
    }
}

int main(int argc, char **argv)
{
    const stepscope_runtime *runtime = stepscope_runtime_get(STEPSCOPE_RUNTIME_VERSION);
    if (argc < 6 || argc > 7 || runtime == NULL) {
        return 2;
    }
    long epoch_steps = argc == 7 ? strtol(argv[6], NULL, 10) : 0;
    int refused = runtime->schedule("active=0");
    int taken = runtime->schedule(argv[1]);
    printf("schedule %d %d\n", refused, taken);
    for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
        step_for(runtime, strtol(argv[3], NULL, 10), epoch_steps);
    }
    printf("flush %d\n", runtime->flush(60000));
    runtime->schedule(NULL); /* cuts what is open */
    struct stepscope_sealed sealed = {.size = sizeof sealed};
    uint64_t wanted = strtoull(argv[4], NULL, 10);
    for (uint64_t i = 0; i < wanted && runtime->sealed(i, 60000, &sealed) == 1; i++) {
        FILE *file = fopen(sealed.path, "r");
        printf("sealed %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu32 " %s %s\n", sealed.window,
               sealed.first_step, sealed.last_step, sealed.flags, file != NULL ? "there" : "gone",
               sealed.path);
        if (file != NULL) {
            fclose(file);
        }
    }
    int got = runtime->sealed(wanted, (uint32_t)strtoul(argv[5], NULL, 10), &sealed);
    printf("then %d\n", got);
    return 0;
}
