/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/sentence_text.h"

#include <inttypes.h>
#include <time.h>

#include "view/output/text_cell.h"

static void append_time(struct ss_strbuf *out, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm utc;
    char text[64];
    if (gmtime_r(&seconds, &utc) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0) {
        ss_strbuf_append_text(out, text);
    }
}

/* Long: one case for each kind of part. */
void ss_part_append(const struct ss_part *part, ss_text_encode *encode, struct ss_strbuf *out)
{
    switch (part->kind) {
    case SS_PART_WORDS:
    case SS_PART_NAME:
        encode(out, part->text);
        break;
    case SS_PART_COUNT:
        ss_text_append_count(out, (uint64_t)part->integer);
        break;
    case SS_PART_NUMBER:
        ss_strbuf_append_format(out, "%" PRId64, part->integer);
        break;
    case SS_PART_DURATION:
        ss_text_append_duration(out, (uint64_t)part->integer);
        break;
    case SS_PART_BYTES:
        ss_text_append_bytes(out, part->real);
        break;
    case SS_PART_PERCENT:
        ss_strbuf_append_format(out, "%.*f %%", part->digits, part->real);
        break;
    case SS_PART_SHARE:
        ss_text_append_percent(out, part->real);
        break;
    case SS_PART_DECIMAL:
        ss_strbuf_append_format(out, "%.*f", part->digits, part->real);
        break;
    case SS_PART_FIGURE:
        ss_strbuf_append_format(out, "%.*g", part->digits, part->real);
        break;
    case SS_PART_FLOPS:
        ss_text_append_flops(out, part->real, "FLOP");
        break;
    case SS_PART_FLOP_RATE:
        ss_text_append_flops(out, part->real, "FLOP/s");
        break;
    case SS_PART_TIME:
        append_time(out, part->integer);
        break;
    }
}

void ss_sentence_append(const struct ss_sentence *sentence, ss_text_encode *encode,
                        struct ss_strbuf *out)
{
    for (const struct ss_part *part = sentence->first; part != NULL; part = part->next) {
        ss_part_append(part, encode, out);
    }
}

void ss_sentence_append_clean(const struct ss_sentence *sentence, struct ss_strbuf *out)
{
    ss_sentence_append(sentence, ss_text_append_clean, out);
}

void ss_sentence_append_raw(const struct ss_sentence *sentence, struct ss_strbuf *out)
{
    ss_sentence_append(sentence, ss_strbuf_append_view, out);
}
