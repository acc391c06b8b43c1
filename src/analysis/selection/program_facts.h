/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that a process recorded of itself: notes of the kind "fact", "key = value". Pure. */
#ifndef SS_ANALYSIS_SELECTION_PROGRAM_FACTS_H
#define SS_ANALYSIS_SELECTION_PROGRAM_FACTS_H

#include "model/core/model.h"

/* Whether the note is a fact with this key. */
bool ss_program_fact_is(const struct ss_model *model, const struct ss_model_note *note,
                        const char *key);
/* The last note with this key; NULL: none. */
const struct ss_model_note *ss_program_fact(const struct ss_model *model, uint32_t process,
                                            const char *key);
/* Its value; empty without a note. */
struct ss_strview ss_program_fact_text(const struct ss_model *model,
                                       const struct ss_model_note *note);
/* The rank of a process: as its launcher, or else as the program says; -1: unknown. */
int64_t ss_rank_of(const struct ss_model *model, uint32_t process);
/* One line on the first process of the input with torch that stepscope's hooks never reached: why,
 * and the fix; NULL: none. */
const char *ss_program_missed_torch(const struct ss_model *model, uint32_t input);

#endif
