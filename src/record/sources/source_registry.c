/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/source_registry.h"

#include <stdio.h>

#include "source/host.h"
#include "source/nvml.h"

static enum ss_source_state start_native(const struct ss_source_setup *setup, void **source,
                                         char *reason)
{
    (void)setup;
    (void)source;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "not recorded by this version");
    return SS_SOURCE_NOT_AVAILABLE;
}

/* Stacks of native frames have no reader yet: recordings say so. */
static const struct ss_source_ops ss_source_native = {
    .name = "native", .summary = "stacks of native frames", .start = start_native};

/* Processes come first, because the others refer to them. The files of torch.profiler and the
 * rings of devices are read when the annotations of their process are, so their sources outlive
 * that of the annotations. */
const struct ss_source_ops *const ss_sources[] = {
    &ss_source_children, &ss_source_python,    &ss_source_native,     &ss_source_torch_profiler,
    &ss_source_gpu,      &ss_source_on_demand, &ss_source_capture,    &ss_source_annotations,
    &ss_source_torch,    &ss_source_mpi,       &ss_source_itt,        &ss_source_nvtx,
    &ss_source_host,     &ss_source_nvml,      &ss_source_clock_sync, NULL};
