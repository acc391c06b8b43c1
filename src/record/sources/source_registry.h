/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sources, in the order of doctor and of their starts; they stop in the reverse order. The rows
 * of record/ work on the recorder's own structures: setup->recorder is a struct
 * ss_recorder.
 */
#ifndef SS_RECORD_SOURCES_SOURCE_REGISTRY_H
#define SS_RECORD_SOURCES_SOURCE_REGISTRY_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_children;       /* source_children.c */
extern const struct ss_source_ops ss_source_python;         /* source_python.c */
extern const struct ss_source_ops ss_source_torch_profiler; /* source_torch_profiler.c */
extern const struct ss_source_ops ss_source_gpu;            /* source_gpu.c */
extern const struct ss_source_ops ss_source_annotations;    /* source_annotations.c */
extern const struct ss_source_ops ss_source_on_demand;      /* source_on_demand.c */
extern const struct ss_source_ops ss_source_capture;        /* source_capture.c */
extern const struct ss_source_ops ss_source_clock_sync;     /* source_clock_sync.c */
extern const struct ss_source_ops ss_source_torch; /* source_injection.c; also the next three */
extern const struct ss_source_ops ss_source_mpi;
extern const struct ss_source_ops ss_source_itt;
extern const struct ss_source_ops ss_source_nvtx;

/* Ends with NULL. */
extern const struct ss_source_ops *const ss_sources[];

#endif
