/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the files of windows: "ep{epoch}-ba{batch}-rank{rank}.pftrace". {NAME} is a variable,
 * {NAME:04} a number with zeros in front, {{ and }} are braces. The variables are those that
 * Composer's users know, and window, step, host and pid.
 *
 * Text in, text out; no clock, no environment.
 */
#ifndef SS_RECORD_WINDOW_NAME_H
#define SS_RECORD_WINDOW_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

/* A number that is not known. */
#define SS_WINDOW_NAME_UNKNOWN INT64_MIN

struct ss_window_name_values {
    const char *run_name, *host; /* NULL: not known */
    int64_t rank, local_rank, world_size, local_world_size, node_rank, pid;
    int64_t window, step, epoch;
    int64_t batch, batch_in_epoch, sample, sample_in_epoch, token, token_in_epoch;
    int64_t last_step, last_batch, last_batch_in_epoch; /* known when the window is over */
    double total_wct, epoch_wct, batch_wct; /* wall time in seconds; written with three decimals */
};

/* Everything not known, to fill in from. */
struct ss_window_name_values ss_window_name_unknown(void);

/* SS_E_USAGE: a variable that there is none of, a brace without its partner. Also when no variable
 * tells one window from the next (`many`: several windows go by this name). */
enum ss_status ss_window_name_check(const char *template, bool many, struct ss_error *err);
/* The length of what stands before the first variable, doubled braces included. */
size_t ss_window_name_fixed(const char *template);
/* Does it have variables that are known only when the window is over? It must be a name that
 * ss_window_name_check takes. */
bool ss_window_name_is_late(const char *template);
/* Does it have variables at all? Doubled braces are none. */
bool ss_window_name_is_template(const char *text);
/* Appends the name. What text values contain that would lead to another folder becomes '_'.
 * SS_E_USAGE: as above, or a variable whose value is not known. */
enum ss_status ss_window_name_expand(const char *template,
                                     const struct ss_window_name_values *values,
                                     struct ss_strbuf *out, struct ss_error *err);

#endif
