/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/recording.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "record/recording/recording_inside.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

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
    struct ss_open_window *open = ss_recording_window_of(recording, writer);
    if (recording->single != NULL || open == NULL) {
        return false;
    }
    ss_recording_abandon_file(recording, open, failure);
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

enum ss_status ss_recording_open(const struct ss_record_options *options,
                                 const struct ss_recording_hooks *hooks,
                                 struct ss_recording **result, struct ss_error *err)
{
    struct ss_trace_writer *writer = NULL;
    struct ss_trace_writer_options single = {.size = sizeof single,
                                             .path = options->path,
                                             .clock = options->clock,
                                             .keeps_reserve = true};
    SS_TRY(options->window_name != NULL ? ss_recording_new_writer(options->clock, &writer, err)
                                        : ss_trace_writer_open(&single, &writer, err));
    struct ss_recording *recording = ss_alloc_zero(1, sizeof *recording);
    recording->processes.item_bytes = sizeof(struct ss_process_entry);
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

void ss_recording_finish(struct ss_recording *recording)
{
    while (recording->open.count > 0) {
        struct ss_open_window *open = recording->open.data[0];
        struct ss_route route = {open->window.process_ref, open->window.number};
        ss_recording_window_end(recording, route, ss_clock_now_ns(recording->options->clock),
                                open->window.last_step, true);
        ss_recording_window_drained(recording, route);
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
    ss_recording_free_notes(recording);
    ss_vec_fini(&recording->writers);
    ss_vec_fini(&recording->open);
    ss_pages_fini(&recording->processes);
    ss_vec_fini(&recording->counts);
    ss_free(recording);
    return status;
}

/* --- definitions ------------------------------------------------------------------------------ */

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

#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_recording_##name(struct ss_recording *recording,                             \
                                       const struct ss_trace_##name *record, struct ss_error *err) \
    {                                                                                              \
        WRITE_TO_ALL(recording, ss_trace_writer_##name, record, err);                              \
    }
#include "trace/schema.def"

enum ss_status ss_recording_process(struct ss_recording *recording,
                                    const struct ss_trace_process *process, struct ss_error *err)
{
    struct ss_process_entry *entry = ss_pages_put(&recording->processes, process->ref);
    struct ss_process_entry *parent = ss_pages_get(&recording->processes, process->parent_ref);
    struct ss_trace_process record = *process;
    if (!entry->is_child && parent != NULL) {
        entry->parent_ref = process->parent_ref;
        entry->is_child = true;
        parent->children++;
    }
    entry->is_forgotten = false;
    record.role = entry->role;
    WRITE_TO_ALL(recording, ss_trace_writer_process, &record, err);
}

struct role {
    uint32_t process_ref;
    enum ss_process_role role;
};

static enum ss_status put_role(struct ss_trace_writer *writer, const struct role *role,
                               struct ss_error *err)
{
    return ss_trace_writer_role(writer, role->process_ref, role->role, err);
}

static enum ss_status write_role(struct ss_recording *recording, const struct role *role,
                                 struct ss_error *err)
{
    WRITE_TO_ALL(recording, put_role, role, err);
}

enum ss_status ss_recording_role(struct ss_recording *recording, uint32_t process_ref,
                                 enum ss_process_role role, struct ss_error *err)
{
    static const int strength[SS_PROCESS_ROLE_COUNT] = {[SS_PROCESS_ROLE_LAUNCHES] = 1,
                                                        [SS_PROCESS_ROLE_TRAINS] = 2,
                                                        [SS_PROCESS_ROLE_LOADS_DATA] = 3};
    struct ss_process_entry *entry = ss_pages_get(&recording->processes, process_ref);
    if (entry == NULL || strength[role] <= strength[entry->role]) {
        return SS_OK;
    }
    entry->role = role;
    SS_TRY(write_role(recording, &(struct role){process_ref, role}, err));
    return role == SS_PROCESS_ROLE_TRAINS
               ? ss_recording_role(recording, entry->parent_ref, SS_PROCESS_ROLE_LAUNCHES, err)
               : SS_OK;
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

/* --- time ------------------------------------------------------------------------------------- */

enum ss_status ss_recording_tick(struct ss_recording *recording, uint64_t now_ns, bool *restarted,
                                 struct ss_error *err)
{
    if (recording->single != NULL) {
        return ss_trace_writer_tick(recording->single, now_ns, restarted, err);
    }
    *restarted = false;
    for (size_t i = 0; i < recording->open.count; i++) {
        struct ss_open_window *open = recording->open.data[i];
        struct ss_error failure = {0};
        bool one = false;
        if (open->writer != NULL &&
            ss_trace_writer_tick(open->writer, now_ns, &one, &failure) != SS_OK) {
            ss_recording_abandon_file(recording, open, &failure);
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
        struct ss_open_window *open = recording->open.data[i];
        struct ss_error failure = {0};
        if (open->writer != NULL && ss_trace_writer_flush(open->writer, &failure) != SS_OK) {
            ss_recording_abandon_file(recording, open, &failure);
        }
    }
    return SS_OK;
}

/* --- figures ---------------------------------------------------------------------------------- */

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
        ss_recording_add_stats(stats, recording->single);
    }
    for (size_t i = 0; i < recording->open.count; i++) {
        if (recording->open.data[i]->writer != NULL) {
            ss_recording_add_stats(stats, recording->open.data[i]->writer);
        }
    }
}

void ss_recording_get_space(const struct ss_recording *recording,
                            struct ss_trace_writer_space *space)
{
    *space = (struct ss_trace_writer_space){0};
    for (size_t i = 0; i < recording->writers.count && space->size_bytes == 0; i++) {
        ss_trace_writer_get_space(recording->writers.data[i], space);
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
