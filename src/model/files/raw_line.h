/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of a folded line as py-spy writes it: `piece;piece;… COUNT`, outermost first, nothing
 * escaped. A piece is a frame, `NAME (PATH:LINE)` with parts missing, or a label:
 * `process PID:"cmdline"`, `thread (TID): NAME`. Pure functions over borrowed bytes.
 */
#ifndef SS_MODEL_FILES_RAW_LINE_H
#define SS_MODEL_FILES_RAW_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

enum ss_raw_result {
    SS_RAW_OK,
    SS_RAW_BLANK,
    SS_RAW_NO_COUNT,    /* no whole number after the last blank */
    SS_RAW_COUNT_LARGE, /* 2^63 or more */
    SS_RAW_NUL,         /* not text */
    SS_RAW_LONG,        /* over the line limit */
    SS_RAW_TOTAL_LARGE, /* the sum of all counts would be 2^63 or more */
    SS_RAW_RESULT_COUNT
};

const char *ss_raw_result_text(enum ss_raw_result result);

/* Splits a line (without its newline) into the stack, trimmed, and the count. */
enum ss_raw_result ss_raw_split(struct ss_strview line, struct ss_strview *stack, uint64_t *count);

enum ss_raw_piece { SS_RAW_FRAME, SS_RAW_PROCESS, SS_RAW_THREAD };

/* Walks the pieces of a stack. Start with {stack.data, stack.data + stack.length}. */
struct ss_raw_cursor {
    const char *at, *end;
    bool guessed; /* the end of a label depended on all that follows it */
    /* Private: searches that failed up to the end need not be repeated. */
    bool no_quote, no_location;
};

/* False at the end. Skips empty pieces; a label includes the pieces that a `;` in its text
 * creates. */
bool ss_raw_next(struct ss_raw_cursor *cursor, struct ss_strview *piece, enum ss_raw_piece *kind);

struct ss_raw_frame {
    struct ss_strview name;
    struct ss_strview path; /* may be empty */
    int32_t line;           /* -1: unknown */
};
void ss_raw_parse_frame(struct ss_strview piece, struct ss_raw_frame *frame);

/* PID (-1 when it does not fit) and command line of a process label. */
void ss_raw_parse_process(struct ss_strview piece, int32_t *pid, struct ss_strview *cmdline);
/* TID (hexadecimal when py-spy knew only the pthread id) and name ("" when there is none). */
void ss_raw_parse_thread(struct ss_strview piece, int64_t *tid, struct ss_strview *name);

#endif
