/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for a profiling package that the program imports but that is not installed: when
 * preload.so detects the import, this runs python/stepscope/_stand_in.py, so that the import finds
 * a module. Imports of other names of the package fail as without stepscope.
 */
#include <stdatomic.h>
#include <string.h>

#include "annot/first.h"
#include "annot/process.h"
#include "inject/torch/torch.h"

extern const char ss_stand_in[];

/* preload.so calls it before such an import, with the GIL held. */
__attribute__((visibility("default"))) void stepscope_python_stand_in(const char *wanted);

static bool set(ss_python_object *globals, const char *key, ss_python_object *value)
{
    return value != NULL && ss_python.PyDict_SetItemString(globals, key, value) == 0;
}

static void run(ss_python_object *globals, const char *wanted)
{
    ss_python_object *name = ss_python.PyUnicode_FromString(wanted), *code = NULL, *result = NULL;
    if (set(globals, "__builtins__", ss_python.PyEval_GetBuiltins()) &&
        set(globals, "_wanted", name) && ss_torch_add_functions(globals)) {
        code =
            ss_python.Py_CompileString(ss_stand_in, "<stepscope stand-in>", SS_PYTHON_FILE_INPUT);
    }
    if (code != NULL) {
        result = ss_python.PyEval_EvalCode(code, globals, globals);
    }
    ss_python_object *const owned[] = {name, code, result};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
}

/* Exceptions are cleared: the program's own import then fails as without stepscope. */
void stepscope_python_stand_in(const char *wanted)
{
    static atomic_flag is_inside = ATOMIC_FLAG_INIT;
    void (*first)(const char *) = NULL;
    const char *missing = NULL;
    *(void **)&first = ss_first_function("stepscope_python_stand_in");
    if (first != NULL) {
        first(wanted);
        return;
    }
    if (!ss_process_is_set_up() || atomic_flag_test_and_set(&is_inside)) {
        return;
    }
    if (ss_first_library() == NULL && ss_python_find(&missing) &&
        ss_python.Py_IsInitialized() != 0) {
        ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
        ss_python.PyErr_Fetch(&type, &value, &traceback);
        ss_python_object *globals = ss_python.PyDict_New();
        if (globals != NULL) {
            run(globals, wanted);
            ss_python.Py_DecRef(globals);
        }
        ss_python.PyErr_Clear();
        ss_python.PyErr_Restore(type, value, traceback);
    }
    atomic_flag_clear(&is_inside);
}
