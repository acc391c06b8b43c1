/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines contain passwords and tokens, and recordings are shared: likely secrets become
 * "***". They are detected by the name before them (--api-key, PASSWORD=, Authorization:), by form
 * (hf_…, ghp_…, a JSON web token, 40 hexadecimal digits) or by position in a URL. Pure. */
#ifndef SS_BASE_SECRETS_H
#define SS_BASE_SECRETS_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends the NUL-terminated arguments, separated by blanks. */
void ss_secrets_append_masked(struct ss_strbuf *out, const char *arguments, size_t length);

#endif
