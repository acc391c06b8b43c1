/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/training_facts.h"

#include <stddef.h>

const char *const ss_training_tracks[] = {
    /* Domains of ranges. */
    "torch", "torch.module", "torch.data", "torch.checkpoint", "torch.compile", "python.gc",
    /* Counters of the program. */
    "dataloader ready batches", "memory rss", "cuda allocated", "cuda reserved", "cuda peak",
    /* Of the machine: CPU/busy and pressure/cpu some. */
    "busy", "cpu some", NULL};
