/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of NVIDIA GPUs by NVML. The calls run on a thread of the source's own, at the beat of
 * the host's figures; the recorder takes what that thread read last. A driver that hangs costs the
 * figures, not the recording.
 */
#ifndef SS_SOURCE_NVML_H
#define SS_SOURCE_NVML_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_nvml;

#endif
