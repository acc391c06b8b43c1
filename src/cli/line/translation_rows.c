/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/translation_inside.h"

#define SS_ROW(...)
#define SS_WORD(...)
#define SS_ABSENT(...)
const struct ss_translation_mode ss_translation_modes[SS_TRANSLATED_MODES] = {
#define SS_MODE(id, tool, word, command, instead) {#id, tool, word, command, instead, false},
#define SS_PROGRAM_MODE(id, tool, word, command, instead) {#id, tool, word, command, instead, true},
#include "cli/line/translation.def"
#undef SS_MODE
#undef SS_PROGRAM_MODE
#undef SS_ROW
};

#define SS_MODE(...)
#define SS_PROGRAM_MODE(...)
const struct ss_translation_row ss_translation_rows[] = {
#define SS_ROW(mode, name, letter, argument, action, text)                                         \
    {SS_TRANSLATED_##mode, name, letter, argument, action, text},
#include "cli/line/translation.def"
#undef SS_ROW
#undef SS_WORD
};

#define SS_ROW(...)
const struct ss_translation_word ss_translation_words[] = {
#define SS_WORD(mode, name, word, action, text) {SS_TRANSLATED_##mode, name, word, action, text},
#include "cli/line/translation.def"
#undef SS_WORD
#undef SS_ABSENT
};

#define SS_WORD(...)
const struct ss_translation_absent ss_translation_absents[] = {
#define SS_ABSENT(mode, name, word, text) {SS_TRANSLATED_##mode, name, word, text},
#include "cli/line/translation.def"
};

const size_t ss_translation_row_count = sizeof ss_translation_rows / sizeof *ss_translation_rows;
const size_t ss_translation_word_count = sizeof ss_translation_words / sizeof *ss_translation_words;
const size_t ss_translation_absent_count =
    sizeof ss_translation_absents / sizeof *ss_translation_absents;
