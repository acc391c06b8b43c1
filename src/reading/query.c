/* SPDX-License-Identifier: Apache-2.0 */
#include "reading/query.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/tables/overview.h"
#include "base/strbuf.h"

enum { MAX_LIST_BYTES = 480 }; /* of an error message */

/* --- words ------------------------------------------------------------------------------------ */

/* "leaf, function and line" */
static void append_word(struct ss_strbuf *out, const char *word, bool is_last)
{
    ss_strbuf_append_format(out, "%s%s", out->length == 0 ? "" : is_last ? " and " : ", ", word);
}

static void append_choices(struct ss_strbuf *out, const struct ss_table_choice *choices)
{
    for (size_t i = 0; choices[i].word != NULL; i++) {
        append_word(out, choices[i].word, choices[i + 1].word == NULL);
    }
}

/* The ids of the tables that `accepts` names, each once; NULL: all of them. */
static void append_tables(struct ss_strbuf *out, bool (*accepts)(const struct ss_table_kind *))
{
    const struct ss_table_kind *before = NULL;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        bool is_new = before == NULL || strcmp(before->id, kind->id) != 0;
        if ((accepts == NULL || accepts(kind)) && is_new) {
            append_word(out, kind->id, false);
            before = kind;
        }
    }
}

static const struct ss_table_choice *choice_of(const struct ss_table_choice *choices,
                                               struct ss_strview word)
{
    while (choices->word != NULL && !ss_strview_equal(ss_strview_of(choices->word), word)) {
        choices++;
    }
    return choices->word != NULL ? choices : NULL;
}

/* What a message calls the table. */
static const char *name_of(const struct ss_table_kind *kind)
{
    return kind->id != NULL ? kind->id : "overview";
}

/* "table phase has no sort; these have: function, line" */
static enum ss_status refuse(const struct ss_table_kind *kind, const char *option,
                             bool (*accepts)(const struct ss_table_kind *), struct ss_error *err)
{
    struct ss_strbuf tables;
    ss_strbuf_init(&tables, MAX_LIST_BYTES);
    append_tables(&tables, accepts);
    enum ss_status status = ss_fail(err, SS_E_USAGE, "table %s has no %s; these have: %s",
                                    name_of(kind), option, tables.data);
    ss_strbuf_fini(&tables);
    return status;
}

static enum ss_status refuse_word(const struct ss_table_kind *kind, const char *option,
                                  const struct ss_table_choice *choices, struct ss_strview word,
                                  struct ss_error *err)
{
    struct ss_strbuf words;
    ss_strbuf_init(&words, MAX_LIST_BYTES);
    append_choices(&words, choices);
    enum ss_status status =
        ss_fail(err, SS_E_USAGE, "%s of table %s is one of %s, not \"%.*s\"", option, name_of(kind),
                words.data, (int)(word.length < 64 ? word.length : 64), word.data);
    ss_strbuf_fini(&words);
    return status;
}

/* --- the options of a table ------------------------------------------------------------------- */

static bool has_sorts(const struct ss_table_kind *kind)
{
    return kind->sorts != NULL;
}

static bool has_groups(const struct ss_table_kind *kind)
{
    return kind->groups != NULL;
}

static bool has_columns(const struct ss_table_kind *kind)
{
    return kind->columns != NULL;
}

static bool has_library(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_LIBRARY) != 0;
}

static bool has_samples(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_SAMPLES) != 0;
}

static bool has_threads(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_THREAD) != 0;
}

static bool has_share(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_SHARE) != 0;
}

static enum ss_status find_kind(const struct ss_query *query, const struct ss_table_kind **kind,
                                struct ss_error *err)
{
    *kind = query->table != NULL ? ss_table_kind_find(query->table, NULL) : &ss_overview;
    if (*kind == NULL) {
        struct ss_strbuf tables;
        ss_strbuf_init(&tables, MAX_LIST_BYTES);
        append_tables(&tables, NULL);
        enum ss_status status = ss_fail(err, SS_E_USAGE, "no table \"%.64s\"; there are: %s",
                                        query->table, tables.data);
        ss_strbuf_fini(&tables);
        return status;
    }
    if (query->columns != NULL) {
        const struct ss_table_kind *first = *kind;
        *kind = query->table != NULL ? ss_table_kind_find(query->table, query->columns) : NULL;
        if (*kind == NULL && has_columns(first)) {
            return ss_fail(err, SS_E_USAGE, "table %s has no columns \"%.64s\"", name_of(first),
                           query->columns);
        }
        if (*kind == NULL) {
            return refuse(first, "choice of columns", has_columns, err);
        }
    }
    return SS_OK;
}

static enum ss_status read_sort(const struct ss_query *query, const struct ss_table_kind *kind,
                                struct ss_table_options *options, struct ss_error *err)
{
    options->sort = kind->sort;
    if (query->sort == NULL) {
        return SS_OK;
    }
    if (!has_sorts(kind)) {
        return refuse(kind, "sort", has_sorts, err);
    }
    struct ss_strview word = ss_strview_of(query->sort);
    const struct ss_table_choice *choice = choice_of(kind->sorts, word);
    if (choice == NULL) {
        return refuse_word(kind, "sort", kind->sorts, word, err);
    }
    options->sort = choice->value;
    return SS_OK;
}

static enum ss_status read_groups(const struct ss_query *query, const struct ss_table_kind *kind,
                                  struct ss_table_options *options, struct ss_error *err)
{
    if (query->group != NULL && !has_groups(kind)) {
        return refuse(kind, "group", has_groups, err);
    }
    for (const char *at = query->group; at != NULL;) {
        const char *comma = strchr(at, ',');
        struct ss_strview word = {at, comma != NULL ? (size_t)(comma - at) : strlen(at)};
        const struct ss_table_choice *choice = choice_of(kind->groups, word);
        if (choice == NULL) {
            return refuse_word(kind, "group", kind->groups, word, err);
        }
        options->grouping |= choice->value;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return SS_OK;
}

static enum ss_status read_library(const struct ss_query *query, const struct ss_table_kind *kind,
                                   struct ss_leaf_options *leaf, struct ss_error *err)
{
    const char *name = query->library_name, *substring = query->library_substring;
    if (name == NULL && substring == NULL && !query->aggregates_leaf_paths) {
        leaf->rule = SS_LIBRARY_OWN_CODE;
        return SS_OK;
    }
    if (!has_library(kind)) {
        return refuse(kind, "library_name, library_substring or aggregate_leaf_paths", has_library,
                      err);
    }
    if (name != NULL && (substring != NULL || name[0] == '\0')) {
        return ss_fail(err, SS_E_USAGE, "library_name is %s",
                       substring != NULL ? "given, so library_substring must not be"
                                         : "empty and matches nothing: give a name");
    }
    leaf->rule = name != NULL        ? SS_LIBRARY_NAME
                 : substring != NULL ? SS_LIBRARY_SUBSTRING
                                     : SS_LIBRARY_OWN_CODE;
    leaf->library = name != NULL ? name : substring;
    leaf->aggregate = query->aggregates_leaf_paths;
    return SS_OK;
}

static enum ss_status read_share(const struct ss_query *query, const struct ss_table_kind *kind,
                                 struct ss_table_options *options, struct ss_error *err)
{
    options->min_percent = query->has_min_percent ? query->min_percent : 1;
    if (query->has_min_percent && !has_share(kind)) {
        return refuse(kind, "min_percent", has_share, err);
    }
    return options->min_percent >= 0 && options->min_percent <= 100
               ? SS_OK
               : ss_fail(err, SS_E_USAGE, "min_percent is 0 to 100, not %g", options->min_percent);
}

/* --- what counts ------------------------------------------------------------------------------ */

static enum ss_status read_idle(const struct ss_query *query, enum ss_idle_policy fallback,
                                enum ss_idle_policy *idle, struct ss_error *err)
{
    static const struct ss_table_choice policies[] = {
        {"none", SS_IDLE_NONE}, {"main", SS_IDLE_MAIN}, {"all", SS_IDLE_ALL}, {NULL, 0}};
    const struct ss_table_choice *choice =
        query->idle != NULL ? choice_of(policies, ss_strview_of(query->idle)) : NULL;
    if (query->idle != NULL && choice == NULL) {
        return ss_fail(err, SS_E_USAGE, "idle is none, main or all, not \"%.64s\"", query->idle);
    }
    *idle = choice != NULL ? (enum ss_idle_policy)choice->value : fallback;
    return SS_OK;
}

static enum ss_status read_span(const struct ss_query *query, struct ss_model_load *load,
                                struct ss_error *err)
{
    static const double most_s = 1e9;
    if (query->has_steps && query->has_time) {
        return ss_fail(err, SS_E_USAGE, "steps and time exclude each other: give one of them");
    }
    if (query->has_steps && (query->first_step < 0 || query->first_step > query->last_step)) {
        return ss_fail(err, SS_E_USAGE,
                       "steps are first and last, from 0, not %" PRId64 " and %" PRId64,
                       query->first_step, query->last_step);
    }
    /* Written so that a NaN fails. */
    if (query->has_time && !(query->from_s >= 0 && query->from_s < query->to_s)) {
        return ss_fail(err, SS_E_USAGE, "time is begin and end in seconds, not %g and %g",
                       query->from_s, query->to_s);
    }
    load->has_steps = query->has_steps;
    load->first_step = query->has_steps ? query->first_step : 0;
    load->last_step = query->has_steps ? query->last_step : INT64_MAX;
    load->has_time_range = query->has_time;
    load->from_ns = query->has_time ? (uint64_t)(fmin(query->from_s, most_s) * 1e9) : 0;
    load->to_ns = (uint64_t)((query->has_time ? fmin(query->to_s, most_s) : most_s) * 1e9);
    return SS_OK;
}

/* Filters that the table has no use for. */
static enum ss_status check_filters(const struct ss_query *query, const struct ss_table_kind *kind,
                                    struct ss_error *err)
{
    const char *option = query->match != NULL     ? "match"
                         : query->exclude != NULL ? "exclude"
                         : query->idle != NULL    ? "idle"
                         : query->gil             ? "gil"
                                                  : NULL;
    if (option != NULL && !has_samples(kind)) {
        return refuse(kind, option, has_samples, err);
    }
    if (query->thread != NULL && !has_threads(kind)) {
        return refuse(kind, "thread", has_threads, err);
    }
    return SS_OK;
}

static enum ss_status read_filters(const struct ss_query *query, enum ss_idle_policy idle,
                                   struct ss_query_plan *plan, struct ss_error *err)
{
    plan->load =
        (struct ss_model_load){.size = sizeof plan->load, .strict = query->strict, .quiet = true};
    plan->selection = (struct ss_selection_options){.size = sizeof plan->selection,
                                                    .gil_only = query->gil,
                                                    .thread = query->thread,
                                                    .process = query->process,
                                                    .match = query->match,
                                                    .exclude = query->exclude};
    SS_TRY(read_idle(query, idle, &plan->selection.idle, err));
    return read_span(query, &plan->load, err);
}

/* --- plans ------------------------------------------------------------------------------------ */

void ss_query_plan_change(struct ss_query_plan *plan, const struct ss_table_kind *kind)
{
    plan->kind = kind;
    ss_table_kind_load(kind, &plan->table, &plan->load);
    plan->selection.frameless = plan->load.sample_ranges;
}

enum ss_status ss_query_plan_tables(const struct ss_query *query, struct ss_query_plan *plan,
                                    struct ss_error *err)
{
    const struct ss_table_kind *kind;
    *plan = (struct ss_query_plan){
        .table = {.max_rows = query->rows, .full_paths = query->full_filenames}};
    SS_TRY(find_kind(query, &kind, err));
    SS_TRY(read_sort(query, kind, &plan->table, err));
    SS_TRY(read_groups(query, kind, &plan->table, err));
    SS_TRY(read_library(query, kind, &plan->table.leaf, err));
    SS_TRY(read_share(query, kind, &plan->table, err));
    SS_TRY(check_filters(query, kind, err));
    SS_TRY(read_filters(query, kind->idle, plan, err));
    plan->table.steps = (struct ss_steps_options){.has_numbers = plan->load.has_steps,
                                                  .first = plan->load.first_step,
                                                  .last = plan->load.last_step};
    ss_query_plan_change(plan, kind);
    return SS_OK;
}

enum ss_status ss_query_plan_contents(const struct ss_query *query, const char *id,
                                      struct ss_query_plan *plan, struct ss_error *err)
{
    *plan = (struct ss_query_plan){.contents = ss_row_kind_find(id)};
    if (plan->contents == NULL) {
        struct ss_strbuf ids;
        ss_strbuf_init(&ids, MAX_LIST_BYTES);
        for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
            append_word(&ids, kind->id, kind[1].id == NULL);
        }
        enum ss_status status =
            ss_fail(err, SS_E_USAGE, "no contents \"%.64s\"; there are: %s", id, ids.data);
        ss_strbuf_fini(&ids);
        return status;
    }
    SS_TRY(read_filters(query, SS_IDLE_ALL, plan, err));
    ss_row_kind_load(plan->contents, &plan->load);
    return SS_OK;
}
