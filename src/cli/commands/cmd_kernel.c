/* SPDX-License-Identifier: Apache-2.0 */
#include <regex.h>
#include <stdio.h>

#include "base/alloc.h"
#include "cli/commands/kernel_metrics.h"
#include "cli/line/command.h"
#include "counters/request.h"
#include "view/output/text_cell.h"

extern const struct ss_command ss_command_record;

enum { RECORD_WORDS = 16 };

/* Kernels are measured by `record`: its command line. `numbers` has --counters-skip and -count. */
static size_t put_record_line(const struct ss_arguments *arguments, const char *numbers[2],
                              char **words)
{
    const char *counters = ss_arguments_get(arguments, "counters");
    const char *output = ss_arguments_get(arguments, "output");
    const char *fixed[] = {"record",
                           "--counters",
                           counters != NULL ? counters : "detailed",
                           "--counters-kernel",
                           ss_arguments_get(arguments, "kernel"),
                           "--counters-skip",
                           numbers[0],
                           "--counters-count",
                           numbers[1]};
    size_t count = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        words[count++] = (char *)fixed[i];
    }
    const char *preflight = ss_arguments_get(arguments, "preflight");
    if (preflight != NULL) {
        words[count++] = (char *)"--preflight";
        words[count++] = (char *)preflight;
    }
    if (ss_arguments_has(arguments, "quiet")) {
        words[count++] = (char *)"-q";
    }
    if (output != NULL) {
        words[count++] = (char *)"-o";
        words[count++] = (char *)output;
    }
    words[count++] = (char *)"--";
    for (int i = 0; i < arguments->positional_count; i++) {
        words[count++] = arguments->positional[i];
    }
    return count;
}

static bool is_pattern(const struct ss_arguments *arguments)
{
    regex_t pattern;
    char why[200];
    int failed = regcomp(&pattern, ss_arguments_get(arguments, "kernel"), REG_EXTENDED | REG_NOSUB);
    if (failed != 0) {
        regerror(failed, &pattern, why, sizeof why);
        ss_cli_usage(arguments, "-k takes a regular expression (POSIX extended): %s", why);
        return false;
    }
    regfree(&pattern);
    return true;
}

static int measure(const struct ss_arguments *arguments)
{
    long long skip, count;
    char texts[2][32];
    struct ss_arguments record;
    if (!ss_arguments_get_integer(arguments, "skip", 0, SS_COUNTER_REQUEST_MOST, 0, &skip) ||
        !ss_arguments_get_integer(arguments, "count", 0, SS_COUNTER_REQUEST_MOST, 10, &count) ||
        !is_pattern(arguments)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    snprintf(texts[0], sizeof texts[0], "%lld", skip);
    snprintf(texts[1], sizeof texts[1], "%lld", count);
    char **words = ss_alloc_zero((size_t)arguments->positional_count + RECORD_WORDS, sizeof *words);
    size_t used = put_record_line(arguments, (const char *[]){texts[0], texts[1]}, words);
    int code = ss_arguments_parse(&ss_command_record, (int)used, words, &record);
    code = code < 0 ? ss_command_record.run(&record) : code;
    ss_arguments_fini(&record);
    ss_free(words);
    return code;
}

static int list(const struct ss_arguments *arguments)
{
    static const char *const formats[] = {"text", "csv", "json", NULL};
    struct ss_error err = {0};
    int format;
    if (!ss_arguments_get_choice(arguments, "format", formats, SS_KERNEL_TEXT, &format)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_text_use_utf8();
    const char *chip = ss_arguments_get(arguments, "chip");
    enum ss_status status = ss_arguments_has(arguments, "list-metrics")
                                ? ss_kernel_print_metrics(chip, (enum ss_kernel_format)format, &err)
                                : ss_kernel_print_sets(chip, (enum ss_kernel_format)format, &err);
    return status == SS_OK ? 0 : ss_cli_error(arguments, &err);
}

static int run(const struct ss_arguments *arguments)
{
    bool measures = ss_arguments_has(arguments, "kernel");
    int lists = ss_arguments_has(arguments, "list-metrics") + ss_arguments_has(arguments, "sets");
    if (measures && lists == 0 && arguments->positional_count > 0) {
        return measure(arguments);
    }
    if (!measures && lists == 1 && arguments->positional_count == 0) {
        return list(arguments);
    }
    return ss_cli_usage(arguments,
                        "takes -k REGEX and a program, as in stepscope kernel -k gemm -- python "
                        "train.py; or one of --list-metrics and --sets, and --chip NAME");
}

static const struct ss_option options[] = {
    {.long_name = "kernel",
     .short_name = 'k',
     .argument = "REGEX",
     .help = "measure the launches of kernels whose name matches, as it is mangled or readable",
     .group = "Measuring"},
    {.long_name = "skip",
     .argument = "N",
     .help = "such launches before the first that is measured (default 0)"},
    {.long_name = "count", .argument = "N", .help = "launches to measure; 0: all (default 10)"},
    {.long_name = "counters",
     .argument = "SET",
     .help = "memory, roofline or detailed (the default), or metrics by name, separated by commas"},
    {.long_name = "output", .short_name = 'o', .argument = "FILE", .help = "as of `record`"},
    {.long_name = "preflight", .argument = "HOW", .help = "as of `record`"},
    {.long_name = "quiet", .short_name = 'q', .help = "no status line and no summary"},
    {.long_name = "list-metrics",
     .help = "every metric of the chip, as Nsight Compute names them",
     .group = "Metrics"},
    {.long_name = "sets",
     .help = "the sets of counters: their metrics on this chip, and how many passes each needs"},
    {.long_name = "chip",
     .argument = "NAME",
     .help = "as CUPTI names it: GA100 (A100), GH100 (H100, H200), GB100 (B200), AD102, …"},
    {.long_name = "format",
     .argument = "FORMAT",
     .help = "text (the default), csv or json",
     .group = "Output"},
    {0}};

static const char *const examples[] = {
    "stepscope kernel -k gemm --skip 20 --count 5 -o gemm.pftrace -- python train.py",
    "the counters of five launches of kernels with gemm in their name",
    "stepscope report gemm.pftrace --by metric",
    "what was measured; --by roofline --group kernel says how close the kernels are to their roof",
    "stepscope kernel --sets --chip GH100",
    "what the sets memory, roofline and detailed measure on an H100, and in how many passes",
    "stepscope kernel --list-metrics --chip GH100 --format csv",
    "all metrics that an H100 has, with their meaning",
    NULL};

const struct ss_command ss_command_kernel = {
    .name = "kernel",
    .summary = "measure hardware counters of kernels, or list the counters of a GPU",
    .synopsis = "-k REGEX [options] -- PROGRAM [argument…]\nstepscope kernel --sets|--list-metrics "
                "--chip NAME",
    .description =
        "Hardware counters, by the names of Nsight Compute. With -k, CUPTI runs each launch of a "
        "matching kernel once for each pass, and saves and restores the memory of the device "
        "between; the recording has these kernels only. That changes their times and the times of "
        "the "
        "program, and a kernel that waits for another process never ends: leave out NCCL's "
        "kernels, and measure one process. Counters of whole steps, without running anything "
        "again: "
        "`stepscope record --counters`.\nThe lists come from the profiler host "
        "interface of CUPTI (12.6 or later) of this machine, which needs neither a GPU nor a "
        "driver: any chip's metrics can be listed anywhere. A set that needs one pass is measured "
        "in one run of the same work; one of several passes needs as many.",
    .options = options,
    .examples = examples,
    .stops_at_positional = true,
    .run = run,
};
