/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/sentence.h"

#include <stddef.h>

static struct ss_part *add_part(struct ss_sentence *sentence, enum ss_part_kind kind)
{
    struct ss_part *part = ss_arena_alloc(sentence->arena, sizeof *part);
    *part = (struct ss_part){.kind = kind};
    if (sentence->last != NULL) {
        sentence->last->next = part;
    } else {
        sentence->first = part;
    }
    sentence->last = part;
    return part;
}

static void add_text(struct ss_sentence *sentence, enum ss_part_kind kind, struct ss_strview text)
{
    if (text.length > 0) {
        const char *copy = ss_arena_strndup(sentence->arena, text.data, text.length);
        add_part(sentence, kind)->text = (struct ss_strview){copy, text.length};
    }
}

static void add_integer(struct ss_sentence *sentence, enum ss_part_kind kind, int64_t integer)
{
    add_part(sentence, kind)->integer = integer;
}

static void add_real(struct ss_sentence *sentence, enum ss_part_kind kind, double real, int digits)
{
    struct ss_part *part = add_part(sentence, kind);
    part->real = real;
    part->digits = digits;
}

void ss_sentence_add(struct ss_sentence *sentence, const char *words)
{
    add_text(sentence, SS_PART_WORDS, ss_strview_of(words));
}

void ss_sentence_add_name(struct ss_sentence *sentence, struct ss_strview name)
{
    add_text(sentence, SS_PART_NAME, name);
}

void ss_sentence_add_plural(struct ss_sentence *sentence, uint64_t count)
{
    ss_sentence_add(sentence, count == 1 ? "" : "s");
}

void ss_sentence_add_count(struct ss_sentence *sentence, uint64_t count)
{
    add_integer(sentence, SS_PART_COUNT, (int64_t)count);
}

void ss_sentence_add_number(struct ss_sentence *sentence, int64_t number)
{
    add_integer(sentence, SS_PART_NUMBER, number);
}

void ss_sentence_add_duration(struct ss_sentence *sentence, uint64_t ns)
{
    add_integer(sentence, SS_PART_DURATION, (int64_t)ns);
}

void ss_sentence_add_bytes(struct ss_sentence *sentence, double bytes)
{
    add_real(sentence, SS_PART_BYTES, bytes, 0);
}

void ss_sentence_add_percent(struct ss_sentence *sentence, double percent, int decimals)
{
    add_real(sentence, SS_PART_PERCENT, percent, decimals);
}

void ss_sentence_add_share(struct ss_sentence *sentence, double percent)
{
    add_real(sentence, SS_PART_SHARE, percent, 0);
}

void ss_sentence_add_decimal(struct ss_sentence *sentence, double value, int decimals)
{
    add_real(sentence, SS_PART_DECIMAL, value, decimals);
}

void ss_sentence_add_figure(struct ss_sentence *sentence, double value, int digits)
{
    add_real(sentence, SS_PART_FIGURE, value, digits);
}

void ss_sentence_add_flops(struct ss_sentence *sentence, double flops)
{
    add_real(sentence, SS_PART_FLOPS, flops, 0);
}

void ss_sentence_add_flop_rate(struct ss_sentence *sentence, double flops_per_s)
{
    add_real(sentence, SS_PART_FLOP_RATE, flops_per_s, 0);
}

void ss_sentence_add_time(struct ss_sentence *sentence, int64_t unix_ns)
{
    add_integer(sentence, SS_PART_TIME, unix_ns);
}
