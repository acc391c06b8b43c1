/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts, frames and stacks of the device ring, each with one number, which the writer defines
 * before it is used. Any thread; a lock is held for the time of one search. At most 64 MiB: later
 * ones are 0, "none".
 */
#ifndef SS_INJECT_DEVICE_TEXTS_H
#define SS_INJECT_DEVICE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"
#include "ring/device_ring.h"

/* Longer ones are cut. */
uint32_t ss_device_text_put(const char *text, size_t length);
/* `file` and `function` are texts; `line` 0: unknown. */
uint32_t ss_device_frame_put(uint32_t file, uint32_t function, int32_t line);
/* A frame and the stack that called it, 0: none. Without a frame, that stack. */
uint32_t ss_device_stack_put(uint32_t outer, uint32_t frame);

/* How many there are, numbers 1 … count: what the counted stacks and frames refer to is counted. */
struct ss_device_text_counts {
    uint32_t texts, frames, stacks;
};
struct ss_device_text_counts ss_device_text_counts(void);
/* Valid for the life of the process. */
struct ss_strview ss_device_text_get(uint32_t number);
void ss_device_frame_get(uint32_t number, struct ss_device_frame_message *message);
void ss_device_stack_get(uint32_t number, struct ss_device_stack_message *message);
/* Around fork(2), so that no child inherits a held lock. */
void ss_device_texts_lock(void);
void ss_device_texts_unlock(void);

#endif
