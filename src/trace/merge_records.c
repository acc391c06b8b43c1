/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the parts, with the refs, numbers and times of the output. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "trace/merge_inside.h"
#include "trace/profile.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t on_axis(struct ss_merge_input *input, uint64_t time_ns)
{
    const struct ss_merge_options *options = input->merge->options;
    return options->on_axis != NULL ? options->on_axis(options->context, input->option, time_ns)
                                    : time_ns;
}

static uint32_t ref_of(const struct ss_merge_input *input, enum ss_schema_id kind, uint32_t ref)
{
    return ss_ref_maps_get(&input->refs, kind, ref);
}

/* Maps the refs of a record but its own to the output's, and its times to the axis. */
static void move(struct ss_merge_input *input, enum ss_schema_id kind, void *record)
{
    uint32_t at = 0;
    ss_ref_maps_move(&input->refs, kind, record);
    for (uint64_t *time_ns; (time_ns = ss_schema_next_time(kind, record, &at)) != NULL;) {
        *time_ns = on_axis(input, *time_ns);
    }
}

static struct ss_wire_buffer *new_key(struct ss_merge *merge)
{
    merge->key.length = 0;
    return &merge->key;
}

static void put_number(struct ss_wire_buffer *key, uint64_t number)
{
    ss_wire_put_varint(key, number);
}

static void put_text(struct ss_wire_buffer *key, struct ss_strview text)
{
    ss_wire_put_varint(key, text.length);
    if (text.length > 0) {
        ss_wire_put_raw(key, text.data, text.length);
    }
}

/* --- processes and threads -------------------------------------------------------------------- */

/* As the identity of a process: its boot, pid namespace, pid and start. Without a boot or a start,
 * a process is only that of its part. */
static uint32_t find_process(struct ss_merge_input *input, const struct ss_trace_process *process)
{
    struct ss_merge *merge = input->merge;
    struct ss_wire_buffer *key = new_key(merge);
    bool is_known = input->boot.length > 0 && process->start_time_ticks != 0;
    put_text(key, input->boot);
    put_number(key, is_known ? 0 : input->number + 1);
    put_number(key, process->pid_namespace);
    put_number(key, (uint32_t)process->pid);
    put_number(key, process->start_time_ticks);
    uint32_t ref = ss_merge_find(input, SS_SCHEMA_process, key);
    if (ref >= merge->pids.count) {
        ss_vec_resize(&merge->pids, (size_t)ref + 1);
        merge->pids.data[ref] =
            (struct ss_merge_pid){process->pid, ss_merge_number(merge, process->pid, ref, 0)};
    }
    return ref;
}

/* "rank 3 · node07" where the parts are of several hosts. */
static struct ss_strview label_of(struct ss_merge_input *input,
                                  const struct ss_trace_process *process)
{
    struct ss_merge *merge = input->merge;
    struct ss_strview label = process->label, host = input->host;
    bool has_host = host.length > 0 && label.length >= host.length &&
                    memmem(label.data, label.length, host.data, host.length) != NULL;
    if (!merge->has_several_hosts || host.length == 0 || has_host) {
        return label;
    }
    struct ss_wire_buffer *text = new_key(merge);
    if (label.length > 0) {
        ss_wire_put_raw(text, label.data, label.length);
        ss_wire_put_raw(text, " \xc2\xb7 ", 4);
    }
    ss_wire_put_raw(text, host.data, host.length);
    return (struct ss_strview){(const char *)text->data, text->length};
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    uint32_t ref = ref_of(input, SS_SCHEMA_process, process->ref);
    if (ref == 0) {
        ref = find_process(input, process);
        ss_ref_maps_put(&input->refs, SS_SCHEMA_process, process->ref, ref);
    }
    struct ss_trace_process moved = *process;
    move(input, SS_SCHEMA_process, &moved);
    uint32_t parent = moved.parent_ref;
    moved.ref = ref;
    moved.parent_ref = parent != ref ? parent : 0;
    moved.pid = merge->pids.data[ref].new;
    moved.parent_pid = parent != 0 ? merge->pids.data[parent].new : process->parent_pid;
    moved.host_ref = moved.host_ref != 0 ? moved.host_ref : input->host_ref;
    moved.label = label_of(input, process);
    return ss_trace_writer_process(merge->writer, &moved, merge->err);
}

/* `thread`: its process is the output's. */
static uint32_t find_thread(struct ss_merge_input *input, const struct ss_trace_thread *thread)
{
    struct ss_merge *merge = input->merge;
    uint32_t process = thread->process_ref;
    struct ss_wire_buffer *key = new_key(merge);
    put_number(key, process);
    put_number(key, (uint32_t)thread->tid);
    uint32_t ref = ss_merge_find(input, SS_SCHEMA_thread, key);
    if (ref >= merge->tids.count) {
        ss_vec_resize(&merge->tids, (size_t)ref + 1);
        const struct ss_merge_pid *pid = &merge->pids.data[process];
        int32_t wanted = thread->tid == pid->recorded ? pid->new : thread->tid;
        merge->tids.data[ref] = ss_merge_number(merge, wanted, process, ref);
    }
    return ref;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_thread moved = *thread;
    move(input, SS_SCHEMA_thread, &moved);
    if (moved.process_ref == 0) {
        return SS_OK; /* its definition was in a damaged unit */
    }
    moved.ref = ref_of(input, SS_SCHEMA_thread, thread->ref);
    if (moved.ref == 0) {
        moved.ref = find_thread(input, &moved);
        ss_ref_maps_put(&input->refs, SS_SCHEMA_thread, thread->ref, moved.ref);
    }
    moved.tid = merge->tids.data[moved.ref];
    return ss_trace_writer_thread(merge->writer, &moved, merge->err);
}

/* --- entities --------------------------------------------------------------------------------- */

/* What makes an entity the same as one of another part. A device without a uuid, and what belongs
 * to it, are only those of their part. Long: one case for each kind. */
static void put_entity_key(struct ss_merge_input *input, enum ss_schema_id id,
                           const union ss_trace_entity *entity, struct ss_wire_buffer *key)
{
    uint64_t own = input->number + 1;
    switch (id) {
    case SS_SCHEMA_source:
        put_text(key, entity->source.name);
        put_number(key, entity->source.status);
        put_text(key, entity->source.reason);
        break;
    case SS_SCHEMA_host:
        put_text(key, entity->host.boot_id);
        put_number(key, entity->host.time_namespace);
        put_text(key, entity->host.name);
        break;
    case SS_SCHEMA_device:
        put_number(key, entity->device.uuid.length > 0 ? 0 : own);
        put_text(key, input->boot);
        put_text(key, entity->device.uuid);
        put_number(key, entity->device.uuid.length > 0 ? 0 : entity->device.ref);
        break;
    case SS_SCHEMA_context:
        put_number(key, entity->context.process_ref);
        put_number(key, entity->context.device_ref);
        put_number(key, entity->context.number);
        break;
    case SS_SCHEMA_stream:
        put_number(key, entity->stream.context_ref != 0 ? 0 : own);
        put_number(key, entity->stream.context_ref);
        put_number(key, entity->stream.device_ref);
        put_number(key, entity->stream.number);
        break;
    case SS_SCHEMA_group:
        put_number(key, entity->group.kind);
        put_number(key, entity->group.number);
        put_text(key, entity->group.name);
        put_number(key, entity->group.size);
        put_text(key, entity->group.ranks);
        break;
    default:
        put_number(key, own);
        put_number(key, entity->ref);
        break;
    }
}

/* `moved` has the refs of the output, its own only once this returns. */
static void move_entity(struct ss_merge_input *input, enum ss_schema_id id,
                        union ss_trace_entity *moved)
{
    struct ss_merge *merge = input->merge;
    uint32_t local = moved->ref, ref = ref_of(input, id, local);
    move(input, id, moved);
    if (ref == 0) {
        struct ss_wire_buffer *key = new_key(merge);
        put_entity_key(input, id, moved, key);
        ref = ss_merge_share(merge, id, key);
        ss_ref_maps_put(&input->refs, id, local, ref);
    }
    moved->ref = ref;
    if (id == SS_SCHEMA_host && !input->is_on_axis) {
        moved->host.boot_id.length = 0; /* all times are on the clock of the axis */
        moved->host.time_namespace = 0;
    }
}

#define SS_ENTITY(name, number, when, meaning)                                                     \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct ss_merge_input *input = context;                                                    \
        union ss_trace_entity moved = {.name = *record};                                           \
        move_entity(input, SS_SCHEMA_##name, &moved);                                              \
        return ss_trace_writer_##name(input->merge->writer, &moved.name, input->merge->err);       \
    }
#include "trace/schema.def"

/* --- stacks ----------------------------------------------------------------------------------- */

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_wire_buffer *key = new_key(merge);
    put_text(key, frame->function);
    put_text(key, frame->name);
    put_text(key, frame->file);
    put_number(key, frame->short_file_offset);
    put_number(key, (uint32_t)frame->line);
    put_number(key, (uint32_t)frame->first_line);
    put_number(key, (uint32_t)frame->kind << 1 | frame->is_installed);
    uint32_t before = merge->next_ref[SS_SCHEMA_frame];
    struct ss_trace_frame moved = *frame;
    moved.ref = ss_merge_share(merge, SS_SCHEMA_frame, key);
    ss_ref_maps_put(&input->refs, SS_SCHEMA_frame, frame->ref, moved.ref);
    return moved.ref > before ? ss_trace_writer_frame(merge->writer, &moved, merge->err) : SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_wire_buffer *key = new_key(merge);
    struct ss_trace_stack moved = *stack;
    move(input, SS_SCHEMA_stack, &moved);
    put_number(key, moved.parent_ref);
    put_number(key, moved.frame_ref);
    uint32_t before = merge->next_ref[SS_SCHEMA_stack];
    moved.ref = ss_merge_share(merge, SS_SCHEMA_stack, key);
    ss_ref_maps_put(&input->refs, SS_SCHEMA_stack, stack->ref, moved.ref);
    return moved.ref > before ? ss_trace_writer_stack(merge->writer, &moved, merge->err) : SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_sample moved = *sample;
    move(input, SS_SCHEMA_sample, &moved);
    if (moved.thread_ref == 0) {
        return SS_OK;
    }
    merge->result.records++;
    merge->newest_ns = moved.time_ns > merge->newest_ns ? moved.time_ns : merge->newest_ns;
    return merge->options->perf_samples
               ? ss_ticks_write(merge->writer, &merge->newest, &moved, merge->err)
               : ss_trace_writer_sample(merge->writer, &moved, merge->err);
}

/* --- tracks and events ------------------------------------------------------------------------ */

/* The folders of hosts have equal names, which viewers would make one. */
static struct ss_strview name_of_track(struct ss_merge_input *input,
                                       const struct ss_trace_track *track, char *text, size_t size)
{
    bool is_of_host = track->process_ref == 0 && track->thread_ref == 0 && track->parent_ref == 0;
    if (!is_of_host || track->kind != SS_TRACK_GROUP || input->merge->inputs.count < 2) {
        return track->name;
    }
    bool is_host = ss_strview_equal(track->name, ss_strview_of(SS_HOST_TRACK_NAME));
    char part[32];
    snprintf(part, sizeof part, "part %zu", input->number);
    snprintf(text, size, "%.*s%s%.*s%s%s%.*s", is_host ? 0 : (int)track->name.length,
             track->name.data, is_host ? "" : " \xc2\xb7 ",
             input->host.length < 128 ? (int)input->host.length : 128, input->host.data,
             input->host.length > 0 ? " " : "", input->rank.length > 0 ? "rank " : part,
             (int)input->rank.length, input->rank.data);
    return ss_strview_of(text);
}

static uint32_t find_track(struct ss_merge_input *input, const struct ss_trace_track *track)
{
    struct ss_wire_buffer *key = new_key(input->merge);
    put_number(key, track->process_ref != 0 || track->thread_ref != 0 ? 0 : input->number + 1);
    put_number(key, track->kind);
    put_number(key, track->process_ref);
    put_number(key, track->thread_ref);
    put_number(key, track->parent_ref);
    put_number(key, track->device_ref);
    put_number(key, track->stream_ref);
    put_text(key, track->name);
    return ss_merge_find(input, SS_SCHEMA_track, key);
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_track moved = *track;
    char text[512];
    moved.name = name_of_track(input, track, text, sizeof text);
    move(input, SS_SCHEMA_track, &moved);
    moved.ref = ref_of(input, SS_SCHEMA_track, track->ref);
    if (moved.ref == 0) {
        moved.ref = find_track(input, &moved);
        ss_ref_maps_put(&input->refs, SS_SCHEMA_track, track->ref, moved.ref);
    }
    if (moved.ref > SS_MAX_TRACKS) {
        return ss_fail(merge->err, SS_E_LIMIT,
                       "the recordings have more than %d tracks; merge fewer at a time",
                       SS_MAX_TRACKS);
    }
    moved.parent_ref = moved.parent_ref < moved.ref ? moved.parent_ref : 0;
    return ss_trace_writer_track(merge->writer, &moved, merge->err);
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    uint32_t ref = ref_of(input, SS_SCHEMA_name, name->ref);
    struct ss_trace_name moved = *name;
    moved.ref = ref != 0 ? ref : ++merge->next_ref[SS_SCHEMA_name];
    ss_ref_maps_put(&input->refs, SS_SCHEMA_name, name->ref, moved.ref);
    return ss_trace_writer_name(merge->writer, &moved, merge->err);
}

/* A field that refers to what a damaged unit defined is left out. */
static void move_fields(struct ss_merge_input *input, struct ss_trace_event *event)
{
    struct ss_merge *merge = input->merge;
    ss_vec_clear(&merge->fields);
    for (uint32_t i = 0; i < event->field_count; i++) {
        struct ss_event_value field = event->fields[i];
        bool is_ref = ss_event_fields[field.field].entity != SS_SCHEMA_COUNT;
        ss_ref_maps_move_field(&input->refs, &field);
        if (ss_event_fields[field.field].is_time && field.value.natural != 0) {
            field.value.natural = on_axis(input, field.value.natural);
        }
        if (!is_ref || field.value.natural != 0) {
            ss_vec_push(&merge->fields, field);
        }
    }
    event->fields = merge->fields.data;
    event->field_count = (uint32_t)merge->fields.count;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_event moved = *event;
    move(input, SS_SCHEMA_event, &moved);
    if (moved.track_ref == 0) {
        return SS_OK;
    }
    if (event->field_count > 0) {
        move_fields(input, &moved);
    }
    if (event->flow != SS_FLOW_NONE && !ss_event_has_flow_of_run(event)) {
        moved.flow_id = ss_merge_flow_id(merge, input->number, event->flow_id);
    }
    merge->result.records++;
    merge->newest_ns = moved.time_ns > merge->newest_ns ? moved.time_ns : merge->newest_ns;
    return ss_trace_writer_event(merge->writer, &moved, merge->err);
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_counter moved = *counter;
    move(input, SS_SCHEMA_counter, &moved);
    if (moved.track_ref == 0) {
        return SS_OK;
    }
    merge->result.records++;
    return ss_trace_writer_counter(merge->writer, &moved, merge->err);
}

static enum ss_status on_line(void *context, const struct ss_trace_line *line)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_line moved = *line;
    move(input, SS_SCHEMA_line, &moved);
    return moved.process_ref != 0 && moved.name_ref != 0
               ? ss_trace_writer_line(merge->writer, &moved, merge->err)
               : SS_OK;
}

/* --- counts, notes, clocks -------------------------------------------------------------------- */

/* Adds what the totals of a part have become to the sum. Wraps around as the sum of all would. */
static void replace_counts(struct ss_trace_counts *sum, const struct ss_trace_counts *before,
                           const struct ss_trace_counts *now)
{
    sum->due += now->due - before->due;
    sum->done += now->done - before->done;
    sum->skipped += now->skipped - before->skipped;
    sum->late += now->late - before->late;
    sum->seen += now->seen - before->seen;
    sum->ok += now->ok - before->ok;
    sum->partial += now->partial - before->partial;
    sum->lost += now->lost - before->lost;
    sum->unchanged += now->unchanged - before->unchanged;
    sum->dropped += now->dropped - before->dropped;
    sum->retries += now->retries - before->retries;
    sum->read_syscalls += now->read_syscalls - before->read_syscalls;
    sum->processes_short += now->processes_short - before->processes_short;
    sum->time_ns = now->time_ns > sum->time_ns ? now->time_ns : sum->time_ns;
}

/* The totals of a part replace its earlier ones; windows share the totals of their recorder.
 * Returns the sum of all parts; its cost does not depend on how many there are. */
static struct ss_trace_counts sum_up_counts(struct ss_merge_input *input,
                                            const struct ss_trace_counts *counts)
{
    struct ss_merge_counts *all = &input->merge->counts;
    uint32_t source = counts->source_ref;
    const uint32_t key[] = {input->is_window ? UINT32_MAX : (uint32_t)input->number, source};
    uint32_t id = ss_intern_put(&all->keys, (const char *)key, sizeof key);
    if (id >= all->parts.count) {
        ss_vec_resize(&all->parts, (size_t)id + 1);
    }
    if (source >= all->sums.count) {
        ss_vec_resize(&all->sums, (size_t)source + 1);
    }
    replace_counts(&all->sums.data[source], &all->parts.data[id], counts);
    all->parts.data[id] = *counts;
    all->sums.data[source].source_ref = source;
    return all->sums.data[source];
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_counts moved = *counts;
    move(input, SS_SCHEMA_counts, &moved);
    if (moved.source_ref == 0 || (counts->process_ref != 0 && moved.process_ref == 0)) {
        return SS_OK;
    }
    if (moved.process_ref == 0) {
        moved = sum_up_counts(input, &moved);
    }
    return ss_trace_writer_counts(merge->writer, &moved, merge->err);
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    struct ss_trace_note moved = *note;
    move(input, SS_SCHEMA_note, &moved);
    return ss_trace_writer_note(merge->writer, &moved, merge->err);
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    bool is_first = merge->last_clock_ns == 0;
    if (!input->is_on_axis ||
        (!is_first && clock->monotonic_ns < merge->last_clock_ns + SECOND_NS)) {
        return SS_OK;
    }
    merge->last_clock_ns = clock->monotonic_ns;
    return ss_trace_writer_clock(merge->writer, clock, merge->err);
}

static enum ss_status on_damage(void *context, const struct ss_trace_damage *damage)
{
    struct ss_merge_input *input = context;
    struct ss_merge *merge = input->merge;
    const char *slash = strrchr(input->path, '/');
    char text[400];
    merge->result.lost_bytes += damage->length;
    snprintf(text, sizeof text, "%s; left out of %.200s from byte %llu on", damage->reason,
             slash != NULL ? slash + 1 : input->path, (unsigned long long)damage->offset);
    const struct ss_trace_note note = {.time_ns = merge->newest_ns,
                                       .kind = ss_strview_of("file-damage"),
                                       .text = ss_strview_of(text),
                                       .value = (int64_t)damage->length};
    return ss_trace_writer_note(merge->writer, &note, merge->err);
}

const struct ss_trace_visitor ss_merge_visitor = {.attribute = ss_merge_on_attribute,
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
