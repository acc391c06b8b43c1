/* SPDX-License-Identifier: Apache-2.0 */
/* Entities, and the start and end of an input. */
#include "model/builder/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/shared_names.h"
#include "model/builder/builder_state.h"
#include "model/clock/clock_domains.h"
#include "model/core/index.h"
#include "model/core/origin.h"

static uint32_t intern(struct ss_model_builder *builder, struct ss_strview text)
{
    return ss_intern_put(&builder->model->strings, text.data, text.length);
}

/* --- begin and clocks ------------------------------------------------------------------------ */

struct ss_model_builder *ss_model_builder_new(struct ss_model *model, enum ss_input_kind kind,
                                              const char *path, const struct ss_model_load *load,
                                              const uint64_t *base_ns)
{
    struct ss_model_builder *builder = ss_alloc_zero(1, sizeof *builder);
    *builder = (struct ss_model_builder){.model = model,
                                         .load = load,
                                         .input = ss_model_new_input(model, kind, path),
                                         .has_base = base_ns != NULL,
                                         .base_ns = base_ns != NULL ? *base_ns : 0};
    ss_load_tracks_begin(&builder->on_tracks, model);
    builder->on_tracks.most_operators = 2 * load->max_operators;
    if (builder->has_base) { /* then the requested range is known from the start */
        builder->on_tracks.from_ns = builder->base_ns + load->from_ns;
        builder->on_tracks.to_ns = builder->base_ns + load->to_ns;
    }
    return builder;
}

uint32_t ss_model_builder_input(const struct ss_model_builder *builder)
{
    return builder->input;
}

const struct ss_model *ss_model_builder_model(const struct ss_model_builder *builder)
{
    return builder->model;
}

uint32_t ss_model_builder_text(struct ss_model_builder *builder, struct ss_strview text)
{
    return intern(builder, text);
}

uint64_t ss_model_builder_on_axis(struct ss_model_builder *builder, uint64_t time_ns)
{
    if (!builder->is_placed) {
        builder->shift_ns = ss_clock_domains_place(builder->model, builder->input);
        builder->on_tracks.shift_ns = builder->shift_ns;
        builder->is_placed = true;
    }
    return ss_clock_shifted(time_ns, builder->shift_ns);
}

void ss_model_builder_clock(struct ss_model_builder *builder, const struct ss_trace_clock *clock)
{
    ss_clock_domains_reading(builder->model, builder->input, clock);
}

void ss_model_builder_wall_clock(struct ss_model_builder *builder, uint64_t base_ns)
{
    struct ss_model *model = builder->model;
    struct ss_model_input *input = &model->inputs.data[builder->input];
    int64_t before_ns = builder->shift_ns;
    input->boot = ss_intern_put_text(&model->strings, "wall clock");
    input->has_clock = true;
    input->wall_offset_ns = 0;
    builder->on_tracks.shift_ns = ss_clock_domains_place(model, builder->input);
    builder->shift_ns = builder->on_tracks.shift_ns + (int64_t)base_ns;
    builder->is_placed = true;
    ss_load_tracks_shift(&builder->on_tracks, model, builder->shift_ns - before_ns);
}

static double rate_of(struct ss_model_builder *builder, const struct ss_trace_attribute *attribute)
{
    return attribute->is_integer
               ? (double)attribute->integer
               : strtod(ss_model_text(builder->model, intern(builder, attribute->text)), NULL);
}

void ss_model_builder_attribute(struct ss_model_builder *builder,
                                const struct ss_trace_attribute *attribute)
{
    ss_vec_push(&builder->model->attributes,
                (struct ss_model_attribute){.input = builder->input,
                                            .key = intern(builder, attribute->key),
                                            .text = intern(builder, attribute->text),
                                            .is_integer = attribute->is_integer,
                                            .integer = attribute->integer});
    ss_clock_domains_attribute(builder->model, builder->input, attribute);
    if (ss_strview_equal(attribute->key, ss_strview_of("rate_hz"))) {
        double rate_hz = rate_of(builder, attribute);
        if (rate_hz > 0 && rate_hz <= 1e9) {
            builder->model->inputs.data[builder->input].rate_hz = rate_hz;
            builder->period_ns = (uint64_t)(1e9 / rate_hz + 0.5);
        }
    }
}

/* --- entities -------------------------------------------------------------------------------- */

uint32_t ss_model_builder_source(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_source *source)
{
    struct ss_model *model = builder->model;
    if (id == 0) {
        ss_vec_push_zero(&model->sources);
        id = (uint32_t)model->sources.count;
    }
    model->sources.data[id - 1] =
        (struct ss_model_source){.input = builder->input,
                                 .name = intern(builder, source->name),
                                 .reason = intern(builder, source->reason),
                                 .status = source->status};
    return id;
}

/* Whether `ancestor` is the process itself or above it: then it must not become its child. Nor does
 * it if the processes nest deeper than any do. */
static bool descends_from(const struct ss_model *model, uint32_t process, uint32_t ancestor)
{
    enum { MOST_GENERATIONS = 4096 };
    for (int i = 0; process != 0; process = model->processes.data[process].parent) {
        if (process == ancestor || ++i > MOST_GENERATIONS) {
            return true;
        }
    }
    return false;
}

/* The row, which may belong to an earlier input too; adds a new one. */
static uint32_t process_row(struct ss_model_builder *builder,
                            const struct ss_trace_process *process)
{
    struct ss_model *model = builder->model;
    struct ss_model_input *input = &model->inputs.data[builder->input];
    struct ss_identity identity = {
        {input->boot, process->pid_namespace, (uint64_t)process->pid, process->start_time_ticks}};
    bool is_known = input->boot != 0 && process->start_time_ticks != 0;
    uint32_t id =
        is_known ? ss_identities_find(&model->index->processes, &identity, builder->input) : 0;
    input->processes += id != 0;
    if (id == 0) {
        id = ss_model_add_process(model, builder->input, process->pid, 0);
        if (is_known) {
            ss_identities_add(&model->index->processes, &identity, builder->input, id);
        }
    }
    return id;
}

/* A value that this file lacks may be known from another file. */
static void set_if_known(uint32_t *known, uint32_t value)
{
    *known = value != 0 ? value : *known;
}

static void set_ranks(struct ss_model_process *row, const struct ss_trace_process *process)
{
    set_if_known(&row->host, process->host_ref);
    set_if_known(&row->world_size, process->world_size);
    row->rank = process->has_rank ? process->rank : row->rank;
    row->local_rank = process->has_local_rank ? process->local_rank : row->local_rank;
    row->node = process->has_node ? process->node : row->node;
    row->has_rank |= process->has_rank;
    row->has_local_rank |= process->has_local_rank;
    row->has_node |= process->has_node;
    row->role = process->role != SS_PROCESS_ROLE_UNKNOWN ? process->role : row->role;
}

uint32_t ss_model_builder_process(struct ss_model_builder *builder, uint32_t id,
                                  const struct ss_trace_process *process)
{
    struct ss_model *model = builder->model;
    id = id != 0 ? id : process_row(builder, process);
    struct ss_model_input *input = &model->inputs.data[builder->input];
    struct ss_model_process *row = &model->processes.data[id];
    uint32_t parent = process->parent_ref;
    row->pid = process->pid;
    set_if_known(&row->parent, descends_from(model, parent, id) ? 0 : parent);
    row->parent_pid = process->parent_pid;
    row->start_time_ticks = process->start_time_ticks;
    uint64_t seen_ns = ss_model_builder_on_axis(builder, process->first_seen_ns);
    bool is_earlier =
        process->first_seen_ns != 0 && (row->first_seen_ns == 0 || seen_ns < row->first_seen_ns);
    row->first_seen_ns = is_earlier ? seen_ns : row->first_seen_ns;
    set_if_known(&row->name, intern(builder, process->name));
    set_if_known(&row->cmdline, intern(builder, process->cmdline));
    set_if_known(&row->runtime, intern(builder, process->runtime));
    set_if_known(&row->executable, intern(builder, process->executable));
    set_if_known(&row->label, intern(builder, process->label));
    set_ranks(row, process);
    input->runtime = input->runtime == 0 ? row->runtime : input->runtime;
    return id;
}

/* The row, which may belong to an earlier input too; adds a new one. */
static uint32_t thread_row(struct ss_model_builder *builder, uint32_t process, int32_t tid)
{
    struct ss_model *model = builder->model;
    struct ss_identity identity = {{process, (uint64_t)tid}};
    uint32_t id =
        process != 0 ? ss_identities_find(&model->index->threads, &identity, builder->input) : 0;
    model->inputs.data[builder->input].threads++;
    if (id == 0) {
        id = ss_model_add_thread(model, 0, tid);
        ss_identities_add(&model->index->threads, &identity, builder->input, id);
    }
    return id;
}

uint32_t ss_model_builder_thread(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_thread *thread)
{
    struct ss_model *model = builder->model;
    id = id != 0 ? id : thread_row(builder, thread->process_ref, thread->tid);
    struct ss_model_thread *row = &model->threads.data[id];
    row->process = thread->process_ref;
    row->tid = thread->tid;
    row->name = intern(builder, thread->name);
    row->is_main = thread->is_main;
    return id;
}

void ss_model_builder_long_tid(struct ss_model_builder *builder, uint32_t id, int64_t tid)
{
    builder->model->threads.data[id].tid = tid;
}

uint32_t ss_model_builder_frame(struct ss_model_builder *builder,
                                const struct ss_trace_frame *frame)
{
    size_t skip = frame->short_file_offset <= frame->file.length ? frame->short_file_offset : 0;
    struct ss_strview short_file = {frame->file.data + skip, frame->file.length - skip};
    bool native = frame->kind == SS_FRAME_NATIVE || frame->kind == SS_FRAME_KERNEL;
    struct ss_strview name = frame->name.length > 0 ? frame->name : frame->function;
    struct ss_model_frame row = {.function = intern(builder, frame->function),
                                 .name = intern(builder, name),
                                 .file = intern(builder, frame->file),
                                 .short_file = intern(builder, short_file),
                                 .line = frame->line > 0 ? frame->line : -1,
                                 .first_line = frame->first_line > 0 ? frame->first_line : -1,
                                 .kind = frame->kind,
                                 .origin = native                ? SS_ORIGIN_NATIVE
                                           : frame->is_installed ? SS_ORIGIN_PACKAGE
                                                                 : ss_origin_of_path(frame->file)};
    return ss_model_frame_id(builder->model, &row);
}

/* Frames that stepscope injects around calls of a framework (src/inject/torch/torch.c) are not the
 * program's: their samples count for the caller. */
static bool is_injected(const struct ss_model *model, uint32_t frame)
{
    return strncmp(ss_model_text(model, model->frames.data[frame].file), "<stepscope ", 11) == 0;
}

uint32_t ss_model_builder_stack(struct ss_model_builder *builder, uint32_t parent, uint32_t frame)
{
    bool skips_frame = frame != 0 && is_injected(builder->model, frame);
    return skips_frame ? parent : ss_model_stack_id(builder->model, parent, frame);
}

/* --- notes and counts ------------------------------------------------------------------------ */

/* Counts are cumulative: the newest of a (source, process) pair replaces the previous. */
void ss_model_builder_counts(struct ss_model_builder *builder, const struct ss_trace_counts *counts)
{
    struct ss_model *model = builder->model;
    if (counts->source_ref == 0) {
        return;
    }
    struct ss_model_counts row = {.input = builder->input,
                                  .source = counts->source_ref - 1,
                                  .process = counts->process_ref,
                                  .totals = *counts};
    for (size_t i = model->counts.count; i > 0; i--) {
        struct ss_model_counts *known = &model->counts.data[i - 1];
        if (known->input == row.input && known->source == row.source &&
            known->process == row.process) {
            *known = row;
            return;
        }
    }
    ss_vec_push(&model->counts, row);
}

void ss_model_builder_note(struct ss_model_builder *builder, const struct ss_trace_note *note)
{
    struct ss_model *model = builder->model;
    uint32_t process = note->process_ref;
    ss_vec_push(&model->notes,
                (struct ss_model_note){.input = builder->input,
                                       .process = process,
                                       .kind = intern(builder, note->kind),
                                       .text = intern(builder, note->text),
                                       .time_ns = ss_model_builder_on_axis(builder, note->time_ns),
                                       .value = note->value});
    if (process != 0 && ss_strview_equal(note->kind, ss_strview_of("process-exit"))) {
        model->processes.data[process].has_exit_status = true;
        model->processes.data[process].exit_status = (int32_t)note->value;
    }
}

/* --- end ------------------------------------------------------------------------------------- */

/* The requested range in absolute times. */
static struct ss_load_times times_of(const struct ss_model_builder *builder,
                                     const struct ss_trace_summary *summary)
{
    const struct ss_model_load *load = builder->load;
    uint64_t base_ns = builder->has_base ? builder->base_ns : summary->first_event_ns;
    uint64_t last_ns = summary->last_event_ns;
    return (struct ss_load_times){
        .has_range = load->has_time_range,
        .from_ns = base_ns + load->from_ns,
        .to_ns = load->to_ns > UINT64_MAX - base_ns ? UINT64_MAX : base_ns + load->to_ns,
        .last_ns = summary->last_ns > last_ns ? summary->last_ns : last_ns};
}

static void shift_time(struct ss_model_builder *builder, uint64_t *time_ns)
{
    *time_ns = *time_ns != 0 ? ss_model_builder_on_axis(builder, *time_ns) : 0;
}

static void shift_summary(struct ss_model_builder *builder, struct ss_trace_summary *summary)
{
    shift_time(builder, &summary->first_ns);
    shift_time(builder, &summary->last_ns);
    if (summary->last_event_ns != 0) { /* the first event may be at 0 of its clock */
        summary->first_event_ns = ss_model_builder_on_axis(builder, summary->first_event_ns);
    }
    shift_time(builder, &summary->last_event_ns);
}

void ss_model_builder_summary(struct ss_model_builder *builder, const struct ss_trace_summary *read)
{
    struct ss_trace_summary summary = *read;
    struct ss_model_input *input = &builder->model->inputs.data[builder->input];
    shift_summary(builder, &summary);
    ss_model_builder_on_axis(builder, 0); /* an input without a time has a clock domain, too */
    input->summary = summary;
}

void ss_model_builder_import(struct ss_model_builder *builder, struct ss_strview tool,
                             const struct ss_builder_skipped *skipped)
{
    const char *reason = skipped->reason != NULL ? skipped->reason : "";
    struct ss_model_input *input = &builder->model->inputs.data[builder->input];
    input->tool = intern(builder, tool);
    input->skipped =
        (struct ss_model_skipped){.events = skipped->events,
                                  .first_offset = skipped->first_offset,
                                  .reason = ss_intern_put_text(&builder->model->strings, reason),
                                  .is_cut = skipped->is_cut};
}

void ss_model_builder_end(struct ss_model_builder *builder)
{
    struct ss_model *model = builder->model;
    struct ss_load_times times = times_of(builder, &model->inputs.data[builder->input].summary);
    ss_load_tracks_end(&builder->on_tracks, model, &times);
    model->inputs.data[builder->input].halvings = (uint8_t)builder->on_tracks.halvings;
    const struct ss_model_input *input = &model->inputs.data[builder->input];
    bool labels_samples = builder->load->sample_phases || builder->load->sample_ranges;
    if (input->kind == SS_INPUT_IMPORT && input->samples == 0 && !labels_samples) {
        ss_load_derive_samples(model, builder->input, builder->on_tracks.first_range);
    }
    if (builder->load->sample_phases) {
        /* A wait at the end of DistributedDataParallel's backward is communication, although no
         * phase marks it. */
        ss_vec_push(&model->names,
                    (struct ss_model_name){
                        .text = ss_intern_put_text(&model->strings, ss_phase_communication)});
        if (model->inputs.data[builder->input].kind == SS_INPUT_IMPORT) {
            ss_load_derive_phases(model, builder->on_tracks.first_range);
        }
        ss_load_derive_marked_steps(model, builder->on_tracks.first_range);
        ss_load_derive_steps(model, builder->on_tracks.first_range);
        ss_load_join_evaluations(model, builder->on_tracks.first_range);
        ss_load_cut_profilers(model, builder->on_tracks.first_range);
    }
    ss_model_builder_end_lines(builder, &times);
    ss_model_builder_end_samples(builder);
}

void ss_model_builder_free(struct ss_model_builder *builder)
{
    ss_load_tracks_fini(&builder->on_tracks);
    ss_model_builder_free_samples(builder);
    ss_vec_fini(&builder->pending_lines);
    ss_vec_fini(&builder->wanted_tracks);
    ss_free(builder);
}
