/* SPDX-License-Identifier: Apache-2.0 */
/* The type Table: columns (arrow/columns.h) with the PyCapsule protocol of Arrow. */
#include <string.h>

#include "arrow/exported.h"
#include "base/alloc.h"
#include "reading.h"

struct table {
    PyObject_HEAD struct ss_columns *columns;
};

static PyTypeObject *table_type; /* of the module, which is never unloaded */

static struct ss_columns *columns_of(PyObject *self)
{
    return ((struct table *)self)->columns;
}

PyObject *ss_reading_table_new(struct ss_columns *columns)
{
    PyObject *self = ss_reading_object_new(table_type);
    if (self == NULL) {
        ss_columns_release(columns);
        return NULL;
    }
    ((struct table *)self)->columns = columns;
    return self;
}

static void table_free(PyObject *self)
{
    ss_columns_release(columns_of(self));
    ss_reading_object_free(self);
}

static PyObject *no_table(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "tables are made by a recording: stepscope.open(path)");
    return NULL;
}

/* --- the protocol ----------------------------------------------------------------------------- */

/* A struct whose consumer moved it elsewhere is released already. */
static void free_schema(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) {
        schema->release(schema);
    }
    ss_free(schema);
}

static void free_array(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) {
        array->release(array);
    }
    ss_free(array);
}

static void free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release != NULL) {
        stream->release(stream);
    }
    ss_free(stream);
}

static PyObject *schema_capsule(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct ArrowSchema *schema = ss_alloc(sizeof *schema);
    ss_arrow_export_schema(columns_of(self), schema);
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema);
    if (capsule == NULL) {
        schema->release(schema);
        ss_free(schema);
    }
    return capsule;
}

/* The protocol lets a producer give its own schema instead of the requested one. */
static bool read_request(PyObject *args, PyObject *keywords)
{
    static char name[] = "requested_schema";
    static char *names[] = {name, NULL};
    PyObject *schema;
    return PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &schema) != 0;
}

static PyObject *array_capsules(PyObject *self, PyObject *args, PyObject *keywords)
{
    if (!read_request(args, keywords)) {
        return NULL;
    }
    PyObject *schema = schema_capsule(self, NULL);
    if (schema == NULL) {
        return NULL;
    }
    struct ArrowArray *array = ss_alloc(sizeof *array);
    ss_arrow_export_array(columns_of(self), array);
    PyObject *capsule = PyCapsule_New(array, "arrow_array", free_array);
    if (capsule == NULL) {
        array->release(array);
        ss_free(array);
        Py_DECREF(schema);
        return NULL;
    }
    PyObject *pair = PyTuple_Pack(2, schema, capsule);
    Py_DECREF(schema);
    Py_DECREF(capsule);
    return pair;
}

static PyObject *stream_capsule(PyObject *self, PyObject *args, PyObject *keywords)
{
    if (!read_request(args, keywords)) {
        return NULL;
    }
    struct ArrowArrayStream *stream = ss_alloc(sizeof *stream);
    ss_arrow_export_stream(columns_of(self), stream);
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream);
    if (capsule == NULL) {
        stream->release(stream);
        ss_free(stream);
    }
    return capsule;
}

/* --- without a consumer of Arrow -------------------------------------------------------------- */

static PyObject *value_of(const struct ss_arrow_column *column, size_t row)
{
    if (!ss_column_has(column, row)) {
        Py_RETURN_NONE;
    }
    switch (column->type) {
    case SS_COLUMN_BOOLEAN:
        return PyBool_FromLong(((const uint8_t *)column->values)[row / 8] >> (row % 8) & 1);
    case SS_COLUMN_INT32:
        return PyLong_FromLong(((const int32_t *)column->values)[row]);
    case SS_COLUMN_INT64:
        return PyLong_FromLongLong(((const int64_t *)column->values)[row]);
    case SS_COLUMN_FLOAT64:
        return PyFloat_FromDouble(((const double *)column->values)[row]);
    case SS_COLUMN_TEXT:
    case SS_COLUMN_WORDS: {
        struct ss_strview text = ss_column_text(column, row);
        return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, NULL);
    }
    case SS_COLUMN_NULL:
        break;
    }
    Py_RETURN_NONE;
}

static Py_ssize_t row_count(PyObject *self)
{
    return (Py_ssize_t)columns_of(self)->row_count;
}

/* row(index) → {column: value} */
static PyObject *row(PyObject *self, PyObject *number)
{
    const struct ss_columns *columns = columns_of(self);
    Py_ssize_t index = PyLong_AsSsize_t(number);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (index < 0 || (size_t)index >= columns->row_count) {
        PyErr_Format(PyExc_IndexError, "row %zd of %zd", index, row_count(self));
        return NULL;
    }
    PyObject *dict = PyDict_New();
    for (size_t c = 0; dict != NULL && c < columns->column_count; c++) {
        const struct ss_arrow_column *column = &columns->columns[c];
        if (!ss_reading_put(dict, column->key, value_of(column, (size_t)index))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

/* values(column number) → list */
static PyObject *values(PyObject *self, PyObject *number)
{
    const struct ss_columns *columns = columns_of(self);
    Py_ssize_t index = PyLong_AsSsize_t(number);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (index < 0 || (size_t)index >= columns->column_count) {
        PyErr_Format(PyExc_IndexError, "column %zd of %zu", index, columns->column_count);
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)columns->row_count);
    for (size_t i = 0; list != NULL && i < columns->row_count; i++) {
        PyObject *value = value_of(&columns->columns[index], i);
        if (value == NULL || PyList_SetItem(list, (Py_ssize_t)i, value) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *name(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(columns_of(self)->name);
}

/* columns() → [(name, unit or None)] */
static PyObject *columns(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct ss_columns *all = columns_of(self);
    PyObject *list = PyList_New(0);
    for (size_t c = 0; list != NULL && c < all->column_count; c++) {
        const struct ss_arrow_column *column = &all->columns[c];
        if (!ss_reading_append(list, Py_BuildValue("(sz)", column->key, column->unit))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"__arrow_c_schema__", schema_capsule, METH_NOARGS, NULL},
    {"__arrow_c_array__", WITH_KEYWORDS(array_capsules), METH_VARARGS | METH_KEYWORDS, NULL},
    {"__arrow_c_stream__", WITH_KEYWORDS(stream_capsule), METH_VARARGS | METH_KEYWORDS, NULL},
    {"name", name, METH_NOARGS, NULL},
    {"columns", columns, METH_NOARGS, NULL},
    {"row", row, METH_O, NULL},
    {"values", values, METH_O, NULL},
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, no_table},
                              {Py_tp_dealloc, table_free},
                              {Py_tp_methods, methods},
                              {Py_sq_length, row_count},
                              {0, NULL}};

static PyType_Spec spec = {.name = "stepscope._reading.Table",
                           .basicsize = sizeof(struct table),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

bool ss_reading_add_table_type(PyObject *module)
{
    table_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (table_type == NULL) {
        return false;
    }
    Py_INCREF(table_type);
    return PyModule_AddObject(module, "Table", (PyObject *)table_type) == 0;
}
