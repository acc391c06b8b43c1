/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of torch.profiler that programs write beside their rings (source/torch_profile.h), as a
 * source of the trace: ranges on a track per thread, "torch.profiler", and per stream of a device,
 * which are entities. Further data of a call are typed fields of its range. Where operators
 * cannot be recorded otherwise, the ranges are written like those of the callback.
 *
 * Owned by the recorder's thread. Errors of the writer are sticky in the context.
 */
#ifndef SS_RECORD_TRACKS_TORCH_PROFILES_H
#define SS_RECORD_TRACKS_TORCH_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/run/options.h"
#include "record/tracks/annotation_tracks.h"

/* Of the recording. */
struct ss_torch_profiles {
    struct ss_record_context *context;
    uint32_t source_ref;
    void (*changed)(struct ss_torch_profiles *profiles); /* after each window */
    bool is_wanted, is_refused;                          /* by the user */
    uint64_t windows, steps, events, left_out, longest_pause_ns;
    char problem[256];
};

/* Of one process. */
struct ss_torch_lane {
    bool is_device;
    int64_t device, lane;
    uint32_t track_ref;
};

struct ss_torch_device {
    int64_t number;          /* as the process numbers it */
    uint32_t ref, group_ref; /* of the device; of the track that holds its streams */
};

struct ss_torch_files {
    struct ss_torch_profiles *profiles;
    struct ss_annotation_tracks *tracks; /* borrowed */
    struct ss_recorded_process *process; /* borrowed */
    char stem[320];                      /* of its ring file's path */
    unsigned next;                       /* number of the next file */
    bool is_instead;                     /* of the operator callback */
    struct ss_vec_of(struct ss_torch_lane) lanes;
    struct ss_vec_of(struct ss_torch_device) devices;
    uint32_t recorded_track; /* of the counter "device work recorded"; 0: not defined yet */
};

void ss_torch_files_init(struct ss_torch_files *files, struct ss_torch_profiles *profiles,
                         struct ss_annotation_tracks *tracks, struct ss_recorded_process *process,
                         const char *ring_path);
void ss_torch_files_fini(struct ss_torch_files *files);
/* Reads the files that have arrived, and removes them. */
void ss_torch_files_collect(struct ss_torch_files *files, uint64_t now_ns);

#endif
