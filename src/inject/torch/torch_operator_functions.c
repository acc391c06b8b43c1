/* SPDX-License-Identifier: Apache-2.0 */
/* The functions with which the hooks set up the recording of operators.
 * Reasons are texts, "" for none. */
#include "inject/itt/itt.h"
#include "inject/itt/itt_names.h"
#include "inject/itt/itt_state.h"
#include "inject/torch/torch.h"
#include "inject/torch/torch_check.h"
#include "inject/torch/torch_count.h"
#include "inject/torch/torch_library.h"

enum { MOST_NUMBERS = 16 };

static ss_python_object *reason(const char *why_not)
{
    return ss_python.PyUnicode_FromString(why_not != NULL ? why_not : "");
}

static bool read_numbers(ss_python_object *const *args, ptrdiff_t count, ptrdiff_t least,
                         int64_t *numbers)
{
    if (count < least || count > MOST_NUMBERS) {
        ss_python.PyErr_SetString(ss_python.type_error, "wrong number of arguments");
        return false;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        numbers[i] = ss_python.PyLong_AsLongLong(args[i]);
    }
    return true;
}

static const void *object_at(int64_t address)
{
    return (const void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr): Tensor._cdata
}

/* version → why libtorch cannot be used */
static ss_python_object *library(ss_python_object *self, ss_python_object *const *args,
                                 ptrdiff_t count)
{
    (void)self;
    const char *version = count == 1 ? ss_python.PyUnicode_AsUTF8(args[0]) : "";
    return version != NULL ? reason(ss_torch_library_find(version)) : NULL;
}

static ss_python_object *check_begin(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    (void)self;
    (void)args;
    (void)count;
    ss_torch_check_begin();
    return ss_python_none();
}

/* Tensor._cdata of the two inputs of the next product */
static ss_python_object *check_product(ss_python_object *self, ss_python_object *const *args,
                                       ptrdiff_t count)
{
    int64_t tensors[MOST_NUMBERS];
    (void)self;
    if (!read_numbers(args, count, 2, tensors)) {
        return NULL;
    }
    ss_torch_check_product(object_at(tensors[0]), object_at(tensors[1]));
    return ss_python_none();
}

/* the dimensions of the next permutation */
static ss_python_object *check_list(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    int64_t values[MOST_NUMBERS];
    (void)self;
    if (!read_numbers(args, count, 1, values)) {
        return NULL;
    }
    ss_torch_check_list((struct ss_torch_shape){values, (size_t)count});
    return ss_python_none();
}

/* a Tensor._cdata and its sizes */
static ss_python_object *check_sizes(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    int64_t numbers[MOST_NUMBERS];
    (void)self;
    if (!read_numbers(args, count, 2, numbers)) {
        return NULL;
    }
    ss_torch_check_sizes(object_at(numbers[0]),
                         (struct ss_torch_shape){numbers + 1, (size_t)count - 1});
    return ss_python_none();
}

/* a Tensor._cdata, on the CPU (True) or on the meta device */
static ss_python_object *check_device(ss_python_object *self, ss_python_object *const *args,
                                      ptrdiff_t count)
{
    int64_t numbers[MOST_NUMBERS];
    (void)self;
    if (!read_numbers(args, count, 2, numbers)) {
        return NULL;
    }
    ss_torch_check_device(object_at(numbers[0]), numbers[1] != 0 ? SS_TORCH_CPU : SS_TORCH_META);
    return ss_python_none();
}

/* → why operators cannot be recorded */
static ss_python_object *check_end(ss_python_object *self, ss_python_object *const *args,
                                   ptrdiff_t count)
{
    (void)self;
    (void)args;
    (void)count;
    return reason(ss_torch_check_end());
}

/* enum ss_torch_operators */
static ss_python_object *start(ss_python_object *self, ss_python_object *const *args,
                               ptrdiff_t count)
{
    (void)self;
    int64_t numbers[MOST_NUMBERS];
    if (!read_numbers(args, count, 1, numbers)) {
        return NULL;
    }
    ss_torch_operators_start((enum ss_torch_operators)numbers[0]);
    return ss_python_none();
}

static ss_python_object *stop(ss_python_object *self, ss_python_object *const *args,
                              ptrdiff_t count)
{
    (void)self;
    (void)args;
    (void)count;
    ss_torch_operators_stop();
    return ss_python_none();
}

/* truth → why FLOPs cannot be counted */
static ss_python_object *count_flops(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    (void)self;
    if (count == 1 && ss_python.PyObject_IsTrue(args[0]) == 1) {
        ss_torch_count_begin();
    } else {
        ss_torch_count_end();
    }
    return reason(ss_torch_count_unavailable());
}

/* Records torch's own ITT ranges as its operators. torch attaches to a collector at its first
 * range: the hooks emit one, which is not recorded, between a call with True and one with
 * False. → truth: torch has attached to this collector. */
static ss_python_object *attach_itt(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    static uint32_t pauses;
    (void)self;
    if (count == 1 && ss_python.PyObject_IsTrue(args[0]) == 1) {
        ss_itt_redirect_domain("PyTorch", "torch");
        pauses = atomic_fetch_or(&ss_itt_pauses, SS_ITT_PAUSED);
    } else {
        atomic_store(&ss_itt_pauses, pauses);
    }
    return ss_python.PyLong_FromLongLong(ss_itt_is_attached());
}

static struct ss_python_method methods[] = {
    {"find_library", {library}, SS_PYTHON_FASTCALL},
    {"begin_check", {check_begin}, SS_PYTHON_FASTCALL},
    {"check_product", {check_product}, SS_PYTHON_FASTCALL},
    {"check_list", {check_list}, SS_PYTHON_FASTCALL},
    {"check_sizes", {check_sizes}, SS_PYTHON_FASTCALL},
    {"check_device", {check_device}, SS_PYTHON_FASTCALL},
    {"end_check", {check_end}, SS_PYTHON_FASTCALL},
    {"start_operators", {start}, SS_PYTHON_FASTCALL},
    {"stop_operators", {stop}, SS_PYTHON_FASTCALL},
    {"count_flops", {count_flops}, SS_PYTHON_FASTCALL},
    {"attach_itt", {attach_itt}, SS_PYTHON_FASTCALL},
};

bool ss_torch_add_operator_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
