/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.so: what LD_PRELOAD brings into every process of a recording. In a Python it listens to
 * imports and loads libstepscope when torch is among them; everywhere else it does nothing. A
 * Python that it is not preloaded into loads it as it starts (src/inject/python/sitecustomize.py).
 *
 * It depends on no library, so that it can be in any process: what it calls is the C library that
 * the process has, of any age and make. An audit hook is all that a Python lets in before it
 * starts: no path is changed, and isolated mode (-I) and the absence of site (-S) do not matter.
 */
#include <stdatomic.h>
#include <stddef.h>

#define WEAK __attribute__((weak))

extern void *dlopen(const char *path, int flags) WEAK;
extern void *dlsym(void *library, const char *name) WEAK;
extern char *getenv(const char *name) WEAK;

enum { LAZY = 1 }; /* RTLD_LAZY | RTLD_LOCAL of Linux */

typedef int (*audit_hook)(const char *event, void *arguments, void *data);

static void *(*tuple_item)(void *tuple, ptrdiff_t index);
static const char *(*utf8)(void *text);
static void (*clear_error)(void);

/* libstepscope's, once something of torch is imported. 1: it wants no more. */
static int (*on_event)(const char *import);

enum stage { QUIET, LISTENING, DONE };
static _Atomic int stage;

static const char *route = "preload";

static int is_same(const char *text, const char *other)
{
    while (*text != '\0' && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}

/* --- the entry of our hook in Python's list --------------------------------------------------- */

/* PyMemAllocatorEx. */
struct allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void *(*allocate_zero)(void *context, size_t count, size_t size);
    void *(*reallocate)(void *context, void *block, size_t size);
    void (*release)(void *context, void *block);
};
enum { RAW_DOMAIN = 0 };

static void (*get_allocator)(int domain, struct allocator *allocator);
static void (*set_allocator)(int domain, struct allocator *allocator);
static struct allocator early, late; /* as we came in; as Python ends */
static void *entry;

static void *allocate_entry(void *context, size_t size)
{
    return entry = early.allocate(context, size);
}

static void release_all_but_entry(void *context, void *block)
{
    if (block != entry) {
        late.release(context, block);
    }
}

/* Python has the entry from the allocator that it has before it starts, and gives it back to the
 * one that it ends with: those of development mode and PYTHONMALLOC=debug die of that (3.8
 * to 3.14). Then it stays. Nothing but a function changes: other threads may be allocating. */
static void keep_entry(void)
{
    if (entry == NULL) {
        return;
    }
    get_allocator(RAW_DOMAIN, &late);
    if (late.release != early.release) {
        struct allocator keeping = late;
        keeping.release = release_all_but_entry;
        set_allocator(RAW_DOMAIN, &keeping);
    }
}

static void add_early(int (*add_audit_hook)(audit_hook, void *), audit_hook hook)
{
    *(void **)&get_allocator = dlsym(NULL, "PyMem_GetAllocator");
    *(void **)&set_allocator = dlsym(NULL, "PyMem_SetAllocator");
    if (get_allocator == NULL || set_allocator == NULL) {
        add_audit_hook(hook, NULL);
        return;
    }
    get_allocator(RAW_DOMAIN, &early);
    struct allocator knowing = early;
    knowing.allocate = allocate_entry;
    set_allocator(RAW_DOMAIN, &knowing);
    add_audit_hook(hook, NULL);
    set_allocator(RAW_DOMAIN, &early);
}

/* --- what it hears ---------------------------------------------------------------------------- */

/* What is imported; NULL: not an import. */
static const char *import_of(const char *event, void *arguments)
{
    if (!is_same(event, "import")) {
        return NULL;
    }
    void *module = tuple_item(arguments, 0);
    const char *name = module != NULL ? utf8(module) : NULL;
    if (name == NULL) {
        clear_error();
    }
    return name;
}

static int is_torch(const char *module)
{
    static const char torch[] = "torch";
    size_t i = 0;
    while (i < sizeof torch - 1 && module[i] == torch[i]) {
        i++;
    }
    return i == sizeof torch - 1 && (module[i] == '\0' || module[i] == '.');
}

static int begins(const char *text, const char *start)
{
    while (*start != '\0' && *text == *start) {
        text++;
        start++;
    }
    return *start == '\0' && (*text == '\0' || *text == '.');
}

/* Packages whose annotations programs leave in: libstepscope stands in for one that is missing. */
static int wants_stand_in(const char *module)
{
    return begins(module, "physicsnemo.utils.profiling") ||
           begins(module, "modulus.utils.profiling");
}

static void *open_library(void)
{
    const char *path = getenv("STEPSCOPE_LIBRARY");
    return path != NULL ? dlopen(path, LAZY) : NULL;
}

static void stand_in(const char *module)
{
    void *library = open_library();
    void (*run)(const char *) = NULL;
    if (library != NULL) {
        *(void **)&run = dlsym(library, "stepscope_python_stand_in");
    }
    if (run != NULL) {
        run(module);
    }
}

static void load(void)
{
    void *library = open_library();
    void (*tell_route)(const char *) = NULL;
    if (library != NULL) {
        *(void **)&on_event = dlsym(library, "stepscope_python_event");
        *(void **)&tell_route = dlsym(library, "stepscope_python_route");
    }
    if (tell_route != NULL) {
        tell_route(route);
    }
    atomic_store_explicit(&stage, on_event != NULL ? LISTENING : DONE, memory_order_release);
}

/* The thread holds the GIL; without a GIL two may load at once, and find the same. */
static int hook(const char *event, void *arguments, void *data)
{
    (void)data;
    if (event[0] == 'c' && is_same(event, "cpython._PySys_ClearAuditHooks")) {
        keep_entry();
    }
    int now = atomic_load_explicit(&stage, memory_order_acquire);
    if (now == DONE && event[0] != 'i') {
        return 0;
    }
    const char *module = import_of(event, arguments);
    if (module != NULL && wants_stand_in(module)) {
        stand_in(module);
    }
    if (now == DONE) {
        return 0;
    }
    if (now == QUIET) {
        if (module == NULL || !is_torch(module)) {
            return 0;
        }
        load();
        now = atomic_load_explicit(&stage, memory_order_acquire);
    }
    if (now == LISTENING && on_event(module) != 0) {
        atomic_store_explicit(&stage, DONE, memory_order_release);
    }
    return 0;
}

__attribute__((constructor)) static void on_load(void)
{
    int (*add_audit_hook)(audit_hook, void *) = NULL;
    int (*is_initialized)(void) = NULL;
    if (dlopen == NULL || dlsym == NULL || getenv == NULL) {
        return;
    }
    *(void **)&add_audit_hook = dlsym(NULL, "PySys_AddAuditHook");
    *(void **)&is_initialized = dlsym(NULL, "Py_IsInitialized");
    *(void **)&tuple_item = dlsym(NULL, "PyTuple_GetItem");
    *(void **)&utf8 = dlsym(NULL, "PyUnicode_AsUTF8");
    *(void **)&clear_error = dlsym(NULL, "PyErr_Clear");
    if (add_audit_hook != NULL && tuple_item != NULL && utf8 != NULL && clear_error != NULL &&
        getenv("STEPSCOPE_LIBRARY") != NULL) {
        if (is_initialized != NULL && is_initialized() != 0) {
            route = "sitecustomize";
            add_audit_hook(hook, NULL);
        } else {
            add_early(add_audit_hook, hook);
        }
    }
}
