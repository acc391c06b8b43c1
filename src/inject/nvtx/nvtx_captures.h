/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture ranges of NVTX (base/capture.h): the first range of the name opens a window, its end
 * closes the window. Ranges of the name that begin meanwhile, in it or on other threads, are a part
 * of it. The programs that are recorded so get other functions; any thread calls them.
 */
#ifndef SS_INJECT_NVTX_NVTX_CAPTURES_H
#define SS_INJECT_NVTX_NVTX_CAPTURES_H

#include <stdbool.h>

#include "inject/nvtx/nvtx_tables.h"

/* Whether a range of NVTX opens the windows of this process. */
bool ss_nvtx_has_captures(void);
/* The functions of ranges; the rest are NULL: as in ss_nvtx_core and ss_nvtx_core2. */
extern const struct ss_nvtx_table ss_nvtx_core_captures, ss_nvtx_core2_captures;

#endif
