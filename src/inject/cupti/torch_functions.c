/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libstepscope with which the hooks of torch give CUPTI up and take it back. */
#include "inject/cupti/collector.h"
#include "inject/torch/torch.h"

/* who uses CUPTI from now on */
static ss_python_object *yield_devices(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    const char *to = ss_python.PyUnicode_AsUTF8(argument);
    if (to == NULL) {
        return NULL;
    }
    ss_cupti_yield(to);
    return ss_python_none();
}

static ss_python_object *resume_devices(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_cupti_resume();
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"yield_devices", {.one = yield_devices}, SS_PYTHON_ONE},
    {"resume_devices", {.one = resume_devices}, SS_PYTHON_NONE},
};

bool ss_torch_add_device_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
