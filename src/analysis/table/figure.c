/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/figure.h"

#include <math.h>
#include <stddef.h>

static struct ss_figure *append(struct ss_figure *parent, const char *key, enum ss_figure_type type)
{
    struct ss_figure *value = ss_arena_alloc(parent->members.arena, sizeof *value);
    *value = (struct ss_figure){.key = key, .type = type};
    if (parent->members.last != NULL) {
        parent->members.last->next = value;
    } else {
        parent->members.first = value;
    }
    parent->members.last = value;
    return value;
}

struct ss_figure *ss_figure_new(struct ss_arena *arena)
{
    struct ss_figure *value = ss_arena_alloc(arena, sizeof *value);
    *value = (struct ss_figure){.type = SS_FIGURE_OBJECT, .members = {.arena = arena}};
    return value;
}

static struct ss_figure *append_parent(struct ss_figure *parent, const char *key,
                                       enum ss_figure_type type)
{
    struct ss_figure *value = append(parent, key, type);
    value->members.arena = parent->members.arena;
    value->members.first = value->members.last = NULL;
    return value;
}

struct ss_figure *ss_figure_put_object(struct ss_figure *parent, const char *key)
{
    return append_parent(parent, key, SS_FIGURE_OBJECT);
}

struct ss_figure *ss_figure_put_list(struct ss_figure *parent, const char *key)
{
    return append_parent(parent, key, SS_FIGURE_LIST);
}

struct ss_sentence *ss_figure_put_sentence(struct ss_figure *parent, const char *key)
{
    struct ss_figure *value = append(parent, key, SS_FIGURE_SENTENCE);
    value->sentence = ss_sentence_of(parent->members.arena);
    return &value->sentence;
}

void ss_figure_put_null(struct ss_figure *parent, const char *key)
{
    append(parent, key, SS_FIGURE_NULL);
}

void ss_figure_put_boolean(struct ss_figure *parent, const char *key, bool boolean)
{
    append(parent, key, SS_FIGURE_BOOLEAN)->boolean = boolean;
}

void ss_figure_put_count(struct ss_figure *parent, const char *key, uint64_t count)
{
    append(parent, key, SS_FIGURE_INTEGER)->integer = (int64_t)count;
}

void ss_figure_put_integer(struct ss_figure *parent, const char *key, int64_t integer)
{
    append(parent, key, SS_FIGURE_INTEGER)->integer = integer;
}

void ss_figure_put_real(struct ss_figure *parent, const char *key, double real)
{
    append(parent, key, isfinite(real) ? SS_FIGURE_REAL : SS_FIGURE_NULL)->real = real;
}

void ss_figure_put_known(struct ss_figure *parent, const char *key, double real)
{
    ss_figure_put_real(parent, key, real != 0 ? real : (double)NAN);
}

void ss_figure_put_name(struct ss_figure *parent, const char *key, struct ss_strview name)
{
    const char *copy =
        ss_arena_strndup(parent->members.arena, name.length > 0 ? name.data : "", name.length);
    append(parent, key, SS_FIGURE_TEXT)->text = (struct ss_strview){copy, name.length};
}

void ss_figure_put_text(struct ss_figure *parent, const char *key, const char *text)
{
    if (text[0] != '\0') {
        ss_figure_put_name(parent, key, ss_strview_of(text));
    } else {
        ss_figure_put_null(parent, key);
    }
}
