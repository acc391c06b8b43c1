/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request for tables or contents in the words of its user, and what it means: which table, its
 * options, what to load, which samples count. Texts are borrowed. Pure.
 */
#ifndef SS_READING_QUERY_H
#define SS_READING_QUERY_H

#include "analysis/selection/selection.h"
#include "analysis/tables/tables.h"
#include "arrow/rows.h"
#include "base/error.h"

/* Zero asks for the overview, with all rows. The names are those of the options of `report`. */
struct ss_query {
    const char *table; /* an id of ss_table_kinds; NULL: the overview */
    const char *columns, *sort;
    const char *group; /* words with commas between them */
    uint64_t rows;     /* 0: all */
    bool has_min_percent;
    double min_percent;
    const char *library_name, *library_substring;
    bool aggregates_leaf_paths, full_filenames;
    /* Which data counts. */
    const char *process, *thread, *match, *exclude, *idle; /* NULL: all, or the table's default */
    bool gil, strict;
    bool has_time;
    double from_s, to_s; /* since the first sample of all files */
    bool has_steps;
    int64_t first_step, last_step; /* both included */
};

struct ss_query_plan {
    const struct ss_table_kind *kind;   /* NULL: contents */
    const struct ss_row_kind *contents; /* NULL: tables */
    struct ss_table_options table;
    struct ss_model_load load;
    struct ss_selection_options selection;
};

/* SS_E_USAGE: an unknown word, or an option that the table has no use for. */
enum ss_status ss_query_plan_tables(const struct ss_query *query, struct ss_query_plan *plan,
                                    struct ss_error *err);
/* `id` is one of ss_row_kinds; of the query, processes, threads, time and steps apply. */
enum ss_status ss_query_plan_contents(const struct ss_query *query, const char *id,
                                      struct ss_query_plan *plan, struct ss_error *err);
/* The same query for another table: of the overview, once the model is known. */
void ss_query_plan_change(struct ss_query_plan *plan, const struct ss_table_kind *kind);

#endif
