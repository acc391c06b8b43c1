/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of ITT's domains and strings, cached in their `extra` members, and the domains and
 * strings that programs have the collector create. Those that a copy of ITT created itself, before
 * it attached, get their number at the first use.
 *
 * Any thread; no lock except the one of annot/define.h; nothing that is created is ever freed.
 */
#ifndef SS_INJECT_ITT_ITT_NAMES_H
#define SS_INJECT_ITT_ITT_NAMES_H

#include <stddef.h>

#include "inject/itt/itt.h"

/* Its address in `extra2` says that `extra1` holds the number. */
extern const char ss_itt_known;

uint32_t ss_itt_number_string(struct ss_itt_string *string);
uint32_t ss_itt_number_domain(struct ss_itt_domain *domain);

static inline uint32_t ss_itt_name(struct ss_itt_string *string)
{
    /* Pairs with the release in itt_names.c. */
    if (__builtin_expect(string == NULL || __atomic_load_n(&string->extra2, __ATOMIC_ACQUIRE) !=
                                               (void *)&ss_itt_known,
                         0)) {
        return ss_itt_number_string(string);
    }
    return (uint32_t)__atomic_load_n(&string->extra1, __ATOMIC_RELAXED);
}

static inline uint32_t ss_itt_domain(const struct ss_itt_domain *domain)
{
    if (__builtin_expect(domain == NULL || __atomic_load_n(&domain->extra2, __ATOMIC_ACQUIRE) !=
                                               (void *)&ss_itt_known,
                         0)) {
        return ss_itt_number_domain((struct ss_itt_domain *)domain);
    }
    return (uint32_t)__atomic_load_n(&domain->extra1, __ATOMIC_RELAXED);
}

/* The name number of any text; NULL: 0. */
uint32_t ss_itt_name_of_text(const char *text);
/* The name number of a function: of its symbol, else of its file and offset. */
uint32_t ss_itt_name_of_function(void *function);

/* From now on, records the events of domain `from` in domain `to`. Call it once, before the first
 * event of `from`; both texts must stay valid. */
void ss_itt_redirect_domain(const char *from, const char *to);

/* Zeroed memory; NULL: none is left. */
void *ss_itt_allocate(size_t bytes);

#endif
