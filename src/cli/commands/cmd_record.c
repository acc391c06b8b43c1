/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annot/schedule_text.h"
#include "base/alloc.h"
#include "base/env.h"
#include "base/log.h"
#include "base/secrets.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/reading/formats.h"
#include "cli/record/device_preflight.h"
#include "cli/record/record_capture.h"
#include "cli/record/record_counters.h"
#include "cli/record/record_job.h"
#include "cli/record/record_output.h"
#include "cli/record/record_plan.h"
#include "platform/procfs.h"
#include "platform/ptrace_access.h"
#include "record/run/launch.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"
#include "record/run/retained_files.h"
#include "record/run/window_files.h"
#include "record/run/window_name.h"
#include "record/session/supervisor.h"
#include "view/output/sink.h"

static const struct ss_option options[] = {
    {"output", 'o', "FILE",
     "output file; missing folders are created; %r rank, %R number of ranks, %l local rank, %n "
     "node, %j job, %a restart, %p pid, %h host, %t time, %q{VAR} environment; with {epoch}, "
     "{batch}, {window}, {rank}… a file for each window of the schedule; NAME.stepscope is a "
     "folder, with a file for each rank; - is standard output, written at the end (default "
     "PROGRAM-TIME-PID.pftrace in the current folder; of many ranks PROGRAM-RUN.stepscope)",
     "Output", false},
    {"format", 'f', "FORMAT",
     "native, raw, flamegraph, speedscope or chrometrace (default by the file's ending, else "
     "native)",
     NULL, false},
    {"per-window", 0, NULL,
     "a file for each window of the schedule: in the folder NAME.stepscope, unless -o has {…} in "
     "it",
     NULL, false},
    {"traces-to-keep", 0, "N",
     "with a file for each window: how many of the newest to keep for each process; -1: all "
     "(the default)",
     NULL, false},
    {"keep-native", 0, NULL,
     "with another format: also keep the native trace, beside the file and under its name, for "
     "report, flame and export",
     NULL, false},
    {"no-overwrite", 0, NULL,
     "refuse to start when the file exists already, or the folder of the windows' files is not "
     "empty",
     NULL, false},
    {"quiet", 'q', NULL, "no status line and no summary", NULL, false},
    {"stats", 0, "[=true|false]",
     "print the tables of \"stepscope report\" on standard error at the end of the recording, "
     "for the output file of a batch job",
     NULL, false},
    {"pid", 'p', "PID", "attach to a running process instead of starting a program", "What", false},
    {"ranks", 0, "RANKS",
     "of many ranks, record only these, such as 0,8-15,local0,every:64; localN: local rank N of "
     "each node; the others run the program as if stepscope were not there",
     NULL, false},
    {"max-ranks", 0, "N", "record at most N ranks, the lowest of the selected", NULL, false},
    {"rank", 0, "RANK[/RANKS]",
     "the rank of this process, and the number of ranks, where no launcher says so", NULL, false},
    {"print-job", 0, "SYSTEM",
     "print the script of a job that records PROGRAM so, and run nothing; SYSTEM is slurm, pbs or "
     "torchrun",
     NULL, false},
    {"rate", 'r', "HZ", "samples per second of every thread (default 100)", NULL, false},
    {"duration", 'd', "SECONDS",
     "stop recording after this time; the program runs on (default: record until it ends)", NULL,
     false},
    {"max-size", 0, "SIZE",
     "size near which the recording of a program with its processes stays, such as 200M (default "
     "1G): first all steps are recorded in full, later some of them and those that stand out; of "
     "the others times, phases and samples, and sums of operators and modules",
     NULL, false},
    {"full", 0, NULL, "record all steps in full, however large the file becomes", NULL, false},
    {"host-interval", 0, "SECONDS",
     "time between readings of CPU, memory, disks, networks and GPUs, and of what the processes "
     "use of them; 0: none (default 0.5)",
     NULL, false},
    {"clock-sync", 0, "HOST:PORT",
     "exchange pings with the recorder of another machine of the run, so that readers can align "
     "the clocks within microseconds. auto: they find each other by the folder that they write to; "
     "HOST:PORT asks there, and :PORT answers, with one STEPSCOPE_RUN_SECRET on all machines",
     NULL, false},
    {"schedule", 0, "SCHEDULE",
     "record only the steps that the schedule selects, such as "
     "wait=5,warmup=1,active=3,repeat=2; the program must mark its steps; \"stepscope schedule "
     "SCHEDULE\" shows the selected ones",
     NULL, false},
    {"on-demand", 0, NULL,
     "record nothing but the windows that \"stepscope trigger\" asks for while the program runs",
     NULL, false},
    {"capture", 0, "RANGE",
     "record nothing but windows: cuda-profiler-api opens one at cudaProfilerStart and closes it "
     "at "
     "cudaProfilerStop; nvtx:NAME[@DOMAIN] is a range of NVTX; step:A-B the steps from A to B; "
     "delay:30s,duration:60s (one of them is enough) a time from the start of the recording; "
     "signal:USR2 opens and closes one at each signal to the process of stepscope record",
     NULL, false},
    {"capture-end", 0, "HOW",
     "what the end of a capture does: repeat (the default) waits for the next one, repeat:N until "
     "there are N in a process; stop records one; none records from its start to the end of the "
     "program; stop-shutdown and repeat-shutdown:N then end the program with SIGTERM",
     NULL, false},
    {"no-subprocesses", 0, NULL, "record the program only, not the processes that it starts", NULL,
     false},
    {"subprocesses", 's', NULL, "also record the processes that it starts (the default)", NULL,
     false},
    {"native", 'n', NULL, "native frames: not supported; this version records Python frames only",
     NULL, false},
    {"nonblocking", 0, NULL, "never stop the program (the default, and the only mode)", NULL,
     false},
    {"no-inject", 0, NULL, "set no environment variables of the program and load nothing into it",
     NULL, false},
    {"keep-secrets", 0, NULL,
     "record command lines unmasked (default: words that look like passwords or tokens are "
     "masked)",
     NULL, false},
    {"no-torch", 0, NULL,
     "do not instrument PyTorch: nothing is preloaded, no operators are recorded, and only the "
     "steps and phases that the program marks",
     NULL, false},
    {"no-mpi", 0, NULL, "do not record calls of MPI", NULL, false},
    {"gpu", 0, "LEVEL",
     "work of CUDA and AMD devices: default records kernels, copies, memsets, and the calls of the "
     "runtime with the Python line of each launch; light leaves out the calls that launch "
     "nothing, and has one entry for each launch of a graph; full adds the calls of the driver, "
     "memory that the program takes, and ids that it gives; off records none",
     NULL, false},
    {"gpu-metrics", 0, "SECONDS",
     "also sample counters of devices at this interval, such as 0.001: active SMs and tensor "
     "cores, DRAM, PCIe, NVLink; needs CUPTI 12.6 and the permission to count",
     NULL, false},
    {"counters", 0, "SET",
     "measure hardware counters of steps: memory, roofline, detailed (`stepscope kernel --sets`), "
     "or metrics by name, separated by commas; consecutive steps are the passes of a measurement, "
     "and the work of measured steps is not recorded",
     NULL, false},
    {"counters-skip", 0, "N", "steps before the first that is measured (default 5)", NULL, false},
    {"counters-count", 0, "N", "measurements; 0: to the end (default 3)", NULL, false},
    {"counters-kernel", 0, "REGEX", "of kernels in place of steps: see `stepscope kernel -k`", NULL,
     true},
    {"preflight", 0, "HOW",
     "when the machine cannot do what --counters or --gpu-metrics ask for: stop (the default) "
     "before "
     "the program starts, warn and record the rest, or off: do not test it",
     NULL, false},
    {"gpu-beside-profiler", 0, "HOW",
     "while torch.profiler records devices: yield (the default) leaves them to it; tee shares the "
     "records, and both recordings are complete",
     NULL, false},
    {"operators", 0, "WHEN",
     "operators of PyTorch: auto (the default) records them in steps chosen at random, at a "
     "cost of about 1.2 % of the time; all records every step; collectives records only the "
     "collectives, of every step; off records none",
     NULL, false},
    {"module-depth", 0, "N",
     "depth down to which modules of PyTorch are recorded: 0 is the model only, 2 adds its "
     "submodules and theirs (the default); -1: none",
     NULL, false},
    {"step-optimizer", 0, "CLASS",
     "with several optimizers, the one whose updates end the steps, such as AdamW (default: the "
     "first that updates)",
     NULL, false},
    {"torch-profiler", 0, "[=WHAT]",
     "also run torch.profiler, for a few steps; WHAT, any of shapes,memory,flops,stacks, is "
     "what it records besides calls; the program's own torch.profiler takes precedence",
     NULL, false},
    {"torch-profiler-steps", 0, "A:B",
     "first and last step of torch.profiler (default: the windows of the schedule, else 5:8)", NULL,
     false},
    {"full-rings", 0, "WHAT",
     "when annotations come faster than the recorder reads them: drop the newest (the default) "
     "or overwrite the oldest; the lost ones are counted",
     NULL, false},
    {"threads", 't', NULL, "thread names as frames", "Converted formats (native keeps everything)",
     false},
    {"gil", 'g', NULL, "only samples that hold the GIL", NULL, false},
    {"idle", 'i', NULL, "also idle samples", NULL, false},
    {"function", 'F', NULL, "functions by their first line, not the line sampled", NULL, false},
    {"nolineno", 0, NULL, "no line numbers", NULL, false},
    {"full-filenames", 0, NULL, "full paths, not paths inside the package", NULL, false},
    {0}};

static const char *const examples[] = {
    "stepscope record -- python train.py",
    "the whole run, native trace in this folder",
    "stepscope record -o out/flame.svg -r 250 -- python train.py",
    "a flame graph at 250 Hz",
    "stepscope record -d 30 -p 4242",
    "30 seconds of a running process",
    "stepscope record -- torchrun --nproc-per-node 2 train.py",
    "every rank of this machine, in one file",
    "srun stepscope record --ranks local0 -- python train.py",
    "one rank of each node, in one folder",
    "stepscope record --stats -- python train.py > job.out 2>&1",
    "the tables in a batch job's output",
    NULL};

/* `record t.py` runs t.py with python when t.py cannot be executed itself. */
static void set_program(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    char **words = arguments->positional;
    size_t count = (size_t)arguments->positional_count;
    size_t length = strlen(words[0]);
    bool script = length > 3 && strcmp(words[0] + length - 3, ".py") == 0;
    bool runs = strchr(words[0], '/') != NULL && access(words[0], X_OK) == 0;
    plan->program = ss_alloc_zero(count + 2, sizeof *plan->program);
    size_t at = 0;
    if (script && !runs && access(words[0], R_OK) == 0) {
        plan->program[at++] =
            (char *)(ss_env_get(SS_ENV_VIRTUAL_ENV) != NULL ? "python" : "python3");
    }
    memcpy(plan->program + at, words, count * sizeof *words);
    plan->record.program = plan->program;
}

static char *join_words(char *const *words, bool keeps_secrets)
{
    struct ss_strbuf text, masked;
    ss_strbuf_init(&text, 4096);
    for (int i = 0; words[i] != NULL; i++) {
        ss_strbuf_append(&text, keeps_secrets ? " " : "", i > 0 ? 1 : 0);
        ss_strbuf_append_text(&text, words[i]);
    }
    if (keeps_secrets) {
        return text.data;
    }
    ss_strbuf_init(&masked, 4096);
    ss_secrets_append_masked(&masked, text.data, text.length);
    ss_strbuf_fini(&text);
    return masked.data;
}

/* The command line of the process, for display; its pid when the command line cannot be read. */
static char *command_line_of(pid_t pid, bool keeps_secrets)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_procfs_cmdline(pid, keeps_secrets, &text);
    if (text.length == 0) {
        ss_strbuf_append_format(&text, "process %d", (int)pid);
    }
    char *owned = ss_strbuf_take(&text);
    ss_strbuf_fini(&text);
    return owned;
}

/* 0: until the program ends, which is py-spy's "unlimited". */
static bool parse_duration(const struct ss_arguments *arguments, double *seconds)
{
    const char *text = ss_arguments_get(arguments, "duration");
    if (text != NULL && strcmp(text, "unlimited") == 0) {
        *seconds = 0;
        return true;
    }
    return ss_arguments_get_number(arguments, "duration", 0.001, 1e9, 0, seconds);
}

/* As in nsys: --stats, --stats=true. The report needs a recording that still exists then. */
static bool parse_stats(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    const char *text = ss_arguments_get(arguments, "stats");
    bool is_true = text != NULL && (text[0] == '\0' || strcmp(text, "true") == 0);
    if (text != NULL && !is_true && strcmp(text, "false") != 0) {
        ss_cli_usage(arguments, "--stats takes true or false, not \"%s\"", text);
        return false;
    }
    const char *path = ss_arguments_get(arguments, "output");
    bool is_file = path == NULL || ss_sink_descriptor(path) < 0;
    if (is_true && (!is_file || !plan->output.format->is_readable)) {
        ss_cli_usage(arguments, "--stats reads the recording: it needs a native or raw one, in a "
                                "file (-o)");
        return false;
    }
    plan->output.stats = is_true;
    return true;
}

/* The options without a value that can be wrong. */
static void set_flags(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    plan->record.clock_sync = ss_arguments_get(arguments, "clock-sync");
    plan->per_window =
        ss_arguments_has(arguments, "per-window") || ss_arguments_has(arguments, "traces-to-keep");
    plan->no_overwrite = ss_arguments_has(arguments, "no-overwrite");
    plan->record.follow_children = !ss_arguments_has(arguments, "no-subprocesses");
    plan->record.inject = !ss_arguments_has(arguments, "no-inject");
    plan->record.no_mpi = ss_arguments_has(arguments, "no-mpi");
    plan->record.no_torch = ss_arguments_has(arguments, "no-torch");
    plan->record.keep_secrets = plan->output.keep_secrets =
        ss_arguments_has(arguments, "keep-secrets");
    plan->record.keep_native = plan->output.keep_native =
        ss_arguments_has(arguments, "keep-native");
    plan->output.quiet = ss_arguments_has(arguments, "quiet");
    plan->record.show_status =
        !plan->output.quiet && isatty(STDERR_FILENO) == 1 && ss_cli_use_colour(STDERR_FILENO);
    plan->output.threads = ss_arguments_has(arguments, "threads");
    plan->output.gil_only = ss_arguments_has(arguments, "gil");
    plan->output.idle = ss_arguments_has(arguments, "idle");
    plan->output.function_only = ss_arguments_has(arguments, "function");
    plan->output.no_lines = ss_arguments_has(arguments, "nolineno");
    plan->output.full_filenames = ss_arguments_has(arguments, "full-filenames");
    if (ss_arguments_has(arguments, "native")) {
        ss_log(SS_WARN, "record", "--native: this version records Python frames only");
    }
}

/* Long: one line for each option. */
static bool parse_options(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    char profiler[192];
    static const char *const full_rings[] = {"drop", "overwrite", NULL};
    double seconds, host_seconds;
    const char *optimizer = ss_arguments_get(arguments, "step-optimizer");
    static const char *const operators[] = {"auto", "all", "collectives", "off", NULL};
    long long pid, to_keep, depth;
    int when_full, which_operators;
    if (!ss_arguments_get_number(arguments, "rate", 0.01, 100000, 100, &plan->record.rate_hz) ||
        !parse_duration(arguments, &seconds) ||
        !ss_arguments_get_number(arguments, "host-interval", 0, 86400, 0.5, &host_seconds) ||
        !ss_arguments_get_integer(arguments, "pid", 1, 0x7fffffff, 0, &pid) ||
        !ss_arguments_get_integer(arguments, "traces-to-keep", -1, 0x7fffffff, -1, &to_keep) ||
        !ss_arguments_get_integer(arguments, "module-depth", -1, 1000, 2, &depth) ||
        !ss_arguments_get_choice(arguments, "operators", operators, 0, &which_operators) ||
        !ss_arguments_get_choice(arguments, "full-rings", full_rings, 0, &when_full) ||
        !ss_record_plan_choose_size(arguments, plan) ||
        !ss_record_plan_choose_profiler(arguments, profiler, sizeof profiler) ||
        !ss_record_plan_choose_format(arguments, plan) || !parse_stats(arguments, plan) ||
        !ss_record_plan_choose_gpu(arguments, plan)) {
        return false;
    }
    if (ss_arguments_has(arguments, "function") && ss_arguments_has(arguments, "nolineno")) {
        ss_cli_usage(arguments, "--function and --nolineno exclude each other");
        return false;
    }
    plan->record.duration_ns = (uint64_t)(seconds * 1e9);
    plan->record.host_interval_ns = (uint64_t)(host_seconds * 1e9);
    plan->record.attach_pid = (pid_t)pid;
    plan->record.overwrite_events = when_full == 1;
    plan->record.windows_to_keep = to_keep;
    plan->output.rate_hz = plan->record.rate_hz;
    set_flags(arguments, plan);
    snprintf(plan->torch_text, sizeof plan->torch_text, "depth=%lld,operators=%s%s%s%s", depth,
             operators[which_operators], optimizer != NULL ? ",optimizer=" : "",
             optimizer != NULL ? optimizer : "", profiler);
    plan->record.torch = plan->torch_text;
    plan->record.torch_profiler = profiler[0] != '\0';
    return ss_record_counters_parse(arguments, plan);
}

static bool parse_schedule(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    const char *text = ss_arguments_get(arguments, "schedule");
    struct ss_error err = {0};
    if (text == NULL) {
        return true;
    }
    if (ss_schedule_parse(text, &plan->schedule, &err) != SS_OK) {
        ss_cli_usage(arguments, "--schedule %s: %s", text, err.message);
        return false;
    }
    if (plan->record.attach_pid != 0 || !plan->record.inject) {
        ss_cli_usage(arguments,
                     "--schedule must be set when the program starts: leave out %s, or record "
                     "without a schedule",
                     plan->record.attach_pid != 0 ? "--pid" : "--no-inject");
        return false;
    }
    ss_schedule_put(&plan->schedule, plan->schedule_text, sizeof plan->schedule_text);
    plan->record.schedule = plan->schedule_text;
    plan->output.schedule = &plan->schedule;
    return true;
}

static bool parse_target(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    bool attach = plan->record.attach_pid != 0;
    if (attach && arguments->positional_count > 0) {
        ss_cli_usage(arguments, "either --pid or a program, not both");
        return false;
    }
    if (!attach && arguments->positional_count == 0) {
        ss_cli_usage(arguments, "nothing to record; for example: stepscope record -- python "
                                "train.py");
        return false;
    }
    if (attach) {
        plan->command_line = command_line_of(plan->record.attach_pid, plan->record.keep_secrets);
    } else {
        set_program(arguments, plan);
        plan->command_line = join_words(plan->program, plan->record.keep_secrets);
    }
    plan->record.command_line = plan->output.command_line = plan->command_line;
    return true;
}

static int fail_not_started(const struct ss_arguments *arguments, const struct ss_record_plan *plan,
                            const struct ss_record_result *result)
{
    struct ss_error err = result->error;
    if (err.status == SS_OK) {
        ss_fail(&err, SS_E_BUG, "the recorder died before the program was started");
    }
    int code = ss_cli_error(arguments, &err);
    return plan->record.attach_pid != 0 ? code : SS_EXIT_OURS;
}

/* Rejects the id of a thread, which top and htop show in place of its process's. */
static enum ss_status check_is_process(pid_t pid, struct ss_error *err)
{
    pid_t tgid, parent;
    if (ss_procfs_task_parents(pid, &tgid, &parent) && tgid != pid) {
        return ss_fail(err, SS_E_USAGE, "%d is a thread of process %d: use -p %d", (int)pid,
                       (int)tgid, (int)tgid);
    }
    return SS_OK;
}

/* Runs the program even when it cannot be recorded: the user requested the run. */
static int run_unrecorded(const struct ss_arguments *arguments, struct ss_record_plan *plan,
                          const struct ss_error *err)
{
    ss_cli_error(arguments, err);
    ss_log(SS_ERROR, "record", "the program runs without being recorded");
    ss_record_plan_remove_folder(plan);
    fflush(NULL);
    ss_launch_unrecorded(&plan->record, NULL, NULL);
}

static int run_plan(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    struct ss_error err = {0};
    struct ss_record_result result;
    int program_status = 0;
    if (plan->record.attach_pid != 0 &&
        (check_is_process(plan->record.attach_pid, &err) != SS_OK ||
         ss_ptrace_explain(plan->record.attach_pid, &err) != SS_OK)) {
        return ss_cli_error(arguments, &err);
    }
    if (ss_supervise(&plan->record, ss_record_output_finish, &plan->output, &result,
                     &program_status, &err) != SS_OK) {
        return plan->record.attach_pid != 0 ? ss_cli_error(arguments, &err)
                                            : run_unrecorded(arguments, plan, &err);
    }
    ss_record_plan_remove_folder(plan);
    if (result.output_killed) {
        ss_record_output_cut_short(&plan->output);
    }
    if (!result.started && !result.ran) {
        return fail_not_started(arguments, plan, &result);
    }
    if (!result.started && !result.reported) {
        ss_log(SS_ERROR, "record",
               "the recorder died before the program was started, which ran "
               "without being recorded");
    }
    if (plan->record.attach_pid != 0) {
        return result.end == SS_RECORD_FAILED ? ss_status_exit_code(result.error.status)
               : result.output_failed         ? ss_status_exit_code(SS_E_IO)
                                              : 0;
    }
    if (result.exec_errno != 0) {
        ss_fail_errno(&err, result.exec_errno, "cannot run %s", plan->program[0]);
        ss_cli_error(arguments, &err);
    }
    bool is_ended_by_us = result.figures.has_ended_program && WIFSIGNALED(program_status) &&
                          WTERMSIG(program_status) == SIGTERM;
    ss_exit_as(is_ended_by_us ? 0 : program_status);
}

static bool parse_ranks(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    bool selects = ss_arguments_has(arguments, "ranks") || ss_arguments_has(arguments, "max-ranks");
    if (selects && plan->record.attach_pid != 0) {
        ss_cli_usage(arguments, "--pid selects one process: leave out --ranks and --max-ranks");
        return false;
    }
    return ss_record_run_parse(arguments, &plan->run);
}

/* false: a script was asked for. */
static bool is_to_run(const struct ss_arguments *arguments, const struct ss_record_plan *plan,
                      int *code)
{
    int system;
    struct ss_strbuf script, own_name;
    if (!ss_arguments_get_choice(arguments, "print-job", ss_record_jobs, -1, &system)) {
        return false;
    }
    if (system < 0) {
        return true;
    }
    if (plan->program == NULL) {
        *code = ss_cli_usage(arguments, "--print-job takes a program, not --pid");
        return false;
    }
    ss_strbuf_init(&script, 1 << 20);
    ss_strbuf_init(&own_name, 65536);
    ss_record_job_own_name(&own_name);
    ss_record_job_put(system, own_name.data, arguments, plan->program, &script);
    bool is_written = fputs(script.data, ss_stdout_data()) >= 0 && fflush(ss_stdout_data()) == 0;
    *code = is_written ? 0 : ss_status_exit_code(SS_E_IO);
    ss_strbuf_fini(&own_name);
    ss_strbuf_fini(&script);
    return false;
}

/* srun's tasks are children of a daemon, perhaps of another machine's. */
static void consider_launcher(const struct ss_record_plan *plan)
{
    enum ss_launcher launcher = ss_name_launcher(plan->program);
    if (launcher != SS_LAUNCHER_JOB) {
        ss_rank_program_launches();
    }
    if (launcher == SS_LAUNCHER_SLURM) {
        ss_log(SS_WARN, "record",
               "srun starts its tasks outside of this process, where they are not recorded: put "
               "stepscope after it, as in srun stepscope record -- PROGRAM");
    }
}

static int run(const struct ss_arguments *arguments)
{
    struct ss_record_plan plan = {0};
    struct ss_error err = {0};
    int code = ss_status_exit_code(SS_E_USAGE);
    if (parse_options(arguments, &plan) && parse_schedule(arguments, &plan) &&
        ss_record_plan_parse_on_demand(arguments, &plan) &&
        ss_record_capture_parse(arguments, &plan) && parse_ranks(arguments, &plan) &&
        parse_target(arguments, &plan) && is_to_run(arguments, &plan, &code)) {
        if (plan.record.attach_pid == 0 && !ss_record_run_is_selected(&plan.run)) {
            ss_launch_unrecorded(&plan.record, NULL, NULL);
        }
        consider_launcher(&plan);
        if (!ss_device_preflight(&plan)) {
            code = SS_EXIT_OURS;
        } else if (ss_record_plan_choose_paths(arguments, &plan, &err) == SS_OK) {
            code = run_plan(arguments, &plan);
        } else if (plan.record.attach_pid != 0 || err.status == SS_E_USAGE) {
            code = ss_cli_error(arguments, &err);
        } else {
            code = run_unrecorded(arguments, &plan, &err);
        }
        ss_record_plan_remove_folder(&plan);
    }
    ss_record_plan_fini(&plan);
    return code;
}

const struct ss_command ss_command_record = {
    .name = "record",
    .summary = "record a program, or a running process",
    .synopsis = "[options] -- PROGRAM [argument…]\nstepscope record [options] -p PID",
    .description =
        "Runs PROGRAM and samples, from outside, the Python stacks of all its threads and of "
        "all processes that it starts. The program is never stopped, nor slowed "
        "noticeably.\n\nThe exit status is the program's own; 125 means that stepscope could not "
        "start it. If the recording fails, the program runs on; if nothing can be recorded, the "
        "program runs unrecorded, and stepscope says why.",
    .options = options,
    .examples = examples,
    .stops_at_positional = true,
    .run = run,
};
