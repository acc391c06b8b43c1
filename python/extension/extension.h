/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python module stepscope._stepscope: annotations from Python into the one runtime of the
 * process (stepscope/stepscope.h), which is found at import and called through its table. Without
 * it, and while nothing is recorded, everything is a no-op.
 *
 * It runs under the GIL, and in interpreters without one: there, what threads share is found by
 * single words (names.c), and functions and lines are not traced (tracing.h).
 */
#ifndef SS_PYTHON_EXTENSION_H
#define SS_PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define STEPSCOPE_BUILDING /* the table alone, without what programs in C use */
#include "stepscope/stepscope.h"

#if PY_VERSION_HEX < 0x03090000
#define PyObject_Vectorcall _PyObject_Vectorcall
#define PyObject_VectorcallDict _PyObject_FastCallDict
#define Py_TPFLAGS_HAVE_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
#endif

/* The process's runtime, with a collector of NVTX in front of it where there is one; a stand-in
 * that records nothing when there is none. Never NULL. */
extern const stepscope_runtime *ss_runtime;
extern const uint32_t *ss_gate;
extern const uint32_t *ss_own_gate; /* of stepscope alone: for what no other tool takes */

/* A function that the runtime's library exports beside its table; NULL: there is none. */
void *ss_runtime_function(const char *name);

/* nvtx.c: the runtime itself where no other tool collects. */
const stepscope_runtime *ss_nvtx_in_front_of(const stepscope_runtime *runtime);

static inline bool ss_recording(uint32_t bits)
{
    return __builtin_expect(__atomic_load_n(ss_gate, __ATOMIC_RELAXED) & bits, 0) != 0;
}

/* --- names.c --- */

/* The name, style and payload of a range or mark. */
struct ss_label {
    PyObject *text; /* a str; NULL: not named yet */
    stepscope_name name;
    stepscope_domain domain;
    bool is_known;   /* `name` is that of `text` */
    uint8_t payload; /* STEPSCOPE_UINT…; STEPSCOPE_NO_PAYLOAD: none */
    uint64_t bits;
};

/* The number of a str; never raises. */
stepscope_name ss_name_of(PyObject *text);
/* Reads (name, color, domain, category, payload) as they were called, positions or keywords. *first
 * is what came in place of the name when that is not a str (borrowed; NULL: nothing). */
bool ss_label_parse(struct ss_label *label, const char *function, PyObject *const *args,
                    Py_ssize_t count, PyObject *keywords, PyObject **first);
/* Gives a label without a name that of the line which calls; of threads at once, the first's. */
void ss_label_name_by_line(struct ss_label *label);
/* Looks up the name at its first use. Threads that do so at the same time get the same name. */
static inline stepscope_name ss_label_name(struct ss_label *label)
{
    if (__builtin_expect(!__atomic_load_n(&label->is_known, __ATOMIC_ACQUIRE), 0)) {
        __atomic_store_n(&label->name, ss_name_of(label->text), __ATOMIC_RELAXED);
        __atomic_store_n(&label->is_known, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&label->name, __ATOMIC_RELAXED);
}
/* A copy for another object. It looks up its name itself. */
static inline struct ss_label ss_label_copy(const struct ss_label *label)
{
    return (struct ss_label){.text = __atomic_load_n(&label->text, __ATOMIC_ACQUIRE),
                             .domain = label->domain,
                             .payload = label->payload,
                             .bits = label->bits};
}
static inline void ss_label_push(struct ss_label *label)
{
    stepscope_name name = ss_label_name(label);
    if (__builtin_expect(label->payload == STEPSCOPE_NO_PAYLOAD, 1)) {
        ss_runtime->push(label->domain, name);
    } else {
        ss_runtime->push_value(label->domain, name, label->payload, label->bits);
    }
}
/* A payload or counter value from a number or text; false with an exception for what is neither. */
bool ss_value_of(PyObject *value, uint8_t *type, uint64_t *bits);
stepscope_domain ss_domain_of(PyObject *text); /* a str or None; (stepscope_domain)-1: raised */
bool ss_names_init(void);

/* --- annotate.c, wrapped.c --- */

extern PyTypeObject ss_annotate_type, ss_wrapped_type;
bool ss_annotate_init(void);
PyObject *ss_annotate_from(const struct ss_label *label);
const struct ss_label *ss_annotate_label(PyObject *object); /* NULL: not an annotate */
/* Opens and closes a range of this thread as `with` does. */
bool ss_scope_enter(struct ss_label *label);
void ss_scope_exit(void);
/* `function` with a range around each call (while it runs: generators and coroutines); raises for
 * what cannot be called. */
PyObject *ss_wrap(PyObject *function, const struct ss_label *label);
/* Anything that can be called, from call to return; the label has a text. */
PyObject *ss_wrap_plain(PyObject *function, const struct ss_label *label);

/* Calls from now on go to `function` (a method of the module: wrapper, function). */
PyObject *ss_python_retarget(PyObject *module, PyObject *args);

/* --- spawn.c: methods of the module --- */

PyObject *ss_python_spawn(PyObject *module, PyObject *args);
PyObject *ss_python_signal(PyObject *module, PyObject *args);
PyObject *ss_python_let_read(PyObject *module, PyObject *number);

/* --- devices.c: methods of the module --- */

PyObject *ss_python_follow_devices(PyObject *module, PyObject *args);
PyObject *ss_python_end_devices(PyObject *module, PyObject *none);
PyObject *ss_python_await_recording(PyObject *module, PyObject *begins);
PyObject *ss_python_requested_devices(PyObject *module, PyObject *none);

/* --- schedule.c: methods of the module --- */

PyObject *ss_python_schedule_text(PyObject *module, PyObject *argument);
PyObject *ss_python_schedule_action(PyObject *module, PyObject *args);
PyObject *ss_python_follow(PyObject *module, PyObject *argument);
PyObject *ss_python_sealed(PyObject *module, PyObject *args);
PyObject *ss_python_flush(PyObject *module, PyObject *argument);

#endif
