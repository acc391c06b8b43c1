/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"

extern char **environ;

enum { MOST_PATH_BYTES = 4096, MOST_WORDS = 16, POLL_MS = 5, MOST_RUN_S = 120, MOST_GRACE_S = 10 };

static const char *const names[SS_GPU_RUNS] = {"alone", "recorded", "one-buffer"};
static const char *const endings[] = {"sheet", "pftrace", "log"};
enum { SHEET, RECORDING, LOG, ENDINGS };

/* --- the folder ------------------------------------------------------------------------------- */

enum ss_status ss_gpu_folder_make(struct ss_strbuf *folder, struct ss_error *err)
{
    const char *root = ss_env_get(SS_ENV_TMPDIR);
    ss_strbuf_append_format(folder, "%s/stepscope-gpu-XXXXXX",
                            root != NULL && root[0] != '\0' ? root : "/tmp");
    if (folder->overflow || mkdtemp(folder->data) == NULL) {
        return ss_fail_errno(err, folder->overflow ? ENAMETOOLONG : errno,
                             "no folder can be made for the recordings (TMPDIR selects another)");
    }
    return SS_OK;
}

static void put_path(const char *folder, enum ss_gpu_run_kind kind, int ending, char *path)
{
    snprintf(path, MOST_PATH_BYTES, "%s/%s.%s", folder, names[kind], endings[ending]);
}

void ss_gpu_folder_remove(const char *folder)
{
    char path[MOST_PATH_BYTES];
    for (int kind = 0; kind < SS_GPU_RUNS; kind++) {
        for (int ending = 0; ending < ENDINGS; ending++) {
            put_path(folder, (enum ss_gpu_run_kind)kind, ending, path);
            unlink(path);
        }
    }
    rmdir(folder);
}

static enum ss_status make_sheet(const char *path, struct ss_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_made = fd >= 0 && ftruncate(fd, sizeof(struct ss_gpu_sheet)) == 0;
    int saved_errno = errno;
    if (fd >= 0) {
        close(fd);
    }
    return is_made ? SS_OK : ss_fail_errno(err, saved_errno, "%s cannot be written", path);
}

/* Its program may have died within a text. */
static enum ss_status read_sheet(const char *path, struct ss_gpu_sheet *sheet, struct ss_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, sheet, sizeof *sheet) : -1;
    int saved_errno = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (got != (ssize_t)sizeof *sheet) {
        return ss_fail_errno(err, got < 0 ? saved_errno : EIO, "%s cannot be read", path);
    }
    sheet->problem[sizeof sheet->problem - 1] = '\0';
    sheet->device[sizeof sheet->device - 1] = '\0';
    return SS_OK;
}

/* --- the process ------------------------------------------------------------------------------ */

static size_t put_words(const char *const *from, const char **words)
{
    size_t count = 0;
    while (from[count] != NULL) {
        words[count] = from[count];
        count++;
    }
    return count;
}

/* Without a shell; stdout is dropped, stderr goes into the log. */
static enum ss_status start(const char *own, const char *folder, enum ss_gpu_run_kind kind,
                            pid_t *child, struct ss_error *err)
{
    char sheet[MOST_PATH_BYTES], recording[MOST_PATH_BYTES], log[MOST_PATH_BYTES];
    put_path(folder, kind, SHEET, sheet);
    put_path(folder, kind, RECORDING, recording);
    put_path(folder, kind, LOG, log);
    const char *const under[] = {own, "record", "-q", "-o", recording, "--", NULL};
    const char *const program[] = {own, "doctor", "--gpu-work", sheet, NULL};
    const char *words[MOST_WORDS];
    size_t count = kind == SS_GPU_RUN_ALONE ? 0 : put_words(under, words);
    count += put_words(program, words + count);
    if (kind == SS_GPU_RUN_ONE_BUFFER) {
        words[count++] = "--gpu-burst";
    }
    words[count] = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    int error = posix_spawn(child, own, &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? SS_OK
                      : ss_fail_errno(err, error, "%s cannot be started to use the device", own);
}

/* A driver that hangs ends with SIGTERM, which stepscope passes on, else with SIGKILL. */
static void wait_for(pid_t child, struct ss_gpu_run *run)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    uint64_t begin_ns = ss_clock_now_ns(NULL);
    int status = 0, sent = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        uint64_t took_s = (ss_clock_now_ns(NULL) - begin_ns) / UINT64_C(1000000000);
        int wanted = took_s >= MOST_RUN_S + MOST_GRACE_S ? SIGKILL
                     : took_s >= MOST_RUN_S              ? SIGTERM
                                                         : 0;
        if (wanted != sent) {
            kill(child, wanted);
            sent = wanted;
        }
        nanosleep(&pause, NULL);
    }
    run->has_timed_out = sent != 0;
    run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The last line; that there are no samples says nothing about the device. */
static void read_message(const char *folder, enum ss_gpu_run_kind kind, struct ss_gpu_run *run)
{
    static const char no_samples[] = "stepscope record: no samples";
    char path[MOST_PATH_BYTES], line[sizeof run->message];
    put_path(folder, kind, LOG, path);
    FILE *log = fopen(path, "re");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        if (strncmp(line, no_samples, strlen(no_samples)) != 0) {
            memcpy(run->message, line, sizeof line);
        }
    }
    run->message[strcspn(run->message, "\n")] = '\0';
    if (log != NULL) {
        fclose(log);
    }
}

enum ss_status ss_gpu_run(const char *folder, enum ss_gpu_run_kind kind, struct ss_gpu_run *run,
                          struct ss_error *err)
{
    char own[PATH_MAX], sheet[MOST_PATH_BYTES];
    pid_t child = -1;
    *run = (struct ss_gpu_run){.status = 0};
    if (realpath("/proc/self/exe", own) == NULL) {
        return ss_fail_errno(err, errno, "the path of stepscope itself is unknown");
    }
    put_path(folder, kind, SHEET, sheet);
    SS_TRY(make_sheet(sheet, err));
    if (kind == SS_GPU_RUN_ONE_BUFFER) {
        setenv("STEPSCOPE_GPU", "default,buffers=1", 1);
    }
    enum ss_status status = start(own, folder, kind, &child, err);
    if (kind == SS_GPU_RUN_ONE_BUFFER) {
        unsetenv("STEPSCOPE_GPU");
    }
    SS_TRY(status);
    wait_for(child, run);
    read_message(folder, kind, run);
    put_path(folder, kind, RECORDING, run->recording);
    if (access(run->recording, R_OK) != 0) {
        run->recording[0] = '\0';
    }
    return read_sheet(sheet, &run->sheet, err);
}
