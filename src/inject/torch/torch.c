/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "annot/automatic.h"
#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/first.h"
#include "annot/process.h"
#include "base/env.h"
#include "base/shared_names.h"

/* preload.so calls it at each audit event of Python. `import`: the imported module; NULL: another
 * event. 1: no more events are needed. */
__attribute__((visibility("default"))) int stepscope_python_event(const char *import);
/* preload.so calls it first: how preload.so was loaded. The text must stay valid. */
__attribute__((visibility("default"))) void stepscope_python_route(const char *name);
/* The same without preload.so, for the Python package: listens from now on. torch may already be
 * imported. */
__attribute__((visibility("default"))) void stepscope_python_listen(void);

/* For a program that records itself: what to record of torch, in the syntax of STEPSCOPE_TORCH;
 * "off=1": nothing. Each of its recordings calls it at the start, with the GIL held. */
__attribute__((visibility("default"))) void stepscope_torch_follow(const char *settings);

enum { MOST_IMPORTS = 3 }; /* attempts to import a torch that fails to load */

static const char *_Atomic route;

static void record_fact(const char *key, const char *text)
{
    ss_fact_set(ss_define_name(key, strlen(key)),
                (struct ss_event_value){ss_define_name(text, strlen(text)), SS_RING_VALUE_NAME});
}

/* The function of the hooks that applies the settings of another recording; NULL: they could not be
 * installed. It holds all of them. */
static ss_python_object *configure;

static char own_settings[256];

const char *ss_torch_settings(void)
{
    const char *text = ss_env_get(SS_ENV_STEPSCOPE_TORCH);
    return own_settings[0] != '\0' ? own_settings : text != NULL ? text : "";
}

static void set_up(void)
{
    /* A step may emit a hundred thousand operators before the recorder wakes. */
    enum { SLOTS_LOG2 = 18 };
    char text[512];
    ss_process_widen_rings(SLOTS_LOG2);
    ss_automatic_guess();
    const char *loaded_by = atomic_load_explicit(&route, memory_order_relaxed);
    if (loaded_by != NULL) {
        record_fact(ss_fact_torch_route, loaded_by);
    }
    configure = ss_torch_load_hooks(text, sizeof text);
    if (configure == NULL) {
        record_fact(ss_fact_torch_hooks, text);
    }
}

/* Applies the settings of this recording to the hooks, which are installed already. */
static void reconfigure(void)
{
    ss_python_object *result = ss_python.PyObject_CallFunctionObjArgs(configure, NULL);
    if (result != NULL) {
        ss_python.Py_DecRef(result);
    }
    ss_python_drop_exception();
}

/* 1: imported; 0: its import is under way; -1: not imported. */
static int state_of_torch(void)
{
    ss_python_object *modules = ss_python.PySys_GetObject("modules");
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

/* Imports torch before the import that the event announces, which then finds it. An import that was
 * started by other means (importlib) is complete by one of the next events. */
static bool try_set_up(const char *import)
{
    static int imports;
    int state = state_of_torch();
    if (state < 0 && is_of_torch(import)) {
        ss_python_object *torch = ss_python.PyImport_ImportModule("torch");
        if (torch == NULL) {
            ss_python_drop_exception(); /* the program's own import fails as well, and reports it */
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
    static _Atomic int needs_more = -1;
    int (*first)(const char *) = NULL;
    *(void **)&first = ss_first_function("stepscope_python_event");
    if (first != NULL) {
        return first(import);
    }
    if (atomic_flag_test_and_set(&is_inside)) {
        return 0; /* an event of this function's own work, or of another thread */
    }
    const char *missing = NULL;
    int more = atomic_load_explicit(&needs_more, memory_order_relaxed);
    if (more < 0) {
        more = ss_first_library() == NULL && ss_python_find(&missing);
        if (missing != NULL) {
            record_fact(ss_fact_torch_hooks, missing);
        }
    }
    if (more > 0 && ss_python.Py_IsInitialized() == 0) {
        more = 0; /* Python is finalizing, and still raises events */
    }
    if (more > 0) {
        ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
        ss_python.PyErr_Fetch(&type, &value, &traceback);
        more = !try_set_up(import);
        ss_python.PyErr_Restore(type, value, traceback);
    }
    atomic_store_explicit(&needs_more, more, memory_order_relaxed);
    atomic_flag_clear(&is_inside);
    return more == 0;
}

void stepscope_python_route(const char *name)
{
    void (*first)(const char *) = NULL;
    *(void **)&first = ss_first_function("stepscope_python_route");
    if (first != NULL) {
        first(name);
    } else {
        atomic_store_explicit(&route, name, memory_order_relaxed);
    }
}

/* --- without preload.so ---------------------------------------------------------------------- */

/* Until torch is imported, only imports matter. */
static int on_audit(const char *event, ss_python_object *arguments, void *data)
{
    enum { QUIET, BEGUN, DONE };
    static _Atomic int stage = QUIET;
    (void)data;
    int now = atomic_load_explicit(&stage, memory_order_relaxed);
    bool is_import = now != DONE && strcmp(event, "import") == 0;
    if (now == DONE || (now == QUIET && !is_import)) {
        return 0;
    }
    ss_python_object *name = is_import ? ss_python.PyTuple_GetItem(arguments, 0) : NULL;
    const char *import = name != NULL ? ss_python.PyUnicode_AsUTF8(name) : NULL;
    if (is_import && import == NULL) {
        ss_python.PyErr_Clear();
    }
    if (now == BEGUN || is_of_torch(import)) {
        int next = stepscope_python_event(import) != 0 ? DONE : BEGUN;
        atomic_store_explicit(&stage, next, memory_order_relaxed);
    }
    return 0;
}

void stepscope_torch_follow(const char *settings)
{
    void (*first)(const char *) = NULL;
    *(void **)&first = ss_first_function("stepscope_torch_follow");
    if (first != NULL) {
        first(settings);
        return;
    }
    snprintf(own_settings, sizeof own_settings, "%s", settings);
    if (configure != NULL) {
        reconfigure();
    } else if (strcmp(settings, "off=1") != 0) {
        stepscope_python_listen();
    }
}

void stepscope_python_listen(void)
{
    static atomic_flag listens = ATOMIC_FLAG_INIT;
    void (*first)(void) = NULL;
    int (*add)(int (*)(const char *, ss_python_object *, void *), void *) = NULL;
    *(void **)&first = ss_first_function("stepscope_python_listen");
    *(void **)&add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
    if (first != NULL) {
        first();
        return;
    }
    const char *none = NULL;
    atomic_compare_exchange_strong(&route, &none, "import stepscope");
    if (stepscope_python_event(NULL) == 0 && add != NULL && !atomic_flag_test_and_set(&listens)) {
        add(on_audit, NULL);
    }
}
