/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory in which the programs of a recording create their ring files.
 *
 * A recording that starts its program has its own directory, in the first of the user's ring roots
 * with enough free space; a page in it contains the recorder's request. A recording that attaches
 * uses the directory of the process that it attaches to. Both remove the leftovers of killed
 * recorders and programs. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RUN_RING_DIRECTORY_H
#define SS_RECORD_RUN_RING_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/consumer.h"
#include "ring/layout.h"

enum { SS_RING_DIRECTORY_PATH_BYTES = 620, SS_RING_DIRECTORY_REASON_BYTES = 1024 };

struct ss_ring_directory {
    char path[SS_RING_DIRECTORY_PATH_BYTES]; /* "": none */
    /* Why it is not in the first root; "": it is. */
    char skipped_roots[SS_RING_DIRECTORY_REASON_BYTES];
    enum ss_ring_mode mode;
    uint32_t device_level, capture; /* as in the ring's header */
    struct ss_ring_header *page;    /* of a recording's own directory; NULL: it attached */
};

/* For the processes of a program that is not started yet. false: `reason`
 * (SS_RING_DIRECTORY_REASON_BYTES) contains the cause and the fix. */
bool ss_ring_directory_create(struct ss_ring_directory *directory, enum ss_ring_mode mode,
                              uint64_t now_ns, char *reason);
/* The directory of a running process, or where it would create one. Fails as above. */
bool ss_ring_directory_attach(struct ss_ring_directory *directory, enum ss_ring_mode mode,
                              pid_t pid, char *reason);
/* Removes the directory and its files; the directory of an attached process stays. */
void ss_ring_directory_remove(struct ss_ring_directory *directory);

/* The recorder's request for the rings of a program. */
struct ss_ring_request ss_ring_directory_request(const struct ss_ring_directory *directory,
                                                 uint64_t now_ns);
/* Free bytes of its file system; 0: unknown. */
uint64_t ss_ring_directory_free_bytes(const struct ss_ring_directory *directory);

/* For `doctor`: the user's directory in which a recording creates its own ("": none), and why it is
 * not in the first root. Creates one and removes it. */
void ss_ring_directory_probe(char path[SS_RING_DIRECTORY_REASON_BYTES],
                             char skipped_roots[SS_RING_DIRECTORY_REASON_BYTES]);

#endif
