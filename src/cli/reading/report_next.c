/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/report_next.h"

#include <string.h>

#include "analysis/memory/allocations.h"
#include "analysis/operators/operators.h"
#include "base/shared_names.h"

enum { STEP_COUNT = 3, MAX_COMMAND_BYTES = 1 << 16 };

static const struct ss_document_command sample_steps[STEP_COUNT] = {
    {"stepscope report --by leaf --aggregate-leaf-paths", "which line of yours leads there"},
    {"stepscope report --by tree", "callers and callees"},
    {"stepscope flame", "all of it as a flame graph"}};
static const struct ss_document_command event_steps[STEP_COUNT] = {
    {"stepscope report --by range --group name", "each range name once, wherever it is nested"},
    {"stepscope report --by counter", "counters of the program and of the machine"},
    {"stepscope export --to chrome", "the timeline, for ui.perfetto.dev"}};

static const struct ss_document_command other_steps[] = {
    {"stepscope info", "processes, their interpreters, and what each source recorded"},
    {"stepscope report --by counter", "counters of the program and of the machine"}};

/* Of recordings with allocations; where they have nothing else, the timeline. */
static const struct ss_document_command allocation_step = {
    "stepscope report --by allocation --group line,category",
    "which lines allocated what is alive at the peak"};

/* The first step, if the recording has ranges or operators. */
static const struct ss_document_command range_step = {"stepscope report --by range",
                                                      "what the annotated ranges cost"};
static const struct ss_document_command operators_step = {"stepscope report --by op",
                                                          "what each operator of PyTorch costs"};

/* Of kernels with durations, but no times: there is no timeline. */
static const struct ss_document_command metric_steps[] = {
    {"stepscope report --by metric", "what hardware counters measured of each kernel"},
    {"stepscope report --by speed-of-light", "what limits each kernel"},
    {"stepscope report --by kernel", "kernels by time"}};

/* " INPUT", quoted for a shell; nothing for the newest recording, which is the default. */
static void append_input(struct ss_strbuf *out, const struct ss_arguments *arguments)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_./-+=:,@%";
    for (int i = 0; i < arguments->positional_count; i++) {
        const char *input = arguments->positional[i];
        ss_strbuf_append_char(out, ' ');
        if (input[strspn(input, safe)] == '\0') {
            ss_strbuf_append_text(out, input);
            continue;
        }
        ss_strbuf_append_char(out, '\'');
        for (; *input != '\0'; input++) {
            ss_strbuf_append_text(out, *input == '\'' ? "'\\''" : (char[2]){*input, '\0'});
        }
        ss_strbuf_append_char(out, '\'');
    }
}

static void add(struct ss_report_next *next, const struct ss_document_command *step,
                const struct ss_arguments *arguments)
{
    struct ss_strbuf *command = &next->commands[next->count];
    ss_strbuf_init(command, MAX_COMMAND_BYTES);
    ss_strbuf_append_text(command, step->command);
    append_input(command, arguments);
    next->list[next->count++] = (struct ss_document_command){command->data, step->meaning};
}

static void add_list(struct ss_report_next *next, const struct ss_document_command *list,
                     size_t count, const struct ss_arguments *arguments)
{
    for (size_t i = 0; i < count; i++) {
        add(next, &list[i], arguments);
    }
}

static bool has_samples(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].samples > 0) {
            return true;
        }
    }
    return false;
}

void ss_report_next_init(struct ss_report_next *next, const struct ss_arguments *arguments,
                         const struct ss_model *model, bool of_ranges)
{
    *next = (struct ss_report_next){0};
    if (model->metrics.count > 0 && !has_samples(model)) {
        add_list(next, metric_steps, sizeof metric_steps / sizeof *metric_steps, arguments);
        return;
    }
    if (ss_model_has_domain(model, ss_domain_torch)) {
        add(next, &operators_step, arguments);
    } else if (!of_ranges && ss_model_has_events(model)) {
        add(next, &range_step, arguments);
    }
    bool has_allocations = ss_model_has_allocations(model);
    if (has_allocations) {
        add(next, &allocation_step, arguments);
    }
    if (of_ranges && has_allocations && model->ranges.count == 0) {
        add(next, &event_steps[STEP_COUNT - 1], arguments);
    } else if (of_ranges) {
        add_list(next, event_steps, STEP_COUNT, arguments);
    } else if (has_samples(model)) {
        add_list(next, sample_steps, STEP_COUNT, arguments);
    } else {
        add_list(next, other_steps, sizeof other_steps / sizeof *other_steps, arguments);
    }
}

void ss_report_next_fini(struct ss_report_next *next)
{
    for (int i = 0; i < next->count; i++) {
        ss_strbuf_fini(&next->commands[i]);
    }
    next->count = 0;
}
