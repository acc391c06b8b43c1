/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "trace/rewrite.h"

enum { MAX_PATH_BYTES = 8192 };

static bool is_whole(const struct ss_trace_summary *summary)
{
    return summary->sealed && summary->damaged_units == 0 && summary->lost_bytes == 0 &&
           summary->lost_samples + summary->lost_events == 0;
}

static void print_summary(const char *in, const char *out, const struct ss_trace_summary *summary)
{
    fprintf(ss_stdout(), "%s: %" PRIu64 " units and %" PRIu64 " records kept", out, summary->units,
            summary->samples + summary->events + summary->counter_values);
    if (is_whole(summary)) {
        fprintf(ss_stdout(), "; %s was complete\n", in);
        return;
    }
    if (summary->damaged_units == 0 && summary->lost_bytes == 0) {
        fprintf(ss_stdout(), "; nothing lost: %s was not closed, but is otherwise complete\n", in);
        return;
    }
    fprintf(ss_stdout(), "; lost: %" PRIu64 " damaged units, %" PRIu64 " bytes",
            summary->damaged_units, summary->lost_bytes);
    uint64_t undefined = summary->lost_samples + summary->lost_events;
    if (undefined > 0) {
        fprintf(ss_stdout(), ", %" PRIu64 " records whose definitions were in them", undefined);
    }
    fprintf(ss_stdout(), "\n  first at %s\n", summary->damage);
}

/* The repaired file gets the name; the damaged file stays as NAME.damaged. */
static enum ss_status repair_in_place(const char *in, struct ss_trace_summary *summary,
                                      struct ss_error *err)
{
    struct ss_strbuf fixed, damaged;
    ss_strbuf_init(&fixed, MAX_PATH_BYTES);
    ss_strbuf_init(&damaged, MAX_PATH_BYTES);
    ss_strbuf_append_format(&fixed, "%s.repair-%d", in, (int)getpid());
    ss_strbuf_append_format(&damaged, "%s.damaged", in);
    enum ss_status status = SS_OK;
    if (fixed.overflow || damaged.overflow) {
        status = ss_fail(err, SS_E_LIMIT, "the name %.60s… is too long", in);
    }
    if (status == SS_OK) {
        status = ss_trace_repair(in, fixed.data, summary, err);
    }
    if (status == SS_OK && is_whole(summary)) {
        unlink(fixed.data);
    } else if (status == SS_OK) {
        /* link(), not rename(): a file of that name exists at every moment. */
        if (link(in, damaged.data) != 0) {
            status = ss_fail_errno(err, errno, "cannot keep the damaged file as %s", damaged.data);
        } else if (rename(fixed.data, in) != 0) {
            status = ss_fail_errno(err, errno, "cannot rename the repaired file to %s", in);
        }
        if (status != SS_OK) {
            unlink(fixed.data);
        }
    }
    ss_strbuf_fini(&fixed);
    ss_strbuf_fini(&damaged);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    const char *out = ss_arguments_get(arguments, "output");
    bool in_place = ss_arguments_has(arguments, "in-place");
    if (arguments->positional_count != 1) {
        return ss_cli_usage(arguments, "takes one trace");
    }
    if (in_place == (out != NULL)) {
        return ss_cli_usage(arguments, "needs either -o FILE or --in-place");
    }
    const char *in = arguments->positional[0];
    struct ss_trace_summary summary;
    struct ss_error err = {0};
    enum ss_status status =
        in_place ? repair_in_place(in, &summary, &err) : ss_trace_repair(in, out, &summary, &err);
    if (status != SS_OK) {
        return ss_cli_error(arguments, &err);
    }
    if (in_place && is_whole(&summary)) {
        fprintf(ss_stdout(), "%s is complete; nothing to repair\n", in);
        return 0;
    }
    print_summary(in, in_place ? in : out, &summary);
    if (in_place) {
        fprintf(ss_stdout(), "  the original file: %s.damaged\n", in);
    }
    return 0;
}

static const struct ss_option options[] = {
    {.long_name = "output", .short_name = 'o', .argument = "FILE", .help = "the repaired trace"},
    {.long_name = "in-place",
     .help = "give the repaired trace the name of the damaged one, which stays as NAME.damaged"},
    {0}};

static const char *const examples[] = {"stepscope repair run.pftrace -o fixed.pftrace",
                                       "a closed trace of all that can be read", NULL};

const struct ss_command ss_command_repair = {
    .name = "repair",
    .summary = "make a complete trace from a truncated or damaged one",
    .synopsis = "TRACE (-o FILE | --in-place)",
    .description =
        "Copies every record that can be read into a new, closed trace and reports what was "
        "lost. A trace that is only truncated is copied byte for byte up to the cut; after "
        "damage, everything is rewritten. The input is never changed or removed.",
    .options = options,
    .examples = examples,
    .run = run,
};
