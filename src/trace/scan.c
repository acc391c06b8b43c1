/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/profile.h"
#include "trace/wire_records.h"
#include "wire/crc32c.h"
#include "wire/perfetto.h"

enum {
    READ_BYTES = 1024 * 1024,
    /* Packet tag and a one-byte length precede the marker. */
    BEFORE_MARKER = 2,
    PACKET_TAG = SS_PF_TRACE_PACKET << 3 | SS_WIRE_BYTES,
    OVERLAP_BYTES = BEFORE_MARKER + SS_MARKER_BYTES - 1 /* an incomplete start packet */
};

enum ss_status ss_scan_open(const char *path, struct ss_scan *scan, uint64_t *file_bytes,
                            struct ss_error *err)
{
    *scan = (struct ss_scan){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (scan->fd < 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    struct stat status;
    if (fstat(scan->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        ss_scan_close(scan);
        return ss_fail(err, SS_E_UNSUPPORTED, "%s is not a regular file", path);
    }
    *file_bytes = (uint64_t)status.st_size;
    return SS_OK;
}

void ss_scan_memory(const void *bytes, size_t length, struct ss_scan *scan)
{
    *scan = (struct ss_scan){.fd = -1, .data = bytes, .length = length, .at_end = true};
}

void ss_scan_close(struct ss_scan *scan)
{
    if (scan->fd >= 0) {
        close(scan->fd);
    }
    ss_wire_fini(&scan->window);
    *scan = (struct ss_scan){.fd = -1};
}

/* Makes `wanted` bytes after the consumed ones available, or all that remain. */
static enum ss_status fill(struct ss_scan *scan, size_t wanted, struct ss_error *err)
{
    if (scan->at_end || scan->length - scan->consumed >= wanted) {
        return SS_OK;
    }
    struct ss_wire_buffer *window = &scan->window;
    size_t left = scan->length - scan->consumed;
    if (left > 0 && scan->consumed > 0) {
        memmove(window->data, window->data + scan->consumed, left);
    }
    scan->offset += scan->consumed;
    scan->consumed = 0;
    window->length = left;
    ss_wire_reserve(window,
                    wanted - left + (scan->read_bytes != 0 ? scan->read_bytes : READ_BYTES));
    while (window->length < wanted) {
        ssize_t got =
            pread(scan->fd, window->data + window->length, window->capacity - window->length,
                  (off_t)(scan->offset + window->length));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return ss_fail_errno(err, errno, "cannot read the trace at byte %llu",
                                 (unsigned long long)(scan->offset + window->length));
        }
        if (got == 0) {
            scan->at_end = true;
            break;
        }
        window->length += (size_t)got;
    }
    scan->data = window->data;
    scan->length = window->length;
    return SS_OK;
}

static bool starts_unit(const uint8_t *at, size_t length)
{
    /* One length byte: a start packet is far below 128 bytes. */
    return length >= BEFORE_MARKER + SS_MARKER_BYTES && at[0] == PACKET_TAG && at[1] < 0x80 &&
           memcmp(at + BEFORE_MARKER, ss_marker, SS_MARKER_BYTES) == 0;
}

/* The first unit start at or after `from`; `length` when there is none in these bytes. */
static size_t find_unit(const uint8_t *data, size_t from, size_t length)
{
    size_t search = from + BEFORE_MARKER;
    while (search < length) {
        const uint8_t *hit = memmem(data + search, length - search, ss_marker, SS_MARKER_BYTES);
        if (hit == NULL) {
            return length;
        }
        size_t start = (size_t)(hit - data) - BEFORE_MARKER;
        if (starts_unit(data + start, length - start)) {
            return start;
        }
        search = (size_t)(hit - data) + 1;
    }
    return length;
}

/* Opens the extension payload; false when its format word is not ours. */
static bool open_payload(struct ss_wire_cursor *body, uint32_t *version)
{
    struct ss_wire_field field;
    if (ss_wire_next(body, &field) != SS_WIRE_FIELD || field.number != SS_PAYLOAD_format ||
        field.type != SS_WIRE_VARINT || (field.value & 0x7f) != SS_FORMAT_MAGIC ||
        field.value >> 7 == 0 || field.value >> 7 > UINT32_MAX) {
        return false;
    }
    *version = (uint32_t)(field.value >> 7);
    return true;
}

/* The first field `number` in the extension payload of a packet. */
static bool find_payload(struct ss_wire_cursor packet, uint32_t number, uint32_t *version,
                         struct ss_wire_cursor *body)
{
    struct ss_wire_field field;
    while (ss_wire_next(&packet, &field) == SS_WIRE_FIELD) {
        if (field.number != SS_EXTENSION || field.type != SS_WIRE_BYTES) {
            continue;
        }
        struct ss_wire_cursor payload = field.body;
        if (!open_payload(&payload, version)) {
            return false;
        }
        struct ss_wire_field own;
        while (ss_wire_next(&payload, &own) == SS_WIRE_FIELD) {
            if (own.number == number && own.type == SS_WIRE_BYTES) {
                *body = own.body;
                return true;
            }
        }
        return false;
    }
    return false;
}

static bool read_start(struct ss_wire_cursor packet, struct ss_scan_unit *unit)
{
    struct ss_wire_cursor body;
    if (!find_payload(packet, SS_PAYLOAD_unit, &unit->version, &body)) {
        return false;
    }
    struct ss_trace_unit start;
    if (!ss_schema_read(SS_SCHEMA_unit, body, &start, NULL)) {
        return false;
    }
    unit->number = start.number;
    unit->period = start.period;
    unit->restart = start.restart;
    unit->gap = start.gap;
    return true;
}

/* True when the packet is the trailer; `*good` when its checksum, the last four bytes of the unit,
 * is valid. */
static bool read_trailer(const uint8_t *unit_bytes, struct ss_wire_cursor packet,
                         struct ss_scan_unit *unit, bool *good)
{
    /* A cheap check first: every trailer starts with the tag of the extension. */
    static const uint8_t tag[2] = {0xb2, 0x7c};
    struct ss_wire_cursor body;
    uint32_t version;
    if (packet.end - packet.at < 8 || memcmp(packet.at, tag, sizeof tag) != 0 ||
        !find_payload(packet, SS_PAYLOAD_trailer, &version, &body)) {
        return false;
    }
    static const uint8_t crc_tag = 15 << 3 | SS_WIRE_FIXED32;
    struct ss_trace_trailer trailer;
    bool is_whole = ss_schema_read(SS_SCHEMA_trailer, body, &trailer, NULL) &&
                    body.end == packet.end && body.end - body.at > 4 && body.end[-5] == crc_tag;
    unit->samples = trailer.samples;
    unit->first_ns = trailer.first_ns;
    unit->sealed = trailer.sealed;
    size_t covered = (size_t)(packet.end - unit_bytes) - sizeof trailer.crc;
    *good = is_whole && trailer.number == unit->number &&
            ss_crc32c(0, unit_bytes, covered) == trailer.crc;
    return true;
}

enum unit_result { UNIT_GOOD, UNIT_BAD, UNIT_CUT, UNIT_NEEDS_MORE };

/* Reads the unit at `bytes`. Sets `*reason` when the unit is invalid. Long: every way in which
 * bytes are not a unit has its own reason. */
static enum unit_result read_unit(const uint8_t *bytes, size_t length, bool at_end,
                                  struct ss_scan_unit *unit, const char **reason)
{
    struct ss_wire_cursor cursor = ss_wire_cursor_of(bytes, length);
    struct ss_wire_cursor body = {0};
    *unit = (struct ss_scan_unit){0};
    for (unsigned index = 0;; index++) {
        const uint8_t *packet_at = cursor.at;
        uint64_t size = 0;
        bool framed = cursor.at < cursor.end;
        if (framed && *cursor.at != PACKET_TAG) {
            *reason = "a packet does not begin where it should";
            return UNIT_BAD;
        }
        framed = framed && (cursor.at++, ss_wire_get_varint(&cursor, &size)) &&
                 size <= (uint64_t)(cursor.end - cursor.at);
        if (!framed) {
            if (length >= SS_MAX_UNIT_BYTES || size > SS_MAX_UNIT_BYTES) {
                *reason = "a length is beyond what a unit may have";
                return UNIT_BAD;
            }
            *reason = "the file ends within a unit";
            return at_end ? UNIT_CUT : UNIT_NEEDS_MORE;
        }
        struct ss_wire_cursor packet = {cursor.at, cursor.at + size};
        cursor.at += size;
        bool good;
        if (index == 0) {
            if (!read_start(packet, unit)) {
                *reason = "a marker without our unit header";
                return UNIT_BAD;
            }
            body.at = cursor.at;
        } else if (starts_unit(packet_at, (size_t)(cursor.end - packet_at))) {
            *reason = "a unit has no trailer";
            return UNIT_BAD;
        } else if (read_trailer(bytes, packet, unit, &good)) {
            unit->body = (struct ss_wire_cursor){body.at, packet_at};
            unit->length = (uint64_t)(cursor.at - bytes);
            *reason = "a unit's checksum is wrong";
            return good ? UNIT_GOOD : UNIT_BAD;
        }
    }
}

static bool has_our_payload(struct ss_wire_cursor packet)
{
    struct ss_wire_field field;
    uint32_t version;
    while (ss_wire_next(&packet, &field) == SS_WIRE_FIELD) {
        if (field.number == SS_EXTENSION && field.type == SS_WIRE_BYTES &&
            open_payload(&field.body, &version)) {
            return true;
        }
    }
    return false;
}

/* True when the bytes are complete packets without our payload: a trace of another program. False
 * for a unit of ours in which only the marker is damaged. */
static bool are_foreign_packets(const uint8_t *bytes, size_t length)
{
    struct ss_wire_cursor cursor = ss_wire_cursor_of(bytes, length);
    struct ss_wire_field field;
    enum ss_wire_next next;
    while ((next = ss_wire_next(&cursor, &field)) == SS_WIRE_FIELD) {
        if (field.number != SS_PF_TRACE_PACKET || field.type != SS_WIRE_BYTES ||
            has_our_payload(field.body)) {
            return false;
        }
    }
    return next == SS_WIRE_END;
}

/* Tracks across windows whether skipped bytes are complete packets. */
struct framing {
    uint64_t next; /* offset of the next packet */
    bool broken;
};

static void follow_framing(struct framing *framing, const struct ss_scan *scan, size_t length)
{
    uint64_t start = scan->offset + scan->consumed, end = start + length;
    while (!framing->broken && framing->next >= start && framing->next < end) {
        struct ss_wire_cursor cursor = {scan->data + (framing->next - scan->offset),
                                        scan->data + scan->length};
        uint64_t size;
        const uint8_t *packet_at = cursor.at;
        bool tagged = *cursor.at++ == PACKET_TAG;
        if (tagged && ss_wire_get_varint(&cursor, &size)) {
            framing->broken = size > (UINT64_C(1) << 32);
            framing->next += (uint64_t)(cursor.at - packet_at) + size;
            continue;
        }
        /* Not broken if the length field continues in the next window. */
        framing->broken = !tagged || scan->at_end || cursor.end - packet_at > SS_WIRE_MAX_VARINT;
        return;
    }
}

/* Skips a hole in the file if the next bytes are in one: a machine crash can leave holes, and a
 * hostile sparse file of any size is free to create. */
static void skip_hole(struct ss_scan *scan)
{
    off_t at = (off_t)(scan->offset + scan->length);
    off_t data = lseek(scan->fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        data = lseek(scan->fd, 0, SEEK_END);
    }
    if (data > at + READ_BYTES) {
        scan->offset = (uint64_t)data;
        scan->window.length = scan->length = scan->consumed = 0;
    }
}

/* Skips to the next unit start after the consumed bytes, by at least one byte. Long: one loop over
 * the windows of the file searches the start and follows the framing. */
static enum ss_scan_result skip(struct ss_scan *scan, struct ss_scan_damage *damage,
                                enum ss_status *status, struct ss_error *err)
{
    damage->offset = scan->offset + scan->consumed;
    struct framing framing = {.next = damage->offset, .broken = damage->is_unit};
    bool small = true;
    size_t from = 1;
    for (;;) {
        const uint8_t *at = scan->data + scan->consumed;
        size_t length = scan->length - scan->consumed;
        size_t next = find_unit(at, from, length);
        bool found = next < length || scan->at_end;
        /* A start packet may begin in the last bytes: they stay for the next window. */
        follow_framing(&framing, scan,
                       found                    ? next
                       : length > OVERLAP_BYTES ? length - OVERLAP_BYTES
                                                : 0);
        if (found) {
            bool foreign =
                small ? !damage->is_unit && are_foreign_packets(at, next)
                      : !framing.broken && framing.next == scan->offset + scan->consumed + next;
            scan->consumed += next;
            if (damage->is_cut && next < length) { /* units follow: the length is wrong */
                damage->is_cut = false;
                damage->reason = "a length is wrong";
            }
            damage->length = scan->offset + scan->consumed - damage->offset;
            return foreign ? SS_SCAN_FOREIGN : SS_SCAN_DAMAGE;
        }
        small = small && length < SS_MAX_UNIT_BYTES;
        if (!small && length > OVERLAP_BYTES) {
            scan->consumed += length - OVERLAP_BYTES;
            from = 0;
            skip_hole(scan);
        }
        *status = fill(scan, (small ? length : OVERLAP_BYTES) + READ_BYTES, err);
        if (*status != SS_OK) {
            return SS_SCAN_END;
        }
    }
}

enum ss_scan_result ss_scan_next(struct ss_scan *scan, struct ss_scan_unit *unit,
                                 struct ss_scan_damage *damage, enum ss_status *status,
                                 struct ss_error *err)
{
    *damage = (struct ss_scan_damage){.reason = "bytes that are not a unit"};
    size_t wanted = scan->read_bytes != 0 ? scan->read_bytes : READ_BYTES;
    for (;;) {
        *status = fill(scan, wanted, err);
        size_t length = scan->length - scan->consumed;
        if (*status != SS_OK || length == 0) {
            return SS_SCAN_END;
        }
        const uint8_t *at = scan->data + scan->consumed;
        if (!starts_unit(at, length)) {
            return skip(scan, damage, status, err);
        }
        enum unit_result result = read_unit(at, length, scan->at_end, unit, &damage->reason);
        if (result == UNIT_GOOD) {
            unit->offset = scan->offset + scan->consumed;
            scan->consumed += unit->length;
            return SS_SCAN_UNIT;
        }
        if (result != UNIT_NEEDS_MORE) {
            damage->is_unit = true;
            damage->is_cut = result == UNIT_CUT;
            return skip(scan, damage, status, err);
        }
        wanted = SS_MAX_UNIT_BYTES;
    }
}
