/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/holes.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/scan.h"

enum {
    SHORTEST_HOLE_BYTES = 1 << 20,
    EDGE_BYTES = 1 << 16, /* around a hole, which begins and ends with a block of the file system */
    BLOCK_BYTES = 512     /* of st_blocks */
};

/* A part of the file, from one offset to another. */
struct span {
    uint64_t from, to;
};

static bool has_long_hole(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (uint64_t)status.st_blocks * BLOCK_BYTES + SHORTEST_HOLE_BYTES <=
               (uint64_t)status.st_size;
}

/* The first hole at or after `from`; false: there is none before `end`. */
static bool find_hole(int fd, uint64_t from, uint64_t end, struct span *hole)
{
    off_t begin = lseek(fd, (off_t)from, SEEK_HOLE);
    if (begin < 0 || (uint64_t)begin >= end) {
        return false;
    }
    off_t data = lseek(fd, begin, SEEK_DATA);
    if (data < 0 && errno != ENXIO) {
        return false;
    }
    *hole = (struct span){(uint64_t)begin, data < 0 || (uint64_t)data > end ? end : (uint64_t)data};
    return true;
}

static size_t read_at(int fd, uint8_t *bytes, struct span span)
{
    ssize_t got = pread(fd, bytes, (size_t)(span.to - span.from), (off_t)span.from);
    return got > 0 ? (size_t)got : 0;
}

/* Adds the zeros on both sides of the hole that are within `limits`. */
static void widen(int fd, const struct span *limits, struct span *hole)
{
    uint8_t bytes[EDGE_BYTES];
    struct span before = {limits->from, hole->from}, after = {hole->to, limits->to};
    if (before.to - before.from > EDGE_BYTES) {
        before.from = before.to - EDGE_BYTES;
    }
    if (after.to - after.from > EDGE_BYTES) {
        after.to = after.from + EDGE_BYTES;
    }
    size_t length = read_at(fd, bytes, before);
    bool is_whole = length == before.to - before.from;
    while (is_whole && length > 0 && bytes[length - 1] == 0) {
        length--;
        hole->from--;
    }
    length = read_at(fd, bytes, after);
    for (size_t i = 0; i < length && bytes[i] == 0; i++) {
        hole->to++;
    }
}

static void add_part(struct ss_trace_parts *parts, uint64_t from, uint64_t to)
{
    if (to > from) {
        ss_vec_push(&parts->rows, (struct ss_trace_part){from, to - from});
        parts->bytes += to - from;
    }
}

/* Of bytes that belong to no unit. `*done`: the parts before it are complete. */
static void leave_out_holes(struct ss_trace_parts *parts, int fd,
                            const struct ss_scan_damage *damage, uint64_t *done)
{
    struct span limits = {damage->offset, damage->offset + damage->length}, hole;
    while (find_hole(fd, limits.from, limits.to, &hole)) {
        if (hole.to - hole.from >= SHORTEST_HOLE_BYTES) {
            widen(fd, &limits, &hole);
            add_part(parts, *done, hole.from);
            parts->left_out_bytes += hole.to - hole.from;
            *done = hole.to;
        }
        limits.from = hole.to;
    }
}

static enum ss_status scan_all(struct ss_trace_parts *parts, struct ss_scan *scan, uint64_t *done,
                               struct ss_error *err)
{
    struct ss_scan_unit unit;
    struct ss_scan_damage damage;
    enum ss_status status;
    enum ss_scan_result result;
    do {
        result = ss_scan_next(scan, &unit, &damage, &status, err);
        if (result == SS_SCAN_DAMAGE) {
            leave_out_holes(parts, scan->fd, &damage, done);
        }
    } while (result != SS_SCAN_END);
    return status;
}

enum ss_status ss_trace_parts_init(struct ss_trace_parts *parts, const char *path,
                                   struct ss_error *err)
{
    struct ss_scan scan;
    uint64_t file_bytes, done = 0;
    *parts = (struct ss_trace_parts){0};
    SS_TRY(ss_scan_open(path, &scan, &file_bytes, err));
    enum ss_status status = has_long_hole(scan.fd) ? scan_all(parts, &scan, &done, err) : SS_OK;
    if (status == SS_OK) {
        add_part(parts, done, file_bytes);
    } else {
        ss_trace_parts_fini(parts);
    }
    ss_scan_close(&scan);
    return status;
}

void ss_trace_parts_fini(struct ss_trace_parts *parts)
{
    ss_vec_fini(&parts->rows);
    *parts = (struct ss_trace_parts){0};
}
