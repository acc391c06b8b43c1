/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the flush units of a trace: boundaries, checksums and framing, without their content.
 * Continues after damage at the next synchronization marker. Buffers at most one unit and some
 * read-ahead. One owner.
 */
#ifndef SS_TRACE_SCAN_H
#define SS_TRACE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/proto.h"

struct ss_scan {
    int fd;              /* -1: memory */
    const uint8_t *data; /* buffered bytes, from `offset` of the file */
    size_t length;
    uint64_t offset;
    bool at_end;                  /* `data` reaches the end of the file */
    struct ss_wire_buffer window; /* owns `data` when reading a file */
    size_t consumed;              /* of `data` */
    size_t read_bytes;            /* read at once; 0: 1 MiB */
};

/* A complete unit with a valid checksum. Valid until the next call. */
struct ss_scan_unit {
    uint64_t offset;
    uint64_t length;
    struct ss_wire_cursor body; /* the packets between start and trailer */
    uint32_t version;
    uint32_t number;
    uint32_t period;
    bool restart, gap, sealed;
    uint64_t samples;
    uint64_t first_ns; /* of its first event; without any, of its clock */
};

enum ss_scan_result {
    SS_SCAN_UNIT,
    SS_SCAN_DAMAGE,  /* bytes that are not a valid unit */
    SS_SCAN_FOREIGN, /* complete packets of another program */
    SS_SCAN_END
};

/* Bytes that are not a valid unit. */
struct ss_scan_damage {
    uint64_t offset;
    uint64_t length;
    const char *reason;
    bool is_unit; /* begins like a unit */
    bool is_cut;  /* the file ends within that unit */
};

enum ss_status ss_scan_open(const char *path, struct ss_scan *scan, uint64_t *file_bytes,
                            struct ss_error *err);
void ss_scan_memory(const void *bytes, size_t length, struct ss_scan *scan);
void ss_scan_close(struct ss_scan *scan);

/* `*status` is not SS_OK when a read fails; the result is then SS_SCAN_END. */
enum ss_scan_result ss_scan_next(struct ss_scan *scan, struct ss_scan_unit *unit,
                                 struct ss_scan_damage *damage, enum ss_status *status,
                                 struct ss_error *err);

#endif
