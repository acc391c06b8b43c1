/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "platform/maps.h"
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

/* How often one process is asked whether it has set a filter of system calls, and any is. */
static const uint64_t confinement_ns = UINT64_C(100000000);
static const uint64_t confinement_least_ns = UINT64_C(10000000);
/* How long a ring may fill before it is looked at: shorter while they fill fast, longer while
 * nothing comes. The default ring holds 65 ms of a million records a second. */
static const uint64_t drain_first_ns = UINT64_C(4000000);
static const uint64_t drain_least_ns = UINT64_C(1000000);
static const uint64_t drain_most_ns = UINT64_C(32000000);
enum { FILLS_FAST_PERCENT = 12, FILLS_SLOWLY_PERCENT = 2 };
/* Somebody else's recorder that has been silent for so long is gone. */
static const uint64_t silent_ns = UINT64_C(5000000000);

struct told_edge {
    struct ss_window_edge edge;
    bool opens;
};
enum { MOST_TOLD_EDGES = 64 };

struct ss_record_annotated {
    struct ss_record_annotations *owner;
    char path[PATH_BYTES];
    pid_t pid;
    uint64_t start_time_ticks;
    struct ss_ring_file *file;
    struct ss_annot *annot;
    struct ss_annotation_tracks *tracks;
    struct ss_torch_files torch;              /* what torch.profiler saw */
    struct ss_window_filter *filter;          /* NULL: no schedule */
    struct ss_vec_of(struct told_edge) edges; /* the last of its windows, for who goes along */
    uint64_t drained_ns;                      /* when its ring was drained last */
    char sealed_path[PATH_BYTES];             /* where the process hears of its files */
    uint32_t seen_window;                     /* as the header had it last */
    bool marks;                               /* steps */
    bool is_scheduled;                        /* by a schedule of the program's own */
    bool wants_flush;                         /* flush_number… */
    uint32_t flush_number;
    int flush_drains; /* …and the drains since it was asked for */
    struct ss_recorded_process *process;
    uint32_t process_ref;
    bool is_ended;      /* all is written; the row stays, so that the file is not taken again */
    bool is_dead;       /* nobody reads sealed_path any more */
    bool is_refused;    /* it was ended from the start: not readable, or not of this recording */
    bool is_unreadable; /* opening it failed */
    bool is_confined;   /* by a filter of system calls of its own */
    uint64_t confinement_ns; /* when that was looked up last */
    uint64_t seen_ns;
    struct ss_annot_totals totals;
    uint64_t produced_before, dropped_before; /* by earlier images of the process */
};

struct passed_window {
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
    struct ss_annotation_names names;
    struct ss_torch_profiles torch;
    struct ss_vec_of(struct ss_record_annotated *) rows;
    struct ss_pages by_process; /* struct ss_record_annotated *, by its ref; those that live */
    uint32_t unreadable_before; /* rows that are forgotten */
    struct ss_vec_of(struct passed_window) passed; /* to be finished */
    uint32_t scheduled;                            /* processes, by themselves */
    uint64_t since_ns, drain_ns, next_ns;
    size_t first_row; /* of the next drain: behind where the last one had to stop */
    uint32_t live;
    struct ss_record_windows ended; /* of processes that are gone */
    uint64_t looked_ns;             /* when `any_in_window` was true or not */
    bool any_in_window;
    bool wants_flush; /* some process */
    int own_filters;  /* of system calls: those that the program has inherited */
    uint64_t confinement_ns;
    size_t confinement_row;
};

/* A flush waits until the filters have let go of what was marked before it. */
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
    annotations->by_process.item_bytes = sizeof(struct ss_record_annotated *);
    annotations->inotify_fd = -1;
    annotations->next_ns = UINT64_MAX;
    annotations->drain_ns = drain_first_ns;
    ss_intern_init(&annotations->names.texts);
    ss_intern_init(&annotations->names.keys);
    ss_stamp_clock_read(&annotations->clock);
    annotations->since_ns = annotations->clock.first.ns;
    annotations->own_filters = count_filters(0);
    reason[0] = '\0';
    enum ss_ring_mode mode = options->overwrite_events ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST;
    struct ss_ring_directory *directory = &annotations->directory;
    bool has_directory =
        attach_pid != 0 ? ss_ring_directory_attach(directory, mode, attach_pid, reason)
                        : ss_ring_directory_create(directory, mode, annotations->since_ns, reason);
    if (has_directory) { /* the header of a file is complete when its program closes it */
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

const char *ss_record_annotations_folder(const struct ss_record_annotations *annotations)
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
    struct ss_trace_note told = {.time_ns = now_ns,
                                 .process_ref = process_ref,
                                 .kind = ss_strview_of(kind),
                                 .text = ss_strview_of(text)};
    struct ss_aim aim = {.process_ref = process_ref};
    struct ss_error err = {0};
    if (ss_recording_note(annotations->context->recording, aim, &told, &err) != SS_OK &&
        annotations->context->error.status == SS_OK) {
        annotations->context->error = err;
    }
}

static struct ss_record_annotated *find_row(struct ss_record_annotations *annotations,
                                            const char *path)
{
    for (size_t i = annotations->rows.count; i > 0; i--) {
        if (strcmp(annotations->rows.data[i - 1]->path, path) == 0) {
            return annotations->rows.data[i - 1];
        }
    }
    return NULL;
}

static struct ss_record_annotated *row_of(const struct ss_record_annotations *annotations,
                                          uint32_t process_ref)
{
    struct ss_record_annotated **entry = ss_pages_get(&annotations->by_process, process_ref);
    return entry != NULL ? *entry : NULL;
}

static void write_counts(struct ss_record_annotated *row, uint64_t now_ns)
{
    struct ss_annot_totals totals;
    ss_annot_get_totals(row->annot, &totals);
    totals.dropped += ss_annotation_tracks_refused(row->tracks);
    if (memcmp(&totals, &row->totals, sizeof totals) == 0) {
        return;
    }
    row->totals = totals;
    struct ss_trace_counts counts = {.source_ref = SS_ANNOTATIONS_SOURCE_REF,
                                     .process_ref = row->process_ref,
                                     .time_ns = now_ns,
                                     .seen = row->produced_before + totals.produced,
                                     .lost = row->dropped_before + totals.dropped};
    counts.ok = counts.seen - counts.lost;
    counts.dropped = counts.lost;
    struct ss_error err = {0};
    if (ss_recording_counts(row->owner->context->recording, &counts, &err) != SS_OK &&
        row->owner->context->error.status == SS_OK) {
        row->owner->context->error = err;
    }
}

/* Things that should not be, once per process. */
static void tell_trouble(struct ss_record_annotated *row, uint64_t now_ns)
{
    static const struct {
        size_t offset;
        const char *text;
    } troubles[] = {
        {offsetof(struct ss_annot_totals, overrun), "annotations were dropped: rings were full"},
        {offsetof(struct ss_annot_totals, lost_rings), "rings could not be mapped"},
        {offsetof(struct ss_annot_totals, damaged), "parts of a ring were no records"},
        {offsetof(struct ss_annot_totals, unmatched),
         "ranges ended that had not begun while recorded"},
        {offsetof(struct ss_annot_totals, lost_names), "names found no room"}};
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        uint64_t count;
        char text[160];
        memcpy(&count, (char *)&row->totals + troubles[i].offset, sizeof count);
        if (count > 0) {
            snprintf(text, sizeof text, "%s (%llu)", troubles[i].text, (unsigned long long)count);
            note(row->owner, row->process_ref, "annotations", text, now_ns);
        }
    }
}

/* What a table that is empty for it must say. */
static void tell_unbuffered(struct ss_record_annotated *row, uint64_t now_ns)
{
    char text[REASON_BYTES];
    if (row->totals.unbuffered == 0) {
        return;
    }
    snprintf(text, sizeof text, "%llu annotations of process %d found no ring: %s%.300s%s",
             (unsigned long long)row->totals.unbuffered, (int)row->pid,
             row->is_confined ? "it has set a filter of system calls (seccomp), which might end it"
                              : "",
             row->is_confined ? "" : row->owner->directory.path,
             row->is_confined ? ""
                              : " is full, open files, memory or file sizes are limited (ulimit), "
                                "or their threads were ending");
    note(row->owner, row->process_ref, "annotations-lost", text, now_ns);
}

static void add_windows(const struct ss_record_annotated *row, struct ss_record_windows *sum)
{
    if (row->filter == NULL) {
        return;
    }
    struct ss_window_counts counts = ss_window_filter_counts(row->filter);
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    uint32_t steps = atomic_load(&header->steps), most_steps = atomic_load(&header->most_steps);
    sum->windows += counts.windows;
    sum->partial += counts.partial;
    sum->steps = steps > sum->steps ? steps : sum->steps;
    sum->most_steps = most_steps > sum->most_steps ? most_steps : sum->most_steps;
}

static struct ss_record_annotated *leader_of(const struct ss_record_annotated *row);

static void end_row(struct ss_record_annotated *row, uint64_t now_ns, bool is_dead)
{
    const struct ss_record_annotated *leader = row->is_ended ? NULL : leader_of(row);
    if (row->is_ended) {
        return;
    }
    row->is_ended = true;
    row->is_dead = is_dead;
    row->owner->live--;
    ss_stamp_clock_read(&row->owner->clock);
    if (!is_dead) {
        ss_annot_stop(row->annot);
    }
    ss_torch_files_take(&row->torch, now_ns);
    if (leader != NULL) { /* what ends before its edges are known lies in no window */
        ss_annot_drain(leader->annot, now_ns);
    }
    ss_annot_end(row->annot, now_ns, is_dead ? row->seen_ns : now_ns, is_dead);
    write_counts(row, now_ns);
    tell_trouble(row, now_ns);
    tell_unbuffered(row, now_ns);
    add_windows(row, &row->owner->ended);
    if (row_of(row->owner, row->process_ref) == row) {
        ss_pages_drop(&row->owner->by_process, row->process_ref);
    }
    if (is_dead) {
        unlink(row->sealed_path);
    }
    if (is_dead || row->owner->attach_pid == 0) {
        unlink(row->path);
        row->path[0] = '\0'; /* the next image of the process may take the name again */
    }
    if (row->process != NULL) {
        ss_recorded_process_set_annotated(row->process, NULL);
        row->process = NULL;
    }
    ss_annot_free(row->annot);
    ss_window_filter_free(row->filter);
    ss_torch_files_fini(&row->torch);
    ss_annotation_tracks_free(row->tracks);
    ss_ring_file_close(row->file);
    ss_vec_fini(&row->edges);
    row->annot = NULL;
    row->filter = NULL;
    row->tracks = NULL;
    row->file = NULL;
}

/* One image of a process follows another, which began at `begin_ns`: until then it can have lived.
 */
static void end_images_before(struct ss_record_annotations *annotations, pid_t pid,
                              uint64_t begin_ns, uint64_t now_ns)
{
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (row->pid == pid && !row->is_ended) {
            row->seen_ns = row->seen_ns < begin_ns ? row->seen_ns : begin_ns;
            end_row(row, now_ns, true);
        }
    }
}

/* Is somebody else recording it? */
static bool is_taken(const struct ss_ring_header *header, uint64_t now_ns)
{
    uint64_t heard_ns = atomic_load(&header->heartbeat_ns);
    return (atomic_load(&header->gate) & SS_RING_GATE_ALL) != 0 &&
           atomic_load(&header->recorder_pid) != (int32_t)getpid() && now_ns < heard_ns + silent_ns;
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

static struct ss_record_annotated *add_row(struct ss_record_annotations *annotations,
                                           const char *path, pid_t pid, uint64_t start_time_ticks)
{
    struct ss_record_annotated *row = ss_alloc_zero(1, sizeof *row);
    row->owner = annotations;
    row->pid = pid;
    row->start_time_ticks = start_time_ticks;
    row->is_ended = row->is_refused = true;
    snprintf(row->path, sizeof row->path, "%s", path);
    ss_vec_push(&annotations->rows, row);
    return row;
}

/* The process that the file is of; NULL: the file is none, or not for us. */
static struct ss_recorded_process *judge_file(struct ss_record_annotated *row, uint64_t now_ns,
                                              bool *is_new, uint64_t *begin_ns)
{
    struct ss_error err = {0};
    struct ss_ring_memory memory = ss_ring_file_memory(row->file);
    struct ss_ring_consumer peek;
    enum ss_status status = ss_ring_consumer_open(&memory, &peek, &err);
    struct ss_recorded_process *process = NULL;
    if (status == SS_OK && !is_taken(peek.header, now_ns)) {
        *is_new = atomic_load(&peek.header->recorder_pid) != (int32_t)getpid();
        *begin_ns = peek.header->created_ns;
        process = process_of(row->owner, row->pid, row->start_time_ticks, peek.header);
    } else if (status == SS_E_FORMAT) {
        note(row->owner, 0, "annotations", err.message, now_ns);
    }
    ss_ring_consumer_close(&peek);
    return process;
}

/* Counts are of the process: those of its earlier images are part of them. */
static void count_images_before(struct ss_record_annotated *row)
{
    for (size_t i = 0; i < row->owner->rows.count; i++) {
        const struct ss_record_annotated *other = row->owner->rows.data[i];
        if (other != row && other->process_ref == row->process_ref && other->process_ref != 0) {
            row->produced_before += other->totals.produced;
            row->dropped_before += other->totals.dropped;
        }
    }
}

/* --- windows of a process -------------------------------------------------------------------- */

static struct ss_aim aim_of(const struct ss_record_annotated *row, uint32_t window)
{
    return (struct ss_aim){row->process_ref, window};
}

/* It marks steps: its children go along with its windows. */
static void mark_as_leader(struct ss_record_annotated *row)
{
    if (!row->marks) {
        row->marks = true;
        ss_recording_marks(row->owner->context->recording, row->process_ref);
    }
}

static int64_t epoch_of(const struct ss_record_annotated *row, const struct ss_window_edge *edge)
{
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    int64_t now = atomic_load_explicit(&header->epoch, memory_order_relaxed);
    return edge->epoch >= 0 ? edge->epoch : now;
}

/* The process whose windows this one goes along with: it marks no steps itself. NULL: none. */
static struct ss_record_annotated *leader_of(const struct ss_record_annotated *row)
{
    const struct ss_record_annotations *annotations = row->owner;
    uint32_t owner = ss_recording_owner(annotations->context->recording, row->process_ref);
    bool is_there = owner != 0 && owner != row->process_ref && !row->marks;
    return is_there ? row_of(annotations, owner) : NULL;
}

static void install_late_filter(struct ss_record_annotated *row);

static void tell_edge(struct ss_record_annotated *row, const struct ss_record_annotated *leader,
                      const struct told_edge *told)
{
    if (row->filter == NULL) {
        install_late_filter(row);
    }
    ss_window_filter_follow(row->filter, leader->process_ref, &told->edge, told->opens);
}

static void tell_followers(struct ss_record_annotated *leader, const struct ss_window_edge *edge,
                           bool opens)
{
    struct ss_record_annotations *annotations = leader->owner;
    struct told_edge told = {*edge, opens};
    mark_as_leader(leader);
    if (leader->edges.count == MOST_TOLD_EDGES) {
        for (size_t i = 1; i < MOST_TOLD_EDGES; i++) {
            leader->edges.data[i - 1] = leader->edges.data[i];
        }
        leader->edges.count--;
    }
    ss_vec_push(&leader->edges, told);
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended && leader_of(row) == leader) {
            tell_edge(row, leader, &told);
        }
    }
}

/* A process that has begun in its parent's windows, or between them. */
static void catch_up(struct ss_record_annotated *row)
{
    const struct ss_record_annotated *leader = leader_of(row);
    for (size_t i = 0; leader != NULL && i < leader->edges.count; i++) {
        tell_edge(row, leader, &leader->edges.data[i]);
    }
}

static void on_window_begin(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_annotated *row = context;
    struct ss_window window = {.process_ref = row->process_ref,
                               .number = edge->window,
                               .pid = row->pid,
                               .epoch = epoch_of(row, edge),
                               .batch = edge->batch,
                               .first_step = edge->step >= 0 ? edge->step : 0,
                               .begin_ns = edge->time_ns};
    ss_recording_window_begin(row->owner->context->recording, &window);
    tell_followers(row, edge, true);
}

/* The step that begins where the window ends lies behind it, unless the window was cut in it. */
static void on_window_end(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_annotated *row = context;
    int64_t last = edge->step >= 0 ? edge->step - !edge->is_cut : 0;
    ss_recording_window_end(row->owner->context->recording, aim_of(row, edge->window),
                            edge->time_ns, last, edge->is_cut);
    tell_followers(row, edge, false);
}

/* Has a process that goes along with the window something to add to it? */
static bool is_held(const struct ss_record_annotations *annotations, uint32_t process_ref,
                    uint32_t window)
{
    for (size_t i = 0; i < annotations->rows.count; i++) {
        const struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended && row->filter != NULL &&
            ss_window_filter_holds(row->filter, process_ref, window)) {
            return true;
        }
    }
    return false;
}

/* While samples are taken, a file is not finished: pending weights may belong to it. */
static void on_window_passed(void *context, uint32_t window)
{
    struct ss_record_annotated *row = context;
    struct ss_record_annotations *annotations = row->owner;
    ss_torch_files_take(&row->torch, ss_clock_monotonic_ns());
    if (annotations->context->is_sampling || is_held(annotations, row->process_ref, window)) {
        ss_vec_push(&annotations->passed, (struct passed_window){row->process_ref, window});
    } else {
        ss_recording_window_passed(annotations->context->recording, aim_of(row, window));
    }
}

static void finish_passed(struct ss_record_annotations *annotations)
{
    size_t held = 0;
    for (size_t i = 0; i < annotations->passed.count; i++) {
        struct passed_window passed = annotations->passed.data[i];
        if (is_held(annotations, passed.process_ref, passed.window)) {
            annotations->passed.data[held++] = passed;
        } else {
            struct ss_aim aim = {passed.process_ref, passed.window};
            ss_recording_window_passed(annotations->context->recording, aim);
        }
    }
    annotations->passed.count = held;
}

static struct ss_annot_sink filter_sink(struct ss_record_annotated *row, bool is_late)
{
    struct ss_annot_sink sink = ss_annotation_tracks_sink(row->tracks);
    struct ss_recording *recording = row->owner->context->recording;
    struct ss_window_filter_options options = {
        .hooks = {row, on_window_begin, on_window_end, on_window_passed},
        .cuts_steps = ss_recording_is_per_window(recording),
        .is_late = is_late};
    row->filter = ss_window_filter_new(&sink, &options);
    return ss_window_filter_sink(row->filter);
}

/* It was attached to in a window: its beginning lies before the recording. */
static void enter_open_window(struct ss_record_annotated *row, uint64_t now_ns)
{
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    uint32_t window = atomic_load(&header->window);
    if (row->filter != NULL && window != 0) {
        struct ss_annot_event event = {.kind = SS_ANNOT_WINDOW,
                                       .time_ns = now_ns,
                                       .detail =
                                           atomic_load(&header->action) & SS_RING_WINDOW_ACTION,
                                       .id = window,
                                       .name = (uint32_t)atomic_load(&header->batch),
                                       .value = (uint64_t)atomic_load(&header->step)};
        struct ss_annot_sink sink = ss_window_filter_sink(row->filter);
        sink.event(sink.context, &event);
    }
}

/* The program has brought a schedule: from its first edge on, what it marks is cut. */
static void install_late_filter(struct ss_record_annotated *row)
{
    struct ss_annot_sink sink = filter_sink(row, true);
    ss_annot_set_sink(row->annot, &sink);
}

/* Pairs with the release of annot/runtime.c: no edge has come before this is seen. */
static bool brings_schedule(const struct ss_record_annotated *row)
{
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    return atomic_load_explicit(&header->scheduled, memory_order_acquire) != 0;
}

static void follow_own_schedule(struct ss_record_annotated *row, bool scheduled)
{
    if (scheduled && !row->is_scheduled) {
        row->is_scheduled = true;
        row->owner->scheduled++;
        if (row->filter == NULL) {
            install_late_filter(row);
        }
    }
}

static void before_window(void *context)
{
    struct ss_record_annotated *row = context;
    follow_own_schedule(row, brings_schedule(row));
}

/* What the header says at once and the ring a little later: that a schedule is followed, that the
 * window is another one. Returns whether the ring should be looked at. */
static bool look_at_header(struct ss_record_annotated *row)
{
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    bool marks = atomic_load_explicit(&header->step, memory_order_relaxed) >= 0 ||
                 atomic_load_explicit(&header->epoch, memory_order_relaxed) >= 0;
    bool scheduled = brings_schedule(row);
    uint32_t window = atomic_load_explicit(&header->window, memory_order_relaxed);
    if (marks || scheduled) {
        mark_as_leader(row);
    }
    follow_own_schedule(row, scheduled);
    bool is_new = window != row->seen_window;
    row->seen_window = window;
    return is_new && row->filter != NULL;
}

/* A process that lives by a schedule already has no use for what came before its windows; one that
 * brings its schedule later is recorded until then. */
static void start_filter(struct ss_record_annotated *row)
{
    bool all_follow = row->owner->context->follows_schedule;
    bool scheduled = brings_schedule(row);
    row->owner->scheduled += scheduled;
    row->is_scheduled = scheduled;
    ss_annot_set_window_hook(row->annot, before_window, row);
    if (all_follow || scheduled) {
        struct ss_annot_sink sink = filter_sink(row, false);
        ss_annot_set_sink(row->annot, &sink);
    }
}

static void name_sealed_file(struct ss_record_annotated *row)
{
    size_t stem = strlen(row->path) - (sizeof SS_RING_FILE_SUFFIX - 1);
    snprintf(row->sealed_path, sizeof row->sealed_path, "%.*s" SS_RING_SEALED_SUFFIX, (int)stem,
             row->path);
    unlink(row->sealed_path); /* of a recording before this one */
}

static bool start_row(struct ss_record_annotated *row, struct ss_recorded_process *process,
                      uint64_t now_ns, bool is_new)
{
    struct ss_record_annotations *annotations = row->owner;
    struct ss_ring_memory memory = ss_ring_file_memory(row->file);
    row->process_ref = ss_recorded_process_ref(process);
    row->tracks = ss_annotation_tracks_new(annotations->context, &annotations->names, process);
    struct ss_annot_sink sink = ss_annotation_tracks_sink(row->tracks);
    uint64_t since_ns = is_new ? now_ns : annotations->since_ns;
    if (ss_annot_open(&memory, &annotations->clock, since_ns, &sink, &row->annot, NULL) != SS_OK) {
        ss_annotation_tracks_free(row->tracks);
        row->tracks = NULL;
        return false;
    }
    struct ss_record_annotated **entry = ss_pages_take(&annotations->by_process, row->process_ref);
    *entry = row;
    start_filter(row);
    struct ss_ring_wish wish = ss_ring_directory_request(&annotations->directory, now_ns);
    ss_annot_start(row->annot, &wish, is_new);
    row->process = process;
    ss_torch_files_init(&row->torch, &annotations->torch, row->tracks, process, row->path);
    count_images_before(row);
    row->seen_ns = now_ns;
    row->is_ended = row->is_refused = false;
    name_sealed_file(row);
    ss_recorded_process_set_annotated(process, row);
    annotations->live++;
    annotations->next_ns = now_ns;
    look_at_header(row);
    catch_up(row);
    if (is_new) {
        enter_open_window(row, now_ns);
    }
    return true;
}

static void open_row(struct ss_record_annotated *row, uint64_t now_ns)
{
    struct ss_error err = {0};
    bool is_new = false;
    enum ss_status status = ss_ring_file_open(row->path, &row->file, &err);
    row->is_unreadable = status != SS_OK && status != SS_E_NOTFOUND;
    if (status != SS_OK) {
        ss_log(SS_DEBUG, "record", "%s", err.message);
        return;
    }
    uint64_t begin_ns = now_ns;
    struct ss_recorded_process *process = judge_file(row, now_ns, &is_new, &begin_ns);
    if (process != NULL) {
        end_images_before(row->owner, row->pid, begin_ns, now_ns);
    }
    if (process == NULL || !start_row(row, process, now_ns, is_new)) {
        ss_ring_file_close(row->file);
        row->file = NULL;
    }
}

/* Is it finished? Opened for reading only: the end of that is no sign of life. One that we have no
 * means to open counts as such: it is to be missed. */
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

/* A file that was refused is not opened again at each sign of life, which our own closing is. */
static void look_at(struct ss_record_annotations *annotations, const char *name, uint64_t now_ns,
                    bool again)
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
    struct ss_record_annotated *row = find_row(annotations, path);
    if (is_torch) {
        if (row != NULL && !row->is_ended) {
            ss_torch_files_take(&row->torch, now_ns);
        }
    } else if (row == NULL && is_complete(path)) {
        open_row(add_row(annotations, path, pid, start), now_ns);
    } else if (row != NULL && row->is_refused && again) {
        open_row(row, now_ns);
    }
}

static void scan(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    DIR *entries = annotations->is_off ? NULL : opendir(annotations->directory.path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        look_at(annotations, entry->d_name, now_ns, true);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* --- work ------------------------------------------------------------------------------------ */

/* One descriptor for each process. The program was started before this, and keeps its limit. */
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

void ss_record_annotations_news(struct ss_record_annotations *annotations, uint64_t now_ns)
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
                look_at(annotations, event->name, now_ns, false);
            }
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

/* Until then, at the latest, when all of the ring is not read by then. */
static uint32_t drain_ring(struct ss_record_annotated *row, uint64_t now_ns, uint64_t until_ns)
{
    look_at_header(row);
    uint32_t filled = ss_annot_drain_until(row->annot, now_ns, until_ns);
    row->seen_ns = now_ns;
    if (!ss_annot_is_behind(row->annot)) {
        row->drained_ns = now_ns;
    }
    return filled;
}

/* Hands on what is known to lie in windows or not: their edges may be another process's. */
static void hand_on(struct ss_record_annotated *row)
{
    const struct ss_record_annotated *leader = leader_of(row);
    bool waits = leader != NULL && leader->drained_ns < row->drained_ns;
    if (row->filter != NULL) {
        ss_window_filter_drained(row->filter, waits ? leader->drained_ns : row->drained_ns);
    }
    if (!ss_annot_is_behind(row->annot)) {
        ss_annotation_tracks_drained(row->tracks);
    }
}

static void drain_row(struct ss_record_annotated *row, uint64_t now_ns)
{
    drain_ring(row, now_ns, UINT64_MAX);
    hand_on(row);
}

static void hear_flush(struct ss_record_annotated *row)
{
    if (!row->wants_flush && ss_annot_wants_flush(row->annot, &row->flush_number)) {
        row->wants_flush = true;
        row->flush_drains = 0;
    }
    if (row->wants_flush && !ss_annot_is_behind(row->annot) &&
        ++row->flush_drains >= FLUSH_DRAINS) {
        row->owner->wants_flush = true;
    }
}

static bool is_awaited(const struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->rows.count; i++) {
        const struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended && row->wants_flush) {
            return true;
        }
    }
    return false;
}

/* From now on the process makes no system calls for rings: they could kill it. */
static void confine(struct ss_record_annotated *row, uint64_t now_ns)
{
    char text[200];
    row->is_confined = true;
    ss_annot_confine(row->annot);
    snprintf(text, sizeof text,
             "process %d has set a filter of system calls (seccomp): threads and processes that it "
             "starts from then on are not annotated, lest the filter ends them",
             (int)row->pid);
    note(row->owner, row->process_ref, "annotations", text, now_ns);
    ss_log(SS_INFO, "record", "%s", text);
}

/* One process at a time. */
static void look_for_filters(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (now_ns < annotations->confinement_ns + confinement_least_ns ||
        annotations->rows.count == 0) {
        return;
    }
    annotations->confinement_ns = now_ns;
    for (size_t i = 0; i < annotations->rows.count; i++) {
        annotations->confinement_row = (annotations->confinement_row + 1) % annotations->rows.count;
        struct ss_record_annotated *row = annotations->rows.data[annotations->confinement_row];
        if (!row->is_ended && !row->is_confined && now_ns >= row->confinement_ns + confinement_ns) {
            row->confinement_ns = now_ns;
            if (count_filters(row->pid) > annotations->own_filters) {
                confine(row, now_ns);
            }
            return;
        }
    }
}

/* Often while rings fill fast, or somebody waits; else ever less often. */
static void set_pace(struct ss_record_annotations *annotations, uint32_t fullest)
{
    bool hurries = fullest >= FILLS_FAST_PERCENT || is_awaited(annotations);
    if (hurries && annotations->drain_ns > drain_least_ns) {
        annotations->drain_ns /= 2;
    } else if (!hurries && fullest < FILLS_SLOWLY_PERCENT &&
               annotations->drain_ns < drain_most_ns) {
        annotations->drain_ns *= 2;
    }
}

uint64_t ss_record_annotations_drain(struct ss_record_annotations *annotations, uint64_t now_ns,
                                     uint64_t until_ns)
{
    finish_passed(annotations);
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
    for (size_t n = 0, first = annotations->first_row; n < annotations->rows.count; n++) {
        size_t i = (first + n) % annotations->rows.count;
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended) {
            hear_flush(row);
            uint32_t filled = drain_ring(row, now_ns, until_ns);
            fullest = filled > fullest ? filled : fullest;
            if (!is_behind && ss_annot_is_behind(row->annot)) {
                is_behind = true;
                annotations->first_row = i + 1;
            }
        }
    }
    for (size_t i = 0; i < annotations->rows.count; i++) {
        if (!annotations->rows.data[i]->is_ended) {
            hand_on(annotations->rows.data[i]);
        }
    }
    finish_passed(annotations);
    look_for_filters(annotations, now_ns);
    set_pace(annotations, fullest);
    annotations->next_ns = is_behind ? now_ns : now_ns + annotations->drain_ns;
    return annotations->next_ns;
}

void ss_record_annotations_look(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    bool has_read_clock = false;
    finish_passed(annotations);
    for (size_t i = 0; annotations->live > 0 && i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended && look_at_header(row)) {
            if (!has_read_clock) {
                ss_stamp_clock_read(&annotations->clock);
                has_read_clock = true;
            }
            drain_row(row, now_ns);
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
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended && row->wants_flush && row->flush_drains >= FLUSH_DRAINS) {
            ss_annot_flushed(row->annot, row->flush_number);
            row->wants_flush = false;
        }
    }
}

/* --- what processes are told ----------------------------------------------------------------- */

static void tell_process(const char *path, const char *text, size_t length)
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
    for (size_t i = annotations->rows.count; i > 0; i--) { /* the newest image of the process */
        struct ss_record_annotated *row = annotations->rows.data[i - 1];
        if (row->process_ref == window->process_ref && row->sealed_path[0] != '\0') {
            if (!row->is_dead) {
                tell_process(row->sealed_path, line, length);
            }
            return;
        }
    }
}

/* Those that live on may wait for more. */
static void tell_end(struct ss_record_annotations *annotations)
{
    static const char end[] = SS_RING_SEALED_END "\n";
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_dead && row->sealed_path[0] != '\0' &&
            is_alive(row->pid, row->start_time_ticks)) {
            tell_process(row->sealed_path, end, sizeof end - 1);
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
        scan(annotations, now_ns); /* of processes that were not known to be ours */
    }
    uint64_t room_bytes =
        annotations->live > 0 ? ss_ring_directory_free_bytes(&annotations->directory) : 0;
    if (annotations->directory.page != NULL && annotations->live > 0) {
        atomic_store_explicit(&annotations->directory.page->room_bytes, room_bytes,
                              memory_order_relaxed);
    }
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (!row->is_ended) {
            write_counts(row, now_ns);
            ss_annot_tell_room(row->annot, room_bytes);
            /* It gave us up while we were stopped: go on. */
            const struct ss_ring_header *header = ss_annot_header(row->annot);
            if ((atomic_load(&header->gate) & SS_RING_GATE_ALL) == 0) {
                struct ss_ring_wish wish =
                    ss_ring_directory_request(&annotations->directory, now_ns);
                ss_annot_drain(row->annot, now_ns);
                ss_annot_start(row->annot, &wish, true);
            }
        }
    }
}

void ss_record_annotations_process_ended(struct ss_record_annotations *annotations,
                                         struct ss_record_annotated *annotated, uint64_t now_ns)
{
    (void)annotations;
    end_row(annotated, now_ns, true);
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
                                       struct ss_record_annotated *annotated, uint64_t now_ns)
{
    (void)annotations;
    if (!is_mapped(annotated->pid, annotated->path)) {
        end_row(annotated, now_ns, true);
    }
}

void ss_record_annotations_label(struct ss_record_annotated *annotated, int32_t tid,
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

static bool is_scheduled(const struct ss_record_annotated *row)
{
    const struct ss_ring_header *header = ss_annot_header(row->annot);
    return row->owner->context->follows_schedule ||
           atomic_load_explicit(&header->scheduled, memory_order_relaxed) != 0;
}

uint32_t ss_record_annotations_window(const struct ss_record_annotated *annotated)
{
    return annotated->is_ended || !is_scheduled(annotated)
               ? 0
               : atomic_load_explicit(&ss_annot_header(annotated->annot)->window,
                                      memory_order_relaxed);
}

static bool is_any_in_window(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (annotations->looked_ns != now_ns) {
        annotations->looked_ns = now_ns;
        annotations->any_in_window = false;
        for (size_t i = 0; i < annotations->rows.count && !annotations->any_in_window; i++) {
            annotations->any_in_window =
                ss_record_annotations_window(annotations->rows.data[i]) != 0;
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
    uint32_t owner = ss_recording_owner(annotations->context->recording, process_ref);
    const struct ss_record_annotated *row = row_of(annotations, owner);
    if (row != NULL && !row->is_ended) {
        return !is_scheduled(row) || ss_record_annotations_window(row) != 0;
    }
    return !all_follow || is_any_in_window(annotations, now_ns);
}

void ss_record_annotations_meet_window(struct ss_record_annotated *annotated, uint32_t window)
{
    struct ss_recording *recording = annotated->owner->context->recording;
    if (annotated->is_ended || annotated->filter == NULL ||
        ss_recording_has_window(recording, aim_of(annotated, window))) {
        return;
    }
    uint64_t now_ns = ss_clock_monotonic_ns();
    ss_stamp_clock_read(&annotated->owner->clock);
    drain_row(annotated, now_ns);
    /* Its record is being written, or was dropped: the header says the same. */
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
    for (size_t i = 0; i < annotations->rows.count; i++) {
        if (!annotations->rows.data[i]->is_ended) {
            add_windows(annotations->rows.data[i], windows);
        }
    }
}

static bool is_unread(const struct ss_record_annotated *row)
{
    return row->is_unreadable || row->totals.lost_rings > 0;
}

void ss_record_annotations_forget(struct ss_record_annotations *annotations, uint32_t process_ref)
{
    size_t kept = 0;
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        if (row->process_ref != process_ref || !row->is_ended || !row->is_dead) {
            annotations->rows.data[kept++] = row;
            continue;
        }
        annotations->unreadable_before += is_unread(row);
        ss_free(row);
    }
    annotations->rows.count = kept;
}

static void tell_lost_processes(struct ss_record_annotations *annotations, uint32_t count,
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

/* Processes that could make no file, and files that we could not open. */
static void tell_what_is_missing(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    char why[REASON_BYTES];
    uint32_t unreadable = annotations->unreadable_before;
    if (annotations->directory.page != NULL) {
        snprintf(why, sizeof why, "%.150s is full", annotations->directory.path);
        tell_lost_processes(annotations, atomic_load(&annotations->directory.page->homeless), why,
                            now_ns);
    }
    for (size_t i = 0; i < annotations->rows.count; i++) {
        const struct ss_record_annotated *row = annotations->rows.data[i];
        unreadable += is_unread(row);
    }
    tell_lost_processes(annotations, unreadable, "the recorder could not open their rings", now_ns);
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
        scan(annotations, now_ns); /* of processes that were too short for inotify */
    }
    for (size_t i = 0; i < annotations->rows.count; i++) {
        struct ss_record_annotated *row = annotations->rows.data[i];
        end_row(row, now_ns, !is_alive(row->pid, row->start_time_ticks));
    }
    finish_passed(annotations);
    tell_what_is_missing(annotations, now_ns);
    ss_torch_profiles_end(&annotations->torch);
}

void ss_record_annotations_close(struct ss_record_annotations *annotations)
{
    if (annotations == NULL) {
        return;
    }
    tell_end(annotations);
    for (size_t i = 0; i < annotations->rows.count; i++) {
        ss_free(annotations->rows.data[i]);
    }
    ss_vec_fini(&annotations->rows);
    ss_pages_fini(&annotations->by_process);
    ss_vec_fini(&annotations->passed);
    ss_intern_fini(&annotations->names.texts);
    ss_intern_fini(&annotations->names.keys);
    ss_ring_directory_remove(&annotations->directory);
    if (annotations->inotify_fd >= 0) {
        close(annotations->inotify_fd);
    }
    ss_free(annotations);
}
