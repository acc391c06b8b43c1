/* SPDX-License-Identifier: Apache-2.0 */
/* annotated_rate RECORDS_PER_SECOND SECONDS: ranges at that rate, a few at a time, as a program
 * that works has them; prints how many records that were. */
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/stepscope.h>
#include <time.h>

enum { AT_ONCE = 100 }; /* records */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double rate = argc == 3 ? strtod(argv[1], NULL) : 0;
    double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (rate <= 0 || seconds <= 0) {
        fprintf(stderr, "usage: annotated_rate RECORDS_PER_SECOND SECONDS\n");
        return 2;
    }
    double begin = now();
    long long done = 0, wanted = (long long)(rate * seconds);
    while (done < wanted) {
        while (now() < begin + (double)done / rate) {
        }
        for (int i = 0; i < AT_ONCE / 2; i++) {
            STEPSCOPE_RANGE("pair");
        }
        done += AT_ONCE;
    }
    printf("%lld\n", done);
    return 0;
}
