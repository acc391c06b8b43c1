/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/descriptors.h"
#include "platform/procfs.h"

enum {
    GROUP_WAIT_MS = 25,  /* by then a signal to the group has reached all of it… */
    BUSY_WAIT_MS = 1000, /* …but the witness may still wait for the CPU to read it */
    POLL_MS = 20,        /* while the program is stopped */
    STALE_MS = 1000      /* a supervisor that has not stopped by then has already continued */
};

/* --- in the witness -------------------------------------------------------------------------- */

struct watch {
    struct ss_record_shared *shared;
    pid_t supervisor;
    int signal_fd, stop_fd;
    bool stopped;        /* the supervisor has stopped, or is about to */
    uint64_t resumed_ns; /* 0: the program is still stopped */
};

/* The system's clock, not an injected one: supervisor and witness compare when the kernel delivered
 * signals to them. */
static void note_signals(const struct watch *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo < SS_SIGNAL_COUNT) {
            atomic_store(&watch->shared->signal_ns[info.ssi_signo], ss_clock_monotonic_ns());
        }
    }
}

static bool is_stopped(pid_t pid)
{
    struct ss_procfs_stat stat;
    return pid > 0 && ss_procfs_stat(pid, 0, &stat) && (stat.state == 'T' || stat.state == 't');
}

/* The shell continues the whole group, but others may continue or kill only the program. */
static void poll_stopped(struct watch *watch)
{
    uint64_t now_ns = ss_clock_monotonic_ns();
    pid_t program = atomic_load(&watch->shared->program_pid);
    bool is_supervisor_stopped = is_stopped(watch->supervisor);
    if (is_stopped(program)) { /* checked last: both may stop again in between */
        watch->resumed_ns = 0;
        return;
    }
    watch->resumed_ns = watch->resumed_ns != 0 ? watch->resumed_ns : now_ns;
    if (is_supervisor_stopped) {
        kill(watch->supervisor, SIGCONT);
        watch->stopped = false;
    } else if (now_ns - watch->resumed_ns > STALE_MS * UINT64_C(1000000)) {
        watch->stopped = false;
    }
}

static _Noreturn void run_witness(struct watch *watch)
{
    for (;;) {
        struct pollfd files[2] = {{.fd = watch->signal_fd, .events = POLLIN},
                                  {.fd = watch->stop_fd, .events = POLLIN}};
        poll(files, 2, watch->stopped ? POLL_MS : -1);
        note_signals(watch);
        uint64_t count;
        if (read(watch->stop_fd, &count, sizeof count) == (ssize_t)sizeof count) {
            watch->stopped = true;
            watch->resumed_ns = 0;
        }
        if (watch->stopped) {
            poll_stopped(watch);
        }
    }
}

/* --- in the supervisor ----------------------------------------------------------------------- */

enum ss_status ss_witness_start(struct ss_witness *witness, struct ss_record_shared *shared,
                                int signal_fd, struct ss_error *err)
{
    *witness =
        (struct ss_witness){.shared = shared, .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (witness->stop_fd < 0) {
        return ss_fail_errno(err, errno, "cannot set up signals");
    }
    pid_t supervisor = getpid();
    witness->pid = fork();
    if (witness->pid < 0) {
        witness->pid = 0;
        return ss_fail_errno(err, errno, "cannot start another process");
    }
    if (witness->pid == 0) {
        prctl(PR_SET_NAME, "sscope-witness");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != supervisor) {
            _exit(0);
        }
        ss_descriptors_release(-1);
        ss_descriptors_silence(STDERR_FILENO);
        run_witness(&(struct watch){.shared = shared,
                                    .supervisor = supervisor,
                                    .signal_fd = signal_fd,
                                    .stop_fd = witness->stop_fd});
    }
    return SS_OK;
}

/* Whether a signal is pending in the witness, which has not read it yet. */
static bool has_pending(const struct ss_witness *witness, unsigned number)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", (int)witness->pid);
    if (ss_procfs_read(path, text, sizeof text) <= 0) {
        return false;
    }
    const char *at = strstr(text, "\nShdPnd:");
    return at != NULL && (strtoull(at + 8, NULL, 16) >> (number - 1) & 1) != 0;
}

/* An earlier signal of the witness belongs to another event. */
bool ss_witness_saw(struct ss_witness *witness, unsigned number, uint64_t after_ns)
{
    const uint64_t slack_ns = GROUP_WAIT_MS * UINT64_C(1000000);
    if (witness->pid == 0) {
        return false;
    }
    for (int waited_ms = 0; waited_ms < BUSY_WAIT_MS; waited_ms++) {
        uint64_t seen_ns = atomic_load(&witness->shared->signal_ns[number]);
        if (seen_ns > witness->matched_ns[number] && seen_ns + slack_ns >= after_ns) {
            witness->matched_ns[number] = seen_ns;
            return true;
        }
        if (waited_ms >= GROUP_WAIT_MS && !has_pending(witness, number)) {
            return false;
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return true;
}

void ss_witness_watch_stop(const struct ss_witness *witness)
{
    uint64_t one = 1;
    ssize_t written = write(witness->stop_fd, &one, sizeof one);
    (void)written; /* a full counter has the same effect */
}

void ss_witness_end(struct ss_witness *witness)
{
    if (witness->pid > 0) {
        kill(witness->pid, SIGKILL);
        waitpid(witness->pid, NULL, 0);
        witness->pid = 0;
    }
}
