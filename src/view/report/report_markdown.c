/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as GitHub-flavoured Markdown, for issues, pull requests and wikis. Tables are pipe
 * tables; call trees, and tables in the form of another tool, are code.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "view/layouts/report_layouts.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"
#include "view/report/report_text_parts.h"

enum { MAX_TEXT_BYTES = 1 << 16, MAX_CELL_BYTES = 1 << 20, SERIES_COLUMNS = 72, MIN_FENCE = 3 };

/* --- texts ------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* Whether Markdown could read the character at `at` as more than itself. */
static bool is_active(const char *text, size_t at, bool begins_line)
{
    char c = text[at];
    if (c == '\0') {
        return false;
    }
    if (c == '_') { /* within a word it is an underscore */
        return at == 0 || !is_word(text[at - 1]) || !is_word(text[at + 1]);
    }
    return strchr("\\`*[]<>|~&$", c) != NULL || (begins_line && strchr("#+-=", c) != NULL);
}

/* A clean text has no line breaks, which would end a row or a list item. */
static void escape(struct ss_strview text, bool begins_line, struct ss_strbuf *out)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_CELL_BYTES);
    ss_text_append_clean(&clean, text);
    for (size_t i = 0; i < clean.length; i++) {
        if (is_active(clean.data, i, begins_line && i == 0)) {
            ss_strbuf_append_char(out, '\\');
        }
        ss_strbuf_append_char(out, clean.data[i]);
    }
    ss_strbuf_fini(&clean);
}

static void append_escaped(struct ss_strbuf *out, struct ss_strview text)
{
    escape(text, out->length == 0, out);
}

static void print_cell(const char *text, FILE *out)
{
    struct ss_strbuf escaped;
    ss_strbuf_init(&escaped, 2 * MAX_CELL_BYTES);
    escape(ss_strview_of(text), false, &escaped);
    fputs(escaped.data, out);
    ss_strbuf_fini(&escaped);
}

static void print_sentence(const struct ss_sentence *sentence, const char *before,
                           const char *after, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sentence_append(sentence, append_escaped, &text);
    fprintf(out, "%s%s%s\n", before, text.data, after);
    ss_strbuf_fini(&text);
}

/* --- title, header, headline ------------------------------------------------------------------ */

static void print_title(const struct ss_block *block, FILE *out)
{
    fprintf(out, "# %s", block->title.what);
    print_sentence(&block->title.of, ": ", "", out);
}

static void print_header(const struct ss_block *block, bool has_heading, FILE *out)
{
    static const char *const joints[] = {[SS_JOINT_NONE] = "",
                                         [SS_JOINT_ITEM] = " · ",
                                         [SS_JOINT_EQUALS] = " = ",
                                         [SS_JOINT_PLUS] = " + ",
                                         [SS_JOINT_COMMA] = ", "};
    const char *key = "";
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    fputs(has_heading ? "## Recording\n\n" : "", out);
    for (size_t r = 0; r < block->header.count; r++) {
        const struct ss_header_row *row = &block->header.data[r];
        key = row->key[0] != '\0' ? row->key : key;
        ss_strbuf_clear(&text);
        for (size_t i = 0; i < row->facts.count; i++) {
            ss_strbuf_append_text(&text, i > 0 ? joints[row->facts.data[i].joint] : "");
            ss_sentence_append(&row->facts.data[i].text, append_escaped, &text);
        }
        fprintf(out, "- **%s:** %s\n", key, text.data);
    }
    ss_strbuf_fini(&text);
}

static void print_bar(const struct ss_block *block, FILE *out)
{
    for (size_t i = 0; i < block->bar.count; i++) {
        struct ss_strbuf name;
        ss_strbuf_init(&name, MAX_TEXT_BYTES);
        escape(block->bar.data[i].name, false, &name);
        fprintf(out, "| %s ", name.data);
        ss_strbuf_fini(&name);
    }
    fputs("|\n", out);
    for (size_t i = 0; i < block->bar.count; i++) {
        fputs("|---:", out);
    }
    fputs("|\n", out);
    for (size_t i = 0; i < block->bar.count; i++) {
        fprintf(out, "| %.1f %% ", block->bar.data[i].percent);
    }
    fputs("|\n", out);
}

/* --- findings, series, notes ------------------------------------------------------------------ */

static void print_evidence(const struct ss_document_finding *finding, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    for (size_t i = 0; i < finding->evidence.count; i++) {
        ss_strbuf_append_text(&text, i > 0 ? " · " : "");
        ss_sentence_append(&finding->evidence.data[i], append_escaped, &text);
    }
    if (text.length > 0) {
        fprintf(out, "   - %s\n", text.data);
    }
    ss_strbuf_fini(&text);
}

static void print_findings(const struct ss_block *block, FILE *out)
{
    for (size_t i = 0; i < block->findings.count; i++) {
        const struct ss_document_finding *finding = &block->findings.data[i];
        fprintf(out, "%zu. ", i + 1);
        print_sentence(&finding->headline, "**", "**", out);
        for (size_t d = 0; d < finding->details.count; d++) {
            print_sentence(&finding->details.data[d], "   - ", "", out);
        }
        print_evidence(finding, out);
        if (!ss_sentence_is_empty(&finding->fix)) {
            print_sentence(&finding->fix, "   - → ", "", out);
        }
    }
}

static void print_series(const struct ss_block *block, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_report_append_series(block, SERIES_COLUMNS, &text);
    fprintf(out, "`%s` %s\n", text.data, block->series.label);
    ss_strbuf_fini(&text);
}

static void print_heat(const struct ss_block *block, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    fprintf(out, "%s\n\n```\n", block->heat.label);
    for (size_t r = 0; r < block->heat.rows.count; r++) {
        ss_strbuf_clear(&text);
        ss_report_append_heat(block, r, SERIES_COLUMNS, false, &text);
        fprintf(out, "%4" PRId64 " %s\n", block->heat.rows.data[r], text.data);
    }
    fputs("```\n", out);
    ss_strbuf_fini(&text);
}

static void print_note(const struct ss_block *block, FILE *out)
{
    bool is_warning = block->note.severity == SS_NOTE_WARNING;
    fputs(is_warning ? "> [!WARNING]\n" : "", out);
    print_sentence(&block->note.text, is_warning ? "> " : block->note.is_item ? "- " : "", "", out);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void print_row(const struct ss_text_table *text, size_t row, const bool *shown, FILE *out)
{
    for (size_t c = 0; c < text->column_count; c++) {
        if (shown[c]) {
            const char *cell = text->cells.data[row * text->column_count + c].text;
            fputs("| ", out);
            print_cell(cell != NULL ? cell : "", out);
            fputs(" ", out);
        }
    }
    fputs("|\n", out);
}

static void print_pipes(const struct ss_text_table *text, FILE *out)
{
    bool *shown = ss_alloc_zero(text->column_count, sizeof *shown);
    for (size_t c = 0; c < text->column_count; c++) {
        shown[c] = ss_text_table_is_shown(text, c);
        if (shown[c]) {
            fputs("| ", out);
            print_cell(text->columns[c].title, out);
            fputs(" ", out);
        }
    }
    fputs("|\n", out);
    for (size_t c = 0; c < text->column_count; c++) {
        fputs(!shown[c] ? "" : text->columns[c].right ? "|---:" : "|---", out);
    }
    fputs("|\n", out);
    for (size_t row = 0; row < text->row_colours.count; row++) {
        print_row(text, row, shown, out);
    }
    ss_free(shown);
}

/* A fence is longer than any run of backticks in the code. */
static void print_fence(const struct ss_table *table, const char *language, FILE *out)
{
    size_t longest = MIN_FENCE - 1;
    for (size_t i = 0; i < table->cells.count; i++) {
        const struct ss_cell *cell = &table->cells.data[i];
        for (size_t at = 0, run = 0; cell->type == SS_CELL_TEXT && at < cell->text.length; at++) {
            run = cell->text.data[at] == '`' ? run + 1 : 0;
            longest = run > longest ? run : longest;
        }
    }
    for (size_t i = 0; i <= longest; i++) {
        fputc('`', out);
    }
    fprintf(out, "%s\n", language);
}

static enum ss_status print_code(const struct ss_block *block,
                                 const struct ss_report_layout *layout, FILE *out,
                                 struct ss_error *err)
{
    const struct ss_report_style plain = {0};
    const struct ss_table *table = &block->table.data;
    enum ss_status status = SS_OK;
    print_fence(table, "text", out);
    if (layout->print != NULL) {
        layout->print(table, &plain, out);
    } else {
        struct ss_text_table text;
        layout->fill(block, &text);
        status = ss_text_table_print(&text, out, 0, false, err);
        ss_text_table_fini(&text);
    }
    print_fence(table, "", out);
    return status;
}

static enum ss_status print_table(const struct ss_block *block, FILE *out, struct ss_error *err)
{
    const struct ss_table *table = &block->table.data;
    const struct ss_report_layout *layout = ss_report_layout_of(table);
    if (block->table.title != NULL) {
        fprintf(out, "## %s\n%s", block->table.title, table->row_count > 0 ? "\n" : "");
    }
    if (table->row_count == 0) {
        return SS_OK;
    }
    if (block->kind == SS_BLOCK_TREE || layout->print != NULL) {
        return print_code(block, layout, out, err);
    }
    struct ss_text_table text;
    layout->fill(block, &text);
    print_pipes(&text, out);
    ss_text_table_fini(&text);
    return SS_OK;
}

static void print_commands(const struct ss_block *block, FILE *out)
{
    fputs("## Next\n\n```sh\n", out);
    for (size_t i = 0; i < block->commands.count; i++) {
        const struct ss_document_command *next = &block->commands.data[i];
        fprintf(out, "%s   # %s\n", next->command, next->meaning);
    }
    fputs("```\n", out);
}

/* --- the report ------------------------------------------------------------------------------- */

/* A list would continue the list of a section above it. */
static bool is_below_others(const struct ss_block *before)
{
    return before->kind != SS_BLOCK_TITLE && before->kind != SS_BLOCK_HEADLINE;
}

/* `before`: the block above; NULL: none. Long: one case for each kind. */
static enum ss_status print_block(const struct ss_block *block, const struct ss_block *before,
                                  FILE *out, struct ss_error *err)
{
    switch (block->kind) {
    case SS_BLOCK_TITLE:
        print_title(block, out);
        break;
    case SS_BLOCK_HEADER:
        print_header(block, before != NULL && is_below_others(before), out);
        break;
    case SS_BLOCK_HEADLINE:
        print_sentence(&block->headline, "**", "**", out);
        break;
    case SS_BLOCK_BAR:
        print_bar(block, out);
        break;
    case SS_BLOCK_FINDINGS:
        print_findings(block, out);
        break;
    case SS_BLOCK_SERIES:
        print_series(block, out);
        break;
    case SS_BLOCK_HEAT:
        print_heat(block, out);
        break;
    case SS_BLOCK_HEADING:
        fprintf(out, "## %s\n", block->heading);
        break;
    case SS_BLOCK_NOTE:
        print_note(block, out);
        break;
    case SS_BLOCK_TABLE:
    case SS_BLOCK_TREE:
        return print_table(block, out, err);
    case SS_BLOCK_CALLS:
    case SS_BLOCK_CURVES:
    case SS_BLOCK_TIMELINE:
        break;
    case SS_BLOCK_COMMANDS:
        print_commands(block, out);
        break;
    }
    return SS_OK;
}

static bool is_item(const struct ss_block *block)
{
    return block->kind == SS_BLOCK_NOTE && block->note.is_item;
}

/* Each block is a paragraph, list, table or code of its own; items make one list. */
enum ss_status ss_report_markdown(const struct ss_document *document,
                                  const struct ss_report_style *style, FILE *out,
                                  struct ss_error *err)
{
    (void)style;
    const struct ss_block *before = NULL;
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (!ss_block_is_for_people(block)) {
            continue;
        }
        if (before != NULL && !(is_item(before) && is_item(block))) {
            fputc('\n', out);
        }
        SS_TRY(print_block(block, before, out, err));
        before = block;
    }
    return SS_OK;
}
