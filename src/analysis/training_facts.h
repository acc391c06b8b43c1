/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording tells of a training beside its steps and phases. Pure. */
#ifndef SS_ANALYSIS_TRAINING_FACTS_H
#define SS_ANALYSIS_TRAINING_FACTS_H

/* Names of the tracks that these facts are taken from, for struct ss_model_load; the last is NULL.
 */
extern const char *const ss_training_tracks[];

#endif
