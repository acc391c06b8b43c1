/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/kernel_metrics.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/line/command.h"
#include "counters/sets.h"
#include "view/output/text_table.h"

enum { MOST_MISSING_BYTES = 1024 };

static const char *const type_names[SS_METRIC_TYPES] = {"counter", "ratio", "throughput"};

static enum ss_status open_chip(struct ss_profiler *profiler, const char *chip,
                                struct ss_metric_target *target, struct ss_error *err)
{
    SS_TRY(ss_profiler_open(profiler, NULL, err));
    *target = (struct ss_metric_target){
        .profiler = profiler, .chip = chip, .kind = SS_PROFILER_OF_RANGES};
    return ss_metric_check_chip(profiler, chip != NULL ? chip : "", err);
}

static enum ss_status finish(struct ss_error *err)
{
    if ((fflush(ss_stdout()) != 0 || ferror(ss_stdout())) && errno != EPIPE) {
        return ss_fail_errno(err, errno, "cannot write the table");
    }
    return SS_OK;
}

static enum ss_status print_json(json_t *json, struct ss_error *err)
{
    json_dumpf(json, ss_stdout(), JSON_INDENT(2));
    fputc('\n', ss_stdout());
    json_decref(json);
    return finish(err);
}

static enum ss_status print_table(const struct ss_text_table *table, struct ss_error *err)
{
    size_t width = isatty(STDOUT_FILENO) == 1 ? (size_t)ss_cli_terminal_width(STDOUT_FILENO) : 0;
    SS_TRY(ss_text_table_print(table, ss_stdout(), width, ss_cli_use_colour(STDOUT_FILENO), err));
    return finish(err);
}

static void put(struct ss_text_table *table, size_t column, const char *text)
{
    ss_text_table_put(table, column, ss_strview_of(text), NULL);
}

/* "a ""quoted"" text" */
static void print_csv_text(const char *text)
{
    fputc('"', ss_stdout());
    for (; *text != '\0'; text++) {
        fprintf(ss_stdout(), *text == '"' ? "\"\"" : "%c", *text);
    }
    fputc('"', ss_stdout());
}

/* --- the list of metrics ---------------------------------------------------------------------- */

enum metric_column { METRIC_TYPE, METRIC_NAME, METRIC_UNIT, METRIC_MEANING, METRIC_COLUMNS };
static const struct ss_text_column metric_columns[METRIC_COLUMNS] = {
    {.title = "type"}, {.title = "metric"}, {.title = "unit"}, {.title = "meaning", .least = 20}};

struct metric_list {
    enum ss_kernel_format format;
    struct ss_text_table table;
    json_t *json;
};

static void add_metric(struct metric_list *list, const struct ss_metric_host *host, int type,
                       const char *name)
{
    const char *meaning = "", *unit = "";
    ss_metric_describe(host, name, &meaning, &unit, NULL);
    if (list->format == SS_KERNEL_CSV) {
        fprintf(ss_stdout(), "%s,%s,%s,", type_names[type], name, unit);
        print_csv_text(meaning);
        fputc('\n', ss_stdout());
    } else if (list->format == SS_KERNEL_JSON) {
        json_array_append_new(list->json,
                              json_pack("{s:s,s:s,s:s,s:s}", "type", type_names[type], "metric",
                                        name, "unit", unit, "meaning", meaning));
    } else {
        ss_text_table_add_row(&list->table, NULL);
        put(&list->table, METRIC_TYPE, type_names[type]);
        put(&list->table, METRIC_NAME, name);
        put(&list->table, METRIC_UNIT, unit);
        put(&list->table, METRIC_MEANING, meaning);
    }
}

static enum ss_status list_metrics(struct metric_list *list, const struct ss_metric_host *host,
                                   struct ss_error *err)
{
    for (int type = 0; type < SS_METRIC_TYPES; type++) {
        const char **names = NULL;
        size_t count = 0;
        SS_TRY(ss_metric_list(host, (enum ss_metric_type)type, &names, &count, err));
        for (size_t i = 0; i < count; i++) {
            add_metric(list, host, type, names[i]);
        }
    }
    return SS_OK;
}

enum ss_status ss_kernel_print_metrics(const char *chip, enum ss_kernel_format format,
                                       struct ss_error *err)
{
    struct ss_profiler profiler;
    struct ss_metric_target target;
    struct ss_metric_host host;
    SS_TRY(open_chip(&profiler, chip, &target, err));
    SS_TRY(ss_metric_host_open(&target, &host, err));
    struct metric_list list = {.format = format, .json = json_array()};
    ss_text_table_init(&list.table, metric_columns, METRIC_COLUMNS);
    if (format == SS_KERNEL_CSV) {
        fputs("type,metric,unit,meaning\n", ss_stdout());
    }
    enum ss_status status = list_metrics(&list, &host, err);
    if (status == SS_OK && format == SS_KERNEL_JSON) {
        status = print_json(
            json_pack("{s:i,s:s,s:O}", "schema", 1, "chip", chip, "metrics", list.json), err);
    } else if (status == SS_OK) {
        status = format == SS_KERNEL_TEXT ? print_table(&list.table, err) : finish(err);
    }
    json_decref(list.json);
    ss_text_table_fini(&list.table);
    ss_metric_host_close(&host);
    return status;
}

/* --- the sets --------------------------------------------------------------------------------- */

struct set {
    struct ss_counter_choice choice;
    struct ss_strbuf missing;
    size_t passes;
};

static enum ss_status read_set(const struct ss_metric_target *target, int number, struct set *set,
                               struct ss_error *err)
{
    struct ss_metric_config config;
    SS_TRY(ss_counters_choose(target, ss_counter_set_name((enum ss_counter_set)number),
                              &set->choice, &set->missing, err));
    SS_TRY(ss_metric_config_init(target, set->choice.names, set->choice.count, &config, err));
    set->passes = config.passes;
    ss_metric_config_fini(&config);
    return SS_OK;
}

enum set_column { SET_NAME, SET_METRICS, SET_PASSES, SET_MISSING, SET_MEANING, SET_COLUMNS };
static const struct ss_text_column set_columns[SET_COLUMNS] = {
    {.title = "set"},
    {.title = "metrics", .right = true},
    {.title = "passes", .right = true},
    {.title = "the chip lacks", .least = 12},
    {.title = "meaning", .least = 20, .drops = 1}};
enum member_column { MEMBER_SETS, MEMBER_TITLE, MEMBER_UNIT, MEMBER_METRIC, MEMBER_COLUMNS };
static const struct ss_text_column member_columns[MEMBER_COLUMNS] = {
    {.title = "sets"}, {.title = "counter"}, {.title = "unit"}, {.title = "metric"}};

static bool has(const struct set *set, const char *metric)
{
    bool found = false;
    for (size_t i = 0; i < set->choice.count && !found; i++) {
        found = strcmp(set->choice.names[i], metric) == 0;
    }
    return found;
}

/* "memory, roofline": those that have the metric. */
static void list_sets(const struct set *sets, const char *metric, struct ss_strbuf *text)
{
    ss_strbuf_clear(text);
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        if (has(&sets[i], metric)) {
            ss_strbuf_append_format(text, "%s%s", text->length > 0 ? ", " : "",
                                    ss_counter_set_name((enum ss_counter_set)i));
        }
    }
}

static enum ss_status print_sets_text(const struct set *sets, struct ss_error *err)
{
    struct ss_text_table table, members;
    struct ss_strbuf names;
    ss_strbuf_init(&names, MOST_MISSING_BYTES);
    ss_text_table_init(&table, set_columns, SET_COLUMNS);
    ss_text_table_init(&members, member_columns, MEMBER_COLUMNS);
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        ss_text_table_add_row(&table, NULL);
        put(&table, SET_NAME, ss_counter_set_name((enum ss_counter_set)i));
        ss_text_table_putf(&table, SET_METRICS, NULL, "%zu", sets[i].choice.count);
        ss_text_table_putf(&table, SET_PASSES, NULL, "%zu", sets[i].passes);
        put(&table, SET_MISSING, sets[i].missing.data);
        put(&table, SET_MEANING, ss_counter_set_meaning((enum ss_counter_set)i));
    }
    for (size_t i = 0; ss_counter_at(i) != NULL; i++) {
        const struct ss_counter *counter = ss_counter_at(i);
        list_sets(sets, counter->metric, &names);
        if (names.length > 0) {
            ss_text_table_add_row(&members, NULL);
            put(&members, MEMBER_SETS, names.data);
            put(&members, MEMBER_TITLE, counter->title);
            put(&members, MEMBER_UNIT, counter->unit);
            put(&members, MEMBER_METRIC, counter->metric);
        }
    }
    enum ss_status status = print_table(&table, err);
    fputc('\n', ss_stdout());
    status = status == SS_OK ? print_table(&members, err) : status;
    ss_text_table_fini(&table);
    ss_text_table_fini(&members);
    ss_strbuf_fini(&names);
    return status;
}

static enum ss_status print_sets_json(const struct set *sets, const char *chip,
                                      struct ss_error *err)
{
    json_t *list = json_array();
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        json_t *metrics = json_array();
        for (size_t m = 0; m < sets[i].choice.count; m++) {
            const struct ss_counter *counter = ss_counter_of_metric(sets[i].choice.names[m]);
            json_array_append_new(metrics,
                                  json_pack("{s:s,s:s,s:s}", "metric", counter->metric, "counter",
                                            counter->title, "unit", counter->unit));
        }
        json_array_append_new(list, json_pack("{s:s,s:I,s:s,s:o}", "set",
                                              ss_counter_set_name((enum ss_counter_set)i), "passes",
                                              (json_int_t)sets[i].passes, "missing",
                                              sets[i].missing.data, "metrics", metrics));
    }
    return print_json(json_pack("{s:i,s:s,s:o}", "schema", 1, "chip", chip, "sets", list), err);
}

static enum ss_status print_sets_csv(const struct set *sets, struct ss_error *err)
{
    fputs("set,passes,metric,unit,counter\n", ss_stdout());
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        for (size_t m = 0; m < sets[i].choice.count; m++) {
            const struct ss_counter *counter = ss_counter_of_metric(sets[i].choice.names[m]);
            fprintf(ss_stdout(), "%s,%zu,%s,%s,%s\n", ss_counter_set_name((enum ss_counter_set)i),
                    sets[i].passes, counter->metric, counter->unit, counter->title);
        }
    }
    return finish(err);
}

enum ss_status ss_kernel_print_sets(const char *chip, enum ss_kernel_format format,
                                    struct ss_error *err)
{
    struct ss_profiler profiler;
    struct ss_metric_target target;
    struct set sets[SS_COUNTER_SETS];
    SS_TRY(open_chip(&profiler, chip, &target, err));
    enum ss_status status = SS_OK;
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        ss_strbuf_init(&sets[i].missing, MOST_MISSING_BYTES);
        status = status == SS_OK ? read_set(&target, i, &sets[i], err) : status;
    }
    if (status == SS_OK) {
        status = format == SS_KERNEL_JSON  ? print_sets_json(sets, chip, err)
                 : format == SS_KERNEL_CSV ? print_sets_csv(sets, err)
                                           : print_sets_text(sets, err);
    }
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        ss_strbuf_fini(&sets[i].missing);
    }
    return status;
}
