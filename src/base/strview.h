/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed byte string; not NUL-terminated; its owner defines the lifetime. */
#ifndef SS_BASE_STRVIEW_H
#define SS_BASE_STRVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct ss_strview {
    const char *data;
    size_t length;
};

static inline struct ss_strview ss_strview_of(const char *text)
{
    return (struct ss_strview){text, strlen(text)};
}

static inline bool ss_strview_equal(struct ss_strview a, struct ss_strview b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

#endif
