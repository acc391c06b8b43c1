/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ss_torch_library ss_torch_library;

/* Versions whose record_function.h has the layout of struct ss_torch_observer; each was checked in
 * its source. */
static const struct {
    int major, first_minor, last_minor;
} known[] = {{1, 13, 13}, {2, 0, 15}};
#define KNOWN "1.13 and 2.0 to 2.15"

static bool is_known(const char *version)
{
    char *end = NULL;
    long major = strtol(version, &end, 10);
    long minor = end != version && *end == '.' ? strtol(end + 1, NULL, 10) : -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (major == known[i].major && minor >= known[i].first_minor &&
            minor <= known[i].last_minor) {
            return true;
        }
    }
    return false;
}

static int find_libtorch(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    const char *slash = strrchr(object->dlpi_name, '/');
    static const char stem[] = "libtorch_cpu.so";
    if (slash == NULL || strncmp(slash + 1, stem, sizeof stem - 1) != 0) {
        return 0;
    }
    *(void **)found = dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
    return 1;
}

const char *ss_torch_library_find(const char *version)
{
    static char why[160];
    struct ss_torch_library *library = &ss_torch_library;
    void *libtorch = NULL;
#ifndef __x86_64__
    /* Other ABIs do not pass the memory for the result as an argument. */
    return "operators are recorded on x86-64 only";
#endif
    if (!is_known(version)) {
        snprintf(why, sizeof why, "unsupported torch version %.40s, supported are " KNOWN, version);
        return why;
    }
    dl_iterate_phdr(find_libtorch, &libtorch);
    if (libtorch == NULL) {
        return "no libtorch_cpu.so is loaded";
    }
    *(void **)&library->add =
        dlsym(libtorch, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    *(void **)&library->remove = dlsym(libtorch, "_ZN2at14removeCallbackEm");
    *(void **)&library->name_of = dlsym(libtorch, "_ZNK2at14RecordFunction4nameEv");
    *(void **)&library->next_sequence = dlsym(libtorch, "_ZN2at15sequence_number4peekEv");
    *(void **)&library->add_here =
        dlsym(libtorch, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE");
    *(void **)&library->has_gradients = dlsym(libtorch, "_ZN3c108GradMode10is_enabledEv");
    const void *const *table = dlsym(libtorch, "_ZTVN2at14RecordFunctionE");
    library->functions = table != NULL ? table + 2 : NULL; /* behind the offset and the type */
    if (library->add == NULL || library->remove == NULL || library->name_of == NULL ||
        library->functions == NULL) {
        return "libtorch_cpu.so does not export at::addGlobalCallback and the functions that go "
               "with it";
    }
    return NULL;
}
