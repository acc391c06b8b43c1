/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/tables.h"

#include "base/alloc.h"

enum { FIRST_SLOTS = 256 };

static void set_init(struct ss_row_set *set)
{
    *set = (struct ss_row_set){.slots = ss_alloc_zero(FIRST_SLOTS, sizeof *set->slots),
                               .slot_count = FIRST_SLOTS};
}

static void known_init(struct ss_known *known)
{
    *known = (struct ss_known){0};
    set_init(&known->set);
    ss_vec_push_zero(&known->rows);
}

static void known_fini(struct ss_known *known)
{
    ss_vec_fini(&known->rows);
    ss_free(known->set.slots);
}

void ss_tables_init(struct ss_tables *tables)
{
    *tables = (struct ss_tables){0};
    ss_intern_init(&tables->strings);
    ss_vec_push_zero(&tables->frames);
    ss_vec_push_zero(&tables->stacks);
    set_init(&tables->frame_set);
    set_init(&tables->stack_set);
    known_init(&tables->processes);
    known_init(&tables->threads);
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        if (ss_schema[id].entity != SS_ENTITY_NONE) {
            known_init(&tables->entities[id]);
        }
    }
    known_init(&tables->attributes);
    ss_vec_push_zero(&tables->names);
    set_init(&tables->name_set);
    known_init(&tables->track_uuids);
    ss_vec_push_zero(&tables->targets);
    ss_vec_push_zero(&tables->tracks);
}

void ss_tables_fini(struct ss_tables *tables)
{
    ss_intern_fini(&tables->strings);
    ss_vec_fini(&tables->frames);
    ss_vec_fini(&tables->stacks);
    ss_free(tables->frame_set.slots);
    ss_free(tables->stack_set.slots);
    known_fini(&tables->processes);
    known_fini(&tables->threads);
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        known_fini(&tables->entities[id]);
    }
    known_fini(&tables->attributes);
    ss_vec_fini(&tables->names);
    ss_free(tables->name_set.slots);
    known_fini(&tables->track_uuids);
    ss_vec_fini(&tables->targets);
    ss_vec_fini(&tables->tracks);
}

static size_t known_memory(const struct ss_known *known)
{
    return known->rows.capacity * sizeof *known->rows.data +
           known->set.slot_count * sizeof *known->set.slots;
}

static size_t entities_memory(const struct ss_tables *tables)
{
    size_t total = 0;
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        total += known_memory(&tables->entities[id]);
    }
    return total;
}

size_t ss_tables_memory(const struct ss_tables *tables)
{
    const struct ss_intern *strings = &tables->strings;
    return strings->arena.total_bytes +
           strings->text_capacity * (sizeof *strings->texts + sizeof *strings->hashes) +
           strings->slot_count * sizeof *strings->slots +
           tables->frames.capacity * sizeof *tables->frames.data +
           tables->stacks.capacity * sizeof *tables->stacks.data +
           (tables->frame_set.slot_count + (size_t)tables->stack_set.slot_count) *
               sizeof(uint32_t) +
           known_memory(&tables->processes) + known_memory(&tables->threads) +
           entities_memory(tables) + known_memory(&tables->attributes) +
           tables->names.capacity * sizeof *tables->names.data +
           (size_t)tables->name_set.slot_count * sizeof(uint32_t) +
           known_memory(&tables->track_uuids) +
           tables->targets.capacity * sizeof *tables->targets.data +
           tables->tracks.capacity * sizeof *tables->tracks.data;
}

static uint64_t hash_frame(const struct ss_frame_row *row)
{
    return ss_hash_bytes(row, sizeof *row);
}

static uint64_t hash_stack(const struct ss_stack_row *row)
{
    return ss_hash_u64((uint64_t)row->parent << 32 | row->frame);
}

/* Stores the row in a free slot; doubles the set when it is half full. `hash_of` returns the hash
 * of a row number. */
#define SET_INSERT(set, slot, row_number, hash_of)                                                 \
    do {                                                                                           \
        (set)->slots[slot] = (row_number);                                                         \
        if (++(set)->used * 2 > (set)->slot_count) {                                               \
            uint32_t count_ = (set)->slot_count * 2;                                               \
            uint32_t *slots_ = ss_alloc_zero(count_, sizeof *slots_);                              \
            for (uint32_t i_ = 0; i_ < (set)->slot_count; i_++) {                                  \
                uint32_t old_ = (set)->slots[i_];                                                  \
                if (old_ != 0) {                                                                   \
                    uint32_t at_ = (uint32_t)(hash_of(old_)) & (count_ - 1);                       \
                    while (slots_[at_] != 0) {                                                     \
                        at_ = (at_ + 1) & (count_ - 1);                                            \
                    }                                                                              \
                    slots_[at_] = old_;                                                            \
                }                                                                                  \
            }                                                                                      \
            ss_free((set)->slots);                                                                 \
            (set)->slots = slots_;                                                                 \
            (set)->slot_count = count_;                                                            \
        }                                                                                          \
    } while (0)

uint32_t ss_tables_put_frame(struct ss_tables *tables, const struct ss_frame_row *row, bool *is_new)
{
    struct ss_row_set *set = &tables->frame_set;
    uint32_t slot = (uint32_t)hash_frame(row) & (set->slot_count - 1);
    while (set->slots[slot] != 0) {
        uint32_t ref = set->slots[slot];
        if (memcmp(&tables->frames.data[ref], row, sizeof *row) == 0) {
            *is_new = false;
            return ref;
        }
        slot = (slot + 1) & (set->slot_count - 1);
    }
    uint32_t ref = (uint32_t)tables->frames.count;
    ss_vec_push(&tables->frames, *row);
#define FRAME_HASH(number) hash_frame(&tables->frames.data[number])
    SET_INSERT(set, slot, ref, FRAME_HASH);
    *is_new = true;
    return ref;
}

uint32_t ss_tables_put_stack(struct ss_tables *tables, uint32_t parent, uint32_t frame,
                             bool *is_new)
{
    const struct ss_stack_row row = {parent, frame};
    struct ss_row_set *set = &tables->stack_set;
    uint32_t slot = (uint32_t)hash_stack(&row) & (set->slot_count - 1);
    while (set->slots[slot] != 0) {
        uint32_t ref = set->slots[slot];
        const struct ss_stack_row *known = &tables->stacks.data[ref];
        if (known->parent == parent && known->frame == frame) {
            *is_new = false;
            return ref;
        }
        slot = (slot + 1) & (set->slot_count - 1);
    }
    uint32_t ref = (uint32_t)tables->stacks.count;
    ss_vec_push(&tables->stacks, row);
#define STACK_HASH(number) hash_stack(&tables->stacks.data[number])
    SET_INSERT(set, slot, ref, STACK_HASH);
    *is_new = true;
    return ref;
}

static uint64_t hash_name(const struct ss_name_row *row)
{
    uint64_t hash = ss_hash_u64((uint64_t)row->text << 32 | row->category);
    hash = ss_hash_u64(hash ^ row->colour ^ (uint64_t)row->type << 32);
    return ss_hash_u64(hash ^ ((uint64_t)row->file << 32 | row->line));
}

uint32_t ss_tables_put_name(struct ss_tables *tables, const struct ss_name_row *row, bool *is_new)
{
    struct ss_row_set *set = &tables->name_set;
    uint32_t slot = (uint32_t)hash_name(row) & (set->slot_count - 1);
    for (; set->slots[slot] != 0; slot = (slot + 1) & (set->slot_count - 1)) {
        const struct ss_name_row *known = &tables->names.data[set->slots[slot]];
        if (known->text == row->text && known->category == row->category &&
            known->colour == row->colour && known->file == row->file && known->line == row->line &&
            known->type == row->type) {
            *is_new = false;
            return set->slots[slot];
        }
    }
    uint32_t ref = (uint32_t)tables->names.count;
    ss_vec_push(&tables->names, *row);
#define NAME_HASH(number) hash_name(&tables->names.data[number])
    SET_INSERT(set, slot, ref, NAME_HASH);
    *is_new = true;
    return ref;
}

static uint32_t find_slot(const struct ss_known *known, uint64_t key)
{
    const struct ss_row_set *set = &known->set;
    uint32_t slot = (uint32_t)ss_hash_u64(key) & (set->slot_count - 1);
    while (set->slots[slot] != 0 && known->rows.data[set->slots[slot]].key != key) {
        slot = (slot + 1) & (set->slot_count - 1);
    }
    return slot;
}

uint32_t ss_known_find(const struct ss_known *known, uint64_t key)
{
    return known->set.slots[find_slot(known, key)];
}

uint32_t ss_known_put(struct ss_known *known, uint64_t key, uint64_t digest, bool *is_changed)
{
    uint32_t slot = find_slot(known, key);
    uint32_t ref = known->set.slots[slot];
    if (ref != 0) {
        *is_changed = known->rows.data[ref].digest != digest;
        known->rows.data[ref].digest = digest;
        return ref;
    }
    ref = (uint32_t)known->rows.count;
    ss_vec_push(&known->rows, (struct ss_known_row){key, digest});
#define KNOWN_HASH(number) ss_hash_u64(known->rows.data[number].key)
    SET_INSERT(&known->set, slot, ref, KNOWN_HASH);
    *is_changed = true;
    return ref;
}

struct ss_track_target *ss_tables_put_target(struct ss_tables *tables, uint64_t uuid,
                                             uint64_t digest, bool *is_changed)
{
    uint32_t row = ss_known_put(&tables->track_uuids, uuid, digest, is_changed);
    if (row >= tables->targets.count) {
        ss_vec_resize(&tables->targets, (size_t)row + 1);
    }
    return &tables->targets.data[row];
}

const struct ss_track_target *ss_tables_find_target(const struct ss_tables *tables, uint64_t uuid)
{
    uint32_t row = ss_known_find(&tables->track_uuids, uuid);
    return row != 0 ? &tables->targets.data[row] : NULL;
}
