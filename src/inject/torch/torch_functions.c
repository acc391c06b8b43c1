/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of libstepscope that the hooks import have in common, and the settings. */
#include "inject/torch/torch.h"

#include <stdatomic.h>

/* The recording leaves out torch: the installed hooks do nothing. Set at the start of a recording,
 * which other threads may see late. */
static _Atomic bool is_off;

bool ss_torch_is_off(void)
{
    return atomic_load_explicit(&is_off, memory_order_relaxed);
}

bool ss_torch_has_arguments(ptrdiff_t count, ptrdiff_t wanted)
{
    if (count != wanted) {
        ss_python.PyErr_SetString(ss_python.type_error, "wrong number of arguments");
    }
    return count == wanted;
}

/* truth */
static ss_python_object *turn_off(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    atomic_store_explicit(&is_off, ss_python.PyObject_IsTrue(argument) == 1, memory_order_relaxed);
    return ss_python_none();
}

static ss_python_object *read_settings(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyUnicode_FromString(ss_torch_settings());
}

static struct ss_python_method methods[] = {
    {"turn_off", {.one = turn_off}, SS_PYTHON_ONE},
    {"read_settings", {.one = read_settings}, SS_PYTHON_NONE},
};

bool ss_torch_add_methods(ss_python_object *functions, struct ss_python_method *added, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ss_python_object *function = ss_python.PyCFunction_NewEx(&added[i], NULL, NULL);
        if (function == NULL ||
            ss_python.PyDict_SetItemString(functions, added[i].name, function) != 0) {
            return false;
        }
        ss_python.Py_DecRef(function);
    }
    return true;
}

bool ss_torch_add_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods) &&
           ss_torch_add_event_functions(functions) && ss_torch_add_step_functions(functions) &&
           ss_torch_add_module_functions(functions) && ss_torch_add_call_functions(functions) &&
           ss_torch_add_callable_functions(functions) &&
           ss_torch_add_outermost_functions(functions) &&
           ss_torch_add_memory_functions(functions) && ss_torch_add_operator_functions(functions) &&
           ss_torch_add_collective_functions(functions) &&
           ss_torch_add_bucket_functions(functions) && ss_torch_add_device_functions(functions);
}
