/* SPDX-License-Identifier: Apache-2.0 */
/* annotate: a range as a context manager, and as a decorator. */
#include "extension.h" /* Python.h wants to be first */

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* --- what this thread has open --- */

/* The domain of each open `with`, plus 1; 0 when nothing was recorded as it was entered. `__exit__`
 * is called without its object (see below), so the order identifies it. */
struct scopes {
    uint32_t depth, capacity;
    uint16_t domains[];
};
static struct scopes no_scopes; /* of a thread before its first: neither to enter nor to exit */
/* One word that is found without a call. glibc keeps room for that in libraries that are loaded
 * later; musl keeps none and refuses to load them. */
#ifdef __GLIBC__
#define FOUND_WITHOUT_A_CALL __attribute__((tls_model("initial-exec")))
#else
#define FOUND_WITHOUT_A_CALL
#endif
static __thread struct scopes *scopes FOUND_WITHOUT_A_CALL = &no_scopes;
static pthread_key_t scopes_key;

static struct scopes *grow_scopes(struct scopes *old)
{
    uint32_t depth = old->depth, capacity = old->capacity > 0 ? old->capacity * 2 : 64;
    struct scopes *grown =
        realloc(old != &no_scopes ? old : NULL, sizeof *grown + capacity * sizeof *grown->domains);
    if (grown == NULL) {
        return NULL;
    }
    grown->depth = depth;
    grown->capacity = capacity;
    scopes = grown;
    pthread_setspecific(scopes_key, grown); /* without, it outlives the thread: no harm */
    return grown;
}

/* The thread ends. Python code that it runs after this begins again. */
static void free_scopes(void *ended)
{
    scopes = &no_scopes;
    free(ended);
}

bool ss_scope_enter(struct ss_label *label)
{
    struct scopes *mine = scopes;
    if (__builtin_expect(mine->depth == mine->capacity, 0)) {
        mine = grow_scopes(mine);
        if (mine == NULL) {
            PyErr_NoMemory();
            return false;
        }
    }
    uint16_t open = 0;
    if (ss_recording(STEPSCOPE_RANGES)) {
        open = (uint16_t)(label->domain + 1);
        ss_label_push(label);
    }
    mine->domains[mine->depth++] = open;
    return true;
}

void ss_scope_exit(void)
{
    struct scopes *mine = scopes;
    if (mine->depth == 0) {
        return; /* more exits than enters */
    }
    uint16_t open = mine->domains[--mine->depth];
    if (open != 0) {
        ss_runtime->pop(open - 1u);
    }
}

/* --- the type --- */

/* `with` asks for a bound `__enter__` and calls it at once. Before Python 3.14 that makes an object
 * each time, which costs as much as half the range: here it lies in the range's own object, and
 * keeps that alive while it is referenced. */
#if PY_VERSION_HEX < 0x030e0000 && !defined(Py_GIL_DISABLED)
#define BOUND_INSIDE 1
#endif

struct bound_enter {
    PyObject_HEAD vectorcallfunc call;
};

struct annotate {
    PyObject_HEAD struct ss_label label;
#if BOUND_INSIDE
    struct bound_enter enter;
#endif
};

static struct annotate *new_annotate(void)
{
    struct annotate *self = PyObject_New(struct annotate, &ss_annotate_type);
#if BOUND_INSIDE
    if (self != NULL) {
        self->enter.ob_base.ob_refcnt = 0; /* Py_SET_REFCNT does not change immortal objects */
    }
#endif
    return self;
}

static PyObject *make(PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    struct ss_label label;
    PyObject *first;
    if (!ss_label_parse(&label, "annotate", args, count, keywords, &first)) {
        return NULL;
    }
    if (first != NULL) { /* @annotate, without a call */
        return ss_wrap(first, &label);
    }
    struct annotate *self = new_annotate();
    if (self == NULL) {
        Py_CLEAR(label.text);
        return NULL;
    }
    self->label = label;
    return (PyObject *)self;
}

PyObject *ss_annotate_from(const struct ss_label *label)
{
    struct annotate *self = new_annotate();
    if (self != NULL) {
        self->label = ss_label_copy(label);
        Py_XINCREF(self->label.text);
    }
    return (PyObject *)self;
}

const struct ss_label *ss_annotate_label(PyObject *object)
{
    return Py_TYPE(object) == &ss_annotate_type ? &((struct annotate *)object)->label : NULL;
}

static PyObject *annotate_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type;
    PyObject *values[16], *key, *value;
    Py_ssize_t count = PyTuple_GET_SIZE(args), position = 0, at = 0;
    Py_ssize_t keyword_count = kwargs != NULL ? PyDict_GET_SIZE(kwargs) : 0;
    if (count + keyword_count > (Py_ssize_t)(sizeof values / sizeof *values)) {
        PyErr_SetString(PyExc_TypeError, "annotate() got too many arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = PyTuple_GET_ITEM(args, i);
    }
    PyObject *keywords = keyword_count > 0 ? PyTuple_New(keyword_count) : NULL;
    if (keyword_count > 0 && keywords == NULL) {
        return NULL;
    }
    while (keywords != NULL && PyDict_Next(kwargs, &position, &key, &value)) {
        Py_INCREF(key);
        PyTuple_SET_ITEM(keywords, at, key);
        values[count + at++] = value;
    }
    PyObject *made = make(values, count, keywords);
    Py_XDECREF(keywords);
    return made;
}

#if PY_VERSION_HEX >= 0x03090000
static PyObject *annotate_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                     PyObject *keywords)
{
    (void)type;
    return make(args, PyVectorcall_NARGS(flags), keywords);
}
#endif

static void annotate_dealloc(PyObject *object)
{
    Py_XDECREF(((struct annotate *)object)->label.text);
    PyObject_Free(object);
}

static PyObject *enter(struct annotate *self)
{
    struct ss_label *label = &self->label;
    if (__builtin_expect(__atomic_load_n(&label->text, __ATOMIC_ACQUIRE) == NULL, 0) &&
        ss_recording(STEPSCOPE_RANGES)) {
        ss_label_name_by_line(label);
    }
    if (!ss_scope_enter(label)) {
        return NULL;
    }
    Py_INCREF(self);
    return (PyObject *)self;
}

#if BOUND_INSIDE
static struct annotate *owner_of(PyObject *bound)
{
    return (struct annotate *)(void *)((char *)bound - offsetof(struct annotate, enter));
}

static bool takes_no_more(Py_ssize_t given, Py_ssize_t wanted, PyObject *keywords)
{
    if (given != wanted || (keywords != NULL && PyTuple_GET_SIZE(keywords) > 0)) {
        PyErr_SetString(PyExc_TypeError, "annotate.__enter__() takes no arguments");
        return false;
    }
    return true;
}

static PyObject *bound_call(PyObject *bound, PyObject *const *args, size_t flags,
                            PyObject *keywords)
{
    (void)args;
    return takes_no_more(PyVectorcall_NARGS(flags), 0, keywords) ? enter(owner_of(bound)) : NULL;
}

static void bound_dealloc(PyObject *bound)
{
    Py_DECREF(owner_of(bound));
}

static PyTypeObject bound_enter_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope._stepscope.bound_enter",
    .tp_basicsize = sizeof(struct bound_enter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct bound_enter, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = bound_dealloc,
};

/* The descriptor: `annotate.__enter__`, which contextlib.ExitStack calls with the object. */
static PyObject *unbound_call(PyObject *unbound, PyObject *const *args, size_t flags,
                              PyObject *keywords)
{
    (void)unbound;
    if (!takes_no_more(PyVectorcall_NARGS(flags), 1, keywords)) {
        return NULL;
    }
    if (Py_TYPE(args[0]) != &ss_annotate_type) {
        PyErr_SetString(PyExc_TypeError, "annotate.__enter__() wants an annotate object");
        return NULL;
    }
    return enter((struct annotate *)args[0]);
}

static PyObject *enter_get(PyObject *unbound, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || Py_TYPE(object) != &ss_annotate_type) {
        Py_INCREF(unbound);
        return unbound;
    }
    struct bound_enter *bound = &((struct annotate *)object)->enter;
    if (Py_REFCNT((PyObject *)bound) > 0) {
        Py_INCREF(bound);
    } else {
        PyObject_Init((PyObject *)bound, &bound_enter_type);
        bound->call = bound_call;
        Py_INCREF(object);
    }
    return (PyObject *)bound;
}

static PyTypeObject unbound_enter_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope._stepscope.unbound_enter",
    .tp_basicsize = sizeof(struct bound_enter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct bound_enter, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = enter_get,
};

static bool init_enter(void)
{
    if (PyType_Ready(&bound_enter_type) < 0 || PyType_Ready(&unbound_enter_type) < 0) {
        return false;
    }
    struct bound_enter *unbound = PyObject_New(struct bound_enter, &unbound_enter_type);
    if (unbound == NULL) {
        return false;
    }
    unbound->call = unbound_call;
    bool set =
        PyDict_SetItemString(ss_annotate_type.tp_dict, "__enter__", (PyObject *)unbound) == 0;
    Py_DECREF(unbound);
    return set;
}
#else
static PyObject *annotate_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    return enter((struct annotate *)object);
}

static PyMethodDef annotate_methods[] = {
    {"__enter__", annotate_enter, METH_NOARGS, "Open the range."}, {0}};

static bool init_enter(void)
{
    return true;
}
#endif

/* Any number of arguments: `with` gives three, contextlib.ExitStack the object too. */
static PyObject *annotate_exit(PyObject *none, PyObject *const *args, Py_ssize_t count)
{
    (void)none;
    (void)args;
    (void)count;
    ss_scope_exit();
    Py_RETURN_FALSE;
}

static PyObject *annotate_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 1 || (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0)) {
        PyErr_SetString(PyExc_TypeError,
                        "annotate(…) as a decorator takes one function; write @annotate(…)");
        return NULL;
    }
    return ss_wrap(PyTuple_GET_ITEM(args, 0), &((struct annotate *)object)->label);
}

static PyObject *annotate_repr(PyObject *object)
{
    PyObject *text = ((struct annotate *)object)->label.text;
    return text != NULL ? PyUnicode_FromFormat("annotate(%R)", text)
                        : PyUnicode_FromString("annotate()");
}

static PyObject *annotate_name(PyObject *object, void *closure)
{
    (void)closure;
    PyObject *text = ((struct annotate *)object)->label.text;
    text = text != NULL ? text : Py_None;
    Py_INCREF(text);
    return text;
}

static PyGetSetDef annotate_fields[] = {
    {"name", annotate_name, NULL, "Name of the range; None: by its line or function.", NULL}, {0}};

PyTypeObject ss_annotate_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.annotate",
    .tp_doc = PyDoc_STR(
        "annotate(name=None, color=None, domain=None, category=None, payload=None)\n--\n\n"
        "A range of the calling thread: a context manager, and a decorator of functions, methods,\n"
        "generators and coroutines, with or without parentheses.\n\n"
        "Without a name a decorated function gives its qualified name, a block its file:line.\n"
        "color is a name, \"#rrggbb\" or 0xRRGGBB; color and category belong to the name.\n"
        "payload is an int, a float or a str. One object may be entered again, also while it is\n"
        "open, from any thread. Costs some nanoseconds while nothing is recorded.\n\n"
        "Raises TypeError or ValueError for arguments of a wrong kind."),
    .tp_basicsize = sizeof(struct annotate),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = annotate_new,
    .tp_dealloc = annotate_dealloc,
    .tp_call = annotate_call,
    .tp_repr = annotate_repr,
#if !BOUND_INSIDE
    .tp_methods = annotate_methods,
#endif
    .tp_getset = annotate_fields,
#if PY_VERSION_HEX >= 0x03090000
    .tp_vectorcall = annotate_vectorcall,
#endif
};

/* A built-in function in a type's dictionary does not bind: `with` calls it without making a bound
 * method first, which would cost as much as the range itself. */
static PyMethodDef exit_method = {"__exit__", (PyCFunction)(void (*)(void))annotate_exit,
                                  METH_FASTCALL, "Close the range."};

bool ss_annotate_init(void)
{
    if (pthread_key_create(&scopes_key, free_scopes) != 0 || PyType_Ready(&ss_annotate_type) < 0) {
        return false;
    }
    PyObject *function = PyCFunction_New(&exit_method, NULL);
    bool set = function != NULL && init_enter() &&
               PyDict_SetItemString(ss_annotate_type.tp_dict, "__exit__", function) == 0;
    Py_XDECREF(function);
    PyType_Modified(&ss_annotate_type);
    return set;
}
