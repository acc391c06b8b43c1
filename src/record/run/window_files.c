/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/window_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/vec.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"
#include "record/run/retained_files.h"
#include "record/run/window_name.h"

enum { MOST_NAME_BYTES = 4000, MOST_TRIES = 10000 };

/* The newest files of a process, which stay. */
struct retained_files {
    uint32_t process_ref;
    struct ss_retained_files files, natives;
};

/* A window whose trace is closed. */
struct finished {
    struct ss_window window;
    ss_window_sealed *sealed;
    void *context;
};

struct ss_window_files {
    const struct ss_record_options *options;
    char *run_name;
    char host[256];
    uint64_t since_ns;
    struct ss_intern names; /* used so far */
    struct ss_vec_of(struct retained_files) retained;
    struct ss_vec_of(struct finished) waiting; /* for conversion, oldest first */
    pid_t converter;                           /* of the first; 0: none runs */
    struct ss_window_file_figures figures;
    bool is_late; /* names contain how windows ended */
};

/* --- names ----------------------------------------------------------------------------------- */

/* Defaults to what torchrun sets for a run of one process. */
static void fill_ranks(pid_t pid, struct ss_window_name_values *values)
{
    struct ss_rank_facts facts;
    ss_rank_find(pid, &facts);
    if (!facts.has[SS_RANK]) {
        ss_rank_find(0, &facts);
    }
    const uint32_t *numbers = facts.numbers;
    values->rank = numbers[SS_RANK];
    values->local_rank = numbers[SS_LOCAL_RANK];
    values->world_size = facts.has[SS_WORLD_SIZE] ? numbers[SS_WORLD_SIZE] : 1;
    values->local_world_size = facts.has[SS_LOCAL_WORLD_SIZE] ? numbers[SS_LOCAL_WORLD_SIZE] : 1;
    values->node_rank = numbers[SS_NODE];
}

enum ss_status ss_window_files_check(const char *template, struct ss_error *err)
{
    struct ss_window_name_values values = ss_window_name_unknown();
    struct ss_strbuf name;
    SS_TRY(ss_window_name_check(template, true, err));
    for (const char *at = template; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') {
            return ss_fail(err, SS_E_USAGE,
                           "the name of windows' files holds a line break or "
                           "another control character; leave it out");
        }
    }
    if (template[0] != '\0' && template[strlen(template) - 1] == '/') {
        return ss_fail(err, SS_E_USAGE,
                       "the name of windows' files ends in /: a folder; name a file in it");
    }
    fill_ranks(getpid(), &values);
    values.run_name = values.host = "x";
    values.pid = values.window = values.step = values.epoch = 0;
    values.batch = values.batch_in_epoch = 0;
    values.last_step = values.last_batch = values.last_batch_in_epoch = 0;
    values.total_wct = 0;
    ss_strbuf_init(&name, MOST_NAME_BYTES);
    enum ss_status status = ss_window_name_expand(template, &values, &name, err);
    ss_strbuf_fini(&name);
    return status;
}

static char *run_name_of(const struct ss_record_options *options)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, 256);
    ss_name_default(options->program, options->attach_pid != 0 ? options->attach_pid : getpid(),
                    &name);
    char *taken = ss_strbuf_take(&name);
    ss_strbuf_fini(&name);
    return taken;
}

struct ss_window_files *ss_window_files_new(const struct ss_record_options *options)
{
    struct ss_window_files *files = ss_alloc_zero(1, sizeof *files);
    files->options = options;
    files->run_name = run_name_of(options);
    files->since_ns = ss_clock_now_ns(options->clock);
    files->is_late = options->window_name != NULL && ss_window_name_is_late(options->window_name);
    if (gethostname(files->host, sizeof files->host - 1) != 0) {
        snprintf(files->host, sizeof files->host, "localhost");
    }
    ss_intern_init(&files->names);
    return files;
}

static void window_fini(struct ss_window *window)
{
    ss_free(window->trace_path);
    ss_free(window->output_path);
    window->trace_path = window->output_path = NULL;
}

void ss_window_files_free(struct ss_window_files *files)
{
    for (size_t i = 0; i < files->retained.count; i++) {
        ss_retained_files_fini(&files->retained.data[i].files);
        ss_retained_files_fini(&files->retained.data[i].natives);
    }
    for (size_t i = 0; i < files->waiting.count; i++) {
        window_fini(&files->waiting.data[i].window);
    }
    ss_vec_fini(&files->retained);
    ss_vec_fini(&files->waiting);
    ss_intern_fini(&files->names);
    ss_free(files->run_name);
    ss_free(files);
}

/* Absolute: the programs that get the path may have another working folder. */
static enum ss_status put_folder(const char *template, struct ss_strbuf *out, struct ss_error *err)
{
    char folder[PATH_MAX];
    if (template[0] == '/') {
        return SS_OK;
    }
    if (getcwd(folder, sizeof folder) == NULL) {
        return ss_fail_errno(err, errno, "cannot find this folder");
    }
    ss_strbuf_append_text(out, folder);
    ss_strbuf_append_char(out, '/');
    return SS_OK;
}

/* Inserts the suffix before the first dot of the file name: "…-pid42", then "…-pid42-window3". */
static char *with_suffix(const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strchr(slash != NULL ? slash + 1 : path, '.');
    size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_NAME_BYTES);
    ss_strbuf_append(&text, path, stem);
    ss_strbuf_append_text(&text, suffix);
    ss_strbuf_append_text(&text, path + stem);
    char *taken = ss_strbuf_take(&text);
    ss_strbuf_fini(&text);
    return taken;
}

static bool is_new(struct ss_window_files *files, const char *path)
{
    uint32_t known = files->names.count;
    return ss_intern_put_text(&files->names, path) >= known;
}

static char *choose_path(struct ss_window_files *files, const struct ss_window *window,
                         const char *wanted)
{
    char *path = ss_strdup(wanted);
    for (int i = 0; !is_new(files, path) && i < MOST_TRIES; i++) {
        char suffix[96];
        int length = snprintf(suffix, sizeof suffix, "-pid%d", (int)window->pid);
        if (i > 0) {
            length += snprintf(suffix + length, sizeof suffix - (size_t)length, "-window%u",
                               window->number - 1);
        }
        if (i > 1) {
            snprintf(suffix + length, sizeof suffix - (size_t)length, "-%d", i);
        }
        ss_free(path);
        path = with_suffix(wanted, suffix);
    }
    return path;
}

static char *hidden_beside(const char *path)
{
    struct ss_strbuf text;
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    ss_strbuf_init(&text, MOST_NAME_BYTES);
    ss_strbuf_append(&text, path, folder);
    ss_strbuf_append_format(&text, ".%s.%d.pftrace", path + folder, (int)getpid());
    char *taken = ss_strbuf_take(&text);
    ss_strbuf_fini(&text);
    return taken;
}

static struct ss_window_name_values values_of(const struct ss_window_files *files,
                                              const struct ss_window *window)
{
    struct ss_window_name_values values = ss_window_name_unknown();
    fill_ranks(window->pid, &values);
    values.run_name = files->run_name;
    values.host = files->host;
    values.pid = window->pid;
    values.window = (int64_t)window->number - 1;
    values.step = values.batch = window->first_step;
    values.epoch = window->epoch >= 0 ? window->epoch : 0;
    values.batch_in_epoch = window->batch;
    /* Composer counts complete batches: a cut window ends in its last step. */
    int64_t last_step = window->last_step - window->partial;
    values.last_step = last_step > window->first_step ? last_step : window->first_step;
    values.last_batch = values.last_step + 1;
    values.last_batch_in_epoch = window->batch + values.last_batch - window->first_step;
    values.total_wct =
        window->begin_ns > files->since_ns ? (double)(window->begin_ns - files->since_ns) / 1e9 : 0;
    return values;
}

static enum ss_status expand(const struct ss_window_files *files, const struct ss_window *window,
                             struct ss_strbuf *name, struct ss_error *err)
{
    struct ss_window_name_values values = values_of(files, window);
    SS_TRY(put_folder(files->options->window_name, name, err));
    return ss_window_name_expand(files->options->window_name, &values, name, err);
}

/* For a window whose name is not known yet; unique. */
static char *hidden_window(const char *path, const struct ss_window *window)
{
    char suffix[64];
    snprintf(suffix, sizeof suffix, "-pid%d-window%u", (int)window->pid, window->number - 1);
    char *visible = with_suffix(path, suffix), *hidden = hidden_beside(visible);
    ss_free(visible);
    return hidden;
}

enum ss_status ss_window_files_name(struct ss_window_files *files, struct ss_window *window,
                                    struct ss_error *err)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, MOST_NAME_BYTES);
    enum ss_status status = expand(files, window, &name, err);
    if (status == SS_OK) {
        char *path = files->is_late ? ss_strdup(name.data) : choose_path(files, window, name.data);
        status = ss_name_make_folders(path, err);
        window->output_path = path;
        window->trace_path = files->is_late                      ? hidden_window(path, window)
                             : files->options->converter != NULL ? hidden_beside(path)
                                                                 : ss_strdup(path);
    }
    ss_strbuf_fini(&name);
    return status;
}

static void keep_error(struct ss_window_files *files, const char *error)
{
    if (files->figures.first_error[0] == '\0') {
        snprintf(files->figures.first_error, sizeof files->figures.first_error, "%.*s",
                 (int)sizeof files->figures.first_error - 1, error);
    }
}

/* The end of the window is known, and with it the name. */
static void name_finished(struct ss_window_files *files, struct ss_window *window)
{
    struct ss_strbuf name;
    struct ss_error err = {0};
    ss_strbuf_init(&name, MOST_NAME_BYTES);
    enum ss_status status = expand(files, window, &name, &err);
    if (status == SS_OK) {
        ss_free(window->output_path);
        window->output_path = choose_path(files, window, name.data);
        status = ss_name_make_folders(window->output_path, &err);
    }
    if (status == SS_OK && files->options->converter == NULL &&
        rename(window->trace_path, window->output_path) != 0) {
        status = ss_fail_errno(&err, errno, "cannot name a window %s", window->output_path);
    }
    if (status != SS_OK) {
        keep_error(files, err.message);
        window->failed = true;
    }
    ss_strbuf_fini(&name);
}

/* --- the end of a file ----------------------------------------------------------------------- */

static struct retained_files *retained_of(struct ss_window_files *files, uint32_t process_ref)
{
    for (size_t i = 0; i < files->retained.count; i++) {
        if (files->retained.data[i].process_ref == process_ref) {
            return &files->retained.data[i];
        }
    }
    ss_vec_push(&files->retained, (struct retained_files){.process_ref = process_ref});
    struct retained_files *entry = &files->retained.data[files->retained.count - 1];
    ss_retained_files_init(&entry->files, files->options->windows_to_keep);
    ss_retained_files_init(&entry->natives, files->options->windows_to_keep);
    return entry;
}

static void remove_old_files(struct ss_window_files *files, const struct ss_window *window)
{
    if (files->options->windows_to_keep < 0) {
        return; /* all files stay */
    }
    struct retained_files *entry = retained_of(files, window->process_ref);
    struct ss_retained_files *retained = &entry->files;
    struct ss_error err = {0};
    size_t before = retained->paths.count;
    if (ss_retained_files_add(retained, window->output_path, &err) != SS_OK) {
        keep_error(files, err.message);
    }
    files->figures.removed += before + 1 - retained->paths.count;
    if (files->options->converter != NULL && files->options->keep_native) {
        char *native = ss_name_native_beside(window->output_path);
        if (ss_retained_files_add(&entry->natives, native, &err) != SS_OK) {
            keep_error(files, err.message);
        }
        ss_free(native);
    }
}

/* Reports the window and frees it. */
static void seal(struct ss_window_files *files, struct finished *finished)
{
    struct ss_window *window = &finished->window;
    files->figures.failed += window->failed;
    files->figures.finished += !window->failed;
    finished->sealed(finished->context, window);
    if (!window->failed) {
        snprintf(files->figures.last, sizeof files->figures.last, "%s", window->output_path);
        remove_old_files(files, window);
    }
    window_fini(window);
}

/* --- conversion ------------------------------------------------------------------------------ */

/* The path may be in use: a link is not followed, a FIFO not opened, neither is removed. */
static bool is_regular_or_new(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? S_ISREG(status.st_mode) : errno == ENOENT;
}

/* Runs this executable as `export`: a fork would copy the page tables of all mappings. */
static bool start_converter(struct ss_window_files *files, const struct ss_window *window)
{
    const char *arguments[SS_MOST_CONVERTER_WORDS + 4];
    size_t count = 0;
    if (!is_regular_or_new(window->output_path)) {
        return false;
    }
    for (; files->options->converter[count] != NULL && count < SS_MOST_CONVERTER_WORDS; count++) {
        arguments[count] = files->options->converter[count];
    }
    arguments[count++] = "-o";
    arguments[count++] = window->output_path;
    arguments[count++] = window->trace_path;
    arguments[count] = NULL;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&files->converter, "/proc/self/exe", &actions, &attributes,
                            (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        files->converter = 0;
        keep_error(files, strerror(error));
    }
    return error == 0;
}

static void remove_first(struct ss_window_files *files, struct finished *first)
{
    *first = files->waiting.data[0];
    for (size_t i = 1; i < files->waiting.count; i++) {
        files->waiting.data[i - 1] = files->waiting.data[i];
    }
    files->waiting.count--;
}

/* A trace that could not be converted stays, under a visible name. */
static void retain_trace(struct ss_window_files *files, struct ss_window *window, const char *why)
{
    char text[256];
    bool is_ours = is_regular_or_new(window->output_path);
    char *visible = with_suffix(window->output_path, "");
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_NAME_BYTES);
    ss_strbuf_append_text(&path, visible);
    ss_strbuf_append_text(&path, ".pftrace");
    ss_free(visible);
    if (is_ours) {
        unlink(window->output_path); /* a partial output */
    } else {
        why = "the name belongs to a link, or to something else that is not a regular file";
    }
    if (!path.overflow && rename(window->trace_path, path.data) == 0) {
        ss_free(window->output_path);
        window->output_path = ss_strbuf_take(&path);
    }
    ss_strbuf_fini(&path);
    window->failed = true;
    snprintf(text, sizeof text, "%.60s; the recording is kept as %.150s", why, window->output_path);
    keep_error(files, text);
}

static void keep_native(struct ss_window_files *files, const struct ss_window *window)
{
    char *native = ss_name_native_beside(window->output_path);
    if (!is_regular_or_new(native) || rename(window->trace_path, native) != 0) {
        keep_error(files, "a native trace could not be renamed, and stays hidden beside its file");
    }
    ss_free(native);
}

static void conversion_ended(struct ss_window_files *files, bool worked)
{
    struct finished first;
    remove_first(files, &first);
    files->converter = 0;
    if (worked && files->options->keep_native) {
        keep_native(files, &first.window);
    } else if (worked) {
        unlink(first.window.trace_path);
    } else {
        retain_trace(files, &first.window, "stepscope export failed on a window");
    }
    seal(files, &first);
}

static void convert_next(struct ss_window_files *files)
{
    while (files->converter == 0 && files->waiting.count > 0 &&
           !start_converter(files, &files->waiting.data[0].window)) {
        conversion_ended(files, false);
    }
}

void ss_window_files_finished(struct ss_window_files *files, struct ss_window *window,
                              const char *error, ss_window_sealed *sealed, void *context)
{
    if (files->is_late && !window->failed) {
        name_finished(files, window);
    }
    struct finished finished = {*window, sealed, context};
    window->trace_path = window->output_path = NULL;
    if (error != NULL) {
        keep_error(files, error);
    }
    if (files->options->converter == NULL || window->failed) {
        seal(files, &finished);
        return;
    }
    ss_vec_push(&files->waiting, finished);
    convert_next(files);
}

bool ss_window_files_is_converter(const struct ss_window_files *files, pid_t pid)
{
    return files->converter != 0 && pid == files->converter;
}

bool ss_window_files_child_ended(struct ss_window_files *files, pid_t pid, int status)
{
    if (!ss_window_files_is_converter(files, pid)) {
        return false;
    }
    /* A trace without samples is converted too, with this status. */
    bool worked =
        WIFEXITED(status) && (WEXITSTATUS(status) == 0 ||
                              (WEXITSTATUS(status) == ss_status_exit_code(SS_E_EMPTY) &&
                               access(files->waiting.data[0].window.output_path, F_OK) == 0));
    conversion_ended(files, worked);
    convert_next(files);
    return true;
}

void ss_window_files_wait(struct ss_window_files *files)
{
    convert_next(files);
    while (files->converter != 0) {
        int status = 1;
        pid_t got = waitpid(files->converter, &status, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        ss_window_files_child_ended(files, files->converter, got > 0 ? status : 1);
    }
}

void ss_window_files_get_figures(const struct ss_window_files *files,
                                 struct ss_window_file_figures *figures)
{
    *figures = files->figures;
}
