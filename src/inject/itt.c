/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of programs that speak ITT. */
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "inject/itt.h"

#define EXPORTED __attribute__((visibility("default")))

const unsigned char ss_itt_magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

/* --- names ------------------------------------------------------------------------------------ */

/* In `extra2` of domains and strings whose number is in `extra1`. */
static const char known;

/* Several threads may write the same. What could not be had now is asked for again. */
static uint32_t remember(uint32_t number, int *extra1, void **extra2)
{
    if (number != 0) {
        *extra1 = (int)number;
        /* Pairs with the acquire loads below. */
        __atomic_store_n(extra2, (void *)&known, __ATOMIC_RELEASE);
    }
    return number;
}

static __attribute__((noinline, cold)) uint32_t meet_string(struct ss_itt_string *string)
{
    uint32_t name = string->text != NULL ? ss_define_name(string->text, strlen(string->text)) : 0;
    return remember(name, &string->extra1, &string->extra2);
}

static inline uint32_t name_of(struct ss_itt_string *string)
{
    if (__builtin_expect(string == NULL, 0)) {
        return 0;
    }
    if (__builtin_expect(__atomic_load_n(&string->extra2, __ATOMIC_ACQUIRE) != &known, 0)) {
        return meet_string(string);
    }
    return (uint32_t)string->extra1;
}

static __attribute__((noinline, cold)) uint32_t meet_domain(struct ss_itt_domain *domain)
{
    uint32_t number = domain->name != NULL && domain->name[0] != '\0'
                          ? ss_define_domain(domain->name, strlen(domain->name))
                          : 0;
    return remember(number, &domain->extra1, &domain->extra2);
}

static inline uint32_t domain_of(const struct ss_itt_domain *domain)
{
    if (__builtin_expect(domain == NULL, 0)) {
        return 0;
    }
    if (__builtin_expect(__atomic_load_n(&domain->extra2, __ATOMIC_ACQUIRE) != &known, 0)) {
        return meet_domain((struct ss_itt_domain *)domain);
    }
    return (uint32_t)domain->extra1;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void task_begin(const struct ss_itt_domain *domain, struct ss_itt_id id,
                       struct ss_itt_id parent, struct ss_itt_string *name)
{
    (void)id;
    (void)parent;
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        ss_event_push(domain_of(domain), name_of(name));
    }
}

static void task_end(const struct ss_itt_domain *domain)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        ss_event_pop(domain_of(domain));
    }
}

/* --- the collector ---------------------------------------------------------------------------- */

/* Functions that are not here are not called. */
static const struct {
    const char *name;
    void *function;
} ours[] = {
    {"__itt_task_begin", (void *)task_begin},
    {"__itt_task_end", (void *)task_end},
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

/* The first function, domain_create, has a static part; entries of before 2011 had no place for it.
 */
static bool is_known(const struct ss_itt_global *global)
{
    return global != NULL && memcmp(global->magic, ss_itt_magic, sizeof ss_itt_magic) == 0 &&
           global->version_major == 3 && global->functions != NULL &&
           global->functions[0].name != NULL && global->functions[0].pointer != NULL &&
           global->functions[0].otherwise == global->functions[0].initially;
}

EXPORTED void __itt_api_init(struct ss_itt_global *global, int groups);

/* Called by each copy of ITT, with its mutex held, before it calls any of its functions. */
EXPORTED void __itt_api_init(struct ss_itt_global *global, int groups)
{
    (void)groups;
    if (!is_known(global)) {
        return;
    }
    for (size_t i = 0; i < SS_ITT_MOST_FUNCTIONS && global->functions[i].name != NULL; i++) {
        struct ss_itt_function *function = &global->functions[i];
        void *own = our_function(function->name);
        if (function->pointer != NULL) {
            __atomic_store_n(function->pointer, own != NULL ? own : function->otherwise,
                             __ATOMIC_RELEASE);
        }
    }
}
