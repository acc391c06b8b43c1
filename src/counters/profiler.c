/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/profiler.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"

enum { OLDEST_VERSION = 24 /* CUPTI 12.6 */, MOST_PATH_BYTES = 512, MOST_MATCHES = 64 };

/* The linker's, the newest first. */
static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
/* Folders of toolkits. */
static const char *const toolkits[] = {"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[2-9]",
                                       "/usr/local/cuda*/lib64/libcupti.so.1[2-9]",
                                       "/usr/local/cuda*/lib/libcupti.so.1[2-9]"};
/* Those of wheels, below the folder of a Python environment. */
static const char *const wheels[] = {
    "/lib/python3*/site-packages/nvidia/cu1[3-9]/lib/libcupti.so.1[3-9]",
    "/lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1[1-9]*",
    "/lib/libcupti.so.1[1-9]*"}; /* of conda */

static void *open_named(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The last match of a pattern that can be loaded: names of later versions are later. */
static void *open_matching(const char *pattern)
{
    glob_t matches;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &matches) != 0) {
        return NULL;
    }
    for (size_t i = matches.gl_pathc; i > 0 && library == NULL; i--) {
        if (matches.gl_pathc - i < MOST_MATCHES) {
            library = open_named(matches.gl_pathv[i - 1]);
        }
    }
    globfree(&matches);
    return library;
}

static void *open_wheel(const char *environment, size_t length)
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof wheels / sizeof *wheels && library == NULL; i++) {
        char pattern[MOST_PATH_BYTES];
        int written =
            snprintf(pattern, sizeof pattern, "%.*s%s", (int)length, environment, wheels[i]);
        if (written > 0 && (size_t)written < sizeof pattern) {
            library = open_matching(pattern);
        }
    }
    return library;
}

/* Of the active environment, else of the first folders of PATH, which are <environment>/bin. */
static void *open_of_python(void)
{
    static const char bin[] = "/bin";
    const char *active = ss_env_get(SS_ENV_VIRTUAL_ENV);
    void *library = active != NULL && active[0] != '\0' && strlen(active) < MOST_PATH_BYTES
                        ? open_wheel(active, strlen(active))
                        : NULL;
    const char *at = ss_env_get(SS_ENV_PATH);
    for (int i = 0; at != NULL && at[0] != '\0' && i < MOST_MATCHES && library == NULL; i++) {
        size_t length = strcspn(at, ":");
        size_t tail = sizeof bin - 1;
        if (length > tail && length < MOST_PATH_BYTES &&
            strncmp(at + length - tail, bin, tail) == 0) {
            library = open_wheel(at, length - tail);
        }
        at += length + (at[length] == ':');
    }
    return library;
}

bool ss_profiler_find_in_python(const char *environment, char *path, size_t size)
{
    path[0] = '\0';
    for (size_t i = 0; i < sizeof wheels / sizeof *wheels && path[0] == '\0'; i++) {
        char pattern[MOST_PATH_BYTES];
        glob_t matches;
        int written = snprintf(pattern, sizeof pattern, "%s%s", environment, wheels[i]);
        if (written > 0 && (size_t)written < sizeof pattern &&
            glob(pattern, 0, NULL, &matches) == 0) {
            const char *last = matches.gl_pathv[matches.gl_pathc - 1];
            snprintf(path, size, "%s", strlen(last) < size ? last : "");
            globfree(&matches);
        }
    }
    return path[0] != '\0';
}

static void *open_any(void)
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++) {
        library = open_named(names[i]);
    }
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits && library == NULL; i++) {
        library = open_matching(toolkits[i]);
    }
    return library != NULL ? library : open_of_python();
}

/* false: the library is none with profilers. */
static bool find_functions(struct ss_profiler *profiler, void *library)
{
/* POSIX lets dlsym return a function; C has no cast from an object pointer to it. */
#define SS_PARAMS(name, function, vendor)                                                          \
    *(void **)&profiler->name = dlsym(library, "cupti" #function);
#define SS_PARAM(type, member, theirs)
#define SS_PARAMS_END(name, last)
#include "counters/profiler_params.def"
    uint32_t (*get_version)(uint32_t *) = NULL;
    *(void **)&get_version = dlsym(library, "cuptiGetVersion");
    return profiler->host_open != NULL && get_version != NULL &&
           get_version(&profiler->version) == SS_PROFILER_OK && profiler->version >= OLDEST_VERSION;
}

static void find_path(struct ss_profiler *profiler, void *library)
{
    Dl_info info;
    void *symbol = dlsym(library, "cuptiGetVersion");
    if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL) {
        snprintf(profiler->path, sizeof profiler->path, "%s", info.dli_fname);
    }
}

enum ss_status ss_profiler_open(struct ss_profiler *profiler, const char *path,
                                struct ss_error *err)
{
    const char *given = path != NULL ? path : ss_env_get(SS_ENV_STEPSCOPE_CUPTI);
    *profiler = (struct ss_profiler){.version = 0};
    if (given != NULL && given[0] == '\0') {
        given = NULL;
    }
    void *library = given != NULL ? open_named(given) : open_any();
    if (library == NULL && given != NULL) {
        const char *why = dlerror();
        return ss_fail(err, SS_E_NOTFOUND, "CUPTI cannot be loaded: %.300s",
                       why != NULL ? why : given);
    }
    if (library == NULL) {
        return ss_fail(err, SS_E_NOTFOUND,
                       "no CUPTI was found (libcupti.so.13 or .12): install the CUDA toolkit or "
                       "the wheel nvidia-cuda-cupti, or set STEPSCOPE_CUPTI to its path");
    }
    find_path(profiler, library);
    if (!find_functions(profiler, library)) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "%.300s (interface %u) cannot measure counters by names: CUPTI 12.6 or "
                       "later is needed; set STEPSCOPE_CUPTI to its path",
                       profiler->path, profiler->version);
    }
    return SS_OK;
}

static const struct {
    uint32_t number;
    const char *name, *why, *fix;
} results[] = {
#define SS_PROFILER_RESULT(name, number, theirs, why, fix) {number, theirs, why, fix},
#include "counters/profiler_results.def"
};

void ss_profiler_explain(uint32_t result, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (results[i].number == result) {
            snprintf(text, size, "%s (%s): %s", results[i].why, results[i].name, results[i].fix);
            return;
        }
    }
    snprintf(text, size, "CUPTI failed with its error %u: a newer driver or CUPTI may help",
             result);
}

enum ss_status ss_profiler_call(const struct ss_profiler *profiler, ss_profiler_function *function,
                                void *params, struct ss_error *err, const char *action)
{
    if (function == NULL) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "cannot %s: %.200s has no such function; use CUPTI 12.6 or later", action,
                       profiler->path);
    }
    uint32_t result = function(params);
    if (result == SS_PROFILER_OK) {
        return SS_OK;
    }
    char why[320];
    ss_profiler_explain(result, why, sizeof why);
    return ss_fail(err, result == SS_PROFILER_NOT_PERMITTED ? SS_E_PERMISSION : SS_E_UNSUPPORTED,
                   "cannot %s: %s", action, why);
}
