/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saved timelines of large recordings (timeline/saved.h), so that `view` opens them at once: in
 * $XDG_CACHE_HOME/stepscope/view or ~/.cache/stepscope/view, one for each set of inputs, private to
 * the user, at most SS_VIEW_CACHE_BYTES in all. The key has what identifies the inputs' files and
 * this program: whatever differs is read anew. Failures cost a later opening its speed and are no
 * errors. One owner; a thread of its own writes.
 */
#ifndef SS_CLI_VIEW_VIEW_CACHE_H
#define SS_CLI_VIEW_VIEW_CACHE_H

#include <pthread.h>

#include "timeline/saved.h"

#define SS_VIEW_CACHE_BYTES (UINT64_C(4) << 30)

/* Recordings of fewer slices and values open fast without it. */
enum { SS_VIEW_CACHE_LEAST = 100000 };

struct ss_view_cache {
    bool is_usable;
    const char *const *paths; /* of the inputs, borrowed */
    size_t path_count;
    char *folder, *file;
    struct ss_strbuf key;
    /* While it is written. */
    const struct ss_viewed *viewed;
    atomic_bool stops; /* set by ss_view_cache_fini, relaxed: only the join orders */
    bool is_running;
    pthread_t thread;
};

/* Identifies the inputs. The cache is not usable if an input is neither a file nor a folder of
 * files, or if this user has no private folder for it. */
void ss_view_cache_init(struct ss_view_cache *cache, const char *const *paths, size_t count);
/* False: there is no saved timeline that fits, and `viewed` is empty as before. */
bool ss_view_cache_load(const struct ss_view_cache *cache, struct ss_viewed *viewed);
/* Begins to write it, if it is worth it and the inputs are still those that were read. `viewed`
 * stays as it is until ss_view_cache_fini. */
void ss_view_cache_store(struct ss_view_cache *cache, const struct ss_viewed *viewed);
/* Stops writing, if it is not done. */
void ss_view_cache_fini(struct ss_view_cache *cache);

#endif
