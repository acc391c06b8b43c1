/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info/info_json.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli/info/info_views.h"

static json_t *seconds(uint64_t ns)
{
    return json_real((double)ns / 1e9);
}

static json_t *attributes_to_json(const struct ss_info_facts *facts)
{
    json_t *object = json_object();
    for (size_t i = 0; i < facts->attributes.count; i++) {
        const struct ss_trace_attribute *attribute = &facts->attributes.data[i];
        struct ss_strbuf key;
        ss_strbuf_init(&key, attribute->key.length * 3 + 1);
        ss_utf8_append_valid(&key, attribute->key.data, attribute->key.length);
        json_object_set_new(object, key.data,
                            attribute->is_integer ? json_integer(attribute->integer)
                                                  : ss_info_text(attribute->text));
        ss_strbuf_fini(&key);
    }
    return object;
}

static json_t *threads_to_json(const struct ss_info_facts *facts, uint32_t process_ref)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->threads.count; i++) {
        const struct ss_info_thread *thread = &facts->threads.data[i];
        if (thread->record.process_ref == process_ref) {
            json_array_append_new(list,
                                  json_pack("{s:i,s:o,s:b,s:o}", "tid", (int)thread->record.tid,
                                            "name", ss_info_text(thread->record.name), "main",
                                            (int)thread->record.is_main, "samples",
                                            ss_info_integer(thread->samples)));
        }
    }
    return list;
}

/* null: unknown. */
static json_t *known_integer(bool is_known, uint32_t value)
{
    return is_known ? json_integer(value) : json_null();
}

static void put_ranks(json_t *object, const struct ss_trace_process *process)
{
    const char *role = ss_info_role(process->role);
    json_object_set_new(object, "rank", known_integer(process->has_rank, process->rank));
    json_object_set_new(object, "local_rank",
                        known_integer(process->has_local_rank, process->local_rank));
    json_object_set_new(object, "world_size",
                        known_integer(process->world_size > 0, process->world_size));
    json_object_set_new(object, "node", known_integer(process->has_node, process->node));
    json_object_set_new(object, "role", role != NULL ? json_string(role) : json_null());
    json_object_set_new(object, "host", known_integer(process->host_ref > 0, process->host_ref));
}

static json_t *processes_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->processes.count; i++) {
        const struct ss_info_process *process = &facts->processes.data[i];
        const struct ss_trace_process *record = &process->record;
        json_t *object = json_pack(
            "{s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "pid", (int)record->pid,
            "parent_pid", (int)record->parent_pid, "pid_namespace",
            ss_info_integer(record->pid_namespace), "start_time_ticks",
            ss_info_integer(record->start_time_ticks), "name", ss_info_text(record->name),
            "command", ss_info_text(record->cmdline), "runtime", ss_info_text(record->runtime),
            "executable", ss_info_text(record->executable), "label", ss_info_text(record->label),
            "samples", ss_info_integer(process->samples), "wait_status",
            process->has_exit ? json_integer(process->exit_status) : json_null(), "threads",
            threads_to_json(facts, (uint32_t)i + 1));
        put_ranks(object, record);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *counts_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        struct ss_trace_counts sum = ss_info_totals(facts, source->ref);
        if (sum.due == 0 && sum.seen == 0) {
            continue;
        }
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "source",
                            ss_info_text(source->name), "due", ss_info_integer(sum.due), "done",
                            ss_info_integer(sum.done), "skipped", ss_info_integer(sum.skipped),
                            "late", ss_info_integer(sum.late), "seen", ss_info_integer(sum.seen),
                            "ok", ss_info_integer(sum.ok), "partial", ss_info_integer(sum.partial),
                            "lost", ss_info_integer(sum.lost), "unchanged",
                            ss_info_integer(sum.unchanged), "dropped", ss_info_integer(sum.dropped),
                            "retries", ss_info_integer(sum.retries), "read_syscalls",
                            ss_info_integer(sum.read_syscalls), "processes_short",
                            ss_info_integer(sum.processes_short)));
    }
    return list;
}

static json_t *notes_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->notes.count; i++) {
        const struct ss_trace_note *note = &facts->notes.data[i];
        json_t *pid = note->process_ref == 0
                          ? json_null()
                          : json_integer(facts->processes.data[note->process_ref - 1].record.pid);
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:I}", "time_ns", ss_info_integer(note->time_ns),
                            "pid", pid, "kind", ss_info_text(note->kind), "text",
                            ss_info_text(note->text), "value", (json_int_t)note->value));
    }
    return list;
}

static json_t *damages_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->damages.count; i++) {
        const struct ss_info_damage *damage = &facts->damages.data[i];
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:s}", "offset", ss_info_integer(damage->offset), "bytes",
                            ss_info_integer(damage->length), "reason", damage->reason));
    }
    return list;
}

static json_t *clocks_to_json(const struct ss_info_facts *facts)
{
    return json_pack("{s:o,s:o,s:o,s:I,s:o}", "readings", ss_info_integer(facts->clock_count),
                     "start_realtime_ns", ss_info_integer(facts->first_clock.realtime_ns),
                     "widest_reading_ns", ss_info_integer(facts->widest_clock_ns),
                     "realtime_drift_ns", (json_int_t)ss_info_realtime_drift_ns(facts),
                     "suspended_ns", ss_info_integer(ss_info_suspended_ns(facts)));
}

static json_t *tracks_to_json(const struct ss_info_facts *facts)
{
    const uint64_t *begins = facts->begins, *tracks = facts->tracks;
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "rows",
        ss_info_integer(tracks[SS_TRACK_RANGES] + tracks[SS_TRACK_ASYNC]), "ranges",
        ss_info_integer(begins[SS_TRACK_RANGES]), "async_ranges",
        ss_info_integer(begins[SS_TRACK_ASYNC]), "steps", ss_info_integer(begins[SS_TRACK_STEPS]),
        "phases", ss_info_integer(begins[SS_TRACK_PHASES]), "ends", ss_info_integer(facts->ends),
        "marks", ss_info_integer(facts->marks), "flow_points", ss_info_integer(facts->flow_points),
        "names", ss_info_integer(facts->name_count), "counters",
        ss_info_integer(tracks[SS_TRACK_COUNTER]), "counter_values",
        ss_info_integer(facts->summary.counter_values));
}

json_t *ss_info_to_json(const struct ss_info_facts *facts)
{
    const struct ss_trace_summary *summary = &facts->summary;
    json_t *object = json_object();
    json_object_set_new(object, "path", ss_info_text(ss_strview_of(facts->path)));
    json_object_set_new(object, "state", json_string(ss_info_state(facts)));
    json_object_set_new(object, "sealed", json_boolean(summary->sealed));
    json_object_set_new(object, "format_version", ss_info_integer(summary->format_version));
    json_object_set_new(object, "duration_s", seconds(ss_info_duration_ns(facts)));
    json_object_set_new(object, "first_sample_ns", ss_info_integer(summary->first_ns));
    json_object_set_new(object, "last_sample_ns", ss_info_integer(summary->last_ns));
    json_object_set_new(object, "file_bytes", ss_info_integer(summary->file_bytes));
    json_object_set_new(object, "plain_bytes", ss_info_integer(summary->plain_bytes));
    json_object_set_new(object, "track_bytes", ss_info_integer(summary->track_bytes));
    json_object_set_new(object, "units", ss_info_integer(summary->units));
    json_object_set_new(object, "restart_points", ss_info_integer(summary->restart_points));
    json_object_set_new(object, "damaged_units", ss_info_integer(summary->damaged_units));
    json_object_set_new(object, "lost_bytes", ss_info_integer(summary->lost_bytes));
    json_object_set_new(object, "lost_records",
                        ss_info_integer(summary->lost_samples + summary->lost_events));
    json_object_set_new(object, "damages", damages_to_json(facts));
    json_object_set_new(object, "records", ss_info_integer(summary->samples));
    json_object_set_new(object, "samples", ss_info_integer(facts->ticks));
    json_object_set_new(object, "frames", ss_info_integer(facts->frame_count));
    json_object_set_new(object, "stacks", ss_info_integer(facts->stack_count));
    json_object_set_new(object, "tracks", tracks_to_json(facts));
    json_object_set_new(object, "attributes", attributes_to_json(facts));
    ss_info_entities_to_json(facts, object);
    json_object_set_new(object, "counts", counts_to_json(facts));
    json_object_set_new(object, "processes", processes_to_json(facts));
    json_object_set_new(object, "note_count", ss_info_integer(facts->note_count));
    json_object_set_new(object, "notes", notes_to_json(facts));
    json_object_set_new(object, "clocks", clocks_to_json(facts));
    return object;
}
