/* SPDX-License-Identifier: Apache-2.0 */
/* The selected code objects, and when their events are enabled in the interpreter. */
#include "tracing.h"

#include <pthread.h>

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

struct ss_tracing ss_tracing;

static Py_ssize_t extra_index = -1;
static PyObject *function_names; /* (qualified name, file, line) → its number */
static bool is_turning;

/* --- code objects ---------------------------------------------------------------------------- */

/* The extra of a code object that was checked and not selected: an odd word with the time of that.
 */
static void *refusal(void)
{
    return (void *)((uintptr_t)ss_tracing.choice << 1 | 1); // NOLINT(performance-no-int-to-ptr)
}

static bool is_refusal(const void *extra)
{
    return ((uintptr_t)extra & 1) != 0;
}

static void *extra_of(PyObject *code)
{
    void *extra = NULL;
    if (extra_index < 0 || PyUnstable_Code_GetExtra(code, extra_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra;
}

struct ss_code *ss_code_known(PyObject *code)
{
    void *extra = extra_of(code);
    return is_refusal(extra) ? NULL : extra;
}

static void unlink_code(struct ss_code *code)
{
    if (code->previous != NULL) {
        code->previous->next = code->next;
    } else {
        ss_tracing.codes = code->next;
    }
    if (code->next != NULL) {
        code->next->previous = code->previous;
    }
}

/* The code object goes. */
static void on_code_end(void *extra)
{
    struct ss_code *code = extra;
    if (code == NULL || is_refusal(extra)) {
        return;
    }
    ss_lines_flush_code(code);
    unlink_code(code);
    PyMem_Free(code->line);
    PyMem_Free(code);
}

static struct ss_code *add_code(PyObject *object)
{
    struct ss_code *code = ss_code_known(object);
    if (code != NULL) {
        return code;
    }
    code = PyMem_Calloc(1, sizeof *code);
    if (code == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (PyUnstable_Code_SetExtra(object, extra_index, code) < 0) {
        PyMem_Free(code);
        return NULL;
    }
    code->code = object;
    code->next = ss_tracing.codes;
    if (code->next != NULL) {
        code->next->previous = code;
    }
    ss_tracing.codes = code;
    return code;
}

/* --- names ----------------------------------------------------------------------------------- */

static stepscope_name define(PyObject *text, PyObject *file, long line)
{
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    PyErr_Clear();
    bytes = bytes != NULL ? bytes : "?";
    stepscope_name name = ss_runtime->function(bytes, strlen(bytes), ss_name_of(file),
                                               line > 0 && line < INT32_MAX ? (uint32_t)line : 0);
    if (name != 0) {
        ss_runtime->style(name, 0, "function");
    }
    return name;
}

/* The number of a function: `place` is (qualified name, file, line). 0: no room, or raised. */
static stepscope_name name_of_function(PyObject *place)
{
    PyObject *known = PyDict_GetItemWithError(function_names, place);
    if (known != NULL || PyErr_Occurred()) {
        return known != NULL ? (stepscope_name)PyLong_AsUnsignedLongMask(known) : 0;
    }
    PyObject *text, *file;
    long line;
    if (!PyArg_ParseTuple(place, "UUl", &text, &file, &line)) {
        return 0;
    }
    stepscope_name name = define(text, file, line);
    PyObject *number = PyLong_FromUnsignedLong(name);
    if (number != NULL) {
        PyDict_SetItem(function_names, place, number);
        Py_DECREF(number);
    }
    return name;
}

static bool give_name(struct ss_code *code, PyObject *place)
{
    if (code->name == 0) {
        code->name = name_of_function(place);
    }
    return !PyErr_Occurred();
}

/* --- deciding -------------------------------------------------------------------------------- */

/* While `decide` runs it is not asked about what it calls. */
static __thread bool is_deciding;

bool ss_is_deciding(void)
{
    return is_deciding;
}

/* `decide` returns None, or ((qualified name, file, line), whether C functions count). */
static struct ss_code *take_decision(PyObject *object, PyObject *decision)
{
    PyObject *place;
    int c_calls;
    if (!PyArg_ParseTuple(decision, "O!p", &PyTuple_Type, &place, &c_calls)) {
        return NULL;
    }
    struct ss_code *code = add_code(object);
    if (code == NULL || !give_name(code, place)) {
        return NULL;
    }
    code->choice = ss_tracing.choice;
    code->has_calls = true;
    code->has_c_calls = c_calls != 0;
    return ss_listen_to(code) ? code : NULL;
}

static struct ss_code *decide(PyObject *object, PyObject *globals)
{
    PyObject *module =
        globals != NULL && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    PyObject *call = ss_tracing.decide; /* it may be replaced meanwhile */
    Py_INCREF(call);
    is_deciding = true;
    PyObject *decision =
        PyObject_CallFunctionObjArgs(call, object, module != NULL ? module : Py_None, NULL);
    is_deciding = false;
    struct ss_code *code = ss_code_known(object);
    if (decision != NULL && decision != Py_None) {
        code = take_decision(object, decision);
    } else if (code != NULL) { /* it is here because of its lines */
        code->choice = ss_tracing.choice;
        code->has_calls = false;
    } else if (decision != NULL) {
        PyUnstable_Code_SetExtra(object, extra_index, refusal());
    }
    Py_XDECREF(decision);
    if (PyErr_Occurred()) { /* a filter of the user's that raises: as if it had said no */
        PyErr_WriteUnraisable(call);
        if (code == NULL) {
            PyUnstable_Code_SetExtra(object, extra_index, refusal());
        }
    }
    Py_DECREF(call);
    return code;
}

struct ss_code *ss_code_of(PyObject *object, PyObject *frame_globals)
{
    void *extra = extra_of(object);
    if (ss_tracing.decide == NULL || is_deciding) {
        return is_refusal(extra) ? NULL : extra;
    }
    if (is_refusal(extra)) {
        return extra == refusal() ? NULL : decide(object, frame_globals);
    }
    struct ss_code *code = extra;
    return code != NULL && code->choice == ss_tracing.choice ? code : decide(object, frame_globals);
}

/* --- on and off ------------------------------------------------------------------------------ */

/* Also when recordings follow each other: ranges that were open are of the one before. */
bool ss_tracing_turn(void)
{
    uint32_t gate = __atomic_load_n(ss_own_gate, __ATOMIC_RELAXED);
    bool wanted =
        (gate & STEPSCOPE_RANGES) != 0 && (ss_tracing.codes != NULL || ss_tracing.decide != NULL);
    if (wanted && gate >> 8 != ss_tracing.recording) {
        ss_tracing.recording = gate >> 8;
        ss_tracing.generation++;
        ss_lines_forget();
    }
    if (wanted != ss_tracing.is_on && !is_turning) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        is_turning = true;
        ss_tracing.is_on = wanted;
        ss_tracing.generation++;
        ss_lines_forget();
        if (!ss_listen()) {
            PyErr_WriteUnraisable(NULL);
            ss_tracing.is_on = false;
        }
        is_turning = false;
        PyErr_Restore(type, value, traceback);
    }
    return wanted && ss_tracing.is_on;
}

void ss_tracing_step(void)
{
    if (ss_tracing.codes == NULL && ss_tracing.decide == NULL) {
        return;
    }
    if (ss_tracing_is_recorded()) {
        ss_lines_flush_for_step();
    }
}

/* The child's ring holds nothing that is open, and what the parent's lines took is the parent's. */
static void after_fork(void)
{
    ss_tracing.generation++;
    ss_lines_forget();
}

/* --- methods of the module ------------------------------------------------------------------- */

/* _trace_functions(decide): what is traced from now on; None: nothing. */
static PyObject *trace_functions(PyObject *module, PyObject *wanted)
{
    (void)module;
    Py_INCREF(wanted);
    Py_XSETREF(ss_tracing.decide, wanted != Py_None ? wanted : NULL);
    if (wanted == Py_None) {
        Py_DECREF(wanted);
    }
    ss_tracing.choice++;
    for (struct ss_code *code = ss_tracing.codes; code != NULL; code = code->next) {
        code->has_calls = code->has_c_calls = false;
    }
    ss_tracing_turn();
    if (!ss_listen()) {
        Py_CLEAR(ss_tracing.decide);
        return NULL;
    }
    Py_RETURN_NONE;
}

enum { MAX_LINES = 1 << 20 };

/* _trace_lines(code, place, first line, last line) */
static PyObject *trace_lines(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object, *place;
    long first, last;
    if (!PyArg_ParseTuple(args, "O!O!ll", &PyCode_Type, &object, &PyTuple_Type, &place, &first,
                          &last)) {
        return NULL;
    }
    if (first < 0 || last < first || last - first >= MAX_LINES) {
        return PyErr_Format(PyExc_ValueError, "lines %ld to %ld are not of one function", first,
                            last);
    }
    struct ss_code *code = add_code(object);
    if (code == NULL || !give_name(code, place)) {
        return NULL;
    }
    if (code->line == NULL) {
        code->first_line = (uint32_t)first;
        code->line_count = (uint32_t)(last - first + 1);
        code->line = PyMem_Calloc(code->line_count, sizeof *code->line);
        if (code->line == NULL) {
            code->line_count = 0;
            return PyErr_NoMemory();
        }
    }
    code->has_lines = true;
    ss_tracing_turn();
    if (!ss_listen()) {
        code->has_lines = false;
        return NULL;
    }
    Py_RETURN_NONE;
}

/* _untrace_lines(code): recorded counts are kept and emitted. */
static PyObject *untrace_lines(PyObject *module, PyObject *object)
{
    (void)module;
    struct ss_code *code = PyCode_Check(object) ? ss_code_known(object) : NULL;
    if (code != NULL && code->has_lines) {
        ss_lines_flush_code(code);
        code->has_lines = false;
        if (!ss_listen()) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

static PyObject *flush_lines(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    ss_lines_flush();
    Py_RETURN_NONE;
}

/* _notice_recording(): one has begun or ended now, which hooks of old Pythons would see late. */
static PyObject *notice_recording(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    ss_tracing_turn();
    Py_RETURN_NONE;
}

/* _end_tracing(): the interpreter ends; selected code still emits events, no more is selected. */
static PyObject *end_tracing(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    ss_lines_flush();
    Py_CLEAR(ss_tracing.decide);
    Py_RETURN_NONE;
}

PyMethodDef ss_tracing_methods[] = {{"_trace_functions", trace_functions, METH_O, NULL},
                                    {"_trace_lines", trace_lines, METH_VARARGS, NULL},
                                    {"_untrace_lines", untrace_lines, METH_O, NULL},
                                    {"_flush_lines", flush_lines, METH_NOARGS, NULL},
                                    {"_notice_recording", notice_recording, METH_NOARGS, NULL},
                                    {"_end_tracing", end_tracing, METH_NOARGS, NULL},
                                    {0}};

bool ss_tracing_init(PyObject *module)
{
    extra_index = PyUnstable_Eval_RequestCodeExtraIndex(on_code_end);
    function_names = PyDict_New();
    pthread_atfork(NULL, NULL, after_fork);
    return function_names != NULL && ss_calls_init() && ss_lines_init() &&
           PyModule_AddFunctions(module, ss_tracing_methods) == 0 && ss_listen_init(module);
}
