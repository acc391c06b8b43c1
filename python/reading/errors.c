/* SPDX-License-Identifier: Apache-2.0 */
/* The exceptions, one for each row of base/status.def: class attributes status and exit_code. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "reading.h"

static PyObject *classes[SS_STATUS_COUNT]; /* of the module, which is never unloaded */

/* Names where the capitalized status is not one, and the exception of Python that it also is. */
static const struct {
    enum ss_status status;
    const char *name;
    PyObject **also;
} special[] = {
    {SS_E_USAGE, NULL, &PyExc_ValueError},
    {SS_E_IO, "InputOutput", &PyExc_OSError},
    {SS_E_NOSPACE, "NoSpace", &PyExc_OSError},
    {SS_E_NOTFOUND, "NotFound", &PyExc_FileNotFoundError},
    {SS_E_PERMISSION, NULL, &PyExc_PermissionError},
    {SS_E_NOMEM, "NoMemory", &PyExc_MemoryError},
    {SS_E_BUG, NULL, &PyExc_RuntimeError},
};

/* "FormatError" of FORMAT. */
static void name_class(enum ss_status status, char *name, size_t size)
{
    const char *word = ss_status_name(status);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (special[i].status == status && special[i].name != NULL) {
            snprintf(name, size, "%sError", special[i].name);
            return;
        }
    }
    snprintf(name, size, "%sError", word);
    for (size_t i = 1; word[i] != '\0' && i < size; i++) {
        name[i] = (char)tolower((unsigned char)word[i]);
    }
}

static PyObject *bases_of(enum ss_status status, PyObject *base)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (special[i].status == status) {
            return PyTuple_Pack(2, base, *special[i].also);
        }
    }
    return PyTuple_Pack(1, base);
}

static PyObject *new_class(enum ss_status status, const char *name, PyObject *base)
{
    char path[128];
    snprintf(path, sizeof path, "stepscope.errors.%s", name);
    PyObject *bases = bases_of(status, base);
    PyObject *members = Py_BuildValue("{s:s,s:i}", "status", ss_status_name(status), "exit_code",
                                      ss_status_exit_code(status));
    PyObject *made = bases != NULL && members != NULL
                         ? PyErr_NewExceptionWithDoc(path, ss_status_text(status), bases, members)
                         : NULL;
    Py_XDECREF(bases);
    Py_XDECREF(members);
    return made;
}

static bool add_classes(PyObject *errors, PyObject *base)
{
    for (int status = SS_OK + 1; status < SS_STATUS_COUNT; status++) {
        char name[64];
        name_class((enum ss_status)status, name, sizeof name);
        classes[status] = new_class((enum ss_status)status, name, base);
        if (classes[status] == NULL || PyDict_SetItemString(errors, name, classes[status]) < 0) {
            return false;
        }
    }
    return true;
}

bool ss_reading_add_errors(PyObject *module)
{
    PyObject *members = Py_BuildValue("{s:O,s:O}", "status", Py_None, "exit_code", Py_None);
    PyObject *errors = PyDict_New();
    PyObject *base =
        members != NULL
            ? PyErr_NewExceptionWithDoc("stepscope.errors.Error",
                                        "What stepscope raises: see status.", NULL, members)
            : NULL;
    bool is_made = errors != NULL && base != NULL &&
                   PyDict_SetItemString(errors, "Error", base) == 0 && add_classes(errors, base);
    Py_XDECREF(members);
    Py_XDECREF(base);
    if (is_made && PyModule_AddObject(module, "errors", errors) == 0) {
        return true;
    }
    Py_XDECREF(errors);
    return false;
}

PyObject *ss_reading_raise(const struct ss_error *err)
{
    PyErr_SetString(classes[err->status], err->message);
    return NULL;
}
