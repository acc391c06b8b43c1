/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/python_api.h"

#include <dlfcn.h>

struct ss_python_api ss_python;

static bool find(const char *name, void **function, const char **missing)
{
    *function = dlsym(RTLD_DEFAULT, name);
    *missing = *function == NULL ? name : *missing;
    return *function != NULL;
}

bool ss_python_find(const char **missing)
{
    void *type_error = NULL, *interrupt = NULL;
    bool found = find("_Py_NoneStruct", (void **)&ss_python.none, missing) &&
                 find("_Py_TrueStruct", (void **)&ss_python.truth, missing) &&
                 find("PyExc_TypeError", &type_error, missing) &&
                 find("PyExc_KeyboardInterrupt", &interrupt, missing);
#define SS_PYTHON_FIND(name, result, arguments)                                                    \
    found = found && find(#name, (void **)&ss_python.name, missing);
    SS_PYTHON_FUNCTIONS(SS_PYTHON_FIND)
#undef SS_PYTHON_FIND
#define SS_PYTHON_LOOK_UP(name, result, arguments)                                                 \
    *(void **)&ss_python.name = dlsym(RTLD_DEFAULT, #name);
    SS_PYTHON_OPTIONAL(SS_PYTHON_LOOK_UP)
#undef SS_PYTHON_LOOK_UP
    *(void **)&ss_python.call_function = dlsym(RTLD_DEFAULT, "_PyFunction_Vectorcall");
    if (found) {
        ss_python.type_error = *(ss_python_object **)type_error;
        ss_python.interrupt = *(ss_python_object **)interrupt;
    }
    return found;
}

void ss_python_drop_exception(void)
{
    if (ss_python.PyErr_Occurred() != NULL) {
        bool is_interrupt = ss_python.PyErr_ExceptionMatches(ss_python.interrupt) != 0;
        ss_python.PyErr_Clear();
        if (is_interrupt) {
            ss_python.PyErr_SetInterrupt();
        }
    }
}
