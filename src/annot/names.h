/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, domains, styles and counters of this process, as the definitions of ring/layout.h: a log
 * that only grows, in private memory, and a table to find them again. A forked child has its
 * parent's; what is recorded gets a copy.
 *
 * Looking up takes no lock and may happen in any thread and signal handler. Whatever appends is
 * called with the process lock held (annot/process.h), and returns false when nothing was added.
 */
#ifndef SS_ANNOT_NAMES_H
#define SS_ANNOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/layout.h"

/* Once, before all else. false: no memory, and all names are 0. */
bool ss_names_init(void);

/* `kind`: SS_RING_DEFINE_NAME or _DOMAIN. 0: not there. Longer texts are cut. */
uint32_t ss_names_find(enum ss_ring_definition_kind kind, const char *text, size_t length);
/* Finds it or adds it; 0 when there is no room. */
uint32_t ss_names_add(enum ss_ring_definition_kind kind, const char *text, size_t length);
/* A name of its own for a function, also where another one is called the same; the caller keeps it.
 * `file`: a name. 0 when there is no room. */
uint32_t ss_names_add_function(const char *text, size_t length, uint32_t file, uint32_t line);
/* SS_RING_DEFINE_STYLE or _COUNTER of a name. The same again adds nothing. */
bool ss_names_describe(enum ss_ring_definition_kind kind, uint32_t name, uint32_t b, uint32_t c);

/* The name again, with a style: each style of a name has a number of its own. 0: not there, or no
 * room. */
uint32_t ss_names_find_styled(uint32_t name, uint32_t argb, uint32_t category);
uint32_t ss_names_add_styled(uint32_t name, uint32_t argb, uint32_t category);

/* The text of a name that is known, not terminated; NULL: there is none such. */
const char *ss_names_text(uint32_t name, size_t *length);

/* The log, so far. */
const char *ss_names_log(void);
uint32_t ss_names_log_bytes(void);

#endif
