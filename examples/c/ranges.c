/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the count and the time of each range of a recording, summed over all threads, then its
 * steps and the newest values of the program's counters.
 *
 *     cc ranges.c $(pkg-config --cflags --libs stepscope-reader) -o ranges
 *     ./ranges run.pftrace
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/reader.h>

struct totals {
    const stepscope_reader *reader;
    uint64_t *counts, *times_ns; /* by ref of the name */
    double *newest;              /* by ref of the counter's track */
    uint64_t steps, marks, arrows;
};

static int add_range(void *context, const stepscope_range *range)
{
    struct totals *totals = context;
    const stepscope_track *track = stepscope_reader_track(totals->reader, range->track_ref);
    if (track->kind == STEPSCOPE_TRACK_STEPS) {
        totals->steps++;
    } else if (track->kind != STEPSCOPE_TRACK_PHASES) {
        totals->counts[range->name_ref]++;
        totals->times_ns[range->name_ref] += range->end_ns - range->begin_ns;
    }
    return 0;
}

static int add_mark(void *context, const stepscope_mark *mark)
{
    struct totals *totals = context;
    totals->marks += mark->flow_id == 0;
    totals->arrows += mark->flow_ends != 0;
    return 0;
}

static int keep_newest(void *context, const stepscope_counter_value *value)
{
    struct totals *totals = context;
    totals->newest[value->track_ref] = value->real;
    return 0;
}

static void print(const struct totals *totals)
{
    const stepscope_reader *reader = totals->reader;
    for (uint32_t ref = 1; ref <= stepscope_reader_event_name_count(reader); ref++) {
        if (totals->counts[ref] > 0) {
            printf("%8" PRIu64 " x %12.6f s  %s\n", totals->counts[ref],
                   (double)totals->times_ns[ref] / 1e9,
                   stepscope_reader_event_name(reader, ref)->text);
        }
    }
    printf("%" PRIu64 " steps, %" PRIu64 " marks, %" PRIu64 " arrows\n", totals->steps,
           totals->marks, totals->arrows);
    for (uint32_t ref = 1; ref <= stepscope_reader_track_count(reader); ref++) {
        const stepscope_track *track = stepscope_reader_track(reader, ref);
        /* Counters in groups are host metrics. */
        if (track != NULL && track->kind == STEPSCOPE_TRACK_COUNTER && track->parent_ref == 0) {
            printf("%s = %g %s\n", track->name, totals->newest[ref], track->unit);
        }
    }
}

int main(int argc, char **argv)
{
    stepscope_reader *reader;
    stepscope_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: ranges FILE.pftrace\n");
        return 2;
    }
    if (stepscope_reader_open(argv[1], &reader, &error) != STEPSCOPE_OK) {
        fprintf(stderr, "ranges: %s\n", error.message);
        return 1;
    }
    size_t names = (size_t)stepscope_reader_event_name_count(reader) + 1;
    size_t tracks = (size_t)stepscope_reader_track_count(reader) + 1;
    struct totals totals = {.reader = reader,
                            .counts = calloc(names, sizeof(uint64_t)),
                            .times_ns = calloc(names, sizeof(uint64_t)),
                            .newest = calloc(tracks, sizeof(double))};
    int failed =
        totals.counts == NULL || totals.times_ns == NULL || totals.newest == NULL ||
        stepscope_reader_each_range(reader, add_range, &totals, &error) != STEPSCOPE_OK ||
        stepscope_reader_each_mark(reader, add_mark, &totals, &error) != STEPSCOPE_OK ||
        stepscope_reader_each_counter_value(reader, keep_newest, &totals, &error) != STEPSCOPE_OK;
    if (failed) {
        fprintf(stderr, "ranges: the recording cannot be read\n");
    } else {
        print(&totals);
    }
    free(totals.counts);
    free(totals.times_ns);
    free(totals.newest);
    stepscope_reader_close(reader);
    return failed;
}
