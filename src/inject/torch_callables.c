/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callables for the guard of the hooks (torch_hooks/guard.py) that are no functions of Python:
 * profilers and tracers of the program do not see them, tracebacks have no frame of them, and what
 * a program asks about them the function answers that they stand for. Their time is that of hooks.
 *
 * A handler: what a wrapper calls. After-calls: a function that is followed by a handler.
 */
#include <string.h>

#include "annot/automatic.h"
#include "inject/torch.h"
#include "inject/torch_hook_cost.h"

/* Behind the head of the object. */
struct callable {
    ss_python_object *function; /* the handler; of after-calls the function of torch */
    ss_python_object *after;    /* NULL: a handler */
    uint32_t phase;             /* after-calls: the handler is called in this phase only */
    bool is_first;              /* a handler: the first that its wrapper calls */
};

static ss_python_object *type;
static size_t head_bytes; /* of an object: differs in builds without a GIL */

static struct callable *content_of(ss_python_object *object)
{
    return (struct callable *)((char *)object + head_bytes);
}

/* --- calls ------------------------------------------------------------------------------------ */

static ss_python_object *call_handler(const struct callable *handler, ss_python_object *args,
                                      ss_python_object *named)
{
    if (handler->is_first) {
        ss_torch_hook_cost_count_wrapper();
    }
    bool is_measured = ss_torch_hook_cost_enter();
    void *tracing = ss_python_suspend_tracing();
    ss_python_object *result = ss_python.PyObject_Call(handler->function, args, named);
    ss_python_resume_tracing(tracing);
    ss_torch_hook_cost_leave(is_measured);
    return result;
}

/* Returns false if the handler lets an exception of the program pass, which replaces another one.
 */
static bool run_after(const struct callable *callable)
{
    ss_python_object *exception[3] = {NULL};
    ss_python.PyErr_Fetch(&exception[0], &exception[1], &exception[2]);
    void *tracing = ss_python_suspend_tracing();
    ss_python_object *result = ss_python.PyObject_CallFunctionObjArgs(callable->after, NULL);
    ss_python_resume_tracing(tracing);
    if (result != NULL) {
        ss_python.Py_DecRef(result);
        ss_python.PyErr_Restore(exception[0], exception[1], exception[2]);
        return true;
    }
    for (size_t i = 0; i < 3; i++) {
        if (exception[i] != NULL) {
            ss_python.Py_DecRef(exception[i]);
        }
    }
    return false;
}

static ss_python_object *call(ss_python_object *self, ss_python_object *args,
                              ss_python_object *named)
{
    const struct callable *callable = content_of(self);
    if (callable->after == NULL) {
        return call_handler(callable, args, named);
    }
    ss_python_object *result = ss_python.PyObject_Call(callable->function, args, named);
    bool is_measured = ss_torch_hook_cost_enter();
    bool passes = ss_automatic_phase() != callable->phase || run_after(callable);
    ss_torch_hook_cost_leave(is_measured);
    if (!passes && result != NULL) {
        ss_python.Py_DecRef(result);
        result = NULL;
    }
    return result;
}

/* --- what a program asks about them ----------------------------------------------------------- */

static ss_python_object *borrowed(ss_python_object *object)
{
    ss_python.Py_IncRef(object);
    return object;
}

/* As a method of a class. */
static ss_python_object *bind(ss_python_object *self, ss_python_object *object,
                              ss_python_object *of_type)
{
    (void)of_type;
    bool is_bound = object != NULL && object != ss_python.none;
    return is_bound ? ss_python.PyMethod_New(self, object) : borrowed(self);
}

static ss_python_object *attribute(ss_python_object *self, ss_python_object *name)
{
    const char *text = ss_python.PyUnicode_AsUTF8(name);
    if (text == NULL) {
        return NULL;
    }
    if (strcmp(text, "__wrapped__") == 0) {
        return borrowed(content_of(self)->function);
    }
    if (strcmp(text, "_stepscope") == 0) {
        return borrowed(ss_python.truth);
    }
    return ss_python.PyObject_GetAttr(content_of(self)->function, name);
}

static ss_python_object *repr(ss_python_object *self)
{
    return ss_python.PyObject_Repr(content_of(self)->function);
}

/* --- functions for Python --------------------------------------------------------------------- */

static bool make_type(ss_python_object *object_bytes)
{
    static struct ss_python_slot slots[5] = {{SS_PYTHON_TYPE_CALL, NULL},
                                             {SS_PYTHON_TYPE_GET, NULL},
                                             {SS_PYTHON_TYPE_ATTRIBUTE, NULL},
                                             {SS_PYTHON_TYPE_REPR, NULL}};
    head_bytes = (size_t)ss_python.PyLong_AsLongLong(object_bytes);
    struct ss_python_type spec = {.name = "stepscope.function",
                                  .size = (int)(head_bytes + sizeof(struct callable)),
                                  .flags = SS_PYTHON_DEFAULT_TYPE | SS_PYTHON_METHOD_TYPE,
                                  .slots = slots};
    *(ss_python_object * (**)(ss_python_object *, ss_python_object *, ss_python_object *)) &
        slots[0].content = call;
    *(ss_python_object * (**)(ss_python_object *, ss_python_object *, ss_python_object *)) &
        slots[1].content = bind;
    *(ss_python_object * (**)(ss_python_object *, ss_python_object *)) & slots[2].content =
        attribute;
    *(ss_python_object * (**)(ss_python_object *)) & slots[3].content = repr;
    type = ss_python.PyType_FromSpec(&spec);
    return type != NULL;
}

/* It holds its functions for ever: hooks are not removed. */
static ss_python_object *make(struct callable content)
{
    ss_python_object *made = ss_python.PyObject_CallFunctionObjArgs(type, NULL);
    if (made != NULL) {
        ss_python.Py_IncRef(content.function);
        if (content.after != NULL) {
            ss_python.Py_IncRef(content.after);
        }
        *content_of(made) = content;
    }
    return made;
}

/* size of an object → truth: there are such callables */
static ss_python_object *define_callables(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    bool has_type = ss_python.PyMethod_New != NULL && (type != NULL || make_type(argument));
    ss_python_drop_exception();
    return ss_python.PyLong_FromLongLong(has_type);
}

/* a function, truth: it is the first that its wrapper calls */
static ss_python_object *make_handler(ss_python_object *self, ss_python_object *const *args,
                                      ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    return make((struct callable){.function = args[0],
                                  .is_first = ss_python.PyObject_IsTrue(args[1]) == 1});
}

/* a function, what runs after it, the phase in which that runs */
static ss_python_object *make_after(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 3)) {
        return NULL;
    }
    return make((struct callable){.function = args[0],
                                  .after = args[1],
                                  .phase = (uint32_t)ss_python.PyLong_AsLongLong(args[2])});
}

/* ns */
static ss_python_object *set_wrapper_cost(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_torch_hook_cost_set_wrapper((uint64_t)ss_python.PyLong_AsLongLong(argument));
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"define_callables", {.one = define_callables}, SS_PYTHON_ONE},
    {"make_handler", {make_handler}, SS_PYTHON_FASTCALL},
    {"make_after", {make_after}, SS_PYTHON_FASTCALL},
    {"set_wrapper_cost", {.one = set_wrapper_cost}, SS_PYTHON_ONE},
};

bool ss_torch_add_callable_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
