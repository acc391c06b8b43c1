/* SPDX-License-Identifier: Apache-2.0 */
/* _schedule_at: the schedule engine, for stepscope._schedule. */
#include "extension.h" /* Python.h wants to be first */

#include "annot/schedule_text.h"

static bool read_schedule(const char *text, struct ss_schedule *schedule)
{
    struct ss_error err = {0};
    if (ss_schedule_parse(text, schedule, &err) == SS_OK) {
        return true;
    }
    PyErr_SetString(PyExc_ValueError, err.message);
    return false;
}

/* _schedule_text(text) → the same schedule, as short as it goes; ValueError says what is wrong. */
PyObject *ss_python_schedule_text(PyObject *module, PyObject *argument)
{
    (void)module;
    struct ss_schedule schedule;
    char text[SS_SCHEDULE_TEXT_BYTES];
    const char *given = PyUnicode_AsUTF8(argument);
    if (given == NULL || !read_schedule(given, &schedule)) {
        return NULL;
    }
    ss_schedule_put(&schedule, text, sizeof text);
    return PyUnicode_FromString(text);
}

/* _schedule_action(text, step, length or -1, resumed_at) → 0 skip, 1 warmup, 2 record, 3 save */
PyObject *ss_python_schedule_action(PyObject *module, PyObject *args)
{
    (void)module;
    const char *text;
    long long step, length, resumed_at;
    struct ss_schedule schedule;
    if (!PyArg_ParseTuple(args, "sLLL", &text, &step, &length, &resumed_at) ||
        !read_schedule(text, &schedule)) {
        return NULL;
    }
    struct ss_schedule_place place = {step, resumed_at, length};
    return PyLong_FromLong((long)ss_schedule_at(&schedule, &place));
}
