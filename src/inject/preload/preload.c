/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.so: LD_PRELOAD loads it into every process of a recording. In a Python process it listens
 * to imports and loads libstepscope when torch is imported; in other processes it does nothing. A
 * Python process without LD_PRELOAD loads it at its start (src/inject/python/sitecustomize.py).
 *
 * It depends on no library, so that any process can load it: it calls the C library of the process,
 * of any version and vendor. An audit hook is the only extension that Python accepts before it
 * starts: no path changes, and isolated mode (-I) and a missing site module (-S) do not matter. The
 * folder of that sitecustomize is in PYTHONPATH for other processes: it leaves sys.path again.
 */
#include <stdatomic.h>
#include <stddef.h>

#define WEAK __attribute__((weak))

extern void *dlopen(const char *path, int flags) WEAK;
extern void *dlsym(void *library, const char *name) WEAK;
extern char *dlerror(void) WEAK;
extern char *getenv(const char *name) WEAK;
extern ptrdiff_t write(int file, const void *bytes, size_t count) WEAK;

enum { LAZY = 1 }; /* RTLD_LAZY | RTLD_LOCAL of Linux */
enum { STANDARD_ERROR = 2, MOST_PRINTED = 1024 };

typedef int (*audit_hook)(const char *event, void *arguments, void *data);

static void *(*tuple_item)(void *tuple, ptrdiff_t index);
static const char *(*utf8)(void *text);
static void (*clear_error)(void);
static ptrdiff_t (*list_size)(void *list);
static void *(*list_item)(void *list, ptrdiff_t index);
static int (*replace_slice)(void *list, ptrdiff_t low, ptrdiff_t high, void *with);

/* libstepscope's callback, set at the first import of torch. 1: it needs no more events. */
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

/* --- the hook's entry in Python's list -------------------------------------------------------- */

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
static struct allocator early, late; /* when the hook is added; when Python finalizes */
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

/* Python allocates the entry with the allocator from before its start and frees it with the one at
 * its end: those of development mode and PYTHONMALLOC=debug crash on that (3.8 to 3.14). In this
 * case the entry is not freed. Only one function changes: other threads may be allocating. */
static void protect_entry(void)
{
    if (entry == NULL) {
        return;
    }
    get_allocator(RAW_DOMAIN, &late);
    if (late.release != early.release) {
        struct allocator protecting = late;
        protecting.release = release_all_but_entry;
        set_allocator(RAW_DOMAIN, &protecting);
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
    struct allocator recording = early;
    recording.allocate = allocate_entry;
    set_allocator(RAW_DOMAIN, &recording);
    add_audit_hook(hook, NULL);
    set_allocator(RAW_DOMAIN, &early);
}

/* --- events ----------------------------------------------------------------------------------- */

/* The arguments of the event "import": module, file, sys.path, sys.meta_path, sys.path_hooks. */
enum { IMPORT_MODULE = 0, IMPORT_PATH = 2 };

/* The imported module; NULL: another event, or not a text. */
static const char *import_of(const char *event, void *arguments)
{
    if (!is_same(event, "import")) {
        return NULL;
    }
    void *module = tuple_item(arguments, IMPORT_MODULE);
    const char *name = module != NULL ? utf8(module) : NULL;
    if (name == NULL) {
        clear_error();
    }
    return name;
}

/* Takes our folder out of the sys.path that Python starts with, before anything is searched in it.
 */
static void clean_path(void *arguments)
{
    static _Atomic int is_clean;
    const char *folder = getenv("STEPSCOPE_PYTHONPATH");
    if (folder == NULL || list_size == NULL || list_item == NULL || replace_slice == NULL ||
        atomic_load_explicit(&is_clean, memory_order_relaxed) != 0) {
        return;
    }
    void *path = tuple_item(arguments, IMPORT_PATH);
    ptrdiff_t count = path != NULL ? list_size(path) : -1;
    for (ptrdiff_t i = count - 1; i >= 0; i--) {
        void *entry_of_path = list_item(path, i);
        const char *text = entry_of_path != NULL ? utf8(entry_of_path) : NULL;
        if (text == NULL) {
            clear_error();
        } else if (is_same(text, folder) && replace_slice(path, i, i + 1, NULL) != 0) {
            clear_error();
        }
    }
    if (count < 0) { /* there is none yet */
        clear_error();
    }
    atomic_store_explicit(&is_clean, count > 0, memory_order_relaxed);
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

static int is_in_package(const char *text, const char *package)
{
    while (*package != '\0' && *text == *package) {
        text++;
        package++;
    }
    return *package == '\0' && (*text == '\0' || *text == '.');
}

/* Packages whose annotations stay in programs: libstepscope replaces a missing one. */
static int has_stand_in(const char *module)
{
    return is_in_package(module, "physicsnemo.utils.profiling") ||
           is_in_package(module, "modulus.utils.profiling");
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

static size_t append(char *line, size_t used, const char *text)
{
    for (; *text != '\0' && used < MOST_PRINTED - 1; text++) {
        line[used++] = *text;
    }
    return used;
}

/* The one line that is printed: the recording has no other trace of it. */
static void print_why_not(void)
{
    char line[MOST_PRINTED];
    const char *why = dlerror != NULL ? dlerror() : NULL;
    size_t used = append(line, 0, "stepscope: no steps, phases and operators of PyTorch: ");
    used = append(line, used, why != NULL ? why : "libstepscope cannot be loaded");
    line[used++] = '\n';
    if (write != NULL && write(STANDARD_ERROR, line, used) < 0) {
        return;
    }
}

static void load(void)
{
    void *library = open_library();
    void (*set_route)(const char *) = NULL;
    if (library == NULL) {
        print_why_not();
    } else {
        *(void **)&on_event = dlsym(library, "stepscope_python_event");
        *(void **)&set_route = dlsym(library, "stepscope_python_route");
    }
    if (set_route != NULL) {
        set_route(route);
    }
    atomic_store_explicit(&stage, on_event != NULL ? LISTENING : DONE, memory_order_release);
}

/* The thread holds the GIL; without a GIL two threads may load at once, with the same result. */
static int hook(const char *event, void *arguments, void *data)
{
    (void)data;
    if (event[0] == 'c' && is_same(event, "cpython._PySys_ClearAuditHooks")) {
        protect_entry();
    }
    int now = atomic_load_explicit(&stage, memory_order_acquire);
    if (now == DONE && event[0] != 'i') {
        return 0;
    }
    const char *module = import_of(event, arguments);
    if (module != NULL) {
        clean_path(arguments);
    }
    if (module != NULL && has_stand_in(module)) {
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
    void *(*thread_state)(void) = NULL;
    if (dlopen == NULL || dlsym == NULL || getenv == NULL) {
        return;
    }
    *(void **)&add_audit_hook = dlsym(NULL, "PySys_AddAuditHook");
    *(void **)&is_initialized = dlsym(NULL, "Py_IsInitialized");
    *(void **)&thread_state = dlsym(NULL, "PyThreadState_GetUnchecked");
    *(void **)&tuple_item = dlsym(NULL, "PyTuple_GetItem");
    *(void **)&utf8 = dlsym(NULL, "PyUnicode_AsUTF8");
    *(void **)&clear_error = dlsym(NULL, "PyErr_Clear");
    *(void **)&list_size = dlsym(NULL, "PyList_Size");
    *(void **)&list_item = dlsym(NULL, "PyList_GetItem");
    *(void **)&replace_slice = dlsym(NULL, "PyList_SetSlice");
    if (add_audit_hook != NULL && tuple_item != NULL && utf8 != NULL && clear_error != NULL &&
        getenv("STEPSCOPE_LIBRARY") != NULL) {
        /* From 3.15 on an interpreter counts as initialized only after it has imported `site`. */
        if ((is_initialized != NULL && is_initialized() != 0) ||
            (thread_state != NULL && thread_state() != NULL)) {
            route = "sitecustomize";
            add_audit_hook(hook, NULL);
        } else {
            add_early(add_audit_hook, hook);
        }
    }
}
