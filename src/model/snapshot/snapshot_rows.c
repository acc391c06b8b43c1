/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot/snapshot_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/shared_names.h"
#include "model/core/domains.h"
#include "model/core/stack_list.h"
#include "model/core/torch_names.h"
#include "trace/event_fields.h"
#include "wire/json_scan.h"

enum { MOST_FRAMES = 256, MOST_STACK_BYTES = 1 << 18 };

void ss_snapshot_rows_init(struct ss_snapshot_rows *rows, struct ss_model_builder *builder,
                           struct ss_pickle *pickle, struct ss_input_budget *budget)
{
    *rows = (struct ss_snapshot_rows){.builder = builder, .pickle = pickle, .budget = budget};
    ss_intern_init(&rows->stacks);
    ss_strbuf_init(&rows->text, MOST_STACK_BYTES);
#define SS_SNAPSHOT_WORD(text) rows->words.text = ss_pickle_key(pickle, #text);
    SS_SNAPSHOT_WORDS(SS_SNAPSHOT_WORD)
#undef SS_SNAPSHOT_WORD
}

void ss_snapshot_rows_fini(struct ss_snapshot_rows *rows)
{
    ss_vec_fini(&rows->devices);
    ss_vec_fini(&rows->stack_of);
    ss_intern_fini(&rows->stacks);
    ss_strbuf_fini(&rows->text);
}

/* A key is found by comparing all of its dict, which has few of them in a snapshot. */
enum ss_status ss_snapshot_charge(const struct ss_snapshot_rows *rows, struct ss_pickle_value entry,
                                  struct ss_error *err)
{
    enum { FREE_VALUES = 128 };
    uint64_t values =
        entry.type == SS_PICKLE_DICT ? rows->pickle->objects.data[entry.object].count : 0;
    return ss_input_budget_rows(rows->budget, 1 + values / FREE_VALUES, err);
}

uint64_t ss_snapshot_number(const struct ss_snapshot_rows *rows, struct ss_pickle_value dict,
                            uint32_t key, uint64_t other)
{
    struct ss_pickle_value value = ss_pickle_get(rows->pickle, dict, key);
    return value.type == SS_PICKLE_INTEGER && value.integer >= 0 ? (uint64_t)value.integer : other;
}

bool ss_snapshot_is(struct ss_pickle_value value, uint32_t word)
{
    return value.type == SS_PICKLE_TEXT && value.text == word;
}

/* --- process, thread, devices ----------------------------------------------------------------- */

/* A snapshot says neither which process it is of, nor which thread allocated. */
static void put_thread(struct ss_snapshot_rows *rows)
{
    if (rows->thread == 0) {
        struct ss_trace_process process = {.pid = -1, .parent_pid = -1};
        rows->process = ss_model_builder_process(rows->builder, 0, &process);
        struct ss_trace_thread thread = {.process_ref = rows->process, .tid = -1, .is_main = true};
        rows->thread = ss_model_builder_thread(rows->builder, 0, &thread);
    }
}

static uint32_t track(struct ss_snapshot_rows *rows, uint32_t *known, enum ss_track_kind kind,
                      const char *name)
{
    if (*known == 0) {
        put_thread(rows);
        struct ss_trace_track row = {.kind = kind,
                                     .process_ref = rows->process,
                                     .thread_ref = rows->thread,
                                     .name = ss_strview_of(name)};
        *known = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *known;
}

static uint32_t device_row(struct ss_snapshot_rows *rows, uint64_t number)
{
    if (number >= rows->devices.count) {
        ss_vec_resize(&rows->devices, (size_t)number + 1);
    }
    uint32_t *row = &rows->devices.data[number];
    if (*row == 0) {
        struct ss_trace_device device = {.kind = SS_DEVICE_GPU, .number = (uint32_t)number + 1};
        *row = ss_model_builder_device(rows->builder, 0, &device);
    }
    return *row;
}

static uint32_t name_row(struct ss_snapshot_rows *rows, enum ss_snapshot_mark mark)
{
    static const struct {
        const char *text, *category;
        enum ss_event_type type;
    } names[SS_SNAPSHOT_MARKS] = {
        [SS_SNAPSHOT_ALLOC] = {"[memory]", "", SS_EVENT_TYPE_allocation},
        [SS_SNAPSHOT_BEFORE] = {SS_MARK_ALLOCATED_BEFORE, "", SS_EVENT_TYPE_instant},
        [SS_SNAPSHOT_SEGMENT] = {SS_MARK_SEGMENT, "", SS_EVENT_TYPE_instant},
        [SS_SNAPSHOT_SEGMENT_PART] = {SS_MARK_SEGMENT, SS_CATEGORY_EXPANDABLE,
                                      SS_EVENT_TYPE_instant},
        [SS_SNAPSHOT_SEGMENT_BEFORE] = {SS_MARK_SEGMENT_BEFORE, "", SS_EVENT_TYPE_instant},
        [SS_SNAPSHOT_SEGMENT_PART_BEFORE] = {SS_MARK_SEGMENT_BEFORE, SS_CATEGORY_EXPANDABLE,
                                             SS_EVENT_TYPE_instant},
        [SS_SNAPSHOT_OOM] = {SS_MARK_OUT_OF_MEMORY, "", SS_EVENT_TYPE_instant}};
    if (rows->names[mark] == 0) {
        struct ss_trace_name name = {.text = ss_strview_of(names[mark].text),
                                     .category = ss_strview_of(names[mark].category),
                                     .type = names[mark].type};
        rows->names[mark] = ss_model_builder_name(rows->builder, &name);
    }
    return rows->names[mark];
}

/* --- frames ----------------------------------------------------------------------------------- */

static struct ss_strview text_of(const struct ss_snapshot_rows *rows, struct ss_pickle_value dict,
                                 uint32_t key)
{
    struct ss_pickle_value value = ss_pickle_get(rows->pickle, dict, key);
    return value.type == SS_PICKLE_TEXT ? ss_intern_get(&rows->pickle->texts, value.text)
                                        : (struct ss_strview){"", 0};
}

static void write_frames(struct ss_snapshot_rows *rows, struct ss_pickle_value frames)
{
    size_t count = ss_pickle_count(rows->pickle, frames);
    ss_strbuf_clear(&rows->text);
    for (size_t i = 0; i < count && i < MOST_FRAMES; i++) {
        struct ss_pickle_value dict = ss_pickle_at(rows->pickle, frames, i);
        if (ss_snapshot_charge(rows, dict, NULL) != SS_OK) {
            break; /* the next entry reports it */
        }
        struct ss_listed_frame frame = {
            .file = text_of(rows, dict, rows->words.filename),
            .function = text_of(rows, dict, rows->words.name),
            .line = (int64_t)ss_snapshot_number(rows, dict, rows->words.line, 0)};
        if (frame.function.length > 0) {
            ss_stack_list_append(&rows->text, &frame);
        }
    }
    ss_stack_list_close(&rows->text);
}

/* Events of one call share their list of frames. Empty: unknown. */
static struct ss_strview stack_of(struct ss_snapshot_rows *rows, struct ss_pickle_value frames)
{
    if (frames.type != SS_PICKLE_LIST && frames.type != SS_PICKLE_TUPLE) {
        return (struct ss_strview){"", 0};
    }
    if (frames.object >= rows->stack_of.count) {
        ss_vec_resize(&rows->stack_of, (size_t)frames.object + 1);
    }
    uint32_t *known = &rows->stack_of.data[frames.object];
    if (*known == 0) {
        write_frames(rows, frames);
        size_t length = rows->text.overflow ? 0 : rows->text.length;
        *known = 1 + ss_intern_put(&rows->stacks, rows->text.data, length);
    }
    return ss_intern_get(&rows->stacks, *known - 1);
}

/* --- events ----------------------------------------------------------------------------------- */

static void count(struct ss_snapshot_rows *rows, uint64_t time_ns)
{
    rows->first_ns = rows->events == 0 || time_ns < rows->first_ns ? time_ns : rows->first_ns;
    rows->last_ns = rows->events == 0 || time_ns > rows->last_ns ? time_ns : rows->last_ns;
    rows->events++;
}

void ss_snapshot_add(struct ss_snapshot_rows *rows, const struct ss_snapshot_event *event)
{
    struct ss_event_value fields[3];
    struct ss_strview stack = stack_of(rows, event->frames);
    uint32_t field_count = 0;
    fields[field_count++] = (struct ss_event_value){
        SS_EVENT_FIELD_device, {SS_VALUE_UINT, {.natural = device_row(rows, event->device)}}};
    fields[field_count++] =
        event->mark == SS_SNAPSHOT_OOM
            ? (struct ss_event_value){SS_EVENT_FIELD_bytes,
                                      {SS_VALUE_INT, {.integer = (int64_t)event->requested}}}
            : (struct ss_event_value){SS_EVENT_FIELD_address,
                                      {SS_VALUE_UINT, {.natural = event->address}}};
    if (stack.length > 0) {
        fields[field_count++] =
            (struct ss_event_value){SS_EVENT_FIELD_stack, {SS_VALUE_TEXT, {.text = stack}}};
    }
    struct ss_trace_event mark = {
        .time_ns = event->time_ns,
        .track_ref = track(rows, &rows->memory_track, SS_TRACK_RANGES, SS_DOMAIN_MEMORY),
        .name_ref = name_row(rows, event->mark),
        .kind = SS_EVENT_INSTANT,
        .payload = {SS_VALUE_INT, {.integer = event->bytes}},
        .fields = fields,
        .field_count = field_count};
    count(rows, event->time_ns);
    ss_model_builder_event(rows->builder, &mark);
}

void ss_snapshot_add_range(struct ss_snapshot_rows *rows, uint64_t begin_ns, uint64_t end_ns,
                           struct ss_strview name)
{
    int64_t number = 0;
    struct ss_builder_range range = {.begin_ns = begin_ns, .end_ns = end_ns};
    if (ss_torch_profiler_step(name, &number)) {
        range.track = track(rows, &rows->step_track, SS_TRACK_STEPS, "step");
        range.payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
    } else {
        struct ss_trace_name row = {
            .text = name, .category = ss_strview_of("scope"), .type = SS_EVENT_TYPE_range};
        range.track = track(rows, &rows->torch_track, SS_TRACK_RANGES, ss_domain_torch);
        range.name = ss_model_builder_name(rows->builder, &row);
    }
    count(rows, begin_ns);
    count(rows, end_ns);
    ss_model_builder_range(rows->builder, &range);
}
