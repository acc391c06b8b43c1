/* SPDX-License-Identifier: Apache-2.0 */
/* The ring directory: where ring files lie, below a root that may be shared, in a folder that
 * belongs to this user alone. Async-signal-safe; no state. */
#ifndef SS_RING_PLACE_H
#define SS_RING_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SS_RING_PATH_BYTES = 320, SS_RING_ROOT_BYTES = 160, SS_RING_MOST_ROOTS = 4 };

/* A ring of the default size for each of a few threads: a root with less is chosen only when none
 * has more. */
#define SS_RING_ROOMY_BYTES (UINT64_C(16) << 20)

/* Where ring directories may be: /dev/shm, $XDG_RUNTIME_DIR, /tmp, $TMPDIR; each but once. Reads
 * the environment, which another thread may be changing: call it as the program starts. */
struct ss_ring_roots {
    char paths[SS_RING_MOST_ROOTS][SS_RING_ROOT_BYTES];
    size_t count;
};
void ss_ring_roots_read(struct ss_ring_roots *roots);

enum ss_ring_place_state {
    SS_RING_PLACE_ROOMY,
    SS_RING_PLACE_TIGHT,   /* usable, but SS_RING_ROOMY_BYTES are not left */
    SS_RING_PLACE_FOREIGN, /* another user has what it would be called, or all may enter it */
    SS_RING_PLACE_REFUSED  /* `error` says why */
};
struct ss_ring_place {
    char path[SS_RING_PATH_BYTES];
    const char *root; /* borrowed from the roots */
    enum ss_ring_place_state state;
    int error; /* an errno */
    uint64_t free_bytes;
};

/* The user's folder of this pid namespace in a root. Made when it is missing. */
void ss_ring_place_try(const char *root, struct ss_ring_place *place);
/* Of all roots: the first that is roomy, else the first that is usable; the first at all where
 * `measures` is false, without statfs(2), which a filter may forbid. false: none is. */
bool ss_ring_place_choose(const struct ss_ring_roots *roots, bool measures,
                          char path[SS_RING_PATH_BYTES]);
/* The same, measured, with the roots of the environment as it is now. */
bool ss_ring_place_user(char path[SS_RING_PATH_BYTES]);
/* Why a place is not as good as it should be: "/dev/shm has 1 MiB left". */
void ss_ring_place_explain(const struct ss_ring_place *place, char *text, size_t size);
/* Is it a folder, no link, of this user, closed to all others? */
bool ss_ring_place_is_safe(const char *path);
/* A regular file, no link, of this owner, open to nobody else; -1: no. Read and write. */
int ss_ring_place_open(const char *path, uid_t owner);

#endif
