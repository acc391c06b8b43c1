/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/procfs.h"
#include "record/processes/recorded_process_inside.h"

_Static_assert((int)SS_TASK_ON_CPU == (int)SS_STATE_ON_CPU &&
                   (int)SS_TASK_STOPPED == (int)SS_STATE_STOPPED &&
                   (int)SS_SAMPLER_GIL_WAITED == (int)SS_GIL_WAITED &&
                   (int)SS_TASK_WAIT_FUTEX == (int)SS_WAIT_FUTEX &&
                   (int)SS_TASK_WAIT_OTHER == (int)SS_WAIT_OTHER,
               "the sampler's values are those of the trace");

/* --- threads ---------------------------------------------------------------------------------- */

static struct ss_sampled_thread *sampled_thread_of(struct ss_recorded_process *process, uint32_t id)
{
    if (id >= process->threads.count) {
        ss_vec_resize(&process->threads, (size_t)id + 1);
    }
    return &process->threads.data[id];
}

/* The newest thread of this id: ids are reused. */
static struct ss_known_thread *find_tid(struct ss_recorded_process *process, int32_t tid)
{
    for (size_t i = process->tids.count; i > 0; i--) {
        if (process->tids.data[i - 1].tid == tid) {
            return &process->tids.data[i - 1];
        }
    }
    return NULL;
}

static struct ss_known_thread *add_tid(struct ss_recorded_process *process, int32_t tid)
{
    ss_vec_push(&process->tids,
                (struct ss_known_thread){.tid = tid, .ref = process->context->next_thread_ref++});
    return &process->tids.data[process->tids.count - 1];
}

static void write_thread(struct ss_recorded_process *process, uint32_t ref, int32_t tid,
                         bool is_main, struct ss_strview name)
{
    struct ss_trace_thread record = {
        .ref = ref, .process_ref = process->ref, .tid = tid, .is_main = is_main, .name = name};
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_thread(process->context->recording, &record, &err), &err);
}

uint32_t ss_recorded_process_thread(struct ss_recorded_process *process, int32_t tid)
{
    struct ss_known_thread *entry = find_tid(process, tid);
    if (entry == NULL) {
        struct ss_procfs_stat stat = {0};
        ss_procfs_stat(process->pid, tid, &stat);
        entry = add_tid(process, tid);
        write_thread(process, entry->ref, tid, tid == process->pid, ss_strview_of(stat.comm));
    }
    return entry->ref;
}

bool ss_recorded_process_has_thread(struct ss_recorded_process *process, int32_t tid)
{
    struct ss_procfs_stat stat;
    return tid > 0 && (find_tid(process, tid) != NULL || ss_procfs_stat(process->pid, tid, &stat));
}

void ss_recorded_process_name_thread(struct ss_recorded_process *process, int32_t tid,
                                     struct ss_strview name)
{
    uint32_t ref = ss_recorded_process_thread(process, tid);
    find_tid(process, tid)->is_named = true;
    write_thread(process, ref, tid, tid == process->pid, name);
}

static void on_thread(void *context, const struct ss_sampler_thread *thread)
{
    struct ss_recorded_process *process = context;
    struct ss_sampled_thread *entry = sampled_thread_of(process, thread->id);
    struct ss_known_thread *known = thread->tid > 0 ? find_tid(process, thread->tid) : NULL;
    if (entry->ref == 0) {
        if (known == NULL || known->is_sampled) {
            known = add_tid(process, thread->tid);
        }
        known->is_sampled = true;
        entry->ref = known->ref;
    }
    if (known == NULL || known->ref != entry->ref || !known->is_named) {
        write_thread(process, entry->ref, thread->tid, thread->is_main,
                     ss_strview_of(thread->name));
    }
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t frame_ref_of(struct ss_recorded_process *process, uint32_t id)
{
    if (id >= process->frame_refs.count) {
        const struct ss_python *python = ss_python_sampler_python(process->sampler);
        ss_vec_resize(&process->frame_refs, (size_t)ss_python_frame_count(python) + 1);
    }
    uint32_t *ref = &process->frame_refs.data[id];
    if (*ref == 0) {
        struct ss_python_frame frame;
        struct ss_error err = {0};
        ss_python_frame_get(ss_python_sampler_python(process->sampler), id, &frame);
        ss_record_context_check(
            process->context,
            ss_frame_table_frame(process->context->frames, process->pid, &frame, ref, &err), &err);
    }
    return *ref;
}

/* Consecutive stacks of a thread have most frames in common: resolves only those that differ. */
static void cache_stack(struct ss_recorded_process *process, struct ss_sampled_thread *entry,
                        const struct ss_sampler_sample *sample)
{
    size_t common = 0;
    while (common < entry->frames.count && common < sample->depth &&
           entry->frames.data[common] == sample->frames[common]) {
        common++;
    }
    ss_vec_resize(&entry->frames, sample->depth);
    ss_vec_resize(&entry->nodes, sample->depth);
    uint32_t node = common > 0 ? entry->nodes.data[common - 1] : 0;
    entry->truncated = false;
    for (size_t i = common; i < sample->depth; i++) {
        uint32_t next = 0;
        struct ss_error err = {0};
        entry->frames.data[i] = sample->frames[i];
        uint32_t frame_ref = frame_ref_of(process, sample->frames[i]);
        ss_record_context_check(
            process->context,
            ss_frame_table_stack(process->context->frames, node, frame_ref, &next, &err), &err);
        if (next == 0) {
            entry->truncated = true;
            ss_vec_resize(&entry->frames, i);
            ss_vec_resize(&entry->nodes, i);
            break;
        }
        entry->nodes.data[i] = node = next;
    }
    entry->stack_ref = node;
}

bool ss_recorded_process_is_outside_windows(const struct ss_recorded_process *process,
                                            uint64_t now_ns)
{
    const struct ss_process_observer *observer = &process->context->observer;
    return observer->context != NULL &&
           !observer->is_in_window(observer->context, process->ref, now_ns);
}

/* A stack that was read just now belongs to the current window; a weight that is emitted later
 * belongs to the window of the last tick. */
static struct ss_route aim_of_sample(const struct ss_recorded_process *process,
                                     struct ss_trace_sample *sample, bool was_counted)
{
    if (was_counted && process->window != 0) {
        sample->window = process->window;
    } else if (!was_counted && process->annotated != NULL && sample->window != 0) {
        process->context->observer.ensure_window(process->annotated, sample->window);
    }
    return (struct ss_route){process->ref, sample->window};
}

static struct ss_sample_label current_label(struct ss_recorded_process *process, int32_t tid)
{
    struct ss_trace_sample now = {.step = -1};
    if (process->annotated != NULL) {
        process->context->observer.label(process->annotated, tid, &now);
    }
    return (struct ss_sample_label){now.step, now.window, now.phase_name, now.range_name};
}

/* Step, phase and range at the time of the counted ticks. */
static void label(struct ss_sampled_thread *entry, const struct ss_sampler_sample *sample,
                  struct ss_sample_label now, struct ss_trace_sample *record)
{
    struct ss_sample_label then = sample->counted_before ? entry->label : now;
    record->step = then.step;
    record->window = then.window;
    record->phase_name = then.phase_name;
    record->range_name = then.range_name;
    entry->label = now;
}

/* --- samples that wait until their frames are confirmed ---------------------------------------
 * Code objects come and go: between two reads of a code object, another may have taken its address,
 * and its frames would get the old name. A sample is written when its code objects have been read
 * again and were the same. */

static void write_sample(struct ss_recorded_process *process, struct ss_route route,
                         const struct ss_trace_sample *record)
{
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_sample(process->context->recording, route, record, &err),
                            &err);
    process->context->samples++;
}

static void hold(struct ss_recorded_process *process, uint32_t thread, struct ss_route route,
                 const struct ss_trace_sample *record)
{
    struct ss_sampled_thread *entry = sampled_thread_of(process, thread);
    if (entry->held_round != process->held_round) {
        entry->held_round = process->held_round;
        entry->held_first = process->held_frames.count;
        ss_vec_resize(&process->held_frames, entry->held_first + entry->frames.count);
        if (entry->frames.count > 0) {
            memcpy(process->held_frames.data + entry->held_first, entry->frames.data,
                   entry->frames.count * sizeof *entry->frames.data);
        }
    }
    struct ss_held_sample held = {route, *record, thread, entry->held_first,
                                  (uint32_t)entry->frames.count};
    ss_vec_push(&process->held, held);
}

/* The same stack with a mark in place of each frame whose code was replaced. */
static uint32_t confirmed_stack(struct ss_recorded_process *process,
                                const struct ss_held_sample *held, bool is_all_unknown)
{
    const struct ss_python *python = ss_python_sampler_python(process->sampler);
    const uint32_t *frames = process->held_frames.data + held->first;
    uint32_t known = 0;
    while (known < held->depth && !is_all_unknown &&
           !ss_python_frame_is_replaced(python, frames[known])) {
        known++;
    }
    if (known == held->depth) {
        return held->record.stack_ref;
    }
    uint32_t node = 0, unknown = ss_python_sampler_unknown_frame(process->sampler);
    for (uint32_t i = 0; i < held->depth; i++) {
        bool is_replaced = is_all_unknown || ss_python_frame_is_replaced(python, frames[i]);
        uint32_t next = 0;
        struct ss_error err = {0};
        ss_record_context_check(
            process->context,
            ss_frame_table_stack(process->context->frames, node,
                                 frame_ref_of(process, is_replaced ? unknown : frames[i]), &next,
                                 &err),
            &err);
        if (next == 0) {
            break; /* the stack table is full */
        }
        node = next;
    }
    return node;
}

void ss_recorded_process_confirm(struct ss_recorded_process *process)
{
    if (process->held.count == 0) {
        return;
    }
    bool was_replaced = false;
    bool is_readable = ss_python_sampler_check_frames(process->sampler, process->held_frames.data,
                                                      process->held_frames.count, &was_replaced);
    /* The process has ended. What it ran last keeps its names, unless it is one of those that make
     * code all the time. */
    bool is_all_unknown = !is_readable && process->was_code_replaced;
    process->was_code_replaced = was_replaced || is_all_unknown;
    for (size_t i = 0; i < process->held.count; i++) {
        struct ss_held_sample *held = &process->held.data[i];
        struct ss_sampled_thread *entry = sampled_thread_of(process, held->thread);
        uint32_t stack = confirmed_stack(process, held, is_all_unknown);
        if (stack != held->record.stack_ref && entry->stack_ref == held->record.stack_ref) {
            entry->stack_ref = stack; /* for the ticks in which the thread stays there */
            ss_vec_clear(&entry->frames);
            ss_vec_clear(&entry->nodes);
        }
        if (stack != held->record.stack_ref && !held->record.partial) {
            held->record.partial = true;
            ss_python_sampler_count_partial(process->sampler);
        }
        held->record.stack_ref = stack;
        write_sample(process, held->route, &held->record);
    }
    ss_vec_clear(&process->held);
    ss_vec_clear(&process->held_frames);
    process->held_round++;
}

void ss_recorded_process_confirm_when_due(struct ss_recorded_process *process, uint64_t now_ns)
{
    static const uint64_t often_ns = UINT64_C(20000000), seldom_ns = UINT64_C(100000000);
    if (now_ns >= process->next_confirm_ns) {
        ss_recorded_process_confirm(process);
        process->next_confirm_ns = now_ns + (process->was_code_replaced ? often_ns : seldom_ns);
    }
}

static void on_sample(void *context, const struct ss_sampler_sample *sample)
{
    struct ss_recorded_process *process = context;
    struct ss_sample_label now = current_label(process, sample->thread->tid);
    /* The window may have ended while the stack and the label were read. An accumulated weight
     * (same_stack) is of earlier ticks. */
    if (!sample->same_stack && ss_recorded_process_is_outside_windows(process, sample->time_ns)) {
        return;
    }
    struct ss_sampled_thread *entry = sampled_thread_of(process, sample->thread->id);
    process->seen = true;
    process->held_round += process->held_round == 0 ? 2 : 0; /* 0 and 1: of no round */
    if (!sample->same_stack) {
        cache_stack(process, entry, sample);
        entry->held_round = process->held_round - 1;
    }
    struct ss_trace_sample record = {.time_ns = sample->time_ns,
                                     .thread_ref = entry->ref,
                                     .stack_ref = entry->stack_ref,
                                     .weight = sample->weight,
                                     .state = (enum ss_thread_state)sample->activity,
                                     .gil = (enum ss_gil_state)sample->gil,
                                     .wait = (enum ss_wait_kind)sample->wait,
                                     .partial = sample->partial || entry->truncated};
    label(entry, sample, now, &record);
    struct ss_route route = aim_of_sample(process, &record, sample->counted_before);
    /* Where a thread stays, its code objects do. */
    bool was_confirmed = sample->counted_before && entry->held_round != process->held_round;
    if (was_confirmed) {
        write_sample(process, route, &record);
    } else if (sample->is_confirmed) {
        ss_recorded_process_confirm(process); /* what was before it */
        record.stack_ref = sampled_thread_of(process, sample->thread->id)->stack_ref;
        write_sample(process, route, &record);
    } else {
        hold(process, sample->thread->id, route, &record);
    }
}

struct ss_sampler_sink ss_recorded_process_sink(struct ss_recorded_process *process)
{
    return (struct ss_sampler_sink){process, on_thread, on_sample, process->context->clock};
}
