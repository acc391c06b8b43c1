/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the work of devices of one process to the trace: kernels, copies and memsets on a track
 * per stream, which is an entity as are its context and device; calls of CUDA on a track per
 * thread, "CUDA API" or "HIP API", with the Python stack of launches. Launches, their calls and
 * their work arrive apart and are joined by their correlation.
 *
 * Owned by the recorder's thread. Errors of the writer are sticky in the context.
 */
#ifndef SS_RECORD_DEVICES_DEVICE_TRACKS_H
#define SS_RECORD_DEVICES_DEVICE_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/details/detail_filter.h"
#include "record/tracks/annotation_tracks.h"
#include "source/device_work.h"

/* Of the recording. */
struct ss_device_totals {
    uint64_t processes; /* with a collector */
    uint64_t kernels, copies, memsets, calls, launches;
    uint64_t allocations, releases; /* of memory */
    uint64_t compilations;          /* by the driver */
    uint64_t samples;               /* of counters */
    uint64_t unlaunched;            /* kernel launches without a kernel */
    uint64_t unplaced_kernels;      /* kernels without a launch */
    uint64_t early;                 /* works that begin before their launch: the clock is wrong */
    uint64_t unplaced;              /* works and calls that found no track */
    uint64_t refused;               /* processes that record nothing */
    uint64_t cut; /* processes that ended before their last records: killed, _exit, exec */
    struct ss_device_losses losses;
};

struct ss_device_tracks;

/* `path`: of the process's ring file. `detail`, borrowed: says of which steps the work is written;
 * NULL: of all. NULL: the process has no collector of devices (yet). */
struct ss_device_tracks *ss_device_tracks_open(struct ss_record_context *context,
                                               struct ss_annotation_tracks *tracks,
                                               struct ss_recorded_process *process,
                                               struct ss_detail_filter *detail, const char *path);
/* Writes what has arrived. Returns how full the ring was, in percent. */
uint32_t ss_device_tracks_drain(struct ss_device_tracks *devices, uint64_t now_ns);
/* Whether all work that was collected until `until_ns` has arrived, and that of all launches before
 * `since_ns`. */
bool ss_device_tracks_has_all(const struct ss_device_tracks *devices, uint64_t since_ns,
                              uint64_t until_ns);
/* No more will arrive: writes the rest and the counts, adds to `totals`, and frees. */
void ss_device_tracks_end(struct ss_device_tracks *devices, uint64_t now_ns,
                          struct ss_device_totals *totals);

/* Whether programs sample what NVML names `figure` of the device with this UUID now, which the
 * metrics then leave out. */
bool ss_device_is_sampled(const struct ss_record_context *context, const char *uuid,
                          const char *figure);

#endif
