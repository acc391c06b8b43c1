/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info/info_facts.h"

static struct ss_strview copy_text(struct ss_info_facts *facts, struct ss_strview text)
{
    return (struct ss_strview){ss_arena_strndup(&facts->arena, text.data, text.length),
                               text.length};
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct ss_info_facts *facts = context;
    struct ss_trace_attribute copy = *attribute;
    copy.key = copy_text(facts, attribute->key);
    copy.text = copy_text(facts, attribute->text);
    for (size_t i = 0; i < facts->attributes.count; i++) {
        if (ss_strview_equal(facts->attributes.data[i].key, copy.key)) {
            facts->attributes.data[i] = copy;
            return SS_OK;
        }
    }
    ss_vec_push(&facts->attributes, copy);
    return SS_OK;
}

static struct ss_strview keep_text(void *facts, struct ss_strview text)
{
    return copy_text(facts, text);
}

static enum ss_status put_entity(struct ss_info_facts *facts, enum ss_schema_id id,
                                 const void *record, size_t size)
{
    union ss_trace_entity copy = {0};
    memcpy(&copy, record, size);
    ss_schema_each_text(id, &copy, keep_text, facts);
    ss_info_entities *known = &facts->entities[id];
    for (size_t i = 0; i < known->count; i++) {
        if (known->data[i].ref == copy.ref) {
            known->data[i] = copy;
            return SS_OK;
        }
    }
    ss_vec_push(known, copy);
    return SS_OK;
}

#define SS_ENTITY(name, number, when, meaning)                                                     \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        return put_entity(context, SS_SCHEMA_##name, record, sizeof *record);                      \
    }
#include "trace/schema.def"

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct ss_info_facts *facts = context;
    struct ss_trace_process copy = *process;
    copy.cmdline = copy_text(facts, process->cmdline);
    copy.name = copy_text(facts, process->name);
    copy.runtime = copy_text(facts, process->runtime);
    copy.executable = copy_text(facts, process->executable);
    copy.label = copy_text(facts, process->label);
    if (process->ref > facts->processes.count) {
        ss_vec_resize(&facts->processes, process->ref);
    }
    facts->processes.data[process->ref - 1].record = copy;
    return SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct ss_info_facts *facts = context;
    if (thread->ref > facts->threads.count) {
        ss_vec_resize(&facts->threads, thread->ref);
    }
    struct ss_trace_thread *record = &facts->threads.data[thread->ref - 1].record;
    *record = *thread;
    record->name = copy_text(facts, thread->name);
    return SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    (void)frame;
    ((struct ss_info_facts *)context)->frame_count++;
    return SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    (void)stack;
    ((struct ss_info_facts *)context)->stack_count++;
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct ss_info_facts *facts = context;
    struct ss_info_thread *thread = &facts->threads.data[sample->thread_ref - 1];
    struct ss_info_process *process = &facts->processes.data[thread->record.process_ref - 1];
    process->threads += thread->samples == 0;
    thread->samples += sample->weight;
    process->samples += sample->weight;
    facts->ticks += sample->weight;
    return SS_OK;
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct ss_info_facts *facts = context;
    for (size_t i = facts->counts.count; i > 0; i--) {
        struct ss_trace_counts *known = &facts->counts.data[i - 1];
        if (known->source_ref == counts->source_ref && known->process_ref == counts->process_ref) {
            *known = *counts;
            return SS_OK;
        }
    }
    ss_vec_push(&facts->counts, *counts);
    return SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct ss_info_facts *facts = context;
    facts->note_count++;
    if (note->process_ref != 0 && ss_strview_equal(note->kind, ss_strview_of("process-exit"))) {
        struct ss_info_process *process = &facts->processes.data[note->process_ref - 1];
        process->has_exit = true;
        process->exit_status = note->value;
    }
    if (facts->notes.count < SS_INFO_MAX_NOTES) {
        struct ss_trace_note copy = *note;
        copy.kind = copy_text(facts, note->kind);
        copy.text = copy_text(facts, note->text);
        ss_vec_push(&facts->notes, copy);
    }
    return SS_OK;
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct ss_info_facts *facts = context;
    if (facts->clock_count++ == 0) {
        facts->first_clock = *clock;
    }
    facts->last_clock = *clock;
    if (clock->width_ns > facts->widest_clock_ns) {
        facts->widest_clock_ns = clock->width_ns;
    }
    return SS_OK;
}

static enum ss_status on_damage(void *context, const struct ss_trace_damage *damage)
{
    struct ss_info_facts *facts = context;
    if (facts->damages.count < SS_INFO_MAX_DAMAGES) {
        ss_vec_push(&facts->damages, (struct ss_info_damage){damage->offset, damage->length,
                                                             damage->reason, damage->is_cut});
    }
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct ss_info_facts *facts = context;
    if (track->ref >= facts->by_track.count) {
        ss_vec_resize(&facts->by_track, (size_t)track->ref + 1);
    }
    facts->by_track.data[track->ref].kind = (uint8_t)track->kind;
    return SS_OK;
}

static uint8_t use_track(struct ss_info_facts *facts, uint32_t ref)
{
    struct ss_info_track *track = &facts->by_track.data[ref];
    facts->tracks[track->kind] += !track->used;
    track->used = true;
    return track->kind;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    (void)name;
    ((struct ss_info_facts *)context)->name_count++;
    return SS_OK;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct ss_info_facts *facts = context;
    uint8_t kind = use_track(facts, event->track_ref);
    facts->begins[kind] += event->kind == SS_EVENT_BEGIN;
    facts->ends += event->kind == SS_EVENT_END;
    facts->marks += event->kind == SS_EVENT_INSTANT;
    facts->flow_points += event->flow != SS_FLOW_NONE;
    return SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    use_track(context, counter->track_ref);
    return SS_OK;
}

enum ss_status ss_info_collect(const char *path, struct ss_info_facts *facts, struct ss_error *err)
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
                                                    .counter = on_counter};
    *facts = (struct ss_info_facts){.path = path};
    return ss_trace_read(path, &visitor, facts, &facts->summary, err);
}

void ss_info_fini(struct ss_info_facts *facts)
{
    ss_arena_fini(&facts->arena);
    ss_vec_fini(&facts->attributes);
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        ss_vec_fini(&facts->entities[id]);
    }
    ss_vec_fini(&facts->processes);
    ss_vec_fini(&facts->threads);
    ss_vec_fini(&facts->counts);
    ss_vec_fini(&facts->notes);
    ss_vec_fini(&facts->damages);
    ss_vec_fini(&facts->by_track);
}

const struct ss_trace_attribute *ss_info_attribute(const struct ss_info_facts *facts,
                                                   const char *key)
{
    for (size_t i = 0; i < facts->attributes.count; i++) {
        if (ss_strview_equal(facts->attributes.data[i].key, ss_strview_of(key))) {
            return &facts->attributes.data[i];
        }
    }
    return NULL;
}

uint64_t ss_info_duration_ns(const struct ss_info_facts *facts)
{
    const struct ss_trace_summary *summary = &facts->summary;
    uint64_t first_ns = summary->samples > 0 ? summary->first_ns : UINT64_MAX;
    uint64_t last_ns = summary->last_ns;
    if (summary->events + summary->counter_values > 0) {
        first_ns = summary->first_event_ns < first_ns ? summary->first_event_ns : first_ns;
        last_ns = summary->last_event_ns > last_ns ? summary->last_event_ns : last_ns;
    }
    if (facts->clock_count > 0) {
        uint64_t began_ns = facts->first_clock.monotonic_ns;
        uint64_t ended_ns = facts->last_clock.monotonic_ns;
        first_ns = began_ns < first_ns ? began_ns : first_ns;
        last_ns = ended_ns > last_ns ? ended_ns : last_ns;
    }
    return last_ns > first_ns ? last_ns - first_ns : 0;
}

const char *ss_info_state(const struct ss_info_facts *facts)
{
    const struct ss_trace_summary *summary = &facts->summary;
    if (summary->damaged_units == 0 && summary->lost_bytes == 0) {
        return summary->sealed ? "complete" : "cut short";
    }
    bool only_tail = facts->damages.count == 1 && facts->damages.data[0].is_cut;
    return only_tail && summary->lost_samples + summary->lost_events == 0 ? "cut short" : "damaged";
}

struct ss_trace_counts ss_info_totals(const struct ss_info_facts *facts, uint32_t source_ref)
{
    struct ss_trace_counts own = {.source_ref = source_ref};
    struct ss_trace_counts sum = {.source_ref = source_ref};
    for (size_t i = 0; i < facts->counts.count; i++) {
        const struct ss_trace_counts *row = &facts->counts.data[i];
        if (row->source_ref != source_ref) {
            continue;
        }
        if (row->process_ref == 0) {
            own = *row;
            continue;
        }
        sum.seen += row->seen;
        sum.ok += row->ok;
        sum.partial += row->partial;
        sum.lost += row->lost;
        sum.unchanged += row->unchanged;
        sum.dropped += row->dropped;
        sum.retries += row->retries;
        sum.read_syscalls += row->read_syscalls;
    }
    if (own.seen == 0 && sum.seen > 0) {
        own.seen = sum.seen;
        own.ok = sum.ok;
        own.partial = sum.partial;
        own.lost = sum.lost;
        own.unchanged = sum.unchanged;
    }
    own.dropped = own.dropped > sum.dropped ? own.dropped : sum.dropped;
    own.retries = own.retries > sum.retries ? own.retries : sum.retries;
    own.read_syscalls =
        own.read_syscalls > sum.read_syscalls ? own.read_syscalls : sum.read_syscalls;
    return own;
}

const struct ss_trace_source *ss_info_source(const struct ss_info_facts *facts, uint32_t ref)
{
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        if (facts->entities[SS_SCHEMA_source].data[i].ref == ref) {
            return &facts->entities[SS_SCHEMA_source].data[i].source;
        }
    }
    return NULL;
}

int64_t ss_info_realtime_drift_ns(const struct ss_info_facts *facts)
{
    const struct ss_trace_clock *first = &facts->first_clock, *last = &facts->last_clock;
    return (int64_t)(last->realtime_ns - first->realtime_ns) -
           (int64_t)(last->monotonic_ns - first->monotonic_ns);
}

uint64_t ss_info_suspended_ns(const struct ss_info_facts *facts)
{
    const struct ss_trace_clock *first = &facts->first_clock, *last = &facts->last_clock;
    uint64_t boottime_ns = last->boottime_ns - first->boottime_ns;
    uint64_t monotonic_ns = last->monotonic_ns - first->monotonic_ns;
    return boottime_ns > monotonic_ns ? boottime_ns - monotonic_ns : 0;
}

const char *ss_info_role(enum ss_process_role role)
{
    static const char *const roles[SS_PROCESS_ROLE_COUNT] = {
        [SS_PROCESS_ROLE_TRAINS] = "trains",
        [SS_PROCESS_ROLE_LOADS_DATA] = "loads data",
        [SS_PROCESS_ROLE_LAUNCHES] = "launches"};
    return roles[role];
}
