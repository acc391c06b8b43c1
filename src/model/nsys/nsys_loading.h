/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of Nsight Systems' SQLite export that is being loaded: what its tables share. Each
 * function below reads the tables of one kind of event; tables and columns that a version of the
 * schema lacks yield nothing. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_LOADING_H
#define SS_MODEL_NSYS_NSYS_LOADING_H

#include "model/nsys/nsys_names.h"
#include "model/nsys/nsys_ranks.h"
#include "model/nsys/nsys_rows.h"
#include "model/nsys/nsys_steps.h"

struct ss_nsys_loading {
    const char *path;
    const struct ss_model_load *load;
    struct ss_sqlite_file *file;
    struct ss_model_builder *builder;
    struct ss_nsys_rows rows;
    struct ss_nsys_names names;
    struct ss_nsys_steps steps;
    struct ss_nsys_ranks ranks;
    int64_t base_ns;           /* added to times, which count from the start of the session */
    bool is_wall;              /* the times are of the wall clock */
    int64_t duration_ns;       /* of the session; -1: unknown */
    int64_t first_ns, last_ns; /* of the events so far */
    uint64_t events, skipped, expected_rows;
    const char *skip_reason; /* of the first that was skipped */
};

/* What the target was: names, devices, streams, clocks, versions. */
void ss_nsys_load_target(struct ss_nsys_loading *loading);
/* Kernels, copies, memsets, graphs, and the waits for them. */
void ss_nsys_load_work(struct ss_nsys_loading *loading);
/* Calls of CUDA, of the operating system and of libraries. */
void ss_nsys_load_calls(struct ss_nsys_loading *loading);
void ss_nsys_load_nvtx(struct ss_nsys_loading *loading);
/* Samples of threads. SS_E_LIMIT: too many. */
enum ss_status ss_nsys_load_samples(struct ss_nsys_loading *loading, struct ss_error *err);
/* Metrics of GPUs and network interfaces. */
void ss_nsys_load_metrics(struct ss_nsys_loading *loading);
/* Messages of the profiler. */
void ss_nsys_load_messages(struct ss_nsys_loading *loading);

/* Counts an event that cannot be read. */
void ss_nsys_skip(struct ss_nsys_loading *loading, const char *reason);
/* Reads a time. False: there is none, or it is not within 63 bits; the event is counted as skipped.
 */
bool ss_nsys_time(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows, int column,
                  uint64_t *time_ns);
/* Reads begin and end from the columns 0 and 1; a range without an end lasts until the end of the
 * session. Counts the event. False: skipped. */
bool ss_nsys_span(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows,
                  struct ss_builder_range *range, bool *has_end);
/* Counts an event that is not a range. */
void ss_nsys_count(struct ss_nsys_loading *loading, uint64_t time_ns);
/* The key of the process in a column; where there is none, of the process of the first call of
 * CUDA. */
int64_t ss_nsys_process_in(const struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows,
                           int column);
/* The next row, with reports of progress. */
bool ss_nsys_next(struct ss_nsys_loading *loading, struct ss_sqlite_rows *rows);

/* The fields of an event. */
struct ss_nsys_fields {
    struct ss_event_value values[SS_MAX_EVENT_FIELDS];
    uint32_t count;
};
void ss_nsys_add_natural(struct ss_nsys_fields *fields, uint32_t field, uint64_t number);
/* If the column has a number that is not negative. */
void ss_nsys_add_column(struct ss_nsys_fields *fields, uint32_t field,
                        const struct ss_sqlite_rows *rows, int column);
void ss_nsys_add_text(struct ss_nsys_fields *fields, uint32_t field, struct ss_strview text);
void ss_nsys_add_real(struct ss_nsys_fields *fields, uint32_t field, double number);

#endif
