/* SPDX-License-Identifier: Apache-2.0 */
/* Native traces: maps the reader's records to rows, its refs to ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/index.h"
#include "model/load.h"
#include "model/load_tracks.h"
#include "model/origin.h"
#include "model/step_span.h"
#include "model/time_axis.h"

enum { MAX_REF = 0x3ffffff0 };
static const uint64_t default_max_samples = UINT64_C(1) << 26;

struct id_map ss_vec_of(uint32_t);

struct pending_samples ss_vec_of(struct ss_pending_sample);

/* Samples of non-main threads in the newest step of a process: whether that step ends is not known
 * yet. */
struct step_samples {
    int64_t number;
    struct pending_samples pending;
};

struct loader {
    struct ss_model *model;
    const struct ss_model_load *load;
    uint32_t input;
    /* ref → id; 0: not defined */
    struct id_map processes, threads, frames, stacks, sources, devices, tracks, names;
    struct ss_vec_of(bool) wanted_tracks; /* by track of the model; for only_tracks */
    struct ss_load_tracks on_tracks;
    struct pending_samples pending; /* with sample_ranges; with sample_phases: of main threads */
    struct ss_vec_of(struct step_samples) last_steps; /* by process; with sample_phases */
    struct ss_vec_of(struct ss_trace_line) pending_lines;
    bool is_placed;   /* on the time axis */
    int64_t shift_ns; /* added to its times */
    bool has_base;
    uint64_t base_ns;     /* the first tick of the first sample: origin of a time range */
    uint64_t period_ns;   /* 0: unknown */
    struct ss_error *err; /* why this loader stopped the reader, which cannot know */
};

static enum ss_status set_id(struct loader *loader, struct id_map *map, uint32_t ref, uint32_t id)
{
    if (ref == 0 || ref > MAX_REF || ref > 2 * map->count + 4096) {
        return ss_fail(loader->err, SS_E_FORMAT, "ref %" PRIu32 " is out of order", ref);
    }
    if (ref >= map->count) {
        ss_vec_resize(map, (size_t)ref + 1);
    }
    map->data[ref] = id;
    return SS_OK;
}

static uint32_t id_of(const struct id_map *map, uint32_t ref)
{
    return ref < map->count ? map->data[ref] : 0;
}

static uint32_t intern(struct loader *loader, struct ss_strview text)
{
    return ss_intern_put(&loader->model->strings, text.data, text.length);
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct loader *loader = context;
    struct ss_model_input *input = &loader->model->inputs.data[loader->input];
    if (!input->has_clock) {
        input->has_clock = true;
        input->wall_offset_ns = (int64_t)(clock->realtime_ns - clock->monotonic_ns);
    }
    return SS_OK;
}

/* Clock and boot precede every record with a time. */
static uint64_t on_axis(struct loader *loader, uint64_t time_ns)
{
    if (!loader->is_placed) {
        ss_time_axis_place(loader->model, loader->input);
        loader->shift_ns = loader->model->inputs.data[loader->input].shift_ns;
        loader->is_placed = true;
    }
    return ss_time_axis_moved(time_ns, loader->shift_ns);
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct loader *loader = context;
    ss_vec_push(&loader->model->attributes,
                (struct ss_model_attribute){.input = loader->input,
                                            .key = intern(loader, attribute->key),
                                            .text = intern(loader, attribute->text),
                                            .is_integer = attribute->is_integer,
                                            .integer = attribute->integer});
    if (ss_strview_equal(attribute->key, ss_strview_of("boot_id"))) {
        loader->model->inputs.data[loader->input].boot = intern(loader, attribute->text);
    }
    if (ss_strview_equal(attribute->key, ss_strview_of("rate_hz"))) {
        double rate_hz = attribute->is_integer ? (double)attribute->integer : 0;
        if (!attribute->is_integer) {
            const char *text = ss_model_text(loader->model, intern(loader, attribute->text));
            rate_hz = strtod(text, NULL);
        }
        if (rate_hz > 0 && rate_hz <= 1e9) {
            loader->model->inputs.data[loader->input].rate_hz = rate_hz;
            loader->period_ns = (uint64_t)(1e9 / rate_hz);
        }
    }
    return SS_OK;
}

static enum ss_status on_source(void *context, const struct ss_trace_source *source)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t known = id_of(&loader->sources, source->ref);
    if (known == 0) {
        ss_vec_push_zero(&model->sources);
        known = (uint32_t)model->sources.count; /* index + 1 */
        SS_TRY(set_id(loader, &loader->sources, source->ref, known));
    }
    model->sources.data[known - 1] =
        (struct ss_model_source){.input = loader->input,
                                 .name = intern(loader, source->name),
                                 .reason = intern(loader, source->reason),
                                 .status = source->status};
    return SS_OK;
}

/* The row of a device that another file of the same boot has, too; 0: there is none. */
static uint32_t find_device(const struct loader *loader, uint32_t uuid)
{
    const struct ss_model *model = loader->model;
    uint32_t boot = model->inputs.data[loader->input].boot;
    for (uint32_t i = 1; i < model->devices.count && ss_model_text(model, uuid)[0] != '\0'; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        if (device->uuid == uuid && model->inputs.data[device->input].boot == boot) {
            return i;
        }
    }
    return 0;
}

static enum ss_status on_device(void *context, const struct ss_trace_device *device)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t id = id_of(&loader->devices, device->ref);
    if (id == 0) {
        id = find_device(loader, intern(loader, device->uuid));
        if (id == 0) {
            id = (uint32_t)model->devices.count;
            ss_vec_push_zero(&model->devices);
        }
        SS_TRY(set_id(loader, &loader->devices, device->ref, id));
    }
    model->devices.data[id] =
        (struct ss_model_device){.input = loader->input,
                                 .kind = device->kind,
                                 .number = (int32_t)device->number - 1,
                                 .model = intern(loader, device->model),
                                 .uuid = intern(loader, device->uuid),
                                 .pci_address = intern(loader, device->pci_address),
                                 .memory_bytes = device->memory_bytes};
    return SS_OK;
}

/* Whether `ancestor` is the process itself or above it: then it must not become its child. */
static bool descends_from(const struct ss_model *model, uint32_t process, uint32_t ancestor)
{
    for (; process != 0; process = model->processes.data[process].parent) {
        if (process == ancestor) {
            return true;
        }
    }
    return false;
}

/* The row, which may belong to an earlier input too; adds a new one. */
static uint32_t process_row(struct loader *loader, const struct ss_trace_process *process)
{
    struct ss_model *model = loader->model;
    struct ss_model_input *input = &model->inputs.data[loader->input];
    struct ss_identity identity = {
        {input->boot, process->pid_namespace, (uint64_t)process->pid, process->start_time_ticks}};
    bool is_known = input->boot != 0 && process->start_time_ticks != 0;
    uint32_t id =
        is_known ? ss_identities_find(&model->index->processes, &identity, loader->input) : 0;
    input->processes += id != 0;
    if (id == 0) {
        id = ss_load_add_process(model, loader->input, process->pid, 0);
        if (is_known) {
            ss_identities_add(&model->index->processes, &identity, loader->input, id);
        }
    }
    return id;
}

/* A value that this file lacks may be known from another file. */
static void set_if_known(uint32_t *known, uint32_t value)
{
    *known = value != 0 ? value : *known;
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t id = id_of(&loader->processes, process->ref);
    if (id == 0) {
        id = process_row(loader, process);
        SS_TRY(set_id(loader, &loader->processes, process->ref, id));
    }
    struct ss_model_input *input = &model->inputs.data[loader->input];
    struct ss_model_process *row = &model->processes.data[id];
    uint32_t parent = id_of(&loader->processes, process->parent_ref);
    row->pid = process->pid;
    set_if_known(&row->parent, descends_from(model, parent, id) ? 0 : parent);
    row->parent_pid = process->parent_pid;
    row->start_time_ticks = process->start_time_ticks;
    uint64_t seen_ns = on_axis(loader, process->first_seen_ns);
    bool is_earlier = row->first_seen_ns == 0 || seen_ns < row->first_seen_ns;
    row->first_seen_ns = is_earlier ? seen_ns : row->first_seen_ns;
    set_if_known(&row->name, intern(loader, process->name));
    set_if_known(&row->cmdline, intern(loader, process->cmdline));
    set_if_known(&row->runtime, intern(loader, process->runtime));
    set_if_known(&row->executable, intern(loader, process->executable));
    set_if_known(&row->label, intern(loader, process->label));
    input->runtime = input->runtime == 0 ? row->runtime : input->runtime;
    return SS_OK;
}

/* The row, which may belong to an earlier input too; adds a new one. */
static uint32_t thread_row(struct loader *loader, uint32_t process, int32_t tid)
{
    struct ss_model *model = loader->model;
    struct ss_identity identity = {{process, (uint64_t)tid}};
    uint32_t id =
        process != 0 ? ss_identities_find(&model->index->threads, &identity, loader->input) : 0;
    model->inputs.data[loader->input].threads++;
    if (id == 0) {
        id = ss_load_add_thread(model, 0, tid);
        ss_identities_add(&model->index->threads, &identity, loader->input, id);
    }
    return id;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t id = id_of(&loader->threads, thread->ref);
    if (id == 0) {
        id = thread_row(loader, id_of(&loader->processes, thread->process_ref), thread->tid);
        SS_TRY(set_id(loader, &loader->threads, thread->ref, id));
    }
    struct ss_model_thread *row = &model->threads.data[id];
    row->process = id_of(&loader->processes, thread->process_ref);
    row->tid = thread->tid;
    row->name = intern(loader, thread->name);
    row->is_main = thread->is_main;
    return SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct loader *loader = context;
    size_t skip = frame->short_file_offset <= frame->file.length ? frame->short_file_offset : 0;
    struct ss_strview short_file = {frame->file.data + skip, frame->file.length - skip};
    bool native = frame->kind == SS_FRAME_NATIVE || frame->kind == SS_FRAME_KERNEL;
    struct ss_strview name = frame->name.length > 0 ? frame->name : frame->function;
    struct ss_model_frame row = {.function = intern(loader, frame->function),
                                 .name = intern(loader, name),
                                 .file = intern(loader, frame->file),
                                 .short_file = intern(loader, short_file),
                                 .line = frame->line > 0 ? frame->line : -1,
                                 .first_line = frame->first_line > 0 ? frame->first_line : -1,
                                 .kind = frame->kind,
                                 .origin =
                                     native ? SS_ORIGIN_NATIVE : ss_origin_of_path(frame->file)};
    return set_id(loader, &loader->frames, frame->ref, ss_model_frame_id(loader->model, &row));
}

/* Frames that stepscope injects around calls of a framework (src/inject/torch.c) are not the
 * program's: their samples count for the caller. */
static bool is_injected(const struct ss_model *model, uint32_t frame)
{
    return strncmp(ss_model_text(model, model->frames.data[frame].file), "<stepscope ", 11) == 0;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct loader *loader = context;
    uint32_t parent = id_of(&loader->stacks, stack->parent_ref);
    uint32_t frame = id_of(&loader->frames, stack->frame_ref);
    bool skips_frame = frame != 0 && is_injected(loader->model, frame);
    return set_id(loader, &loader->stacks, stack->ref,
                  skips_frame ? parent : ss_model_stack_id(loader->model, parent, frame));
}

/* The first step of the process that contains a sample counts as its first step. */
static enum ss_sample_step step_of(struct loader *loader, uint32_t process, int64_t number)
{
    struct ss_model_index *index = loader->model->index;
    if (number < 0 || number == INT64_MAX) {
        return SS_SAMPLE_NO_STEP;
    }
    if (process >= index->first_steps.count) {
        ss_vec_resize(&index->first_steps, (size_t)process + 1);
    }
    int64_t *first = &index->first_steps.data[process];
    if (*first == 0) {
        *first = number + 1;
    }
    return *first == number + 1 ? SS_SAMPLE_FIRST_STEP : SS_SAMPLE_LATER_STEP;
}

/* The number of the sample's ticks in the requested range. A sample with a weight stands for ticks
 * one period apart, the last of them at its time; `*last_ns` is the time of the last tick that
 * counts. */
static uint64_t ticks_in_range(const struct loader *loader, const struct ss_trace_sample *sample,
                               uint64_t *last_ns)
{
    *last_ns = sample->time_ns;
    if (!loader->load->has_time_range) {
        return sample->weight;
    }
    uint64_t from_ns = loader->base_ns + loader->load->from_ns;
    uint64_t to_ns = loader->load->to_ns > UINT64_MAX - loader->base_ns
                         ? UINT64_MAX
                         : loader->base_ns + loader->load->to_ns;
    if (sample->weight == 1 || loader->period_ns == 0) {
        return sample->time_ns >= from_ns && sample->time_ns < to_ns ? sample->weight : 0;
    }
    /* Tick k is k periods before the last: k < after are too late, k > upto are too early. */
    if (sample->time_ns < from_ns) {
        return 0;
    }
    uint64_t upto = (sample->time_ns - from_ns) / loader->period_ns;
    upto = upto >= sample->weight ? sample->weight - 1 : upto;
    uint64_t after =
        sample->time_ns < to_ns ? 0 : (sample->time_ns - to_ns) / loader->period_ns + 1;
    *last_ns -= after * loader->period_ns;
    return after > upto ? 0 : upto - after + 1;
}

static void set_base(struct loader *loader, const struct ss_trace_sample *sample)
{
    uint64_t before_ns = (uint64_t)(sample->weight - 1) * loader->period_ns;
    loader->base_ns = sample->time_ns > before_ns ? sample->time_ns - before_ns : 0;
    loader->has_base = true;
}

static enum ss_status store_sample(struct loader *loader, const struct ss_model_sample *sample)
{
    uint64_t limit =
        loader->load->max_samples > 0 ? loader->load->max_samples : default_max_samples;
    if (loader->model->samples.count >= limit) {
        return ss_fail(loader->err, SS_E_LIMIT,
                       "more than %" PRIu64 " samples, and each has a place of its own in a "
                       "timeline; take a part of the time (--from, --until)",
                       limit);
    }
    ss_vec_push(&loader->model->samples, *sample);
    return SS_OK;
}

static void add_step_sample(struct loader *loader, int64_t number,
                            const struct ss_pending_sample *sample)
{
    uint32_t process = loader->model->threads.data[sample->total.thread].process;
    if (process >= loader->last_steps.count) {
        ss_vec_resize(&loader->last_steps, (size_t)process + 1);
    }
    struct step_samples *last = &loader->last_steps.data[process];
    if (number > last->number) { /* the previous step has ended */
        for (size_t i = 0; i < last->pending.count; i++) {
            ss_model_add_total(loader->model, &last->pending.data[i].total);
        }
        ss_vec_clear(&last->pending);
        last->number = number;
    }
    if (number < last->number) {
        ss_model_add_total(loader->model, &sample->total);
    } else {
        ss_vec_push(&last->pending, *sample);
    }
}

/* Defers a sample whose ranges or step are known only at the end of the trace. */
static void add_total(struct loader *loader, const struct ss_trace_sample *sample,
                      const struct ss_model_total *total, uint64_t time_ns)
{
    struct ss_pending_sample pending = {
        .time_ns = time_ns, .label = id_of(&loader->names, sample->range_name), .total = *total};
    bool has_step = total->step != SS_SAMPLE_NO_STEP;
    bool is_main = loader->model->threads.data[total->thread].is_main;
    if (loader->load->sample_ranges || (has_step && is_main)) {
        ss_vec_push(&loader->pending, pending);
    } else if (has_step) {
        add_step_sample(loader, sample->step, &pending);
    } else {
        ss_model_add_total(loader->model, total);
    }
}

static void add_gil_span(struct loader *loader, const struct ss_model_total *total,
                         uint64_t last_ns)
{
    enum { MAX_SPANS = 1 << 20 };
    struct ss_model *model = loader->model;
    if (model->gil_spans.count >= MAX_SPANS) {
        return;
    }
    uint64_t half_ns = loader->period_ns / 2;
    uint64_t before_ns = (total->samples - 1) * loader->period_ns + half_ns;
    ss_vec_push(&model->gil_spans, (struct ss_model_gil_span){
                                       .begin_ns = last_ns > before_ns ? last_ns - before_ns : 0,
                                       .end_ns = last_ns + half_ns,
                                       .thread = total->thread,
                                       .stack = total->stack,
                                       .holds = total->gil == SS_GIL_HELD});
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *as_recorded)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    struct ss_trace_sample moved = *as_recorded, *sample = &moved;
    moved.time_ns = on_axis(loader, as_recorded->time_ns);
    if (!loader->has_base) {
        set_base(loader, sample);
    }
    uint64_t last_ns;
    uint64_t ticks = ticks_in_range(loader, sample, &last_ns);
    model->filtered_samples += sample->weight - ticks;
    if (ticks == 0) {
        return SS_OK;
    }
    struct ss_model_total total = {.thread = id_of(&loader->threads, sample->thread_ref),
                                   .stack = id_of(&loader->stacks, sample->stack_ref),
                                   .state = (uint8_t)sample->state,
                                   .gil = (uint8_t)sample->gil,
                                   .partial = sample->partial,
                                   .samples = ticks,
                                   .records = 1};
    if (loader->load->sample_phases) {
        total.wait = (uint8_t)sample->wait;
        total.phase = model->names.data[id_of(&loader->names, sample->phase_name)].text;
        total.step =
            (uint8_t)step_of(loader, model->threads.data[total.thread].process, sample->step);
        if (total.gil == SS_GIL_HELD && !model->threads.data[total.thread].is_main) {
            add_gil_span(loader, &total, last_ns);
        }
    }
    if (ticks > INT64_MAX - model->index->total_samples) {
        return ss_fail(loader->err, SS_E_LIMIT, "more than 2^63 samples");
    }
    add_total(loader, sample, &total, last_ns);
    model->index->total_samples += ticks;
    model->inputs.data[loader->input].samples += ticks;
    if (loader->load->keep_samples) {
        struct ss_model_sample row = {.time_ns = last_ns,
                                      .thread = total.thread,
                                      .stack = total.stack,
                                      .weight = (uint32_t)ticks,
                                      .state = total.state,
                                      .gil = total.gil,
                                      .partial = total.partial};
        return store_sample(loader, &row);
    }
    return SS_OK;
}

/* Counts are cumulative: the newest of a (source, process) pair replaces the previous. */
static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t source = id_of(&loader->sources, counts->source_ref);
    if (source == 0) {
        return SS_OK;
    }
    uint32_t process = id_of(&loader->processes, counts->process_ref);
    struct ss_model_counts row = {
        .input = loader->input, .source = source - 1, .process = process, .totals = *counts};
    for (size_t i = model->counts.count; i > 0; i--) {
        struct ss_model_counts *known = &model->counts.data[i - 1];
        if (known->input == row.input && known->source == row.source && known->process == process) {
            *known = row;
            return SS_OK;
        }
    }
    ss_vec_push(&model->counts, row);
    return SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    uint32_t process = id_of(&loader->processes, note->process_ref);
    struct ss_model_note row = {.input = loader->input,
                                .process = process,
                                .kind = intern(loader, note->kind),
                                .text = intern(loader, note->text),
                                .time_ns = on_axis(loader, note->time_ns),
                                .value = note->value};
    ss_vec_push(&model->notes, row);
    if (process != 0 && ss_strview_equal(note->kind, ss_strview_of("process-exit"))) {
        model->processes.data[process].has_exit_status = true;
        model->processes.data[process].exit_status = (int32_t)note->value;
    }
    return SS_OK;
}

static bool is_step_or_phase(const struct ss_model_track *track)
{
    return track->kind == SS_TRACK_STEPS || track->kind == SS_TRACK_PHASES;
}

static bool matches_only_tracks(const struct loader *loader, const struct ss_model_track *track)
{
    const char *name = ss_model_text(loader->model, track->name);
    for (const char *const *wanted = loader->load->only_tracks; *wanted != NULL; wanted++) {
        size_t length = strlen(*wanted);
        bool is_prefix = length > 0 && (*wanted)[length - 1] == '*';
        if (is_prefix ? strncmp(*wanted, name, length - 1) == 0 : strcmp(*wanted, name) == 0) {
            return true;
        }
    }
    return is_step_or_phase(track);
}

static bool is_wanted_track(const struct loader *loader, uint32_t track)
{
    return loader->load->only_tracks == NULL ||
           (track < loader->wanted_tracks.count && loader->wanted_tracks.data[track]);
}

/* The id of a new track. A track of a process may be shared with an earlier input; host tracks are
 * not, because each recorder reads the host by itself. */
static uint32_t track_row(struct loader *loader, const struct ss_model_track *track)
{
    struct ss_model *model = loader->model;
    struct ss_identity identity = {{(uint64_t)track->process << 32 | track->thread,
                                    (uint64_t)track->parent << 32 | track->name,
                                    (uint64_t)track->kind << 32 | (uint64_t)track->counter,
                                    track->unit}};
    bool is_shared = track->process != 0 && model->inputs.count > 1;
    uint32_t id =
        is_shared ? ss_identities_find(&model->index->tracks, &identity, loader->input) : 0;
    if (id != 0) {
        model->index->shares_tracks = true;
        return id;
    }
    ss_vec_push(&model->tracks, *track);
    id = (uint32_t)model->tracks.count - 1;
    if (track->process != 0) {
        ss_identities_add(&model->index->tracks, &identity, loader->input, id);
    }
    return id;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    struct ss_model_track row = {.input = loader->input,
                                 .kind = track->kind,
                                 .process = id_of(&loader->processes, track->process_ref),
                                 .thread = id_of(&loader->threads, track->thread_ref),
                                 .device = id_of(&loader->devices, track->device_ref),
                                 .parent = id_of(&loader->tracks, track->parent_ref),
                                 .name = intern(loader, track->name),
                                 .unit = intern(loader, track->unit),
                                 .counter = track->counter,
                                 .rank = track->rank};
    uint32_t id = id_of(&loader->tracks, track->ref);
    if (id == 0) {
        id = track_row(loader, &row);
        SS_TRY(set_id(loader, &loader->tracks, track->ref, id));
    }
    row.input = model->tracks.data[id].input;
    model->tracks.data[id] = row;
    if (loader->load->only_tracks != NULL) {
        if (id >= loader->wanted_tracks.count) {
            ss_vec_resize(&loader->wanted_tracks, (size_t)id + 1);
        }
        loader->wanted_tracks.data[id] = matches_only_tracks(loader, &model->tracks.data[id]);
    }
    return SS_OK;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct loader *loader = context;
    struct ss_model *model = loader->model;
    struct ss_model_name row = {.text = intern(loader, name->text),
                                .category = intern(loader, name->category),
                                .colour = name->colour,
                                .file = intern(loader, name->file),
                                .line = name->line};
    struct ss_identity identity = {
        {(uint64_t)row.text << 32 | row.category, (uint64_t)row.file << 32 | row.line, row.colour}};
    uint32_t id = ss_identities_find(&model->index->names, &identity, loader->input);
    if (id == 0) {
        id = (uint32_t)model->names.count;
        ss_vec_push(&model->names, row);
        ss_identities_add(&model->index->names, &identity, loader->input, id);
    }
    return set_id(loader, &loader->names, name->ref, id);
}

struct line_key {
    uint32_t process, name, line;
};

static void add_line(struct loader *loader, const struct ss_trace_line *line)
{
    struct ss_model *model = loader->model;
    struct line_key key = {id_of(&loader->processes, line->process_ref),
                           id_of(&loader->names, line->name_ref), line->line};
    uint32_t known = ss_intern_put(&model->index->line_keys, (const char *)&key, sizeof key);
    size_t at = known - 1; /* id 0 is the empty key */
    if (at == model->line_times.count) {
        ss_vec_push(&model->line_times, (struct ss_model_line_time){.process = key.process,
                                                                    .name = key.name,
                                                                    .line = key.line});
    }
    struct ss_model_line_time *row = &model->line_times.data[at];
    row->hits += line->hits;
    row->total_ns += line->total_ns;
}

static enum ss_status on_line(void *context, const struct ss_trace_line *line)
{
    struct loader *loader = context;
    struct ss_trace_line moved = *line;
    moved.time_ns = on_axis(loader, line->time_ns);
    if (loader->load->has_time_range) { /* the origin of the range may not be known yet */
        ss_vec_push(&loader->pending_lines, moved);
    } else {
        add_line(loader, &moved);
    }
    return SS_OK;
}

/* Steps have the name of their track. */
static uint32_t step_name(struct loader *loader, uint32_t track)
{
    struct ss_model *model = loader->model;
    if (track >= model->index->step_names.count) {
        ss_vec_resize(&model->index->step_names, (size_t)track + 1);
    }
    uint32_t *name = &model->index->step_names.data[track];
    if (*name == 0) {
        *name = (uint32_t)model->names.count;
        ss_vec_push(&model->names, (struct ss_model_name){.text = model->tracks.data[track].name});
    }
    return *name;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct loader *loader = context;
    uint32_t track = id_of(&loader->tracks, event->track_ref);
    if (!is_wanted_track(loader, track)) {
        return SS_OK;
    }
    uint32_t name = id_of(&loader->names, event->name_ref);
    if (name == 0 && event->kind == SS_EVENT_BEGIN &&
        loader->model->tracks.data[track].kind == SS_TRACK_STEPS) {
        name = step_name(loader, track);
    }
    struct ss_trace_event moved = *event;
    moved.time_ns = on_axis(loader, event->time_ns);
    ss_load_tracks_event(&loader->on_tracks, loader->model, track, name, &moved);
    return SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct loader *loader = context;
    struct ss_model_value value = {.time_ns = on_axis(loader, counter->time_ns),
                                   .track = id_of(&loader->tracks, counter->track_ref),
                                   .is_integer = counter->is_integer};
    if (counter->is_integer) {
        value.integer = counter->integer;
    } else {
        value.real = counter->real;
    }
    if (is_wanted_track(loader, value.track)) {
        ss_vec_push(&loader->model->values, value);
    }
    return SS_OK;
}

static void on_progress(void *context, uint64_t done_bytes, uint64_t all_bytes)
{
    const struct loader *loader = context;
    const struct ss_model_load *load = loader->load;
    const char *path = ss_model_text(loader->model, loader->model->inputs.data[loader->input].path);
    if (load->progress != NULL) {
        load->progress(load->progress_context, path, done_bytes, all_bytes);
    }
}

static const struct ss_trace_visitor visitor = {.clock = on_clock,
                                                .attribute = on_attribute,
                                                .source = on_source,
                                                .device = on_device,
                                                .process = on_process,
                                                .thread = on_thread,
                                                .frame = on_frame,
                                                .stack = on_stack,
                                                .sample = on_sample,
                                                .counts = on_counts,
                                                .note = on_note,
                                                .track = on_track,
                                                .name = on_name,
                                                .event = on_event,
                                                .counter = on_counter,
                                                .line = on_line,
                                                .progress = on_progress};

/* The requested range in absolute times. */
static struct ss_load_times times_of(const struct loader *loader,
                                     const struct ss_trace_summary *summary)
{
    const struct ss_model_load *load = loader->load;
    uint64_t base_ns = loader->has_base ? loader->base_ns : summary->first_event_ns;
    uint64_t last_ns = summary->last_event_ns;
    return (struct ss_load_times){
        .has_range = load->has_time_range,
        .from_ns = base_ns + load->from_ns,
        .to_ns = load->to_ns > UINT64_MAX - base_ns ? UINT64_MAX : base_ns + load->to_ns,
        .last_ns = summary->last_ns > last_ns ? summary->last_ns : last_ns};
}

static void add_pending(struct loader *loader, struct pending_samples *pending)
{
    if (pending->count > 0 && loader->load->sample_phases && !loader->load->no_tracks) {
        ss_find_sample_steps(loader->model, loader->on_tracks.first_range, pending->data,
                             pending->count);
    }
    for (size_t i = 0; i < pending->count; i++) {
        const struct ss_model_total *total = &pending->data[i].total;
        ss_model_add_total(loader->model, total);
        if (total->gil == SS_GIL_WAITED && total->step == SS_SAMPLE_LATER_STEP &&
            loader->model->threads.data[total->thread].is_main) {
            add_gil_span(loader, total, pending->data[i].time_ns);
        }
    }
}

static void finish(struct loader *loader, const struct ss_trace_summary *summary)
{
    struct ss_model *model = loader->model;
    struct ss_load_times times = times_of(loader, summary);
    ss_load_tracks_end(&loader->on_tracks, model, &times);
    if (loader->load->sample_phases) {
        /* A wait at the end of DistributedDataParallel's backward is communication, although no
         * phase marks it. */
        ss_vec_push(&model->names, (struct ss_model_name){.text = ss_intern_put_text(
                                                              &model->strings, "communication")});
        ss_load_derive_steps(model, loader->on_tracks.first_range);
        ss_load_join_evaluations(model, loader->on_tracks.first_range);
    }
    struct ss_pending_sample *pending = loader->pending.data;
    for (size_t i = 0; i < loader->pending_lines.count; i++) {
        const struct ss_trace_line *line = &loader->pending_lines.data[i];
        if (line->time_ns >= times.from_ns && line->time_ns < times.to_ns) {
            add_line(loader, line);
        }
    }
    if (loader->pending.count > 0 && loader->load->sample_ranges) {
        ss_find_sample_ranges(model, loader->on_tracks.first_range, pending, loader->pending.count);
    }
    add_pending(loader, &loader->pending);
    for (size_t i = 0; i < loader->last_steps.count; i++) {
        add_pending(loader, &loader->last_steps.data[i].pending);
    }
}

static void shift_time(struct loader *loader, uint64_t *time_ns)
{
    *time_ns = *time_ns != 0 ? on_axis(loader, *time_ns) : 0;
}

static void shift_summary(struct loader *loader, struct ss_trace_summary *summary)
{
    shift_time(loader, &summary->first_ns);
    shift_time(loader, &summary->last_ns);
    shift_time(loader, &summary->first_event_ns);
    shift_time(loader, &summary->last_event_ns);
}

enum ss_status ss_load_trace(struct ss_model *model, const char *path,
                             const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_model_input input = {.kind = SS_INPUT_TRACE,
                                   .path = ss_intern_put_text(&model->strings, path)};
    ss_vec_push(&model->inputs, input);
    struct ss_error own = {0};
    struct ss_model_load request = *load;
    struct ss_step_span span = {0};
    if (load->has_steps) {
        SS_TRY(ss_step_span_find(path, load->first_step, load->last_step, &span, err));
        request.has_time_range = true;
        request.from_ns = 0;
        request.to_ns = span.end_ns - span.begin_ns;
    }
    struct loader loader = {.model = model,
                            .load = &request,
                            .has_base = load->has_steps || load->on_axis,
                            .base_ns = span.begin_ns,
                            .input = (uint32_t)model->inputs.count - 1,
                            .err = &own};
    struct ss_trace_summary summary = {0};
    struct ss_trace_visitor wanted = visitor;
    if (load->no_tracks) {
        wanted.track = NULL;
        wanted.name = NULL;
        wanted.event = NULL;
        wanted.counter = NULL;
        wanted.line = NULL;
    }
    ss_load_tracks_begin(&loader.on_tracks, model);
    loader.on_tracks.most_operators = 2 * load->max_operators;
    if (loader.has_base) { /* then the requested range is known from the start */
        loader.on_tracks.from_ns = loader.base_ns + request.from_ns;
        loader.on_tracks.to_ns = loader.base_ns + request.to_ns;
    }
    enum ss_status status = ss_trace_read(path, &wanted, &loader, &summary, err);
    shift_summary(&loader, &summary);
    on_axis(&loader, 0);
    if (status == SS_OK) {
        finish(&loader, &summary);
    }
    ss_load_tracks_fini(&loader.on_tracks);
    ss_vec_fini(&loader.pending);
    for (size_t i = 0; i < loader.last_steps.count; i++) {
        ss_vec_fini(&loader.last_steps.data[i].pending);
    }
    ss_vec_fini(&loader.last_steps);
    ss_vec_fini(&loader.pending_lines);
    ss_vec_fini(&loader.tracks);
    ss_vec_fini(&loader.names);
    ss_vec_fini(&loader.wanted_tracks);
    model->inputs.data[loader.input].summary = summary;
    model->inputs.data[loader.input].halvings = (uint8_t)loader.on_tracks.halvings;
    ss_vec_fini(&loader.processes);
    ss_vec_fini(&loader.threads);
    ss_vec_fini(&loader.frames);
    ss_vec_fini(&loader.stacks);
    ss_vec_fini(&loader.sources);
    ss_vec_fini(&loader.devices);
    return status != SS_OK && own.message[0] != '\0'
               ? ss_fail(err, status, "%s: %s", path, own.message)
               : status;
}
