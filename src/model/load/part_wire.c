/* SPDX-License-Identifier: Apache-2.0 */
#include "model/load/part_wire.h"

#include <string.h>

#include "model/core/index.h"
#include "model/core/rows.h"
#include "model/load/part_check.h"
#include "wire/crc32c.h"

enum { VERSION = 1, MOST_TEXT_BYTES = 1 << 20 };

static const char part_magic[] = "SSPART\r\n", request_magic[] = "SSWANT\r\n";

struct header {
    char magic[8];
    uint32_t version, crc;
    uint64_t length;
};

/* --- writing ---------------------------------------------------------------------------------- */

static void begin(struct ss_wire_buffer *out)
{
    const struct header empty = {.version = 0};
    out->length = 0;
    ss_wire_put_raw(out, &empty, sizeof empty);
}

static void end(struct ss_wire_buffer *out, const char *magic)
{
    struct header header = {.version = VERSION, .length = out->length - sizeof header};
    memcpy(header.magic, magic, sizeof header.magic);
    header.crc = ss_crc32c(0, out->data + sizeof header, out->length - sizeof header);
    memcpy(out->data, &header, sizeof header);
}

static void put_text(struct ss_wire_buffer *out, struct ss_strview text)
{
    ss_wire_put_varint(out, text.length);
    ss_wire_put_raw(out, text.data, text.length);
}

static void put_table(const struct ss_model *part, enum ss_rows_id id, struct ss_wire_buffer *out)
{
    const struct ss_rows *rows = &ss_rows[id];
    struct ss_rows_view view = ss_rows_get(part, id);
    ss_wire_put_varint(out, view.count);
    ss_wire_reserve(out, view.count * rows->row_bytes);
    for (size_t i = 0; i < view.count; i++) {
        const char *row = (const char *)view.data + i * rows->row_bytes;
        for (size_t m = 0; m < rows->member_count; m++) {
            ss_wire_put_raw(out, row + rows->members[m].offset, rows->members[m].size);
        }
    }
}

static void put_identities(const struct ss_identities *identities, struct ss_wire_buffer *out)
{
    ss_wire_put_varint(out, identities->rows.count);
    for (size_t i = 0; i < identities->rows.count; i++) {
        const struct ss_identity_row *row = &identities->rows.data[i];
        ss_wire_put_raw(out, row->identity.key, sizeof row->identity.key);
        ss_wire_put_raw(out, &row->id, sizeof row->id);
    }
}

void ss_part_encode(const struct ss_model *part, struct ss_wire_buffer *out)
{
    const struct ss_model_index *index = part->index;
    begin(out);
    ss_wire_put_varint(out, part->filtered_samples);
    ss_wire_put_varint(out, part->unmatched_ends);
    ss_wire_put_varint(out, part->open_ranges);
    ss_wire_put_varint(out, index->total_samples);
    ss_wire_put_varint(out, part->strings.count);
    for (uint32_t i = 1; i < part->strings.count; i++) {
        put_text(out, ss_intern_get(&part->strings, i));
    }
    for (enum ss_rows_id id = 0; id < SS_ROWS_COUNT; id++) {
        put_table(part, id, out);
    }
    put_identities(&index->processes, out);
    put_identities(&index->threads, out);
    put_identities(&index->tracks, out);
    put_identities(&index->names, out);
    ss_wire_put_varint(out, index->step_names.count);
    ss_wire_put_raw(out, index->step_names.data, index->step_names.count * sizeof(uint32_t));
    ss_wire_put_varint(out, index->first_steps.count);
    ss_wire_put_raw(out, index->first_steps.data, index->first_steps.count * sizeof(int64_t));
    end(out, part_magic);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
    struct ss_error *err;
};

static enum ss_status bad(const struct cursor *cursor, const char *what)
{
    return ss_fail(cursor->err, SS_E_FORMAT, "the message of a worker is damaged: %s", what);
}

static enum ss_status open_message(struct cursor *cursor, const void *bytes, size_t length,
                                   const char *magic, struct ss_error *err)
{
    struct header header;
    *cursor = (struct cursor){.err = err};
    if (length < sizeof header) {
        return bad(cursor, "it is too short");
    }
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof header.magic) != 0) {
        return bad(cursor, "it is none");
    }
    if (header.version != VERSION) {
        return ss_fail(err, SS_E_FORMAT,
                       "a worker runs another version of stepscope: start the same on all nodes");
    }
    cursor->at = (const uint8_t *)bytes + sizeof header;
    cursor->end = (const uint8_t *)bytes + length;
    return header.length == length - sizeof header &&
                   ss_crc32c(0, cursor->at, length - sizeof header) == header.crc
               ? SS_OK
               : bad(cursor, "its checksum differs");
}

static enum ss_status get_number(struct cursor *cursor, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return SS_OK;
        }
    }
    return bad(cursor, "a number is cut off");
}

/* A count of items of at least `size` bytes, which are there. */
static enum ss_status get_count(struct cursor *cursor, size_t size, size_t *count)
{
    uint64_t number;
    SS_TRY(get_number(cursor, &number));
    *count = (size_t)number;
    return number <= (uint64_t)(cursor->end - cursor->at) / size && number < UINT32_MAX / 2
               ? SS_OK
               : bad(cursor, "it ends too early");
}

static void get_raw(struct cursor *cursor, void *out, size_t size)
{
    if (size > 0) {
        memcpy(out, cursor->at, size);
        cursor->at += size;
    }
}

static enum ss_status get_text(struct cursor *cursor, struct ss_strview *text)
{
    size_t length;
    SS_TRY(get_count(cursor, 1, &length));
    *text = (struct ss_strview){(const char *)cursor->at, length};
    cursor->at += length;
    return SS_OK;
}

static enum ss_status get_strings(struct cursor *cursor, struct ss_model *part)
{
    uint64_t count;
    SS_TRY(get_number(cursor, &count));
    for (uint64_t i = 1; i < count; i++) {
        struct ss_strview text;
        SS_TRY(get_text(cursor, &text));
        if (ss_intern_put(&part->strings, text.data, text.length) != i) {
            return bad(cursor, "a text comes twice");
        }
    }
    return SS_OK;
}

static size_t wire_bytes(const struct ss_rows *rows)
{
    size_t bytes = 0;
    for (size_t m = 0; m < rows->member_count; m++) {
        bytes += rows->members[m].size;
    }
    return bytes;
}

static enum ss_status get_table(struct cursor *cursor, enum ss_rows_id id, struct ss_model *part)
{
    const struct ss_rows *rows = &ss_rows[id];
    size_t count, before = ss_rows_get(part, id).count;
    SS_TRY(get_count(cursor, wire_bytes(rows), &count));
    if (count < before) {
        return bad(cursor, "a table lacks its first row");
    }
    ss_rows_append(part, id, count - before);
    char *row = ss_rows_get(part, id).data;
    for (size_t i = 0; i < count; i++, row += rows->row_bytes) {
        for (size_t m = 0; m < rows->member_count; m++) {
            get_raw(cursor, row + rows->members[m].offset, rows->members[m].size);
        }
    }
    return SS_OK;
}

static enum ss_status get_identities(struct cursor *cursor, struct ss_identities *identities)
{
    size_t count;
    SS_TRY(get_count(cursor, sizeof(struct ss_identity) + sizeof(uint32_t), &count));
    for (size_t i = 0; i < count; i++) {
        struct ss_identity_row row = {.input = 0};
        get_raw(cursor, row.identity.key, sizeof row.identity.key);
        get_raw(cursor, &row.id, sizeof row.id);
        ss_vec_push(&identities->rows, row); /* nothing is looked up in a part */
    }
    return SS_OK;
}

static enum ss_status get_index(struct cursor *cursor, struct ss_model_index *index)
{
    size_t count;
    SS_TRY(get_identities(cursor, &index->processes));
    SS_TRY(get_identities(cursor, &index->threads));
    SS_TRY(get_identities(cursor, &index->tracks));
    SS_TRY(get_identities(cursor, &index->names));
    SS_TRY(get_count(cursor, sizeof(uint32_t), &count));
    ss_vec_resize(&index->step_names, count);
    get_raw(cursor, index->step_names.data, count * sizeof(uint32_t));
    SS_TRY(get_count(cursor, sizeof(int64_t), &count));
    ss_vec_resize(&index->first_steps, count);
    get_raw(cursor, index->first_steps.data, count * sizeof(int64_t));
    return cursor->at == cursor->end ? SS_OK : bad(cursor, "it is too long");
}

enum ss_status ss_part_decode(const void *bytes, size_t length, struct ss_model *part,
                              struct ss_error *err)
{
    struct cursor cursor;
    ss_model_init(part);
    SS_TRY(open_message(&cursor, bytes, length, part_magic, err));
    SS_TRY(get_number(&cursor, &part->filtered_samples));
    SS_TRY(get_number(&cursor, &part->unmatched_ends));
    SS_TRY(get_number(&cursor, &part->open_ranges));
    SS_TRY(get_number(&cursor, &part->index->total_samples));
    SS_TRY(get_strings(&cursor, part));
    for (enum ss_rows_id id = 0; id < SS_ROWS_COUNT; id++) {
        SS_TRY(get_table(&cursor, id, part));
    }
    SS_TRY(get_index(&cursor, part->index));
    const char *wrong = ss_part_check(part);
    return wrong == NULL ? SS_OK : bad(&cursor, wrong);
}

/* --- requests --------------------------------------------------------------------------------- */

enum {
    KEEP_SAMPLES = 1,
    KEEP_LINES = 2,
    NO_TRACKS = 4,
    SAMPLE_PHASES = 8,
    SAMPLE_RANGES = 16,
    STRICT = 32,
    ONLY_TRACKS = 64
};

void ss_part_request_encode(const struct ss_model_load *load, const struct ss_part_paths *paths,
                            struct ss_wire_buffer *out)
{
    unsigned flags = (load->keep_samples ? KEEP_SAMPLES : 0) | (load->keep_lines ? KEEP_LINES : 0) |
                     (load->no_tracks ? NO_TRACKS : 0) | (load->sample_phases ? SAMPLE_PHASES : 0) |
                     (load->sample_ranges ? SAMPLE_RANGES : 0) | (load->strict ? STRICT : 0) |
                     (load->only_tracks != NULL ? ONLY_TRACKS : 0);
    begin(out);
    ss_wire_put_varint(out, flags);
    ss_wire_put_varint(out, load->only_quantities);
    ss_wire_put_varint(out, load->max_samples);
    ss_wire_put_varint(out, load->max_operators);
    ss_wire_put_varint(out, load->max_memory_bytes);
    ss_wire_put_varint(out, load->machine_bytes);
    for (size_t i = 0; load->only_tracks != NULL && load->only_tracks[i] != NULL; i++) {
        put_text(out, ss_strview_of(load->only_tracks[i]));
    }
    put_text(out, ss_strview_of(""));
    for (size_t i = paths->first; i < paths->count; i += paths->stride) {
        put_text(out, ss_strview_of(paths->paths[i]));
        ss_wire_put_varint(out, paths->is_named[i]);
    }
    end(out, request_magic);
}

static enum ss_status get_tracks(struct cursor *cursor, struct ss_part_request *request)
{
    struct ss_strview text;
    for (;;) {
        SS_TRY(get_text(cursor, &text));
        if (text.length == 0) {
            ss_vec_push(&request->tracks, NULL);
            return SS_OK;
        }
        ss_vec_push(&request->tracks, ss_strndup(text.data, text.length));
    }
}

enum ss_status ss_part_request_decode(const void *bytes, size_t length,
                                      struct ss_part_request *request, struct ss_error *err)
{
    struct cursor cursor;
    uint64_t flags, quantities;
    struct ss_model_load *load = &request->load;
    *request = (struct ss_part_request){.load = {.size = sizeof request->load, .quiet = true}};
    SS_TRY(open_message(&cursor, bytes, length, request_magic, err));
    SS_TRY(get_number(&cursor, &flags));
    SS_TRY(get_number(&cursor, &quantities));
    SS_TRY(get_number(&cursor, &load->max_samples));
    SS_TRY(get_number(&cursor, &load->max_operators));
    SS_TRY(get_number(&cursor, &load->max_memory_bytes));
    SS_TRY(get_number(&cursor, &load->machine_bytes));
    SS_TRY(get_tracks(&cursor, request));
    load->keep_samples = (flags & KEEP_SAMPLES) != 0;
    load->keep_lines = (flags & KEEP_LINES) != 0;
    load->no_tracks = (flags & NO_TRACKS) != 0;
    load->sample_phases = (flags & SAMPLE_PHASES) != 0;
    load->sample_ranges = (flags & SAMPLE_RANGES) != 0;
    load->strict = (flags & STRICT) != 0;
    load->only_quantities = (unsigned)quantities;
    load->only_tracks =
        (flags & ONLY_TRACKS) != 0 ? (const char *const *)request->tracks.data : NULL;
    while (cursor.at < cursor.end) {
        struct ss_strview path;
        uint64_t is_named;
        SS_TRY(get_text(&cursor, &path));
        SS_TRY(get_number(&cursor, &is_named));
        ss_vec_push(&request->paths, ss_strndup(path.data, path.length));
        ss_vec_push(&request->is_named, is_named != 0);
    }
    return SS_OK;
}

void ss_part_request_fini(struct ss_part_request *request)
{
    for (size_t i = 0; i < request->tracks.count; i++) {
        ss_free(request->tracks.data[i]);
    }
    for (size_t i = 0; i < request->paths.count; i++) {
        ss_free(request->paths.data[i]);
    }
    ss_vec_fini(&request->tracks);
    ss_vec_fini(&request->paths);
    ss_vec_fini(&request->is_named);
}
