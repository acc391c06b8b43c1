/* SPDX-License-Identifier: Apache-2.0 */
/* Annotated ranges, and the samples that fell into each. Pure. */
#ifndef SS_ANALYSIS_SAMPLES_SAMPLE_RANGES_H
#define SS_ANALYSIS_SAMPLES_SAMPLE_RANGES_H

#include "analysis/steps/ranges.h"

/* Columns of enum ss_hotspots_column. The model must have been loaded with sample_ranges. The row
 * without a name has the samples outside all ranges. */
void ss_sample_ranges_table(const struct ss_selection *selection,
                            const struct ss_ranges_options *options, struct ss_table *table);

#endif
