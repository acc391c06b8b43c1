/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/load.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

enum { OLDEST_VERSION = 18 /* CUPTI 11.8 */, MOST_PATH_BYTES = 512 };

struct name {
    const char *cupti, *runtime;
};
static const struct name names[] = {{"libcupti.so.13", "libcudart.so.13"},
                                    {"libcupti.so.12", "libcudart.so.12"},
                                    {"libcupti.so.11.8", "libcudart.so.11.0"}};
enum { NAMES = sizeof names / sizeof *names };

static bool is_loaded(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

/* Folders of CUPTI beside other libraries of CUDA: in wheels nvidia/cuda_cupti/lib beside
 * nvidia/cuda_runtime/lib, or all in nvidia/cu13/lib; in a toolkit extras/CUPTI/lib64. */
static const char *const neighbours[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};

struct search {
    const char *name;
    void *found;
};

static int try_beside(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    struct search *search = context;
    const char *path = object->dlpi_name;
    const char *file = path != NULL ? strrchr(path, '/') : NULL;
    if (file == NULL ||
        (strncmp(file, "/libcudart.", 11) != 0 && strncmp(file, "/libcublas.", 11) != 0 &&
         strncmp(file, "/libnvrtc.", 10) != 0)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours && search->found == NULL; i++) {
        char full[MOST_PATH_BYTES];
        int length = snprintf(full, sizeof full, "%.*s%s/%s", (int)(file - path), path,
                              neighbours[i], search->name);
        if (length > 0 && (size_t)length < sizeof full) {
            search->found = dlopen(full, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return search->found != NULL;
}

static void *open_named(const char *name)
{
    struct search search = {.name = name, .found = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    char full[MOST_PATH_BYTES];
    if (search.found == NULL) {
        dl_iterate_phdr(try_beside, &search);
    }
    if (search.found == NULL) {
        snprintf(full, sizeof full, "/usr/local/cuda/extras/CUPTI/lib64/%s", name);
        search.found = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    }
    return search.found;
}

/* The one that is loaded, else the one that the user names, else that of the loaded runtime of
 * CUDA, else any, the newest first. */
static void *open_library(void)
{
    void *library = NULL;
    for (size_t i = 0; i < NAMES && library == NULL; i++) {
        library = dlopen(names[i].cupti, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    }
    const char *given = ss_env_get(SS_ENV_STEPSCOPE_CUPTI);
    if (library == NULL && given != NULL && given[0] != '\0') {
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < NAMES && library == NULL; i++) {
        if (is_loaded(names[i].runtime)) {
            library = open_named(names[i].cupti);
        }
    }
    for (size_t i = 0; i < NAMES && library == NULL; i++) {
        library = open_named(names[i].cupti);
    }
    return library;
}

static void find_path(struct ss_cupti *cupti)
{
    Dl_info info;
    if (dladdr(*(void **)&cupti->GetVersion, &info) != 0 && info.dli_fname != NULL) {
        snprintf(cupti->path, sizeof cupti->path, "%s", info.dli_fname);
    }
}

/* The first missing one; NULL: none. */
static const char *find_functions(struct ss_cupti *cupti, void *library)
{
    const char *missing = NULL;
#define FIND(name, ...) *(void **)&cupti->name = dlsym(library, "cupti" #name);
#define FIND_NEEDED(name, ...)                                                                     \
    FIND(name, __VA_ARGS__)                                                                        \
    missing = cupti->name == NULL && missing == NULL ? "cupti" #name : missing;
    SS_CUPTI_NEEDED_FUNCTIONS(FIND_NEEDED)
    SS_CUPTI_OPTIONAL_FUNCTIONS(FIND)
#undef FIND_NEEDED
#undef FIND
    return missing;
}

bool ss_cupti_load(struct ss_cupti *cupti, char *problem, size_t size)
{
    *cupti = (struct ss_cupti){.version = 0};
    void *library = open_library();
    if (library == NULL) {
        snprintf(problem, size,
                 "no CUPTI was found (libcupti.so.13, .12 or .11.8): install the CUDA toolkit or "
                 "nvidia-cuda-cupti, or set STEPSCOPE_CUPTI to its path");
        return false;
    }
    const char *missing = find_functions(cupti, library);
    if (missing != NULL) {
        snprintf(problem, size, "this CUPTI has no %s: it is not a version from 11.8 to 13",
                 missing);
        return false;
    }
    find_path(cupti);
    if (cupti->GetVersion(&cupti->version) != SS_CUPTI_OK || cupti->version < OLDEST_VERSION) {
        snprintf(problem, size, "%.300s has API version %u: CUPTI 11.8 (18) or later is needed",
                 cupti->path, cupti->version);
        return false;
    }
    return true;
}

const char *ss_cupti_result_text(const struct ss_cupti *cupti, uint32_t result)
{
    const char *text = NULL;
    return cupti->GetResultString(result, &text) == SS_CUPTI_OK && text != NULL
               ? text
               : "an unknown error of CUPTI";
}

void ss_cupti_name_subscriber(const struct ss_cupti *cupti, ss_cupti_callback *callback, void *user,
                              char *name, size_t size)
{
    void *subscriber = NULL;
    struct ss_cupti_subscriber_params params = {
        .size = sizeof params, .name = "stepscope", .old_name = name, .old_name_size = size};
    name[0] = '\0';
    if (cupti->Subscribe_v2 != NULL &&
        cupti->Subscribe_v2(&subscriber, callback, user, &params) == SS_CUPTI_OK) {
        cupti->Unsubscribe(subscriber); /* it has just left */
    }
    name[size - 1] = '\0';
}
