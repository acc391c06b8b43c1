/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_target.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/merge/merge_inputs.h"
#include "cli/merge/merge_pack.h"
#include "cli/reading/reading.h"
#include "model/merge/merge_json.h"
#include "trace/merge.h"
#include "view/output/sink.h"

enum { MAX_PATH_BYTES = 8192, SPARE_DESCRIPTORS = 64 };

struct request {
    const char *output;
    bool is_pack, is_plain;
};

static const struct ss_option options[] = {
    {"output", 'o', "FILE", "the merged file", "Output", false},
    {"pack", 0, NULL,
     "a TAR of the recordings as they are, with a manifest for Perfetto from v58 on (default for "
     "names that end in .tar)",
     NULL, false},
    {"flat", 0, NULL,
     "one trace, for viewers that open a single file and for Perfetto before v58 (default)", NULL,
     false},
    {"plain", 0, NULL, "--flat: not compressed", NULL, false},
    {0}};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), less = strlen(ending);
    return length > less && strcmp(text + length - less, ending) == 0;
}

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    bool is_flat = ss_arguments_has(arguments, "flat");
    *request = (struct request){.output = ss_arguments_get(arguments, "output"),
                                .is_pack = ss_arguments_has(arguments, "pack"),
                                .is_plain = ss_arguments_has(arguments, "plain")};
    if (request->output == NULL) {
        return ss_cli_usage(arguments, "needs -o FILE") == 0;
    }
    if (is_flat && request->is_pack) {
        return ss_cli_usage(arguments, "takes either --pack or --flat") == 0;
    }
    if (arguments->positional_count == 0) {
        return ss_cli_usage(arguments, "takes runs, folders or files") == 0;
    }
    request->is_pack = request->is_pack || (!is_flat && ends_with(request->output, ".tar"));
    if (request->is_plain && request->is_pack) {
        return ss_cli_usage(arguments, "--plain is for --flat") == 0;
    }
    return true;
}

/* --- traces ----------------------------------------------------------------------------------- */

static void print_bytes(const struct request *request, uint64_t bytes)
{
    bool large = bytes >= 1000 * 1000;
    fprintf(ss_stderr(), "stepscope merge: wrote %s (%.1f %s", request->output,
            (double)bytes / (large ? 1e6 : 1e3), large ? "MB" : "kB");
}

static void print_repeated(size_t repeated)
{
    if (repeated > 0) {
        fprintf(ss_stderr(), ", %zu given twice", repeated);
    }
}

static void print_clocks(const struct ss_clock_parts *clocks)
{
    size_t unmapped = 0, by_wall = 0;
    for (size_t i = 0; i < clocks->rows.count; i++) {
        unmapped += !clocks->rows.data[i].is_mapped;
        by_wall += clocks->rows.data[i].is_by_wall;
    }
    if (clocks->error_ns > 0) {
        fprintf(ss_stderr(), "; clocks agree within %.1f us", (double)clocks->error_ns / 1e3);
    }
    fprintf(ss_stderr(), "\n");
    if (by_wall > 0) {
        fprintf(ss_stderr(),
                "stepscope merge: %zu recordings are placed by the wall clocks of their machines, "
                "whose error is not known; --clock-sync of record measures it\n",
                by_wall);
    }
    if (unmapped > 0) {
        fprintf(ss_stderr(),
                "stepscope merge: %zu recordings do not say on which machine and boot they were "
                "made; their times are as recorded\n",
                unmapped);
    }
}

static uint64_t on_axis(void *clocks, size_t part, uint64_t time_ns)
{
    const struct ss_clock_parts *parts = clocks;
    return ss_clock_part_on_axis(&parts->rows.data[part], time_ns);
}

/* Each recording is open while it is merged. */
static void raise_descriptors(size_t count)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool needs_moves(const struct ss_clock_parts *clocks)
{
    for (size_t i = 0; i < clocks->rows.count; i++) {
        const struct ss_clock_part *part = &clocks->rows.data[i];
        if (part->shift_ns != 0 || part->segments.count > 0) {
            return true;
        }
    }
    return false;
}

/* One processor is for reading and merging: of one, it compresses, too. */
static unsigned packing_threads(void)
{
    unsigned processors = ss_reading_processors();
    return processors > 1 ? processors : 0;
}

static enum ss_status write_flat(const struct request *request,
                                 const struct ss_merge_inputs *inputs,
                                 struct ss_clock_parts *clocks, const char *path,
                                 struct ss_merge_result *result, struct ss_error *err)
{
    size_t count = inputs->files.count;
    struct ss_merge_part *parts = ss_alloc_zero(count, sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct ss_merge_part){inputs->files.data[i].path,
                                          clocks->rows.data[i].is_on_axis || i == 0};
    }
    const struct ss_merge_options how = {.size = sizeof how,
                                         .path = path,
                                         .perf_samples = true,
                                         .compression = request->is_plain ? -1 : 1,
                                         .threads = packing_threads(),
                                         .on_axis = needs_moves(clocks) ? on_axis : NULL,
                                         .context = clocks,
                                         .clock_error_ns = clocks->error_ns};
    raise_descriptors(count);
    enum ss_status status = ss_trace_merge(parts, count, &how, result, err);
    ss_free(parts);
    return status;
}

/* The file gets its name when it is complete. */
static enum ss_status merge_flat(const struct request *request,
                                 const struct ss_merge_inputs *inputs,
                                 struct ss_clock_parts *clocks, struct ss_error *err)
{
    struct ss_output_target
        place; /* rename() follows no link, so the check of the owner suffices */
    struct ss_merge_result result = {0};
    struct stat written = {0};
    SS_TRY(ss_output_target_open(request->output, SS_OUTPUT_FOLLOW_LINK, &place, err));
    ss_output_target_close(&place);
    struct ss_strbuf part;
    ss_strbuf_init(&part, MAX_PATH_BYTES);
    ss_strbuf_append_format(&part, "%s.part-%d", request->output, (int)getpid());
    enum ss_status status = write_flat(request, inputs, clocks, part.data, &result, err);
    if (status == SS_OK &&
        (stat(part.data, &written) != 0 || rename(part.data, request->output) != 0)) {
        status = ss_fail_errno(err, errno, "cannot rename the merged file to %s", request->output);
        unlink(part.data);
    }
    ss_strbuf_fini(&part);
    if (status == SS_OK) {
        print_bytes(request, (uint64_t)written.st_size);
        fprintf(ss_stderr(), "): %zu recording%s", result.parts, result.parts == 1 ? "" : "s");
        print_repeated(result.repeated);
        if (result.renumbered > 0) {
            fprintf(ss_stderr(), ", %zu pids and tids renumbered", result.renumbered);
        }
        if (result.lost_bytes > 0) {
            fprintf(ss_stderr(), ", %" PRIu64 " damaged bytes left out", result.lost_bytes);
        }
        print_clocks(clocks);
    }
    return status;
}

static void print_holes(const struct ss_merge_packed *packed)
{
    if (packed->with_holes == 0) {
        return;
    }
    fprintf(ss_stderr(), "stepscope merge: left out %.1f MB of holes of %s",
            (double)packed->hole_bytes / 1e6, packed->first_with_holes);
    if (packed->with_holes > 1) {
        fprintf(ss_stderr(), " and %zu more", packed->with_holes - 1);
    }
    fprintf(ss_stderr(), ": they hold no records, and Perfetto reads no sparse archive\n");
}

static enum ss_status merge_pack(const struct request *request,
                                 const struct ss_merge_inputs *inputs,
                                 const struct ss_clock_parts *clocks, struct ss_error *err)
{
    struct ss_merge_packed packed;
    SS_TRY(ss_merge_pack(inputs, clocks, request->output, &packed, err));
    print_bytes(request, packed.bytes);
    fprintf(ss_stderr(), "): %zu recording%s", packed.files, packed.files == 1 ? "" : "s");
    print_repeated(packed.repeated);
    if (packed.drift_ns > 0) {
        fprintf(ss_stderr(), ", drift of up to %.1f us left to the viewer",
                (double)packed.drift_ns / 2e3);
    }
    print_clocks(clocks);
    print_holes(&packed);
    return SS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(((const struct ss_merge_file *)a)->name,
                      ((const struct ss_merge_file *)b)->name);
}

static enum ss_status merge_traces(const struct request *request, struct ss_merge_inputs *inputs,
                                   struct ss_error *err)
{
    struct ss_clock_parts clocks = {0};
    size_t count = inputs->files.count;
    if (request
            ->is_pack) { /* the order in which the archive has them, also when it is packed again */
        qsort(inputs->files.data, count, sizeof *inputs->files.data, compare_names);
    }
    const char **paths = ss_alloc((count + 1) * sizeof *paths);
    for (size_t i = 0; i < count; i++) {
        paths[i] = inputs->files.data[i].path;
    }
    enum ss_status status = ss_clock_parts_init(&clocks, paths, count, err);
    if (status == SS_OK) {
        status = request->is_pack ? merge_pack(request, inputs, &clocks, err)
                                  : merge_flat(request, inputs, &clocks, err);
    }
    ss_clock_parts_fini(&clocks);
    ss_free(paths);
    return status;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static bool write_to_sink(void *sink, const void *bytes, size_t length)
{
    ss_sink_write(sink, bytes, length);
    return !ss_sink_failed(sink);
}

static void print_json(const struct request *request, const struct ss_merge_json_result *result,
                       uint64_t bytes)
{
    print_bytes(request, bytes);
    fprintf(ss_stderr(), "): %" PRIu64 " events of %zu file%s", result->events, result->files,
            result->files == 1 ? "" : "s");
    print_repeated(result->repeated);
    fprintf(ss_stderr(), "; times are of the wall clocks\n");
    if (result->without_base > 0 && result->files > 1) {
        fprintf(ss_stderr(),
                "stepscope merge: %zu files have no baseTimeNanoseconds; their times are as "
                "written\n",
                result->without_base);
    }
    if (result->cut > 0) {
        fprintf(ss_stderr(), "stepscope merge: %zu files end within their events\n", result->cut);
    }
}

static enum ss_status merge_json(const struct request *request,
                                 const struct ss_merge_inputs *inputs, struct ss_error *err)
{
    size_t count = inputs->files.count;
    const char **paths = ss_alloc((count + 1) * sizeof *paths);
    struct ss_merge_json_result result = {0};
    struct ss_sink sink;
    const struct ss_merge_json_output output = {write_to_sink, &sink};
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        paths[i] = inputs->files.data[i].path;
    }
    enum ss_status status = ss_sink_open(&sink, request->output, 0600, err);
    if (status == SS_OK) {
        if (ends_with(request->output, ".gz")) {
            ss_sink_compress(&sink);
        }
        status = ss_merge_json(paths, count, &output, &result, err);
        if (status == SS_OK) {
            status = ss_sink_close_sized(&sink, &bytes, err);
        } else {
            ss_sink_abandon(&sink);
        }
    }
    if (status == SS_OK) {
        print_json(request, &result, bytes);
    }
    ss_free(paths);
    return status;
}

/* --- all -------------------------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b)
{
    struct stat left, right;
    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

static enum ss_status check_output(const struct ss_arguments *arguments,
                                   const struct request *request,
                                   const struct ss_merge_inputs *inputs, struct ss_error *err)
{
    bool is_input = false;
    for (int i = 0; i < arguments->positional_count; i++) {
        is_input = is_input || is_same_file(arguments->positional[i], request->output);
    }
    for (size_t i = 0; i < inputs->files.count; i++) {
        is_input = is_input || is_same_file(inputs->files.data[i].path, request->output);
    }
    return is_input
               ? ss_fail(err, SS_E_USAGE, "%s is an input; choose another output", request->output)
               : SS_OK;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    struct ss_merge_inputs inputs = {0};
    struct ss_error err = {0};
    if (!parse(arguments, &request)) {
        return 2;
    }
    enum ss_status status =
        ss_merge_inputs_init(&inputs, arguments->positional, arguments->positional_count, &err);
    status = status == SS_OK ? check_output(arguments, &request, &inputs, &err) : status;
    if (status == SS_OK && inputs.is_json && request.is_pack) {
        status =
            ss_fail(&err, SS_E_USAGE, "--pack is for recordings; JSON is merged into one file");
    } else if (status == SS_OK) {
        status = inputs.is_json ? merge_json(&request, &inputs, &err)
                                : merge_traces(&request, &inputs, &err);
    }
    ss_merge_inputs_fini(&inputs);
    return status == SS_OK ? 0 : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {"stepscope merge run.stepscope -o run.tar",
                                       "one file that Perfetto and stepscope open",
                                       "stepscope merge run.stepscope -o run.pftrace",
                                       "one trace, for older viewers",
                                       "stepscope merge rank*.pt.trace.json -o all.json",
                                       "files of torch.profiler, of each rank",
                                       NULL};

const struct ss_command ss_command_merge = {
    .name = "merge",
    .summary = "make one file of the recordings of many ranks, on one clock",
    .synopsis = "[--pack | --flat] RUN… -o FILE",
    .description =
        "RUN is the folder of a run, one that tar or merge has packed, a folder of files, or a "
        "file. "
        "All times are on the clock of the first recording. Processes, threads, tracks and "
        "flows of different recordings never share a number: where a pid, tid or id is there "
        "twice, "
        "one is renumbered. The inputs are not changed. A recording that is given twice is merged "
        "once, and what is merged already stays as it is.",
    .options = options,
    .examples = examples,
    .run = run,
};
