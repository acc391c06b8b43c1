/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/decode.h"
#include "trace/profile.h"
#include "trace/scan.h"

/* Expected unit number after damage: an unknown number of units is missing. */
static const uint32_t any_number = UINT32_MAX;

/* Far above the definitions of the longest realistic recording; bounds hostile files. */
static const size_t max_memory_bytes = (size_t)768 * 1024 * 1024;

/* Limit on samples, events and counter values of any file; grows with the file size. */
static const uint64_t base_record_limit = UINT64_C(3) << 20;

bool ss_trace_is_trace(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    /* Packet tag and length, marker, our extension's tag and length, format word. */
    const size_t needed = 2 + SS_MARKER_BYTES + 3 + 3;
    if (length < needed || at[0] != 0x0a || memcmp(at + 2, ss_marker, SS_MARKER_BYTES) != 0) {
        return false;
    }
    const uint8_t *payload = at + 2 + SS_MARKER_BYTES;
    return payload[0] == 0xb2 && payload[1] == 0x7c && payload[3] == 0x08 &&
           payload[4] == (SS_FORMAT_MAGIC | 0x80);
}

static enum ss_status report_damage(const struct ss_trace_visitor *visitor, void *context,
                                    const struct ss_scan_damage *damage,
                                    struct ss_trace_summary *summary)
{
    if (summary->damaged_units == 0 && summary->lost_bytes == 0) {
        summary->first_damage_offset = damage->offset;
        snprintf(summary->damage, sizeof summary->damage, "byte %llu: %s (%llu bytes left out)",
                 (unsigned long long)damage->offset, damage->reason,
                 (unsigned long long)damage->length);
    }
    summary->damaged_units += damage->is_unit;
    summary->lost_bytes += damage->length;
    if (visitor->damage == NULL) {
        return SS_OK;
    }
    return visitor->damage(context, &(struct ss_trace_damage){.offset = damage->offset,
                                                              .length = damage->length,
                                                              .reason = damage->reason,
                                                              .is_cut = damage->is_cut});
}

/* A compressed unit may expand a thousandfold, and each record becomes a row in memory. The densest
 * recording, a loop around one range a million times a second, stores about one byte per begin or
 * end, because their times differ. */
static enum ss_status check_expansion(const struct ss_trace_summary *summary,
                                      const struct ss_scan_unit *unit, struct ss_error *err)
{
    /* Samples and counter values share their times, and most do not become a row. */
    uint64_t records = summary->events + (summary->samples + summary->counter_values) / 8;
    uint64_t most = base_record_limit + 4 * summary->file_bytes;
    if (records <= most) {
        return SS_OK;
    }
    return ss_fail(err, SS_E_LIMIT,
                   "byte %llu: the trace expands to more than %llu records, too many for a file of "
                   "%llu bytes: it is not a recording",
                   (unsigned long long)unit->offset, (unsigned long long)most,
                   (unsigned long long)summary->file_bytes);
}

static void count_unit(struct ss_trace_summary *summary, const struct ss_scan_unit *unit)
{
    summary->units++;
    if (summary->damage[0] == '\0') {
        summary->whole_bytes = unit->offset + unit->length;
        summary->next_number = unit->number + 1;
    } else {
        summary->units_after_damage++;
    }
    summary->restart_points += unit->restart;
    summary->read_bytes += unit->length;
    summary->sealed = unit->sealed;
}

/* Long: the checks of a unit in their order, each with its own message. */
static enum ss_status read_unit(struct ss_decoder *decoder, const struct ss_scan_unit *unit,
                                uint32_t *expected_number, struct ss_error *err)
{
    struct ss_trace_summary *summary = decoder->summary;
    if (unit->version > SS_FORMAT_VERSION) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "byte %llu: the trace has format version %u, this program reads up to %u; "
                       "use a newer stepscope",
                       (unsigned long long)unit->offset, unit->version, SS_FORMAT_VERSION);
    }
    summary->format_version = unit->version;
    if (unit->number != *expected_number && *expected_number != any_number &&
        !(unit->number == 0 && unit->restart)) {
        SS_TRY(report_damage(decoder->visitor, decoder->context,
                             &(struct ss_scan_damage){.offset = unit->offset,
                                                      .reason = "units are missing before this one",
                                                      .is_unit = true},
                             summary));
    }
    *expected_number = unit->number + 1;
    const char *malformed;
    SS_TRY(ss_decoder_unit(decoder, unit, &malformed, err));
    if (malformed != NULL) {
        return report_damage(decoder->visitor, decoder->context,
                             &(struct ss_scan_damage){.offset = unit->offset,
                                                      .length = unit->length,
                                                      .reason = malformed,
                                                      .is_unit = true},
                             summary);
    }
    count_unit(summary, unit);
    if (decoder->visitor->progress != NULL) {
        decoder->visitor->progress(decoder->context, unit->offset + unit->length,
                                   summary->file_bytes);
    }
    SS_TRY(check_expansion(summary, unit, err));
    if (ss_decoder_memory(decoder) > max_memory_bytes) {
        return ss_fail(err, SS_E_LIMIT,
                       "byte %llu: the trace defines more than %zu MiB of names "
                       "and stacks",
                       (unsigned long long)unit->offset, max_memory_bytes / (1024 * 1024));
    }
    return SS_OK;
}

static enum ss_status read_all(struct ss_scan *scan, struct ss_decoder *decoder,
                               struct ss_error *err)
{
    struct ss_scan_unit unit;
    struct ss_scan_damage damage;
    enum ss_status status = SS_OK;
    uint32_t expected_number = 0;
    for (;;) {
        switch (ss_scan_next(scan, &unit, &damage, &status, err)) {
        case SS_SCAN_UNIT:
            SS_TRY(read_unit(decoder, &unit, &expected_number, err));
            break;
        case SS_SCAN_DAMAGE:
            SS_TRY(report_damage(decoder->visitor, decoder->context, &damage, decoder->summary));
            expected_number = any_number;
            decoder->summary->sealed = false;
            break;
        case SS_SCAN_FOREIGN:
            break;
        case SS_SCAN_END:
            return status;
        }
    }
}

static enum ss_status read_scan(struct ss_scan *scan, const char *path,
                                const struct ss_trace_visitor *visitor, void *context,
                                struct ss_trace_summary *summary, struct ss_error *err)
{
    struct ss_decoder decoder;
    ss_decoder_init(&decoder, visitor, context, summary);
    enum ss_status status = read_all(scan, &decoder, err);
    ss_decoder_fini(&decoder);
    if (status != SS_OK) {
        return path != NULL ? ss_error_wrap(err, status, "%s", path) : status;
    }
    if (summary->units > 0) {
        return SS_OK;
    }
    const char *name = path != NULL ? path : "the input";
    if (summary->file_bytes == 0) {
        return ss_fail(err, SS_E_FORMAT, "%s is empty: byte 0 should begin a trace", name);
    }
    if (summary->damage[0] != '\0') {
        return ss_fail(err, SS_E_FORMAT, "%s holds no readable stepscope trace: %s", name,
                       summary->damage);
    }
    return ss_fail(err, SS_E_FORMAT,
                   "%s holds no stepscope trace: byte 0 begins packets of another program", name);
}

enum ss_status ss_trace_read(const char *path, const struct ss_trace_visitor *visitor,
                             void *context, struct ss_trace_summary *summary, struct ss_error *err)
{
    struct ss_trace_summary unused;
    summary = summary != NULL ? summary : &unused;
    *summary = (struct ss_trace_summary){0};
    struct ss_scan scan;
    SS_TRY(ss_scan_open(path, &scan, &summary->file_bytes, err));
    enum ss_status status = read_scan(&scan, path, visitor, context, summary, err);
    ss_scan_close(&scan);
    return status;
}

enum ss_status ss_trace_read_memory(const void *bytes, size_t length,
                                    const struct ss_trace_visitor *visitor, void *context,
                                    struct ss_trace_summary *summary, struct ss_error *err)
{
    struct ss_trace_summary unused;
    summary = summary != NULL ? summary : &unused;
    *summary = (struct ss_trace_summary){.file_bytes = length};
    struct ss_scan scan;
    ss_scan_memory(bytes, length, &scan);
    enum ss_status status = read_scan(&scan, NULL, visitor, context, summary, err);
    ss_scan_close(&scan);
    return status;
}

/* --- unit by unit ----------------------------------------------------------------------------- */

struct ss_trace_reader {
    char *path;
    struct ss_scan scan;
    struct ss_decoder decoder;
    struct ss_trace_summary summary;
    struct ss_scan_unit unit;
    uint32_t expected_number;
};

enum ss_status ss_trace_reader_open(const char *path, size_t read_bytes,
                                    const struct ss_trace_visitor *visitor, void *context,
                                    struct ss_trace_reader **result, struct ss_error *err)
{
    struct ss_scan scan;
    uint64_t file_bytes;
    SS_TRY(ss_scan_open(path, &scan, &file_bytes, err));
    struct ss_trace_reader *reader = ss_alloc_zero(1, sizeof *reader);
    reader->path = ss_strdup(path);
    reader->scan = scan;
    reader->scan.read_bytes = read_bytes;
    reader->summary.file_bytes = file_bytes;
    ss_decoder_init(&reader->decoder, visitor, context, &reader->summary);
    *result = reader;
    return SS_OK;
}

enum ss_status ss_trace_reader_next(struct ss_trace_reader *reader, bool *has_unit,
                                    uint64_t *first_ns, struct ss_error *err)
{
    struct ss_scan_damage damage;
    enum ss_status status = SS_OK;
    *has_unit = false;
    for (;;) {
        switch (ss_scan_next(&reader->scan, &reader->unit, &damage, &status, err)) {
        case SS_SCAN_UNIT:
            *has_unit = true;
            *first_ns = reader->unit.first_ns;
            return SS_OK;
        case SS_SCAN_DAMAGE:
            SS_TRY(report_damage(reader->decoder.visitor, reader->decoder.context, &damage,
                                 &reader->summary));
            reader->expected_number = any_number;
            reader->summary.sealed = false;
            break;
        case SS_SCAN_FOREIGN:
            break;
        case SS_SCAN_END:
            return status != SS_OK ? ss_error_wrap(err, status, "%s", reader->path) : SS_OK;
        }
    }
}

enum ss_status ss_trace_reader_unit(struct ss_trace_reader *reader, struct ss_error *err)
{
    enum ss_status status =
        read_unit(&reader->decoder, &reader->unit, &reader->expected_number, err);
    return status != SS_OK ? ss_error_wrap(err, status, "%s", reader->path) : SS_OK;
}

const struct ss_trace_summary *ss_trace_reader_summary(const struct ss_trace_reader *reader)
{
    return &reader->summary;
}

void ss_trace_reader_close(struct ss_trace_reader *reader)
{
    if (reader != NULL) {
        ss_decoder_fini(&reader->decoder);
        ss_scan_close(&reader->scan);
        ss_free(reader->path);
        ss_free(reader);
    }
}
