/* SPDX-License-Identifier: Apache-2.0 */
/* The type Recording: an opened recording (reading/opened.h). */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "analysis/table/table_figures.h"
#include "arrow/cells.h"
#include "base/alloc.h"
#include "reading.h"
#include "reading/opened.h"
#include "view/output/report.h"
#include "view/output/sink.h"

struct recording {
    PyObject_HEAD struct ss_opened *opened;
};

/* --- objects ---------------------------------------------------------------------------------- */

/* The bytes of a path, for the file system; NULL with an exception. */
static PyObject *bytes_of_path(PyObject *path)
{
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(path, &bytes) ? bytes : NULL;
}

static struct ss_opened *open_paths(PyObject *list, uint64_t max_memory_bytes)
{
    Py_ssize_t count = PySequence_Size(list);
    PyObject *bytes = PyList_New(0);
    struct ss_opened *opened = NULL;
    const char **paths = ss_alloc_zero(count > 0 ? (size_t)count : 1, sizeof *paths);
    Py_ssize_t i = 0;
    while (bytes != NULL && i < count) {
        PyObject *path = PySequence_GetItem(list, i);
        if (path == NULL || !ss_reading_append(bytes, bytes_of_path(path))) {
            Py_XDECREF(path);
            break;
        }
        Py_DECREF(path);
        paths[i] = PyBytes_AsString(PyList_GetItem(bytes, i));
        i++;
    }
    if (bytes != NULL && count > 0 && i == count) {
        opened = ss_opened_new(paths, (size_t)count, max_memory_bytes);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "a recording has one path or more");
    }
    ss_free(paths);
    Py_XDECREF(bytes);
    return opened;
}

/* Recording(paths, max_memory=0): in bytes; 0: the limits of the formats */
static PyObject *recording_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"paths", "max_memory", NULL};
    PyObject *paths;
    unsigned long long max_memory_bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|K", (char **)names, &paths,
                                     &max_memory_bytes)) {
        return NULL;
    }
    struct ss_opened *opened = open_paths(paths, max_memory_bytes);
    PyObject *self = opened != NULL ? ss_reading_object_new(type) : NULL;
    if (self == NULL) {
        ss_opened_free(opened);
        return NULL;
    }
    ((struct recording *)self)->opened = opened;
    return self;
}

static void recording_free(PyObject *self)
{
    ss_opened_free(((struct recording *)self)->opened);
    ss_reading_object_free(self);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The options, by the names of the members of struct ss_query. Texts are borrowed from the
 * arguments. Long: a list of all options. */
static bool read_query(PyObject *args, PyObject *keywords, struct ss_query *query)
{
    static const char *const names[] = {"name",
                                        "columns",
                                        "sort",
                                        "group",
                                        "rows",
                                        "process",
                                        "thread",
                                        "match",
                                        "exclude",
                                        "idle",
                                        "gil",
                                        "strict",
                                        "time",
                                        "steps",
                                        "min_percent",
                                        "library_name",
                                        "library_substring",
                                        "aggregate_leaf_paths",
                                        "full_filenames",
                                        NULL};
    PyObject *time = NULL, *steps = NULL;
    long long rows = 0, first = 0, last = 0;
    int gil = 0, strict = 0, aggregate = 0, full = 0;
    query->min_percent = NAN;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "|z$zzzLzzzzzppOOdzzpp", (char **)names, &query->table, &query->columns,
            &query->sort, &query->group, &rows, &query->process, &query->thread, &query->match,
            &query->exclude, &query->idle, &gil, &strict, &time, &steps, &query->min_percent,
            &query->library_name, &query->library_substring, &aggregate, &full) ||
        (time != NULL && !PyArg_ParseTuple(time, "dd;time is (begin, end) in seconds",
                                           &query->from_s, &query->to_s)) ||
        (steps != NULL && !PyArg_ParseTuple(steps, "LL;steps are (first, last)", &first, &last))) {
        return false;
    }
    if (rows < 0) {
        PyErr_SetString(PyExc_ValueError, "rows is a number from 1, or None: all");
        return false;
    }
    query->rows = (uint64_t)rows;
    query->gil = gil;
    query->strict = strict;
    query->aggregates_leaf_paths = aggregate;
    query->full_filenames = full;
    query->has_min_percent = !isnan(query->min_percent);
    query->has_time = time != NULL;
    query->has_steps = steps != NULL;
    query->first_step = first;
    query->last_step = last;
    return true;
}

/* --- results ---------------------------------------------------------------------------------- */

/* The tables of a document that programs get, by block. */
typedef struct ss_vec_of(struct ss_columns *) columns_list;

static void convert_tables(const struct ss_document *document, columns_list *list)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        ss_vec_push(list, table != NULL ? ss_columns_of_table(table) : NULL);
    }
}

/* The texts of the notes behind block `at` that belong to it. */
static PyObject *notes_behind(const struct ss_document *document, size_t at)
{
    PyObject *notes = PyList_New(0);
    for (size_t i = at + 1; notes != NULL && i < document->blocks.count; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->kind != SS_BLOCK_NOTE || !block->is_joined) {
            break;
        }
        if (!ss_reading_append(notes, ss_reading_sentence(&block->note.text))) {
            Py_CLEAR(notes);
        }
    }
    return notes;
}

/* (Table, notes, figures) */
static PyObject *table_result(const struct ss_document *document, size_t at,
                              struct ss_columns *columns)
{
    struct ss_arena arena = {0};
    struct ss_figure *figures = ss_figure_new(&arena);
    ss_table_put_figures(ss_block_table_for_programs(&document->blocks.data[at]), figures);
    PyObject *table = ss_reading_table_new(columns);
    PyObject *notes = notes_behind(document, at);
    PyObject *values = ss_reading_figure(figures);
    PyObject *result = table != NULL && notes != NULL && values != NULL
                           ? PyTuple_Pack(3, table, notes, values)
                           : NULL;
    Py_XDECREF(table);
    Py_XDECREF(notes);
    Py_XDECREF(values);
    ss_arena_fini(&arena);
    return result;
}

/* Takes the columns over. */
static PyObject *tables_of(const struct ss_document *document, columns_list *columns)
{
    PyObject *tables = PyList_New(0);
    for (size_t i = 0; tables != NULL && i < columns->count; i++) {
        struct ss_columns *one = columns->data[i];
        columns->data[i] = NULL;
        if (one != NULL && !ss_reading_append(tables, table_result(document, i, one))) {
            Py_CLEAR(tables);
        }
    }
    return tables;
}

/* None: the report has none. */
static PyObject *headline_of(const struct ss_document *document)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        if (document->blocks.data[i].kind == SS_BLOCK_HEADLINE) {
            return ss_reading_sentence(&document->blocks.data[i].headline);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *problems_of(const struct ss_document *document)
{
    PyObject *problems = PyList_New(0);
    for (size_t i = 0; problems != NULL && i < document->problems.count; i++) {
        if (!ss_reading_append(problems, ss_reading_sentence(&document->problems.data[i]))) {
            Py_CLEAR(problems);
        }
    }
    return problems;
}

/* The notes at the end that are about all tables. */
static PyObject *notes_of(const struct ss_document *document)
{
    for (size_t i = document->blocks.count; i-- > 0;) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->kind != SS_BLOCK_NOTE) {
            break;
        }
        if (!block->is_joined) { /* it begins them */
            PyObject *notes = notes_behind(document, i);
            PyObject *first = ss_reading_sentence(&block->note.text);
            if (notes == NULL || first == NULL || PyList_Insert(notes, 0, first) < 0) {
                Py_CLEAR(notes);
            }
            Py_XDECREF(first);
            return notes;
        }
    }
    return PyList_New(0);
}

static PyObject *report_of(const struct ss_document *document, columns_list *columns)
{
    PyObject *report = PyDict_New();
    if (report != NULL && ss_reading_put(report, "figures", ss_reading_figure(document->figures)) &&
        ss_reading_put(report, "headline", headline_of(document)) &&
        ss_reading_put(report, "problems", problems_of(document)) &&
        ss_reading_put(report, "notes", notes_of(document)) &&
        ss_reading_put(report, "tables", tables_of(document, columns))) {
        return report;
    }
    Py_XDECREF(report);
    return NULL;
}

/* report(name=None, *, …) → {figures, headline, problems, notes, tables: [(Table, notes,
 * figures)]} */
static PyObject *report(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct ss_query query = {0};
    struct ss_opened_report made;
    struct ss_error err;
    enum ss_status status;
    columns_list columns = {0};
    if (!read_query(args, keywords, &query)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status =
        ss_opened_tables(((struct recording *)self)->opened, &query, &made, &err);
    if (status == SS_OK) {
        convert_tables(&made.document, &columns);
    }
    Py_END_ALLOW_THREADS if (status != SS_OK)
    {
        return ss_reading_raise(&err);
    }
    PyObject *result = report_of(&made.document, &columns);
    for (size_t i = 0; i < columns.count; i++) { /* those that no object took over */
        ss_columns_release(columns.data[i]);
    }
    ss_vec_fini(&columns);
    ss_opened_report_fini(&made);
    return result;
}

/* The views of documents as text. */
static const struct {
    const char *name;
    ss_report_render *render;
} text_views[] = {
    {"html", ss_report_notebook}, {"markdown", ss_report_markdown}, {"text", ss_report_text}};

/* NULL with an exception. */
static ss_report_render *text_view_of(const char *name)
{
    for (size_t i = 0; i < sizeof text_views / sizeof *text_views; i++) {
        if (strcmp(text_views[i].name, name) == 0) {
            return text_views[i].render;
        }
    }
    PyErr_Format(PyExc_ValueError, "a report is shown as html, markdown or text, not %s", name);
    return NULL;
}

enum { MAX_SHOWN_BYTES = 64 << 20 };

/* Into memory that `sink` owns. */
static enum ss_status render(const struct ss_document *document, ss_report_render *view,
                             size_t width, struct ss_sink *sink, struct ss_error *err)
{
    const struct ss_report_style style = {.width = width};
    FILE *stream = ss_sink_stream(sink);
    if (stream == NULL) {
        return ss_fail(err, SS_E_NOMEM, "no memory for the text of a report");
    }
    enum ss_status status = view(document, &style, stream, err);
    bool is_whole = fclose(stream) == 0 && !ss_sink_failed(sink);
    return status != SS_OK || is_whole
               ? status
               : ss_fail(err, SS_E_LIMIT, "the report is longer than 64 MiB: choose fewer rows");
}

/* shown(view, width, (name,), *, …) → str: the report as a person reads it. width: of a text, in
 * columns; 0: no limit. */
static PyObject *shown(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct ss_query query = {0};
    struct ss_opened_report made;
    struct ss_error err;
    enum ss_status status;
    const char *view_name;
    unsigned width = 0;
    struct ss_sink sink;
    PyObject *words = NULL, *text = NULL;
    if (!PyArg_ParseTuple(args, "sIO!", &view_name, &width, &PyTuple_Type, &words) ||
        !read_query(words, keywords, &query)) {
        return NULL;
    }
    ss_report_render *view = text_view_of(view_name);
    if (view == NULL) {
        return NULL;
    }
    ss_sink_open_memory(&sink, MAX_SHOWN_BYTES);
    Py_BEGIN_ALLOW_THREADS status =
        ss_opened_tables(((struct recording *)self)->opened, &query, &made, &err);
    if (status == SS_OK) {
        status = render(&made.document, view, width, &sink, &err);
        ss_opened_report_fini(&made);
    }
    Py_END_ALLOW_THREADS if (status == SS_OK)
    {
        text = ss_reading_text((struct ss_strview){sink.buffer.data, sink.buffer.length});
    }
    ss_sink_abandon(&sink);
    return status == SS_OK ? text : ss_reading_raise(&err);
}

/* content(name, *, …) → Table */
static PyObject *content(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct ss_query query = {0};
    struct ss_columns *columns = NULL;
    struct ss_error err;
    enum ss_status status;
    if (!read_query(args, keywords, &query)) {
        return NULL;
    }
    const char *id = query.table != NULL ? query.table : "";
    Py_BEGIN_ALLOW_THREADS status =
        ss_opened_contents(((struct recording *)self)->opened, &query, id, &columns, &err);
    Py_END_ALLOW_THREADS return status == SS_OK ? ss_reading_table_new(columns)
                                                : ss_reading_raise(&err);
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"report", WITH_KEYWORDS(report), METH_VARARGS | METH_KEYWORDS, NULL},
    {"shown", WITH_KEYWORDS(shown), METH_VARARGS | METH_KEYWORDS, NULL},
    {"content", WITH_KEYWORDS(content), METH_VARARGS | METH_KEYWORDS, NULL},
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, recording_new},
                              {Py_tp_dealloc, recording_free},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {.name = "stepscope._reading.Recording",
                           .basicsize = sizeof(struct recording),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

bool ss_reading_add_recording_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    return type != NULL && PyModule_AddObject(module, "Recording", type) == 0;
}
