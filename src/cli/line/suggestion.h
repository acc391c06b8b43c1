/* SPDX-License-Identifier: Apache-2.0 */
/* The name that a mistyped word most likely means. Pure; names are borrowed. */
#ifndef SS_CLI_LINE_SUGGESTION_H
#define SS_CLI_LINE_SUGGESTION_H

/* Starts as {.word = …}. */
struct ss_suggestion {
    const char *word;
    const char *name; /* the closest name so far, the first of several; NULL: none is close */
    unsigned edits;
};

/* Considers one of the names. A name is close if at most one letter in three (of a short word, one
 * letter) is added, left out, replaced, or swapped with the next. */
void ss_suggestion_offer(struct ss_suggestion *suggestion, const char *name);

#endif
