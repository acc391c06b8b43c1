/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callables for the guard of the hooks (torch_hooks/guard.py) that are not functions of Python:
 * profilers and tracers of the program do not see them, tracebacks have no frame of them, and what
 * a program asks about them the function answers that they stand for. Their time is that of hooks.
 *
 * A step of tiny operators calls each of these once in 100 us. By then the caches hold nothing of
 * ours, and Python code takes ten times what it takes in a loop. So phases and updates have notes,
 * as calls of modules have (torch_outermost.h): between two phases, what a function has done once
 * is done without it.
 */
#include <string.h>

#include "annot/automatic.h"
#include "annot/process.h"
#include "inject/torch/torch.h"
#include "inject/torch/torch_hook_cost.h"
#include "inject/torch/torch_outermost.h"

enum kind {
    HANDLER,       /* what a wrapper calls: the function */
    AFTER,         /* a function of torch, then `after` if this is the phase */
    BEGINS_PHASE,  /* (args, kwargs) → the previous phase; of a call that trains */
    BEGINS_UPDATE, /* (args of an optimizer, kwargs) → a token */
    ENDS_UPDATE,   /* (token); `after` marks the end of a step */
    LEAVES         /* (the previous phase) */
};

/* Behind the head of the object. */
struct callable {
    ss_python_object *function, *after;
    const ss_python_object *optimizer; /* BEGINS_UPDATE: the noted one */
    enum kind kind;
    uint32_t phase;
    uint32_t generation, gate; /* of the note; generation 0: none */
    bool is_first;             /* the first that its wrapper calls */
};

/* This thread is in an update that began by a note. */
static _Thread_local bool is_updating;

static ss_python_object *type;
static size_t head_bytes; /* of an object: differs in builds without a GIL */

static struct callable *content_of(ss_python_object *object)
{
    return (struct callable *)((char *)object + head_bytes);
}

/* --- calls ------------------------------------------------------------------------------------ */

static ss_python_object *call_function(const struct callable *callable, ss_python_object *args,
                                       ss_python_object *named)
{
    void *tracing = ss_python_suspend_tracing();
    ss_python_object *result = ss_python.PyObject_Call(callable->function, args, named);
    ss_python_resume_tracing(tracing);
    return result;
}

static bool has_note(const struct callable *callable)
{
    return callable->generation == ss_torch_outermost_generation();
}

static bool is_between_phases(void)
{
    return ss_automatic_is_between_phases() && !ss_torch_is_off();
}

/* The function's result, and whether it did what the note will do. */
static ss_python_object *call_and_note(struct callable *callable, ss_python_object *args,
                                       ss_python_object *named, bool *has_begun)
{
    uint32_t generation = ss_torch_outermost_generation();
    ss_python_object *result = call_function(callable, args, named);
    *has_begun = result != NULL && result != ss_python.none &&
                 ss_automatic_phase() == callable->phase &&
                 generation == ss_torch_outermost_generation();
    callable->generation = *has_begun ? generation : 0;
    return result;
}

static ss_python_object *begin_phase(struct callable *callable, ss_python_object *args,
                                     ss_python_object *named)
{
    bool has_begun;
    if (!is_between_phases()) {
        return call_function(callable, args, named);
    }
    if (!has_note(callable)) {
        return call_and_note(callable, args, named, &has_begun);
    }
    ss_automatic_train();
    return ss_python.PyLong_FromLongLong(ss_automatic_enter(callable->phase));
}

/* The token of the function says last whether the update ends a step. */
static ss_python_object *begin_update(struct callable *callable, ss_python_object *args,
                                      ss_python_object *named)
{
    enum { ENDS_STEP = 2 };
    bool has_begun;
    ss_python_object *own = ss_python.PyTuple_GetItem(args, 0);
    ss_python_object *optimizer = own != NULL ? ss_python.PyTuple_GetItem(own, 0) : NULL;
    if (optimizer == NULL || !is_between_phases()) {
        ss_python_drop_exception();
        return call_function(callable, args, named);
    }
    if (!has_note(callable) || callable->optimizer != optimizer) {
        ss_python_object *token = call_and_note(callable, args, named, &has_begun);
        bool ends_step = has_begun && ss_python.PyObject_IsTrue(
                                          ss_python.PyTuple_GetItem(token, ENDS_STEP)) == 1;
        callable->optimizer = ends_step ? optimizer : NULL;
        return token;
    }
    ss_automatic_begin();
    is_updating = true;
    return ss_python.PyLong_FromLongLong(ss_automatic_enter(callable->phase));
}

/* Python ends the step where something is polled, and returns whether that was all that it did. */
static ss_python_object *mark_end_of_step(struct callable *callable)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    if (has_note(callable) && callable->gate == gate &&
        !ss_torch_is_poll_due(ss_torch_count_updates(0) + 1)) {
        ss_torch_count_updates(1);
        ss_torch_end_step();
        return ss_python_none();
    }
    void *tracing = ss_python_suspend_tracing();
    ss_python_object *result = ss_python.PyObject_CallFunctionObjArgs(callable->after, NULL);
    ss_python_resume_tracing(tracing);
    bool is_plain = result != NULL && ss_python.PyObject_IsTrue(result) == 1;
    callable->generation = is_plain ? ss_torch_outermost_generation() : 0;
    callable->gate = gate;
    return result;
}

/* An optimizer that another one calls has no token: its end belongs to the outer update. */
static ss_python_object *end_update(struct callable *callable, ss_python_object *args,
                                    ss_python_object *named)
{
    if (!is_updating) {
        return call_function(callable, args, named);
    }
    is_updating = false;
    ss_automatic_leave(ss_python.PyLong_AsLongLong(ss_python.PyTuple_GetItem(args, 0)));
    return mark_end_of_step(callable);
}

static ss_python_object *call_handler(struct callable *callable, ss_python_object *args,
                                      ss_python_object *named)
{
    switch (callable->kind) {
    case BEGINS_PHASE:
        return begin_phase(callable, args, named);
    case BEGINS_UPDATE:
        return begin_update(callable, args, named);
    case ENDS_UPDATE:
        return end_update(callable, args, named);
    case LEAVES:
        ss_automatic_leave(ss_python.PyLong_AsLongLong(ss_python.PyTuple_GetItem(args, 0)));
        return ss_python_none();
    case HANDLER:
    case AFTER:
        break;
    }
    return call_function(callable, args, named);
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

static ss_python_object *call_torch(const struct callable *callable, ss_python_object *args,
                                    ss_python_object *named)
{
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

static ss_python_object *call(ss_python_object *self, ss_python_object *args,
                              ss_python_object *named)
{
    struct callable *callable = content_of(self);
    if (callable->kind == AFTER) {
        return call_torch(callable, args, named);
    }
    if (callable->is_first) {
        ss_torch_hook_cost_count_wrapper();
    }
    bool is_measured = ss_torch_hook_cost_enter();
    ss_python_object *result = call_handler(callable, args, named);
    ss_torch_hook_cost_leave(is_measured);
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
    return make((struct callable){
        .kind = HANDLER, .function = args[0], .is_first = ss_python.PyObject_IsTrue(args[1]) == 1});
}

/* leave_phase */
static ss_python_object *make_leave(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return make((struct callable){.kind = LEAVES, .function = argument});
}

static ss_python_object *make_with_phase(struct callable content, ss_python_object *phase)
{
    content.phase = (uint32_t)ss_python.PyLong_AsLongLong(phase);
    return make(content);
}

/* a function, what runs after it, the phase in which that runs */
static ss_python_object *make_after(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    (void)self;
    return ss_torch_has_arguments(count, 3)
               ? make_with_phase(
                     (struct callable){.kind = AFTER, .function = args[0], .after = args[1]},
                     args[2])
               : NULL;
}

/* the function that begins a phase, the phase. It depends on nothing that the notes do not follow.
 */
static ss_python_object *make_begin(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    (void)self;
    return ss_torch_has_arguments(count, 2)
               ? make_with_phase(
                     (struct callable){.kind = BEGINS_PHASE, .function = args[0], .is_first = true},
                     args[1])
               : NULL;
}

/* the same of an optimizer's update, whose token is a tuple that says last whether a step ends */
static ss_python_object *make_update(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    (void)self;
    return ss_torch_has_arguments(count, 2)
               ? make_with_phase((struct callable){.kind = BEGINS_UPDATE,
                                                   .function = args[0],
                                                   .is_first = true},
                                 args[1])
               : NULL;
}

/* the function that ends an update; what of it marks the end of a step, and returns whether it did
 * no more */
static ss_python_object *make_update_end(ss_python_object *self, ss_python_object *const *args,
                                         ptrdiff_t count)
{
    (void)self;
    return ss_torch_has_arguments(count, 2)
               ? make((struct callable){.kind = ENDS_UPDATE, .function = args[0], .after = args[1]})
               : NULL;
}

/* → truth: this thread is in an update that Python does not know of */
static ss_python_object *is_in_update(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyLong_FromLongLong(is_updating);
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
    {"make_leave", {.one = make_leave}, SS_PYTHON_ONE},
    {"make_after", {make_after}, SS_PYTHON_FASTCALL},
    {"make_begin", {make_begin}, SS_PYTHON_FASTCALL},
    {"make_update", {make_update}, SS_PYTHON_FASTCALL},
    {"make_update_end", {make_update_end}, SS_PYTHON_FASTCALL},
    {"is_in_update", {.one = is_in_update}, SS_PYTHON_NONE},
    {"set_wrapper_cost", {.one = set_wrapper_cost}, SS_PYTHON_ONE},
};

bool ss_torch_add_callable_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
