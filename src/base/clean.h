/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text safe to display: names come from untrusted programs and files, and a terminal executes
 * escape sequences in them. Control characters (except newline and tab), invalid UTF-8,
 * bidirectional control characters and noncharacters become U+FFFD. Escape sequences of stepscope
 * pass: callers write them as ss_escape(), a secret that no recorded name can contain, and they
 * become ESC here.
 * ss_escape is safe in any thread; a struct ss_clean has one owner.
 */
#ifndef SS_BASE_CLEAN_H
#define SS_BASE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* True for characters that a terminal executes or that can mislead a reader. False for newline and
 * tab. */
bool ss_clean_is_harmful(uint32_t character);
/* The same for one valid UTF-8 character. */
bool ss_clean_is_harmful_text(const char *text, size_t length);

/* ESC followed by a random number of this process. */
const char *ss_escape(void);

/* Cleans a stream in pieces; holds an incomplete character or ss_escape() until the next piece. */
struct ss_clean {
    char held[32];
    size_t held_count;
};
void ss_clean_append(struct ss_clean *clean, struct ss_strbuf *out, const char *bytes,
                     size_t length);

/* One complete name: ss_escape() is not recognised in it. Newline and tab stay. */
void ss_clean_append_name(struct ss_strbuf *out, struct ss_strview name);

/* Cleans one complete text and writes it to a descriptor in one write(2). For messages that must
 * not wait for a stream: log lines and broken invariants. */
void ss_clean_write(int fd, const char *text, size_t length);

#endif
