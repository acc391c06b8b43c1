/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of one process, the test itself, for what writes events to the trace: a context to
 * write with, and afterwards what the file has, a line of text for each event and counter value in
 * the order of the file:
 *
 *     +TIME TRACK begin NAME (CATEGORY) = PAYLOAD field=VALUE …
 *     +TIME TRACK end
 *     +TIME TRACK: VALUE UNIT
 *     +TIME line FUNCTION:LINE × HITS, NS ns
 *     [NOTE] VALUE TEXT, of notes with a value or of facts
 *
 * TRACK is "GROUP/NAME" below a group. Times are in ns since STORY_BASE_NS.
 */
#ifndef SS_TESTS_RECORDED_STORY_H
#define SS_TESTS_RECORDED_STORY_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "record/processes/context.h"
#include "record/processes/recorded_process.h"
#include "record/tracks/annotation_tracks.h"
#include "trace/event_fields.h"
#include "trace/reader.h"

#define STORY_BASE_NS UINT64_C(5000000000000)

enum { STORY_BYTES = 1 << 16, STORY_MOST = 512, STORY_TEXT = 96 };

struct recorded_story {
    struct ss_record_options options;
    struct ss_record_context context;
    struct ss_recorded_process *process;
    struct ss_annotation_tracks *tracks;
    struct manual_clock clock;
    char path[64];
    /* What was read. */
    char text[STORY_BYTES];
    size_t used;
    char track_names[STORY_MOST][2 * STORY_TEXT], units[STORY_MOST][STORY_TEXT];
    char names[STORY_MOST][2 * STORY_TEXT];
    struct ss_trace_device devices[8];
    size_t device_count, stream_count, group_count;
    struct ss_trace_stream streams[8];
    struct ss_trace_group groups[8];
    enum ss_process_role role;
    uint64_t flows[16];                /* their ids, in the order in which they appear */
    char thread_names[4 * STORY_TEXT]; /* "TID NAME;" of each */
    char group_names[8][STORY_TEXT], device_uuids[8][48], device_models[8][STORY_TEXT];
};

static inline void story_begin(struct recorded_story *story)
{
    static char *program[] = {(char *)"program", NULL};
    struct ss_recording_hooks hooks = {0};
    struct ss_error err = {0};
    memset(story, 0, sizeof *story);
    snprintf(story->path, sizeof story->path, "/tmp/stepscope-test-XXXXXX");
    int fd = mkstemp(story->path);
    assert_true(fd >= 0);
    close(fd);
    manual_clock_init(&story->clock, STORY_BASE_NS);
    story->options = (struct ss_record_options){.program = program,
                                                .path = story->path,
                                                .output = story->path,
                                                .keep_fd = -1,
                                                .rate_hz = 100,
                                                .clock = &story->clock.clock};
    struct ss_record_context *context = &story->context;
    context->clock = &story->clock.clock;
    context->next_thread_ref = 1;
    if (ss_recording_open(&story->options, &hooks, &context->recording, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    context->frames = ss_frame_table_new(context->recording);
    ss_event_names_init(&context->names);
    context->python_source_ref = ss_recording_new_source(context->recording);
    context->annotations_source_ref = ss_recording_new_source(context->recording);
    story->process = ss_recorded_process_new(context, 1, 0, getpid(), STORY_BASE_NS);
    ss_recorded_process_define(story->process);
    story->tracks = ss_annotation_tracks_new(context, story->process);
}

__attribute__((format(printf, 2, 3))) static inline void story_say(struct recorded_story *story,
                                                                   const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(story->text + story->used, STORY_BYTES - story->used, format, list);
    va_end(list);
    assert_true(length >= 0 && (size_t)length < STORY_BYTES - story->used);
    story->used += (size_t)length;
}

static inline void story_value(struct recorded_story *story, const struct ss_trace_value *value)
{
    switch (value->type) {
    case SS_VALUE_INT:
        story_say(story, "%" PRId64, value->integer);
        break;
    case SS_VALUE_UINT:
        story_say(story, "%" PRIu64, value->natural);
        break;
    case SS_VALUE_REAL:
        story_say(story, "%g", value->real);
        break;
    case SS_VALUE_TEXT:
        story_say(story, "%.*s", (int)value->text.length, value->text.data);
        break;
    case SS_VALUE_NONE:
        break;
    }
}

static inline enum ss_status story_on_track(void *context, const struct ss_trace_track *track)
{
    struct recorded_story *story = context;
    assert_true(track->ref < STORY_MOST && track->parent_ref < STORY_MOST);
    snprintf(story->track_names[track->ref], sizeof story->track_names[0], "%.*s%s%.*s",
             STORY_TEXT - 2, track->parent_ref != 0 ? story->track_names[track->parent_ref] : "",
             track->parent_ref != 0 ? "/" : "", (int)track->name.length, track->name.data);
    snprintf(story->units[track->ref], STORY_TEXT, "%.*s", (int)track->unit.length,
             track->unit.data);
    return SS_OK;
}

static inline enum ss_status story_on_name(void *context, const struct ss_trace_name *name)
{
    struct recorded_story *story = context;
    assert_true(name->ref < STORY_MOST);
    snprintf(story->names[name->ref], sizeof story->names[0], "%.*s (%.*s)", (int)name->text.length,
             name->text.data, (int)name->category.length, name->category.data);
    return SS_OK;
}

/* Ids are random: the first one is 1. */
static inline int story_flow(struct recorded_story *story, uint64_t id)
{
    int at = 0;
    while (story->flows[at] != 0 && story->flows[at] != id) {
        at++;
        assert_true(at < 16);
    }
    story->flows[at] = id;
    return at + 1;
}

static inline enum ss_status story_on_event(void *context, const struct ss_trace_event *event)
{
    static const char *const kinds[] = {"begin", "end", "instant"};
    struct recorded_story *story = context;
    story_say(story, "+%" PRIu64 " %s %s", event->time_ns - STORY_BASE_NS,
              story->track_names[event->track_ref], kinds[event->kind]);
    if (event->name_ref != 0) {
        story_say(story, " %s", story->names[event->name_ref]);
    }
    if (event->payload.type != SS_VALUE_NONE) {
        story_say(story, " = ");
        story_value(story, &event->payload);
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        story_say(story, " %s=", ss_event_fields[event->fields[i].field].name);
        story_value(story, &event->fields[i].value);
    }
    story_say(story, "%s", event->flags != 0 ? " unseen" : "");
    if (event->flow != SS_FLOW_NONE) {
        story_say(story, event->flow == SS_FLOW_END ? " flow-end %d" : " flow %d",
                  story_flow(story, event->flow_id));
    }
    story_say(story, "\n");
    return SS_OK;
}

static inline enum ss_status story_on_line(void *context, const struct ss_trace_line *line)
{
    struct recorded_story *story = context;
    story_say(story, "+%" PRIu64 " line %s:%" PRIu32 " × %" PRIu64 ", %" PRIu64 " ns\n",
              line->time_ns - STORY_BASE_NS, story->names[line->name_ref], line->line, line->hits,
              line->total_ns);
    return SS_OK;
}

static inline enum ss_status story_on_process(void *context, const struct ss_trace_process *process)
{
    struct recorded_story *story = context;
    story->role = process->role;
    return SS_OK;
}

static inline enum ss_status story_on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct recorded_story *story = context;
    size_t used = strlen(story->thread_names);
    snprintf(story->thread_names + used, sizeof story->thread_names - used, "%d %.*s;", thread->tid,
             (int)thread->name.length, thread->name.data);
    return SS_OK;
}

static inline enum ss_status story_on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct recorded_story *story = context;
    story_say(story, "+%" PRIu64 " %s: ", counter->time_ns - STORY_BASE_NS,
              story->track_names[counter->track_ref]);
    if (counter->is_integer) {
        story_say(story, "%" PRId64, counter->integer);
    } else {
        story_say(story, "%g", counter->real);
    }
    story_say(story, "%s%s\n", story->units[counter->track_ref][0] != '\0' ? " " : "",
              story->units[counter->track_ref]);
    return SS_OK;
}

static inline enum ss_status story_on_device(void *context, const struct ss_trace_device *device)
{
    struct recorded_story *story = context;
    assert_true(story->device_count < 8);
    size_t at = story->device_count++;
    story->devices[at] = *device;
    snprintf(story->device_uuids[at], 48, "%.*s", (int)device->uuid.length, device->uuid.data);
    snprintf(story->device_models[at], STORY_TEXT, "%.*s", (int)device->model.length,
             device->model.data);
    return SS_OK;
}

static inline enum ss_status story_on_stream(void *context, const struct ss_trace_stream *stream)
{
    struct recorded_story *story = context;
    assert_true(story->stream_count < 8);
    story->streams[story->stream_count++] = *stream;
    return SS_OK;
}

static inline enum ss_status story_on_group(void *context, const struct ss_trace_group *group)
{
    struct recorded_story *story = context;
    assert_true(story->group_count < 8);
    story->groups[story->group_count] = *group;
    snprintf(story->group_names[story->group_count++], STORY_TEXT, "%.*s", (int)group->name.length,
             group->name.data);
    return SS_OK;
}

static inline enum ss_status story_on_note(void *context, const struct ss_trace_note *note)
{
    bool has_text = ss_strview_equal(note->kind, ss_strview_of("fact")) ||
                    ss_strview_equal(note->kind, ss_strview_of("schedule"));
    if (note->value != 0 || has_text) {
        story_say(context, "[%.*s] %" PRId64 "%s%.*s\n", (int)note->kind.length, note->kind.data,
                  note->value, has_text ? " " : "", has_text ? (int)note->text.length : 0,
                  note->text.data);
    }
    return SS_OK;
}

static inline void story_close(struct recorded_story *story)
{
    struct ss_error err = {0};
    ss_annotation_tracks_free(story->tracks);
    ss_recorded_process_free(story->process, story->clock.now.monotonic_ns);
    assert_int_equal(story->context.error.status, SS_OK);
    ss_recording_finish(story->context.recording);
    if (ss_recording_close(story->context.recording, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    ss_frame_table_free(story->context.frames);
    ss_event_names_fini(&story->context.names);
}

/* Ends the recording, and reads it. */
static inline void story_end(struct recorded_story *story)
{
    static const struct ss_trace_visitor visitor = {.track = story_on_track,
                                                    .name = story_on_name,
                                                    .event = story_on_event,
                                                    .counter = story_on_counter,
                                                    .device = story_on_device,
                                                    .stream = story_on_stream,
                                                    .group = story_on_group,
                                                    .line = story_on_line,
                                                    .process = story_on_process,
                                                    .thread = story_on_thread,
                                                    .note = story_on_note};
    struct ss_error err = {0};
    struct ss_trace_summary summary;
    story_close(story);
    if (ss_trace_read(story->path, &visitor, story, &summary, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    unlink(story->path);
}

static inline void story_has(const struct recorded_story *story, const char *part)
{
    if (strstr(story->text, part) == NULL) {
        fail_msg("not in the recording: %s\n%s", part, story->text);
    }
}

static inline void story_lacks(const struct recorded_story *story, const char *part)
{
    if (strstr(story->text, part) != NULL) {
        fail_msg("in the recording: %s\n%s", part, story->text);
    }
}

#endif
