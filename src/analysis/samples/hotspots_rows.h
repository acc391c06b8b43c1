/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by hotspots and the call tree; private to analysis/. */
#ifndef SS_ANALYSIS_SAMPLES_HOTSPOTS_ROWS_H
#define SS_ANALYSIS_SAMPLES_HOTSPOTS_ROWS_H

#include "analysis/samples/hotspots.h"

struct ss_weight {
    uint64_t samples, records;
    uint64_t waiting; /* of the samples: the thread was neither running nor runnable */
};

static inline struct ss_weight ss_weight_of(const struct ss_model_total *total)
{
    bool waiting = total->state == SS_STATE_SLEEPING || total->state == SS_STATE_UNINTERRUPTIBLE ||
                   total->state == SS_STATE_STOPPED;
    return (struct ss_weight){total->samples, total->records, waiting ? total->samples : 0};
}

static inline void ss_weight_add(struct ss_weight *sum, struct ss_weight more)
{
    sum->samples += more.samples;
    sum->records += more.records;
    sum->waiting += more.waiting;
}

extern const struct ss_column ss_hot_columns[SS_HOT_COUNT];

/* Self weight by stack id, over the selected totals. The caller frees it. */
struct ss_weight *ss_stack_weights(const struct ss_selection *selection);
/* Group of each frame, from 1: its row. The caller frees it. */
uint32_t *ss_frame_groups(const struct ss_model *model, enum ss_hotspots_by by, bool full_paths,
                          uint32_t *group_count);
/* Name, path and line of a frame, as rows of its kind show them. */
void ss_hot_frame_cells(const struct ss_model *model, enum ss_hotspots_by by, uint32_t frame,
                        bool full_paths, struct ss_cell *cells);
/* Samples, shares and the errors of the shares. */
void ss_hot_weight_cells(const struct ss_selection *selection, struct ss_weight self,
                         struct ss_weight total, struct ss_cell *cells);

#endif
