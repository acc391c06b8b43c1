/* SPDX-License-Identifier: Apache-2.0 */
/* Python before 3.12: the profile hook of each thread emits calls, the trace hook emits lines. Both
 * are called for all code, so they are set only during a recording with selected code. */
#include "tracing.h"

#if !SS_HAS_MONITORING

#include <frameobject.h>

static PyObject *threading_hooks[2]; /* what new threads call first: for profiling, for tracing */
static bool is_hooked[2];
enum { PROFILE, TRACE };

static PyObject *code_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX < 0x03090000
    Py_INCREF(frame->f_code);
    return (PyObject *)frame->f_code;
#else
    return (PyObject *)PyFrame_GetCode(frame);
#endif
}

static PyObject *globals_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX < 0x030B0000
    Py_INCREF(frame->f_globals);
    return frame->f_globals;
#else
    return PyFrame_GetGlobals(frame);
#endif
}

/* --- calls ----------------------------------------------------------------------------------- */

static struct ss_code *decided(PyObject *object, PyFrameObject *frame)
{
    struct ss_code *code = ss_code_known(object);
    if (ss_tracing_has_filters() && (code == NULL || code->choice != ss_tracing.choice)) {
        PyObject *globals = globals_of(frame);
        code = ss_code_of(object, globals);
        Py_XDECREF(globals);
    }
    return code;
}

static void on_c_event(const struct ss_code *code, int what, PyObject *arg)
{
    if (code == NULL || !code->has_c_calls) {
        return;
    }
    if (what == PyTrace_C_CALL) {
        ss_c_call_begin(arg);
    } else {
        ss_c_call_end();
    }
}

/* The interpreter does not call the hook recursively. A resumed generator is a call, one
 * that yields as a return, and so does an exception that leaves the function. */
static int on_profile(PyObject *none, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)none;
    if (!ss_tracing_is_recorded()) {
        return 0;
    }
    PyObject *object = code_of(frame);
    if (what == PyTrace_CALL) {
        struct ss_code *code = decided(object, frame);
        if (code != NULL && code->has_calls) {
            ss_call_begin(code);
        }
    } else {
        struct ss_code *code = ss_code_known(object);
        if (what != PyTrace_RETURN) {
            on_c_event(code, what, arg);
        } else if (code != NULL) {
            ss_call_end(code);
        }
    }
    Py_DECREF(object);
    return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

static void on_lines_call(struct ss_code *code, PyFrameObject *frame)
{
    int flags = ((PyCodeObject *)code->code)->co_flags;
    if ((flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0) {
        ss_lines_resume(code, PyFrame_GetLineNumber(frame));
    } else {
        ss_lines_enter(code);
    }
}

static int on_trace(PyObject *none, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)none;
    (void)arg;
    if (what == PyTrace_EXCEPTION || what == PyTrace_OPCODE || !ss_tracing_is_recorded()) {
        return 0;
    }
    PyObject *object = code_of(frame);
    struct ss_code *code = ss_code_known(object);
    if (code == NULL || !code->has_lines) {
#if PY_VERSION_HEX < 0x030B0000
        frame->f_trace_lines = 0; /* we are not called for its lines */
#endif
    } else if (what == PyTrace_LINE) {
        ss_lines_line(code, PyFrame_GetLineNumber(frame));
    } else if (what == PyTrace_CALL) {
        on_lines_call(code, frame);
    } else {
        ss_lines_leave(code);
    }
    Py_DECREF(object);
    return 0;
}

/* --- threads --------------------------------------------------------------------------------- */

static Py_tracefunc const functions[2] = {on_profile, on_trace};
static const char *const setters[2] = {"setprofile", "settrace"};

static void set_here(int which, Py_tracefunc function)
{
    if (which == PROFILE) {
        PyEval_SetProfile(function, NULL);
    } else {
        PyEval_SetTrace(function, NULL);
    }
}

static Py_tracefunc hook_of(const PyThreadState *thread, int which)
{
    return which == PROFILE ? thread->c_profilefunc : thread->c_tracefunc;
}

static PyThreadState *first_thread(void)
{
    return PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
}

static bool is_free(int which)
{
    for (PyThreadState *thread = first_thread(); thread != NULL;
         thread = PyThreadState_Next(thread)) {
        Py_tracefunc hook = hook_of(thread, which);
        if (hook != NULL && hook != functions[which]) {
            PyErr_Format(PyExc_RuntimeError,
                         "a thread has another %s already (sys.%s); stop that first, or use Python "
                         "3.12 or later, where they do not exclude each other",
                         which == PROFILE ? "profiler" : "tracer", setters[which]);
            return false;
        }
    }
    return true;
}

/* Threads that run already: under the GIL each may be stood in for. */
static void set_everywhere(int which, bool on)
{
    PyThreadState *self = PyThreadState_Get();
    for (PyThreadState *thread = first_thread(); thread != NULL;
         thread = PyThreadState_Next(thread)) {
        bool is_ours = hook_of(thread, which) == functions[which];
        if (on != is_ours && (on ? hook_of(thread, which) == NULL : is_ours)) {
            PyThreadState_Swap(thread);
            set_here(which, on ? functions[which] : NULL);
            PyThreadState_Swap(self);
        }
    }
}

/* And threads to come: threading.setprofile(), which takes what Python can call. */
static bool set_for_new_threads(int which, bool on)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *set = threading != NULL ? PyObject_CallMethod(threading, setters[which], "O",
                                                            on ? threading_hooks[which] : Py_None)
                                      : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(set);
    return set != NULL;
}

/* The first call of a new thread; from then on the hook is called directly. */
static PyObject *start_thread(PyObject *args, int which)
{
    PyObject *frame, *event, *arg;
    if (!PyArg_ParseTuple(args, "O!UO", &PyFrame_Type, &frame, &event, &arg)) {
        return NULL;
    }
    set_here(which, is_hooked[which] ? functions[which] : NULL);
    if (is_hooked[which] && PyUnicode_CompareWithASCIIString(event, "call") == 0) {
        functions[which](NULL, (PyFrameObject *)frame, PyTrace_CALL, NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *start_profile(PyObject *module, PyObject *args)
{
    (void)module;
    return start_thread(args, PROFILE);
}

static PyObject *start_trace(PyObject *module, PyObject *args)
{
    (void)module;
    return start_thread(args, TRACE);
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool hook(int which, bool wanted)
{
    if (wanted == is_hooked[which]) {
        return true;
    }
    if (wanted && !is_free(which)) {
        return false;
    }
    is_hooked[which] = wanted;
    set_everywhere(which, wanted);
    return set_for_new_threads(which, wanted);
}

bool ss_listen(void)
{
    bool calls = ss_tracing.decide != NULL, lines = false;
    for (const struct ss_code *code = ss_tracing.codes; code != NULL; code = code->next) {
        calls |= code->has_calls;
        lines |= code->has_lines;
    }
    if (!ss_tracing.is_on) { /* nothing now, but say already that it will not go */
        return hook(PROFILE, false) && hook(TRACE, false) && (!calls || is_free(PROFILE)) &&
               (!lines || is_free(TRACE));
    }
    return hook(PROFILE, calls) && hook(TRACE, lines);
}

bool ss_listen_to(struct ss_code *code)
{
    (void)code;
    return true;
}

static PyMethodDef hook_methods[2] = {{"_start_profile", start_profile, METH_VARARGS, NULL},
                                      {"_start_trace", start_trace, METH_VARARGS, NULL}};

bool ss_listen_init(PyObject *module)
{
    (void)module;
    threading_hooks[PROFILE] = PyCFunction_New(&hook_methods[PROFILE], NULL);
    threading_hooks[TRACE] = PyCFunction_New(&hook_methods[TRACE], NULL);
    return threading_hooks[PROFILE] != NULL && threading_hooks[TRACE] != NULL;
}

#endif
