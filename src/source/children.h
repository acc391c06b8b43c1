/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes belong to the recording: the program and, when followed, everything it starts.
 *
 * Two ways of learning of them: kernel task events (nothing is too short), else polling: the
 * newest pid handed out tells which ids are new, and only those are looked at. Orphans come to us,
 * their subreaper, and are recognised by that. Owned by the recorder's thread.
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

/* `use_events` asks for kernel task events on `root`; when they cannot be had, `*reason` (512
 * bytes, may be NULL) says why and polling is used. `adopt` is the pid that orphans go to (0:
 * none). The root itself is not announced. */
struct ss_children *ss_children_open(pid_t root, bool follow, bool use_events, pid_t adopt,
                                     const struct ss_children_sink *sink, char *reason);
/* Looks for news; cheap when there are none. */
void ss_children_poll(struct ss_children *children, uint64_t now_ns);
bool ss_children_uses_events(const struct ss_children *children);
/* Processes that began and ended between two polls, as far as known. */
void ss_children_close(struct ss_children *children);

#endif
