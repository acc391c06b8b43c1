/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib streams, whole buffers at a time. The stream objects are reused across calls, so that a
 * flush allocates nothing. One owner each.
 */
#ifndef SS_WIRE_DEFLATE_H
#define SS_WIRE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/proto.h"

struct ss_deflater;
struct ss_inflater;

struct ss_deflater *ss_deflater_new(void);
void ss_deflater_free(struct ss_deflater *deflater); /* NULL is fine */
/* Appends the compressed bytes to `out`. false: zlib failed. Level 1 to 9. */
bool ss_deflate(struct ss_deflater *deflater, int level, bool short_matches, const void *bytes,
                size_t length, struct ss_wire_buffer *out);

struct ss_inflater *ss_inflater_new(void);
void ss_inflater_free(struct ss_inflater *inflater);

enum ss_inflate_result { SS_INFLATE_OK, SS_INFLATE_CORRUPT, SS_INFLATE_TOO_LARGE };
/* Replaces the content of `out`; never grows it beyond `maximum` bytes. */
enum ss_inflate_result ss_inflate(struct ss_inflater *inflater, const void *bytes, size_t length,
                                  size_t maximum, struct ss_wire_buffer *out);

#endif
