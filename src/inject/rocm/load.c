/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/load.h"

#include <dlfcn.h>
#include <stdio.h>

enum { MOST_KINDS = 128 };

static bool find_functions(struct ss_rocm *rocm, void *library, char *problem, size_t size)
{
#define FIND(name, ...)                                                                            \
    *(void **)&rocm->name = dlsym(library, "rocprofiler_" #name);                                  \
    if (rocm->name == NULL) {                                                                      \
        snprintf(problem, size, "%.300s has no rocprofiler_" #name, rocm->path);                   \
        return false;                                                                              \
    }
    SS_ROCM_NEEDED_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, ...) *(void **)&rocm->name = dlsym(library, "rocprofiler_" #name);
    SS_ROCM_OPTIONAL_FUNCTIONS(FIND)
#undef FIND
    *(void **)&rocm->get_status_string = dlsym(library, "rocprofiler_get_status_string");
    return true;
}

bool ss_rocm_load(struct ss_rocm *rocm, uint32_t version, const void *caller, char *problem,
                  size_t size)
{
    Dl_info info;
    *rocm = (struct ss_rocm){.version = version};
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) {
        snprintf(problem, size, "the rocprofiler-sdk that called is in no library");
        return false;
    }
    snprintf(rocm->path, sizeof rocm->path, "%s", info.dli_fname);
    if (version < SS_ROCM_OLDEST_VERSION) {
        snprintf(problem, size,
                 "%.300s has version %u.%u.%u: rocprofiler-sdk 0.4 (ROCm 6.2) or later is needed",
                 rocm->path, version / 10000, version / 100 % 100, version % 100);
        return false;
    }
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        snprintf(problem, size, "%.300s cannot be opened: %s", rocm->path, dlerror());
        return false;
    }
    return find_functions(rocm, library, problem, size);
}

uint32_t ss_rocm_kind(const struct ss_rocm *rocm, bool of_callbacks, const char *name)
{
    for (uint32_t kind = 1; kind < MOST_KINDS; kind++) {
        const char *known = NULL;
        uint64_t length = 0;
        uint32_t status = of_callbacks
                              ? rocm->query_callback_tracing_kind_name(kind, &known, &length)
                              : rocm->query_buffer_tracing_kind_name(kind, &known, &length);
        if (status == SS_ROCM_OK && known != NULL && strcmp(known, name) == 0) {
            return kind;
        }
    }
    return 0;
}

const char *ss_rocm_operation(const struct ss_rocm *rocm, uint32_t kind, int32_t operation)
{
    const char *name = NULL;
    uint64_t length = 0;
    return rocm->query_buffer_tracing_kind_operation_name(kind, operation, &name, &length) ==
                   SS_ROCM_OK
               ? name
               : NULL;
}

const char *ss_rocm_status_text(const struct ss_rocm *rocm, uint32_t status)
{
    const char *text = rocm->get_status_string != NULL ? rocm->get_status_string(status) : NULL;
    if (status == SS_ROCM_CONFLICT) {
        return "it conflicts with another tool of this process: run the program without that";
    }
    return text != NULL ? text : "an error of rocprofiler-sdk";
}
