/* SPDX-License-Identifier: Apache-2.0 */
#include "record/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/capture.h"
#include "base/clock.h"
#include "base/log.h"
#include "platform/descriptors.h"
#include "platform/epoll.h"
#include "platform/priority.h"
#include "record/processes/process_table.h"
#include "record/recording/facts.h"
#include "record/recording/injection.h"
#include "record/run/launch.h"
#include "record/run/ranks.h"
#include "record/run/status_line.h"
#include "record/sources/sources.h"

static const uint64_t second_ns = UINT64_C(1000000000);
/* Data is written once a second; in the first second, of which a kill must leave something, more
 * often: each interval is twice as long as the one before. */
static const uint64_t first_flush_ns = UINT64_C(62500000);
static const uint64_t whole_ns = UINT64_C(5000000000); /* between flushes of all data */
/* Below this, polling the clock beats a sleep and its wake-up. */
static const uint64_t spin_ns = UINT64_C(20000);
static const uint64_t poll_ns = UINT64_C(1000000); /* maximum delay of events while spinning */

struct session {
    const struct ss_record_options *options;
    struct ss_record_shared *shared;
    int notice_fd;
    int epoll_fd, signal_fd, target_fd; /* target_fd: a pidfd when attached */
    struct ss_recorder recorder;
    struct ss_record_sources *sources;
    struct ss_injection injection;
    bool has_file; /* created by this recording, which may remove it */
    bool is_refreshing;
    uint64_t flushed_ns, flush_ns, whole_flush_ns, polled_ns, end_ns;
    enum ss_record_end end;
};

static uint64_t clock_now_ns(const struct session *session)
{
    return ss_clock_now_ns(session->recorder.context.clock);
}

static void note(struct session *session, const char *kind, const char *text, int64_t value)
{
    struct ss_trace_note record = {.time_ns = clock_now_ns(session),
                                   .kind = ss_strview_of(kind),
                                   .text = ss_strview_of(text),
                                   .value = value};
    struct ss_error err = {0};
    if (ss_recording_note(session->recorder.context.recording, (struct ss_route){0}, &record,
                          &err) != SS_OK &&
        session->recorder.context.error.status == SS_OK) {
        session->recorder.context.error = err;
    }
}

/* --- the program's life ---------------------------------------------------------------------- */

/* The supervisor stops like the program, so that the shell sees it. */
static void notify_stopped(struct session *session)
{
    char notice = SS_NOTICE_STOPPED;
    ssize_t written = write(session->notice_fd, &notice, 1);
    (void)written; /* without a supervisor the recording continues */
}

/* Publishes the status while the program is still a zombie: if the recorder is killed in between,
 * the supervisor inherits the zombie and reads the status itself. */
static void program_ended(struct session *session, const siginfo_t *info)
{
    int status = info->si_code == CLD_EXITED ? (info->si_status & 0xff) << 8 : info->si_status;
    if (info->si_code == CLD_DUMPED) {
        status |= 0x80;
    }
    atomic_store(&session->shared->program_status, status);
    atomic_store(&session->shared->program_ended, true);
    ss_process_table_exit_status(session->recorder.processes, session->recorder.program, status);
    session->end = SS_RECORD_PROGRAM_ENDED;
}

/* Reaps a converter, which is not part of the program. */
static bool is_own_child(struct session *session, pid_t pid)
{
    int status = 0;
    if (session->recorder.context.recording == NULL ||
        !ss_recording_is_own_child(session->recorder.context.recording, pid) ||
        waitpid(pid, &status, WNOHANG) != pid) {
        return false;
    }
    ss_recording_child_ended(session->recorder.context.recording, pid, status);
    return true;
}

static void reap_children(struct session *session)
{
    for (;;) {
        siginfo_t info = {0};
        int options = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
        if (waitid(P_ALL, 0, &info, options) != 0 || info.si_pid == 0) {
            return;
        }
        bool is_program = info.si_pid == session->recorder.program;
        bool is_state_change = info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED ||
                               info.si_code == CLD_CONTINUED;
        if (is_state_change) {
            if (is_program && info.si_code != CLD_CONTINUED) {
                notify_stopped(session);
            }
            waitid(P_PID, (id_t)info.si_pid, &info, WSTOPPED | WCONTINUED | WNOHANG);
            continue;
        }
        if (is_own_child(session, info.si_pid)) {
            continue;
        }
        if (session->sources != NULL) {
            ss_record_sources_process_ending(session->sources, info.si_pid, clock_now_ns(session));
        }
        if (is_program) {
            program_ended(session, &info);
        } else {
            int status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status;
            ss_process_table_exit_status(session->recorder.processes, info.si_pid, status);
        }
        waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
    }
}

/* nohup: a blocked signal arrives although it is ignored. */
static bool is_ignored_hangup(uint32_t number)
{
    struct sigaction action;
    return number == SIGHUP && sigaction(SIGHUP, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

static void handle_signal(struct session *session, const struct signalfd_siginfo *info)
{
    if (info->ssi_signo == SIGCHLD) {
        reap_children(session);
        return;
    }
    const struct ss_capture *capture = session->options->capture;
    if (capture != NULL && capture->signal == (int)info->ssi_signo) {
        session->recorder.capture_signals++;
        return;
    }
    bool ends = info->ssi_signo == SIGINT || info->ssi_signo == SIGTERM ||
                info->ssi_signo == SIGHUP || info->ssi_signo == SIGQUIT;
    if (session->options->attach_pid != 0 && ends && !is_ignored_hangup(info->ssi_signo)) {
        session->end = SS_RECORD_STOPPED;
    }
}

static void handle_signals(struct session *session)
{
    struct signalfd_siginfo info[8];
    ssize_t got = read(session->signal_fd, info, sizeof info);
    for (ssize_t i = 0; i < got / (ssize_t)sizeof info[0]; i++) {
        handle_signal(session, &info[i]);
    }
}

/* --- start ----------------------------------------------------------------------------------- */

static enum ss_status watch(struct session *session, int fd, struct ss_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return ss_fail_errno(err, errno, "cannot watch a file descriptor");
    }
    return SS_OK;
}

static enum ss_status open_loop(struct session *session, struct ss_error *err)
{
    sigset_t all;
    sigfillset(&all);
    session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    session->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (session->epoll_fd < 0 || session->signal_fd < 0) {
        return ss_fail_errno(err, errno, "cannot create the event loop");
    }
    SS_TRY(watch(session, session->signal_fd, err));
    if (session->options->attach_pid != 0) {
        session->target_fd = (int)syscall(SYS_pidfd_open, session->options->attach_pid, 0);
        if (session->target_fd < 0) {
            return ss_fail_errno(err, errno, "cannot watch process %d",
                                 (int)session->options->attach_pid);
        }
        SS_TRY(watch(session, session->target_fd, err));
    }
    return SS_OK;
}

static void flush(struct session *session, uint64_t now_ns, bool weights);

/* A file begins or is finished: pending data belongs to the files that are open now. */
static void on_refresh(void *context)
{
    struct session *session = context;
    if (session->recorder.processes != NULL && !session->is_refreshing) {
        session->is_refreshing = true;
        flush(session, clock_now_ns(session), !session->recorder.context.is_sampling);
        session->is_refreshing = false;
    }
}

static void on_sealed(void *context, const struct ss_window *window)
{
    const struct session *session = context;
    const struct ss_process_observer *observer = &session->recorder.context.observer;
    if (observer->context != NULL) {
        observer->sealed(observer->context, window);
    }
}

static enum ss_status open_trace(struct session *session, struct ss_error *err)
{
    const struct ss_record_options *options = session->options;
    struct ss_recording_hooks hooks = {session, on_refresh, on_sealed};
    SS_TRY(ss_recording_open(options, &hooks, &session->recorder.context.recording, err));
    session->has_file = options->window_name == NULL;
    session->recorder.context.frames = ss_frame_table_new(session->recorder.context.recording);
    ss_event_names_init(&session->recorder.context.names);
    session->recorder.context.keeps_secrets = options->keep_secrets;
    session->recorder.context.follows_schedule =
        options->schedule != NULL || options->window_name != NULL;
    session->recorder.context.next_thread_ref = 1;
    session->recorder.context.forget_after_ns = 2 * (second_ns + options->host_interval_ns);
    ss_detail_budget_init(&session->recorder.context.detail, options->max_bytes,
                          clock_now_ns(session));
    SS_TRY(ss_record_facts_write(session->recorder.context.recording, options, err));
    /* From now on a kill leaves a readable file. */
    bool restarted = false;
    enum ss_status status = ss_recording_tick(session->recorder.context.recording,
                                              clock_now_ns(session), &restarted, err);
    session->has_file = session->has_file && status != SS_E_BUSY;
    return status;
}

/* Sources set the error of the recording. */
static enum ss_status check_sources(const struct session *session, struct ss_error *err)
{
    *err = session->recorder.context.error;
    return session->recorder.context.error.status;
}

static enum ss_status start_sources(struct session *session, uint64_t since_ns,
                                    struct ss_error *err)
{
    ss_record_sources_start(session->sources, since_ns);
    return check_sources(session, err);
}

static enum ss_status launch(struct session *session, const struct ss_program_signals *signals,
                             struct ss_error *err)
{
    uint64_t since_ns = clock_now_ns(session);
    struct ss_launch launch;
    const struct ss_injection *injection = &session->injection;
    struct ss_program_environment values = {.rings = session->recorder.ring_directory,
                                            .library = injection->is_off ? "" : injection->library,
                                            .preload = injection->preload,
                                            .mpi = injection->mpi,
                                            .rocm = injection->rocm,
                                            .python = injection->python,
                                            .torch = injection->torch};
    SS_TRY(ss_launch_prepare(session->options, signals, &values, session->shared, &launch, err));
    session->recorder.program = launch.pid;
    ss_descriptors_release(-1); /* only the program holds them: their readers see them end */
    enum ss_status status = start_sources(session, since_ns, err);
    ss_launch_go(&launch);
    char notice = SS_NOTICE_LAUNCHED;
    ssize_t written = write(session->notice_fd, &notice, 1);
    (void)written;
    return status;
}

static enum ss_status watch_source(void *watcher, int fd, struct ss_error *err)
{
    return watch(watcher, fd, err);
}

static enum ss_status start_target(struct session *session,
                                   const struct ss_program_signals *signals, struct ss_error *err)
{
    const struct ss_record_options *options = session->options;
    session->sources = ss_record_sources_new(&session->recorder);
    SS_TRY(check_sources(session, err));
    SS_TRY(ss_record_sources_watch(session->sources, watch_source, session, err));
    ss_injection_find(options, session->recorder.ring_directory, &session->injection);
    session->recorder.context.injection = &session->injection;
    if (options->attach_pid != 0) {
        session->recorder.program = options->attach_pid;
        return start_sources(session, clock_now_ns(session), err);
    }
    return launch(session, signals, err);
}

/* --- the loop -------------------------------------------------------------------------------- */

static void publish_figures(struct session *session)
{
    struct ss_record_figures *figures = &session->shared->figures;
    struct ss_trace_writer_stats stats;
    ss_recording_get_stats(session->recorder.context.recording, &stats);
    ss_recording_get_files(session->recorder.context.recording, &figures->files);
    figures->bytes_written = stats.bytes_written;
    figures->samples_written = stats.stored_ticks;
    figures->end_ns = clock_now_ns(session); /* the end so far, in case the recorder is killed */
    figures->memory_bytes =
        stats.memory_bytes + ss_frame_table_memory_bytes(session->recorder.context.frames);
}

static void update_budget(struct session *session, uint64_t now_ns)
{
    struct ss_trace_writer_stats stats;
    struct ss_trace_writer_space space;
    ss_recording_get_stats(session->recorder.context.recording, &stats);
    ss_recording_get_space(session->recorder.context.recording, &space);
    struct ss_detail_figures figures = {.now_ns = now_ns,
                                        .bytes = stats.bytes_written,
                                        .records = stats.events + stats.samples,
                                        .free_bytes = space.free_bytes,
                                        .reserve_bytes = space.reserve_bytes};
    ss_detail_budget_update(&session->recorder.context.detail, &figures);
}

static void flush(struct session *session, uint64_t now_ns, bool whole)
{
    ss_record_sources_flush(session->sources, now_ns, whole);
    publish_figures(session);
}

static void flush_if_due(struct session *session, uint64_t now_ns)
{
    if (now_ns - session->flushed_ns < session->flush_ns) {
        return;
    }
    bool is_early = session->flush_ns < second_ns;
    session->flushed_ns = now_ns;
    session->flush_ns = is_early ? 2 * session->flush_ns : second_ns;
    session->flush_ns = session->flush_ns < second_ns ? session->flush_ns : second_ns;
    bool is_whole = now_ns - session->whole_flush_ns >= whole_ns;
    if (is_whole) {
        session->whole_flush_ns = now_ns;
    }
    flush(session, now_ns, is_whole);
    bool restarted = false;
    struct ss_error err = {0};
    enum ss_status status =
        is_early ? ss_recording_flush(session->recorder.context.recording, &err)
                 : ss_recording_tick(session->recorder.context.recording, now_ns, &restarted, &err);
    ss_record_context_check(&session->recorder.context, status, &err);
    publish_figures(session);
    update_budget(session, now_ns);
    if (restarted) {
        ss_record_sources_flush(session->sources, now_ns, true);
    }
}

/* The program requested a flush, and its earlier events are drained. */
static void flush_if_requested(struct session *session, uint64_t now_ns)
{
    struct ss_error err = {0};
    if (!session->recorder.flush_requested) {
        return;
    }
    session->recorder.flush_requested = false;
    flush(session, now_ns, true);
    ss_record_context_check(&session->recorder.context,
                            ss_recording_flush(session->recorder.context.recording, &err), &err);
    ss_record_sources_written(session->sources);
}

static void wait_for_events(struct session *session, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns(session);
    struct epoll_event events[4];
    struct timespec timeout = {0, 0};
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    if (left_ns >= spin_ns) {
        timeout.tv_sec = (time_t)(left_ns / second_ns);
        timeout.tv_nsec = (long)(left_ns % second_ns);
    } else {
        while (clock_now_ns(session) < until_ns) {
        }
        if (now_ns - session->polled_ns < poll_ns) {
            return; /* ticks in quick succession: poll at a later one */
        }
    }
    session->polled_ns = now_ns;
    int count = ss_epoll_wait(session->epoll_fd, events, 4, &timeout);
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == session->signal_fd) {
            handle_signals(session);
        } else if (events[i].data.fd == session->target_fd) {
            session->end = SS_RECORD_PROGRAM_ENDED;
        } else {
            ss_record_sources_ready(session->sources, events[i].data.fd, clock_now_ns(session));
        }
    }
}

static uint64_t next_wake_ns(const struct session *session, uint64_t stop_ns)
{
    uint64_t until_ns = ss_record_sources_due_ns(session->sources);
    uint64_t flush_ns = session->flushed_ns + session->flush_ns;
    until_ns = until_ns < flush_ns ? until_ns : flush_ns;
    return until_ns < stop_ns ? until_ns : stop_ns;
}

/* Work that is due at `now_ns`, until the program ends. */
static void work(struct session *session, uint64_t now_ns)
{
    ss_record_sources_tick(session->sources, now_ns);
    uint64_t after_ns = clock_now_ns(session);
    flush_if_due(session, after_ns);
    if (session->options->show_status) {
        ss_status_line_draw(&session->shared->figures, after_ns);
    }
}

static void loop(struct session *session)
{
    const struct ss_record_options *options = session->options;
    uint64_t start_ns = clock_now_ns(session);
    uint64_t stop_ns = options->duration_ns > 0 ? start_ns + options->duration_ns : UINT64_MAX;
    session->shared->figures.start_ns = start_ns;
    session->flushed_ns = session->whole_flush_ns = start_ns;
    session->flush_ns = first_flush_ns;
    while (session->end == SS_RECORD_RUNNING && session->recorder.context.error.status == SS_OK) {
        wait_for_events(session, next_wake_ns(session, stop_ns));
        uint64_t now_ns = clock_now_ns(session);
        ss_record_sources_drain(session->sources, now_ns);
        flush_if_requested(session, now_ns);
        if (session->end == SS_RECORD_RUNNING && now_ns >= stop_ns) {
            session->end = SS_RECORD_DURATION;
            session->recorder.is_duration_over = true;
        } else if (session->end == SS_RECORD_RUNNING) {
            work(session, now_ns);
        }
    }
    session->end_ns = clock_now_ns(session);
}

/* --- end ------------------------------------------------------------------------------------- */

static const char *end_text(enum ss_record_end end)
{
    switch (end) {
    case SS_RECORD_PROGRAM_ENDED:
        return "the program ended";
    case SS_RECORD_DURATION:
        return "the requested duration was over";
    case SS_RECORD_STOPPED:
        return "stopped by a signal";
    default:
        return "failed";
    }
}

/* The cost of the recording itself, as notes in the trace. */
static void note_own_cost(struct session *session)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        note(session, "recorder-cpu", "CPU time of the recorder in ns",
             (int64_t)ss_clock_process_cpu_ns());
        note(session, "recorder-memory", "peak resident memory of the recorder in bytes",
             (int64_t)usage.ru_maxrss * 1024);
    }
}

/* Nothing was recorded: no file is better than an empty one. Removes only a file that this
 * recording opened: the file of a refused writer may belong to another recording. */
static void remove_trace(struct session *session)
{
    bool never_ran = atomic_load(&session->shared->exec_errno) != 0;
    if (session->has_file && (never_ran || session->shared->figures.start_ns == 0)) {
        unlink(session->options->path);
    }
}

/* Before the annotations are closed: their processes get notices of the last files. */
static void close_recording(struct session *session)
{
    struct ss_recording *recording = session->recorder.context.recording;
    struct ss_error err = {0};
    if (recording == NULL) {
        return;
    }
    ss_recording_finish(recording);
    ss_recording_get_files(recording, &session->shared->figures.files);
    if (ss_recording_close(recording, &err) != SS_OK &&
        session->recorder.context.error.status == SS_OK) {
        session->recorder.context.error = err;
    }
    session->recorder.context.recording = NULL;
}

static void finish(struct session *session)
{
    if (session->recorder.processes != NULL && session->end == SS_RECORD_PROGRAM_ENDED) {
        ss_process_table_find_outliving(session->recorder.processes, session->end_ns,
                                        &session->shared->figures);
    }
    if (session->recorder.processes != NULL) {
        note(session, "recording-ended", end_text(session->end), session->end);
        note_own_cost(session);
    }
    if (session->sources != NULL) {
        ss_record_sources_stop(session->sources, session->end_ns);
        publish_figures(session);
    }
    session->shared->figures.end_ns = session->end_ns;
    session->shared->figures.cpu_ns = ss_clock_process_cpu_ns();
    close_recording(session);
    if (session->sources != NULL) {
        ss_record_sources_free(session->sources);
    }
    remove_trace(session);
    ss_frame_table_free(session->recorder.context.frames);
    ss_event_names_fini(&session->recorder.context.names);
}

/* The first error is the cause; errors while finishing follow from it. */
static void finish_with_error(struct session *session, struct ss_record_shared *shared)
{
    struct ss_error first = session->recorder.context.error;
    finish(session);
    if (first.status == SS_OK) {
        first = session->recorder.context.error;
    }
    if (first.status != SS_OK) {
        shared->error = first;
        session->end = SS_RECORD_FAILED;
    }
}

enum ss_record_end ss_session_run(const struct ss_record_options *options,
                                  const struct ss_program_signals *signals,
                                  struct ss_record_shared *shared, int notice_fd)
{
    struct session session = {.options = options,
                              .shared = shared,
                              .recorder = {.options = options,
                                           .figures = &shared->figures,
                                           .context.clock = options->clock},
                              .notice_fd = notice_fd,
                              .epoll_fd = -1,
                              .signal_fd = -1,
                              .target_fd = -1};
    struct ss_error err = {0};
    prctl(PR_SET_NAME, "sscope-recorder");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    enum ss_status status = open_loop(&session, &err);
    if (status == SS_OK) {
        status = open_trace(&session, &err);
        if (status == SS_E_BUSY && options->run_folder == NULL && options->attach_pid == 0) {
            ss_rank_explain_shared_path(options->path, &err);
        }
    }
    if (status == SS_OK) {
        status = start_target(&session, signals, &err);
    }
    if (status == SS_OK) {
        ss_priority_wake_promptly(); /* after the program was created: it must not inherit this */
        loop(&session);
    } else {
        session.recorder.context.error = err;
        session.end_ns = clock_now_ns(&session);
    }
    if (options->show_status) {
        ss_status_line_clear();
    }
    finish_with_error(&session, shared);
    atomic_store(&shared->end, (int)session.end);
    return session.end;
}
