/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/analysis.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"

struct part {
    const struct ss_analysis_part *kind;
    void *content;
};

struct ss_analysis {
    pthread_mutex_t lock; /* recursive: building a part may ask for another */
    struct ss_vec_of(struct part) list;
};

struct ss_analysis *ss_analysis_new(void)
{
    struct ss_analysis *analysis = ss_alloc_zero(1, sizeof *analysis);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&analysis->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return analysis;
}

void ss_analysis_free(struct ss_analysis *analysis)
{
    if (analysis == NULL) {
        return;
    }
    for (size_t i = analysis->list.count; i > 0; i--) { /* a part may refer to earlier ones */
        analysis->list.data[i - 1].kind->free(analysis->list.data[i - 1].content);
    }
    ss_vec_fini(&analysis->list);
    pthread_mutex_destroy(&analysis->lock);
    ss_free(analysis);
}

static void *find(const struct ss_analysis *analysis, const struct ss_analysis_part *kind)
{
    for (size_t i = 0; i < analysis->list.count; i++) {
        if (analysis->list.data[i].kind == kind) {
            return analysis->list.data[i].content;
        }
    }
    return NULL;
}

/* Its own time: the parts that it asks for have their own. */
static void *build(const struct ss_analysis_part *kind, const void *of)
{
    static _Thread_local uint64_t inner_ns; /* of the parts that were built within the open one */
    uint64_t begin_ns = ss_clock_thread_cpu_ns(), before_ns = inner_ns;
    inner_ns = 0;
    void *content = kind->build(of);
    uint64_t all_ns = ss_clock_thread_cpu_ns() - begin_ns;
    ss_log(SS_DEBUG, "analysis", "analysis: %s: %.1f ms", kind->name,
           (double)(all_ns - inner_ns) / 1e6);
    inner_ns = before_ns + all_ns;
    return content;
}

const void *ss_analysis_get(struct ss_analysis *analysis, const struct ss_analysis_part *kind,
                            const void *of)
{
    pthread_mutex_lock(&analysis->lock);
    void *content = find(analysis, kind);
    if (content == NULL) {
        content = build(kind, of);
        ss_vec_push(&analysis->list, (struct part){kind, content});
    }
    pthread_mutex_unlock(&analysis->lock);
    return content;
}
