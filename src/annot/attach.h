/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the Python package: a program that permits recorders to attach to it waits for them on a
 * thread of its own. The recorder wakes it as a recording begins, and before it ends.
 */
#ifndef SS_ANNOT_ATTACH_H
#define SS_ANNOT_ATTACH_H

#include <stdbool.h>

/* Waits, at most a second, until a recording runs (1), or none does or it is about to end (0).
 * Whether that is so. One thread; without the GIL. */
__attribute__((visibility("default"))) int stepscope_attach_wait(int wanted);
/* What the recorder asks for: enum ss_ring_devices. */
__attribute__((visibility("default"))) unsigned stepscope_attach_device_level(void);

#endif
