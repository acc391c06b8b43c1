/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace. The first byte chooses: as they are (bit 0 clear), or as the packets of
 * units with right checksums, so that what is behind the checksum is reached too (bit 1: two
 * units, bit 2: the second restarts, bit 3: compressed). Bit 4: written anew as `repair` does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/entities.h"
#include "trace/event_fields.h"
#include "trace/profile.h"
#include "trace/reader.h"
#include "trace/rewrite.h"
#include "trace/unit.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* The promises of reader.h: definitions come before their use, refs are dense. */
struct seen {
    uint32_t processes, threads, frames, stacks, tracks, names;
    uint32_t entities[SS_SCHEMA_COUNT];
    uint64_t samples, events, counters;
    struct ss_trace_writer *writer; /* NULL: do not write anew */
};

static void dense(uint32_t ref, uint32_t *most, const char *what)
{
    check(ref >= 1 && ref <= *most + 1, what);
    *most = ref > *most ? ref : *most;
}

/* Entities: their refs are dense, and they refer to known ones only. */
static void check_entity(struct seen *seen, enum ss_schema_id id, const void *record, size_t size)
{
    union ss_trace_entity copy = {0};
    memcpy(&copy, record, size);
    dense(copy.ref, &seen->entities[id], "refs of entities are dense");
    const struct ss_schema_record *schema = &ss_schema[id];
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (field->type == SS_FIELD_REF) {
            check(*ss_schema_ref(field, &copy) <= seen->entities[field->count],
                  "an entity refers to a known one");
        } else if (field->ref_offset != 0) {
            check(*ss_schema_ref(field, &copy) <= seen->processes, "its process is known");
        }
    }
}

#define SS_ENTITY(name, number, when, meaning)                                                     \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct seen *seen = context;                                                               \
        check_entity(seen, SS_SCHEMA_##name, record, sizeof *record);                              \
        return seen->writer != NULL ? ss_trace_writer_##name(seen->writer, record, NULL) : SS_OK;  \
    }
#include "trace/schema.def"

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct seen *seen = context;
    dense(process->ref, &seen->processes, "process refs are dense");
    check(process->parent_ref <= seen->processes, "a parent process is known");
    check(process->host_ref <= seen->entities[SS_SCHEMA_host], "its host is known");
    check(process->role < SS_PROCESS_ROLE_COUNT, "a process's role is in range");
    return seen->writer != NULL ? ss_trace_writer_process(seen->writer, process, NULL) : SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct seen *seen = context;
    dense(thread->ref, &seen->threads, "thread refs are dense");
    check(thread->process_ref >= 1 && thread->process_ref <= seen->processes,
          "a thread's process is known");
    return seen->writer != NULL ? ss_trace_writer_thread(seen->writer, thread, NULL) : SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct seen *seen = context;
    check(frame->ref == seen->frames + 1, "frame refs are dense");
    check(frame->line >= 0 && frame->first_line >= 0, "lines are not negative");
    check(frame->short_file_offset <= frame->file.length, "the short file is within the file");
    seen->frames++;
    return seen->writer != NULL ? ss_trace_writer_frame(seen->writer, frame, NULL) : SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct seen *seen = context;
    check(stack->ref == seen->stacks + 1 && stack->parent_ref < stack->ref,
          "stack refs are dense, parents come first");
    check(stack->frame_ref >= 1 && stack->frame_ref <= seen->frames, "a stack's frame is known");
    seen->stacks++;
    return seen->writer != NULL ? ss_trace_writer_stack(seen->writer, stack, NULL) : SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct seen *seen = context;
    check(sample->thread_ref >= 1 && sample->thread_ref <= seen->threads &&
              sample->stack_ref <= seen->stacks,
          "a sample's thread and stack are known");
    check(sample->weight >= 1 && sample->state < SS_STATE_COUNT && sample->gil < SS_GIL_COUNT &&
              sample->wait < SS_WAIT_COUNT,
          "a sample's values are in range");
    seen->samples++;
    return seen->writer != NULL ? ss_trace_writer_sample(seen->writer, sample, NULL) : SS_OK;
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct seen *seen = context;
    check(counts->source_ref <= seen->entities[SS_SCHEMA_source] &&
              counts->process_ref <= seen->processes,
          "counts are of known sources and processes");
    return seen->writer != NULL ? ss_trace_writer_counts(seen->writer, counts, NULL) : SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct seen *seen = context;
    check(note->process_ref <= seen->processes, "a note's process is known");
    return seen->writer != NULL ? ss_trace_writer_note(seen->writer, note, NULL) : SS_OK;
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct seen *seen = context;
    return seen->writer != NULL ? ss_trace_writer_attribute(seen->writer, attribute, NULL) : SS_OK;
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct seen *seen = context;
    return seen->writer != NULL ? ss_trace_writer_clock(seen->writer, clock, NULL) : SS_OK;
}

static enum ss_status on_damage(void *context, const struct ss_trace_damage *damage)
{
    struct seen *seen = context;
    check(damage->reason != NULL, "damage has a reason");
    return seen->writer != NULL ? ss_trace_writer_gap(seen->writer, NULL) : SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct seen *seen = context;
    dense(track->ref, &seen->tracks, "track refs are dense");
    check(track->process_ref <= seen->processes && track->thread_ref <= seen->threads &&
              track->device_ref <= seen->entities[SS_SCHEMA_device] &&
              track->stream_ref <= seen->entities[SS_SCHEMA_stream] &&
              track->parent_ref < track->ref,
          "what a track belongs to is known");
    check(track->kind < SS_TRACK_KIND_COUNT && track->counter < SS_COUNTER_KIND_COUNT,
          "a track's values are in range");
    return seen->writer != NULL ? ss_trace_writer_track(seen->writer, track, NULL) : SS_OK;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct seen *seen = context;
    check(name->ref == seen->names + 1, "name refs are dense");
    check(name->type < SS_EVENT_TYPE_COUNT, "a name's kind is in range");
    seen->names++;
    return seen->writer != NULL ? ss_trace_writer_name(seen->writer, name, NULL) : SS_OK;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct seen *seen = context;
    check(event->track_ref >= 1 && event->track_ref <= seen->tracks &&
              event->name_ref <= seen->names && event->kind < SS_EVENT_KIND_COUNT &&
              event->lane <= SS_MAX_LANES,
          "an event's track and name are known");
    check(event->field_count <= SS_MAX_EVENT_FIELDS, "an event has few fields");
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct ss_event_value *field = &event->fields[i];
        check(ss_event_field_fits(field), "a field has its type");
        enum ss_schema_id entity = ss_event_fields[field->field].entity;
        check(entity == SS_SCHEMA_COUNT || field->value.natural <= seen->entities[entity],
              "a field refers to a known entity");
    }
    seen->events++;
    return seen->writer != NULL ? ss_trace_writer_event(seen->writer, event, NULL) : SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct seen *seen = context;
    check(counter->track_ref >= 1 && counter->track_ref <= seen->tracks,
          "a value's track is known");
    seen->counters++;
    return seen->writer != NULL ? ss_trace_writer_counter(seen->writer, counter, NULL) : SS_OK;
}

static enum ss_status on_line(void *context, const struct ss_trace_line *line)
{
    struct seen *seen = context;
    check(line->name_ref >= 1 && line->name_ref <= seen->names && line->line <= INT32_MAX,
          "a line's function is known");
    return seen->writer != NULL ? ss_trace_writer_line(seen->writer, line, NULL) : SS_OK;
}

static void read_it(const uint8_t *data, size_t size, bool rewrite)
{
    static const struct ss_trace_visitor visitor = {.attribute = on_attribute,
#define SS_ENTITY(name, number, when, meaning) .name = on_##name,
#include "trace/schema.def"
                                                    .process = on_process,
                                                    .thread = on_thread,
                                                    .frame = on_frame,
                                                    .stack = on_stack,
                                                    .sample = on_sample,
                                                    .counts = on_counts,
                                                    .note = on_note,
                                                    .clock = on_clock,
                                                    .damage = on_damage,
                                                    .track = on_track,
                                                    .name = on_name,
                                                    .event = on_event,
                                                    .counter = on_counter,
                                                    .line = on_line};
    struct seen seen = {0};
    struct ss_error err = {0};
    if (rewrite) {
        struct ss_trace_writer_options options = {
            .size = sizeof options, .path = "/dev/null", .replay = true, .totals = true};
        check(ss_trace_writer_open(&options, &seen.writer, &err) == SS_OK, "/dev/null opens");
    }
    struct ss_trace_summary summary;
    enum ss_status status = ss_trace_read_memory(data, size, &visitor, &seen, &summary, &err);
    check(status != SS_E_BUG, err.message);
    check(status == SS_OK || err.message[0] != '\0', "an error has a message");
    check(seen.samples == summary.samples, "the summary counts the samples");
    check(seen.events == summary.events && seen.counters == summary.counter_values,
          "the summary counts the events");
    check(summary.read_bytes <= size && summary.lost_bytes <= size, "the summary adds up");
    if (seen.writer != NULL) {
        check(ss_trace_writer_close(seen.writer, &err) == SS_OK, "the writer closes");
    }
}

static void append_unit(struct ss_wire_buffer *file, const uint8_t *plain, size_t length,
                        const struct ss_unit_seal *seal, struct ss_deflater *deflater)
{
    struct ss_unit unit = {0};
    ss_wire_put_raw(&unit.plain, plain, length);
    ss_unit_frame(&unit, seal, deflater);
    ss_wire_put_raw(file, unit.stored.data, unit.stored.length);
    ss_unit_fini(&unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    uint8_t mode = data[0];
    bool rewrite = (mode & 16) != 0;
    if ((mode & 1) == 0) {
        read_it(data + 1, size - 1, rewrite);
        return 0;
    }
    static struct ss_deflater *deflater;
    if (deflater == NULL) {
        deflater = ss_deflater_new();
    }
    struct ss_deflater *with = (mode & 8) != 0 ? deflater : NULL;
    struct ss_wire_buffer file = {0};
    size_t first = (mode & 2) != 0 ? (size - 2) * data[1] / 255 : size - 2;
    struct ss_unit_seal seal = {.period = 1, .restart = true};
    append_unit(&file, data + 2, first, &seal, with);
    if ((mode & 2) != 0) {
        seal = (struct ss_unit_seal){.number = 1,
                                     .period = (mode & 4) != 0 ? 2 : 1,
                                     .restart = (mode & 4) != 0,
                                     .sealed = true};
        append_unit(&file, data + 2 + first, size - 2 - first, &seal, with);
    }
    read_it(file.data, file.length, rewrite);
    ss_wire_fini(&file);
    return 0;
}
