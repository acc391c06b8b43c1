/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop without the training, to show annotations in C.
 *
 *     cc annotated.c $(pkg-config --cflags --libs stepscope) -lm -o annotated
 *     stepscope record -- ./annotated
 *
 * Without a recording the annotations cost next to nothing; with one, each step, phase, range and
 * counter is on the timeline.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/stepscope.h>

enum { STEPS = 20, SIZE = 200000 };

static double data[SIZE];

static void load(int step)
{
    STEPSCOPE_FUNC(); /* a range of the function's name, to the end of the function */
    for (int i = 0; i < SIZE; i++) {
        data[i] = (double)((i * 7919 + step) % 1000) / 1000;
    }
}

static double forward(void)
{
    STEPSCOPE_RANGE("forward");
    double sum = 0;
    for (int i = 0; i < SIZE; i++) {
        sum += sin(data[i]);
    }
    return sum / SIZE;
}

/* Another thread continues: the range begins in main and ends here. */
static void *checkpoint(void *range)
{
    stepscope_thread_name("checkpoint");
    STEPSCOPE_RANGE("write");
    stepscope_end(*(stepscope_id *)range);
    return NULL;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : STEPS;
    stepscope_name loading = stepscope_intern("data", 4);
    stepscope_name computing = stepscope_intern("forward", 7);
    stepscope_name saving = stepscope_intern("checkpoint", 10);
    stepscope_name best = stepscope_intern("best so far", 11);
    stepscope_name loss = stepscope_counter("loss", "", STEPSCOPE_GAUGE);
    stepscope_name_style(saving, 0xffcc6600, "io");
    double lowest = INFINITY;
    for (int step = 0; step < steps; step++) {
        stepscope_step(step);
        stepscope_phase(loading);
        load(step);
        stepscope_phase(computing);
        double value = forward();
        stepscope_count_f(loss, value);
        if (value < lowest) {
            lowest = value;
            stepscope_mark_payload(0, best, stepscope_payload_int(step));
        }
    }
    stepscope_phase(0);
    stepscope_id range = stepscope_begin(0, saving);
    pthread_t thread;
    if (pthread_create(&thread, NULL, checkpoint, &range) == 0) {
        pthread_join(thread, NULL);
    }
    printf("lowest loss %.4f\n", lowest);
    return 0;
}
