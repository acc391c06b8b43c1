/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text safe to show: names come from other people's programs and files, and a terminal obeys
 * what some of them hold. Control characters (but newline and tab), invalid UTF-8, marks that turn
 * the writing direction and noncharacters become U+FFFD. Escape sequences of our own pass: they are
 * written as ss_escape(), which no recorded name can know, and become ESC here.
 * ss_escape is safe in any thread; a struct ss_clean has one owner.
 */
#ifndef SS_BASE_CLEAN_H
#define SS_BASE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* What a terminal, or a reader of the text, could take for something other than itself. Newline
 * and tab are not among them. */
bool ss_clean_is_harmful(uint32_t character);
/* The same of one valid UTF-8 character. */
bool ss_clean_is_harmful_text(const char *text, size_t length);

/* ESC followed by a random number of this process. */
const char *ss_escape(void);

/* A stream in pieces: the start of a character, or of ss_escape(), waits for the next piece. */
struct ss_clean {
    char held[32];
    size_t held_count;
};
void ss_clean_append(struct ss_clean *clean, struct ss_strbuf *out, const char *bytes,
                     size_t length);

/* One name, whole: nothing passes as ours. Newline and tab stay. */
void ss_clean_append_name(struct ss_strbuf *out, struct ss_strview name);

/* Writes one whole text to a descriptor, cleaned, in one write(2). For what must not wait for a
 * stream: messages of the log and of broken invariants. */
void ss_clean_write(int fd, const char *text, size_t length);

#endif
