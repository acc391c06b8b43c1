/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/vec.h"
#include "record/ranks.h"

enum { MOST_CACHED_NOTES = 256, MOST_ANCESTORS = 64, MOST_IDLE_WRITERS = 2 };

/* A window that is open, and the writer of its file. */
struct open_window {
    struct ss_window window;
    struct ss_trace_writer *writer; /* NULL: the file was abandoned */
    struct ss_vec_of(struct ss_trace_counts) before;
    struct ss_error error;
};

struct process_entry {
    uint32_t parent_ref;
    bool marks_steps;
};

/* A note that waits for a file; owns its texts. */
struct cached_note {
    struct ss_trace_note note;
    struct ss_route aim;
    bool is_permanent; /* goes to every file of its process */
};

struct ss_recording {
    uint32_t source_refs; /* reserved so far */
    const struct ss_record_options *options;
    struct ss_recording_hooks hooks;
    struct ss_trace_writer *single;                     /* NULL: a file per window */
    struct ss_vec_of(struct ss_trace_writer *) writers; /* all; some have an open file */
    struct ss_vec_of(struct open_window *) open;
    struct ss_pages processes; /* struct process_entry, by ref */
    struct ss_vec_of(struct ss_trace_counts) counts;
    struct ss_vec_of(struct cached_note) notes;
    struct ss_window_files *files;
    struct ss_trace_writer_stats finished; /* of finished files */
    uint64_t windows;                      /* begun */
    uint64_t ticks_at_last_end;            /* ticks done at the end of the last window */
};

/* --- writers --------------------------------------------------------------------------------- */

static struct open_window *window_of_writer(struct ss_recording *recording,
                                            const struct ss_trace_writer *writer)
{
    for (size_t i = 0; i < recording->open.count; i++) {
        if (recording->open.data[i]->writer == writer) {
            return recording->open.data[i];
        }
    }
    return NULL;
}

static void add_stats(struct ss_trace_writer_stats *sum, const struct ss_trace_writer *writer)
{
    struct ss_trace_writer_stats stats;
    ss_trace_writer_get_stats(writer, &stats);
    sum->bytes_written += stats.bytes_written;
    sum->plain_bytes += stats.plain_bytes;
    sum->samples += stats.samples;
    sum->events += stats.events;
    sum->units += stats.units;
}

/* Unwritten data is lost; the writer keeps its definitions. */
static void abandon_file(struct ss_recording *recording, struct open_window *open,
                         const struct ss_error *err)
{
    struct ss_error ignored;
    struct ss_trace_writer_stats stats;
    ss_trace_writer_get_stats(open->writer, &stats);
    add_stats(&recording->finished, open->writer);
    ss_trace_writer_end(open->writer, &ignored);
    open->writer = NULL;
    if (stats.bytes_written == 0) {
        unlink(open->window.trace_path); /* no file is better than an empty one */
    }
    open->error = *err;
    open->window.failed = true;
    ss_log(SS_INFO, "record", "window %" PRIu32 " of process %d: %s", open->window.number - 1,
           (int)open->window.pid, err->message);
}

/* Writes a definition to all writers. After a failed write (disk full) the file is abandoned, and
 * its writer gets the definition again, without a file. */
#define WRITE_TO_ALL(recording, call, record, err)                                                 \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (recording)->writers.count; i_++) {                               \
            struct ss_trace_writer *writer_ = (recording)->writers.data[i_];                       \
            struct ss_error failure_ = {0};                                                        \
            if (call(writer_, record, &failure_) != SS_OK &&                                       \
                !can_continue(recording, writer_, &failure_)) {                                    \
                return forward(&failure_, err);                                                    \
            }                                                                                      \
            if (failure_.status != SS_OK && call(writer_, record, &failure_) != SS_OK) {           \
                return forward(&failure_, err);                                                    \
            }                                                                                      \
        }                                                                                          \
        return SS_OK;                                                                              \
    } while (0)

static enum ss_status forward(const struct ss_error *failure, struct ss_error *err)
{
    if (err != NULL) {
        *err = *failure;
    }
    return failure->status;
}

static bool can_continue(struct ss_recording *recording, struct ss_trace_writer *writer,
                         const struct ss_error *failure)
{
    struct open_window *open = window_of_writer(recording, writer);
    if (recording->single != NULL || open == NULL) {
        return false;
    }
    abandon_file(recording, open, failure);
    return true;
}

static struct ss_trace_writer *idle_writer(struct ss_recording *recording)
{
    for (size_t i = 0; i < recording->writers.count; i++) {
        if (window_of_writer(recording, recording->writers.data[i]) == NULL) {
            return recording->writers.data[i];
        }
    }
    return NULL;
}

static enum ss_status new_idle_writer(struct ss_trace_writer **writer, struct ss_error *err)
{
    struct ss_trace_writer_options options = {.size = sizeof options, .only_used = true};
    return ss_trace_writer_open(&options, writer, err);
}

/* An idle writer, else a new one, which copies the definitions of another. */
static struct ss_trace_writer *get_writer(struct ss_recording *recording, struct ss_error *err)
{
    struct ss_trace_writer *writer = idle_writer(recording);
    if (writer != NULL) {
        return writer;
    }
    if (new_idle_writer(&writer, err) != SS_OK) {
        return NULL;
    }
    if (ss_trace_writer_copy_definitions(writer, recording->writers.data[0], err) != SS_OK) {
        ss_trace_writer_close(writer, NULL);
        return NULL;
    }
    ss_vec_push(&recording->writers, writer);
    return writer;
}

static void drop_idle_writers(struct ss_recording *recording)
{
    size_t idle = 0;
    for (size_t i = recording->writers.count; i > 0; i--) {
        struct ss_trace_writer *writer = recording->writers.data[i - 1];
        if (window_of_writer(recording, writer) == NULL && ++idle > MOST_IDLE_WRITERS) {
            ss_trace_writer_close(writer, NULL);
            recording->writers.data[i - 1] = recording->writers.data[--recording->writers.count];
        }
    }
}

/* --- life ------------------------------------------------------------------------------------ */

enum ss_status ss_recording_open(const struct ss_record_options *options,
                                 const struct ss_recording_hooks *hooks,
                                 struct ss_recording **result, struct ss_error *err)
{
    struct ss_trace_writer *writer = NULL;
    struct ss_trace_writer_options single = {.size = sizeof single, .path = options->path};
    SS_TRY(options->window_name != NULL ? new_idle_writer(&writer, err)
                                        : ss_trace_writer_open(&single, &writer, err));
    struct ss_recording *recording = ss_alloc_zero(1, sizeof *recording);
    recording->processes.item_bytes = sizeof(struct process_entry);
    recording->options = options;
    recording->hooks = *hooks;
    recording->single = options->window_name != NULL ? NULL : writer;
    ss_vec_push(&recording->writers, writer);
    if (options->window_name != NULL) {
        recording->files = ss_window_files_new(options);
    }
    *result = recording;
    return SS_OK;
}

bool ss_recording_is_per_window(const struct ss_recording *recording)
{
    return recording->single == NULL;
}

static void free_note(struct cached_note *cached)
{
    ss_free((char *)cached->note.kind.data);
    ss_free((char *)cached->note.text.data);
}

void ss_recording_finish(struct ss_recording *recording)
{
    while (recording->open.count > 0) {
        struct open_window *open = recording->open.data[0];
        struct ss_route aim = {open->window.process_ref, open->window.number};
        ss_recording_window_end(recording, aim, ss_clock_monotonic_ns(), open->window.last_step,
                                true);
        ss_recording_window_drained(recording, aim);
    }
    if (recording->files != NULL) {
        ss_window_files_wait(recording->files);
    }
}

enum ss_status ss_recording_close(struct ss_recording *recording, struct ss_error *err)
{
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < recording->writers.count; i++) {
        status = ss_trace_writer_close(recording->writers.data[i], err);
    }
    if (recording->files != NULL) {
        ss_window_files_free(recording->files);
    }
    for (size_t i = 0; i < recording->notes.count; i++) {
        free_note(&recording->notes.data[i]);
    }
    ss_vec_fini(&recording->notes);
    ss_vec_fini(&recording->writers);
    ss_vec_fini(&recording->open);
    ss_pages_fini(&recording->processes);
    ss_vec_fini(&recording->counts);
    ss_free(recording);
    return status;
}

/* --- definitions ----------------------------------------------------------------------------- */

enum ss_status ss_recording_attribute(struct ss_recording *recording,
                                      const struct ss_trace_attribute *attribute,
                                      struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_attribute, attribute, err);
}

uint32_t ss_recording_new_source(struct ss_recording *recording)
{
    return ++recording->source_refs;
}

enum ss_status ss_recording_source(struct ss_recording *recording,
                                   const struct ss_trace_source *source, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_source, source, err);
}

enum ss_status ss_recording_device(struct ss_recording *recording,
                                   const struct ss_trace_device *device, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_device, device, err);
}

enum ss_status ss_recording_process(struct ss_recording *recording,
                                    const struct ss_trace_process *process, struct ss_error *err)
{
    struct process_entry *entry = ss_pages_put(&recording->processes, process->ref);
    entry->parent_ref = process->parent_ref;
    WRITE_TO_ALL(recording, ss_trace_writer_process, process, err);
}

enum ss_status ss_recording_thread(struct ss_recording *recording,
                                   const struct ss_trace_thread *thread, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_thread, thread, err);
}

enum ss_status ss_recording_frame(struct ss_recording *recording,
                                  const struct ss_trace_frame *frame, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_frame, frame, err);
}

enum ss_status ss_recording_stack(struct ss_recording *recording,
                                  const struct ss_trace_stack *stack, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_stack, stack, err);
}

enum ss_status ss_recording_track(struct ss_recording *recording,
                                  const struct ss_trace_track *track, struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_track, track, err);
}

enum ss_status ss_recording_name(struct ss_recording *recording, const struct ss_trace_name *name,
                                 struct ss_error *err)
{
    WRITE_TO_ALL(recording, ss_trace_writer_name, name, err);
}

/* --- routing --------------------------------------------------------------------------------- */

void ss_recording_marks_steps(struct ss_recording *recording, uint32_t process_ref)
{
    struct process_entry *entry = ss_pages_put(&recording->processes, process_ref);
    entry->marks_steps = true;
}

void ss_recording_forget(struct ss_recording *recording, uint32_t process_ref)
{
    size_t remaining = 0;
    if (recording->single == NULL) {
        return;
    }
    for (size_t i = 0; i < recording->counts.count; i++) {
        if (recording->counts.data[i].process_ref != process_ref) {
            recording->counts.data[remaining++] = recording->counts.data[i];
        }
    }
    recording->counts.count = remaining;
    ss_pages_drop(&recording->processes, process_ref);
    ss_trace_writer_forget(recording->single, process_ref);
}

uint32_t ss_recording_window_owner(const struct ss_recording *recording, uint32_t process_ref)
{
    for (int i = 0; i < MOST_ANCESTORS && process_ref != 0; i++) {
        const struct process_entry *entry = ss_pages_get(&recording->processes, process_ref);
        if (entry == NULL) {
            return 0;
        }
        if (entry->marks_steps) {
            return process_ref;
        }
        process_ref = entry->parent_ref;
    }
    return 0;
}

static bool follows_window(const struct ss_recording *recording, const struct open_window *open,
                           uint32_t process_ref)
{
    uint32_t owner = ss_recording_window_owner(recording, process_ref);
    return owner == 0 || owner == open->window.process_ref;
}

static bool is_for_window(const struct ss_recording *recording, const struct open_window *open,
                          struct ss_route aim, uint64_t time_ns)
{
    const struct ss_window *window = &open->window;
    if (aim.window != 0) {
        return window->process_ref == aim.process_ref && window->number == aim.window;
    }
    return time_ns >= window->begin_ns && time_ns < window->end_ns &&
           follows_window(recording, open, aim.process_ref);
}

/* Writes an event to the writers of its windows: `call` is an expression of `writer_` and
 * `failure_`. */
#define WRITE_AIMED(recording, aim, time_ns, err, call)                                            \
    do {                                                                                           \
        if ((recording)->single != NULL) {                                                         \
            struct ss_trace_writer *writer_ = (recording)->single;                                 \
            struct ss_error *failure_ = (err);                                                     \
            return call;                                                                           \
        }                                                                                          \
        for (size_t i_ = 0; i_ < (recording)->open.count; i_++) {                                  \
            struct open_window *open_ = (recording)->open.data[i_];                                \
            if (open_->writer != NULL && is_for_window(recording, open_, aim, time_ns)) {          \
                struct ss_trace_writer *writer_ = open_->writer;                                   \
                struct ss_error storage_ = {0}, *failure_ = &storage_;                             \
                if (call != SS_OK) {                                                               \
                    abandon_file(recording, open_, failure_);                                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return SS_OK;                                                                              \
    } while (0)

enum ss_status ss_recording_sample(struct ss_recording *recording, struct ss_route aim,
                                   const struct ss_trace_sample *sample, struct ss_error *err)
{
    WRITE_AIMED(recording, aim, sample->time_ns, err,
                ss_trace_writer_sample(writer_, sample, failure_));
}

enum ss_status ss_recording_event(struct ss_recording *recording, struct ss_route aim,
                                  const struct ss_trace_event *event, struct ss_error *err)
{
    WRITE_AIMED(recording, aim, event->time_ns, err,
                ss_trace_writer_event(writer_, event, failure_));
}

enum ss_status ss_recording_counter(struct ss_recording *recording, struct ss_route aim,
                                    const struct ss_trace_counter *counter, struct ss_error *err)
{
    WRITE_AIMED(recording, aim, counter->time_ns, err,
                ss_trace_writer_counter(writer_, counter, failure_));
}

enum ss_status ss_recording_line(struct ss_recording *recording, struct ss_route aim,
                                 const struct ss_trace_line *line, struct ss_error *err)
{
    WRITE_AIMED(recording, aim, line->time_ns, err, ss_trace_writer_line(writer_, line, failure_));
}

enum ss_status ss_recording_async_begin(struct ss_recording *recording, struct ss_route aim,
                                        uint64_t id, const struct ss_trace_event *event,
                                        bool *accepted, struct ss_error *err)
{
    *accepted = false;
    WRITE_AIMED(recording, aim, event->time_ns, err,
                ss_trace_writer_async_begin(writer_, id, event, accepted, failure_));
}

enum ss_status ss_recording_async_end(struct ss_recording *recording, struct ss_route aim,
                                      uint64_t id, const struct ss_trace_event *end,
                                      struct ss_error *err)
{
    WRITE_AIMED(recording, aim, end->time_ns, err,
                ss_trace_writer_async_end(writer_, id, end, NULL, failure_));
}

/* --- counts ---------------------------------------------------------------------------------- */

static bool same_counts(const struct ss_trace_counts *a, const struct ss_trace_counts *b)
{
    return a->source_ref == b->source_ref && a->process_ref == b->process_ref;
}

static const struct ss_trace_counts *find_counts(const struct open_window *open,
                                                 const struct ss_trace_counts *key)
{
    for (size_t i = 0; i < open->before.count; i++) {
        if (same_counts(&open->before.data[i], key)) {
            return &open->before.data[i];
        }
    }
    return NULL;
}

static void subtract(struct ss_trace_counts *counts, const struct ss_trace_counts *before)
{
    counts->due -= before->due;
    counts->done -= before->done;
    counts->skipped -= before->skipped;
    counts->late -= before->late;
    counts->seen -= before->seen;
    counts->ok -= before->ok;
    counts->partial -= before->partial;
    counts->lost -= before->lost;
    counts->unchanged -= before->unchanged;
    counts->dropped -= before->dropped;
    counts->retries -= before->retries;
    counts->read_syscalls -= before->read_syscalls;
    counts->processes_short -= before->processes_short;
}

static bool is_zero(const struct ss_trace_counts *counts)
{
    return (counts->due | counts->seen | counts->dropped | counts->lost) == 0;
}

/* Only the counts since the begin of the window. */
static void write_window_counts(struct ss_recording *recording, struct open_window *open,
                                const struct ss_trace_counts *counts)
{
    struct ss_trace_counts own = *counts;
    const struct ss_trace_counts *before = find_counts(open, counts);
    if (open->writer == NULL || !follows_window(recording, open, counts->process_ref)) {
        return;
    }
    if (before != NULL) {
        subtract(&own, before);
    }
    struct ss_error err = {0};
    if (!(own.process_ref != 0 && is_zero(&own)) &&
        ss_trace_writer_counts(open->writer, &own, &err) != SS_OK) {
        abandon_file(recording, open, &err);
    }
}

enum ss_status ss_recording_counts(struct ss_recording *recording,
                                   const struct ss_trace_counts *counts, struct ss_error *err)
{
    if (recording->single != NULL) {
        return ss_trace_writer_counts(recording->single, counts, err);
    }
    size_t at = 0;
    while (at < recording->counts.count && !same_counts(&recording->counts.data[at], counts)) {
        at++;
    }
    if (at == recording->counts.count) {
        ss_vec_push(&recording->counts, *counts);
    } else {
        recording->counts.data[at] = *counts;
    }
    for (size_t i = 0; i < recording->open.count; i++) {
        write_window_counts(recording, recording->open.data[i], counts);
    }
    return SS_OK;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void remove_note(struct ss_recording *recording, size_t index)
{
    free_note(&recording->notes.data[index]);
    for (size_t i = index + 1; i < recording->notes.count; i++) {
        recording->notes.data[i - 1] = recording->notes.data[i];
    }
    recording->notes.count--;
}

static void cache_note(struct ss_recording *recording, struct ss_route aim,
                       const struct ss_trace_note *note, bool is_permanent)
{
    if (recording->notes.count == MOST_CACHED_NOTES) {
        remove_note(recording, 0);
    }
    struct cached_note cached = {.note = *note, .aim = aim, .is_permanent = is_permanent};
    cached.note.kind.data = ss_strndup(note->kind.data, note->kind.length);
    cached.note.text.data = ss_strndup(note->text.data, note->text.length);
    ss_vec_push(&recording->notes, cached);
}

static enum ss_status write_note(struct ss_recording *recording, struct ss_route aim,
                                 const struct ss_trace_note *note, struct ss_error *err)
{
    WRITE_AIMED(recording, aim, note->time_ns, err, ss_trace_writer_note(writer_, note, failure_));
}

enum ss_status ss_recording_note(struct ss_recording *recording, struct ss_route aim,
                                 const struct ss_trace_note *note, struct ss_error *err)
{
    if (recording->single == NULL) {
        bool is_permanent = ss_strview_equal(note->kind, ss_strview_of("fact"));
        bool has_window = false;
        for (size_t i = 0; i < recording->open.count; i++) {
            has_window =
                has_window || is_for_window(recording, recording->open.data[i], aim, note->time_ns);
        }
        if (is_permanent || (!has_window && aim.window == 0)) {
            cache_note(recording, aim, note, is_permanent);
        }
    }
    return write_note(recording, aim, note, err);
}

/* At the begin of the window: the notes are older. */
static void write_cached_notes(struct ss_recording *recording, struct open_window *open)
{
    for (size_t i = 0; i < recording->notes.count;) {
        struct cached_note *cached = &recording->notes.data[i];
        struct ss_trace_note note = cached->note;
        struct ss_error err = {0};
        note.time_ns = open->window.begin_ns;
        bool follows = follows_window(recording, open, cached->aim.process_ref);
        if (follows && open->writer != NULL &&
            ss_trace_writer_note(open->writer, &note, &err) != SS_OK) {
            abandon_file(recording, open, &err);
        }
        if (follows && !cached->is_permanent) {
            remove_note(recording, i);
        } else {
            i++;
        }
    }
}

/* --- windows --------------------------------------------------------------------------------- */

static struct open_window *find_window(const struct ss_recording *recording, struct ss_route aim,
                                       size_t *index)
{
    for (size_t i = 0; i < recording->open.count; i++) {
        struct open_window *open = recording->open.data[i];
        if (open->window.process_ref == aim.process_ref && open->window.number == aim.window) {
            *index = i;
            return open;
        }
    }
    return NULL;
}

bool ss_recording_has_window(const struct ss_recording *recording, struct ss_route aim)
{
    size_t index;
    return recording->single != NULL || find_window(recording, aim, &index) != NULL;
}

static enum ss_status put_number(struct ss_trace_writer *writer, const char *key, int64_t number,
                                 struct ss_error *err)
{
    struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = number};
    return ss_trace_writer_attribute(writer, &attribute, err);
}

static enum ss_status put_window_attributes(const struct open_window *open, struct ss_error *err)
{
    const struct ss_window *window = &open->window;
    int64_t rank;
    SS_TRY(put_number(open->writer, "window", (int64_t)window->number - 1, err));
    SS_TRY(put_number(open->writer, "window_pid", window->pid, err));
    if (window->epoch >= 0) {
        SS_TRY(put_number(open->writer, "window_epoch", window->epoch, err));
    }
    SS_TRY(put_number(open->writer, "window_first_step", window->first_step, err));
    return ss_rank_get(0, SS_RANK, &rank) || !ss_rank_get(window->pid, SS_RANK, &rank)
               ? SS_OK
               : put_number(open->writer, "rank", rank, err);
}

static enum ss_status open_file(struct ss_recording *recording, struct open_window *open,
                                struct ss_error *err)
{
    SS_TRY(ss_window_files_name(recording->files, &open->window, err));
    struct ss_trace_writer *writer = get_writer(recording, err);
    if (writer == NULL) {
        return err->status;
    }
    SS_TRY(ss_trace_writer_begin(writer, open->window.trace_path, err));
    open->writer = writer;
    SS_TRY(put_window_attributes(open, err));
    /* From here on the file is a readable trace, whatever happens to the recorder. */
    return ss_trace_writer_tick(writer, ss_clock_monotonic_ns(), NULL, err);
}

static uint64_t ticks_done(const struct ss_recording *recording)
{
    for (size_t i = 0; i < recording->counts.count; i++) {
        if (recording->counts.data[i].process_ref == 0 && recording->counts.data[i].due > 0) {
            return recording->counts.data[i].done;
        }
    }
    return 0;
}

static void note_begin(struct ss_recording *recording, const struct open_window *open)
{
    char text[160];
    uint64_t between = ticks_done(recording) - recording->ticks_at_last_end;
    snprintf(text, sizeof text,
             "window %" PRIu32 " of process %d begins with step %" PRId64 "; %" PRIu64
             " ticks since the last one were not kept",
             open->window.number - 1, (int)open->window.pid, open->window.first_step,
             recording->open.count > 1 ? 0 : between);
    struct ss_trace_note note = {.time_ns = open->window.begin_ns,
                                 .process_ref = open->window.process_ref,
                                 .kind = ss_strview_of("window"),
                                 .text = ss_strview_of(text),
                                 .value = (int64_t)open->window.number - 1};
    struct ss_route aim = {open->window.process_ref, open->window.number};
    write_note(recording, aim, &note, NULL);
}

void ss_recording_window_begin(struct ss_recording *recording, const struct ss_window *window)
{
    struct ss_route aim = {window->process_ref, window->number};
    if (ss_recording_has_window(recording, aim)) {
        return;
    }
    ss_recording_marks_steps(recording, window->process_ref);
    recording->hooks.refresh(recording->hooks.context);
    struct open_window *open = ss_alloc_zero(1, sizeof *open);
    struct ss_error err = {0};
    open->window = *window;
    open->window.end_ns = UINT64_MAX;
    open->window.last_step = window->first_step;
    for (size_t i = 0; i < recording->counts.count; i++) {
        ss_vec_push(&open->before, recording->counts.data[i]);
    }
    enum ss_status status = open_file(recording, open, &err);
    recording->windows++;
    ss_vec_push(&recording->open, open);
    if (status != SS_OK && open->writer != NULL) {
        abandon_file(recording, open, &err);
    } else if (status != SS_OK) {
        open->error = err;
        open->window.failed = true;
    }
    note_begin(recording, open);
    write_cached_notes(recording, open);
}

void ss_recording_window_end(struct ss_recording *recording, struct ss_route aim, uint64_t end_ns,
                             int64_t last_step, bool partial)
{
    size_t index;
    struct open_window *open = find_window(recording, aim, &index);
    if (open != NULL && open->window.end_ns == UINT64_MAX) {
        open->window.end_ns = end_ns > open->window.begin_ns ? end_ns : open->window.begin_ns;
        open->window.last_step = last_step;
        open->window.partial = partial;
    }
}

static void note_end(struct ss_recording *recording, const struct open_window *open)
{
    char text[160];
    snprintf(text, sizeof text, "steps %" PRId64 " to %" PRId64 "%s", open->window.first_step,
             open->window.last_step, open->window.partial ? ", partial: it was cut" : "");
    struct ss_trace_note note = {.time_ns = open->window.end_ns,
                                 .process_ref = open->window.process_ref,
                                 .kind = ss_strview_of("window-ended"),
                                 .text = ss_strview_of(text),
                                 .value = open->window.partial};
    struct ss_route aim = {open->window.process_ref, open->window.number};
    write_note(recording, aim, &note, NULL);
}

static void finish_file(struct ss_recording *recording, struct open_window *open)
{
    struct ss_error err = {0};
    if (open->writer != NULL) {
        put_number(open->writer, "window_last_step", open->window.last_step, NULL);
        put_number(open->writer, "window_partial", open->window.partial, NULL);
        struct ss_trace_writer *writer = open->writer;
        bool is_complete = ss_trace_writer_end(writer, &err) == SS_OK;
        add_stats(&recording->finished, writer);
        open->writer = NULL;
        if (!is_complete) {
            open->window.failed = true;
            open->error = err;
        }
    }
}

void ss_recording_window_drained(struct ss_recording *recording, struct ss_route aim)
{
    size_t index;
    struct open_window *open = find_window(recording, aim, &index);
    if (open == NULL) {
        return;
    }
    recording->hooks.refresh(recording->hooks.context);
    note_end(recording, open);
    finish_file(recording, open);
    recording->ticks_at_last_end = ticks_done(recording);
    for (size_t i = index + 1; i < recording->open.count; i++) {
        recording->open.data[i - 1] = recording->open.data[i];
    }
    recording->open.count--;
    drop_idle_writers(recording);
    ss_window_files_finished(recording->files, &open->window,
                             open->error.status != SS_OK ? open->error.message : NULL,
                             recording->hooks.sealed, recording->hooks.context);
    ss_vec_fini(&open->before);
    ss_free(open);
}

uint64_t ss_recording_windows(const struct ss_recording *recording)
{
    return recording->windows;
}

bool ss_recording_is_own_child(const struct ss_recording *recording, pid_t pid)
{
    return recording->files != NULL && ss_window_files_is_converter(recording->files, pid);
}

bool ss_recording_child_ended(struct ss_recording *recording, pid_t pid, int status)
{
    return recording != NULL && recording->files != NULL &&
           ss_window_files_child_ended(recording->files, pid, status);
}

/* --- time ------------------------------------------------------------------------------------ */

enum ss_status ss_recording_tick(struct ss_recording *recording, uint64_t now_ns, bool *restarted,
                                 struct ss_error *err)
{
    if (recording->single != NULL) {
        return ss_trace_writer_tick(recording->single, now_ns, restarted, err);
    }
    *restarted = false;
    for (size_t i = 0; i < recording->open.count; i++) {
        struct open_window *open = recording->open.data[i];
        struct ss_error failure = {0};
        bool one = false;
        if (open->writer != NULL &&
            ss_trace_writer_tick(open->writer, now_ns, &one, &failure) != SS_OK) {
            abandon_file(recording, open, &failure);
        }
        *restarted = *restarted || one;
    }
    return SS_OK;
}

enum ss_status ss_recording_flush(struct ss_recording *recording, struct ss_error *err)
{
    if (recording->single != NULL) {
        return ss_trace_writer_flush(recording->single, err);
    }
    for (size_t i = 0; i < recording->open.count; i++) {
        struct open_window *open = recording->open.data[i];
        struct ss_error failure = {0};
        if (open->writer != NULL && ss_trace_writer_flush(open->writer, &failure) != SS_OK) {
            abandon_file(recording, open, &failure);
        }
    }
    return SS_OK;
}

/* --- figures --------------------------------------------------------------------------------- */

void ss_recording_get_stats(const struct ss_recording *recording,
                            struct ss_trace_writer_stats *stats)
{
    *stats = recording->finished;
    for (size_t i = 0; i < recording->writers.count; i++) {
        struct ss_trace_writer_stats one;
        ss_trace_writer_get_stats(recording->writers.data[i], &one);
        stats->memory_bytes += one.memory_bytes;
    }
    if (recording->single != NULL) {
        add_stats(stats, recording->single);
    }
    for (size_t i = 0; i < recording->open.count; i++) {
        if (recording->open.data[i]->writer != NULL) {
            add_stats(stats, recording->open.data[i]->writer);
        }
    }
}

void ss_recording_get_files(const struct ss_recording *recording,
                            struct ss_window_file_figures *figures)
{
    *figures = (struct ss_window_file_figures){0};
    if (recording->files != NULL) {
        ss_window_files_get_figures(recording->files, figures);
    }
}
