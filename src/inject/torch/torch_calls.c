/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of nn.Module without Python code of ours. Every function of Python has an entry, which the
 * interpreter calls where it does not run the function's code itself (PEP 590). The function that
 * Module.__call__ is gets the entry below. It begins and ends the call and lets the interpreter run
 * torch's function in between: with the same frames, lines and profiler events as without hooks.
 * Python runs only what torch_hooks/modules.py does for calls of outermost modules that
 * torch_outermost.h has no note of.
 */
#include <string.h>

#include "inject/torch/torch_hook_cost.h"
#include "inject/torch/torch_modules.h"
#include "inject/torch/torch_outermost.h"

enum { MOST_FUNCTION_BYTES = 512 };

/* Set once, before the entry is used. */
static struct {
    ss_python_vectorcall call; /* the interpreter's entry */
    ss_python_object *inner;   /* torch's function */
    ss_python_object *begin, *name, *end;
    ss_python_object *compiler, *flag; /* the dict of torch.compiler; NULL: it has no such flag */
} hooked;

struct call {
    enum ss_torch_module_call kind;
    struct ss_torch_phase phase;
};

static bool is_compiling(void)
{
    return hooked.compiler != NULL &&
           ss_python.PyDict_GetItem(hooked.compiler, hooked.flag) == ss_python.truth;
}

/* --- begin ------------------------------------------------------------------------------------ */

/* The positional arguments after the module, as a tuple. */
static ss_python_object *tuple_of(ss_python_object *const *args, size_t count)
{
    ss_python_object *tuple = ss_python.PyTuple_New((ptrdiff_t)count);
    for (size_t i = 0; i < count && tuple != NULL; i++) {
        ss_python.Py_IncRef(args[i]);
        ss_python.PyTuple_SetItem(tuple, (ptrdiff_t)i, args[i]);
    }
    return tuple;
}

/* NULL: an exception is set. `values` are those of the keywords. */
static ss_python_object *dict_of(ss_python_object *keywords, ss_python_object *const *values)
{
    ss_python_object *dict = ss_python.PyDict_New();
    ptrdiff_t count = keywords != NULL ? ss_python.PyTuple_Size(keywords) : 0;
    for (ptrdiff_t i = 0; i < count && dict != NULL; i++) {
        if (ss_python.PyDict_SetItem(dict, ss_python.PyTuple_GetItem(keywords, i), values[i]) !=
            0) {
            ss_python.Py_DecRef(dict);
            dict = NULL;
        }
    }
    return dict;
}

/* Drops the result. false: it is NULL, and an exception of the program is set: those of hooks do
 * not leave them. */
static bool put_number(ss_python_object *result, int64_t *number)
{
    if (result != NULL) {
        *number = ss_python.PyLong_AsLongLong(result);
        ss_python.Py_DecRef(result);
    }
    return result != NULL;
}

static bool begin_in_python(ss_python_object *const *args, size_t count, ss_python_object *keywords,
                            int64_t *before)
{
    ss_python_object *positional = tuple_of(args + 1, count - 1),
                     *named = positional != NULL ? dict_of(keywords, args + count) : NULL;
    bool passes = true;
    void *tracing = ss_python_suspend_tracing();
    if (named != NULL) {
        passes = put_number(
            ss_python.PyObject_CallFunctionObjArgs(hooked.begin, args[0], positional, named, NULL),
            before);
    } else {
        ss_python_drop_exception(); /* no memory: the call has no phase */
    }
    ss_python_resume_tracing(tracing);
    ss_python_object *const owned[] = {positional, named};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    return passes;
}

/* false: an exception of the program is set. */
static bool begin(struct call *call, ss_python_object *const *args, size_t count,
                  ss_python_object *keywords)
{
    int64_t ignored;
    bool passes = true;
    call->phase = (struct ss_torch_phase){.before = -1};
    call->kind = ss_torch_module_enter(args[0]);
    if (call->kind == SS_TORCH_MODULE_OUTERMOST) {
        passes = ss_torch_outermost_begin(args, count, keywords, &call->phase) ||
                 begin_in_python(args, count, keywords, &call->phase.before);
    } else if (call->kind == SS_TORCH_MODULE_UNNAMED) {
        void *tracing = ss_python_suspend_tracing();
        passes = put_number(ss_python.PyObject_CallFunctionObjArgs(hooked.name, args[0], NULL),
                            &ignored);
        ss_python_resume_tracing(tracing);
    } else {
        return true;
    }
    call->kind = ss_torch_module_push(args[0]);
    return passes;
}

/* --- end -------------------------------------------------------------------------------------- */

static bool end_in_python(int64_t before)
{
    int64_t ignored;
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    void *tracing = ss_python_suspend_tracing();
    ss_python_object *number = ss_python.PyLong_FromLongLong(before);
    bool passes =
        number != NULL &&
        put_number(ss_python.PyObject_CallFunctionObjArgs(hooked.end, number, NULL), &ignored);
    if (number != NULL) {
        ss_python.Py_DecRef(number);
    }
    ss_python_resume_tracing(tracing);
    if (passes) {
        ss_python.PyErr_Restore(type, value, traceback);
        return true;
    }
    ss_python_object *const replaced[] = {type, value, traceback}; /* as in a `finally` */
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        if (replaced[i] != NULL) {
            ss_python.Py_DecRef(replaced[i]);
        }
    }
    return false;
}

/* false: an exception of the program is set, which another hook interrupted. */
static bool end(const struct call *call)
{
    ss_torch_module_leave(call->kind);
    return call->phase.before < 0 || ss_torch_outermost_end(&call->phase) ||
           end_in_python(call->phase.before);
}

/* --- the entry -------------------------------------------------------------------------------- */

static ss_python_object *call_module(ss_python_object *function, ss_python_object *const *args,
                                     size_t flagged, ss_python_object *keywords)
{
    struct call call;
    size_t count = flagged & ~SS_PYTHON_OFFSET;
    (void)function;
    if (count == 0 || is_compiling()) {
        return hooked.call(hooked.inner, args, flagged, keywords);
    }
    bool is_measured = ss_torch_hook_cost_enter();
    bool passes = begin(&call, args, count, keywords);
    ss_torch_hook_cost_leave(is_measured);
    ss_python_object *result = passes ? hooked.call(hooked.inner, args, flagged, keywords) : NULL;
    is_measured = ss_torch_hook_cost_enter();
    passes = end(&call);
    ss_torch_hook_cost_leave(is_measured);
    if (!passes && result != NULL) {
        ss_python.Py_DecRef(result);
        result = NULL;
    }
    return result;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static ss_python_vectorcall entry_of(ss_python_object *function)
{
    return ss_python.PyVectorcall_Function != NULL ? ss_python.PyVectorcall_Function(function)
                                                   : ss_python.call_function;
}

/* Before 3.12 there is no function that sets an entry: it is the one word of the object that holds
 * the interpreter's. */
static bool replace_entry(ss_python_object *function, size_t bytes, ss_python_vectorcall from,
                          ss_python_vectorcall to)
{
    char *object = (char *)function, *found = NULL;
    if (ss_python.PyFunction_SetVectorcall != NULL) {
        ss_python.PyFunction_SetVectorcall(function, to);
        return true;
    }
    for (size_t at = 2 * sizeof from; at + sizeof from <= bytes && bytes <= MOST_FUNCTION_BYTES;
         at += sizeof from) {
        if (memcmp(object + at, &from, sizeof from) == 0) {
            if (found != NULL) {
                return false;
            }
            found = object + at;
        }
    }
    if (found != NULL) {
        memcpy(found, &to, sizeof to);
    }
    return found != NULL;
}

/* A function of Python and its size, torch's function that it is called instead of; callables of
 * Python: begin (module, args, kwargs → the previous phase, < 0: none), name (module → a number),
 * end (the previous phase → a number); the dict of torch.compiler, or None. → truth: the function
 * has the entry */
static ss_python_object *hook_module_calls(ss_python_object *self, ss_python_object *const *args,
                                           ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 7)) {
        return NULL;
    }
    size_t bytes = (size_t)ss_python.PyLong_AsLongLong(args[1]);
    ss_python_vectorcall entry = entry_of(args[2]);
    if (entry == NULL || entry != entry_of(args[0]) || hooked.inner != NULL) {
        return ss_python.PyLong_FromLongLong(false);
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        ss_python.Py_IncRef(args[i]);
    }
    hooked.call = entry;
    hooked.inner = args[2];
    hooked.begin = args[3];
    hooked.name = args[4];
    hooked.end = args[5];
    hooked.flag = ss_python.PyUnicode_InternFromString("_is_compiling_flag");
    hooked.compiler = args[6] != ss_python.none && hooked.flag != NULL ? args[6] : NULL;
    return ss_python.PyLong_FromLongLong(replace_entry(args[0], bytes, entry, call_module));
}

static struct ss_python_method methods[] = {
    {"hook_module_calls", {hook_module_calls}, SS_PYTHON_FASTCALL},
};

bool ss_torch_add_call_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
