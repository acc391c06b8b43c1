/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the ten functions with most samples of a recording.
 *
 *     cc hottest.c $(pkg-config --cflags --libs stepscope-reader) -o hottest
 *     ./hottest run.pftrace
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/reader.h>

enum { ROWS = 10 };

struct tally {
    const stepscope_reader *reader;
    uint64_t *by_frame; /* weight, by ref of the innermost frame */
    uint64_t total;
};

static int count(void *context, const stepscope_sample *sample)
{
    struct tally *tally = context;
    const stepscope_stack *stack = stepscope_reader_stack(tally->reader, sample->stack_ref);
    if (stack != NULL && sample->state != STEPSCOPE_STATE_SLEEPING) {
        tally->by_frame[stack->frame_ref] += sample->weight;
        tally->total += sample->weight;
    }
    return 0;
}

static uint32_t find_largest(const struct tally *tally, uint32_t frames)
{
    uint32_t largest = 0;
    for (uint32_t ref = 1; ref <= frames; ref++) {
        if (tally->by_frame[ref] > tally->by_frame[largest]) {
            largest = ref;
        }
    }
    return largest;
}

int main(int argc, char **argv)
{
    stepscope_reader *reader;
    stepscope_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: hottest FILE.pftrace\n");
        return 2;
    }
    if (stepscope_reader_open(argv[1], &reader, &error) != STEPSCOPE_OK) {
        fprintf(stderr, "hottest: %s\n", error.message);
        return 1;
    }
    uint32_t frames = stepscope_reader_frame_count(reader);
    struct tally tally = {reader, calloc((size_t)frames + 1, sizeof(uint64_t)), 0};
    if (tally.by_frame == NULL ||
        stepscope_reader_each_sample(reader, count, &tally, &error) != STEPSCOPE_OK) {
        fprintf(stderr, "hottest: the samples cannot be read\n");
        return 1;
    }
    const char *command = stepscope_reader_find_attribute(reader, "command");
    printf("%" PRIu64 " samples of %s\n", tally.total, command != NULL ? command : argv[1]);
    for (int row = 0; row < ROWS; row++) {
        uint32_t ref = find_largest(&tally, frames);
        const stepscope_frame *frame = stepscope_reader_frame(reader, ref);
        if (frame == NULL) {
            break;
        }
        printf("%6.2f %%  %s (%s:%d)\n", 100.0 * (double)tally.by_frame[ref] / (double)tally.total,
               frame->function, frame->short_file, (int)frame->line);
        tally.by_frame[ref] = 0;
    }
    free(tally.by_frame);
    stepscope_reader_close(reader);
    return 0;
}
