/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our numbers of ITT's domains and strings, kept in the room that both have for it, and the domains
 * and strings that programs ask us for. Those that a copy of ITT made itself, before it met us, are
 * numbered when they are first used.
 *
 * Any thread; no locks but the one of annot/define.h; what is made is never freed.
 */
#ifndef SS_INJECT_ITT_NAMES_H
#define SS_INJECT_ITT_NAMES_H

#include <stddef.h>

#include "inject/itt.h"

/* In `extra2` where our number is in `extra1`. */
extern const char ss_itt_known;

uint32_t ss_itt_meet_string(struct ss_itt_string *string);
uint32_t ss_itt_meet_domain(struct ss_itt_domain *domain);

static inline uint32_t ss_itt_name(struct ss_itt_string *string)
{
    /* Pairs with the release in itt_names.c. */
    if (__builtin_expect(string == NULL || __atomic_load_n(&string->extra2, __ATOMIC_ACQUIRE) !=
                                               (void *)&ss_itt_known,
                         0)) {
        return ss_itt_meet_string(string);
    }
    return (uint32_t)__atomic_load_n(&string->extra1, __ATOMIC_RELAXED);
}

static inline uint32_t ss_itt_domain(const struct ss_itt_domain *domain)
{
    if (__builtin_expect(domain == NULL || __atomic_load_n(&domain->extra2, __ATOMIC_ACQUIRE) !=
                                               (void *)&ss_itt_known,
                         0)) {
        return ss_itt_meet_domain((struct ss_itt_domain *)domain);
    }
    return (uint32_t)__atomic_load_n(&domain->extra1, __ATOMIC_RELAXED);
}

/* Of any text; NULL: "". */
uint32_t ss_itt_name_of_text(const char *text);
/* Of a function, by its symbol, else by where its file has it. */
uint32_t ss_itt_name_of_function(void *function);

/* What one domain says goes into another, from now on; before it has said anything. Once, with
 * texts that stay. */
void ss_itt_send_domain(const char *from, const char *to);

/* NULL: no memory. Zeroed. */
void *ss_itt_allocate(size_t bytes);

#endif
