/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracks/torch_profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/log.h"
#include "base/shared_names.h"
#include "record/processes/context.h"
#include "record/tracks/torch_details.h"
#include "source/torch_profile.h"
#include "trace/event_fields.h"

enum { PATH_BYTES = 400, MOST_LANES = 4096 };

/* --- files ------------------------------------------------------------------------------------ */

void ss_torch_files_init(struct ss_torch_files *files, struct ss_torch_profiles *profiles,
                         struct ss_annotation_tracks *tracks, struct ss_recorded_process *process,
                         const char *ring_path)
{
    size_t length = strlen(ring_path), suffix = sizeof SS_RING_FILE_SUFFIX - 1;
    *files = (struct ss_torch_files){.profiles = profiles, .tracks = tracks, .process = process};
    if (length > suffix && length - suffix < sizeof files->stem) {
        memcpy(files->stem, ring_path, length - suffix);
    }
}

void ss_torch_files_fini(struct ss_torch_files *files)
{
    ss_vec_fini(&files->lanes);
    ss_vec_fini(&files->devices);
    *files = (struct ss_torch_files){0};
}

/* NULL with SS_OK: no such file. Copies it, because the program may change it meanwhile. */
static enum ss_status read_file(const char *path, uint8_t **data, size_t *size,
                                struct ss_error *err)
{
    struct stat info;
    *data = NULL;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? SS_OK : ss_fail_errno(err, errno, "cannot open %s", path);
    }
    enum ss_status status = SS_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size > SS_TORCH_PROFILE_MAX_BYTES) {
        status = ss_fail(err, SS_E_FORMAT, "%s is not a file of at most %d MiB", path,
                         SS_TORCH_PROFILE_MAX_BYTES >> 20);
    } else {
        *data = ss_alloc((size_t)info.st_size + 1);
        ssize_t got = 0;
        for (*size = 0; *size < (size_t)info.st_size; *size += (size_t)got) {
            got = read(fd, *data + *size, (size_t)info.st_size - *size);
            if (got <= 0) {
                break;
            }
        }
    }
    close(fd);
    return status;
}

/* --- events ----------------------------------------------------------------------------------- */

/* The device as an entity of the recording, of which torch.profiler says no more than its number,
 * and the group of its streams. */
static struct ss_torch_device put_device(struct ss_torch_files *files, int64_t number)
{
    struct ss_record_context *context = files->profiles->context;
    struct ss_error err = {0};
    char name[32];
    bool is_number = number >= 0 && number < UINT32_MAX;
    struct ss_trace_device device = {.ref = ++context->device_refs,
                                     .kind = SS_DEVICE_GPU,
                                     .number = is_number ? (uint32_t)number + 1 : 0};
    ss_record_context_check(context, ss_recording_device(context->recording, &device, &err), &err);
    snprintf(name, sizeof name, "GPU %" PRId64, number);
    struct ss_trace_track group = {.kind = SS_TRACK_GROUP,
                                   .process_ref = ss_recorded_process_ref(files->process),
                                   .device_ref = device.ref,
                                   .name = ss_strview_of(name)};
    return (struct ss_torch_device){number, device.ref,
                                    ss_annotation_tracks_put_track(files->tracks, &group)};
}

static const struct ss_torch_device *device_of(struct ss_torch_files *files, int64_t number)
{
    for (size_t i = 0; i < files->devices.count; i++) {
        if (files->devices.data[i].number == number) {
            return &files->devices.data[i];
        }
    }
    ss_vec_push(&files->devices, put_device(files, number));
    return &files->devices.data[files->devices.count - 1];
}

static uint32_t make_stream_track(struct ss_torch_files *files, const struct ss_torch_range *range)
{
    struct ss_record_context *context = files->profiles->context;
    const struct ss_torch_device *device = device_of(files, range->device);
    struct ss_error err = {0};
    char name[32];
    struct ss_trace_stream stream = {.ref = ++context->stream_refs,
                                     .device_ref = device->ref,
                                     .number = range->lane >= 0 ? (uint64_t)range->lane : 0};
    ss_record_context_check(context, ss_recording_stream(context->recording, &stream, &err), &err);
    snprintf(name, sizeof name, "stream %" PRId64, range->lane);
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(files->process),
                                   .device_ref = device->ref,
                                   .stream_ref = stream.ref,
                                   .parent_ref = device->group_ref,
                                   .name = ss_strview_of(name)};
    return ss_annotation_tracks_put_track(files->tracks, &track);
}

static uint32_t make_thread_track(struct ss_torch_files *files, const struct ss_torch_range *range)
{
    struct ss_trace_track track = {
        .kind = SS_TRACK_RANGES,
        .process_ref = ss_recorded_process_ref(files->process),
        .thread_ref = ss_recorded_process_thread(files->process, (int32_t)range->lane),
        .name = ss_strview_of(files->is_instead ? ss_domain_torch : ss_domain_torch_profiler)};
    return ss_annotation_tracks_put_track(files->tracks, &track);
}

/* 0: too many tracks, or not a thread id. */
static uint32_t track_of(struct ss_torch_files *files, const struct ss_torch_range *range)
{
    bool is_device = ss_torch_range_is_on_device(range);
    int64_t device = is_device ? range->device : 0;
    for (size_t i = files->lanes.count; i > 0; i--) {
        const struct ss_torch_lane *lane = &files->lanes.data[i - 1];
        if (lane->is_device == is_device && lane->device == device && lane->lane == range->lane) {
            return lane->track_ref;
        }
    }
    bool is_thread = range->lane > 0 && range->lane <= INT32_MAX;
    if (files->lanes.count >= MOST_LANES || (!is_device && !is_thread)) {
        return 0;
    }
    uint32_t ref = is_device ? make_stream_track(files, range) : make_thread_track(files, range);
    ss_vec_push(&files->lanes, (struct ss_torch_lane){is_device, device, range->lane, ref});
    return ref;
}

struct name {
    uint32_t ref; /* 0: not defined yet */
    enum ss_event_type type;
    struct ss_strview text;
};

struct writing {
    struct ss_torch_files *files;
    const struct ss_torch_profile *profile;
    struct ss_route route;
    uint64_t now_ns;
    uint32_t track;
    struct ss_vec_of(uint64_t) ends;  /* of the open ranges of the track */
    struct ss_torch_details *details; /* by text */
    struct name *names;               /* by text and kind */
};

static void write_event(struct writing *writing, const struct ss_trace_event *event)
{
    struct ss_record_context *context = writing->files->profiles->context;
    struct ss_error err = {0};
    ss_record_context_check(
        context, ss_recording_event(context->recording, writing->route, event, &err), &err);
}

/* Ends the ranges that are over at `time_ns`. */
static void write_ends(struct writing *writing, uint64_t time_ns)
{
    while (writing->ends.count > 0) {
        uint64_t end_ns = writing->ends.data[writing->ends.count - 1];
        if (end_ns > time_ns) {
            return;
        }
        struct ss_trace_event end = {
            .time_ns = end_ns, .track_ref = writing->track, .kind = SS_EVENT_END};
        write_event(writing, &end);
        writing->ends.count--;
    }
}

static enum ss_event_type type_of(enum ss_torch_kind kind, struct ss_strview name)
{
    switch (kind) {
    case SS_TORCH_OPERATOR:
    case SS_TORCH_BACKWARD:
        return SS_EVENT_TYPE_operator;
    case SS_TORCH_SCOPE:
        return ss_collective_scope(name) ? SS_EVENT_TYPE_collective : SS_EVENT_TYPE_NONE;
    case SS_TORCH_RUNTIME:
        return ss_device_call_type(name);
    case SS_TORCH_DEVICE:
        return ss_device_work_type(name);
    default:
        return SS_EVENT_TYPE_NONE;
    }
}

static struct name name_of(struct writing *writing, const struct ss_torch_range *range)
{
    static const char *const categories[SS_TORCH_KINDS] = {
        "operator", "backward", "scope", "runtime", "", "", "scope"};
    struct name name = {.text = ss_torch_profile_text(writing->profile, range->name)};
    struct name *known =
        name.text.length > 0
            ? &writing->names[(size_t)range->name * SS_TORCH_KINDS + (size_t)range->kind]
            : NULL;
    if (known != NULL && known->ref != 0) {
        return *known;
    }
    name.text = name.text.length > 0 ? name.text : ss_strview_of("<unknown>");
    name.type = type_of(range->kind, name.text);
    name.ref = ss_annotation_tracks_put_name(writing->files->tracks, name.text,
                                             ss_strview_of(categories[range->kind]), name.type);
    if (known != NULL) {
        *known = name;
    }
    return name;
}

static const struct ss_torch_details *details_of(struct writing *writing, int64_t text)
{
    bool is_text = text > 0 && text <= writing->profile->head.texts;
    struct ss_torch_details *details = &writing->details[is_text ? text : 0];
    if (!details->is_read) {
        ss_torch_details_read(details, is_text ? ss_torch_profile_text(writing->profile, text)
                                               : (struct ss_strview){"", 0});
    }
    return details;
}

static uint64_t within(uint64_t time_ns, uint64_t now_ns)
{
    return time_ns < now_ns ? time_ns : now_ns;
}

/* The group of a collective on a device. */
static uint32_t add_group(struct writing *writing, const struct ss_torch_details *details,
                          struct ss_event_value *fields, uint32_t count)
{
    struct ss_trace_group group = {.kind = SS_GROUP_NCCL};
    group.name = ss_torch_details_group(details, &group.size);
    if (group.name.length > 0 && count < SS_MAX_EVENT_FIELDS) {
        uint64_t ref = ss_annotation_tracks_put_group(writing->files->tracks, &group);
        fields[count++] =
            (struct ss_event_value){SS_EVENT_FIELD_group, {SS_VALUE_UINT, {.natural = ref}}};
    }
    return count;
}

static bool write_range(struct writing *writing, const struct ss_torch_range *range)
{
    uint32_t track = track_of(writing->files, range);
    if (track != writing->track) {
        write_ends(writing, UINT64_MAX);
        writing->track = track;
    }
    if (track == 0) {
        return false;
    }
    uint64_t begin_ns = within(range->begin_ns, writing->now_ns);
    write_ends(writing, begin_ns);
    struct name name = name_of(writing, range);
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    struct ss_trace_event begin = {.time_ns = begin_ns,
                                   .track_ref = track,
                                   .name_ref = name.ref,
                                   .kind = SS_EVENT_BEGIN,
                                   .fields = fields};
    const struct ss_torch_details *details = details_of(writing, range->details);
    begin.field_count = ss_torch_details_fields(details, range, name.type, name.text, fields);
    if (range->kind == SS_TORCH_DEVICE) {
        begin.field_count = add_group(writing, details, fields, begin.field_count);
    }
    if (writing->files->is_instead && range->sequence >= 0) {
        begin.payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = range->sequence}};
    }
    write_event(writing, &begin);
    ss_vec_push(&writing->ends, within(range->end_ns, writing->now_ns));
    return true;
}

static struct ss_route aim_of(const struct ss_torch_files *files,
                              const struct ss_torch_profile *profile)
{
    int64_t window = profile->head.window;
    return (struct ss_route){.process_ref = ss_recorded_process_ref(files->process),
                             .window = window > 0 && window <= INT32_MAX ? (uint32_t)window : 0};
}

static uint64_t write_ranges(struct ss_torch_files *files, const struct ss_torch_profile *profile,
                             uint64_t now_ns)
{
    struct ss_torch_ranges ranges;
    struct writing writing = {
        .files = files,
        .profile = profile,
        .now_ns = now_ns,
        .route = aim_of(files, profile),
        .details = ss_alloc_zero((size_t)profile->head.texts + 1, sizeof *writing.details),
        .names = ss_alloc_zero(((size_t)profile->head.texts + 1) * SS_TORCH_KINDS,
                               sizeof *writing.names)};
    uint64_t written = 0;
    ss_torch_ranges_init(&ranges, profile);
    for (size_t i = 0; i < ranges.count; i++) {
        written += write_range(&writing, &ranges.data[i]);
    }
    write_ends(&writing, UINT64_MAX);
    ss_torch_ranges_fini(&ranges);
    for (int64_t i = 0; i <= profile->head.texts; i++) {
        ss_torch_details_fini(&writing.details[i]);
    }
    ss_vec_fini(&writing.ends);
    ss_free(writing.details);
    ss_free(writing.names);
    return written;
}

/* The extent of the window, for work of devices: only it is known. */
static void count_recorded(struct ss_torch_files *files, const struct ss_torch_profile *profile,
                           uint64_t now_ns)
{
    struct ss_record_context *context = files->profiles->context;
    uint32_t process_ref = ss_recorded_process_ref(files->process);
    const struct ss_torch_profile_head *head = &profile->head;
    const uint64_t times_ns[] = {ss_torch_profile_monotonic(profile, head->real_end_ns),
                                 ss_torch_profile_monotonic(profile, head->real_begin_ns)};
    if (files->recorded_track == 0) {
        struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                       .process_ref = process_ref,
                                       .name = ss_strview_of(ss_counter_device_work_recorded)};
        files->recorded_track = ss_annotation_tracks_put_track(files->tracks, &track);
    }
    for (int64_t value = 1; value >= 0; value--) {
        struct ss_trace_counter counter = {.time_ns = within(times_ns[value], now_ns),
                                           .track_ref = files->recorded_track,
                                           .is_integer = true,
                                           .integer = value};
        struct ss_error err = {0};
        ss_record_context_check(
            context,
            ss_recording_counter(context->recording, aim_of(files, profile), &counter, &err), &err);
    }
}

/* --- windows ---------------------------------------------------------------------------------- */

static void note(struct ss_torch_files *files, const char *text, uint64_t now_ns)
{
    struct ss_record_context *context = files->profiles->context;
    struct ss_trace_note record = {.time_ns = now_ns,
                                   .process_ref = ss_recorded_process_ref(files->process),
                                   .kind = ss_strview_of("fact"),
                                   .text = ss_strview_of(text)};
    struct ss_route route = {.process_ref = record.process_ref};
    struct ss_error err = {0};
    ss_record_context_check(context, ss_recording_note(context->recording, route, &record, &err),
                            &err);
}

static void count_window(struct ss_torch_profiles *profiles,
                         const struct ss_torch_profile_head *head, uint64_t steps, uint64_t events)
{
    uint64_t pause_ns = head->pause_ns > 0 ? (uint64_t)head->pause_ns : 0;
    profiles->windows++;
    profiles->steps += steps;
    profiles->events += events;
    profiles->left_out += head->left_out > 0 ? (uint64_t)head->left_out : 0;
    profiles->longest_pause_ns =
        pause_ns > profiles->longest_pause_ns ? pause_ns : profiles->longest_pause_ns;
}

static void write_profile(struct ss_torch_files *files, const struct ss_torch_profile *profile,
                          uint64_t now_ns)
{
    char text[512];
    const struct ss_torch_profile_head *head = &profile->head;
    struct ss_torch_profiles *profiles = files->profiles;
    struct ss_strview reason = ss_torch_profile_text(profile, head->reason);
    struct ss_strview details = ss_torch_profile_text(profile, head->details);
    uint64_t steps = head->last_step >= head->first_step && head->first_step >= 0
                         ? (uint64_t)(head->last_step - head->first_step) + 1
                         : 0;
    bool is_empty = head->events == 0;
    if (reason.length > 0) {
        snprintf(profiles->problem, sizeof profiles->problem, "%s%.*s",
                 is_empty ? "" : "ended before its last step: ", (int)reason.length, reason.data);
    }
    if (is_empty) {
        snprintf(text, sizeof text, "torch.profiler = did not run: %.*s", (int)reason.length,
                 reason.data);
        note(files, text, now_ns);
        return;
    }
    files->is_instead = head->is_instead != 0;
    uint64_t events = write_ranges(files, profile, now_ns);
    if (files->devices.count > 0) {
        count_recorded(files, profile, now_ns);
    }
    count_window(profiles, head, steps, events);
    snprintf(text, sizeof text,
             "torch.profiler = steps %" PRId64 " to %" PRId64 "%s%.*s%s, %" PRIu64
             " events, %.1f ms pause%s%.*s",
             head->first_step, head->last_step, details.length > 0 ? ", with " : "",
             (int)details.length, details.data,
             head->is_instead != 0 ? ", because operators cannot be recorded" : "", events,
             (double)head->pause_ns / 1e6, reason.length > 0 ? ", not all: " : "",
             (int)reason.length, reason.data);
    note(files, text, now_ns);
    profiles->changed(profiles);
}

void ss_torch_files_collect(struct ss_torch_files *files, uint64_t now_ns)
{
    struct ss_torch_profile profile;
    struct ss_error err = {0};
    char path[PATH_BYTES];
    uint8_t *data = NULL;
    size_t size = 0;
    while (files->stem[0] != '\0') {
        snprintf(path, sizeof path, "%s.%u" SS_RING_TORCH_SUFFIX, files->stem, files->next);
        enum ss_status status = read_file(path, &data, &size, &err);
        if (status == SS_OK && data == NULL) {
            return;
        }
        /* Out of descriptors: faccessat still finds the file. */
        if (status != SS_OK && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            return;
        }
        if (status == SS_OK) {
            status = ss_torch_profile_read(data, size, &profile, &err);
        }
        if (status == SS_OK) {
            write_profile(files, &profile, now_ns);
            ss_torch_profile_fini(&profile);
        } else {
            ss_log(SS_INFO, "record", "%s", err.message);
            snprintf(files->profiles->problem, sizeof files->profiles->problem, "%.250s",
                     err.message);
        }
        ss_free(data);
        data = NULL;
        files->next++;
        if (unlink(path) != 0) {
            return; /* a file that stays would be found for ever */
        }
    }
}
