/* SPDX-License-Identifier: Apache-2.0 */
/* The module: where the runtime is found, and the functions that are no ranges. */
#include "tracing.h" /* Python.h wants to be first */

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the runtime --- */

static const uint32_t nothing_recorded;

static stepscope_domain no_domain(const char *name)
{
    (void)name;
    return 0;
}
static stepscope_name no_name(const char *text, size_t length)
{
    (void)text;
    (void)length;
    return 0;
}
static void no_style(stepscope_name name, uint32_t argb, const char *category)
{
    (void)name;
    (void)argb;
    (void)category;
}
static stepscope_name no_counter(const char *name, const char *unit, unsigned kind)
{
    (void)name;
    (void)unit;
    (void)kind;
    return 0;
}
static void no_number(int64_t number)
{
    (void)number;
}
static void no_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    (void)number;
    (void)length;
    (void)resumed_at;
}
static stepscope_name no_function(const char *text, size_t length, stepscope_name file,
                                  uint32_t line)
{
    (void)text;
    (void)length;
    (void)file;
    (void)line;
    return 0;
}
static uint64_t no_ticks(void)
{
    return 0;
}
static void no_phase(stepscope_name phase)
{
    (void)phase;
}
static int no_schedule(const char *text)
{
    (void)text;
    return 0;
}
static int no_sealed(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out)
{
    (void)number;
    (void)timeout_ms;
    (void)out;
    return -1;
}
static int no_flush(uint32_t timeout_ms)
{
    (void)timeout_ms;
    return -1;
}
static int no_preparation(void)
{
    return 0;
}

/* Only these functions are called without a check of the gate. */
static const stepscope_runtime no_runtime = {.size = sizeof(stepscope_runtime),
                                             .gate = &nothing_recorded,
                                             .domain = no_domain,
                                             .intern = no_name,
                                             .style = no_style,
                                             .counter = no_counter,
                                             .step = no_number,
                                             .phase = no_phase,
                                             .next_step = no_number,
                                             .begin_epoch = no_epoch,
                                             .schedule = no_schedule,
                                             .sealed = no_sealed,
                                             .flush = no_flush,
                                             .function = no_function,
                                             .ticks = no_ticks,
                                             .prepare = no_preparation};

const stepscope_runtime *ss_runtime = &no_runtime;
const uint32_t *ss_gate = &nothing_recorded;
const uint32_t *ss_own_gate = &nothing_recorded;

typedef const stepscope_runtime *(*get_function)(uint32_t version);
static void *runtime_library;

static bool take_runtime(void *library)
{
    get_function get = NULL;
    *(void **)&get = dlsym(library, "stepscope_runtime_get");
    const stepscope_runtime *runtime = get != NULL ? get(STEPSCOPE_RUNTIME_VERSION) : NULL;
    if (runtime == NULL || runtime->size < sizeof(stepscope_runtime)) {
        return false;
    }
    ss_own_gate = runtime->gate;
    ss_runtime = ss_nvtx_in_front_of(runtime);
    ss_gate = ss_runtime->gate;
    runtime_library = library;
    return true;
}

#define RUNTIME_FILE "libstepscope.so.0"

/* Beside us in the build, in a wheel (site-packages/stepscope below lib/), in `pip --target`. */
static bool load_runtime_near(const char *ours)
{
    static const char *const places[] = {"", "../../", "../../../", "../lib/"};
    const char *slash = strrchr(ours, '/');
    int folder = slash != NULL ? (int)(slash - ours) + 1 : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%.*s%s" RUNTIME_FILE, folder, ours, places[i]);
        void *library = length > 0 && (size_t)length < sizeof path
                            ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
                            : NULL;
        if (library != NULL && take_runtime(library)) {
            return true;
        }
    }
    return false;
}

/* The runtime of the process: preloaded or linked, already loaded, or else the package's own. */
static void find_runtime(void)
{
    Dl_info here = {0};
    if (take_runtime(RTLD_DEFAULT)) {
        return;
    }
    void *loaded = dlopen(RUNTIME_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded != NULL && take_runtime(loaded)) {
        return;
    }
    if (dladdr((void *)&no_runtime, &here) != 0 && here.dli_fname != NULL) {
        load_runtime_near(here.dli_fname);
    }
}

void *ss_runtime_function(const char *name)
{
    return ss_runtime != &no_runtime ? dlsym(runtime_library, name) : NULL;
}

/* --- PyTorch --- */

/* A recording hooks torch through preload.so or, in a process without it or one that records
 * itself, through this module. Once per process. */
static void follow_torch(void)
{
    void (*listen)(void) = NULL;
    *(void **)&listen = ss_runtime_function("stepscope_python_listen");
    if (listen != NULL) {
        listen();
    }
}

/* settings, as STEPSCOPE_TORCH has them */
static PyObject *follow_torch_by(PyObject *module, PyObject *settings)
{
    (void)module;
    void (*follow)(const char *) = NULL;
    PyObject *bytes = PyUnicode_AsUTF8String(settings);
    if (bytes == NULL) {
        return NULL;
    }
    *(void **)&follow = ss_runtime_function("stepscope_torch_follow");
    if (follow != NULL) {
        follow(PyBytes_AsString(bytes));
    }
    Py_DECREF(bytes);
    Py_RETURN_NONE;
}

/* --- marks, counters, flows --- */

static PyObject *mark(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)module;
    struct ss_label label;
    PyObject *first;
    if (!ss_label_parse(&label, "mark", args, count, keywords, &first)) {
        return NULL;
    }
    if (first != NULL) {
        PyErr_Format(PyExc_TypeError, "mark() takes a name (str), not %.100s",
                     Py_TYPE(first)->tp_name);
        return NULL;
    }
    if (ss_recording(STEPSCOPE_MARKS)) {
        if (label.text == NULL) {
            ss_label_name_by_line(&label);
        }
        stepscope_name name = ss_label_name(&label);
        if (label.payload == STEPSCOPE_NO_PAYLOAD) {
            ss_runtime->mark(label.domain, name);
        } else {
            ss_runtime->mark_value(label.domain, name, label.payload, label.bits);
        }
    }
    Py_XDECREF(label.text);
    Py_RETURN_NONE;
}

/* _counter(name, unit, kind) → its number */
static PyObject *counter(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *unit;
    unsigned kind;
    if (!PyArg_ParseTuple(args, "szI", &name, &unit, &kind)) {
        return NULL;
    }
    return PyLong_FromUnsignedLong(ss_runtime->counter(name, unit, kind));
}

/* _count(number, value) */
static PyObject *count_value(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    uint8_t type;
    uint64_t bits;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "_count() takes a counter's number and a value");
        return NULL;
    }
    if (!ss_recording(STEPSCOPE_COUNTERS)) {
        Py_RETURN_NONE;
    }
    unsigned long number = PyLong_AsUnsignedLongMask(args[0]);
    if (PyErr_Occurred() || !ss_value_of(args[1], &type, &bits)) {
        return NULL;
    }
    if (type == STEPSCOPE_NO_PAYLOAD || type == STEPSCOPE_NAME) {
        PyErr_SetString(PyExc_TypeError, "a counter takes an int or a float");
        return NULL;
    }
    ss_runtime->count((stepscope_name)number, type, bits);
    Py_RETURN_NONE;
}

static PyObject *flow_new(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(ss_recording(STEPSCOPE_RANGES) ? ss_runtime->flow_id() : 0);
}

/* _flow(id, where) */
static PyObject *flow(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    unsigned long long id = count == 2 ? PyLong_AsUnsignedLongLongMask(args[0]) : 0;
    unsigned long where = count == 2 ? PyLong_AsUnsignedLongMask(args[1]) : 0;
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (id != 0 && ss_recording(STEPSCOPE_RANGES)) {
        ss_runtime->flow(id, (unsigned)where);
    }
    Py_RETURN_NONE;
}

/* --- ranges without a block --- */

static PyObject *push(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)module;
    struct ss_label label;
    PyObject *first;
    if (!ss_label_parse(&label, "push", args, count, keywords, &first)) {
        return NULL;
    }
    if (first != NULL) {
        PyErr_Format(PyExc_TypeError, "push() takes a name (str), not %.100s",
                     Py_TYPE(first)->tp_name);
        return NULL;
    }
    if (ss_recording(STEPSCOPE_RANGES)) {
        if (label.text == NULL) {
            ss_label_name_by_line(&label);
        }
        ss_label_push(&label);
    }
    Py_XDECREF(label.text);
    Py_RETURN_NONE;
}

static PyObject *pop(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    stepscope_domain domain = ss_domain_of(count > 0 ? args[0] : NULL);
    if (domain == (stepscope_domain)-1) {
        return NULL;
    }
    if (ss_recording(STEPSCOPE_RANGES)) {
        ss_runtime->pop(domain);
    }
    Py_RETURN_NONE;
}

/* A range that any thread may end: its number; 0 without a recording. */
static PyObject *begin(PyObject *module, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords)
{
    (void)module;
    struct ss_label label;
    PyObject *first;
    stepscope_id id = 0;
    if (!ss_label_parse(&label, "begin", args, count, keywords, &first)) {
        return NULL;
    }
    if (first != NULL) {
        PyErr_Format(PyExc_TypeError, "begin() takes a name (str), not %.100s",
                     Py_TYPE(first)->tp_name);
        return NULL;
    }
    if (ss_recording(STEPSCOPE_RANGES)) {
        if (label.text == NULL) {
            ss_label_name_by_line(&label);
        }
        id = ss_runtime->begin(label.domain, ss_label_name(&label), label.payload, label.bits);
    }
    Py_XDECREF(label.text);
    return PyLong_FromUnsignedLongLong(id);
}

static PyObject *end(PyObject *module, PyObject *number)
{
    (void)module;
    unsigned long long id = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (id != 0 && ss_recording(STEPSCOPE_RANGES)) {
        ss_runtime->end(id);
    }
    Py_RETURN_NONE;
}

/* --- training --- */

static pid_t marked_by; /* the process that has announced a step: a forked child begins again */

static bool is_marked(void)
{
    return __atomic_load_n(&marked_by, __ATOMIC_RELAXED) == getpid();
}

static void set_marked(void)
{
    __atomic_store_n(&marked_by, getpid(), __ATOMIC_RELAXED);
}

static bool read_number(PyObject *argument, const char *what, int64_t *number)
{
    if (argument == NULL || argument == Py_None) {
        return true;
    }
    *number = PyLong_AsLongLong(argument);
    if (*number < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%s must not be negative", what);
    }
    return !PyErr_Occurred();
}

static PyObject *step(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t number = -1;
    if (count > 1) {
        PyErr_SetString(PyExc_TypeError, "step() takes one number at most");
        return NULL;
    }
    if (!read_number(count == 1 ? args[0] : NULL, "number", &number)) {
        return NULL;
    }
    ss_tracing_step();
    if (!is_marked() && number == 0) {
        ss_runtime->step(0); /* nothing ends here */
    } else {
        ss_runtime->next_step(number);
    }
    set_marked();
    Py_RETURN_NONE;
}

static PyObject *epoch(PyObject *module, PyObject *args, PyObject *keywords)
{
    (void)module;
    static char number_name[] = "number", length_name[] = "length", resumed_name[] = "resumed_at";
    static char *names[] = {number_name, length_name, resumed_name, NULL};
    PyObject *values[3] = {NULL};
    int64_t number = -1, length = -1, resumed_at = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO:epoch", names, &values[0], &values[1],
                                     &values[2]) ||
        !read_number(values[0], "number", &number) || !read_number(values[1], "length", &length) ||
        !read_number(values[2], "resumed_at", &resumed_at)) {
        return NULL;
    }
    ss_tracing_step();
    ss_runtime->begin_epoch(number, length, resumed_at);
    if (!is_marked()) {
        ss_runtime->step(0);
        set_marked();
    }
    Py_RETURN_NONE;
}

static PyObject *phase(PyObject *module, PyObject *name)
{
    (void)module;
    if (name != Py_None && !PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "phase() takes a name (str) or None, not %.100s",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    if (ss_recording(STEPSCOPE_ANY)) {
        ss_runtime->phase(name != Py_None ? ss_name_of(name) : 0);
    }
    Py_RETURN_NONE;
}

static PyObject *enabled(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(ss_recording(STEPSCOPE_ANY));
}

/* _is_recording(): stepscope does, whatever other tools do. */
static PyObject *is_recording(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong((__atomic_load_n(ss_own_gate, __ATOMIC_RELAXED) & STEPSCOPE_ANY) != 0);
}

/* _prepare() → 1: a recorder can attach; 0: no ring file can be made; -1: it was deleted. */
static PyObject *prepare(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(ss_runtime->prepare());
}

/* _wrap(function, range): for stepscope._decorate. */
static PyObject *wrap(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const struct ss_label *label = count == 2 ? ss_annotate_label(args[1]) : NULL;
    if (label == NULL || label->text == NULL) {
        PyErr_SetString(PyExc_TypeError, "_wrap() takes a function and a named range");
        return NULL;
    }
    return ss_wrap_plain(args[0], label);
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"mark", FAST(mark), METH_FASTCALL | METH_KEYWORDS,
     "mark(name=None, color=None, domain=None, category=None, payload=None)\n--\n\n"
     "Something that happens now, on this thread. Arguments as of annotate."},
    {"push", FAST(push), METH_FASTCALL | METH_KEYWORDS,
     "push(name=None, color=None, domain=None, category=None, payload=None)\n--\n\n"
     "Opens a range of the calling thread, for pop() to close; better is `with annotate(…)`."},
    {"pop", FAST(pop), METH_FASTCALL,
     "pop(domain=None, /)\n--\n\n"
     "Closes the calling thread's innermost range of the domain. One too many is counted."},
    {"begin", FAST(begin), METH_FASTCALL | METH_KEYWORDS,
     "begin(name=None, color=None, domain=None, category=None, payload=None)\n--\n\n"
     "Opens a range that any thread may close: end(result). 0 without a recording."},
    {"end", end, METH_O, "end(id, /)\n--\n\nCloses a range of begin(); 0: none."},
    {"step", FAST(step), METH_FASTCALL,
     "step(number=None, /)\n--\n\n"
     "Ends a training step; the next begins: with the number given, else one more than before.\n"
     "The first call ends step 0 and begins step 1, but step(0) begins step 0. Never waits for a "
     "disk."},
    {"epoch", FAST(epoch), METH_VARARGS | METH_KEYWORDS,
     "epoch(number=None, length=None, resumed_at=0)\n--\n\n"
     "An epoch begins: with the number given, else one more than before, from 0. length: batches "
     "of\n"
     "the epoch, if known; resumed_at: the batch at which it is resumed. Schedules that "
     "count\n"
     "the batches of epochs want both."},
    {"phase", phase, METH_O,
     "phase(name, /)\n--\n\n"
     "A phase of the step begins on this thread (\"data\", \"forward\", \"backward\", "
     "\"optimizer\",\n\"communication\"), the one before ends. None: no phase."},
    {"enabled", enabled, METH_NOARGS, "enabled()\n--\n\nWhether this process is being recorded."},
    {"_is_recording", is_recording, METH_NOARGS, NULL},
    {"_prepare", prepare, METH_NOARGS, NULL},
    {"_counter", counter, METH_VARARGS, NULL},
    {"_count", FAST(count_value), METH_FASTCALL, NULL},
    {"_flow_new", flow_new, METH_NOARGS, NULL},
    {"_flow", FAST(flow), METH_FASTCALL, NULL},
    {"_schedule_text", ss_python_schedule_text, METH_O, NULL},
    {"_schedule_action", ss_python_schedule_action, METH_VARARGS, NULL},
    {"_follow", ss_python_follow, METH_O, NULL},
    {"_follow_torch", follow_torch_by, METH_O, NULL},
    {"_follow_devices", ss_python_follow_devices, METH_VARARGS, NULL},
    {"_await_recording", ss_python_await_recording, METH_O, NULL},
    {"_requested_devices", ss_python_requested_devices, METH_NOARGS, NULL},
    {"_end_devices", ss_python_end_devices, METH_NOARGS, NULL},
    {"_sealed", ss_python_sealed, METH_VARARGS, NULL},
    {"_flush", ss_python_flush, METH_O, NULL},
    {"_wrap", FAST(wrap), METH_FASTCALL, NULL},
    {"_retarget", ss_python_retarget, METH_VARARGS, NULL},
    {"_spawn", ss_python_spawn, METH_VARARGS, NULL},
    {"_signal", ss_python_signal, METH_VARARGS, NULL},
    {"_let_read", ss_python_let_read, METH_O, NULL},
    {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "stepscope._stepscope",
                                        .m_size = -1, .m_methods = methods};

/* Code objects that are chosen, their lines and what is open are kept without locks. */
#ifdef Py_GIL_DISABLED
static bool init_more(PyObject *module)
{
    return PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) == 0;
}
#else
static bool init_more(PyObject *module)
{
    return ss_tracing_init(module);
}
#endif

#pragma GCC visibility push(default) /* Python 3.8 does not ask for it */
PyMODINIT_FUNC PyInit__stepscope(void);
#pragma GCC visibility pop
PyMODINIT_FUNC PyInit__stepscope(void)
{
    find_runtime();
    if (!ss_names_init() || !ss_annotate_init() || PyType_Ready(&ss_wrapped_type) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    Py_INCREF(&ss_annotate_type);
    if (PyModule_AddObject(module, "annotate", (PyObject *)&ss_annotate_type) < 0 ||
        PyModule_AddIntConstant(module, "has_runtime", ss_runtime != &no_runtime) < 0 ||
        !init_more(module)) {
        Py_DECREF(module);
        return NULL;
    }
    if (getenv("STEPSCOPE_TORCH") != NULL) { /* not with --no-torch */
        follow_torch();
    }
    return module;
}
