/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUPTI of this process: the one that it has loaded, or is about to load. A second copy would
 * break both, so that one is opened only where the process has none.
 */
#ifndef SS_INJECT_CUPTI_LOAD_H
#define SS_INJECT_CUPTI_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/cupti/cupti_abi.h"

struct ss_cupti {
#define SS_CUPTI_MEMBER(name, ...) uint32_t (*name)(__VA_ARGS__);
    SS_CUPTI_NEEDED_FUNCTIONS(SS_CUPTI_MEMBER)
    SS_CUPTI_OPTIONAL_FUNCTIONS(SS_CUPTI_MEMBER) /* NULL: it has none */
#undef SS_CUPTI_MEMBER
    uint32_t version;
    char path[512];
};

/* false: `problem` says why, and the fix. */
bool ss_cupti_load(struct ss_cupti *cupti, char *problem, size_t size);
/* The name of the other subscriber, which CUPTI says when it refuses us; "": unknown. */
void ss_cupti_name_subscriber(const struct ss_cupti *cupti, ss_cupti_callback *callback, void *user,
                              char *name, size_t size);
/* "CUPTI_ERROR_…" */
const char *ss_cupti_result_text(const struct ss_cupti *cupti, uint32_t result);

#endif
