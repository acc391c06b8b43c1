/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annot/demands.h"
#include "base/alloc.h"
#include "base/env.h"
#include "cli/reading/formats.h"
#include "record/details/detail_budget.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"
#include "record/run/retained_files.h"
#include "record/run/window_files.h"
#include "record/run/window_name.h"
#include "record/windows/on_demand_folder.h"
#include "view/output/sink.h"

static void add_setting(struct ss_record_plan *plan, const char *setting)
{
    size_t length = strlen(plan->gpu_text);
    snprintf(plan->gpu_text + length, sizeof plan->gpu_text - length, ",%s", setting);
}

static bool choose_gpu_metrics(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    double seconds;
    char setting[40];
    if (!ss_arguments_has(arguments, "gpu-metrics")) {
        return true;
    }
    if (plan->record.gpu == NULL) {
        ss_cli_usage(arguments, "--gpu-metrics needs the work of devices: leave out --gpu off");
        return false;
    }
    if (!ss_arguments_get_number(arguments, "gpu-metrics", 0.00001, 10, 0, &seconds)) {
        return false;
    }
    snprintf(setting, sizeof setting, "samples=%" PRIu64, (uint64_t)(seconds * 1e9 + 0.5));
    add_setting(plan, setting);
    plan->has_samples = true;
    return true;
}

/* The text is for the program: "default,tee,samples=1000000". */
bool ss_record_plan_choose_gpu(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    static const char *const levels[] = {"default", "light", "full", "off", NULL};
    static const char *const ways[] = {"yield", "tee", NULL};
    enum { LIGHT = 1, OFF = 3, TEE = 1 };
    int level, way;
    if (!ss_arguments_get_choice(arguments, "gpu", levels, 0, &level) ||
        !ss_arguments_get_choice(arguments, "gpu-beside-profiler", ways, 0, &way)) {
        return false;
    }
    if (way == TEE && level == LIGHT) {
        ss_cli_usage(arguments, "--gpu-beside-profiler tee needs --gpu default or full: light "
                                "has no kernels of graphs, and then the profiler has none");
        return false;
    }
    snprintf(plan->gpu_text, sizeof plan->gpu_text, "%s", levels[level]);
    if (way == TEE) {
        add_setting(plan, "tee");
    }
    plan->record.gpu = level != OFF ? plan->gpu_text : NULL;
    return choose_gpu_metrics(arguments, plan);
}

/* ",profiler=shapes+flops,profiler_steps=5:8": commas separate the settings for the program. */
bool ss_record_plan_choose_profiler(const struct ss_arguments *arguments, char *text, size_t size)
{
    static const char *const choices[] = {"shapes", "memory", "flops", "stacks"};
    const char *what = ss_arguments_get(arguments, "torch-profiler");
    const char *steps = ss_arguments_get(arguments, "torch-profiler-steps");
    long long first = 5, last = 8;
    int end = 0;
    text[0] = '\0';
    if (steps != NULL && (sscanf(steps, "%18lld:%18lld%n", &first, &last, &end) != 2 ||
                          steps[end] != '\0' || first < 0 || last < first)) {
        ss_cli_usage(arguments,
                     "--torch-profiler-steps takes the first and the last step, such as 5:8, "
                     "not \"%s\"",
                     steps);
        return false;
    }
    if (what == NULL && steps == NULL) {
        return true;
    }
    size_t used = (size_t)snprintf(text, size, ",profiler=");
    for (const char *word = what; word != NULL && word[0] != '\0';) {
        size_t length = strcspn(word, ",");
        size_t i = 0;
        while (i < 4 && (strncmp(choices[i], word, length) != 0 || choices[i][length] != '\0')) {
            i++;
        }
        if (i == 4 || used + 64 > size) {
            ss_cli_usage(arguments,
                         "--torch-profiler takes any of shapes,memory,flops,stacks, not \"%s\"",
                         what);
            return false;
        }
        used += (size_t)snprintf(text + used, size - used, "%s+", choices[i]);
        word += length + (word[length] == ',');
    }
    if (steps != NULL) {
        snprintf(text + used, size - used, ",profiler_steps=%lld:%lld", first, last);
    }
    return true;
}

bool ss_record_plan_choose_size(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    bool is_full = ss_arguments_has(arguments, "full");
    if (is_full && ss_arguments_has(arguments, "max-size")) {
        ss_cli_usage(arguments, "--full and --max-size exclude each other: leave out one of them");
        return false;
    }
    bool fits = ss_arguments_get_bytes(arguments, "max-size", SS_DETAIL_DEFAULT_MAX_BYTES,
                                       &plan->record.max_bytes);
    plan->record.max_bytes = is_full ? 0 : plan->record.max_bytes;
    return fits;
}

void ss_record_plan_fini(struct ss_record_plan *plan)
{
    ss_free(plan->program);
    ss_free(plan->output_path);
    ss_free(plan->trace_path);
    ss_free(plan->command_line);
    ss_free(plan->temporary_folder);
    ss_free(plan->on_demand_path);
    ss_run_folder_fini(&plan->run.folder);
}

/* rmdir() fails, as intended, while the recording is in the folder. */
void ss_record_plan_remove_folder(const struct ss_record_plan *plan)
{
    if (plan->temporary_folder != NULL) {
        rmdir(plan->temporary_folder);
    }
}

bool ss_record_plan_choose_format(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    const char *name = ss_arguments_get(arguments, "format");
    const char *path = ss_arguments_get(arguments, "output");
    const struct ss_format_row *format = NULL;
    if (name != NULL) {
        format = ss_format_by_name(name);
        if (format == NULL || !format->record) {
            struct ss_strbuf names;
            ss_strbuf_init(&names, 4096);
            ss_format_append_names(&names, true);
            ss_cli_usage(arguments, "--format takes %s, not \"%s\"", names.data, name);
            ss_strbuf_fini(&names);
            return false;
        }
    } else if (path != NULL) {
        format = ss_format_by_ending(path);
    }
    if (format != NULL && !format->record && format->write != NULL) {
        ss_cli_usage(arguments,
                     "the ending of %s names the format %s, which record does not write; record a "
                     ".pftrace, then convert it: stepscope export -o %s",
                     path, format->name, path);
        return false;
    }
    plan->output.format = format != NULL && format->record ? format : ss_format_native();
    return true;
}

bool ss_record_plan_parse_on_demand(const struct ss_arguments *arguments,
                                    struct ss_record_plan *plan)
{
    plan->on_demand = ss_arguments_has(arguments, "on-demand");
    if (!plan->on_demand) {
        return true;
    }
    const char *other = plan->record.schedule != NULL  ? "--schedule"
                        : plan->record.attach_pid != 0 ? "--pid"
                        : !plan->record.inject         ? "--no-inject"
                                                       : NULL;
    if (other != NULL) {
        ss_cli_usage(arguments, "--on-demand and %s exclude each other: leave out one of them",
                     other);
        return false;
    }
    plan->record.schedule = SS_DEMANDS_SCHEDULE;
    plan->output.is_on_demand = true;
    return true;
}

/* A converted recording starts as a native trace, hidden beside its output, so that no failure
 * loses recorded data. */
static char *hidden_beside(const char *path)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    ss_strbuf_append(&text, path, folder);
    ss_strbuf_append_format(&text, ".%s.%d.pftrace", path + folder, (int)getpid());
    return text.data;
}

/* stdout, a pipe, a device: written when the recording is over, and not read again. */
static bool is_written_in_place(const char *path)
{
    struct stat info;
    return ss_sink_descriptor(path) >= 0 ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

static enum ss_status check_writable_in_place(const char *path, struct ss_error *err)
{
    int fd = ss_sink_descriptor(path);
    int flags = fd >= 0 ? fcntl(fd, F_GETFL) : 0;
    if (fd >= 0 && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)) {
        return ss_fail(err, SS_E_USAGE, "%s: file descriptor %d is not open for writing", path, fd);
    }
    if (fd < 0 && access(path, W_OK) != 0) {
        return ss_fail_errno(err, errno, "cannot write %s", path);
    }
    return SS_OK;
}

static enum ss_status make_temporary_trace(struct ss_record_plan *plan, struct ss_error *err)
{
    const char *folder = ss_env_get(SS_ENV_TMPDIR);
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    ss_strbuf_append_format(&text, "%s/stepscope-XXXXXX",
                            folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    char *made = ss_strbuf_take(&text);
    if (mkdtemp(made) == NULL) {
        enum ss_status status = ss_fail_errno(err, errno, "cannot create the folder %s", made);
        ss_free(made);
        return status;
    }
    plan->temporary_folder = made;
    ss_strbuf_append_format(&text, "%s/recording.pftrace", made);
    plan->trace_path = ss_strbuf_take(&text);
    return SS_OK;
}

static enum ss_status choose_trace_path(struct ss_record_plan *plan, struct ss_error *err)
{
    bool native = ss_format_is_native(plan->output.format);
    if (native && ss_sink_descriptor(plan->output_path) >= 0) {
        return ss_fail(err, SS_E_USAGE,
                       "a native recording needs a file, not %s: name one, or choose another "
                       "format, as in -f raw",
                       plan->output_path);
    }
    if (!native && is_written_in_place(plan->output_path)) {
        plan->output.in_place = true;
        plan->record.keep_fd = ss_sink_descriptor(plan->output_path);
        SS_TRY(check_writable_in_place(plan->output_path, err));
        return make_temporary_trace(plan, err);
    }
    plan->trace_path = native ? ss_strdup(plan->output_path) : hidden_beside(plan->output_path);
    SS_TRY(ss_name_check_writable(plan->output_path, err));
    struct stat before;
    if (stat(plan->output_path, &before) == 0) {
        plan->output.replaced_inode = before.st_ino;
        plan->output.replaced_time = before.st_mtim;
    }
    return SS_OK;
}

/* --- a file for each window ------------------------------------------------------------------ */

/* The arguments with which `export` converts a window's trace as record_output_convert.c converts a
 * recording. */
static void choose_converter(struct ss_record_plan *plan)
{
    const struct ss_record_output *output = &plan->output;
    const char *const words[] = {"stepscope",
                                 "export",
                                 "--to",
                                 output->format->name,
                                 "--idle",
                                 output->idle ? "all" : "none",
                                 output->threads ? "--threads" : NULL,
                                 output->gil_only ? "--gil" : NULL,
                                 output->function_only ? "--function" : NULL,
                                 output->no_lines ? "--nolineno" : NULL,
                                 output->full_filenames ? "--full-filenames" : NULL};
    size_t count = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i] != NULL) {
            plan->converter[count++] = words[i];
        }
    }
    if (!ss_format_is_native(output->format)) {
        plan->record.converter = plan->converter;
    }
}

/* Without a template: NAME.stepscope/rank0-pid4242-window00000.pftrace. */
static void put_folder_template(const struct ss_record_plan *plan, struct ss_strbuf *name)
{
    char *path = ss_strbuf_take(name);
    const char *const endings[] = {plan->output.format->endings[0], ".pftrace", ".stepscope"};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && memcmp(path + length - ending, endings[i], ending) == 0) {
            length -= ending;
        }
    }
    ss_strbuf_append(name, path, length);
    ss_strbuf_append_format(name, ".stepscope/rank{rank}-pid{pid}-window{window:05}%s",
                            plan->output.format->endings[0]);
    ss_free(path);
}

/* Replaces doubled braces by single ones in a name without variables. Takes ownership of `name`. */
static char *without_doubled_braces(char *name)
{
    struct ss_window_name_values none = ss_window_name_unknown();
    struct ss_strbuf plain;
    ss_strbuf_init(&plain, 65536);
    ss_window_name_expand(name, &none, &plain, NULL); /* it has no variables */
    char *owned = ss_strbuf_take(&plain);
    ss_strbuf_fini(&plain);
    ss_free(name);
    return owned;
}

/* The folder that contains all window files: up to the last slash before the first variable. */
static char *folder_of(const char *template)
{
    size_t length = ss_window_name_fixed(template);
    while (length > 0 && template[length - 1] != '/') {
        length--;
    }
    return length > 0 ? without_doubled_braces(ss_strndup(template, length)) : ss_strdup("./");
}

static enum ss_status check_folder(const struct ss_record_plan *plan, struct ss_error *err)
{
    char *folder = folder_of(plan->output_path);
    struct ss_strbuf probe;
    ss_strbuf_init(&probe, 65536);
    ss_strbuf_append_format(&probe, "%s.stepscope-%d.probe", folder, (int)getpid());
    enum ss_status status = plan->no_overwrite ? ss_folder_check_empty(folder, err) : SS_OK;
    if (status == SS_OK) {
        status = ss_name_make_folders(probe.data, err);
    }
    int fd = status == SS_OK
                 ? open(probe.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (fd >= 0) {
        close(fd);
        unlink(probe.data);
    } else if (status == SS_OK) {
        status = ss_fail_errno(err, errno, "cannot write into the folder %s", folder);
    }
    ss_strbuf_fini(&probe);
    ss_free(folder);
    return status;
}

static enum ss_status choose_window_paths(struct ss_record_plan *plan, struct ss_error *err)
{
    if (ss_window_files_check(plan->output_path, err) != SS_OK) {
        return err->status;
    }
    choose_converter(plan);
    plan->record.window_name = plan->output_path;
    plan->trace_path = ss_strdup(plan->output_path);
    plan->output.per_window = true;
    return check_folder(plan, err);
}

static enum ss_status check_overwrite(const struct ss_record_plan *plan, struct ss_error *err)
{
    bool is_there = plan->no_overwrite &&
                    faccessat(AT_FDCWD, plan->output_path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return is_there ? ss_fail(err, SS_E_USAGE,
                              "%s exists already; choose another -o, or leave out --no-overwrite",
                              plan->output_path)
                    : SS_OK;
}

/* --- a folder for a run ----------------------------------------------------------------------- */

/* A run's folder, or a file for each window in it. */
static bool is_of_run(const struct ss_record_plan *plan)
{
    return plan->record.attach_pid == 0 && ss_record_run_is_many(&plan->run) &&
           (plan->per_window || ss_format_is_native(plan->output.format));
}

static void put_default_name(const struct ss_record_plan *plan, pid_t pid, struct ss_strbuf *name)
{
    if (is_of_run(plan)) {
        ss_run_name(plan->record.program, &plan->run.facts, name);
        ss_strbuf_append_text(name, ".stepscope");
    } else {
        ss_name_default(plan->record.program, pid, name);
        ss_strbuf_append_text(name, plan->output.format->endings[0]);
    }
}

static enum ss_status choose_run_paths(struct ss_record_plan *plan, struct ss_error *err)
{
    if (!ss_format_is_native(plan->output.format)) {
        return ss_fail(err, SS_E_USAGE,
                       "%s: the folder of a run holds native recordings; leave out --format, and "
                       "convert them: stepscope export %s",
                       plan->output_path, plan->output_path);
    }
    SS_TRY(ss_record_run_create(&plan->run, plan->output_path, plan->program, err));
    ss_free(plan->output_path);
    plan->output_path = ss_strdup(plan->run.folder.trace);
    plan->trace_path = ss_strdup(plan->run.folder.trace);
    plan->record.run_folder = plan->run.folder.folder;
    plan->output.run = &plan->run;
    return SS_OK;
}

/* --- the choice ------------------------------------------------------------------------------- */

static enum ss_status expand_name(const struct ss_record_plan *plan, const char *given,
                                  struct ss_strbuf *name, struct ss_error *err)
{
    struct ss_rank_facts facts = plan->run.facts;
    pid_t target = plan->record.attach_pid;
    if (target != 0) {
        ss_rank_find(target, &facts);
    }
    pid_t pid = target != 0 ? target : getpid();
    if (given == NULL) {
        put_default_name(plan, pid, name);
        return SS_OK;
    }
    return ss_name_expand(given, pid, &facts, name, err);
}

/* Where requests for windows are left: in the folder of the run or of the windows, else beside the
 * file. */
static void choose_on_demand_path(struct ss_record_plan *plan)
{
    struct ss_strbuf path;
    char *folder = plan->run.folder.folder != NULL ? ss_strdup(plan->run.folder.folder)
                   : plan->output.per_window       ? folder_of(plan->output_path)
                                                   : NULL;
    ss_strbuf_init(&path, 65536);
    ss_on_demand_path(folder != NULL ? folder : plan->output_path, folder != NULL, &path);
    plan->on_demand_path = ss_strbuf_take(&path);
    plan->record.on_demand = plan->on_demand_path;
    ss_strbuf_fini(&path);
    ss_free(folder);
}

/* Long: one case for each kind of name. */
enum ss_status ss_record_plan_choose_paths(const struct ss_arguments *arguments,
                                           struct ss_record_plan *plan, struct ss_error *err)
{
    const char *given = ss_arguments_get(arguments, "output");
    struct ss_strbuf name;
    ss_strbuf_init(&name, 65536);
    enum ss_status status = expand_name(plan, given, &name, err);
    /* %q{…} is expanded */
    bool is_template = status == SS_OK && given != NULL && ss_window_name_is_template(name.data);
    bool is_plain = status == SS_OK && given != NULL && !is_template;
    if (status == SS_OK && plan->per_window && !is_template) {
        put_folder_template(plan, &name);
    }
    plan->output_path = ss_strbuf_take(&name);
    ss_strbuf_fini(&name);
    SS_TRY(status);
    if (is_plain && !plan->per_window) {
        plan->output_path = without_doubled_braces(plan->output_path);
    }
    plan->record.keep_fd = -1;
    if (is_template || plan->per_window) {
        SS_TRY(choose_window_paths(plan, err));
    } else if (ss_record_run_is_folder(plan->output_path)) {
        SS_TRY(choose_run_paths(plan, err));
        SS_TRY(check_overwrite(plan, err));
    } else {
        SS_TRY(check_overwrite(plan, err));
        SS_TRY(choose_trace_path(plan, err));
    }
    plan->record.path = plan->output.trace_path = plan->trace_path;
    plan->record.output = plan->output.output_path = plan->output_path;
    if (plan->on_demand) {
        choose_on_demand_path(plan);
    }
    return SS_OK;
}
