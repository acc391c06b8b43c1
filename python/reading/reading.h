/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python module stepscope._reading: recordings as tables, over src/reading/. It keeps to the
 * limited API of CPython 3.8, so that one build serves every later version; in builds without a
 * GIL, which have no limited API, to the same functions. Objects are immutable once made, and any
 * thread may use them; the GIL is released while a recording is read and while tables are built.
 */
#ifndef SS_PYTHON_READING_H
#define SS_PYTHON_READING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "analysis/report/document.h"
#include "arrow/columns.h"
#include "base/error.h"

/* --- errors.c --- */

/* Makes the exceptions, one for each status: the dict "errors" of the module. */
bool ss_reading_add_errors(PyObject *module);
/* Raises the exception of an error; returns NULL. */
PyObject *ss_reading_raise(const struct ss_error *err);

/* --- figures.c: new references; NULL with an exception --- */

/* Invalid bytes become U+FFFD. */
PyObject *ss_reading_text(struct ss_strview text);
PyObject *ss_reading_sentence(const struct ss_sentence *sentence);
PyObject *ss_reading_figure(const struct ss_figure *figure);
/* Appends a new reference to a list, and takes it over; false with an exception. NULL: it was
 * raised already. */
bool ss_reading_append(PyObject *list, PyObject *item);
/* The same for a value of a dict. */
bool ss_reading_put(PyObject *dict, const char *key, PyObject *value);

/* --- table.c --- */

bool ss_reading_add_table_type(PyObject *module);
/* Takes the reference to the columns over. */
PyObject *ss_reading_table_new(struct ss_columns *columns);

/* --- recording.c --- */

bool ss_reading_add_recording_type(PyObject *module);

/* Memory of an object of a heap type, zeroed behind its head; its release. */
PyObject *ss_reading_object_new(PyTypeObject *type);
void ss_reading_object_free(PyObject *self);

#endif
