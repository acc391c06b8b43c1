/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware counters measured: of a kernel, which is written with it, and of steps, on a track
 * of the device. */
#include <stdio.h>

#include "base/log.h"
#include "base/shared_names.h"
#include "base/strbuf.h"
#include "platform/gpu_mark.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_MEASURED = 64 };

static void write_kernel(struct ss_device_tracks *devices,
                         const struct ss_device_metrics_message *metrics,
                         struct ss_device_fields *fields)
{
    struct ss_device_work_message work = {.work = SS_DEVICE_KERNEL,
                                          .begin_ns = metrics->begin_ns,
                                          .end_ns = metrics->end_ns,
                                          .device = metrics->device,
                                          .context = metrics->context,
                                          .correlation = metrics->correlation,
                                          .registers = metrics->registers,
                                          .static_shared = metrics->static_shared,
                                          .dynamic_shared = metrics->dynamic_shared,
                                          .name = metrics->name};
    for (int axis = 0; axis < 3; axis++) {
        work.grid[axis] = metrics->grid[axis];
        work.block[axis] = metrics->block[axis];
    }
    ss_device_write_kernel(devices, &work, fields);
}

/* Threads of a process may measure devices of their own, one after the other. 0: too many. */
static uint32_t track_of(struct ss_device_tracks *devices, uint32_t number)
{
    for (size_t i = 0; i < devices->measured.count; i++) {
        if (devices->measured.data[i].device == number) {
            return devices->measured.data[i].lane.track_ref;
        }
    }
    const struct ss_device_unit *unit = ss_device_unit_of(devices, number);
    if (unit == NULL || devices->measured.count >= MOST_MEASURED) {
        return 0;
    }
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(ss_domain_gpu_counters)};
    struct ss_device_waits made = {.device = number};
    made.lane.track_ref = ss_annotation_tracks_put_track(devices->tracks, &track);
    ss_vec_push(&devices->measured, made);
    return made.lane.track_ref;
}

/* A process measures one device. */
static bool is_shown(struct ss_device_tracks *devices,
                     const struct ss_device_metrics_message *metrics)
{
    if (!devices->knows_mark) {
        char identity[128];
        struct ss_strview text = ss_device_text_of(devices, metrics->identity);
        snprintf(identity, sizeof identity, "%.*s", (int)text.length, text.data);
        struct ss_gpu_mark mark = {identity, ss_device_work_version(devices->source), "/proc"};
        devices->is_marked = ss_gpu_mark_exists(&mark);
        devices->knows_mark = true;
        if (!devices->is_marked) {
            ss_log(SS_WARN, "record",
                   "hardware counters are recorded, but reports do not show them: the self-test "
                   "has not passed with this device, driver and CUPTI; run `stepscope doctor "
                   "--gpu`, then record again");
        }
    }
    return devices->is_marked;
}

/* {"METRIC": [VALUE, "UNIT"], …}: names and units have no characters that JSON escapes, since CUPTI
 * knows them. */
static void write_values(const struct ss_device_tracks *devices,
                         const struct ss_device_metric *values, uint32_t count,
                         struct ss_strbuf *out)
{
    ss_strbuf_append_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        struct ss_strview name = ss_device_text_of(devices, values[i].name);
        struct ss_strview unit = ss_device_text_of(devices, values[i].unit);
        ss_strbuf_append_format(out, "%s\"%.*s\":[%.17g,\"%.*s\"]", i > 0 ? "," : "",
                                (int)name.length, name.data, values[i].value, (int)unit.length,
                                unit.data);
    }
    ss_strbuf_append_char(out, '}');
}

static void write_metrics(struct ss_device_tracks *devices,
                          const struct ss_device_metrics_message *message, struct ss_strview values)
{
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_metrics_message metrics = *message;
    metrics.end_ns = ss_device_within(devices, metrics.end_ns);
    metrics.begin_ns = metrics.begin_ns < metrics.end_ns ? metrics.begin_ns : metrics.end_ns;
    ss_device_add_text(&fields,
                       is_shown(devices, &metrics) ? SS_EVENT_FIELD_metrics
                                                   : SS_EVENT_FIELD_untested_metrics,
                       values);
    if (metrics.name != 0) {
        write_kernel(devices, &metrics, &fields);
        return;
    }
    uint32_t track = track_of(devices, metrics.device);
    ss_device_add_number(&fields, SS_EVENT_FIELD_step,
                         metrics.step > 0 ? (uint64_t)metrics.step : 0);
    if (track != 0) {
        ss_device_write_range(
            devices, metrics.begin_ns, track,
            ss_annotation_tracks_put_name(devices->tracks, ss_strview_of("training step"),
                                          ss_strview_of("counters"), SS_EVENT_TYPE_range),
            metrics.begin_ns, metrics.end_ns, fields.values, fields.count);
    }
}

void ss_device_on_metrics(void *context, const struct ss_device_metrics_message *message,
                          const struct ss_device_metric *values)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, SS_DEVICE_MAX_TEXT_BYTES);
    write_values(context, values, message->count, &text);
    write_metrics(context, message,
                  text.overflow ? (struct ss_strview){"", 0}
                                : (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}
