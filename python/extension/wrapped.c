/* SPDX-License-Identifier: Apache-2.0 */
/* A function with a range around each call. */
#include "extension.h" /* Python.h wants to be first */

#include <stddef.h>

struct wrapped {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *dict, *weak_references;
    struct ss_label label;
};

/* A function of Python's is asked itself: what PyObject_Vectorcall checks besides is for others. */
static inline PyObject *call(PyObject *function, PyObject *const *args, size_t flags,
                             PyObject *keywords)
{
    return __builtin_expect(PyFunction_Check(function), 1)
               ? ((PyFunctionObject *)function)->vectorcall(function, args, flags, keywords)
               : PyObject_Vectorcall(function, args, flags, keywords);
}

static PyObject *wrapped_vectorcall(PyObject *object, PyObject *const *args, size_t flags,
                                    PyObject *keywords)
{
    struct wrapped *self = (struct wrapped *)object;
    PyObject *function = __atomic_load_n(&self->function, __ATOMIC_ACQUIRE);
    if (!ss_recording(STEPSCOPE_RANGES)) {
        return call(function, args, flags, keywords);
    }
    stepscope_domain domain = self->label.domain;
    ss_label_push(&self->label);
    PyObject *result = call(function, args, flags, keywords);
    ss_runtime->pop(domain);
    return result;
}

static PyObject *wrapped_get(PyObject *object, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (instance == NULL || instance == Py_None) {
        Py_INCREF(object);
        return object;
    }
    return PyMethod_New(object, instance);
}

/* What is not ours is the function's: __code__, __defaults__, __annotations__… */
static PyObject *wrapped_getattr(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        value = PyObject_GetAttr(((struct wrapped *)object)->function, name);
    }
    return value;
}

static PyObject *wrapped_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<annotated %R>", ((struct wrapped *)object)->function);
}

/* Pickled by name, as functions are. */
static PyObject *wrapped_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(object, "__qualname__");
}

static int wrapped_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct wrapped *self = (struct wrapped *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    return 0;
}

static int wrapped_clear(PyObject *object)
{
    struct wrapped *self = (struct wrapped *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->dict);
    return 0;
}

static void wrapped_dealloc(PyObject *object)
{
    struct wrapped *self = (struct wrapped *)object;
    PyObject_GC_UnTrack(object);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    wrapped_clear(object);
    Py_CLEAR(self->label.text);
    PyObject_GC_Del(object);
}

static PyMethodDef wrapped_methods[] = {
    {"__reduce__", wrapped_reduce, METH_NOARGS, "Pickle by name."}, {0}};
static PyGetSetDef wrapped_fields[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {0}};

PyTypeObject ss_wrapped_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope._stepscope.annotated",
    .tp_basicsize = sizeof(struct wrapped),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(struct wrapped, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = wrapped_get,
    .tp_getattro = wrapped_getattr,
    .tp_setattro = PyObject_GenericSetAttr,
    .tp_repr = wrapped_repr,
    .tp_methods = wrapped_methods,
    .tp_getset = wrapped_fields,
    .tp_dictoffset = offsetof(struct wrapped, dict),
    .tp_weaklistoffset = offsetof(struct wrapped, weak_references),
    .tp_traverse = wrapped_traverse,
    .tp_clear = wrapped_clear,
    .tp_dealloc = wrapped_dealloc,
};

static PyObject *qualified_name(PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    if (name == NULL) {
        PyErr_Clear();
        name = PyObject_GetAttrString((PyObject *)Py_TYPE(function), "__qualname__");
    }
    if (name != NULL && !PyUnicode_Check(name)) {
        Py_SETREF(name, PyObject_Str(name));
    }
    return name;
}

/* As functools.update_wrapper does. */
static bool look_like(struct wrapped *self)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    PyObject *attributes = PyObject_GetAttrString(self->function, "__dict__");
    if (attributes != NULL && PyDict_Check(attributes)) {
        PyDict_Update(self->dict, attributes);
    }
    Py_XDECREF(attributes);
    PyErr_Clear();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *value = PyObject_GetAttrString(self->function, names[i]);
        if (value == NULL) {
            PyErr_Clear();
        } else {
            int set = PyDict_SetItemString(self->dict, names[i], value);
            Py_DECREF(value);
            if (set < 0) {
                return false;
            }
        }
    }
    return PyDict_SetItemString(self->dict, "__wrapped__", self->function) == 0;
}

PyObject *ss_wrap_plain(PyObject *function, const struct ss_label *label)
{
    struct wrapped *self = PyObject_GC_New(struct wrapped, &ss_wrapped_type);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(function);
    self->vectorcall = wrapped_vectorcall;
    self->function = function;
    self->weak_references = NULL;
    self->label = ss_label_copy(label);
    Py_XINCREF(self->label.text);
    self->dict = PyDict_New();
    PyObject_GC_Track((PyObject *)self);
    if (self->dict == NULL || self->label.text == NULL || !look_like(self)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* A function whose call runs from its beginning to its end. */
static bool is_plain(PyObject *function)
{
    if (!PyFunction_Check(function)) {
        return false;
    }
    int flags = ((PyCodeObject *)PyFunction_GET_CODE(function))->co_flags;
    return (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
}

PyObject *ss_wrap(PyObject *function, const struct ss_label *label)
{
    struct ss_label named = ss_label_copy(label);
    Py_XINCREF(named.text);
    if (named.text == NULL && PyCallable_Check(function)) {
        named.text = qualified_name(function);
        PyErr_Clear();
    }
    PyObject *result = NULL;
    if (is_plain(function) && named.text != NULL) {
        result = ss_wrap_plain(function, &named);
    } else {
        /* Generators, coroutines, and what is no function: made in Python. */
        PyObject *module = PyImport_ImportModule("stepscope._decorate");
        PyObject *range = module != NULL ? ss_annotate_from(&named) : NULL;
        result =
            range != NULL ? PyObject_CallMethod(module, "decorate", "OO", function, range) : NULL;
        Py_XDECREF(range);
        Py_XDECREF(module);
    }
    Py_XDECREF(named.text);
    return result;
}

/* _retarget(wrapper, function): what was called before may be running; who calls this keeps it. */
PyObject *ss_python_retarget(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *wrapper, *function;
    if (!PyArg_ParseTuple(args, "O!O", &ss_wrapped_type, &wrapper, &function)) {
        return NULL;
    }
    Py_INCREF(function);
    PyObject *before =
        __atomic_exchange_n(&((struct wrapped *)wrapper)->function, function, __ATOMIC_ACQ_REL);
    return before; /* its reference is the caller's now */
}
