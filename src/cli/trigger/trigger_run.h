/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a window: leaves it in the folder of the run, follows the answers of all recorders,
 * and prints them. Main thread only. */
#ifndef SS_CLI_TRIGGER_TRIGGER_RUN_H
#define SS_CLI_TRIGGER_TRIGGER_RUN_H

#include "base/error.h"
#include "cli/trigger/trigger_request.h"
#include "record/windows/on_demand_folder.h"

struct ss_trigger_options {
    bool has_steps; /* else seconds */
    struct ss_trigger_steps steps;
    double seconds;
    bool waits, is_json;
    bool has_timeout; /* the user gave it */
    double timeout_s;
};

/* `is_recorded`: each rank will record the window, or, if it was waited for, has. */
enum ss_status ss_trigger_run(const struct ss_on_demand_folder *folder,
                              const struct ss_trigger_options *options, bool *is_recorded,
                              struct ss_error *err);

#endif
