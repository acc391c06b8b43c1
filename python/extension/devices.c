/* SPDX-License-Identifier: Apache-2.0 */
/* The work of CUDA devices in a program that records itself (inject/cupti/arming.h), and recorders
 * that attach (annot/attach.h). */
#include "extension.h" /* Python.h wants to be first */

/* _follow_devices(settings, answers): settings as STEPSCOPE_GPU has them; answers: _end_devices is
 * called when the recorder asks for it. */
PyObject *ss_python_follow_devices(PyObject *module, PyObject *args)
{
    (void)module;
    void (*follow)(const char *, int) = NULL;
    const char *text;
    int answers;
    if (!PyArg_ParseTuple(args, "sp", &text, &answers)) {
        return NULL;
    }
    *(void **)&follow = ss_runtime_function("stepscope_devices_follow");
    if (follow != NULL) {
        follow(text, answers);
    }
    Py_RETURN_NONE;
}

/* _end_devices(): waits for kernels that run. */
PyObject *ss_python_end_devices(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    void (*forget)(void) = NULL, (*end)(void) = NULL;
    *(void **)&forget = ss_runtime_function("stepscope_devices_forget");
    *(void **)&end = ss_runtime_function("stepscope_devices_end");
    if (forget != NULL && end != NULL) {
        forget();
        PyThreadState *thread = PyEval_SaveThread();
        end();
        PyEval_RestoreThread(thread);
    }
    Py_RETURN_NONE;
}

/* _await_recording(begins) → after at most a second, whether a recording runs (begins), or none
 * does or it is about to end. */
PyObject *ss_python_await_recording(PyObject *module, PyObject *begins)
{
    (void)module;
    int (*wait)(int) = NULL;
    int is_so = 0;
    *(void **)&wait = ss_runtime_function("stepscope_attach_wait");
    if (wait == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "no runtime");
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    is_so = wait(begins == Py_True);
    PyEval_RestoreThread(thread);
    return PyBool_FromLong(is_so);
}

/* _requested_devices() → enum ss_ring_devices */
PyObject *ss_python_requested_devices(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    unsigned (*level)(void) = NULL;
    *(void **)&level = ss_runtime_function("stepscope_attach_device_level");
    return PyLong_FromUnsignedLong(level != NULL ? level() : 0);
}
