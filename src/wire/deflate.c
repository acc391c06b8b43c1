/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/deflate.h"

#include <limits.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"

struct ss_deflater {
    z_stream stream;
    int level, strategy;
};

struct ss_inflater {
    z_stream stream;
};

struct ss_deflater *ss_deflater_new(void)
{
    struct ss_deflater *deflater = ss_alloc_zero(1, sizeof *deflater);
    deflater->level = Z_BEST_SPEED;
    deflater->strategy = Z_DEFAULT_STRATEGY;
    /* The largest hash and blocks make units of many small packets a few percent smaller. */
    if (deflateInit2(&deflater->stream, deflater->level, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        ss_bug("zlib cannot start a stream");
    }
    return deflater;
}

void ss_deflater_free(struct ss_deflater *deflater)
{
    if (deflater != NULL) {
        deflateEnd(&deflater->stream);
        ss_free(deflater);
    }
}

bool ss_deflate(struct ss_deflater *deflater, int level, bool short_matches, const void *bytes,
                size_t length, struct ss_wire_buffer *out)
{
    z_stream *stream = &deflater->stream;
    if (length > UINT_MAX || deflateReset(stream) != Z_OK) {
        return false;
    }
    int strategy = short_matches ? Z_DEFAULT_STRATEGY : Z_FILTERED;
    if (level != deflater->level || strategy != deflater->strategy) {
        if (deflateParams(stream, level, strategy) != Z_OK) {
            return false;
        }
        deflater->level = level;
        deflater->strategy = strategy;
    }
    uLong bound = deflateBound(stream, (uLong)length);
    if (bound > UINT_MAX) {
        return false;
    }
    ss_wire_reserve(out, bound);
    stream->next_in = (Bytef *)(uintptr_t)bytes; /* zlib's pointer is not const; it only reads */
    stream->avail_in = (uInt)length;
    stream->next_out = out->data + out->length;
    stream->avail_out = (uInt)bound;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END) {
        return false;
    }
    out->length += bound - stream->avail_out;
    return true;
}

struct ss_inflater *ss_inflater_new(void)
{
    struct ss_inflater *inflater = ss_alloc_zero(1, sizeof *inflater);
    if (inflateInit(&inflater->stream) != Z_OK) {
        ss_bug("zlib cannot start a stream");
    }
    return inflater;
}

void ss_inflater_free(struct ss_inflater *inflater)
{
    if (inflater != NULL) {
        inflateEnd(&inflater->stream);
        ss_free(inflater);
    }
}

enum ss_inflate_result ss_inflate(struct ss_inflater *inflater, const void *bytes, size_t length,
                                  size_t maximum, struct ss_wire_buffer *out)
{
    z_stream *stream = &inflater->stream;
    out->length = 0;
    if (length > UINT_MAX || inflateReset(stream) != Z_OK) {
        return SS_INFLATE_CORRUPT;
    }
    stream->next_in = (Bytef *)(uintptr_t)bytes;
    stream->avail_in = (uInt)length;
    for (;;) {
        size_t room = maximum - out->length;
        if (room == 0) {
            return SS_INFLATE_TOO_LARGE;
        }
        size_t step = length * 4 > 4096 ? length * 4 : 4096;
        step = step < room ? step : room;
        step = step < UINT_MAX ? step : UINT_MAX;
        ss_wire_reserve(out, step);
        stream->next_out = out->data + out->length;
        stream->avail_out = (uInt)step;
        int result = inflate(stream, Z_FINISH);
        out->length += step - stream->avail_out;
        if (result == Z_STREAM_END) {
            return stream->avail_in == 0 ? SS_INFLATE_OK : SS_INFLATE_CORRUPT;
        }
        if ((result != Z_OK && result != Z_BUF_ERROR) || stream->avail_out > 0) {
            return SS_INFLATE_CORRUPT;
        }
    }
}
