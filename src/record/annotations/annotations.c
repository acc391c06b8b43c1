/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations/annotations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/capture.h"
#include "base/log.h"
#include "base/pages.h"
#include "platform/procfs.h"
#include "record/annotations/annotation_clients.h"
#include "record/processes/process_table.h"
#include "record/run/ring_directory.h"
#include "record/tracks/annotation_tracks.h"
#include "record/tracks/torch_profiles.h"
#include "ring/page_guard.h"
#include "ring/sealed.h"
#include "source/annot.h"

/* --- the observer of processes ---------------------------------------------------------------- */

static void before_removal(void *context, uint64_t now_ns)
{
    ss_record_annotations_poll(context, now_ns);
}

static void on_ended(void *context, struct ss_record_client *client, uint64_t now_ns)
{
    ss_client_process_ended(context, client, now_ns);
}

static void on_image_ended(void *context, struct ss_record_client *client, uint64_t now_ns)
{
    ss_client_image_ended(context, client, now_ns);
}

static void on_forget(void *context, uint32_t process_ref)
{
    ss_annotations_forget(context, process_ref);
}

static void before_sampling(void *context, uint64_t now_ns)
{
    ss_record_annotations_poll_windows(context, now_ns);
}

static void on_sealed(void *context, const struct ss_window *window)
{
    ss_record_annotations_sealed(context, window);
}

static bool on_is_in_window(void *context, uint32_t process_ref, uint64_t now_ns)
{
    return ss_annotations_is_in_window(context, process_ref, now_ns);
}

/* --- life ------------------------------------------------------------------------------------- */

/* A ring file's header is complete when the program closes the file. */
static void watch_directory(struct ss_record_annotations *annotations, char *reason)
{
    const char *path = annotations->directory.path;
    annotations->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (annotations->inotify_fd < 0 ||
        inotify_add_watch(annotations->inotify_fd, path, IN_CLOSE_WRITE) < 0) {
        snprintf(reason, SS_ANNOTATIONS_REASON_BYTES, "cannot watch %.150s: %s", path,
                 strerror(errno));
    }
}

static struct ss_process_observer observer_of(struct ss_record_annotations *annotations)
{
    return (struct ss_process_observer){.context = annotations,
                                        .before_removal = before_removal,
                                        .ended = on_ended,
                                        .image_ended = on_image_ended,
                                        .forget = on_forget,
                                        .before_sampling = before_sampling,
                                        .sealed = on_sealed,
                                        .is_in_window = on_is_in_window,
                                        .window = ss_client_window,
                                        .ensure_window = ss_client_ensure_window,
                                        .label = ss_client_label};
}

static enum ss_ring_devices device_level(const struct ss_record_options *options)
{
    static const char *const levels[] = {
        [SS_RING_DEVICES_LIGHT] = "light", [SS_RING_DEVICES_FULL] = "full"};
    enum ss_ring_devices level =
        options->gpu == NULL ? SS_RING_DEVICES_OFF : SS_RING_DEVICES_DEFAULT;
    for (size_t i = 0; options->gpu != NULL && i < sizeof levels / sizeof *levels; i++) {
        bool is_it = levels[i] != NULL && strncmp(options->gpu, levels[i], strlen(levels[i])) == 0;
        level = is_it ? (enum ss_ring_devices)i : level;
    }
    return level;
}

/* Whether the recorder itself does, by the time or signals. */
static bool opens_windows(const struct ss_record_options *options)
{
    return options->capture != NULL && (options->capture->by == SS_CAPTURE_BY_TIME ||
                                        options->capture->by == SS_CAPTURE_BY_SIGNAL);
}

struct ss_record_annotations *ss_record_annotations_open(struct ss_record_context *context,
                                                         const struct ss_record_options *options,
                                                         struct ss_torch_profiles *profiles,
                                                         struct ss_device_totals *device_totals,
                                                         char *reason)
{
    const pid_t attach_pid = options->attach_pid;
    struct ss_record_annotations *annotations = ss_alloc_zero(1, sizeof *annotations);
    annotations->context = context;
    annotations->clock.monotonic = context->clock;
    annotations->options = options;
    annotations->torch_profiles = profiles;
    annotations->device_totals = device_totals;
    annotations->attach_pid = attach_pid;
    annotations->by_process.item_bytes = sizeof(struct ss_record_client *);
    annotations->inotify_fd = -1;
    annotations->next_ns = UINT64_MAX;
    annotations->drain_period_ns = SS_DRAIN_FIRST_NS;
    ss_stamp_clock_read(&annotations->clock);
    annotations->since_ns = annotations->clock.first.ns;
    annotations->inherited_filters = ss_count_seccomp_filters(0);
    reason[0] = '\0';
    enum ss_ring_mode mode = options->overwrite_events ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST;
    struct ss_ring_directory *directory = &annotations->directory;
    bool has_directory =
        attach_pid != 0 ? ss_ring_directory_attach(directory, mode, attach_pid, reason)
                        : ss_ring_directory_create(directory, mode, annotations->since_ns, reason);
    directory->device_level = device_level(options);
    directory->capture = opens_windows(options) ? SS_RING_CAPTURE_CLOSED : SS_RING_NO_CAPTURE;
    if (has_directory) {
        watch_directory(annotations, reason);
    }
    annotations->is_off = reason[0] != '\0';
    context->observer = observer_of(annotations);
    return annotations;
}

const char *ss_record_annotations_skipped_roots(const struct ss_record_annotations *annotations)
{
    return annotations->directory.skipped_roots;
}

const char *ss_record_annotations_ring_directory(const struct ss_record_annotations *annotations)
{
    return annotations->is_off || annotations->attach_pid != 0 ? "" : annotations->directory.path;
}

int ss_record_annotations_fd(const struct ss_record_annotations *annotations)
{
    return annotations->is_off ? -1 : annotations->inotify_fd;
}

/* One descriptor per process. The program has already started and keeps its own limit. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void ss_record_annotations_begin(struct ss_record_annotations *annotations,
                                 struct ss_process_table *processes, uint64_t now_ns)
{
    annotations->processes = processes;
    allow_many_files();
    ss_annotations_scan(annotations, now_ns);
}

void ss_record_annotations_poll(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    _Alignas(struct inotify_event) char buffer[4096];
    ssize_t got;
    if (annotations->is_off || annotations->processes == NULL) {
        return;
    }
    while ((got = read(annotations->inotify_fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
            if ((event->mask & IN_Q_OVERFLOW) != 0) {
                ss_annotations_scan(annotations, now_ns);
            } else if (event->len > 0) {
                ss_annotations_scan_file(annotations, event->name, now_ns, false);
            }
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

static void append_notice(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length) {
        ss_log(SS_INFO, "record", "cannot write %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

void ss_record_annotations_sealed(struct ss_record_annotations *annotations,
                                  const struct ss_window *window)
{
    char line[SS_RING_SEALED_LINE_BYTES];
    ss_annotations_demand_sealed(annotations, window);
    const char *path = window->output_path != NULL ? window->output_path : "-";
    struct ss_ring_sealed sealed = {.window = window->number - 1,
                                    .first_step = window->first_step,
                                    .last_step = window->last_step,
                                    .flags = (window->partial ? SS_RING_SEALED_PARTIAL : 0) |
                                             (window->failed ? SS_RING_SEALED_FAILED : 0),
                                    .path = path,
                                    .path_length = strlen(path)};
    size_t length = ss_ring_sealed_put(&sealed, line, sizeof line);
    for (size_t i = annotations->clients.count; i > 0; i--) { /* the newest image of the process */
        struct ss_record_client *client = annotations->clients.data[i - 1];
        if (client->process_ref == window->process_ref && client->sealed_path[0] != '\0') {
            if (!client->is_dead) {
                append_notice(client->sealed_path, line, length);
            }
            return;
        }
    }
}

/* Live processes may wait for more notices. */
static void notify_end(struct ss_record_annotations *annotations)
{
    static const char end[] = SS_RING_SEALED_END "\n";
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_dead && client->sealed_path[0] != '\0' &&
            ss_procfs_is_alive(client->pid, client->start_time_ticks)) {
            append_notice(client->sealed_path, end, sizeof end - 1);
        }
    }
}

void ss_record_annotations_flush(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (annotations->directory.page != NULL) {
        atomic_store_explicit(&annotations->directory.page->heartbeat_ns, now_ns,
                              memory_order_relaxed);
    }
    if (annotations->attach_pid != 0) {
        ss_annotations_scan(annotations, now_ns); /* of processes that joined the recording later */
    }
    ss_annotations_forget_refused(annotations);
    uint64_t room_bytes =
        annotations->live > 0 ? ss_ring_directory_free_bytes(&annotations->directory) : 0;
    if (annotations->directory.page != NULL && annotations->live > 0) {
        atomic_store_explicit(&annotations->directory.page->room_bytes, room_bytes,
                              memory_order_relaxed);
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended) {
            ss_client_write_counts(client, now_ns);
            ss_annot_publish_room(client->annot, room_bytes);
            /* The program closed the gate while the recorder was stopped: reopen it. */
            const struct ss_ring_header *header = ss_annot_header(client->annot);
            if ((atomic_load(&header->gate) & SS_RING_GATE_ALL) == 0) {
                struct ss_ring_request request =
                    ss_ring_directory_request(&annotations->directory, now_ns);
                ss_annot_drain(client->annot, now_ns);
                ss_annot_start(client->annot, &request, true);
            }
        }
    }
}

/* Another program changed the page that programs read as they start, and in which they count. */
static void note_changed_page(struct ss_record_annotations *annotations, const char *change,
                              uint64_t now_ns)
{
    char text[SS_ANNOTATIONS_REASON_BYTES + 160];
    snprintf(text, sizeof text,
             "annotations may be missing, and of how many processes is not known: the recorder's "
             "page of %.150s was %s by another program",
             annotations->directory.path, change);
    ss_annotations_note(annotations, 0, "annotations-lost", text, now_ns);
    ss_log(SS_WARN, "record", "%s", text);
}

static void note_lost_processes(struct ss_record_annotations *annotations, uint32_t count,
                                const char *why, uint64_t now_ns)
{
    char text[SS_ANNOTATIONS_REASON_BYTES + 160];
    if (count > 0) {
        snprintf(text, sizeof text,
                 "the annotations of %u %s are missing: %s, or open files, memory or file sizes "
                 "are limited (ulimit)",
                 count, count == 1 ? "process" : "processes", why);
        ss_annotations_note(annotations, 0, "annotations-lost", text, now_ns);
        ss_log(SS_WARN, "record", "%s", text);
    }
}

/* Processes without a ring file. */
static void note_unbuffered(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    enum { MOST_PROCESSES = 1 << 22 }; /* pids that Linux can give at once */
    char why[SS_ANNOTATIONS_REASON_BYTES];
    uint32_t count = atomic_load(&annotations->directory.page->unbuffered_processes);
    if (ss_page_guard_lost_pages(annotations->directory.page) > 0) {
        note_changed_page(annotations, "truncated", now_ns);
    } else if (count > MOST_PROCESSES) {
        note_changed_page(annotations, "overwritten", now_ns);
    } else {
        snprintf(why, sizeof why, "%.150s is full", annotations->directory.path);
        note_lost_processes(annotations, count, why, now_ns);
    }
}

/* Processes without a ring file, and ring files that the recorder could not open. */
static void note_missing(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    uint32_t unreadable = annotations->unreadable_before;
    if (annotations->directory.page != NULL) {
        note_unbuffered(annotations, now_ns);
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        unreadable += ss_client_is_unread(client);
    }
    note_lost_processes(annotations, unreadable, "the recorder could not open their rings", now_ns);
}

static bool is_any_ending(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    bool is_any = false;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && ss_annot_is_ending(client->annot) &&
            ss_procfs_is_alive(client->pid, client->start_time_ticks)) {
            ss_client_drain(client, now_ns);
            is_any = true;
        }
    }
    return is_any;
}

/* Programs that collect the work of devices by their own consent wait for kernels that run, and
 * write what CUPTI still has. */
static uint64_t end_devices(struct ss_record_annotations *annotations)
{
    enum { MOST_MS = 4000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    const struct ss_clock *clock = annotations->context->clock;
    for (int i = 0; i < MOST_MS && is_any_ending(annotations, ss_clock_now_ns(clock)); i++) {
        nanosleep(&pause, NULL);
    }
    return ss_clock_now_ns(clock);
}

void ss_record_annotations_end(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (annotations->is_off) {
        return;
    }
    if (annotations->directory.page != NULL) {
        atomic_store(&annotations->directory.page->gate, 0);
    }
    if (annotations->attach_pid == 0) {
        ss_annotations_scan(annotations,
                            now_ns); /* of processes that inotify did not report in time */
    } else {
        now_ns = end_devices(annotations);
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        ss_client_end(client, now_ns, !ss_procfs_is_alive(client->pid, client->start_time_ticks));
    }
    ss_annotations_finish_windows(annotations);
    if (annotations->attach_pid == 0) {
        ss_annotations_note_empty_files(annotations, now_ns);
    }
    note_missing(annotations, now_ns);
}

void ss_record_annotations_close(struct ss_record_annotations *annotations)
{
    if (annotations == NULL) {
        return;
    }
    notify_end(annotations);
    for (size_t i = 0; i < annotations->clients.count; i++) {
        ss_free(annotations->clients.data[i]);
    }
    ss_vec_fini(&annotations->clients);
    ss_pages_fini(&annotations->by_process);
    ss_vec_fini(&annotations->drained);
    ss_annotations_free_demands(annotations);
    ss_ring_directory_remove(&annotations->directory);
    if (annotations->inotify_fd >= 0) {
        close(annotations->inotify_fd);
    }
    ss_free(annotations);
}
