/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule engine, for stepscope._schedule; the schedule of this process, and what the recorder
 * says of its windows. */
#include "tracing.h" /* Python.h wants to be first */

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
    struct ss_schedule_position position = {step, resumed_at, length};
    return PyLong_FromLong((long)ss_schedule_at(&schedule, &position));
}

/* _follow(text or None): the process's schedule from here on; None: nothing more is recorded. */
PyObject *ss_python_follow(PyObject *module, PyObject *argument)
{
    (void)module;
    const char *text = argument != Py_None ? PyUnicode_AsUTF8(argument) : NULL;
    if (PyErr_Occurred()) {
        return NULL;
    }
    ss_lines_follow_schedule();
    int result = ss_runtime->schedule(text);
    if (result == -1) {
        return PyErr_Format(PyExc_ValueError, "%s is no schedule", text);
    }
    return PyBool_FromLong(result == 0);
}

/* _sealed(number, milliseconds) → (window, first step, last step, flags, path as bytes); None: not
 * within that time; False: there is none and none will come. */
PyObject *ss_python_sealed(PyObject *module, PyObject *args)
{
    (void)module;
    unsigned long long number;
    unsigned milliseconds;
    struct stepscope_sealed sealed = {.size = sizeof sealed};
    if (!PyArg_ParseTuple(args, "KI", &number, &milliseconds)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    int outcome = ss_runtime->sealed(number, milliseconds, &sealed);
    PyEval_RestoreThread(thread);
    if (outcome == 0) {
        Py_RETURN_NONE;
    }
    if (outcome < 0) {
        Py_RETURN_FALSE;
    }
    return Py_BuildValue("KLLIy", (unsigned long long)sealed.window, (long long)sealed.first_step,
                         (long long)sealed.last_step, (unsigned)sealed.flags, sealed.path);
}

/* _flush(milliseconds) → True: all that was marked is in the file; None: not within that time;
 * False: no recording. */
PyObject *ss_python_flush(PyObject *module, PyObject *argument)
{
    (void)module;
    unsigned long milliseconds = PyLong_AsUnsignedLong(argument);
    if (PyErr_Occurred()) {
        return NULL;
    }
    ss_lines_flush();
    PyThreadState *thread = PyEval_SaveThread();
    int outcome = ss_runtime->flush((uint32_t)milliseconds);
    PyEval_RestoreThread(thread);
    if (outcome == 0) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(outcome > 0);
}
