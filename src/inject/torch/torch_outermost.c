/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_outermost.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/automatic.h"
#include "annot/define.h"
#include "annot/events.h"
#include "annot/thread.h"
#include "base/shared_names.h"
#include "inject/torch/torch_check.h"
#include "inject/torch/torch_library.h"

enum { NOTES = 16, MOST_DIMS = 16, MOST_OBJECT_BYTES = 128 };

/* What the hooks give remember_call as bits. */
enum {
    WITH_GRADIENTS = 1,
    WHILE_TRAINING = 2, /* if module.training is True */
    WHILE_NOT_TRAINING = 4,
    TRAINS = 8,     /* ss_automatic_train, else ss_automatic_begin */
    ENDS = 16,      /* ss_torch_phase */
    IS_POLLED = 32, /* Python begins one call of POLL_EACH */
};
enum { POLL_EACH = 16 };

static struct note {
    const ss_python_object *module;
    uint32_t generation, gate, flags, phase, left;
    /* The counted input: its exact type and dtype, how many dimensions it has, and from how many on
     * the first is the batch (0: it has none). type NULL: nothing is counted. */
    const ss_python_object *type, *dtype;
    int dims, least_dims;
    size_t tensor_at; /* where its object refers to its c10::TensorImpl; 0: read it through torch */
    uint16_t type_number; /* of the dtype, in the TensorImpl */
} notes[NOTES];

/* A note is valid if it has this number. Relaxed: a thread that drops notes because of what it has
 * done reads its own store. */
static _Atomic uint32_t generation = 1;
static int32_t owner_tid;
static unsigned next_note;

/* Set once. */
static struct {
    ss_python_object *has_gradients, *tracing_state, *training, *dtype, *shape;
    uint32_t evaluation, examples, elements;
    size_t type_at; /* in a TensorImpl: number of the dtype; 0: unknown */
} known;

void ss_torch_outermost_forget(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

uint32_t ss_torch_outermost_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* --- whether a note fits ---------------------------------------------------------------------- */

static uint32_t current_gate(void)
{
    return atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
}

/* 1: it is this object; 0: another one; -1: an exception, which is dropped. */
static int takes(ss_python_object *result, const ss_python_object *wanted)
{
    if (result == NULL) {
        ss_python_drop_exception();
        return -1;
    }
    ss_python.Py_DecRef(result);
    return result == wanted;
}

static bool fits_mode(const struct note *note, ss_python_object *module)
{
    if ((note->flags & (WHILE_TRAINING | WHILE_NOT_TRAINING)) == 0) {
        return true;
    }
    int is_training =
        takes(ss_python.PyObject_GenericGetAttr(module, known.training), ss_python.truth);
    return is_training == ((note->flags & WHILE_TRAINING) != 0);
}

static uint32_t gradients(void)
{
    return ss_torch_library.has_gradients != NULL
               ? ss_torch_library.has_gradients()
               : takes(ss_python.PyObject_CallFunctionObjArgs(known.has_gradients, NULL),
                       ss_python.truth) == 1;
}

/* With the GIL nothing runs between the search for a note and its use that could drop it. */
static struct note *find(ss_python_object *module)
{
    uint32_t valid = atomic_load_explicit(&generation, memory_order_relaxed);
    uint32_t gate = current_gate();
    for (size_t i = 0; i < NOTES; i++) {
        struct note *note = &notes[i];
        if (note->module == module && note->generation == valid && note->gate == gate &&
            (note->flags & WITH_GRADIENTS) == gradients() && fits_mode(note, module)) {
            return note;
        }
    }
    return NULL;
}

/* --- what is counted -------------------------------------------------------------------------- */

static const void *tensor_of(const ss_python_object *object, size_t at)
{
    const void *tensor;
    memcpy(&tensor, (const char *)object + at, sizeof tensor);
    return tensor;
}

static uint16_t type_number_of(const void *tensor)
{
    uint16_t number;
    memcpy(&number, (const char *)tensor + known.type_at, sizeof number);
    return number;
}

/* Of an object of the noted type. */
static bool read_tensor(const struct note *note, const ss_python_object *input, int64_t *sizes)
{
    const void *tensor = tensor_of(input, note->tensor_at);
    struct ss_torch_value value = {(uintptr_t)tensor, SS_TORCH_TENSOR};
    struct ss_torch_shape shape;
    bool fits = tensor != NULL && type_number_of(tensor) == note->type_number &&
                ss_torch_shape_of(&ss_torch_layout, &value, &shape) &&
                shape.count == (size_t)note->dims;
    if (fits) {
        memcpy(sizes, shape.sizes, shape.count * sizeof *sizes);
    }
    return fits;
}

/* The same through torch, unless it traces, and would trace the reading. */
static bool read_through_torch(const struct note *note, ss_python_object *input, int64_t *sizes)
{
    if (takes(ss_python.PyObject_CallFunctionObjArgs(known.tracing_state, NULL), ss_python.none) !=
            1 ||
        takes(ss_python.PyObject_GetAttr(input, known.dtype), note->dtype) != 1) {
        return false;
    }
    ss_python_object *shape = ss_python.PyObject_GetAttr(input, known.shape);
    bool is_known = shape != NULL && ss_python.PyTuple_Size(shape) == note->dims;
    for (int i = 0; i < note->dims && is_known; i++) {
        ss_python_object *size = ss_python.PyTuple_GetItem(shape, i);
        sizes[i] = size != NULL ? ss_python.PyLong_AsLongLong(size) : -1;
        is_known = sizes[i] >= 0;
    }
    if (shape != NULL) {
        ss_python.Py_DecRef(shape);
    }
    ss_python_drop_exception();
    return is_known;
}

static void count(uint32_t counter, int64_t value)
{
    ss_event_count(counter, (struct ss_event_value){(uint64_t)value, SS_RING_VALUE_SIGNED});
}

/* The same as observe_called of torch_hooks/batches.py. false: the input differs from the noted
 * one. */
static bool count_input(const struct note *note, ss_python_object *input)
{
    int64_t sizes[MOST_DIMS], elements = 1;
    if (takes(ss_python.PyObject_Type(input), note->type) != 1 ||
        !(note->tensor_at != 0 ? read_tensor(note, input, sizes)
                               : read_through_torch(note, input, sizes))) {
        return false;
    }
    for (int i = 0; i < note->dims; i++) {
        elements *= sizes[i];
    }
    count(known.elements, elements);
    if (note->least_dims > 0 && note->dims >= note->least_dims && note->dims > 0 && sizes[0] > 0) {
        count(known.examples, sizes[0]);
    }
    return true;
}

/* --- begin and end ---------------------------------------------------------------------------- */

bool ss_torch_outermost_begin(ss_python_object *const *args, size_t count,
                              ss_python_object *keywords, struct ss_torch_phase *phase)
{
    if (owner_tid != ss_thread_tid() || ss_torch_is_off() || !ss_automatic_is_between_phases()) {
        return false;
    }
    struct note *note = find(args[0]);
    if (note == NULL || note->left == 0 ||
        (note->type != NULL && (count != 2 || keywords != NULL || !count_input(note, args[1])))) {
        return false;
    }
    note->left -= (note->flags & IS_POLLED) != 0;
    phase->ends = (note->flags & ENDS) != 0;
    if ((note->flags & TRAINS) != 0) {
        ss_automatic_train();
    } else {
        ss_automatic_begin();
    }
    phase->before = ss_automatic_enter(note->phase);
    return true;
}

bool ss_torch_outermost_end(const struct ss_torch_phase *phase)
{
    if (!phase->ends && ss_automatic_phase() == known.evaluation) {
        return false; /* it may go on behind the call */
    }
    ss_automatic_leave(phase->before);
    return true;
}

/* --- functions for Python --------------------------------------------------------------------- */

/* The number of the dtype lies before the device. These tensors are of float32, int64 and bool,
 * whose numbers are the same in all versions. */
static size_t find_type_number(ss_python_object *const *tensors)
{
    static const uint16_t numbers[] = {6, 4, 11};
    size_t at = ss_torch_layout.device - sizeof *numbers;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint16_t number;
        uintptr_t tensor = (uintptr_t)ss_python.PyLong_AsLongLong(tensors[i]);
        if (ss_torch_layout.device <= sizeof *numbers || ss_torch_layout.sizes == 0 ||
            tensor == 0) {
            return 0;
        }
        memcpy(&number, (const void *)(tensor + at), sizeof number);
        if (number != numbers[i]) {
            return 0;
        }
    }
    return at;
}

/* torch.is_grad_enabled, torch._C._get_tracing_state; Tensor._cdata of a tensor of float32, of
 * int64 and of bool */
static ss_python_object *watch_outermost(ss_python_object *self, ss_python_object *const *args,
                                         ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 5)) {
        return NULL;
    }
    ss_python.Py_IncRef(args[0]);
    ss_python.Py_IncRef(args[1]);
    known.has_gradients = args[0];
    known.tracing_state = args[1];
    known.type_at = find_type_number(args + 2);
    known.training = ss_python.PyUnicode_InternFromString("training");
    known.dtype = ss_python.PyUnicode_InternFromString("dtype");
    known.shape = ss_python.PyUnicode_InternFromString("shape");
    known.evaluation = ss_define_name(ss_phase_evaluation, sizeof ss_phase_evaluation - 1);
    known.examples =
        ss_define_name(ss_counter_batch_examples, sizeof ss_counter_batch_examples - 1);
    known.elements =
        ss_define_name(ss_counter_batch_elements, sizeof ss_counter_batch_elements - 1);
    return known.training != NULL && known.dtype != NULL && known.shape != NULL ? ss_python_none()
                                                                                : NULL;
}

/* The note to write: the one of the same module and kind of call, else the oldest. */
static struct note *take_note(const ss_python_object *module, uint32_t gradients)
{
    for (size_t i = 0; i < NOTES; i++) {
        if (notes[i].module == module && (notes[i].flags & WITH_GRADIENTS) == gradients) {
            return &notes[i];
        }
    }
    return &notes[next_note++ % NOTES];
}

static void follow_thread(void)
{
    if (owner_tid != ss_thread_tid()) {
        memset(notes, 0, sizeof notes);
        owner_tid = ss_thread_tid();
    }
}

/* Where the object of a tensor refers to its c10::TensorImpl, by the address that torch gives; 0:
 * unknown, or the numbers in that cannot be read. */
static size_t find_tensor(ss_python_object *input, ss_python_object *type)
{
    enum { HEAD_BYTES = 16 };
    ss_python_object *address = ss_python.PyObject_GetAttrString(input, "_cdata"),
                     *size = ss_python.PyObject_GetAttrString(type, "__basicsize__");
    uintptr_t tensor = address != NULL ? (uintptr_t)ss_python.PyLong_AsLongLong(address) : 0;
    size_t bytes = size != NULL ? (size_t)ss_python.PyLong_AsLongLong(size) : 0, found = 0;
    for (size_t at = HEAD_BYTES; at + sizeof tensor <= bytes && bytes <= MOST_OBJECT_BYTES;
         at += sizeof tensor) {
        bool is_it =
            tensor_of(input, at) == (const void *)tensor; // NOLINT(performance-no-int-to-ptr)
        found = is_it && found == 0 ? at : found;
    }
    ss_python_object *const owned[] = {address, size};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    return tensor != 0 && known.type_at != 0 ? found : 0;
}

/* The input that is counted, if it is not None; from how many dimensions on the first is the batch.
 */
static bool set_input(struct note *note, ss_python_object *input, ss_python_object *least)
{
    ss_python_object *type = NULL, *dtype = NULL, *shape = NULL;
    if (input == ss_python.none) {
        return true;
    }
    type = ss_python.PyObject_Type(input);
    dtype = ss_python.PyObject_GetAttr(input, known.dtype);
    shape = ss_python.PyObject_GetAttr(input, known.shape);
    if (type != NULL && dtype != NULL && shape != NULL) {
        ptrdiff_t dims = ss_python.PyTuple_Size(shape);
        note->type = type; /* both outlive the process's use of torch */
        note->dtype = dtype;
        note->dims = dims >= 0 && dims <= MOST_DIMS ? (int)dims : -1;
        note->least_dims = (int)ss_python.PyLong_AsLongLong(least);
        note->tensor_at = find_tensor(input, type);
        note->type_number =
            note->tensor_at != 0 ? type_number_of(tensor_of(input, note->tensor_at)) : 0;
    }
    ss_python_object *const owned[] = {type, dtype, shape};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    ss_python_drop_exception();
    return note->type != NULL && note->dims >= 0;
}

/* module, flags, phase, counted input or None, its least dimensions */
static ss_python_object *remember_call(ss_python_object *self, ss_python_object *const *args,
                                       ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 5)) {
        return NULL;
    }
    uint32_t flags = (uint32_t)ss_python.PyLong_AsLongLong(args[1]);
    if (known.has_gradients == NULL) {
        return ss_python_none();
    }
    follow_thread();
    struct note *note = take_note(args[0], flags & WITH_GRADIENTS);
    *note = (struct note){.module = args[0],
                          .generation = atomic_load_explicit(&generation, memory_order_relaxed),
                          .gate = current_gate(),
                          .flags = flags,
                          .phase = (uint32_t)ss_python.PyLong_AsLongLong(args[2]),
                          .left = (flags & IS_POLLED) != 0 ? POLL_EACH - 1 : 1};
    if (!set_input(note, args[3], args[4])) {
        *note = (struct note){0};
    }
    return ss_python_none();
}

static ss_python_object *forget_calls(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_torch_outermost_forget();
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"watch_outermost", {watch_outermost}, SS_PYTHON_FASTCALL},
    {"remember_call", {remember_call}, SS_PYTHON_FASTCALL},
    {"forget_calls", {.one = forget_calls}, SS_PYTHON_NONE},
};

bool ss_torch_add_outermost_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
