/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One runtime per process. A program may contain a libstepscope, linked or in a package, and also
 * load the recorder's: the library loaded first does the work, the others forward to it. Determined
 * once, when the library is loaded; immutable afterwards.
 */
#ifndef SS_ANNOT_FIRST_H
#define SS_ANNOT_FIRST_H

/* Call once, before all else. A handle of the first library, for dlsym; NULL: it is this one. */
void *ss_first_find(void);
/* The result of ss_first_find. */
void *ss_first_library(void);
/* A function of the first library by name; NULL when this library is the first. */
void *ss_first_function(const char *name);

#endif
