/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as a document: an ordered list of typed blocks, each with all that a view shows of it.
 * analysis/report/report.h composes it, views (view/output/report.h) render it and compute nothing.
 * Owns its texts and tables; cells borrow strings of the model. Built by one thread, immutable
 * afterwards.
 */
#ifndef SS_ANALYSIS_REPORT_DOCUMENT_H
#define SS_ANALYSIS_REPORT_DOCUMENT_H

#include "analysis/samples/call_weights.h"
#include "analysis/samples/tree_branches.h"
#include "analysis/selection/curves.h"
#include "analysis/steps/step_points.h"
#include "analysis/steps/step_timeline.h"
#include "analysis/table/figure.h"
#include "analysis/table/sentence.h"
#include "analysis/table/table.h"

enum ss_block_kind {
    SS_BLOCK_TITLE,    /* what the document is about */
    SS_BLOCK_HEADER,   /* keys with facts: what was recorded, how faithfully */
    SS_BLOCK_HEADLINE, /* the sentence that says most */
    SS_BLOCK_BAR,      /* a whole, divided into named shares */
    SS_BLOCK_FINDINGS, /* what to change, the most important first */
    SS_BLOCK_SERIES,   /* values in order of time */
    SS_BLOCK_HEAT,     /* rows of values in order of time */
    SS_BLOCK_HEADING,  /* of the joined blocks after it */
    SS_BLOCK_NOTE,
    SS_BLOCK_TABLE,
    SS_BLOCK_TREE,     /* a table whose rows have a parent */
    SS_BLOCK_CALLS,    /* a flame graph; this and the next two: SS_FOR_PAGES */
    SS_BLOCK_CURVES,   /* counters over time */
    SS_BLOCK_TIMELINE, /* all that ran in a few steps */
    SS_BLOCK_COMMANDS  /* what to run next */
};

enum ss_block_audience {
    SS_FOR_ALL,
    SS_FOR_PEOPLE,   /* its figures are elsewhere in the figures for programs */
    SS_FOR_PROGRAMS, /* a table that has columns but nothing to read */
    SS_FOR_PAGES     /* a picture: a report without room for it leaves it out */
};

/* What joins a fact of a header to the one before it. */
enum ss_fact_joint { SS_JOINT_NONE, SS_JOINT_ITEM, SS_JOINT_EQUALS, SS_JOINT_PLUS, SS_JOINT_COMMA };

struct ss_header_fact {
    enum ss_fact_joint joint;
    struct ss_sentence text;
};

struct ss_header_row {
    const char *key; /* "": continues the row above */
    struct ss_vec_of(struct ss_header_fact) facts;
};

enum { SS_SHARE_ROLES = 6 };

struct ss_bar_share {
    struct ss_strview name;
    double percent;
    int role; /* of its colour: 0 to SS_SHARE_ROLES - 1; -1: the unnamed rest */
};

/* Lines of a source file around one of them, as they are now. */
struct ss_source_excerpt {
    struct ss_strview path;
    uint32_t first, line; /* numbers of its first line, and of the one that it is about */
    struct ss_vec_of(struct ss_strview) lines; /* none: not at hand, or changed since */
};

struct ss_document_finding {
    struct ss_sentence headline;
    struct ss_vec_of(struct ss_sentence) details;  /* where it is */
    struct ss_vec_of(struct ss_sentence) evidence; /* name and value each */
    struct ss_sentence fix;                        /* empty: unknown */
    struct ss_source_excerpt excerpt;              /* only for pages */
};

struct ss_document_command {
    const char *command, *meaning;
};

struct ss_block {
    enum ss_block_kind kind;
    enum ss_block_audience audience;
    bool is_joined; /* belongs to the block before it: no gap between them */
    union {
        struct {
            const char *what; /* "stepscope report" */
            struct ss_sentence of;
        } title;
        struct ss_vec_of(struct ss_header_row) header;
        struct ss_sentence headline;
        struct ss_vec_of(struct ss_bar_share) bar; /* in the order of the whole */
        struct ss_vec_of(struct ss_document_finding) findings;
        struct {
            const char *label;
            struct ss_vec_of(double) values;
            const char *unit;
            double top;                   /* of the scale: higher values are shown as this one */
            struct ss_step_points points; /* of the steps; only for pages */
        } series;
        struct {
            const char *label;
            struct ss_vec_of(int64_t) rows;  /* ranks; -1: unknown */
            struct ss_vec_of(double) values; /* [rows][columns], ns; negative: none */
            size_t columns;
            double low, high; /* of the scale */
        } heat;
        const char *heading;
        struct {
            enum ss_note_severity severity;
            bool is_item;       /* of the heading before it */
            bool is_of_marking; /* about rows that ss_table_row_is_weak marks */
            struct ss_sentence text;
        } note;
        struct {
            const char *title; /* NULL: a heading is above it */
            struct ss_table data;
            bool has_one_owner;              /* pid and name are the same in all rows */
            struct ss_tree_branch *branches; /* by row; of trees */
        } table;
        struct ss_vec_of(struct ss_call_weights) calls; /* by samples, by time on devices */
        struct ss_curves curves;
        struct ss_step_timeline timeline;
        struct ss_vec_of(struct ss_document_command) commands;
    };
};

struct ss_document {
    struct ss_arena arena;
    struct ss_vec_of(struct ss_block) blocks;
    struct ss_figure *figures;                     /* the same for programs, without the tables */
    struct ss_vec_of(struct ss_sentence) problems; /* why it is not the whole truth */
};

void ss_document_init(struct ss_document *document);
void ss_document_fini(struct ss_document *document);

/* Append a zeroed block; valid until the next one. */
struct ss_block *ss_document_add(struct ss_document *document, enum ss_block_kind kind);
struct ss_block *ss_document_join(struct ss_document *document, enum ss_block_kind kind);
/* Appends a note that is joined to the block before it; its text is empty. */
struct ss_sentence *ss_document_add_note(struct ss_document *document,
                                         enum ss_note_severity severity);
/* The same, as an item of the heading before it. */
struct ss_sentence *ss_document_add_item(struct ss_document *document,
                                         enum ss_note_severity severity);

static inline bool ss_block_is_for_people(const struct ss_block *block)
{
    return block->audience != SS_FOR_PROGRAMS && block->audience != SS_FOR_PAGES;
}

/* The table of a block for programs; NULL: it has none. */
const struct ss_table *ss_block_table_for_programs(const struct ss_block *block);

#endif
