/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Compute's output with --csv: kernels and their metrics. The page "details" has a row for
 * each metric, the page "raw" a column. Lines of the profiler ("==PROF== …") and of the program
 * itself precede the table, and may follow it. */
#include <string.h>

#include "base/alloc.h"
#include "model/files/import_window.h"
#include "model/ncu/ncu_rows.h"
#include "wire/csv_scan.h"
#include "wire/json_scan.h"

/* The columns that both pages have, and those of "details". */
enum column {
    COLUMN_ID,
    COLUMN_PID,
    COLUMN_PROCESS,
    COLUMN_HOST,
    COLUMN_KERNEL,
    COLUMN_CONTEXT,
    COLUMN_STREAM,
    COLUMN_BLOCK,
    COLUMN_GRID,
    COLUMN_DEVICE,
    COLUMN_CAPABILITY,
    COLUMN_SECTION,
    COLUMN_METRIC,
    COLUMN_UNIT,
    COLUMN_VALUE,
    COLUMN_OTHER, /* a known name, but no metric of the page "raw" */
    COLUMNS
};

static const struct {
    const char *name;
    enum column column;
} known_columns[] = {{"ID", COLUMN_ID},
                     {"Process ID", COLUMN_PID},
                     {"Process Name", COLUMN_PROCESS},
                     {"Host Name", COLUMN_HOST},
                     {"Kernel Name", COLUMN_KERNEL},
                     {"Context", COLUMN_CONTEXT},
                     {"Stream", COLUMN_STREAM},
                     {"Block Size", COLUMN_BLOCK},
                     {"Grid Size", COLUMN_GRID},
                     {"Device", COLUMN_DEVICE},
                     {"CC", COLUMN_CAPABILITY},
                     {"Section Name", COLUMN_SECTION},
                     {"Metric Name", COLUMN_METRIC},
                     {"Metric Unit", COLUMN_UNIT},
                     {"Metric Value", COLUMN_VALUE},
                     {"Kernel Time", COLUMN_OTHER},
                     {"Invocations", COLUMN_OTHER},
                     {"Rule Name", COLUMN_OTHER},
                     {"Rule Type", COLUMN_OTHER},
                     {"Rule Description", COLUMN_OTHER},
                     {"Estimated Speedup Type", COLUMN_OTHER},
                     {"Estimated Speedup", COLUMN_OTHER}};

enum { MOST_TEXT_BYTES = 1 << 20 };

struct loader {
    struct ss_import_window window;
    struct ss_ncu_rows rows;
    struct ss_csv_record record;
    struct ss_strbuf text;
    size_t columns[COLUMNS]; /* where each is, plus one; 0: it is not */
    bool is_raw, has_host;
    bool is_summary; /* of several launches each: no values of single ones */
    struct ss_vec_of(struct ss_strview) names; /* of the metrics of the page "raw", by column; empty
                                                * where a column is none */
    struct ss_vec_of(struct ss_ncu_metric) metrics; /* the same, from the row of units on */
};

/* --- records ---------------------------------------------------------------------------------- */

/* Whether the unread bytes begin with the text; reads on as needed. */
static bool begins_with(struct ss_import_window *window, const char *text)
{
    size_t length = strlen(text);
    while (window->end - window->begin < length) {
        if (!ss_import_window_refill(window)) {
            return false;
        }
    }
    return memcmp(window->data + window->begin, text, length) == 0;
}

/* Skips to the next line. False: there is none. */
static bool skip_line(struct ss_import_window *window)
{
    for (;;) {
        const char *at = window->data + window->begin;
        const char *newline = memchr(at, '\n', window->end - window->begin);
        window->begin = newline != NULL ? (size_t)(newline + 1 - window->data) : window->end;
        if (newline != NULL || !ss_import_window_refill(window)) {
            return newline != NULL;
        }
    }
}

/* The next record, which may span lines. False: there is none. */
static bool next_record(struct loader *loader)
{
    struct ss_import_window *window = &loader->window;
    for (;;) {
        bool was_at_end = window->at_end;
        const char *at = window->data + window->begin, *end = window->data + window->end;
        if (at < end && ss_csv_read(&at, end, was_at_end, &loader->record)) {
            window->begin = (size_t)(at - window->data);
            return true;
        }
        if (was_at_end) {
            window->is_cut = window->is_cut || window->begin < window->end;
            window->begin = window->end;
            return false;
        }
        if (!ss_import_window_refill(window) && !window->at_end) { /* no quote closes it */
            ss_import_window_count_skipped(window, ss_import_window_offset(window),
                                           "a row without an end");
            skip_line(window);
        }
    }
}

/* The text of a field, with its quotes resolved; valid as long as the model. */
static struct ss_strview field_at(struct loader *loader, size_t index)
{
    if (index >= loader->record.count) {
        return (struct ss_strview){"", 0};
    }
    struct ss_csv_field field = loader->record.data[index];
    if (!field.has_quotes) {
        return ss_ncu_keep(&loader->rows, field.raw);
    }
    ss_strbuf_clear(&loader->text);
    ss_csv_unquote(field, &loader->text);
    return ss_ncu_keep(&loader->rows, (struct ss_strview){loader->text.data, loader->text.length});
}

static struct ss_strview text_of(struct loader *loader, enum column column)
{
    return field_at(loader, loader->columns[column] > 0 ? loader->columns[column] - 1 : SIZE_MAX);
}

/* -1: no number, or none that is 0 or more. */
static int64_t number_of(struct loader *loader, enum column column)
{
    double number;
    bool is_number = ss_ncu_number(text_of(loader, column), &number) && number >= 0 &&
                     number <= 9007199254740992.0;
    return is_number ? (int64_t)number : -1;
}

/* "(1024, 1, 1)" */
static void read_size(struct loader *loader, enum column column, int64_t *size)
{
    struct ss_strview text = text_of(loader, column);
    struct ss_json_cursor cursor = {text.data, text.data + text.length};
    for (int i = 0; i < 3; i++) {
        while (cursor.at < cursor.end && (*cursor.at < '0' || *cursor.at > '9')) {
            cursor.at++;
        }
        const char *begin = cursor.at;
        while (cursor.at < cursor.end && *cursor.at >= '0' && *cursor.at <= '9') {
            cursor.at++;
        }
        struct ss_strview digits = {begin, (size_t)(cursor.at - begin)};
        size[i] = ss_json_decimal(digits, 0, &size[i]) ? size[i] : -1;
    }
}

/* --- the header ------------------------------------------------------------------------------- */

/* Whether the column is a known one; remembers where it is. */
static bool note_column(struct loader *loader, struct ss_strview name, size_t at)
{
    for (size_t i = 0; i < sizeof known_columns / sizeof *known_columns; i++) {
        if (ss_strview_equal(name, ss_strview_of(known_columns[i].name))) {
            loader->columns[known_columns[i].column] = at + 1;
            return true;
        }
    }
    return false;
}

static void read_header(struct loader *loader)
{
    ss_vec_clear(&loader->names);
    ss_vec_clear(&loader->metrics);
    memset(loader->columns, 0, sizeof loader->columns);
    for (size_t i = 0; i < loader->record.count; i++) {
        struct ss_strview name = field_at(loader, i);
        bool is_known = note_column(loader, name, i);
        ss_vec_push(&loader->names, is_known ? (struct ss_strview){"", 0} : name);
    }
    loader->is_raw = loader->columns[COLUMN_METRIC] == 0;
    loader->is_summary = loader->columns[COLUMN_ID] == 0;
}

/* The page "raw" has the units in the row below the header. */
static void read_units(struct loader *loader, bool has_row)
{
    struct ss_strview none = {"", 0};
    for (size_t i = 0; i < loader->names.count; i++) {
        struct ss_strview name = loader->names.data[i];
        struct ss_ncu_metric metric = {0};
        if (name.length > 0) {
            metric =
                ss_ncu_metric_of(&loader->rows, none, name, has_row ? field_at(loader, i) : none);
        }
        ss_vec_push(&loader->metrics, metric);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static void read_kernel(struct loader *loader)
{
    struct ss_ncu_kernel *kernel = &loader->rows.kernel;
    if (kernel->has_name) {
        return; /* a further row of it */
    }
    kernel->has_name = true;
    kernel->name = text_of(loader, COLUMN_KERNEL);
    kernel->process = text_of(loader, COLUMN_PROCESS);
    kernel->capability = text_of(loader, COLUMN_CAPABILITY);
    kernel->context = number_of(loader, COLUMN_CONTEXT);
    kernel->stream = number_of(loader, COLUMN_STREAM);
    kernel->device = number_of(loader, COLUMN_DEVICE);
    read_size(loader, COLUMN_GRID, kernel->grid);
    read_size(loader, COLUMN_BLOCK, kernel->block);
    struct ss_trace_attribute host = {.key = ss_strview_of("hostname"),
                                      .text = text_of(loader, COLUMN_HOST)};
    if (!loader->has_host && host.text.length > 0) {
        ss_model_builder_attribute(loader->rows.builder, &host);
        loader->has_host = true;
    }
}

/* Rows of rules have no metric. */
static void read_metric(struct loader *loader)
{
    struct ss_strview name = text_of(loader, COLUMN_METRIC);
    if (name.length > 0) {
        struct ss_ncu_metric metric = ss_ncu_metric_of(
            &loader->rows, text_of(loader, COLUMN_SECTION), name, text_of(loader, COLUMN_UNIT));
        ss_ncu_put_metric(&loader->rows, &metric, text_of(loader, COLUMN_VALUE));
    }
}

static void read_raw_metrics(struct loader *loader)
{
    for (size_t i = 0; i < loader->metrics.count && i < loader->record.count; i++) {
        if (loader->names.data[i].length > 0) {
            ss_ncu_put_metric(&loader->rows, &loader->metrics.data[i], field_at(loader, i));
        }
    }
}

static bool is_header(struct loader *loader)
{
    bool is_of_kernels = loader->record.count > 4 &&
                         ss_strview_equal(field_at(loader, 0), ss_strview_of("ID")) &&
                         ss_strview_equal(field_at(loader, 1), ss_strview_of("Process ID"));
    bool is_summary = loader->record.count > 4 &&
                      ss_strview_equal(field_at(loader, 0), ss_strview_of("Process ID")) &&
                      ss_strview_equal(field_at(loader, 1), ss_strview_of("Process Name"));
    return is_of_kernels || is_summary;
}

static void read_row(struct loader *loader, uint64_t offset)
{
    if (is_header(loader)) {
        ss_ncu_end_kernel(&loader->rows);
        read_header(loader);
        return;
    }
    int64_t id = number_of(loader, COLUMN_ID);
    if (loader->is_raw && loader->metrics.count == 0) {
        read_units(loader, id < 0);
        if (id < 0) {
            return;
        }
    }
    if (id < 0 || loader->record.count < 5) {
        if (loader->record.count > 1 || field_at(loader, 0).length > 0) {
            ss_import_window_count_skipped(&loader->window, offset,
                                           "a row without the number of a kernel");
        }
        return;
    }
    ss_ncu_begin_kernel(&loader->rows, id, number_of(loader, COLUMN_PID));
    read_kernel(loader);
    if (loader->is_raw) {
        read_raw_metrics(loader);
    } else {
        read_metric(loader);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static const char *const header_begins[] = {"\"ID\",\"Process ID\",", "ID,Process ID,",
                                            "\"Process ID\",\"Process Name\",",
                                            "Process ID,Process Name,"};

static bool is_at_header(struct ss_import_window *window)
{
    for (size_t i = 0; i < sizeof header_begins / sizeof *header_begins; i++) {
        if (begins_with(window, header_begins[i])) {
            return true;
        }
    }
    return false;
}

static void read_file(struct loader *loader)
{
    struct ss_import_window *window = &loader->window;
    if (begins_with(window, "\xef\xbb\xbf")) { /* a byte order mark, of spreadsheets */
        window->begin += 3;
    }
    while (!is_at_header(window)) {
        if (!skip_line(window)) {
            return;
        }
    }
    while (!loader->is_summary) {
        if (begins_with(window, "==")) { /* "==PROF== Disconnected from process 4242" */
            skip_line(window);
            continue;
        }
        uint64_t offset = ss_import_window_offset(window);
        if (!next_record(loader)) {
            break;
        }
        read_row(loader, offset);
    }
    ss_ncu_end_kernel(&loader->rows);
}

static enum ss_status check(const struct loader *loader, struct ss_error *err)
{
    const struct ss_import_window *window = &loader->window;
    const char *path = window->file->path;
    if (loader->is_summary) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s has sums of launches, not the launches: export it with "
                       "--print-summary none",
                       path);
    }
    if (loader->rows.kernels == 0 && window->status != SS_OK) {
        return ss_fail(err, window->status, "%s", window->err.message);
    }
    return loader->rows.kernels == 0
               ? ss_fail(err, SS_E_FORMAT, "%s is a table of Nsight Compute without a kernel", path)
               : SS_OK;
}

static void put_input(struct loader *loader, struct ss_model *model)
{
    struct ss_model_builder *builder = loader->rows.builder;
    struct ss_import_window *window = &loader->window;
    struct ss_builder_skipped skipped = ss_import_window_skipped(window);
    struct ss_trace_summary summary = {.file_bytes = ss_import_window_offset(window),
                                       .events = loader->rows.kernels,
                                       .first_event_ns = 0,
                                       .last_event_ns = loader->rows.end_ns,
                                       .sealed = !window->is_cut};
    model->inputs.data[ss_model_builder_input(builder)].is_untimed = true;
    ss_model_builder_import(builder, ss_strview_of("Nsight Compute"), &skipped);
    ss_model_builder_summary(builder, &summary);
}

static enum ss_status load_ncu(struct ss_model *model, const struct ss_import_file *file,
                               const struct ss_model_load *load, struct ss_error *err)
{
    if (load->has_time_range || load->has_steps) {
        return ss_fail(err, SS_E_USAGE, "%s has durations, but no times: %s need a file with times",
                       file->path, load->has_steps ? "steps" : "times");
    }
    struct loader *loader = ss_alloc_zero(1, sizeof *loader);
    ss_import_window_init(&loader->window, file, load);
    ss_strbuf_init(&loader->text, MOST_TEXT_BYTES);
    ss_ncu_rows_init(&loader->rows,
                     ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, load, NULL));
    read_file(loader);
    enum ss_status status = ss_import_window_refused(&loader->window, err);
    status = status == SS_OK ? check(loader, err) : status;
    if (status == SS_OK) {
        put_input(loader, model);
        ss_model_builder_end(loader->rows.builder);
    }
    if (status == SS_OK && !load->quiet) {
        ss_import_window_report(&loader->window);
    }
    ss_model_builder_free(loader->rows.builder);
    ss_ncu_rows_fini(&loader->rows);
    ss_vec_fini(&loader->names);
    ss_vec_fini(&loader->metrics);
    ss_vec_fini(&loader->record);
    ss_strbuf_fini(&loader->text);
    ss_import_window_fini(&loader->window);
    ss_free(loader);
    return status;
}

static enum ss_import_match probe_ncu(const char *head, size_t length)
{
    const char *end = head + length;
    for (size_t i = 0; i < sizeof header_begins / sizeof *header_begins; i++) {
        size_t size = strlen(header_begins[i]);
        for (const char *at = head; (at = memmem(at, (size_t)(end - at), header_begins[i], size));
             at++) {
            bool is_behind_mark = at - head == 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0;
            if (at == head || at[-1] == '\n' || is_behind_mark) {
                return SS_IMPORT_CERTAIN;
            }
        }
    }
    return SS_IMPORT_NO;
}

const struct ss_importer ss_importer_ncu = {
    .name = "ncu",
    .summary = "kernels and their metrics, as Nsight Compute prints them with --csv",
    .kind = SS_INPUT_IMPORT,
    .probe = probe_ncu,
    .load = load_ncu};
