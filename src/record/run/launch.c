/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "platform/runtime_library.h"

enum { LONGEST_EXEC_MS = 100, LONGEST_LIST_BYTES = 65536, PATH_BYTES = 4096 };

const struct ss_child_env ss_child_env_table[] = {
#define SS_CHILD_ENV(name, value, help) {#name, value, help, NULL, 0, false},
#define SS_CHILD_APPEND(name, value, separator, source, help)                                      \
    {#name, value, help, source, (separator)[0], false},
#define SS_CHILD_PREPEND(name, value, separator, source, help)                                     \
    {#name, value, help, source, (separator)[0], true},
#define SS_CHILD_INJECT(name, value, source, help) {#name, value, help, source, 0, false},
#include "record/run/child_env.def"
#undef SS_CHILD_ENV
#undef SS_CHILD_APPEND
#undef SS_CHILD_PREPEND
#undef SS_CHILD_INJECT
};
const size_t ss_child_env_count = sizeof ss_child_env_table / sizeof ss_child_env_table[0];

/* The value for the letter after `%`; NULL: none. */
static const char *value_of(char letter, const struct ss_record_options *options,
                            const struct ss_program_environment *values)
{
    switch (letter) {
    case 'p':
        return values->preload[0] != '\0' ? values->preload : NULL;
    case 'm':
        return values->mpi[0] != '\0' ? values->mpi : NULL;
    case 'a':
        return options->gpu != NULL && values->rocm[0] != '\0' ? values->rocm : NULL;
    case 'y':
        return values->python[0] != '\0' ? values->python : NULL;
    case 't':
        return values->torch[0] != '\0' ? values->torch : NULL;
    case 'o':
        return options->output;
    case 'r':
        return values->rings[0] != '\0' ? values->rings : NULL;
    case 's':
        return options->schedule;
    case 'l':
        return values->library[0] != '\0' ? values->library : NULL;
    case 'c':
        return options->gpu != NULL && values->library[0] != '\0' ? values->library : NULL;
    case 'g':
        return options->gpu;
    case 'n':
        return options->gpu != NULL ? options->counters : NULL;
    default:
        return NULL;
    }
}

/* The user's entries come before stepscope's, except in PYTHONPATH: Python imports only the first
 * sitecustomize. */
static void add_to_list(const struct ss_child_env *row, const char *value, const char *present)
{
    struct ss_strbuf list;
    ss_strbuf_init(&list, LONGEST_LIST_BYTES);
    ss_strbuf_append_format(&list, "%s%c%s", row->comes_first ? value : present, row->separator,
                            row->comes_first ? present : value);
    if (list.overflow) {
        ss_log(SS_WARN, "record", "%s is too long to be added to: %zu bytes", row->name,
               strlen(present));
    } else {
        setenv(row->name, list.data, 1);
    }
    ss_strbuf_fini(&list);
}

static void set_environment(const struct ss_record_options *options,
                            const struct ss_program_environment *values)
{
    const char *outer = getenv("STEPSCOPE_RECORDING");
    if (outer != NULL) {
        ss_log(SS_WARN, "record",
               "the recording %s already has this program: annotations, steps and operators go "
               "there, samples and metrics are in both; record it once for one complete recording",
               outer);
    }
    for (size_t i = 0; i < ss_child_env_count; i++) {
        const struct ss_child_env *row = &ss_child_env_table[i];
        bool is_text = row->value[0] != '%';
        const char *value = is_text ? row->value : value_of(row->value[1], options, values);
        const char *present = getenv(row->name);
        if (value == NULL || (is_text && values->preload[0] == '\0' && values->mpi[0] == '\0')) {
            continue;
        }
        if (row->separator != 0 && present != NULL && present[0] != '\0') {
            add_to_list(row, value, present);
        } else if (present == NULL || row->separator != 0) {
            setenv(row->name, value, 1);
        } else if (row->injected == NULL ? outer == NULL : !ss_runtime_library_is(present)) {
            ss_log(SS_WARN, "record", "%s is set already (%s) and is left as it is", row->name,
                   present);
        }
    }
}

/* Whether a folder of PATH has a file of that name that may not be run. */
static bool is_in_path(const char *name)
{
    char file[PATH_BYTES];
    struct stat status;
    const char *folder = getenv("PATH");
    for (size_t length; folder != NULL;
         folder = folder[length] == ':' ? folder + length + 1 : NULL) {
        length = strcspn(folder, ":");
        int written = snprintf(file, sizeof file, "%.*s%s%s", (int)length, folder,
                               length > 0 ? "/" : "", name);
        if (written < (int)sizeof file && stat(file, &status) == 0) {
            return true;
        }
    }
    return false;
}

/* execvp says EACCES, too, of a program that is nowhere, if a folder of PATH may not be read. */
static int reason_of(const char *program, int code)
{
    return code == EACCES && strchr(program, '/') == NULL && !is_in_path(program) ? ENOENT : code;
}

static _Noreturn void run(const struct ss_record_options *options,
                          const struct ss_program_signals *signals, struct ss_record_shared *shared)
{
    if (signals != NULL) {
        sigaction(SIGCHLD, &signals->child, NULL);
        sigaction(SIGPIPE, &signals->pipe, NULL);
        sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    }
    execvp(options->program[0], options->program);
    int saved = reason_of(options->program[0], errno);
    if (shared != NULL) {
        atomic_store(&shared->exec_errno, saved);
    } else {
        ss_log(SS_ERROR, "record", "cannot run %s: %s", options->program[0], strerror(saved));
    }
    _exit(saved == ENOENT || saved == ENOTDIR ? SS_EXIT_NOT_FOUND : SS_EXIT_NOT_EXECUTABLE);
}

_Noreturn void ss_launch_unrecorded(const struct ss_record_options *options,
                                    const struct ss_program_signals *signals,
                                    struct ss_record_shared *shared)
{
    if (shared != NULL) {
        atomic_store(&shared->program_pid, (int)getpid());
    }
    run(options, signals, shared);
}

static _Noreturn void become_program(const struct ss_record_options *options,
                                     const struct ss_program_signals *signals,
                                     const struct ss_program_environment *values,
                                     struct ss_record_shared *shared, int go_fd)
{
    char go = 0;
    ssize_t got;
    do {
        got = read(go_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) { /* the recorder died before it was ready */
        ss_launch_unrecorded(options, signals, shared);
    }
    atomic_store(&shared->program_pid, (int)getpid());
    if (options->inject) {
        set_environment(options, values);
    }
    run(options, signals, shared);
}

enum ss_status ss_launch_prepare(const struct ss_record_options *options,
                                 const struct ss_program_signals *signals,
                                 const struct ss_program_environment *values,
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
        become_program(options, signals, values, shared, go[0]);
    }
    close(go[0]);
    *launch = (struct ss_launch){pid, go[1]};
    return SS_OK;
}

void ss_launch_go(struct ss_launch *launch)
{
    char go = 'g';
    ssize_t written = write(launch->go_fd, &go, 1);
    (void)written; /* waitpid detects a program that has already ended */
    /* The other end closes at exec (or at its failure): afterwards /proc shows the program's own
     * image. Does not wait longer for a slow exec. */
    struct pollfd gone = {.fd = launch->go_fd, .events = 0};
    poll(&gone, 1, LONGEST_EXEC_MS);
    close(launch->go_fd);
    launch->go_fd = -1;
}
