/* SPDX-License-Identifier: Apache-2.0 */
/* Title and header in the text report. */
#include "base/terminal.h"
#include "view/output/sentence_text.h"
#include "view/output/text_cell.h"
#include "view/report/report_text_parts.h"

enum { LABEL_COLUMNS = 11, MIN_ROOM = 20, MAX_LINE_BYTES = 1 << 16 };

struct line {
    struct ss_strbuf text;
    size_t room; /* columns beside the key */
    size_t used; /* since the last line break */
};

/* What stands before a fact, and before one that begins a new line. */
static const struct {
    const char *within, *at_begin;
} joints[] = {[SS_JOINT_NONE] = {"", ""},
              [SS_JOINT_ITEM] = {" · ", ""},
              [SS_JOINT_EQUALS] = {" = ", "= "},
              [SS_JOINT_PLUS] = {" + ", "+ "},
              [SS_JOINT_COMMA] = {", ", ", "}};

/* Lines break between facts, never within one. */
static void append_fact(struct line *line, enum ss_fact_joint joint, const char *fact)
{
    const char *separator = joints[joint].within;
    size_t columns = ss_text_width(fact);
    if (line->used > 0 && line->used + ss_text_width(separator) + columns > line->room) {
        ss_strbuf_append_format(&line->text, "\n%*s", LABEL_COLUMNS, "");
        line->used = 0;
        separator = joints[joint].at_begin;
    }
    if (line->text.length > 0) {
        ss_strbuf_append_text(&line->text, separator);
        line->used += ss_text_width(separator);
    }
    if (columns > line->room) {
        ss_text_append_cut_middle(&line->text, fact, line->room);
        columns = line->room;
    } else {
        ss_strbuf_append_text(&line->text, fact);
    }
    line->used += columns;
}

static void print_row(const struct ss_header_row *row, const struct ss_report_style *style,
                      FILE *out)
{
    struct line line = {.room = style->width > LABEL_COLUMNS + MIN_ROOM
                                    ? style->width - LABEL_COLUMNS
                                    : (size_t)-1 / 2};
    struct ss_strbuf fact;
    ss_strbuf_init(&line.text, MAX_LINE_BYTES);
    ss_strbuf_init(&fact, MAX_LINE_BYTES);
    for (size_t i = 0; i < row->facts.count; i++) {
        ss_strbuf_clear(&fact);
        ss_sentence_append_clean(&row->facts.data[i].text, &fact);
        append_fact(&line, row->facts.data[i].joint, fact.data);
    }
    fprintf(out, "%s%-*s%s%s\n", style->colour ? SS_DIM : "", LABEL_COLUMNS, row->key,
            style->colour ? SS_OFF : "", line.text.data);
    ss_strbuf_fini(&fact);
    ss_strbuf_fini(&line.text);
}

void ss_report_text_facts(const struct ss_block *block, const struct ss_report_style *style,
                          FILE *out)
{
    for (size_t i = 0; i < block->header.count; i++) {
        print_row(&block->header.data[i], style, out);
    }
}

void ss_report_text_title(const struct ss_block *block, const struct ss_report_style *style,
                          FILE *out)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, MAX_LINE_BYTES);
    ss_sentence_append_clean(&block->title.of, &name);
    fprintf(out, "%s%s%s  %s\n", style->colour ? SS_BOLD : "", block->title.what,
            style->colour ? SS_OFF : "", name.data);
    ss_strbuf_fini(&name);
}

void ss_report_text_header(const struct ss_document *document, const struct ss_report_style *style,
                           FILE *out)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->kind == SS_BLOCK_TITLE) {
            ss_report_text_title(block, style, out);
        } else if (block->kind == SS_BLOCK_HEADER) {
            ss_report_text_facts(block, style, out);
        } else {
            continue;
        }
        fputc('\n', out);
    }
}
