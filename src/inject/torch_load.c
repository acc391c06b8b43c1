/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the Python files of torch_hooks/, which libstepscope contains. */
#include <stdio.h>

#include "inject/torch.h"

/* Copies the current exception as text, and drops it. */
static void fetch_exception(char *text, size_t size)
{
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    bool is_interrupt = ss_python.PyErr_ExceptionMatches(ss_python.interrupt) != 0;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    ss_python_object *shown = value != NULL ? ss_python.PyObject_Str(value) : NULL;
    const char *bytes = shown != NULL ? ss_python.PyUnicode_AsUTF8(shown) : NULL;
    snprintf(text, size, "%s", bytes != NULL ? bytes : "an exception without a text");
    ss_python.PyErr_Clear();
    ss_python_object *const owned[] = {shown, type, value, traceback};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    if (is_interrupt) {
        ss_python.PyErr_SetInterrupt();
    }
}

/* NULL: an exception is set. */
static ss_python_object *run_text(const char *text, const char *name, ss_python_object *globals)
{
    ss_python_object *code = ss_python.Py_CompileString(text, name, SS_PYTHON_FILE_INPUT);
    ss_python_object *result =
        code != NULL ? ss_python.PyEval_EvalCode(code, globals, globals) : NULL;
    if (code != NULL) {
        ss_python.Py_DecRef(code);
    }
    return result;
}

static bool add_texts(ss_python_object *texts)
{
    for (const char *const *file = ss_torch_hooks; *file != NULL; file += 2) {
        ss_python_object *text = ss_python.PyUnicode_FromString(file[1]);
        bool is_added = text != NULL && ss_python.PyDict_SetItemString(texts, file[0], text) == 0;
        if (text != NULL) {
            ss_python.Py_DecRef(text);
        }
        if (!is_added) {
            return false;
        }
    }
    return true;
}

/* Runs the loader and calls its function `load`. NULL: an exception is set. */
static ss_python_object *load(ss_python_object *globals, ss_python_object *texts,
                              ss_python_object *functions)
{
    ss_python_object *builtins = ss_python.PyEval_GetBuiltins();
    if (ss_python.PyDict_SetItemString(globals, "__builtins__", builtins) != 0 ||
        !add_texts(texts) || !ss_torch_add_functions(functions)) {
        return NULL;
    }
    ss_python_object *result = run_text(ss_torch_hooks_loader, "<stepscope torch.loader>", globals);
    if (result == NULL) {
        return NULL;
    }
    ss_python.Py_DecRef(result);
    return ss_python.PyObject_CallFunctionObjArgs(ss_python.PyDict_GetItemString(globals, "load"),
                                                  texts, functions, NULL);
}

ss_python_object *ss_torch_load_hooks(char *text, size_t size)
{
    ss_python_object *globals = ss_python.PyDict_New(), *texts = ss_python.PyDict_New(),
                     *functions = ss_python.PyDict_New(), *configure = NULL;
    if (globals != NULL && texts != NULL && functions != NULL) {
        configure = load(globals, texts, functions);
    }
    if (configure == NULL) {
        fetch_exception(text, size);
    }
    ss_python_object *const owned[] = {globals, texts, functions};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    return configure;
}
