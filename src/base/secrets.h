/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines hold passwords and tokens, and recordings are shown to others: what looks like a
 * secret becomes "***". Known by the name before it (--api-key, PASSWORD=, Authorization:), by its
 * form (hf_…, ghp_…, a JSON web token, 40 hexadecimal digits) or by its place in a URL. Pure. */
#ifndef SS_BASE_SECRETS_H
#define SS_BASE_SECRETS_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends the arguments, each of which ends with a NUL, with a blank between them. */
void ss_secrets_append_masked(struct ss_strbuf *out, const char *arguments, size_t length);

#endif
