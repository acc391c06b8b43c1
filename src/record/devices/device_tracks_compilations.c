/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the driver compiles while the program waits, or has from its cache, on tracks of the
 * device; and the ids that programs give to what their calls do. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/shared_names.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_TRACKS = 64, MOST_EXTERNALS = 1 << 16, PTX = 1 };

/* --- compilations ----------------------------------------------------------------------------- */

/* Threads compile at the same time. 0: there are too many. */
static uint32_t track_of(struct ss_device_tracks *devices,
                         const struct ss_device_compilation_message *message)
{
    char name[48];
    size_t of_device = 0;
    for (size_t i = 0; i < devices->compilations.count; i++) {
        struct ss_device_waits *known = &devices->compilations.data[i];
        if (known->device == message->device && known->lane.end_ns <= message->begin_ns) {
            known->lane.end_ns = message->end_ns;
            return known->lane.track_ref;
        }
        of_device += known->device == message->device;
    }
    const struct ss_device_unit *unit = ss_device_unit_of(devices, message->device);
    if (unit == NULL || devices->compilations.count >= MOST_TRACKS) {
        return 0;
    }
    snprintf(name, sizeof name, of_device == 0 ? "%s" : "%s (%zu)", ss_domain_cuda_compilations,
             of_device + 1);
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(name)};
    struct ss_device_waits made = {
        message->device,
        {ss_annotation_tracks_put_track(devices->tracks, &track), message->end_ns}};
    ss_vec_push(&devices->compilations, made);
    return made.lane.track_ref;
}

static const char *name_of(const struct ss_device_compilation_message *message)
{
    switch (message->operation) {
    case SS_DEVICE_CACHE_LOADS:
        return SS_JIT_CACHE_LOADS;
    case SS_DEVICE_CACHE_STORES:
        return SS_JIT_CACHE_STORES;
    default:
        return message->input == PTX ? SS_JIT_COMPILES_PTX : SS_JIT_COMPILES_NVVM;
    }
}

void ss_device_on_compilation(void *context, const struct ss_device_compilation_message *message)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_compilation_message of = *message;
    of.end_ns = ss_device_within(devices, of.end_ns);
    of.begin_ns = of.begin_ns < of.end_ns ? of.begin_ns : of.end_ns;
    uint32_t track = track_of(devices, &of);
    if (track == 0) {
        devices->totals.unplaced++;
        return;
    }
    devices->totals.compilations += of.operation == SS_DEVICE_COMPILES;
    ss_device_add_number(&fields, SS_EVENT_FIELD_correlation, of.correlation);
    ss_device_add_number(&fields, SS_EVENT_FIELD_bytes, of.bytes);
    ss_device_write_range(
        devices, of.begin_ns, track,
        ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name_of(&of)),
                                      ss_strview_of("compilation"), SS_EVENT_TYPE_range),
        of.begin_ns, of.end_ns, fields.values, fields.count);
}

/* --- ids of the program ----------------------------------------------------------------------- */

static void forget(struct ss_device_tracks *devices, struct ss_device_external *external)
{
    HASH_DEL(devices->externals, external);
    ss_free(external);
}

/* Several may be open: the last family counts. */
void ss_device_on_external(void *context, const struct ss_device_external_message *message)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_external *external = NULL;
    HASH_FIND(hh, devices->externals, &message->correlation, sizeof message->correlation, external);
    if (external != NULL) {
        external->id = message->id;
        return;
    }
    if (HASH_COUNT(devices->externals) >= MOST_EXTERNALS) { /* the oldest is the first */
        forget(devices, devices->externals);
    }
    external = ss_alloc_zero(1, sizeof *external);
    external->correlation = message->correlation;
    external->id = message->id;
    HASH_ADD(hh, devices->externals, correlation, sizeof external->correlation, external);
}

uint64_t ss_device_external_of(const struct ss_device_tracks *devices, uint32_t correlation)
{
    struct ss_device_external *external = NULL;
    HASH_FIND(hh, devices->externals, &correlation, sizeof correlation, external);
    return external != NULL ? external->id : 0;
}

void ss_device_free_externals(struct ss_device_tracks *devices)
{
    struct ss_device_external *external, *next;
    HASH_ITER(hh, devices->externals, external, next)
    {
        forget(devices, external);
    }
    ss_vec_fini(&devices->compilations);
}
