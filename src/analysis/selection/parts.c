/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/parts.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/vec.h"

struct part {
    const struct ss_part_kind *kind;
    void *content;
};

struct ss_parts {
    pthread_mutex_t lock; /* recursive: building a part may ask for another */
    struct ss_vec_of(struct part) list;
};

struct ss_parts *ss_parts_new(void)
{
    struct ss_parts *parts = ss_alloc_zero(1, sizeof *parts);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&parts->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return parts;
}

void ss_parts_free(struct ss_parts *parts)
{
    if (parts == NULL) {
        return;
    }
    for (size_t i = parts->list.count; i > 0; i--) { /* a part may refer to earlier ones */
        parts->list.data[i - 1].kind->free(parts->list.data[i - 1].content);
    }
    ss_vec_fini(&parts->list);
    pthread_mutex_destroy(&parts->lock);
    ss_free(parts);
}

static void *find(const struct ss_parts *parts, const struct ss_part_kind *kind)
{
    for (size_t i = 0; i < parts->list.count; i++) {
        if (parts->list.data[i].kind == kind) {
            return parts->list.data[i].content;
        }
    }
    return NULL;
}

const void *ss_parts_get(struct ss_parts *parts, const struct ss_part_kind *kind,
                         const void *selection)
{
    pthread_mutex_lock(&parts->lock);
    void *content = find(parts, kind);
    if (content == NULL) {
        content = kind->build(selection);
        ss_vec_push(&parts->list, (struct part){kind, content});
    }
    pthread_mutex_unlock(&parts->lock);
    return content;
}
