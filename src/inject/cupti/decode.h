/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of CUPTI to messages of the device ring. Pure: reads the record alone, of which the
 * caller knows how many bytes exist, and follows no pointer in it. Names stay addresses in the
 * program's memory.
 */
#ifndef SS_INJECT_CUPTI_DECODE_H
#define SS_INJECT_CUPTI_DECODE_H

#include "inject/device/event.h"

/* `bytes`: from the record to the end of the buffer's valid part. */
enum ss_decoded ss_cupti_decode(const void *record, size_t bytes, struct ss_device_event *event);

#endif
