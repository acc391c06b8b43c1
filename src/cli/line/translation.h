/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of other profilers in ours: "nsys profile -t cuda,nvtx -o run python train.py" is
 * "record -o run.pftrace -- python train.py". Each option of theirs is in a table
 * (translation.def): translated, so without an option, left out with a remark, or refused with what
 * to use instead. An option that is not in it is refused: never is its value taken for the program.
 * Pure.
 */
#ifndef SS_CLI_LINE_TRANSLATION_H
#define SS_CLI_LINE_TRANSLATION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct ss_translation {
    struct ss_vec_of(char *) words; /* ours, after "stepscope"; NULL-terminated; owned */
    struct ss_strbuf remarks;       /* one line each */
};

/* Whether it is a tool whose command lines are translated. */
bool ss_translation_has(const char *tool);

/* `words`: the tool and its command line, NULL-terminated. SS_E_USAGE: what is refused, and what to
 * use instead. Call ss_translation_fini in either case. */
enum ss_status ss_translate(char *const *words, struct ss_translation *translation,
                            struct ss_error *err);
void ss_translation_fini(struct ss_translation *translation);

/* "stepscope record -o 'a b' -- …": as a shell takes it. */
void ss_translation_append_line(const struct ss_translation *translation, struct ss_strbuf *out);

/* The table of a tool for people, in Markdown: their option, and ours. */
void ss_translation_append_table(struct ss_strbuf *out, const char *tool);
/* A section with the tables of all tools. */
void ss_translation_append_tables(struct ss_strbuf *out);

#endif
