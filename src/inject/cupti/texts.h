/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of the device ring: names and stacks, each with one number, which the writer defines
 * before it is used. Any thread; a lock is held for the time of one search. At most 64 MiB: later
 * texts are 0, "none".
 */
#ifndef SS_INJECT_CUPTI_TEXTS_H
#define SS_INJECT_CUPTI_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"

/* Longer ones are cut. */
uint32_t ss_cupti_text(const char *text, size_t length);
/* How many there are; numbers are 1 … count. */
uint32_t ss_cupti_text_count(void);
/* Valid for the life of the process. */
struct ss_strview ss_cupti_text_get(uint32_t number);
/* Around fork(2), so that no child inherits a held lock. */
void ss_cupti_texts_lock(void);
void ss_cupti_texts_unlock(void);

#endif
