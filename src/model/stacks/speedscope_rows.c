/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stacks/speedscope_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/core/index.h"
#include "model/core/origin.h"
#include "model/stacks/speedscope_owner.h"

enum { MAX_STACK_NODES = 0x3ffff000 };

static const uint32_t unreadable = UINT32_MAX;
/* More ticks would take long to store: then ticks are longer, and times rounded to them. */
static const uint64_t most_ticks = UINT64_C(1) << 53;

/* --- frames and stacks ------------------------------------------------------------------------ */

static uint32_t copy_text(struct ss_speedscope_rows *rows, uint32_t text)
{
    struct ss_strview view = ss_intern_get(&rows->file->texts, text);
    return ss_intern_put(&rows->model->strings, view.data, view.length);
}

static uint32_t make_frame(struct ss_speedscope_rows *rows, const struct ss_speedscope_frame *frame)
{
    struct ss_strview path = ss_intern_get(&rows->file->texts, frame->file);
    bool is_native = ss_path_is_native(path);
    enum ss_code_origin origin = is_native ? SS_ORIGIN_NATIVE : ss_origin_of_short_path(path);
    struct ss_strview short_path = path;
    if (!is_native) {
        ss_module_of_path(path, origin, &short_path);
    }
    uint32_t name = copy_text(rows, frame->name);
    struct ss_model_frame row = {
        .function = name,
        .name = name,
        .file = copy_text(rows, frame->file),
        .short_file = ss_intern_put(&rows->model->strings, short_path.data, short_path.length),
        .line = frame->line,
        .first_line = -1,
        .kind = is_native         ? SS_FRAME_NATIVE
                : path.length > 0 ? SS_FRAME_INTERPRETED
                                  : SS_FRAME_UNKNOWN,
        .origin = origin};
    return ss_model_frame_id(rows->model, &row);
}

/* The row of a frame; 0: the file lacks it. */
static uint32_t frame_row(struct ss_speedscope_rows *rows, uint64_t index)
{
    if (index >= rows->file->frames.count) {
        return 0;
    }
    uint32_t *row = &rows->frames.data[index];
    *row = *row != 0 ? *row : make_frame(rows, &rows->file->frames.data[index]);
    return *row;
}

/* The stack of the frame below `parent`. Sets the status when there are too many. */
static uint32_t push_frame(struct ss_speedscope_rows *rows, uint32_t parent, uint32_t frame)
{
    if (rows->model->stacks.count >= MAX_STACK_NODES) {
        rows->status = ss_fail(rows->err, SS_E_LIMIT, "more than %d stack nodes: split the file",
                               MAX_STACK_NODES);
        return parent;
    }
    return ss_model_stack_id(rows->model, parent, frame);
}

/* "[6,5,4]" */
static uint32_t parse_stack(struct ss_speedscope_rows *rows, struct ss_strview list)
{
    struct ss_json_cursor cursor = {list.data, list.data + list.length};
    struct ss_strview token;
    uint32_t stack = 0;
    int64_t index;
    if (ss_json_peek(&cursor) != SS_JSON_ARRAY) {
        return unreadable;
    }
    cursor.at++;
    while (ss_json_peek(&cursor) == SS_JSON_NUMBER && rows->status == SS_OK) {
        if (ss_json_read_token(&cursor, &token) != SS_JSON_OK ||
            !ss_json_decimal(token, 0, &index) || index < 0) {
            return unreadable;
        }
        uint32_t frame = frame_row(rows, (uint64_t)index);
        if (frame == 0) {
            return unreadable;
        }
        stack = push_frame(rows, stack, frame);
    }
    return ss_json_peek(&cursor) == SS_JSON_CLOSE ? stack : unreadable;
}

/* All stacks of the file that a sample has; index 0 is unused. */
static void parse_stacks(struct ss_speedscope_rows *rows)
{
    ss_vec_resize(&rows->frames, rows->file->frames.count + 1);
    ss_vec_resize(&rows->stacks, rows->file->stacks.count);
    for (uint32_t i = 1; i < rows->file->stacks.count && rows->status == SS_OK; i++) {
        rows->stacks.data[i] = parse_stack(rows, ss_intern_get(&rows->file->stacks, i));
    }
}

/* --- walks ------------------------------------------------------------------------------------ */

/* A frame of an evented profile that has begun. */
struct open_frame {
    uint32_t index; /* in the file */
    uint32_t stack;
    int64_t begin;
};

/* Walks the profiles twice: to find the length of a tick, then to add what they have. */
struct walk {
    struct ss_speedscope_rows *rows;
    const struct ss_speedscope_profile *profile;
    bool is_adding;
    uint32_t thread, track; /* while adding */
    uint64_t done;          /* weights of the profile that were added */
    struct ss_vec_of(struct open_frame) open;
    struct ss_vec_of(uint32_t) open_counts; /* by frame */
};

static void skip(struct walk *walk, const char *reason)
{
    if (!walk->is_adding) {
        ss_import_window_count_skipped(&walk->rows->window->bytes, walk->profile->offset, reason);
    }
}

static void measure(struct walk *walk, int64_t begin, int64_t end)
{
    struct ss_speedscope_rows *rows = walk->rows;
    bool is_first = rows->spans + rows->gaps + rows->ranges == 0;
    rows->begin = is_first || begin < rows->begin ? begin : rows->begin;
    rows->end = is_first || end > rows->end ? end : rows->end;
}

static uint64_t divisor_of(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Times count from 0. */
static uint64_t time_of(const struct ss_speedscope_rows *rows, int64_t at)
{
    return (uint64_t)(rows->begin < 0 ? at - rows->begin : at);
}

static void add_total(struct walk *walk, uint32_t stack, uint64_t ticks)
{
    struct ss_speedscope_rows *rows = walk->rows;
    struct ss_model_total total = {
        .thread = walk->thread, .stack = stack, .samples = ticks, .records = 1};
    if (ticks > INT64_MAX - rows->model->index->total_samples) {
        rows->status = ss_fail(rows->err, SS_E_LIMIT, "more than 2^63 samples");
        return;
    }
    ss_model_add_total(rows->model, &total);
    rows->model->index->total_samples += ticks;
    rows->model->inputs.data[ss_model_builder_input(rows->builder)].samples += ticks;
}

static void add_samples(struct walk *walk, uint32_t stack, int64_t begin, uint64_t ticks)
{
    struct ss_speedscope_rows *rows = walk->rows;
    for (uint64_t done = 0; done < ticks && rows->status == SS_OK;) {
        uint64_t weight = ticks - done < UINT32_MAX ? ticks - done : UINT32_MAX;
        done += weight;
        struct ss_trace_sample sample = {.time_ns =
                                             time_of(rows, begin) + (done - 1) * rows->period,
                                         .thread_ref = walk->thread,
                                         .stack_ref = stack,
                                         .weight = (uint32_t)weight,
                                         .step = -1};
        rows->status = ss_model_builder_sample(rows->builder, &sample, rows->err);
    }
}

/* The stack lasts for `weight` from `begin` on. */
static void put_span(struct walk *walk, uint32_t stack, int64_t begin, int64_t weight)
{
    struct ss_speedscope_rows *rows = walk->rows;
    if (walk->is_adding) {
        uint64_t before = walk->done / rows->period;
        walk->done += (uint64_t)weight;
        uint64_t ticks = walk->done / rows->period - before;
        if (ss_speedscope_is_time(rows->unit)) {
            add_samples(walk, stack, begin, ticks);
        } else {
            add_total(walk, stack, ticks);
        }
        return;
    }
    if ((uint64_t)weight > INT64_MAX - rows->total) {
        rows->status = ss_fail(rows->err, SS_E_LIMIT, "weights of more than 2^63 in all");
        return;
    }
    measure(walk, begin, begin + weight);
    rows->spans += stack != 0;
    rows->gaps += stack == 0;
    rows->total += (uint64_t)weight;
    rows->divisor = divisor_of(rows->divisor, (uint64_t)weight);
}

static int64_t or_zero(union ss_speedscope_number number)
{
    return number.fixed != SS_SPEEDSCOPE_UNREADABLE ? number.fixed : 0;
}

static void walk_samples(struct walk *walk)
{
    const struct ss_speedscope_profile *profile = walk->profile;
    int64_t at = or_zero(profile->start);
    for (size_t i = 0; i < profile->stacks.count && walk->rows->status == SS_OK; i++) {
        int64_t weight = i < profile->weights.count ? profile->weights.data[i].fixed : -1;
        uint32_t stack = walk->rows->stacks.data[profile->stacks.data[i]];
        if (weight < 0) {
            skip(walk, "a sample without a readable weight");
            continue;
        }
        if (at > INT64_MAX - weight || at + weight < -INT64_MAX / 2) {
            skip(walk, "a time beyond 63 bits");
            break;
        }
        if (stack == unreadable) {
            skip(walk, "a sample with a frame that the file lacks");
        } else if (weight > 0) { /* stack 0: the thread was seen without a frame */
            put_span(walk, stack, at, weight);
        }
        at += weight;
    }
}

/* --- evented profiles ------------------------------------------------------------------------- */

static void put_range(struct walk *walk, const struct open_frame *open, int64_t end, uint8_t flags)
{
    struct ss_speedscope_rows *rows = walk->rows;
    if (!walk->is_adding) {
        measure(walk, open->begin, end);
        rows->ranges++;
        return;
    }
    struct ss_trace_name name = {
        .text = ss_intern_get(&rows->file->texts, rows->file->frames.data[open->index].name)};
    struct ss_builder_range range = {.begin_ns = time_of(rows, open->begin),
                                     .end_ns = time_of(rows, end),
                                     .track = walk->track,
                                     .name = ss_model_builder_name(rows->builder, &name),
                                     .flags = flags};
    ss_model_builder_range(rows->builder, &range);
}

static void begin_frame(struct walk *walk, uint32_t index, int64_t at)
{
    struct ss_speedscope_rows *rows = walk->rows;
    uint32_t frame = frame_row(rows, index);
    if (frame == 0) {
        skip(walk, "an event with a frame that the file lacks");
        return;
    }
    uint32_t parent = walk->open.count > 0 ? walk->open.data[walk->open.count - 1].stack : 0;
    ss_vec_push(&walk->open,
                (struct open_frame){.index = index,
                                    .stack = rows->is_own ? 0 : push_frame(rows, parent, frame),
                                    .begin = at});
    walk->open_counts.data[index]++;
}

static uint32_t pop_frame(struct walk *walk, int64_t at, uint8_t flags)
{
    struct open_frame open = walk->open.data[--walk->open.count];
    walk->open_counts.data[open.index]--;
    if (walk->rows->is_own) {
        put_range(walk, &open, at, flags);
    }
    return open.index;
}

/* Frames that began later end, too. */
static void end_frame(struct walk *walk, uint32_t index, int64_t at)
{
    if (index >= walk->open_counts.count || walk->open_counts.data[index] == 0) {
        skip(walk, "an end without a begin");
        return;
    }
    while (pop_frame(walk, at, 0) != index) {
    }
}

static void put_open_span(struct walk *walk, int64_t from, int64_t to)
{
    if (walk->open.count > 0 && to > from && !walk->rows->is_own) {
        put_span(walk, walk->open.data[walk->open.count - 1].stack, from, to - from);
    }
}

static void walk_events(struct walk *walk)
{
    const struct ss_speedscope_profile *profile = walk->profile;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < profile->events.count && walk->rows->status == SS_OK; i++) {
        const struct ss_speedscope_event *event = &profile->events.data[i];
        int64_t at = event->at.fixed;
        if (at < -INT64_MAX / 2 || at > INT64_MAX / 2) {
            skip(walk, "an event without a readable time");
            continue;
        }
        if (at < last) {
            skip(walk, "an event before the one in front of it");
            continue;
        }
        put_open_span(walk, last, at);
        last = at;
        if (event->is_end) {
            end_frame(walk, event->frame, at);
        } else {
            begin_frame(walk, event->frame, at);
        }
    }
    int64_t end = or_zero(profile->end);
    end = end > last && end <= INT64_MAX / 2 ? end : last;
    put_open_span(walk, last, end);
    while (walk->open.count > 0) {
        pop_frame(walk, end, SS_EVENT_END_UNSEEN);
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The entry of `rows_of` for the key; 0: new. */
#define ROW_OF(keys, rows_of, key)                                                                 \
    __extension__({                                                                                \
        uint32_t id_ = ss_intern_put((keys), (const char *)(key), sizeof *(key));                  \
        if (id_ >= (rows_of)->count) {                                                             \
            ss_vec_resize((rows_of), (size_t)id_ + 1);                                             \
        }                                                                                          \
        &(rows_of)->data[id_];                                                                     \
    })

static uint32_t process_of(struct ss_speedscope_rows *rows, const struct ss_speedscope_owner *owner)
{
    struct ss_model *model = rows->model;
    uint32_t *known = ROW_OF(&rows->process_keys, &rows->process_rows, &owner->pid);
    if (*known == 0) {
        *known = ss_model_add_process(model, ss_model_builder_input(rows->builder), owner->pid, 0);
        model->processes.data[*known].label =
            ss_intern_put(&model->strings, owner->label.data, owner->label.length);
    }
    return *known;
}

static uint32_t thread_of(struct ss_speedscope_rows *rows, const struct ss_speedscope_owner *owner)
{
    struct ss_model *model = rows->model;
    struct {
        int64_t tid;
        int32_t pid;
        uint32_t name;
    } key = {owner->tid, owner->pid,
             ss_intern_put(&model->strings, owner->name.data, owner->name.length)};
    uint32_t *known = ROW_OF(&rows->thread_keys, &rows->thread_rows, &key);
    if (*known == 0) {
        *known = ss_model_add_thread(model, process_of(rows, owner), owner->tid);
        model->inputs.data[ss_model_builder_input(rows->builder)].threads++;
        struct ss_model_thread *thread = &model->threads.data[*known];
        thread->name = key.name;
        thread->is_main = owner->tid < 0 || owner->tid == owner->pid ||
                          strcmp(ss_model_text(model, key.name), "MainThread") == 0;
    }
    return *known;
}

static uint32_t track_of(struct ss_speedscope_rows *rows, const struct ss_speedscope_owner *owner)
{
    uint32_t thread = owner->has_thread ? thread_of(rows, owner) : 0;
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = process_of(rows, owner),
                                   .thread_ref = thread,
                                   .name = owner->rest};
    return ss_model_builder_track(rows->builder, 0, &track);
}

/* --- all profiles ----------------------------------------------------------------------------- */

static bool is_loaded(const struct ss_speedscope_rows *rows,
                      const struct ss_speedscope_profile *profile)
{
    return ss_speedscope_is_time(rows->unit) ? ss_speedscope_is_time(profile->unit)
                                             : profile->unit == rows->unit;
}

static void walk_profile(struct walk *walk, const struct ss_speedscope_profile *profile)
{
    struct ss_speedscope_rows *rows = walk->rows;
    if (!is_loaded(rows, profile)) {
        skip(walk, "a profile in another unit");
        return;
    }
    bool is_evented = profile->events.count > 0;
    if (walk->is_adding) {
        struct ss_speedscope_owner owner =
            ss_speedscope_owner_of(ss_intern_get(&rows->file->texts, profile->name));
        bool has_track = rows->is_own && is_evented;
        walk->track = has_track ? track_of(rows, &owner) : 0;
        walk->thread = has_track ? 0 : thread_of(rows, &owner);
    }
    walk->profile = profile;
    walk->done = 0;
    if (!is_evented) {
        walk_samples(walk);
    } else if (!walk->is_adding || !rows->is_own || !rows->load->no_tracks) {
        walk_events(walk);
    }
}

static void walk_all(struct ss_speedscope_rows *rows, bool is_adding)
{
    struct walk walk = {.rows = rows, .is_adding = is_adding};
    ss_vec_resize(&walk.open_counts, rows->file->frames.count + 1);
    for (size_t i = 0; i < rows->file->profiles.count && rows->status == SS_OK; i++) {
        walk.profile = &rows->file->profiles.data[i];
        walk_profile(&walk, walk.profile);
    }
    ss_vec_fini(&walk.open);
    ss_vec_fini(&walk.open_counts);
}

static bool has_content(const struct ss_speedscope_profile *profile)
{
    return profile->stacks.count > 0 || profile->events.count > 0;
}

/* Times if there are any; else the unit of the profile that a viewer shows first. */
static void select_unit(struct ss_speedscope_rows *rows)
{
    const struct ss_speedscope_file *file = rows->file;
    size_t active = file->active < file->profiles.count ? file->active : 0;
    rows->unit = file->profiles.count > 0 ? file->profiles.data[active].unit : SS_SPEEDSCOPE_NONE;
    for (size_t i = 0; i < file->profiles.count; i++) {
        const struct ss_speedscope_profile *profile = &file->profiles.data[i];
        if (ss_speedscope_is_time(profile->unit) && has_content(profile)) {
            rows->unit = profile->unit;
            return;
        }
    }
}

static void select_period(struct ss_speedscope_rows *rows)
{
    uint64_t least = rows->total / most_ticks + 1;
    bool is_time = ss_speedscope_is_time(rows->unit);
    rows->period = is_time ? rows->divisor : SS_SPEEDSCOPE_MILLION;
    rows->period = rows->period > least ? rows->period : least;
}

/* --- the input -------------------------------------------------------------------------------- */

static enum ss_status check(struct ss_speedscope_rows *rows)
{
    const struct ss_json_window *window = rows->window;
    const char *path = window->bytes.file->path;
    bool is_time = ss_speedscope_is_time(rows->unit);
    if (rows->status != SS_OK) {
        return rows->status;
    }
    if (rows->spans + rows->ranges == 0 && window->bytes.status != SS_OK) {
        return ss_fail(rows->err, window->bytes.status, "%s", window->bytes.err.message);
    }
    if (rows->spans + rows->ranges == 0 && window->bytes.is_cut && !rows->file->has_frames) {
        return ss_fail(rows->err, SS_E_FORMAT,
                       "%s ends before the frames that its samples name, at byte %" PRIu64, path,
                       ss_import_window_offset(&window->bytes));
    }
    if (rows->spans + rows->ranges == 0 && window->bytes.skipped > 0) {
        return ss_fail(rows->err, SS_E_FORMAT,
                       "%s: nothing in it is readable; the first that is not, at byte %" PRIu64
                       ": %s",
                       path, window->bytes.first_skipped, window->bytes.skip_reason);
    }
    if (rows->file->profiles.count == 0) {
        return ss_fail(rows->err, SS_E_FORMAT, "%s is a speedscope file without a profile", path);
    }
    if (!is_time && (rows->load->has_time_range || rows->load->has_steps)) {
        return ss_fail(rows->err, SS_E_USAGE,
                       "%s has no times, only weights: %s need a file with times", path,
                       rows->load->has_steps ? "steps" : "times");
    }
    struct ss_step_numbers none = {0};
    return rows->load->has_steps ? ss_step_span_fail(path, 1, rows->load->first_step,
                                                     rows->load->last_step, &none, rows->err)
                                 : SS_OK;
}

/* The length of a tick, as the rate of ticks. */
static void put_rate(struct ss_speedscope_rows *rows)
{
    char text[32];
    if (ss_speedscope_is_time(rows->unit) && rows->spans + rows->gaps > 0) {
        int length = snprintf(text, sizeof text, "%.17g", 1e9 / (double)rows->period);
        struct ss_trace_attribute rate = {.key = ss_strview_of("rate_hz"),
                                          .text = {text, (size_t)length}};
        ss_model_builder_attribute(rows->builder, &rate);
    }
}

static void put_input(struct ss_speedscope_rows *rows)
{
    const struct ss_speedscope_file *file = rows->file;
    const struct ss_json_window *window = rows->window;
    bool is_time = ss_speedscope_is_time(rows->unit);
    bool has_times = is_time && rows->spans + rows->gaps + rows->ranges > 0;
    struct ss_strview exporter = ss_intern_get(&file->texts, file->exporter);
    struct ss_trace_summary summary = {.file_bytes = ss_import_window_offset(&window->bytes),
                                       .events = rows->ranges,
                                       .first_event_ns = has_times ? time_of(rows, rows->begin) : 0,
                                       .last_event_ns = has_times ? time_of(rows, rows->end) : 0,
                                       .sealed = !window->bytes.is_cut};
    struct ss_model_input *input = &rows->model->inputs.data[ss_model_builder_input(rows->builder)];
    input->is_untimed = !is_time;
    input->unit =
        rows->unit == SS_SPEEDSCOPE_BYTES ? ss_intern_put_text(&rows->model->strings, "bytes") : 0;
    struct ss_trace_attribute name = {.key =
                                          ss_strview_of(rows->is_own ? "command" : "profile_name"),
                                      .text = ss_intern_get(&file->texts, file->name)};
    if (name.text.length > 0) {
        ss_model_builder_attribute(rows->builder, &name);
    }
    struct ss_builder_skipped skipped = ss_import_window_skipped(&window->bytes);
    ss_model_builder_import(
        rows->builder,
        exporter.length > 0 ? exporter : ss_strview_of("a tool that writes speedscope files"),
        &skipped);
    ss_model_builder_summary(rows->builder, &summary);
}

static enum ss_status add_input(struct ss_speedscope_rows *rows)
{
    uint64_t base_ns = rows->load->on_axis ? 0 : time_of(rows, rows->begin);
    rows->builder = ss_model_builder_new(rows->model, SS_INPUT_IMPORT,
                                         rows->window->bytes.file->path, rows->load, &base_ns);
    put_rate(rows);
    put_input(rows);
    walk_all(rows, true);
    if (rows->status == SS_OK) {
        ss_model_builder_end(rows->builder);
    }
    ss_model_builder_free(rows->builder);
    return rows->status;
}

enum ss_status ss_speedscope_rows_add(struct ss_model *model, const struct ss_speedscope_file *file,
                                      struct ss_json_window *window,
                                      const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_speedscope_rows rows = {
        .model = model, .load = load, .window = window, .file = file, .err = err};
    struct ss_strview exporter = ss_intern_get(&file->texts, file->exporter);
    static const char own[] = "stepscope ";
    rows.is_own = exporter.length > sizeof own && memcmp(exporter.data, own, sizeof own - 1) == 0;
    ss_intern_init(&rows.thread_keys);
    ss_intern_init(&rows.process_keys);
    select_unit(&rows);
    parse_stacks(&rows);
    walk_all(&rows, false);
    select_period(&rows);
    enum ss_status status = check(&rows);
    if (status == SS_OK) {
        status = add_input(&rows);
    }
    ss_intern_fini(&rows.thread_keys);
    ss_intern_fini(&rows.process_keys);
    ss_vec_fini(&rows.thread_rows);
    ss_vec_fini(&rows.process_rows);
    ss_vec_fini(&rows.frames);
    ss_vec_fini(&rows.stacks);
    return status;
}
