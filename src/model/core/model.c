/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/model.h"

#include <stdbool.h>

#include "model/core/index.h"
#include "model/core/owner.h"
#include "trace/event_fields.h"

/* Ids are u32, and a slot table holds twice as many slots, a power of two. */
enum { MAX_ROWS = 0x3fffffff };

void ss_model_init(struct ss_model *model)
{
    *model = (struct ss_model){0};
    ss_intern_init(&model->strings);
    ss_vec_push_zero(&model->clock_domains);
    ss_vec_push_zero(&model->processes);
    model->processes.data[0].pid = -1;
    model->processes.data[0].parent_pid = -1;
    ss_vec_push_zero(&model->threads);
    model->threads.data[0].tid = -1;
    ss_vec_push_zero(&model->frames);
    model->frames.data[0].line = -1;
    model->frames.data[0].first_line = -1;
    ss_vec_push_zero(&model->stacks);
    ss_vec_push_zero(&model->devices);
    ss_vec_push_zero(&model->hosts);
    ss_vec_push_zero(&model->contexts);
    ss_vec_push_zero(&model->streams);
    ss_vec_push_zero(&model->groups);
    ss_vec_push_zero(&model->tracks);
    ss_vec_push_zero(&model->names);
    ss_vec_push_zero(&model->paths);
    ss_vec_push_zero(&model->payloads);
    ss_vec_push_zero(&model->fields);
    ss_vec_push_zero(&model->metric_kinds);
    model->index = ss_alloc_zero(1, sizeof *model->index);
    ss_intern_init(&model->index->line_keys);
    ss_intern_init(&model->index->metric_keys);
}

static void fini_index(struct ss_model_index *index)
{
    ss_free(index->frames.ids);
    ss_free(index->stacks.ids);
    ss_free(index->totals.ids);
    ss_free(index->paths.ids);
    ss_free(index->field_lists.ids);
    ss_vec_fini(&index->last_totals);
    ss_vec_fini(&index->first_steps);
    ss_identities_fini(&index->processes);
    ss_identities_fini(&index->threads);
    ss_identities_fini(&index->tracks);
    ss_identities_fini(&index->names);
    ss_vec_fini(&index->step_names);
    ss_intern_fini(&index->line_keys);
    ss_intern_fini(&index->metric_keys);
    ss_note_index_fini(&index->notes);
}

/* Long: one line for each table. */
void ss_model_fini(struct ss_model *model)
{
    ss_intern_fini(&model->strings);
    ss_vec_fini(&model->inputs);
    ss_vec_fini(&model->clock_domains);
    ss_vec_fini(&model->clock_segments);
    ss_vec_fini(&model->clock_readings);
    ss_vec_fini(&model->processes);
    ss_vec_fini(&model->threads);
    ss_vec_fini(&model->frames);
    ss_vec_fini(&model->stacks);
    ss_vec_fini(&model->totals);
    ss_vec_fini(&model->lines);
    ss_vec_fini(&model->samples);
    ss_vec_fini(&model->gil_spans);
    ss_vec_fini(&model->attributes);
    ss_vec_fini(&model->sources);
    ss_vec_fini(&model->devices);
    ss_vec_fini(&model->hosts);
    ss_vec_fini(&model->contexts);
    ss_vec_fini(&model->streams);
    ss_vec_fini(&model->groups);
    ss_vec_fini(&model->rank_runs);
    ss_vec_fini(&model->runs);
    ss_vec_fini(&model->counts);
    ss_vec_fini(&model->notes);
    ss_vec_fini(&model->tracks);
    ss_vec_fini(&model->names);
    ss_vec_fini(&model->paths);
    ss_vec_fini(&model->ranges);
    ss_vec_fini(&model->marks);
    ss_vec_fini(&model->flows);
    ss_vec_fini(&model->payloads);
    ss_vec_fini(&model->fields);
    ss_vec_fini(&model->metric_kinds);
    ss_vec_fini(&model->metrics);
    ss_vec_fini(&model->values);
    ss_vec_fini(&model->line_times);
    if (model->index != NULL) {
        fini_index(model->index);
        ss_free(model->index);
    }
    *model = (struct ss_model){0};
}

uint32_t ss_model_new_input(struct ss_model *model, enum ss_input_kind kind, const char *path)
{
    ss_vec_push(&model->inputs,
                (struct ss_model_input){.kind = kind,
                                        .path = ss_intern_put_text(&model->strings, path),
                                        .is_untimed = kind == SS_INPUT_RAW});
    return (uint32_t)model->inputs.count - 1;
}

uint32_t ss_model_add_process(struct ss_model *model, uint32_t input, int32_t pid, uint32_t parent)
{
    ss_vec_push(&model->processes,
                (struct ss_model_process){.input = input,
                                          .pid = pid,
                                          .parent = parent,
                                          .parent_pid = model->processes.data[parent].pid});
    model->inputs.data[input].processes++;
    return (uint32_t)model->processes.count - 1;
}

uint32_t ss_model_add_thread(struct ss_model *model, uint32_t process, int64_t tid)
{
    ss_vec_push(&model->threads, (struct ss_model_thread){.process = process, .tid = tid});
    return (uint32_t)model->threads.count - 1;
}

static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static uint64_t hash_frame(const struct ss_model_frame *frame)
{
    uint64_t hash = ss_hash_u64(pair(frame->function, frame->name));
    hash = ss_hash_u64(hash ^ pair(frame->file, frame->short_file));
    return ss_hash_u64(hash ^ pair((uint32_t)frame->line, (uint32_t)frame->first_line) ^
                       ((uint64_t)frame->kind << 20) ^ ((uint64_t)frame->origin << 25));
}

static bool same_frame(const struct ss_model_frame *a, const struct ss_model_frame *b)
{
    return a->function == b->function && a->name == b->name && a->file == b->file &&
           a->short_file == b->short_file && a->line == b->line && a->first_line == b->first_line &&
           a->kind == b->kind && a->origin == b->origin;
}

/* Outside of the usual folders, the short path begins at the package. */
static enum ss_code_owner owner_of(const struct ss_model *model, const struct ss_model_frame *frame)
{
    struct ss_strview path = ss_intern_get(&model->strings, frame->file), module = path;
    bool is_elsewhere =
        frame->origin == SS_ORIGIN_PACKAGE && !ss_module_of_path(path, frame->origin, &module);
    return ss_owner_of(frame->origin,
                       is_elsewhere ? ss_intern_get(&model->strings, frame->short_file) : path);
}

uint32_t ss_model_frame_id(struct ss_model *model, const struct ss_model_frame *frame)
{
    struct ss_slots *slots = &model->index->frames;
    if (ss_slots_grow(slots)) {
        for (uint32_t id = 1; id < model->frames.count; id++) {
            ss_slots_insert(slots, hash_frame(&model->frames.data[id]), id);
        }
    }
    uint64_t hash = hash_frame(frame);
    uint32_t slot = (uint32_t)hash & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        uint32_t id = slots->ids[slot] - 1;
        if (same_frame(&model->frames.data[id], frame)) {
            return id;
        }
    }
    if (model->frames.count >= MAX_ROWS) {
        ss_bug("more than %d frames", MAX_ROWS);
    }
    uint32_t id = (uint32_t)model->frames.count;
    ss_vec_push(&model->frames, *frame);
    model->frames.data[id].owner = owner_of(model, frame);
    slots->ids[slot] = id + 1;
    slots->used++;
    return id;
}

uint32_t ss_model_stack_id(struct ss_model *model, uint32_t parent, uint32_t frame)
{
    struct ss_slots *slots = &model->index->stacks;
    if (ss_slots_grow(slots)) {
        for (uint32_t id = 1; id < model->stacks.count; id++) {
            const struct ss_model_stack *node = &model->stacks.data[id];
            ss_slots_insert(slots, ss_hash_u64(pair(node->parent, node->frame)), id);
        }
    }
    uint32_t slot = (uint32_t)ss_hash_u64(pair(parent, frame)) & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        uint32_t id = slots->ids[slot] - 1;
        const struct ss_model_stack *node = &model->stacks.data[id];
        if (node->parent == parent && node->frame == frame) {
            return id;
        }
    }
    if (model->stacks.count >= MAX_ROWS) {
        ss_bug("more than %d stack nodes", MAX_ROWS);
    }
    uint32_t id = (uint32_t)model->stacks.count;
    uint32_t depth = model->stacks.data[parent].depth + 1;
    ss_vec_push(&model->stacks, (struct ss_model_stack){parent, frame, depth});
    slots->ids[slot] = id + 1;
    slots->used++;
    return id;
}

uint32_t ss_model_path_id(struct ss_model *model, uint32_t parent, uint32_t name)
{
    struct ss_slots *slots = &model->index->paths;
    if (ss_slots_grow(slots)) {
        for (uint32_t id = 1; id < model->paths.count; id++) {
            const struct ss_model_path *node = &model->paths.data[id];
            ss_slots_insert(slots, ss_hash_u64(pair(node->parent, node->name)), id);
        }
    }
    uint32_t slot = (uint32_t)ss_hash_u64(pair(parent, name)) & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        uint32_t id = slots->ids[slot] - 1;
        const struct ss_model_path *node = &model->paths.data[id];
        if (node->parent == parent && node->name == name) {
            return id;
        }
    }
    if (model->paths.count >= MAX_ROWS) {
        ss_bug("more than %d paths of ranges", MAX_ROWS);
    }
    uint32_t id = (uint32_t)model->paths.count;
    uint32_t depth = model->paths.data[parent].depth + 1;
    ss_vec_push(&model->paths, (struct ss_model_path){parent, name, depth});
    slots->ids[slot] = id + 1;
    slots->used++;
    return id;
}

static uint64_t hash_total(const struct ss_model_total *total)
{
    uint64_t flags = (uint64_t)total->state | (uint64_t)total->gil << 8 |
                     (uint64_t)total->partial << 16 | (uint64_t)total->step << 17 |
                     (uint64_t)total->wait << 19 | (uint64_t)total->in_operator << 22;
    uint64_t range =
        total->range * UINT64_C(0x9e3779b97f4a7c15) ^ total->phase * UINT64_C(0xd6e8feb86659fd93);
    return ss_hash_u64(pair(total->thread, total->stack) ^ (flags << 40) ^ range);
}

static bool same_total(const struct ss_model_total *a, const struct ss_model_total *b)
{
    return a->thread == b->thread && a->stack == b->stack && a->range == b->range &&
           a->phase == b->phase && a->state == b->state && a->gil == b->gil &&
           a->partial == b->partial && a->step == b->step && a->wait == b->wait &&
           a->in_operator == b->in_operator && a->in_pass == b->in_pass;
}

/* Index of the total's row, added when it is new. */
static uint32_t find_total(struct ss_model *model, const struct ss_model_total *total)
{
    struct ss_slots *slots = &model->index->totals;
    if (ss_slots_grow(slots)) {
        for (uint32_t id = 0; id < model->totals.count; id++) {
            ss_slots_insert(slots, hash_total(&model->totals.data[id]), id);
        }
    }
    uint32_t slot = (uint32_t)hash_total(total) & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        if (same_total(&model->totals.data[slots->ids[slot] - 1], total)) {
            return slots->ids[slot] - 1;
        }
    }
    if (model->totals.count >= MAX_ROWS) {
        ss_bug("more than %d rows of totals", MAX_ROWS);
    }
    struct ss_model_total row = *total;
    row.samples = row.records = 0;
    ss_vec_push(&model->totals, row);
    slots->ids[slot] = (uint32_t)model->totals.count;
    slots->used++;
    return (uint32_t)model->totals.count - 1;
}

void ss_model_add_total(struct ss_model *model, const struct ss_model_total *total)
{
    struct ss_model_index *index = model->index;
    if (total->thread >= index->last_totals.count) {
        ss_vec_resize(&index->last_totals, (size_t)total->thread + 1);
    }
    uint32_t *last = &index->last_totals.data[total->thread];
    if (*last == 0 || !same_total(&model->totals.data[*last - 1], total)) {
        *last = find_total(model, total) + 1;
    }
    model->totals.data[*last - 1].samples += total->samples;
    model->totals.data[*last - 1].records += total->records;
}

void ss_model_clear_samples(struct ss_model *model, enum ss_total_weight weight)
{
    struct ss_model_index *index = model->index;
    ss_vec_clear(&model->totals);
    ss_vec_clear(&model->lines);
    ss_vec_clear(&model->samples);
    ss_vec_clear(&index->last_totals);
    ss_free(index->totals.ids);
    index->totals = (struct ss_slots){0};
    for (size_t i = 0; i < model->inputs.count; i++) {
        model->inputs.data[i].samples = 0;
        model->inputs.data[i].rate_hz = 0;
    }
    model->filtered_samples = 0;
    index->total_samples = 0;
    model->weight = weight;
}

bool ss_model_has_events(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].summary.events > 0) {
            return true;
        }
    }
    return false;
}

const struct ss_model_field *ss_model_field_of(const struct ss_model *model, uint32_t payload,
                                               uint32_t field)
{
    const struct ss_model_field *row =
        &model->fields.data[model->payloads.data[payload].first_field];
    while (row->field != 0 && row->field != field) {
        row++;
    }
    return row->field != 0 ? row : NULL;
}

const char *ss_model_field_name(uint32_t field)
{
    return ss_event_fields[field].name;
}

const char *ss_model_event_type_name(enum ss_event_type type)
{
    return ss_event_types[type].name;
}
