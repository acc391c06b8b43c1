/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared mappings whose file another process may truncate: an access to a page that the file no
 * longer has is a SIGBUS, which kills. A handler of SIGBUS, for the guarded ranges only, replaces
 * such a page by a page of zeros, private to the process. Any other SIGBUS takes effect as without
 * the handler. A program that later sets its own handler of SIGBUS has no guard.
 *
 * Thread-safe, without locks: the handler runs on the thread that makes the access. Children made
 * by fork inherit the handler and the ranges.
 */
#ifndef SS_RING_PAGE_GUARD_H
#define SS_RING_PAGE_GUARD_H

#include <stddef.h>

/* `start` is the address of a mapping, `bytes` its length. Without memory for one more range, it is
 * not guarded. */
void ss_page_guard_add(void *start, size_t bytes);
/* How many pages of the range were replaced; 0 also for a range that is not guarded. */
size_t ss_page_guard_lost_pages(const void *start);
/* Before the range is unmapped. */
void ss_page_guard_remove(const void *start);

#endif
