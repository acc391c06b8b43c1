/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of devices over time, as counter tracks of each device. Values have the start of their
 * interval; one that stays the same is not repeated, until sampling ends or samples are missing. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "counters/samples.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_DEVICES = 64, MOST_SAMPLED = SS_MOST_SAMPLED_DEVICES };

/* NULL: there are too many. */
static struct ss_device_samples *samples_of(struct ss_device_tracks *devices, uint32_t device)
{
    for (size_t i = 0; i < devices->samples.count; i++) {
        if (devices->samples.data[i].device == device) {
            return &devices->samples.data[i];
        }
    }
    if (ss_device_unit_of(devices, device) == NULL || devices->samples.count >= MOST_DEVICES) {
        return NULL;
    }
    ss_vec_push(&devices->samples, (struct ss_device_samples){.device = device});
    return &devices->samples.data[devices->samples.count - 1];
}

static uint32_t track_of(struct ss_device_tracks *devices, struct ss_device_samples *samples,
                         enum ss_sample_series series)
{
    const struct ss_device_unit *unit = ss_device_unit_of(devices, samples->device);
    if (samples->tracks[series] == 0 && unit != NULL) {
        struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                       .process_ref = ss_recorded_process_ref(devices->process),
                                       .device_ref = unit->ref,
                                       .parent_ref = unit->group_ref,
                                       .name = ss_strview_of(ss_sample_series_title(series)),
                                       .unit = ss_strview_of(ss_sample_series_unit(series)),
                                       .counter = SS_COUNTER_GAUGE};
        samples->tracks[series] = ss_annotation_tracks_put_track(devices->tracks, &track);
    }
    return samples->tracks[series];
}

static void write_value(struct ss_device_tracks *devices, uint32_t track, uint64_t time_ns,
                        double value)
{
    struct ss_record_context *context = devices->context;
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    struct ss_error err = {0};
    struct ss_trace_counter counter = {.time_ns = time_ns, .track_ref = track, .real = value};
    ss_record_context_check(context,
                            ss_recording_counter(context->recording, route, &counter, &err), &err);
}

/* Three digits are more than counters have; bytes are whole. */
static double rounded(double value, enum ss_sample_series series)
{
    bool is_share = strcmp(ss_sample_series_unit(series), "%") == 0;
    return is_share ? (double)(int64_t)(value * 10 + 0.5) / 10 : (double)(int64_t)(value + 0.5);
}

/* No share or rate is negative, and none is so large. */
static bool is_plausible(double value)
{
    return value >= 0 && value < 1e15;
}

/* Another value holds until the next one: the last one ends with 0. */
static void end_samples(struct ss_device_tracks *devices, struct ss_device_samples *samples)
{
    for (uint32_t i = 0; i < SS_SAMPLE_SERIES_COUNT; i++) {
        if ((samples->known >> i & 1) != 0 && samples->tracks[i] != 0) {
            write_value(devices, samples->tracks[i], samples->end_ns, 0);
        }
    }
    samples->known = 0;
}

/* The device's buffer was full: nothing is known of a time longer than an interval. */
static bool lacks_samples(const struct ss_device_samples *samples,
                          const struct ss_device_sample_message *next)
{
    uint64_t interval_ns = next->end_ns > next->begin_ns ? next->end_ns - next->begin_ns : 0;
    return next->begin_ns > samples->end_ns && next->begin_ns - samples->end_ns > interval_ns;
}

void ss_device_on_sample(void *context, const struct ss_device_sample_message *sample)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_samples *samples = samples_of(devices, sample->device);
    if (samples == NULL || sample->begin_ns > ss_device_within(devices, sample->begin_ns)) {
        devices->totals.unplaced++;
        return;
    }
    devices->totals.samples++;
    if (lacks_samples(samples, sample)) {
        end_samples(devices, samples);
    }
    for (uint32_t i = 0; i < SS_SAMPLE_SERIES_COUNT; i++) {
        if ((sample->series >> i & 1) == 0 || !is_plausible(sample->values[i])) {
            continue;
        }
        double value = rounded(sample->values[i], (enum ss_sample_series)i);
        bool is_new =
            (samples->known >> i & 1) == 0 || samples->last[i] < value || samples->last[i] > value;
        if (is_new) {
            write_value(devices, track_of(devices, samples, (enum ss_sample_series)i),
                        sample->begin_ns, value);
        }
        samples->known |= UINT32_C(1) << i;
        samples->last[i] = value;
    }
    samples->end_ns = ss_device_within(devices, sample->end_ns);
}

/* Of the machine: other sources leave out the same figures. */
static void note_sampled(struct ss_record_context *context, const char *uuid, uint32_t series)
{
    struct ss_sampled_device *free_one = NULL;
    for (size_t i = 0; i < MOST_SAMPLED; i++) {
        struct ss_sampled_device *at = &context->sampled[i];
        if (strcmp(at->uuid, uuid) == 0) {
            at->series = series;
            return;
        }
        free_one = free_one == NULL && at->uuid[0] == '\0' ? at : free_one;
    }
    if (free_one != NULL) {
        snprintf(free_one->uuid, sizeof free_one->uuid, "%s", uuid);
        free_one->series = series;
    }
}

void ss_device_on_sampler(void *context, const struct ss_device_sampler_message *sampler)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_samples *samples = samples_of(devices, sampler->device);
    if (samples == NULL) {
        return;
    }
    ss_device_write_uuid(sampler->uuid, samples->uuid, sizeof samples->uuid);
    if (sampler->is_on == 0) {
        end_samples(devices, samples);
    }
    if (samples->uuid[0] != '\0') {
        note_sampled(devices->context, samples->uuid, sampler->is_on != 0 ? sampler->series : 0);
    }
}

/* A program that was killed does not say that sampling ended. */
void ss_device_end_samples(struct ss_device_tracks *devices)
{
    for (size_t i = 0; i < devices->samples.count; i++) {
        struct ss_device_samples *samples = &devices->samples.data[i];
        end_samples(devices, samples);
        if (samples->uuid[0] != '\0') {
            note_sampled(devices->context, samples->uuid, 0);
        }
    }
    ss_vec_fini(&devices->samples);
}

/* --- the same figures of NVML ----------------------------------------------------------------- */

bool ss_device_is_sampled(const struct ss_record_context *context, const char *uuid,
                          const char *figure)
{
    static const struct {
        const char *figure;
        uint32_t series; /* bits: any of these */
    } same[] = {{"SMs busy", 1 << SS_SAMPLES_sm_active},
                {"SM occupancy", 1 << SS_SAMPLES_warps},
                {"tensor cores busy", 1 << SS_SAMPLES_tensor_active},
                {"DRAM bandwidth used", 1 << SS_SAMPLES_dram_read | 1 << SS_SAMPLES_dram_written},
                {"PCIe sent", 1 << SS_SAMPLES_pcie_sent},
                {"PCIe received", 1 << SS_SAMPLES_pcie_received},
                {"NVLink sent", 1 << SS_SAMPLES_nvlink_sent},
                {"NVLink received", 1 << SS_SAMPLES_nvlink_received}};
    uint32_t sampled = 0;
    for (size_t i = 0; i < MOST_SAMPLED; i++) {
        sampled |= strcmp(context->sampled[i].uuid, uuid) == 0 ? context->sampled[i].series : 0;
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (strcmp(same[i].figure, figure) == 0) {
            return (sampled & same[i].series) != 0;
        }
    }
    return false;
}
