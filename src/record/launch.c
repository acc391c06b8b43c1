/* SPDX-License-Identifier: Apache-2.0 */
#include "record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"

const struct ss_child_env ss_child_env_table[] = {
#define SS_CHILD_ENV(name, value, help) {#name, value, help},
#include "record/child_env.def"
#undef SS_CHILD_ENV
};
const size_t ss_child_env_count = sizeof ss_child_env_table / sizeof ss_child_env_table[0];

static void hand_environment(const struct ss_record_options *options, const char *rings)
{
    for (size_t i = 0; i < ss_child_env_count; i++) {
        const struct ss_child_env *row = &ss_child_env_table[i];
        const char *present = getenv(row->name);
        if ((strstr(row->value, "%r") != NULL && rings[0] == '\0') ||
            (strstr(row->value, "%s") != NULL && options->schedule == NULL)) {
            continue;
        }
        if (present != NULL) {
            ss_log(SS_WARN, "record", "%s is set already (%s) and is left as it is", row->name,
                   present);
            continue;
        }
        struct ss_strbuf value;
        ss_strbuf_init(&value, 65536);
        for (const char *at = row->value; *at != '\0'; at++) {
            if (at[0] == '%' && at[1] == 'o') {
                ss_strbuf_append_text(&value, options->output);
                at++;
            } else if (at[0] == '%' && at[1] == 'r') {
                ss_strbuf_append_text(&value, rings);
                at++;
            } else if (at[0] == '%' && at[1] == 's') {
                ss_strbuf_append_text(&value, options->schedule);
                at++;
            } else {
                ss_strbuf_append_char(&value, *at);
            }
        }
        setenv(row->name, value.data, 0);
        ss_strbuf_fini(&value);
    }
}

static _Noreturn void become_program(const struct ss_record_options *options,
                                     const struct ss_program_signals *signals, const char *rings,
                                     struct ss_record_shared *shared, int go_fd)
{
    char go = 0;
    ssize_t got;
    do {
        got = read(go_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        _exit(SS_EXIT_OURS); /* the recorder died before it was ready */
    }
    atomic_store(&shared->program_pid, (int)getpid());
    if (options->inject) {
        hand_environment(options, rings);
    }
    sigaction(SIGCHLD, &signals->child, NULL);
    sigaction(SIGPIPE, &signals->pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    execvp(options->program[0], options->program);
    int saved = errno;
    atomic_store(&shared->exec_errno, saved);
    _exit(saved == ENOENT || saved == ENOTDIR ? SS_EXIT_NOT_FOUND : SS_EXIT_NOT_EXECUTABLE);
}

enum ss_status ss_launch_prepare(const struct ss_record_options *options,
                                 const struct ss_program_signals *signals, const char *rings,
                                 struct ss_record_shared *shared, struct ss_launch *launch,
                                 struct ss_error *err)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) {
        return ss_fail_errno(err, errno, "cannot make a pipe to start the program");
    }
    pid_t pid = fork();
    if (pid < 0) {
        int saved = errno;
        close(go[0]);
        close(go[1]);
        return ss_fail_errno(err, saved, "cannot start another process");
    }
    if (pid == 0) {
        close(go[1]);
        become_program(options, signals, rings, shared, go[0]);
    }
    close(go[0]);
    *launch = (struct ss_launch){pid, go[1]};
    return SS_OK;
}

void ss_launch_go(struct ss_launch *launch)
{
    char go = 'g';
    ssize_t written = write(launch->go_fd, &go, 1);
    (void)written; /* a program that is gone already is found by waitpid */
    close(launch->go_fd);
    launch->go_fd = -1;
}
