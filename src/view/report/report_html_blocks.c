/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a document as JSON for the scripts of a page. */
#include "base/utf8.h"
#include "view/output/sentence_text.h"
#include "view/output/text_cell.h"
#include "view/report/report_page.h"

enum { MAX_TEXT_BYTES = 1 << 20 };

/* --- texts ------------------------------------------------------------------------------------ */

/* At most `most` bytes, whole characters. */
static size_t cut_at(struct ss_strview text, size_t most)
{
    size_t length = text.length < most ? text.length : most;
    while (length < text.length && length > 0 &&
           ((unsigned char)text.data[length] & 0xc0) == 0x80) {
        length--;
    }
    return length;
}

json_t *ss_page_text(struct ss_strview text, const struct ss_page_limits *limits)
{
    if (text.length == 0) {
        return json_string("");
    }
    struct ss_strbuf clean;
    size_t shown = cut_at(text, limits->text_bytes);
    ss_strbuf_init(&clean, MAX_TEXT_BYTES);
    ss_text_append_clean(&clean, (struct ss_strview){text.data, shown});
    if (shown < text.length) {
        ss_strbuf_append_text(&clean, "… (");
        ss_text_append_count(&clean, text.length - shown);
        ss_strbuf_append_text(&clean, " bytes more)");
    }
    json_t *json = json_stringn(clean.data, clean.length);
    ss_strbuf_fini(&clean);
    return json != NULL ? json : json_string("");
}

static json_t *text_of(const char *text, const struct ss_page_limits *limits)
{
    return ss_page_text(ss_strview_of(text), limits);
}

json_t *ss_page_sentence(const struct ss_sentence *sentence, const struct ss_page_limits *limits)
{
    json_t *list = json_array();
    struct ss_strbuf words;
    ss_strbuf_init(&words, MAX_TEXT_BYTES);
    for (const struct ss_part *part = sentence->first; part != NULL; part = part->next) {
        if (part->kind != SS_PART_NAME) {
            ss_part_append(part, ss_text_append_clean, &words);
            continue;
        }
        json_array_append_new(list, json_stringn(words.data, words.length));
        json_array_append_new(list, ss_page_text(part->text, limits));
        ss_strbuf_clear(&words);
    }
    if (words.length > 0) {
        json_array_append_new(list, json_stringn(words.data, words.length));
    }
    ss_strbuf_fini(&words);
    return list;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static json_t *object_of(const char *kind, const struct ss_block *block)
{
    json_t *object = json_object();
    json_object_set_new(object, "kind", json_string(kind));
    if (block->is_joined) {
        json_object_set_new(object, "joined", json_true());
    }
    return object;
}

static json_t *title_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("title", block);
    json_object_set_new(object, "what", json_string(block->title.what));
    json_object_set_new(object, "of", ss_page_sentence(&block->title.of, limits));
    return object;
}

/* A row: its key and its facts, each after what joins it to the one before. */
static json_t *header_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    static const char *const joints[] = {[SS_JOINT_NONE] = "",
                                         [SS_JOINT_ITEM] = " · ",
                                         [SS_JOINT_EQUALS] = " = ",
                                         [SS_JOINT_PLUS] = " + ",
                                         [SS_JOINT_COMMA] = ", "};
    json_t *object = object_of("header", block), *rows = json_array();
    for (size_t r = 0; r < block->header.count; r++) {
        const struct ss_header_row *row = &block->header.data[r];
        json_t *facts = json_array(), *pair = json_array();
        for (size_t i = 0; i < row->facts.count; i++) {
            json_array_append_new(facts,
                                  json_string(i > 0 ? joints[row->facts.data[i].joint] : ""));
            json_array_append_new(facts, ss_page_sentence(&row->facts.data[i].text, limits));
        }
        json_array_append_new(pair, json_string(row->key));
        json_array_append_new(pair, facts);
        json_array_append_new(rows, pair);
    }
    json_object_set_new(object, "rows", rows);
    return object;
}

static json_t *headline_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("headline", block);
    json_object_set_new(object, "text", ss_page_sentence(&block->headline, limits));
    return object;
}

static json_t *bar_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("bar", block), *shares = json_array();
    for (size_t i = 0; i < block->bar.count; i++) {
        const struct ss_bar_share *share = &block->bar.data[i];
        json_t *one = json_object();
        json_object_set_new(one, "name", ss_page_text(share->name, limits));
        json_object_set_new(one, "percent", json_real(share->percent));
        json_object_set_new(one, "role", json_integer(share->role));
        json_array_append_new(shares, one);
    }
    json_object_set_new(object, "shares", shares);
    return object;
}

static json_t *excerpt_of(const struct ss_source_excerpt *excerpt,
                          const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *lines = json_array();
    for (size_t i = 0; i < excerpt->lines.count; i++) {
        json_array_append_new(lines, ss_page_text(excerpt->lines.data[i], limits));
    }
    json_object_set_new(object, "path", ss_page_text(excerpt->path, limits));
    json_object_set_new(object, "first", json_integer(excerpt->first));
    json_object_set_new(object, "line", json_integer(excerpt->line));
    json_object_set_new(object, "lines", lines);
    return object;
}

static json_t *finding_of(const struct ss_document_finding *finding,
                          const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *details = json_array(), *evidence = json_array();
    for (size_t i = 0; i < finding->details.count; i++) {
        json_array_append_new(details, ss_page_sentence(&finding->details.data[i], limits));
    }
    for (size_t i = 0; i < finding->evidence.count; i++) {
        json_array_append_new(evidence, ss_page_sentence(&finding->evidence.data[i], limits));
    }
    json_object_set_new(object, "headline", ss_page_sentence(&finding->headline, limits));
    json_object_set_new(object, "details", details);
    json_object_set_new(object, "evidence", evidence);
    json_object_set_new(object, "fix", ss_page_sentence(&finding->fix, limits));
    if (finding->excerpt.lines.count > 0) {
        json_object_set_new(object, "source", excerpt_of(&finding->excerpt, limits));
    }
    return object;
}

static json_t *findings_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("findings", block), *list = json_array();
    for (size_t i = 0; i < block->findings.count; i++) {
        json_array_append_new(list, finding_of(&block->findings.data[i], limits));
    }
    json_object_set_new(object, "findings", list);
    return object;
}

static json_t *series_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("series", block), *values = json_array();
    for (size_t i = 0; i < block->series.values.count; i++) {
        json_array_append_new(values, json_real(block->series.values.data[i]));
    }
    json_object_set_new(object, "label", text_of(block->series.label, limits));
    json_object_set_new(object, "unit", text_of(block->series.unit, limits));
    json_object_set_new(object, "top", json_real(block->series.top));
    json_object_set_new(object, "values", values);
    if (block->series.points.rows.count > 0 && limits->pictures) {
        json_object_set_new(object, "points", ss_page_points(&block->series.points, limits));
    }
    return object;
}

enum { HEAT_COLUMNS = 500 };

/* Of several steps in a column the slowest counts; -1: none has a value. */
static double slowest_of(const struct ss_block *block, size_t row, size_t from, size_t each)
{
    double most = -1;
    for (size_t i = from; i < from + each && i < block->heat.columns; i++) {
        double value = block->heat.values.data[row * block->heat.columns + i];
        most = value > most ? value : most;
    }
    return most;
}

static json_t *heat_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("heat", block), *rows = json_array(), *values = json_array();
    size_t each = (block->heat.columns + HEAT_COLUMNS - 1) / HEAT_COLUMNS;
    size_t columns = each > 0 ? (block->heat.columns + each - 1) / each : 0;
    for (size_t r = 0; r < block->heat.rows.count; r++) {
        json_array_append_new(rows, json_integer(block->heat.rows.data[r]));
        for (size_t c = 0; c < columns; c++) {
            json_array_append_new(values, json_real(slowest_of(block, r, c * each, each)));
        }
    }
    json_object_set_new(object, "label", text_of(block->heat.label, limits));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "columns", json_integer((json_int_t)columns));
    json_object_set_new(object, "each", json_integer((json_int_t)each));
    json_object_set_new(object, "low", json_real(block->heat.low));
    json_object_set_new(object, "high", json_real(block->heat.high));
    json_object_set_new(object, "values", values);
    return object;
}

static json_t *heading_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("heading", block);
    json_object_set_new(object, "text", text_of(block->heading, limits));
    return object;
}

static json_t *note_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    static const char *const severities[] = {
        [SS_NOTE_ASIDE] = "aside", [SS_NOTE_FACT] = "fact", [SS_NOTE_WARNING] = "warning"};
    json_t *object = object_of("note", block);
    json_object_set_new(object, "severity", json_string(severities[block->note.severity]));
    if (block->note.is_item) {
        json_object_set_new(object, "item", json_true());
    }
    json_object_set_new(object, "text", ss_page_sentence(&block->note.text, limits));
    return object;
}

static json_t *table_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = ss_page_table(block, limits);
    json_object_set_new(object, "kind",
                        json_string(block->kind == SS_BLOCK_TREE ? "tree" : "table"));
    if (block->is_joined) {
        json_object_set_new(object, "joined", json_true());
    }
    return object;
}

static json_t *commands_of(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = object_of("commands", block), *list = json_array();
    for (size_t i = 0; i < block->commands.count; i++) {
        json_t *pair = json_array();
        json_array_append_new(pair, text_of(block->commands.data[i].command, limits));
        json_array_append_new(pair, text_of(block->commands.data[i].meaning, limits));
        json_array_append_new(list, pair);
    }
    json_object_set_new(object, "commands", list);
    return object;
}

static json_t *left_out(void)
{
    json_t *object = json_object(), *text = json_array();
    json_array_append_new(text, json_string("A picture is left out: with it, this file would be "
                                            "larger than 5 MB. Choose a part of the recording."));
    json_object_set_new(object, "kind", json_string("note"));
    json_object_set_new(object, "severity", json_string("warning"));
    json_object_set_new(object, "text", text);
    return object;
}

json_t *ss_page_blocks(const struct ss_document *document, const struct ss_page_limits *limits)
{
    static json_t *(*const writers[])(const struct ss_block *, const struct ss_page_limits *) = {
        [SS_BLOCK_TITLE] = title_of,        [SS_BLOCK_HEADER] = header_of,
        [SS_BLOCK_HEADLINE] = headline_of,  [SS_BLOCK_BAR] = bar_of,
        [SS_BLOCK_FINDINGS] = findings_of,  [SS_BLOCK_SERIES] = series_of,
        [SS_BLOCK_HEAT] = heat_of,          [SS_BLOCK_HEADING] = heading_of,
        [SS_BLOCK_NOTE] = note_of,          [SS_BLOCK_TABLE] = table_of,
        [SS_BLOCK_TREE] = table_of,         [SS_BLOCK_CALLS] = ss_page_calls,
        [SS_BLOCK_CURVES] = ss_page_curves, [SS_BLOCK_TIMELINE] = ss_page_timeline,
        [SS_BLOCK_COMMANDS] = commands_of};
    json_t *blocks = json_array();
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->audience == SS_FOR_PAGES && !limits->pictures) {
            json_array_append_new(blocks, left_out());
        } else if (block->audience != SS_FOR_PROGRAMS) {
            json_array_append_new(blocks, writers[block->kind](block, limits));
        }
    }
    return blocks;
}
