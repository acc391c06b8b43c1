/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/version.h"

_Static_assert((int)STEPSCOPE_STATE_STOPPED == (int)SS_STATE_STOPPED &&
                   (int)STEPSCOPE_STATE_RUNNABLE == (int)SS_STATE_RUNNABLE &&
                   SS_STATE_COUNT == (int)STEPSCOPE_STATE_STOPPED + 1,
               "the public thread states are those of the trace");
_Static_assert((int)STEPSCOPE_ROLE_LAUNCHES == (int)SS_PROCESS_ROLE_LAUNCHES &&
                   (int)STEPSCOPE_ROLE_TRAINS == (int)SS_PROCESS_ROLE_TRAINS &&
                   SS_PROCESS_ROLE_COUNT == (int)STEPSCOPE_ROLE_LAUNCHES + 1,
               "the public roles are those of the trace");
_Static_assert((int)STEPSCOPE_GIL_WAITED == (int)SS_GIL_WAITED &&
                   (int)STEPSCOPE_GIL_NONE == (int)SS_GIL_NONE &&
                   SS_GIL_COUNT == (int)STEPSCOPE_GIL_WAITED + 1,
               "the public GIL states are those of the trace");

const char *stepscope_reader_version(void)
{
    return SS_VERSION;
}

stepscope_status ss_reader_fail(stepscope_error *error, stepscope_status status,
                                const char *message)
{
    if (error != NULL) {
        snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

stepscope_status ss_reader_forward(stepscope_error *error, const struct ss_error *err)
{
    switch (ss_status_exit_code(err->status)) {
    case 2:
        return ss_reader_fail(error, STEPSCOPE_E_USAGE, err->message);
    case 3:
        return ss_reader_fail(error, STEPSCOPE_E_DATA, err->message);
    case 4:
        return ss_reader_fail(error, STEPSCOPE_E_SYSTEM, err->message);
    default:
        return ss_reader_fail(error, STEPSCOPE_E_BUG, err->message);
    }
}

const char *ss_reader_intern(struct stepscope_reader *reader, struct ss_strview text)
{
    return ss_intern_text(&reader->strings,
                          ss_intern_put(&reader->strings, text.data, text.length));
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct stepscope_reader *reader = context;
    char digits[24];
    struct ss_strview text = attribute->text;
    if (attribute->is_integer) {
        snprintf(digits, sizeof digits, "%" PRId64, attribute->integer);
        text = ss_strview_of(digits);
    }
    stepscope_attribute entry = {.key = ss_reader_intern(reader, attribute->key),
                                 .text = ss_reader_intern(reader, text),
                                 .is_integer = attribute->is_integer,
                                 .integer = attribute->integer};
    /* Restart points repeat attributes; the latest value is valid. */
    for (size_t i = 0; i < reader->attributes.count; i++) {
        if (reader->attributes.data[i].key == entry.key) {
            reader->attributes.data[i] = entry;
            return SS_OK;
        }
    }
    ss_vec_push(&reader->attributes, entry);
    return SS_OK;
}

static int64_t known_rank(bool is_known, uint32_t rank)
{
    return is_known ? (int64_t)rank : -1;
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->processes, process->ref);
    reader->processes.data[process->ref - 1] =
        (stepscope_process){.ref = process->ref,
                            .parent_ref = process->parent_ref,
                            .pid = process->pid,
                            .parent_pid = process->parent_pid,
                            .pid_namespace = process->pid_namespace,
                            .start_time_ticks = process->start_time_ticks,
                            .first_seen_ns = process->first_seen_ns,
                            .name = ss_reader_intern(reader, process->name),
                            .cmdline = ss_reader_intern(reader, process->cmdline),
                            .runtime = ss_reader_intern(reader, process->runtime),
                            .executable = ss_reader_intern(reader, process->executable),
                            .label = ss_reader_intern(reader, process->label),
                            .host_ref = process->host_ref,
                            .world_size = process->world_size,
                            .rank = known_rank(process->has_rank, process->rank),
                            .local_rank = known_rank(process->has_local_rank, process->local_rank),
                            .node = known_rank(process->has_node, process->node),
                            .role = (stepscope_process_role)process->role};
    return SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->threads, thread->ref);
    reader->threads.data[thread->ref - 1] =
        (stepscope_thread){.ref = thread->ref,
                           .process_ref = thread->process_ref,
                           .tid = thread->tid,
                           .is_main = thread->is_main,
                           .name = ss_reader_intern(reader, thread->name)};
    return SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->frames, frame->ref);
    const char *file = ss_reader_intern(reader, frame->file);
    /* Compared with strlen: a NUL inside the interned text ends the C string early. */
    size_t offset = frame->short_file_offset <= strlen(file) ? frame->short_file_offset : 0;
    reader->frames.data[frame->ref - 1] =
        (stepscope_frame){.ref = frame->ref,
                          .line = frame->line,
                          .first_line = frame->first_line,
                          .kind = (int32_t)frame->kind,
                          .function = ss_reader_intern(reader, frame->function),
                          .name = ss_reader_intern(reader, frame->name),
                          .file = file,
                          .short_file = file + offset};
    return SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->stacks, stack->ref);
    /* A parent has a smaller ref than its children, so that a walk to the root terminates. */
    if (stack->parent_ref >= stack->ref) {
        return SS_E_FORMAT;
    }
    reader->stacks.data[stack->ref - 1] =
        (stepscope_stack){stack->ref, stack->parent_ref, stack->frame_ref};
    return SS_OK;
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct stepscope_reader *reader = context;
    stepscope_counts entry = {.process_ref = counts->process_ref,
                              .due = counts->due,
                              .done = counts->done,
                              .skipped = counts->skipped,
                              .late = counts->late,
                              .seen = counts->seen,
                              .ok = counts->ok,
                              .partial = counts->partial,
                              .lost = counts->lost,
                              .unchanged = counts->unchanged,
                              .dropped = counts->dropped,
                              .retries = counts->retries,
                              .read_syscalls = counts->read_syscalls,
                              .processes_short = counts->processes_short};
    const stepscope_source *source = stepscope_reader_source(reader, counts->source_ref);
    entry.source = source != NULL ? source->name : "";
    /* Counts are totals since the start: the latest of each (source, process) pair is valid. */
    for (size_t i = 0; i < reader->counts.count; i++) {
        if (reader->counts.data[i].process_ref == entry.process_ref &&
            reader->counts_source_ref.data[i] == counts->source_ref) {
            reader->counts.data[i] = entry;
            return SS_OK;
        }
    }
    ss_vec_push(&reader->counts, entry);
    ss_vec_push(&reader->counts_source_ref, counts->source_ref);
    return SS_OK;
}

static enum ss_status load(struct stepscope_reader *reader, struct ss_error *err)
{
    static const struct ss_trace_visitor definitions = {
#define SS_ENTITY(name, number, when, meaning) .name = ss_reader_on_##name,
#include "trace/schema.def"
        .attribute = on_attribute,
        .process = on_process,
        .thread = on_thread,
        .frame = on_frame,
        .stack = on_stack,
        .track = ss_reader_on_track,
        .name = ss_reader_on_name,
        .counts = on_counts};
    struct ss_trace_summary summary;
    SS_TRY(ss_trace_read(reader->path, &definitions, reader, &summary, err));
    reader->summary = (stepscope_summary){.file_bytes = summary.file_bytes,
                                          .samples = summary.samples,
                                          .first_ns = summary.first_ns,
                                          .last_ns = summary.last_ns,
                                          .lost_bytes = summary.lost_bytes,
                                          .lost_samples = summary.lost_samples,
                                          .sealed = summary.sealed,
                                          .events = summary.events,
                                          .counter_values = summary.counter_values,
                                          .lost_events = summary.lost_events};
    return SS_OK;
}

stepscope_status stepscope_reader_open(const char *path, stepscope_reader **reader,
                                       stepscope_error *error)
{
    if (reader == NULL || path == NULL) {
        return ss_reader_fail(error, STEPSCOPE_E_USAGE,
                              "stepscope_reader_open needs a path and a reader");
    }
    *reader = NULL;
    struct stepscope_reader *fresh = ss_alloc_zero(1, sizeof *fresh);
    ss_intern_init(&fresh->strings);
    fresh->path = ss_strdup(path);
    struct ss_error err = {SS_E_FORMAT, "the file holds refs that no recording has"};
    enum ss_status status = load(fresh, &err);
    if (status != SS_OK) {
        err.status = status;
        stepscope_reader_close(fresh);
        return ss_reader_forward(error, &err);
    }
    *reader = fresh;
    return STEPSCOPE_OK;
}

void stepscope_reader_close(stepscope_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    ss_vec_fini(&reader->processes);
    ss_vec_fini(&reader->threads);
    ss_vec_fini(&reader->frames);
    ss_vec_fini(&reader->stacks);
    ss_vec_fini(&reader->attributes);
    ss_vec_fini(&reader->counts);
    ss_vec_fini(&reader->counts_source_ref);
    ss_vec_fini(&reader->tracks);
    ss_vec_fini(&reader->event_names);
    ss_reader_free_entities(reader);
    ss_intern_fini(&reader->strings);
    ss_free(reader->path);
    ss_free(reader);
}

const stepscope_summary *stepscope_reader_summary(const stepscope_reader *reader)
{
    return &reader->summary;
}

uint32_t stepscope_reader_process_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->processes.count;
}

uint32_t stepscope_reader_thread_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->threads.count;
}

uint32_t stepscope_reader_frame_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->frames.count;
}

uint32_t stepscope_reader_stack_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->stacks.count;
}

const stepscope_process *stepscope_reader_process(const stepscope_reader *reader, uint32_t ref)
{
    return SS_READER_ROW(reader->processes, ref);
}

const stepscope_thread *stepscope_reader_thread(const stepscope_reader *reader, uint32_t ref)
{
    return SS_READER_ROW(reader->threads, ref);
}

const stepscope_frame *stepscope_reader_frame(const stepscope_reader *reader, uint32_t ref)
{
    return SS_READER_ROW(reader->frames, ref);
}

const stepscope_stack *stepscope_reader_stack(const stepscope_reader *reader, uint32_t ref)
{
    return SS_READER_ROW(reader->stacks, ref);
}

const stepscope_attribute *stepscope_reader_attribute(const stepscope_reader *reader, size_t index)
{
    return index < reader->attributes.count ? &reader->attributes.data[index] : NULL;
}

const stepscope_counts *stepscope_reader_counts(const stepscope_reader *reader, size_t index)
{
    return index < reader->counts.count ? &reader->counts.data[index] : NULL;
}

const char *stepscope_reader_find_attribute(const stepscope_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->attributes.count; i++) {
        if (strcmp(reader->attributes.data[i].key, key) == 0) {
            return reader->attributes.data[i].text;
        }
    }
    return NULL;
}

struct sample_walk {
    const struct stepscope_reader *reader;
    stepscope_sample_visit visit;
    void *context;
    bool ended;
};

/* False for definitions that were added to the file after stepscope_reader_open. */
static bool is_known(const struct stepscope_reader *reader, const struct ss_trace_sample *sample)
{
    return SS_READER_ROW(reader->threads, sample->thread_ref) != NULL &&
           (sample->stack_ref == 0 || SS_READER_ROW(reader->stacks, sample->stack_ref) != NULL);
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct sample_walk *walk = context;
    if (!is_known(walk->reader, sample)) {
        return SS_OK;
    }
    stepscope_sample public_sample = {.time_ns = sample->time_ns,
                                      .thread_ref = sample->thread_ref,
                                      .stack_ref = sample->stack_ref,
                                      .weight = sample->weight,
                                      .state = (stepscope_thread_state)sample->state,
                                      .gil = (stepscope_gil_state)sample->gil,
                                      .partial = sample->partial,
                                      .step = sample->step};
    walk->ended = walk->visit(walk->context, &public_sample) != 0;
    return walk->ended ? SS_E_AGAIN : SS_OK;
}

stepscope_status stepscope_reader_each_sample(const stepscope_reader *reader,
                                              stepscope_sample_visit visit, void *context,
                                              stepscope_error *error)
{
    static const struct ss_trace_visitor samples = {.sample = on_sample};
    struct sample_walk walk = {.reader = reader, .visit = visit, .context = context};
    struct ss_trace_summary summary;
    struct ss_error err = {0};
    enum ss_status status = ss_trace_read(reader->path, &samples, &walk, &summary, &err);
    return status == SS_OK || walk.ended ? STEPSCOPE_OK : ss_reader_forward(error, &err);
}
