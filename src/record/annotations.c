/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "platform/proc_status.h"
#include "platform/procfs.h"
#include "record/annotation_tracks.h"
#include "record/process_table.h"
#include "record/ring_directory.h"
#include "record/torch_profiles.h"
#include "record/window_filter.h"
#include "ring/place.h"
#include "ring/sealed.h"
#include "source/annot.h"
#include "source/ring_file.h"

enum { PATH_BYTES = SS_RING_PATH_BYTES + 300, REASON_BYTES = SS_ANNOTATIONS_REASON_BYTES };

/* Minimum time between two polls for seccomp filters: of one process, and of any. */
static const uint64_t confinement_period_ns = UINT64_C(100000000);
static const uint64_t confinement_gap_ns = UINT64_C(10000000);
/* Time between drains: shorter while rings fill fast, longer while they are nearly empty. The
 * default ring holds 65 ms of a million records a second. */
static const uint64_t drain_first_ns = UINT64_C(4000000);
static const uint64_t drain_least_ns = UINT64_C(1000000);
static const uint64_t drain_most_ns = UINT64_C(32000000);
enum { FILLS_FAST_PERCENT = 12, FILLS_SLOWLY_PERCENT = 2 };
/* Another recorder counts as dead after this time without a heartbeat. */
static const uint64_t recorder_timeout_ns = UINT64_C(5000000000);

struct past_edge {
    struct ss_window_edge edge;
    bool opens;
};
enum { MOST_PAST_EDGES = 64 };

struct ss_record_client {
    struct ss_record_annotations *annotations;
    char path[PATH_BYTES];
    pid_t pid;
    uint64_t start_time_ticks;
    struct ss_ring_file *file;
    struct ss_annot *annot;
    struct ss_annotation_tracks *tracks;
    struct ss_torch_files torch;              /* results of torch.profiler */
    struct ss_window_filter *filter;          /* NULL: no schedule */
    struct ss_vec_of(struct past_edge) edges; /* the latest, for followers that start later */
    uint64_t drained_ns;                      /* begin of the last complete drain of its ring */
    char sealed_path[PATH_BYTES];             /* notices of finished files to the process */
    uint32_t header_window;                   /* last value in the header */
    bool marks_steps;
    bool is_scheduled; /* by a schedule that the program set itself */
    bool wants_flush;  /* a flush is pending: flush_number… */
    uint32_t flush_number;
    int flush_drains; /* …and the drains since the request */
    struct ss_recorded_process *process;
    uint32_t process_ref;
    bool is_ended;   /* all data is written; the entry stays so that its file is not opened again */
    bool is_dead;    /* the process has ended: sealed_path has no reader */
    bool is_refused; /* never started: unreadable, or not part of this recording */
    bool is_unreadable;             /* opening it failed */
    bool is_confined;               /* it has set a seccomp filter */
    uint64_t confinement_polled_ns; /* last poll for such a filter */
    uint64_t seen_ns;
    struct ss_annot_totals totals;
    uint64_t produced_before, dropped_before; /* from earlier images of the process */
};

struct drained_window {
    uint32_t process_ref, window;
};

struct ss_record_annotations {
    struct ss_record_context *context;
    const struct ss_record_options *options; /* borrowed */
    struct ss_process_table *processes;
    pid_t attach_pid;
    bool is_off;
    struct ss_ring_directory directory;
    int inotify_fd;
    struct ss_stamp_clock clock;
    struct ss_torch_profiles torch;
    struct ss_vec_of(struct ss_record_client *) clients;
    struct ss_pages by_process; /* struct ss_record_client *, by ref; only while not ended */
    uint32_t unreadable_before; /* unreadable clients that were removed */
    struct ss_vec_of(struct drained_window) drained; /* their files are to be finished */
    uint32_t scheduled;                              /* processes with a schedule of their own */
    uint64_t since_ns, drain_period_ns, next_ns;
    size_t first_client; /* of the next drain: after the one where the last drain stopped */
    uint32_t live;
    struct ss_record_windows ended; /* of ended processes */
    uint64_t any_in_window_ns;      /* last update of any_in_window */
    bool any_in_window;
    bool wants_flush;      /* of any process */
    int inherited_filters; /* seccomp filters that the program inherits from the recorder */
    uint64_t confinement_polled_ns;
    size_t confinement_client;
};

/* A flush waits for so many drains, until the window filters have emitted the earlier events. */
enum { FLUSH_DRAINS = 3 };

static bool is_alive(pid_t pid, uint64_t start_time_ticks)
{
    struct ss_procfs_stat stat;
    return ss_procfs_stat(pid, 0, &stat) && stat.start_time_ticks == start_time_ticks &&
           stat.state != 'Z' && stat.state != 'X';
}

static int count_filters(pid_t pid)
{
    struct ss_proc_status status;
    return ss_proc_status_read(pid, &status) == 0 ? status.filters : 0;
}

struct ss_record_annotations *ss_record_annotations_open(struct ss_record_context *context,
                                                         const struct ss_record_options *options,
                                                         char *reason)
{
    const pid_t attach_pid = options->attach_pid;
    struct ss_record_annotations *annotations = ss_alloc_zero(1, sizeof *annotations);
    annotations->context = context;
    annotations->options = options;
    annotations->attach_pid = attach_pid;
    annotations->by_process.item_bytes = sizeof(struct ss_record_client *);
    annotations->inotify_fd = -1;
    annotations->next_ns = UINT64_MAX;
    annotations->drain_period_ns = drain_first_ns;
    ss_stamp_clock_read(&annotations->clock);
    annotations->since_ns = annotations->clock.first.ns;
    annotations->inherited_filters = count_filters(0);
    reason[0] = '\0';
    enum ss_ring_mode mode = options->overwrite_events ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST;
    struct ss_ring_directory *directory = &annotations->directory;
    bool has_directory =
        attach_pid != 0 ? ss_ring_directory_attach(directory, mode, attach_pid, reason)
                        : ss_ring_directory_create(directory, mode, annotations->since_ns, reason);
    if (has_directory) { /* a ring file's header is complete when the program closes the file */
        annotations->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (annotations->inotify_fd < 0 ||
            inotify_add_watch(annotations->inotify_fd, directory->path, IN_CLOSE_WRITE) < 0) {
            snprintf(reason, REASON_BYTES, "cannot watch %.150s: %s", directory->path,
                     strerror(errno));
        }
    }
    annotations->is_off = reason[0] != '\0';
    return annotations;
}

const char *ss_record_annotations_passed_over(const struct ss_record_annotations *annotations)
{
    return annotations->directory.passed_over;
}

const char *ss_record_annotations_ring_directory(const struct ss_record_annotations *annotations)
{
    return annotations->is_off || annotations->attach_pid != 0 ? "" : annotations->directory.path;
}

int ss_record_annotations_fd(const struct ss_record_annotations *annotations)
{
    return annotations->is_off ? -1 : annotations->inotify_fd;
}

/* --- processes ------------------------------------------------------------------------------- */

static void note(struct ss_record_annotations *annotations, uint32_t process_ref, const char *kind,
                 const char *text, uint64_t now_ns)
{
    struct ss_trace_note record = {.time_ns = now_ns,
                                   .process_ref = process_ref,
                                   .kind = ss_strview_of(kind),
                                   .text = ss_strview_of(text)};
    struct ss_route aim = {.process_ref = process_ref};
    struct ss_error err = {0};
    if (ss_recording_note(annotations->context->recording, aim, &record, &err) != SS_OK &&
        annotations->context->error.status == SS_OK) {
        annotations->context->error = err;
    }
}

static struct ss_record_client *find_client(struct ss_record_annotations *annotations,
                                            const char *path)
{
    for (size_t i = annotations->clients.count; i > 0; i--) {
        if (strcmp(annotations->clients.data[i - 1]->path, path) == 0) {
            return annotations->clients.data[i - 1];
        }
    }
    return NULL;
}

static struct ss_record_client *client_of(const struct ss_record_annotations *annotations,
                                          uint32_t process_ref)
{
    struct ss_record_client **entry = ss_pages_get(&annotations->by_process, process_ref);
    return entry != NULL ? *entry : NULL;
}

static void write_counts(struct ss_record_client *client, uint64_t now_ns)
{
    struct ss_annot_totals totals;
    ss_annot_get_totals(client->annot, &totals);
    totals.dropped += ss_annotation_tracks_refused(client->tracks);
    if (memcmp(&totals, &client->totals, sizeof totals) == 0) {
        return;
    }
    client->totals = totals;
    struct ss_trace_counts counts = {.source_ref =
                                         client->annotations->context->annotations_source_ref,
                                     .process_ref = client->process_ref,
                                     .time_ns = now_ns,
                                     .seen = client->produced_before + totals.produced,
                                     .lost = client->dropped_before + totals.dropped};
    counts.ok = counts.seen - counts.lost;
    counts.dropped = counts.lost;
    struct ss_error err = {0};
    if (ss_recording_counts(client->annotations->context->recording, &counts, &err) != SS_OK &&
        client->annotations->context->error.status == SS_OK) {
        client->annotations->context->error = err;
    }
}

/* Notes on data problems, at the end of the process. */
static void note_problems(struct ss_record_client *client, uint64_t now_ns)
{
    static const struct {
        size_t offset;
        const char *text;
    } problems[] = {
        {offsetof(struct ss_annot_totals, overrun), "annotations were dropped: rings were full"},
        {offsetof(struct ss_annot_totals, lost_rings), "rings could not be mapped"},
        {offsetof(struct ss_annot_totals, damaged), "parts of a ring were no records"},
        {offsetof(struct ss_annot_totals, unmatched),
         "ranges ended that had not begun while recorded"},
        {offsetof(struct ss_annot_totals, lost_names), "names found no room"}};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        uint64_t count;
        char text[160];
        memcpy(&count, (char *)&client->totals + problems[i].offset, sizeof count);
        if (count > 0) {
            snprintf(text, sizeof text, "%s (%llu)", problems[i].text, (unsigned long long)count);
            note(client->annotations, client->process_ref, "annotations", text, now_ns);
        }
    }
}

/* The cause that an empty table of the report shows. */
static void note_unbuffered(struct ss_record_client *client, uint64_t now_ns)
{
    char text[REASON_BYTES];
    if (client->totals.unbuffered == 0) {
        return;
    }
    snprintf(
        text, sizeof text, "%llu annotations of process %d found no ring: %s%.300s%s",
        (unsigned long long)client->totals.unbuffered, (int)client->pid,
        client->is_confined ? "it has set a filter of system calls (seccomp), which might end it"
                            : "",
        client->is_confined ? "" : client->annotations->directory.path,
        client->is_confined ? ""
                            : " is full, open files, memory or file sizes are limited (ulimit), "
                              "or their threads were ending");
    note(client->annotations, client->process_ref, "annotations-lost", text, now_ns);
}

static void add_windows(const struct ss_record_client *client, struct ss_record_windows *sum)
{
    if (client->filter == NULL) {
        return;
    }
    struct ss_window_counts counts = ss_window_filter_counts(client->filter);
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    uint32_t steps = atomic_load(&header->steps), most_steps = atomic_load(&header->most_steps);
    sum->windows += counts.windows;
    sum->partial += counts.partial;
    sum->steps = steps > sum->steps ? steps : sum->steps;
    sum->most_steps = most_steps > sum->most_steps ? most_steps : sum->most_steps;
}

static struct ss_record_client *window_owner_of(const struct ss_record_client *client);

static void end_client(struct ss_record_client *client, uint64_t now_ns, bool is_dead)
{
    const struct ss_record_client *window_owner = client->is_ended ? NULL : window_owner_of(client);
    if (client->is_ended) {
        return;
    }
    client->is_ended = true;
    client->is_dead = is_dead;
    client->annotations->live--;
    ss_stamp_clock_read(&client->annotations->clock);
    if (!is_dead) {
        ss_annot_stop(client->annot);
    }
    ss_torch_files_take(&client->torch, now_ns);
    if (window_owner != NULL) { /* without their edges, the last events are in no window */
        ss_annot_drain(window_owner->annot, now_ns);
    }
    ss_annot_end(client->annot, now_ns, is_dead ? client->seen_ns : now_ns, is_dead);
    write_counts(client, now_ns);
    note_problems(client, now_ns);
    note_unbuffered(client, now_ns);
    add_windows(client, &client->annotations->ended);
    if (client_of(client->annotations, client->process_ref) == client) {
        ss_pages_drop(&client->annotations->by_process, client->process_ref);
    }
    if (is_dead) {
        unlink(client->sealed_path);
    }
    if (is_dead || client->annotations->attach_pid == 0) {
        unlink(client->path);
        client->path[0] = '\0'; /* the next image of the process may reuse the name */
    }
    if (client->process != NULL) {
        ss_recorded_process_set_annotated(client->process, NULL);
        client->process = NULL;
    }
    ss_annot_free(client->annot);
    ss_window_filter_free(client->filter);
    ss_torch_files_fini(&client->torch);
    ss_annotation_tracks_free(client->tracks);
    ss_ring_file_close(client->file);
    ss_vec_fini(&client->edges);
    client->annot = NULL;
    client->filter = NULL;
    client->tracks = NULL;
    client->file = NULL;
}

/* A new image of the process began at `begin_ns`: earlier images ran at most until then. */
static void end_images_before(struct ss_record_annotations *annotations, pid_t pid,
                              uint64_t begin_ns, uint64_t now_ns)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (client->pid == pid && !client->is_ended) {
            client->seen_ns = client->seen_ns < begin_ns ? client->seen_ns : begin_ns;
            end_client(client, now_ns, true);
        }
    }
}

/* Whether another live recorder records the process. */
static bool is_recorded_elsewhere(const struct ss_ring_header *header, uint64_t now_ns)
{
    uint64_t heartbeat_ns = atomic_load(&header->heartbeat_ns);
    return (atomic_load(&header->gate) & SS_RING_GATE_ALL) != 0 &&
           atomic_load(&header->recorder_pid) != (int32_t)getpid() &&
           now_ns < heartbeat_ns + recorder_timeout_ns;
}

static struct ss_recorded_process *process_of(struct ss_record_annotations *annotations, pid_t pid,
                                              uint64_t start_time_ticks,
                                              const struct ss_ring_header *header)
{
    bool is_ours = atomic_load(&header->recorder_pid) == (int32_t)getpid();
    struct ss_process_identity identity = {.pid = pid,
                                           .parent_pid = header->parent_pid,
                                           .start_time_ticks = start_time_ticks,
                                           .is_alive = is_alive(pid, start_time_ticks)};
    return ss_process_table_process(annotations->processes, &identity, is_ours);
}

static struct ss_record_client *add_client(struct ss_record_annotations *annotations,
                                           const char *path, pid_t pid, uint64_t start_time_ticks)
{
    struct ss_record_client *client = ss_alloc_zero(1, sizeof *client);
    client->annotations = annotations;
    client->pid = pid;
    client->start_time_ticks = start_time_ticks;
    client->is_ended = client->is_refused = true;
    snprintf(client->path, sizeof client->path, "%s", path);
    ss_vec_push(&annotations->clients, client);
    return client;
}

/* The process of the file; NULL: not a ring file, or not part of this recording. */
static struct ss_recorded_process *
identify_process(struct ss_record_client *client, uint64_t now_ns, bool *is_new, uint64_t *begin_ns)
{
    struct ss_error err = {0};
    struct ss_ring_memory memory = ss_ring_file_memory(client->file);
    struct ss_ring_consumer peek;
    enum ss_status status = ss_ring_consumer_open(&memory, &peek, &err);
    struct ss_recorded_process *process = NULL;
    if (status == SS_OK && !is_recorded_elsewhere(peek.header, now_ns)) {
        *is_new = atomic_load(&peek.header->recorder_pid) != (int32_t)getpid();
        *begin_ns = peek.header->created_ns;
        process =
            process_of(client->annotations, client->pid, client->start_time_ticks, peek.header);
    } else if (status == SS_E_FORMAT) {
        note(client->annotations, 0, "annotations", err.message, now_ns);
    }
    ss_ring_consumer_close(&peek);
    return process;
}

/* Counts are per process: they include those of earlier images. */
static void count_images_before(struct ss_record_client *client)
{
    for (size_t i = 0; i < client->annotations->clients.count; i++) {
        const struct ss_record_client *other = client->annotations->clients.data[i];
        if (other != client && other->process_ref == client->process_ref &&
            other->process_ref != 0) {
            client->produced_before += other->totals.produced;
            client->dropped_before += other->totals.dropped;
        }
    }
}

/* --- windows of a process -------------------------------------------------------------------- */

static struct ss_route aim_of(const struct ss_record_client *client, uint32_t window)
{
    return (struct ss_route){client->process_ref, window};
}

/* The process marks steps: its children follow its windows. */
static void mark_as_window_owner(struct ss_record_client *client)
{
    if (!client->marks_steps) {
        client->marks_steps = true;
        ss_recording_marks_steps(client->annotations->context->recording, client->process_ref);
    }
}

static int64_t epoch_of(const struct ss_record_client *client, const struct ss_window_edge *edge)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    int64_t now = atomic_load_explicit(&header->epoch, memory_order_relaxed);
    return edge->epoch >= 0 ? edge->epoch : now;
}

/* The window owner of a process that marks no steps itself; NULL: none. */
static struct ss_record_client *window_owner_of(const struct ss_record_client *client)
{
    const struct ss_record_annotations *annotations = client->annotations;
    uint32_t owner_ref =
        ss_recording_window_owner(annotations->context->recording, client->process_ref);
    bool follows = owner_ref != 0 && owner_ref != client->process_ref && !client->marks_steps;
    return follows ? client_of(annotations, owner_ref) : NULL;
}

static void install_late_filter(struct ss_record_client *client);

static void forward_edge(struct ss_record_client *client,
                         const struct ss_record_client *window_owner, const struct past_edge *past)
{
    if (client->filter == NULL) {
        install_late_filter(client);
    }
    ss_window_filter_follow(client->filter, window_owner->process_ref, &past->edge, past->opens);
}

static void notify_followers(struct ss_record_client *window_owner,
                             const struct ss_window_edge *edge, bool opens)
{
    struct ss_record_annotations *annotations = window_owner->annotations;
    struct past_edge past = {*edge, opens};
    mark_as_window_owner(window_owner);
    if (window_owner->edges.count == MOST_PAST_EDGES) {
        for (size_t i = 1; i < MOST_PAST_EDGES; i++) {
            window_owner->edges.data[i - 1] = window_owner->edges.data[i];
        }
        window_owner->edges.count--;
    }
    ss_vec_push(&window_owner->edges, past);
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && window_owner_of(client) == window_owner) {
            forward_edge(client, window_owner, &past);
        }
    }
}

/* For a process that started after its window owner had marked edges. */
static void replay_edges(struct ss_record_client *client)
{
    const struct ss_record_client *window_owner = window_owner_of(client);
    for (size_t i = 0; window_owner != NULL && i < window_owner->edges.count; i++) {
        forward_edge(client, window_owner, &window_owner->edges.data[i]);
    }
}

static void on_window_begin(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_client *client = context;
    struct ss_window window = {.process_ref = client->process_ref,
                               .number = edge->window,
                               .pid = client->pid,
                               .epoch = epoch_of(client, edge),
                               .batch = edge->batch,
                               .first_step = edge->step >= 0 ? edge->step : 0,
                               .begin_ns = edge->time_ns};
    ss_recording_window_begin(client->annotations->context->recording, &window);
    notify_followers(client, edge, true);
}

/* The step that begins at the end of a window is outside it, unless the window was cut in that
 * step. */
static void on_window_end(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_client *client = context;
    int64_t last = edge->step >= 0 ? edge->step - !edge->is_cut : 0;
    ss_recording_window_end(client->annotations->context->recording, aim_of(client, edge->window),
                            edge->time_ns, last, edge->is_cut);
    notify_followers(client, edge, false);
}

/* Whether a follower has pending events of the window. */
static bool has_pending_events(const struct ss_record_annotations *annotations,
                               uint32_t process_ref, uint32_t window)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->filter != NULL &&
            ss_window_filter_holds(client->filter, process_ref, window)) {
            return true;
        }
    }
    return false;
}

/* During a tick no file is finished: pending weights may belong to it. */
static void on_window_drained(void *context, uint32_t window)
{
    struct ss_record_client *client = context;
    struct ss_record_annotations *annotations = client->annotations;
    ss_torch_files_take(&client->torch, ss_clock_monotonic_ns());
    if (annotations->context->is_sampling ||
        has_pending_events(annotations, client->process_ref, window)) {
        ss_vec_push(&annotations->drained, (struct drained_window){client->process_ref, window});
    } else {
        ss_recording_window_drained(annotations->context->recording, aim_of(client, window));
    }
}

static void finish_drained(struct ss_record_annotations *annotations)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->drained.count; i++) {
        struct drained_window drained = annotations->drained.data[i];
        if (has_pending_events(annotations, drained.process_ref, drained.window)) {
            annotations->drained.data[remaining++] = drained;
        } else {
            struct ss_route aim = {drained.process_ref, drained.window};
            ss_recording_window_drained(annotations->context->recording, aim);
        }
    }
    annotations->drained.count = remaining;
}

static struct ss_annot_sink filter_sink(struct ss_record_client *client, bool is_late)
{
    struct ss_annot_sink sink = ss_annotation_tracks_sink(client->tracks);
    struct ss_recording *recording = client->annotations->context->recording;
    struct ss_window_filter_options options = {
        .hooks = {client, on_window_begin, on_window_end, on_window_drained},
        .cuts_steps = ss_recording_is_per_window(recording),
        .is_late = is_late};
    client->filter = ss_window_filter_new(&sink, &options);
    return ss_window_filter_sink(client->filter);
}

/* The recorder attached during a window, which began before the recording. */
static void enter_open_window(struct ss_record_client *client, uint64_t now_ns)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    uint32_t window = atomic_load(&header->window);
    if (client->filter != NULL && window != 0) {
        struct ss_annot_event event = {.kind = SS_ANNOT_WINDOW,
                                       .time_ns = now_ns,
                                       .detail =
                                           atomic_load(&header->action) & SS_RING_WINDOW_ACTION,
                                       .id = window,
                                       .name = (uint32_t)atomic_load(&header->batch),
                                       .value = (uint64_t)atomic_load(&header->step)};
        struct ss_annot_sink sink = ss_window_filter_sink(client->filter);
        sink.event(sink.context, &event);
    }
}

/* For a process without a filter: from the first edge on, its events are cut. */
static void install_late_filter(struct ss_record_client *client)
{
    struct ss_annot_sink sink = filter_sink(client, true);
    ss_annot_set_sink(client->annot, &sink);
}

/* Pairs with the release store in annot/training.c: visible before the first edge. */
static bool has_own_schedule(const struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    return atomic_load_explicit(&header->scheduled, memory_order_acquire) != 0;
}

static void follow_own_schedule(struct ss_record_client *client, bool scheduled)
{
    if (scheduled && !client->is_scheduled) {
        client->is_scheduled = true;
        client->annotations->scheduled++;
        if (client->filter == NULL) {
            install_late_filter(client);
        }
    }
}

static void before_window(void *context)
{
    struct ss_record_client *client = context;
    follow_own_schedule(client, has_own_schedule(client));
}

/* Reads from the header what the ring contains a little later: a schedule, another window. Returns
 * whether the ring should be drained now. */
static bool poll_header(struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    bool marks_steps = atomic_load_explicit(&header->step, memory_order_relaxed) >= 0 ||
                       atomic_load_explicit(&header->epoch, memory_order_relaxed) >= 0;
    bool scheduled = has_own_schedule(client);
    uint32_t window = atomic_load_explicit(&header->window, memory_order_relaxed);
    if (marks_steps || scheduled) {
        mark_as_window_owner(client);
    }
    follow_own_schedule(client, scheduled);
    bool is_new = window != client->header_window;
    client->header_window = window;
    return is_new && client->filter != NULL;
}

/* A process that already has a schedule is recorded only in its windows; a process that sets one
 * later is recorded fully until then. */
static void start_filter(struct ss_record_client *client)
{
    bool all_follow = client->annotations->context->follows_schedule;
    bool scheduled = has_own_schedule(client);
    client->annotations->scheduled += scheduled;
    client->is_scheduled = scheduled;
    ss_annot_set_window_hook(client->annot, before_window, client);
    if (all_follow || scheduled) {
        struct ss_annot_sink sink = filter_sink(client, false);
        ss_annot_set_sink(client->annot, &sink);
    }
}

static void name_sealed_file(struct ss_record_client *client)
{
    size_t stem = strlen(client->path) - (sizeof SS_RING_FILE_SUFFIX - 1);
    snprintf(client->sealed_path, sizeof client->sealed_path, "%.*s" SS_RING_SEALED_SUFFIX,
             (int)stem, client->path);
    unlink(client->sealed_path); /* from an earlier recording */
}

static bool start_client(struct ss_record_client *client, struct ss_recorded_process *process,
                         uint64_t now_ns, bool is_new)
{
    struct ss_record_annotations *annotations = client->annotations;
    struct ss_ring_memory memory = ss_ring_file_memory(client->file);
    client->process_ref = ss_recorded_process_ref(process);
    client->tracks = ss_annotation_tracks_new(annotations->context, process);
    struct ss_annot_sink sink = ss_annotation_tracks_sink(client->tracks);
    uint64_t since_ns = is_new ? now_ns : annotations->since_ns;
    if (ss_annot_open(&memory, &annotations->clock, since_ns, &sink, &client->annot, NULL) !=
        SS_OK) {
        ss_annotation_tracks_free(client->tracks);
        client->tracks = NULL;
        return false;
    }
    struct ss_record_client **entry = ss_pages_put(&annotations->by_process, client->process_ref);
    *entry = client;
    start_filter(client);
    struct ss_ring_request request = ss_ring_directory_request(&annotations->directory, now_ns);
    ss_annot_start(client->annot, &request, is_new);
    client->process = process;
    ss_torch_files_init(&client->torch, &annotations->torch, client->tracks, process, client->path);
    count_images_before(client);
    client->seen_ns = now_ns;
    client->is_ended = client->is_refused = false;
    name_sealed_file(client);
    ss_recorded_process_set_annotated(process, client);
    annotations->live++;
    annotations->next_ns = now_ns;
    poll_header(client);
    replay_edges(client);
    if (is_new) {
        enter_open_window(client, now_ns);
    }
    return true;
}

static void open_client(struct ss_record_client *client, uint64_t now_ns)
{
    struct ss_error err = {0};
    bool is_new = false;
    enum ss_status status = ss_ring_file_open(client->path, &client->file, &err);
    client->is_unreadable = status != SS_OK && status != SS_E_NOTFOUND;
    if (status != SS_OK) {
        ss_log(SS_DEBUG, "record", "%s", err.message);
        return;
    }
    uint64_t begin_ns = now_ns;
    struct ss_recorded_process *process = identify_process(client, now_ns, &is_new, &begin_ns);
    if (process != NULL) {
        end_images_before(client->annotations, client->pid, begin_ns, now_ns);
    }
    if (process == NULL || !start_client(client, process, now_ns, is_new)) {
        ss_ring_file_close(client->file);
        client->file = NULL;
    }
}

/* Whether the program has finished the file. Opens it read-only, so that closing it causes no
 * IN_CLOSE_WRITE event. Out of descriptors or memory: treat it as complete, so that the failed open
 * is reported. */
static bool is_complete(const char *path)
{
    uint64_t magic = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    }
    bool complete = pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic;
    close(fd);
    return complete && magic != 0;
}

/* A refused file is not opened again at each event: closing it causes one. */
static void scan_file(struct ss_record_annotations *annotations, const char *name, uint64_t now_ns,
                      bool retry_refused)
{
    char path[PATH_BYTES], ring[64];
    pid_t pid;
    uint64_t start;
    bool is_torch = ss_torch_profiles_is_name(name, ring);
    name = is_torch ? ring : name;
    snprintf(path, sizeof path, "%.*s/%.255s", SS_RING_PATH_BYTES, annotations->directory.path,
             name);
    if (!ss_ring_file_parse_name(name, &pid, &start)) {
        return;
    }
    struct ss_record_client *client = find_client(annotations, path);
    if (is_torch) {
        if (client != NULL && !client->is_ended) {
            ss_torch_files_take(&client->torch, now_ns);
        }
    } else if (client == NULL && is_complete(path)) {
        open_client(add_client(annotations, path, pid, start), now_ns);
    } else if (client != NULL && client->is_refused && retry_refused) {
        open_client(client, now_ns);
    }
}

static void scan(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    DIR *entries = annotations->is_off ? NULL : opendir(annotations->directory.path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        scan_file(annotations, entry->d_name, now_ns, true);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* --- work ------------------------------------------------------------------------------------ */

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
    ss_torch_profiles_begin(&annotations->torch, annotations->context, annotations->options);
    allow_many_files();
    scan(annotations, now_ns);
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
                scan(annotations, now_ns);
            } else if (event->len > 0) {
                scan_file(annotations, event->name, now_ns, false);
            }
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

/* Drains until `until_ns`, even if the ring is not empty by then. */
static uint32_t drain_ring(struct ss_record_client *client, uint64_t now_ns, uint64_t until_ns)
{
    poll_header(client);
    uint32_t filled = ss_annot_drain_until(client->annot, now_ns, until_ns);
    client->seen_ns = now_ns;
    if (!ss_annot_is_behind(client->annot)) {
        client->drained_ns = now_ns;
    }
    return filled;
}

/* Emits events whose windows are known; the edges may come from the window owner's ring. */
static void finish_drain(struct ss_record_client *client)
{
    const struct ss_record_client *window_owner = window_owner_of(client);
    bool waits = window_owner != NULL && window_owner->drained_ns < client->drained_ns;
    if (client->filter != NULL) {
        ss_window_filter_drained(client->filter,
                                 waits ? window_owner->drained_ns : client->drained_ns);
    }
    if (!ss_annot_is_behind(client->annot)) {
        ss_annotation_tracks_drained(client->tracks);
    }
}

static void drain_client(struct ss_record_client *client, uint64_t now_ns)
{
    drain_ring(client, now_ns, UINT64_MAX);
    finish_drain(client);
}

static void poll_flush_request(struct ss_record_client *client)
{
    if (!client->wants_flush && ss_annot_wants_flush(client->annot, &client->flush_number)) {
        client->wants_flush = true;
        client->flush_drains = 0;
    }
    if (client->wants_flush && !ss_annot_is_behind(client->annot) &&
        ++client->flush_drains >= FLUSH_DRAINS) {
        client->annotations->wants_flush = true;
    }
}

static bool is_flush_pending(const struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->wants_flush) {
            return true;
        }
    }
    return false;
}

/* The process stops making system calls for rings: its filter could kill it. */
static void confine(struct ss_record_client *client, uint64_t now_ns)
{
    char text[200];
    client->is_confined = true;
    ss_annot_confine(client->annot);
    snprintf(text, sizeof text,
             "process %d has set a filter of system calls (seccomp): threads and processes that it "
             "starts from then on are not annotated, lest the filter ends them",
             (int)client->pid);
    note(client->annotations, client->process_ref, "annotations", text, now_ns);
    ss_log(SS_INFO, "record", "%s", text);
}

/* Polls one process per call. */
static void poll_confinement(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (now_ns < annotations->confinement_polled_ns + confinement_gap_ns ||
        annotations->clients.count == 0) {
        return;
    }
    annotations->confinement_polled_ns = now_ns;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        annotations->confinement_client =
            (annotations->confinement_client + 1) % annotations->clients.count;
        struct ss_record_client *client =
            annotations->clients.data[annotations->confinement_client];
        if (!client->is_ended && !client->is_confined &&
            now_ns >= client->confinement_polled_ns + confinement_period_ns) {
            client->confinement_polled_ns = now_ns;
            if (count_filters(client->pid) > annotations->inherited_filters) {
                confine(client, now_ns);
            }
            return;
        }
    }
}

/* Halves the period while rings fill fast or a flush is pending; doubles it while they are nearly
 * empty. */
static void adapt_drain_period(struct ss_record_annotations *annotations, uint32_t fullest)
{
    bool is_urgent = fullest >= FILLS_FAST_PERCENT || is_flush_pending(annotations);
    if (is_urgent && annotations->drain_period_ns > drain_least_ns) {
        annotations->drain_period_ns /= 2;
    } else if (!is_urgent && fullest < FILLS_SLOWLY_PERCENT &&
               annotations->drain_period_ns < drain_most_ns) {
        annotations->drain_period_ns *= 2;
    }
}

uint64_t ss_record_annotations_drain(struct ss_record_annotations *annotations, uint64_t now_ns,
                                     uint64_t until_ns)
{
    finish_drained(annotations);
    if (annotations->live == 0 || now_ns < annotations->next_ns) {
        return annotations->live == 0 ? UINT64_MAX : annotations->next_ns;
    }
    uint32_t fullest = 0;
    bool is_behind = false;
    ss_stamp_clock_read(&annotations->clock);
    if (annotations->directory.page != NULL) {
        atomic_store_explicit(&annotations->directory.page->heartbeat_ns, now_ns,
                              memory_order_relaxed);
    }
    for (size_t n = 0, first = annotations->first_client; n < annotations->clients.count; n++) {
        size_t i = (first + n) % annotations->clients.count;
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended) {
            poll_flush_request(client);
            uint32_t filled = drain_ring(client, now_ns, until_ns);
            fullest = filled > fullest ? filled : fullest;
            if (!is_behind && ss_annot_is_behind(client->annot)) {
                is_behind = true;
                annotations->first_client = i + 1;
            }
        }
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        if (!annotations->clients.data[i]->is_ended) {
            finish_drain(annotations->clients.data[i]);
        }
    }
    finish_drained(annotations);
    poll_confinement(annotations, now_ns);
    adapt_drain_period(annotations, fullest);
    annotations->next_ns = is_behind ? now_ns : now_ns + annotations->drain_period_ns;
    return annotations->next_ns;
}

void ss_record_annotations_poll_windows(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    bool has_read_clock = false;
    finish_drained(annotations);
    for (size_t i = 0; annotations->live > 0 && i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && poll_header(client)) {
            if (!has_read_clock) {
                ss_stamp_clock_read(&annotations->clock);
                has_read_clock = true;
            }
            drain_client(client, now_ns);
        }
    }
}

bool ss_record_annotations_wants_flush(const struct ss_record_annotations *annotations)
{
    return annotations->wants_flush;
}

void ss_record_annotations_flushed(struct ss_record_annotations *annotations)
{
    annotations->wants_flush = false;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->wants_flush && client->flush_drains >= FLUSH_DRAINS) {
            ss_annot_flushed(client->annot, client->flush_number);
            client->wants_flush = false;
        }
    }
}

/* --- notices to processes -------------------------------------------------------------------- */

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
            is_alive(client->pid, client->start_time_ticks)) {
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
        scan(annotations, now_ns); /* of processes that joined the recording later */
    }
    uint64_t room_bytes =
        annotations->live > 0 ? ss_ring_directory_free_bytes(&annotations->directory) : 0;
    if (annotations->directory.page != NULL && annotations->live > 0) {
        atomic_store_explicit(&annotations->directory.page->room_bytes, room_bytes,
                              memory_order_relaxed);
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended) {
            write_counts(client, now_ns);
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

void ss_record_annotations_process_ended(struct ss_record_annotations *annotations,
                                         struct ss_record_client *annotated, uint64_t now_ns)
{
    (void)annotations;
    end_client(annotated, now_ns, true);
}

static bool is_mapped(pid_t pid, const char *path)
{
    char name[64], line[1024];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, path) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

void ss_record_annotations_image_ended(struct ss_record_annotations *annotations,
                                       struct ss_record_client *annotated, uint64_t now_ns)
{
    (void)annotations;
    if (!is_mapped(annotated->pid, annotated->path)) {
        end_client(annotated, now_ns, true);
    }
}

void ss_record_annotations_label(struct ss_record_client *annotated, int32_t tid,
                                 struct ss_trace_sample *sample)
{
    struct ss_annot_label label;
    if (annotated->is_ended) {
        return;
    }
    ss_annot_label(annotated->annot, tid, &label);
    sample->step = label.step;
    sample->window = label.window;
    sample->phase_name = ss_annotation_tracks_name(annotated->tracks, label.phase);
    sample->range_name = ss_annotation_tracks_name(annotated->tracks, label.range);
}

/* --- windows --------------------------------------------------------------------------------- */

static bool is_scheduled(const struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    return client->annotations->context->follows_schedule ||
           atomic_load_explicit(&header->scheduled, memory_order_relaxed) != 0;
}

uint32_t ss_record_annotations_window(const struct ss_record_client *annotated)
{
    return annotated->is_ended || !is_scheduled(annotated)
               ? 0
               : atomic_load_explicit(&ss_annot_header(annotated->annot)->window,
                                      memory_order_relaxed);
}

static bool is_any_in_window(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (annotations->any_in_window_ns != now_ns) {
        annotations->any_in_window_ns = now_ns;
        annotations->any_in_window = false;
        for (size_t i = 0; i < annotations->clients.count && !annotations->any_in_window; i++) {
            annotations->any_in_window =
                ss_record_annotations_window(annotations->clients.data[i]) != 0;
        }
    }
    return annotations->any_in_window;
}

bool ss_record_annotations_is_in_window(struct ss_record_annotations *annotations,
                                        uint32_t process_ref, uint64_t now_ns)
{
    bool all_follow = annotations->context->follows_schedule;
    if (!all_follow && annotations->scheduled == 0) {
        return true;
    }
    uint32_t owner_ref = ss_recording_window_owner(annotations->context->recording, process_ref);
    const struct ss_record_client *client = client_of(annotations, owner_ref);
    if (client != NULL && !client->is_ended) {
        return !is_scheduled(client) || ss_record_annotations_window(client) != 0;
    }
    return !all_follow || is_any_in_window(annotations, now_ns);
}

void ss_record_annotations_ensure_window(struct ss_record_client *annotated, uint32_t window)
{
    struct ss_recording *recording = annotated->annotations->context->recording;
    if (annotated->is_ended || annotated->filter == NULL ||
        ss_recording_has_window(recording, aim_of(annotated, window))) {
        return;
    }
    uint64_t now_ns = ss_clock_monotonic_ns();
    ss_stamp_clock_read(&annotated->annotations->clock);
    drain_client(annotated, now_ns);
    /* Its record is still being written, or was dropped: the header has the same data. */
    const struct ss_ring_header *header = ss_annot_header(annotated->annot);
    if (!ss_recording_has_window(recording, aim_of(annotated, window)) &&
        atomic_load(&header->window) == window) {
        struct ss_window_edge edge = {.window = window,
                                      .time_ns = now_ns,
                                      .step = atomic_load(&header->step),
                                      .epoch = -1,
                                      .batch = (uint32_t)atomic_load(&header->batch)};
        on_window_begin(annotated, &edge);
    }
}

void ss_record_annotations_get_windows(const struct ss_record_annotations *annotations,
                                       struct ss_record_windows *windows)
{
    *windows = annotations->ended;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        if (!annotations->clients.data[i]->is_ended) {
            add_windows(annotations->clients.data[i], windows);
        }
    }
}

static bool is_unread(const struct ss_record_client *client)
{
    return client->is_unreadable || client->totals.lost_rings > 0;
}

void ss_record_annotations_forget(struct ss_record_annotations *annotations, uint32_t process_ref)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (client->process_ref != process_ref || !client->is_ended || !client->is_dead) {
            annotations->clients.data[remaining++] = client;
            continue;
        }
        annotations->unreadable_before += is_unread(client);
        ss_free(client);
    }
    annotations->clients.count = remaining;
}

static void note_lost_processes(struct ss_record_annotations *annotations, uint32_t count,
                                const char *why, uint64_t now_ns)
{
    char text[REASON_BYTES + 160];
    if (count > 0) {
        snprintf(
            text, sizeof text,
            "the annotations of %u %s are missing: %s, or open files, memory or file sizes are "
            "limited (ulimit)",
            count, count == 1 ? "process" : "processes", why);
        note(annotations, 0, "annotations-lost", text, now_ns);
        ss_log(SS_WARN, "record", "%s", text);
    }
}

/* Processes without a ring file, and ring files that the recorder could not open. */
static void note_missing(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    char why[REASON_BYTES];
    uint32_t unreadable = annotations->unreadable_before;
    if (annotations->directory.page != NULL) {
        snprintf(why, sizeof why, "%.150s is full", annotations->directory.path);
        note_lost_processes(annotations,
                            atomic_load(&annotations->directory.page->unbuffered_processes), why,
                            now_ns);
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        unreadable += is_unread(client);
    }
    note_lost_processes(annotations, unreadable, "the recorder could not open their rings", now_ns);
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
        scan(annotations, now_ns); /* of processes that inotify did not report in time */
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        end_client(client, now_ns, !is_alive(client->pid, client->start_time_ticks));
    }
    finish_drained(annotations);
    note_missing(annotations, now_ns);
    ss_torch_profiles_end(&annotations->torch);
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
    ss_ring_directory_remove(&annotations->directory);
    if (annotations->inotify_fd >= 0) {
        close(annotations->inotify_fd);
    }
    ss_free(annotations);
}
