/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/symbol_names.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

/* Longer names cost the demangler much, and people cannot read them. */
enum { MOST_SYMBOL_BYTES = 8192 };

typedef char *demangler(const char *symbol, char *buffer, size_t *length, int *status);

static demangler *find_demangler(void)
{
    static bool is_searched;
    static demangler *found;
    if (!is_searched) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        is_searched = true;
        if (library != NULL) {
            *(void **)&found = dlsym(library, "__cxa_demangle");
        }
    }
    return found;
}

char *ss_symbol_demangle(struct ss_strview symbol)
{
    int status = -1;
    demangler *demangle =
        symbol.length > 2 && symbol.length <= MOST_SYMBOL_BYTES && memcmp(symbol.data, "_Z", 2) == 0
            ? find_demangler()
            : NULL;
    if (demangle == NULL) {
        return NULL;
    }
    char *copy = ss_strndup(symbol.data, symbol.length);
    char *name = demangle(copy, NULL, NULL, &status);
    ss_free(copy);
    return status == 0 ? name : NULL;
}

void ss_symbol_free(char *name)
{
    ss_free(name); /* from malloc, as ours */
}
