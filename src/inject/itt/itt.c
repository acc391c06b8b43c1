/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point by which programs with ITT attach to this collector. */
#include "inject/itt/itt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "annot/first.h"
#include "inject/itt/itt_functions.h"

#define EXPORTED __attribute__((visibility("default")))

const unsigned char ss_itt_magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

static const struct {
    const char *name;
    void *function;
} implemented[] = {
#define ROW(name) {"__itt_" #name, (void *)ss_itt_##name},
    SS_ITT_FUNCTIONS(ROW)
#undef ROW
};

static void *find_implementation(const char *name)
{
    for (size_t i = 0; i < sizeof implemented / sizeof *implemented; i++) {
        if (strcmp(implemented[i].name, name) == 0) {
            return implemented[i].function;
        }
    }
    return NULL;
}

/* The first entry is domain_create. It has an implementation that works without a collector, which
 * both `initially` and `otherwise` hold. Entries from before 2011 have no `otherwise`. */
static bool is_known(const struct ss_itt_global *global)
{
    return global != NULL && memcmp(global->magic, ss_itt_magic, sizeof ss_itt_magic) == 0 &&
           global->version_major == 3 && global->functions != NULL &&
           global->functions[0].name != NULL && global->functions[0].pointer != NULL &&
           global->functions[0].initially != NULL &&
           global->functions[0].otherwise == global->functions[0].initially;
}

static _Atomic bool is_attached;

bool ss_itt_is_attached(void)
{
    return atomic_load_explicit(&is_attached, memory_order_relaxed);
}

EXPORTED void __itt_api_init(struct ss_itt_global *global, int groups);

/* Each copy of ITT in the process calls it, with its mutex held, before any other function, and
 * again when the program restarts ITT. Functions are matched by name: older and newer copies have
 * different sets. */
EXPORTED void __itt_api_init(struct ss_itt_global *global, int groups)
{
    void (*first_init)(struct ss_itt_global *, int) = NULL;
    *(void **)&first_init = ss_first_function("__itt_api_init");
    if (first_init != NULL) {
        first_init(global, groups);
        return;
    }
    if (!is_known(global)) {
        return;
    }
    atomic_store_explicit(&is_attached, true, memory_order_relaxed);
    for (size_t i = 0; i < SS_ITT_MOST_FUNCTIONS && global->functions[i].name != NULL; i++) {
        struct ss_itt_function *function = &global->functions[i];
        void *implementation =
            (function->group & groups) != 0 ? find_implementation(function->name) : NULL;
        if (function->pointer != NULL) {
            __atomic_store_n(function->pointer,
                             implementation != NULL ? implementation : function->otherwise,
                             __ATOMIC_RELEASE);
        }
    }
}
