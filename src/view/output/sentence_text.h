/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of a document as text. */
#ifndef SS_VIEW_OUTPUT_SENTENCE_TEXT_H
#define SS_VIEW_OUTPUT_SENTENCE_TEXT_H

#include "analysis/table/sentence.h"
#include "base/strbuf.h"

/* Appends a text so that it can stand in the format that is written. */
typedef void ss_text_encode(struct ss_strbuf *out, struct ss_strview text);

/* `encode`: of words and names; figures need none. */
void ss_part_append(const struct ss_part *part, ss_text_encode *encode, struct ss_strbuf *out);
void ss_sentence_append(const struct ss_sentence *sentence, ss_text_encode *encode,
                        struct ss_strbuf *out);
/* For a terminal: ss_text_append_clean. */
void ss_sentence_append_clean(const struct ss_sentence *sentence, struct ss_strbuf *out);
/* As recorded. */
void ss_sentence_append_raw(const struct ss_sentence *sentence, struct ss_strbuf *out);

#endif
