/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analysis/kernels/device_stacks.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"
#include "view/flame/flame_svg.h"

static const struct ss_option options[] = {
    {"output", 'o', "FILE", "the SVG (default INPUT.svg beside the input; - is stdout)", "Picture",
     false},
    {"inverted", 0, NULL, "flames: callers at the bottom, callees above", NULL, false},
    {"reverse", 0, NULL, "leaf first: what ran is outermost, its callers follow", NULL, false},
    {"diff", 0, "BASELINE", "colour what grew and what shrank since this recording", NULL, false},
    {"widths", 0, "OF", "widths of a difference: this or baseline (default this; key w)", NULL,
     false},
    {"normalize", 0, "BY",
     "a difference compares shares of the total, or samples (default total; key n)", NULL, false},
    SS_READING_WEIGHT_OPTION,
    {"threads", 't', NULL, "a box for each thread", NULL, false},
    {"under", 0, "WHAT",
     "ranges: boxes for the annotated ranges around each sample, above its frames (default "
     "nothing)",
     NULL, false},
    {"no-processes", 0, NULL, "merge the processes instead of giving each a box", NULL, false},
    {"title", 0, "TEXT", "title (default the recorded command)", NULL, false},
    {"colors", 0, "BY", "module, origin, function or warm (default module)", NULL, false},
    {"width", 0, "PX", "width of the picture (default the window's, 1200 without script)", NULL,
     false},
    {"minwidth", 0, "PX", "fold boxes narrower than this (default 0.1)", NULL, false},
    SS_READING_FRAME_OPTIONS,
    SS_READING_FILTER_OPTIONS("to"),
    {0}};

struct request {
    struct ss_reading reading;
    struct ss_flame_options flame;
    const char *baseline; /* NULL: no difference */
    const char *output;   /* NULL: beside the input */
};

/* What the boxes are: what --under and --weight request. */
static bool parse_boxes(const struct ss_arguments *arguments, struct request *request)
{
    static const char *const under_names[] = {"nothing", "ranges", NULL};
    int under;
    if (!ss_arguments_get_choice(arguments, "under", under_names, 0, &under)) {
        return false;
    }
    request->flame.ranges = under == 1;
    request->reading.load.sample_ranges = request->flame.ranges;
    request->reading.load.no_tracks = !request->flame.ranges;
    if (!ss_reading_parse_weight(arguments, &request->reading)) {
        return false;
    }
    if (request->flame.ranges && request->reading.weight != SS_WEIGHT_SAMPLES) {
        ss_cli_usage(arguments, "--weight gpu has the annotations around each launch: leave "
                                "--under ranges out");
        return false;
    }
    return true;
}

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    static const char *const widths_names[] = {"this", "baseline", NULL};
    static const char *const normalize_names[] = {"total", "samples", NULL};
    int widths, normalize, colors;
    *request = (struct request){.flame = {.size = sizeof request->flame}};
    struct ss_flame_options *flame = &request->flame;
    request->baseline = ss_arguments_get(arguments, "diff");
    request->output = ss_arguments_get(arguments, "output");
    if (!ss_reading_parse(arguments, "to", SS_IDLE_MAIN, &request->reading) ||
        !ss_arguments_get_choice(arguments, "widths", widths_names, 0, &widths) ||
        !parse_boxes(arguments, request) ||
        !ss_arguments_get_choice(arguments, "normalize", normalize_names, 0, &normalize) ||
        !ss_arguments_get_choice(arguments, "colors", ss_flame_scheme_names, 0, &colors) ||
        !ss_arguments_get_number(arguments, "width", 200, 20000, 0, &flame->width_px) ||
        !ss_arguments_get_number(arguments, "minwidth", 0.001, 1000, 0, &flame->minimum_px)) {
        return false;
    }
    if (request->baseline == NULL &&
        (ss_arguments_has(arguments, "widths") || ss_arguments_has(arguments, "normalize"))) {
        ss_cli_usage(arguments, "--widths and --normalize belong to --diff");
        return false;
    }
    flame->style = request->reading.frames;
    flame->inverted = ss_arguments_has(arguments, "inverted");
    flame->reverse = ss_arguments_has(arguments, "reverse");
    flame->threads = ss_arguments_has(arguments, "threads");
    flame->no_processes = ss_arguments_has(arguments, "no-processes");
    flame->colors = (enum ss_flame_scheme)colors;
    flame->base_widths = widths == 1;
    flame->by_samples = normalize == 1;
    flame->title = ss_arguments_get(arguments, "title");
    return true;
}

/* INPUT.svg beside the input, also for a folder. */
static char *default_output(const char *input)
{
    size_t length = strlen(input);
    while (length > 1 && input[length - 1] == '/') {
        length--;
    }
    struct ss_strbuf path;
    ss_strbuf_init(&path, length + 16);
    ss_strbuf_append(&path, input, length);
    if (strcmp(path.data, ".") == 0 || strcmp(path.data, "/") == 0 ||
        strcmp(path.data, "..") == 0) {
        ss_strbuf_append_text(&path, "/flame");
    }
    ss_strbuf_append_text(&path, ".svg");
    return path.data;
}

static enum ss_status draw(const struct request *request, const struct ss_selection *now,
                           const struct ss_selection *base, const char *output,
                           struct ss_error *err)
{
    struct ss_sink sink;
    SS_TRY(ss_reading_check_output(now->model, output, err));
    if (base != NULL) {
        SS_TRY(ss_reading_check_output(base->model, output, err));
    }
    mode_t mode = ss_reading_output_mode(now->model);
    if (base != NULL) {
        mode &= ss_reading_output_mode(base->model);
    }
    SS_TRY(ss_sink_open(&sink, output, mode, err));
    enum ss_status status = ss_view_flame(now, base, &request->flame, &sink, err);
    if (status != SS_OK) {
        ss_sink_abandon(&sink);
        return status;
    }
    return ss_sink_close(&sink, err);
}

/* A picture without the requested ranges would suggest that there were none. */
static enum ss_status check_ranges(const struct ss_model *model, const struct request *request,
                                   struct ss_error *err)
{
    if (!request->flame.ranges || model->paths.count > 1) {
        return SS_OK;
    }
    return ss_fail(err, SS_E_EMPTY,
                   "%s has no ranges to draw: annotate the program, or leave --under ranges out",
                   ss_model_text(model, model->inputs.data[0].path));
}

static enum ss_status load_baseline(const struct request *request, struct ss_model *model,
                                    struct ss_error *err)
{
    SS_TRY(ss_model_add_input(model, request->baseline, &request->reading.load, err));
    if (request->reading.weight == SS_WEIGHT_DEVICE_NS) {
        ss_device_stacks_weigh(model);
    }
    return SS_OK;
}

static enum ss_status load_and_draw(const struct ss_arguments *arguments,
                                    const struct request *request, struct ss_model *model,
                                    struct ss_model *base_model, int *exit_status,
                                    struct ss_error *err)
{
    struct ss_selection now = {0}, base = {0};
    const char *input = "";
    bool is_diff = request->baseline != NULL;
    enum ss_status status = ss_reading_load(arguments, &request->reading, model, &input, err);
    if (status == SS_OK && is_diff) {
        status = load_baseline(request, base_model, err);
    }
    if (status == SS_OK) {
        status = check_ranges(model, request, err);
    }
    if (status == SS_OK) {
        status = ss_selection_init(&now, model, &request->reading.selection, err);
    }
    if (status == SS_OK && is_diff) {
        status = ss_selection_init(&base, base_model, &request->reading.selection, err);
    }
    if (status == SS_OK) {
        char *output = request->output != NULL ? ss_strdup(request->output) : default_output(input);
        status = draw(request, &now, is_diff ? &base : NULL, output, err);
        if (status == SS_OK && ss_sink_descriptor(output) < 0) {
            fprintf(ss_stderr(), "stepscope flame: wrote %s (open it in a browser)\n", output);
        }
        ss_free(output);
    }
    if (status == SS_OK) {
        bool of_tracks = request->reading.weight != SS_WEIGHT_SAMPLES;
        int of_base = is_diff ? ss_reading_report_problems(arguments, &base, of_tracks) : 0;
        int of_now = ss_reading_report_problems(arguments, &now, of_tracks);
        *exit_status = of_now != 0 ? of_now : of_base;
    }
    ss_selection_fini(&now);
    ss_selection_fini(&base);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    struct ss_error err = {0};
    struct ss_model model, base_model;
    ss_model_init(&model);
    ss_model_init(&base_model);
    int exit_status = 0;
    enum ss_status status =
        load_and_draw(arguments, &request, &model, &base_model, &exit_status, &err);
    ss_model_fini(&model);
    ss_model_fini(&base_model);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope flame",
    "the newest recording here, as SVG beside it",
    "stepscope flame -o train.svg --thread MainThread --from 10 --to 20 run.pftrace",
    "ten seconds of one thread",
    "stepscope flame --reverse -F run.pftrace",
    "which functions cost most, over all callers",
    "stepscope flame --diff before.pftrace after.pftrace",
    "what became slower (red) and faster (blue)",
    "stepscope flame --weight gpu trace.json.gz",
    "the time of the GPU by the code that launched it",
    NULL};

const struct ss_command ss_command_flame = {
    .name = "flame",
    .summary = "draw a recording as an interactive flame graph (SVG)",
    .synopsis = "[options] [INPUT…]",
    .description =
        "Writes one SVG file that needs no other file. Image viewers show it as a picture; in a "
        "browser it has zoom (click), search with the matched share (Ctrl-F), details, keyboard "
        "control and links to the current view. INPUT is a stepscope trace, a py-spy raw "
        "(folded) file, or a folder of either; the default is the newest recording in the "
        "current folder.\n\nA box is as wide as its share of the samples; with --weight gpu, of "
        "the "
        "time of devices, by the code that launched it. Boxes too narrow to "
        "see are folded into \"…(n frames)\", so that the file stays below 1 MB whatever the "
        "input; the subtitle says so.\n\nExit status: 0, or 3 when the recording failed, is "
        "damaged or was not closed (the graph is drawn anyway).",
    .options = options,
    .examples = examples,
    .run = run,
};
