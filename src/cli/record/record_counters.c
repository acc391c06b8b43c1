/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_counters.h"

#include "cli/record/device_preflight.h"
#include "counters/request.h"
#include "counters/sets.h"

bool ss_record_counters_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    struct ss_counter_request request = {.skip = 0};
    struct ss_error err = {0};
    const char *counters = ss_arguments_get(arguments, "counters");
    if (!ss_device_preflight_parse(arguments, plan) ||
        !ss_arguments_get_integer(arguments, "counters-skip", 0, SS_COUNTER_REQUEST_MOST, 5,
                                  &request.skip) ||
        !ss_arguments_get_integer(arguments, "counters-count", 0, SS_COUNTER_REQUEST_MOST, 3,
                                  &request.count)) {
        return false;
    }
    if (counters == NULL) {
        return true;
    }
    if (ss_counters_check(counters, &err) != SS_OK ||
        ss_counter_request_set(&request, counters, ss_arguments_get(arguments, "counters-kernel"),
                               &err) != SS_OK) {
        ss_cli_usage(arguments, "--counters: %s", err.message);
        return false;
    }
    if (plan->record.gpu == NULL || !plan->record.inject || plan->record.attach_pid != 0) {
        ss_cli_usage(arguments, "--counters are measured within the program: leave out %s",
                     plan->record.gpu == NULL ? "--gpu off"
                     : !plan->record.inject   ? "--no-inject"
                                              : "--pid");
        return false;
    }
    ss_counter_request_put(&request, plan->counters_text, sizeof plan->counters_text);
    plan->record.counters = plan->counters_text;
    plan->counters = counters;
    return true;
}
