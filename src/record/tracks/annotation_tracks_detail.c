/* SPDX-License-Identifier: Apache-2.0 */
/* What is written of steps that are not recorded in full: sums as instants with typed fields, waits
 * as ranges, and a counter that says which steps these are. */
#include "base/shared_names.h"
#include "record/tracks/annotation_tracks_inside.h"
#include "trace/event_fields.h"

static uint32_t track_of(struct ss_annotation_tracks *tracks, uint32_t *ref,
                         enum ss_track_kind kind, const char *name)
{
    if (*ref == 0) {
        *ref = ss_tracks_add(tracks, (struct ss_trace_track){.kind = kind,
                                                             .process_ref = tracks->process_ref,
                                                             .name = ss_strview_of(name)});
    }
    return *ref;
}

static struct ss_route route_of(const struct ss_annotation_tracks *tracks)
{
    return (struct ss_route){.process_ref = tracks->process_ref};
}

static void write(struct ss_annotation_tracks *tracks, const struct ss_trace_event *event)
{
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context,
        ss_recording_event(tracks->context->recording, route_of(tracks), event, &err), &err);
}

static void on_detail(void *context, uint64_t time_ns, enum ss_detail detail)
{
    struct ss_annotation_tracks *tracks = context;
    struct ss_error err = {0};
    struct ss_trace_counter counter = {
        .time_ns = time_ns,
        .track_ref =
            track_of(tracks, &tracks->detail_track, SS_TRACK_COUNTER, ss_counter_detail_recorded),
        .is_integer = true,
        .integer = (int64_t)detail};
    ss_record_context_check(
        tracks->context,
        ss_recording_counter(tracks->context->recording, route_of(tracks), &counter, &err), &err);
}

static struct ss_event_value number(enum ss_event_field_id field, uint64_t value)
{
    return (struct ss_event_value){.field = field,
                                   .value = {.type = SS_VALUE_UINT, .natural = value}};
}

static uint32_t sums_track(struct ss_annotation_tracks *tracks, enum ss_detail_kind kind)
{
    const char *domain = kind == SS_DETAIL_MODULES  ? ss_domain_torch_module_sums
                         : kind == SS_DETAIL_RANGES ? ss_domain_range_sums
                                                    : ss_domain_torch_sums;
    return track_of(tracks, &tracks->sum_tracks[kind], SS_TRACK_RANGES, domain);
}

static void write_sum(struct ss_annotation_tracks *tracks, uint64_t time_ns,
                      const struct ss_detail_sum *sum)
{
    struct ss_event_value fields[5] = {number(SS_EVENT_FIELD_calls, sum->calls),
                                       number(SS_EVENT_FIELD_self_ns, sum->self_ns),
                                       number(SS_EVENT_FIELD_total_ns, sum->total_ns)};
    struct ss_trace_event event = {.time_ns = time_ns,
                                   .track_ref = sums_track(tracks, sum->kind),
                                   .name_ref = ss_tracks_name_ref(tracks, sum->name),
                                   .kind = SS_EVENT_INSTANT,
                                   .fields = fields,
                                   .field_count = 3};
    if (sum->module != 0 && sum->module < tracks->name_entries.count) {
        struct ss_strview module =
            ss_tracks_text(tracks, tracks->name_entries.data[sum->module].text);
        fields[event.field_count++] = (struct ss_event_value){
            .field = SS_EVENT_FIELD_module, .value = {.type = SS_VALUE_TEXT, .text = module}};
    }
    if (sum->in_backward) {
        fields[event.field_count++] = number(SS_EVENT_FIELD_in_backward, 1);
    }
    write(tracks, &event);
}

static void write_steps(struct ss_annotation_tracks *tracks, uint64_t time_ns, const char *name,
                        uint64_t steps, uint64_t ns)
{
    const struct ss_event_value fields[] = {number(SS_EVENT_FIELD_calls, steps),
                                            number(SS_EVENT_FIELD_total_ns, ns)};
    struct ss_trace_event event = {.time_ns = time_ns,
                                   .track_ref = sums_track(tracks, SS_DETAIL_OPERATORS),
                                   .name_ref = ss_tracks_plain_ref(tracks, name),
                                   .kind = SS_EVENT_INSTANT,
                                   .fields = fields,
                                   .field_count = 2};
    write(tracks, &event);
}

static void on_sums(void *context, const struct ss_detail_interval *interval,
                    const struct ss_detail_sum *rows, size_t count)
{
    struct ss_annotation_tracks *tracks = context;
    write_steps(tracks, interval->end_ns, ss_mark_summed_steps, interval->steps,
                interval->steps_ns);
    write_steps(tracks, interval->end_ns, ss_mark_summed_operator_steps, interval->operator_steps,
                interval->operator_steps_ns);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].calls > 0 || rows[i].self_ns > 0) {
            write_sum(tracks, interval->end_ns, &rows[i]);
        }
    }
}

static void on_wait(void *context, uint64_t begin_ns, uint64_t end_ns)
{
    struct ss_annotation_tracks *tracks = context;
    struct ss_trace_event event = {
        .time_ns = begin_ns,
        .track_ref = track_of(tracks, &tracks->waits_track, SS_TRACK_RANGES, ss_domain_torch_waits),
        .name_ref = ss_tracks_plain_ref(tracks, ss_phase_communication),
        .kind = SS_EVENT_BEGIN};
    write(tracks, &event);
    event.time_ns = end_ns;
    event.name_ref = 0;
    event.kind = SS_EVENT_END;
    write(tracks, &event);
}

struct ss_detail_output ss_annotation_tracks_detail(struct ss_annotation_tracks *tracks)
{
    return (struct ss_detail_output){tracks, on_detail, on_sums, on_wait};
}
