/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, domains, styles and counters of this process, as definitions of ring/layout.h: an
 * append-only log in private memory, and a hash table for lookup. A forked child inherits both; the
 * ring file gets a copy of the log.
 *
 * Lookups take no lock and may run in any thread and signal handler. Functions that append require
 * the process lock (annot/process.h) and return false or 0 when nothing was added.
 */
#ifndef SS_ANNOT_NAMES_H
#define SS_ANNOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_types.h"
#include "ring/layout.h"

/* Call once, before all else. false: no memory, and all names are 0. */
bool ss_names_init(void);

/* `kind`: SS_RING_DEFINE_NAME or _DOMAIN. 0: not found. Texts that are too long are truncated. */
uint32_t ss_names_find(enum ss_ring_definition_kind kind, const char *text, size_t length);
/* Finds or adds the text; 0: no room. */
uint32_t ss_names_add(enum ss_ring_definition_kind kind, const char *text, size_t length);
/* Adds a name for a function even if another function has the same name; the caller stores the id.
 * `file`: a name. 0: no room. */
uint32_t ss_names_add_function(const char *text, size_t length, uint32_t file, uint32_t line);
/* SS_RING_DEFINE_STYLE or _COUNTER of a name. An identical description is not added again. */
bool ss_names_describe(enum ss_ring_definition_kind kind, uint32_t name, uint32_t b, uint32_t c,
                       uint32_t d);

struct ss_name_style {
    uint32_t argb;           /* 0: none */
    uint32_t category;       /* a name; 0: none */
    enum ss_event_type type; /* kind of the events; NONE: as their track has it */
};

/* A styled variant of the name: each style of a name has its own id. 0: not found, or no room. */
uint32_t ss_names_find_styled(uint32_t name, struct ss_name_style style);
uint32_t ss_names_add_styled(uint32_t name, struct ss_name_style style);

/* The text of a name, not NUL-terminated; NULL: unknown name. */
const char *ss_names_text(uint32_t name, size_t *length);

/* The current log. */
const char *ss_names_log(void);
uint32_t ss_names_log_bytes(void);

#endif
