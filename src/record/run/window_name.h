/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the files of windows: "ep{epoch}-ba{batch}-rank{rank}.pftrace". {NAME} is a variable,
 * {NAME:04} a number padded with zeros, {{ and }} are braces. The variables are those of Composer,
 * and window, step, host and pid.
 *
 * Text in, text out; no clock, no environment.
 */
#ifndef SS_RECORD_RUN_WINDOW_NAME_H
#define SS_RECORD_RUN_WINDOW_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

/* An unknown number. */
#define SS_WINDOW_NAME_UNKNOWN INT64_MIN

struct ss_window_name_values {
    const char *run_name, *host; /* NULL: unknown */
    int64_t rank, local_rank, world_size, local_world_size, node_rank, pid;
    int64_t window, step, epoch;
    int64_t batch, batch_in_epoch, sample, sample_in_epoch, token, token_in_epoch;
    int64_t last_step, last_batch, last_batch_in_epoch; /* known when the window is over */
    double total_wct, epoch_wct, batch_wct; /* wall time in seconds; written with three decimals */
};

/* All values unknown; the caller sets the others. */
struct ss_window_name_values ss_window_name_unknown(void);

/* SS_E_USAGE: an unknown variable, an unmatched brace, or, with `many` (several windows use the
 * template), no variable that differs between windows. */
enum ss_status ss_window_name_check(const char *template, bool many, struct ss_error *err);
/* The length of the text before the first variable, including doubled braces. */
size_t ss_window_name_fixed(const char *template);
/* Whether it has variables that are known only when the window is over. Only for a template that
 * ss_window_name_check accepts. */
bool ss_window_name_is_late(const char *template);
/* Whether it has variables; doubled braces are none. */
bool ss_window_name_is_template(const char *text);
/* Appends the name. Characters in text values that would lead to another folder become '_'.
 * SS_E_USAGE: as above, or a variable with an unknown value. */
enum ss_status ss_window_name_expand(const char *template,
                                     const struct ss_window_name_values *values,
                                     struct ss_strbuf *out, struct ss_error *err);

#endif
