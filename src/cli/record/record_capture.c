/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_capture.h"

#include <inttypes.h>
#include <stdio.h>

/* An option that a capture excludes; NULL: none is given. */
static const char *other_option(const struct ss_record_plan *plan)
{
    bool is_inside =
        plan->capture.by != SS_CAPTURE_BY_TIME && plan->capture.by != SS_CAPTURE_BY_SIGNAL;
    return plan->on_demand                             ? "--on-demand"
           : plan->record.schedule != NULL             ? "--schedule"
           : is_inside && plan->record.attach_pid != 0 ? "--pid"
           : is_inside && !plan->record.inject         ? "--no-inject"
                                                       : NULL;
}

bool ss_record_capture_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    const char *what = ss_arguments_get(arguments, "capture");
    const char *end = ss_arguments_get(arguments, "capture-end");
    struct ss_error err = {0};
    if (what == NULL) {
        if (end != NULL) {
            ss_cli_usage(arguments, "--capture-end %s: there is no --capture", end);
        }
        return end == NULL;
    }
    if (ss_capture_parse(what, end, &plan->capture, &err) != SS_OK) {
        ss_cli_usage(arguments, "--capture %s%s%s: %s", what, end != NULL ? " --capture-end " : "",
                     end != NULL ? end : "", err.message);
        return false;
    }
    const char *other = other_option(plan);
    if (other != NULL) {
        ss_cli_usage(arguments, "--capture %s and %s exclude each other: leave out one of them",
                     what, other);
        return false;
    }
    if (plan->capture.by == SS_CAPTURE_BY_PROFILER_API && plan->record.gpu == NULL) {
        ss_cli_usage(arguments, "--capture cuda-profiler-api sees the calls of the program through "
                                "CUPTI: leave out --gpu off");
        return false;
    }
    if (plan->capture.ends_program && plan->record.attach_pid != 0) {
        ss_cli_usage(arguments,
                     "--capture-end %s ends a program that record started: leave out --pid", end);
        return false;
    }
    ss_capture_put(&plan->capture, plan->capture_text, sizeof plan->capture_text);
    snprintf(plan->capture_words, sizeof plan->capture_words, "capture %s, %s", what,
             end != NULL ? end : "repeat");
    plan->record.schedule = plan->capture_text;
    plan->record.schedule_words = plan->capture_words;
    plan->record.capture = plan->output.capture = &plan->capture;
    return true;
}

void ss_record_capture_why_nothing(const struct ss_capture *capture, uint64_t marked_steps,
                                   char *text, size_t size)
{
    switch (capture->by) {
    case SS_CAPTURE_BY_PROFILER_API:
        snprintf(text, size,
                 "no window was recorded: no process called cudaProfilerStart with CUDA "
                 "initialised; call torch.cuda.profiler.start() in it, or record without "
                 "--capture");
        break;
    case SS_CAPTURE_BY_NVTX:
        snprintf(text, size,
                 "no window was recorded: no range of NVTX with the name \"%s\"%s%s began; record "
                 "without --capture, then `stepscope report --by range` lists the names",
                 capture->name, capture->is_any_domain ? "" : " in the domain ",
                 capture->is_any_domain       ? ""
                 : capture->domain[0] != '\0' ? capture->domain
                                              : "without a name");
        break;
    case SS_CAPTURE_BY_STEPS:
        snprintf(text, size,
                 "no window was recorded: the program marked %" PRIu64 " steps, and the first "
                 "recorded one is number %" PRId64,
                 marked_steps, capture->first_step);
        break;
    case SS_CAPTURE_BY_TIME:
        snprintf(text, size,
                 "no window was recorded: the program ended before the delay of %.6g s was over",
                 (double)capture->delay_ns / 1e9);
        break;
    default:
        snprintf(text, size,
                 "no window was recorded: the recorder got no signal; send it to the process of "
                 "`stepscope record`");
        break;
    }
}
