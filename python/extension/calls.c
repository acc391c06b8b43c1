/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges around calls: which ones are open on this thread, so that an end belongs to its begin also
 * where calls were not seen from their beginning. */
#include "tracing.h"

#include <pthread.h>
#include <stdlib.h>

/* One of the chosen code objects; NULL: something not written in Python. Only compared: the code
 * may be gone. */
typedef const struct ss_code *open_call;

static __thread struct {
    uint32_t depth, capacity, generation;
    open_call *calls;
} open;
static pthread_key_t open_key;
static stepscope_domain domain;

enum { SEEN_LOG2 = 8, SEEN_COUNT = 1 << SEEN_LOG2 };
/* C functions by what defines them, which stays where it is as long as the reference. */
static struct {
    const void *definition;
    PyObject *reference;
    stepscope_name name;
} seen[SEEN_COUNT];

static bool grow(void)
{
    uint32_t capacity = open.capacity > 0 ? open.capacity * 2 : 64;
    open_call *calls = realloc(open.calls, capacity * sizeof(open_call));
    if (calls == NULL || pthread_setspecific(open_key, calls) != 0) {
        return false;
    }
    open.calls = calls;
    open.capacity = capacity;
    return true;
}

static inline void begin(open_call call, stepscope_name name)
{
    if (__builtin_expect(open.generation != ss_tracing.generation, 0)) {
        open.generation = ss_tracing.generation;
        open.depth = 0;
    }
    if (__builtin_expect(open.depth == open.capacity, 0) && !grow()) {
        return;
    }
    open.calls[open.depth++] = call;
    ss_runtime->push(domain, name);
}

static void end_down_to(uint32_t depth)
{
    while (open.depth > depth) {
        open.depth--;
        ss_runtime->pop(domain);
    }
}

void ss_call_begin(const struct ss_code *code)
{
    begin(code, code->name);
}

/* What was open before it was recorded is not found. What lies above the call has lost its end. */
void ss_call_end(const struct ss_code *code)
{
    if (open.generation != ss_tracing.generation) {
        return;
    }
    if (__builtin_expect(open.depth > 0 && open.calls[open.depth - 1] == code, 1)) {
        open.depth--;
        ss_runtime->pop(domain);
        return;
    }
    for (uint32_t depth = open.depth; depth > 0; depth--) {
        if (open.calls[depth - 1] == code) {
            end_down_to(depth - 1);
            return;
        }
    }
}

/* --- C functions ----------------------------------------------------------------------------- */

static PyObject *text_of(PyObject *callable)
{
    PyObject *name = PyObject_GetAttrString(callable, "__qualname__");
    PyErr_Clear();
    if (name == NULL || !PyUnicode_Check(name)) {
        Py_XDECREF(name);
        return PyUnicode_FromString(Py_TYPE(callable)->tp_name);
    }
    PyObject *module =
        PyCFunction_Check(callable) ? PyObject_GetAttrString(callable, "__module__") : NULL;
    PyErr_Clear();
    if (module != NULL && PyUnicode_Check(module) &&
        PyUnicode_CompareWithASCIIString(module, "builtins") != 0) {
        PyObject *whole = PyUnicode_FromFormat("%U.%U", module, name);
        Py_SETREF(name, whole);
    }
    Py_XDECREF(module);
    return name;
}

static stepscope_name name_of_callable(PyObject *callable)
{
    const void *definition = PyCFunction_Check(callable)
                                 ? (const void *)((PyCFunctionObject *)callable)->m_ml
                             : PyObject_TypeCheck(callable, &PyMethodDescr_Type)
                                 ? (const void *)((PyMethodDescrObject *)callable)->d_method
                                 : (const void *)callable;
    uint64_t mixed = (uint64_t)(uintptr_t)definition * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(mixed >> (64 - SEEN_LOG2));
    if (__builtin_expect(seen[at].definition == definition, 1)) {
        return seen[at].name;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = text_of(callable);
    stepscope_name name = text != NULL ? ss_name_of(text) : 0;
    if (name != 0) {
        ss_runtime->style(name, 0, "function");
    }
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    PyObject *before = seen[at].reference;
    Py_INCREF(callable);
    seen[at].definition = definition;
    seen[at].reference = callable;
    seen[at].name = name;
    Py_XDECREF(before);
    return name;
}

void ss_c_call_begin(PyObject *callable)
{
    begin(NULL, name_of_callable(callable));
}

void ss_c_call_end(void)
{
    if (open.generation == ss_tracing.generation && open.depth > 0 &&
        open.calls[open.depth - 1] == NULL) {
        open.depth--;
        ss_runtime->pop(domain);
    }
}

bool ss_calls_init(void)
{
    domain = ss_runtime->domain("functions");
    return pthread_key_create(&open_key, free) == 0;
}
