/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool ss_cuda_driver_load(struct ss_cuda_driver *driver, char *reason, size_t size)
{
    const char *missing = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(reason, size, "there is no driver of CUDA: %s", dlerror());
        return false;
    }
/* POSIX lets dlsym return a function; C has no cast from an object pointer to it, hence memcpy. */
#define FIND(member, symbol, ...)                                                                  \
    {                                                                                              \
        void *found = dlsym(library, symbol);                                                      \
        memcpy(&driver->member, &found, sizeof found);                                             \
        missing = found == NULL && missing == NULL ? symbol : missing;                             \
    }
    SS_CUDA_FUNCTIONS(FIND)
#undef FIND
    if (missing != NULL) {
        snprintf(reason, size, "libcuda.so.1 has no %s: it is not a driver of CUDA 11 or later",
                 missing);
        dlclose(library);
    }
    return missing == NULL;
}

const char *ss_cuda_driver_error(const struct ss_cuda_driver *driver, int error)
{
    const char *text = NULL;
    return driver->error_text(error, &text) == SS_CUDA_OK && text != NULL ? text
                                                                          : "an unknown error";
}
