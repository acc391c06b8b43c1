/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapped ring file of a program. The program may truncate the file at any time: a missing page
 * then reads as zeros (ring/page_guard.h).
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_SOURCE_RING_FILE_H
#define SS_SOURCE_RING_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "ring/consumer.h"

struct ss_ring_file;

/* SS_E_PERMISSION: a link, owned by another user, or accessible to others. */
enum ss_status ss_ring_file_open(const char *path, struct ss_ring_file **file,
                                 struct ss_error *err);
void ss_ring_file_close(struct ss_ring_file *file); /* close the consumer first */
struct ss_ring_memory ss_ring_file_memory(struct ss_ring_file *file);
/* Whether a page was missing when it was read: what the program writes there is lost. */
bool ss_ring_file_lost_pages(const struct ss_ring_file *file);
const char *ss_ring_file_path(const struct ss_ring_file *file);
size_t ss_ring_file_mapped_bytes(const struct ss_ring_file *file);

enum { SS_RING_FILE_NAME_BYTES = 64 };

/* The name of the ring file beside a profile that torch.profiler wrote; false: not the name of
 * such a profile. */
bool ss_ring_file_parse_profile_name(const char *name, char ring_name[SS_RING_FILE_NAME_BYTES]);
/* The name of the ring file beside a file for the work of devices (ring/device_ring.h); false: not
 * the name of such a file. */
bool ss_ring_file_parse_device_name(const char *name, char ring_name[SS_RING_FILE_NAME_BYTES]);
/* Parses a file name; false: not the name of a ring file. */
bool ss_ring_file_parse_name(const char *name, pid_t *pid, uint64_t *start_time_ticks);

#endif
