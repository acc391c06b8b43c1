/* SPDX-License-Identifier: Apache-2.0 */
#include "record/session/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/capture.h"
#include "base/clock.h"
#include "base/log.h"
#include "platform/descriptors.h"
#include "record/run/launch.h"
#include "record/run/witness.h"
#include "record/session/session.h"

struct supervisor {
    const struct ss_record_options *options;
    struct ss_record_shared *shared;
    ss_record_finished *finished;
    void *context;
    struct ss_record_result *result;
    struct ss_program_signals original;
    int signal_fd, notice_fd;
    sigset_t held;  /* signals that came before there was a process of the program */
    pid_t recorder; /* 0: ended */
    pid_t finisher; /* a child that runs `finished`; 0: none */
    struct ss_witness witness;
    uint64_t drained_ns; /* last time without a pending signal */
    bool had_program;    /* the program had its process at that time */
    bool program_ended;
    int program_status;
    bool reported;
    bool is_released;     /* stdin and stdout, which are the program's */
    bool runs_unrecorded; /* the program runs without a recorder */
};

static bool launched(const struct supervisor *supervisor)
{
    return supervisor->options->attach_pid == 0;
}

/* The process that is recorded exists, so that it has got what its group has got. */
static bool has_program(const struct supervisor *supervisor)
{
    return !launched(supervisor) || atomic_load(&supervisor->shared->program_pid) > 0;
}

/* --- the end of the recorder ----------------------------------------------------------------- */

static void fill_result(struct supervisor *supervisor, int recorder_status)
{
    struct ss_record_result *result = supervisor->result;
    struct ss_record_shared *shared = supervisor->shared;
    result->end = (enum ss_record_end)atomic_load(&shared->end);
    result->recorder_died = result->end == SS_RECORD_RUNNING;
    result->recorder_status = recorder_status;
    result->error = shared->error;
    result->figures = shared->figures;
    result->program_ended = atomic_load(&shared->program_ended);
    result->program_status = atomic_load(&shared->program_status);
    result->exec_errno = atomic_load(&shared->exec_errno);
    pid_t program = atomic_load(&shared->program_pid);
    result->started = launched(supervisor)
                          ? program > 0 || atomic_load(&shared->program_ended)
                          : result->end != SS_RECORD_FAILED || shared->figures.start_ns != 0;
}

/* In a child with blocked signals: a Ctrl-C that is meant for the program does not reach it. */
static void report(struct supervisor *supervisor)
{
    supervisor->reported = true;
    fflush(NULL);
    supervisor->finisher = fork();
    if (supervisor->finisher == 0) {
        bool failed = supervisor->finished(supervisor->context, supervisor->result);
        fflush(NULL);
        _exit(failed ? 1 : 0);
    }
    if (supervisor->finisher < 0) {
        supervisor->finisher = 0;
        supervisor->result->output_failed =
            supervisor->finished(supervisor->context, supervisor->result);
    }
}

static void finisher_ended(struct supervisor *supervisor, int status)
{
    supervisor->finisher = 0;
    supervisor->result->output_killed = WIFSIGNALED(status);
    supervisor->result->output_failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void recorder_ended(struct supervisor *supervisor, int status)
{
    supervisor->recorder = 0;
    fill_result(supervisor, status);
    if (atomic_load(&supervisor->shared->program_ended)) {
        supervisor->program_ended = true;
        supervisor->program_status = atomic_load(&supervisor->shared->program_status);
    } else if (atomic_load(&supervisor->shared->program_pid) == 0) {
        ss_witness_end(&supervisor->witness); /* so that ECHILD shows that no children are left */
    }
}

static void stop_like_program(struct supervisor *supervisor)
{
    /* The program was stopped (Ctrl-Z, or a signal to it alone): the shell must see its job stop.
     * SIGSTOP cannot be blocked; this continues when the job is continued, or when the witness
     * wakes the supervisor because the program was continued or has ended. */
    if (!atomic_load(&supervisor->shared->program_ended) && supervisor->witness.pid > 0) {
        ss_witness_watch_stop(&supervisor->witness);
        raise(SIGSTOP);
    }
}

/* No children are left and there is no status: the recorder ended before it created the program's
 * process. The user asked for the program, so it runs unrecorded. If fork fails, this process
 * becomes the program. */
static void run_unrecorded(struct supervisor *supervisor)
{
    const struct ss_error *why = &supervisor->shared->error;
    ss_log(SS_ERROR, "record", "%s; the program runs without being recorded",
           why->status != SS_OK ? why->message
                                : "the recorder died before the program was started");
    supervisor->runs_unrecorded = true;
    fflush(NULL);
    pid_t pid = fork();
    if (pid <= 0) {
        ss_launch_unrecorded(supervisor->options, &supervisor->original,
                             pid == 0 ? supervisor->shared : NULL);
    }
    atomic_store(&supervisor->shared->program_pid, (int)pid);
}

static void reap(struct supervisor *supervisor)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(status)) {
            /* Visible here only after the recorder has ended. */
            if (launched(supervisor) && pid == atomic_load(&supervisor->shared->program_pid)) {
                stop_like_program(supervisor);
            }
            continue;
        }
        if (pid == supervisor->recorder) {
            recorder_ended(supervisor, status);
        } else if (pid == supervisor->finisher) {
            finisher_ended(supervisor, status);
        } else if (pid == supervisor->witness.pid) {
            supervisor->witness.pid = 0;
        } else if (launched(supervisor) && pid == atomic_load(&supervisor->shared->program_pid)) {
            /* Reaped here only after the recorder has ended: the supervisor is the subreaper. */
            supervisor->program_ended = true;
            supervisor->program_status = status;
        }
    }
    if (pid < 0 && errno == ECHILD && supervisor->recorder == 0 && launched(supervisor) &&
        !supervisor->program_ended) {
        if (!supervisor->runs_unrecorded && atomic_load(&supervisor->shared->program_pid) == 0) {
            run_unrecorded(supervisor);
            return;
        }
        supervisor->program_ended = true; /* another wait has consumed its status */
        supervisor->program_status = SS_EXIT_OURS << 8;
    }
}

/* --- signals --------------------------------------------------------------------------------- */

static bool is_request_to_end(unsigned number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static bool is_stop(unsigned number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* A stop signal discards a pending SIGCONT and vice versa, also in the witness, which then has
 * recorded nothing. Only the later of the two matters. */
static bool is_superseded(unsigned number)
{
    sigset_t waiting;
    sigpending(&waiting);
    if (number == SIGCONT) {
        return sigismember(&waiting, SIGTSTP) || sigismember(&waiting, SIGTTIN) ||
               sigismember(&waiting, SIGTTOU);
    }
    return is_stop(number) && sigismember(&waiting, SIGCONT);
}

/* The kernel's signals go to the whole foreground group, except a hang-up, which goes first to the
 * process whose pid is the session id, alone. Without a witness there is no better criterion. */
static bool must_forward(struct supervisor *supervisor, const struct signalfd_siginfo *info)
{
    unsigned number = info->ssi_signo;
    if (number == SIGCONT && info->ssi_code <= 0 &&
        (pid_t)info->ssi_pid == supervisor->witness.pid) {
        return false; /* it woke the supervisor; the program already continues */
    }
    if (supervisor->witness.pid == 0 && info->ssi_code > 0) {
        return number == SIGHUP && getsid(0) == getpid();
    }
    return !ss_witness_saw(&supervisor->witness, number, supervisor->drained_ns) &&
           !is_superseded(number);
}

/* While attached, Ctrl-Z stops the recording, not the recorded process. */
static void stop_recording(struct supervisor *supervisor)
{
    if (supervisor->recorder > 0) {
        kill(supervisor->recorder, SIGSTOP);
        raise(SIGSTOP);
        kill(supervisor->recorder, SIGCONT);
    }
}

/* As in the kernel, a stop signal discards a held SIGCONT and vice versa. */
static void hold(struct supervisor *supervisor, unsigned number)
{
    for (unsigned other = 1; other < SS_SIGNAL_COUNT; other++) {
        if ((number == SIGCONT && is_stop(other)) || (is_stop(number) && other == SIGCONT)) {
            sigdelset(&supervisor->held, (int)other);
        }
    }
    sigaddset(&supervisor->held, (int)number);
}

static void forward_held(struct supervisor *supervisor)
{
    pid_t program = atomic_load(&supervisor->shared->program_pid);
    for (int number = 1; number < SS_SIGNAL_COUNT && program > 0; number++) {
        if (sigismember(&supervisor->held, number) == 1) {
            sigdelset(&supervisor->held, number);
            kill(program, number);
        }
    }
}

static void forward(struct supervisor *supervisor, const struct signalfd_siginfo *info)
{
    unsigned number = info->ssi_signo;
    bool program_over = !launched(supervisor) || supervisor->program_ended;
    if (number == 0 || number >= SS_SIGNAL_COUNT) {
        return;
    }
    if (supervisor->finisher > 0 && program_over && is_request_to_end(number)) {
        kill(supervisor->finisher, SIGKILL); /* the user no longer waits for its output */
        return;
    }
    if (!launched(supervisor) && number == SIGTSTP) {
        stop_recording(supervisor);
        return;
    }
    const struct ss_capture *capture = supervisor->options->capture;
    if (capture != NULL && capture->signal == (int)number && supervisor->recorder > 0) {
        kill(supervisor->recorder, (int)number); /* not for the program */
        return;
    }
    pid_t target =
        launched(supervisor) ? atomic_load(&supervisor->shared->program_pid) : supervisor->recorder;
    /* What the whole group got may have come before the program was a part of it. */
    if (launched(supervisor) && target == 0) {
        hold(supervisor, number);
    } else if (target > 0 && !supervisor->program_ended &&
               (!supervisor->had_program || must_forward(supervisor, info))) {
        kill(target, (int)number);
    }
}

static void handle_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    /* The system's clock, as in the witness, whose times are compared with these. */
    uint64_t polled_ns = ss_clock_monotonic_ns();
    bool had_program = has_program(supervisor);
    while (read(supervisor->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            reap(supervisor);
        } else if (info.ssi_signo != SIGPIPE) {
            forward(supervisor, &info);
        }
        polled_ns = ss_clock_monotonic_ns();
        had_program = has_program(supervisor);
    }
    supervisor->drained_ns = polled_ns;
    supervisor->had_program = had_program;
}

/* Only when the program has them: until then the supervisor may have to start it. */
static void release_descriptors(struct supervisor *supervisor)
{
    if (launched(supervisor) && !supervisor->is_released) {
        supervisor->is_released = true;
        ss_descriptors_release(supervisor->options->keep_fd);
    }
}

static void handle_notice(struct supervisor *supervisor)
{
    char notice;
    ssize_t got = read(supervisor->notice_fd, &notice, 1);
    if (got == 0) {
        close(supervisor->notice_fd);
        supervisor->notice_fd = -1;
    } else if (got == 1 && notice == SS_NOTICE_STOPPED) {
        stop_like_program(supervisor);
    } else if (got == 1 && notice == SS_NOTICE_LAUNCHED) {
        release_descriptors(supervisor);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

static bool is_over(const struct supervisor *supervisor)
{
    if (supervisor->recorder != 0 || supervisor->finisher != 0) {
        return false;
    }
    return supervisor->reported && (!launched(supervisor) || supervisor->program_ended);
}

static void run_loop(struct supervisor *supervisor)
{
    while (!is_over(supervisor)) {
        struct pollfd files[2] = {{.fd = supervisor->signal_fd, .events = POLLIN},
                                  {.fd = supervisor->notice_fd, .events = POLLIN}};
        /* The timeout is a safety net: SIGCHLDs merge, and reap() is idempotent. */
        poll(files, 2, 1000);
        if ((files[1].revents & (POLLIN | POLLHUP)) != 0) {
            handle_notice(supervisor);
        }
        handle_signals(supervisor);
        reap(supervisor);
        if (!supervisor->program_ended) {
            forward_held(supervisor);
        }
        if (supervisor->recorder == 0 && atomic_load(&supervisor->shared->program_pid) > 0) {
            release_descriptors(supervisor);
        }
        if (supervisor->recorder == 0 && !supervisor->reported) {
            report(supervisor);
        }
    }
}

static enum ss_status start_recorder(struct supervisor *supervisor, int notice_write_fd,
                                     struct ss_error *err)
{
    supervisor->recorder = fork();
    if (supervisor->recorder < 0) {
        return ss_fail_errno(err, errno, "cannot start the recorder");
    }
    if (supervisor->recorder == 0) {
        close(supervisor->signal_fd);
        close(supervisor->notice_fd);
        enum ss_record_end end = ss_session_run(supervisor->options, &supervisor->original,
                                                supervisor->shared, notice_write_fd);
        fflush(NULL);
        _exit(end == SS_RECORD_FAILED ? 1 : 0);
    }
    return SS_OK;
}

static enum ss_status prepare(struct supervisor *supervisor, int *notice_write_fd,
                              struct ss_error *err)
{
    supervisor->shared = mmap(NULL, sizeof *supervisor->shared, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (supervisor->shared == MAP_FAILED) {
        return ss_fail_errno(err, errno, "cannot map a shared page");
    }
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &supervisor->original.mask);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &supervisor->original.child);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &supervisor->original.pipe);
    supervisor->drained_ns = ss_clock_monotonic_ns();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int notices[2];
    supervisor->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (supervisor->signal_fd < 0 || pipe2(notices, O_CLOEXEC | O_NONBLOCK) != 0) {
        return ss_fail_errno(err, errno, "cannot set up signals");
    }
    supervisor->notice_fd = notices[0];
    *notice_write_fd = notices[1];
    return SS_OK;
}

enum ss_status ss_supervise(const struct ss_record_options *options, ss_record_finished *finished,
                            void *context, struct ss_record_result *result, int *program_status,
                            struct ss_error *err)
{
    struct supervisor supervisor = {.options = options,
                                    .finished = finished,
                                    .context = context,
                                    .result = result,
                                    .signal_fd = -1,
                                    .notice_fd = -1};
    int notice_write_fd = -1;
    *result = (struct ss_record_result){0};
    sigemptyset(&supervisor.held);
    enum ss_status status = prepare(&supervisor, &notice_write_fd, err);
    if (status == SS_OK) {
        fflush(NULL);
        status = start_recorder(&supervisor, notice_write_fd, err);
    }
    if (status == SS_OK) {
        close(notice_write_fd);
        if (ss_witness_start(&supervisor.witness, supervisor.shared, supervisor.signal_fd, err) !=
            SS_OK) {
            ss_log(SS_WARN, "record", "%s: signals to the whole group reach the program twice",
                   err->message);
        }
        run_loop(&supervisor);
        ss_witness_end(&supervisor.witness);
        *program_status = supervisor.program_status;
        result->ran = launched(&supervisor) && atomic_load(&supervisor.shared->program_pid) > 0;
        result->exec_errno = atomic_load(&supervisor.shared->exec_errno);
        result->reported = supervisor.runs_unrecorded;
    }
    /* On success signals stay blocked: a late one must not replace the program's status. */
    if (status != SS_OK) {
        sigprocmask(SIG_SETMASK, &supervisor.original.mask, NULL);
    }
    return status;
}

void ss_exit_as(int program_status)
{
    fflush(NULL);
    if (WIFSIGNALED(program_status)) {
        int number = WTERMSIG(program_status);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        prctl(PR_SET_DUMPABLE, 0);
        signal(number, SIG_DFL);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(number);
        _exit(128 + number); /* a signal whose default action is not death */
    }
    _exit(WEXITSTATUS(program_status));
}
