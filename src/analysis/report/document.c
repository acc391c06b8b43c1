/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/document.h"

#include "base/alloc.h"

void ss_document_init(struct ss_document *document)
{
    *document = (struct ss_document){0};
    document->figures = ss_figure_new(&document->arena);
}

static void header_fini(struct ss_block *block)
{
    for (size_t i = 0; i < block->header.count; i++) {
        ss_vec_fini(&block->header.data[i].facts);
    }
    ss_vec_fini(&block->header);
}

static void findings_fini(struct ss_block *block)
{
    for (size_t i = 0; i < block->findings.count; i++) {
        ss_vec_fini(&block->findings.data[i].details);
        ss_vec_fini(&block->findings.data[i].evidence);
        ss_vec_fini(&block->findings.data[i].excerpt.lines);
    }
    ss_vec_fini(&block->findings);
}

static void calls_fini(struct ss_block *block)
{
    for (size_t i = 0; i < block->calls.count; i++) {
        ss_call_weights_fini(&block->calls.data[i]);
    }
    ss_vec_fini(&block->calls);
}

/* Long: one case for each kind of block. */
static void block_fini(struct ss_block *block)
{
    switch (block->kind) {
    case SS_BLOCK_HEADER:
        header_fini(block);
        break;
    case SS_BLOCK_FINDINGS:
        findings_fini(block);
        break;
    case SS_BLOCK_BAR:
        ss_vec_fini(&block->bar);
        break;
    case SS_BLOCK_SERIES:
        ss_vec_fini(&block->series.values);
        ss_step_points_fini(&block->series.points);
        break;
    case SS_BLOCK_CALLS:
        calls_fini(block);
        break;
    case SS_BLOCK_CURVES:
        ss_curves_fini(&block->curves);
        break;
    case SS_BLOCK_TIMELINE:
        ss_step_timeline_fini(&block->timeline);
        break;
    case SS_BLOCK_HEAT:
        ss_vec_fini(&block->heat.rows);
        ss_vec_fini(&block->heat.values);
        break;
    case SS_BLOCK_TREE:
        ss_free(block->table.branches);
        ss_table_fini(&block->table.data);
        break;
    case SS_BLOCK_TABLE:
        ss_table_fini(&block->table.data);
        break;
    case SS_BLOCK_COMMANDS:
        ss_vec_fini(&block->commands);
        break;
    case SS_BLOCK_TITLE:
    case SS_BLOCK_HEADLINE:
    case SS_BLOCK_HEADING:
    case SS_BLOCK_NOTE:
        break;
    }
}

void ss_document_fini(struct ss_document *document)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        block_fini(&document->blocks.data[i]);
    }
    ss_vec_fini(&document->blocks);
    ss_vec_fini(&document->problems);
    ss_arena_fini(&document->arena);
    *document = (struct ss_document){0};
}

struct ss_block *ss_document_add(struct ss_document *document, enum ss_block_kind kind)
{
    ss_vec_push_zero(&document->blocks);
    struct ss_block *block = &document->blocks.data[document->blocks.count - 1];
    block->kind = kind;
    return block;
}

struct ss_block *ss_document_join(struct ss_document *document, enum ss_block_kind kind)
{
    struct ss_block *block = ss_document_add(document, kind);
    block->is_joined = true;
    return block;
}

struct ss_sentence *ss_document_add_note(struct ss_document *document,
                                         enum ss_note_severity severity)
{
    struct ss_block *block = ss_document_join(document, SS_BLOCK_NOTE);
    block->note.severity = severity;
    block->note.text = ss_sentence_of(&document->arena);
    return &block->note.text;
}

struct ss_sentence *ss_document_add_item(struct ss_document *document,
                                         enum ss_note_severity severity)
{
    struct ss_sentence *text = ss_document_add_note(document, severity);
    document->blocks.data[document->blocks.count - 1].note.is_item = true;
    return text;
}

const struct ss_table *ss_block_table_for_programs(const struct ss_block *block)
{
    bool is_table = block->kind == SS_BLOCK_TABLE || block->kind == SS_BLOCK_TREE;
    return is_table && block->audience != SS_FOR_PEOPLE ? &block->table.data : NULL;
}
