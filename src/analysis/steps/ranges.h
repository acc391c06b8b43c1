/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of ranges: one row for each path of names on each thread (or process) and domain, or for
 * fewer of these (see range_rows.h). Total is the time between begin and end, recursion counted
 * once; self is the part of it that no inner range of the same track covers. A range counts in full
 * when its start is in the requested time range. Percentiles are nearest-rank over all ranges of
 * the row. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_RANGES_H
#define SS_ANALYSIS_STEPS_RANGES_H

#include "analysis/selection/selection.h"
#include "analysis/table/sort.h"
#include "analysis/table/table.h"

enum ss_range_column {
    SS_RANGE_NAME,
    SS_RANGE_PATH,     /* names, outermost first, separated by ';' */
    SS_RANGE_KIND,     /* "range", "async", "step", "phase" */
    SS_RANGE_DOMAIN,   /* of the track; absent: the default domain */
    SS_RANGE_CATEGORY, /* of the name */
    SS_RANGE_PID,
    SS_RANGE_TID,
    SS_RANGE_THREAD,
    SS_RANGE_COUNT,
    SS_RANGE_TOTAL,
    SS_RANGE_SELF,
    SS_RANGE_MEAN,
    SS_RANGE_P50,
    SS_RANGE_P95,
    SS_RANGE_MAX,
    SS_RANGE_CUT, /* of the count: ranges whose begin or end was not recorded, so they are longer
                   * than shown */
    SS_RANGE_PAYLOADS, /* of the count: ranges with a numeric payload; the next four columns cover
                        * these */
    SS_RANGE_PAYLOAD_SUM,
    SS_RANGE_PAYLOAD_MIN,
    SS_RANGE_PAYLOAD_MEAN,
    SS_RANGE_PAYLOAD_MAX,
    SS_RANGE_DEVICE, /* work of devices that was launched within; this and the next only in
                      * recordings with such work */
    SS_RANGE_DEVICE_WORKS,
    SS_RANGE_COLUMNS
};

struct ss_ranges_options {
    size_t size;
    enum ss_sort sort;
    uint64_t max_rows; /* 0: all */
    unsigned grouping; /* enum ss_range_grouping; 0: by path, thread and domain */
};

void ss_ranges_table(const struct ss_selection *selection, const struct ss_ranges_options *options,
                     struct ss_table *table);
/* "outer;inner" of a path of ranges, allocated in `arena`. */
struct ss_strview ss_range_path_text(const struct ss_model *model, uint32_t path,
                                     struct ss_arena *arena);
/* True when the track passes the thread and process filters. */
bool ss_selection_has_track(const struct ss_selection *selection, uint32_t track);
/* pid, tid and thread name of a track's owner; absent cells where it has none. */
void ss_track_owner_cells(const struct ss_model *model, uint32_t track, struct ss_cell *pid,
                          struct ss_cell *tid, struct ss_cell *thread);

#endif
