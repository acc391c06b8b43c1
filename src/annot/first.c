/* SPDX-License-Identifier: Apache-2.0 */
#define STEPSCOPE_BUILDING
#include "annot/first.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "stepscope/stepscope.h"

static void *first_handle;

/* Among several libraries of this name, the loader returns the one loaded first. */
void *ss_first_find(void)
{
    int saved = errno;
    void *found = dlopen("libstepscope.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *get = found != NULL ? dlsym(found, "stepscope_runtime_get") : NULL;
    Dl_info this_library, found_library;
    if (get != NULL && dladdr((void *)ss_first_find, &this_library) != 0 &&
        dladdr(get, &found_library) != 0 && this_library.dli_fbase != found_library.dli_fbase) {
        first_handle = found;
    } else if (found != NULL) {
        dlclose(found);
    }
    errno = saved;
    return first_handle;
}

void *ss_first_library(void)
{
    return first_handle;
}

void *ss_first_function(const char *name)
{
    return first_handle != NULL ? dlsym(first_handle, name) : NULL;
}
