/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.so: LD_PRELOAD loads it into every process of a recording, first of all. It exports MPI's
 * functions and forwards each call to the next library that has the function: a tool of the user's
 * or the implementation of MPI. The types of MPI differ between implementations, those of these
 * functions in registers and on the stack do not, so that one library fits all. The first call
 * finds the implementation of the process and loads the library that observes it (observe.c, one
 * for each ABI); where there is none, calls are only forwarded.
 *
 * It depends on no library, so that any process can load it, as preload.so.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/mpi/observer.h"

#define WEAK __attribute__((weak))
#define EXPORT __attribute__((visibility("default")))

/* Of link.h and dlfcn.h, for the C library of the process. */
struct object {
    uintptr_t address;
    const char *name; /* more follows */
};
struct address {
    const char *file;
    void *base;
    const char *symbol;
    void *symbol_address;
};
extern void *dlopen(const char *path, int flags) WEAK;
extern void *dlsym(void *library, const char *name) WEAK;
extern int dladdr(const void *address, struct address *found) WEAK;
extern int dl_iterate_phdr(int (*visit)(struct object *, size_t, void *), void *context) WEAK;
extern char *getenv(const char *name) WEAK;

enum { LAZY = 1, LOADED = 4 }; /* RTLD_LAZY | RTLD_LOCAL, RTLD_NOLOAD of Linux */
#define NEXT ((void *)-1)      /* RTLD_NEXT */

enum { PATH_BYTES = 4096, UNKNOWN_FUNCTION = 15 /* an error, MPI_ERR_OTHER of some */ };

#define SS_MPI_FUNCTION(name, arguments) NUMBER_##name,
enum {
#include "inject/mpi/forwarded.def"
    FUNCTIONS
};

#define SS_MPI_FUNCTION(name, arguments) #name,
static const char *const names[FUNCTIONS] = {
#include "inject/mpi/forwarded.def"
};

/* Where calls go; NULL until the first one. Threads that find the same at once store the same. */
static _Atomic(void *) targets[FUNCTIONS];

/* --- texts ------------------------------------------------------------------------------------ */

static int is_same(const char *text, const char *other)
{
    while (*text != '\0' && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}

static int begins(const char *text, const char *with)
{
    while (*with != '\0' && *text == *with) {
        text++;
        with++;
    }
    return *with == '\0';
}

static const char *file_of(const char *path)
{
    const char *file = path;
    for (; *path != '\0'; path++) {
        file = *path == '/' ? path + 1 : file;
    }
    return file;
}

/* --- the implementation ----------------------------------------------------------------------- */

static int visit(struct object *object, size_t size, void *context)
{
    (void)size;
    void **library = context;
    const char *file = object->name != NULL ? file_of(object->name) : "";
    if (!begins(file, "libmpi")) {
        return 0;
    }
    void *found = dlopen(object->name, LAZY | LOADED);
    if (found == NULL || dlsym(found, "PMPI_Init") == NULL) {
        return 0;
    }
    *library = found;
    return 1;
}

/* mpi4py and others load it with names that only they see. */
static void *find_implementation(void)
{
    void *library = NULL;
    if (dlsym(NEXT, "PMPI_Init") != NULL) {
        return NEXT;
    }
    if (dl_iterate_phdr != NULL) {
        dl_iterate_phdr(visit, &library);
    }
    return library;
}

static void *implementation;

/* What is not exported here, such as PMPI_Comm_rank. Constants of Open MPI may have been copied
 * into the program itself, which comes first. */
static void *find_function(const char *name)
{
    void *found = dlsym(NULL, name);
    return found != NULL || implementation == NEXT ? found : dlsym(implementation, name);
}

/* --- the observer ----------------------------------------------------------------------------- */

/* "FOLDER OF mpi.so/FILE" */
static int beside(const char *file, char *path)
{
    struct address self;
    if (dladdr == NULL || dladdr((const void *)beside, &self) == 0 || self.file == NULL) {
        return 0;
    }
    size_t folder = (size_t)(file_of(self.file) - self.file), at = 0;
    while (at < folder && at < PATH_BYTES - 1) {
        path[at] = self.file[at];
        at++;
    }
    while (*file != '\0' && at < PATH_BYTES - 1) {
        path[at++] = *file++;
    }
    path[at] = '\0';
    return *file == '\0' && at > folder;
}

/* NULL: it is not known, or there is no library for it. */
static ss_mpi_observer *find_observer(void)
{
    static const struct {
        const char *symbol, *file;
    } abis[] = {{"ompi_mpi_comm_world", "mpi-openmpi.so"},
                {"MPIR_Dup_fn", "mpi-mpich.so"}}; /* also Intel MPI, MVAPICH, Cray MPICH */
    char path[PATH_BYTES];
    ss_mpi_observer *observe = NULL;
    for (size_t i = 0; i < sizeof abis / sizeof *abis && observe == NULL; i++) {
        if (find_function(abis[i].symbol) != NULL && beside(abis[i].file, path)) {
            void *library = dlopen(path, LAZY);
            *(void **)&observe = library != NULL ? dlsym(library, "ss_mpi_observe") : NULL;
            break;
        }
    }
    return observe;
}

static const struct ss_mpi_observed *observe(void)
{
    const char *path = getenv != NULL ? getenv("STEPSCOPE_LIBRARY") : NULL;
    if (path == NULL || getenv("STEPSCOPE_RINGS") == NULL) {
        return NULL;
    }
    void *library = dlopen(path, LAZY);
    const struct ss_mpi_recorder *(*recorder)(uint32_t) = NULL;
    void (*missing)(void) = NULL;
    if (library != NULL) {
        *(void **)&recorder = dlsym(library, "stepscope_mpi_recorder");
        *(void **)&missing = dlsym(library, "stepscope_mpi_missing");
    }
    ss_mpi_observer *start = recorder != NULL ? find_observer() : NULL;
    if (recorder != NULL && start == NULL && missing != NULL) {
        missing();
    }
    return start != NULL ? start(recorder(SS_MPI_RECORDER_VERSION), find_function) : NULL;
}

/* --- forwarding ------------------------------------------------------------------------------- */

static long refuse(void)
{
    return UNKNOWN_FUNCTION;
}

static void *real_of(size_t number)
{
    void *found = dlsym(NEXT, names[number]);
    if (found == NULL && implementation != NEXT) {
        found = dlsym(implementation, names[number]);
    }
    return found != NULL ? found : (void *)(uintptr_t)refuse;
}

static void connect_all(void)
{
    void *found[FUNCTIONS];
    implementation = find_implementation();
    if (implementation == NULL) { /* a program has found our functions, but has no MPI */
        return;
    }
    for (size_t i = 0; i < FUNCTIONS; i++) {
        found[i] = real_of(i);
    }
    for (const struct ss_mpi_observed *one = observe(); one != NULL && one->name != NULL; one++) {
        for (size_t i = 0; i < FUNCTIONS; i++) {
            if (is_same(one->name, names[i]) && found[i] != (void *)(uintptr_t)refuse) {
                *one->next = found[i];
                found[i] = one->wrapper;
            }
        }
    }
    for (size_t i = 0; i < FUNCTIONS; i++) {
        atomic_store_explicit(&targets[i], found[i], memory_order_release);
    }
}

/* 0: not begun, 1: a thread is at it, 2: done. */
static _Atomic int stage;

/* A thread that finds another one at it forwards this one call by itself. */
static void *first_target(size_t number)
{
    int expected = 0;
    if (dlsym == NULL || dlopen == NULL) {
        return (void *)(uintptr_t)refuse;
    }
    if (atomic_compare_exchange_strong(&stage, &expected, 1)) {
        connect_all();
        atomic_store(&stage, implementation != NULL ? 2 : 0);
    }
    void *target = atomic_load_explicit(&targets[number], memory_order_acquire);
    if (target != NULL) {
        return target;
    }
    target = dlsym(NEXT, names[number]);
    return target != NULL ? target : (void *)(uintptr_t)refuse;
}

static inline void *target_of(size_t number)
{
    void *target = atomic_load_explicit(&targets[number], memory_order_acquire);
    return __builtin_expect(target != NULL, 1) ? target : first_target(number);
}

#define LONGS_0 void
#define LONGS_1 long a
#define LONGS_2 LONGS_1, long b
#define LONGS_3 LONGS_2, long c
#define LONGS_4 LONGS_3, long d
#define LONGS_5 LONGS_4, long e
#define LONGS_6 LONGS_5, long f
#define LONGS_7 LONGS_6, long g
#define LONGS_8 LONGS_7, long h
#define LONGS_9 LONGS_8, long i
#define LONGS_10 LONGS_9, long j
#define LONGS_11 LONGS_10, long k
#define LONGS_12 LONGS_11, long l
#define NAMES_0
#define NAMES_1 a
#define NAMES_2 NAMES_1, b
#define NAMES_3 NAMES_2, c
#define NAMES_4 NAMES_3, d
#define NAMES_5 NAMES_4, e
#define NAMES_6 NAMES_5, f
#define NAMES_7 NAMES_6, g
#define NAMES_8 NAMES_7, h
#define NAMES_9 NAMES_8, i
#define NAMES_10 NAMES_9, j
#define NAMES_11 NAMES_10, k
#define NAMES_12 NAMES_11, l

#define SS_MPI_FUNCTION(name, arguments)                                                           \
    EXPORT long name(LONGS_##arguments);                                                           \
    EXPORT long name(LONGS_##arguments)                                                            \
    {                                                                                              \
        long (*target)(LONGS_##arguments) = (long (*)(LONGS_##arguments))target_of(NUMBER_##name); \
        return target(NAMES_##arguments);                                                          \
    }
#include "inject/mpi/forwarded.def"
