/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli/info/info_json.h"
#include "trace/rank_runs.h"

enum { MOST_RANKS = 1 << 16 }; /* listed of a group */

json_t *ss_info_text(struct ss_strview view)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, view.length * 3 + 1);
    ss_utf8_append_valid(&valid, view.data, view.length);
    json_t *value = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return value;
}

json_t *ss_info_integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *sources_to_json(const struct ss_info_facts *facts)
{
    static const char *const status[] = {"off", "ran", "unavailable", "failed"};
    json_t *list = json_array();
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        json_array_append_new(list, json_pack("{s:o,s:s,s:o}", "name", ss_info_text(source->name),
                                              "status", status[source->status], "reason",
                                              ss_info_text(source->reason)));
    }
    return list;
}

/* null: unknown. */
static json_t *known_text(struct ss_strview value)
{
    return value.length > 0 ? ss_info_text(value) : json_null();
}

static json_t *devices_to_json(const struct ss_info_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_device].count; i++) {
        const struct ss_trace_device *device = &facts->entities[SS_SCHEMA_device].data[i].device;
        json_t *object = json_object();
        json_object_set_new(object, "id", json_integer(device->ref));
        json_object_set_new(object, "kind",
                            json_string(device->kind == SS_DEVICE_GPU ? "gpu" : "other"));
        json_object_set_new(object, "number",
                            device->number > 0 ? ss_info_integer(device->number - 1) : json_null());
        json_object_set_new(object, "model", known_text(device->model));
        json_object_set_new(object, "uuid", known_text(device->uuid));
        json_object_set_new(object, "pci_address", known_text(device->pci_address));
        json_object_set_new(object, "memory_bytes",
                            device->memory_bytes > 0 ? ss_info_integer(device->memory_bytes)
                                                     : json_null());
        json_array_append_new(list, object);
    }
    return list;
}

/* null: unknown. */
static json_t *known_ref(uint32_t ref)
{
    return ref != 0 ? json_integer(ref) : json_null();
}

static json_t *hosts_to_json(const ss_info_entities *hosts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < hosts->count; i++) {
        const struct ss_trace_host *host = &hosts->data[i].host;
        json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:o}", "id", json_integer(host->ref),
                                              "name", known_text(host->name), "boot_id",
                                              known_text(host->boot_id), "time_namespace",
                                              host->time_namespace != 0
                                                  ? ss_info_integer(host->time_namespace)
                                                  : json_null()));
    }
    return list;
}

static json_t *contexts_to_json(const struct ss_info_facts *facts)
{
    const ss_info_entities *contexts = &facts->entities[SS_SCHEMA_context];
    json_t *list = json_array();
    for (size_t i = 0; i < contexts->count; i++) {
        const struct ss_trace_context *context = &contexts->data[i].context;
        uint32_t process = context->process_ref;
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:o,s:o}", "id", json_integer(context->ref), "pid",
                      process != 0 ? json_integer(facts->processes.data[process - 1].record.pid)
                                   : json_null(),
                      "device", known_ref(context->device_ref), "number",
                      ss_info_integer(context->number)));
    }
    return list;
}

static json_t *streams_to_json(const ss_info_entities *streams)
{
    json_t *list = json_array();
    for (size_t i = 0; i < streams->count; i++) {
        const struct ss_trace_stream *stream = &streams->data[i].stream;
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "id", json_integer(stream->ref), "device",
                      known_ref(stream->device_ref), "context", known_ref(stream->context_ref),
                      "number", ss_info_integer(stream->number), "name", known_text(stream->name),
                      "priority", json_integer(stream->priority), "default",
                      (int)stream->is_default));
    }
    return list;
}

static json_t *ranks_to_json(struct ss_strview runs)
{
    json_t *list = json_array();
    size_t listed = 0;
    for (struct ss_rank_run run; listed < MOST_RANKS && ss_rank_runs_next(&runs, &run);) {
        for (uint32_t i = 0; i < run.count && listed < MOST_RANKS; i++, listed++) {
            json_array_append_new(list, json_integer(run.first + (json_int_t)i * run.stride));
        }
    }
    return list;
}

static json_t *groups_to_json(const ss_info_entities *groups)
{
    static const char *const kinds[SS_GROUP_KIND_COUNT] = {"other", "NCCL", "MPI", "Gloo"};
    json_t *list = json_array();
    for (size_t i = 0; i < groups->count; i++) {
        const struct ss_trace_group *group = &groups->data[i].group;
        json_array_append_new(
            list, json_pack("{s:o,s:s,s:o,s:o,s:o,s:o}", "id", json_integer(group->ref), "kind",
                            kinds[group->kind], "number", ss_info_integer(group->number), "name",
                            known_text(group->name), "size",
                            group->size != 0 ? json_integer(group->size) : json_null(), "ranks",
                            ranks_to_json(group->ranks)));
    }
    return list;
}

void ss_info_entities_to_json(const struct ss_info_facts *facts, json_t *object)
{
    json_object_set_new(object, "sources", sources_to_json(facts));
    json_object_set_new(object, "hosts", hosts_to_json(&facts->entities[SS_SCHEMA_host]));
    json_object_set_new(object, "devices", devices_to_json(facts));
    json_object_set_new(object, "contexts", contexts_to_json(facts));
    json_object_set_new(object, "streams", streams_to_json(&facts->entities[SS_SCHEMA_stream]));
    json_object_set_new(object, "groups", groups_to_json(&facts->entities[SS_SCHEMA_group]));
}
