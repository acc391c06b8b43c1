/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annot/schedule_text.h"
#include "base/terminal.h"
#include "cli/commands/schedule_table.h"
#include "cli/line/command.h"
#include "view/output/text_cell.h"

enum { MAX_STEPS = 10000000, DEFAULT_STEPS = 50 };
enum { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

static bool parse_text(const struct ss_arguments *arguments, struct ss_schedule *schedule)
{
    struct ss_error err = {0};
    if (arguments->positional_count > 1) {
        ss_cli_usage(arguments, "takes one schedule, such as wait=5,warmup=1,active=3,repeat=2");
        return false;
    }
    if (arguments->positional_count == 1 &&
        ss_schedule_parse(arguments->positional[0], schedule, &err) != SS_OK) {
        ss_cli_usage(arguments, "%s", err.message);
        return false;
    }
    return true;
}

static bool parse_schedule(const struct ss_arguments *arguments, struct ss_schedule *schedule)
{
    bool per_epoch = ss_arguments_has(arguments, "per-epoch");
    *schedule = ss_schedule_defaults(per_epoch);
    if (!parse_text(arguments, schedule)) {
        return false;
    }
    const struct {
        const char *option;
        int64_t *value;
    } fields[] = {{"skip-first", &schedule->skip_first},
                  {"skip-first-wait", &schedule->skip_first_wait},
                  {"wait", &schedule->wait},
                  {"warmup", &schedule->warmup},
                  {"active", &schedule->active},
                  {"repeat", &schedule->repeat}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        long long value;
        if (!ss_arguments_get_integer(arguments, fields[i].option, -SS_SCHEDULE_MAX,
                                      SS_SCHEDULE_MAX, *fields[i].value, &value)) {
            return false;
        }
        *fields[i].value = value;
    }
    struct ss_error err = {0};
    if (ss_schedule_check(schedule, &err) != SS_OK) {
        ss_cli_usage(arguments, "%s", err.message);
        return false;
    }
    if (schedule->per_epoch && !per_epoch) {
        ss_cli_usage(arguments, "a schedule with per_epoch needs --per-epoch N,…: the batches of "
                                "each epoch");
        return false;
    }
    schedule->per_epoch = per_epoch;
    return true;
}

/* "12,12": batches of each epoch. */
static bool parse_lengths(const struct ss_arguments *arguments, struct ss_schedule_plan *plan)
{
    const char *text = ss_arguments_get(arguments, "per-epoch");
    int64_t sum = 0;
    for (const char *at = text;; at++) {
        char *end = NULL;
        errno = 0;
        long long length = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
        if (length < 0 || errno != 0 || (*end != ',' && *end != '\0') || length > MAX_STEPS - sum) {
            ss_cli_usage(arguments,
                         "--per-epoch takes the batches of each epoch, as in 12,12 (%d at most in "
                         "all), not \"%s\"",
                         MAX_STEPS, text);
            return false;
        }
        sum += length;
        ss_vec_push(&plan->lengths, (int64_t)length);
        at = end;
        if (*at == '\0') {
            return true;
        }
    }
}

static bool parse_epochs(const struct ss_arguments *arguments, struct ss_schedule_plan *plan)
{
    long long resume_at;
    if (ss_arguments_has(arguments, "steps")) {
        ss_cli_usage(arguments, "--steps counts over the whole run and --per-epoch within epochs; "
                                "give one of them");
        return false;
    }
    if (!parse_lengths(arguments, plan) ||
        !ss_arguments_get_integer(arguments, "resume-at", 0, plan->lengths.data[0], 0,
                                  &resume_at)) {
        return false;
    }
    plan->resume_at = resume_at;
    plan->unknown_length = ss_arguments_has(arguments, "unknown-length");
    return true;
}

static bool parse_steps(const struct ss_arguments *arguments, struct ss_schedule_plan *plan)
{
    long long steps;
    for (int i = 0; i < 2; i++) {
        const char *option = i == 0 ? "resume-at" : "unknown-length";
        if (ss_arguments_has(arguments, option)) {
            ss_cli_usage(arguments, "--%s counts within an epoch: it needs --per-epoch", option);
            return false;
        }
    }
    if (!ss_arguments_get_integer(arguments, "steps", 0, MAX_STEPS, DEFAULT_STEPS, &steps)) {
        return false;
    }
    ss_vec_push(&plan->lengths, (int64_t)steps);
    return true;
}

static enum ss_status print(const struct ss_schedule_plan *plan, int format, struct ss_error *err)
{
    struct ss_schedule_style style = {
        .colour = ss_cli_use_colour(STDOUT_FILENO),
        .width = isatty(STDOUT_FILENO) == 1 ? ss_cli_terminal_width(STDOUT_FILENO) : 0};
    struct ss_schedule_plan_facts facts;
    enum ss_status status = SS_OK;
    ss_schedule_plan_facts_init(&facts, plan);
    if (format == FORMAT_CSV) {
        ss_schedule_print_csv(plan, ss_stdout());
        if (facts.windows.count == 0) {
            fprintf(ss_stderr(), "stepscope schedule: %s\n", facts.why_nothing);
        }
    } else if (format == FORMAT_JSON) {
        ss_schedule_print_json(plan, &facts, ss_stdout());
    } else {
        status = ss_schedule_print_text(plan, &facts, &style, ss_stdout(), err);
    }
    ss_schedule_plan_facts_fini(&facts);
    if (status == SS_OK && (fflush(ss_stdout()) != 0 || ferror(ss_stdout())) && errno != EPIPE) {
        return ss_fail_errno(err, errno, "cannot write the table");
    }
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    static const char *const formats[] = {"text", "csv", "json", NULL};
    struct ss_schedule_plan plan = {0};
    struct ss_error err = {0};
    int format;
    int exit_code = ss_status_exit_code(SS_E_USAGE);
    if (ss_arguments_get_choice(arguments, "format", formats, FORMAT_TEXT, &format) &&
        parse_schedule(arguments, &plan.schedule) &&
        (plan.schedule.per_epoch ? parse_epochs(arguments, &plan)
                                 : parse_steps(arguments, &plan))) {
        ss_text_use_utf8();
        exit_code = print(&plan, format, &err) == SS_OK ? 0 : ss_cli_error(arguments, &err);
    }
    ss_vec_fini(&plan.lengths);
    return exit_code;
}

static const struct ss_option options[] = {
    {.long_name = "skip-first",
     .argument = "N",
     .help = "steps to skip once, before the first cycle (default 0)",
     .group = "Schedule"},
    {.long_name = "skip-first-wait",
     .argument = "N",
     .help = "not 0: the first cycle does not wait (default 0)"},
    {.long_name = "wait", .argument = "N", .help = "steps of a cycle to wait (default 0)"},
    {.long_name = "warmup",
     .argument = "N",
     .help = "steps of a cycle to warm up (default 0; with --per-epoch 1)"},
    {.long_name = "active",
     .argument = "N",
     .help = "steps of a cycle to record, 1 or more (with --per-epoch 4 by default)"},
    {.long_name = "repeat",
     .argument = "N",
     .help = "cycles; 0: no end (default 0; with --per-epoch 1)"},
    {.long_name = "steps",
     .argument = "N",
     .help = "steps of the run, counted as torch.profiler.schedule does (default 50)",
     .group = "Run"},
    {.long_name = "per-epoch",
     .argument = "N,N,…",
     .help = "batches of each epoch, counted as Composer's cyclic_schedule does"},
    {.long_name = "resume-at",
     .argument = "B",
     .help = "the first epoch is resumed at batch B (default 0)"},
    {.long_name = "unknown-length",
     .help = "the length of the data loader is not known to the schedule"},
    {.long_name = "format",
     .argument = "FORMAT",
     .help = "text (the default), csv or json",
     .group = "Output"},
    {0}};

static const char *const examples[] = {
    "stepscope schedule wait=5,warmup=1,active=3,repeat=2 --steps 30",
    "which of 30 steps would be recorded",
    "stepscope schedule --skip-first 1 --active 2 --repeat 0 --per-epoch 12,12 --format csv",
    "the same for two epochs of 12 batches, one row per batch", NULL};

const struct ss_command ss_command_schedule = {
    .name = "schedule",
    .summary = "show which steps a schedule would record",
    .synopsis = "[options] [SCHEDULE]",
    .description =
        "Prints what a schedule does at each step: skip, warmup, record, or record_and_save, "
        "which ends a window. Nothing is run. A schedule counts the steps of the whole run "
        "(--steps, as torch.profiler.schedule does), or the batches of each epoch from 0 "
        "(--per-epoch, as Composer's cyclic_schedule does). SCHEDULE is the text form, such as "
        "wait=5,warmup=1,active=3,repeat=2; options override single arguments of it.",
    .options = options,
    .examples = examples,
    .run = run,
};
