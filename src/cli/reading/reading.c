/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/reading.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kernels/device_stacks.h"
#include "analysis/report/trust.h"
#include "base/terminal.h"
#include "cli/reading/progress.h"
#include "cli/reading/recordings.h"
#include "platform/memory_limit.h"
#include "view/output/report.h"

static bool parse_idle(const struct ss_arguments *arguments, enum ss_idle_policy fallback,
                       enum ss_idle_policy *idle)
{
    static const char *const names[] = {"none", "main", "all", NULL};
    int index;
    bool all = ss_arguments_has(arguments, "i");
    if (!ss_arguments_get_choice(arguments, "idle", names, all ? SS_IDLE_ALL : (int)fallback,
                                 &index)) {
        return false;
    }
    if (all && index != SS_IDLE_ALL) {
        ss_cli_usage(arguments, "-i and --idle %s exclude each other", names[index]);
        return false;
    }
    *idle = (enum ss_idle_policy)index;
    return true;
}

/* "10:50", "10", "10:", ":50". */
static bool parse_steps(const struct ss_arguments *arguments, struct ss_model_load *load)
{
    const char *text = ss_arguments_get(arguments, "steps");
    load->first_step = 0;
    load->last_step = INT64_MAX;
    load->has_steps = text != NULL;
    if (text == NULL) {
        return true;
    }
    char *end;
    const char *colon = strchr(text, ':');
    errno = 0;
    if (text[0] >= '0' && text[0] <= '9') {
        load->first_step = strtoll(text, &end, 10);
        load->last_step = colon == NULL ? load->first_step : INT64_MAX;
    } else {
        end = (char *)text;
    }
    bool is_valid = text[0] != '\0' && end == (colon != NULL ? colon : text + strlen(text));
    if (is_valid && colon != NULL && colon[1] != '\0') {
        load->last_step = strtoll(colon + 1, &end, 10);
        is_valid = colon[1] >= '0' && colon[1] <= '9' && *end == '\0';
    }
    if (!is_valid || errno != 0 || load->first_step > load->last_step || strcmp(text, ":") == 0) {
        ss_cli_usage(arguments,
                     "--steps takes numbers of steps, such as 10:50, 10 or 10:, not "
                     "\"%s\"",
                     text);
        return false;
    }
    if (load->has_time_range) {
        ss_cli_usage(arguments, "--steps and a time range exclude each other");
        return false;
    }
    return true;
}

bool ss_reading_parse_memory(const struct ss_arguments *arguments, struct ss_model_load *load)
{
    load->machine_bytes = ss_memory_limit_bytes() / 8 * 7; /* the system and others need some */
    return ss_arguments_get_bytes(arguments, "max-memory", 0, &load->max_memory_bytes);
}

bool ss_reading_parse_filters(const struct ss_arguments *arguments, const char *end_option,
                              enum ss_idle_policy idle, struct ss_reading *reading)
{
    double from_s, to_s;
    *reading = (struct ss_reading){0};
    if (!ss_arguments_get_number(arguments, "from", 0, 1e9, 0, &from_s) ||
        !ss_arguments_get_number(arguments, end_option, 0, 1e9, 1e9, &to_s) ||
        !parse_idle(arguments, idle, &reading->selection.idle)) {
        return false;
    }
    if (from_s >= to_s) {
        ss_cli_usage(arguments, "--from %g is not before --%s %g", from_s, end_option, to_s);
        return false;
    }
    reading->load.size = sizeof reading->load;
    reading->load.strict = ss_arguments_has(arguments, "strict");
    reading->load.has_time_range =
        ss_arguments_has(arguments, "from") || ss_arguments_has(arguments, end_option);
    reading->load.from_ns = (uint64_t)(from_s * 1e9);
    reading->load.to_ns = (uint64_t)(to_s * 1e9);
    if (!parse_steps(arguments, &reading->load) ||
        !ss_reading_parse_memory(arguments, &reading->load)) {
        return false;
    }
    reading->selection.size = sizeof reading->selection;
    reading->selection.gil_only = ss_arguments_has(arguments, "gil");
    reading->selection.thread = ss_arguments_get(arguments, "thread");
    reading->selection.process = ss_arguments_get(arguments, "process");
    reading->selection.rank = ss_arguments_get(arguments, "rank");
    reading->selection.match = ss_arguments_get(arguments, "match");
    reading->selection.exclude = ss_arguments_get(arguments, "exclude");
    return true;
}

bool ss_reading_parse(const struct ss_arguments *arguments, const char *end_option,
                      enum ss_idle_policy idle, struct ss_reading *reading)
{
    if (!ss_reading_parse_filters(arguments, end_option, idle, reading)) {
        return false;
    }
    reading->frames.by_function = ss_arguments_has(arguments, "function");
    reading->frames.no_lines = ss_arguments_has(arguments, "nolineno");
    reading->frames.full_filenames = ss_arguments_has(arguments, "full-filenames");
    if (reading->frames.by_function && reading->frames.no_lines) {
        ss_cli_usage(arguments, "--function and --nolineno exclude each other");
        return false;
    }
    return true;
}

bool ss_reading_parse_weight(const struct ss_arguments *arguments, struct ss_reading *reading)
{
    static const char *const names[] = {"samples", "gpu", NULL};
    static const char *const of_samples[] = {"idle", "i", "gil"};
    int index;
    if (!ss_arguments_get_choice(arguments, "weight", names, 0, &index)) {
        return false;
    }
    reading->weight = index == 1 ? SS_WEIGHT_DEVICE_NS : SS_WEIGHT_SAMPLES;
    for (size_t i = 0; index == 1 && i < sizeof of_samples / sizeof *of_samples; i++) {
        if (ss_arguments_has(arguments, of_samples[i])) {
            ss_cli_usage(arguments, "%s%s selects samples, which --weight gpu does not show",
                         of_samples[i][1] == '\0' ? "-" : "--", of_samples[i]);
            return false;
        }
    }
    if (index == 1) {
        reading->load.no_tracks = false;
    }
    return true;
}

enum { MOST_THREADS = 64 };

unsigned ss_reading_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < MOST_THREADS ? (unsigned)count : MOST_THREADS;
}

bool ss_reading_parse_threads(const struct ss_arguments *arguments, struct ss_reading *reading)
{
    long long threads;
    if (!ss_arguments_get_integer(arguments, "threads", 1, MOST_THREADS, ss_reading_processors(),
                                  &threads)) {
        return false;
    }
    reading->load.threads = reading->selection.workers = (unsigned)threads;
    return true;
}

enum ss_status ss_reading_newest(const struct ss_arguments *arguments,
                                 const struct ss_reading *reading, struct ss_strbuf *path,
                                 struct ss_error *err)
{
    SS_TRY(ss_cli_newest_recording(".", path, err));
    if (!reading->name_printed) {
        fprintf(ss_stderr(), "stepscope %s: the newest recording here is %s\n",
                arguments->command->name, path->data);
    }
    return SS_OK;
}

/* How inputs with times relate to the common time axis. */
struct axis_counts {
    size_t recordings;                      /* with times of their own */
    size_t by_shared_wall, by_wall, fitted; /* see enum ss_clock_mapping */
    size_t contradictory;
    bool has_pings;
    uint64_t shared_error_ns, error_ns, fitted_error_ns; /* the largest of each */
};

/* "0.1 µs", "12.5 ms". */
static const char *duration_text(uint64_t ns, char *text, size_t size)
{
    bool is_short = ns < 1000 * 1000;
    snprintf(text, size, "%.1f %s", (double)ns / (is_short ? 1e3 : 1e6), is_short ? "µs" : "ms");
    return text;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct axis_counts count_axes(const struct ss_model *model)
{
    struct axis_counts counts = {0};
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        const struct ss_model_clock_domain *domain =
            &model->clock_domains.data[input->clock_domain];
        counts.recordings += input->kind == SS_INPUT_TRACE;
        if (domain->mapping == SS_CLOCK_BY_SHARED_WALL) {
            counts.by_shared_wall++;
            counts.shared_error_ns = larger(counts.shared_error_ns, domain->error_ns);
        } else if (domain->mapping == SS_CLOCK_FITTED) {
            counts.fitted++;
            counts.has_pings = counts.has_pings || input->alignment.ping_bounds > 0;
            counts.fitted_error_ns = larger(counts.fitted_error_ns, domain->error_ns);
        } else if (domain->mapping == SS_CLOCK_BY_WALL) {
            counts.by_wall++;
            counts.error_ns = larger(counts.error_ns, domain->error_ns);
        }
        counts.contradictory += input->alignment.is_contradictory;
    }
    return counts;
}

static void warn_of_fits(const char *command, const struct axis_counts *counts, FILE *out)
{
    char within[32];
    if (counts->fitted > 0) {
        fprintf(out,
                "stepscope %s: %zu of %zu recordings come from other machines or boots than the "
                "first: %s align them, within %s\n",
                command, counts->fitted, counts->recordings,
                counts->has_pings ? "pings between the machines" : "the collectives of their ranks",
                duration_text(counts->fitted_error_ns, within, sizeof within));
    }
    if (counts->contradictory > 0) {
        fprintf(out,
                "stepscope %s: the clocks of %zu recordings contradict the collectives of their "
                "ranks: these are left out of comparisons between ranks\n",
                command, counts->contradictory);
    }
}

void ss_reading_warn_axes(const struct ss_arguments *arguments, const struct ss_model *model,
                          FILE *out)
{
    struct axis_counts counts = count_axes(model);
    const char *command = arguments->command->name;
    char within[32];
    if (counts.by_shared_wall > 0) {
        fprintf(out,
                "stepscope %s: %zu of %zu recordings come from another time namespace than the "
                "first: the wall clock of their machine aligns them, within %s\n",
                command, counts.by_shared_wall, counts.recordings,
                duration_text(counts.shared_error_ns, within, sizeof within));
    }
    warn_of_fits(command, &counts, out);
    if (counts.by_wall > 0) {
        fprintf(out,
                "stepscope %s: %zu of %zu recordings come from other machines or boots than the "
                "first: the wall clocks align them, read within %s; how far these clocks differ "
                "is not known\n",
                command, counts.by_wall, counts.recordings,
                duration_text(counts.error_ns, within, sizeof within));
    }
    for (size_t i = 0; i < model->inputs.count && counts.recordings > 1; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        if (input->kind == SS_INPUT_TRACE && !ss_model_is_on_axis(model, (uint32_t)i)) {
            fprintf(out,
                    "stepscope %s: %s names no clock or boot: its times count from its own "
                    "first sample and are not aligned with the others\n",
                    command, ss_model_text(model, input->path));
        }
    }
}

enum ss_status ss_reading_load_paths(const struct ss_arguments *arguments,
                                     const struct ss_reading *reading, const char *const *paths,
                                     size_t count, struct ss_model *model, struct ss_error *err)
{
    struct ss_progress progress = {0};
    struct ss_model_load load = reading->load;
    load.threads = load.threads > 0 ? load.threads : ss_reading_processors();
    load.progress = ss_progress_update;
    load.progress_context = &progress;
    enum ss_status status = ss_model_add_inputs(model, paths, count, &load, err);
    ss_progress_end(&progress);
    if (status == SS_OK && !reading->name_printed) {
        ss_reading_warn_axes(arguments, model, ss_stderr());
    }
    if (status == SS_OK && reading->weight == SS_WEIGHT_DEVICE_NS) {
        ss_device_stacks_weigh(model);
    }
    return status;
}

static enum ss_status load_newest(const struct ss_arguments *arguments,
                                  const struct ss_reading *reading, struct ss_model *model,
                                  const char **named, struct ss_error *err)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, 65536);
    enum ss_status status = ss_reading_newest(arguments, reading, &path, err);
    if (status == SS_OK) {
        const char *input = path.data;
        status = ss_reading_load_paths(arguments, reading, &input, 1, model, err);
        *named = ss_model_text(model, ss_intern_put(&model->strings, path.data, path.length));
    }
    ss_strbuf_fini(&path);
    return status;
}

enum ss_status ss_reading_load(const struct ss_arguments *arguments,
                               const struct ss_reading *reading, struct ss_model *model,
                               const char **named, struct ss_error *err)
{
    if (arguments->positional_count == 0) {
        return load_newest(arguments, reading, model, named, err);
    }
    *named = arguments->positional[0];
    return ss_reading_load_paths(arguments, reading, (const char *const *)arguments->positional,
                                 (size_t)arguments->positional_count, model, err);
}

enum ss_status ss_reading_check_output(const struct ss_model *model, const char *output,
                                       struct ss_error *err)
{
    struct stat out, in;
    if (stat(output, &out) != 0 || !S_ISREG(out.st_mode)) {
        return SS_OK;
    }
    for (size_t i = 0; i < model->inputs.count; i++) {
        const char *path = ss_model_text(model, model->inputs.data[i].path);
        if (stat(path, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
            return ss_fail(err, SS_E_USAGE, "%s is the input: name another output", output);
        }
    }
    return SS_OK;
}

mode_t ss_reading_output_mode(const struct ss_model *model)
{
    mode_t mode = 0666;
    for (size_t i = 0; i < model->inputs.count; i++) {
        struct stat in;
        const char *path = ss_model_text(model, model->inputs.data[i].path);
        if (stat(path, &in) == 0 && S_ISREG(in.st_mode)) {
            mode &= in.st_mode;
        }
    }
    return mode | S_IRUSR | S_IWUSR;
}

int ss_reading_write_problems(const struct ss_arguments *arguments,
                              const struct ss_selection *selection, bool shows_tracks, FILE *out)
{
    const struct ss_model *model = selection->model;
    bool has_ranges = model->ranges.count + model->marks.count > 0;
    struct ss_trust trust;
    struct ss_strbuf text;
    bool has_problems = false;
    ss_trust_init(&trust, selection);
    if (shows_tracks && ss_model_has_events(selection->model)) {
        ss_trust_allow_no_samples(&trust);
    }
    if (trust.why_no_samples != NULL && trust.why_no_samples[0] != '\0') {
        fprintf(out, "stepscope %s: ranges, but no samples: %s\n", arguments->command->name,
                trust.why_no_samples);
    }
    ss_strbuf_init(&text, 65536);
    for (size_t i = 0; i < trust.problems.count; i++) {
        /* A program without Python that marks ranges has no samples, but is complete. */
        if (trust.problems.data[i].kind == SS_PROBLEM_NO_SAMPLES && has_ranges) {
            continue;
        }
        ss_strbuf_clear(&text);
        ss_trust_problem_text(&trust.problems.data[i], &text);
        fprintf(out, "stepscope %s: %s\n", arguments->command->name, text.data);
        has_problems = true;
    }
    ss_strbuf_fini(&text);
    ss_trust_fini(&trust);
    return has_problems ? ss_status_exit_code(SS_E_TRUNCATED) : 0;
}

int ss_reading_report_problems(const struct ss_arguments *arguments,
                               const struct ss_selection *selection, bool shows_tracks)
{
    return ss_reading_write_problems(arguments, selection, shows_tracks, ss_stderr());
}
