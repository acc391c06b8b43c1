/* SPDX-License-Identifier: Apache-2.0 */
/* The text report: blocks in order, an empty line between those that do not belong together. */
#include "base/terminal.h"
#include "view/layouts/report_layouts.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"
#include "view/report/report_text_parts.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

/* --- sentences -------------------------------------------------------------------------------- */

/* Wraps to the width: `lead` precedes the first line, as many spaces the others. In `colour`, if
 * the style has colours. */
static void print_wrapped(const char *text, const char *colour, const char *lead,
                          const struct ss_report_style *style, FILE *out)
{
    struct ss_strbuf lines;
    ss_strbuf_init(&lines, 2 * MAX_TEXT_BYTES);
    ss_text_append_wrapped(&lines, text, style->width, ss_text_width(lead));
    bool is_coloured = style->colour && colour[0] != '\0';
    fprintf(out, "%s%s%s%s\n", lead, is_coloured ? colour : "", lines.data,
            is_coloured ? SS_OFF : "");
    ss_strbuf_fini(&lines);
}

static void print_sentence(const struct ss_sentence *sentence, const char *colour, const char *lead,
                           const struct ss_report_style *style, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sentence_append_clean(sentence, &text);
    print_wrapped(text.data, colour, lead, style, out);
    ss_strbuf_fini(&text);
}

static void print_heading(const char *heading, const struct ss_report_style *style, FILE *out)
{
    fprintf(out, "%s%s%s\n", style->colour ? SS_BOLD : "", heading, style->colour ? SS_OFF : "");
}

static void print_note(const struct ss_block *block, const struct ss_report_style *style, FILE *out)
{
    const char *lead = block->note.is_item                       ? "  "
                       : block->note.severity == SS_NOTE_WARNING ? "! "
                                                                 : "";
    if (block->note.is_of_marking && style->colour) {
        print_wrapped("Grey rows have fewer than 30 samples: too few to call them hotspots.",
                      SS_DIM, lead, style, out);
        return;
    }
    print_sentence(&block->note.text, block->note.severity == SS_NOTE_ASIDE ? SS_DIM : "", lead,
                   style, out);
}

/* --- findings --------------------------------------------------------------------------------- */

static void print_evidence(const struct ss_document_finding *finding,
                           const struct ss_report_style *style, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    for (size_t i = 0; i < finding->evidence.count; i++) {
        ss_strbuf_append_text(&text, i > 0 ? " · " : "");
        ss_sentence_append_clean(&finding->evidence.data[i], &text);
    }
    print_wrapped(text.data, SS_DIM, "  ", style, out);
    ss_strbuf_fini(&text);
}

static void print_findings(const struct ss_block *block, const struct ss_report_style *style,
                           FILE *out)
{
    for (size_t i = 0; i < block->findings.count; i++) {
        const struct ss_document_finding *finding = &block->findings.data[i];
        print_sentence(&finding->headline, i == 0 ? SS_BOLD : "", "", style, out);
        for (size_t d = 0; d < finding->details.count; d++) {
            print_sentence(&finding->details.data[d], "", "  ", style, out);
        }
        print_evidence(finding, style, out);
        if (!ss_sentence_is_empty(&finding->fix)) {
            print_sentence(&finding->fix, "", "  → ", style, out);
        }
    }
}

/* --- tables, commands ------------------------------------------------------------------------- */

static enum ss_status print_table(const struct ss_block *block, const struct ss_report_style *style,
                                  FILE *out, struct ss_error *err)
{
    const struct ss_table *table = &block->table.data;
    const struct ss_report_layout *layout = ss_report_layout_of(table);
    struct ss_text_table text;
    if (block->table.title != NULL && (!layout->has_own_title || table->row_count == 0)) {
        print_heading(block->table.title, style, out);
    }
    if (table->row_count == 0) {
        return SS_OK;
    }
    if (layout->print != NULL) {
        layout->print(table, style, out);
        return SS_OK;
    }
    layout->fill(block, &text);
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* One line each, however long, so that it can be copied. */
static void print_commands(const struct ss_block *block, const struct ss_report_style *style,
                           FILE *out)
{
    size_t widest = 0;
    for (size_t i = 0; i < block->commands.count; i++) {
        size_t width = ss_text_width(block->commands.data[i].command);
        widest = width > widest ? width : widest;
    }
    print_heading("Next", style, out);
    for (size_t i = 0; i < block->commands.count; i++) {
        const struct ss_document_command *next = &block->commands.data[i];
        size_t gap = widest - ss_text_width(next->command);
        fprintf(out, "  %s%*s   %s%s%s\n", next->command, (int)gap, "", style->colour ? SS_DIM : "",
                next->meaning, style->colour ? SS_OFF : "");
    }
}

/* --- the report ------------------------------------------------------------------------------- */

/* Long: one case for each kind. */
static enum ss_status print_block(const struct ss_block *block, const struct ss_report_style *style,
                                  FILE *out, struct ss_error *err)
{
    switch (block->kind) {
    case SS_BLOCK_TITLE:
        ss_report_text_title(block, style, out);
        break;
    case SS_BLOCK_HEADER:
        ss_report_text_facts(block, style, out);
        break;
    case SS_BLOCK_HEADLINE:
        print_sentence(&block->headline, SS_BOLD, "", style, out);
        break;
    case SS_BLOCK_BAR:
        ss_report_text_bar(block, style, out);
        break;
    case SS_BLOCK_FINDINGS:
        print_findings(block, style, out);
        break;
    case SS_BLOCK_SERIES:
        ss_report_text_series(block, style, out);
        break;
    case SS_BLOCK_HEAT:
        ss_report_text_heat(block, style, out);
        break;
    case SS_BLOCK_HEADING:
        print_heading(block->heading, style, out);
        break;
    case SS_BLOCK_NOTE:
        print_note(block, style, out);
        break;
    case SS_BLOCK_TABLE:
    case SS_BLOCK_TREE:
        return print_table(block, style, out, err);
    case SS_BLOCK_CALLS:
    case SS_BLOCK_CURVES:
    case SS_BLOCK_TIMELINE:
        break;
    case SS_BLOCK_COMMANDS:
        print_commands(block, style, out);
        break;
    }
    return SS_OK;
}

enum ss_status ss_report_text(const struct ss_document *document,
                              const struct ss_report_style *style, FILE *out, struct ss_error *err)
{
    bool is_first = true, ends_group = false;
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (!ss_block_is_for_people(block)) {
            continue;
        }
        if (!is_first && !block->is_joined) {
            fputc('\n', out);
        }
        SS_TRY(print_block(block, style, out, err));
        bool is_aside = block->kind == SS_BLOCK_NOTE && block->is_joined;
        ends_group = is_aside ? ends_group
                              : block->kind != SS_BLOCK_NOTE && block->kind != SS_BLOCK_COMMANDS;
        is_first = false;
    }
    if (ends_group) { /* the shell's prompt keeps its distance to a table */
        fputc('\n', out);
    }
    return SS_OK;
}
