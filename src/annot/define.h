/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines names, domains, styles and counters of this process and publishes them to the recorder:
 * annot/names.h under the process lock. Any thread. In a signal handler that interrupts one of
 * these functions, or without memory for names, undefined texts are 0. errno is preserved.
 */
#ifndef SS_ANNOT_DEFINE_H
#define SS_ANNOT_DEFINE_H

#include <stddef.h>
#include <stdint.h>

#include "annot/names.h"
#include "base/quantities.h"

/* The same text gives the same number. The text is copied. */
uint32_t ss_define_name(const char *text, size_t length);
uint32_t ss_define_domain(const char *text, size_t length);
/* A new name, of a function that begins at `line` of `file` (a name). 0: no room. */
uint32_t ss_define_function(const char *text, size_t length, uint32_t file, uint32_t line);
/* A variant of the name with a colour, a category or a kind. Each style has its own number; without
 * a style it is `name` itself. */
uint32_t ss_define_styled(uint32_t name, struct ss_name_style style);
/* Style and counter for all events with this name. */
void ss_define_style(uint32_t name, uint32_t argb, uint32_t category);
void ss_define_counter(uint32_t name, uint32_t unit, uint32_t kind);
/* A counter of levels, and what it measures. */
void ss_define_quantity(uint32_t name, uint32_t unit, enum ss_quantity quantity);

#endif
