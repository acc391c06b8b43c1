/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli/info_views.h"

static json_t *text(struct ss_strview view)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, view.length * 3 + 1);
    ss_utf8_append_valid(&valid, view.data, view.length);
    json_t *value = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return value;
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

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
                                                  : text(attribute->text));
        ss_strbuf_fini(&key);
    }
    return object;
}

static json_t *sources_to_json(const struct ss_info_facts *facts)
{
    static const char *const status[] = {"off", "ran", "unavailable", "failed"};
    json_t *list = json_array();
    for (size_t i = 0; i < facts->sources.count; i++) {
        const struct ss_trace_source *source = &facts->sources.data[i];
        json_array_append_new(list,
                              json_pack("{s:o,s:s,s:o}", "name", text(source->name), "status",
                                        status[source->status], "reason", text(source->reason)));
    }
    return list;
}

/* null: unknown. */
static json_t *known_text(struct ss_strview value)
{
    return value.length > 0 ? text(value) : json_null();
}

static json_t *devices_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->devices.count; i++) {
        const struct ss_trace_device *device = &facts->devices.data[i];
        json_t *object = json_object();
        json_object_set_new(object, "kind",
                            json_string(device->kind == SS_DEVICE_GPU ? "gpu" : "other"));
        json_object_set_new(object, "number",
                            device->number > 0 ? integer(device->number - 1) : json_null());
        json_object_set_new(object, "model", known_text(device->model));
        json_object_set_new(object, "uuid", known_text(device->uuid));
        json_object_set_new(object, "pci_address", known_text(device->pci_address));
        json_object_set_new(object, "memory_bytes",
                            device->memory_bytes > 0 ? integer(device->memory_bytes) : json_null());
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *threads_to_json(const struct ss_info_facts *facts, uint32_t process_ref)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->threads.count; i++) {
        const struct ss_info_thread *thread = &facts->threads.data[i];
        if (thread->record.process_ref == process_ref) {
            json_array_append_new(
                list, json_pack("{s:i,s:o,s:b,s:o}", "tid", (int)thread->record.tid, "name",
                                text(thread->record.name), "main", (int)thread->record.is_main,
                                "samples", integer(thread->samples)));
        }
    }
    return list;
}

static json_t *processes_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->processes.count; i++) {
        const struct ss_info_process *process = &facts->processes.data[i];
        const struct ss_trace_process *record = &process->record;
        json_array_append_new(
            list, json_pack("{s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "pid",
                            (int)record->pid, "parent_pid", (int)record->parent_pid,
                            "pid_namespace", integer(record->pid_namespace), "start_time_ticks",
                            integer(record->start_time_ticks), "name", text(record->name),
                            "command", text(record->cmdline), "runtime", text(record->runtime),
                            "executable", text(record->executable), "label", text(record->label),
                            "samples", integer(process->samples), "wait_status",
                            process->has_exit ? json_integer(process->exit_status) : json_null(),
                            "threads", threads_to_json(facts, (uint32_t)i + 1)));
    }
    return list;
}

static json_t *counts_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->sources.count; i++) {
        const struct ss_trace_source *source = &facts->sources.data[i];
        struct ss_trace_counts sum = ss_info_totals(facts, source->ref);
        if (sum.due == 0 && sum.seen == 0) {
            continue;
        }
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "source",
                      text(source->name), "due", integer(sum.due), "done", integer(sum.done),
                      "skipped", integer(sum.skipped), "late", integer(sum.late), "seen",
                      integer(sum.seen), "ok", integer(sum.ok), "partial", integer(sum.partial),
                      "lost", integer(sum.lost), "unchanged", integer(sum.unchanged), "dropped",
                      integer(sum.dropped), "retries", integer(sum.retries), "read_syscalls",
                      integer(sum.read_syscalls), "processes_short", integer(sum.processes_short)));
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
        json_array_append_new(list,
                              json_pack("{s:o,s:o,s:o,s:o,s:I}", "time_ns", integer(note->time_ns),
                                        "pid", pid, "kind", text(note->kind), "text",
                                        text(note->text), "value", (json_int_t)note->value));
    }
    return list;
}

static json_t *damages_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->damages.count; i++) {
        const struct ss_info_damage *damage = &facts->damages.data[i];
        json_array_append_new(list,
                              json_pack("{s:o,s:o,s:s}", "offset", integer(damage->offset), "bytes",
                                        integer(damage->length), "reason", damage->reason));
    }
    return list;
}

static json_t *clocks_to_json(const struct ss_info_facts *facts)
{
    return json_pack("{s:o,s:o,s:o,s:I,s:o}", "readings", integer(facts->clock_count),
                     "start_realtime_ns", integer(facts->first_clock.realtime_ns),
                     "widest_reading_ns", integer(facts->widest_clock_ns), "realtime_drift_ns",
                     (json_int_t)ss_info_realtime_drift_ns(facts), "suspended_ns",
                     integer(ss_info_suspended_ns(facts)));
}

static json_t *tracks_to_json(const struct ss_info_facts *facts)
{
    const uint64_t *begins = facts->begins, *tracks = facts->tracks;
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "rows",
                     integer(tracks[SS_TRACK_RANGES] + tracks[SS_TRACK_ASYNC]), "ranges",
                     integer(begins[SS_TRACK_RANGES]), "async_ranges",
                     integer(begins[SS_TRACK_ASYNC]), "steps", integer(begins[SS_TRACK_STEPS]),
                     "phases", integer(begins[SS_TRACK_PHASES]), "ends", integer(facts->ends),
                     "marks", integer(facts->marks), "flow_points", integer(facts->flow_points),
                     "names", integer(facts->name_count), "counters",
                     integer(tracks[SS_TRACK_COUNTER]), "counter_values",
                     integer(facts->summary.counter_values));
}

json_t *ss_info_to_json(const struct ss_info_facts *facts)
{
    const struct ss_trace_summary *summary = &facts->summary;
    json_t *object = json_object();
    json_object_set_new(object, "path", text(ss_strview_of(facts->path)));
    json_object_set_new(object, "state", json_string(ss_info_state(facts)));
    json_object_set_new(object, "sealed", json_boolean(summary->sealed));
    json_object_set_new(object, "format_version", integer(summary->format_version));
    json_object_set_new(object, "duration_s", seconds(ss_info_duration_ns(facts)));
    json_object_set_new(object, "first_sample_ns", integer(summary->first_ns));
    json_object_set_new(object, "last_sample_ns", integer(summary->last_ns));
    json_object_set_new(object, "file_bytes", integer(summary->file_bytes));
    json_object_set_new(object, "plain_bytes", integer(summary->plain_bytes));
    json_object_set_new(object, "track_bytes", integer(summary->track_bytes));
    json_object_set_new(object, "units", integer(summary->units));
    json_object_set_new(object, "restart_points", integer(summary->restart_points));
    json_object_set_new(object, "damaged_units", integer(summary->damaged_units));
    json_object_set_new(object, "lost_bytes", integer(summary->lost_bytes));
    json_object_set_new(object, "lost_records",
                        integer(summary->lost_samples + summary->lost_events));
    json_object_set_new(object, "damages", damages_to_json(facts));
    json_object_set_new(object, "records", integer(summary->samples));
    json_object_set_new(object, "samples", integer(facts->ticks));
    json_object_set_new(object, "frames", integer(facts->frame_count));
    json_object_set_new(object, "stacks", integer(facts->stack_count));
    json_object_set_new(object, "tracks", tracks_to_json(facts));
    json_object_set_new(object, "attributes", attributes_to_json(facts));
    json_object_set_new(object, "sources", sources_to_json(facts));
    json_object_set_new(object, "devices", devices_to_json(facts));
    json_object_set_new(object, "counts", counts_to_json(facts));
    json_object_set_new(object, "processes", processes_to_json(facts));
    json_object_set_new(object, "note_count", integer(facts->note_count));
    json_object_set_new(object, "notes", notes_to_json(facts));
    json_object_set_new(object, "clocks", clocks_to_json(facts));
    return object;
}
