/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a report for programs: objects and lists of typed values in a fixed order. The unit is
 * part of a key ("mean_ns"). Values, and copies of all texts, live in the arena.
 */
#ifndef SS_ANALYSIS_TABLE_FIGURE_H
#define SS_ANALYSIS_TABLE_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/table/sentence.h"

enum ss_figure_type {
    SS_FIGURE_NULL, /* unknown, or there is none */
    SS_FIGURE_BOOLEAN,
    SS_FIGURE_INTEGER,
    SS_FIGURE_REAL,
    SS_FIGURE_TEXT,
    SS_FIGURE_SENTENCE,
    SS_FIGURE_LIST,
    SS_FIGURE_OBJECT
};

struct ss_figure {
    struct ss_figure *next; /* in the same list or object */
    const char *key;        /* static; NULL in a list */
    enum ss_figure_type type;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct ss_strview text;
        struct ss_sentence sentence;
        struct {
            struct ss_arena *arena;
            struct ss_figure *first, *last;
        } members; /* of lists and objects */
    };
};

/* An object without a parent. */
struct ss_figure *ss_figure_new(struct ss_arena *arena);

/* These append to a list (key NULL) or object. */
struct ss_figure *ss_figure_put_object(struct ss_figure *parent, const char *key);
struct ss_figure *ss_figure_put_list(struct ss_figure *parent, const char *key);
/* Its text is empty. */
struct ss_sentence *ss_figure_put_sentence(struct ss_figure *parent, const char *key);
void ss_figure_put_null(struct ss_figure *parent, const char *key);
void ss_figure_put_boolean(struct ss_figure *parent, const char *key, bool boolean);
void ss_figure_put_count(struct ss_figure *parent, const char *key, uint64_t count);
void ss_figure_put_integer(struct ss_figure *parent, const char *key, int64_t integer);
/* Null unless finite. */
void ss_figure_put_real(struct ss_figure *parent, const char *key, double real);
/* Null where it is 0, that is unknown. */
void ss_figure_put_known(struct ss_figure *parent, const char *key, double real);
void ss_figure_put_name(struct ss_figure *parent, const char *key, struct ss_strview name);
/* Null where it is empty. */
void ss_figure_put_text(struct ss_figure *parent, const char *key, const char *text);

#endif
