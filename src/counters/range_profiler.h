/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts one range of work on a device, through CUPTI's range profiler. What a set needs may exceed
 * what the device counts at once; then the range has to run as often as there are passes:
 *
 *   by the caller (SS_RANGES_BY_CALLER): each pass is one begin and end, of work that is alike,
 * such as consecutive steps of a training. Nothing is run again, and no memory is saved; by CUPTI
 * (SS_RANGES_BY_KERNEL): the range is one kernel, which CUPTI runs once for each pass between begin
 * and end, and whose memory it saves and restores.
 *
 * begin, end until `is_complete`, values; then the next. The context must be current on the calling
 * thread, and its work must have ended at begin and end: the caller waits for it. One owner.
 */
#ifndef SS_COUNTERS_RANGE_PROFILER_H
#define SS_COUNTERS_RANGE_PROFILER_H

#include "counters/sets.h"

enum ss_ranges_by { SS_RANGES_BY_CALLER, SS_RANGES_BY_KERNEL };

struct ss_range_profiler {
    const struct ss_profiler *profiler;
    enum ss_ranges_by by;
    char chip[32];
    struct ss_counter_choice choice; /* the metrics, in the order of their values */
    struct ss_metric_config config;  /* how many passes */
    size_t passes_done;              /* of the current range */
    /* CUPTI's */
    void *object;
    struct ss_metric_host host;
    uint8_t *availability, *data;
    size_t data_bytes;
    bool is_started;
};

/* `request`: ss_counters_check; `device`: the number of the context's device. A refusal names the
 * fix. On failure nothing has to be closed. */
enum ss_status ss_range_profiler_open(struct ss_range_profiler *ranges,
                                      const struct ss_profiler *profiler, void *context,
                                      size_t device, const char *request, enum ss_ranges_by by,
                                      struct ss_error *err);
void ss_range_profiler_close(struct ss_range_profiler *ranges);
/* Between two ranges: the next one is run as `by` says. Passes of a range that is not complete are
 * dropped. */
void ss_range_profiler_restart(struct ss_range_profiler *ranges, enum ss_ranges_by by);
enum ss_status ss_range_profiler_begin(struct ss_range_profiler *ranges, struct ss_error *err);
/* `is_complete`: all passes have run. */
enum ss_status ss_range_profiler_end(struct ss_range_profiler *ranges, bool *is_complete,
                                     struct ss_error *err);
/* Of a complete range: choice.count values. */
enum ss_status ss_range_profiler_values(struct ss_range_profiler *ranges, double *values,
                                        struct ss_error *err);

#endif
