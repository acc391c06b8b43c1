/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_problems.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annot/schedule_run.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/record/record_capture.h"
#include "view/output/text_cell.h"

void ss_record_problem(const char *format, ...)
{
    bool is_coloured = ss_cli_use_colour(STDERR_FILENO);
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct ss_strbuf clean; /* one line: names in the message may contain newlines */
    ss_strbuf_init(&clean, 3 * sizeof text);
    ss_text_append_clean(&clean, ss_strview_of(text));
    fprintf(ss_stderr(), "%sstepscope record:%s %s\n",
            is_coloured ? ss_style(SS_STYLE_BOLD_RED) : "", is_coloured ? SS_OFF : "", clean.data);
    ss_strbuf_fini(&clean);
}

/* The state of the trace after a recording that ended early. */
static const char *state_text(const struct ss_record_output *output,
                              const struct ss_record_result *result)
{
    const struct ss_record_figures *figures = &result->figures;
    if (output->per_window) {
        return " hold what was recorded until then";
    }
    if (access(output->trace_path, F_OK) != 0) {
        return figures->start_ns == 0 ? " was never created" : " is gone";
    }
    if (!result->recorder_died && result->error.status == SS_E_NOTFOUND) {
        return " is another file now";
    }
    return figures->samples_written == 0 && result->recorder_died
               ? " was created, but holds no samples yet"
           : result->recorder_died
               ? " holds what was recorded until its last write, a second before at most"
               : " holds what was recorded until then";
}

void ss_record_report_failure(struct ss_record_output *output,
                              const struct ss_record_result *result)
{
    const char *state = state_text(output, result);
    if (result->recorder_died) {
        bool by_signal = WIFSIGNALED(result->recorder_status);
        ss_record_problem("the recorder %s (%s); the program was not disturbed; %s%s",
                          by_signal && WTERMSIG(result->recorder_status) == SIGKILL ? "was killed"
                                                                                    : "died",
                          by_signal ? strsignal(WTERMSIG(result->recorder_status)) : "early exit",
                          output->trace_path, state);
        output->failed = true;
    } else if (result->end == SS_RECORD_FAILED && result->started) {
        ss_record_problem("the recording ended early: %s; the program was not disturbed; %s%s",
                          result->error.message, output->trace_path, state);
        output->failed = true;
    }
}

static const char *unreadable_reason(const struct ss_model *model)
{
    for (size_t i = 0; i < model->notes.count; i++) {
        if (strcmp(ss_model_text(model, model->notes.data[i].kind), "python-unreadable") == 0) {
            return ss_model_text(model, model->notes.data[i].text);
        }
    }
    return NULL;
}

bool ss_record_report_no_window(const struct ss_record_output *output,
                                const struct ss_record_figures *figures)
{
    if (figures->windows > 0) {
        return false;
    }
    if (output->is_on_demand) {
        ss_record_problem(
            "no window was recorded: none was requested, or none came to its end; see "
            "stepscope trigger");
        return true;
    }
    char why[SS_CAPTURE_TEXT_BYTES + 256];
    if (output->capture != NULL) {
        ss_record_capture_why_nothing(output->capture, figures->marked_steps, why, sizeof why);
        ss_record_problem("%s", why);
        return true;
    }
    if (output->schedule == NULL && !output->per_window) {
        return false;
    }
    struct ss_schedule_run run = {.starts = output->schedule != NULL,
                                  .steps = (int64_t)figures->marked_steps,
                                  .longest = (int64_t)figures->most_steps};
    if (output->schedule != NULL) {
        run.schedule = *output->schedule;
    } else if (figures->marked_steps == 0) {
        ss_record_problem(
            "no window was recorded: the program followed no schedule; give --schedule, or let "
            "the program set one (stepscope_schedule, stepscope.Profiler)");
        return true;
    }
    ss_schedule_run_why_nothing(&run, why, sizeof why);
    ss_record_problem("%s", why);
    return true;
}

void ss_record_report_unreadable(struct ss_record_output *output,
                                 const struct ss_record_result *result, const struct ss_error *err)
{
    if (result->exec_errno != 0) {
        return; /* the caller reports it */
    }
    output->failed = true;
    if (access(output->trace_path, F_OK) != 0) {
        ss_record_problem("%s was written, but no longer exists: its folder was renamed, moved or "
                          "removed during the recording",
                          output->trace_path);
    } else {
        ss_record_problem("what was written cannot be read again: %s", err->message);
    }
}

void ss_record_report_empty(struct ss_record_output *output, const struct ss_record_result *result,
                            const struct ss_model *model)
{
    const struct ss_record_figures *figures = &result->figures;
    const char *reason = unreadable_reason(model);
    unsigned long long processes = figures->processes;
    if (result->exec_errno != 0) {
        return; /* the caller reports it */
    }
    output->failed = true;
    if (ss_record_report_no_window(output, figures)) {
        return;
    }
    if (reason != NULL) {
        ss_record_problem("no samples: %s", reason);
    } else if (figures->windows > 0) {
        ss_record_problem(
            "no samples: the windows of the schedule were over before the first one was due; a "
            "higher rate (-r) samples shorter windows");
    } else if (figures->done == 0 && result->end != SS_RECORD_DURATION) {
        ss_record_problem(
            "no samples: the program ended before the first one was due; a higher rate (-r) "
            "samples shorter programs");
    } else if (result->end == SS_RECORD_DURATION && figures->python_processes == 0) {
        ss_record_problem("no samples: after %.3g s (-d) no Python had started; record longer",
                          (double)(figures->end_ns - figures->start_ns) / 1e9);
    } else if (figures->python_processes > 0) {
        ss_record_problem("no samples: Python ended before the first one was taken; a higher rate "
                          "(-r) samples shorter programs");
    } else {
        ss_record_problem(
            "no samples: none of the %llu process%s that ran was a Python that "
            "stepscope supports (CPython 3.8 to 3.15); \"stepscope doctor\" lists what "
            "it finds",
            processes, processes == 1 ? "" : "es");
    }
}
