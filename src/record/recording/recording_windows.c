/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/recording/recording_inside.h"
#include "record/run/ranks.h"

enum { MOST_IDLE_WRITERS = 2 };

/* --- writers ---------------------------------------------------------------------------------- */

struct ss_open_window *ss_recording_window_of(struct ss_recording *recording,
                                              const struct ss_trace_writer *writer)
{
    for (size_t i = 0; i < recording->open.count; i++) {
        if (recording->open.data[i]->writer == writer) {
            return recording->open.data[i];
        }
    }
    return NULL;
}

void ss_recording_add_stats(struct ss_trace_writer_stats *sum, const struct ss_trace_writer *writer)
{
    struct ss_trace_writer_stats stats;
    ss_trace_writer_get_stats(writer, &stats);
    sum->bytes_written += stats.bytes_written;
    sum->plain_bytes += stats.plain_bytes;
    sum->samples += stats.samples;
    sum->ticks += stats.ticks;
    sum->stored_ticks += stats.stored_ticks;
    sum->events += stats.events;
    sum->units += stats.units;
}

void ss_recording_abandon_file(struct ss_recording *recording, struct ss_open_window *open,
                               const struct ss_error *err)
{
    struct ss_error ignored;
    struct ss_trace_writer_stats stats;
    ss_trace_writer_get_stats(open->writer, &stats);
    ss_recording_add_stats(&recording->finished, open->writer);
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

static struct ss_trace_writer *idle_writer(struct ss_recording *recording)
{
    for (size_t i = 0; i < recording->writers.count; i++) {
        if (ss_recording_window_of(recording, recording->writers.data[i]) == NULL) {
            return recording->writers.data[i];
        }
    }
    return NULL;
}

enum ss_status ss_recording_new_writer(const struct ss_clock *clock,
                                       struct ss_trace_writer **writer, struct ss_error *err)
{
    struct ss_trace_writer_options options = {
        .size = sizeof options, .clock = clock, .only_used = true, .keeps_reserve = true};
    return ss_trace_writer_open(&options, writer, err);
}

/* An idle writer, else a new one, which copies the definitions of another. */
static struct ss_trace_writer *get_writer(struct ss_recording *recording, struct ss_error *err)
{
    struct ss_trace_writer *writer = idle_writer(recording);
    if (writer != NULL) {
        return writer;
    }
    if (ss_recording_new_writer(recording->options->clock, &writer, err) != SS_OK) {
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
        if (ss_recording_window_of(recording, writer) == NULL && ++idle > MOST_IDLE_WRITERS) {
            ss_trace_writer_close(writer, NULL);
            recording->writers.data[i - 1] = recording->writers.data[--recording->writers.count];
        }
    }
}

/* --- windows ---------------------------------------------------------------------------------- */

static struct ss_open_window *find_window(const struct ss_recording *recording,
                                          struct ss_route route, size_t *index)
{
    for (size_t i = 0; i < recording->open.count; i++) {
        struct ss_open_window *open = recording->open.data[i];
        if (open->window.process_ref == route.process_ref && open->window.number == route.window) {
            *index = i;
            return open;
        }
    }
    return NULL;
}

bool ss_recording_has_window(const struct ss_recording *recording, struct ss_route route)
{
    size_t index;
    return recording->single != NULL || find_window(recording, route, &index) != NULL;
}

static enum ss_status put_number(struct ss_trace_writer *writer, const char *key, int64_t number,
                                 struct ss_error *err)
{
    struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = number};
    return ss_trace_writer_attribute(writer, &attribute, err);
}

static enum ss_status put_window_attributes(const struct ss_open_window *open, struct ss_error *err)
{
    const struct ss_window *window = &open->window;
    struct ss_rank_facts own, facts;
    SS_TRY(put_number(open->writer, "window", (int64_t)window->number - 1, err));
    SS_TRY(put_number(open->writer, "window_pid", window->pid, err));
    if (window->epoch >= 0) {
        SS_TRY(put_number(open->writer, "window_epoch", window->epoch, err));
    }
    SS_TRY(put_number(open->writer, "window_first_step", window->first_step, err));
    ss_rank_find(0, &own);
    ss_rank_find(window->pid, &facts);
    return own.has[SS_RANK] || !facts.has[SS_RANK]
               ? SS_OK
               : put_number(open->writer, "rank", facts.numbers[SS_RANK], err);
}

static enum ss_status open_file(struct ss_recording *recording, struct ss_open_window *open,
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
    return ss_trace_writer_tick(writer, ss_clock_now_ns(recording->options->clock), NULL, err);
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

static void note_begin(struct ss_recording *recording, const struct ss_open_window *open)
{
    char text[160];
    uint64_t between = ticks_done(recording) - recording->ticks_at_last_end;
    snprintf(text, sizeof text,
             "window %" PRIu32 " of process %d begins with step %" PRId64 "; %" PRIu64
             " ticks since the last one were not recorded",
             open->window.number - 1, (int)open->window.pid, open->window.first_step,
             recording->open.count > 1 ? 0 : between);
    struct ss_trace_note note = {.time_ns = open->window.begin_ns,
                                 .process_ref = open->window.process_ref,
                                 .kind = ss_strview_of("window"),
                                 .text = ss_strview_of(text),
                                 .value = (int64_t)open->window.number - 1};
    struct ss_route route = {open->window.process_ref, open->window.number};
    ss_recording_note(recording, route, &note, NULL);
}

void ss_recording_window_begin(struct ss_recording *recording, const struct ss_window *window)
{
    struct ss_route route = {window->process_ref, window->number};
    if (ss_recording_has_window(recording, route)) {
        return;
    }
    ss_recording_marks_steps(recording, window->process_ref);
    recording->hooks.refresh(recording->hooks.context);
    struct ss_open_window *open = ss_alloc_zero(1, sizeof *open);
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
        ss_recording_abandon_file(recording, open, &err);
    } else if (status != SS_OK) {
        open->error = err;
        open->window.failed = true;
    }
    note_begin(recording, open);
    ss_recording_write_cached_notes(recording, open);
}

void ss_recording_window_end(struct ss_recording *recording, struct ss_route route, uint64_t end_ns,
                             int64_t last_step, bool partial)
{
    size_t index;
    struct ss_open_window *open = find_window(recording, route, &index);
    if (open != NULL && open->window.end_ns == UINT64_MAX) {
        open->window.end_ns = end_ns > open->window.begin_ns ? end_ns : open->window.begin_ns;
        open->window.last_step = last_step;
        open->window.partial = partial;
    }
}

static void note_end(struct ss_recording *recording, const struct ss_open_window *open)
{
    char text[160];
    snprintf(text, sizeof text, "steps %" PRId64 " to %" PRId64 "%s", open->window.first_step,
             open->window.last_step, open->window.partial ? ", partial: it was cut" : "");
    struct ss_trace_note note = {.time_ns = open->window.end_ns,
                                 .process_ref = open->window.process_ref,
                                 .kind = ss_strview_of("window-ended"),
                                 .text = ss_strview_of(text),
                                 .value = open->window.partial};
    struct ss_route route = {open->window.process_ref, open->window.number};
    ss_recording_note(recording, route, &note, NULL);
}

static void finish_file(struct ss_recording *recording, struct ss_open_window *open)
{
    struct ss_error err = {0};
    if (open->writer != NULL) {
        put_number(open->writer, "window_last_step", open->window.last_step, NULL);
        put_number(open->writer, "window_partial", open->window.partial, NULL);
        struct ss_trace_writer *writer = open->writer;
        bool is_complete = ss_trace_writer_end(writer, &err) == SS_OK;
        ss_recording_add_stats(&recording->finished, writer);
        open->writer = NULL;
        if (!is_complete) {
            open->window.failed = true;
            open->error = err;
        }
    }
}

void ss_recording_window_drained(struct ss_recording *recording, struct ss_route route)
{
    size_t index;
    struct ss_open_window *open = find_window(recording, route, &index);
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
