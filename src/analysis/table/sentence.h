/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sentence of a report as typed parts: words, names from the recording, and figures with their
 * units. Views format a part and escape what their format needs. Parts, and copies of all
 * texts, live in the arena.
 */
#ifndef SS_ANALYSIS_TABLE_SENTENCE_H
#define SS_ANALYSIS_TABLE_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strview.h"

enum ss_part_kind {
    SS_PART_WORDS,
    SS_PART_NAME,   /* comes from a program or a file: may hold any character */
    SS_PART_COUNT,  /* integer: "1,234" */
    SS_PART_NUMBER, /* integer: an identifier, "1234" */
    SS_PART_DURATION,
    SS_PART_BYTES,
    SS_PART_PERCENT, /* with `digits` decimals */
    SS_PART_SHARE,   /* percent with two significant digits; 100 only for the whole */
    SS_PART_DECIMAL, /* with `digits` decimals */
    SS_PART_FIGURE,  /* with `digits` significant digits */
    SS_PART_FLOPS,   /* floating-point operations */
    SS_PART_FLOP_RATE,
    SS_PART_TIME /* integer: nanoseconds since 1970, UTC */
};

struct ss_part {
    const struct ss_part *next;
    enum ss_part_kind kind;
    int digits;
    union {
        struct ss_strview text; /* WORDS, NAME; NUL-terminated */
        int64_t integer;        /* COUNT, NUMBER, DURATION (ns), TIME */
        double real;            /* all others */
    };
};

struct ss_sentence {
    struct ss_arena *arena;
    struct ss_part *first, *last; /* NULL: nothing is said */
};

static inline struct ss_sentence ss_sentence_of(struct ss_arena *arena)
{
    return (struct ss_sentence){.arena = arena};
}

static inline bool ss_sentence_is_empty(const struct ss_sentence *sentence)
{
    return sentence->first == NULL;
}

void ss_sentence_add(struct ss_sentence *sentence, const char *words);
void ss_sentence_add_name(struct ss_sentence *sentence, struct ss_strview name);
/* "s" unless the count is 1. */
void ss_sentence_add_plural(struct ss_sentence *sentence, uint64_t count);
void ss_sentence_add_count(struct ss_sentence *sentence, uint64_t count);
void ss_sentence_add_number(struct ss_sentence *sentence, int64_t number);
void ss_sentence_add_duration(struct ss_sentence *sentence, uint64_t ns);
void ss_sentence_add_bytes(struct ss_sentence *sentence, double bytes);
void ss_sentence_add_percent(struct ss_sentence *sentence, double percent, int decimals);
void ss_sentence_add_share(struct ss_sentence *sentence, double percent);
void ss_sentence_add_decimal(struct ss_sentence *sentence, double value, int decimals);
void ss_sentence_add_figure(struct ss_sentence *sentence, double value, int digits);
void ss_sentence_add_flops(struct ss_sentence *sentence, double flops);
void ss_sentence_add_flop_rate(struct ss_sentence *sentence, double flops_per_s);
void ss_sentence_add_time(struct ss_sentence *sentence, int64_t unix_ns);

#endif
