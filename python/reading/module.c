/* SPDX-License-Identifier: Apache-2.0 */
#include "reading.h"

#include "analysis/tables/tables.h"
#include "arrow/rows.h"

PyObject *ss_reading_object_new(PyTypeObject *type)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void ss_reading_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* {id: what its rows are}: the tables of reports, and the contents of recordings. */
static PyObject *new_table_names(void)
{
    PyObject *names = PyDict_New();
    for (const struct ss_table_kind *kind = ss_table_kinds; names != NULL && kind->id != NULL;
         kind++) {
        if (ss_table_kind_find(kind->id, NULL) == kind &&
            !ss_reading_put(names, kind->id, PyUnicode_FromString(kind->summary))) {
            Py_CLEAR(names);
        }
    }
    return names;
}

static PyObject *new_content_names(void)
{
    PyObject *names = PyDict_New();
    for (const struct ss_row_kind *kind = ss_row_kinds; names != NULL && kind->id != NULL; kind++) {
        if (!ss_reading_put(names, kind->id, PyUnicode_FromString(kind->summary))) {
            Py_CLEAR(names);
        }
    }
    return names;
}

/* Takes the value over. */
static bool add(PyObject *module, const char *name, PyObject *value)
{
    if (value != NULL && PyModule_AddObject(module, name, value) == 0) {
        return true;
    }
    Py_XDECREF(value);
    return false;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "stepscope._reading",
                                        .m_size = -1};

#pragma GCC visibility push(default) /* Python 3.8 does not ask for it */
PyMODINIT_FUNC PyInit__reading(void);
#pragma GCC visibility pop
PyMODINIT_FUNC PyInit__reading(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    if (!ss_reading_add_errors(module) || !ss_reading_add_table_type(module) ||
        !ss_reading_add_recording_type(module) || !add(module, "tables", new_table_names()) ||
        !add(module, "contents", new_content_names())) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
