/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge/merge_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "trace/holes.h"
#include "trace/merge.h"
#include "view/output/json_text.h"
#include "view/output/sink.h"

enum {
    TAR_BLOCK = 512,
    TAR_NAME = 100,
    TAR_PREFIX = 155,
    TAR_RECORD = 20 * TAR_BLOCK,
    BUFFER_BYTES = 1 << 18,
    MOST_MANIFEST_BYTES = 64 << 20,
    PRIVATE_MODE = 0600
};
static const char root[] = "run.stepscope/";

/* A file of the archive. */
struct member {
    const struct ss_merge_file *file;
    const struct ss_clock_part *clock;
    char *name;    /* in the archive */
    char *machine; /* unique */
    uint64_t identity;
};
struct members ss_vec_of(struct member);

struct packing {
    struct members members;
    struct ss_sink sink;
    char *buffer;
    struct ss_merge_packed *packed;
};

/* --- names ------------------------------------------------------------------------------------ */

static bool is_name_taken(const struct members *members, const char *name)
{
    for (size_t i = 0; i < members->count; i++) {
        if (strcmp(members->data[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_machine_taken(const struct members *members, const char *machine)
{
    for (size_t i = 0; i < members->count; i++) {
        if (strcmp(members->data[i].machine, machine) == 0) {
            return true;
        }
    }
    return false;
}

/* "run.stepscope/ranks/r00042.pftrace"; a second file of that name is "…/r00042-2.pftrace". */
static char *make_name(const struct members *members, const char *name)
{
    static const char ending[] = ".pftrace";
    bool is_in_run = strncmp(name, "ranks/", 6) == 0 || strncmp(name, "nodes/", 6) == 0;
    size_t length = strlen(name), stem = length;
    if (length > sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0) {
        stem = length - (sizeof ending - 1);
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    for (unsigned i = 1; i == 1 || is_name_taken(members, text.data); i++) {
        ss_strbuf_clear(&text);
        ss_strbuf_append_format(&text, "%s%s%.*s", root, is_in_run ? "" : "ranks/", (int)stem,
                                name);
        if (i > 1) {
            ss_strbuf_append_format(&text, "-%u", i);
        }
        ss_strbuf_append_text(&text, ending);
    }
    char *made = ss_strdup(text.data);
    ss_strbuf_fini(&text);
    return made;
}

/* "rank 3 · node07". */
static char *make_machine(const struct members *members, const struct ss_clock_part *clock)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    for (unsigned i = 1; i == 1 || is_machine_taken(members, text.data); i++) {
        ss_strbuf_clear(&text);
        if (clock->rank >= 0) {
            ss_strbuf_append_format(&text, "rank %" PRId64, clock->rank);
        }
        const char *host = clock->host[0] == '\0' && clock->rank < 0 ? "recording" : clock->host;
        ss_strbuf_append_text(&text, clock->rank >= 0 && host[0] != '\0' ? " \xc2\xb7 " : "");
        ss_strbuf_append_text(&text, host);
        if (i > 1) {
            ss_strbuf_append_format(&text, " (%u)", i);
        }
    }
    char *made = ss_strdup(text.data);
    ss_strbuf_fini(&text);
    return made;
}

static int compare_members(const void *a, const void *b)
{
    return strverscmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static bool is_repeated(const struct members *members, uint64_t identity)
{
    for (size_t i = 0; i < members->count; i++) {
        if (members->data[i].identity == identity) {
            return true;
        }
    }
    return false;
}

/* The axis stays the first; the others are in the order of their names. */
static void collect(struct packing *packing, const struct ss_merge_inputs *inputs,
                    const struct ss_clock_parts *clocks)
{
    struct members *members = &packing->members;
    for (size_t i = 0; i < inputs->files.count; i++) {
        const struct ss_merge_file *file = &inputs->files.data[i];
        uint64_t identity = ss_merge_identity(file->path);
        if (is_repeated(members, identity)) {
            packing->packed->repeated++;
            continue;
        }
        struct member member = {.file = file,
                                .clock = &clocks->rows.data[i],
                                .name = make_name(members, file->name),
                                .machine = make_machine(members, &clocks->rows.data[i]),
                                .identity = identity};
        ss_vec_push(members, member);
    }
    qsort(members->data, members->count, sizeof *members->data, compare_members);
    packing->packed->files = members->count;
}

/* --- manifest --------------------------------------------------------------------------------- */

/* Reference minus clock, as Perfetto wants it: in the middle of the recording, because it has one
 * number for all of it. */
static int64_t offset_of(const struct ss_clock_part *clock, const struct ss_clock_part *reference,
                         struct ss_merge_packed *packed)
{
    size_t count = clock->segments.count;
    uint64_t at_ns = clock->start_ns;
    if (count > 0) {
        uint64_t from_ns = clock->segments.data[0].from_ns;
        uint64_t last_ns = clock->segments.data[count - 1].origin_ns;
        at_ns = (uint64_t)((int64_t)(from_ns + (last_ns - from_ns) / 2) - clock->shift_ns);
        for (size_t i = 0; i < count; i++) {
            double away_ns = clock->segments.data[i].drift * (double)(last_ns - from_ns);
            uint64_t drift_ns = (uint64_t)(away_ns < 0 ? -away_ns : away_ns);
            packed->drift_ns = drift_ns > packed->drift_ns ? drift_ns : packed->drift_ns;
        }
    }
    int64_t to_axis = (int64_t)(ss_clock_part_on_axis(clock, at_ns) - at_ns);
    int64_t of_reference =
        (int64_t)(ss_clock_part_on_axis(reference, reference->start_ns) - reference->start_ns);
    return to_axis - of_reference;
}

static void put_file(struct packing *packing, const struct member *member, struct ss_sink *out)
{
    const struct member *first = &packing->members.data[0];
    ss_sink_text(out, "{\"path\":");
    ss_json_write_plain(out, ss_strview_of(member->name));
    ss_sink_text(out, ",\"machine\":{\"name\":");
    ss_json_write_plain(out, ss_strview_of(member->machine));
    ss_sink_text(out, "}");
    if (member != first && member->clock->is_mapped && first->clock->is_mapped) {
        ss_sink_text(out, ",\"clocks\":{\"clock\":\"MONOTONIC\",\"sync_to\":{\"file\":");
        ss_json_write_plain(out, ss_strview_of(first->name));
        ss_sink_text(out, ",\"clock\":\"MONOTONIC\"},\"offset_ns\":");
        ss_json_write_integer(out, offset_of(member->clock, first->clock, packing->packed));
        ss_sink_text(out, "}");
    }
    ss_sink_text(out, "}");
}

/* What Perfetto reads must come first; the rest is stepscope's: the manifest of the run. */
static enum ss_status make_manifest(struct packing *packing, const char *run, struct ss_sink *out,
                                    struct ss_error *err)
{
    const struct members *members = &packing->members;
    ss_sink_open_memory(out, MOST_MANIFEST_BYTES);
    ss_sink_text(out, "{\"perfetto_manifest\":{\"version\":1,\"trace_time\":{\"clock\":"
                      "\"MONOTONIC\",\"file\":");
    ss_json_write_plain(out, ss_strview_of(members->data[0].name));
    ss_sink_text(out, "},\"files\":[\n");
    for (size_t i = 0; i < members->count; i++) {
        put_file(packing, &members->data[i], out);
        ss_sink_text(out, i + 1 < members->count ? ",\n" : "\n");
    }
    ss_sink_text(out, "]}");
    if (run != NULL) {
        ss_sink_text(out, ",\n\"stepscope_run\":");
        ss_sink_text(out, run);
    }
    ss_sink_text(out, "}\n");
    return ss_sink_failed(out)
               ? ss_fail(err, SS_E_LIMIT, "the manifest of %zu files is too large", members->count)
               : SS_OK;
}

/* --- TAR -------------------------------------------------------------------------------------- */

static void put_octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i > 0; value >>= 3) {
        field[--i] = (char)('0' + (value & 7));
    }
}

/* Base 256 for what octal digits cannot hold, as GNU tar, libarchive and Perfetto read it. */
static void put_size(char field[12], uint64_t bytes)
{
    if (bytes < UINT64_C(1) << 33) {
        put_octal(field, 12, bytes);
        return;
    }
    memset(field, 0, 12);
    field[0] = (char)0x80;
    for (int i = 0; i < 8; i++) {
        field[11 - i] = (char)(bytes >> 8 * i & 0xff);
    }
}

static enum ss_status put_header(struct packing *packing, const char *name, uint64_t bytes,
                                 struct ss_error *err)
{
    char header[TAR_BLOCK] = {0};
    size_t length = strlen(name), cut = 0;
    for (size_t i = 1; length > TAR_NAME && i < length && i <= TAR_PREFIX; i++) {
        cut = name[i] == '/' && length - i - 1 <= TAR_NAME && cut == 0 ? i : cut;
    }
    if (length > TAR_NAME && cut == 0) {
        return ss_fail(err, SS_E_LIMIT,
                       "the name %.80s… is too long for an archive; rename the file", name);
    }
    memcpy(header, name + (cut > 0 ? cut + 1 : 0), length - (cut > 0 ? cut + 1 : 0));
    memcpy(header + 345, name, cut);
    put_octal(header + 100, 8, PRIVATE_MODE);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_size(header + 124, bytes);
    put_octal(header + 136, 12, packing->members.data[0].clock->wall_ns / 1000000000);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++) {
        sum += (unsigned char)header[i];
    }
    snprintf(header + 148, 8, "%06o", sum);
    ss_sink_write(&packing->sink, header, sizeof header);
    return SS_OK;
}

static void pad(struct packing *packing, uint64_t bytes, uint64_t to)
{
    static const char zeros[TAR_BLOCK];
    for (uint64_t left = (to - bytes % to) % to; left > 0;) {
        size_t count = left < sizeof zeros ? (size_t)left : sizeof zeros;
        ss_sink_write(&packing->sink, zeros, count);
        left -= count;
    }
}

static enum ss_status copy_part(struct packing *packing, int fd, const char *path,
                                const struct ss_trace_part *part, struct ss_error *err)
{
    uint64_t at = part->offset, end = part->offset + part->length;
    while (at < end && !ss_sink_failed(&packing->sink)) {
        size_t wanted = end - at < BUFFER_BYTES ? (size_t)(end - at) : BUFFER_BYTES;
        ssize_t got = pread(fd, packing->buffer, wanted, (off_t)at);
        if (got > 0) {
            ss_sink_write(&packing->sink, packing->buffer, (size_t)got);
            at += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            return ss_fail_errno(err, got == 0 ? EIO : errno, "cannot read %s", path);
        }
    }
    return SS_OK;
}

static void count_holes(struct ss_merge_packed *packed, const char *path, uint64_t bytes)
{
    if (bytes > 0) {
        packed->first_with_holes = packed->with_holes == 0 ? path : packed->first_with_holes;
        packed->with_holes++;
        packed->hole_bytes += bytes;
    }
}

/* TAR has holes only in extensions of GNU and of pax, which Perfetto refuses. */
static enum ss_status put_member(struct packing *packing, const struct member *member,
                                 struct ss_error *err)
{
    const char *path = member->file->path;
    struct ss_trace_parts parts;
    SS_TRY(ss_trace_parts_init(&parts, path, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    enum ss_status status = fd >= 0 ? put_header(packing, member->name, parts.bytes, err)
                                    : ss_fail_errno(err, errno, "cannot open %s", path);
    for (size_t i = 0; i < parts.rows.count && status == SS_OK; i++) {
        status = copy_part(packing, fd, path, &parts.rows.data[i], err);
    }
    if (fd >= 0) {
        close(fd);
    }
    pad(packing, parts.bytes, TAR_BLOCK);
    count_holes(packing->packed, path, parts.left_out_bytes);
    ss_trace_parts_fini(&parts);
    return status;
}

static enum ss_status put_archive(struct packing *packing, const struct ss_sink *manifest,
                                  struct ss_error *err)
{
    SS_TRY(put_header(packing, "perfetto_manifest.json", manifest->buffer.length, err));
    ss_sink_write(&packing->sink, manifest->buffer.data, manifest->buffer.length);
    pad(packing, manifest->buffer.length, TAR_BLOCK);
    for (size_t i = 0; i < packing->members.count; i++) {
        SS_TRY(put_member(packing, &packing->members.data[i], err));
    }
    static const char end[2 * TAR_BLOCK];
    ss_sink_write(&packing->sink, end, sizeof end);
    pad(packing, packing->sink.written_bytes, TAR_RECORD);
    return SS_OK;
}

static enum ss_status write_archive(struct packing *packing, const char *output,
                                    const struct ss_sink *manifest, struct ss_error *err)
{
    SS_TRY(ss_sink_open(&packing->sink, output, PRIVATE_MODE, err));
    enum ss_status status = put_archive(packing, manifest, err);
    if (status != SS_OK) {
        ss_sink_abandon(&packing->sink);
        return status;
    }
    return ss_sink_close_sized(&packing->sink, &packing->packed->bytes, err);
}

enum ss_status ss_merge_pack(const struct ss_merge_inputs *inputs,
                             const struct ss_clock_parts *clocks, const char *output,
                             struct ss_merge_packed *packed, struct ss_error *err)
{
    struct packing packing = {.packed = packed, .buffer = ss_alloc(BUFFER_BYTES)};
    struct ss_sink manifest;
    *packed = (struct ss_merge_packed){0};
    collect(&packing, inputs, clocks);
    const char *run = inputs->has_others ? NULL : inputs->manifest;
    enum ss_status status = make_manifest(&packing, run, &manifest, err);
    if (status == SS_OK) {
        status = write_archive(&packing, output, &manifest, err);
    }
    ss_sink_abandon(&manifest);
    for (size_t i = 0; i < packing.members.count; i++) {
        ss_free(packing.members.data[i].name);
        ss_free(packing.members.data[i].machine);
    }
    ss_vec_fini(&packing.members);
    ss_free(packing.buffer);
    return status;
}
