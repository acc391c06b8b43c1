/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shared_names.h"

#include <stddef.h>
#include <string.h>

#define SS_SHARED_NAME(kind, id, text, meaning) const char ss_##kind##_##id[sizeof text] = text;
#include "base/shared_names.def"
#undef SS_SHARED_NAME

const struct ss_shared_name ss_shared_names[] = {
#define SS_SHARED_NAME(kind, id, text, meaning) {#kind, #id, ss_##kind##_##id, meaning},
#include "base/shared_names.def"
#undef SS_SHARED_NAME
    {NULL, NULL, NULL, NULL}};

bool ss_is_shared_domain(const char *text)
{
    for (const struct ss_shared_name *name = ss_shared_names; name->kind != NULL; name++) {
        if (strcmp(name->kind, "domain") == 0 && strcmp(name->text, text) == 0) {
            return true;
        }
    }
    return false;
}
