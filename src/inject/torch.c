/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "annot/automatic.h"
#include "annot/define.h"
#include "annot/events.h"
#include "annot/first.h"

/* What preload.so calls at each audit event of Python; `import`: what is imported, NULL: another
 * event. 1: nothing more is wanted. */
__attribute__((visibility("default"))) int stepscope_python_event(const char *import);

enum { MOST_IMPORTS = 3 }; /* of a torch that fails to load */

static void tell(const char *key, const char *text)
{
    ss_event_fact(ss_define_name(key, strlen(key)),
                  (struct ss_event_value){ss_define_name(text, strlen(text)), SS_RING_VALUE_NAME});
}

/* The exception that is set, as text; clears it. */
static void take_exception(char *text, size_t size)
{
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    ss_python_object *shown = value != NULL ? ss_python.PyObject_Str(value) : NULL;
    const char *bytes = shown != NULL ? ss_python.PyUnicode_AsUTF8(shown) : NULL;
    snprintf(text, size, "%s", bytes != NULL ? bytes : "an exception without a text");
    ss_python.PyErr_Clear();
    ss_python_object *const left[] = {shown, type, value, traceback};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != NULL) {
            ss_python.Py_DecRef(left[i]);
        }
    }
}

static bool run_text(const char *text, const char *name, ss_python_object *globals)
{
    ss_python_object *code = ss_python.Py_CompileString(text, name, SS_PYTHON_FILE_INPUT);
    ss_python_object *result =
        code != NULL ? ss_python.PyEval_EvalCode(code, globals, globals) : NULL;
    bool ran = result != NULL;
    if (ran) {
        ss_python.Py_DecRef(result);
    }
    if (code != NULL) {
        ss_python.Py_DecRef(code);
    }
    return ran;
}

static bool run_texts(ss_python_object *globals)
{
    return ss_python.PyDict_SetItemString(globals, "__builtins__",
                                          ss_python.PyEval_GetBuiltins()) == 0 &&
           ss_torch_add_functions(globals) &&
           run_text(ss_torch_hooks, "<stepscope torch>", globals) &&
           run_text(ss_torch_deepspeed, "<stepscope deepspeed>", globals) &&
           run_text(ss_torch_profiler, "<stepscope torch.profiler>", globals);
}

/* The dict is kept for ever: the functions that hang in torch are its own. */
static void set_up(void)
{
    char text[512];
    ss_python_object *globals = ss_python.PyDict_New();
    ss_automatic_claim();
    if (globals == NULL || !run_texts(globals)) {
        take_exception(text, sizeof text);
        tell("torch.hooks", text);
    }
}

/* 1: it is all there; 0: it is being imported; -1: nobody has begun. */
static int state_of_torch(void)
{
    ss_python_object *modules = ss_python.PyImport_GetModuleDict();
    ss_python_object *torch =
        modules != NULL ? ss_python.PyDict_GetItemString(modules, "torch") : NULL;
    if (torch == NULL || torch == ss_python.none) {
        return -1;
    }
    ss_python_object *spec = ss_python.PyObject_GetAttrString(torch, "__spec__");
    ss_python_object *busy =
        spec != NULL ? ss_python.PyObject_GetAttrString(spec, "_initializing") : NULL;
    int state = busy == NULL || ss_python.PyObject_IsTrue(busy) != 1;
    if (spec != NULL) {
        ss_python.Py_DecRef(spec);
    }
    if (busy != NULL) {
        ss_python.Py_DecRef(busy);
    }
    ss_python.PyErr_Clear();
    return state;
}

static bool is_of_torch(const char *import)
{
    return import != NULL && strncmp(import, "torch", 5) == 0 &&
           (import[5] == '\0' || import[5] == '.');
}

/* Before the import that is announced: it finds torch there when we return. One that was begun by
 * other means (importlib) is over by one of the next events. */
static bool follow(const char *import)
{
    static int imports;
    int state = state_of_torch();
    if (state < 0 && is_of_torch(import)) {
        ss_python_object *torch = ss_python.PyImport_ImportModule("torch");
        if (torch == NULL) {
            ss_python.PyErr_Clear(); /* the program's own import fails as well, and tells */
            return ++imports >= MOST_IMPORTS;
        }
        ss_python.Py_DecRef(torch);
        state = state_of_torch();
    }
    if (state > 0) {
        set_up();
    }
    return state > 0;
}

int stepscope_python_event(const char *import)
{
    static atomic_flag is_inside = ATOMIC_FLAG_INIT;
    static _Atomic int wants_more = -1;
    int (*first)(const char *) = NULL;
    *(void **)&first = ss_first_function("stepscope_python_event");
    if (first != NULL) {
        return first(import);
    }
    if (atomic_flag_test_and_set(&is_inside)) {
        return 0; /* what we do here raises events too, and other threads do */
    }
    const char *missing = NULL;
    int more = atomic_load_explicit(&wants_more, memory_order_relaxed);
    if (more < 0) {
        more = ss_first_library() == NULL && ss_python_find(&missing);
        if (missing != NULL) {
            tell("torch.hooks", missing);
        }
    }
    if (more > 0) {
        ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
        ss_python.PyErr_Fetch(&type, &value, &traceback);
        more = !follow(import);
        ss_python.PyErr_Restore(type, value, traceback);
    }
    atomic_store_explicit(&wants_more, more, memory_order_relaxed);
    atomic_flag_clear(&is_inside);
    return more == 0;
}
