/* SPDX-License-Identifier: Apache-2.0 */
/* What events say of collectives, and of sends and receives. */
#include "base/device_api.h"
#include "base/intern.h"
#include "record/tracks/annotation_tracks_inside.h"
#include "record/tracks/collective_module.h"
#include "trace/event_fields.h"

_Static_assert((int)SS_RING_OTHER_LIBRARY == (int)SS_GROUP_OTHER &&
                   (int)SS_RING_NCCL == (int)SS_GROUP_NCCL &&
                   (int)SS_RING_MPI == (int)SS_GROUP_MPI && (int)SS_RING_GLOO == (int)SS_GROUP_GLOO,
               "libraries have the numbers of kinds of groups");

/* The group of a collective; 0: unknown. */
static uint32_t group_of(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    uint32_t name = event->collective.group;
    if (name == 0 || name >= tracks->name_entries.count || event->name == 0) {
        return 0;
    }
    struct ss_trace_group group = {.kind = (enum ss_group_kind)event->collective.library,
                                   .name =
                                       ss_tracks_text(tracks, tracks->name_entries.data[name].text),
                                   .size = event->collective.size};
    return ss_annotation_tracks_put_group(tracks, &group);
}

static uint32_t put_text(const struct ss_annotation_tracks *tracks, uint32_t name, uint32_t field,
                         struct ss_event_value *to)
{
    bool is_known = name != 0 && name < tracks->name_entries.count;
    if (is_known) {
        struct ss_strview text = ss_tracks_text(tracks, tracks->name_entries.data[name].text);
        *to = (struct ss_event_value){field, {SS_VALUE_TEXT, {.text = text}}};
    }
    return is_known;
}

/* What NCCL itself calls "ncclAllReduce". */
static uint32_t put_kind(const struct ss_annotation_tracks *tracks,
                         const struct ss_annot_event *event, struct ss_event_value *to)
{
    struct ss_strview kind =
        ss_nccl_collective(ss_tracks_text(tracks, tracks->name_entries.data[event->name].text));
    *to = (struct ss_event_value){SS_EVENT_FIELD_collective, {SS_VALUE_TEXT, {.text = kind}}};
    return kind.length > 0;
}

static uint32_t put_reduction(const struct ss_annot_event *event, struct ss_event_value *to)
{
    struct ss_strview text = ss_nccl_reduction(event->collective.reduction);
    *to = (struct ss_event_value){SS_EVENT_FIELD_reduction, {SS_VALUE_TEXT, {.text = text}}};
    return text.length > 0;
}

/* --- sends and their receives ----------------------------------------------------------------- */

/* The same on both ranks, and in all files of a run; 0: not known. */
static uint64_t flow_of_transfer(const struct ss_annotation_tracks *tracks,
                                 const struct ss_annot_event *event)
{
    uint32_t group = event->collective.group;
    if (event->collective.tag < 0 || event->collective.self < 0 || event->collective.root < 0 ||
        event->collective.sequence < 0 || group == 0 || group >= tracks->name_entries.count) {
        return 0;
    }
    struct ss_strview name = ss_tracks_text(tracks, tracks->name_entries.data[group].text);
    bool receives = event->collective.direction == SS_RING_RECEIVES;
    uint64_t parts[] = {(uint64_t)(receives ? event->collective.root : event->collective.self),
                        (uint64_t)(receives ? event->collective.self : event->collective.root),
                        (uint64_t)event->collective.tag, (uint64_t)event->collective.sequence};
    uint64_t id = ss_hash_u64(ss_hash_bytes(name.data, name.length));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        id = ss_hash_u64(id ^ parts[i]);
    }
    return id;
}

uint32_t ss_tracks_put_collective(struct ss_annotation_tracks *tracks,
                                  const struct ss_annot_event *event, struct ss_event_value *fields)
{
    uint32_t count = 0, group = group_of(tracks, event);
    if (!event->collective.is_described) {
        return 0;
    }
    if (group != 0) {
        fields[count++] =
            (struct ss_event_value){SS_EVENT_FIELD_group, {SS_VALUE_UINT, {.natural = group}}};
    }
    if (group != 0 && event->collective.sequence >= 0) {
        fields[count++] = (struct ss_event_value){
            SS_EVENT_FIELD_sequence, {SS_VALUE_INT, {.integer = event->collective.sequence}}};
    }
    count += put_text(tracks, event->collective.datatype, SS_EVENT_FIELD_datatype, &fields[count]);
    count +=
        put_text(tracks, event->collective.algorithm, SS_EVENT_FIELD_algorithm, &fields[count]);
    count += put_text(tracks, event->collective.protocol, SS_EVENT_FIELD_protocol, &fields[count]);
    count += put_kind(tracks, event, &fields[count]);
    count += put_reduction(event, &fields[count]);
    uint32_t module = event->collective.module;
    if (module != 0 && module < tracks->name_entries.count) {
        count += ss_collective_module_put(
            ss_tracks_text(tracks, tracks->name_entries.data[module].text), &fields[count]);
    }
    if (event->collective.tag >= 0) {
        fields[count++] = (struct ss_event_value){
            SS_EVENT_FIELD_tag, {SS_VALUE_INT, {.integer = event->collective.tag}}};
    }
    if (event->collective.root >= 0) {
        fields[count++] = (struct ss_event_value){
            event->collective.direction != SS_RING_OF_ALL ? SS_EVENT_FIELD_peer
                                                          : SS_EVENT_FIELD_root,
            {SS_VALUE_UINT, {.natural = (uint64_t)event->collective.root}}};
    }
    return count;
}

uint64_t ss_tracks_put_flow(const struct ss_annotation_tracks *tracks,
                            const struct ss_annot_event *event, struct ss_trace_event *record)
{
    uint64_t flow = flow_of_transfer(tracks, event);
    if (flow == 0 || event->collective.direction == SS_RING_RECEIVES) {
        return flow;
    }
    record->flow = SS_FLOW_THROUGH;
    record->flow_id = flow;
    return 0;
}
