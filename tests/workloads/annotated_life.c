/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with annotations that lives and dies in a chosen way; prints what it did.
 *
 *   pairs N        N ranges "pair"
 *   flood N        the same, as fast as it goes, and how many events that were
 *   family W       W forked workers, each with two of its own: 100 ranges each; one more by exec
 *   exec           ranges, then another image of itself with more
 *   killed         dies by SIGKILL within a range, a step and an asynchronous range
 *   everything N   three threads, N rounds each: all that can be marked, with odd names
 *   stay N         N ranges, then nothing until stdin ends
 *   serve          ranges until stdin ends; reports the begin and the end of a recording
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/stepscope.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void make_pairs(long count)
{
    for (long i = 0; i < count; i++) {
        STEPSCOPE_RANGE("pair");
    }
}

static void be_worker(const char *self, int children)
{
    make_pairs(100);
    for (int i = 0; i < children; i++) {
        if (fork() == 0) {
            make_pairs(100);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    if (self != NULL) {
        execl(self, self, "pairs", "100", (char *)NULL);
    }
    _exit(0);
}

static void be_family(const char *self, int workers)
{
    make_pairs(100);
    for (int i = 0; i < workers; i++) {
        if (fork() == 0) {
            be_worker(i == 0 ? self : NULL, 2);
        }
    }
    while (wait(NULL) > 0) {
    }
    make_pairs(100);
}

static stepscope_id arrows[3]; /* from each thread to the next */
static long rounds;

static void count_all(long round)
{
    stepscope_count_i(stepscope_counter("level", "bytes", STEPSCOPE_GAUGE), round << 20);
    stepscope_count_f(stepscope_counter("done", "samples", STEPSCOPE_DELTA), 1.5);
    stepscope_count_i(stepscope_counter("time", "ns", STEPSCOPE_CUMULATIVE), round * 1000);
}

static void *do_everything(void *context)
{
    static const char odd[] = "odd; \xff\tn\303\244me";
    size_t number = (size_t)context;
    stepscope_domain domain = number == 2 ? stepscope_domain_get("other; domain") : 0;
    stepscope_name name = stepscope_intern(odd, sizeof odd - 1);
    stepscope_name outer = stepscope_intern("outer", 5), inner = stepscope_intern("inner", 5);
    stepscope_thread_name(number == 1 ? "second" : odd);
    stepscope_name_style(inner, 0xff336699, "io; \xfe");
    for (long i = 0; i < rounds; i++) {
        double real = (double)i / 3;
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        stepscope_push_value(domain, outer, STEPSCOPE_UINT, UINT64_MAX);
        stepscope_flow(arrows[number], i + 1 < rounds ? STEPSCOPE_FLOW_STEP : STEPSCOPE_FLOW_END);
        stepscope_push_value(domain, inner, STEPSCOPE_DOUBLE, bits);
        stepscope_push_value(domain, name, STEPSCOPE_NAME, outer);
        stepscope_mark_value(domain, name, STEPSCOPE_INT, (uint64_t)-i);
        stepscope_pop(domain);
        stepscope_pop(domain);
        stepscope_id first = stepscope_begin(domain, name);
        stepscope_id second = stepscope_begin_value(0, inner, STEPSCOPE_INT, (uint64_t)i);
        stepscope_end(first);
        count_all(i);
        stepscope_pop(domain);
        stepscope_end(second);
        if (number == 0) {
            stepscope_step(i);
            stepscope_phase(i % 2 == 0 ? inner : name);
        }
    }
    return NULL;
}

static void be_everything(long count)
{
    pthread_t threads[3];
    rounds = count;
    stepscope_epoch(0);
    STEPSCOPE_RANGE("start");
    for (size_t i = 0; i < 3; i++) {
        arrows[i] = stepscope_flow_new();
        stepscope_flow(arrows[i], STEPSCOPE_FLOW_START);
    }
    for (size_t i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, do_everything, (void *)i);
    }
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void die(void)
{
    stepscope_step(7);
    stepscope_push(0, stepscope_intern("never ends", 10));
    stepscope_begin(0, stepscope_intern("neither this", 12));
    make_pairs(10);
    struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
    raise(SIGKILL);
}

static void serve(void)
{
    int was_recorded = -1;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    while (poll(&in, 1, 2) == 0) {
        int recorded = stepscope_enabled(STEPSCOPE_RANGES) != 0;
        make_pairs(1); /* the test that waits for this report has one */
        if (recorded != was_recorded) {
            printf("%s\n", recorded ? "recorded" : "alone");
            fflush(stdout);
            was_recorded = recorded;
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (strcmp(how, "pairs") == 0 || strcmp(how, "flood") == 0) {
        make_pairs(count);
        printf("%ld\n", 2 * count);
    } else if (strcmp(how, "stay") == 0) {
        make_pairs(count);
        while (getchar() != EOF) {
        }
    } else if (strcmp(how, "family") == 0) {
        be_family("/proc/self/exe", (int)count);
    } else if (strcmp(how, "exec") == 0) {
        make_pairs(50);
        stepscope_push(0, stepscope_intern("until exec", 10));
        execl("/proc/self/exe", argv[0], "pairs", "70", (char *)NULL);
    } else if (strcmp(how, "killed") == 0) {
        die();
    } else if (strcmp(how, "everything") == 0) {
        be_everything(count);
    } else if (strcmp(how, "serve") == 0) {
        serve();
    } else {
        fprintf(stderr, "annotated_life: what to do?\n");
        return 2;
    }
    return 0;
}
