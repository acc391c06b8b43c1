/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is open for reading. Each table is built from a model that was loaded for it, as
 * `stepscope report` does, so that both state the same. The models of the last few requests are
 * kept: tables that need the same data share one. Any thread may ask; loading is serialized by a
 * lock, building is not. Results own their memory, or a reference to the model that they borrow
 * from.
 */
#ifndef SS_READING_OPENED_H
#define SS_READING_OPENED_H

#include "analysis/report/document.h"
#include "arrow/columns.h"
#include "base/error.h"
#include "reading/query.h"

struct ss_opened;
struct ss_opened_model;
struct ss_source_text;

/* The tables of a request as a document. */
struct ss_opened_report {
    struct ss_document document;
    /* Private: what the document borrows from. */
    struct ss_opened_model *model;
    struct ss_source_text *source;
};

/* Reads nothing yet. Paths are copied. `max_memory_bytes`: inputs that need more are refused; 0:
 * the limits of the formats (model/files/input_budget.h). */
struct ss_opened *ss_opened_new(const char *const *paths, size_t count, uint64_t max_memory_bytes);
void ss_opened_free(struct ss_opened *opened);
/* The caller ends the report with ss_opened_report_fini. */
enum ss_status ss_opened_tables(struct ss_opened *opened, const struct ss_query *query,
                                struct ss_opened_report *report, struct ss_error *err);
void ss_opened_report_fini(struct ss_opened_report *report);
/* Rows of the model (arrow/rows.h). The caller owns one reference to the result. */
enum ss_status ss_opened_contents(struct ss_opened *opened, const struct ss_query *query,
                                  const char *id, struct ss_columns **columns,
                                  struct ss_error *err);

#endif
