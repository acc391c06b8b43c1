/* SPDX-License-Identifier: Apache-2.0 */
/* The ring directory: the folder of the ring files, below a root that may be shared, accessible to
 * this user only. Async-signal-safe; no state. */
#ifndef SS_RING_FOLDER_H
#define SS_RING_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SS_RING_PATH_BYTES = 320, SS_RING_ROOT_BYTES = 160, SS_RING_MAX_ROOTS = 4 };

/* Rings of the default size for a few threads: a root with less free space is chosen only when no
 * root has more. */
#define SS_RING_ROOMY_BYTES (UINT64_C(16) << 20)

/* Possible roots of ring directories: /dev/shm, $XDG_RUNTIME_DIR, /tmp, $TMPDIR; no duplicates.
 * Reads the environment, which other threads may change: call it when the program starts. */
struct ss_ring_roots {
    char paths[SS_RING_MAX_ROOTS][SS_RING_ROOT_BYTES];
    size_t count;
};
void ss_ring_roots_read(struct ss_ring_roots *roots);

enum ss_ring_folder_state {
    SS_RING_FOLDER_ROOMY,
    SS_RING_FOLDER_TIGHT,   /* usable, but less than SS_RING_ROOMY_BYTES are free */
    SS_RING_FOLDER_FOREIGN, /* the path exists and is not private to this user */
    SS_RING_FOLDER_REFUSED  /* `error` says why */
};
struct ss_ring_folder {
    char path[SS_RING_PATH_BYTES];
    const char *root; /* borrowed from the roots */
    enum ss_ring_folder_state state;
    int error; /* an errno */
    uint64_t free_bytes;
};

/* The user's folder for this pid namespace in a root; created when missing. */
void ss_ring_folder_try(const char *root, struct ss_ring_folder *folder);
/* Chooses the first roomy root, else the first usable one. With `check_space` false: the first root
 * with a safe folder, without statfs(2), which a seccomp filter may forbid. false: no root. */
bool ss_ring_folder_choose(const struct ss_ring_roots *roots, bool check_space,
                           char path[SS_RING_PATH_BYTES]);
/* The same, with the roots of the current environment and `check_space`. */
bool ss_ring_folder_user(char path[SS_RING_PATH_BYTES]);
/* Why a ring directory is not roomy: "/dev/shm has 1 MiB left". */
void ss_ring_folder_explain(const struct ss_ring_folder *folder, char *text, size_t size);
/* True for a folder, not a link, that belongs to this user and is closed to all others. */
bool ss_ring_folder_is_safe(const char *path);
/* Opens a regular file, not a link, of this owner and closed to all others, read-write; else -1. */
int ss_ring_folder_open(const char *path, uid_t owner);

#endif
