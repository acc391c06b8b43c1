/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/line_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"

enum {
    MAX_UNRUN_LINES = 20000, /* of one function, shown because its source has them */
    MAX_HEADER_LINES = 1000  /* of decorators and parameters */
};

static const struct ss_column columns[SS_LINE_TIME_COLUMNS] = {
    [SS_LINE_TIME_FUNCTION] = {.key = "function", .comparison = SS_COMPARES_KEY},
    [SS_LINE_TIME_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [SS_LINE_TIME_FIRST_LINE] = {.key = "first_line", .comparison = SS_COMPARES_FIRST_LINE},
    [SS_LINE_TIME_LINE] = {.key = "line", .comparison = SS_COMPARES_LINE},
    [SS_LINE_TIME_HITS] = {.key = "hits", .comparison = SS_COMPARES_SUM},
    [SS_LINE_TIME_TOTAL] = {.key = "total_ns",
                            .unit = "ns",
                            .comparison = SS_COMPARES_SUM,
                            .leads = true},
    [SS_LINE_TIME_PER_HIT] = {.key = "per_hit_ns", .unit = "ns"},
    [SS_LINE_TIME_PERCENT] = {.key = "percent", .unit = "of the function's total_ns"},
    [SS_LINE_TIME_CONTENTS] = {.key = "contents"},
    [SS_LINE_TIME_FUNCTION_TOTAL] = {.key = "function_total_ns",
                                     .unit = "ns",
                                     .is_for_people = true},
};

struct timed_line {
    uint32_t line;
    uint64_t hits, total_ns;
};

struct timed_function {
    uint32_t text, file, first_line; /* the first two: strings */
    uint32_t order;
    uint64_t total_ns;
    struct ss_vec_of(struct timed_line) lines;
};

struct timed_functions {
    struct ss_vec_of(struct timed_function) rows;
};

static void gather(const struct ss_selection *selection, struct timed_functions *functions)
{
    const struct ss_model *model = selection->model;
    struct ss_intern keys;
    ss_intern_init(&keys); /* id 0 is the empty key: ids are row + 1 */
    for (size_t i = 0; i < model->line_times.count; i++) {
        const struct ss_model_line_time *row = &model->line_times.data[i];
        const struct ss_model_name *name = &model->names.data[row->name];
        if (!selection->processes[row->process]) {
            continue;
        }
        uint32_t key[3] = {name->text, name->file, name->line};
        uint32_t id = ss_intern_put(&keys, (const char *)key, sizeof key);
        if (id > functions->rows.count) {
            ss_vec_push(&functions->rows, (struct timed_function){.text = name->text,
                                                                  .file = name->file,
                                                                  .first_line = name->line,
                                                                  .order = id});
        }
        struct timed_function *function = &functions->rows.data[id - 1];
        ss_vec_push(&function->lines, (struct timed_line){row->line, row->hits, row->total_ns});
        function->total_ns += row->total_ns;
    }
    ss_intern_fini(&keys);
}

static int by_line(const void *left, const void *right)
{
    const struct timed_line *a = left, *b = right;
    return (a->line > b->line) - (a->line < b->line);
}

static int by_total(const void *left, const void *right)
{
    const struct timed_function *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Sorts the lines; merges those of several processes. */
static void merge_lines(struct timed_function *function)
{
    struct timed_line *lines = function->lines.data, *last = lines;
    size_t count = function->lines.count;
    if (lines == NULL) {
        return;
    }
    qsort(lines, count, sizeof *lines, by_line);
    for (size_t i = 1; i < count; i++) {
        if (lines[i].line == last->line) {
            last->hits += lines[i].hits;
            last->total_ns += lines[i].total_ns;
        } else {
            *++last = lines[i];
        }
    }
    function->lines.count = (size_t)(last - lines) + 1;
}

/* --- the source ------------------------------------------------------------------------------ */

struct source_line {
    struct ss_strview text; /* without its indentation */
    size_t indent;
    bool exists;
};

static struct source_line read_line(const struct ss_line_times_options *options,
                                    struct ss_strview path, uint32_t line)
{
    struct source_line found = {0};
    if (options->source.line == NULL) {
        return found;
    }
    struct ss_strview text = options->source.line(options->source.context, path, line);
    found.exists = text.data != NULL;
    while (found.exists && found.indent < text.length && text.data[found.indent] == ' ') {
        found.indent++;
    }
    found.text = found.exists
                     ? (struct ss_strview){text.data + found.indent, text.length - found.indent}
                     : (struct ss_strview){"", 0};
    return found;
}

static bool starts_with(struct ss_strview text, const char *word)
{
    size_t length = strlen(word);
    return text.length >= length && memcmp(text.data, word, length) == 0;
}

/* The last line of the function that begins at `first`, by its indentation: sufficient for source
 * as formatters leave it. 0: no source, or no def there (a lambda). */
static uint32_t block_end(const struct ss_line_times_options *options, struct ss_strview path,
                          uint32_t first)
{
    struct source_line start = read_line(options, path, first);
    uint32_t at = first, end;
    for (; at < first + MAX_HEADER_LINES; at++) { /* decorators */
        struct source_line line = read_line(options, path, at);
        if (!line.exists || (line.text.length > 0 && line.indent < start.indent)) {
            return 0;
        }
        if (line.indent == start.indent &&
            (starts_with(line.text, "def ") || starts_with(line.text, "async def "))) {
            break;
        }
    }
    end = at;
    for (at++; at - first < MAX_UNRUN_LINES; at++) {
        struct source_line line = read_line(options, path, at);
        if (!line.exists) {
            break;
        }
        if (line.text.length == 0) {
            continue;
        }
        bool closes = strchr(")]}", line.text.data[0]) != NULL; /* ends the parameter list */
        if (line.indent <= start.indent && line.text.data[0] != '#' &&
            !(closes && line.indent == start.indent)) {
            break;
        }
        end = line.indent > start.indent || closes ? at : end;
    }
    return end;
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct ss_cell *add_row(const struct ss_model *model, const struct timed_function *function,
                               uint32_t line, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    cells[SS_LINE_TIME_FUNCTION] = ss_cell_text(ss_intern_get(&model->strings, function->text));
    if (function->file != 0) {
        cells[SS_LINE_TIME_PATH] = ss_cell_text(ss_intern_get(&model->strings, function->file));
    }
    cells[SS_LINE_TIME_FIRST_LINE] = ss_cell_integer(function->first_line);
    cells[SS_LINE_TIME_LINE] = ss_cell_integer(line);
    return cells;
}

static void put_contents(const struct ss_line_times_options *options, struct ss_strview path,
                         uint32_t line, struct ss_cell *cells)
{
    if (options->source.line == NULL) {
        return;
    }
    struct ss_strview text = options->source.line(options->source.context, path, line);
    if (text.data != NULL) {
        cells[SS_LINE_TIME_CONTENTS] = ss_cell_text(text);
    }
}

static void put_figures(const struct timed_function *function, const struct timed_line *line,
                        struct ss_cell *cells)
{
    cells[SS_LINE_TIME_HITS] = ss_cell_integer((int64_t)line->hits);
    cells[SS_LINE_TIME_TOTAL] = ss_cell_integer((int64_t)line->total_ns);
    if (line->hits > 0) {
        cells[SS_LINE_TIME_PER_HIT] = ss_cell_real((double)line->total_ns / (double)line->hits);
    }
    cells[SS_LINE_TIME_PERCENT] = ss_cell_real(
        function->total_ns > 0 ? 100 * (double)line->total_ns / (double)function->total_ns : 0);
}

static void put_function(const struct ss_model *model, struct timed_function *function,
                         const struct ss_line_times_options *options, struct ss_table *table)
{
    struct ss_strview path = ss_intern_get(&model->strings, function->file);
    merge_lines(function);
    uint32_t end = block_end(options, path, function->first_line);
    uint32_t next = end > 0 ? function->first_line : UINT32_MAX;
    size_t first_row = table->row_count;
    for (size_t i = 0; i < function->lines.count; i++) {
        const struct timed_line *line = &function->lines.data[i];
        for (; next < line->line && next <= end; next++) {
            put_contents(options, path, next, add_row(model, function, next, table));
        }
        struct ss_cell *cells = add_row(model, function, line->line, table);
        put_figures(function, line, cells);
        put_contents(options, path, line->line, cells);
        next = next == line->line ? next + 1 : next;
    }
    for (; next <= end && end > 0; next++) {
        put_contents(options, path, next, add_row(model, function, next, table));
    }
    table->cells.data[first_row * table->column_count + SS_LINE_TIME_FUNCTION_TOTAL] =
        ss_cell_integer((int64_t)function->total_ns);
}

void ss_line_times_table(const struct ss_selection *selection,
                         const struct ss_line_times_options *options, struct ss_table *table)
{
    *table = (struct ss_table){.name = "line-time",
                               .title = "Line times",
                               .is_of_program = true,
                               .empty_text = "no times of lines: the program called "
                                             "stepscope.lines() on no function that ran",
                               .row_noun = "function",
                               .columns = columns,
                               .column_count = SS_LINE_TIME_COLUMNS};
    struct timed_functions functions = {0};
    ss_vec_reserve(&functions.rows, 16);
    gather(selection, &functions);
    if (functions.rows.count > 0) {
        qsort(functions.rows.data, functions.rows.count, sizeof *functions.rows.data, by_total);
    }
    for (size_t i = 0; i < functions.rows.count; i++) {
        if (options->max_functions != 0 && i >= options->max_functions) {
            table->hidden_rows++;
        } else {
            put_function(selection->model, &functions.rows.data[i], options, table);
        }
        ss_vec_fini(&functions.rows.data[i].lines);
    }
    ss_vec_fini(&functions.rows);
}
