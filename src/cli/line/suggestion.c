/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/suggestion.h"

#include <stddef.h>
#include <string.h>

/* Longer words are file names or the like, not mistyped options. */
enum { MOST_LETTERS = 40 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to add, leave out, replace or swap with the next, so that `a` becomes `b`. */
static unsigned count_edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[MOST_LETTERS + 1][MOST_LETTERS + 1];
    for (size_t i = 0; i <= a_length; i++) {
        rows[i][0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            if (i == 0) {
                rows[0][j] = (unsigned)j;
                continue;
            }
            rows[i][j] = least(rows[i - 1][j] + 1, rows[i][j - 1] + 1);
            rows[i][j] = least(rows[i][j], rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
            }
        }
    }
    return rows[a_length][b_length];
}

void ss_suggestion_offer(struct ss_suggestion *suggestion, const char *name)
{
    size_t length = strlen(suggestion->word), name_length = strlen(name);
    if (length > MOST_LETTERS || name_length > MOST_LETTERS) {
        return;
    }
    unsigned edits = count_edits(suggestion->word, length, name, name_length);
    unsigned most = length < 6 ? 1 : (unsigned)length / 3;
    if (edits <= most && edits < length &&
        (suggestion->name == NULL || edits < suggestion->edits)) {
        suggestion->name = name;
        suggestion->edits = edits;
    }
}
