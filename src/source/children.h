/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the processes of the recording: the program and, when followed, its descendants.
 *
 * Detects them by kernel task events (catches the shortest processes), else by polling: the newest
 * pid bounds the range of new ids, and only those are checked. Orphans are reparented to the
 * subreaper `adopt` and recognised by that. Owned by the recorder's thread.
 */
#ifndef SS_SOURCE_CHILDREN_H
#define SS_SOURCE_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct ss_children;

struct ss_children_sink {
    void *context;
    void (*appeared)(void *context, pid_t pid, pid_t parent);
    void (*execed)(void *context, pid_t pid, const char *name);
    void (*threads_changed)(void *context, pid_t pid);
    void (*ended)(void *context, pid_t pid, const char *name); /* last known name; may be "" */
};

/* `use_events` requests kernel task events on `root`; if they are unavailable, `*reason` (512
 * bytes, may be NULL) contains the cause and polling is used. `adopt` is the subreaper pid of
 * orphans (0: none). `appeared` is not called for the root. */
struct ss_children *ss_children_open(pid_t root, bool follow, bool use_events, pid_t adopt,
                                     const struct ss_children_sink *sink, char *reason);
/* Detects changes; cheap when there are none. */
void ss_children_poll(struct ss_children *children, uint64_t now_ns);
bool ss_children_uses_events(const struct ss_children *children);
void ss_children_close(struct ss_children *children);

#endif
