/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with NVTX of its own: it finds the tool by itself, at its first call. */
#include <nvtx3/nvToolsExt.h>

void work(const char *name, int rounds);

void work(const char *name, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}
