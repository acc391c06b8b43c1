/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of rows share. Private to rows*.c. */
#ifndef SS_ARROW_ROWS_INSIDE_H
#define SS_ARROW_ROWS_INSIDE_H

#include "arrow/rows.h"

struct ss_columns *ss_rows_of_ranges(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_marks(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_counters(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_flows(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_samples(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_stacks(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_inputs(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_hosts(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_processes(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_threads(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_devices(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_contexts(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_streams(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_groups(const struct ss_selection *selection);
struct ss_columns *ss_rows_of_tracks(const struct ss_selection *selection);

/* The columns of a row's owner, in this order. */
#define SS_OWNER_COLUMNS                                                                           \
    {"process_id", NULL, SS_COLUMN_INT32}, {"pid", NULL, SS_COLUMN_INT32},                         \
        {"process", NULL, SS_COLUMN_WORDS}, {"thread_id", NULL, SS_COLUMN_INT32},                  \
        {"tid", NULL, SS_COLUMN_INT64},                                                            \
    {                                                                                              \
        "thread", NULL, SS_COLUMN_WORDS                                                            \
    }
enum { SS_OWNER_COLUMN_COUNT = 6 };

/* Fills the columns of the owner from `first` on; 0: none. */
void ss_rows_put_owner(struct ss_columns *columns, size_t first, const struct ss_model *model,
                       uint32_t process, uint32_t thread);
/* Nothing for id 0: none. */
void ss_rows_put_id(struct ss_columns *columns, size_t column, uint32_t id);
/* A string of the model, in a column of WORDS. */
void ss_rows_put_string(struct ss_columns *columns, size_t column, const struct ss_model *model,
                        uint32_t string);
/* An element of a list of `count` words, in a column of WORDS; nothing outside it, or for NULL. */
void ss_rows_put_name(struct ss_columns *columns, size_t column, const char *const *names,
                      size_t count, size_t index);
#define SS_ROWS_PUT_NAME(columns, column, names, index)                                            \
    ss_rows_put_name(columns, column, names, sizeof(names) / sizeof *(names), (size_t)(index))

#endif
