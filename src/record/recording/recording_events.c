/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "record/recording/recording_inside.h"
#include "trace/writer_tracks.h"

enum { MOST_CACHED_NOTES = 256, MOST_ANCESTORS = 64 };

/* --- routing ---------------------------------------------------------------------------------- */

void ss_recording_marks_steps(struct ss_recording *recording, uint32_t process_ref)
{
    struct ss_process_entry *entry = ss_pages_put(&recording->processes, process_ref);
    entry->marks_steps = true;
}

/* Drops the entry of a forgotten process without children, and those of its ancestors that waited
 * for it. */
static void drop_entries(struct ss_recording *recording, uint32_t process_ref)
{
    struct ss_process_entry *entry = ss_pages_get(&recording->processes, process_ref);
    while (entry != NULL && entry->is_forgotten && entry->children == 0) {
        uint32_t parent_ref = entry->is_child ? entry->parent_ref : 0;
        ss_pages_drop(&recording->processes, process_ref);
        process_ref = parent_ref;
        entry = ss_pages_get(&recording->processes, process_ref);
        if (entry != NULL) {
            entry->children--;
        }
    }
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
    struct ss_process_entry *entry = ss_pages_get(&recording->processes, process_ref);
    if (entry != NULL) {
        entry->is_forgotten = true;
        drop_entries(recording, process_ref);
    }
    ss_trace_writer_forget(recording->single, process_ref);
}

uint32_t ss_recording_window_owner(const struct ss_recording *recording, uint32_t process_ref)
{
    for (int i = 0; i < MOST_ANCESTORS && process_ref != 0; i++) {
        const struct ss_process_entry *entry = ss_pages_get(&recording->processes, process_ref);
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

static bool follows_window(const struct ss_recording *recording, const struct ss_open_window *open,
                           uint32_t process_ref)
{
    uint32_t owner = ss_recording_window_owner(recording, process_ref);
    return owner == 0 || owner == open->window.process_ref;
}

static bool is_for_window(const struct ss_recording *recording, const struct ss_open_window *open,
                          struct ss_route route, uint64_t time_ns)
{
    const struct ss_window *window = &open->window;
    if (route.window != 0) {
        return window->process_ref == route.process_ref && window->number == route.window;
    }
    return time_ns >= window->begin_ns && time_ns < window->end_ns &&
           follows_window(recording, open, route.process_ref);
}

/* Writes an event to the writers of its windows: `call` is an expression of `writer_` and
 * `failure_`. */
#define WRITE_AIMED(recording, route, time_ns, err, call)                                          \
    do {                                                                                           \
        if ((recording)->single != NULL) {                                                         \
            struct ss_trace_writer *writer_ = (recording)->single;                                 \
            struct ss_error *failure_ = (err);                                                     \
            return call;                                                                           \
        }                                                                                          \
        for (size_t i_ = 0; i_ < (recording)->open.count; i_++) {                                  \
            struct ss_open_window *open_ = (recording)->open.data[i_];                             \
            if (open_->writer != NULL && is_for_window(recording, open_, route, time_ns)) {        \
                struct ss_trace_writer *writer_ = open_->writer;                                   \
                struct ss_error storage_ = {0}, *failure_ = &storage_;                             \
                if (call != SS_OK) {                                                               \
                    ss_recording_abandon_file(recording, open_, failure_);                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return SS_OK;                                                                              \
    } while (0)

enum ss_status ss_recording_sample(struct ss_recording *recording, struct ss_route route,
                                   const struct ss_trace_sample *sample, struct ss_error *err)
{
    WRITE_AIMED(recording, route, sample->time_ns, err,
                ss_trace_writer_sample(writer_, sample, failure_));
}

enum ss_status ss_recording_event(struct ss_recording *recording, struct ss_route route,
                                  const struct ss_trace_event *event, struct ss_error *err)
{
    WRITE_AIMED(recording, route, event->time_ns, err,
                ss_trace_writer_event(writer_, event, failure_));
}

static enum ss_status put_range(struct ss_trace_writer *writer, const struct ss_trace_event *begin,
                                const struct ss_trace_event *end, struct ss_error *err)
{
    SS_TRY(ss_trace_writer_event(writer, begin, err));
    return ss_trace_writer_event(writer, end, err);
}

enum ss_status ss_recording_range(struct ss_recording *recording, struct ss_route route,
                                  uint64_t at_ns, const struct ss_trace_event *begin,
                                  const struct ss_trace_event *end, struct ss_error *err)
{
    WRITE_AIMED(recording, route, at_ns, err, put_range(writer_, begin, end, failure_));
}

enum ss_status ss_recording_counter(struct ss_recording *recording, struct ss_route route,
                                    const struct ss_trace_counter *counter, struct ss_error *err)
{
    WRITE_AIMED(recording, route, counter->time_ns, err,
                ss_trace_writer_counter(writer_, counter, failure_));
}

enum ss_status ss_recording_line(struct ss_recording *recording, struct ss_route route,
                                 const struct ss_trace_line *line, struct ss_error *err)
{
    WRITE_AIMED(recording, route, line->time_ns, err,
                ss_trace_writer_line(writer_, line, failure_));
}

enum ss_status ss_recording_async_begin(struct ss_recording *recording, struct ss_route route,
                                        uint64_t id, const struct ss_trace_event *event,
                                        bool *accepted, struct ss_error *err)
{
    *accepted = false;
    WRITE_AIMED(recording, route, event->time_ns, err,
                ss_trace_writer_async_begin(writer_, id, event, accepted, failure_));
}

enum ss_status ss_recording_async_end(struct ss_recording *recording, struct ss_route route,
                                      uint64_t id, const struct ss_trace_event *end,
                                      struct ss_error *err)
{
    WRITE_AIMED(recording, route, end->time_ns, err,
                ss_trace_writer_async_end(writer_, id, end, NULL, failure_));
}

/* --- counts ----------------------------------------------------------------------------------- */

static bool same_counts(const struct ss_trace_counts *a, const struct ss_trace_counts *b)
{
    return a->source_ref == b->source_ref && a->process_ref == b->process_ref;
}

static const struct ss_trace_counts *find_counts(const struct ss_open_window *open,
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

/* Only the counts since the start of the window. */
static void write_window_counts(struct ss_recording *recording, struct ss_open_window *open,
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
        ss_recording_abandon_file(recording, open, &err);
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

/* --- notes ------------------------------------------------------------------------------------ */

static void free_note(struct ss_cached_note *cached)
{
    ss_free((char *)cached->note.kind.data);
    ss_free((char *)cached->note.text.data);
}

void ss_recording_free_notes(struct ss_recording *recording)
{
    for (size_t i = 0; i < recording->notes.count; i++) {
        free_note(&recording->notes.data[i]);
    }
    ss_vec_fini(&recording->notes);
}

static void remove_note(struct ss_recording *recording, size_t index)
{
    free_note(&recording->notes.data[index]);
    for (size_t i = index + 1; i < recording->notes.count; i++) {
        recording->notes.data[i - 1] = recording->notes.data[i];
    }
    recording->notes.count--;
}

static void cache_note(struct ss_recording *recording, struct ss_route route,
                       const struct ss_trace_note *note, bool is_permanent)
{
    if (recording->notes.count == MOST_CACHED_NOTES) {
        remove_note(recording, 0);
    }
    struct ss_cached_note cached = {.note = *note, .route = route, .is_permanent = is_permanent};
    cached.note.kind.data = ss_strndup(note->kind.data, note->kind.length);
    cached.note.text.data = ss_strndup(note->text.data, note->text.length);
    ss_vec_push(&recording->notes, cached);
}

static enum ss_status write_note(struct ss_recording *recording, struct ss_route route,
                                 const struct ss_trace_note *note, struct ss_error *err)
{
    WRITE_AIMED(recording, route, note->time_ns, err,
                ss_trace_writer_note(writer_, note, failure_));
}

/* Facts are of all windows that follow, also of one that was opened before the fact arrived. */
static void add_late_fact(struct ss_recording *recording, struct ss_route route,
                          const struct ss_trace_note *fact)
{
    for (size_t i = 0; i < recording->open.count; i++) {
        struct ss_open_window *open = recording->open.data[i];
        struct ss_trace_note note = *fact;
        struct ss_error err = {0};
        note.time_ns = open->window.begin_ns;
        if (fact->time_ns < open->window.begin_ns && open->writer != NULL &&
            follows_window(recording, open, route.process_ref) &&
            ss_trace_writer_note(open->writer, &note, &err) != SS_OK) {
            ss_recording_abandon_file(recording, open, &err);
        }
    }
}

enum ss_status ss_recording_note(struct ss_recording *recording, struct ss_route route,
                                 const struct ss_trace_note *note, struct ss_error *err)
{
    if (recording->single == NULL) {
        bool is_permanent = ss_strview_equal(note->kind, ss_strview_of("fact"));
        bool has_window = false;
        for (size_t i = 0; i < recording->open.count; i++) {
            has_window = has_window ||
                         is_for_window(recording, recording->open.data[i], route, note->time_ns);
        }
        if (is_permanent || (!has_window && route.window == 0)) {
            cache_note(recording, route, note, is_permanent);
        }
        if (is_permanent && route.window == 0) {
            add_late_fact(recording, route, note);
        }
    }
    return write_note(recording, route, note, err);
}

void ss_recording_write_cached_notes(struct ss_recording *recording, struct ss_open_window *open)
{
    for (size_t i = 0; i < recording->notes.count;) {
        struct ss_cached_note *cached = &recording->notes.data[i];
        struct ss_trace_note note = cached->note;
        struct ss_error err = {0};
        note.time_ns = open->window.begin_ns;
        bool follows = follows_window(recording, open, cached->route.process_ref);
        if (follows && open->writer != NULL &&
            ss_trace_writer_note(open->writer, &note, &err) != SS_OK) {
            ss_recording_abandon_file(recording, open, &err);
        }
        if (follows && !cached->is_permanent) {
            remove_note(recording, i);
        } else {
            i++;
        }
    }
}
