/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's ring file, mapped here. A program may cut its file short under our hands: a page that
 * is gone then becomes one of zeros, where touching it would have killed the recorder (a SIGBUS
 * handler does it, for these mappings only).
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_SOURCE_RING_FILE_H
#define SS_SOURCE_RING_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "ring/consumer.h"

struct ss_ring_file;

/* SS_E_PERMISSION: a link, of somebody else, or open to others. */
enum ss_status ss_ring_file_open(const char *path, struct ss_ring_file **file,
                                 struct ss_error *err);
void ss_ring_file_close(struct ss_ring_file *file); /* the consumer first */
struct ss_ring_memory ss_ring_file_memory(struct ss_ring_file *file);
const char *ss_ring_file_path(const struct ss_ring_file *file);
size_t ss_ring_file_mapped_bytes(const struct ss_ring_file *file);

/* Parts of a file's name; false: it is not one of a ring file. */
bool ss_ring_file_parse_name(const char *name, pid_t *pid, uint64_t *start_time_ticks);

#endif
