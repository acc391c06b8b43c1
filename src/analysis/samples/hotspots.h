/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self and total by function, line, file, thread or process, and the call tree.
 *
 * Self: samples whose leaf is in the row. Total: samples with the row anywhere on the stack, each
 * counted once however deep the recursion. A thread's total is its self; a process's total adds
 * those of its descendants. Shares are of selection->shown. Pure.
 */
#ifndef SS_ANALYSIS_SAMPLES_HOTSPOTS_H
#define SS_ANALYSIS_SAMPLES_HOTSPOTS_H

#include "analysis/selection/selection.h"
#include "analysis/table/sort.h"
#include "analysis/table/table.h"

enum ss_hotspots_by {
    SS_BY_FUNCTION,
    SS_BY_LINE,
    SS_BY_FILE,
    SS_BY_THREAD,
    SS_BY_PROCESS,
    SS_BY_COUNT
};

struct ss_hotspots_options {
    size_t size;
    enum ss_hotspots_by by;
    enum ss_sort sort;
    uint64_t max_rows;    /* 0: all */
    uint64_t min_samples; /* rows with fewer (by the sort key) are left out */
    bool full_paths;
};

void ss_hotspots_table(const struct ss_selection *selection,
                       const struct ss_hotspots_options *options, struct ss_table *table);

struct ss_tree_options {
    size_t size;
    double min_percent; /* of all shown samples: smaller nodes are left out */
    uint64_t max_rows;  /* 0: all */
    bool full_paths;
};

/* Calls by function, callers first, the heaviest child first; column "depth" is 1 for a root. A
 * function that calls itself directly is one node: recursion does not deepen the tree. */
void ss_tree_table(const struct ss_selection *selection, const struct ss_tree_options *options,
                   struct ss_table *table);

/* Columns of both tables. "self_waiting_samples" are the samples of self in which the thread
 * waited. "depth" and "parent" (index of the row, -1 for a root) are in the tree only. */
enum ss_hotspots_column {
    SS_HOT_NAME,
    SS_HOT_PATH,
    SS_HOT_LINE,
    SS_HOT_PID,
    SS_HOT_TID,
    SS_HOT_SELF_PERCENT,
    SS_HOT_SELF,
    SS_HOT_TOTAL_PERCENT,
    SS_HOT_TOTAL,
    SS_HOT_SELF_PM,
    SS_HOT_TOTAL_PM,
    SS_HOT_WAITING,
    SS_HOT_DEPTH,
    SS_HOT_PARENT,
    SS_HOT_FIRST_LINE, /* of the function; of rows by function and line */
    SS_HOT_COUNT
};

/* Of a row, on demand: a table may have a million. The share of self in which the thread waited;
 * self per step, in a table of samples within steps. */
double ss_hot_waiting_percent(const struct ss_cell *cells);
uint64_t ss_hot_step_ns(const struct ss_table *table, const struct ss_cell *cells);

#endif
