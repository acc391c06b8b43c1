/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of NVIDIA GPUs by NVML. A separate thread makes the calls, at the interval of the host
 * metrics; the recorder emits the latest readings. A hanging driver costs the metrics, not the
 * recording.
 */
#ifndef SS_SOURCE_NVML_H
#define SS_SOURCE_NVML_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_nvml;

#endif
