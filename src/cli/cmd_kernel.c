/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/kernel_metrics.h"
#include "view/text_cell.h"

static int run(const struct ss_arguments *arguments)
{
    static const char *const formats[] = {"text", "csv", "json", NULL};
    struct ss_error err = {0};
    int format;
    bool metrics = ss_arguments_has(arguments, "list-metrics");
    bool sets = ss_arguments_has(arguments, "sets");
    if (!ss_arguments_get_choice(arguments, "format", formats, SS_KERNEL_TEXT, &format)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    if (metrics == sets || arguments->positional_count > 0) {
        return ss_cli_usage(arguments, "takes one of --list-metrics and --sets, and --chip NAME");
    }
    ss_text_use_utf8();
    const char *chip = ss_arguments_get(arguments, "chip");
    enum ss_status status = metrics
                                ? ss_kernel_print_metrics(chip, (enum ss_kernel_format)format, &err)
                                : ss_kernel_print_sets(chip, (enum ss_kernel_format)format, &err);
    return status == SS_OK ? 0 : ss_cli_error(arguments, &err);
}

static const struct ss_option options[] = {
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
    "stepscope kernel --sets --chip GH100",
    "what the sets memory, roofline and detailed measure on an H100, and in how many passes",
    "stepscope kernel --list-metrics --chip GH100 --format csv",
    "all metrics that an H100 has, with their meaning", NULL};

const struct ss_command ss_command_kernel = {
    .name = "kernel",
    .summary = "list the hardware counters of GPUs",
    .synopsis = "[options]",
    .description =
        "Hardware counters, by the names of Nsight Compute. The lists come from the profiler host "
        "interface of CUPTI (12.6 or later) of this machine, which needs neither a GPU nor a "
        "driver: any chip's metrics can be listed anywhere. A set that needs one pass is measured "
        "in one run of the same work; one of several passes needs as many.",
    .options = options,
    .examples = examples,
    .run = run,
};
