/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One runtime per process. A program may come with a libstepscope of its own, linked or in a
 * package, and be made to load its recorder's besides: the one that was loaded first does the work,
 * the others hand over to it. Found once, as the library is loaded; immutable afterwards.
 */
#ifndef SS_ANNOT_FIRST_H
#define SS_ANNOT_FIRST_H

/* Once, before all else. NULL: we are the first; else the one that is, for dlsym. */
void *ss_first_find(void);
/* What ss_first_find returned. */
void *ss_first_library(void);
/* The function of this name of the first library, when that is not us; else NULL. */
void *ss_first_function(const char *name);

#endif
