/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a report, one row each: its `--by` value, the data it needs of the recording, its
 * options, and the function that builds it. Command line, help, documentation, loading and views
 * iterate these rows; none of them refers to a table by name. Immutable.
 *
 * To add a table: a file with its build function, and a row in tables.c. A table without a layout
 * of its own (view/layouts/report_layouts.c) is printed by the types and units of its columns.
 */
#ifndef SS_ANALYSIS_TABLES_TABLES_H
#define SS_ANALYSIS_TABLES_TABLES_H

#include "analysis/samples/leaf.h"
#include "analysis/samples/line_times.h"
#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"
#include "analysis/table/table.h"
#include "model/core/model.h"

enum { SS_TABLES_MOST = 40 }; /* built by one row, or by an overview */

/* Data that is loaded for a table, for its build function. Samples are always loaded. */
enum ss_table_need {
    SS_NEEDS_TRACKS = 1,        /* ranges and counters */
    SS_NEEDS_STEPS = 2,         /* the training's steps, and the phase of each sample */
    SS_NEEDS_SAMPLE_RANGES = 4, /* the ranges around each sample, and samples without frames */
    SS_NEEDS_LINES = 8          /* raw files line by line, unless equal ones are aggregated */
};

/* Options that a table accepts, besides the choices of its row. */
enum ss_table_option {
    SS_ACCEPTS_LIBRARY = 1, /* --library-name, --library-substring, --aggregate-leaf-paths */
    SS_ACCEPTS_SAMPLES = 2, /* --match, --exclude, --idle, --gil: which samples count */
    SS_ACCEPTS_THREAD = 4,  /* --thread */
    SS_ACCEPTS_SHARE = 8    /* --min-percent */
};

/* A word of --sort, --group or --columns. Lists end with a NULL word. */
struct ss_table_choice {
    const char *word;
    unsigned value;
};

struct ss_table_options {
    uint64_t max_rows;  /* 0: all */
    unsigned sort;      /* value of one of the row's sorts */
    unsigned grouping;  /* values of the row's groups, or-ed; 0: its default */
    double min_percent; /* smallest share of a tree node */
    bool full_paths;
    bool is_page;                  /* has room for more rows than a terminal */
    bool is_single;                /* a single table, to be read by a program */
    bool has_errors;               /* of the times per step, for a comparison */
    struct ss_leaf_options leaf;   /* library, rule and aggregate */
    struct ss_steps_options steps; /* which */
    struct ss_source_lines source;
};

/* Where a table of the report's page stands: the sections in their order, the summary of calls and
 * samples between the first two. */
enum ss_page_section {
    SS_PAGE_NONE,
    SS_PAGE_STEPS, /* if there are steps */
    SS_PAGE_TRACKS,
    SS_PAGE_SAMPLES, /* if there are samples; last, because the footer of a report speaks of them */
    SS_PAGE_SECTIONS
};

struct ss_table_input {
    const struct ss_selection *selection;
    const struct ss_step_summary *training; /* without any steps unless the row needs them */
    const struct ss_table_options *options;
    double achieved_hz; /* of the samples; 0: there are none, or they have no times */
};

struct ss_table_kind {
    const char *id;      /* of --by. Rows with the same id differ by `columns` */
    const char *aliases; /* other tools' names of it, separated by spaces; NULL: none */
    const char *columns; /* of --columns; NULL: this id has one row */
    const char *summary; /* what its rows are */
    unsigned needs;      /* enum ss_table_need */
    unsigned accepts;    /* enum ss_table_option */
    enum ss_idle_policy idle;
    uint64_t rows;                                /* default of --num-rows; 0: all */
    const struct ss_table_choice *sorts, *groups; /* NULL: none */
    unsigned sort;                                /* the default */
    const char *const *tracks; /* names for struct ss_model_load; NULL: all. With SS_NEEDS_TRACKS */
    unsigned quantities;       /* for struct ss_model_load, with names */
    bool hides_steps;          /* no summary of the steps above the table */
    bool is_not_compared;      /* its row numbers are only valid within this recording */
    bool is_in_diff;           /* a comparison of two recordings shows it unasked */
    bool is_each_step;         /* a row for each step: a comparison sums them up instead */
    struct {
        enum ss_page_section section;
        unsigned place; /* in the section, from 1; 0: after those that have one */
    } page;             /* of the report's page; a table without rows is left out */
    /* Marks the processes whose steps are needed, where they differ from the selection's; or
     * NULL. */
    void (*add_processes)(const struct ss_selection *selection, bool *processes);
    /* Returns the number of tables, 1 to SS_TABLES_MOST. */
    size_t (*build)(const struct ss_table_input *input, struct ss_table *tables);
};

/* In the order of the help; ends with a NULL id. */
extern const struct ss_table_kind ss_table_kinds[];
/* "self" and "total": enum ss_sort. */
extern const struct ss_table_choice ss_sorts_of_samples[];

/* The row with this id and, where it has several, these columns (NULL: the first); NULL: none. */
const struct ss_table_kind *ss_table_kind_find(const char *id, const char *columns);
/* The row that another tool's name means; NULL: none. */
const struct ss_table_kind *ss_table_kind_of_alias(const char *alias);
/* Chooses what is loaded for a table with these options. */
void ss_table_kind_load(const struct ss_table_kind *kind, const struct ss_table_options *options,
                        struct ss_model_load *load);

#endif
