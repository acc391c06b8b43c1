/* SPDX-License-Identifier: Apache-2.0 */
/* What threads and streams waited for, as CUPTI records it beside the calls: tracks of a device. */
#include <inttypes.h>
#include <stdio.h>

#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_WAIT_TRACKS = 64 };

/* As CUPTI numbers them, and as torch.profiler's files name them. */
static const char *const names[] = {NULL, "Event Sync", "Stream Wait Event", "Stream Sync",
                                    "Context Sync"};
enum { NAMES = sizeof names / sizeof *names };

static const struct ss_device_context *find_context(const struct ss_device_tracks *devices,
                                                    uint32_t number)
{
    for (size_t i = 0; i < devices->contexts.count; i++) {
        if (devices->contexts.data[i].number == number) {
            return &devices->contexts.data[i];
        }
    }
    return NULL;
}

static uint32_t ref_of_stream(const struct ss_device_tracks *devices,
                              const struct ss_device_wait_message *wait)
{
    for (size_t i = 0; i < devices->streams.count; i++) {
        const struct ss_device_stream *stream = &devices->streams.data[i];
        if (stream->number == wait->stream && stream->context == wait->context) {
            return stream->ref;
        }
    }
    return 0;
}

/* Waits of several threads overlap. 0: there are too many. */
static uint32_t track_of(struct ss_device_tracks *devices, uint32_t device,
                         const struct ss_device_wait_message *wait)
{
    char name[32];
    size_t of_device = 0;
    for (size_t i = 0; i < devices->waits.count; i++) {
        struct ss_device_waits *waits = &devices->waits.data[i];
        if (waits->device == device && waits->lane.end_ns <= wait->begin_ns) {
            waits->lane.end_ns = wait->end_ns;
            return waits->lane.track_ref;
        }
        of_device += waits->device == device;
    }
    const struct ss_device_unit *unit = ss_device_unit_of(devices, device);
    if (unit == NULL || devices->waits.count >= MOST_WAIT_TRACKS) {
        return 0;
    }
    snprintf(name, sizeof name, of_device == 0 ? "waits" : "waits (%zu)", of_device + 1);
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(name)};
    struct ss_device_waits made = {
        device, {ss_annotation_tracks_put_track(devices->tracks, &track), wait->end_ns}};
    ss_vec_push(&devices->waits, made);
    return made.lane.track_ref;
}

void ss_device_on_wait(void *context, const struct ss_device_wait_message *message)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_wait_message wait = *message;
    const struct ss_device_context *of = find_context(devices, wait.context);
    wait.end_ns = ss_device_within(devices, wait.end_ns);
    wait.begin_ns = wait.begin_ns < wait.end_ns ? wait.begin_ns : wait.end_ns;
    const char *name = wait.type < NAMES ? names[wait.type] : NULL;
    uint32_t track = of != NULL && name != NULL ? track_of(devices, of->device, &wait) : 0;
    if (track == 0) {
        return;
    }
    ss_device_add_number(&fields, SS_EVENT_FIELD_correlation, wait.correlation);
    if (wait.recorded_by != 0) {
        ss_device_add_number(&fields, SS_EVENT_FIELD_recorded_by, wait.recorded_by);
    }
    ss_device_add_number(&fields, SS_EVENT_FIELD_context, of->ref);
    ss_device_add_number(&fields, SS_EVENT_FIELD_stream, ref_of_stream(devices, &wait));
    ss_device_write(devices, wait.begin_ns, track,
                    ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name),
                                                  ss_strview_of("synchronisation"),
                                                  SS_EVENT_TYPE_synchronisation),
                    wait.begin_ns, wait.end_ns, &fields);
}
