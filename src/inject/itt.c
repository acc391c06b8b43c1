/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs that speak ITT meet their collector. */
#include "inject/itt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "annot/first.h"
#include "inject/itt_functions.h"

#define EXPORTED __attribute__((visibility("default")))

const unsigned char ss_itt_magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

static const struct {
    const char *name;
    void *function;
} ours[] = {
#define ROW(name) {"__itt_" #name, (void *)ss_itt_##name},
    SS_ITT_FUNCTIONS(ROW)
#undef ROW
};

static void *our_function(const char *name)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcmp(ours[i].name, name) == 0) {
            return ours[i].function;
        }
    }
    return NULL;
}

/* The first function is domain_create, which has a part that works without a collector: in both
 * places. Entries of before 2011 had no second place. */
static bool is_known(const struct ss_itt_global *global)
{
    return global != NULL && memcmp(global->magic, ss_itt_magic, sizeof ss_itt_magic) == 0 &&
           global->version_major == 3 && global->functions != NULL &&
           global->functions[0].name != NULL && global->functions[0].pointer != NULL &&
           global->functions[0].initially != NULL &&
           global->functions[0].otherwise == global->functions[0].initially;
}

static _Atomic bool is_met;

bool ss_itt_is_met(void)
{
    return atomic_load_explicit(&is_met, memory_order_relaxed);
}

EXPORTED void __itt_api_init(struct ss_itt_global *global, int groups);

/* Called by each copy of ITT in the process, with its mutex held, before it calls anything else,
 * and again when the program has ended ITT and begins anew. Names are found one by one: a copy that
 * is older or newer than we has others. */
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
    atomic_store_explicit(&is_met, true, memory_order_relaxed);
    for (size_t i = 0; i < SS_ITT_MOST_FUNCTIONS && global->functions[i].name != NULL; i++) {
        struct ss_itt_function *function = &global->functions[i];
        void *own = (function->group & groups) != 0 ? our_function(function->name) : NULL;
        if (function->pointer != NULL) {
            __atomic_store_n(function->pointer, own != NULL ? own : function->otherwise,
                             __ATOMIC_RELEASE);
        }
    }
}
