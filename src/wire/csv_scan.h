/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads comma-separated records (RFC 4180) from bytes in memory: fields may be in quotes, and then
 * contain commas, newlines and doubled quotes. Text is borrowed from the bytes. Stateless; any
 * bytes are accepted.
 */
#ifndef SS_WIRE_CSV_SCAN_H
#define SS_WIRE_CSV_SCAN_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "base/strview.h"
#include "base/vec.h"

enum { SS_CSV_MOST_FIELDS = 65536 }; /* more are left out */

/* Without its quotes, as written: doubled quotes are not resolved. */
struct ss_csv_field {
    struct ss_strview raw;
    bool has_quotes; /* some are doubled */
};

struct ss_csv_record ss_vec_of(struct ss_csv_field);

/* Reads the record at `*at` and moves behind its newline. False: the bytes end within it; with
 * `is_last`, when they end within quotes. An empty line is a record of one empty field. */
bool ss_csv_read(const char **at, const char *end, bool is_last, struct ss_csv_record *record);
/* Appends the field with its doubled quotes resolved. */
void ss_csv_unquote(struct ss_csv_field field, struct ss_strbuf *out);

#endif
