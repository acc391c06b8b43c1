/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of gzip: bytes go in, a file that gzip -d reads comes out. One owner. */
#ifndef SS_VIEW_OUTPUT_GZIP_H
#define SS_VIEW_OUTPUT_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct ss_gzip;

struct ss_gzip *ss_gzip_new(void);
void ss_gzip_free(struct ss_gzip *gzip); /* NULL is nothing */
/* Calls `put` with what is compressed so far; with `is_end`, with all of it. */
void ss_gzip_write(struct ss_gzip *gzip, const void *bytes, size_t length, bool is_end,
                   void (*put)(void *context, const char *bytes, size_t length), void *context);

#endif
