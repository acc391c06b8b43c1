/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a recording. */
#ifndef SS_RECORD_RUN_RESULT_H
#define SS_RECORD_RUN_RESULT_H

#include <stdbool.h>

#include "base/error.h"
#include "record/run/shared.h"

struct ss_record_result {
    enum ss_record_end end;
    struct ss_error error; /* of a failed recording */
    bool started;          /* the program, or the attached recording, began */
    bool recorder_died;    /* killed or crashed; `recorder_status` as waitpid gives it */
    int recorder_status;
    bool program_ended; /* launched, and over with the recording, with… */
    int program_status; /* …this status, as waitpid gives it */
    bool ran;           /* the program, recorded or not */
    bool reported;      /* the error that it runs unrecorded was printed */
    int exec_errno;     /* the program could not be executed */
    bool output_failed; /* what `finished` returned… */
    bool output_killed; /* …or it was cut short by a signal */
    struct ss_record_figures figures;
};

#endif
