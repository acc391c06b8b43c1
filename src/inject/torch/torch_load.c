/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the Python files of torch_hooks/, which libstepscope contains. */
#include <stdio.h>

#include "base/shared_names.h"
#include "inject/torch/torch.h"

enum { MAX_NAMES_BYTES = 8 * 1024 };

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

static bool add_text(ss_python_object *texts, const char *name, const char *content)
{
    ss_python_object *text = ss_python.PyUnicode_FromString(content);
    bool is_added = text != NULL && ss_python.PyDict_SetItemString(texts, name, text) == 0;
    if (text != NULL) {
        ss_python.Py_DecRef(text);
    }
    return is_added;
}

/* Appends to the text. */
static size_t put_name(char *text, size_t size, const struct ss_shared_name *name)
{
    int length = snprintf(text, size, "%s_%s", name->kind, name->id);
    for (int i = 0; i < length && (size_t)i < size; i++) {
        text[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    }
    size_t used = (size_t)length < size ? (size_t)length : size;
    return used + (size_t)snprintf(text + used, size - used, " = \"%s\"\n", name->text);
}

/* The file "names": FACT_TORCH_CUDA = "torch.cuda" and so on, as in shared_names.def. */
static bool add_names(ss_python_object *texts)
{
    static char text[MAX_NAMES_BYTES]; /* the hooks are loaded once, by one thread */
    size_t length = 0;
    for (const struct ss_shared_name *name = ss_shared_names; name->kind != NULL; name++) {
        length += length < sizeof text ? put_name(text + length, sizeof text - length, name) : 0;
    }
    return add_text(texts, "names", text);
}

static bool add_texts(ss_python_object *texts)
{
    for (const char *const *file = ss_torch_hooks; *file != NULL; file += 2) {
        if (!add_text(texts, file[0], file[1])) {
            return false;
        }
    }
    return add_names(texts);
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
