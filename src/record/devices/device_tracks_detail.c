/* SPDX-License-Identifier: Apache-2.0 */
/* The work of devices and the calls for it, in steps that are recorded in full. It belongs to the
 * step in which it was launched, and is written in the order in which it arrives. */
#include <string.h>

#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_HELD = 1 << 17, EVENTS = 2 /* of a range */ };

/* Texts may be the caller's. */
static void hold(struct ss_device_tracks *devices, const struct ss_device_held *range,
                 const struct ss_device_fields *fields)
{
    struct ss_intern *texts = &devices->context->names.texts;
    struct ss_device_held held = *range;
    held.first_field = devices->held_fields.count;
    held.field_count = fields->count;
    for (uint32_t i = 0; i < fields->count; i++) {
        struct ss_event_value field = fields->values[i];
        if (field.value.type == SS_VALUE_TEXT) {
            uint32_t text = ss_intern_put(texts, field.value.text.data, field.value.text.length);
            field.value.text = ss_intern_get(texts, text);
        }
        ss_vec_push(&devices->held_fields, field);
    }
    ss_vec_push(&devices->held, held);
}

static void put(struct ss_device_tracks *devices, enum ss_detail detail,
                const struct ss_device_held *range, const struct ss_event_value *fields)
{
    if (detail != SS_DETAIL_SUMS) {
        if (devices->detail != NULL) {
            ss_detail_filter_spend(devices->detail, detail, EVENTS);
        }
        ss_device_write_range(devices, range->at_ns, range->track_ref, range->name_ref,
                              range->begin_ns, range->end_ns, fields, range->field_count);
    }
}

static enum ss_detail detail_at(const struct ss_device_tracks *devices, uint64_t time_ns)
{
    return devices->detail != NULL ? ss_detail_filter_at(devices->detail, time_ns) : SS_DETAIL_FULL;
}

void ss_device_write(struct ss_device_tracks *devices, uint64_t at_ns, uint32_t track_ref,
                     uint32_t name_ref, uint64_t begin_ns, uint64_t end_ns,
                     const struct ss_device_fields *fields)
{
    struct ss_device_held range = {.at_ns = at_ns,
                                   .begin_ns = begin_ns,
                                   .end_ns = end_ns,
                                   .track_ref = track_ref,
                                   .name_ref = name_ref,
                                   .field_count = fields->count};
    enum ss_detail detail = detail_at(devices, at_ns);
    if (detail == SS_DETAIL_UNDECIDED || devices->first_held < devices->held.count) {
        hold(devices, &range, fields);
    } else {
        put(devices, detail, &range, fields->values);
    }
}

/* Forgets what was released. */
static void pack(struct ss_device_tracks *devices)
{
    size_t first = devices->first_held, count = devices->held.count - first;
    size_t fields = count > 0 ? devices->held.data[first].first_field : devices->held_fields.count;
    if (first <= count && count > 0) {
        return;
    }
    memmove(devices->held.data, devices->held.data + first, count * sizeof *devices->held.data);
    devices->held.count = count;
    devices->first_held = 0;
    devices->held_fields.count -= fields;
    memmove(devices->held_fields.data, devices->held_fields.data + fields,
            devices->held_fields.count * sizeof *devices->held_fields.data);
    for (size_t i = 0; i < count; i++) {
        devices->held.data[i].first_field -= fields;
    }
}

void ss_device_release(struct ss_device_tracks *devices, bool all)
{
    bool is_crowded = devices->held.count - devices->first_held > MOST_HELD;
    while (devices->first_held < devices->held.count) {
        const struct ss_device_held *range = &devices->held.data[devices->first_held];
        enum ss_detail detail = detail_at(devices, range->at_ns);
        if (detail == SS_DETAIL_UNDECIDED && !all && !is_crowded) {
            break;
        }
        detail = detail != SS_DETAIL_UNDECIDED              ? detail
                 : !ss_detail_filter_thins(devices->detail) ? SS_DETAIL_FULL
                 : all                                      ? SS_DETAIL_STOOD_OUT
                                                            : SS_DETAIL_SUMS;
        put(devices, detail, range, devices->held_fields.data + range->first_field);
        devices->first_held++;
    }
    if (devices->first_held > 0) {
        pack(devices);
    }
}
