/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, domains, styles and counters of this process, and what is recorded of them: annot/names.h
 * behind the process lock. From any thread; in a signal handler that interrupts one of these, or
 * where nothing can be kept, what is not known yet is 0. errno stays.
 */
#ifndef SS_ANNOT_DEFINE_H
#define SS_ANNOT_DEFINE_H

#include <stddef.h>
#include <stdint.h>

/* The same text gives the same number; it is copied. */
uint32_t ss_define_name(const char *text, size_t length);
uint32_t ss_define_domain(const char *text, size_t length);
/* A new name, of a function that begins in this line of this file (a name). 0: no room. */
uint32_t ss_define_function(const char *text, size_t length, uint32_t file, uint32_t line);
/* The name again, shown with this colour (0xAARRGGBB; 0: none) and category (a name; 0: none): a
 * number of its own for each style, `name` itself without one. */
uint32_t ss_define_styled(uint32_t name, uint32_t argb, uint32_t category);
/* Of all that is marked with this name. */
void ss_define_style(uint32_t name, uint32_t argb, uint32_t category);
void ss_define_counter(uint32_t name, uint32_t unit, uint32_t kind);

#endif
