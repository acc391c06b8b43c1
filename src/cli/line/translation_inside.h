/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of translation.def as tables. Private to the implementation of cli/line/translation.h.
 */
#ifndef SS_CLI_LINE_TRANSLATION_INSIDE_H
#define SS_CLI_LINE_TRANSLATION_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum ss_translated_mode {
#define SS_MODE(id, tool, word, command, instead) SS_TRANSLATED_##id,
#define SS_PROGRAM_MODE SS_MODE
#define SS_ROW(...)
#define SS_WORD(...)
#define SS_ABSENT(...)
#include "cli/line/translation.def"
#undef SS_MODE
#undef SS_PROGRAM_MODE
#undef SS_ROW
#undef SS_WORD
#undef SS_ABSENT
    SS_TRANSLATED_MODES
};

struct ss_translation_mode {
    const char *id, *tool, *word, *command, *instead; /* see translation.def */
    bool has_program;
};

enum ss_translated_argument { NONE, VALUE, BOOL };

enum ss_translated_action {
    GIVE,
    IF_TRUE,
    IF_FALSE,
    ALWAYS,
    REMARK,
    INSTEAD,
    ONE_OF,
    SOME_OF,
    SETS,
    OUTPUT,
    KERNEL,
    CAPTURE,
    ENVIRONMENT
};

struct ss_translation_row {
    enum ss_translated_mode mode;
    const char *name;
    char letter;
    enum ss_translated_argument argument;
    enum ss_translated_action action;
    const char *text;
};

struct ss_translation_word {
    enum ss_translated_mode mode;
    const char *name, *word;
    enum ss_translated_action action;
    const char *text;
};

struct ss_translation_absent {
    enum ss_translated_mode mode;
    const char *name, *word, *text;
};

extern const struct ss_translation_mode ss_translation_modes[SS_TRANSLATED_MODES];
extern const struct ss_translation_row ss_translation_rows[];
extern const struct ss_translation_word ss_translation_words[];
extern const struct ss_translation_absent ss_translation_absents[];
extern const size_t ss_translation_row_count, ss_translation_word_count,
    ss_translation_absent_count;

/* The options of capture ranges of Nsight Systems (translation_captures.c); NULL: not given. `give`
 * takes words of ours, with the value for %s. */
struct ss_translated_captures {
    const char *range, *end, *name, *delay, *duration;
    void (*give)(void *context, const char *text, const char *value);
    void *context;
};
enum ss_status ss_translate_captures(const struct ss_translated_captures *captures,
                                     struct ss_error *err);

#endif
