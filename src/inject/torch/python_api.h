/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C API of the Python in this process: functions of its limited API, resolved by name, so that
 * one build serves every version from 3.8 on, with and without a GIL. Objects are opaque.
 *
 * The calling thread must be attached to the interpreter.
 */
#ifndef SS_INJECT_TORCH_PYTHON_API_H
#define SS_INJECT_TORCH_PYTHON_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ss_python_object ss_python_object;
typedef ss_python_object *(*ss_python_function)(ss_python_object *self,
                                                ss_python_object *const *args, ptrdiff_t count);

typedef ss_python_object *(*ss_python_function_of_one)(ss_python_object *self,
                                                       ss_python_object *argument);

/* An entry of a callable. `flagged`: the number of positional arguments, and SS_PYTHON_OFFSET; the
 * values of `keywords` (a tuple of names; NULL: none) follow them. */
typedef ss_python_object *(*ss_python_vectorcall)(ss_python_object *callable,
                                                  ss_python_object *const *args, size_t flagged,
                                                  ss_python_object *keywords);
#define SS_PYTHON_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

/* PyMethodDef. Python itself checks that there is no argument (METH_NOARGS: it is NULL) or one
 * (METH_O); functions with more check their count. */
struct ss_python_method {
    const char *name;
    union {
        ss_python_function function;
        ss_python_function_of_one one;
    };
    int flags;
    const char *doc;
};

/* PyType_Spec, PyType_Slot, PyMemberDef, and what stepscope uses of their numbers. */
struct ss_python_slot {
    int slot;
    void *content;
};
struct ss_python_type {
    const char *name;
    int size, item_size;
    unsigned flags;
    struct ss_python_slot *slots;
};
enum {
    SS_PYTHON_TYPE_CALL = 50,
    SS_PYTHON_TYPE_GET = 54,
    SS_PYTHON_TYPE_ATTRIBUTE = 58,
    SS_PYTHON_TYPE_REPR = 66,
    SS_PYTHON_DEFAULT_TYPE = 1 << 18,
    SS_PYTHON_METHOD_TYPE = 1 << 17, /* calls as a method pass the object as an argument */
};

enum {
    SS_PYTHON_NONE = 0x04,
    SS_PYTHON_ONE = 0x08,
    SS_PYTHON_FASTCALL = 0x80,
    SS_PYTHON_FILE_INPUT = 257
};

/* Name, result, arguments. */
#define SS_PYTHON_FUNCTIONS(F)                                                                     \
    F(PyCFunction_NewEx, ss_python_object *,                                                       \
      (struct ss_python_method *, ss_python_object *, ss_python_object *))                         \
    F(PyDict_New, ss_python_object *, (void))                                                      \
    F(PyDict_GetItem, ss_python_object *, (ss_python_object *, ss_python_object *))                \
    F(PyDict_SetItem, int, (ss_python_object *, ss_python_object *, ss_python_object *))           \
    F(PyDict_SetItemString, int, (ss_python_object *, const char *, ss_python_object *))           \
    F(PyDict_GetItemString, ss_python_object *, (ss_python_object *, const char *))                \
    F(PyErr_Clear, void, (void))                                                                   \
    F(PyErr_ExceptionMatches, int, (ss_python_object *))                                           \
    F(PyErr_Fetch, void, (ss_python_object **, ss_python_object **, ss_python_object **))          \
    F(PyErr_Occurred, ss_python_object *, (void))                                                  \
    F(PyErr_Restore, void, (ss_python_object *, ss_python_object *, ss_python_object *))           \
    F(PyErr_SetInterrupt, void, (void))                                                            \
    F(PyErr_SetString, void, (ss_python_object *, const char *))                                   \
    F(PyEval_EvalCode, ss_python_object *,                                                         \
      (ss_python_object *, ss_python_object *, ss_python_object *))                                \
    F(PyEval_GetBuiltins, ss_python_object *, (void))                                              \
    F(PyFloat_AsDouble, double, (ss_python_object *))                                              \
    F(PyGILState_Check, int, (void))                                                               \
    F(PyImport_ImportModule, ss_python_object *, (const char *))                                   \
    F(PyLong_AsLongLong, long long, (ss_python_object *))                                          \
    F(PyLong_FromLongLong, ss_python_object *, (long long))                                        \
    F(PyObject_CallFunctionObjArgs, ss_python_object *, (ss_python_object *, ...))                 \
    F(PyObject_Call, ss_python_object *,                                                           \
      (ss_python_object *, ss_python_object *, ss_python_object *))                                \
    F(PyObject_GenericGetAttr, ss_python_object *, (ss_python_object *, ss_python_object *))       \
    F(PyObject_GetAttr, ss_python_object *, (ss_python_object *, ss_python_object *))              \
    F(PyObject_GetAttrString, ss_python_object *, (ss_python_object *, const char *))              \
    F(PyObject_IsTrue, int, (ss_python_object *))                                                  \
    F(PyObject_Repr, ss_python_object *, (ss_python_object *))                                     \
    F(PyObject_Str, ss_python_object *, (ss_python_object *))                                      \
    F(PyObject_Type, ss_python_object *, (ss_python_object *))                                     \
    F(PySys_GetObject, ss_python_object *, (const char *))                                         \
    F(PyTuple_GetItem, ss_python_object *, (ss_python_object *, ptrdiff_t))                        \
    F(PyTuple_New, ss_python_object *, (ptrdiff_t))                                                \
    F(PyTuple_SetItem, int, (ss_python_object *, ptrdiff_t, ss_python_object *))                   \
    F(PyTuple_Size, ptrdiff_t, (ss_python_object *))                                               \
    F(PyType_FromSpec, ss_python_object *, (struct ss_python_type *))                              \
    F(PyUnicode_AsUTF8, const char *, (ss_python_object *))                                        \
    F(PyUnicode_FromString, ss_python_object *, (const char *))                                    \
    F(PyUnicode_InternFromString, ss_python_object *, (const char *))                              \
    F(Py_CompileString, ss_python_object *, (const char *, const char *, int))                     \
    F(Py_DecRef, void, (ss_python_object *))                                                       \
    F(Py_IncRef, void, (ss_python_object *))                                                       \
    F(Py_IsInitialized, int, (void))

/* The same of functions that some versions lack, which are NULL there. */
#define SS_PYTHON_OPTIONAL(F)                                                                      \
    F(PyFunction_SetVectorcall, void, (ss_python_object *, ss_python_vectorcall)) /* 3.12 */       \
    F(PyMethod_New, ss_python_object *, (ss_python_object *, ss_python_object *))                  \
    F(PyThreadState_EnterTracing, void, (void *)) /* 3.11 */                                       \
    F(PyThreadState_Get, void *, (void))                                                           \
    F(PyThreadState_LeaveTracing, void, (void *))                                                  \
    F(PyVectorcall_Function, ss_python_vectorcall, (ss_python_object *)) /* 3.11 */

struct ss_python_api {
#define SS_PYTHON_MEMBER(name, result, arguments) result(*name) arguments;
    SS_PYTHON_FUNCTIONS(SS_PYTHON_MEMBER)
    SS_PYTHON_OPTIONAL(SS_PYTHON_MEMBER)
#undef SS_PYTHON_MEMBER
    ss_python_vectorcall call_function; /* the entry of functions; NULL: unknown, from 3.13 on */
    ss_python_object *none, *truth, *type_error, *interrupt; /* borrowed */
};

extern struct ss_python_api ss_python;

/* Call it once, before any other function. false: this Python is unsupported; *missing is the
 * symbol that it lacks. */
bool ss_python_find(const char **missing);

/* Clears the current exception, if any. A KeyboardInterrupt is raised again later, for the program:
 * its signal came while code of ours ran. */
void ss_python_drop_exception(void);

/* Until the tracing is resumed, the program's profilers, tracers and debuggers see nothing of this
 * thread: what runs is ours. From 3.11 on. Returns the argument of the resumption. */
static inline void *ss_python_suspend_tracing(void)
{
    void *thread = ss_python.PyThreadState_EnterTracing != NULL &&
                           ss_python.PyThreadState_LeaveTracing != NULL &&
                           ss_python.PyThreadState_Get != NULL
                       ? ss_python.PyThreadState_Get()
                       : NULL;
    if (thread != NULL) {
        ss_python.PyThreadState_EnterTracing(thread);
    }
    return thread;
}

static inline void ss_python_resume_tracing(void *thread)
{
    if (thread != NULL) {
        ss_python.PyThreadState_LeaveTracing(thread);
    }
}

static inline ss_python_object *ss_python_none(void)
{
    ss_python.Py_IncRef(ss_python.none);
    return ss_python.none;
}

#endif
