/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/report_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/tables/overview.h"
#include "analysis/tables/tables.h"
#include "cli/reading/reading.h"
#include "view/output/report.h"
#include "view/output/sink.h"

/* --- which table ------------------------------------------------------------------------------ */

enum { MOST_WORDS = 64, PAGE_ROWS = 100 };

/* The ids of --by, each once, ended by NULL. */
static void list_ids(const char *ids[MOST_WORDS])
{
    size_t count = 0;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        if (ss_table_kind_find(kind->id, NULL) == kind && count + 1 < MOST_WORDS) {
            ids[count++] = kind->id;
        }
    }
    ids[count] = NULL;
}

const char *ss_report_table_choice(size_t index, const char **meaning)
{
    const char *ids[MOST_WORDS];
    list_ids(ids);
    *meaning = ids[index] != NULL ? ss_table_kind_find(ids[index], NULL)->summary : NULL;
    return ids[index];
}

/* Users of itwinai's report know one table, and these options of it. */
static bool has_library_options(const struct ss_arguments *arguments)
{
    return ss_arguments_has(arguments, "library-name") ||
           ss_arguments_has(arguments, "library-substring") ||
           ss_arguments_has(arguments, "aggregate-leaf-paths");
}

/* "--sort belongs to --by function, line and op" */
static void refuse_option(const struct ss_arguments *arguments, const char *what,
                          bool (*accepts)(const struct ss_table_kind *))
{
    const char *ids[MOST_WORDS];
    size_t count = 0;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        bool is_listed = count > 0 && strcmp(ids[count - 1], kind->id) == 0;
        if (accepts(kind) && !is_listed && count < MOST_WORDS) {
            ids[count++] = kind->id;
        }
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    for (size_t i = 0; i < count; i++) {
        ss_strbuf_append_format(&text, "%s%s",
                                i == 0          ? ""
                                : i + 1 < count ? ", "
                                                : " and ",
                                ids[i]);
    }
    ss_cli_usage(arguments, "%s to --by %s", what, text.data);
    ss_strbuf_fini(&text);
}

static bool accepts_columns(const struct ss_table_kind *kind)
{
    return kind->columns != NULL;
}

/* A table for a program is one table; a page has room for all. */
static void fit_kind(struct ss_report_request *request)
{
    request->table.is_page = request->view->has_pictures;
    request->table.is_single = request->view->is_single_table;
    if (request->table.is_single && ss_table_kind_is_overview(request->kind)) {
        request->kind = ss_table_kind_find("function", NULL);
    } else if (request->table.is_page && request->kind == &ss_overview) {
        request->kind = &ss_overview_of_page;
    }
}

static bool parse_kind(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    const char *ids[MOST_WORDS], *columns[MOST_WORDS] = {NULL};
    size_t count = 0;
    int id = -1, column;
    list_ids(ids);
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        if (kind->columns != NULL && count + 1 < MOST_WORDS) {
            columns[count++] = kind->columns;
        }
    }
    const char *name = ss_arguments_get(arguments, "by");
    const struct ss_table_kind *alias = name != NULL ? ss_table_kind_of_alias(name) : NULL;
    if ((alias == NULL && !ss_arguments_get_choice(arguments, "by", ids, -1, &id)) ||
        !ss_arguments_get_choice(arguments, "columns", columns, -1, &column)) {
        return false;
    }
    const char *by = alias != NULL                    ? alias->id
                     : id >= 0                        ? ids[id]
                     : has_library_options(arguments) ? "leaf"
                                                      : NULL;
    bool wants_statistics = ss_arguments_has(arguments, "stats");
    if (wants_statistics && (by != NULL || column >= 0)) {
        ss_cli_usage(arguments, "--stats and --by exclude each other");
        return false;
    }
    request->kind = wants_statistics ? &ss_statistics
                    : by == NULL     ? &ss_overview
                                     : ss_table_kind_find(by, column >= 0 ? columns[column] : NULL);
    if (request->kind == NULL || (column >= 0 && request->kind == &ss_overview)) {
        refuse_option(arguments, "--columns belongs", accepts_columns);
        return false;
    }
    fit_kind(request);
    return true;
}

/* --- its options ------------------------------------------------------------------------------ */

bool ss_report_request_parse_rows(const struct ss_arguments *arguments,
                                  struct ss_report_request *request)
{
    const char *text = ss_arguments_get(arguments, "num-rows");
    bool shows_more = request->view->has_pictures && request->kind->rows > 0;
    request->table.max_rows =
        shows_more && request->kind->rows < PAGE_ROWS ? PAGE_ROWS : request->kind->rows;
    if (text == NULL) {
        return true;
    }
    if (strcmp(text, "all") == 0) {
        request->table.max_rows = 0;
        return true;
    }
    char *end;
    errno = 0;
    long long rows = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || rows < 1) {
        ss_cli_usage(arguments, "--num-rows takes a whole number from 1, or \"all\", not \"%s\"",
                     text);
        return false;
    }
    request->table.max_rows = (uint64_t)rows;
    return true;
}

static bool accepts_library(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_LIBRARY) != 0;
}

static bool parse_library(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    const char *name = ss_arguments_get(arguments, "library-name");
    const char *substring = ss_arguments_get(arguments, "library-substring");
    struct ss_leaf_options *leaf = &request->table.leaf;
    if (name != NULL && substring != NULL) {
        ss_cli_usage(arguments, "--library-name and --library-substring exclude each other");
        return false;
    }
    if (name != NULL && name[0] == '\0') {
        ss_cli_usage(arguments, "--library-name takes a name; an empty one matches nothing");
        return false;
    }
    if (!accepts_library(request->kind) && has_library_options(arguments)) {
        refuse_option(arguments,
                      "--library-name, --library-substring and --aggregate-leaf-paths belong",
                      accepts_library);
        return false;
    }
    leaf->rule = name != NULL        ? SS_LIBRARY_NAME
                 : substring != NULL ? SS_LIBRARY_SUBSTRING
                                     : SS_LIBRARY_OWN_CODE;
    leaf->library = name != NULL ? name : substring;
    leaf->aggregate = ss_arguments_has(arguments, "aggregate-leaf-paths");
    return true;
}

static bool accepts_groups(const struct ss_table_kind *kind)
{
    return kind->groups != NULL;
}

/* "name, thread and process" */
static void append_choices(struct ss_strbuf *out, const struct ss_table_choice *choices)
{
    for (size_t i = 0; choices[i].word != NULL; i++) {
        bool is_last = choices[i + 1].word == NULL;
        ss_strbuf_append_format(out, "%s%s",
                                i == 0    ? ""
                                : is_last ? " and "
                                          : ", ",
                                choices[i].word);
    }
}

static bool refuse_group(const struct ss_arguments *arguments, const struct ss_table_kind *kind,
                         struct ss_strview word)
{
    bool is_variant = ss_table_kind_find(kind->id, NULL) != kind;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    append_choices(&text, kind->groups);
    ss_cli_usage(arguments,
                 "--group of --by %s%s%s takes %s, with commas between them, not \"%.*s\"",
                 kind->id, is_variant ? " --columns " : "", is_variant ? kind->columns : "",
                 text.data, (int)word.length, word.data);
    ss_strbuf_fini(&text);
    return false;
}

/* "path,thread": the words' bits. */
static bool parse_grouping(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    const struct ss_table_choice *groups = request->kind->groups;
    const char *at = ss_arguments_get(arguments, "group");
    if (at != NULL && groups == NULL) {
        refuse_option(arguments, "--group belongs", accepts_groups);
        return false;
    }
    while (at != NULL) {
        const char *comma = strchr(at, ',');
        struct ss_strview word = {at, comma != NULL ? (size_t)(comma - at) : strlen(at)};
        size_t i = 0;
        while (groups[i].word != NULL && !ss_strview_equal(ss_strview_of(groups[i].word), word)) {
            i++;
        }
        if (groups[i].word == NULL) {
            return refuse_group(arguments, request->kind, word);
        }
        request->table.grouping |= groups[i].value;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static bool accepts_sorts(const struct ss_table_kind *kind)
{
    return kind->sorts != NULL;
}

static bool parse_sort(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    const struct ss_table_choice *sorts = request->kind->sorts;
    const char *words[MOST_WORDS] = {NULL};
    int index;
    if (sorts == NULL && ss_arguments_has(arguments, "sort")) {
        refuse_option(arguments, "--sort belongs", accepts_sorts);
        return false;
    }
    for (size_t i = 0; sorts != NULL && sorts[i].word != NULL && i + 1 < MOST_WORDS; i++) {
        words[i] = sorts[i].word;
    }
    if (!ss_arguments_get_choice(arguments, "sort", words, -1, &index)) {
        return false;
    }
    request->table.sort = index >= 0 ? sorts[index].value : request->kind->sort;
    return true;
}

static bool accepts_share(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_SHARE) != 0;
}

static bool parse_share(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    if (!accepts_share(request->kind) && ss_arguments_has(arguments, "min-percent")) {
        refuse_option(arguments, "--min-percent belongs", accepts_share);
        return false;
    }
    return ss_arguments_get_number(arguments, "min-percent", 0, 100, 1,
                                   &request->table.min_percent);
}

/* Filters that the table has no use for. */
bool ss_report_request_check_filters(const struct ss_arguments *arguments,
                                     const struct ss_table_kind *kind)
{
    static const char *const of_samples[] = {"match", "exclude", "idle", "i", "gil"};
    for (size_t i = 0; i < sizeof of_samples / sizeof *of_samples; i++) {
        if ((kind->accepts & SS_ACCEPTS_SAMPLES) == 0 &&
            ss_arguments_has(arguments, of_samples[i])) {
            ss_cli_usage(arguments, "%s%s selects samples; --by %s has none",
                         of_samples[i][1] == '\0' ? "-" : "--", of_samples[i], kind->id);
            return false;
        }
    }
    if ((kind->accepts & SS_ACCEPTS_THREAD) == 0 && ss_arguments_has(arguments, "thread")) {
        ss_cli_usage(arguments, "--thread selects threads; a row of --by %s combines all threads",
                     kind->id);
        return false;
    }
    return true;
}

/* --- the output ------------------------------------------------------------------------------- */

const char *ss_report_format_choice(size_t index, const char **meaning)
{
    *meaning = ss_report_views[index].summary;
    return ss_report_views[index].name;
}

static const struct ss_report_view *view_by_ending(const char *path)
{
    size_t length = strlen(path);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        size_t ending = strlen(view->ending);
        if (length > ending && strcmp(path + length - ending, view->ending) == 0) {
            return view;
        }
    }
    return &ss_report_views[0];
}

static const struct ss_report_view *view_of_pages(void)
{
    const struct ss_report_view *view = ss_report_views;
    while (!view->has_pictures) {
        view++;
    }
    return view;
}

bool ss_report_request_parse_output(const struct ss_arguments *arguments,
                                    struct ss_report_request *request)
{
    const char *names[MOST_WORDS] = {NULL};
    int view;
    long long width;
    for (size_t i = 0; i + 1 < MOST_WORDS && ss_report_views[i].name != NULL; i++) {
        names[i] = ss_report_views[i].name;
    }
    const char *page = ss_arguments_get(arguments, "html");
    if (page != NULL &&
        (ss_arguments_has(arguments, "output") || ss_arguments_has(arguments, "format"))) {
        ss_cli_usage(arguments, "--html FILE is -f html -o FILE: leave the others out");
        return false;
    }
    request->output = page != NULL ? page : ss_arguments_get(arguments, "output");
    if (request->output != NULL && ss_sink_descriptor(request->output) == STDOUT_FILENO) {
        request->output = NULL;
    }
    bool to_terminal = request->output == NULL && ss_cli_is_terminal(STDOUT_FILENO);
    long long natural = to_terminal ? ss_cli_terminal_width(STDOUT_FILENO) : 0;
    if (!ss_arguments_get_choice(arguments, "format", names, -1, &view) ||
        !ss_arguments_get_integer(arguments, "width", 40, 100000, natural, &width)) {
        return false;
    }
    request->view = page != NULL              ? view_of_pages()
                    : view >= 0               ? &ss_report_views[view]
                    : request->output != NULL ? view_by_ending(request->output)
                                              : &ss_report_views[0];
    request->style.width = (size_t)width;
    request->style.keeps_formulas = ss_arguments_has(arguments, "csv-formulas");
    request->style.colour = to_terminal && ss_cli_use_colour(STDOUT_FILENO);
    return true;
}

bool ss_report_request_parse(const struct ss_arguments *arguments,
                             struct ss_report_request *request)
{
    *request = (struct ss_report_request){0};
    if (!ss_report_request_parse_output(arguments, request) || !parse_kind(arguments, request) ||
        !parse_sort(arguments, request) || !parse_share(arguments, request) ||
        !ss_report_request_parse_rows(arguments, request) || !parse_library(arguments, request) ||
        !parse_grouping(arguments, request) ||
        !ss_reading_parse_filters(arguments, "to", request->kind->idle, &request->reading)) {
        return false;
    }
    const struct ss_model_load *load = &request->reading.load;
    request->table.steps = (struct ss_steps_options){
        .has_numbers = load->has_steps, .first = load->first_step, .last = load->last_step};
    request->table.full_paths = ss_arguments_has(arguments, "full-filenames");
    ss_table_kind_load(request->kind, &request->table, &request->reading.load);
    request->reading.selection.frameless = request->reading.load.sample_ranges;
    return ss_report_request_check_filters(arguments, request->kind);
}
