/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as a part of another page: the output of a notebook. Its texts and lines have
 * the colour of what is around it, and its bars colours that contrast with white and with black, so
 * that it needs not know whether the page is light or dark. Where the page drops the style sheet,
 * as notebooks do that are not trusted, plain tables and lists remain.
 */
#include <inttypes.h>

#include "view/layouts/report_layouts.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"
#include "view/output/sink.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"
#include "view/output/xml_text.h"
#include "view/report/report_text_parts.h"

enum {
    MAX_BYTES = SS_REPORT_NOTEBOOK_MAX_BYTES - 400, /* less what comes after a cut */
    MAX_TEXT_BYTES = 1 << 16,
    MAX_SENTENCE_COLUMNS = 1000,
    MAX_CELL_COLUMNS = 96,
    SERIES_COLUMNS = 72,
    MAX_HEAT_ROWS = 64
};

static const char sheet[] =
    "<style>\n"
    ".stepscope { font-size: 13px; line-height: 1.5; max-width: 1100px; }\n"
    ".stepscope p, .stepscope ol, .stepscope ul { margin: .4em 0; }\n"
    ".stepscope .soft { opacity: .75; }\n"
    ".stepscope .swatch { display: inline-block; width: .8em; height: .8em; border-radius: 2px; }\n"
    ".stepscope .share { margin-right: 1.2em; white-space: nowrap; }\n"
    ".stepscope details { margin: .3em 0; padding-top: .2em; "
    "border-top: 1px solid rgba(128, 128, 128, .4); }\n"
    ".stepscope summary { cursor: pointer; font-weight: 600; }\n"
    ".stepscope .wide { overflow-x: auto; }\n"
    ".stepscope table { margin: .3em 0; border-collapse: collapse; font-size: 12px; }\n"
    ".stepscope th, .stepscope td { padding: 1px 14px 1px 0; border: 0; "
    "text-align: left !important; white-space: nowrap; color: inherit; background: none; }\n"
    ".stepscope tr { background: none !important; }\n"
    ".stepscope th { border-bottom: 1px solid rgba(128, 128, 128, .4); }\n"
    ".stepscope .right { text-align: right !important; font-variant-numeric: tabular-nums; }\n"
    ".stepscope pre { margin: .3em 0; font-size: 12px; line-height: 1.3; color: inherit; "
    "background: none; overflow-x: auto; }\n"
    "</style>\n";

/* --- texts ------------------------------------------------------------------------------------ */

static void write_text(struct ss_sink *out, const char *text, size_t columns)
{
    struct ss_strbuf cut;
    ss_strbuf_init(&cut, 4 * MAX_TEXT_BYTES);
    ss_text_append_cut_middle(&cut, text, columns);
    ss_xml_write(out, (struct ss_strview){cut.data, cut.length});
    ss_strbuf_fini(&cut);
}

static void write_sentence(struct ss_sink *out, const char *before,
                           const struct ss_sentence *sentence, const char *after)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sentence_append_clean(sentence, &text);
    ss_sink_text(out, before);
    write_text(out, text.data, MAX_SENTENCE_COLUMNS);
    ss_sink_text(out, after);
    ss_strbuf_fini(&text);
}

static void write_name(struct ss_sink *out, struct ss_strview name)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_TEXT_BYTES);
    ss_text_append_clean(&clean, name);
    write_text(out, clean.data, MAX_CELL_COLUMNS);
    ss_strbuf_fini(&clean);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Of shares, by role: each has a contrast of 3 or more with white and with the black of editors. */
static const char *colour_of(int role)
{
    static const char *const colours[SS_SHARE_ROLES] = {"#c8443a", "#3f6fe0", "#8250e6",
                                                        "#177a90", "#217a43", "#96650f"};
    return role >= 0 && role < SS_SHARE_ROLES ? colours[role] : "#64748b";
}

static double share_of_whole(double percent)
{
    return percent > 0 ? (percent < 100 ? percent : 100) : 0;
}

/* The shares as a bar, then as words; a browser without styles shows the words alone. */
static void write_bar(struct ss_sink *out, const struct ss_block *block)
{
    ss_sink_text(out,
                 "<div aria-hidden=\"true\" style=\"display:flex;height:16px;max-width:760px\">");
    for (size_t i = 0; i < block->bar.count; i++) {
        const struct ss_bar_share *share = &block->bar.data[i];
        ss_sink_format(out, "<span style=\"width:%.2f%%;background:%s\" title=\"",
                       share_of_whole(share->percent), colour_of(share->role));
        write_name(out, share->name);
        ss_sink_format(out, " %.1f %%\"></span>", share->percent);
    }
    ss_sink_text(out, "</div>\n<p>");
    for (size_t i = 0; i < block->bar.count; i++) {
        const struct ss_bar_share *share = &block->bar.data[i];
        ss_sink_format(out,
                       "<span class=\"share\"><span class=\"swatch\" style=\"background:%s\">"
                       "</span> ",
                       colour_of(share->role));
        write_name(out, share->name);
        ss_sink_format(out, " %.1f %%</span> ", share->percent);
    }
    ss_sink_text(out, "</p>\n");
}

static void write_evidence(struct ss_sink *out, const struct ss_document_finding *finding)
{
    for (size_t i = 0; i < finding->evidence.count; i++) {
        write_sentence(out, i == 0 ? "<br>\n<span class=\"soft\">" : " · ",
                       &finding->evidence.data[i], "");
    }
    ss_sink_text(out, finding->evidence.count > 0 ? "</span>" : "");
}

static void write_findings(struct ss_sink *out, const struct ss_block *block)
{
    ss_sink_text(out, "<ol>\n");
    for (size_t i = 0; i < block->findings.count; i++) {
        const struct ss_document_finding *finding = &block->findings.data[i];
        write_sentence(out, "<li><b>", &finding->headline, "</b>");
        for (size_t d = 0; d < finding->details.count; d++) {
            write_sentence(out, "<br>\n", &finding->details.data[d], "");
        }
        write_evidence(out, finding);
        if (!ss_sentence_is_empty(&finding->fix)) {
            write_sentence(out, "<br>\n→ ", &finding->fix, "");
        }
        ss_sink_text(out, "</li>\n");
    }
    ss_sink_text(out, "</ol>\n");
}

static void write_series(struct ss_sink *out, const struct ss_block *block)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_report_append_series(block, SERIES_COLUMNS, &text);
    ss_sink_format(out, "<p><span aria-hidden=\"true\">%s</span> <span class=\"soft\">", text.data);
    write_text(out, block->series.label, MAX_CELL_COLUMNS);
    ss_sink_text(out, "</span></p>\n");
    ss_strbuf_fini(&text);
}

static void write_heat(struct ss_sink *out, const struct ss_block *block)
{
    size_t count = block->heat.rows.count;
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sink_text(out, "<p class=\"soft\">");
    write_text(out, block->heat.label, MAX_CELL_COLUMNS);
    ss_sink_text(out, "</p>\n<pre>");
    for (size_t r = 0; r < count && r < MAX_HEAT_ROWS; r++) {
        ss_strbuf_clear(&text);
        ss_report_append_heat(block, r, SERIES_COLUMNS, false, &text);
        ss_sink_format(out, "%4" PRId64 " %s\n", block->heat.rows.data[r], text.data);
    }
    ss_sink_text(out, count > MAX_HEAT_ROWS ? "   …</pre>\n" : "</pre>\n");
    ss_strbuf_fini(&text);
}

static void write_note(struct ss_sink *out, const struct ss_block *block)
{
    bool is_warning = block->note.severity == SS_NOTE_WARNING;
    write_sentence(out, is_warning ? "<p><b>!</b> " : "<p class=\"soft\">", &block->note.text,
                   "</p>\n");
}

static void write_facts(struct ss_sink *out, const struct ss_block *block)
{
    static const char *const joints[] = {[SS_JOINT_NONE] = "",
                                         [SS_JOINT_ITEM] = " · ",
                                         [SS_JOINT_EQUALS] = " = ",
                                         [SS_JOINT_PLUS] = " + ",
                                         [SS_JOINT_COMMA] = ", "};
    ss_sink_text(out, "<table>\n");
    for (size_t r = 0; r < block->header.count; r++) {
        const struct ss_header_row *row = &block->header.data[r];
        ss_sink_text(out, "<tr><td>");
        write_text(out, row->key, MAX_CELL_COLUMNS);
        ss_sink_text(out, "</td><td style=\"white-space:normal\">");
        for (size_t i = 0; i < row->facts.count; i++) {
            write_sentence(out, i > 0 ? joints[row->facts.data[i].joint] : "",
                           &row->facts.data[i].text, "");
        }
        ss_sink_text(out, "</td></tr>\n");
    }
    ss_sink_text(out, "</table>\n");
}

/* --- tables ----------------------------------------------------------------------------------- */

/* A row of cells: titles (`row` SIZE_MAX) or texts. */
static void write_row(struct ss_sink *out, const struct ss_text_table *text, size_t row)
{
    bool is_title = row == SIZE_MAX;
    ss_sink_text(out, "<tr>");
    for (size_t c = 0; c < text->column_count; c++) {
        if (!ss_text_table_is_shown(text, c)) {
            continue;
        }
        const char *cell =
            is_title ? text->columns[c].title : text->cells.data[row * text->column_count + c].text;
        ss_sink_format(out, "<%s%s>", is_title ? "th" : "td",
                       text->columns[c].right ? " class=\"right\"" : "");
        write_text(out, cell != NULL ? cell : "", MAX_CELL_COLUMNS);
        ss_sink_text(out, is_title ? "</th>" : "</td>");
    }
    ss_sink_text(out, "</tr>\n");
}

static void write_cells(struct ss_sink *out, const struct ss_text_table *text)
{
    ss_sink_text(out, "<div class=\"wide\"><table>\n<thead>");
    write_row(out, text, SIZE_MAX);
    ss_sink_text(out, "</thead>\n<tbody>\n");
    for (size_t row = 0; row < text->row_colours.count; row++) {
        write_row(out, text, row);
    }
    ss_sink_text(out, "</tbody>\n</table></div>\n");
}

/* A table in the form of another tool. */
static enum ss_status write_print(struct ss_sink *out, const struct ss_table *table,
                                  ss_report_print *print, struct ss_error *err)
{
    const struct ss_report_style plain = {0};
    struct ss_sink text;
    ss_sink_open_memory(&text, SS_REPORT_NOTEBOOK_MAX_BYTES);
    FILE *stream = ss_sink_stream(&text);
    if (stream == NULL) {
        ss_sink_abandon(&text);
        return ss_fail(err, SS_E_NOMEM, "no memory for a table of the report");
    }
    print(table, &plain, stream);
    fclose(stream);
    ss_sink_text(out, "<pre>");
    ss_xml_write(out, (struct ss_strview){text.buffer.data, text.buffer.length});
    ss_sink_text(out, "</pre>\n");
    ss_sink_abandon(&text);
    return SS_OK;
}

static enum ss_status write_table(struct ss_sink *out, const struct ss_block *block,
                                  struct ss_error *err)
{
    const struct ss_table *table = &block->table.data;
    const struct ss_report_layout *layout = ss_report_layout_of(table);
    struct ss_text_table text;
    if (table->row_count == 0) {
        return SS_OK;
    }
    if (layout->print != NULL) {
        return write_print(out, table, layout->print, err);
    }
    layout->fill(block, &text);
    write_cells(out, &text);
    ss_text_table_fini(&text);
    return SS_OK;
}

/* --- sections --------------------------------------------------------------------------------- */

struct sections {
    bool is_open;   /* a section has begun */
    bool has_table; /* one was shown without a click */
};

static void end_section(struct ss_sink *out, struct sections *sections)
{
    ss_sink_text(out, sections->is_open ? "</details>\n" : "");
    sections->is_open = false;
}

static void begin_section(struct ss_sink *out, struct sections *sections, const char *title,
                          bool is_expanded)
{
    end_section(out, sections);
    ss_sink_format(out, "<details%s><summary>", is_expanded ? " open" : "");
    write_text(out, title, MAX_SENTENCE_COLUMNS);
    ss_sink_text(out, "</summary>\n");
    sections->is_open = true;
}

/* Headings and titles of tables begin a section, which has the blocks that are joined to it. */
static void place_block(struct ss_sink *out, struct sections *sections,
                        const struct ss_block *block)
{
    bool is_table = block->kind == SS_BLOCK_TABLE || block->kind == SS_BLOCK_TREE;
    bool has_rows = is_table && block->table.data.row_count > 0;
    if (block->kind == SS_BLOCK_HEADING) {
        begin_section(out, sections, block->heading, false);
    } else if (block->kind == SS_BLOCK_HEADER) {
        begin_section(out, sections, "Recording", false);
    } else if (is_table && block->table.title != NULL) {
        begin_section(out, sections, block->table.title, has_rows && !sections->has_table);
    } else if (!block->is_joined) {
        end_section(out, sections);
    }
    sections->has_table = sections->has_table || has_rows;
}

/* Long: one case for each kind. */
static enum ss_status write_block(struct ss_sink *out, const struct ss_block *block,
                                  struct ss_error *err)
{
    switch (block->kind) {
    case SS_BLOCK_HEADER:
        write_facts(out, block);
        break;
    case SS_BLOCK_HEADLINE:
        write_sentence(out, "<p><b>", &block->headline, "</b></p>\n");
        break;
    case SS_BLOCK_BAR:
        write_bar(out, block);
        break;
    case SS_BLOCK_FINDINGS:
        write_findings(out, block);
        break;
    case SS_BLOCK_SERIES:
        write_series(out, block);
        break;
    case SS_BLOCK_HEAT:
        write_heat(out, block);
        break;
    case SS_BLOCK_NOTE:
        write_note(out, block);
        break;
    case SS_BLOCK_TABLE:
    case SS_BLOCK_TREE:
        return write_table(out, block, err);
    case SS_BLOCK_TITLE: /* it is in the facts of the recording, too */
    case SS_BLOCK_HEADING:
    case SS_BLOCK_CALLS:
    case SS_BLOCK_CURVES:
    case SS_BLOCK_TIMELINE:
    case SS_BLOCK_COMMANDS:
        break;
    }
    return SS_OK;
}

/* Appends the block if it fits; else *is_whole becomes false. */
static enum ss_status add_block(struct ss_sink *out, struct sections *sections,
                                const struct ss_block *block, bool *is_whole, struct ss_error *err)
{
    struct sections after = *sections;
    struct ss_sink part;
    ss_sink_open_memory(&part, MAX_BYTES - out->buffer.length);
    place_block(&part, &after, block);
    enum ss_status status = write_block(&part, block, err);
    *is_whole = !ss_sink_failed(&part);
    if (*is_whole) {
        ss_sink_write(out, part.buffer.data, part.buffer.length);
        *sections = after;
    }
    ss_sink_abandon(&part);
    return status;
}

static enum ss_status write_blocks(struct ss_sink *out, const struct ss_document *document,
                                   struct ss_error *err)
{
    struct sections sections = {0};
    bool is_whole = true;
    for (size_t i = 0; i < document->blocks.count && is_whole; i++) {
        if (ss_block_is_for_people(&document->blocks.data[i])) {
            SS_TRY(add_block(out, &sections, &document->blocks.data[i], &is_whole, err));
        }
    }
    end_section(out, &sections);
    ss_sink_text(out, is_whole ? ""
                               : "<p><b>!</b> The rest is left out, for a notebook should stay "
                                 "small: choose one table, or fewer rows.</p>\n");
    return SS_OK;
}

enum ss_status ss_report_notebook(const struct ss_document *document,
                                  const struct ss_report_style *style, FILE *out,
                                  struct ss_error *err)
{
    struct ss_sink page;
    (void)style;
    ss_sink_open_memory(&page, SS_REPORT_NOTEBOOK_MAX_BYTES);
    /* The classes keep MathJax from reading names with dollars as formulas. */
    ss_sink_text(&page, "<div class=\"stepscope tex2jax_ignore mathjax_ignore\">\n");
    ss_sink_text(&page, sheet);
    enum ss_status status = write_blocks(&page, document, err);
    ss_sink_text(&page, "</div>\n");
    if (status == SS_OK) {
        fwrite(page.buffer.data, 1, page.buffer.length, out);
    }
    ss_sink_abandon(&page);
    return status;
}
