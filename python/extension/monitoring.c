/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.12 and later: sys.monitoring (PEP 669). The callbacks are built-in functions, so that
 * torch.compile does not trace them. Events are enabled on selected code objects only, except
 *   PY_START            everywhere, while there are filters: the callback decides and then returns
 *                       DISABLE, which disables the event for the code object
 *   PY_UNWIND, _THROW   everywhere, while recording: they cannot be enabled for single code objects
 */
#include "tracing.h"

#if SS_HAS_MONITORING

enum event {
    START,
    RESUME,
    RETURN,
    YIELD,
    UNWIND,
    THROW,
    LINE,
    CALL,
    C_RETURN,
    C_RAISE,
    EVENT_COUNT
};
static const char *const event_names[EVENT_COUNT] = {
    "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "PY_UNWIND",
    "PY_THROW", "LINE",      "CALL",      "C_RETURN", "C_RAISE"};

static PyObject *monitoring; /* sys.monitoring, while we have a tool */
static PyObject *disable;
static long tool = -1;
static unsigned long bits[EVENT_COUNT];
static PyObject *callbacks; /* of the module; in the order of the events */

static PyObject *answer(PyObject *what)
{
    Py_INCREF(what);
    return what;
}

/* --- callbacks: (code, offset or line, …) ---------------------------------------------------- */

static PyObject *globals_of_frame(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    return frame != NULL ? PyFrame_GetGlobals(frame) : NULL;
}

static PyObject *on_start(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    struct ss_code *code = ss_code_known(args[0]);
    if (ss_tracing_has_filters() && (code == NULL || code->choice != ss_tracing.choice)) {
        PyObject *globals = globals_of_frame();
        code = ss_code_of(args[0], globals);
        Py_XDECREF(globals);
    }
    if (code == NULL || !(code->has_calls || code->has_lines)) {
        return answer(ss_is_deciding() ? Py_None : disable);
    }
    if (ss_tracing_is_recorded()) {
        if (code->has_calls) {
            ss_call_begin(code);
        }
        if (code->has_lines) {
            ss_lines_enter(code);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *go_on(PyObject *const *args)
{
    struct ss_code *code = ss_code_known(args[0]);
    if (code != NULL && (code->has_calls || code->has_lines) && ss_tracing_is_recorded()) {
        if (code->has_calls) {
            ss_call_begin(code);
        }
        if (code->has_lines) {
            long offset = PyLong_AsLong(args[1]);
            ss_lines_resume(code, PyCode_Addr2Line((PyCodeObject *)args[0], (int)offset));
        }
    }
    Py_RETURN_NONE;
}

static PyObject *leave(PyObject *const *args)
{
    struct ss_code *code = ss_code_known(args[0]);
    if (code != NULL && ss_tracing_is_recorded()) {
        if (code->has_lines) {
            ss_lines_leave(code);
        }
        if (code->has_calls) {
            ss_call_end(code);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    return go_on(args);
}

static PyObject *on_leave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    return leave(args);
}

static PyObject *on_line(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    struct ss_code *code = ss_code_known(args[0]);
    if (code != NULL && code->has_lines && ss_tracing_is_recorded()) {
        ss_lines_line(code, (int)PyLong_AsLong(args[1]));
    }
    Py_RETURN_NONE;
}

/* Calls of Python functions have events of their own. */
static PyObject *on_call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyObject *callable = count > 2 ? args[2] : NULL;
    if (callable != NULL && PyMethod_Check(callable)) {
        callable = PyMethod_GET_FUNCTION(callable);
    }
    struct ss_code *code = ss_code_known(args[0]);
    if (callable != NULL && !PyFunction_Check(callable) && code != NULL && code->has_c_calls &&
        ss_tracing_is_recorded()) {
        ss_c_call_begin(callable);
    }
    Py_RETURN_NONE;
}

static PyObject *on_c_return(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    struct ss_code *code = ss_code_known(args[0]);
    if (code != NULL && code->has_c_calls && ss_tracing_is_recorded()) {
        ss_c_call_end();
    }
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL

static PyMethodDef callback_methods[EVENT_COUNT] = {
    {"_on_start", FAST(on_start)},       {"_on_resume", FAST(on_resume)},
    {"_on_return", FAST(on_leave)},      {"_on_yield", FAST(on_leave)},
    {"_on_unwind", FAST(on_leave)},      {"_on_throw", FAST(on_resume)},
    {"_on_line", FAST(on_line)},         {"_on_call", FAST(on_call)},
    {"_on_c_return", FAST(on_c_return)}, {"_on_c_raise", FAST(on_c_return)}};

/* --- a tool of our own ----------------------------------------------------------------------- */

/* 2 is cProfile's, 0 a debugger's, 1 that of coverage, 5 of optimizers. */
static const long tool_ids[] = {3, 4, 5, 1, 0};

static bool read_constants(void)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    Py_XSETREF(disable, PyObject_GetAttrString(monitoring, "DISABLE"));
    bool ok = events != NULL && disable != NULL;
    for (int i = 0; ok && i < EVENT_COUNT; i++) {
        PyObject *bit = PyObject_GetAttrString(events, event_names[i]);
        bits[i] = bit != NULL ? PyLong_AsUnsignedLong(bit) : 0;
        ok = bit != NULL;
        Py_XDECREF(bit);
    }
    Py_XDECREF(events);
    return ok;
}

static bool call(const char *method, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *tuple = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    PyObject *function = tuple != NULL ? PyObject_GetAttrString(monitoring, method) : NULL;
    PyObject *result = function != NULL ? PyObject_Call(function, tuple, NULL) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(tuple);
    Py_XDECREF(result);
    return result != NULL;
}

static bool register_callbacks(PyObject *of)
{
    for (int i = 0; i < EVENT_COUNT; i++) {
        PyObject *callback = of != NULL ? PyTuple_GET_ITEM(of, i) : Py_None;
        if (!call("register_callback", "(lkO)", tool, bits[i], callback)) {
            return false;
        }
    }
    return true;
}

static bool take_tool(void)
{
    if (tool >= 0) {
        return true;
    }
    monitoring = PySys_GetObject("monitoring");
    Py_XINCREF(monitoring);
    if (monitoring == NULL || !read_constants()) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
        }
        return false;
    }
    for (size_t i = 0; i < sizeof tool_ids / sizeof *tool_ids && tool < 0; i++) {
        if (call("use_tool_id", "(ls)", tool_ids[i], "stepscope")) {
            tool = tool_ids[i];
        } else if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            return false;
        } else {
            PyErr_Clear(); /* the id is in use */
        }
    }
    if (tool < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "other tools hold all ids of sys.monitoring; stop one of them "
                        "(sys.monitoring.get_tool says who they are)");
        return false;
    }
    return register_callbacks(callbacks);
}

static bool give_tool_back(void)
{
    bool ok = tool < 0 || (register_callbacks(NULL) && call("free_tool_id", "(l)", tool));
    tool = -1;
    Py_CLEAR(monitoring);
    return ok;
}

/* --- asking ---------------------------------------------------------------------------------- */

static unsigned long wanted_of(const struct ss_code *code)
{
    unsigned long wanted = 0;
    if (code->has_calls || code->has_lines) {
        wanted |= bits[START] | bits[RESUME]; /* they notice when a recording begins */
        if (ss_tracing.is_on) {
            wanted |= bits[RETURN] | bits[YIELD];
            wanted |= code->has_lines ? bits[LINE] : 0;
            wanted |= code->has_calls && code->has_c_calls ? bits[CALL] : 0;
        }
    }
    return wanted;
}

bool ss_listen_to(struct ss_code *code)
{
    return tool < 0 || call("set_local_events", "(lOk)", tool, code->code, wanted_of(code));
}

static bool is_anything_wanted(void)
{
    for (const struct ss_code *code = ss_tracing.codes; code != NULL; code = code->next) {
        if (code->has_calls || code->has_lines) {
            return true;
        }
    }
    return ss_tracing.decide != NULL;
}

/* Held by references: each call may collect garbage, and code objects with it. */
static bool listen_to_all(void)
{
    PyObject *all = PyList_New(0);
    bool ok = all != NULL;
    for (const struct ss_code *code = ss_tracing.codes; ok && code != NULL; code = code->next) {
        ok = PyList_Append(all, code->code) == 0;
    }
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(all); i++) {
        struct ss_code *code = ss_code_known(PyList_GET_ITEM(all, i));
        ok = code == NULL || ss_listen_to(code);
    }
    Py_XDECREF(all);
    return ok;
}

bool ss_listen(void)
{
    bool wanted = is_anything_wanted();
    if (!wanted && tool < 0) {
        return true;
    }
    unsigned long everywhere = 0;
    if (!take_tool()) {
        return false;
    }
    everywhere |= ss_tracing.decide != NULL ? bits[START] : 0;
    everywhere |= wanted && ss_tracing.is_on ? bits[UNWIND] | bits[THROW] : 0;
    bool ok = call("set_events", "(lk)", tool, everywhere) && listen_to_all();
    /* What was disabled before may be wanted now. */
    ok = ok && call("restart_events", "()");
    return ok && (wanted || give_tool_back());
}

bool ss_listen_init(PyObject *module)
{
    (void)module;
    callbacks = PyTuple_New(EVENT_COUNT);
    for (int i = 0; callbacks != NULL && i < EVENT_COUNT; i++) {
        PyObject *callback = PyCFunction_New(&callback_methods[i], NULL);
        if (callback == NULL) {
            return false;
        }
        PyTuple_SET_ITEM(callbacks, i, callback);
    }
    return callbacks != NULL;
}

#endif
