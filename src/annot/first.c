/* SPDX-License-Identifier: Apache-2.0 */
#define STEPSCOPE_BUILDING
#include "annot/first.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "stepscope/stepscope.h"

static void *first;

/* Among several of this name the loader finds the one that was loaded first. */
void *ss_first_find(void)
{
    int saved = errno;
    void *found = dlopen("libstepscope.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *get = found != NULL ? dlsym(found, "stepscope_runtime_get") : NULL;
    Dl_info here, there;
    if (get != NULL && dladdr((void *)ss_first_find, &here) != 0 && dladdr(get, &there) != 0 &&
        here.dli_fbase != there.dli_fbase) {
        first = found;
    } else if (found != NULL) {
        dlclose(found);
    }
    errno = saved;
    return first;
}

void *ss_first_library(void)
{
    return first;
}

void *ss_first_function(const char *name)
{
    return first != NULL ? dlsym(first, name) : NULL;
}
