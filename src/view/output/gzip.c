/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/gzip.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* Traces are repetitive: a higher level makes them a tenth smaller in twice the time. */
enum { LEVEL = 4, GZIP_WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 9, BLOCK_BYTES = 64 * 1024 };

struct ss_gzip {
    z_stream stream;
    char block[BLOCK_BYTES];
};

static voidpf take_memory(voidpf ignored, uInt count, uInt size)
{
    (void)ignored;
    return ss_alloc_zero(count, size);
}

static void give_memory(voidpf ignored, voidpf memory)
{
    (void)ignored;
    ss_free(memory);
}

struct ss_gzip *ss_gzip_new(void)
{
    struct ss_gzip *gzip = ss_alloc_zero(1, sizeof *gzip);
    gzip->stream.zalloc = take_memory;
    gzip->stream.zfree = give_memory;
    if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        ss_bug("zlib refuses its own constants");
    }
    return gzip;
}

void ss_gzip_free(struct ss_gzip *gzip)
{
    if (gzip != NULL) {
        deflateEnd(&gzip->stream);
        ss_free(gzip);
    }
}

void ss_gzip_write(struct ss_gzip *gzip, const void *bytes, size_t length, bool is_end,
                   void (*put)(void *context, const char *bytes, size_t length), void *context)
{
    z_stream *stream = &gzip->stream;
    const Bytef *at = bytes;
    do { /* zlib counts in 32 bits */
        size_t part = length < UINT_MAX / 2 ? length : UINT_MAX / 2;
        int flush = is_end && part == length ? Z_FINISH : Z_NO_FLUSH;
        stream->next_in = at;
        stream->avail_in = (uInt)part;
        do {
            stream->next_out = (Bytef *)gzip->block;
            stream->avail_out = BLOCK_BYTES;
            deflate(stream, flush);
            put(context, gzip->block, BLOCK_BYTES - stream->avail_out);
        } while (stream->avail_out == 0);
        at += part;
        length -= part;
    } while (length > 0);
}
