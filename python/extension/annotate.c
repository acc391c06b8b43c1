/* SPDX-License-Identifier: Apache-2.0 */
/* annotate: a range as a context manager, and as a decorator. */
#include "extension.h" /* Python.h wants to be first */

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* --- what this thread has open --- */

/* The domain of each open `with`, plus 1; 0 when nothing was recorded as it was entered. `__exit__`
 * is called without its object (see below), so that the order tells. */
static __thread struct {
    uint32_t depth, capacity;
    uint16_t *domains;
} scopes;
static pthread_key_t scopes_key;

static bool grow_scopes(void)
{
    uint32_t capacity = scopes.capacity > 0 ? scopes.capacity * 2 : 64;
    uint16_t *domains = realloc(scopes.domains, capacity * sizeof *domains);
    if (domains == NULL || pthread_setspecific(scopes_key, domains) != 0) {
        return false;
    }
    scopes.domains = domains;
    scopes.capacity = capacity;
    return true;
}

bool ss_scope_enter(struct ss_label *label)
{
    if (__builtin_expect(scopes.depth == scopes.capacity, 0) && !grow_scopes()) {
        PyErr_NoMemory();
        return false;
    }
    uint16_t open = 0;
    if (ss_recording(STEPSCOPE_RANGES)) {
        open = (uint16_t)(label->domain + 1);
        ss_label_push(label);
    }
    scopes.domains[scopes.depth++] = open;
    return true;
}

void ss_scope_exit(void)
{
    if (scopes.depth == 0) {
        return; /* more exits than enters */
    }
    uint16_t open = scopes.domains[--scopes.depth];
    if (open != 0) {
        ss_runtime->pop(open - 1u);
    }
}

/* --- the type --- */

struct annotate {
    PyObject_HEAD struct ss_label label;
};

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
    struct annotate *self = PyObject_New(struct annotate, &ss_annotate_type);
    if (self == NULL) {
        Py_CLEAR(label.text);
        return NULL;
    }
    self->label = label;
    return (PyObject *)self;
}

PyObject *ss_annotate_from(const struct ss_label *label)
{
    struct annotate *self = PyObject_New(struct annotate, &ss_annotate_type);
    if (self != NULL) {
        self->label = *label;
        Py_XINCREF(label->text);
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

static PyObject *annotate_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct ss_label *label = &((struct annotate *)object)->label;
    if (__builtin_expect(label->text == NULL, 0) && ss_recording(STEPSCOPE_RANGES)) {
        ss_label_name_by_line(label);
    }
    if (!ss_scope_enter(label)) {
        return NULL;
    }
    Py_INCREF(object);
    return object;
}

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

static PyMethodDef annotate_methods[] = {
    {"__enter__", annotate_enter, METH_NOARGS, "Open the range."}, {0}};
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
    .tp_methods = annotate_methods,
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
    if (pthread_key_create(&scopes_key, free) != 0 || PyType_Ready(&ss_annotate_type) < 0) {
        return false;
    }
    PyObject *function = PyCFunction_New(&exit_method, NULL);
    bool set = function != NULL &&
               PyDict_SetItemString(ss_annotate_type.tp_dict, "__exit__", function) == 0;
    Py_XDECREF(function);
    PyType_Modified(&ss_annotate_type);
    return set;
}
