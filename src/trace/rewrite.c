/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "trace/event_fields.h"
#include "trace/output.h"
#include "trace/ticks.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

enum { MAX_DAMAGE_NOTES = 100 };

struct rewrite {
    struct ss_trace_writer *writer;
    struct ss_error *err;
    bool split_weights;
    int64_t shift_ns;                /* added to all times */
    struct ss_newest_samples newest; /* split_weights */
    uint64_t newest_ns;
    bool gap; /* damage since the last record: the next record needs a restart point */
    bool has_records;
    unsigned damage_count;
};

/* Damage needs a restart point only if another record follows. */
static enum ss_status before_record(struct rewrite *rewrite)
{
    if (rewrite->gap) {
        rewrite->gap = false;
        SS_TRY(ss_trace_writer_gap(rewrite->writer, rewrite->err));
    }
    rewrite->has_records = true;
    return SS_OK;
}

static uint64_t shifted(const struct rewrite *rewrite, uint64_t time_ns)
{
    return ss_clock_shifted(time_ns, rewrite->shift_ns);
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct rewrite *rewrite = context;
    return ss_trace_writer_attribute(rewrite->writer, attribute, rewrite->err);
}

static void shift_times(const struct rewrite *rewrite, enum ss_schema_id id, void *record)
{
    uint32_t at = 0;
    for (uint64_t *time_ns; (time_ns = ss_schema_next_time(id, record, &at)) != NULL;) {
        *time_ns = shifted(rewrite, *time_ns);
    }
}

static void is_newest(struct rewrite *rewrite, uint64_t time_ns)
{
    rewrite->newest_ns = time_ns > rewrite->newest_ns ? time_ns : rewrite->newest_ns;
}

#define DEFINITION(name)                                                                           \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct rewrite *rewrite = context;                                                         \
        struct ss_trace_##name moved = *record;                                                    \
        shift_times(rewrite, SS_SCHEMA_##name, &moved);                                            \
        return ss_trace_writer_##name(rewrite->writer, &moved, rewrite->err);                      \
    }
#define SS_ENTITY(name, number, when, meaning) DEFINITION(name)
#include "trace/schema.def"
DEFINITION(process)
DEFINITION(thread)
DEFINITION(frame)
DEFINITION(stack)
DEFINITION(track)
DEFINITION(name)
DEFINITION(counts)

#define EACH(name)                                                                                 \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct rewrite *rewrite = context;                                                         \
        struct ss_trace_##name moved = *record;                                                    \
        SS_TRY(before_record(rewrite));                                                            \
        shift_times(rewrite, SS_SCHEMA_##name, &moved);                                            \
        return ss_trace_writer_##name(rewrite->writer, &moved, rewrite->err);                      \
    }
EACH(counter)
EACH(line)
EACH(note)

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct rewrite *rewrite = context;
    struct ss_trace_sample moved = *sample;
    SS_TRY(before_record(rewrite));
    shift_times(rewrite, SS_SCHEMA_sample, &moved);
    is_newest(rewrite, moved.time_ns);
    return rewrite->split_weights
               ? ss_ticks_write(rewrite->writer, &rewrite->newest, &moved, rewrite->err)
               : ss_trace_writer_sample(rewrite->writer, &moved, rewrite->err);
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct rewrite *rewrite = context;
    struct ss_trace_event moved = *event;
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    SS_TRY(before_record(rewrite));
    shift_times(rewrite, SS_SCHEMA_event, &moved);
    for (uint32_t i = 0; i < event->field_count; i++) {
        fields[i] = event->fields[i];
        if (ss_event_fields[fields[i].field].is_time && fields[i].value.natural != 0) {
            fields[i].value.natural = shifted(rewrite, fields[i].value.natural);
        }
        moved.fields = fields;
    }
    is_newest(rewrite, moved.time_ns);
    return ss_trace_writer_event(rewrite->writer, &moved, rewrite->err);
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct rewrite *rewrite = context;
    struct ss_trace_clock moved = *clock;
    SS_TRY(before_record(rewrite));
    moved.monotonic_ns = shifted(rewrite, clock->monotonic_ns);
    moved.boottime_ns = shifted(rewrite, clock->boottime_ns);
    moved.monotonic_raw_ns = shifted(rewrite, clock->monotonic_raw_ns);
    is_newest(rewrite, moved.monotonic_ns);
    return ss_trace_writer_clock(rewrite->writer, &moved, rewrite->err);
}

static enum ss_status on_damage(void *context, const struct ss_trace_damage *damage)
{
    struct rewrite *rewrite = context;
    rewrite->gap = rewrite->has_records;
    if (rewrite->damage_count++ >= MAX_DAMAGE_NOTES) {
        return SS_OK;
    }
    char text[200];
    snprintf(text, sizeof text, "%s; left out by repair from byte %" PRIu64 " on", damage->reason,
             damage->offset);
    struct ss_trace_note note = {.time_ns = rewrite->newest_ns,
                                 .kind = ss_strview_of("file-damage"),
                                 .text = ss_strview_of(text),
                                 .value = (int64_t)damage->length};
    return ss_trace_writer_note(rewrite->writer, &note, rewrite->err);
}

static const struct ss_trace_visitor visitor = {.attribute = on_attribute,
#define SS_ENTITY(name, number, when, meaning) .name = on_##name,
#include "trace/schema.def"
                                                .process = on_process,
                                                .thread = on_thread,
                                                .frame = on_frame,
                                                .stack = on_stack,
                                                .sample = on_sample,
                                                .track = on_track,
                                                .name = on_name,
                                                .event = on_event,
                                                .counter = on_counter,
                                                .line = on_line,
                                                .counts = on_counts,
                                                .note = on_note,
                                                .clock = on_clock,
                                                .damage = on_damage};

bool ss_trace_is_being_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    bool locked = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return locked;
}

static enum ss_status check_paths(const char *in, const char *out, struct ss_error *err)
{
    struct stat in_status, out_status;
    if (stat(in, &in_status) == 0 && stat(out, &out_status) == 0 &&
        in_status.st_dev == out_status.st_dev && in_status.st_ino == out_status.st_ino) {
        return ss_fail(err, SS_E_USAGE, "%s is the input itself; choose another output", out);
    }
    if (ss_trace_is_being_written(in)) {
        return ss_fail(err, SS_E_BUSY, "%s is still being written; wait until the recording ends",
                       in);
    }
    return SS_OK;
}

/* Keeps an output that is a device. */
static void remove_partial(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        unlink(path);
    }
}

/* --- intact units, copied byte for byte --- */

/* State for the closing unit of a truncated trace. */
struct survey {
    struct ss_trace_clock clock;
    uint64_t newest_ns;
};

static enum ss_status survey_sample(void *context, const struct ss_trace_sample *sample)
{
    struct survey *survey = context;
    survey->newest_ns = sample->time_ns > survey->newest_ns ? sample->time_ns : survey->newest_ns;
    return SS_OK;
}

static enum ss_status survey_clock(void *context, const struct ss_trace_clock *clock)
{
    struct survey *survey = context;
    survey->clock = *clock;
    survey->newest_ns =
        clock->monotonic_ns > survey->newest_ns ? clock->monotonic_ns : survey->newest_ns;
    return SS_OK;
}

static const struct ss_trace_visitor surveyor = {.sample = survey_sample, .clock = survey_clock};
static const struct ss_trace_visitor closer = {.attribute = on_attribute,
#define SS_ENTITY(name, number, when, meaning) .name = on_##name,
#include "trace/schema.def"
                                               .damage = on_damage};

enum { COPY_BYTES = 1024 * 1024 };

/* Passes the first `length` bytes of the file to `consume` in chunks. */
static enum ss_status each_chunk(const char *path, uint64_t length,
                                 enum ss_status (*consume)(void *context, const void *bytes,
                                                           size_t length, struct ss_error *err),
                                 void *context, struct ss_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    char *chunk = ss_alloc(COPY_BYTES);
    enum ss_status status = SS_OK;
    while (length > 0 && status == SS_OK) {
        size_t wanted = length < COPY_BYTES ? (size_t)length : COPY_BYTES;
        ssize_t got = read(fd, chunk, wanted);
        if (got > 0) {
            status = consume(context, chunk, (size_t)got, err);
            length -= (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            status = ss_fail_errno(err, got == 0 ? EIO : errno, "cannot read %s", path);
        }
    }
    ss_free(chunk);
    close(fd);
    return status;
}

static enum ss_status append_to_output(void *context, const void *bytes, size_t length,
                                       struct ss_error *err)
{
    return ss_output_append(context, bytes, length, err);
}

/* `*is_created`: this call created the output; the caller removes it on failure. */
static enum ss_status copy_whole(const char *in, const char *out, uint64_t length, bool *is_created,
                                 struct ss_error *err)
{
    struct ss_output output;
    SS_TRY(ss_output_open(out, false, &output, err));
    *is_created = true;
    enum ss_status status = each_chunk(in, length, append_to_output, &output, err);
    ss_output_close(&output);
    return status;
}

struct splice {
    struct ss_trace_writer *writer;
    uint32_t next_number;
};

static enum ss_status splice_into_writer(void *context, const void *bytes, size_t length,
                                         struct ss_error *err)
{
    const struct splice *splice = context;
    return ss_trace_writer_splice(splice->writer, bytes, length, splice->next_number, err);
}

/* Copies all units unchanged, including content of later versions, and appends one unit that closes
 * the file and notes the damage. */
static enum ss_status close_truncated(const char *in, const char *out, const struct survey *survey,
                                      const struct ss_trace_summary *summary, bool *is_created,
                                      struct ss_error *err)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = out, .replay = true};
    struct rewrite rewrite = {.err = err, .newest_ns = survey->newest_ns};
    SS_TRY(ss_trace_writer_open(&options, &rewrite.writer, err));
    *is_created = true;
    struct splice splice = {rewrite.writer, summary->next_number};
    enum ss_status status = SS_OK;
    if (survey->clock.monotonic_ns != 0) {
        status = ss_trace_writer_clock(rewrite.writer, &survey->clock, err);
    }
    if (status == SS_OK) {
        status = each_chunk(in, summary->whole_bytes, splice_into_writer, &splice, err);
    }
    if (status == SS_OK) {
        status = ss_trace_read(in, &closer, &rewrite, NULL, err);
    }
    enum ss_status closed = ss_trace_writer_close(rewrite.writer, status == SS_OK ? err : NULL);
    return status != SS_OK ? status : closed;
}

static enum ss_status rewrite_file(const char *in, const struct ss_trace_writer_options *options,
                                   struct rewrite rewrite, struct ss_trace_summary *summary,
                                   struct ss_error *err)
{
    SS_TRY(check_paths(in, options->path, err));
    /* Three operations can fail; the innermost error is the cause: first a record that the writer
     * rejects, then a failed write, then the read that stopped because of them. */
    struct ss_error record_error = {0}, read_error = {0}, close_error = {0};
    rewrite.err = &record_error;
    SS_TRY(ss_trace_writer_open(options, &rewrite.writer, err));
    enum ss_status status = ss_trace_read(in, &visitor, &rewrite, summary, &read_error);
    enum ss_status closed = ss_trace_writer_close(rewrite.writer, &close_error);
    ss_vec_fini(&rewrite.newest);
    status = status != SS_OK ? status : closed;
    if (status == SS_OK) {
        return SS_OK;
    }
    remove_partial(options->path);
    const struct ss_error *cause = record_error.status != SS_OK  ? &record_error
                                   : close_error.status != SS_OK ? &close_error
                                                                 : &read_error;
    if (err != NULL) {
        *err = *cause;
    }
    return cause->status;
}

static enum ss_status rewrite_all(const char *in, const char *out, struct ss_trace_summary *summary,
                                  struct ss_error *err)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = out, .replay = true};
    return rewrite_file(in, &options, (struct rewrite){0}, summary, err);
}

enum ss_status ss_trace_repair(const char *in, const char *out, struct ss_trace_summary *summary,
                               struct ss_error *err)
{
    struct survey survey = {0};
    struct ss_trace_summary read;
    SS_TRY(check_paths(in, out, err));
    SS_TRY(ss_trace_read(in, &surveyor, &survey, &read, err));
    if (summary != NULL) {
        *summary = read;
    }
    if (read.units_after_damage > 0 || read.whole_bytes == 0) {
        return rewrite_all(in, out, summary, err);
    }
    bool is_whole = read.sealed && read.damage[0] == '\0';
    bool is_created = false;
    enum ss_status status = is_whole ? copy_whole(in, out, read.file_bytes, &is_created, err)
                                     : close_truncated(in, out, &survey, &read, &is_created, err);
    if (status != SS_OK && is_created) {
        remove_partial(out);
    }
    return status;
}

enum ss_status ss_trace_export_compat(const char *in, const char *out, int64_t shift_ns,
                                      struct ss_error *err)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = out, .replay = true, .totals = true, .perf_samples = true};
    struct rewrite rewrite = {.split_weights = true, .shift_ns = shift_ns};
    return rewrite_file(in, &options, rewrite, NULL, err);
}
