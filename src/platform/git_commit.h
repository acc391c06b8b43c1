/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit that a git working tree stands at, read from its files: no program is started. They
 * are untrusted: reads are bounded, and what is not a commit counts as none. Stateless;
 * thread-safe.
 */
#ifndef SS_PLATFORM_GIT_COMMIT_H
#define SS_PLATFORM_GIT_COMMIT_H

#include <stdbool.h>

enum { SS_GIT_COMMIT_BYTES = 65 }; /* SHA-256 in hexadecimal, and its end */

/* Of the tree that `folder` is in, also a linked one (git worktree). false: it is in none, or there
 * is not a commit. */
bool ss_git_commit_find(const char *folder, char commit[SS_GIT_COMMIT_BYTES]);

#endif
