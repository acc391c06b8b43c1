/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that XProf marks (JAX's StepTraceAnnotation, TensorFlow's Trace, Keras): ranges with an
 * argument `step_num`. Devices compute after the mark has ended, and many programs load the next
 * batch outside of it: a step lasts from its mark to the next one of its loop. The end of the last
 * is not known. Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_STEPS_H
#define SS_MODEL_CHROME_CHROME_STEPS_H

#include "model/chrome/chrome_rows.h"

/* Whether the event marks a step of the thread's loop. Of several loops of a thread, as for
 * training and evaluation, the first has the steps. */
bool ss_chrome_marks_step(struct ss_chrome_rows *rows, uint32_t thread,
                          const struct ss_chrome_event *event, int64_t *number);
/* Adds the step that the mark ends. */
void ss_chrome_mark_step(struct ss_chrome_rows *rows, uint32_t thread, int64_t number,
                         const struct ss_builder_range *mark);
/* Adds the last step of each thread. */
void ss_chrome_steps_end(struct ss_chrome_rows *rows);

#endif
